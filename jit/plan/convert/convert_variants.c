/* The variants of a convert: which kernels serve which shapes. See convert.h. */
#include "jit/plan/convert/convert.h"

#include "base/bits.h"
#include "base/memory.h"
#include "base/status.h"
#include "jit/plan/convert/panel.h"
#include "jit/plan/cost/trace.h"
#include "jit/plan/facts/access.h"

#include <stdlib.h>
#include <string.h>

/* Every axis whose extent a run gives is longer than half a tile. False where there is none: then
 * the tiled kernel takes every shape. */
static bool tiled_range(const plan_kernel *kernel, plan_range *range) {
  bool open = false;
  range->min_elements = kernel->target.tuning->tiled_elements;
  for (int i = 0; i < kernel->n_bounds; i++) {
    const plan_bound *bound = &kernel->bound[i];
    const plan_digit *digit = &kernel->digit[bound->top];
    if (bound->axis < 0 || !digit->rest || digit->upper.arg < 0) continue;
    int64_t group = digit->step << digit->bits;
    if (range->min_extent[bound->axis] < group / 2 + 1)
      range->min_extent[bound->axis] = group / 2 + 1;
    open = true;
  }
  return open;
}

/* The number of elements where every digit is fixed, copies counted, else -1. */
static int64_t fixed_elements(const plan_kernel *kernel) {
  int64_t elements = 1;
  for (int i = 0; i < kernel->n_digits; i++) {
    const plan_digit *digit = &kernel->digit[i];
    if (digit->rest && digit->upper.arg >= 0) return -1;
    int64_t count = (digit->rest ? digit->upper.value : 1) << digit->bits;
    if (__builtin_mul_overflow(elements, count, &elements)) return -1;
  }
  return elements >> kernel->split_128;
}

/* The last variant on the host becomes one by strips, if it may run on large tensors, whose stores
 * bypass the caches. */
static llrt_status prefer_streaming(const op_description *desc, const plan_target *target,
                                    const plan_options *options, plan *out) {
  plan_kernel *kernel = &out->variant[out->n_variants - 1];
  int64_t elements = fixed_elements(kernel);
  int64_t limit = target->tuning->streaming_bytes * 8 / llrt_dtype_bits(desc->tensors[1].dtype);
  plan_range range = kernel->launch.range;
  bool tiled;
  if (elements >= 0 && elements < limit)
    return plan_refused(options, NULL, "tiles by strips, whose stores bypass the caches",
                        "%lld elements, such stores are from %lld on", (long long)elements,
                        (long long)limit);
  LLRT_TRY(
      plan_tiled(desc, target, options, elements >= 0 ? STREAMS_ALWAYS : limit, kernel, &tiled));
  kernel->launch.range = range;
  plan_taken(options, kernel,
             "tiles by strips, whose stores bypass the caches, instead of those before");
  return LLRT_OK;
}

/* Whether `range` admits a shorter extent of some axis than `other`. */
static bool is_thinner(const plan_range *range, const plan_range *other) {
  for (int a = 0; a < LLRT_MAX_RANK; a++)
    if (range->min_extent[a] < other->min_extent[a]) return true;
  return false;
}

/* Whether a tile's edges are masks of a few registers. */
static bool masks_little(const plan_target *target, const plan_kernel *kernel) {
  bool masks = target->masked_bits > 0 && kernel->n_indices == 0 && kernel->n_maps == 0;
  for (int t = 0; t < 2; t++) masks &= kernel->tensor_bits[t] >= target->masked_bits;
  return masks && kernel->cost.registers <= target->tuning->masked_registers;
}

#define NARROW_TILES "narrow tiles, for short axes"

/* A second tiled kernel, of narrower tiles, for shapes that the first would mostly overhang; or
 * these are the first's, too. */
static llrt_status add_thin(const op_description *desc, const plan_target *target,
                            const plan_options *options, plan *out) {
  plan_options narrow = options ? *options : (plan_options){.rest_bits = 0};
  plan_kernel *thin = &out->variant[out->n_variants];
  bool tiled;
  if (narrow.rest_bits) return LLRT_OK;
  narrow.rest_bits = target->tuning->thin_bits;
  llrt_status planned = plan_tiled(desc, target, &narrow, STREAMS_NEVER, thin, &tiled);
  if (planned == LLRT_UNSUPPORTED && llrt_dtype_bits(desc->tensors[1].dtype) < 8)
    return plan_refused(options, NULL, NARROW_TILES, "%s; the flat kernel has its shapes",
                        plan_refusal());
  LLRT_TRY(planned);
  if (!tiled_range(thin, &thin->launch.range)) thin->launch.range = (plan_range){.min_elements = 0};
  plan_kernel *wide = &out->variant[out->n_variants - 1];
  if (!is_thinner(&thin->launch.range, &wide->launch.range))
    return plan_refused(options, thin, NARROW_TILES, "the tiles before take as short axes");
  if (masks_little(target, wide)) {
    wide->launch.range = thin->launch.range;
    return plan_refused(options, thin, NARROW_TILES,
                        "masks of %d registers make the tiles before as good",
                        target->tuning->masked_registers);
  }
  out->n_variants++;
  plan_taken(options, thin, NARROW_TILES);
  return LLRT_OK;
}

/* Positions that tiles walk along the digits of known extents, for each that is written. */
static double tile_waste(const plan_kernel *kernel) {
  double waste = 1;
  for (int i = 0; i < kernel->n_bounds; i++) {
    const plan_bound *bound = &kernel->bound[i];
    const plan_digit *digit = &kernel->digit[bound->top];
    if (!(bound->tensors >> PLAN_DESTINATION & 1) || bound->limit.arg >= 0 || bound->device)
      continue;
    int64_t positions = digit->rest ? digit->upper.value << digit->bits : (int64_t)1 << digit->bits;
    if (digit->rest && digit->upper.arg >= 0) continue;
    int64_t step = bound->axis < 0 ? 1 : digit->step;
    waste *= (double)(positions * step) / (double)bound->limit.value;
  }
  return waste;
}

static bool is_planners_choice(const plan_options *options) {
  return !options || (options->exchange == PLAN_EXCHANGE_AUTO && !options->tile_bytes &&
                      !options->run_bytes && !options->rest_bits);
}

/* Puts the flat kernel into the plan's place, if it moves vectors of an access's size and the tiles
 * waste work. */
static llrt_status prefer_flat(const op_description *desc, const plan_target *target,
                               const plan_options *options, plan *out, bool *flat) {
  static const char what[] = "element by element, whole vectors, instead of tiles";
  plan_kernel *kernel = &out->variant[1];
  double waste = tile_waste(&out->variant[0]);
  *flat = false;
  if (target->simd_lanes)
    return plan_refused(options, NULL, what,
                        "on the host tiles are faster, whatever they overhang");
  if (waste < target->tuning->flat_waste)
    return plan_refused(options, NULL, what,
                        "tiles walk %.3f positions for each that there is, %.2f would be too many",
                        waste, target->tuning->flat_waste);
  llrt_status status = plan_flat(desc, target, kernel);
  if (status != LLRT_OK) return plan_refused(options, NULL, what, "%s", plan_refusal());
  const plan_step *load = &kernel->step[0];
  int bytes = plan_access_bytes(kernel->tensor_bits[0], load->vector);
  *flat = load->kind == PLAN_LOAD && bytes == target->access_bytes;
  if (!*flat)
    return plan_refused(options, kernel, what, "loads would be of %d bytes, not of %d", bytes,
                        target->access_bytes);
  plan_refused(options, &out->variant[0], "tiles",
               "they walk %.3f positions for each that there is, and vectors are as wide in the "
               "destination's order",
               waste);
  plan_taken(options, kernel, what);
  out->variant[0] = *kernel;
  out->n_variants = 1;
  return LLRT_OK;
}

/* Counts the kernel behind the last variant as the first one. */
static llrt_status put_first(plan *out) {
  plan_kernel *last = &out->variant[out->n_variants], *kernel = memory_new(sizeof *kernel);
  if (!kernel) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a plan");
  *kernel = *last;
  memmove(&out->variant[1], &out->variant[0], (size_t)out->n_variants++ * sizeof *last);
  out->variant[0] = *kernel;
  free(kernel);
  return LLRT_OK;
}

/* Whether tiles may have more of a row on one side: not the target's run of narrow elements on
 * both. */
static bool has_short_runs(const plan_kernel *kernel) {
  int64_t bits = kernel->tensor_bits[0], run = kernel->target.run_bytes * 8 / bits;
  bool narrow =
      bits <= 8 && bits == kernel->tensor_bits[1] && kernel->n_maps == 0 && kernel->n_indices == 0;
  return narrow && kernel->cost.tile_bytes < run * run * bits / 8;
}

/* Of large tensors of narrow elements the tiles have whole runs on both sides: a kernel before the
 * first, or instead of it where extents are known. */
static llrt_status add_large(const op_description *desc, const plan_target *target,
                             const plan_options *given, plan *out) {
  static const char what[] = "tiles of whole runs on both sides, for large tensors";
  plan_options options = {.whole_runs = true, .trace = plan_trace_of(given)};
  plan_kernel *first = &out->variant[0], *large = &out->variant[out->n_variants];
  int bits = first->tensor_bits[1];
  int64_t elements = fixed_elements(first), least = target->large_bytes[bits == 8] * 8 / bits;
  bool tiled;
  if (least == 0)
    return plan_refused(given, NULL, what, "the target's tuning has none for elements of %d bits",
                        bits);
  if (!has_short_runs(first))
    return plan_refused(given, NULL, what, "the tiles before have whole runs, or wide elements");
  if (elements >= 0 && elements < least)
    return plan_refused(given, NULL, what, "%lld elements, they are faster from %lld on",
                        (long long)elements, (long long)least);
  if (plan_tiled(desc, target, &options, STREAMS_NEVER, large, &tiled) != LLRT_OK)
    return plan_refused(given, NULL, what, "%s", plan_refusal());
  if (large->cost.tile_bytes <= first->cost.tile_bytes)
    return plan_refused(given, large, what, "tiles of %d bytes, no more than those before",
                        large->cost.tile_bytes);
  plan_taken(given, large, "%s%s", what, elements >= 0 ? ", instead of those before" : "");
  if (elements >= 0) {
    large->launch.range = first->launch.range;
    *first = *large;
    return LLRT_OK;
  }
  tiled_range(large, &large->launch.range);
  large->launch.range.min_elements = least;
  return put_first(out);
}

#define WORD_BYTES 4

/* Whether rows that are not aligned cost a tiled kernel shuffles, or accesses that are parts of
 * sectors. */
static bool tears_rows(const plan_kernel *kernel) {
  bool tears = false;
  for (int i = 0; i < kernel->n_steps; i++) {
    const plan_step *step = &kernel->step[i];
    if (step->kind != PLAN_LOAD && step->kind != PLAN_STORE) continue;
    const plan_value *value = &kernel->value[step->kind == PLAN_LOAD ? step->out : step->in];
    int bytes = plan_access_bytes(value->bits, step->vector);
    bool torn = step->overhang && !step->loose &&
                (bytes >> step->misaligned < WORD_BYTES || value->bits == 8 * WORD_BYTES);
    tears |= step->overhang ? torn && step->misaligned > 0
                            : bytes << kernel->lane_bits < kernel->target.run_bytes;
  }
  return tears;
}

/* Puts a kernel that keeps panels in shared memory before the others, for tensors of enough of
 * them, where rows that are not aligned make tiles slow. */
static llrt_status add_staged(const op_description *desc, const plan_target *target,
                              const plan_options *options, plan *out) {
  plan_kernel *staged = &out->variant[out->n_variants];
  static const char what[] = "panels in shared memory";
  bool asked = options && options->panels, made;
  if (!asked && !tears_rows(&out->variant[0]))
    return plan_refused(options, NULL, what, "tiles have no rows that alignment would tear");
  LLRT_TRY(plan_staged_make(desc, target, options, staged, &made));
  if (!made) return LLRT_OK; /* which says why */
  bool wide = staged->panel.tensor == PLAN_DESTINATION && staged->tensor_bits[0] == 8 * WORD_BYTES;
  if (!asked && wide &&
      tile_waste(&out->variant[0]) < target->tuning->stored_waste * tile_waste(staged))
    return plan_refused(options, staged, what,
                        "32-bit elements that are stored to panels, and tiles walk only %.2f "
                        "positions for each of a panel's, not %.2f",
                        tile_waste(&out->variant[0]) / tile_waste(staged),
                        target->tuning->stored_waste);
  int64_t elements = fixed_elements(&out->variant[0]),
          least = plan_for_units(target, target->tuning->staged_panels) * staged->panel.positions;
  if (!asked && elements >= 0 && elements < least)
    return plan_refused(options, staged, what, "%lld elements, panels are faster from %lld on",
                        (long long)elements, (long long)least);
  plan_taken(options, staged, what);
  staged->launch.range = (plan_range){.min_elements = asked || elements >= 0 ? 0 : least};
  return put_first(out);
}

/* Puts the kernel that gathers out of panels, where there is one, before the others: its range is
 * the narrowest. */
static llrt_status add_panel(const op_description *desc, const plan_target *target,
                             const plan_options *options, plan *out) {
  plan_kernel *last = &out->variant[out->n_variants];
  bool made;
  LLRT_TRY(plan_panel_make(desc, target, options, last, &made));
  if (!made) return LLRT_OK; /* which says why */
  plan_taken(options, last, "gather from panels in shared memory");
  return put_first(out);
}

/* Whether threads may store single halves of the destination's bytes. */
static bool bytes_are_parted(const op_description *desc) {
  return llrt_dtype_bits(desc->tensors[PLAN_DESTINATION].dtype) < 8 && !plan_maps_words(desc);
}

/* Two stages, of which each has one thread for a byte. */
static llrt_status add_halves(const op_description *desc, const plan_target *target, plan *out) {
  for (int half = 1; half <= 2; half++)
    LLRT_TRY(plan_half(desc, target, half, &out->variant[out->n_variants++]));
  return LLRT_OK;
}

static llrt_status make_variants(const op_description *desc, const plan_target *target,
                                 const plan_options *options, plan *out) {
  int bits =
      bits_min(llrt_dtype_bits(desc->tensors[0].dtype), llrt_dtype_bits(desc->tensors[1].dtype));
  plan_kernel *first = &out->variant[0];
  bool words = plan_maps_words(desc), tiled, flat = true,
       stream = options && options->stream && target->simd_lanes;
  if (desc->in_place) return plan_flat(desc, target, &out->variant[out->n_variants++]);
  llrt_status planned =
      plan_tiled(desc, target, options, stream ? STREAMS_ALWAYS : STREAMS_NEVER, first, &tiled);
  /* 4-bit elements that do not stay in whole bytes: the flat kernel takes the destination's bytes,
   * or words, one by one. */
  bool one_by_one =
      planned == LLRT_UNSUPPORTED && (bits < 8 || words) && !(options && options->whole_bytes);
  if (planned != LLRT_OK || !tiled)
    plan_refused(options, NULL, "tiles", "%s",
                 planned != LLRT_OK ? plan_refusal() : "the storages have no common refinement");
  if (one_by_one) tiled = false;
  else LLRT_TRY(planned);
  if (tiled && is_planners_choice(options)) {
    bool vectors;
    LLRT_TRY(prefer_flat(desc, target, options, out, &vectors));
    if (vectors) return LLRT_OK;
  }
  if (tiled) {
    plan_taken(options, first, "tiles");
    out->n_variants = 1;
    flat = tiled_range(first, &first->launch.range) && !words;
    if (!flat) first->launch.range = (plan_range){.min_elements = 0};
    if (target->simd_lanes && !stream) LLRT_TRY(prefer_streaming(desc, target, options, out));
    if (is_planners_choice(options)) LLRT_TRY(add_large(desc, target, options, out));
    if (flat) LLRT_TRY(add_thin(desc, target, options, out));
    if (is_planners_choice(options)) LLRT_TRY(add_staged(desc, target, options, out));
  }
  if (!flat) return LLRT_OK;
  plan_kernel *last = &out->variant[out->n_variants];
  llrt_status status = plan_flat(desc, target, last);
  if (status == LLRT_OK) {
    plan_taken(options, last, "element by element");
    out->n_variants++;
  } else plan_refused(options, NULL, "element by element", "%s", plan_refusal());
  if (status == LLRT_UNSUPPORTED && out->n_variants == 0 && bytes_are_parted(desc))
    return add_halves(desc, target, out);
  if (status == LLRT_OK || bits >= 8 || out->n_variants == 0) return status;
  /* No flat kernel for bytes of unrelated elements: the last tiled one, right for all shapes, has
   * no range. */
  out->variant[out->n_variants - 1].launch.range = (plan_range){.min_elements = 0};
  return LLRT_OK;
}

llrt_status plan_convert_variants(const op_description *desc, const plan_target *target,
                                  const plan_options *options, plan *out) {
  out->n_variants = 0;
  LLRT_TRY(make_variants(desc, target, options, out));
  return desc->in_place ? LLRT_OK : add_panel(desc, target, options, out);
}

llrt_status plan_convert_one(const op_description *desc, const plan_target *target,
                             const plan_options *options, bool last, plan_kernel *kernel) {
  plan *made = memory_new(sizeof *made);
  if (!made) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a plan");
  llrt_status status = plan_convert_variants(desc, target, options, made);
  if (status == LLRT_OK) *kernel = made->variant[last ? made->n_variants - 1 : 0];
  free(made);
  if (status != LLRT_OK || !kernel->stored_half) return status;
  return llrt_error(LLRT_UNSUPPORTED,
                    "the destination's 4-bit elements lie so that no thread has a whole byte");
}
