/* Scans inside a block, as steps: registers and lanes by PLAN_SCAN; where the order goes on through
 * warps, each warp's total goes through shared memory into registers of every warp, is scanned
 * there, and each warp picks what stands before its own. The tree is that of the order's bits: it
 * does not depend on the numbers.
 *
 *   scan(x; minor bits, warp bits, major bits):
 *     s, t = scan(x; minor)            inside the warp
 *     p, u = exclusive scan(t; warps)  by shared memory
 *     q, v = exclusive scan(u; major)
 *     result (q . p) . s, total v */
#include "jit/plan/draft/draft.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/block/block.h"
#include "jit/plan/exchange/exchange.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/types/combine.h"

#include <string.h>

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
    return llrt_error(LLRT_UNSUPPORTED, "a kernel of more than %d orders", PLAN_MAX_ORDERS);
  kernel->order[kernel->n_orders] = *order;
  plan_value_reduce(&value, order_mask(order), &reduced);
  LLRT_TRY(draft_value(kernel, &value, out));
  LLRT_TRY(draft_value(kernel, &reduced, total));
  return draft_step(kernel, (plan_step){.kind = PLAN_SCAN,
                                        .in = (uint8_t)in,
                                        .out = (uint8_t)*out,
                                        .total = (uint8_t)*total,
                                        .combiner = spec->combiner,
                                        .type = spec->type,
                                        .order = (uint8_t)kernel->n_orders++,
                                        .exclusive = exclusive,
                                        .reverse = spec->reverse});
}

/* Appends in combined with `second`; *out is laid out as the one that is reduced less. */
static llrt_status prefix_step(draft *d, const draft_scan_spec *spec, int in, int second,
                               int *out) {
  plan_kernel *kernel = d->kernel;
  uint64_t a = kernel->value[in].reduced, b = kernel->value[second].reduced;
  plan_value value = kernel->value[(a | b) == a ? second : in];
  LLRT_TRY(draft_value(kernel, &value, out));
  return draft_step(kernel, (plan_step){.kind = PLAN_PREFIX,
                                        .in = (uint8_t)in,
                                        .out = (uint8_t)*out,
                                        .second = (uint8_t)second,
                                        .combiner = spec->combiner,
                                        .type = spec->type});
}

llrt_status draft_join_before(draft *d, const draft_scan_spec *spec, int before, int at, int *out) {
  return spec->reverse ? prefix_step(d, spec, at, before, out)
                       : prefix_step(d, spec, before, at, out);
}

/* The value with its warps of `bits` as the lowest registers: copies in all these warps. */
static llrt_status gathered_value(const plan_value *value, const plan_order *bits,
                                  plan_value *out) {
  const llrt_layout *from = &value->layout;
  int registers = from->in[PLAN_REGISTER].bits, all = llrt_layout_in_bits(from);
  if (registers + bits->n - value->word > PLAN_VALUE_BITS)
    return llrt_error(LLRT_UNSUPPORTED, "a thread would hold 2^%d elements", registers + bits->n);
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
static llrt_status warps_scan(draft *d, int in, const draft_scan_spec *spec,
                              const plan_order *order, int *out, int *total) {
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
  while (i < order->n && plan_place_of(value, order->bit[i], &dim, &at) &&
         (dim == PLAN_WARP) == warps)
    i++;
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
    if (!plan_place_of(value, order->bit[i], &dim, &at)) return false;
  return true;
}

/* A layout of the same shape with columns that are unit vectors: register bits and lanes that hold
 * elements take the tile's bits from below, then warps; copies stay where they are. */
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
