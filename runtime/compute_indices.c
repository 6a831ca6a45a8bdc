/* Indices and counts in device memory of a tensor that an expression's name is bound to, along the
 * operation's axes. See compute_axes.h. */
#include "runtime/compute_axes.h"
#include "runtime/index_check.h"

#include "base/status.h"

#include <string.h>

/* An index that is being expanded. */
typedef struct expander {
  const llrt_expr *expr;
  const expr_program *program;
  const program_tensor *tensor;
  const llrt_tensor *from; /* what the name is bound to */
  const compute_extents *extents;
} expander;

static const expr_dim *dim_of(const expander *x, int a) {
  return compute_dim_of(x->expr, x->tensor->tensor, x->from->rank, a);
}

static int axis_of(const expander *x, int a) {
  return compute_axis_of(x->expr, x->program, x->tensor->tensor, x->from->rank, a);
}

/* Whether positions along named axis i of a dim are the tensor's own, in its order. */
static bool is_straight(const expander *x, const expr_dim *dim, int i) {
  return !((dim->reversed >> i | x->tensor->flipped >> dim->axis[i]) & 1);
}

/* An axis of the tensor that is one of the operation's as it is. */
static bool is_plain(const expander *x, int a) {
  const expr_dim *dim = dim_of(x, a);
  if (!dim) return true;
  return dim->n == 1 && is_straight(x, dim, 0) && !(x->tensor->taken >> dim->axis[0] & 1);
}

/* The values along axis a of the tensor: a stride for each named axis, from the last; a position
 * that is taken is the address's. */
static llrt_status select_along(const expander *x, const llrt_index *from, int a, llrt_index *out) {
  const expr_dim *dim = dim_of(x, a);
  int64_t stride = from->strides[a], bytes = llrt_dtype_bits(from->dtype) / 8;
  if (!dim) {
    out->axes |= 1u << axis_of(x, a);
    out->strides[axis_of(x, a)] = stride;
    return LLRT_OK;
  }
  for (int i = dim->n - 1; i >= 0; i--) {
    int named = dim->axis[i], axis = x->program->leading + named;
    if (!is_straight(x, dim, i))
      return llrt_error(LLRT_UNSUPPORTED,
                        "its index has values along axis %d, which the expression takes backwards",
                        a);
    if (x->tensor->taken >> named & 1) {
      if (out->data) out->data = (const char *)out->data + x->tensor->at[named] * stride * bytes;
    } else {
      out->axes |= 1u << axis;
      out->strides[axis] = stride;
    }
    if (i > 0 && __builtin_mul_overflow(stride, x->extents->named[named], &stride))
      return llrt_error(LLRT_INVALID_ARGUMENT, "its index's values lie too far apart");
  }
  return LLRT_OK;
}

static llrt_status fold_axis(const expander *x, int a, llrt_index *out) {
  const expr_dim *dim = dim_of(x, a);
  if (dim && dim->n == 0) return LLRT_OK;
  if (dim && (dim->n > 1 || x->tensor->taken >> dim->axis[0] & 1))
    return llrt_error(LLRT_UNSUPPORTED,
                      "its index folds axis %d, of which the expression makes several axes or "
                      "takes one position",
                      a);
  out->folded |= 1u << axis_of(x, a);
  return LLRT_OK;
}

/* Whether a tensor of the operation before has the same input: the same values are counted once. */
static bool is_again(const expander *x) {
  bool again = false;
  for (const program_tensor *t = x->program->tensor; t < x->tensor; t++)
    again |= t->tensor == x->tensor->tensor;
  return again;
}

static llrt_status expand_index(const expander *x, const llrt_index *from, llrt_index *out) {
  if (!is_plain(x, from->axis))
    return llrt_error(LLRT_UNSUPPORTED,
                      "it has an index on axis %d, which is no single axis of the expression as it "
                      "is: one that is split, of one position, reversed or moved along",
                      from->axis);
  *out = *from;
  if (out->out_of_range == LLRT_RANGE_REPORT && is_again(x)) {
    out->out_of_range = LLRT_RANGE_SKIP;
    out->report = NULL;
  }
  out->axis = axis_of(x, from->axis);
  out->axes = out->folded = 0;
  memset(out->strides, 0, sizeof out->strides);
  for (int a = 0; a < x->from->rank; a++) {
    if (from->axes >> a & 1) LLRT_TRY(select_along(x, from, a, out));
    if (from->folded >> a & 1) LLRT_TRY(fold_axis(x, a, out));
  }
  return LLRT_OK;
}

static llrt_status expand_counts(const expander *x, llrt_tensor *out) {
  for (int a = 0; a < x->from->rank; a++) {
    if (!x->from->extent_ptr[a]) continue;
    if (!is_plain(x, a))
      return llrt_error(LLRT_UNSUPPORTED,
                        "it has its extent in device memory along axis %d, which is no single axis "
                        "of the expression as it is: one that is split, of one position, reversed "
                        "or moved along",
                        a);
    out->extent_ptr[axis_of(x, a)] = x->from->extent_ptr[a];
  }
  return LLRT_OK;
}

llrt_status compute_expand_indices(const llrt_expr *expr, const expr_program *program, int number,
                                   const llrt_tensor *from, const compute_extents *extents,
                                   llrt_index *indices, llrt_tensor *out) {
  const expander x = {.expr = expr,
                      .program = program,
                      .tensor = &program->tensor[number],
                      .from = from,
                      .extents = extents};
  int64_t alignment;
  memset(out->extent_ptr, 0, sizeof out->extent_ptr);
  out->indices = from->n_indices ? indices : NULL;
  if (llrt_index_has_pointers(from, &alignment) && out->data != from->data)
    return llrt_error(LLRT_UNSUPPORTED,
                      "a position of an axis with a stride of the call is taken behind a pointer "
                      "list");
  for (int i = 0; i < from->n_indices; i++)
    LLRT_TRY(expand_index(&x, &from->indices[i], &indices[i]));
  return expand_counts(&x, out);
}

llrt_status compute_expand_unread(const llrt_expr *expr, const expr_program *program, int unread,
                                  const llrt_tensor *from, llrt_tensor *tensors) {
  const program_tensor own = {.tensor = (uint8_t)unread};
  const expander x = {.expr = expr, .program = program, .tensor = &own, .from = from};
  llrt_tensor counted = {.rank = 0};
  for (int t = 0; t < program->n_tensors; t++)
    if (program->tensor[t].tensor == unread) return LLRT_OK;
  LLRT_TRY(expand_counts(&x, &counted));
  for (int t = 0; t < program->n_tensors; t++)
    for (int a = 0; a < program->rank; a++) {
      const int32_t **own_count = &tensors[t].extent_ptr[a];
      if (!counted.extent_ptr[a] || !(program->tensor[t].axes >> a & 1)) continue;
      LLRT_REQUIRE(!*own_count || *own_count == counted.extent_ptr[a],
                   "extent_ptr of an axis is another one on another tensor");
      *own_count = counted.extent_ptr[a];
    }
  return LLRT_OK;
}
