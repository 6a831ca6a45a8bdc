/* PLAN_PREFETCH: what is asked for ahead of the next block, a few accesses with each word that the
 * steps behind it move. Host only. */
#include "jit/emit/core/builder.h"
#include "jit/emit/memory/emit_memory.h"
#include "jit/emit/place/address.h"

#include "base/bits.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"

#include <string.h>

/* Registers of the value that lie on the line of another. */
static uint64_t inside_line(const emit_ahead *ahead) {
  const plan_value *value = ahead->place.value;
  uint64_t inside = 0;
  for (int i = 0; i < plan_value_bits(value, PLAN_REGISTER); i++) {
    uint64_t tile = plan_value_columns(value, PLAN_REGISTER)[i];
    uint64_t moved = f2_apply(ahead->place.map.column, tile);
    if (plan_is_unstrided(&ahead->place.map, tile) && moved >> ahead->step->vector == 0)
      inside |= 1ull << i;
  }
  return inside;
}

/* Values that the steps of a body make and store: what accesses are spread over. */
static int count_words(const plan_kernel *kernel, int first, int n) {
  int words = 0;
  for (int i = first; i < first + n; i++) {
    const plan_step *step = &kernel->step[i];
    const plan_value *value = &kernel->value[step->kind == PLAN_STORE ? step->in : step->out];
    if (step->kind == PLAN_LOAD || step->kind == PLAN_SHUFFLE || step->kind == PLAN_STORE)
      words += 1 << (plan_value_bits(value, PLAN_REGISTER) - value->word);
    if (step->kind == PLAN_IF_INTERIOR) words += count_words(kernel, i + 1, step->body);
    i += step->body + step->otherwise;
  }
  return words;
}

/* Addresses are those of the block after this one. */
void emit_prefetch_step(emitter *e, int at, int end) {
  const plan_step *step = &e->kernel->step[at];
  emit_ahead *ahead = &e->ahead;
  LLVMValueRef block = e->block, grid = e->grid, upper[PLAN_MAX_DIGITS];
  memcpy(upper, e->upper, sizeof upper);
  e->block = emit_add(e, block, emit_i64(e, 1));
  emit_decode_block(e);
  *ahead = (emit_ahead){.step = step};
  emit_place_tensor(e, &e->kernel->value[step->in], step->tensor, &ahead->place);
  memcpy(ahead->upper, e->upper, sizeof upper);
  ahead->grid = e->grid;
  e->block = block;
  e->grid = grid;
  memcpy(e->upper, upper, sizeof upper);
  ahead->inside = inside_line(ahead);
  ahead->total =
      1 << (plan_value_bits(ahead->place.value, PLAN_REGISTER) - bits_count(ahead->inside));
  ahead->words = count_words(e->kernel, at + 1, end - at - 1);
}

static void ask(emitter *e, uint64_t tile) {
  static const int read = 0, second_level = 2, data = 1; /* LLVM, "llvm.prefetch" */
  emit_ahead *ahead = &e->ahead;
  LLVMValueRef grid = e->grid, upper[PLAN_MAX_DIGITS];
  memcpy(upper, e->upper, sizeof upper);
  memcpy(e->upper, ahead->upper, sizeof upper);
  e->grid = ahead->grid;
  LLVMValueRef pointer = emit_pointer(e, &ahead->place, tile);
  e->grid = grid;
  memcpy(e->upper, upper, sizeof upper);
  LLVMTypeRef type = LLVMTypeOf(pointer);
  LLVMValueRef args[] = {pointer, emit_i32(e, read), emit_i32(e, second_level), emit_i32(e, data)};
  emit_intrinsic(e, "llvm.prefetch", &type, 1, args, 4);
}

static void ask_next(emitter *e) {
  emit_ahead *ahead = &e->ahead;
  while (ahead->next & ahead->inside) ahead->next++;
  ask(e, f2_apply(plan_value_columns(ahead->place.value, PLAN_REGISTER), ahead->next++));
  ahead->asked++;
}

void emit_ahead_some(emitter *e) {
  emit_ahead *ahead = &e->ahead;
  ahead->seen++;
  while (ahead->asked < ahead->total && ahead->asked * ahead->words < ahead->seen * ahead->total)
    ask_next(e);
}
