/* Operands of warpgroups' products on their way into shared memory. Private to jit/plan and
 * jit/probe. */
#ifndef LLRT_JIT_PLAN_DOT_DOT_STAGE_H
#define LLRT_JIT_PLAN_DOT_DOT_STAGE_H

#include "jit/plan/dot/dot_layout.h"
#include "jit/plan/draft/draft.h"

/* Adds a buffer at the first aligned place at or behind `offset` (bytes of shared memory) for an
 * operand (0: A, 1: B), laid out as instructions take it (dot_shared.h), with rows along k, or
 * (transposed) along m or n. value: what of the operand it holds. *buffer is its number. Errors:
 * UNSUPPORTED where it is smaller than an atom, or the instruction does not take elements of that
 * width so. */
llrt_status dot_stage_buffer(draft *d, const plan_value *value, const dot_space *space, int operand,
                             bool transposed, int offset, int *buffer);
/* Appends the store of value number `value` into it, by the widest accesses. */
llrt_status dot_stage_store(draft *d, int value, int buffer);
/* Appends the PLAN_DOT of a turn by all warpgroups. Both operands by number of value and of buffer;
 * buffer -1: in registers. with: number of the sums that are joined; *out: of the result. */
llrt_status dot_stage_products(draft *d, const dot_layouts *how, const int value[2],
                               const int buffer[2], int with, int *out);
/* Appends the wait for all products; *value, a number, becomes that of their sums. */
llrt_status dot_stage_finish(draft *d, int *value);

#endif
