/* Who makes instructions for emission: a table for each set of instructions. */
#ifndef LLRT_BACKENDS_INTRINSICS_H
#define LLRT_BACKENDS_INTRINSICS_H

#include "jit/emit/core/target_ops.h"
#include "jit/plan/types/target.h"

/* backends/<vendor>/<vendor>_intrinsics.c */
#define EMIT_DECLARE_OPS(NAME, name) extern const emit_target_ops emit_ops_##name;
PLAN_ISAS(EMIT_DECLARE_OPS)
#undef EMIT_DECLARE_OPS

#endif
