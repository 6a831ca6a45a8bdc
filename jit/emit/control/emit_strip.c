/* Strips of the host: what an iteration reaches. Must agree with jit/plan/facts/iteration.c. */
#include "jit/emit/control/emit_control.h"
#include "jit/emit/core/builder.h"
#include "jit/emit/place/address.h"

#include "base/bits.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/iteration.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"

#include <string.h>

/* Least, or greatest, of what a bound looks at in this iteration. */
static LLVMValueRef reach_of(emitter *e, const plan_value *value, const plan_bound *bound,
                             bool greatest) {
  const plan_kernel *kernel = e->kernel;
  plan_value spread;
  plan_value_spread(kernel, value, &spread);
  LLVMValueRef sum = emit_i64(e, 0);
  for (int i = 0; i < kernel->n_digits; i++) {
    if (bound->axis < 0 ? i != bound->top : kernel->digit[i].axis != bound->axis) continue;
    uint64_t mask = plan_iteration_mask(kernel, value, i);
    LLVMValueRef at = emit_position(e, &spread, i, 0);
    at = greatest ? LLVMBuildOr(e->builder, at, emit_i64(e, (int64_t)mask), "")
                  : LLVMBuildAnd(e->builder, at, emit_i64(e, (int64_t)~mask), "");
    int64_t step = bound->axis < 0 ? 1 : kernel->digit[i].step;
    sum = emit_add(e, sum, LLVMBuildMul(e->builder, at, emit_i64(e, step), ""));
  }
  return sum;
}

static LLVMValueRef is_below(emitter *e, LLVMValueRef at, const plan_bound *bound) {
  return LLVMBuildICmp(e->builder, LLVMIntSLT, at, emit_bound_limit(e, bound), "");
}

LLVMValueRef emit_iteration_interior(emitter *e, const plan_value *value, uint32_t ignored_bounds) {
  LLVMValueRef interior = NULL;
  for (int i = 0; i < e->kernel->n_bounds; i++) {
    const plan_bound *bound = &e->kernel->bound[i];
    if (ignored_bounds >> i & 1) continue;
    interior = emit_and(e, interior, is_below(e, reach_of(e, value, bound, true), bound));
  }
  return interior ? interior : LLVMConstInt(e->i1, 1, false);
}

LLVMValueRef emit_iteration_end(emitter *e, const plan_value *value) {
  const plan_bound *only = NULL;
  for (int i = 0; i < e->kernel->n_bounds; i++) {
    const plan_bound *bound = &e->kernel->bound[i];
    if (!(bound->tensors >> PLAN_DESTINATION & 1)) continue;
    if (only) return NULL;
    only = bound;
  }
  int64_t step = only ? plan_iteration_step(e->kernel, value, only) : 0;
  if (step == 0) return NULL;
  LLVMValueRef iteration = e->iteration, one = emit_i64(e, 1);
  e->iteration = emit_i64(e, 0);
  LLVMValueRef left = emit_subtract(e, emit_bound_limit(e, only), reach_of(e, value, only, false));
  e->iteration = iteration;
  LLVMValueRef end = LLVMBuildAdd(e->builder, left, emit_i64(e, step - 1), "");
  end = LLVMBuildSDiv(e->builder, end, emit_i64(e, step), "");
  LLVMValueRef least[] = {end, one};
  end = emit_intrinsic(e, "llvm.smax", &e->i64, 1, least, 2);
  LLVMValueRef most[] = {end, emit_i64(e, (int64_t)1 << plan_value_bits(value, PLAN_ITERATION))};
  return emit_intrinsic(e, "llvm.smin", &e->i64, 1, most, 2);
}

LLVMValueRef emit_iteration_present(emitter *e, const plan_value *value) {
  LLVMValueRef present = NULL;
  for (int i = 0; i < e->kernel->n_bounds; i++) {
    const plan_bound *bound = &e->kernel->bound[i];
    if (!(bound->tensors >> PLAN_DESTINATION & 1)) continue;
    present = emit_and(e, present, is_below(e, reach_of(e, value, bound, false), bound));
  }
  return present;
}
