/* Planning a convert: one pass over memory (docs/one-pass.md).
 *
 *   digits -> tile -> space -> assign -> load, exchange, store
 *
 * Where the tile may overhang a tensor, blocks at the edge take a masked path, and a flat kernel serves
 * shapes that are much smaller than a tile along such an axis. Value maps stand on either side of the
 * exchange. Where one acts on words of several elements, edges move words and no kernel beside it is flat: the
 * tiled one then serves every shape. */
#include "jit/plan/convert.h"
#include "jit/plan/dot.h"
#include "jit/plan/dot_box.h"
#include "jit/plan/dot_packed.h"
#include "jit/plan/eval.h"
#include "jit/plan/reduce.h"
#include "jit/plan/plan_scan.h"

#include "base/bits.h"
#include "base/float_mode.h"
#include "base/status.h"

#include <assert.h>
#include <string.h>

/* What a block that walks is taken to move: enough for a thread of the host's, however few blocks there are. */
#define WALK_BYTES (1 << 20)

void draft_begin(draft *d, const llrt_op_desc *desc, const plan_target *target,
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
    int bits = llrt_dtype_bits(desc->tensors[t].dtype);
    kernel->halves |= bits == 128;
    kernel->tensor_bits[t] = (uint8_t)bits_min(bits, 64);
    if (t < 2) narrowest = bits_max(bits_min(narrowest, kernel->tensor_bits[t]), 8);
  }
  kernel->lane_bits = target->lanes_first ? bits_log2(target->vector_bytes * 8 / narrowest)
                                          : target->lane_bits;
}

void draft_finish(plan_kernel *kernel) {
  kernel->launch.shared_bytes =
      (int32_t)((kernel->panel.elements + (kernel->panel.most << kernel->panel.width)) *
                kernel->tensor_bits[0] / 8);
  if (kernel->panel.apart)
    kernel->launch.shared_bytes = (int32_t)(kernel->panel.room * kernel->tensor_bits[0] / 8) + (1 << kernel->panel.unit);
  kernel->launch.threads =
      kernel->target.lanes_first ? 1 : 1 << (kernel->lane_bits + kernel->warp_bits - kernel->cluster_bits);
  kernel->launch.cluster = kernel->cluster_bits > 0 ? 1 << kernel->cluster_bits : 0;
  if (kernel->lookback.used) kernel->launch.shared_bytes = bits_max(kernel->launch.shared_bytes, 16);
  for (int i = 0; i < kernel->n_buffers; i++)
    kernel->launch.shared_bytes = bits_max(kernel->launch.shared_bytes, plan_buffer_end(&kernel->buffer[i]));
  if (kernel->producers) {
    kernel->launch.threads += kernel->producers << kernel->lane_bits;
    kernel->barriers = (kernel->launch.shared_bytes + 7) & -8;
    kernel->launch.shared_bytes = kernel->barriers + (dot_landed_step(kernel) < 0 ? 16 : 24) * kernel->slots;
  }
  if (kernel->deal.used) {
    kernel->deal.place = kernel->launch.shared_bytes;
    kernel->launch.shared_bytes += 8;
  }
  plan_cost_kernel(kernel);
  if (!kernel->flat) kernel->launch.block_bytes = kernel->cost.tile_bytes;
  if (kernel->launch.walk.n > 0) kernel->launch.block_bytes = WALK_BYTES;
}

/* ---- the tiled kernel ---- */

/* Of rows of 4-bit elements that begin in either half of a byte: what lies in front of each group that the store moves, which
 * shares a byte with the group's first element. */
static llrt_status load_front(draft *d, const draft_values *values, plan_step *store) {
  plan_value front;
  int number = 0;
  if (!store->overhang || d->kernel->tensor_bits[PLAN_DESTINATION] >= 8) return LLRT_OK;
  if (!plan_front_of(d->kernel, &values->store, store->vector, &front))
    return llrt_error(LLRT_INTERNAL, "rows whose groups have nothing in front");
  LLRT_TRY(draft_sequence(d));
  LLRT_TRY(draft_value(d->kernel, &front, &number));
  LLRT_TRY(draft_step(d->kernel, (plan_step){.kind = PLAN_LOAD, .out = (uint8_t)number, .masked = true, .front = true}));
  LLRT_TRY(draft_map_steps(d, 0, d->kernel->n_maps, false, &number));
  store->second = (uint8_t)number;
  return LLRT_OK;
}

/* load, exchange, store of a whole tile. */
static llrt_status interior_steps(draft *d, const draft_values *values, const draft_halves *halves,
                                  bool streaming) {
  plan_kernel *kernel = d->kernel;
  int at = 0, stored = 0, aligned = d->align[1] + draft_log2_bytes(d, 1);
  if (!streaming || !d->whole_lines[1]) aligned = 0;
  plan_step load = {.kind = PLAN_LOAD, .tensor = 0, .vector = (uint8_t)d->vector[0], .overhang = d->overhang[0],
                    .misaligned = (uint8_t)(d->vector[0] - d->align[0])};
  plan_step store = {.kind = PLAN_STORE, .tensor = 1, .vector = (uint8_t)d->vector[1],
                     .overhang = d->overhang[1], .misaligned = (uint8_t)(d->vector[1] - d->align[1]),
                     .streaming = (uint8_t)aligned, .parted = d->parts_bytes};
  if (d->overhang[0] && draft_log2_bytes(d, 0) < 0) load.misaligned--; /* of bytes */
  if (d->overhang[1] && draft_log2_bytes(d, 1) < 0) store.misaligned--;
  if (halves->halved) return draft_halves_steps(d, values, halves, load, store);
  LLRT_TRY(draft_value(kernel, &values->load, &at));
  load.by_words = draft_by_words(d, &load, &values->load);
  load.out = (uint8_t)at;
  LLRT_TRY(draft_access(d, load, 0));
  LLRT_TRY(load_front(d, values, &store));
  LLRT_TRY(draft_map_steps(d, 0, d->maps_before, false, &at));
  plan_value target = draft_retyped(d, &values->store, kernel->value[at].bits);
  LLRT_TRY(draft_exchange(d, at, &target, &stored));
  LLRT_TRY(draft_map_steps(d, d->maps_before, kernel->n_maps - d->maps_before, false, &stored));
  store.in = (uint8_t)stored;
  return draft_access(d, store, 0);
}

/* The masked path element by element (4 bits: byte by byte of the destination, parted where bounds part it), or word by word where maps
 * want it, without an exchange: little code, for the host. */
static llrt_status element_steps(draft *d, const draft_values *values) {
  plan_kernel *kernel = d->kernel;
  int number = 0;
  LLRT_TRY(draft_value(kernel, &values->edge, &number));
  uint8_t together = (uint8_t)bits_max(draft_log2_bytes(d, 1) < 0, d->word_elements);
  bool parted = together == 1 && draft_parts_bytes(d, d->order[1][0]);
  if (values->edge_iterations > 0)
    LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_LOOP,
                                            .body = (uint8_t)(2 + kernel->n_maps),
                                            .iterations = (uint8_t)values->edge_iterations}));
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_LOAD, .tensor = 0, .out = (uint8_t)number,
                                          .masked = true}));
  LLRT_TRY(draft_map_steps(d, 0, kernel->n_maps, true, &number));
  return draft_step(kernel, (plan_step){.kind = PLAN_STORE, .tensor = 1, .in = (uint8_t)number,
                                        .vector = together, .masked = true, .parted = parted});
}

/* What comes before the tile's own steps where tensors have indices. */
static llrt_status open_indices(draft *d, const draft_values *values, int *branch) {
  int walked = 0;
  bool reports = false;
  for (int i = 0; i < d->kernel->n_indices; i++)
    reports |= d->kernel->index[i].out_of_range == LLRT_RANGE_REPORT;
  if (reports) LLRT_TRY(draft_value(d->kernel, &values->edge, &walked));
  return draft_open_indices(d, walked, values->edge_iterations, branch);
}

static llrt_status edge_of_tile(draft *d, const draft_values *values, int branch, int end) {
  bool done = false;
  if (!d->kernel->target.lanes_first || draft_moves_parts(d)) LLRT_TRY(draft_masked_steps(d, branch + 1, end, &done));
  if (done) return LLRT_OK;
  if (d->overhang[1] && d->kernel->tensor_bits[1] < 8)
    return llrt_error(LLRT_UNSUPPORTED, "edges of rows of 4-bit elements that begin in either half of a byte: too many accesses");
  return element_steps(d, values);
}

/* The interior's steps, masked, where there is no other path. */
static llrt_status only_masked(draft *d, const draft_values *values, const draft_halves *halves, bool streaming) {
  plan_kernel *kernel = d->kernel;
  int first = kernel->n_steps;
  if (!draft_moves_parts(d)) return element_steps(d, values);
  LLRT_TRY(interior_steps(d, values, halves, streaming));
  for (int i = first; i < kernel->n_steps; i++) draft_mask_step(d, &kernel->step[i]);
  return LLRT_OK;
}

/* In a region: nothing where an iteration, what value `whole` has in it, has only what overhangs. */
static llrt_status open_present(draft *d, int whole, int *present) {
  *present = -1;
  if (d->region_bits == 0) return LLRT_OK;
  *present = d->kernel->n_steps;
  return draft_step(d->kernel, (plan_step){.kind = PLAN_IF_PRESENT, .looped = true, .in = (uint8_t)whole});
}

static void close_present(draft *d, int present) {
  if (present >= 0) d->kernel->step[present].body = (uint8_t)(d->kernel->n_steps - present - 1);
}

static llrt_status edge_steps(draft *d, const draft_values *values, int branch) {
  int end = d->kernel->n_steps, present;
  LLRT_TRY(open_present(d, d->kernel->step[branch].in, &present));
  LLRT_TRY(edge_of_tile(d, values, branch, end));
  close_present(d, present);
  return LLRT_OK;
}

/* Where every tile is an edge, that alone. */
static llrt_status only_edge_steps(draft *d, const draft_values *values, const draft_halves *halves, bool streaming,
                                   int whole) {
  int present;
  LLRT_TRY(open_present(d, whole, &present));
  LLRT_TRY(only_masked(d, values, halves, streaming));
  close_present(d, present);
  return LLRT_OK;
}

/* Whether blocks should take regions: what streams, as long as no index says where the next one's memory is. */
static bool wants_regions(const llrt_op_desc *desc, const plan_target *target, bool streaming) {
  bool wanted = streaming && target->region_bytes[0] > 0;
  for (int t = 0; t < desc->n_tensors; t++) wanted &= desc->tensors[t].n_indices == 0;
  return wanted;
}

/* Everything before the steps. *tiled = false where the storages have no common refinement. */
static llrt_status lay_out(draft *d, draft_values *values, bool *tiled) {
  LLRT_TRY(draft_maps(d));
  LLRT_TRY(draft_digits(d));
  *tiled = !d->divided;
  if (d->divided) return LLRT_OK;
  LLRT_TRY(draft_tile(d));
  LLRT_TRY(draft_space(d));
  LLRT_TRY(draft_check_words(d));
  return draft_assign(d, values);
}

/* The same with accesses that overhang rows, where what they move is in the lanes that this takes. */
static llrt_status lay_out_rows(draft *d, const llrt_op_desc *desc, const plan_target *target,
                                const plan_options *options, bool regions, bool whole,
                                plan_kernel *kernel, draft_values *values, bool *tiled) {
  bool narrow[2] = {false, false}, again = true;
  while (again) {
    draft_begin(d, desc, target, options, kernel);
    d->regions = regions;
    d->whole = whole;
    for (int t = 0; t < 2; t++)
      d->may_overhang[t] = !narrow[t] && (draft_can_overhang(d, t) || draft_can_straddle(d, t));
    LLRT_TRY(lay_out(d, values, tiled));
    again = false;
    for (int t = 0; t < 2; t++) {
      const plan_value *value = t == 0 ? &values->load : &values->store;
      narrow[t] |= d->overhang[t] && !draft_group_fits(d, t, value, d->vector[t]);
      again |= narrow[t] && d->overhang[t];
    }
  }
  return LLRT_OK;
}

/* The tile's steps, around which the ways of the edge and of the interior part. */
static llrt_status parted_steps(draft *d, const draft_values *values, const draft_halves *halves, bool streaming,
                                int whole) {
  plan_kernel *kernel = d->kernel;
  int branch = kernel->n_steps;
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_IF_INTERIOR, .looped = d->region_bits > 0, .in = (uint8_t)whole}));
  LLRT_TRY(interior_steps(d, values, halves, streaming));
  int body = kernel->n_steps - branch - 1;
  LLRT_TRY(edge_steps(d, values, branch));
  kernel->step[branch].body = (uint8_t)body;
  kernel->step[branch].otherwise = (uint8_t)(kernel->n_steps - branch - 1 - body);
  return LLRT_OK;
}

/* The same where accesses alone are there both ways. */
static llrt_status joint_steps(draft *d, const draft_values *values, const draft_halves *halves, bool streaming,
                               int whole) {
  int present;
  d->joint = (draft_joint){.used = true, .whole = (uint8_t)whole};
  LLRT_TRY(open_present(d, whole, &present));
  LLRT_TRY(interior_steps(d, values, halves, streaming));
  close_present(d, present);
  return LLRT_OK;
}

/* Whether a map of words finds none in the lanes that a small tile leaves the host: then words go one by one. */
static bool misses_words(const draft *d, const draft_values *values) {
  return d->word_elements > 0 && !plan_keeps_words(d->kernel, &values->store, PLAN_DESTINATION);
}

llrt_status draft_tile_steps(draft *d, const draft_values *values, const draft_halves *halves, bool streaming) {
  bool edge = d->kernel->n_bounds > 0 || d->overhang[0];
  int whole = 0;
  if (misses_words(d, values)) return element_steps(d, values);
  if (!edge) return interior_steps(d, values, halves, streaming);
  if (d->region_bits > 0) LLRT_TRY(draft_value(d->kernel, &values->load, &whole));
  if (draft_is_always_edge(d, &values->load)) return only_edge_steps(d, values, halves, streaming, whole);
  if (draft_joins_ways(d, values, halves)) return joint_steps(d, values, halves, streaming, whole);
  return parted_steps(d, values, halves, streaming, whole);
}

/* Stores of edges go through the caches where others may: they are few, and each would stand there twice. */
static llrt_status stream_from(draft *d, int64_t elements) {
  plan_kernel *kernel = d->kernel;
  bool streams = false, inside = false;
  int end = 0;
  for (int i = 0; i < kernel->n_steps; i++) {
    plan_step *step = &kernel->step[i];
    inside |= step->kind == PLAN_IF_INTERIOR;
    if (step->kind == PLAN_IF_INTERIOR) end = i + 1 + step->body;
    if (inside && i >= end) step->streaming = 0;
    streams |= step->streaming > 0 || step->kind == PLAN_COLLECT;
  }
  if (!streams) return LLRT_OK;
  kernel->streams_from = elements;
  return draft_arg(d, (plan_arg){.kind = PLAN_ARG_EXTENTS, .factor = (int64_t)bits_mask(d->desc->tensors[0].rank)},
                   &kernel->elements);
}

static llrt_status make_tiled(const llrt_op_desc *desc, const plan_target *target, const plan_options *options,
                              int64_t streams_from, plan_kernel *kernel, bool *tiled) {
  draft d;
  draft_values values;
  draft_halves halves;
  bool streaming = streams_from >= 0, regions = wants_regions(desc, target, streaming);
  LLRT_TRY(lay_out_rows(&d, desc, target, options, regions, false, kernel, &values, tiled));
  if (!*tiled) return LLRT_OK;
  LLRT_TRY(draft_halve(&d, &values, &halves));
  bool large = plan_value_bits(&values.load, PLAN_REGISTER) > target->register_bits;
  if (!halves.halved && target->lanes_first && (large || values.load.word > 0))
    LLRT_TRY(lay_out_rows(&d, desc, target, options, regions, true, kernel, &values, tiled));
  draft_region region;
  int present = -1;
  draft_uniform_indices(&d);
  LLRT_TRY(open_indices(&d, &values, &present));
  if (streaming && !d.whole_lines[1] && draft_moves_parts(&d)) draft_find_stretch(&d);
  LLRT_TRY(draft_open_region(&d, &values, &region));
  if (!halves.halved) LLRT_TRY(draft_prefetch(&d, &values, 0));
  LLRT_TRY(draft_tile_steps(&d, &values, &halves, streaming));
  draft_close_region(&d, &region);
  draft_close_indices(&d, present);
  LLRT_TRY(draft_memory(&d));
  if (streams_from > 0) LLRT_TRY(stream_from(&d, streams_from));
  draft_finish(kernel);
  return LLRT_OK;
}

/* Shared memory moves whole bytes. An exchange of 4-bit elements that shuffles cannot bring into words fails for it; then
 * loads bring them, of half sectors. */
llrt_status plan_tiled(const llrt_op_desc *desc, const plan_target *target, const plan_options *options,
                       int64_t streams_from, plan_kernel *kernel, bool *tiled) {
  plan_options whole = options ? *options : (plan_options){0};
  llrt_status status = make_tiled(desc, target, options, streams_from, kernel, tiled);
  bool parts_bytes = llrt_dtype_bits(desc->tensors[0].dtype) < 8 && !target->lanes_first;
  if (status != LLRT_UNSUPPORTED || !parts_bytes) return status;
  whole.whole_words = true;
  return make_tiled(desc, target, &whole, streams_from, kernel, tiled);
}

/* How a flat kernel comes by the bytes of 4-bit elements: by an axis that counts a byte's two, or in the order of the
 * destination's memory, with its digits alone or the source's, too; or one half after the other (kernel.half). */
typedef struct flat_way {
  bool by_memory, divides;
  uint8_t half;
} flat_way;

static llrt_status flat_by(const llrt_op_desc *desc, const plan_target *target, flat_way way, plan_kernel *kernel) {
  draft d;
  draft_begin(&d, desc, target, NULL, kernel);
  kernel->flat = true;
  kernel->half = way.half;
  d.by_memory = way.by_memory;
  d.divides = way.divides;
  LLRT_TRY(draft_maps(&d));
  LLRT_TRY(draft_digits(&d));
  LLRT_TRY(draft_flat(&d));
  draft_finish(kernel);
  return LLRT_OK;
}

bool plan_maps_words(const llrt_op_desc *desc) {
  for (int i = 0; i < desc->n_maps; i++)
    if (desc->maps[i].kind == LLRT_MAP_WORD_BITS) return llrt_dtype_bits(desc->tensors[PLAN_DESTINATION].dtype) < 32;
  return false;
}

llrt_status plan_flat(const llrt_op_desc *desc, const plan_target *target, plan_kernel *kernel) {
  llrt_status status = flat_by(desc, target, (flat_way){.half = 0}, kernel);
  bool shares = llrt_dtype_bits(desc->tensors[PLAN_DESTINATION].dtype) < 8 || plan_maps_words(desc);
  shares &= !desc->in_place;
  for (int divides = 0; divides < 2 && shares && status == LLRT_UNSUPPORTED; divides++)
    status = flat_by(desc, target, (flat_way){.by_memory = true, .divides = divides}, kernel);
  return status;
}

llrt_status plan_half(const llrt_op_desc *desc, const plan_target *target, int half, plan_kernel *kernel) {
  LLRT_TRY(flat_by(desc, target, (flat_way){.half = (uint8_t)half}, kernel));
  kernel->launch.stage = half - 1;
  kernel->launch.later = 2 - half;
  return LLRT_OK;
}

static llrt_status make(const llrt_op_desc *desc, const plan_target *target, const plan_options *options, plan *out) {
  if (desc->kind == LLRT_OP_REDUCE) return plan_reduce_make(desc, target, options, out);
  if (desc->kind == LLRT_OP_SCAN) return plan_scan_make(desc, target, options, out);
  if (desc->kind == LLRT_OP_DOT) {
    LLRT_TRY(plan_dot_all(desc, target, options, out));
    for (int i = 0; i < out->n_variants; i++) {
      out->variant[i].launch.alpha = desc->dot.alpha;
      out->variant[i].launch.beta = desc->dot.beta;
    }
    return LLRT_OK;
  }
  assert(desc->kind == LLRT_OP_CONVERT && desc->n_tensors >= 2);
  return plan_convert_variants(desc, target, options, out);
}

llrt_status plan_make(const llrt_op_desc *desc, const plan_target *target,
                      const plan_options *options, plan *out) {
  out->n_variants = 0;
  llrt_float_mode callers = llrt_float_mode_enter(); /* costs are compared, and constants made */
  llrt_status status = make(desc, target, options, out);
  llrt_float_mode_leave(callers);
  return status;
}
