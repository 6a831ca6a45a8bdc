/* Value maps in a plan: which steps they are and where they stand. Each makes a value of the same layout
 * from another, so they may stand before or after the exchange. */
#include "jit/plan/draft.h"

#include "base/bits.h"
#include "base/status.h"

#include <string.h>

#define WORD_LOG2_BITS 5

static plan_map resolve(const llrt_map *map) {
  plan_map out = {.kind = PLAN_MAP_XOR, .constant = map->constant};
  if (map->kind == LLRT_MAP_XOR) return out;
  out = (plan_map){.kind = PLAN_MAP_WORD_BITS};
  memcpy(out.perm, map->perm, sizeof out.perm);
  return out;
}

llrt_status draft_maps(draft *d) {
  plan_kernel *kernel = d->kernel;
  int bits = bits_log2(kernel->tensor_bits[1]);
  for (int i = 0; i < d->desc->n_maps; i++) {
    plan_map map = resolve(&d->desc->maps[i]);
    bool words = map.kind == PLAN_MAP_WORD_BITS;
    if (words) d->word_elements = bits_max(WORD_LOG2_BITS - bits, 0);
    else d->maps_before = i + 1;
    kernel->map[kernel->n_maps++] = map;
  }
  return LLRT_OK;
}

llrt_status draft_map_steps(draft *d, int first, int n, int *value) {
  plan_kernel *kernel = d->kernel;
  for (int i = first; i < first + n; i++) {
    plan_value made = kernel->value[*value];
    plan_step step = {.kind = PLAN_MAP, .in = (uint8_t)*value, .map = (uint8_t)i};
    LLRT_TRY(draft_value(kernel, &made, value));
    step.out = (uint8_t)*value;
    LLRT_TRY(draft_step(kernel, step));
  }
  return LLRT_OK;
}

llrt_status draft_check_words(const draft *d) {
  const plan_kernel *kernel = d->kernel;
  int word = d->word_elements;
  if (d->run[1] < word || d->align[1] < word)
    return llrt_error(LLRT_UNSUPPORTED,
                      "a map of 32-bit words: the destination's elements do not lie in whole words");
  uint64_t moved = 0;
  for (int j = 0; j < word; j++) moved |= draft_repack(d, d->order[1][j]);
  const plan_bound *bound = draft_splits(d, moved, PLAN_DESTINATION);
  if (bound)
    return llrt_error(LLRT_UNSUPPORTED,
                      "a map of 32-bit words: axis %d ends inside a word of the destination",
                      kernel->digit[bound->top].axis);
  return LLRT_OK;
}
