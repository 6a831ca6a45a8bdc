/* Accesses to words that wait in shared memory for turns (rolled_places.h). */
#ifndef LLRT_JIT_EMIT_EMIT_ROLLED_PLACES_H
#define LLRT_JIT_EMIT_EMIT_ROLLED_PLACES_H

#include "jit/plan/rolled/rolled_places.h"
#include "jit/emit/core/emitter.h"

typedef struct emit_waiting {
  rolled_places given;
  bool stored[PLAN_MAX_VALUES]; /* all words of a value are there */
} emit_waiting;

/* Stores, or loads, words [turn n, (turn + 1) n) of a value. turn: i64. */
void emit_place_words(emitter *e, const emit_waiting *places, int value, LLVMValueRef turn, int n,
                      LLVMValueRef *words);
void emit_placed_words(emitter *e, const emit_waiting *places, int value, LLVMValueRef turn, int n,
                       LLVMValueRef *words);

#endif
