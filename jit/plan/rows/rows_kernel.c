/* Planning an expression (docs/expressions.md): rows that fit a block stay in its registers, read
 * once and written once; longer ones are walked, once for each reduction and once for what is
 * written. An expression without reductions is the case of rows of one element. */
#include "jit/plan/rows/rows.h"

#include "base/bits.h"
#include "base/memory.h"
#include "base/status.h"
#include "expression/program_narrow.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/buffer_use.h"

#include <stdlib.h>
#include <string.h>

/* The sets of axes that something is joined along, each inside the next. */
static llrt_status find_groups(rows *r) {
  const expr_program *program = r->program;
  for (int i = 0; i < program->n_nodes; i++) {
    uint8_t own = program->node[i].reduced;
    int at = 0;
    if (!own) continue;
    while (at < r->n_groups && bits_count(r->group[at]) < bits_count(own)) at++;
    if (at < r->n_groups && r->group[at] == own) continue;
    if (r->n_groups == LLRT_MAX_RANK)
      return llrt_error(LLRT_UNSUPPORTED, "reductions along more than %d sets of axes",
                        LLRT_MAX_RANK);
    memmove(&r->group[at + 1], &r->group[at], (size_t)(r->n_groups - at));
    r->group[at] = own;
    r->n_groups++;
  }
  for (int g = 1; g < r->n_groups; g++)
    if (r->group[g - 1] & ~r->group[g])
      return llrt_error(LLRT_UNSUPPORTED,
                        "reductions along two sets of axes, of which neither holds the other");
  return LLRT_OK;
}

/* Whether the output has pads along the axis that are not written: of rows that are walked, of
 * extents in device memory, and where no input stands before it. */
static bool has_pads_left(const rows *r, int t, int axis) {
  const draft *d = &r->d;
  int64_t unit = draft_unit(d, t, axis);
  if (d->desc->tensors[t].storage->pad != LLRT_PAD_VALUE || d->desc->tensors[t].n_indices)
    return false;
  if (!(r->program->tensor[t].axes >> axis & 1) || unit == 1) return false;
  if (draft_on_device(d, axis)) return true;
  return d->shape[axis].multiple % unit != 0 && !draft_stores_pads(d, t, axis);
}

/* Each element of an output is one block's. */
static llrt_status check_outputs(const rows *r) {
  const expr_program *program = r->program;
  uint32_t all = 0;
  for (int t = 0; t < program->n_tensors; t++) all |= program->tensor[t].axes;
  for (int t = 0; t < program->n_tensors; t++) {
    const program_tensor *tensor = &program->tensor[t];
    uint32_t lacking = all & ~(uint32_t)program->reduced & ~(uint32_t)tensor->axes;
    if (tensor->output && lacking)
      return llrt_error(
          LLRT_UNSUPPORTED,
          "an output lacks axis %d, along which other tensors vary and nothing is reduced",
          bits_lowest(lacking));
    for (int a = 0; a < program->rank && tensor->output; a++)
      if (has_pads_left(r, t, a))
        return llrt_error(LLRT_UNSUPPORTED,
                          "an output's storage has pads along axis %d, which expressions do not "
                          "write %s",
                          a,
                          draft_on_device(&r->d, a) ? "where its extent is in device memory"
                          : t == 0                  ? "where there are no inputs"
                                                    : "along rows that are too long for a block");
  }
  return LLRT_OK;
}

static bool stored_in_walk(const rows *r, const program_tensor *tensor) {
  return !r->resident && (tensor->axes & r->program->reduced) != 0;
}

/* Outputs of a walk, those of rows that lie in a block, and of these what is stored before. */
typedef enum output_part { IN_WALK, BEHIND_JOINS, BEFORE_JOINS } output_part;

static bool is_stored(const rows *r, int t, output_part part) {
  const program_tensor *tensor = &r->program->tensor[t];
  if (!tensor->output || stored_in_walk(r, tensor) != (part == IN_WALK)) return false;
  return part == IN_WALK || rows_is_apart(r, t) == (part == BEFORE_JOINS);
}

/* All that may lie where an output does is loaded before anything is stored: an output may be where
 * an input was. walk: the step that opens the walk in which that is; -1: in none, or other steps
 * stand before. */
static llrt_status store_outputs(rows *r, output_part part, int walk) {
  const program_tensor *tensor = r->program->tensor;
  for (int t = 0; t < r->program->n_tensors; t++)
    if (is_stored(r, t, part)) LLRT_TRY(rows_fetch_for(r, tensor[t].node));
  if (walk >= 0) rows_load_early(r, walk);
  if (walk >= 0) LLRT_TRY(rows_keep_loaded(r));
  for (int t = 0; t < r->program->n_tensors; t++) {
    if (!is_stored(r, t, part)) continue;
    LLRT_TRY(rows_make_node(r, tensor[t].node));
    LLRT_TRY(rows_store(r, t, r->value[tensor[t].node]));
  }
  return LLRT_OK;
}

/* Whether what is written begins with the row's end: of a row that has no room in shared memory as
 * a whole that is what the walk before has brought into the second-level cache last. Scans that are
 * carried have an order. */
static bool begins_with_end(const rows *r) {
  bool part = false, carries = false;
  for (int i = 0; i < r->program->n_nodes; i++) {
    part |= r->kept[i] != ROWS_NONE && rows_keeps_part(r, i);
    carries |= r->carried[i] != ROWS_NONE;
  }
  return part && !carries;
}

/* What other blocks of the cluster read of a block they have read before it ends, and before it
 * stores: a barrier would wait for stores. */
static llrt_status let_others_read(plan_kernel *kernel) {
  if (!plan_others_read(kernel)) return LLRT_OK;
  return draft_step(kernel, (plan_step){.kind = PLAN_BARRIER});
}

/* What is written along rows, in one walk. */
static llrt_status walk_outputs(rows *r) {
  plan_kernel *kernel = r->d.kernel;
  bool any = false;
  for (int t = 0; t < r->program->n_tensors; t++) {
    const program_tensor *tensor = &r->program->tensor[t];
    if (!tensor->output || !stored_in_walk(r, tensor)) continue;
    LLRT_TRY(rows_prepare(r, tensor->node));
    any = true;
  }
  if (!any) return LLRT_OK;
  for (int t = 0; t < r->program->n_tensors; t++) {
    if (is_stored(r, t, IN_WALK)) LLRT_TRY(rows_begin_scans(r, r->program->tensor[t].node));
  }
  int walk;
  if (kernel->cluster_bits) LLRT_TRY(let_others_read(kernel));
  LLRT_TRY(draft_open(kernel, (plan_step){.kind = PLAN_WALK, .bare = true}, &walk));
  kernel->step[walk].reverse = begins_with_end(r);
  LLRT_TRY(store_outputs(r, IN_WALK, walk));
  /* Lanes that store nothing would run ahead to the shuffles of the next turn's scans. */
  bool scans = rows_end_scans(r);
  if (scans && kernel->n_bounds > 0 && !kernel->target.simd_lanes)
    LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_BARRIER}));
  rows_close_walk(r, walk);
  /* Of two kernels that store halves of bytes the first may have nothing to store along rows. */
  if (kernel->step[walk].body == 0) kernel->n_steps = walk;
  return LLRT_OK;
}

bool rows_is_loaded(const rows *r, int number) {
  uint64_t bits;
  return r->program->node[number].op == EXPR_TENSOR && rows_flip_of(r, number, &bits) == ROWS_NONE;
}

bool rows_is_of_rows(const rows *r, int number) {
  const expr_program *program = r->program;
  uint32_t all = 0, own = program->node[number].axes | program->reduced;
  for (int t = 0; t < program->n_tensors; t++) all |= program->tensor[t].axes;
  return !(all & ~own) && !rows_walks(r, number);
}

int rows_loaded_first(const rows *r, int *node) {
  int n = 0;
  for (int i = 0; i < r->program->n_nodes; i++) {
    if (!rows_is_loaded(r, i) || !rows_is_of_rows(r, i)) continue;
    if (node) node[n] = i;
    n++;
  }
  return n;
}

/* Whether a tensor differs from block to block, but is no row: a table by position, a scale of each
 * row. It is in no cache yet, as rows are not. */
static bool differs_by_block(const rows *r, int number) {
  return rows_is_loaded(r, number) && (r->program->node[number].axes & ~r->program->reduced) &&
         !rows_walks(r, number);
}

/* What differs from row to row comes first, so that all of it is under way together; what is the
 * same for all of them, and likely near, only when it is wanted, so that it takes no registers of
 * blocks that wait. Where few rows come nothing is near, and registers are there.
 */
static llrt_status load_inputs(rows *r) {
  int node[PROGRAM_MAX_NODES], n = rows_loaded_first(r, node);
  for (int i = 0; i < n; i++) LLRT_TRY(rows_fetch(r, node[i]));
  for (int i = 0; i < r->program->n_nodes; i++)
    if (differs_by_block(r, i) || (r->few && r->resident && rows_is_loaded(r, i)))
      LLRT_TRY(rows_fetch(r, i));
  return LLRT_OK;
}

/* Reductions of rows in a block, each with the tensors that it wants. Those that few warps make
 * come last: behind them there are no loops (jit/plan/rolled/rolled.c). */
static llrt_status reduce_resident(rows *r) {
  for (int last = 0; last < 2 && r->resident; last++)
    for (int i = 0; i < r->program->n_nodes; i++) {
      if (!r->program->node[i].reduced || rows_joins_one_hot(r, i) != last) continue;
      LLRT_TRY(rows_fetch_for(r, i));
      LLRT_TRY(rows_make_node(r, i));
    }
  return LLRT_OK;
}

/* Values out of range are counted over a tile of 32-bit elements. *branch: as draft_open_indices.
 */
static llrt_status open_indices(rows *r, int *branch) {
  plan_kernel *kernel = r->d.kernel;
  bool reports = false;
  int walked = 0;
  for (int i = 0; i < kernel->n_indices; i++) {
    if (kernel->index[i].report.arg < 0) continue;
    reports = true;
    if (!r->resident && kernel->index[i].axes & r->program->reduced)
      return llrt_error(LLRT_UNSUPPORTED, "values of an index are counted (REPORT) along rows that "
                                          "are too long for a block");
  }
  if (reports) LLRT_TRY(rows_new_value(r, bits_mask(r->d.tile_bits), 32, &walked));
  draft_uniform_indices(&r->d);
  return draft_open_indices(&r->d, walked, 0, branch);
}

/* Rows that lie in a block. */
static llrt_status resident_steps(rows *r) {
  plan_kernel *kernel = r->d.kernel;
  LLRT_TRY(load_inputs(r));
  LLRT_TRY(store_outputs(r, BEFORE_JOINS, -1));
  LLRT_TRY(reduce_resident(r));
  LLRT_TRY(rows_ask_ahead(r));
  if (r->clusters) LLRT_TRY(let_others_read(kernel));
  LLRT_TRY(store_outputs(r, BEHIND_JOINS, -1));
  return kernel->cluster_bits ? let_others_read(kernel) : LLRT_OK;
}

/* Indices and extents in device memory are of whole blocks. */
static bool may_cluster(const op_description *desc) {
  bool may = true;
  for (int t = 0; t < desc->n_tensors; t++) {
    may &= desc->tensors[t].n_indices == 0;
    for (int a = 0; a < desc->tensors[t].rank; a++) may &= !desc->tensors[t].extent_ptr[a];
  }
  return may;
}

bool rows_may_cluster(const rows *r) { return may_cluster(r->d.desc); }

int rows_count_weights(const rows *r) {
  int n = 0;
  for (int i = 0; i < r->program->n_nodes; i++) n += rows_is_loaded(r, i);
  return n - rows_loaded_first(r, NULL);
}

/* Of rows of known length turns are a number of the code: ptxas may unroll short walks. */
static void know_turns(rows *r) {
  int64_t turns = r->resident || r->d.kernel->target.simd_lanes ? 0 : rows_turns(r);
  if (turns > 0) r->d.kernel->walk.turns = (plan_number){.arg = -1, .value = turns};
}

/* *made: false where rows that are to be resident are too long. */
static llrt_status make_kernel(rows *r, const op_description *desc, const plan_target *target,
                               const plan_options *options, plan_kernel *kernel, bool *made) {
  draft *d = &r->d;
  draft_begin(d, desc, target, options, kernel);
  kernel->stored_half = r->half;
  /* Nodes have words of 32 bits: more lanes than two registers of those have are code alone. */
  if (target->simd_lanes)
    kernel->lane_bits = bits_min(kernel->lane_bits, bits_log2(target->vector_bytes * 8 / 16));
  if (r->resident) d->roles.resident = r->program->reduced;
  d->apart = r->resident || !target->simd_lanes;
  if (r->resident) d->roles.may_be_empty = 0;
  LLRT_TRY(draft_digits(d));
  if (d->divided)
    return llrt_error(LLRT_UNSUPPORTED, "the tensors' storages have no common refinement");
  LLRT_TRY(check_outputs(r));
  rows_find_cuts(r);
  LLRT_TRY(rows_tile(r, made));
  if (!*made) return LLRT_OK;
  LLRT_TRY(draft_space(d));
  if (!r->resident) LLRT_TRY(draft_walk_turns(d, r->program->reduced, 1));
  know_turns(r);
  rows_fill_ends(r);
  LLRT_TRY(rows_begin_keeping(r));
  LLRT_TRY(rows_begin_ring(r));
  int present = -1;
  LLRT_TRY(open_indices(r, &present));
  LLRT_TRY(resident_steps(r));
  LLRT_TRY(walk_outputs(r));
  draft_close_indices(d, present);
  kernel->resident = rows_blocks_of_unit(r);
  LLRT_TRY(draft_memory(d));
  draft_finish(kernel);
  rows_reserve_waiting(r);
  return LLRT_OK;
}

static llrt_status make_rows(rows *r, const op_description *desc, const plan_target *target,
                             const plan_options *options, rows_way way, plan_kernel *kernel) {
  static const struct {
    bool resident, clusters, keeps;
  } ways[] = {
      {true, false, false}, {true, true, false}, {false, false, true}, {false, false, false}};
  enum { WAYS = sizeof ways / sizeof *ways };
  bool made = false, may = may_cluster(desc);
  for (int i = 0; i < WAYS && !made; i++) {
    if (ways[i].clusters && !may) continue;
    bool clusters = target->cluster_bits > 0 && target->tuning->rows_cluster_warp_bits > 0;
    if (ways[i].clusters && !clusters) continue;
    memset(r, 0, sizeof *r);
    r->program = &desc->program;
    r->resident = ways[i].resident;
    r->clusters = ways[i].clusters;
    r->may_keep = ways[i].keeps;
    r->few = way.few;
    r->half = way.half;
    for (int k = 0; k < PROGRAM_MAX_NODES; k++) r->value[k] = r->loaded[k] = r->kept[k] = ROWS_NONE;
    rows_end_scans(r);
    r->ring = ROWS_NONE;
    program_find_narrow(r->program, r->narrow);
    LLRT_TRY(find_groups(r));
    llrt_status status = make_kernel(r, desc, target, options, kernel, &made);
    if (status == LLRT_UNSUPPORTED && r->clusters) made = false; /* another way may do it */
    else LLRT_TRY(status);
    made &= !r->d.keeps || kernel->launch.shared_bytes <= target->facts.shared_bytes;
  }
  return made ? LLRT_OK
              : llrt_error(LLRT_UNSUPPORTED, "no tile of the expression's tensors fits a block");
}

llrt_status rows_make_kernel(const op_description *desc, const plan_target *target,
                             const plan_options *options, rows_way way, plan_kernel *kernel,
                             bool *halves) {
  rows *r = memory_new(sizeof *r);
  if (!r) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a plan");
  llrt_status status = make_rows(r, desc, target, options, way, kernel);
  *halves = status == LLRT_UNSUPPORTED && r->wants_halves;
  free(r);
  return status;
}
