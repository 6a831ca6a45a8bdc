/* In-block conversions as operations: for tests and benchmarks of the exchange, not part of the
 * API. */
#ifndef LLRT_JIT_PROBE_TILE_OP_H
#define LLRT_JIT_PROBE_TILE_OP_H

#include "jit/probe/plan_dot_tile.h"
#include "jit/probe/plan_tile.h"

#include <llrt/op.h>

/* Plans, compiles and loads the conversion or gather of plan_tile.h for a device. It runs on
 * one-dimensional row-major tensors of equal size, a number of tiles: two, of a gather also the
 * coordinates, I32. *kernel, where not NULL, is the plan. Ownership: llrt_op_destroy. Errors:
 * plan_tile_make's; OUT_OF_MEMORY, UNAVAILABLE, COMPILE, DEVICE. */
llrt_status llrt_tile_op_make(llrt_device *device, const plan_tile *tile,
                              const plan_options *options, plan_kernel *kernel, llrt_op **op);

/* The same for a dot of plan_dot_tile.h, whose tensors 0, 1, 2 have the tile's dtypes a, d, b. */
llrt_status llrt_dot_tile_op_make(llrt_device *device, const plan_dot_tile *tile,
                                  const plan_options *options, plan_kernel *kernel, llrt_op **op);

#endif
