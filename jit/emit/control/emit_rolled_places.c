/* See emit_rolled_places.h. An access of a warp is words that lie beside each other: of each thread
 * as many as an access has, then those of the next thread. */
#include "jit/emit/control/emit_rolled_places.h"

#include "jit/emit/core/builder.h"
#include "jit/plan/rolled/rolled_steps.h"

#define ACCESS_BYTES (4 * ROLLED_ACCESS_WORDS)

static LLVMTypeRef access_type(const emitter *e) {
  return LLVMVectorType(e->i32, ROLLED_ACCESS_WORDS);
}

/* Access number `access` of a turn of n words. */
static LLVMValueRef place_of(emitter *e, const emit_waiting *places, int value, LLVMValueRef turn,
                             int n, int access) {
  LLVMBuilderRef b = e->builder;
  int threads = e->kernel->launch.threads;
  int64_t bytes =
      e->kernel->waiting + places->given.offset[value] + (int64_t)access * threads * ACCESS_BYTES;
  LLVMValueRef first = emit_i64(e, bytes);
  LLVMValueRef of_turn = emit_i64(e, (int64_t)n / ROLLED_ACCESS_WORDS * threads);
  LLVMValueRef at = emit_thread_index(e);
  at = LLVMBuildAdd(b, LLVMBuildMul(b, turn, of_turn, ""), at, "");
  at = LLVMBuildGEP2(b, access_type(e), e->shared_start, &at, 1, "");
  return LLVMBuildGEP2(b, e->i8, at, &first, 1, "");
}

void emit_place_words(emitter *e, const emit_waiting *places, int value, LLVMValueRef turn, int n,
                      LLVMValueRef *words) {
  for (int i = 0; i < n; i += ROLLED_ACCESS_WORDS) {
    LLVMValueRef vector = LLVMGetUndef(access_type(e));
    for (int k = 0; k < ROLLED_ACCESS_WORDS; k++)
      vector = LLVMBuildInsertElement(e->builder, vector, words[i + k], emit_i32(e, k), "");
    LLVMValueRef to = place_of(e, places, value, turn, n, i / ROLLED_ACCESS_WORDS);
    LLVMSetAlignment(LLVMBuildStore(e->builder, vector, to), ACCESS_BYTES);
  }
}

void emit_placed_words(emitter *e, const emit_waiting *places, int value, LLVMValueRef turn, int n,
                       LLVMValueRef *words) {
  for (int i = 0; i < n; i += ROLLED_ACCESS_WORDS) {
    LLVMValueRef from = place_of(e, places, value, turn, n, i / ROLLED_ACCESS_WORDS);
    LLVMValueRef vector = LLVMBuildLoad2(e->builder, access_type(e), from, "");
    LLVMSetAlignment(vector, ACCESS_BYTES);
    for (int k = 0; k < ROLLED_ACCESS_WORDS; k++) {
      LLVMValueRef word = LLVMBuildExtractElement(e->builder, vector, emit_i32(e, k), "");
      /* Else LLVM loads parts of words as elements. */
      words[i + k] = LLVMBuildFreeze(e->builder, word, "");
    }
  }
}
