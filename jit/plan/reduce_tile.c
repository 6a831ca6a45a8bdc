/* The work tile of a reduce. It is spanned by bits of digits: then an element's place inside the tile says
 * which result it belongs to, whatever turn of the walk it is met in, and grid and turns move addresses by
 * sums alone.
 *
 * Lowest registers: an access's vector. Lanes: what follows in the source's memory. More registers: reduced
 * bits, so that a thread has several accesses in flight and joins what they bring at once. Warps: reduced bits
 * or kept ones, as asked. */
#include "jit/plan/reduce.h"

#include "base/bits.h"
#include "base/status.h"

#include <assert.h>
#include <string.h>

/* log2 accesses that a thread has in flight in every turn, and the most elements that it holds. */
#define FLIGHT_BITS 3
#define THREAD_BITS 6
/* log2 warps of a block: 256 threads on NVIDIA; where blocks share a walk half of that, so that all are resident at
 * once (measured on an H200, docs/measurements.md). */
#define WARP_BITS 3
#define SPLIT_WARP_BITS 2
/* log2 accesses of a turn on the host. */
#define HOST_FLIGHT_BITS 2

typedef struct vectors {
  int n;
  uint64_t at[LLRT_MAX_BITS];
} vectors;

typedef struct tiler {
  draft *d;
  draft_runs runs;
  uint64_t reduced;              /* bits of reduced digits */
  uint64_t tile;                 /* bits of the tile */
  int vector;                    /* log2 elements of an access, whose vectors are placed first */
  f2_basis span;                 /* of the vectors placed */
  vectors registers, lanes, warps;
  int n_sorted, sorted[LLRT_MAX_BITS]; /* bits in the order of the source's memory */
} tiler;

/* ---- bits ---- */

static int digit_of(const draft *d, int bit) {
  int i = 0;
  while (bit >= d->first[i] + d->bits[i]) i++;
  return i;
}

/* With every bit of a digit that goes on above its bits those below it. */
static uint64_t closed(const draft *d, uint64_t x) {
  for (int i = 0; i < d->kernel->n_digits; i++) {
    uint64_t own = x >> d->first[i] & bits_mask(d->bits[i]);
    if (d->kernel->digit[i].rest && own) x |= bits_mask(bits_highest(own) + 1) << d->first[i];
  }
  return x;
}

/* Where a bit moves the source's address: the lowest bit it sets, behind all these digits of strides. */
static int memory_order(const draft *d, int bit) {
  int i = digit_of(d, bit);
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

static bool place(tiler *w, vectors *list, uint64_t x) {
  uint64_t with = closed(w->d, w->tile | x);
  if (w->span.rank >= w->vector) x = cleared(w, x);
  if (!f2_basis_insert(&w->span, x)) return false;
  list->at[list->n++] = x;
  w->tile = with;
  return true;
}

/* Bits of `allowed` that are not in the span yet, in memory's order, until the list has `wanted`. */
static void fill(tiler *w, vectors *list, int wanted, uint64_t allowed) {
  for (int pass = 0; pass < 2; pass++) /* what a digit's bits below were missing for comes in the second */
    for (int i = 0; i < w->n_sorted && list->n < wanted; i++) {
      uint64_t x = 1ull << w->sorted[i];
      if (!(x & allowed) || f2_basis_contains(&w->span, x)) continue; /* the access's vectors are in it */
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

static void gpu_roles(tiler *w, const reduce_shape *shape) {
  plan_kernel *kernel = w->d->kernel;
  int v = vector_bits(w), n = w->d->n_bits;
  uint64_t all = bits_mask(n);
  w->d->vector[0] = w->vector = v;
  w->d->align[0] = bits_min(v, w->runs.align);
  for (int j = 0; j < v; j++) place(w, &w->registers, w->runs.vector[j]);
  w->tile |= vector_tile(w, v);
  for (int j = v; j < w->runs.n && w->lanes.n < kernel->lane_bits; j++)
    if (bits_count(closed(w->d, w->tile | w->runs.vector[j])) <= w->span.rank + 2)
      place(w, &w->lanes, w->runs.vector[j]);
  fill(w, &w->lanes, kernel->lane_bits, all);
  int flight = bits_min(v + FLIGHT_BITS, THREAD_BITS);
  fill(w, &w->registers, flight, w->tile);
  fill(w, &w->registers, flight, w->reduced);
  uint64_t first = shape->warps_reduce ? w->reduced : all & ~w->reduced;
  int warps = bits_min(shape->split ? SPLIT_WARP_BITS : WARP_BITS, kernel->target.warp_bits);
  if (shape->warps_reduce) fill(w, &w->warps, shape->kept_warps, all & ~w->reduced);
  fill(w, &w->warps, warps, first);
  fill(w, &w->warps, warps, all);
  fill(w, &w->registers, flight, all);
}

/* Lanes first: a SIMD register is contiguous. */
static void host_roles(tiler *w) {
  plan_kernel *kernel = w->d->kernel;
  uint64_t all = bits_mask(w->d->n_bits);
  int v = bits_min(vector_bits(w), kernel->lane_bits);
  w->d->vector[0] = w->vector = v;
  w->d->align[0] = bits_min(v, w->runs.align);
  for (int j = 0; j < v; j++) place(w, &w->lanes, w->runs.vector[j]);
  w->tile |= vector_tile(w, v);
  fill(w, &w->lanes, kernel->lane_bits, all);
  fill(w, &w->registers, HOST_FLIGHT_BITS, w->tile);
  fill(w, &w->registers, HOST_FLIGHT_BITS, w->reduced);
  fill(w, &w->registers, HOST_FLIGHT_BITS, all);
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
  int z = bits_lowest(bit), i = digit_of(d, z);
  return d->kernel->digit[i].step << (z - d->first[i]);
}

static void append(draft *d, const vectors *list, uint64_t which) {
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

static llrt_status add_dim(llrt_layout *layout, const char *name, int bits, const vectors *list,
                           const f2_basis *tile) {
  int first = llrt_layout_in_bits(layout);
  LLRT_TRY(llrt_layout_add_in(layout, name, bits));
  for (int i = 0; i < list->n; i++)
    f2_basis_coordinates(tile, list->at[i], &layout->column[first + i]);
  return LLRT_OK;
}

static llrt_status make_value(const draft *d, const vectors *lists[3], plan_value *value) {
  static const vectors none;
  const plan_kernel *kernel = d->kernel;
  f2_basis tile;
  f2_basis_init(&tile);
  for (int i = 0; i < d->tile_bits; i++) f2_basis_insert_as(&tile, d->order[0][i], 1ull << i);
  *value = (plan_value){.bits = kernel->tensor_bits[0]};
  if (!kernel->target.lanes_first)
    value->word = (uint8_t)bits_min(draft_word_of(d, value->bits), d->vector[0]);
  value->layout = llrt_layout_empty();
  LLRT_TRY(llrt_layout_add_out(&value->layout, "tile", d->tile_bits));
  LLRT_TRY(add_dim(&value->layout, "register", lists[0]->n, lists[0], &tile));
  LLRT_TRY(add_dim(&value->layout, "lane", kernel->lane_bits, lists[1], &tile));
  LLRT_TRY(add_dim(&value->layout, "warp", kernel->warp_bits, lists[2], &tile));
  return add_dim(&value->layout, "iteration", 0, &none, &tile);
}

/* Kept bits of digits without an upper part number blocks, reduced ones turns. */
static void fill_grid(tiler *w) {
  draft *d = w->d;
  for (int pass = 0; pass < 2; pass++)
    for (int z = 0; z < d->n_bits; z++) {
      uint64_t x = 1ull << z;
      if (x & w->tile || d->kernel->digit[digit_of(d, z)].rest) continue;
      if (((x & w->reduced) != 0) != pass) continue;
      d->grid[d->n_grid++] = x;
      d->n_walked += pass;
    }
}

llrt_status reduce_tile(draft *d, const reduce_shape *shape, plan_value *load, plan_value *clean,
                        int *kept) {
  tiler w = {.d = d};
  vectors cleaned[3] = {{0}};
  draft_runs_of(d, 0, &w.runs);
  f2_basis_init(&w.span);
  for (int i = 0; i < d->kernel->n_digits; i++)
    if (draft_is_reduced(d, d->kernel->digit[i].axis)) w.reduced |= bits_mask(d->bits[i]) << d->first[i];
  sort_bits(&w);
  if (d->kernel->target.lanes_first) host_roles(&w);
  else gpu_roles(&w, shape);
  for (int z = 0; z < d->n_bits; z++) /* what vectors of several bits brought along */
    if (w.tile >> z & 1) place(&w, &w.registers, 1ull << z);
  if (w.registers.n > 8)
    return llrt_error(LLRT_UNSUPPORTED, "the source's runs mix too many bits for a reduce");
  const vectors *lists[3] = {&w.registers, &w.lanes, &w.warps};
  reduce_pivots pivots = {.n = 0};
  for (int l = 0; l < 3; l++) {
    cleaned[l] = *lists[l];
    reduce_own_bits(&pivots, cleaned[l].n, cleaned[l].at);
  }
  d->tile_bits = 0;
  for (int l = 0; l < 3; l++) append(d, &cleaned[l], ~w.reduced);
  *kept = d->tile_bits;
  append(d, &cleaned[2], w.reduced);
  append(d, &cleaned[1], w.reduced);
  append(d, &cleaned[0], w.reduced);
  d->kernel->warp_bits = w.warps.n;
  fill_grid(&w);
  LLRT_TRY(make_value(d, lists, load));
  const vectors *clean_lists[3] = {&cleaned[0], &cleaned[1], &cleaned[2]};
  return make_value(d, clean_lists, clean);
}
