/* Blocks of a scan that stay: each draws tickets until no tile is left. While it scans one tile,
 * the next is on its way to shared memory, and its total is made from there and published before
 * the block waits for what stands before the tile in front of it,
 *
 *   copy the first; publish its total
 *   for every ticket {
 *     tile = what was copied; copy the next; scan
 *     publish the total of the next; look back; store
 *   }
 *
 * so that nobody waits for a block that waits itself. A thread reads what it copied. Tiles at an
 * edge are loaded when it is their turn, by the masks of all scans. */
#include "jit/plan/scan/plan_scan.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/draft/draft.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/value.h"

/* Shared memory that a block has beside what it asks for (CUDA C Programming Guide, compute
 * capabilities 8.0 and up). */
#define RESERVED_BYTES 1024
/* Where the tile begins: whole lines of 128 bytes, as copies of 16 bytes want them. */
#define ALIGNMENT 128
/* What lies below: totals of warps and the ticket, up to the next line. */
#define OTHER_BYTES 256

/* The value in shared memory: accesses, then lanes, then what else there is, each in its order. */
static llrt_status tile_buffer(const plan_value *value, int vector, plan_buffer *buffer) {
  uint64_t column[LLRT_MAX_BITS];
  const plan_dim order[] = {PLAN_LANE, PLAN_REGISTER, PLAN_WARP};
  int n = 0;
  for (int i = 0; i < vector; i++) column[n++] = plan_value_columns(value, PLAN_REGISTER)[i];
  for (int k = 0; k < 3; k++)
    for (int i = order[k] == PLAN_REGISTER ? vector : 0; i < plan_value_bits(value, order[k]); i++)
      if (plan_value_columns(value, order[k])[i])
        column[n++] = plan_value_columns(value, order[k])[i];
  *buffer = (plan_buffer){.bits = value->bits, .bytes = (int32_t)(((int64_t)value->bits << n) / 8)};
  buffer->layout = llrt_layout_empty();
  LLRT_TRY(
      llrt_layout_add_out(&buffer->layout, value->layout.out[0].name, value->layout.out[0].bits));
  LLRT_TRY(llrt_layout_add_in(&buffer->layout, "offset", n));
  LLRT_TRY(llrt_layout_add_in(&buffer->layout, "repetition", 0));
  LLRT_TRY(llrt_layout_add_in(&buffer->layout, "block", 0));
  for (int i = 0; i < n; i++) buffer->layout.column[i] = column[i];
  return LLRT_OK;
}

/* Bytes of shared memory of which the blocks of a multiprocessor have room, for a tile. */
static int32_t room(const plan_target *target) {
  return (target->facts.shared_bytes + RESERVED_BYTES) / target->tuning->scan_resident -
         RESERVED_BYTES - OTHER_BYTES;
}

llrt_status scan_begin_queue(draft *d, const draft_values *values, scan_queue *queue) {
  plan_kernel *kernel = d->kernel;
  plan_buffer buffer;
  int vector = bits_min(d->vector[0], d->align[0]),
      bytes = plan_access_bytes(values->load.bits, vector), copied;
  *queue = (scan_queue){0};
  if (!kernel->target.async_copies || !kernel->lookback.lags || values->load.bits < 8 || bytes < 4)
    return LLRT_OK;
  LLRT_TRY(tile_buffer(&values->load, vector, &buffer));
  if (buffer.bytes > room(&kernel->target)) return LLRT_OK;
  LLRT_TRY(draft_value(kernel, &values->load, &copied));
  queue->buffer = (uint8_t)kernel->n_buffers;
  kernel->buffer[kernel->n_buffers++] = buffer;
  queue->used = kernel->lookback.queued = true;
  queue->copy = (plan_step){.kind = PLAN_COPY,
                            .tensor = 0,
                            .in = (uint8_t)copied,
                            .buffer = queue->buffer,
                            .vector = (uint8_t)vector};
  kernel->launch.most_blocks =
      kernel->target.tuning->scan_resident *
      bits_max(kernel->target.facts.units, kernel->target.tuning->scan_least_units);
  return LLRT_OK;
}

llrt_status scan_open_ahead(draft *d, int turns, int *at) {
  return draft_open(d->kernel, (plan_step){.kind = PLAN_AHEAD, .turns = turns}, at);
}

llrt_status scan_copy_ahead(draft *d, const scan_queue *queue, int turns) {
  plan_kernel *kernel = d->kernel;
  bool edge = kernel->n_bounds > 0;
  int at;
  LLRT_TRY(scan_open_ahead(d, turns, &at));
  if (edge) LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_IF_INTERIOR, .body = 1}));
  LLRT_TRY(draft_step(kernel, queue->copy));
  draft_close(kernel, at);
  return LLRT_OK;
}

llrt_status scan_await_copies(draft *d) {
  LLRT_TRY(draft_step(d->kernel, (plan_step){.kind = PLAN_COPIED}));
  return draft_step(d->kernel, (plan_step){.kind = PLAN_BARRIER});
}

llrt_status scan_take_copied(draft *d, const scan_queue *queue, plan_step masked) {
  plan_kernel *kernel = d->kernel;
  bool edge = kernel->n_bounds > 0;
  plan_step load = {.kind = PLAN_SHARED_LOAD,
                    .out = masked.out,
                    .buffer = queue->buffer,
                    .vector = queue->copy.vector};
  if (edge)
    LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_IF_INTERIOR,
                                            .joins = true,
                                            .body = 1,
                                            .otherwise = 1,
                                            .out = masked.out}));
  LLRT_TRY(draft_step(kernel, load));
  return edge ? draft_step(kernel, masked) : LLRT_OK;
}

/* Bits of the order that are columns of the in-dim, in its order. */
static void add_bits(const plan_value *value, plan_dim dim, const plan_order *order,
                     plan_order *out) {
  for (int i = 0; i < plan_value_bits(value, dim); i++)
    for (int k = 0; k < order->n; k++)
      if (plan_value_columns(value, dim)[i] == plan_value_bits_of(value, 1ull << order->bit[k]))
        out->bit[out->n++] = order->bit[k];
}

void scan_total_order(const plan_value *value, const plan_order *order, plan_order *out) {
  out->n = 0;
  for (plan_dim dim = PLAN_REGISTER; dim <= PLAN_WARP; dim++) add_bits(value, dim, order, out);
}

/* Exchanges lie below, then the ticket, then the tile that is copied meanwhile. */
void scan_end_queue(draft *d, const scan_queue *queue) {
  plan_kernel *kernel = d->kernel;
  int32_t end = 0;
  if (!queue->used) return;
  for (int i = 0; i < kernel->n_buffers; i++)
    if (i != queue->buffer) end = bits_max(end, plan_buffer_end(&kernel->buffer[i]));
  kernel->lookback.place = (end + 15) / 16 * 16;
  kernel->buffer[queue->buffer].offset =
      (kernel->lookback.place + 16 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}
