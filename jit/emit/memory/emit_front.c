/* PLAN_LOAD of what lies in front (plan_step.front): for a group of elements that begins in the
 * second half of a byte, the element whose half the first one is, which may be the last one of
 * another row. All threads load, those that want nothing the tensor's first element, so that no
 * branch parts them and all loads are under way together. GPU only. */
#include "jit/emit/core/builder.h"
#include "jit/emit/memory/emit_memory.h"
#include "jit/emit/place/address.h"
#include "jit/emit/place/place.h"

#include "base/bits.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"

/* One position less in the order of the destination's memory. */
static void step_back(emitter *e, LLVMValueRef position[PLAN_MAX_DIGITS]) {
  const plan_sequence *sequence = &e->kernel->sequence;
  LLVMValueRef borrows = NULL, one = emit_i64(e, 1);
  for (int k = 0; k < sequence->n; k++) {
    int i = sequence->digit[k];
    LLVMValueRef at = position[i],
                 last = emit_subtract(e, emit_number(e, &sequence->count[k]), one);
    LLVMValueRef zero = LLVMBuildICmp(e->builder, LLVMIntEQ, at, emit_i64(e, 0), "");
    LLVMValueRef less = emit_choose(e, zero, last, emit_subtract(e, at, one));
    position[i] = borrows ? emit_choose(e, borrows, less, at) : less;
    borrows = emit_and(e, borrows, zero);
  }
}

/* i1: whether positions, all of which the destination has, are inside the source's bounds, too;
 * NULL: they are. */
static LLVMValueRef source_has(emitter *e, const LLVMValueRef position[PLAN_MAX_DIGITS]) {
  const plan_kernel *kernel = e->kernel;
  LLVMValueRef inside = NULL;
  for (int i = 0; i < kernel->n_bounds; i++) {
    const plan_bound *bound = &kernel->bound[i];
    if (!(bound->tensors & 1) || bound->tensors >> PLAN_DESTINATION & 1) continue;
    LLVMValueRef at =
        bound->axis < 0 ? position[bound->top] : emit_coordinate_of(e, bound->axis, position);
    inside = emit_and(e, inside,
                      LLVMBuildICmp(e->builder, LLVMIntULT, at, emit_bound_limit(e, bound), ""));
  }
  return inside;
}

/* i1: whether the element at a tile coordinate is inside the destination's bounds, and the second
 * of its byte. */
static LLVMValueRef is_wanted(emitter *e, emit_place *place, uint64_t tile) {
  LLVMValueRef second = LLVMBuildTrunc(e->builder, emit_offset(e, place, tile),
                                       LLVMInt1TypeInContext(e->context), "");
  return emit_and(e, second, emit_inside(e, place, tile));
}

static LLVMValueRef load_at(emitter *e, const LLVMValueRef position[PLAN_MAX_DIGITS]) {
  int bits = e->kernel->tensor_bits[0];
  LLVMTypeRef type = emit_int_type(e, bits_max(bits, 32));
  LLVMValueRef offset, pointer = emit_pointer_at(e, 0, position, &offset);
  LLVMValueRef loaded =
      LLVMBuildLoad2(e->builder, emit_int_type(e, bits_max(bits, 8)), pointer, "");
  LLVMSetAlignment(loaded, (unsigned)bits_max(bits, 8) / 8);
  loaded = emit_resize(e, loaded, type);
  if (bits >= 8) return loaded;
  LLVMValueRef half = LLVMBuildAnd(e->builder, emit_resize(e, offset, type), emit_i32(e, 1), "");
  if (e->kernel->high_first[0]) half = LLVMBuildXor(e->builder, half, emit_i32(e, 1), "");
  loaded =
      LLVMBuildLShr(e->builder, loaded, LLVMBuildShl(e->builder, half, emit_i32(e, 2), ""), "");
  return LLVMBuildAnd(e->builder, loaded, emit_i32(e, 15), "");
}

void emit_load_front(emitter *e, const plan_step *step) {
  const plan_kernel *kernel = e->kernel;
  plan_value value;
  emit_place place;
  plan_value_spread(kernel, &kernel->value[step->out], &value);
  emit_place_tensor(e, &value, PLAN_DESTINATION, &place);
  place.nibbles = true;
  for (uint64_t i = 0; i < 1ull << plan_value_bits(&value, PLAN_REGISTER); i++) {
    uint64_t tile = f2_apply(plan_value_columns(&value, PLAN_REGISTER), i);
    LLVMValueRef position[PLAN_MAX_DIGITS], wanted = is_wanted(e, &place, tile);
    for (int k = 0; k < kernel->n_digits; k++)
      position[k] = emit_digit_position(e, &value, k, tile);
    step_back(e, position);
    LLVMValueRef there = source_has(e, position), asked = emit_and(e, wanted, there);
    for (int k = 0; k < kernel->n_digits; k++)
      position[k] = emit_choose(e, asked, position[k], emit_i64(e, 0));
    LLVMValueRef loaded = load_at(e, position);
    if (there)
      loaded = emit_choose(e, there, loaded, LLVMConstInt(LLVMTypeOf(loaded), kernel->fill, false));
    e->value[step->out][i] = loaded;
  }
}
