#include "tools/tool.h"

#include <llrt/status.h>

#include <stdarg.h>
#include <stdio.h>

/* One line whatever the message holds: control characters become spaces. */
static void print_line(const char *lead, const char *format, va_list arguments, const char *tail) {
  char text[2048];
  vsnprintf(text, sizeof text, format, arguments);
  for (char *at = text; *at; at++)
    if ((unsigned char)*at < ' ') *at = ' ';
  fprintf(stderr, "%s: %s%s\n", lead, text, tail);
}

int tool_refuse(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print_line("llrt", format, arguments, "");
  va_end(arguments);
  return TOOL_REFUSED;
}

int tool_refuse_library(const char *what) {
  if (what) return tool_refuse("%s: %s", what, llrt_last_error());
  return tool_refuse("%s", llrt_last_error());
}

int tool_wrong(const char *name, const char *format, ...) {
  char lead[64], tail[96];
  va_list arguments;
  snprintf(lead, sizeof lead, "llrt %s", name);
  snprintf(tail, sizeof tail, " (see llrt %s --help)", name);
  va_start(arguments, format);
  print_line(lead, format, arguments, tail);
  va_end(arguments);
  return TOOL_WRONG;
}
