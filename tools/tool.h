/* What the subcommands of `llrt` share: exit codes and the one line on stderr that explains them.
 */
#ifndef LLRT_TOOLS_TOOL_H
#define LLRT_TOOLS_TOOL_H

#include "tools/common/options.h"

#include <llrt/device.h>
#include <llrt/tensor.h>

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

/* The type that an option names; NULL: *dtype stays. TOOL_WRONG where it is none. */
int tool_parse_dtype(const char *name, const char *option, const char *text, llrt_dtype *dtype);

/* What the library said, without the name of its function. */
const char *tool_library_says(void);

/* Prints "llrt NAME: message (see llrt NAME --help)" and returns TOOL_WRONG. */
int tool_wrong(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A context that keeps its kernels where llrt_cache_default_dir says. */
llrt_status tool_context_create(llrt_context **context);

extern const command cmd_layout;
extern const command cmd_convert;
extern const command cmd_gather;
extern const command cmd_reduce;
extern const command cmd_scan;
extern const command cmd_compute;
extern const command cmd_dot;
extern const command cmd_repack;
extern const command cmd_explain;
extern const command cmd_compile;
extern const command cmd_tune;
extern const command cmd_cache;
extern const command cmd_devices;

#endif
