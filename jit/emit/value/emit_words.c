/* Values whose words are made when they are wanted: whoever asks for one (emit_word) gets it made
 * here, of what its step says. */
#include "jit/emit/core/builder.h"
#include "jit/emit/memory/emit_memory.h"
#include "jit/emit/value/emit_unpack.h"
#include "jit/emit/value/emit_value.h"

#include <string.h>

void emit_make_word(emitter *e, int value, int w) {
  const plan_step *step = e->lazy[value];
  LLVMValueRef *word = &e->value[value][w];
  if (step->kind == PLAN_SHARED_LOAD) {
    emit_matrix_word(e, step, w);
    return;
  }
  const plan_map *map = &e->kernel->map[step->map];
  if (emit_scales_bytes(e, step, map)) *word = emit_scaled_bytes(e, step, map, w);
  else if (map->kind == PLAN_MAP_CAST) *word = unpack_word(e, step, map, w);
  else *word = scale_pairs_word(e, step, map, w);
}

void emit_map_words(emitter *e, const plan_step *step) {
  int n_words = emit_word_count(&e->kernel->value[step->out]);
  e->lazy[step->out] = step;
  memset(e->value[step->out], 0, sizeof e->value[step->out]);
  memset(e->prepared[step->out], 0, sizeof e->prepared[step->out]);
  for (int w = 0; w < n_words && !step->lazy; w++) emit_word(e, step->out, w);
}
