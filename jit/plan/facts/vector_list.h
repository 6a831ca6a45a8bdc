/* Lists of vectors, and the values that are made of them. */
#ifndef LLRT_JIT_PLAN_FACTS_VECTOR_LIST_H
#define LLRT_JIT_PLAN_FACTS_VECTOR_LIST_H

#include "jit/plan/kernel/plan.h"
#include "layout/f2.h"

typedef struct vector_list {
  int n;
  uint64_t at[LLRT_MAX_BITS];
} vector_list;

/* The columns of one in-dim of a value. */
void vector_list_read(const plan_value *value, plan_dim dim, vector_list *out);

/* The list in coordinates of a basis (f2_basis_coordinates), which has all of it; zeros, that is
 * copies, behind it up to n vectors. */
void vector_list_in(const f2_basis *basis, const vector_list *list, int n, vector_list *out);

/* The layout of a value over 2^tile_bits elements whose registers, lanes, warps and iterations are
 * these vectors; any of them may be NULL: none. Errors: those of llrt_layout_add_in. */
llrt_status vector_lists_layout(int tile_bits, const vector_list *const lists[4], llrt_layout *out);
/* The value of elements of `bits` whose registers, lanes and warps they are; it has no iterations
 * and no words. */
llrt_status vector_lists_value(int tile_bits, int bits, const vector_list lists[3],
                               plan_value *out);

#endif
