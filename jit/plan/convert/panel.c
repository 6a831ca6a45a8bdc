/* Gathers by values that every element has for itself (take_along_axis): a block keeps in shared
 * memory all that its values choose from, a few neighbours of each position of the gathered axis,
 * and walks that axis of the destination,
 *
 *   stage, barrier, walk { load from the panel, maps, exchange inside warps, store }
 *
 * A source element is then read from memory once, and what is chosen at random costs a bank, not a
 * sector (docs/indices.md). */
#include "jit/plan/convert/panel.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/convert/tile_steps.h"
#include "jit/plan/cost/trace.h"
#include "jit/plan/draft/draft.h"
#include "jit/plan/facts/access.h"

/* The digit that alone holds an axis; -1: there are several. */
static int only_digit(const draft *d, int axis) {
  int found = -1;
  for (int i = 0; i < d->kernel->n_digits; i++) {
    if (d->kernel->digit[i].axis != axis) continue;
    if (found >= 0 || d->fused[i] || d->kernel->digit[i].step != 1) return -1;
    found = i;
  }
  return found;
}

/* Whether an index is of the kind that panels are for. */
static bool is_wanted(const op_description *desc, const plan_target *target) {
  const llrt_tensor *source = &desc->tensors[0];
  const llrt_index *index = source->indices;
  if (target->simd_lanes || desc->n_tensors != 2 || source->n_indices != 1 ||
      desc->tensors[1].n_indices != 0)
    return false;
  for (int t = 0; t < 2; t++)
    if (llrt_dtype_bits(desc->tensors[t].dtype) < 8) return false;
  for (int t = 0; t < 2; t++)
    for (int a = 0; a < source->rank; a++)
      if (desc->tensors[t].extent_ptr[a]) return false;
  return index->kind == LLRT_INDEX_COORDINATE && index->folded == 0 &&
         index->out_of_range != LLRT_RANGE_REPORT && index->axes >> index->axis & 1;
}

/* log2 elements that divide the source's address at every position's first neighbour. */
static int source_alignment(const draft *d) {
  int align = bits_min(d->address_align[0], d->index_align[0]);
  for (int i = 0; i < d->kernel->n_digits; i++)
    if (d->kernel->digit[i].side[0].kind == PLAN_STRIDE)
      align = bits_min(align, d->side[i][0].align);
  return align;
}

/* Whether `bit` is one bit of a digit that moves the source by 2^j elements, and index 0's value
 * may differ along it. */
static bool is_neighbour(const draft *d, uint64_t bit, int j) {
  int i = 0, z = bits_lowest(bit);
  while (z >= d->first[i] + d->bits[i]) i++;
  return bits_count(bit) == 1 && d->kernel->digit[i].side[0].kind == PLAN_COLUMNS &&
         d->column[0][z] == 1ull << j && (d->selects[0] & bit);
}

/* log2 neighbours of a position: leading bits of the destination's run that are the source's, too;
 * -1: too few. */
static int neighbour_bits(const draft *d, const draft_runs *run, uint64_t axis_bits) {
  int width = bits_log2(d->kernel->target.tuning->panel_neighbour_bytes) - draft_log2_bytes(d, 0);
  if (run->n > 0 && run->vector[0] & axis_bits) return 0;
  if (width < 0 || run->n < width || source_alignment(d) < width) return -1;
  for (int j = 0; j < width; j++)
    if (!is_neighbour(d, run->vector[j], j)) return -1;
  return width;
}

/* The tile: neighbours, then positions along the axis. False where the storages do not allow it. */
static bool panel_tile(draft *d, int axis) {
  const plan_target *target = &d->kernel->target;
  draft_runs run; /* the destination's */
  int digit = only_digit(d, axis), n = 0;
  if (digit < 0 || d->kernel->split_128) return false;
  uint64_t axis_bits = bits_mask(d->bits[digit]) << d->first[digit], tile = 0;
  draft_runs_of(d, 1, &run);
  int width = neighbour_bits(d, &run, axis_bits);
  if (width < 0 || (d->selects[0] & axis_bits) != axis_bits) return false;
  int along =
      bits_min(d->kernel->lane_bits + target->warp_bits + target->tuning->panel_thread_bits - width,
               d->bits[digit]);
  for (int j = 0; j < width; j++) d->order[0][n++] = run.vector[j];
  for (int j = 0; j < along; j++) d->order[0][n++] = 1ull << (d->first[digit] + j);
  for (int j = 0; j < n; j++) tile |= d->order[1][j] = d->order[0][j];
  if (n < d->kernel->lane_bits + 2) return false;
  d->tile_bits = n;
  d->run[0] = 0; /* loads are from shared memory */
  d->run[1] = 0;
  while (d->run[1] < bits_min(run.n, n) && run.vector[d->run[1]] == d->order[1][d->run[1]])
    d->run[1]++;
  int values = draft_index_vector(d, 0, d->order[1][0]);
  d->vector[0] = 0;
  d->vector[1] = bits_min(bits_min(d->run[1], run.align), bits_max(values, 0));
  if (d->skips & tile) d->vector[1] = 0;
  d->align[1] = d->vector[1];
  d->thread_bits = bits_max(n - d->kernel->lane_bits - target->warp_bits, 0);
  d->kernel->panel = (plan_panel){.gathered = true, .width = (uint8_t)width};
  d->kernel->panel.most =
      ((int64_t)target->facts.shared_bytes >> width) / (d->kernel->tensor_bits[0] / 8);
  draft_fill_grid(d, tile, axis_bits);
  return true;
}

/* Whether neighbours lie in memory as they are numbered, and values choose by one stride. */
static bool lies_straight(const plan_kernel *kernel) {
  const plan_index *index = &kernel->index[0];
  plan_address_map map;
  plan_address_of_tensor(kernel, 0, &map);
  for (int j = 0; j < kernel->space.in[0].bits; j++)
    if (map.column[j] != (j < kernel->panel.width ? 1ull << j : 0)) return false;
  return index->tile_bits == 0 && index->n_parts == 1 && kernel->swizzle[0].swizzle_len == 0;
}

/* Loads are from the panel, whose memory nothing else may use. */
static bool load_from_panel(plan_kernel *kernel) {
  for (int i = 0; i < kernel->n_steps; i++) {
    plan_step *step = &kernel->step[i];
    if (step->kind == PLAN_SHARED_STORE) return false;
    step->staged |= step->kind == PLAN_LOAD;
  }
  return true;
}

static plan_range range_of(const plan_kernel *kernel, int axis) {
  int along = kernel->space.in[0].bits - kernel->panel.width;
  return (plan_range){.axes = 1u << axis,
                      .min_along = ((int64_t)1 << along) / 2 + 1,
                      .min_across =
                          (int64_t)kernel->target.tuning->unit_panels * kernel->target.facts.units
                          << kernel->panel.width,
                      .max_values = kernel->panel.most};
}

llrt_status plan_panel_make(const op_description *desc, const plan_target *target,
                            const plan_options *options, plan_kernel *kernel, bool *made) {
  draft d;
  draft_values values;
  *made = false;
  static const char what[] = "gather from panels in shared memory";
  if (!is_wanted(desc, target)) {
    if (desc->tensors[0].n_indices == 0) return LLRT_OK;
    return plan_refused(options, NULL, what,
                        "they are for one index of the source by coordinates that depend on the "
                        "gathered axis itself, elements of whole bytes, on a GPU");
  }
  draft_begin(&d, desc, target, options, kernel);
  d.walks_panel = true;
  d.panel_axis = desc->tensors[0].indices[0].axis;
  LLRT_TRY(draft_maps(&d));
  LLRT_TRY(draft_digits(&d));
  if (d.divided || d.word_elements > 0 || !panel_tile(&d, d.panel_axis))
    return plan_refused(options, NULL, what,
                        "the gathered axis is no one digit of both storages, or neighbours of its "
                        "positions do not lie together");
  LLRT_TRY(draft_space(&d));
  if (!lies_straight(kernel))
    return plan_refused(options, NULL, what,
                        "neighbours are permuted in memory, or values choose by several strides");
  LLRT_TRY(draft_assign(&d, &values));
  LLRT_TRY(draft_walk_turns(&d, 1u << d.panel_axis, 1));
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_STAGE}));
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_BARRIER}));
  int walk;
  LLRT_TRY(draft_open(kernel, (plan_step){.kind = PLAN_WALK, .bare = true}, &walk));
  LLRT_TRY(draft_tile_steps(&d, &values, &(draft_two_loops){.used = false}, false));
  draft_close(kernel, walk);
  *made = load_from_panel(kernel);
  if (!*made)
    plan_refused(options, NULL, what, "an exchange would want the shared memory that panels have");
  kernel->launch.value_bytes = kernel->tensor_bits[0] / 8 << kernel->panel.width;
  kernel->launch.range = range_of(kernel, d.panel_axis);
  draft_finish(kernel);
  return LLRT_OK;
}
