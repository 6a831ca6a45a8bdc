#include "runtime/validate.h"

#include "base/status.h"
#include "jit/plan/types/combine.h"
#include "jit/plan/types/number.h"

/* ---- types ---- */

static bool is_truth(llrt_combiner op) { return op == LLRT_COMBINE_ANY || op == LLRT_COMBINE_ALL; }

/* Whether a value of the accumulator's type can be written as another. */
static bool can_be(llrt_dtype accumulator, llrt_dtype to) {
  return accumulator == to || number_cast_exists(accumulator, to) ||
         number_extends(accumulator, to);
}

static llrt_status check_result(const op_description *desc, llrt_dtype accumulator) {
  llrt_dtype to = desc->tensors[1].dtype;
  llrt_combiner op = desc->combine.op;
  bool fits = is_truth(op)              ? to == LLRT_BOOL || to == LLRT_U8
              : combine_is_arg((int)op) ? to == LLRT_I64 || to == LLRT_I32
                                        : can_be(accumulator, to) && llrt_dtype_bits(to) >= 8;
  if (!fits)
    return llrt_error(LLRT_UNSUPPORTED, "%s of %s cannot be a destination of %s",
                      combine_name((int)op), llrt_dtype_name(desc->tensors[0].dtype),
                      llrt_dtype_name(to));
  if (desc->n_tensors < 3 ||
      (can_be(accumulator, desc->tensors[2].dtype) && llrt_dtype_bits(desc->tensors[2].dtype) >= 8))
    return LLRT_OK;
  return llrt_error(LLRT_UNSUPPORTED, "the values of %s cannot be %s",
                    llrt_dtype_name(desc->tensors[0].dtype),
                    llrt_dtype_name(desc->tensors[2].dtype));
}

static llrt_status check_combiner(const op_description *desc) {
  const llrt_op_combine *combine = &desc->combine;
  llrt_dtype from = desc->tensors[0].dtype;
  LLRT_REQUIRE(combine->op >= LLRT_COMBINE_SUM && combine->op <= LLRT_COMBINE_ALL,
               "there is no combiner %d", (int)combine->op);
  if (!combine_exists((int)combine->op, from))
    return llrt_error(LLRT_UNSUPPORTED, "there is no %s of %s", combine_name((int)combine->op),
                      llrt_dtype_name(from));
  llrt_dtype type = combine->accumulate;
  if (type && !combine_accumulates((int)combine->op, from, type))
    return llrt_error(LLRT_UNSUPPORTED, "%s of %s cannot be accumulated in %s",
                      combine_name((int)combine->op), llrt_dtype_name(from), llrt_dtype_name(type));
  return check_result(desc, type ? type : combine_accumulator((int)combine->op, from));
}

/* ---- axes ---- */

static llrt_status check_axes(const op_description *desc) {
  const llrt_op_combine *combine = &desc->combine;
  LLRT_REQUIRE(combine->axes != 0 && combine->axes >> desc->tensors[0].rank == 0,
               "combine.axes is 0x%x, the source has rank %d: bits of one or more of its axes",
               combine->axes, desc->tensors[0].rank);
  return LLRT_OK;
}

/* Extents in device memory stand on reduced axes of the source alone: what lies beyond them is not
 * joined. */
static llrt_status check_plain(const op_description *desc, int i) {
  const llrt_tensor *tensor = &desc->tensors[i];
  if (tensor->n_indices)
    return llrt_error(LLRT_UNSUPPORTED, "a reduce takes no tensors with indices");
  for (int axis = 0; axis < tensor->rank; axis++) {
    if (!tensor->extent_ptr[axis] || (i == 0 && desc->combine.axes >> axis & 1)) continue;
    return llrt_error(
        LLRT_UNSUPPORTED,
        "a reduce with extent_ptr[%d] on the %s: only extents of the source along reduced "
        "axes may lie in device memory",
        axis,
        i == 0   ? "source"
        : i == 1 ? "destination"
                 : "values tensor");
  }
  return LLRT_OK;
}

llrt_status llrt_validate_reduce(const op_description *desc) {
  bool arg = combine_is_arg((int)desc->combine.op);
  LLRT_REQUIRE(desc->n_tensors <= 3, "a reduce has 2 or 3 tensors, not %d", desc->n_tensors);
  LLRT_REQUIRE(desc->n_tensors == 2 || arg,
               "a third tensor, the values, is for ARGMIN and ARGMAX alone");
  LLRT_REQUIRE(desc->n_maps == 0 && !desc->in_place,
               "a reduce has no maps and does not work in place");
  LLRT_TRY(check_combiner(desc));
  LLRT_TRY(check_axes(desc));
  for (int i = 0; i < desc->n_tensors; i++) LLRT_TRY(check_plain(desc, i));
  return LLRT_OK;
}

/* ---- shapes ---- */

llrt_status llrt_validate_single(const llrt_storage *storage, int axis, const char *role) {
  bool more = storage->tile.n_out > axis && storage->tile.out[axis].bits > 0;
  for (int i = 0; i < storage->n_digits; i++)
    more |= storage->digit[i].axis == axis && storage->digit[i].extent > 1;
  if (!more) return LLRT_OK;
  return llrt_error(LLRT_UNSUPPORTED,
                    "the %s's storage has more than one position along axis %d, which the "
                    "tensor does not have: give one without the axis",
                    role, axis);
}

/* What an i32 cannot number is not written to one. */
static llrt_status check_positions(const op_description *desc, const llrt_tensor *tensors) {
  int64_t last = INT32_MAX;
  if (!combine_is_arg((int)desc->combine.op) || tensors[1].dtype != LLRT_I32) return LLRT_OK;
  for (int axis = 0; axis < tensors[0].rank; axis++)
    if (desc->combine.axes >> axis & 1 && tensors[0].shape[axis] > 0)
      last = (last + 1) / tensors[0].shape[axis] - 1;
  if (last >= 0) return LLRT_OK;
  return llrt_error(
      LLRT_UNSUPPORTED,
      "the results are positions among more than 2^31 elements, which i32 cannot hold");
}

llrt_status llrt_validate_reduced_shapes(const op_description *desc, const llrt_tensor *tensors,
                                         const storage_set *set) {
  llrt_combiner op = desc->combine.op;
  bool extreme = op >= LLRT_COMBINE_MIN && op <= LLRT_COMBINE_ARGMAX;
  for (int axis = 0; axis < tensors[0].rank; axis++) {
    int64_t extent = tensors[0].shape[axis];
    bool reduced = desc->combine.axes >> axis & 1;
    LLRT_REQUIRE(extent >= 0, "the source's shape[%d] is %lld, not 0 or more", axis,
                 (long long)extent);
    LLRT_REQUIRE(!(reduced && extent == 0 && extreme),
                 "%s along axis %d, of which the source has no positions", combine_name((int)op),
                 axis);
    for (int i = 1; i < set->n; i++) {
      int64_t wanted = reduced ? 1 : extent;
      const char *role = i == 1 ? "destination" : "values tensor";
      LLRT_REQUIRE(tensors[i].shape[axis] == wanted, "the %s's shape[%d] is %lld, not %lld", role,
                   axis, (long long)tensors[i].shape[axis], (long long)wanted);
      if (reduced) LLRT_TRY(llrt_validate_single(&set->storage[i], axis, role));
    }
  }
  return check_positions(desc, tensors);
}
