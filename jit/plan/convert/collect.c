/* Stores that the host collects, so that lines are stored whole (PLAN_COLLECT).
 *
 * Rows of the destination that are no powers of two and follow each other without a gap: 48
 * channels a block. Tiles overhang each row, so that stores are masked and begin anywhere in a
 * line. Together they are one piece of memory, which counts as one row.
 *
 * Rows of some lines that begin anywhere, records with something between them: all lines but those
 * at both ends are whole. */
#include "jit/plan/draft/draft.h"

#include "base/bits.h"
#include "jit/plan/convert/tile_steps.h"

/* Bytes of a collection of rows without a gap. 128 hold a whole line of 64 bytes wherever they
 * begin. A collection lies on the stack and stays in the first-level cache beside what tiles read:
 * half of a cache of 32 KiB. */
#define LEAST_COLLECTION_BYTES 128
#define MOST_COLLECTION_BYTES (16 << 10)
/* What is no whole line, at either end, is stored in parts of at least so many bytes. */
#define PART_BYTES 4

/* Bits of the digits that some tiles have: those of 2^iterations turns of a strip. */
static uint64_t bits_of_tiles(const draft *d, int iterations) {
  uint64_t touched = 0;
  int n = d->tile_bits - d->strip_bits + iterations;
  for (int i = 0; i < n; i++) touched |= draft_repack(d, d->order[PLAN_DESTINATION][i]);
  return touched;
}

/* Whether no other turn and no block moves these bits: then all tiles have the same of them, and
 * begin at 0. */
static bool is_apart(const draft *d, uint64_t touched, int iterations) {
  uint64_t others = 0;
  for (int i = d->tile_bits - d->strip_bits + iterations; i < d->tile_bits; i++)
    others |= draft_repack(d, d->order[PLAN_DESTINATION][i]);
  for (int i = 0; i < d->n_grid; i++) others |= draft_repack(d, d->grid[i]);
  return (touched & others) == 0;
}

/* The one bound of the destination, if it is a constant limit of a single digit's positions; else
 * NULL. */
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

/* Whether a digit is a row: its positions follow each other in memory, and none lie above its fixed
 * bits. */
static bool is_row(const plan_kernel *kernel, int digit, int64_t length) {
  const plan_digit *row = &kernel->digit[digit];
  int shift = llrt_layout_out_shift(&kernel->space, digit);
  if (row->side[PLAN_DESTINATION].kind != PLAN_COLUMNS || length > (int64_t)1 << row->bits)
    return false;
  if (row->rest && (row->upper.arg >= 0 || row->upper.value != 1)) return false;
  for (int b = 0; b < row->bits; b++)
    if (kernel->column[PLAN_DESTINATION][shift + b] != 1ull << b) return false;
  return true;
}

/* The digit that numbers the rows of `touched` by its lowest bits, `*bits` of them; -1: there is
 * none, or rows are in part. */
static int find_rows(const draft *d, int row, uint64_t touched, int *bits) {
  const plan_kernel *kernel = d->kernel;
  int found = -1;
  *bits = 0;
  for (int i = 0; i < kernel->n_digits; i++) {
    uint64_t own =
        touched >> llrt_layout_out_shift(&kernel->space, i) & bits_mask(kernel->digit[i].bits);
    if (i == row && own != bits_mask(kernel->digit[i].bits)) return -1;
    if (i == row || own == 0) continue;
    if (found >= 0 || (own & (own + 1)) != 0) return -1;
    found = i;
    *bits = bits_count(own);
  }
  return found;
}

/* log2 elements that divide the address of every collection. */
static int collection_alignment(const draft *d, int row, int rows, int bits) {
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
static bool is_gapless(const draft *d, const plan_bound *bound, int iterations,
                       draft_collection *out) {
  const plan_kernel *kernel = d->kernel;
  int bits, line = bits_log2(kernel->target.sector_bytes) - draft_log2_bytes(d, PLAN_DESTINATION);
  int64_t length = bound->limit.value;
  uint64_t touched = bits_of_tiles(d, iterations);
  int n = d->tile_bits - d->strip_bits + iterations,
      rows = find_rows(d, bound->top, touched, &bits);
  if (rows < 0 || bits_count(touched) != n || !is_apart(d, touched, iterations)) return false;
  const plan_digit_side *side = &kernel->digit[rows].side[PLAN_DESTINATION];
  if (side->kind != PLAN_STRIDE || side->stride.arg >= 0 || side->stride.value != length)
    return false;
  int64_t elements = length << bits;
  int width = kernel->tensor_bits[PLAN_DESTINATION] / 8;
  if (elements * width > MOST_COLLECTION_BYTES || elements * width < LEAST_COLLECTION_BYTES)
    return false;
  if (n - kernel->lane_bits > PLAN_VALUE_BITS) return false; /* what one value has */
  int align = bits_min(collection_alignment(d, bound->top, rows, bits), bits_alignment(elements));
  if (width << align < PART_BYTES) return false;
  *out = (draft_collection){.elements = (int32_t)elements,
                            .rows = 1,
                            .pitch = (int32_t)elements,
                            .iterations = iterations,
                            .align = bits_min(align, line)};
  out->reach = (int32_t)(elements - length + ((int64_t)1 << kernel->digit[bound->top].bits));
  return true;
}

/* ---- rows that begin anywhere ---- */

/* The run that touched bits of columns are: their number, if they are 2^0, 2^1 and so on; else -1.
 * The digit of the others, its lowest bits, if they are of one with a stride that is known: *rows;
 * -1: there are none. */
static int find_run(const draft *d, uint64_t touched, int *rows) {
  const plan_kernel *kernel = d->kernel;
  uint64_t run = 0;
  *rows = -1;
  for (int i = 0; i < kernel->n_digits; i++) {
    const plan_digit_side *side = &kernel->digit[i].side[PLAN_DESTINATION];
    int shift = llrt_layout_out_shift(&kernel->space, i);
    uint64_t own = touched >> shift & bits_mask(kernel->digit[i].bits);
    if (own == 0) continue;
    if (side->kind == PLAN_COLUMNS) {
      for (int b = 0; b < kernel->digit[i].bits; b++) {
        uint64_t column = own >> b & 1 ? kernel->column[PLAN_DESTINATION][shift + b] : 0;
        if (own >> b & 1 && (bits_count(column) != 1 || (run & column) != 0)) return -1;
        run |= column;
      }
    } else if (*rows >= 0 || side->kind != PLAN_STRIDE || side->stride.arg >= 0 ||
               (own & (own + 1)) != 0) {
      return -1;
    } else {
      *rows = i;
    }
  }
  return (run & (run + 1)) == 0 ? bits_count(run) : -1;
}

static bool are_rows(const draft *d, int iterations, draft_collection *out) {
  const plan_kernel *kernel = d->kernel;
  uint64_t touched = bits_of_tiles(d, iterations);
  int rows, run = find_run(d, touched, &rows), n = d->tile_bits - d->strip_bits + iterations;
  int width = kernel->tensor_bits[PLAN_DESTINATION] / 8;
  if (run < 0 || bits_count(touched) != n || !is_apart(d, touched, iterations)) return false;
  int64_t elements = (int64_t)1 << run, count = (int64_t)1 << (n - run);
  int64_t pitch = rows < 0 ? elements : kernel->digit[rows].side[PLAN_DESTINATION].stride.value;
  int64_t reach = (count - 1) * pitch + elements;
  if (pitch < elements || elements * width < kernel->target.tuning->collected_row_bytes)
    return false;
  if (width << d->align[PLAN_DESTINATION] < PART_BYTES) return false;
  if (reach * width > MOST_COLLECTION_BYTES || n - kernel->lane_bits > PLAN_VALUE_BITS)
    return false;
  *out = (draft_collection){.elements = (int32_t)elements,
                            .rows = (int32_t)count,
                            .pitch = (int32_t)pitch,
                            .reach = (int32_t)reach,
                            .align = d->align[PLAN_DESTINATION],
                            .iterations = iterations};
  return true;
}

/* The longest rows that so few tiles have. */
static void find_long_rows(draft *d) {
  draft_collection found;
  for (int n = 0; n <= d->strip_bits; n++)
    if (are_rows(d, n, &found) && found.elements > d->collection.elements) d->collection = found;
}

static bool has_bounds(const plan_kernel *kernel) {
  for (int i = 0; i < kernel->n_bounds; i++)
    if (kernel->bound[i].tensors >> PLAN_DESTINATION & 1) return true;
  return false;
}

void draft_find_collection(draft *d) {
  const plan_kernel *kernel = d->kernel;
  const plan_bound *bound = only_bound(d);
  draft_collection found;
  if (kernel->swizzle[PLAN_DESTINATION].swizzle_len || kernel->n_terms > 0) return;
  if (!has_bounds(kernel)) find_long_rows(d);
  if (!bound || !is_row(kernel, bound->top, bound->limit.value)) return;
  for (int n = d->strip_bits; n >= 0; n--)
    if (is_gapless(d, bound, n, &found) && found.align >= d->collection.align)
      d->collection = found;
}
