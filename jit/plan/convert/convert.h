/* Kernels of a convert, and the variants made of them. Private to jit/plan. */
#ifndef LLRT_JIT_PLAN_CONVERT_CONVERT_H
#define LLRT_JIT_PLAN_CONVERT_CONVERT_H

#include "jit/plan/kernel/plan.h"

/* What plan_tiled is told of large tensors: stores bypass the caches from so many elements on. */
#define STREAMS_NEVER (-1)
#define STREAMS_ALWAYS 0

/* tiled_kernel.c: the kernel that moves tiles. *tiled = false where the storages have no common
 * refinement. */
llrt_status plan_tiled(const op_description *desc, const plan_target *target,
                       const plan_options *options, int64_t streams_from, plan_kernel *kernel,
                       bool *tiled);

/* The kernel that moves single elements, or vectors of them, in the destination's order. */
llrt_status plan_flat(const op_description *desc, const plan_target *target, plan_kernel *kernel);
/* The same into 4-bit elements whose bytes no thread has whole: a stage that stores the first
 * halves (1) or the second (2). */
llrt_status plan_half(const op_description *desc, const plan_target *target, int half,
                      plan_kernel *kernel);
/* Whether a map of the description acts on words of several elements. */
bool plan_maps_words(const op_description *desc);

/* All kernels of a convert, first those of the narrowest range. */
llrt_status plan_convert_variants(const op_description *desc, const plan_target *target,
                                  const plan_options *options, plan *out);

/* One kernel of a convert, for every shape, as a stage of another operation: the first one, in
 * tiles, which is fast for large tensors, or the last. UNSUPPORTED where one of plan_half after the
 * other does it. */
llrt_status plan_convert_one(const op_description *desc, const plan_target *target,
                             const plan_options *options, bool last, plan_kernel *kernel);

/* The kernel of a convert whose blocks keep what they read in shared memory (staged.c); *made:
 * whether storages and target suit it. */
llrt_status plan_staged_make(const op_description *desc, const plan_target *target,
                             const plan_options *options, plan_kernel *kernel, bool *made);

#endif
