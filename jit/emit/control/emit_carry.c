/* Values that loops carry from turn to turn. */
#include "jit/emit/control/emit_control.h"

static void carry_words(emitter *e, LLVMValueRef *words, int n, LLVMValueRef *first,
                        LLVMBasicBlockRef before) {
  for (int i = 0; i < n; i++) {
    LLVMValueRef initial = first[i];
    words[i] = LLVMBuildPhi(e->builder, LLVMTypeOf(initial), "");
    LLVMAddIncoming(words[i], &initial, &before, 1);
  }
}

void emit_carry_value(emitter *e, int in, int out, LLVMBasicBlockRef before) {
  carry_words(e, e->value[out], emit_word_count(&e->kernel->value[out]), e->value[in], before);
}

void emit_close_value(emitter *e, int out, int last, LLVMBasicBlockRef latch) {
  for (int i = 0; i < emit_word_count(&e->kernel->value[out]); i++)
    LLVMAddIncoming(e->value[out][i], &e->value[last][i], &latch, 1);
}
