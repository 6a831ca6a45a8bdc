/* Variants of a product: one kernel, or two whose first one's blocks share K, with the stages
 * before and behind. See dot_planner.h. */
#include "jit/plan/dot/dot_planner.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/cost/trace.h"
#include "jit/plan/stages/stages.h"

#include <stdio.h>

/* The variant of the kernels from `first` on, and its workspace. */
void dot_close_variant(dot_planner *p, int first, plan_range range, bool split) {
  plan_launch *launch = stages_close(p->out, first, range);
  if (!split && !p->rows && !p->result_in_workspace && !p->copied) return;
  launch->walk.axes |=
      1u << (p->rank -
             1); /* a copy of an operand has nothing to do without positions along K, others have */
  bool leaves_zeros = split && p->warpgroups && !p->rows && !p->result_in_workspace;
  launch->workspace = (plan_workspace){.n = PLAN_MAX_REGIONS, .clear = !leaves_zeros};
  plan_region *region = launch->workspace.region;
  if (split) region[REGION_PARTIAL].per_partial = stages_element_bytes(p->job.rule.sums);
  for (int t = 0; t < 3; t++) {
    bool used = t == 1 ? p->result_in_workspace : dot_is_rows(p, t / 2);
    plan_region *own = &region[t == 0 ? REGION_A : t == 1 ? REGION_D : REGION_B];
    llrt_dtype type = t == 1 ? p->between : p->desc->tensors[t].dtype;
    if (used) own->per_position = stages_element_bytes(type);
    if (used && llrt_dtype_bits(type) < 8) /* of bytes at the ends of rows both halves are read */
      launch->workspace.zero = bits_max(launch->workspace.zero, (int)(own - region) + 1);
    own->axes = (int64_t)(bits_mask(p->rank) & ~(uint64_t)dot_lacking(p->desc, t));
  }
  for (int i = 0; i < 2; i++) {
    plan_region *own = &region[i ? REGION_B : REGION_A];
    if (!(p->copied >> i & 1)) continue;
    own->per_position = stages_element_bytes(p->copy_type[i]);
    own->pieces = dot_piece_bits(p->copy_type[i]);
  }
}

/* "tile 128 x 256, turns of 64 along K: blocks share K". */
void dot_name_tile(const dot_planner *p, const dot_shape *shape, const char *how,
                   char what[PLAN_ATTEMPT_NAME]) {
  snprintf(what, PLAN_ATTEMPT_NAME, "%stile %d x %d, turns of %d along K%s%s",
           shape->warpgroups ? "warpgroups, " : "",
           shape->own[0] ? shape->own[0] : 1 << shape->bits[DOT_DIM_M],
           shape->own[1] ? shape->own[1] : 1 << shape->bits[DOT_DIM_N], 1 << shape->bits[DOT_DIM_K],
           *how             ? ": "
           : shape->beside  ? ": clusters fetch together"
           : shape->cluster ? ": clusters share K"
                            : "",
           how);
  (void)p;
}

llrt_status dot_add_split(dot_planner *p, const dot_shape *shape, int narrow, bool *done) {
  int first = p->out->n_variants, holds;
  plan_kernel *kernel;
  bool divided;
  plan_range range = {.axes = 1u << (p->rank - 1),
                      .min_along = (int64_t)2 * p->target->tuning->dot_least_turns
                                   << shape->bits[DOT_DIM_K],
                      .max_across = dot_blocks_of(p, shape) / 2
                                    << (shape->bits[DOT_DIM_M] + shape->bits[DOT_DIM_N])};
  if (narrow >= 0) range = (plan_range){.min_elements = 0};
  if (narrow >= 0) range.max_extent[p->rank - 3 + narrow] = (int64_t)1 << shape->bits[narrow];
  char what[PLAN_ATTEMPT_NAME];
  dot_name_tile(p, shape, "blocks share K", what);
  holds = stages_range_holds(p->desc, &range);
  if (holds == 0) return plan_refused(p->options, NULL, what, NO_SHAPE);
  LLRT_TRY(dot_before_stages(p));
  LLRT_TRY(stages_next(p->out, &kernel));
  LLRT_TRY(dot_multiply_stage(p, shape, true, kernel, &divided));
  if (divided)
    return llrt_error(LLRT_UNSUPPORTED, "partial sums and the operands have no refinement");
  plan_taken(p->options, kernel, "%s", what);
  LLRT_TRY(stages_next(p->out, &kernel));
  LLRT_TRY(dot_finish_stage(p, kernel));
  LLRT_TRY(dot_behind_stages(p));
  *done = holds == 2;
  dot_close_variant(p, first, *done ? (plan_range){.min_elements = 0} : range, true);
  return LLRT_OK;
}

llrt_status dot_add_whole(dot_planner *p, const dot_shape *shape, int narrow, int64_t most,
                          bool *done) {
  int first = p->out->n_variants;
  plan_kernel *kernel;
  plan_range range = {.min_elements = 0};
  bool divided;
  if (narrow >= 0) range.max_extent[p->rank - 3 + narrow] = most;
  char what[PLAN_ATTEMPT_NAME];
  dot_name_tile(p, shape, "", what);
  int holds = stages_range_holds(p->desc, &range);
  if (holds == 0) return plan_refused(p->options, NULL, what, NO_SHAPE);
  *done = holds == 2;
  LLRT_TRY(dot_before_stages(p));
  LLRT_TRY(stages_next(p->out, &kernel));
  LLRT_TRY(
      plan_refused_by(p->options, dot_multiply_stage(p, shape, false, kernel, &divided), what));
  if (!divided) plan_taken(p->options, kernel, "%s", what);
  else plan_refused(p->options, NULL, what, "the storages do not divide a tile's columns");
  if (divided) return llrt_error(LLRT_UNSUPPORTED, "the storages do not divide a tile's columns");
  LLRT_TRY(dot_behind_stages(p));
  dot_close_variant(p, first, *done ? (plan_range){.min_elements = 0} : range, false);
  return LLRT_OK;
}

/* ---- one row ---- */

/* Whether the elements are multiplied as they are, summed in f32. */
static bool is_plain_row(const dot_planner *p) {
  const bool beside = p->rows || p->result_in_workspace || p->alone || p->invariant;
  return !beside && p->job.rule.sums == LLRT_F32 && dot_row_word(&p->job) >= 0 &&
         dot_can_copy(p, 0) && dot_can_copy(p, 1);
}

llrt_status dot_add_row(dot_planner *p, bool *done) {
  const int first = p->out->n_variants, rank = p->rank;
  const plan_target *target = p->target;
  const plan_tuning *numbers = target->tuning;
  plan_range range = {.min_elements = 0};
  bool divided;
  *done = false;
  if (numbers->dot_row_warp_bits == 0 || !is_plain_row(p)) return LLRT_OK;
  const int turn = dot_row_word(&p->job) + target->lane_bits + numbers->dot_row_word_bits +
                   numbers->dot_row_warp_bits - 1;
  const dot_shape shape = {.bits = {0, 1 + numbers->dot_row_bits, turn},
                           .warps = numbers->dot_row_warp_bits,
                           .row = true};
  range.max_extent[rank - 3] = 1;
  range.min_extent[rank - 2] = (int64_t)target->facts.units << shape.bits[DOT_DIM_N];
  range.min_extent[rank - 1] = (int64_t)1 << (turn - 1);
  const int holds = stages_range_holds(p->desc, &range);
  if (holds == 0) return plan_refused(p->options, NULL, "one row", NO_SHAPE);
  plan_kernel *kernel;
  LLRT_TRY(stages_next(p->out, &kernel));
  llrt_status status = dot_multiply_stage(p, &shape, false, kernel, &divided);
  plan_refused_by(p->options, status, "one row");
  if (status != LLRT_OK || divided) {
    p->out->n_variants = first;
    return status == LLRT_UNSUPPORTED ? LLRT_OK : status;
  }
  plan_taken(p->options, kernel, "one row, lanes along K");
  *done = holds == 2;
  dot_close_variant(p, first, *done ? (plan_range){.min_elements = 0} : range, false);
  return LLRT_OK;
}
