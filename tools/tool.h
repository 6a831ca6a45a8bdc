/* What the subcommands of `llrt` share: exit codes and the one line on stderr that explains them.
 */
#ifndef LLRT_TOOLS_TOOL_H
#define LLRT_TOOLS_TOOL_H

#include "tools/common/options.h"

/* Exit codes, a stable part of the command line. */
enum {
  TOOL_DONE = 0,
  TOOL_REFUSED =
      1,         /* the request makes no sense or cannot be met, a malformed expression included */
  TOOL_WRONG = 2 /* the options themselves are wrong */
};

/* Prints "llrt: message" in one line and returns TOOL_REFUSED. */
int tool_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same with what the library said about the call that just failed. `what` may be NULL. */
int tool_refuse_library(const char *what);

/* Prints "llrt NAME: message (see llrt NAME --help)" and returns TOOL_WRONG. */
int tool_wrong(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));

extern const command cmd_layout;
extern const command cmd_convert;
extern const command cmd_gather;
extern const command cmd_reduce;
extern const command cmd_scan;
extern const command cmd_dot;
extern const command cmd_explain;
extern const command cmd_compile;
extern const command cmd_devices;

#endif
