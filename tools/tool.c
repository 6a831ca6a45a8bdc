#include "tools/tool.h"

#include <llrt/status.h>

#include <stdarg.h>
#include <stdio.h>

int tool_refuse(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  options_print_line("llrt", format, arguments, "");
  va_end(arguments);
  return TOOL_REFUSED;
}

int tool_refuse_library(const char *what) {
  if (what) return tool_refuse("%s: %s", what, llrt_last_error());
  return tool_refuse("%s", llrt_last_error());
}

int tool_wrong(const char *name, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  options_wrong("llrt", name, format, arguments);
  va_end(arguments);
  return TOOL_WRONG;
}
