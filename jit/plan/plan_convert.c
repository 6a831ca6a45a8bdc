/* Planning a convert: one pass over memory (DESIGN 6).
 *
 *   digits -> tile -> space -> assign -> load, exchange, store
 *
 * Where the tile may overhang a tensor, blocks at the edge take a masked path, and a flat kernel serves
 * shapes that are much smaller than a tile along such an axis. Value maps stand on either side of the
 * exchange. Where one acts on words of several elements, edges move words and no kernel is flat: the
 * tiled one then serves every shape. */
#include "jit/plan/convert.h"
#include "jit/plan/dot.h"
#include "jit/plan/dot_box.h"
#include "jit/plan/dot_packed.h"
#include "jit/plan/eval.h"
#include "jit/plan/reduce.h"
#include "jit/plan/plan_scan.h"

#include "base/bits.h"
#include "base/status.h"

#include <assert.h>
#include <string.h>

/* What a block that walks is taken to move: enough for a thread of the host's, however few blocks there are. */
#define WALK_BYTES (1 << 20)
/* log2 masked accesses of one thread beyond which a loop over elements takes their place: each is a branch. */
#define MASKED_MAX_ACCESSES 6

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
  plan_cost_kernel(kernel);
  if (!kernel->flat) kernel->launch.block_bytes = kernel->cost.tile_bytes;
  if (kernel->launch.walk.n > 0) kernel->launch.block_bytes = WALK_BYTES;
}

/* ---- the tiled kernel ---- */

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
                     .streaming = (uint8_t)aligned};
  if (halves->halved) return draft_halves_steps(d, values, halves, load, store);
  LLRT_TRY(draft_value(kernel, &values->load, &at));
  load.out = (uint8_t)at;
  LLRT_TRY(draft_step(kernel, load));
  LLRT_TRY(draft_map_steps(d, 0, d->maps_before, false, &at));
  plan_value target = draft_retyped(d, &values->store, kernel->value[at].bits);
  LLRT_TRY(draft_exchange(d, at, &target, &stored));
  LLRT_TRY(draft_map_steps(d, d->maps_before, kernel->n_maps - d->maps_before, false, &stored));
  store.in = (uint8_t)stored;
  return draft_step(kernel, store);
}

/* The masked path element by element (4 bits: byte by byte of the destination), or word by word where maps
 * want it, without an exchange: little code, for the host. */
static llrt_status element_steps(draft *d, const draft_values *values) {
  plan_kernel *kernel = d->kernel;
  int number = 0;
  LLRT_TRY(draft_value(kernel, &values->edge, &number));
  uint8_t together = (uint8_t)bits_max(draft_log2_bytes(d, 1) < 0, d->word_elements);
  if (values->edge_iterations > 0)
    LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_LOOP,
                                            .body = (uint8_t)(2 + kernel->n_maps),
                                            .iterations = (uint8_t)values->edge_iterations}));
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_LOAD, .tensor = 0, .out = (uint8_t)number,
                                          .masked = true}));
  LLRT_TRY(draft_map_steps(d, 0, kernel->n_maps, true, &number));
  return draft_step(kernel, (plan_step){.kind = PLAN_STORE, .tensor = 1, .in = (uint8_t)number,
                                        .vector = together, .masked = true});
}

/* Whether a GPU's store of the edge keeps its width, and stores what is inside of an access that bounds part element by
 * element: where limits are known, which tiles are as large as, most accesses of edges are whole. */
static bool stores_parts(const draft *d, const plan_step *step, const plan_value *value) {
  const plan_kernel *kernel = d->kernel;
  return step->kind == PLAN_STORE && value->bits >= 8 && kernel->n_indices == 0 && step->misaligned == 0 &&
         plan_value_bits(value, PLAN_REGISTER) <= MASKED_MAX_ACCESSES &&
         plan_is_ordered(kernel, step->tensor, value, step->vector) &&
         draft_known_parts(d, value, step->tensor, step->vector);
}

/* Makes an access masked: as wide as it is where bounds do not part its elements or it can overhang rows, else
 * narrower. Bytes are stored whole: calls whose extents would part their elements are refused
 * (runtime/validate.c). */
static void mask_access(const draft *d, plan_step *step) {
  const plan_value *value = &d->kernel->value[step->kind == PLAN_LOAD ? step->out : step->in];
  int whole = draft_whole_vector(d, value, step->tensor, step->vector), aligned = step->vector;
  step->masked = true;
  if (whole == step->vector && !step->overhang) return;
  step->overhang = draft_group_fits(d, step->tensor, value, step->vector);
  if (step->overhang) return;
  step->loose = step->overhang = draft_may_be_loose(d, step, value);
  if (step->loose) return;
  step->parted = stores_parts(d, step, value);
  if (step->parted) return;
  if (d->kernel->target.access_align_bytes > 1) whole = bits_min(whole, aligned - step->misaligned);
  if (step->kind == PLAN_STORE && value->bits < 8) whole = bits_max(whole, 1);
  step->misaligned = (uint8_t)bits_max(step->misaligned - (step->vector - whole), 0);
  step->vector = (uint8_t)whole;
}

/* The same on the host, where what bounds part of a SIMD register moves lane by lane. What is stored past the caches has
 * to be whole lines. */
static void part_access(const draft *d, plan_step *step) {
  const plan_value *value = &d->kernel->value[step->kind == PLAN_LOAD ? step->out : step->in];
  step->masked = true;
  step->parted = draft_whole_vector(d, value, step->tensor, step->vector) < step->vector;
  if (step->parted) step->streaming = 0;
}

/* A step of the interior becomes one of the edge. */
static void mask_step(const draft *d, plan_step *step) {
  bool host = d->kernel->target.lanes_first;
  if (step->kind == PLAN_LOAD || step->kind == PLAN_STORE) host ? part_access(d, step) : mask_access(d, step);
  if (step->kind == PLAN_MAP) step->masked = d->kernel->map[step->map].kind == PLAN_MAP_SCALE;
}

/* Whether the host's edges move registers, not elements. */
static bool moves_parts(const draft *d) {
  const plan_kernel *kernel = d->kernel;
  bool moves = kernel->target.lanes_first && kernel->n_indices == 0 && d->word_elements == 0;
  for (int t = 0; t < 2; t++) moves &= kernel->tensor_bits[t] >= 8;
  for (int i = 0; i < kernel->n_maps; i++) moves &= kernel->map[i].kind != PLAN_MAP_SCALE;
  return moves;
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

/* log2 accesses of a thread. */
static int count_accesses(const plan_kernel *kernel, const plan_step *step) {
  const plan_value *value = &kernel->value[step->kind == PLAN_LOAD ? step->out : step->in];
  return plan_value_bits(value, PLAN_REGISTER) - step->vector;
}

/* The interior's steps from `first` once more, accesses masked and as wide as masks allow: the same values
 * and buffers serve both paths. False where that would be too much code. */
static llrt_status masked_steps(draft *d, int first, int end, bool *done) {
  plan_kernel *kernel = d->kernel;
  bool host = kernel->target.lanes_first;
  *done = false;
  for (int i = first; i < end && !host; i++) {
    plan_step step = kernel->step[i];
    if (step.kind != PLAN_LOAD && step.kind != PLAN_STORE) continue;
    mask_access(d, &step);
    if (count_accesses(kernel, &step) > MASKED_MAX_ACCESSES) return LLRT_OK;
  }
  for (int i = first; i < end; i++) {
    plan_step step = kernel->step[i];
    mask_step(d, &step);
    LLRT_TRY(draft_step(kernel, step));
  }
  *done = true;
  return LLRT_OK;
}

static llrt_status edge_of_tile(draft *d, const draft_values *values, int branch, int end) {
  bool done = false;
  if (!d->kernel->target.lanes_first || moves_parts(d)) LLRT_TRY(masked_steps(d, branch + 1, end, &done));
  return done ? LLRT_OK : element_steps(d, values);
}

/* Whether each of the host's tiles overhangs a bound, wherever it lies: rows of 48 of which tiles have 64. */
static bool is_always_edge(const draft *d, const plan_value *tile) {
  const plan_kernel *kernel = d->kernel;
  for (int i = 0; i < kernel->n_bounds && kernel->target.lanes_first; i++) {
    const plan_bound *bound = &kernel->bound[i];
    if (!bound->device && bound->limit.arg < 0 && plan_iteration_span(kernel, tile, bound) > bound->limit.value)
      return true;
  }
  return false;
}

/* The interior's steps, masked, where there is no other path. */
static llrt_status only_masked(draft *d, const draft_values *values, const draft_halves *halves, bool streaming) {
  plan_kernel *kernel = d->kernel;
  int first = kernel->n_steps;
  if (!moves_parts(d)) return element_steps(d, values);
  LLRT_TRY(interior_steps(d, values, halves, streaming));
  for (int i = first; i < kernel->n_steps; i++) mask_step(d, &kernel->step[i]);
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
    for (int t = 0; t < 2; t++) d->may_overhang[t] = !narrow[t] && draft_can_overhang(d, t);
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

llrt_status draft_tile_steps(draft *d, const draft_values *values, const draft_halves *halves, bool streaming,
                             bool looped) {
  plan_kernel *kernel = d->kernel;
  int branch = kernel->n_steps, whole = 0;
  bool edge = kernel->n_bounds > 0 || d->overhang[0];
  if (edge && looped) LLRT_TRY(draft_value(kernel, &values->load, &whole));
  if (edge && is_always_edge(d, &values->load)) return only_edge_steps(d, values, halves, streaming, whole);
  if (edge)
    LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_IF_INTERIOR, .looped = looped, .in = (uint8_t)whole}));
  LLRT_TRY(interior_steps(d, values, halves, streaming));
  if (!edge) return LLRT_OK;
  int body = kernel->n_steps - branch - 1;
  LLRT_TRY(edge_steps(d, values, branch));
  kernel->step[branch].body = (uint8_t)body;
  kernel->step[branch].otherwise = (uint8_t)(kernel->n_steps - branch - 1 - body);
  return LLRT_OK;
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

llrt_status plan_tiled(const llrt_op_desc *desc, const plan_target *target, const plan_options *options,
                       int64_t streams_from, plan_kernel *kernel, bool *tiled) {
  draft d;
  draft_values values;
  draft_halves halves;
  bool streaming = streams_from >= 0, regions = wants_regions(desc, target, streaming);
  LLRT_TRY(lay_out_rows(&d, desc, target, options, regions, false, kernel, &values, tiled));
  if (!*tiled) return LLRT_OK;
  LLRT_TRY(draft_halve(&d, &values, &halves));
  if (!halves.halved && target->lanes_first && plan_value_bits(&values.load, PLAN_REGISTER) > target->register_bits)
    LLRT_TRY(lay_out_rows(&d, desc, target, options, regions, true, kernel, &values, tiled));
  draft_region region;
  int present = -1;
  draft_uniform_indices(&d);
  LLRT_TRY(open_indices(&d, &values, &present));
  if (streaming && !d.whole_lines[1] && moves_parts(&d)) draft_find_stretch(&d);
  LLRT_TRY(draft_open_region(&d, &values, &region));
  if (!halves.halved) LLRT_TRY(draft_prefetch(&d, &values, 0));
  LLRT_TRY(draft_tile_steps(&d, &values, &halves, streaming, d.region_bits > 0));
  draft_close_region(&d, &region);
  draft_close_indices(&d, present);
  LLRT_TRY(draft_memory(&d));
  if (streams_from > 0) LLRT_TRY(stream_from(&d, streams_from));
  draft_finish(kernel);
  return LLRT_OK;
}

llrt_status plan_flat(const llrt_op_desc *desc, const plan_target *target, plan_kernel *kernel) {
  draft d;
  draft_begin(&d, desc, target, NULL, kernel);
  kernel->flat = true;
  LLRT_TRY(draft_maps(&d));
  LLRT_TRY(draft_digits(&d));
  LLRT_TRY(draft_flat(&d));
  draft_finish(kernel);
  return LLRT_OK;
}

llrt_status plan_make(const llrt_op_desc *desc, const plan_target *target,
                      const plan_options *options, plan *out) {
  out->n_variants = 0;
  if (desc->kind == LLRT_OP_REDUCE) return plan_reduce_make(desc, target, options, out);
  if (desc->kind == LLRT_OP_SCAN) return plan_scan_make(desc, target, options, out);
  if (desc->kind == LLRT_OP_DOT) {
    bool made;
    LLRT_TRY(plan_dot_packed_make(desc, target, options, out, &made));
    return made ? LLRT_OK : plan_dot_make(desc, target, options, out);
  }
  assert(desc->kind == LLRT_OP_CONVERT && desc->n_tensors >= 2);
  return plan_convert_variants(desc, target, options, out);
}
