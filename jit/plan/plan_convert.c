/* Planning a convert: one pass over memory (DESIGN 6).
 *
 *   digits -> tile -> space -> assign -> load, exchange, store
 *
 * Where REST digits give bits to the tile, blocks at the edge take a masked element-wise path, and a
 * flat kernel serves shapes that are smaller than a tile along such an axis. Value maps stand on either
 * side of the exchange. Where one acts on words of several elements, edges move words and no kernel is
 * flat: the tiled one then serves every shape. */
#include "jit/plan/draft.h"

#include "base/bits.h"
#include "base/status.h"

#include <assert.h>
#include <string.h>

/* Below this many elements a launch is all latency and the flat kernel has more parallelism. */
#define TILED_MIN_ELEMENTS 4096
/* From here on the host's stores bypass the caches (measured: docs/measurements.md). */
#define STREAMING_MIN_BYTES (4 << 20)
/* and every piece of a store is aligned to 2^this bytes, which streaming instructions demand. */
#define STREAMING_MIN_ALIGN 4

static void begin_kernel(draft *d, const llrt_op_desc *desc, const plan_target *target,
                         const plan_options *options, plan_kernel *kernel) {
  memset(d, 0, sizeof *d);
  memset(kernel, 0, sizeof *kernel);
  d->desc = desc;
  d->options = options;
  d->kernel = kernel;
  kernel->target = *target;
  kernel->n_tensors = desc->n_tensors;
  int narrowest = INT32_MAX;
  for (int t = 0; t < desc->n_tensors; t++) {
    kernel->tensor_bits[t] = (uint8_t)llrt_dtype_bits(desc->tensors[t].dtype);
    narrowest = bits_min(narrowest, kernel->tensor_bits[t]);
  }
  kernel->lane_bits = target->lanes_first ? bits_log2(target->vector_bytes * 8 / narrowest)
                                          : target->lane_bits;
}

void draft_finish(plan_kernel *kernel) {
  kernel->launch.threads =
      kernel->target.lanes_first ? 1 : 1 << (kernel->lane_bits + kernel->warp_bits);
  for (int i = 0; i < kernel->n_buffers; i++)
    kernel->launch.shared_bytes = bits_max(kernel->launch.shared_bytes, kernel->buffer[i].bytes);
  plan_cost_kernel(kernel);
}

/* ---- the tiled kernel ---- */

static bool has_edge(const plan_kernel *kernel) {
  for (int i = 0; i < kernel->n_digits; i++)
    if (kernel->digit[i].edge) return true;
  return false;
}

/* load, exchange, store of a whole tile. */
static llrt_status interior_steps(draft *d, const draft_values *values, bool streaming) {
  plan_kernel *kernel = d->kernel;
  int loaded = 0, stored = 0;
  LLRT_TRY(draft_value(kernel, &values->load, &loaded));
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_LOAD, .tensor = 0, .out = (uint8_t)loaded,
                                          .vector = (uint8_t)d->vector[0]}));
  LLRT_TRY(draft_map_steps(d, 0, d->maps_before, &loaded));
  LLRT_TRY(draft_exchange(d, loaded, &values->store, &stored));
  LLRT_TRY(draft_map_steps(d, d->maps_before, kernel->n_maps - d->maps_before, &stored));
  int aligned = d->align[1] + draft_log2_bytes(d, 1);
  if (!streaming || aligned < STREAMING_MIN_ALIGN) aligned = 0;
  return draft_step(kernel, (plan_step){.kind = PLAN_STORE, .tensor = 1, .in = (uint8_t)stored,
                                        .vector = (uint8_t)d->vector[1],
                                        .streaming = (uint8_t)aligned});
}

/* The masked path: element by element, or word by word where maps want it; no exchange. */
static llrt_status edge_steps(draft *d, const draft_values *values) {
  plan_kernel *kernel = d->kernel;
  int number = 0;
  LLRT_TRY(draft_value(kernel, &values->edge, &number));
  if (values->edge_iterations > 0)
    LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_LOOP,
                                            .body = (uint8_t)(2 + kernel->n_maps),
                                            .iterations = (uint8_t)values->edge_iterations}));
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_LOAD, .tensor = 0, .out = (uint8_t)number,
                                          .masked = true}));
  LLRT_TRY(draft_map_steps(d, 0, kernel->n_maps, &number));
  return draft_step(kernel, (plan_step){.kind = PLAN_STORE, .tensor = 1, .in = (uint8_t)number,
                                        .vector = (uint8_t)d->word_elements, .masked = true});
}

static llrt_status plan_tiled(const llrt_op_desc *desc, const plan_target *target,
                              const plan_options *options, bool streaming, plan_kernel *kernel) {
  draft d;
  draft_values values;
  begin_kernel(&d, desc, target, options, kernel);
  LLRT_TRY(draft_maps(&d));
  LLRT_TRY(draft_digits(&d));
  LLRT_TRY(draft_tile(&d));
  LLRT_TRY(draft_space(&d));
  LLRT_TRY(draft_check_words(&d));
  LLRT_TRY(draft_assign(&d, &values));
  int branch = kernel->n_steps;
  bool edge = has_edge(kernel);
  if (edge) LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_IF_INTERIOR}));
  LLRT_TRY(interior_steps(&d, &values, streaming));
  if (edge) {
    int body = kernel->n_steps - branch - 1;
    LLRT_TRY(edge_steps(&d, &values));
    kernel->step[branch].body = (uint8_t)body;
    kernel->step[branch].otherwise = (uint8_t)(kernel->n_steps - branch - 1 - body);
  }
  draft_finish(kernel);
  return LLRT_OK;
}

static llrt_status plan_flat(const llrt_op_desc *desc, const plan_target *target,
                             plan_kernel *kernel) {
  draft d;
  begin_kernel(&d, desc, target, NULL, kernel);
  kernel->flat = true;
  LLRT_TRY(draft_maps(&d));
  LLRT_TRY(draft_digits(&d));
  LLRT_TRY(draft_flat(&d));
  draft_finish(kernel);
  return LLRT_OK;
}

/* ---- variants ---- */

/* Every edge axis at least as long as a tile; false where a known extent rules that out. */
static bool tiled_range(const plan_kernel *kernel, plan_range *range) {
  range->min_elements = TILED_MIN_ELEMENTS;
  for (int i = 0; i < kernel->n_digits; i++) {
    const plan_digit *digit = &kernel->digit[i];
    if (!digit->edge) continue;
    if (digit->full.arg < 0 && digit->full.value == 0) return false;
    range->min_extent[digit->axis] = (int64_t)1 << (digit->axis_shift + digit->bits);
  }
  return true;
}

/* Whether a map acts on words of several elements. */
static bool moves_words(const plan_kernel *kernel) {
  if (kernel->n_maps == 0 || kernel->tensor_bits[1] >= 32) return false;
  return kernel->map[kernel->n_maps - 1].kind == PLAN_MAP_WORD_BITS;
}

/* The number of elements where every digit is fixed, else -1. */
static int64_t fixed_elements(const plan_kernel *kernel) {
  int bits = 0;
  for (int i = 0; i < kernel->n_digits; i++) {
    if (kernel->digit[i].rest) return -1;
    bits += kernel->digit[i].bits;
  }
  return (int64_t)1 << bits;
}

/* Splits the last variant on the host in two: large tensors stream. */
static llrt_status add_streaming(const llrt_op_desc *desc, const plan_target *target,
                                 const plan_options *options, plan *out) {
  plan_kernel *small = &out->variant[out->n_variants - 1];
  int64_t elements = fixed_elements(small);
  int64_t limit = (int64_t)STREAMING_MIN_BYTES * 8 / small->tensor_bits[1];
  plan_range range = small->launch.range;
  if (elements >= 0 && elements < limit) return LLRT_OK;
  LLRT_TRY(plan_tiled(desc, target, options, true, small));
  small->launch.range = range;
  if (elements >= 0) return LLRT_OK;
  small->launch.range.min_elements = limit;
  plan_kernel *next = &out->variant[out->n_variants++];
  LLRT_TRY(plan_tiled(desc, target, options, false, next));
  next->launch.range = range;
  return LLRT_OK;
}

llrt_status plan_make(const llrt_op_desc *desc, const plan_target *target,
                      const plan_options *options, plan *out) {
  out->n_variants = 0;
  assert(desc->kind == LLRT_OP_CONVERT && desc->n_tensors == 2);
  int bits = llrt_dtype_bits(desc->tensors[0].dtype);
  if (bits < 8 || bits > 64)
    return llrt_error(LLRT_UNSUPPORTED, "elements of %d bits: 8, 16, 32 and 64 can be moved", bits);
  plan_kernel *tiled = &out->variant[0];
  LLRT_TRY(plan_tiled(desc, target, options, false, tiled));
  bool flat = has_edge(tiled) && !moves_words(tiled);
  if (!flat || tiled_range(tiled, &tiled->launch.range)) {
    out->n_variants = 1;
    if (target->lanes_first) LLRT_TRY(add_streaming(desc, target, options, out));
  }
  if (!flat) return LLRT_OK;
  return plan_flat(desc, target, &out->variant[out->n_variants++]);
}
