/* Planning a convert: one pass over memory (docs/one-pass.md).
 *
 *   digits -> tile -> space -> assign -> load, exchange, store
 *
 * Where the tile may overhang a tensor, blocks at the edge take a masked path, and a flat kernel
 * serves shapes that are much smaller than a tile along such an axis. Value maps stand on either
 * side of the exchange. Where one acts on words of several elements, edges move words and no kernel
 * beside it is flat: the tiled one then serves every shape. */
#include "jit/plan/convert/convert.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/convert/tile_steps.h"
#include "jit/plan/draft/draft.h"
#include "jit/plan/exchange/exchange.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/box.h"
#include "jit/plan/facts/row_group.h"
#include "jit/plan/facts/value.h"

#include <assert.h>
#include <string.h>

/* What comes before the tile's own steps where tensors have indices. */
static llrt_status open_indices(draft *d, const draft_values *values, int *branch) {
  int walked = 0;
  bool reports = false;
  for (int i = 0; i < d->kernel->n_indices; i++)
    reports |= d->kernel->index[i].out_of_range == LLRT_RANGE_REPORT;
  if (reports) LLRT_TRY(draft_value(d->kernel, &values->edge, &walked));
  return draft_open_indices(d, walked, values->edge_iterations, branch);
}

/* Whether blocks should take strips: what streams, as long as no index says where the next one's
 * memory is. */
static bool wants_strips(const op_description *desc, const plan_target *target, bool streaming) {
  bool wanted = streaming && target->strip_bytes[0] > 0;
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

/* The same with accesses that overhang rows, where what they move is in the lanes that this takes.
 */
static llrt_status lay_out_rows(draft *d, const op_description *desc, const plan_target *target,
                                const plan_options *options, bool strips, bool whole,
                                plan_kernel *kernel, draft_values *values, bool *tiled) {
  bool narrow[2] = {false, false}, again = true;
  while (again) {
    draft_begin(d, desc, target, options, kernel);
    d->strips = strips;
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

/* Has stores of launches of `elements` elements and more bypass the caches, by a kernel argument
 * that says how many there are. Stores of the edges' steps, which follow those of IF_INTERIOR,
 * never do: they are few, and each would be emitted for either way. */
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
  return draft_arg(
      d,
      (plan_arg){.kind = PLAN_ARG_EXTENTS, .factor = (int64_t)bits_mask(d->desc->tensors[0].rank)},
      &kernel->elements);
}

static llrt_status make_tiled(const op_description *desc, const plan_target *target,
                              const plan_options *options, int64_t streams_from,
                              plan_kernel *kernel, bool *tiled) {
  draft d;
  draft_values values;
  draft_two_loops loops;
  bool streaming = streams_from >= 0, strips = wants_strips(desc, target, streaming);
  LLRT_TRY(lay_out_rows(&d, desc, target, options, strips, false, kernel, &values, tiled));
  if (!*tiled) return LLRT_OK;
  LLRT_TRY(draft_plan_two_loops(&d, &values, &loops));
  bool large = plan_value_bits(&values.load, PLAN_REGISTER) > target->register_bits;
  if (!loops.used && target->simd_lanes && (large || values.load.word > 0))
    LLRT_TRY(lay_out_rows(&d, desc, target, options, strips, true, kernel, &values, tiled));
  draft_strip strip;
  int present = -1;
  draft_uniform_indices(&d);
  LLRT_TRY(open_indices(&d, &values, &present));
  if (streaming && !d.whole_lines[1] && draft_moves_parts(&d)) draft_find_collection(&d);
  LLRT_TRY(draft_open_strip(&d, &values, &strip));
  if (!loops.used) LLRT_TRY(draft_prefetch(&d, &values, 0));
  LLRT_TRY(draft_tile_steps(&d, &values, &loops, streaming));
  draft_close_strip(&d, &strip);
  draft_close_indices(&d, present);
  LLRT_TRY(draft_memory(&d));
  if (streams_from > 0) LLRT_TRY(stream_from(&d, streams_from));
  draft_finish(kernel);
  return LLRT_OK;
}

/* Shared memory moves whole bytes. An exchange of 4-bit elements that shuffles cannot bring into
 * words fails for it; then loads bring them, of half sectors. */
llrt_status plan_tiled(const op_description *desc, const plan_target *target,
                       const plan_options *options, int64_t streams_from, plan_kernel *kernel,
                       bool *tiled) {
  plan_options whole = options ? *options : (plan_options){0};
  llrt_status status = make_tiled(desc, target, options, streams_from, kernel, tiled);
  bool parts_bytes = llrt_dtype_bits(desc->tensors[0].dtype) < 8 && !target->simd_lanes;
  if (status != LLRT_UNSUPPORTED || !parts_bytes) return status;
  whole.whole_words = true;
  return make_tiled(desc, target, &whole, streams_from, kernel, tiled);
}
