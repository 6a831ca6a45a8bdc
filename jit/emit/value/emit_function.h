/* Functions of expressions as arithmetic: sums, products, quotients and roots that are rounded
 * correctly, and integers, which every target does alike; on GPUs of NVIDIA some by its tables
 * (emit_near.c). docs/expressions.md has their errors. */
#ifndef LLRT_JIT_EMIT_EMIT_FUNCTION_H
#define LLRT_JIT_EMIT_EMIT_FUNCTION_H

#include "jit/emit/core/emitter.h"

/* op (expr_operator: one argument) of x, a number of f32 or f64 or a vector of such. Of f64 only
 * SQRT, RSQRT, RCP, FLOOR, CEIL, ROUND. */
LLVMValueRef emit_function(emitter *e, int op, LLVMValueRef x);

/* e^x of f32, x at most 0, as what it adds to 1 (plan_step.coarse). */
LLVMValueRef emit_exp_added(emitter *e, LLVMValueRef x);

/* ---- emit_narrow.c ---- */

/* op of x, an f32, within PROGRAM_NARROW_ERROR; NULL: it has no form shorter than emit_function's.
 */
LLVMValueRef emit_narrow_function(emitter *e, int op, LLVMValueRef x);
/* 1 / y of a dividend that errs so, y 1 or more; NULL likewise. */
LLVMValueRef emit_narrow_inverse(emitter *e, LLVMValueRef y);

/* ---- emit_quotient.c: rounded correctly ---- */

/* a / x of numbers of f32 or f64, or vectors of such. */
LLVMValueRef emit_quotient(emitter *e, LLVMValueRef a, LLVMValueRef x);
/* The same of f32 where less is asked: least, moderate: as plan_step has them. */
LLVMValueRef emit_known_quotient(emitter *e, LLVMValueRef a, LLVMValueRef x, bool least,
                                 bool moderate);
/* 1 / x, 2^-100 <= |x| <= 2^100; of another x any number. */
LLVMValueRef emit_moderate_inverse(emitter *e, LLVMValueRef x);
/* The same, but 0 of infinity and NaN of NaN. */
LLVMValueRef emit_finite_inverse(emitter *e, LLVMValueRef x);
/* The square root of x, of which the inverse is the one above: 0 gives infinity. */
LLVMValueRef emit_root(emitter *e, LLVMValueRef x);

/* ---- emit_function.c, emit_trigonometry.c ---- */

/* SIN or COS of f32. */
LLVMValueRef emit_wave(emitter *e, int op, LLVMValueRef x);

/* The largest |x| of f32 of which fewer instructions make the same bits; 0: of none. */
double emit_function_moderate(const emitter *e, int op);
/* They: x is no larger, and no NaN. */
LLVMValueRef emit_function_of_moderate(emitter *e, int op, LLVMValueRef x);

#endif
