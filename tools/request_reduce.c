#include "tools/request.h"

#include <llrt/llrt.h>

#include <string.h>

static llrt_combiner find_op(const char *text) {
  static const char *const names[] = {"sum",    "prod",   "min", "max",
                                      "argmin", "argmax", "any", "all"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(names[i], text) == 0) return (llrt_combiner)(LLRT_COMBINE_SUM + i);
  return (llrt_combiner)0;
}

static bool is_unsigned(llrt_dtype type) { return type >= LLRT_U64 && type <= LLRT_U8; }

static bool is_integer(llrt_dtype type) {
  return is_unsigned(type) || (type >= LLRT_I64 && type <= LLRT_I8);
}

llrt_dtype request_reduced_dtype(llrt_combiner op, llrt_dtype from, llrt_dtype accumulate) {
  bool grows = op == LLRT_COMBINE_SUM || op == LLRT_COMBINE_PROD;
  if (op == LLRT_COMBINE_ANY || op == LLRT_COMBINE_ALL) return LLRT_BOOL;
  if (op == LLRT_COMBINE_ARGMIN || op == LLRT_COMBINE_ARGMAX) return LLRT_I64;
  if (!grows || !is_integer(from)) return from;
  return accumulate ? accumulate : is_unsigned(from) ? LLRT_U64 : LLRT_I64;
}

static int parse_axes(const request_reduce_options *given, request *r) {
  int64_t axes[LLRT_MAX_RANK];
  int n;
  if (!options_parse_numbers(given->axes, ',', LLRT_MAX_RANK, axes, &n) || n == 0)
    return tool_wrong(given->command_name, "--axis %s: numbers by commas, such as 0,1",
                      given->axes);
  for (int i = 0; i < n; i++) {
    if (axes[i] >= r->rank)
      return tool_refuse("--axis %lld of a tensor of %d axes", (long long)axes[i], r->rank);
    if (r->combine.axes >> axes[i] & 1)
      return tool_refuse("--axis: %lld stands there twice", (long long)axes[i]);
    r->combine.axes |= 1u << axes[i];
  }
  return TOOL_DONE;
}

int request_parse_reduce(const request_reduce_options *given, request *r) {
  r->to_rank = r->rank;
  memcpy(r->to_shape, r->shape, sizeof r->to_shape);
  if (!given->reduces) return TOOL_DONE;
  if (!given->op) return tool_wrong(given->command_name, "--op is missing");
  if (!given->axes) return tool_wrong(given->command_name, "--axis is missing");
  r->combine.op = find_op(given->op);
  if (!r->combine.op)
    return tool_wrong(given->command_name, "--op %s: there is no such op", given->op);
  bool arg = r->combine.op == LLRT_COMBINE_ARGMIN || r->combine.op == LLRT_COMBINE_ARGMAX;
  if (given->values && !arg)
    return tool_wrong(given->command_name, "--values is for argmin and argmax");
  int code = tool_parse_dtype(given->command_name, "--accumulate", given->accumulate,
                              &r->combine.accumulate);
  if (code != TOOL_DONE) return code;
  code = parse_axes(given, r);
  r->to_rank = 0;
  for (int a = 0; a < r->rank; a++)
    if (!(r->combine.axes >> a & 1)) r->to_shape[r->to_rank++] = r->shape[a];
  return code;
}
