#include "tools/tool.h"

#include "tools/common/library_says.h"

#include <llrt/cache.h>
#include <llrt/status.h>

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int tool_refuse(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  options_print_line("llrt", format, arguments, "");
  va_end(arguments);
  return TOOL_REFUSED;
}

const char *tool_library_says(void) { return library_says(); }

llrt_status tool_context_create(llrt_context **context) {
  char dir[PATH_MAX];
  if (llrt_cache_default_dir(dir, sizeof dir) != LLRT_OK) dir[0] = 0;
  const llrt_cache_params cache = {.dir = dir};
  return llrt_context_create(
      &(llrt_context_params){.size = sizeof(llrt_context_params), .cache = &cache}, context);
}

int tool_refuse_library(const char *what) {
  if (what) return tool_refuse("%s: %s", what, tool_library_says());
  return tool_refuse("%s", tool_library_says());
}

int tool_parse_dtype(const char *name, const char *option, const char *text, llrt_dtype *dtype) {
  llrt_dtype parsed;
  if (!text) return TOOL_DONE;
  if (llrt_dtype_parse(text, &parsed) != LLRT_OK)
    return tool_wrong(name, "%s: %s", option, tool_library_says());
  *dtype = parsed;
  return TOOL_DONE;
}

int tool_wrong(const char *name, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  options_wrong("llrt", name, format, arguments);
  va_end(arguments);
  return TOOL_WRONG;
}
