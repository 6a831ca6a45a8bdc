/* Whether the vectors that a block's rows overhang all lie in memory; must agree with
 * jit/plan/facts/row_group.c. */
#include "jit/emit/core/builder.h"
#include "jit/emit/place/address.h"

#include "base/bits.h"
#include "jit/plan/facts/row_group.h"
#include "layout/f2.h"

/* The parts of a mixed sum that tile bits cannot move, and can. */
static void add_reach(emitter *e, LLVMValueRef fixed, uint64_t touched, const plan_number *stride,
                      LLVMValueRef *low, LLVMValueRef *high) {
  LLVMValueRef least = LLVMBuildAnd(e->builder, fixed, emit_i64(e, (int64_t)~touched), "");
  LLVMValueRef most = LLVMBuildOr(e->builder, fixed, emit_i64(e, (int64_t)touched), "");
  if (stride) {
    LLVMValueRef number = emit_number(e, stride);
    least = LLVMBuildMul(e->builder, least, number, "");
    most = LLVMBuildMul(e->builder, most, number, "");
    LLVMValueRef down = emit_less(e, number, emit_i64(e, 0)), first = least;
    least = emit_choose(e, down, most, least);
    most = emit_choose(e, down, first, most);
  }
  *low = emit_add(e, *low, least);
  *high = emit_add(e, *high, most);
}

/* Columns grid -> what `columns` makes of space bits. */
static LLVMValueRef of_grid(emitter *e, const uint64_t *columns, int shift, uint64_t mask) {
  const llrt_layout *space = &e->kernel->space;
  uint64_t made[LLRT_MAX_BITS] = {0};
  for (int b = 0; b < space->in[1].bits; b++) {
    uint64_t x = space->column[space->in[0].bits + b];
    made[b] = (columns ? f2_apply(columns, x) : x) >> shift & mask;
  }
  return emit_linear(e, e->grid, made, space->in[1].bits);
}

/* So many elements of the source as bytes, of which two of 4 bits may share the last. */
static LLVMValueRef bytes_of(emitter *e, LLVMValueRef elements, bool up) {
  int bits = e->kernel->tensor_bits[0];
  if (bits >= 8) return LLVMBuildMul(e->builder, elements, emit_i64(e, bits / 8), "");
  if (up) elements = emit_add(e, elements, emit_i64(e, 1));
  return LLVMBuildAShr(e->builder, elements, emit_i64(e, 1), "");
}

LLVMValueRef emit_block_within(emitter *e) {
  const plan_kernel *kernel = e->kernel;
  const plan_memory *memory = &kernel->memory;
  if (!memory->guards) return NULL;
  LLVMValueRef low = emit_i64(e, kernel->origin[0]), high = low;
  add_reach(e, of_grid(e, kernel->column[0], 0, ~0ull), plan_touched_columns(kernel, 0), NULL, &low,
            &high);
  for (int i = 0; i < kernel->n_digits; i++) {
    const plan_digit *digit = &kernel->digit[i];
    LLVMValueRef position = e->upper[i];
    uint64_t touched = 0;
    if (digit->side[0].kind == PLAN_STRIDE) {
      int shift = llrt_layout_out_shift(&kernel->space, i);
      LLVMValueRef fixed = of_grid(e, NULL, shift, bits_mask(digit->bits));
      position = LLVMBuildShl(e->builder, position, emit_i64(e, digit->bits), "");
      position = LLVMBuildOr(e->builder, position, fixed, "");
      touched = plan_touched_positions(kernel, i);
    } else if (!digit->rest) {
      continue;
    }
    add_reach(e, position, touched, &digit->side[0].stride, &low, &high);
  }
  int64_t vector = (int64_t)1 << memory->vector;
  LLVMValueRef mask = emit_i64(e, -vector);
  low = emit_add(e, e->args[0], bytes_of(e, low, false));
  high = bytes_of(e, emit_add(e, high, emit_i64(e, 1)), true);
  high = emit_add(e, emit_add(e, e->args[0], high), emit_i64(e, vector - 1));
  low = LLVMBuildAnd(e->builder, low, mask, "");
  high = LLVMBuildAnd(e->builder, high, mask, "");
  LLVMValueRef begins =
      LLVMBuildICmp(e->builder, LLVMIntUGE, low, emit_number(e, &memory->begin), "");
  LLVMValueRef ends = LLVMBuildICmp(e->builder, LLVMIntULE, high, emit_number(e, &memory->end), "");
  return LLVMBuildAnd(e->builder, begins, ends, "");
}
