/* Loads and stores of values: vectors of registers on a GPU, of lanes on the host.
 *
 * Both walk the value in *pieces*. A GPU piece is one access of one thread: 2^vector elements that
 * lie in 2^(vector - word) words, or in a part of one word. A host piece is a run of lanes of one
 * register that hold 2^vector elements, together with its neighbours a whole SIMD register. A
 * single element of 4 bits, which only element-wise steps load, is taken out of its byte. */
#include "jit/emit/memory/emit_access.h"
#include "jit/emit/memory/emit_memory.h"
#include "jit/emit/place/address.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/matrix.h"
#include "jit/plan/facts/value.h"

#include <string.h>

/* i1: whether this thread's warp takes part in the step's repetition; NULL: all do. */
static LLVMValueRef warp_takes_part(emitter *e, const access *a) {
  plan_repetitions repetitions;
  plan_repetitions_of(e->kernel, a->step->buffer, a->value, &repetitions);
  if (repetitions.warps == 0 || !e->warp) return NULL;
  LLVMValueRef of_warp = emit_linear(e, e->warp, repetitions.of_warp, e->kernel->warp_bits);
  return LLVMBuildICmp(e->builder, LLVMIntEQ, of_warp,
                       emit_i32(e, (int64_t)(a->step->repetition & repetitions.warps)), "");
}

/* A shared load that only some warps make: the others keep what they have. */
static void load_guarded(emitter *e, access *a, LLVMValueRef condition) {
  emit_words before;
  int n = 1 << (a->registers - a->word);
  memcpy(before, a->words, (size_t)n * sizeof *before);
  LLVMBasicBlockRef skipped = LLVMGetInsertBlock(e->builder),
                    next = emit_open_guard_of_warps(e, condition);
  access_move_gpu(e, a);
  LLVMBasicBlockRef loaded = LLVMGetInsertBlock(e->builder);
  emit_close_guard(e, next);
  for (int i = 0; i < n; i++) {
    if (a->words[i] == before[i]) continue;
    LLVMValueRef now = a->words[i], old = before[i] ? before[i] : LLVMGetUndef(LLVMTypeOf(now));
    a->words[i] = LLVMBuildPhi(e->builder, LLVMTypeOf(now), "");
    LLVMAddIncoming(a->words[i], &now, &loaded, 1);
    LLVMAddIncoming(a->words[i], &old, &skipped, 1);
  }
}

static void place_in_buffer(emitter *e, access *a) {
  const plan_value *value = a->value;
  if (a->step->matrix) {
    plan_matrix_of(e->kernel, a->step, value, &a->matrix);
    plan_matrix_addresses(value, &a->matrix, &a->addresses);
    value = &a->addresses;
  }
  emit_place_buffer(e, value, a->step->buffer, &a->place);
}

/* Where blocks of a cluster pass the guard or do not (copies are in other blocks alone), lanes that
 * a condition inside of it parted come together inside: behind it those blocks come in, too, that
 * did not pass, and the driver's compiler knows that the guard itself parts none. parted: whether
 * lanes may have been parted before. */
static void close_access(emitter *e, const plan_value *value, bool parted, LLVMBasicBlockRef next) {
  if (next && !emit_has_copies_in_block(e, value)) emit_bring_together(e);
  e->parted |= parted;
  emit_close_guard(e, next);
}

static void move_value(emitter *e, const plan_step *step, int number, bool load, bool tensor) {
  access a = {.step = step,
              .value = &e->kernel->value[number],
              .words = e->value[number],
              .vector = step->vector,
              .load = load};
  if (tensor) {
    plan_value_spread(e->kernel, a.value, &a.addresses);
    a.value = &a.addresses;
  }
  a.registers = plan_value_bits(a.value, PLAN_REGISTER);
  a.word = a.value->word;
  e->ignored_bounds = tensor ? step->ignored_bounds : 0;
  LLVMBasicBlockRef next = NULL;
  LLVMValueRef warps = tensor ? NULL : warp_takes_part(e, &a);
  LLVMValueRef first = load     ? NULL
                       : tensor ? emit_is_first_copy(e, a.value)
                                : emit_is_first_in_block(e, a.value);
  if (first) next = emit_open_guard(e, emit_and(e, first, warps));
  else if (!load) next = emit_open_guard_of_warps(e, warps);
  const bool parted = e->parted;
  if (next) e->parted = false;
  const bool pushed = !tensor && !load && e->kernel->buffer[step->buffer].pushed;
  a.cluster = pushed || (load && !tensor && !plan_is_local(e->kernel, step->buffer, a.value));
  if (a.cluster) plan_blocks_of_buffer(e->kernel, step->buffer, &a.blocks);
  if (tensor && e->both) a.place = *e->both;
  else if (tensor) emit_place_tensor(e, a.value, step->tensor, &a.place);
  else place_in_buffer(e, &a);
  if (tensor && !load && e->kernel->n_indices) emit_place_tensor(e, a.value, 0, &a.read);
  if (tensor && step->following) emit_place_following(e, step, &a.place);
  a.place.staged = step->staged;
  emit_words swapped;
  bool swap = access_is_high_first(e, &a) && !access_is_single_nibble(&a);
  if (swap && !load) {
    access_swap_halves(e, &a, a.words, swapped);
    a.words = swapped;
  }
  a.place.nibbles = access_is_single_nibble(&a);
  if (a.place.nibbles && load) access_load_nibbles(e, &a);
  else if (a.place.nibbles) access_store_nibbles(e, &a);
  else if (emit_is_host(e)) access_move_host(e, &a);
  else if (load && warps) load_guarded(e, &a, warps);
  else access_move_gpu(e, &a);
  if (swap && load) access_swap_halves(e, &a, a.words, a.words);
  e->ignored_bounds = 0;
  close_access(e, a.value, parted, next);
}

void emit_load_step(emitter *e, const plan_step *step) {
  if (step->front) emit_load_front(e, step);
  else if (step->overhang) emit_overhang_step(e, step);
  else if (step->staged && e->kernel->panel.staged) emit_load_staged(e, step);
  else if (e->kernel->panel.staged) emit_load_vectors(e, step);
  else if (step->staged && e->kernel->panel.vector > 0) emit_load_together(e, step);
  else move_value(e, step, step->out, true, true);
}

void emit_store_step(emitter *e, const plan_step *step) {
  if (step->overhang) emit_overhang_step(e, step);
  else if (step->staged) emit_store_apart(e, step);
  else move_value(e, step, step->in, false, true);
}

void emit_shared_store_step(emitter *e, const plan_step *step) {
  if (e->kernel->buffer[step->buffer].pushed) emit_await_blocks(e);
  move_value(e, step, step->in, false, false);
}

void emit_shared_load_step(emitter *e, const plan_step *step) {
  e->lazy[step->out] = step->lazy ? step : NULL;
  if (step->lazy) memset(e->value[step->out], 0, sizeof e->value[step->out]);
  else move_value(e, step, step->out, true, false);
}

void emit_matrix_word(emitter *e, const plan_step *step, int w) {
  access a = {.step = step,
              .value = &e->kernel->value[step->out],
              .words = e->value[step->out],
              .vector = step->vector,
              .load = true};
  a.registers = plan_value_bits(a.value, PLAN_REGISTER);
  a.word = a.value->word;
  place_in_buffer(e, &a);
  uint64_t first = (uint64_t)w << a.word;
  for (int j = 0; j < a.matrix.count; j++) first &= ~(1ull << a.matrix.position[j]);
  access_move_matrices(e, &a, first);
}
