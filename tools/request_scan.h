/* A scan as the command line asks for it. */
#ifndef LLRT_TOOLS_REQUEST_SCAN_H
#define LLRT_TOOLS_REQUEST_SCAN_H

#include <llrt/scan.h>

/* For scan's table. */
#define REQUEST_SCAN_OPTIONS \
  {"op", 0, "OP", "sum, prod, min or max (default sum)"}, {"axis", 0, "A", "the axis, from 0"}, \
      {"exclusive", 0, NULL, "without the position itself"}, \
      {"reverse", 0, NULL, "from the last position down"}, \
      {"accumulate", 0, "TYPE", "what sums are made in: f32, f64, i32, u32, i64 or u64"}

typedef struct request_scan_options {
  const char *command_name, *op, *axis, *accumulate;
  bool exclusive, reverse, scans; /* scans: the operation is one */
} request_scan_options;

/* Returns an exit code of tool.h, with the line on stderr when it is not TOOL_DONE. */
int request_parse_scan(const request_scan_options *given, int rank, llrt_scan_params *params);

/* The type of the result where nothing else is asked for. */
llrt_dtype request_scan_dtype(const llrt_scan_params *params, llrt_dtype from);

#endif
