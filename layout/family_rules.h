/* What the rules of the families share, and their entry points. Ranks and shapes have been
 * checked. */
#ifndef LLRT_LAYOUT_FAMILY_RULES_H
#define LLRT_LAYOUT_FAMILY_RULES_H

#include "layout/families.h"
#include "layout/fit.h"

/* `list` has one power of two an axis; `order` has every axis once; `value` is a power of two. */
llrt_status family_check_sizes(const char *what, const family_list *list, int rank);
llrt_status family_check_order(const char *what, const family_list *order, int rank);
llrt_status family_check_power(const char *what, int64_t value);

/* An order with the last axis fastest; column_major swaps the fastest two. */
void family_matrix_order(int rank, bool column_major, int64_t *order);

/* A layout from one position of `in` onto one position of every axis, out-dims in `order`. */
llrt_status family_start(const char *in, int rank, const int64_t *order, llrt_layout *out);

/* block -> dims: along each axis identity(split) * zeros(blocks / split). An axis that is `whole`
 * (or FIT_NO_AXIS) is not split. Without parameters: one block. */
llrt_status family_cluster(const family *self, int rank, int whole, llrt_layout *out);

/* register x lane x warp -> dims: block * warps, times the cluster, fitted to the shape. Warps are
 * spread in warp_order; those along axis k (or FIT_NO_AXIS) hold copies, and k is not split between
 * blocks. */
llrt_status family_finish_warps(const family *self, int rank, const int64_t *shape,
                                const int64_t *warp_order, int k, const llrt_layout *block,
                                llrt_layout *out);

llrt_status family_nvmma(const family *self, int rank, const int64_t *shape, llrt_layout *out);
llrt_status family_mfma(const family *self, int rank, const int64_t *shape, llrt_layout *out);
llrt_status family_wmma(const family *self, int rank, const int64_t *shape, llrt_layout *out);

/* Operand self->operand of the instruction of self->parent. */
llrt_status family_dot_nvmma(const family *self, int rank, const int64_t *shape, llrt_layout *out);
llrt_status family_dot_mfma(const family *self, int rank, const int64_t *shape, llrt_layout *out);
llrt_status family_dot_wmma(const family *self, int rank, const int64_t *shape, llrt_layout *out);

/* Axis K of the operand, and the other one of its matrix. */
static inline int family_k_axis(const family *dot, int rank) {
  return dot->operand == 0 ? rank - 1 : rank - 2;
}
static inline int family_other_axis(const family *dot, int rank) {
  return dot->operand == 0 ? rank - 2 : rank - 1;
}

/* swizzled_shared and rotating_shared. */
llrt_status family_swizzled(const family *self, int rank, const int64_t *shape, llrt_layout *out);
llrt_status family_nvmma_shared(const family *self, int rank, const int64_t *shape,
                                llrt_layout *out);
llrt_status family_tensor_memory(const family *self, int rank, const int64_t *shape,
                                 llrt_layout *out);
llrt_status family_tensor_memory_scales(const family *self, int rank, const int64_t *shape,
                                        llrt_layout *out);

#endif
