/* Positions of digits and coordinates of axes at run time: what tile, thread, iteration and grid
 * add to each other. Must agree with jit/plan/facts/eval.c. */
#include "jit/emit/core/builder.h"
#include "jit/emit/place/address.h"
#include "jit/emit/place/place.h"

#include "base/bits.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"

/* ---- linear parts ---- */

LLVMValueRef emit_resize(const emitter *e, LLVMValueRef x, LLVMTypeRef type) {
  return LLVMBuildIntCast2(e->builder, x, type, false, "");
}

/* The image of a value's in-dim `dim` under tile -> something (columns `of_tile`), at run-time
 * coordinate x (any integer type), in `type`, which holds it. NULL: it is zero. */
static LLVMValueRef dim_part(emitter *e, const plan_value *value, plan_dim dim, LLVMValueRef x,
                             const uint64_t *of_tile, LLVMTypeRef type) {
  uint64_t columns[LLRT_MAX_BITS] = {0}, all = 0;
  int n = plan_value_bits(value, dim);
  for (int i = 0; i < n; i++) {
    columns[i] = f2_apply(of_tile, plan_value_columns(value, dim)[i]);
    all |= columns[i];
  }
  if (!x || all == 0) return NULL;
  return emit_linear(e, emit_resize(e, x, type), columns, n);
}

LLVMValueRef emit_moving_part(emitter *e, const plan_value *value, const uint64_t *of_tile,
                              const uint64_t *of_grid, uint64_t bits) {
  LLVMTypeRef type = bits >> 32 ? e->i64 : e->i32;
  LLVMValueRef parts[] = {
      dim_part(e, value, PLAN_LANE, e->lane, of_tile, type),
      dim_part(e, value, PLAN_WARP, e->warp, of_tile, type),
      dim_part(e, value, PLAN_ITERATION, e->iteration, of_tile, type),
      of_grid ? emit_linear(e, emit_resize(e, e->grid, type), of_grid, e->kernel->space.in[1].bits)
              : NULL};
  LLVMValueRef sum = LLVMConstInt(type, 0, false);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    if (parts[i]) sum = LLVMBuildXor(e->builder, sum, parts[i], "");
  return sum;
}

uint64_t emit_moving_bits(const emitter *e, const plan_value *value, const uint64_t *of_tile,
                          const uint64_t *of_grid) {
  uint64_t bits = 0;
  for (plan_dim d = emit_is_host(e) ? PLAN_ITERATION : PLAN_LANE; d <= PLAN_ITERATION; d++)
    for (int i = 0; i < plan_value_bits(value, d); i++)
      bits |= f2_apply(of_tile, plan_value_columns(value, d)[i]);
  for (int i = 0; of_grid && i < e->kernel->space.in[1].bits; i++) bits |= of_grid[i];
  return bits;
}

LLVMValueRef emit_linear_sum(emitter *e, const plan_value *value, uint64_t tile,
                             const uint64_t *of_tile, const uint64_t *of_grid) {
  uint64_t known = f2_apply(of_tile, tile);
  uint64_t bits = emit_moving_bits(e, value, of_tile, of_grid) | known;
  LLVMValueRef sum = emit_moving_part(e, value, of_tile, of_grid, bits);
  sum = LLVMBuildXor(e->builder, sum, LLVMConstInt(LLVMTypeOf(sum), known, false), "");
  return emit_resize(e, sum, e->i64);
}

/* ---- positions of digits ---- */

/* Columns tile -> bits of digit i, and grid -> the same. */
static void digit_columns(const plan_kernel *kernel, int i, uint64_t *of_tile, uint64_t *of_grid) {
  const llrt_layout *space = &kernel->space;
  int shift = llrt_layout_out_shift(space, i), tile = space->in[0].bits;
  uint64_t mask = bits_mask(space->out[i].bits);
  for (int b = 0; b < tile; b++) of_tile[b] = space->column[b] >> shift & mask;
  for (int b = 0; b < space->in[1].bits; b++) of_grid[b] = space->column[tile + b] >> shift & mask;
}

bool emit_iterations_move(const emitter *e, const plan_value *value, int i) {
  uint64_t of_tile[LLRT_MAX_BITS] = {0}, of_grid[LLRT_MAX_BITS] = {0}, moved = 0;
  digit_columns(e->kernel, i, of_tile, of_grid);
  for (int b = 0; b < plan_value_bits(value, PLAN_ITERATION); b++)
    moved |= f2_apply(of_tile, plan_value_columns(value, PLAN_ITERATION)[b]);
  return moved != 0;
}

LLVMValueRef emit_digit_position(emitter *e, const plan_value *value, int i, uint64_t tile) {
  const plan_digit *digit = &e->kernel->digit[i];
  LLVMValueRef position = emit_i64(e, 0);
  if (digit->bits > 0) {
    uint64_t of_tile[LLRT_MAX_BITS] = {0}, of_grid[LLRT_MAX_BITS] = {0};
    digit_columns(e->kernel, i, of_tile, of_grid);
    position = emit_linear_sum(e, value, tile, of_tile, of_grid);
  }
  if (!digit->rest) return position;
  LLVMValueRef upper = LLVMBuildShl(e->builder, e->upper[i], emit_i64(e, digit->bits), "");
  return LLVMBuildOr(e->builder, upper, position, "");
}

int64_t emit_position_known(emitter *e, const plan_value *value, int i, uint64_t tile) {
  uint64_t of_tile[LLRT_MAX_BITS] = {0}, of_grid[LLRT_MAX_BITS] = {0};
  digit_columns(e->kernel, i, of_tile, of_grid);
  uint64_t known = f2_apply(of_tile, tile);
  return known & emit_moving_bits(e, value, of_tile, of_grid) ? -1 : (int64_t)known;
}

LLVMValueRef emit_flat_low(emitter *e, const plan_value *value, uint64_t tile) {
  uint64_t identity[LLRT_MAX_BITS];
  for (int b = 0; b < LLRT_MAX_BITS; b++) identity[b] = 1ull << b;
  return emit_linear_sum(e, value, tile, identity, NULL);
}

LLVMValueRef emit_first_index(emitter *e) {
  int64_t size = e->kernel->panel.positions;
  if (size == 0) size = (int64_t)1 << e->kernel->value[0].layout.out[0].bits;
  return LLVMBuildMul(e->builder, e->block, emit_i64(e, size), "");
}

LLVMValueRef emit_flat_index(emitter *e, const plan_value *value, uint64_t tile) {
  return LLVMBuildAdd(e->builder, emit_first_index(e), emit_flat_low(e, value, tile), "");
}

/* ---- flat kernels: positions by division ---- */

/* Whether 32 bits hold a position of the place and what carries over to it, both below 2^31. */
static bool is_narrow(const plan_place *place) {
  return place->count.arg < 0 && place->count.value <= (int64_t)1 << 31;
}

/* The position in place i of what lies *carry (i32) behind the block's first; *carry: what goes on
 * to the next. */
static LLVMValueRef flat_position(emitter *e, int i, LLVMValueRef *carry) {
  const plan_place *place = &e->kernel->place[i];
  LLVMTypeRef type = is_narrow(place) ? e->i32 : e->i64;
  LLVMValueRef first = emit_resize(e, e->first[i], type);
  LLVMValueRef at = LLVMBuildAdd(e->builder, first, emit_resize(e, *carry, type), "");
  LLVMValueRef count = emit_resize(e, emit_number(e, &place->count), type), quotient;
  quotient =
      type == e->i32 ? LLVMBuildUDiv(e->builder, at, count, "") : emit_divide_place(e, at, place);
  *carry = emit_resize(e, quotient, e->i32);
  at = LLVMBuildSub(e->builder, at, LLVMBuildMul(e->builder, quotient, count, ""), "");
  return emit_resize(e, at, e->i64);
}

/* The positions of the block's first are made once; what is added to them carries over in numbers
 * of 32 bits, whose divisions are cheap. */
void emit_flat_positions(emitter *e, LLVMValueRef low, LLVMValueRef position[PLAN_MAX_DIGITS]) {
  LLVMValueRef carry = emit_resize(e, low, e->i32);
  int last = e->kernel->n_places - 1;
  for (int i = 0; i < e->kernel->n_digits; i++)
    position[i] = e->upper[i] ? e->upper[i] : emit_i64(e, 0);
  for (int i = 0; i < last; i++) position[e->kernel->place[i].digit] = flat_position(e, i, &carry);
  if (last < 0) return;
  LLVMValueRef rest = emit_resize(e, carry, e->i64);
  position[e->kernel->place[last].digit] = LLVMBuildAdd(e->builder, e->first[last], rest, "");
}

LLVMValueRef emit_coordinate_of(const emitter *e, int axis,
                                const LLVMValueRef position[PLAN_MAX_DIGITS]) {
  LLVMValueRef sum = emit_i64(e, 0);
  for (int i = 0; i < e->kernel->n_digits; i++) {
    if (e->kernel->digit[i].axis != axis) continue;
    LLVMValueRef term =
        LLVMBuildMul(e->builder, position[i], emit_i64(e, e->kernel->digit[i].step), "");
    sum = LLVMBuildAdd(e->builder, sum, term, "");
  }
  return sum;
}

LLVMValueRef emit_position(emitter *e, const plan_value *value, int i, uint64_t tile) {
  LLVMValueRef position[PLAN_MAX_DIGITS];
  if (!e->kernel->flat) return emit_digit_position(e, value, i, tile);
  emit_flat_positions(e, emit_flat_low(e, value, tile), position);
  return position[i];
}

LLVMValueRef emit_coordinate(emitter *e, const plan_value *value, int axis, uint64_t tile) {
  LLVMValueRef position[PLAN_MAX_DIGITS];
  if (e->kernel->flat) emit_flat_positions(e, emit_flat_low(e, value, tile), position);
  for (int i = 0; i < e->kernel->n_digits && !e->kernel->flat; i++)
    if (e->kernel->digit[i].axis == axis) position[i] = emit_digit_position(e, value, i, tile);
  return emit_coordinate_of(e, axis, position);
}
