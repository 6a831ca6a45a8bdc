/* Rows of the destination that are no powers of two and follow each other without a gap: 48 channels a block, images of
 * 3 or 80 channels. Tiles overhang each row, so that stores are masked and begin anywhere in a line. Together they are
 * one stretch of memory, which the host collects and stores in whole lines (PLAN_COLLECT). */
#include "jit/plan/draft.h"

#include "base/bits.h"

/* Of the stack, so that a stretch stays in the first-level cache beside what the tiles read. */
#define STRETCH_BYTES (16 << 10)

/* Bits of the digits that some tiles have: those of 2^iterations turns of a region. */
static uint64_t bits_of_tiles(const draft *d, int iterations) {
  uint64_t touched = 0;
  int n = d->tile_bits - d->region_bits + iterations;
  for (int i = 0; i < n; i++) touched |= draft_repack(d, d->order[PLAN_DESTINATION][i]);
  return touched;
}

/* Whether no other turn and no block moves these bits: then all tiles have the same of them, and begin at 0. */
static bool is_apart(const draft *d, uint64_t touched, int iterations) {
  uint64_t others = 0;
  for (int i = d->tile_bits - d->region_bits + iterations; i < d->tile_bits; i++)
    others |= draft_repack(d, d->order[PLAN_DESTINATION][i]);
  for (int i = 0; i < d->n_grid; i++) others |= draft_repack(d, d->grid[i]);
  return (touched & others) == 0;
}

/* The one bound of the destination, if it is a constant limit of a single digit's positions; else NULL. */
static const plan_bound *only_bound(const draft *d) {
  const plan_kernel *kernel = d->kernel;
  const plan_bound *only = NULL;
  for (int i = 0; i < kernel->n_bounds; i++) {
    const plan_bound *bound = &kernel->bound[i];
    if (!(bound->tensors >> PLAN_DESTINATION & 1)) continue;
    if (only || bound->device || bound->limit.arg >= 0) return NULL;
    only = bound;
  }
  if (!only || only->axis < 0) return only;
  for (int i = 0; i < kernel->n_digits; i++)
    if (i != only->top && kernel->digit[i].axis == only->axis) return NULL;
  return kernel->digit[only->top].step == 1 && !d->fused[only->top] ? only : NULL;
}

/* Whether a digit is a row: its positions follow each other in memory, and none lie above its fixed bits. */
static bool is_row(const plan_kernel *kernel, int digit, int64_t length) {
  const plan_digit *row = &kernel->digit[digit];
  int shift = llrt_layout_out_shift(&kernel->space, digit);
  if (row->side[PLAN_DESTINATION].kind != PLAN_COLUMNS || length > (int64_t)1 << row->bits) return false;
  if (row->rest && (row->upper.arg >= 0 || row->upper.value != 1)) return false;
  for (int b = 0; b < row->bits; b++)
    if (kernel->column[PLAN_DESTINATION][shift + b] != 1ull << b) return false;
  return true;
}

/* The digit that numbers the rows of `touched` by its lowest bits, `*bits` of them; -1: there is none, or rows are in
 * part. */
static int find_rows(const draft *d, int row, uint64_t touched, int *bits) {
  const plan_kernel *kernel = d->kernel;
  int found = -1;
  *bits = 0;
  for (int i = 0; i < kernel->n_digits; i++) {
    uint64_t own = touched >> llrt_layout_out_shift(&kernel->space, i) & bits_mask(kernel->digit[i].bits);
    if (i == row && own != bits_mask(kernel->digit[i].bits)) return -1;
    if (i == row || own == 0) continue;
    if (found >= 0 || (own & (own + 1)) != 0) return -1;
    found = i;
    *bits = bits_count(own);
  }
  return found;
}

/* log2 elements that divide the address of every stretch. */
static int stretch_alignment(const draft *d, int row, int rows, int bits) {
  const plan_kernel *kernel = d->kernel;
  int align = d->address_align[PLAN_DESTINATION];
  for (int i = 0; i < kernel->n_digits; i++) {
    if (i == row) continue;
    if (kernel->digit[i].side[PLAN_DESTINATION].kind == PLAN_INDEXED) return 0;
    align = bits_min(align, d->side[i][PLAN_DESTINATION].align + (i == rows ? bits : 0));
    int shift = llrt_layout_out_shift(&kernel->space, i);
    for (int b = 0; b < kernel->digit[i].bits; b++) {
      uint64_t column = kernel->column[PLAN_DESTINATION][shift + b];
      if (column) align = bits_min(align, bits_lowest(column));
    }
  }
  return align;
}

/* Whether 2^iterations tiles store whole rows one behind the other. */
static bool is_stretch(const draft *d, const plan_bound *bound, int iterations, draft_stretch *out) {
  const plan_kernel *kernel = d->kernel;
  int bits, line = bits_log2(kernel->target.sector_bytes) - draft_log2_bytes(d, PLAN_DESTINATION);
  int64_t length = bound->limit.value;
  uint64_t touched = bits_of_tiles(d, iterations);
  int n = d->tile_bits - d->region_bits + iterations, rows = find_rows(d, bound->top, touched, &bits);
  if (rows < 0 || bits_count(touched) != n || !is_apart(d, touched, iterations)) return false;
  const plan_digit_side *side = &kernel->digit[rows].side[PLAN_DESTINATION];
  if (side->kind != PLAN_STRIDE || side->stride.arg >= 0 || side->stride.value != length) return false;
  int64_t elements = length << bits;
  if (elements * kernel->tensor_bits[PLAN_DESTINATION] / 8 > STRETCH_BYTES) return false;
  if (n - kernel->lane_bits > PLAN_VALUE_BITS) return false; /* what one value has */
  *out = (draft_stretch){.elements = (int32_t)elements, .iterations = iterations};
  out->reach = (int32_t)(elements - length + ((int64_t)1 << kernel->digit[bound->top].bits));
  return (elements & (int64_t)bits_mask(line)) == 0 && stretch_alignment(d, bound->top, rows, bits) >= line;
}

void draft_find_stretch(draft *d) {
  const plan_kernel *kernel = d->kernel;
  const plan_bound *bound = only_bound(d);
  draft_stretch found;
  if (!bound || kernel->swizzle[PLAN_DESTINATION].swizzle_len || kernel->n_terms > 0) return;
  if (!is_row(kernel, bound->top, bound->limit.value)) return;
  for (int n = 0; n <= d->region_bits; n++)
    if (is_stretch(d, bound, n, &found)) {
      d->stretch = found;
      return;
    }
}
