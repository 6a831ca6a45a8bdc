/* Grouped products: an axis whose positions belong to experts, and how blocks come to an expert's
 * (plan_experts). Every tensor that has the axis has one stride along it, so an expert's positions
 * begin with any: what differs from another product is where a block's tensors begin, and how many
 * positions there are. */
#include "jit/plan/draft/draft.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/facts/box.h"
#include "jit/plan/types/dot_type.h"
#include "jit/plan/types/tensor_role.h"

bool draft_begins_anywhere(const draft *d, int tensor, int i) {
  int axis = d->kernel->digit[i].axis;
  return axis >= 0 && d->roles.grouped >> axis & 1 && d->side[i][tensor].order >= 0;
}

/* The only digit of an axis; -1: there is none, or several. */
static int only_digit(const plan_kernel *kernel, int axis) {
  int digit = -1;
  for (int i = 0; i < kernel->n_digits; i++) {
    if (kernel->digit[i].axis != axis) continue;
    if (digit >= 0 || kernel->digit[i].step != 1 || !kernel->digit[i].rest) return -1;
    digit = i;
  }
  return digit;
}

static bool is_indexed(const plan_kernel *kernel, int tensor, int digit) {
  return kernel->digit[digit].side[tensor].kind == PLAN_INDEXED;
}

/* Which tensors begin at an expert's first position, and how far apart positions are there. */
static llrt_status find_strides(const draft *d, plan_experts *experts) {
  const plan_kernel *kernel = d->kernel;
  for (int t = 0; t < kernel->n_tensors; t++) {
    plan_number *stride = &experts->stride[t];
    if (draft_is_dropped(d, t, experts->axis) || is_indexed(kernel, t, experts->digit) ||
        t == experts->ends)
      continue;
    if (!plan_axis_stride(kernel, t, experts->axis, stride))
      return llrt_error(LLRT_UNSUPPORTED,
                        "the %s of a grouped product: experts' positions are not one stride apart",
                        op_tensor_called(d->desc->dot.roles, t));
    experts->tensors |= (uint16_t)(1u << t);
  }
  return LLRT_OK;
}

llrt_status draft_experts(draft *d) {
  plan_kernel *kernel = d->kernel;
  plan_experts *experts = &kernel->experts;
  int axis = bits_lowest(d->roles.grouped), digit = only_digit(kernel, axis),
      of = only_digit(kernel, DOT_EXPERT_AXIS);
  if (digit < 0 || of < 0 || kernel->digit[of].bits > 0)
    return llrt_error(LLRT_UNSUPPORTED,
                      "a grouped product's axis %s is cut into digits by a storage or a tile",
                      axis == DOT_GROUPED_M ? "M" : "K");
  *experts = (plan_experts){.used = true,
                            .shared = axis == DOT_GROUPED_M,
                            .axis = (int8_t)axis,
                            .digit = (uint8_t)digit,
                            .of = (uint8_t)of,
                            .ends = (uint8_t)d->roles.ends,
                            .sorted = d->roles.sorted,
                            .tile = (int64_t)1 << kernel->digit[digit].bits,
                            .most = {.arg = -1}};
  LLRT_TRY(draft_number(d, PLAN_ARG_CEIL, DOT_EXPERT_AXIS, 0, 1, &experts->count));
  LLRT_TRY(draft_number(d, PLAN_ARG_CEIL, axis, 0, 1, &experts->limit));
  return find_strides(d, experts);
}

bool draft_is_of_experts(const draft *d, int i) {
  const plan_experts *experts = &d->kernel->experts;
  return experts->shared && i == experts->of;
}

llrt_status draft_expert_place(draft *d, int i, plan_place *place, plan_grid_place *grid,
                               bool *added) {
  plan_experts *experts = &d->kernel->experts;
  *added = experts->shared && i == experts->digit;
  if (!*added) return LLRT_OK;
  plan_arg arg = {.kind = PLAN_ARG_EXPERT_TILES, .factor = experts->tile};
  LLRT_TRY(draft_arg(d, arg, &experts->most));
  place->count = experts->most;
  *grid = (plan_grid_place){.axis = PLAN_AXIS_EXPERTS, .factor = experts->tile};
  return LLRT_OK;
}
