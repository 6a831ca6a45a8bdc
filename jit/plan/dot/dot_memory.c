/* How a dot's kernels read and write tensors: accesses along runs of memory, lanes and warps behind
 * them. */
#include "jit/plan/dot/dot.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/draft/draft.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/facts/vector_list.h"
#include "layout/f2.h"

#include <string.h>

typedef struct placer {
  const dot_draft *x;
  int tensor;
  uint64_t all, mask; /* what the tensor has, and of that what is no iteration's */
  draft_runs runs;
  int vector;
  f2_basis span;
  vector_list list[3]; /* registers, lanes, warps */
} placer;

uint64_t dot_tile_bits(const dot_draft *x, uint64_t mask) {
  uint64_t out = 0;
  for (int i = 0; i < x->d.tile_bits; i++)
    if (x->d.order[0][i] & mask) out |= 1ull << i;
  return out;
}

/* What an access of 2^v elements may be at addresses that are multiples of 2^align of them: some
 * targets take any, but no access begins inside a byte. */
static int aligned(const plan_target *target, int bits, int v, int align) {
  bool any = target->access_align_bytes == 1 && (bits >= 8 || align > 0 || target->simd_lanes);
  return any ? v : bits_min(v, align);
}

/* The widest access: runs inside the mask, aligned, and nothing outside the tile moves it. */
static int vector_bits(const placer *p) {
  const draft *d = &p->x->d;
  const plan_kernel *kernel = d->kernel;
  const plan_target *target = &kernel->target;
  const llrt_swizzle *swizzle = &kernel->swizzle[p->tensor];
  int bits = kernel->tensor_bits[p->tensor],
      v = bits_min(bits_log2(target->access_bytes * 8 / bits), p->runs.n);
  v = aligned(target, bits, v, p->runs.align);
  if (swizzle->swizzle_len) v = bits_min(v, bits_min(swizzle->per_element, p->runs.align));
  for (int j = 0; j < v; j++)
    if (p->runs.vector[j] & ~p->mask) v = j;
  uint64_t tile = p->x->bits[0] | p->x->bits[1] | p->x->bits[2];
  for (int z = 0; z < d->n_bits; z++)
    while (v > 0 && !(tile >> z & 1) && d->column[p->tensor][z] & bits_mask(v)) v--;
  return v;
}

int dot_memory_order(const dot_draft *x, int tensor, int bit) {
  const draft *d = &x->d;
  int i = draft_digit_of(d, bit), order = d->side[i][tensor].order;
  if (d->kernel->digit[i].side[tensor].kind == PLAN_COLUMNS && d->column[tensor][bit])
    return bits_lowest(d->column[tensor][bit]);
  return 64 * (1 + bits_max(order, 0)) + bit - d->first[i];
}

static bool place(placer *p, int dim, uint64_t x) {
  if (p->span.rank >= p->vector)
    x ^= f2_apply(p->runs.vector, f2_apply(p->x->d.column[p->tensor], x) & bits_mask(p->vector));
  if (x == 0 || !f2_basis_insert(&p->span, x)) return false;
  p->list[dim].at[p->list[dim].n++] = x;
  return true;
}

/* Bits of the mask that are not placed yet, in memory's order, until the list has `wanted`. */
static void fill(placer *p, int dim, int wanted) {
  int sorted[LLRT_MAX_BITS], n = 0;
  for (int z = 0; z < p->x->d.n_bits; z++) {
    if (!(p->mask >> z & 1)) continue;
    int at = n++;
    int order = dot_memory_order(p->x, p->tensor, z);
    for (; at > 0 && dot_memory_order(p->x, p->tensor, sorted[at - 1]) > order; at--)
      sorted[at] = sorted[at - 1];
    sorted[at] = z;
  }
  for (int i = 0; i < n && p->list[dim].n < wanted; i++) place(p, dim, 1ull << sorted[i]);
}

static void fill_runs(placer *p, int dim, int wanted, int from) {
  for (int j = from; j < p->runs.n && p->list[dim].n < wanted; j++)
    if (!(p->runs.vector[j] & ~p->mask)) place(p, dim, p->runs.vector[j]);
}

/* Bits of the draft as the value has them; zeros, that is copies, behind them up to n. */
static void list_in_value(const placer *p, const plan_value *value, const uint64_t *bits,
                          int n_bits, int n, vector_list *out) {
  *out = (vector_list){.n = n};
  for (int i = 0; i < n_bits; i++)
    out->at[i] = plan_value_bits_of(value, dot_tile_bits(p->x, bits[i] & p->all));
}

static llrt_status make_value(const placer *p, plan_value *value) {
  const draft *d = &p->x->d;
  const plan_kernel *kernel = d->kernel;
  const int wanted[3] = {p->list[0].n, kernel->lane_bits, kernel->warp_bits};
  int bits = kernel->tensor_bits[p->tensor];
  vector_list in_value[4];
  const vector_list *const lists[] = {&in_value[0], &in_value[1], &in_value[2], &in_value[3]};
  *value = (plan_value){.bits = (uint8_t)bits,
                        .reduced = bits_mask(d->tile_bits) & ~dot_tile_bits(p->x, p->all)};
  value->word = (uint8_t)bits_min(draft_word_of(d, bits), p->list[0].n);
  for (int dim = 0; dim < 3; dim++)
    list_in_value(p, value, p->list[dim].at, p->list[dim].n, wanted[dim], &in_value[dim]);
  list_in_value(p, value, p->x->iterated, p->x->n_iterated, p->x->n_iterated, &in_value[3]);
  return vector_lists_layout(d->tile_bits - bits_count(value->reduced), lists, &value->layout);
}

llrt_status dot_memory_value(const dot_draft *x, int tensor, uint64_t mask, dot_access *out) {
  placer p = {.x = x, .tensor = tensor, .all = mask, .mask = mask};
  for (int i = 0; i < x->n_iterated; i++) p.mask &= ~x->iterated[i];
  const plan_kernel *kernel = x->d.kernel;
  const uint64_t parted = mask & x->cluster; /* each block of the cluster copies its own */
  const int warps = kernel->warp_bits - (parted || x->beside ? kernel->cluster_bits : 0);
  p.mask &= ~parted;
  bool host = kernel->target.simd_lanes;
  int word = draft_word_of(&x->d, kernel->tensor_bits[tensor]);
  draft_runs_of((draft *)&x->d, tensor, &p.runs);
  p.vector = vector_bits(&p);
  f2_basis_init(&p.span);
  if (host) {
    p.vector = bits_min(
        p.vector,
        word + kernel->lane_bits); /* what of a run is placed before others stand beside it */
    fill_runs(&p, 0, word, 0);
    fill(&p, 0, word);
    fill_runs(&p, 1, kernel->lane_bits, 0);
  } else {
    fill_runs(&p, 0, p.vector, 0);
    fill(&p, 0, bits_min(word, bits_count(mask)));
    fill_runs(&p, 1, kernel->lane_bits, p.vector);
  }
  fill(&p, 1, kernel->lane_bits);
  fill(&p, 2, warps);
  fill(&p, 0, LLRT_MAX_BITS);
  if (p.list[0].n - word > 8)
    return llrt_error(LLRT_UNSUPPORTED, "a thread would hold 2^%d elements", p.list[0].n);
  while (parted && p.list[2].n < warps) p.list[2].at[p.list[2].n++] = 0;
  for (int i = 0; parted && i < x->d.tile_bits; i++)
    if (x->d.order[0][i] & x->cluster) p.list[2].at[p.list[2].n++] = x->d.order[0][i] & parted;
  LLRT_TRY(make_value(&p, &out->value));
  if (host) {
    dot_value_access(x, tensor, &out->value, out);
    return LLRT_OK;
  }
  out->vector = p.vector;
  out->align = bits_min(p.vector, p.runs.align);
  return LLRT_OK;
}

static bool has(const uint64_t *list, int n, uint64_t x) {
  for (int i = 0; i < n; i++)
    if (list[i] == x) return true;
  return false;
}

#define PIECE_BITS 128
#define PIECE_LANES \
  2 /* log2 lanes whose accesses of 16 bytes follow each other: whole sectors, a row's next to \
       each other */

void dot_keep_warps(const plan_kernel *kernel, const plan_value *own, dot_access *access) {
  plan_value *value = &access->value;
  uint64_t *column = value->layout.column, made[LLRT_MAX_BITS], left[LLRT_MAX_BITS];
  const uint64_t *own_lanes = plan_value_columns(own, PLAN_LANE),
                 *own_warps = plan_value_columns(own, PLAN_WARP);
  int registers = plan_value_bits(value, PLAN_REGISTER), lanes = kernel->lane_bits,
      warps = kernel->warp_bits;
  int all = registers + lanes + warps, n = 0, at = 0;
  if (value->bits << access->vector != PIECE_BITS) return;
  for (int i = 0; i < all; i++) { /* in memory's order: lanes, warps, registers behind an access */
    uint64_t x = column[(registers + i) % all];
    bool inside = has(column, access->vector, x);
    if (!inside && !has(own_lanes, lanes, x) && !has(own_warps, warps, x)) left[n++] = x;
  }
  memcpy(made, column, (size_t)access->vector * sizeof *made);
  for (int i = 0; i < lanes; i++) {
    bool inside = has(column, access->vector, own_lanes[i]);
    if (inside && at == n) return;
    made[registers + i] = inside ? left[at++] : own_lanes[i];
  }
  memcpy(&made[registers + lanes], own_warps, (size_t)warps * sizeof *made);
  if (n - at != registers - access->vector) return; /* copies */
  memcpy(&made[access->vector], &left[at], (size_t)(n - at) * sizeof *made);
  for (int i = 0; i < PIECE_LANES; i++)
    if (!has(&made[registers], lanes, column[registers + i])) return;
  memcpy(column, made, (size_t)all * sizeof *column);
}

/* Whether the lanes that an access takes are the first ones. */
static bool has_first_lanes(const plan_value *value, const plan_address_map *map, int vector) {
  int positions[LLRT_MAX_BITS];
  bool first = plan_access_positions(value, map, PLAN_LANE, vector, positions);
  for (int j = 0; first && j < vector; j++) first = positions[j] == j;
  return first;
}

void dot_value_access(const dot_draft *x, int tensor, const plan_value *value, dot_access *out) {
  const plan_kernel *kernel = x->d.kernel;
  plan_value spread;
  plan_address_map map;
  draft_runs runs;
  int v = bits_log2(kernel->target.access_bytes * 8 / kernel->tensor_bits[tensor]);
  plan_dim dim = kernel->target.simd_lanes ? PLAN_LANE : PLAN_REGISTER;
  if (value != &out->value) out->value = *value;
  plan_value_spread(kernel, value, &spread);
  plan_address_of_tensor(kernel, tensor, &map);
  draft_runs_of((draft *)&x->d, tensor, &runs);
  const llrt_swizzle *swizzle = &kernel->swizzle[tensor];
  v = aligned(&kernel->target, kernel->tensor_bits[tensor], v, runs.align);
  if (swizzle->swizzle_len) v = bits_min(v, bits_min(swizzle->per_element, runs.align));
  int inside = dim == PLAN_LANE
                   ? value->word
                   : 0; /* what one lane holds: accesses are of so much, or of whole lanes */
  uint64_t moved = map.of_grid; /* by what no lane holds in one word */
  for (int i = inside; i < llrt_layout_in_bits(&spread.layout); i++)
    moved |= f2_apply(map.column, spread.layout.column[i]);
  for (int i = 0; i < LLRT_MAX_BITS; i++) map.column[i] >>= inside;
  v -= inside;
  while (v > 0 && map.of_grid >> inside & bits_mask(v)) v--;
  while (v > 0 && !(plan_access_fits(&spread, &map, dim, v) &&
                    (dim != PLAN_LANE || has_first_lanes(&spread, &map, v))))
    v--;
  bool together = runs.align > 0 && (moved & bits_mask(inside)) == 0;
  if (inside > 0) v = together ? bits_max(v, 0) + inside : 0;
  out->vector = v;
  out->align = bits_min(v, runs.align);
}

/* ---- steps ---- */

/* On the host bounds may part what a register moves. */
static bool moves_parts(const plan_kernel *kernel, const plan_value *value) {
  return kernel->target.simd_lanes && kernel->n_indices == 0 && value->word == 0;
}

void dot_access_steps(const dot_draft *x, plan_step step, const dot_access *access,
                      plan_step *whole, plan_step *masked) {
  plan_value spread;
  bool single = access->value.bits << access->vector < 8; /* a lone element of 4 bits */
  plan_value_spread(x->d.kernel, &access->value, &spread);
  int vector = draft_whole_vector(&x->d, &spread, step.tensor, access->vector);
  *whole = *masked = step;
  whole->vector = (uint8_t)access->vector;
  whole->misaligned = (uint8_t)(access->vector - access->align);
  masked->masked = true;
  masked->parted = vector < access->vector && moves_parts(x->d.kernel, &access->value);
  if (masked->parted) vector = access->vector;
  masked->vector = (uint8_t)vector;
  masked->misaligned = (uint8_t)bits_max(vector - access->align, 0);
  if (single) *whole = *masked;
}

static llrt_status access_step(dot_draft *x, plan_step step, const dot_access *access) {
  plan_kernel *kernel = x->d.kernel;
  plan_step masked;
  dot_access_steps(x, step, access, &step, &masked);
  if (kernel->n_bounds == 0 || step.masked) return draft_step(kernel, step);
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_IF_INTERIOR,
                                          .joins = step.kind == PLAN_LOAD,
                                          .body = 1,
                                          .otherwise = 1,
                                          .out = step.out}));
  LLRT_TRY(draft_step(kernel, step));
  return draft_step(kernel, masked);
}

llrt_status dot_load(dot_draft *x, int tensor, const dot_access *access, int *value) {
  LLRT_TRY(draft_value(x->d.kernel, &access->value, value));
  return access_step(
      x, (plan_step){.kind = PLAN_LOAD, .tensor = (uint8_t)tensor, .out = (uint8_t)*value}, access);
}

llrt_status dot_store(dot_draft *x, int tensor, const dot_access *access, int value) {
  return access_step(
      x, (plan_step){.kind = PLAN_STORE, .tensor = (uint8_t)tensor, .in = (uint8_t)value}, access);
}

llrt_status dot_map(dot_draft *x, plan_map map, int tensor, int *value) {
  draft *d = &x->d;
  plan_kernel *kernel = d->kernel;
  plan_value made = kernel->value[*value];
  plan_step step = {.kind = PLAN_MAP, .in = (uint8_t)*value};
  LLRT_TRY(draft_map(kernel, map, &step.map));
  if (tensor >= 0) {
    step.tensor = (uint8_t)tensor;
    step.masked = kernel->n_bounds > 0 && !x->inside;
  }
  if (map.from != map.to) made = draft_retyped(d, &made, llrt_dtype_bits((llrt_dtype)map.to));
  LLRT_TRY(draft_value(kernel, &made, value));
  step.out = (uint8_t)*value;
  return draft_step(kernel, step);
}

llrt_status dot_cast(dot_draft *x, llrt_dtype from, llrt_dtype to, int *value) {
  if (from == to) return LLRT_OK;
  return dot_map(x, (plan_map){.kind = PLAN_MAP_CAST, .from = (uint8_t)from, .to = (uint8_t)to}, -1,
                 value);
}
