#include "tools/request_scan.h"

#include "tools/common/options.h"
#include "tools/tool.h"

#include <string.h>

static bool parse_op(const char *text, llrt_combiner *op) {
  static const char *const names[] = {"sum", "prod", "min", "max"};
  *op = LLRT_COMBINE_SUM;
  if (!text) return true;
  for (int i = 0; i < 4; i++) {
    if (strcmp(text, names[i]) != 0) continue;
    *op = (llrt_combiner)(LLRT_COMBINE_SUM + i);
    return true;
  }
  return false;
}

int request_parse_scan(const request_scan_options *given, int rank, llrt_scan_params *params) {
  int64_t axis[1] = {0};
  int n;
  *params = (llrt_scan_params){.exclusive = given->exclusive, .reverse = given->reverse};
  if (!parse_op(given->op, &params->op))
    return tool_wrong(given->command_name, "--op %s is not sum, prod, min or max", given->op);
  if (!given->axis) return tool_wrong(given->command_name, "--axis is missing");
  if (!options_parse_numbers(given->axis, ',', 1, axis, &n) || n != 1)
    return tool_wrong(given->command_name, "--axis %s is no axis", given->axis);
  if (axis[0] >= rank) return tool_refuse("--axis %s: the tensor has %d axes", given->axis, rank);
  params->axis = (int32_t)axis[0];
  int code =
      tool_parse_dtype(given->command_name, "--accumulate", given->accumulate, &params->accumulate);
  if (code != TOOL_DONE) return code;
  return TOOL_DONE;
}

/* Integers grow in sums and products. */
llrt_dtype request_scan_dtype(const llrt_scan_params *params, llrt_dtype from) {
  bool grows = params->op == LLRT_COMBINE_SUM || params->op == LLRT_COMBINE_PROD;
  bool negative = from >= LLRT_I64 && from <= LLRT_I4,
       positive = from >= LLRT_U64 && from <= LLRT_U4;
  if (!grows || (!negative && !positive)) return from;
  if (params->accumulate) return params->accumulate;
  return negative ? LLRT_I64 : LLRT_U64;
}
