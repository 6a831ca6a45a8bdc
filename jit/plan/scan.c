/* Scans inside a block, as steps: registers and lanes by PLAN_SCAN; where the order goes on through warps,
 * each warp's total goes through shared memory into registers of every warp, is scanned there, and each warp
 * picks what stands before its own. The tree is that of the order's bits: it does not depend on the numbers.
 *
 *   scan(x; minor bits, warp bits, major bits):
 *     s, t = scan(x; minor)            inside the warp
 *     p, u = exclusive scan(t; warps)  by shared memory
 *     q, v = exclusive scan(u; major)
 *     result (q . p) . s, total v                                                                     */
#include "jit/plan/draft.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/combine.h"

#include <string.h>

/* ---- values reduced along bits ---- */

uint64_t plan_value_bits_of(const plan_value *value, uint64_t tile_bits) {
  uint64_t out = 0;
  for (uint64_t bits = tile_bits & ~value->reduced; bits; bits &= bits - 1) {
    int bit = bits_lowest(bits);
    out |= 1ull << (bit - bits_count(value->reduced & bits_mask(bit)));
  }
  return out;
}

uint64_t plan_tile_bits_of(const plan_value *value, uint64_t coordinate) {
  uint64_t out = 0;
  for (int bit = 0; coordinate; bit++) {
    if (value->reduced >> bit & 1) continue;
    out |= (coordinate & 1) << bit;
    coordinate >>= 1;
  }
  return out;
}

uint64_t plan_tile_bits_in(const plan_kernel *kernel, const plan_value *value) {
  return bits_mask(kernel->space.in[0].bits) & ~value->reduced;
}

uint64_t plan_turn_bits_in(const plan_kernel *kernel, const plan_value *value) {
  uint64_t counted = 0;
  for (int i = 0; i < plan_value_bits(value, PLAN_ITERATION); i++)
    counted |= plan_tile_bits_of(value, plan_value_columns(value, PLAN_ITERATION)[i]);
  return plan_tile_bits_in(kernel, value) & ~counted;
}

void plan_value_spread(const plan_kernel *kernel, const plan_value *value, plan_value *out) {
  *out = *value;
  if (value->reduced == 0) return;
  out->reduced = 0;
  out->layout.out[0].bits = kernel->space.in[0].bits;
  for (int i = 0; i < llrt_layout_in_bits(&value->layout); i++)
    out->layout.column[i] = plan_tile_bits_of(value, value->layout.column[i]);
}

/* x without the bits of `gone`, the others moved together. */
static uint64_t without_bits(uint64_t x, uint64_t gone) {
  uint64_t out = 0;
  for (int i = 0, n = 0; i < LLRT_MAX_BITS; i++)
    if (!(gone >> i & 1)) out |= (x >> i & 1) << n++;
  return out;
}

void plan_value_reduce(const plan_value *value, uint64_t tile_bits, plan_value *out) {
  uint64_t gone = plan_value_bits_of(value, tile_bits);
  plan_value from = *value; /* out may be the same */
  const llrt_layout *layout = &from.layout;
  int at = 0;
  *out = from;
  out->reduced |= tile_bits;
  out->layout = llrt_layout_empty();
  llrt_layout_add_out(&out->layout, layout->out[0].name, layout->out[0].bits - bits_count(gone));
  for (int dim = 0; dim < layout->n_in; dim++) {
    uint64_t kept[LLRT_MAX_BITS];
    int n = 0;
    for (int i = 0; i < layout->in[dim].bits; i++) {
      uint64_t column = layout->column[at++];
      if (dim == PLAN_REGISTER && column & gone) continue;
      kept[n++] = column & gone ? 0 : without_bits(column, gone);
    }
    int first = llrt_layout_in_bits(&out->layout);
    llrt_layout_add_in(&out->layout, layout->in[dim].name, n);
    memcpy(&out->layout.column[first], kept, (size_t)n * sizeof *kept);
  }
}

uint64_t plan_reduced_register(const plan_value *value, const plan_value *reduced, uint64_t index) {
  uint64_t gone = plan_value_bits_of(value, reduced->reduced), dropped = 0;
  for (int i = 0; i < plan_value_bits(value, PLAN_REGISTER); i++)
    if (plan_value_columns(value, PLAN_REGISTER)[i] & gone) dropped |= 1ull << i;
  return without_bits(index, dropped);
}

/* ---- where bits are ---- */

/* The column of `bit` among n: -1 where there is none, -2 where another bit shares a column with it. */
static int find_column(const uint64_t *columns, int n, uint64_t bit) {
  int found = -1;
  for (int i = 0; i < n; i++) {
    if (!(columns[i] & bit)) continue;
    if (columns[i] != bit || found != -1) return -2;
    found = i;
  }
  return found;
}

/* In which in-dim a tile bit of the kernel is, and where; false where it is no column of its own. */
static bool place_of(const plan_value *value, int tile_bit, plan_dim *dim, int *at) {
  uint64_t bit = plan_value_bits_of(value, 1ull << tile_bit);
  int places = 0;
  for (int i = PLAN_REGISTER; i <= PLAN_WARP; i++) {
    int found = find_column(plan_value_columns(value, (plan_dim)i), plan_value_bits(value, (plan_dim)i),
                            bit);
    if (found == -2) return false;
    if (found == -1) continue;
    places++;
    *dim = (plan_dim)i;
    *at = found;
  }
  return places == 1;
}

bool plan_scan_bits(const plan_kernel *kernel, const plan_step *step, plan_scan_bit *bits) {
  const plan_order *order = &kernel->order[step->order];
  for (int i = 0; i < order->n; i++) {
    plan_dim dim;
    if (!place_of(&kernel->value[step->in], order->bit[i], &dim, &bits[i].at)) return false;
    if (dim == PLAN_WARP) return false;
    bits[i].lane = dim == PLAN_LANE;
  }
  return true;
}

/* ---- steps ---- */

static uint64_t order_mask(const plan_order *order) {
  uint64_t mask = 0;
  for (int i = 0; i < order->n; i++) mask |= 1ull << order->bit[i];
  return mask;
}

static plan_order part_of(const plan_order *order, int from, int to) {
  plan_order out = {.n = (uint8_t)(to - from)};
  memcpy(out.bit, &order->bit[from], (size_t)(to - from));
  return out;
}

/* PLAN_SCAN of value `in` inside its warps. */
static llrt_status warp_scan(draft *d, int in, const draft_scan_spec *spec, const plan_order *order,
                             bool exclusive, int *out, int *total) {
  plan_kernel *kernel = d->kernel;
  plan_value reduced, value = kernel->value[in];
  if (kernel->n_orders == PLAN_MAX_ORDERS)
    return llrt_error(LLRT_INTERNAL, "a kernel of more than %d orders", PLAN_MAX_ORDERS);
  kernel->order[kernel->n_orders] = *order;
  plan_value_reduce(&value, order_mask(order), &reduced);
  LLRT_TRY(draft_value(kernel, &value, out));
  LLRT_TRY(draft_value(kernel, &reduced, total));
  return draft_step(kernel, (plan_step){.kind = PLAN_SCAN, .in = (uint8_t)in, .out = (uint8_t)*out,
                                        .total = (uint8_t)*total, .combiner = spec->combiner,
                                        .type = spec->type, .order = (uint8_t)kernel->n_orders++,
                                        .exclusive = exclusive, .reverse = spec->reverse});
}

/* Appends in combined with `second`; *out is laid out as the one that is reduced less. */
static llrt_status prefix_step(draft *d, const draft_scan_spec *spec, int in, int second, int *out) {
  plan_kernel *kernel = d->kernel;
  uint64_t a = kernel->value[in].reduced, b = kernel->value[second].reduced;
  plan_value value = kernel->value[(a | b) == a ? second : in];
  LLRT_TRY(draft_value(kernel, &value, out));
  return draft_step(kernel, (plan_step){.kind = PLAN_PREFIX, .in = (uint8_t)in, .out = (uint8_t)*out,
                                        .second = (uint8_t)second, .combiner = spec->combiner,
                                        .type = spec->type});
}

llrt_status draft_join_before(draft *d, const draft_scan_spec *spec, int before, int at, int *out) {
  return spec->reverse ? prefix_step(d, spec, at, before, out)
                       : prefix_step(d, spec, before, at, out);
}

/* The value with its warps of `bits` as the lowest registers: copies in all these warps. */
static llrt_status gathered_value(const plan_value *value, const plan_order *bits, plan_value *out) {
  const llrt_layout *from = &value->layout;
  int registers = from->in[PLAN_REGISTER].bits, all = llrt_layout_in_bits(from);
  *out = *value;
  out->layout = llrt_layout_empty();
  LLRT_TRY(llrt_layout_add_out(&out->layout, from->out[0].name, from->out[0].bits));
  LLRT_TRY(llrt_layout_add_in(&out->layout, from->in[PLAN_REGISTER].name, registers + bits->n));
  for (int dim = PLAN_LANE; dim < from->n_in; dim++)
    LLRT_TRY(llrt_layout_add_in(&out->layout, from->in[dim].name, from->in[dim].bits));
  for (int i = 0; i < bits->n; i++)
    out->layout.column[i] = plan_value_bits_of(value, 1ull << bits->bit[i]);
  memcpy(&out->layout.column[bits->n], from->column, (size_t)all * sizeof *from->column);
  uint64_t *warps = &out->layout.column[llrt_layout_in_shift(&out->layout, PLAN_WARP)];
  for (int i = 0; i < from->in[PLAN_WARP].bits; i++)
    if (warps[i] & plan_value_bits_of(value, order_mask(bits))) warps[i] = 0;
  return LLRT_OK;
}

/* Exclusive scan of `in` along bits that are warps. */
static llrt_status warps_scan(draft *d, int in, const draft_scan_spec *spec, const plan_order *order,
                              int *out, int *total) {
  plan_value gathered, own = d->kernel->value[in];
  int at;
  LLRT_TRY(gathered_value(&own, order, &gathered));
  LLRT_TRY(draft_exchange(d, in, &gathered, &at));
  LLRT_TRY(warp_scan(d, at, spec, order, true, &at, total));
  LLRT_TRY(draft_value(d->kernel, &own, out));
  return draft_step(d->kernel,
                    (plan_step){.kind = PLAN_PICK, .in = (uint8_t)at, .out = (uint8_t)*out});
}

/* How many bits of the order from `from` on are warps (or are none). */
static int run_length(const plan_value *value, const plan_order *order, int from, bool warps) {
  plan_dim dim;
  int i = from, at;
  while (i < order->n && place_of(value, order->bit[i], &dim, &at) && (dim == PLAN_WARP) == warps) i++;
  return i - from;
}

/* See the head of this file. */
static llrt_status scan_all(draft *d, int in, const draft_scan_spec *spec, const plan_order *order,
                            bool exclusive, int *out, int *total) {
  plan_value value = d->kernel->value[in];
  int minor = run_length(&value, order, 0, false), scanned = -1, before;
  int warps = run_length(&value, order, minor, true), end = minor + warps;
  plan_order part = part_of(order, 0, minor);
  *total = in;
  if (minor > 0 || end == 0) LLRT_TRY(warp_scan(d, in, spec, &part, exclusive, &scanned, total));
  *out = scanned;
  if (minor == order->n) return LLRT_OK;
  part = part_of(order, minor, end);
  LLRT_TRY(warps_scan(d, *total, spec, &part, &before, total));
  if (end < order->n) {
    int major;
    part = part_of(order, end, order->n);
    LLRT_TRY(scan_all(d, *total, spec, &part, true, &major, total));
    LLRT_TRY(draft_join_before(d, spec, major, before, &before));
  }
  *out = before;
  if (scanned < 0 && exclusive) return LLRT_OK;
  return draft_join_before(d, spec, before, scanned < 0 ? in : scanned, out);
}

/* ---- layouts with sums of bits ---- */

/* Whether each bit of the order is one column. */
static bool has_own_columns(const plan_value *value, const plan_order *order) {
  plan_dim dim;
  int at;
  for (int i = 0; i < order->n; i++)
    if (!place_of(value, order->bit[i], &dim, &at)) return false;
  return true;
}

/* A layout of the same shape with columns that are unit vectors: register bits and lanes that hold elements
 * take the tile's bits from below, then warps; copies stay where they are. */
static void unit_value(const plan_value *value, plan_value *out) {
  int next = 0;
  *out = *value;
  for (int i = 0; i < llrt_layout_in_bits(&value->layout); i++)
    out->layout.column[i] = value->layout.column[i] ? 1ull << next++ : 0;
}

void draft_scan_layout(const plan_value *value, const plan_order *order, plan_value *out) {
  *out = *value;
  if (!has_own_columns(value, order)) unit_value(value, out);
}

llrt_status draft_scan(draft *d, int in, const draft_scan_spec *spec, int *out, int *total) {
  plan_value given = d->kernel->value[in], units;
  int at = in, all;
  bool direct = has_own_columns(&given, &spec->order);
  if (!direct) {
    unit_value(&given, &units);
    LLRT_TRY(draft_exchange(d, in, &units, &at));
  }
  LLRT_TRY(scan_all(d, at, spec, &spec->order, spec->exclusive, out, &all));
  if (spec->carry >= 0) LLRT_TRY(draft_join_before(d, spec, spec->carry, *out, out));
  if (!direct) LLRT_TRY(draft_exchange(d, *out, &given, out));
  if (total) *total = all;
  return LLRT_OK;
}
