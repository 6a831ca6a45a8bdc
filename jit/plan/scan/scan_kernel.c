/* The kernels of a scan, which walk the axis with a carry:
 *
 *   fill, walk { load, cast, scan with the carry, cast, store }
 *
 * A block that looks back at others (scan_lookback.c) walks one turn. */
#include "jit/plan/scan/plan_scan.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/block/block.h"
#include "jit/plan/draft/draft.h"
#include "jit/plan/exchange/exchange.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/types/combine.h"

static llrt_status begin_walk(draft *d) {
  d->kernel->walk.down = d->desc->combine.reverse;
  return draft_walk_turns(d, d->desc->combine.axes, 1);
}

/* What stands before the first position. */
static llrt_status fill_first(draft *d, const plan_value *laid_out, int *first) {
  LLRT_TRY(draft_value(d->kernel, laid_out, first));
  return draft_step(d->kernel, (plan_step){.kind = PLAN_FILL,
                                           .out = (uint8_t)*first,
                                           .combiner = (uint8_t)d->desc->combine.op,
                                           .type = (uint8_t)scan_accumulator(d->desc),
                                           .element = (uint8_t)d->desc->tensors[0].dtype,
                                           .exclusive = d->desc->combine.exclusive});
}

/* The carry before the first turn, and the walk; *walk is its step. */
static llrt_status open_walk(draft *d, const plan_value *laid_out, int *walk, int *carry) {
  plan_kernel *kernel = d->kernel;
  int first;
  LLRT_TRY(fill_first(d, laid_out, &first));
  LLRT_TRY(draft_value(kernel, laid_out, carry));
  return draft_open(
      kernel, (plan_step){.kind = PLAN_WALK, .in = (uint8_t)first, .out = (uint8_t)*carry}, walk);
}

static void close_walk(draft *d, int walk) { draft_close(d->kernel, walk); }

/* ---- element by element ---- */

static llrt_status join(draft *d, int carry, int x, int *out) {
  const llrt_op_combine *combine = &d->desc->combine;
  plan_value value = d->kernel->value[carry];
  LLRT_TRY(draft_value(d->kernel, &value, out));
  return draft_step(d->kernel, (plan_step){.kind = PLAN_JOIN,
                                           .combiner = (uint8_t)combine->op,
                                           .type = (uint8_t)scan_accumulator(d->desc),
                                           .in = (uint8_t)(combine->reverse ? x : carry),
                                           .with = (uint8_t)(combine->reverse ? carry : x),
                                           .out = (uint8_t)*out});
}

/* The last step makes the carry; the code generator sees that an inclusive scan has made it before.
 */
static llrt_status element_steps(draft *d, const plan_value *element, int carry) {
  plan_kernel *kernel = d->kernel;
  llrt_dtype type = scan_accumulator(d->desc);
  int x, made = carry, next;
  LLRT_TRY(draft_value(kernel, element, &x));
  LLRT_TRY(draft_step(
      kernel, (plan_step){.kind = PLAN_LOAD, .tensor = 0, .out = (uint8_t)x, .masked = true}));
  LLRT_TRY(draft_cast(d, d->desc->tensors[0].dtype, type, &x));
  if (!d->desc->combine.exclusive) LLRT_TRY(join(d, carry, x, &made));
  LLRT_TRY(draft_cast(d, type, d->desc->tensors[1].dtype, &made));
  LLRT_TRY(draft_step(
      kernel, (plan_step){.kind = PLAN_STORE, .tensor = 1, .in = (uint8_t)made, .masked = true}));
  return join(d, carry, x, &next);
}

llrt_status scan_plan_flat(const op_description *desc, const plan_target *target,
                           plan_kernel *kernel) {
  draft d;
  plan_value element, carried;
  int iterations = 0, walk, carry;
  draft_begin(&d, desc, target, NULL, kernel);
  kernel->flat = true;
  kernel->warp_bits = target->warp_bits;
  LLRT_TRY(draft_digits(&d));
  LLRT_TRY(draft_flat_digits(&d, PLAN_DESTINATION));
  LLRT_TRY(begin_walk(&d));
  kernel->fill = combine_identity((int)desc->combine.op, desc->tensors[0].dtype);
  int tile_bits = draft_flat_tile(&d);
  kernel->launch.block_elements = 1 << tile_bits;
  LLRT_TRY(draft_flat_value(&d, tile_bits, &element, &iterations));
  carried = draft_retyped(&d, &element, llrt_dtype_bits(scan_accumulator(desc)));
  int loop = kernel->n_steps;
  if (iterations > 0)
    LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_LOOP, .iterations = (uint8_t)iterations}));
  LLRT_TRY(open_walk(&d, &carried, &walk, &carry));
  LLRT_TRY(element_steps(&d, &element, carry));
  close_walk(&d, walk);
  if (iterations > 0) draft_close(kernel, loop);
  draft_finish(kernel);
  return LLRT_OK;
}

/* ---- tile by tile ---- */

/* log2 of an access's size over what divides its address. */
static uint8_t misaligned(const draft *d, const plan_step *step) {
  return (uint8_t)bits_max(step->vector - d->align[step->tensor], 0);
}

/* The access of a turn at an edge, as wide as masks allow. */
static plan_step masked_step(const draft *d, plan_step step, int value) {
  step.masked = true;
  step.vector = (uint8_t)draft_whole_vector(d, &d->kernel->value[value], step.tensor, step.vector);
  step.misaligned = misaligned(d, &step);
  return step;
}

/* One access, in turns at an edge masked. */
static llrt_status edge_step(draft *d, plan_step step, int value) {
  plan_kernel *kernel = d->kernel;
  bool edge = kernel->n_bounds > 0;
  if (edge)
    LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_IF_INTERIOR,
                                            .joins = step.kind == PLAN_LOAD,
                                            .body = 1,
                                            .otherwise = 1,
                                            .out = step.out}));
  step.misaligned = misaligned(d, &step);
  LLRT_TRY(draft_step(kernel, step));
  return edge ? draft_step(kernel, masked_step(d, step, value)) : LLRT_OK;
}

/* The elements of a turn, laid out as they are scanned. */
static llrt_status load_turn(draft *d, const draft_values *values, const plan_value *laid_out,
                             const scan_queue *queue, int *x) {
  LLRT_TRY(draft_value(d->kernel, &values->load, x));
  plan_step load = {
      .kind = PLAN_LOAD, .tensor = 0, .out = (uint8_t)*x, .vector = (uint8_t)d->vector[0]};
  if (queue->used) LLRT_TRY(scan_take_copied(d, queue, masked_step(d, load, *x)));
  else LLRT_TRY(edge_step(d, load, *x));
  LLRT_TRY(draft_cast(d, d->desc->tensors[0].dtype, scan_accumulator(d->desc), x));
  return draft_exchange(d, *x, laid_out, x);
}

/* The total of the tile `turns` tickets later, published. Combiners commute: of a thread's elements
 * first, so that a lane has one number to shuffle. */
static llrt_status total_ahead(draft *d, const draft_values *values, const plan_value *laid_out,
                               const scan_queue *queue, const draft_scan_spec *spec, int turns) {
  plan_kernel *kernel = d->kernel;
  draft_scan_spec joined = *spec;
  int at, x, ignored, total;
  joined.carry = -1;
  joined.exclusive = false;
  scan_total_order(laid_out, &spec->order, &joined.order);
  LLRT_TRY(scan_open_ahead(d, turns, &at));
  LLRT_TRY(load_turn(d, values, laid_out, queue, &x));
  LLRT_TRY(draft_scan(d, x, &joined, &ignored, &total));
  LLRT_TRY(scan_publish(d, total, 0));
  draft_close(kernel, at);
  return LLRT_OK;
}

/* The walk of a block that draws tickets: nothing is carried. */
static llrt_status open_queue(draft *d, const draft_values *values, const plan_value *scanned,
                              const plan_value *laid_out, const scan_queue *queue,
                              const draft_scan_spec *spec, int *walk, int *carry) {
  LLRT_TRY(fill_first(d, laid_out, carry));
  LLRT_TRY(scan_copy_ahead(d, queue, 0));
  LLRT_TRY(scan_await_copies(d));
  LLRT_TRY(total_ahead(d, values, scanned, queue, spec, 0));
  return draft_open(d->kernel, (plan_step){.kind = PLAN_WALK, .bare = true}, walk);
}

/* Results, cast before they move where that makes them narrower. */
static llrt_status store_turn(draft *d, const draft_values *values, int made) {
  llrt_dtype type = scan_accumulator(d->desc), to = d->desc->tensors[1].dtype;
  bool narrows = llrt_dtype_bits(to) <= llrt_dtype_bits(type);
  plan_value target = draft_retyped(d, &values->store, llrt_dtype_bits(narrows ? to : type));
  if (narrows) LLRT_TRY(draft_cast(d, type, to, &made));
  LLRT_TRY(draft_exchange(d, made, &target, &made));
  if (!narrows) LLRT_TRY(draft_cast(d, type, to, &made));
  plan_step store = {
      .kind = PLAN_STORE, .tensor = 1, .in = (uint8_t)made, .vector = (uint8_t)d->vector[1]};
  return edge_step(d, store, made);
}

/* The last step makes the carry, if there is one. Where lanes store by themselves, those that do
 * not would run ahead to the next turn's shuffles: a barrier keeps them together. */
static llrt_status turn_steps(draft *d, const draft_values *values, const plan_value *laid_out,
                              const scan_queue *queue, draft_scan_spec *spec) {
  int x, made, total, carry = spec->carry, before, peeked[PLAN_LOOKBACK_LEVELS];
  if (d->splits) spec->carry = -1;
  LLRT_TRY(load_turn(d, values, laid_out, queue, &x));
  if (queue->used) {
    LLRT_TRY(draft_step(d->kernel, (plan_step){.kind = PLAN_BARRIER}));
    LLRT_TRY(scan_copy_ahead(d, queue, 1));
  }
  LLRT_TRY(draft_scan(d, x, spec, &made, &total));
  if (d->splits) {
    if (!queue->used) LLRT_TRY(scan_publish(d, total, 0));
    if (queue->used) {
      LLRT_TRY(scan_await_copies(d));
      LLRT_TRY(total_ahead(d, values, laid_out, queue, spec, 1));
    }
    LLRT_TRY(scan_look(d, total, peeked));
    LLRT_TRY(scan_look_back(d, spec, total, peeked, &before));
    LLRT_TRY(draft_join_before(d, spec, carry, before, &before));
    LLRT_TRY(draft_join_before(d, spec, before, made, &made));
  }
  LLRT_TRY(store_turn(d, values, made));
  if ((d->kernel->n_bounds > 0 || queue->used) && !d->kernel->target.simd_lanes)
    LLRT_TRY(draft_step(d->kernel, (plan_step){.kind = PLAN_BARRIER}));
  return queue->used ? LLRT_OK : draft_join_before(d, spec, carry, total, &carry);
}

llrt_status scan_plan_tiled(const op_description *desc, const plan_target *target,
                            const plan_options *options, bool looks_back, plan_kernel *kernel,
                            bool *tiled) {
  draft d;
  draft_values values;
  plan_value laid_out, carried, wide;
  draft_scan_spec spec = {.combiner = (uint8_t)desc->combine.op,
                          .type = (uint8_t)scan_accumulator(desc),
                          .exclusive = desc->combine.exclusive,
                          .reverse = desc->combine.reverse};
  scan_queue queue = {0};
  uint64_t along = 0;
  int walk;
  draft_begin(&d, desc, target, options, kernel);
  d.splits = looks_back;
  LLRT_TRY(draft_digits(&d));
  *tiled = !d.divided && scan_tile(&d, &spec.order);
  if (!*tiled) return LLRT_OK;
  LLRT_TRY(draft_space(&d));
  LLRT_TRY(draft_assign(&d, &values));
  LLRT_TRY(begin_walk(&d));
  kernel->fill = combine_identity((int)desc->combine.op, desc->tensors[0].dtype);
  wide = draft_retyped(&d, &values.load, llrt_dtype_bits(scan_accumulator(desc)));
  draft_scan_layout(&wide, &spec.order, &laid_out);
  for (int i = 0; i < spec.order.n; i++) along |= 1ull << spec.order.bit[i];
  plan_value_reduce(&laid_out, along, &carried);
  if (looks_back) {
    LLRT_TRY(scan_begin_lookback(&d, &carried));
    LLRT_TRY(scan_begin_queue(&d, &values, &queue));
  }
  if (queue.used)
    LLRT_TRY(open_queue(&d, &values, &laid_out, &carried, &queue, &spec, &walk, &spec.carry));
  else LLRT_TRY(open_walk(&d, &carried, &walk, &spec.carry));
  LLRT_TRY(turn_steps(&d, &values, &laid_out, &queue, &spec));
  close_walk(&d, walk);
  scan_end_queue(&d, &queue);
  draft_finish(kernel);
  return LLRT_OK;
}
