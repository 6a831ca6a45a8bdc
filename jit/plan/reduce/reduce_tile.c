/* The work tile of a reduce. It is spanned by bits of digits: then an element's place inside the
 * tile says which result it belongs to, whatever turn of the walk it is met in, and grid and turns
 * move addresses by sums alone.
 *
 * Lowest registers: an access's vector. Lanes: what follows in the source's memory. More registers:
 * reduced bits, so that a thread has several accesses in flight and joins what they bring at once.
 * Warps: reduced bits or kept ones, as asked.
 *
 * On the host, where kept positions lie beside each other in memory, a block takes a stretch of a
 * row of them: a line of the cache after the other (iterations), of several rows at once, before it
 * goes on to the next rows. What it carries for each of them lies in the first-level cache. So
 * memory is read in long runs; a block that walked down a single line would touch another page for
 * each. */
#include "jit/plan/reduce/reduce.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/draft/draft.h"
#include "jit/plan/facts/vector_list.h"
#include "layout/f2.h"

#include <assert.h>
#include <string.h>

/* log2 bytes of a line. */
#define LINE_BITS 6

typedef struct tiler {
  draft *d;
  draft_runs runs;
  uint64_t reduced; /* bits of reduced digits */
  uint64_t tile;    /* bits of the tile */
  int vector;       /* log2 elements of an access, whose vectors are placed first */
  bool stretched;   /* a thread has several accesses of a row */
  f2_basis span;    /* of the vectors placed */
  vector_list registers, lanes, warps, iterations;
  int n_sorted, sorted[LLRT_MAX_BITS]; /* bits in the order of the source's memory */
} tiler;

/* ---- bits ---- */

/* With every bit of a digit that goes on above its bits those below it. */
static uint64_t closed(const draft *d, uint64_t x) {
  for (int i = 0; i < d->kernel->n_digits; i++) {
    uint64_t own = x >> d->first[i] & bits_mask(d->bits[i]);
    if (d->kernel->digit[i].rest && own) x |= bits_mask(bits_highest(own) + 1) << d->first[i];
  }
  return x;
}

/* Where a bit moves the source's address: the lowest bit it sets, behind all these digits of
 * strides. */
static int memory_order(const draft *d, int bit) {
  int i = draft_digit_of(d, bit);
  if (d->kernel->digit[i].side[0].kind == PLAN_COLUMNS && d->column[0][bit])
    return bits_lowest(d->column[0][bit]);
  return 64 * (1 + bits_max(d->side[i][0].order, 0)) + bit - d->first[i];
}

static void sort_bits(tiler *w) {
  for (int z = 0; z < w->d->n_bits; z++) {
    int at = w->n_sorted++;
    for (; at > 0 && memory_order(w->d, w->sorted[at - 1]) > memory_order(w->d, z); at--)
      w->sorted[at] = w->sorted[at - 1];
    w->sorted[at] = z;
  }
}

/* ---- placing ---- */

/* Freed of what it moves inside an access: by vectors of the access. */
static uint64_t cleared(const tiler *w, uint64_t x) {
  uint64_t low = f2_apply(w->d->column[0], x) & bits_mask(w->vector);
  return x ^ f2_apply(w->runs.vector, low);
}

static bool place(tiler *w, vector_list *list, uint64_t x) {
  uint64_t with = closed(w->d, w->tile | x);
  if (w->span.rank >= w->vector) x = cleared(w, x);
  if (!f2_basis_insert(&w->span, x)) return false;
  list->at[list->n++] = x;
  w->tile = with;
  return true;
}

/* Bits of `allowed` that are not in the span yet, in memory's order, until the list has `wanted`.
 */
static void fill(tiler *w, vector_list *list, int wanted, uint64_t allowed) {
  for (int pass = 0; pass < 2;
       pass++) /* what a digit's bits below were missing for comes in the second */
    for (int i = 0; i < w->n_sorted && list->n < wanted; i++) {
      uint64_t x = 1ull << w->sorted[i];
      if (!(x & allowed) || f2_basis_contains(&w->span, x))
        continue; /* the access's vectors are in it */
      if (closed(w->d, x) & ~(w->tile | x)) continue;
      place(w, list, x);
    }
}

/* Bits outside the tile that would move addresses inside a vector of 2^v elements join it. */
static uint64_t vector_tile(const tiler *w, int v) {
  uint64_t tile = 0;
  for (int j = 0; j < v; j++) tile |= w->runs.vector[j];
  for (int z = 0; z < w->d->n_bits; z++)
    if (w->d->column[0][z] & bits_mask(v)) tile |= 1ull << z;
  return closed(w->d, tile);
}

/* log2 elements of accesses of a word to rows of 16-bit elements that are not aligned, if lanes
 * beside each other have words beside each other and sum along them; 0: of none. Where they are
 * kept, fewer warps would share the walk (docs/history/expression-rows.md). */
static int word_bits(const tiler *w) {
  const plan_kernel *kernel = w->d->kernel;
  bool can = kernel->tensor_bits[0] == 16 && kernel->target.access_align_bytes > 1 &&
             draft_can_overhang(w->d, 0) && w->runs.n > kernel->lane_bits;
  return can && w->runs.align == 0 && (w->runs.vector[0] & ~w->reduced) == 0;
}

/* log2 elements of an access. */
static int vector_bits(const tiler *w) {
  const plan_target *target = &w->d->kernel->target;
  int v = bits_min(bits_log2(target->access_bytes) - draft_log2_bytes(w->d, 0), w->runs.n);
  const llrt_swizzle *swizzle = &w->d->kernel->swizzle[0];
  if (target->access_align_bytes > 1) v = bits_min(v, w->runs.align);
  if (swizzle->swizzle_len) v = bits_min(v, bits_min(swizzle->per_element, w->runs.align));
  while (v > 0 && bits_count(vector_tile(w, v)) > v + 2) v--;
  return v;
}

/* ---- the roles ---- */

/* Kept positions that follow the lanes' in memory, until a thread has as many bytes of a row as an
 * aligned access would: rows that are not aligned begin and end inside sectors, which a warp then
 * shares with others once for a long stretch of each row, not once for each access. */
static void fill_stretch(tiler *w) {
  int whole = bits_log2(w->d->kernel->target.access_bytes) - draft_log2_bytes(w->d, 0);
  for (int j = 0; j < w->runs.n && w->registers.n < whole; j++) {
    uint64_t x = w->runs.vector[j];
    if (x & w->reduced) return;
    if (f2_basis_contains(&w->span, x)) continue;
    if (!bits_is_power_of_two((int64_t)x) || !place(w, &w->registers, x)) return;
    w->stretched = true;
  }
}

/* log2 warps of a block. Blocks that share a walk are to be resident together. */
static int warps_of_block(const tiler *w, const reduce_shape *shape) {
  const plan_target *target = &w->d->kernel->target;
  int warps = target->tuning->reduce_warp_bits;
  if (shape->split) warps = target->tuning->reduce_split_warp_bits;
  if (shape->split && w->stretched) warps = target->tuning->reduce_stretch_warp_bits;
  return bits_min(warps, target->warp_bits);
}

static void gpu_roles(tiler *w, const reduce_shape *shape) {
  plan_kernel *kernel = w->d->kernel;
  const plan_tuning *tuning = kernel->target.tuning;
  int word = shape->words ? word_bits(w) : 0, n = w->d->n_bits;
  int v = word > 0 ? word : vector_bits(w);
  uint64_t all = bits_mask(n);
  w->d->vector[0] = w->vector = v;
  w->d->align[0] = bits_min(v, w->runs.align);
  for (int j = 0; j < v; j++) place(w, &w->registers, w->runs.vector[j]);
  w->tile |= vector_tile(w, v);
  for (int j = v; j < w->runs.n && w->lanes.n < kernel->lane_bits; j++)
    if (bits_count(closed(w->d, w->tile | w->runs.vector[j])) <= w->span.rank + 2)
      place(w, &w->lanes, w->runs.vector[j]);
  fill(w, &w->lanes, kernel->lane_bits, all);
  if (shape->stretches) fill_stretch(w);
  int flight = bits_min(w->registers.n + tuning->reduce_flight_bits, tuning->reduce_thread_bits);
  fill(w, &w->registers, flight, w->tile);
  fill(w, &w->registers, flight, w->reduced);
  uint64_t first = shape->warps_reduce ? w->reduced : all & ~w->reduced;
  int warps = warps_of_block(w, shape);
  if (shape->warps_reduce) fill(w, &w->warps, shape->kept_warps, all & ~w->reduced);
  fill(w, &w->warps, warps, first);
  fill(w, &w->warps, warps, all);
  fill(w, &w->registers, flight, all);
}

/* The bits of kept positions that lie beside each other in the source's memory; 0 where a list
 * has vectors of several bits, or the lanes are not of these. */
static uint64_t kept_run(const tiler *w) {
  uint64_t run = 0;
  for (int i = 0; i < w->lanes.n; i++)
    if (!bits_is_power_of_two((int64_t)w->lanes.at[i]) || w->lanes.at[i] & w->reduced) return 0;
  if (w->registers.n > 0 || bits_count(w->tile) != w->lanes.n) return 0;
  for (int i = 0; i < w->n_sorted && !(w->reduced >> w->sorted[i] & 1); i++)
    run |= 1ull << w->sorted[i];
  return w->tile & ~run ? 0 : run;
}

/* A line of each of several rows, and as many lines as there is room to carry. */
static void row_roles(tiler *w, int result_bytes, uint64_t run) {
  int line = LINE_BITS - draft_log2_bytes(w->d, 0) - w->lanes.n;
  fill(w, &w->registers, bits_max(line, 0), run);
  const plan_tuning *tuning = w->d->kernel->target.tuning;
  fill(w, &w->registers, w->registers.n + tuning->reduce_row_bits, w->reduced);
  int most = bits_log2(tuning->reduce_carried_bytes / result_bytes);
  int here = bits_count(w->tile & ~w->reduced);
  fill(w, &w->iterations, bits_max(most - here, 0), run);
}

/* Lanes first: a SIMD register is contiguous. */
static void host_roles(tiler *w, const reduce_shape *shape) {
  plan_kernel *kernel = w->d->kernel;
  uint64_t all = bits_mask(w->d->n_bits);
  int v = bits_min(vector_bits(w), kernel->lane_bits);
  w->d->vector[0] = w->vector = v;
  w->d->align[0] = bits_min(v, w->runs.align);
  for (int j = 0; j < v; j++) place(w, &w->lanes, w->runs.vector[j]);
  w->tile |= vector_tile(w, v);
  fill(w, &w->lanes, kernel->lane_bits, all);
  uint64_t run = kept_run(w);
  if (run) row_roles(w, shape->result_bytes, run);
  fill(w, &w->registers, kernel->target.tuning->reduce_flight_bits, w->tile);
  fill(w, &w->registers, kernel->target.tuning->reduce_flight_bits, w->reduced);
  fill(w, &w->registers, kernel->target.tuning->reduce_flight_bits, all);
}

/* ---- clean columns ---- */

void reduce_own_bits(reduce_pivots *p, int n, uint64_t *list) {
  for (int i = 0; i < n; i++) {
    uint64_t x = list[i];
    if (x == 0) continue;
    for (int j = 0; j < p->n; j++)
      if (x & p->pivot[j]) x ^= p->row[j];
    assert(x);
    p->row[p->n] = x;
    p->pivot[p->n] = x & -x;
    for (int j = 0; j < p->n; j++)
      if (p->row[j] & p->pivot[p->n]) p->row[j] ^= x;
    list[i] = p->pivot[p->n++];
  }
}

int64_t reduce_weight(const draft *d, uint64_t bit) {
  int z = bits_lowest(bit), i = draft_digit_of(d, z);
  return d->kernel->digit[i].step << (z - d->first[i]);
}

static void append(draft *d, const vector_list *list, uint64_t which) {
  int from = d->tile_bits;
  for (int i = 0; i < list->n; i++) {
    if (!(list->at[i] & which)) continue;
    int at = d->tile_bits++;
    for (; at > from && reduce_weight(d, d->order[0][at - 1]) > reduce_weight(d, list->at[i]); at--)
      d->order[0][at] = d->order[0][at - 1];
    d->order[0][at] = list->at[i];
  }
}

/* ---- values ---- */

static llrt_status make_value(const draft *d, const vector_list *const lists[4],
                              plan_value *value) {
  const plan_kernel *kernel = d->kernel;
  const int wanted[4] = {lists[0]->n, kernel->lane_bits, kernel->warp_bits, lists[3]->n};
  f2_basis tile;
  vector_list in_tile[4];
  f2_basis_init(&tile);
  for (int i = 0; i < d->tile_bits; i++) f2_basis_insert_as(&tile, d->order[0][i], 1ull << i);
  const vector_list *each[4];
  for (int i = 0; i < 4; i++) {
    vector_list_in(&tile, lists[i], wanted[i], &in_tile[i]);
    each[i] = &in_tile[i];
  }
  *value = (plan_value){.bits = kernel->tensor_bits[0]};
  LLRT_TRY(vector_lists_layout(d->tile_bits, each, &value->layout));
  if (!kernel->target.simd_lanes)
    value->word = (uint8_t)bits_min(draft_word_of(d, value->bits), d->vector[0]);
  return LLRT_OK;
}

llrt_status reduce_tile(draft *d, const reduce_shape *shape, plan_value *load, plan_value *clean,
                        int *kept, bool *stretched) {
  tiler w = {.d = d};
  vector_list cleaned[4] = {{0}};
  draft_runs_of(d, 0, &w.runs);
  f2_basis_init(&w.span);
  w.reduced = draft_reduced_bits(d);
  sort_bits(&w);
  if (d->kernel->target.simd_lanes) host_roles(&w, shape);
  else gpu_roles(&w, shape);
  for (int z = 0; z < d->n_bits; z++) /* what vectors of several bits brought along */
    if (w.tile >> z & 1) place(&w, &w.registers, 1ull << z);
  if (w.registers.n > 8)
    return llrt_error(LLRT_UNSUPPORTED,
                      "a thread would hold 2^%d elements of the source, more than 2^8",
                      w.registers.n);
  const vector_list *const lists[4] = {&w.registers, &w.lanes, &w.warps, &w.iterations};
  reduce_pivots pivots = {.n = 0};
  for (int l = 0; l < 4; l++) {
    cleaned[l] = *lists[l];
    reduce_own_bits(&pivots, cleaned[l].n, cleaned[l].at);
  }
  d->tile_bits = 0;
  for (int l = 0; l < 4; l++) append(d, &cleaned[l], ~w.reduced);
  *kept = d->tile_bits;
  *stretched = w.stretched;
  append(d, &cleaned[2], w.reduced);
  append(d, &cleaned[1], w.reduced);
  append(d, &cleaned[0], w.reduced);
  d->kernel->warp_bits = w.warps.n;
  draft_fill_grid(d, w.tile, w.reduced);
  LLRT_TRY(make_value(d, lists, load));
  const vector_list *const clean_lists[4] = {&cleaned[0], &cleaned[1], &cleaned[2], &cleaned[3]};
  return make_value(d, clean_lists, clean);
}
