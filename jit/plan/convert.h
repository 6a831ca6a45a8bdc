/* Kernels of a convert, and the variants made of them. Private to jit/plan. */
#ifndef LLRT_JIT_PLAN_CONVERT_H
#define LLRT_JIT_PLAN_CONVERT_H

#include "jit/plan/access.h"

/* What plan_tiled is told of large tensors: stores bypass the caches from so many elements on. */
#define STREAMS_NEVER (-1)
#define STREAMS_ALWAYS 0

/* plan_convert.c: the kernel that moves tiles. *tiled = false where the storages have no common refinement. */
llrt_status plan_tiled(const llrt_op_desc *desc, const plan_target *target, const plan_options *options,
                       int64_t streams_from, plan_kernel *kernel, bool *tiled);

/* The kernel that moves single elements, or vectors of them, in the destination's order. */
llrt_status plan_flat(const llrt_op_desc *desc, const plan_target *target, plan_kernel *kernel);
/* The same into 4-bit elements whose bytes no thread has whole: a stage that stores the first halves (1) or the second (2). */
llrt_status plan_half(const llrt_op_desc *desc, const plan_target *target, int half, plan_kernel *kernel);
/* Whether a map of the description acts on words of several elements. */
bool plan_maps_words(const llrt_op_desc *desc);

/* convert_variants.c: all kernels of a convert, first those of the narrowest range; out->n_variants is 0 before. */
llrt_status plan_convert_variants(const llrt_op_desc *desc, const plan_target *target, const plan_options *options,
                                  plan *out);

/* The kernel of a convert whose blocks keep what they read in shared memory (staged.c); *made: whether storages and target suit
 * it. */
llrt_status plan_staged_make(const llrt_op_desc *desc, const plan_target *target, const plan_options *options,
                             plan_kernel *kernel, bool *made);

#endif
