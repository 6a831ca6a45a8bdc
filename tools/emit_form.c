/* See emit_form.h. */
#include "tools/emit_form.h"

#include "tools/common/array_file.h"
#include "tools/tool.h"

#include <stdio.h>
#include <string.h>

static const emit_form forms[] = {
    {"plan", LLRT_EMIT_PLAN, NULL, false},   {"ir", LLRT_EMIT_IR, NULL, false},
    {"ptx", LLRT_EMIT_OBJECT, "sm_", false}, {"hsaco", LLRT_EMIT_OBJECT, "gfx", true},
    {"asm", LLRT_EMIT_ASM, NULL, false},     {"kernel", LLRT_EMIT_KERNEL, NULL, true},
};

int emit_form_find(const char *whose, const char *name, const char *target, bool to_file,
                   const emit_form **form) {
  *form = NULL;
  for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
    if (strcmp(forms[i].name, name) == 0) *form = &forms[i];
  if (!*form) return tool_wrong(whose, "--emit %s is no form", name);
  if ((*form)->binary && !to_file) return tool_wrong(whose, "--emit %s needs -o FILE", name);
  const char *prefix = (*form)->target_prefix;
  if (prefix && strncmp(target, prefix, strlen(prefix)) != 0)
    return tool_refuse("--emit %s is for targets %s*, not %s", name, prefix, target);
  return TOOL_DONE;
}

int emit_form_write(const char *path, const char *bytes, size_t size) {
  outfile file;
  array_error error;
  if (!path) {
    fwrite(bytes, 1, size, stdout);
    return TOOL_DONE;
  }
  if (!outfile_open(path, &file, &error)) return tool_refuse("%s", error.text);
  fwrite(bytes, 1, size, file.stream);
  return outfile_commit(&file, &error) ? TOOL_DONE : tool_refuse("%s", error.text);
}
