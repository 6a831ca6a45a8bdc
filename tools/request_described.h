/* What explain and compile take: an operation described by its options, without tensors' elements.
 */
#ifndef LLRT_TOOLS_REQUEST_DESCRIBED_H
#define LLRT_TOOLS_REQUEST_DESCRIBED_H

#include "tools/request.h"
#include "tools/request_dot.h"

/* For the tables of both, first of all. */
#define REQUEST_DESCRIBED_OPTIONS \
  {"from", 0, "EXPR", "storage of the source (default row_major)"}, \
      {"to", 0, "EXPR", "storage of the destination"}, \
      {"shape", 0, "MxN", \
       "logical shape of the source (scatter: the destination;\ndot: MxNxK); a literal " \
       "expression carries its own"}, \
      {"dtype", 0, "TYPE", "element type, such as f32, bf16, u8 (default f32)"}, \
      {"target", 0, "T", "sm_90a, sm_90, sm_89, sm_80, gfx90a, gfx942, or host"}, \
      REQUEST_DESCRIBED_INDEX_OPTIONS, \
      {"op", 0, "OP", \
       "reduce: sum, prod, min, max, argmin, argmax, any or all;\nscan: sum (default), prod, " \
       "min, max"}, \
      {"accumulate", 0, "TYPE", \
       "reduce, scan, dot: joins elements in this type (default:\nf32 of floats, f64 of f64, 64 " \
       "bits for sums of integers;\n" \
       "of a dot what the operands ask for)"}, \
      {"exclusive", 0, NULL, "scan: without the position itself"}, \
      {"reverse", 0, NULL, "scan: from the last position down"}, REQUEST_MAP_OPTIONS, \
      REQUEST_DOT_OPTIONS("dot: ")
enum {
  DESCRIBED_FROM,
  DESCRIBED_TO,
  DESCRIBED_SHAPE,
  DESCRIBED_DTYPE,
  DESCRIBED_TARGET,
  DESCRIBED_INDEX,
  DESCRIBED_OUT_OF_RANGE,
  DESCRIBED_AXIS,
  DESCRIBED_FORM,
  DESCRIBED_OP,
  DESCRIBED_ACCUMULATE,
  DESCRIBED_EXCLUSIVE,
  DESCRIBED_REVERSE,
  DESCRIBED_MAPS,
  DESCRIBED_DOT = DESCRIBED_MAPS + REQUEST_N_MAP_OPTIONS,
  REQUEST_N_DESCRIBED_OPTIONS = DESCRIBED_DOT + REQUEST_N_DOT_OPTIONS
};

/* The operation's words, and how many a command takes. */
#define REQUEST_DESCRIBED_SYNOPSIS "convert|gather|scatter|reduce|scan|dot [A B]"
#define REQUEST_DESCRIBED_WORDS 3

/* Describes the operation that is given, for a device (NULL: whatever device): request_describe_op.
 */
int request_described_use(const char *command_name, const options *given, llrt_device *device,
                          request_use *use, void *user);

/* Plans or compiles the operation that is given. Returns an exit code of tool.h. Ownership:
 * llrt_buffer_free. */
int request_described_compile(const char *command_name, const options *given, const char *target,
                              llrt_emit emit, char **bytes, size_t *size);

#endif
