/* See panel_digits.h. */
#include "jit/plan/convert/panel_digits.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/draft/draft.h"

#include <string.h>

/* ---- splitting ---- */

/* Digit i twice. */
static void double_digit(draft *d, int i) {
  plan_kernel *kernel = d->kernel;
  for (int j = kernel->n_digits++; j > i; j--) {
    kernel->digit[j] = kernel->digit[j - 1];
    d->count[j] = d->count[j - 1];
    d->top[j] = d->top[j - 1];
    d->fused[j] = d->fused[j - 1];
    memcpy(d->side[j], d->side[j - 1], sizeof d->side[j]);
    d->first[j] = d->first[j - 1];
    d->bits[j] = d->bits[j - 1];
  }
}

/* Digit i becomes two, of which the first has its lowest 2^n positions: bits, if it has bits; the
 * last may overhang it. */
static void split_digit(draft *d, int i, int n) {
  plan_kernel *kernel = d->kernel;
  int bits = d->bits[i] > 0 ? n : 0;
  double_digit(d, i);
  d->bits[i] = bits;
  d->count[i] = (int64_t)1 << n;
  d->top[i] = false;
  d->first[i + 1] += bits;
  d->bits[i + 1] -= bits;
  if (d->count[i + 1] > 0) d->count[i + 1] = bits_ceil_div(d->count[i + 1], d->count[i]);
  kernel->digit[i + 1].step *= (int64_t)1 << n;
  for (int t = 0; t < 2; t++) {
    if (bits > 0 && kernel->digit[i + 1].side[t].kind != PLAN_STRIDE) continue;
    kernel->digit[i + 1].side[t].stride.value *= (int64_t)1 << n; /* may be negative */
    d->side[i + 1][t].align += n;
  }
}

/* Whether an upper part of the digit may be a digit, too, wherever its axis goes on. */
static bool has_parts(const draft *d, int i) {
  const plan_digit *digit = &d->kernel->digit[i];
  bool may = digit->axis >= 0 && (!digit->rest || d->bits[i] == 0) &&
             d->kernel->n_digits < PLAN_MAX_DIGITS;
  for (int t = 0; t < 2; t++)
    may &= (digit->side[t].kind == PLAN_COLUMNS && !digit->rest) ||
           (digit->side[t].kind != PLAN_INDEXED && digit->side[t].stride.arg < 0);
  return may;
}

static bool may_split(const draft *d, int i) { return !d->fused[i] && has_parts(d, i); }

void panel_order_digits(draft *d, int t) {
  for (int i = 0; i < d->kernel->n_digits; i++) {
    const uint64_t *column = &d->column[t][d->first[i]];
    bool columns = d->kernel->digit[i].side[t].kind == PLAN_COLUMNS && may_split(d, i);
    for (int b = 1; columns && b < d->bits[i]; b++)
      if (column[b] < column[b - 1]) {
        split_digit(d, i, b);
        break;
      }
  }
}

/* ---- shorter runs ---- */

/* Elements of tensor t from a position of the digit to the next; -1: not known, or that differs. */
static int64_t digit_stride(const draft *d, int t, int i) {
  const plan_digit *digit = &d->kernel->digit[i];
  const plan_digit_side *side = &digit->side[t];
  if (digit->rest && d->bits[i] > 0) return -1;
  if (side->kind == PLAN_COLUMNS && d->bits[i] > 0) return (int64_t)d->column[t][d->first[i]];
  return side->kind != PLAN_INDEXED && side->stride.arg < 0 ? side->stride.value : -1;
}

/* The digit whose positions lie `elements` apart on tensor t; -1: there is none. */
static int digit_apart(const draft *d, int t, int64_t elements) {
  for (int i = 0; i < d->kernel->n_digits; i++)
    if (d->kernel->digit[i].axis >= 0 && (d->count[i] > 1 || d->count[i] < 0) &&
        digit_stride(d, t, i) == elements)
      return i;
  return -1;
}

bool panel_shorten_run(draft *d, int t, int64_t elements, uint64_t *run) {
  *run = 0;
  for (int64_t have = 1; have < elements;) {
    int i = digit_apart(d, t, have);
    int64_t wanted = elements / have;
    if (i < 0 || *run >> i & 1) return false;
    if (d->count[i] > wanted) {
      if (d->count[i] % wanted != 0 || !may_split(d, i)) return false;
      *run = (*run & bits_mask(i)) | (*run & ~bits_mask(i)) << 1;
      split_digit(d, i, bits_log2(wanted));
    } else if (!bits_is_power_of_two(d->count[i])) {
      return false;
    }
    *run |= 1ull << i;
    have *= d->count[i];
  }
  return true;
}

static void swap_places(plan_kernel *kernel, int k) {
  plan_place place = kernel->place[k];
  plan_grid_place grid = kernel->launch.grid[k];
  kernel->place[k] = kernel->place[k - 1];
  kernel->launch.grid[k] = kernel->launch.grid[k - 1];
  kernel->place[k - 1] = place;
  kernel->launch.grid[k - 1] = grid;
}

void panel_place_rows(draft *d, int t, uint64_t run) {
  plan_kernel *kernel = d->kernel;
  int64_t furthest = 0;
  int n = 0; /* places of the run and of what lies between */
  for (int i = 0; i < kernel->n_digits; i++)
    if (run >> i & 1 && digit_stride(d, t, i) > furthest) furthest = digit_stride(d, t, i);
  for (int k = 0; k < kernel->n_places; k++) {
    int64_t stride = digit_stride(d, t, kernel->place[k].digit);
    if (!(run >> kernel->place[k].digit & 1) && (stride < 0 || stride >= furthest)) continue;
    for (int j = k; j > n; j--) swap_places(kernel, j);
    n++;
  }
}

/* ---- rows that are no whole vectors ---- */

/* Bytes of the longest: tiles store longer ones by overhanging vectors. */
#define MOST_ROW 64

/* Whether digit i alone is its axis, by the position; of a fused one, of the first of its axes. */
static bool is_axis(const draft *d, int i) {
  const plan_digit *digit = &d->kernel->digit[i];
  bool alone = digit->axis >= 0 && digit->step == 1 && digit->rest && d->bits[i] == 0;
  for (int j = 0; j < d->kernel->n_digits; j++)
    alone &= j == i || d->kernel->digit[j].axis != digit->axis;
  return alone;
}

bool panel_pad_rows(draft *d, int vector, int64_t elements, panel_rows *rows) {
  int i = digit_apart(d, 0, 1), row = i < 0 ? -1 : digit_apart(d, 1, d->count[i]);
  if (row < 0 || i != digit_apart(d, 1, 1) || !is_axis(d, i) || !d->top[i] || d->fused[i] ||
      !is_axis(d, row))
    return false;
  int64_t count = d->count[i], padded = bits_ceil_div(count, vector) * vector,
          together = elements / bits_max((int)count, 1);
  if (count < 0 || padded == count || count * d->kernel->tensor_bits[0] > 8 * MOST_ROW)
    return false;
  if (digit_stride(d, 0, row) < padded || !has_parts(d, row) ||
      (d->fused[row] && d->count[row] < 0))
    return false;
  if (d->count[row] > 0 && d->count[row] < together) together = d->count[row];
  rows->axis[0] = d->kernel->digit[i].axis;
  rows->limit[0] = count;
  rows->axis[1] = d->kernel->digit[row].axis;
  rows->limit[1] = d->fused[row] ? d->count[row] : 0;
  d->count[i] = padded;
  split_digit(d, row, bits_highest((uint64_t)together));
  return true;
}

llrt_status panel_bound_rows(draft *d, const panel_rows *rows) {
  for (int k = 0; k < 2; k++) {
    plan_bound bound = {.axis = (int8_t)rows->axis[k], .tensors = 3, .round = 1, .covered = 1};
    bound.limit = bound.full = (plan_number){.arg = -1, .value = rows->limit[k]};
    for (int i = 0; i < d->kernel->n_digits; i++)
      if (d->kernel->digit[i].axis == bound.axis) bound.top = (int8_t)i;
    if (rows->limit[k] > 0) LLRT_TRY(draft_bound(d, bound));
  }
  return LLRT_OK;
}
