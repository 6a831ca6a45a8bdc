/* Whether a flat kernel's positions are the destination's elements in the order of its memory: then a thread has all elements
 * of a byte, though they are of two rows. */
#include "jit/plan/draft.h"

/* Whether the kernel's digits walk storage digit s whole, no more and no less. */
static bool walks_whole(const draft *d, int s) {
  int64_t extent = draft_digit_extent(d, PLAN_DESTINATION, s), positions = 1;
  int n = 0;
  if (draft_storage(d, PLAN_DESTINATION)->digit[s].extent == 1) return true;
  for (int i = 0; i < d->kernel->n_digits; i++) {
    if (d->side[i][PLAN_DESTINATION].order != s) continue;
    positions = d->count[i] < 0 || positions < 0 ? -1 : positions * d->count[i];
    n++;
  }
  return extent < 0 ? n == 1 && positions < 0 : positions == extent;
}

/* Whether place k is the first of a PACKED storage digit inside of which all is packed and walked: then its stride, which a run
 * gives, is the number of the places' positions before it. */
static bool follows_packed(const draft *d, int k) {
  const llrt_storage *storage = draft_storage(d, PLAN_DESTINATION);
  int s = d->side[d->kernel->place[k].digit][PLAN_DESTINATION].order;
  for (int j = 0; j <= s; j++) {
    if (storage->digit[j].stride != LLRT_STRIDE_PACKED || storage->digit[j].reversed) return false;
    if (j < s && !walks_whole(d, j)) return false;
  }
  return k == 0 || d->side[d->kernel->place[k - 1].digit][PLAN_DESTINATION].order != s;
}

/* Whether the place's positions are `before` elements apart, all of those that places before it have; -1: that only a run
 * knows. */
static bool follows(const draft *d, int k, int64_t before) {
  int i = d->kernel->place[k].digit;
  const plan_digit *digit = &d->kernel->digit[i];
  const plan_digit_side *side = &digit->side[PLAN_DESTINATION];
  if (side->kind == PLAN_INDEXED) return false;
  if (side->kind == PLAN_COLUMNS && !digit->rest) {
    for (int b = 0; b < d->bits[i]; b++)
      if (before < 0 || d->column[PLAN_DESTINATION][d->first[i] + b] != (uint64_t)before << b) return false;
    return true;
  }
  return side->stride.arg < 0 ? side->stride.value == before : follows_packed(d, k);
}

bool draft_is_dense(const draft *d) {
  const plan_kernel *kernel = d->kernel;
  const llrt_swizzle *swizzle = &kernel->swizzle[PLAN_DESTINATION];
  int together = d->word_elements > 1 ? d->word_elements : 1;
  int64_t before = 1;
  if (swizzle->swizzle_len > 0 && swizzle->per_element < together) return false;
  if (kernel->origin[PLAN_DESTINATION] % 2 != 0) return false;
  for (int i = 0; i < kernel->n_indices; i++)
    if (kernel->index[i].tensor == PLAN_DESTINATION) return false;
  for (int k = 0; k < kernel->n_places; k++) {
    if (kernel->place[k].digit < 0 || !follows(d, k, before)) return false;
    int64_t count = d->count[kernel->place[k].digit];
    if (before < 0 || count < 0 || __builtin_mul_overflow(before, count, &before)) before = -1;
  }
  return true;
}
