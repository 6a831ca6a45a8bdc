/* Loads of a panel in place by vectors (plan_panel.vector): the elements that one access stores lie
 * in the panel at distances that are known, so that a thread computes one place and one mask. */
#include "base/bits.h"
#include "jit/emit/core/builder.h"
#include "jit/emit/memory/emit_memory.h"
#include "jit/emit/place/address.h"

/* The first element's place: bits behind the panel's first element that are whole bytes, i32, and
 * of 4-bit elements how far its byte is to be shifted. */
typedef struct first_place {
  LLVMValueRef byte, shift;
} first_place;

static first_place place_of(emitter *e, emit_place *place, int bits) {
  LLVMValueRef offset = LLVMBuildSub(e->builder, emit_offset(e, place, 0), e->panel, "");
  first_place first = {.byte = LLVMBuildTrunc(e->builder, offset, e->i32, "")};
  if (bits < 8) {
    LLVMValueRef half = LLVMBuildAnd(e->builder, first.byte, emit_i32(e, 1), "");
    first.shift = LLVMBuildShl(e->builder, half, emit_i32(e, 2), "");
    first.byte = LLVMBuildLShr(e->builder, first.byte, emit_i32(e, 1), "");
  } else {
    first.byte = LLVMBuildMul(e->builder, first.byte, emit_i32(e, bits / 8), "");
  }
  first.byte = emit_panel_place(e, LLVMBuildZExt(e->builder, first.byte, e->i64, ""));
  return first;
}

LLVMValueRef emit_panel_place(emitter *e, LLVMValueRef at) {
  int skew = e->kernel->panel.skew;
  if (skew == 0) return at;
  LLVMValueRef before = LLVMBuildLShr(e->builder, at, emit_i64(e, skew), "");
  before = LLVMBuildMul(e->builder, before, emit_i64(e, PLAN_SKEW_BYTES), "");
  return LLVMBuildAdd(e->builder, at, before, "");
}

static LLVMValueRef byte_at(const emitter *e, LLVMValueRef pointer, LLVMValueRef byte) {
  return LLVMBuildGEP2(e->builder, e->i8, pointer, &byte, 1, "");
}

/* Element number `index` of the vector, as a word. */
static LLVMValueRef load_one(emitter *e, const first_place *first, LLVMValueRef base, int index,
                             int bits, LLVMTypeRef word) {
  const plan_panel *panel = &e->kernel->panel;
  int64_t apart = 0;
  for (int b = 0; b < panel->vector; b++) apart += index >> b & 1 ? panel->apart[b] : 0;
  LLVMTypeRef type = emit_int_type(e, bits_max(bits, 8));
  LLVMValueRef from = byte_at(e, base, emit_i64(e, plan_panel_place(panel, apart * bits >> 3)));
  LLVMValueRef loaded = LLVMBuildLoad2(e->builder, type, from, "");
  LLVMSetAlignment(loaded, (unsigned)bits_max(bits / 8, 1));
  loaded = LLVMBuildZExt(e->builder, loaded, word, "");
  if (bits >= 8) return loaded;
  LLVMValueRef shift = apart & 1 ? emit_i32(e, 4) : first->shift;
  loaded = LLVMBuildLShr(e->builder, loaded, shift, "");
  return LLVMBuildAnd(e->builder, loaded, LLVMConstInt(word, 15, 0), "");
}

/* Words of 2^value.word elements, all of one vector. */
static void load_words(emitter *e, const plan_value *value, const first_place *first,
                       LLVMValueRef *words) {
  LLVMTypeRef type = value->bits == 64 ? e->i64 : e->i32;
  LLVMValueRef base = byte_at(e, e->shared[0], first->byte);
  int per = 1 << value->word, n = (1 << e->kernel->panel.vector) / per;
  for (int w = 0; w < n; w++) {
    words[w] = LLVMConstNull(type);
    for (int i = 0; i < per; i++) {
      LLVMValueRef one = load_one(e, first, base, w * per + i, value->bits, type);
      one = LLVMBuildShl(e->builder, one, LLVMConstInt(type, (unsigned)(i * value->bits), 0), "");
      words[w] = LLVMBuildOr(e->builder, words[w], one, "");
    }
  }
}

void emit_load_together(emitter *e, const plan_step *step) {
  const plan_value *value = &e->kernel->value[step->out];
  LLVMValueRef *words = e->value[step->out];
  emit_place place;
  emit_place_tensor(e, value, 0, &place);
  place.staged = true;
  first_place first = place_of(e, &place, value->bits);
  LLVMValueRef inside = emit_inside(e, &place, 0);
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder);
  LLVMBasicBlockRef next = emit_open_guard(e, inside);
  load_words(e, value, &first, words);
  LLVMBasicBlockRef body = LLVMGetInsertBlock(e->builder);
  emit_close_guard(e, next);
  for (int w = 0; next && w < (1 << e->kernel->panel.vector) >> value->word; w++) {
    LLVMValueRef loaded = words[w], none = LLVMConstNull(LLVMTypeOf(loaded));
    words[w] = LLVMBuildPhi(e->builder, LLVMTypeOf(loaded), "");
    LLVMAddIncoming(words[w], &loaded, &body, 1);
    LLVMAddIncoming(words[w], &none, &before, 1);
  }
}
