/* Overhanging loads by words: see emit_overhang.c. A piece takes the aligned words that it touches,
 * all of which memory has, so no lane hands on what it has loaded. */
#include "jit/emit/core/builder.h"
#include "jit/emit/memory/overhang.h"

#define WORD_BYTES 4

/* Bytes of a piece's begin behind an aligned word. */
static LLVMValueRef inside_word(const overhang *o, LLVMValueRef shift) {
  return LLVMBuildAnd(o->e->builder, shift, emit_i32(o->e, WORD_BYTES - 1), "");
}

static LLVMValueRef load_word(const emitter *e, LLVMValueRef pointer, LLVMValueRef at) {
  LLVMValueRef loaded = LLVMBuildLoad2(e->builder, e->i32, emit_move_pointer(e, pointer, at), "");
  LLVMSetAlignment(loaded, WORD_BYTES);
  return loaded;
}

int overhang_word_count(const overhang *o) { return o->n + (o->aligned < 2); }

/* Of a piece that begins with a word the word behind it may not be in memory: then the last one is
 * loaded twice. */
void overhang_request_words(const overhang *o, LLVMValueRef vector, LLVMValueRef shift,
                            LLVMValueRef condition, LLVMValueRef *words) {
  emitter *e = o->e;
  int n = overhang_word_count(o);
  LLVMValueRef low = inside_word(o, shift), zero = emit_i32(e, 0), fill = overhang_fill(o),
               loaded[OVERHANG_WORDS + 1];
  LLVMValueRef begins = LLVMBuildICmp(e->builder, LLVMIntEQ, low, zero, "");
  LLVMValueRef last =
      emit_choose(e, begins, emit_i32(e, o->bytes - WORD_BYTES), emit_i32(e, o->bytes));
  LLVMValueRef first = emit_move_pointer(e, vector, LLVMBuildSub(e->builder, shift, low, ""));
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder), next = emit_open_guard(e, condition);
  LLVMBasicBlockRef body = LLVMGetInsertBlock(e->builder);
  for (int k = 0; k < n; k++)
    loaded[k] = load_word(e, first, k < o->n ? emit_i32(e, WORD_BYTES * k) : last);
  emit_close_guard(e, next);
  for (int k = 0; k < n; k++) {
    words[k] = next ? LLVMBuildPhi(e->builder, e->i32, "") : loaded[k];
    if (!next) continue;
    LLVMAddIncoming(words[k], &loaded[k], &body, 1);
    LLVMAddIncoming(words[k], &fill, &before, 1);
  }
}

void overhang_join_words(const overhang *o, LLVMValueRef shift, LLVMValueRef *words,
                         LLVMValueRef *out) {
  emitter *e = o->e;
  if (o->aligned >= 2) {
    for (int k = 0; k < o->n; k++) out[k] = words[k];
    return;
  }
  LLVMValueRef selector = overhang_selector(e, inside_word(o, shift));
  for (int k = 0; k < o->n; k++) out[k] = e->ops->permute(e, words[k], words[k + 1], selector);
}
