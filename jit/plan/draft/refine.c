/* The common refinement: axis by axis, every boundary of either storage splits the coordinate, and
 * what lies between two boundaries is one digit, treated alike by both. It exists where the
 * boundaries divide each other; 45 * 64 against 64 * 45 has none. */
#include "jit/plan/draft/draft.h"

#include "base/bits.h"
#include "base/status.h"

#include <string.h>

#define MAX_BOUNDARIES (LLRT_MAX_TENSORS * (LLRT_MAX_DIGITS + 3))

/* ---- one storage along one axis ---- */

llrt_status draft_list_segments(const draft *d, int tensor, int axis, draft_segments *out) {
  const llrt_storage *storage = draft_storage(d, tensor);
  int64_t group = draft_group(d, tensor, axis);
  int64_t start = (int64_t)1 << draft_tile_bits(storage, axis);
  bool open = false; /* a digit goes on beyond what is listed */
  out->n = 0;
  if (group != 1) out->at[out->n++] = (draft_segment){1, -2};
  if (group == LLRT_GROUP_ALL) return LLRT_OK;
  if (start > 1) out->at[out->n++] = (draft_segment){group, -1};
  if (__builtin_mul_overflow(start, group, &start))
    return llrt_error(LLRT_INVALID_ARGUMENT, "axis %d of a storage has 2^63 positions or more",
                      axis);
  for (int i = 0; i < storage->n_digits; i++) {
    const llrt_digit *digit = &storage->digit[i];
    if (digit->axis != axis || digit->extent == 1) continue;
    out->at[out->n++] = (draft_segment){start, i};
    open = true;
    if (digit->extent != LLRT_EXTENT_REST && __builtin_mul_overflow(start, digit->extent, &start))
      return llrt_error(LLRT_INVALID_ARGUMENT, "axis %d of a storage has 2^63 positions or more",
                        axis);
  }
  if (!open) out->at[out->n++] = (draft_segment){start, -2};
  return LLRT_OK;
}

const draft_segment *draft_segment_at(const draft_segments *segments, int64_t step) {
  const draft_segment *found = &segments->at[0];
  for (int i = 1; i < segments->n; i++)
    if (segments->at[i].start <= step) found = &segments->at[i];
  return found;
}

/* ---- boundaries ---- */

static int ceil_log2(int64_t x) { return x <= 1 ? 0 : bits_highest((uint64_t)(x - 1)) + 1; }

typedef struct boundaries {
  int n;
  int64_t at[MAX_BOUNDARIES];
} boundaries;

static void add_boundary(boundaries *list, int64_t x) {
  int i = 0;
  while (i < list->n && list->at[i] < x) i++;
  if (i < list->n && list->at[i] == x) return;
  memmove(&list->at[i + 1], &list->at[i], (size_t)(list->n - i) * sizeof *list->at);
  list->at[i] = x;
  list->n++;
}

/* Whether a digit begins or ends where the segment starts: where a walk comes to, and at the end of
 * a tile that one comes into, whose bits stay whole. Groups as long as the axis leave their tile to
 * no walk. */
static bool is_boundary(const draft *d, int tensor, int axis, int64_t start) {
  int64_t group = draft_group(d, tensor, axis), most = d->written[axis].most;
  int bits = draft_tile_bits(draft_storage(d, tensor), axis);
  bool walked = bits > 0 && group != LLRT_GROUP_ALL && (group == 1 || group < most);
  return start < most || (walked && start == group << bits);
}

/* Where the walk over a digit or tile that ends at `end` ends: a flat kernel takes no more of a
 * tile's bits than the axis can have positions. A tile of 256 rows of which there is one would be
 * walked 256 times. */
static int64_t walked_end(const draft *d, int tensor, int axis, int64_t end) {
  int64_t group = draft_group(d, tensor, axis), most = d->written[axis].most;
  bool cut = d->kernel->flat && d->roles.moves && !d->desc->in_place && !d->by_memory;
  if (!cut || end < most || group == LLRT_GROUP_ALL) return end;
  int64_t cut_end = group << ceil_log2(bits_ceil_div(most > 1 ? most : 1, group));
  return cut_end < end ? cut_end : end;
}

/* Where bits of a tile that follow each other along the axis do not in memory. */
static void add_tile_breaks(const llrt_storage *storage, int axis, boundaries *list) {
  const llrt_layout *tile = &storage->tile;
  for (int i = 0; i < llrt_layout_in_bits(tile); i++) {
    uint64_t bits =
        tile->column[i] >> llrt_layout_out_shift(tile, axis) & bits_mask(tile->out[axis].bits);
    bool follows = i > 0 && tile->column[i] == tile->column[i - 1] << 1;
    if (bits_is_power_of_two((int64_t)bits) && (!follows || bits == 1))
      add_boundary(list, (int64_t)bits);
  }
}

static llrt_status collect_boundaries(const draft *d, int axis, int first_tensor, boundaries *out) {
  out->n = 0;
  add_boundary(out, 1);
  for (int t = first_tensor; t < d->desc->n_tensors; t++) {
    draft_segments segments;
    bool folded;
    if (draft_is_indexed(d, t, axis, &folded)) continue;
    LLRT_TRY(draft_list_segments(d, t, axis, &segments));
    for (int i = 0; i < segments.n; i++)
      if (is_boundary(d, t, axis, segments.at[i].start))
        add_boundary(out, walked_end(d, t, axis, segments.at[i].start));
  }
  if (d->tile_positions[axis] > 0) add_boundary(out, d->tile_positions[axis]);
  if (d->by_memory || d->breaks) add_tile_breaks(draft_storage(d, PLAN_DESTINATION), axis, out);
  if (d->breaks) add_tile_breaks(draft_storage(d, 0), axis, out);
  if (axis == d->pair_axis) {
    add_boundary(out, d->pair_step);
    add_boundary(out, 2 * d->pair_step);
  }
  return LLRT_OK;
}

static bool is_chain(const boundaries *list) {
  for (int i = 1; i < list->n; i++)
    if (list->at[i] % list->at[i - 1] != 0) return false;
  return true;
}

/* ---- digits ---- */

llrt_status draft_new_digit(draft *d, int axis, int64_t step, int64_t count, int *number) {
  plan_kernel *kernel = d->kernel;
  if (kernel->n_digits == PLAN_MAX_DIGITS)
    return llrt_error(LLRT_UNSUPPORTED, "the storages refine into more than %d digits",
                      PLAN_MAX_DIGITS);
  int i = kernel->n_digits++;
  kernel->digit[i] = (plan_digit){.axis = (int8_t)axis, .step = step};
  d->count[i] = count;
  d->top[i] = d->fused[i] = false;
  *number = i;
  return LLRT_OK;
}

/* Whether some tensor has the positions from `step` on in its tile. */
static bool is_in_tile(const draft *d, int axis, int first_tensor, int64_t step) {
  for (int t = first_tensor; t < d->desc->n_tensors; t++) {
    draft_segments segments;
    bool folded;
    if (draft_is_indexed(d, t, axis, &folded) ||
        draft_list_segments(d, t, axis, &segments) != LLRT_OK)
      continue;
    if (draft_segment_at(&segments, step)->digit == -1) return true;
  }
  return false;
}

/* Whether an axis needs a digit of one position above the others, to be open: of an extent in
 * device memory that has none, or whose outermost one is bits of a tile, which have no upper part;
 * of a reduced axis of one position that has none, as it may have no position, which are no turns.
 */
static bool needs_open(const draft *d, int axis, int first_tensor, int digit) {
  bool may_be_empty = d->roles.may_be_empty >> axis & 1 && d->written[axis].known < 0;
  if (!draft_on_device(d, axis)) return digit < 0 && may_be_empty;
  return digit < 0 || is_in_tile(d, axis, first_tensor, d->kernel->digit[digit].step);
}

/* The outermost digit is open: it goes as far as what is written. */
static llrt_status add_digits(draft *d, int axis, int first_tensor, const boundaries *list) {
  const draft_extent *written = &d->written[axis];
  int digit = -1;
  for (int i = 0; i + 1 < list->n; i++)
    LLRT_TRY(draft_new_digit(d, axis, list->at[i], list->at[i + 1] / list->at[i], &digit));
  int64_t last = list->at[list->n - 1];
  bool rows = d->row_bits > 0 && axis == d->desc->tensors[0].rank - 3;
  bool open = written->most > last || rows;
  if (open || needs_open(d, axis, first_tensor, digit)) {
    int64_t count = written->known < 0 || rows ? -1 : bits_ceil_div(written->known, last);
    LLRT_TRY(draft_new_digit(d, axis, last, count, &digit));
  }
  /* Tiles of a dot are whole instructions, whatever the extents are: also those that end with a
   * storage's tile, whose bits stay whole. */
  bool tiled = draft_is_tiled(d, axis) && written->most <= last && !rows;
  if (tiled) LLRT_TRY(draft_new_digit(d, axis, last, 1, &digit));
  if (digit >= 0) d->top[digit] = true;
  return LLRT_OK;
}

static llrt_status refine_from(draft *d, int first_tensor, bool *refined) {
  *refined = true;
  d->kernel->n_digits = 0;
  for (int a = 0; a < d->desc->tensors[0].rank; a++) {
    boundaries list;
    LLRT_TRY(collect_boundaries(d, a, first_tensor, &list));
    *refined &= is_chain(&list);
    if (*refined) LLRT_TRY(add_digits(d, a, first_tensor, &list));
  }
  return LLRT_OK;
}

llrt_status draft_refine(draft *d) {
  bool refined = false, only = d->roles.refined_only;
  llrt_status status = refine_from(d, 0, &refined);
  if (status != LLRT_OK && !(only && status == LLRT_UNSUPPORTED)) return status;
  d->divided = status != LLRT_OK || !refined || d->divides;
  if (!d->divided || only) return LLRT_OK;
  LLRT_TRY(refine_from(d, PLAN_DESTINATION, &refined));
  if (refined) return LLRT_OK;
  return llrt_error(LLRT_UNSUPPORTED, "the scale's groups do not fit the destination's digits");
}

/* ---- bits ---- */

/* How many low bits of a digit with `count` positions a tile may take: as many as waste no more
 * than a third of the work. */
static int useful_bits(int64_t count, int most) {
  int useful = 0;
  for (int b = 0; b <= most; b++) {
    int64_t walked = bits_ceil_div(count, (int64_t)1 << b) << b;
    if (walked <= count + count / 3) useful = b;
  }
  return useful;
}

/* Whether 2^bits positions of the digit are parts of sectors and less than a line of some tensor's
 * memory, where all of them are not much more: a warp touches whole sectors only if it takes them
 * together. */
static bool is_short_row(const draft *d, int i, int bits) {
  const plan_digit *digit = &d->kernel->digit[i];
  for (int t = 0; t <= PLAN_DESTINATION; t++) {
    draft_segments segments;
    bool folded;
    if (draft_is_indexed(d, t, digit->axis, &folded) ||
        draft_list_segments(d, t, digit->axis, &segments) != LLRT_OK)
      continue;
    const draft_segment *segment = draft_segment_at(&segments, digit->step);
    int64_t stride = segment->digit < 0 ? -1 : draft_known_stride(d, t, segment->digit);
    int64_t line = (int64_t)PLAN_LINE_BYTES * 8 / d->kernel->tensor_bits[t];
    int64_t sector = (int64_t)d->kernel->target.sector_bytes * 8 / d->kernel->tensor_bits[t];
    if (stride <= 0 || stride >= line) continue;
    stride *= digit->step / segment->start;
    bool whole = (stride << bits) % sector == 0 && stride * d->count[i] % sector == 0;
    if (!whole && stride << bits < line && stride * d->count[i] <= 2 * line) return true;
  }
  return false;
}

/* log2 positions of a dot's tile along an axis: at most, and what every instruction wants at least.
 */
#define DOT_TILE_BITS 8
#define DOT_LEAST_BITS 6

static int rest_bits(const draft *d, int i, int most) {
  const plan_digit *digit = &d->kernel->digit[i];
  if (d->kernel->flat || digit->axis < 0) return 0;
  if (d->row_bits > 0 && digit->axis == d->desc->tensors[0].rank - 3)
    return d->top[i] && d->tile_positions[digit->axis] > 0 ? 0 : d->row_bits;
  if (d->roles.tiled && d->top[i]) {
    if (!draft_is_tiled(d, digit->axis)) return 0;
    int tile = bits_max(d->wide_bits[digit->axis], DOT_TILE_BITS);
    int all = d->count[i] > 0 ? ceil_log2(d->count[i]) : tile;
    return bits_min(most, bits_max(bits_min(all, tile), DOT_LEAST_BITS));
  }
  if (d->roles.tiled && d->count[i] > 0 && d->count[i] == d->tile_positions[digit->axis])
    return ceil_log2(d->count[i]); /* as wide as the tile, whatever of it is empty */
  if (d->count[i] > 0) {
    int bits = useful_bits(d->count[i], most), all = ceil_log2(d->count[i]);
    bool fits = all <= most && (int64_t)5 << all <= 9 * d->count[i];
    return fits && !d->kernel->target.simd_lanes && is_short_row(d, i, bits) ? all : bits;
  }
  return bits_min(most, ceil_log2(bits_ceil_div(d->written[digit->axis].most, digit->step)));
}

/* log2 elements of a work tile: a digit that is the only one must be able to fill it. */
static int tile_bits(const plan_kernel *kernel) {
  int widest = bits_max(kernel->tensor_bits[0], kernel->tensor_bits[PLAN_DESTINATION]);
  return bits_log2(kernel->target.tile_bytes) + 3 - bits_log2(widest);
}

llrt_status draft_digit_bits(draft *d) {
  plan_kernel *kernel = d->kernel;
  int n_rest = 0, fixed = 0;
  for (int i = 0; i < kernel->n_digits; i++) {
    int axis = kernel->digit[i].axis;
    bool open = axis >= 0 && d->top[i] && draft_on_device(d, axis);
    open |= draft_is_tiled(d, axis) && d->top[i];
    if (axis >= 0 && d->roles.resident >> axis & 1 && d->top[i] && d->count[i] > 0 && !open)
      d->count[i] = (int64_t)1 << ceil_log2(d->count[i]);
    kernel->digit[i].rest = open || !bits_is_power_of_two(d->count[i]);
    if (kernel->digit[i].rest) n_rest++;
    else fixed += bits_log2(d->count[i]);
  }
  int most = !d->roles.moves || d->walks_panel ? DRAFT_REDUCE_REST_BITS : DRAFT_REST_BITS;
  if (n_rest == 1) most = bits_max(most, tile_bits(kernel) - fixed);
  most = n_rest == 0 ? 0 : bits_min(most, (60 - bits_min(fixed, 60)) / n_rest);
  if (d->options && d->options->rest_bits) most = bits_min(most, d->options->rest_bits);
  d->n_bits = 0;
  for (int i = 0; i < kernel->n_digits; i++) {
    d->first[i] = d->n_bits;
    d->bits[i] = kernel->digit[i].rest ? rest_bits(d, i, most) : bits_log2(d->count[i]);
    d->n_bits += d->bits[i];
    if (d->n_bits > LLRT_MAX_BITS)
      return llrt_error(LLRT_UNSUPPORTED, "the fixed digits hold more than %d bits", LLRT_MAX_BITS);
  }
  return LLRT_OK;
}
