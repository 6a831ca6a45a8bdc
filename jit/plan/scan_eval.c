/* SCAN, PREFIX and PICK on numbers, and what verification asks of them. Positions are combined one after the
 * other: kernels join them in a tree, so floats may differ in their last bits. */
#include "jit/plan/scan_eval.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/combine.h"
#include "jit/plan/draft.h"

#include <stdlib.h>

#define CHECK(condition, ...)                                             \
  do {                                                                    \
    if (!(condition)) return llrt_error(LLRT_INTERNAL, "plan: " __VA_ARGS__); \
  } while (0)

static int64_t place_count(const plan_kernel *kernel, const plan_value *value) {
  return (int64_t)1 << (plan_value_bits(value, PLAN_REGISTER) + kernel->lane_bits + kernel->warp_bits);
}

/* ---- scans ---- */

/* The tile coordinate that position k along the order adds. */
static uint64_t along(const plan_value *value, const plan_order *order, uint64_t k) {
  uint64_t x = 0;
  for (int i = 0; i < order->n; i++)
    if (k >> i & 1) x |= plan_value_bits_of(value, 1ull << order->bit[i]);
  return x;
}

/* One group: the elements from `first` on, in order, become their scan; returns the total. */
static uint64_t scan_group(const plan_step *step, const plan_value *value, const plan_order *order,
                           uint64_t first, uint64_t *elements) {
  uint64_t n = 1ull << order->n, so_far = combine_identity(step->combiner, (llrt_dtype)step->type);
  for (uint64_t k = 0; k < n; k++) {
    uint64_t *element = &elements[first | along(value, order, step->reverse ? n - 1 - k : k)];
    uint64_t own = *element, before = so_far;
    so_far = step->reverse ? combine_two(step->combiner, (llrt_dtype)step->type, own, so_far)
                           : combine_two(step->combiner, (llrt_dtype)step->type, so_far, own);
    *element = step->exclusive ? before : so_far;
  }
  return so_far;
}

llrt_status plan_eval_scan(const plan_kernel *kernel, const plan_step *step, uint64_t *const *values) {
  const plan_value *value = &kernel->value[step->in], *total = &kernel->value[step->total];
  const plan_order *order = &kernel->order[step->order];
  uint64_t n = 1ull << value->layout.out[0].bits, mask = along(value, order, bits_mask(order->n));
  uint64_t *elements = calloc(n, sizeof *elements), *totals = calloc(n, sizeof *totals);
  if (elements && totals) {
    for (int64_t at = 0; at < place_count(kernel, value); at++)
      elements[f2_apply(value->layout.column, (uint64_t)at)] = values[step->in][at];
    for (uint64_t x = 0, at = 0; x < n; x++)
      if (!(x & mask)) totals[at++] = scan_group(step, value, order, x, elements);
    for (int64_t at = 0; at < place_count(kernel, value); at++)
      values[step->out][at] = elements[f2_apply(value->layout.column, (uint64_t)at)];
    for (int64_t at = 0; at < place_count(kernel, total); at++)
      values[step->total][at] = totals[f2_apply(total->layout.column, (uint64_t)at)];
  }
  bool made = elements && totals;
  free(elements);
  free(totals);
  return made ? LLRT_OK : llrt_error(LLRT_OUT_OF_MEMORY, "the plan interpreter's memory");
}

llrt_status plan_verify_scan(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  const plan_value *in = &kernel->value[step->in], *out = &kernel->value[step->out];
  plan_scan_bit bits[LLRT_MAX_BITS];
  plan_value reduced;
  uint64_t mask = 0;
  CHECK(step->total < kernel->n_values && step->order < kernel->n_orders, "step %d: no such value", at);
  CHECK(in->word == 0 && in->bits == llrt_dtype_bits((llrt_dtype)step->type),
        "step %d: elements of %d bits", at, in->bits);
  CHECK(in->bits == out->bits && out->word == 0 && in->reduced == out->reduced &&
            llrt_layout_equal(&in->layout, &out->layout),
        "step %d: a scan moves elements", at);
  CHECK(plan_scan_bits(kernel, step, bits), "step %d: an order outside registers and lanes", at);
  for (int i = 0; i < kernel->order[step->order].n; i++) mask |= 1ull << kernel->order[step->order].bit[i];
  plan_value_reduce(in, mask, &reduced);
  const plan_value *total = &kernel->value[step->total];
  CHECK(total->reduced == reduced.reduced && total->bits == in->bits && total->word == 0 &&
            llrt_layout_equal(&total->layout, &reduced.layout),
        "step %d: the total is not laid out as what is left", at);
  return LLRT_OK;
}

/* ---- elementwise ---- */

void plan_eval_prefix(const plan_kernel *kernel, const plan_step *step, uint64_t *const *values) {
  const plan_value *out = &kernel->value[step->out];
  const int operand[2] = {step->in, step->second};
  int registers = plan_value_bits(out, PLAN_REGISTER);
  for (int64_t at = 0; at < place_count(kernel, out); at++) {
    uint64_t x[2], thread = (uint64_t)at >> registers, index = (uint64_t)at & bits_mask(registers);
    for (int i = 0; i < 2; i++) {
      const plan_value *value = &kernel->value[operand[i]];
      uint64_t own = plan_reduced_register(out, value, index);
      x[i] = values[operand[i]][thread << plan_value_bits(value, PLAN_REGISTER) | own];
    }
    values[step->out][at] = combine_two(step->combiner, (llrt_dtype)step->type, x[0], x[1]);
  }
}

llrt_status plan_verify_prefix(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  const plan_value *out = &kernel->value[step->out];
  const int operand[2] = {step->in, step->second};
  uint64_t reduced = UINT64_MAX;
  CHECK(step->second < kernel->n_values, "step %d: value %d", at, step->second);
  for (int i = 0; i < 2; i++) {
    const plan_value *value = &kernel->value[operand[i]];
    plan_value expected;
    plan_value_reduce(out, value->reduced & ~out->reduced, &expected);
    CHECK(value->word == 0 && value->bits == llrt_dtype_bits((llrt_dtype)step->type),
          "step %d: elements of %d bits", at, value->bits);
    CHECK(value->reduced == expected.reduced && llrt_layout_equal(&value->layout, &expected.layout),
          "step %d: v%d is not laid out as v%d", at, operand[i], step->out);
    reduced &= value->reduced;
  }
  CHECK(out->word == 0 && out->bits == kernel->value[step->in].bits && out->reduced == reduced,
        "step %d: v%d is no combination", at, step->out);
  return LLRT_OK;
}

/* ---- picks ---- */

bool plan_pick_of(const plan_value *in, const plan_value *out, plan_pick *pick) {
  f2_basis span;
  f2_basis_init(&span);
  for (int i = 0; i < plan_value_bits(in, PLAN_REGISTER); i++)
    f2_basis_insert_as(&span, plan_value_columns(in, PLAN_REGISTER)[i], 1ull << i);
  pick->n_registers = plan_value_bits(out, PLAN_REGISTER);
  pick->n_warps = plan_value_bits(out, PLAN_WARP);
  for (int i = 0; i < pick->n_registers; i++)
    if (!f2_basis_coordinates(&span, plan_value_columns(out, PLAN_REGISTER)[i], &pick->of_register[i]))
      return false;
  for (int i = 0; i < pick->n_warps; i++) {
    uint64_t moved = plan_value_columns(out, PLAN_WARP)[i] ^ plan_value_columns(in, PLAN_WARP)[i];
    pick->of_warp[i] = 0;
    if (moved && !f2_basis_coordinates(&span, moved, &pick->of_warp[i])) return false;
  }
  for (int i = 0; i < plan_value_bits(out, PLAN_LANE); i++)
    if (plan_value_columns(out, PLAN_LANE)[i] != plan_value_columns(in, PLAN_LANE)[i]) return false;
  return true;
}

void plan_eval_pick(const plan_kernel *kernel, const plan_step *step, uint64_t *const *values) {
  const plan_value *in = &kernel->value[step->in], *out = &kernel->value[step->out];
  int registers = plan_value_bits(out, PLAN_REGISTER);
  plan_pick pick;
  plan_pick_of(in, out, &pick);
  for (int64_t at = 0; at < place_count(kernel, out); at++) {
    uint64_t thread = (uint64_t)at >> registers;
    uint64_t index = f2_apply(pick.of_register, (uint64_t)at & bits_mask(registers)) ^
                     f2_apply(pick.of_warp, thread >> kernel->lane_bits);
    values[step->out][at] = values[step->in][thread << plan_value_bits(in, PLAN_REGISTER) | index];
  }
}

llrt_status plan_verify_pick(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  const plan_value *in = &kernel->value[step->in], *out = &kernel->value[step->out];
  plan_pick pick;
  CHECK(in->bits == out->bits && in->word == 0 && out->word == 0 && in->reduced == out->reduced,
        "step %d: elements change", at);
  CHECK(plan_pick_of(in, out, &pick), "step %d: elements that the thread does not have", at);
  return LLRT_OK;
}
