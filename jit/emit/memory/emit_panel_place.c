/* Where a block's panel and its elements lie: see emit_panel.c. */
#include "jit/emit/core/builder.h"
#include "jit/emit/memory/emit_panel.h"
#include "jit/emit/place/address.h"

#include "base/bits.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"

/* Positions in the panel's places of what lies `low` (i32) behind its first. */
static void panel_positions(emitter *e, LLVMValueRef low, LLVMValueRef *position) {
  const plan_kernel *kernel = e->kernel;
  for (int i = 0; i < kernel->n_digits; i++) position[i] = NULL;
  for (int i = 0; i < kernel->panel.places; i++) {
    const plan_place *place = &kernel->place[i];
    LLVMValueRef count = emit_i32(e, place->count.value),
                 carry = LLVMBuildUDiv(e->builder, low, count, "");
    position[place->digit] = low;
    if (i + 1 < kernel->panel.places)
      position[place->digit] =
          LLVMBuildSub(e->builder, low, LLVMBuildMul(e->builder, carry, count, ""), "");
    low = carry;
  }
}

/* Elements of the source that `position` (i32) of digit i adds. */
static LLVMValueRef digit_offset(emitter *e, int i, LLVMValueRef position) {
  const plan_kernel *kernel = e->kernel;
  const plan_digit *digit = &kernel->digit[i];
  const plan_digit_side *side = &digit->side[kernel->panel.tensor];
  if (side->kind != PLAN_COLUMNS || digit->rest)
    return LLVMBuildMul(e->builder, position, emit_i32(e, side->stride.value), "");
  const uint64_t *columns =
      &kernel->column[kernel->panel.tensor][llrt_layout_out_shift(&kernel->space, i)];
  return LLVMBuildTrunc(e->builder,
                        emit_linear(e, emit_resize(e, position, e->i64), columns, digit->bits),
                        e->i32, "");
}

/* How much element j of a vector adds to the position of digit i. */
static int64_t vector_position(const plan_kernel *kernel, int i, int64_t j) {
  for (int k = 0; k < kernel->panel.places; k++) {
    const plan_place *place = &kernel->place[k];
    int64_t count = place->count.value;
    bool whole = k + 1 < kernel->panel.places && bits_is_power_of_two(count);
    if (place->digit == i) return whole ? j % count : j;
    if (!whole) return 0;
    j /= count;
  }
  return 0;
}

/* Elements of the source that it adds. */
static int64_t vector_offset(const plan_kernel *kernel, int64_t j) {
  int64_t sum = 0;
  for (int i = 0; i < kernel->n_digits; i++) {
    const plan_digit *digit = &kernel->digit[i];
    const plan_digit_side *side = &digit->side[kernel->panel.tensor];
    int64_t position = vector_position(kernel, i, j);
    if (position == 0) continue;
    if (side->kind != PLAN_COLUMNS || digit->rest) sum += position * side->stride.value;
    else
      sum += (int64_t)f2_apply(
          &kernel->column[kernel->panel.tensor][llrt_layout_out_shift(&kernel->space, i)],
          (uint64_t)position);
  }
  return sum;
}

static bool looks_at(const plan_kernel *kernel, const plan_bound *bound, int digit) {
  return bound->axis < 0 ? bound->top == digit : kernel->digit[digit].axis == bound->axis;
}

/* What is left to a bound's limit behind the panel's first position: i32, at most 2^30. */
static LLVMValueRef left_of(emitter *e, const plan_bound *bound) {
  const plan_kernel *kernel = e->kernel;
  LLVMValueRef left = emit_bound_limit(e, bound);
  for (int i = kernel->panel.places; i < kernel->n_places; i++) {
    int digit = kernel->place[i].digit;
    if (!looks_at(kernel, bound, digit)) continue;
    int64_t step = bound->axis < 0 ? 1 : kernel->digit[digit].step;
    left = emit_subtract(e, left, LLVMBuildMul(e->builder, e->first[i], emit_i64(e, step), ""));
  }
  left = emit_larger(e, emit_smaller(e, left, emit_i64(e, 1 << 30)), emit_i64(e, 0));
  return LLVMBuildTrunc(e->builder, left, e->i32, "");
}

/* What `position` adds to what a bound looks at, i32. */
static LLVMValueRef inside_part(emitter *e, const plan_bound *bound, const LLVMValueRef *position) {
  const plan_kernel *kernel = e->kernel;
  LLVMValueRef sum = emit_i32(e, 0);
  for (int i = 0; i < kernel->n_digits; i++) {
    if (!position[i] || !looks_at(kernel, bound, i)) continue;
    int64_t step = bound->axis < 0 ? 1 : kernel->digit[i].step;
    sum = emit_add(e, sum, LLVMBuildMul(e->builder, position[i], emit_i32(e, step), ""));
  }
  return sum;
}

LLVMValueRef panel_inside(emitter *e, const panel_vector *vector, int tensor, int j) {
  const plan_kernel *kernel = e->kernel;
  LLVMValueRef inside = NULL;
  for (int i = 0; i < kernel->n_bounds; i++) {
    const plan_bound *bound = &kernel->bound[i];
    int64_t further = 0;
    if (!(bound->tensors >> tensor & 1)) continue;
    for (int k = 0; k < kernel->n_digits; k++)
      if (looks_at(kernel, bound, k))
        further += vector_position(kernel, k, j) * (bound->axis < 0 ? 1 : kernel->digit[k].step);
    LLVMValueRef at = emit_add(e, inside_part(e, bound, vector->position), emit_i32(e, further));
    inside = emit_and(e, inside, emit_less(e, at, left_of(e, bound)));
  }
  return inside;
}

void panel_vector_of(emitter *e, const plan_value *value, uint64_t index, panel_vector *out) {
  const plan_kernel *kernel = e->kernel;
  LLVMValueRef offset = emit_i32(e, 0), zero = offset;
  uint64_t tile = f2_apply(plan_value_columns(value, PLAN_REGISTER), index);
  LLVMValueRef low = LLVMBuildTrunc(e->builder, emit_flat_low(e, value, tile), e->i32, "");
  out->there = LLVMBuildICmp(e->builder, LLVMIntULT, low, emit_i32(e, kernel->panel.positions), "");
  panel_positions(e, emit_choose(e, out->there, low, zero), out->position);
  for (int i = 0; i < kernel->n_digits; i++)
    if (out->position[i]) offset = emit_add(e, offset, digit_offset(e, i, out->position[i]));
  offset = LLVMBuildMul(e->builder, offset, emit_i32(e, kernel->tensor_bits[0] / 8), "");
  offset = emit_add(e, offset, LLVMBuildTrunc(e->builder, e->panel, e->i32, ""));
  out->pointer = panel_byte(e, e->shared[0], emit_resize(e, offset, e->i64));
}

LLVMValueRef panel_element(emitter *e, const panel_vector *vector, int j) {
  int64_t at = vector_offset(e->kernel, j) * (e->kernel->tensor_bits[0] / 8);
  return panel_byte(e, vector->pointer, emit_i64(e, at));
}

LLVMValueRef panel_byte(const emitter *e, LLVMValueRef pointer, LLVMValueRef byte) {
  return LLVMBuildGEP2(e->builder, e->i8, pointer, &byte, 1, "");
}

void panel_range_of(emitter *e, panel_range *out) {
  const plan_panel *panel = &e->kernel->panel;
  int64_t unit = (int64_t)1 << panel->unit, bytes = panel->elements * e->kernel->tensor_bits[0] / 8;
  LLVMValueRef start, mask = emit_i64(e, -unit);
  emit_panel(e, panel->tensor, &start);
  out->begin = LLVMBuildPtrToInt(e->builder, start, e->i64, "");
  out->end = emit_add(e, out->begin, emit_i64(e, bytes));
  if (panel->ended) {
    LLVMValueRef left = left_of(e, &e->kernel->bound[panel->ended - 1]), all = emit_i64(e, bytes);
    left = LLVMBuildMul(e->builder, emit_resize(e, left, e->i64),
                        emit_i64(e, panel->pitch * e->kernel->tensor_bits[0] / 8), "");
    out->end = emit_add(e, out->begin, emit_smaller(e, left, all));
  }
  if (panel->tensor == 0) out->end = emit_smaller(e, out->end, emit_number(e, &panel->end));
  LLVMValueRef down = LLVMBuildAnd(e->builder, out->begin, mask, "");
  out->first = LLVMBuildAnd(e->builder, emit_add(e, out->begin, emit_i64(e, unit - 1)), mask, "");
  out->last = LLVMBuildAnd(e->builder, out->end, mask, "");
  out->shared = panel_byte(e, e->shared[0], LLVMBuildSub(e->builder, out->first, down, ""));
  e->panel = LLVMBuildSub(e->builder, out->begin, down, "");
}
