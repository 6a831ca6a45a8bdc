/* Operands of warpgroups' products on their way into shared memory. Private to jit/plan. */
#ifndef LLRT_JIT_PLAN_DOT_STAGE_H
#define LLRT_JIT_PLAN_DOT_STAGE_H

#include "jit/plan/dot_layout.h"
#include "jit/plan/draft.h"

/* Adds a buffer behind `offset` for an operand (0: A, 1: B), of which `value` says what there is: laid out as
 * instructions take it (dot_shared.h), in rows along k or, transposed, along m or n. Errors: UNSUPPORTED where it is too
 * small, or elements of its width do not lie so. */
llrt_status dot_stage_buffer(draft *d, const plan_value *value, const dot_space *space, int operand, bool transposed,
                             int offset, int *buffer);
/* Appends the store of a value into it, by the widest accesses. */
llrt_status dot_stage_store(draft *d, int value, int buffer);
/* Appends the products of a turn by warpgroups, all that there are: operands by value and buffer (buffer -1: in
 * registers). */
llrt_status dot_stage_products(draft *d, const dot_layouts *how, const int value[2], const int buffer[2], int with,
                               int *out);
/* Appends the wait for all products; *value becomes what they made. */
llrt_status dot_stage_finish(draft *d, int *value);

#endif
