/* In-block gather: an element of every place along an axis, by one of two ways. Where every element
 * lies in the warp that wants it, shuffles (none where it is in the thread): one for each word that
 * it may lie in, so their number grows with the square of the registers along the axis. Else, or
 * where it is cheaper, through shared memory, which holds the whole tile: any thread then reads any
 * element. */
#include "jit/plan/cost/cycles.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/block/block.h"
#include "jit/plan/cost/cost.h"
#include "jit/plan/draft/draft.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/block_gather.h"
#include "jit/plan/facts/buffer_use.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"

#include <string.h>

/* ---- the buffer ---- */

/* In which order a buffer's offset takes the vectors of the tile; those that repeat others are left
 * out. */
typedef enum buffer_order {
  ORDER_VECTORS, /* as the source's threads hold them: up to 16 bytes of registers, lanes, the rest
                  */
  ORDER_LANES,   /* the word, lanes, the rest */
  ORDER_READERS, /* the word, what the readers' lanes differ by beside the axis: then banks do too
                  */
  N_ORDERS
} buffer_order;

typedef struct offsets {
  f2_basis span;
  int n;
  uint64_t column[LLRT_MAX_BITS];
} offsets;

static void add(offsets *list, uint64_t x) {
  if (f2_basis_insert(&list->span, x)) list->column[list->n++] = x;
}

static void add_dim(offsets *list, const plan_value *value, plan_dim dim, int from, int to,
                    uint64_t kept) {
  for (int i = from; i < bits_min(to, plan_value_bits(value, dim)); i++)
    add(list, plan_value_columns(value, dim)[i] & kept);
}

/* What the readers' lanes differ by beside the axis, without the source's words' part in it: then
 * no other place of the source has a part in the word's offsets, and words are stored whole. */
static void add_readers(offsets *list, const plan_value *source, const plan_value *result,
                        uint64_t kept) {
  const uint64_t *column = source->layout.column;
  for (int i = 0; i < plan_value_bits(result, PLAN_LANE); i++) {
    uint64_t x = plan_value_columns(result, PLAN_LANE)[i] & kept, places;
    if (f2_solve(column, llrt_layout_in_bits(&source->layout), &x, 1, &places))
      add(list, x ^ f2_apply(column, places & bits_mask(source->word)));
  }
}

/* *vector: log2 elements of an access by which the source's threads store. */
static void order_offsets(const plan_kernel *kernel, const plan_step *gather, buffer_order order,
                          offsets *list, int *vector) {
  const plan_value *source = &kernel->value[gather->in], *result = &kernel->value[gather->out];
  uint64_t kept = ~(bits_mask(gather->axis_bits) << gather->axis), all = ~0ull;
  int widest = bits_log2(kernel->target.access_bytes * 8 / source->bits);
  memset(list, 0, sizeof *list);
  f2_basis_init(&list->span);
  int first = order == ORDER_VECTORS ? widest : source->word;
  add_dim(list, source, PLAN_REGISTER, 0, first, all);
  *vector = list->n;
  if (order == ORDER_READERS) add_readers(list, source, result, kept);
  add_dim(list, source, PLAN_LANE, 0, LLRT_MAX_BITS, all);
  if (kernel->target.simd_lanes) *vector = bits_min(list->n, widest + source->word);
  add_dim(list, source, PLAN_REGISTER, 0, LLRT_MAX_BITS, all);
  add_dim(list, source, PLAN_WARP, 0, LLRT_MAX_BITS, all);
}

static llrt_status make_buffer(const offsets *list, int bits, plan_buffer *buffer) {
  *buffer = (plan_buffer){.bits = (uint8_t)bits, .bytes = plan_access_bytes(bits, list->n)};
  buffer->layout = llrt_layout_empty();
  LLRT_TRY(llrt_layout_add_out(&buffer->layout, "tile", list->n));
  LLRT_TRY(llrt_layout_add_in(&buffer->layout, "offset", list->n));
  LLRT_TRY(llrt_layout_add_in(&buffer->layout, "repetition", 0));
  LLRT_TRY(llrt_layout_add_in(&buffer->layout, "block", 0));
  memcpy(buffer->layout.column, list->column, (size_t)list->n * sizeof *list->column);
  return LLRT_OK;
}

/* ---- the ways ---- */

static llrt_status lanes_way(draft *d, const plan_step *gather, bool *found) {
  plan_gather_lanes lanes;
  *found = !d->kernel->target.simd_lanes && plan_gather_lanes_of(d->kernel, gather, &lanes);
  return *found ? draft_step(d->kernel, *gather) : LLRT_OK;
}

static llrt_status staged_way(draft *d, const plan_step *gather, buffer_order order, bool *found) {
  plan_kernel *kernel = d->kernel;
  plan_step store = {.kind = PLAN_SHARED_STORE, .in = gather->in}, load = *gather;
  offsets list;
  int vector;
  order_offsets(kernel, gather, order, &list, &vector);
  *found = plan_access_bytes(kernel->value[gather->in].bits, list.n) <=
           kernel->target.facts.shared_bytes;
  if (!*found) return LLRT_OK;
  if (kernel->n_buffers == PLAN_MAX_BUFFERS)
    return llrt_error(LLRT_INTERNAL, "a kernel of more than %d buffers", PLAN_MAX_BUFFERS);
  store.buffer = load.buffer = (uint8_t)kernel->n_buffers;
  store.vector = (uint8_t)vector;
  load.staged = true;
  LLRT_TRY(
      make_buffer(&list, kernel->value[gather->in].bits, &kernel->buffer[kernel->n_buffers++]));
  if (plan_shared_in_use(kernel)) LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_BARRIER}));
  LLRT_TRY(draft_step(kernel, store));
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_BARRIER}));
  return draft_step(kernel, load);
}

/* Way 0: lanes; 1 + order: shared memory. */
static llrt_status take_way(draft *d, const plan_step *gather, int way, bool *found) {
  if (way == 0) return lanes_way(d, gather, found);
  return staged_way(d, gather, (buffer_order)(way - 1), found);
}

/* The clocks of a way, which is taken back; negative: there is none. */
static llrt_status try_way(draft *d, const plan_step *gather, int way, double *clocks) {
  plan_kernel *kernel = d->kernel;
  int steps = kernel->n_steps, buffers = kernel->n_buffers;
  plan_cost cost = {0};
  plan_cycles cycles;
  bool found = false;
  *clocks = -1;
  LLRT_TRY(take_way(d, gather, way, &found));
  if (found) {
    plan_cost_steps(kernel, steps, kernel->n_steps, &cost);
    plan_cycles_of(&kernel->target, &cost, 1 << kernel->warp_bits, &cycles);
    *clocks = cycles.total;
  }
  kernel->n_steps = steps;
  kernel->n_buffers = buffers;
  return LLRT_OK;
}

/* Whether the option allows the way. */
static bool is_wanted(const draft *d, int way) {
  plan_exchange wanted = d->options ? d->options->exchange : PLAN_EXCHANGE_AUTO;
  return wanted == PLAN_EXCHANGE_AUTO || (wanted == PLAN_EXCHANGE_SHUFFLE) == (way == 0);
}

llrt_status draft_gather(draft *d, int in, int coordinates, int axis, int axis_bits, int *out) {
  plan_kernel *kernel = d->kernel;
  plan_value result = draft_retyped(d, &kernel->value[coordinates], kernel->value[in].bits);
  plan_step gather = {.kind = PLAN_GATHER,
                      .in = (uint8_t)in,
                      .second = (uint8_t)coordinates,
                      .axis = (uint8_t)axis,
                      .axis_bits = (uint8_t)axis_bits};
  double least = -1;
  int best = -1;
  if (kernel->cluster_bits > 0)
    return llrt_error(LLRT_UNSUPPORTED,
                      "a gather whose elements lie in other blocks of the cluster");
  LLRT_TRY(draft_value(kernel, &result, out));
  gather.out = (uint8_t)*out;
  for (int way = 0; way <= N_ORDERS; way++) {
    double clocks;
    if (!is_wanted(d, way)) continue;
    LLRT_TRY(try_way(d, &gather, way, &clocks));
    if (clocks < 0 || (best >= 0 && clocks >= least)) continue;
    best = way;
    least = clocks;
  }
  if (best < 0 && !is_wanted(d, 1))
    return llrt_error(LLRT_UNSUPPORTED,
                      kernel->target.simd_lanes
                          ? "the host has no shuffles by numbers known at run time"
                          : "elements come from other warps, or from too many registers, "
                            "for shuffles");
  if (best < 0) return llrt_error(LLRT_UNSUPPORTED, "the gather's tile does not fit shared memory");
  bool found;
  return take_way(d, &gather, best, &found);
}
