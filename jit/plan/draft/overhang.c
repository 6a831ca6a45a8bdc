/* Rows that are not aligned: which accesses overhang them or may be loose, and what the kernel is
 * told of memory's ends (facts/row_group.c: the groups that they move). */
#include "jit/plan/draft/draft.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/row_group.h"
#include "layout/storage_rule.h"

#include <string.h>

#define WORD_BYTES 4
#define MAX_END_TURNS \
  4 /* accesses by which lanes together store an end of a group; more are too much code */

bool draft_can_overhang(const draft *d, int tensor) {
  const plan_kernel *kernel = d->kernel;
  int bits = kernel->tensor_bits[tensor];
  for (int t = 0; t < d->desc->n_tensors; t++)
    if (d->desc->tensors[t].n_indices > 0) return false;
  return !kernel->target.simd_lanes && !kernel->flat && bits >= 8 && bits <= 32 &&
         draft_storage(d, tensor)->swizzle.swizzle_len == 0;
}

/* Whether what lies in front of a row can be mapped by itself: by what an element alone says, as
 * XOR and casts are. */
static bool maps_elements(const draft *d) {
  for (int i = 0; i < d->desc->n_maps; i++)
    if (d->desc->maps[i].kind != LLRT_MAP_XOR) return false;
  return d->desc->n_tensors == 2;
}

bool draft_can_straddle(const draft *d, int tensor) {
  const plan_kernel *kernel = d->kernel;
  bool refused = d->options && d->options->whole_bytes;
  for (int t = 0; t < d->desc->n_tensors; t++)
    if (d->desc->tensors[t].n_indices > 0) return false;
  return !refused && (tensor == 0 || maps_elements(d)) && d->roles.moves &&
         !kernel->target.simd_lanes && !kernel->flat && kernel->tensor_bits[tensor] < 8 &&
         draft_storage(d, tensor)->swizzle.swizzle_len == 0;
}

bool draft_group_fits(const draft *d, int tensor, const plan_value *value, int vector) {
  plan_group group;
  plan_value front;
  int bytes = plan_access_bytes(value->bits, vector);
  bool narrow = value->bits < 8,
       can = narrow ? draft_can_straddle(d, tensor) : draft_can_overhang(d, tensor);
  if (!can || bytes < WORD_BYTES || !plan_group_of(d->kernel, tensor, value, vector, &group))
    return false;
  if (tensor == 0) return true;
  if (narrow && !plan_front_of(d->kernel, value, vector, &front)) return false;
  return vector - narrow - group.lanes <=
         bits_log2(MAX_END_TURNS); /* bytes of which ends are stored one by one */
}

bool draft_can_be_exact(const draft *d, int tensor, const plan_value *value, int vector) {
  plan_group group;
  return value->bits >= 16 && draft_can_overhang(d, tensor) &&
         plan_access_bytes(value->bits, vector) >= WORD_BYTES &&
         plan_group_of(d->kernel, tensor, value, vector, &group);
}

bool draft_may_be_loose(const draft *d, const plan_step *step, const plan_value *value) {
  return step->kind == PLAN_LOAD && draft_can_overhang(d, step->tensor) &&
         plan_access_bytes(value->bits, step->vector) >= WORD_BYTES &&
         plan_may_be_loose(d->kernel, step->tensor, value, step->vector);
}

/* log2 pieces of a row that is aligned to words, at least. Its pieces take no byte permutes, so
 * shorter ones gain little. */
#define ROW_OF_WORDS 3

/* Whether an overhanging load is made word by word (plan_step.by_words), each thread for itself.
 * Otherwise lanes hand on what they load, by a shuffle and a select for each word of a piece; that
 * is better in rows shorter than a piece, whose words would mostly be loaded for nothing
 * (docs/history/model-shapes.md). */
bool draft_by_words(const draft *d, const plan_step *step, const plan_value *value) {
  plan_group group;
  int aligned = bits_log2(value->bits) - 3 + step->vector - step->misaligned; /* log2 bytes */
  if (value->bits < 8) return step->kind == PLAN_LOAD && step->overhang;
  return step->kind == PLAN_LOAD && step->overhang && !step->loose && step->misaligned > 0 &&
         plan_group_of(d->kernel, step->tensor, value, step->vector, &group) &&
         group.lanes >= (aligned < bits_log2(WORD_BYTES) ? 1 : ROW_OF_WORDS);
}

llrt_status draft_memory(draft *d) {
  plan_kernel *kernel = d->kernel;
  plan_memory *memory = &kernel->memory;
  plan_arg begin = {.kind = PLAN_ARG_BEGIN};
  plan_arg end = {.kind = PLAN_ARG_END, .factor = kernel->tensor_bits[0]};
  for (int i = 0; i < kernel->n_steps; i++) {
    const plan_step *step = &kernel->step[i];
    if (step->kind != PLAN_LOAD || !step->overhang || step->exact) continue;
    memory->used = true;
    memory->guards |= !step->masked;
    memory->vector = (uint8_t)plan_memory_vector(kernel, step);
  }
  if (!memory->used) return LLRT_OK;
  /* What begins aligned has no vector that begins before it, unless positions beyond a bound lie
   * below the first. */
  memory->begin = (plan_number){.arg = -1};
  if (d->desc->promises[0].address.multiple % (1 << memory->vector) != 0 ||
      d->desc->promises[0].address.multiple == 0 || storage_has_reversed(draft_storage(d, 0)))
    LLRT_TRY(draft_arg(d, begin, &memory->begin));
  return draft_arg(d, end, &memory->end);
}
