/* Whether a kernel's digits count the destination's elements in the order of its memory: then a
 * thread of a flat kernel has all elements of a byte, though they are of two rows, and one of a
 * tile knows which element shares a byte with its own. */
#include "jit/plan/draft/draft.h"

#include "base/status.h"

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

/* Whether digit order[k] is the first of a PACKED storage digit inside of which all is packed and
 * walked: then its stride, which a run gives, is the number of positions that the digits before it
 * have. */
static bool follows_packed(const draft *d, const int8_t *order, int k) {
  const llrt_storage *storage = draft_storage(d, PLAN_DESTINATION);
  int s = d->side[order[k]][PLAN_DESTINATION].order;
  for (int j = 0; j <= s; j++) {
    if (storage->digit[j].stride != LLRT_STRIDE_PACKED || storage->digit[j].reversed) return false;
    if (j < s && !walks_whole(d, j)) return false;
  }
  return k == 0 || d->side[order[k - 1]][PLAN_DESTINATION].order != s;
}

/* Whether the positions of digit order[k] are `before` elements apart, all of those that digits
 * before it have; -1: that only a run knows. */
static bool follows(const draft *d, const int8_t *order, int k, int64_t before) {
  int i = order[k];
  const plan_digit *digit = &d->kernel->digit[i];
  const plan_digit_side *side = &digit->side[PLAN_DESTINATION];
  if (side->kind == PLAN_INDEXED) return false;
  if (side->kind == PLAN_COLUMNS)
    for (int b = 0; b < d->bits[i]; b++)
      if (before < 0 || d->column[PLAN_DESTINATION][d->first[i] + b] != (uint64_t)before << b)
        return false;
  if (side->kind == PLAN_COLUMNS && !digit->rest) return true;
  return side->stride.arg < 0 ? side->stride.value == before : follows_packed(d, order, k);
}

/* Whether the digits, fastest first, count the destination's elements as they follow each other
 * without a gap. */
static bool has_no_gaps(const draft *d, const int8_t *order, int n) {
  int64_t before = 1;
  for (int k = 0; k < n; k++) {
    if (!follows(d, order, k, before)) return false;
    int64_t count = d->count[order[k]];
    if (before < 0 || count < 0 || __builtin_mul_overflow(before, count, &before)) before = -1;
  }
  return true;
}

bool draft_is_dense(const draft *d) {
  const plan_kernel *kernel = d->kernel;
  const llrt_swizzle *swizzle = &kernel->swizzle[PLAN_DESTINATION];
  int together = d->word_elements > 1 ? d->word_elements : 1;
  int8_t order[PLAN_MAX_GRID];
  int n = 0;
  if (swizzle->swizzle_len > 0 && swizzle->per_element < together) return false;
  if (kernel->origin[PLAN_DESTINATION] % 2 != 0) return false;
  for (int i = 0; i < kernel->n_indices; i++)
    if (kernel->index[i].tensor == PLAN_DESTINATION && !d->desc->in_place) return false;
  for (int k = 0; k < kernel->n_places; k++) {
    int digit = kernel->place[k].digit;
    if (digit < 0) return false;
    if (!draft_is_listed(d, digit)) order[n++] = (int8_t)digit; /* that one is the last */
  }
  return has_no_gaps(d, order, n);
}

/* ---- tiles ---- */

/* The digits in the order of the destination's memory. */
static void order_digits(const draft *d, int8_t *order) {
  int n = d->kernel->n_digits;
  for (int i = 0; i < n; i++) {
    int k = i, own = draft_memory_order(d, i, PLAN_DESTINATION);
    for (; k > 0 && draft_memory_order(d, order[k - 1], PLAN_DESTINATION) > own; k--)
      order[k] = order[k - 1];
    order[k] = (int8_t)i;
  }
}

/* Whether every position that the digits of an axis count is stored. */
static bool stores_all(const draft *d, int top) {
  int axis = d->kernel->digit[top].axis;
  const draft_extent *written = &d->written[axis];
  int64_t step = d->kernel->digit[top].step;
  if (d->mixed[axis]) return true; /* fused digits are exact */
  if (draft_on_device(d, axis)) return false;
  if (d->count[top] < 0) return written->known < 0 && written->multiple % step == 0;
  return written->known == d->count[top] * step;
}

bool draft_is_sequence(const draft *d) {
  const plan_kernel *kernel = d->kernel;
  int8_t order[PLAN_MAX_DIGITS];
  if (kernel->high_first[PLAN_DESTINATION] || kernel->origin[PLAN_DESTINATION] % 2 != 0)
    return false;
  for (int i = 0; i < kernel->n_digits; i++)
    if (kernel->digit[i].axis >= 0 && d->top[i] && !stores_all(d, i)) return false;
  order_digits(d, order);
  return has_no_gaps(d, order, kernel->n_digits);
}

llrt_status draft_sequence(draft *d) {
  plan_sequence *sequence = &d->kernel->sequence;
  sequence->n = d->kernel->n_digits;
  order_digits(d, sequence->digit);
  for (int k = 0; k < sequence->n; k++) {
    int i = sequence->digit[k];
    LLRT_TRY(draft_digit_count(d, i, d->kernel->digit[i].step, &sequence->count[k]));
  }
  return LLRT_OK;
}
