/* What reduce takes beside a conversion's options. */
#ifndef LLRT_TOOLS_REQUEST_REDUCE_H
#define LLRT_TOOLS_REQUEST_REDUCE_H

#include <llrt/op.h>

/* For reduce's table. */
#define REQUEST_REDUCE_OPTIONS \
  {"op", 0, "OP", "sum, prod, min, max, argmin, argmax, any or all"}, \
      {"accumulate", 0, "TYPE", \
       "joins elements in this type (default: f32 of floats,\n" \
       "f64 of f64, 64 bits for sums of integers)"}

typedef struct request_reduce_options {
  const char *command_name;
  bool reduces, values;               /* values: those of argmin and argmax are asked for, too */
  const char *op, *axes, *accumulate; /* axes: "0" or "0,1" */
} request_reduce_options;

struct request;

/* Fills r->combine, and to_rank and to_shape, which r->rank and shape are without the reduced axes.
 * Needs r's shape and dtype. Returns an exit code of tool.h. */
int request_parse_reduce(const request_reduce_options *given, struct request *r);

/* The type of a reduce's result where none is asked for. */
llrt_dtype request_reduced_dtype(llrt_combiner op, llrt_dtype from, llrt_dtype accumulate);

#endif
