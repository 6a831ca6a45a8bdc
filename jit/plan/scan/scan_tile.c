/* The work tile of a scan: bits of digits, so that places along the axis stay places along it, and
 * of the axis always its lowest positions 0 .. 2^n - 1. It holds runs of both sides, then goes on
 * along the axis. */
#include "jit/plan/scan/plan_scan.h"

#include "base/bits.h"
#include "jit/plan/draft/draft.h"
#include "jit/plan/types/combine.h"

#include <string.h>

/* log2 SIMD registers of a turn on the host. */
#define HOST_REGISTER_BITS 3

llrt_dtype scan_accumulator(const op_description *desc) {
  llrt_dtype type = desc->combine.accumulate;
  return type ? type : combine_accumulator((int)desc->combine.op, desc->tensors[0].dtype);
}

typedef struct tiler {
  draft *d;
  draft_runs runs[2];
  int vector[2], run[2];
  int n_axis, axis[LLRT_MAX_BITS]; /* bits of weight 1, 2, 4, … along the axis */
  uint64_t walked;                 /* all bits of the axis's digits */
  uint64_t tile;
} tiler;

static int64_t weight(const draft *d, int bit) {
  int i = draft_digit_of(d, bit);
  return d->kernel->digit[i].step << (bit - d->first[i]);
}

static void find_axis(tiler *w) {
  const draft *d = w->d;
  for (int z = 0; z < d->n_bits; z++)
    if (draft_is_walked(d, d->kernel->digit[draft_digit_of(d, z)].axis)) w->walked |= 1ull << z;
  for (int64_t next = 1;; next *= 2) {
    int found = -1;
    for (int z = 0; z < d->n_bits; z++)
      if (w->walked >> z & 1 && weight(d, z) == next) found = z;
    if (found < 0) return;
    w->axis[w->n_axis++] = found;
  }
}

/* Leading vectors of a side's run that are single bits. */
static void find_runs(tiler *w, int t) {
  draft_runs *runs = &w->runs[t];
  int n = 0;
  draft_runs_of(w->d, t, runs);
  while (n < runs->n && bits_count(runs->vector[n]) == 1) n++;
  runs->n = n;
}

/* The widest access: no bit but those of the vector moves its low address bits. */
static int vector_bits(const tiler *w, int t) {
  const draft *d = w->d;
  const plan_target *target = &d->kernel->target;
  int v = bits_max(bits_log2(target->access_bytes) - draft_log2_bytes(d, t), 0);
  v = bits_min(v, w->runs[t].n);
  const llrt_swizzle *swizzle = &d->kernel->swizzle[t];
  if (target->access_align_bytes > 1) v = bits_min(v, w->runs[t].align);
  if (swizzle->swizzle_len) v = bits_min(v, bits_min(swizzle->per_element, w->runs[t].align));
  for (; v > 0; v--) {
    uint64_t own = 0, others = 0;
    for (int j = 0; j < v; j++) own |= w->runs[t].vector[j];
    for (int z = 0; z < d->n_bits; z++)
      if (!(own >> z & 1)) others |= d->column[t][z];
    if (!(others & bits_mask(v))) break;
  }
  return v;
}

/* With the bits below of digits that go on above theirs, and the axis's below the highest. False
 * where a bit of the axis has none of these. */
static bool close_tile(const tiler *w, uint64_t *tile) {
  const draft *d = w->d;
  uint64_t prefix = 0, x = *tile;
  for (int i = 0; i < d->kernel->n_digits; i++) {
    uint64_t own = x >> d->first[i] & bits_mask(d->bits[i]);
    if (d->kernel->digit[i].rest && own) x |= bits_mask(bits_highest(own) + 1) << d->first[i];
  }
  for (int k = w->n_axis - 1; k >= 0; k--)
    if (prefix || x >> w->axis[k] & 1) prefix |= 1ull << w->axis[k];
  *tile = x | prefix;
  return (x & w->walked & ~prefix) == 0;
}

static int room_bits(const tiler *w) {
  const plan_kernel *kernel = w->d->kernel;
  const plan_tuning *tuning = kernel->target.tuning;
  int thread = tuning->scan_thread_bits;
  if (kernel->target.simd_lanes) return kernel->lane_bits + HOST_REGISTER_BITS;
  if (w->d->splits)
    thread = bits_log2(tuning->scan_turn_thread_bytes * 8 /
                       llrt_dtype_bits(scan_accumulator(w->d->desc)));
  return kernel->lane_bits + bits_min(tuning->scan_warp_bits, kernel->target.warp_bits) + thread;
}

/* The runs of both sides, as long as there is room for them and for what they bring along. */
static bool choose_runs(tiler *w, int room) {
  for (int t = 0; t < 2; t++) {
    int wanted = bits_log2(w->d->kernel->target.tuning->scan_run_bytes) - draft_log2_bytes(w->d, t);
    if (w->d->splits && w->runs[t].n > 0 && !(w->runs[t].vector[0] & w->walked)) {
      w->vector[t] = bits_min(w->vector[t], w->d->kernel->target.tuning->scan_turn_lane_bits);
      wanted = w->d->kernel->lane_bits + w->vector[t];
    }
    w->run[t] = bits_max(bits_min(wanted, w->runs[t].n), w->vector[t]);
  }
  for (;;) {
    w->tile = 0;
    for (int t = 0; t < 2; t++)
      for (int j = 0; j < w->run[t]; j++) w->tile |= w->runs[t].vector[j];
    if (close_tile(w, &w->tile) && bits_count(w->tile) <= room) return true;
    int t = w->run[1] - w->vector[1] >= w->run[0] - w->vector[0] ? 1 : 0;
    if (w->run[t] == 0) t = 1 - t;
    if (w->run[t] == 0) return false;
    w->vector[t] = bits_min(w->vector[t], --w->run[t]);
  }
}

/* Along the axis first, then along the source's memory, then whatever there is. */
static void extend(tiler *w, int room) {
  for (int k = 0; k < w->n_axis && bits_count(w->tile) < room; k++) w->tile |= 1ull << w->axis[k];
  for (int j = 0; j < w->runs[0].n; j++) {
    uint64_t with = w->tile | w->runs[0].vector[j];
    if (close_tile(w, &with) && bits_count(with) <= room) w->tile = with;
  }
  for (int z = 0; z < w->d->n_bits; z++) {
    uint64_t with = w->tile | 1ull << z;
    if (close_tile(w, &with) && bits_count(with) <= room) w->tile = with;
  }
}

static int add(draft *d, int t, int n, uint64_t x) {
  for (int i = 0; i < n; i++)
    if (d->order[t][i] == x) return n;
  d->order[t][n] = x;
  return n + 1;
}

static void order_side(const tiler *w, int t) {
  draft *d = w->d;
  int n = 0;
  d->run[t] = 0;
  for (int j = 0; j < w->runs[t].n && w->tile & w->runs[t].vector[j]; j++) d->run[t]++;
  for (int j = 0; j < d->run[t]; j++) n = add(d, t, n, w->runs[t].vector[j]);
  for (int j = 0; j < w->run[1 - t]; j++) n = add(d, t, n, w->runs[1 - t].vector[j]);
  for (int z = 0; z < d->n_bits; z++)
    if (w->tile >> z & 1) n = add(d, t, n, 1ull << z);
  d->vector[t] = w->vector[t];
  d->align[t] = bits_min(w->runs[t].align, w->vector[t]);
}

/* Fixed digits' bits outside the tile: of other axes they number blocks, of the axis turns, lowest
 * first. False where one of the axis stands above an upper part of it. */
static bool fill_grid(tiler *w) {
  draft *d = w->d;
  const plan_kernel *kernel = d->kernel;
  int64_t above = INT64_MAX;
  for (int i = 0; i < kernel->n_digits; i++)
    if (kernel->digit[i].rest && draft_is_walked(d, kernel->digit[i].axis) &&
        kernel->digit[i].step < above)
      above = kernel->digit[i].step;
  for (int pass = 0; pass < 2; pass++) {
    int from = d->n_grid;
    for (int z = 0; z < d->n_bits; z++) {
      bool walked = w->walked >> z & 1;
      if (w->tile >> z & 1 || kernel->digit[draft_digit_of(d, z)].rest || walked != pass) continue;
      if (walked && weight(d, z) > above) return false;
      int at = d->n_grid++;
      for (; pass && at > from && weight(d, bits_lowest(d->grid[at - 1])) > weight(d, z); at--)
        d->grid[at] = d->grid[at - 1];
      d->grid[at] = 1ull << z;
      d->n_walked += pass;
    }
  }
  return true;
}

bool scan_tile(draft *d, plan_order *order) {
  tiler w = {.d = d};
  find_axis(&w);
  for (int t = 0; t < 2; t++) find_runs(&w, t);
  for (int t = 0; t < 2; t++) w.vector[t] = vector_bits(&w, t);
  int room = room_bits(&w);
  if (!choose_runs(&w, room)) return false;
  extend(&w, room);
  if (!fill_grid(&w)) return false;
  d->tile_bits = bits_count(w.tile);
  d->thread_bits =
      bits_max(d->tile_bits - d->kernel->lane_bits - d->kernel->target.tuning->scan_warp_bits, 0);
  for (int t = 0; t < 2; t++) order_side(&w, t);
  order->n = 0;
  for (int k = 0; k < w.n_axis; k++)
    for (int i = 0; i < d->tile_bits; i++)
      if (d->order[0][i] == 1ull << w.axis[k]) order->bit[order->n++] = (uint8_t)i;
  return true;
}
