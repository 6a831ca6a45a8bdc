/* See dot_grouped.h. */
#include "runtime/dot_grouped.h"

#include "base/status.h"
#include "jit/plan/types/dot_type.h"
#include "jit/plan/types/tensor_role.h"
#include "layout/storage_rule.h"
#include "runtime/validate.h"

/* ---- shapes ---- */

/* The ends of [experts] values, of [experts + 1] or of as many: a view without the leading zero. */
static llrt_status take_ends(const llrt_tensor *ends, int64_t experts, llrt_tensor *own) {
  LLRT_REQUIRE(ends->rank == 1, "params.ends has rank %d, not 1: one value for each expert",
               ends->rank);
  LLRT_REQUIRE(ends->dtype == LLRT_I32, "params.ends is %s, not i32", llrt_dtype_name(ends->dtype));
  LLRT_REQUIRE(
      ends->shape[0] == experts || ends->shape[0] == experts + 1,
      "params.ends has %lld values, not %lld, one for each expert, or %lld, with a leading "
      "zero",
      (long long)ends->shape[0], (long long)experts, (long long)experts + 1);
  *own = *ends;
  own->shape[0] = experts;
  if (ends->shape[0] > experts && ends->data) own->data = (int32_t *)ends->data + 1;
  return LLRT_OK;
}

static llrt_status take_experts(const llrt_tensor *experts, int64_t positions, llrt_tensor *own) {
  LLRT_REQUIRE(experts->rank == 1, "params.experts has rank %d, not 1: one value for each position",
               experts->rank);
  LLRT_REQUIRE(experts->dtype == LLRT_I32, "params.experts is %s, not i32",
               llrt_dtype_name(experts->dtype));
  LLRT_REQUIRE(experts->shape[0] == positions,
               "params.experts has %lld values, not %lld, one for each position",
               (long long)experts->shape[0], (long long)positions);
  *own = *experts;
  return LLRT_OK;
}

llrt_status llrt_dot_grouped_shape(const llrt_tensor *a, const llrt_tensor *b, const llrt_tensor *d,
                                   const dot_grouping *by, int64_t extent[LLRT_MAX_RANK],
                                   llrt_tensor *own, int *axis) {
  bool rows = a->rank == 2 && b->rank == 3 && d->rank == 2,
       sums = a->rank == 2 && b->rank == 2 && d->rank == 3;
  LLRT_REQUIRE(
      rows || sums,
      "a grouped product of operands of rank %d and %d and a result of rank %d: a [T, K], b "
      "[E, K, N], d [T, N] are rows by experts, a [M, T], b [T, N], d [E, M, N] sums of "
      "them",
      a->rank, b->rank, d->rank);
  extent[0] = rows ? b->shape[0] : d->shape[0];
  extent[1] = d->shape[d->rank - 2];
  extent[2] = d->shape[d->rank - 1];
  extent[3] = a->shape[1];
  *axis = by->ends ? DOT_EXPERT_AXIS : rows ? DOT_GROUPED_M : DOT_GROUPED_K;
  return by->ends ? take_ends(by->ends, extent[0], own)
                  : take_experts(by->experts, extent[*axis], own);
}

llrt_status llrt_dot_grouped_sums(const llrt_tensor *a, const llrt_tensor *b,
                                  const dot_grouping *by, llrt_tensor *d) {
  const llrt_tensor *ends = by->ends;
  LLRT_REQUIRE(ends, "params.experts does not say how many experts d [E, M, N] has: d has to be "
                     "there (llrt_dot_into)");
  LLRT_REQUIRE(a->rank == 2 && b->rank == 2 && ends->rank == 1,
               "a grouped product of operands of rank %d and %d, and params.ends of rank %d, not 2 "
               "and 2 or 3, and 1",
               a->rank, b->rank, ends->rank);
  d->rank = 3;
  d->shape[0] = ends->shape[0];
  return LLRT_OK;
}

/* ---- descriptions ---- */

static const char *called(const op_description *desc, int t) {
  return op_tensor_called(desc->dot.roles, t);
}

static bool lacks(const op_description *desc, int t, int axis) {
  return desc->dot.group[t][axis] == LLRT_GROUP_ALL;
}

/* The operands and the result have the axis of experts as one of the two forms says. */
static llrt_status check_form(const op_description *desc) {
  const op_dot *dot = &desc->dot;
  int d = dot_tensor(dot, LLRT_DOT_D), b = dot_tensor(dot, LLRT_DOT_B),
      ends = dot_tensor(dot, LLRT_DOT_ENDS);
  LLRT_REQUIRE(desc->tensors[0].rank == DOT_GROUPED_RANK,
               "the tensors of a grouped product have rank %d, not 4: experts, M, N, K",
               desc->tensors[0].rank);
  bool rows = lacks(desc, d, 0) && !lacks(desc, b, 0),
       sums = !lacks(desc, d, 0) && lacks(desc, b, 0);
  LLRT_REQUIRE(
      lacks(desc, 0, 0) && (rows || sums),
      "a grouped product: B has the axis of experts and D lacks it, or D has it and B does "
      "not; A lacks it");
  LLRT_REQUIRE(desc->tensors[ends].dtype == LLRT_I32, "the %s are %s, not i32", called(desc, ends),
               llrt_dtype_name(desc->tensors[ends].dtype));
  for (int t = 0; rows && t < desc->n_tensors; t++) {
    bool cut = !lacks(desc, t, DOT_GROUPED_M);
    LLRT_REQUIRE(!cut || lacks(desc, t, 0), "the %s has axis M and that of experts",
                 called(desc, t));
  }
  return LLRT_OK;
}

/* Positions of the axis that belongs to experts lie apart from each other by one stride, so that an
 * expert's may begin with any. */
static llrt_status check_cut(const op_description *desc, int t, int axis) {
  const llrt_storage *storage = desc->tensors[t].storage;
  int digits = 0;
  bool plain = !storage || storage_tile_bits(storage, axis) == 0;
  for (int i = 0; storage && i < storage->n_digits; i++)
    digits += storage->digit[i].axis == axis && storage->digit[i].extent != 1;
  plain &=
      !storage || (digits <= 1 && !storage_has_swizzle(storage) && !storage_has_reversed(storage));
  if (plain && desc->dot.group[t][axis] <= 1) return LLRT_OK;
  return llrt_error(
      LLRT_UNSUPPORTED,
      "the %s of a grouped product: positions of axis %s, which belong to experts, do "
      "not lie apart by one stride",
      called(desc, t), axis == DOT_GROUPED_M ? "M" : "K");
}

/* A gathers and D scatters rows, B may be a list of pointers. */
static llrt_status check_indices(const op_description *desc, int t, bool rows) {
  const llrt_tensor *tensor = &desc->tensors[t];
  llrt_dot_role role = dot_role(desc->dot.roles, t);
  for (int i = 0; i < tensor->n_indices; i++) {
    const llrt_index *index = &tensor->indices[i];
    bool pointers = index->kind == LLRT_INDEX_POINTER;
    int wanted = role == LLRT_DOT_B ? DOT_EXPERT_AXIS : DOT_GROUPED_M;
    bool fits = rows && i == 0 && pointers == (role == LLRT_DOT_B) && index->axis == wanted &&
                index->axes == 1u << wanted && !index->folded && role <= LLRT_DOT_B;
    if (fits && index->out_of_range != LLRT_RANGE_REPORT) continue;
    return llrt_error(LLRT_UNSUPPORTED,
                      "the %s of a grouped product: A and D may have an index of rows, B a list of "
                      "pointers, one for each expert, and nothing is reported",
                      called(desc, t));
  }
  return LLRT_OK;
}

/* Whether values may lie one behind the other: strides of the run are looked at by the run. */
static bool may_be_a_list(const llrt_storage *storage) {
  bool list = llrt_layout_in_bits(&storage->tile) == 0 && !storage_has_swizzle(storage) &&
              !storage_has_reversed(storage) && storage->offset[0] == 0;
  for (int i = 0; i < storage->n_digits; i++) {
    const llrt_digit *digit = &storage->digit[i];
    bool open = digit->stride == LLRT_STRIDE_PACKED || digit->stride == LLRT_STRIDE_RUNTIME;
    list &= digit->extent == 1 || (digit->axis >= 0 && (open || digit->stride == 1));
  }
  return list;
}

llrt_status llrt_validate_grouped_memory(const op_description *desc, const storage_set *set,
                                         const op_call *call) {
  int ends = dot_tensor(&desc->dot, LLRT_DOT_ENDS);
  if (ends < 0) return LLRT_OK;
  const llrt_storage_binding *binding = &call->binding[ends];
  int64_t next = 1;
  for (int i = 0; i < set->storage[ends].n_digits; i++) {
    if (binding->extent[i] < 2) continue;
    LLRT_REQUIRE(binding->stride[i] == next, "the %s do not lie one behind the other",
                 called(desc, ends));
    next *= binding->extent[i];
  }
  return LLRT_OK;
}

llrt_status llrt_validate_grouped(const op_description *desc) {
  LLRT_TRY(check_form(desc));
  int axis = dot_grouped_axis(&desc->dot), ends = dot_tensor(&desc->dot, LLRT_DOT_ENDS);
  for (int t = 0; t < desc->n_tensors; t++) {
    if (!lacks(desc, t, axis)) LLRT_TRY(check_cut(desc, t, axis));
    LLRT_TRY(check_indices(desc, t, axis == DOT_GROUPED_M));
  }
  const llrt_storage *own = desc->tensors[ends].storage;
  if (own && may_be_a_list(own)) own = NULL;
  if (own)
    return llrt_error(LLRT_UNSUPPORTED, "the %s do not lie one behind the other",
                      called(desc, ends));
  return LLRT_OK;
}
