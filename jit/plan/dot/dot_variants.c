/* Planning a dot: its variants.
 *
 * One kernel does everything where blocks are enough. Else blocks take a share of K each and leave
 * sums in the workspace, which a second stage adds in the order of the shares: shape and promises
 * alone decide, so every run gives the same bits. Operands that have no common refinement with the
 * result are made row-major by converts before; a destination that has copies or pads to be
 * written, by one behind. */
#include "jit/plan/dot/dot_planner.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/cost/trace.h"
#include "jit/plan/stages/stages.h"
#include "layout/storage_rule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* log2 of the longest M or N for which narrower tiles are made, beside DOT_NARROW_BITS. */
#define MIDDLE_BITS 6
/* The same on the host. */
#define FEW_BITS 2

#define LEAST_HALF (-14) /* log2 of the least f16 that is no subnormal */

/* Whether an operand that becomes f16 may have subnormals there. */
static bool may_be_flushed(const op_description *desc, llrt_dot_role operand,
                           const dot_operand_rule *rule) {
  return dot_operand_of(desc, operand).element != LLRT_F16 && rule->values.low < LEAST_HALF;
}

void dot_begin_job(const op_description *desc, const plan_target *target, dot_job *job) {
  *job = (dot_job){.desc = *desc, .rule = dot_rule_of(desc)};
  for (int r = 0; r < LLRT_DOT_ROLES; r++)
    job->tensor[r] = dot_tensor(&desc->dot, (llrt_dot_role)r);
  for (int i = 0; i < 2; i++)
    job->words[i] = desc->dot.word_bits[i][0] || desc->dot.word_bits[i][1];
  job->scaled_sums[0] = dot_operand_of(desc, LLRT_DOT_A).on_sums;
  job->scaled_sums[1] = dot_operand_of(desc, LLRT_DOT_B).on_sums;
  bool flushed = may_be_flushed(desc, LLRT_DOT_A, &job->rule.a) ||
                 may_be_flushed(desc, LLRT_DOT_B, &job->rule.b);
  if (target->flushes_halves && job->rule.compute == DOT_F16 && flushed)
    job->rule.compute = DOT_F32;
}

/* ---- variants ---- */

/* Without it where a kernel of shares would have a digit too many, or where promises leave turns
 * for one share alone: it is only faster. */
static llrt_status try_split(dot_planner *p, const dot_shape *shape, int narrow, bool *done) {
  int first = p->out->n_variants;
  int64_t most = p->desc->promises[0].shape[p->rank - 1].max;
  *done = false;
  char what[PLAN_ATTEMPT_NAME];
  dot_name_tile(p, shape, "blocks share K", what);
  if (most > 0 && most < (int64_t)2 * p->target->tuning->dot_least_turns << shape->bits[DOT_DIM_K])
    return plan_refused(p->options, NULL, what,
                        "K is at most %lld, and two shares of %d turns are more", (long long)most,
                        p->target->tuning->dot_least_turns);
  llrt_status status = dot_add_split(p, shape, narrow, done);
  if (status != LLRT_UNSUPPORTED) return status;
  plan_refused_by(p->options, status, what);
  p->out->n_variants = first;
  *done = false;
  return LLRT_OK;
}

/* ---- the whole ---- */

/* What operands have to be copied so that warpgroups multiply them; 0: they do not whatever is
 * copied. Of B alone, of A alone, of both. */
static llrt_status find_copies(dot_planner *p, const dot_shape *shape, int *copies) {
  plan_kernel *scratch = &p->out->variant[0];
  *copies = 0;
  LLRT_TRY(dot_begin_copies(p));
  static const int order[] = {2, 1, 3};
  static const char *const copies_name[] = {"", "warpgroups, A copied", "warpgroups, B copied",
                                            "warpgroups, A and B copied"};
  for (int i = 0; i < 3 && *copies == 0; i++) {
    bool divided = false, can = true;
    p->copied = order[i];
    for (int o = 0; o < 2; o++) can &= !(p->copied >> o & 1) || dot_can_copy(p, o);
    llrt_status status =
        can ? dot_multiply_stage(p, shape, false, scratch, &divided) : LLRT_UNSUPPORTED;
    for (int o = 0; o < 2 && status == LLRT_OK && !divided; o++)
      if (p->copied >> o & 1) status = dot_copy_stage(p, o, scratch);
    if (status == LLRT_OK && !divided) *copies = order[i];
    else
      plan_refused(p->options, NULL, copies_name[order[i]], "%s",
                   !can ? "scales, zero points or permuted words are the operand's own"
                   : status == LLRT_OK ? "no common refinement with the result"
                                       : plan_refusal());
    p->copied = 0;
    if (status != LLRT_OK && status != LLRT_UNSUPPORTED) return status;
  }
  return LLRT_OK;
}

/* Which operands are made row-major, and D, where there is no common refinement: of B, of A, of
 * both; as few as help. Words of permuted bits stay where they lie: converts move elements, and
 * theirs have no bits of their own. Nor do converts take 4-bit elements whose rows begin inside a
 * byte. */
static llrt_status find_rows(dot_planner *p, const dot_shape *shape) {
  static const int order[] = {0, 2, 1, 3};
  plan_kernel *scratch = &p->out->variant[0];
  bool divided = true;
  p->result_in_workspace = true;
  for (int i = 0; i < 4 && divided; i++) {
    p->rows = order[i];
    if ((dot_is_rows(p, 0) && p->job.words[0]) || (dot_is_rows(p, 1) && p->job.words[1])) continue;
    llrt_status status = dot_multiply_stage(p, shape, false, scratch, &divided);
    for (int o = 0; o < 2 && status == LLRT_OK && !divided; o++)
      if (dot_is_rows(p, o)) status = dot_rows_stage(p, 2 * o, o ? REGION_B : REGION_A, scratch);
    if (status != LLRT_OK && status != LLRT_UNSUPPORTED) return status;
    divided |= status != LLRT_OK;
  }
  if (!divided) return LLRT_OK;
  return llrt_error(
      LLRT_UNSUPPORTED,
      "the storages and groups of scales and addends, and operands with word_bits, do not divide "
      "each other's positions into at most %d digits",
      PLAN_MAX_DIGITS);
}

/* Whether warpgroups multiply the operands as they lie, or what is copied for that; four of them
 * where they can. */
static llrt_status find_groups(dot_planner *p, int *copies, bool *divided) {
  const bool four = dot_sums_short(&p->job, p->target);
  llrt_status status = LLRT_UNSUPPORTED;
  for (int less = 0; less <= four && status == LLRT_UNSUPPORTED; less++) {
    p->four_warpgroups = four && !less;
    dot_shape shape = dot_warpgroup_tile(p);
    status = dot_multiply_stage(p, &shape, false, &p->out->variant[0], divided);
    char what[PLAN_ATTEMPT_NAME];
    dot_name_tile(p, &shape, "", what);
    plan_refused_by(p->options, status, what);
    if (status == LLRT_OK && *divided)
      plan_refused(p->options, NULL, what, "operands and result have no common refinement");
  }
  p->warpgroups = status == LLRT_OK && !*divided;
  if (status != LLRT_UNSUPPORTED) return status;
  if (p->alone) return LLRT_OK;
  for (int less = 0; less <= four && *copies == 0; less++) {
    p->four_warpgroups = four && !less;
    dot_shape shape = dot_warpgroup_tile(p);
    LLRT_TRY(find_copies(p, &shape, copies));
  }
  return LLRT_OK;
}

static llrt_status begin(dot_planner *p, int *copies) {
  bool divided = false;
  *copies = 0;
  LLRT_TRY(llrt_storage_row_major(p->rank, &p->row_major));
  LLRT_TRY(llrt_storage_row_major(p->rank, &p->finish_rows));
  p->result_in_workspace =
      storage_writes_more(p->desc->tensors[1].storage) || p->between != p->desc->tensors[1].dtype;
  if (!p->target->simd_lanes && p->target->async_copies) LLRT_TRY(find_groups(p, copies, &divided));
  else if (!p->target->simd_lanes)
    plan_refused(p->options, NULL, "warpgroups", "%s has none", p->target->name);
  dot_shape shape = dot_large_tile(p);
  const bool result_in_workspace = p->result_in_workspace;
  llrt_status status =
      p->warpgroups ? LLRT_OK : dot_multiply_stage(p, &shape, false, &p->out->variant[0], &divided);
  if (status != LLRT_OK && status != LLRT_UNSUPPORTED) return status;
  if (p->alone && (divided || p->result_in_workspace))
    return llrt_error(LLRT_UNSUPPORTED, "a %s whose %s in one launch",
                      p->grouped ? "grouped product" : "product with lists of pointers",
                      divided ? "storages have no common refinement: converts before do not go"
                              : "result would be converted behind does not go");
  if (!p->alone && (divided || status != LLRT_OK)) {
    plan_refused(p->options, NULL, "operands and result where they lie", "%s",
                 status != LLRT_OK ? plan_refusal()
                                   : "they have no common refinement: some are made row-major");
    llrt_status rows = find_rows(p, &shape);
    if (rows != LLRT_OK && (divided || rows != LLRT_UNSUPPORTED)) return rows;
    status = rows;
  }
  if (status != LLRT_OK) {
    p->rows = 0; /* as operands lie, whose refusal says more */
    p->result_in_workspace = result_in_workspace;
    return dot_multiply_stage(p, &shape, false, &p->out->variant[0], &divided);
  }
  if (p->rows || p->result_in_workspace) *copies = 0; /* tensors are copied for every shape */
  return LLRT_OK;
}

/* On the host lanes take the longer axis, and rows that are not there cost as much as others. Few
 * positions hold no whole words of packed elements. */
static llrt_status add_thin(dot_planner *p, bool *done) {
  for (int narrow = 0; narrow < 2 && !*done; narrow++) {
    if (p->job.words[narrow]) continue;
    dot_shape few = {.bits = {6, 6, 6}, .blocked = true};
    few.bits[narrow] = FEW_BITS;
    LLRT_TRY(dot_add_whole(p, &few, narrow, 1 << FEW_BITS, done));
  }
  return LLRT_OK;
}

/* Grouped, whose blocks share no K: tiles for experts of few rows. */
static llrt_status add_few_rows(dot_planner *p, const dot_shape *large, bool *done) {
  static const int rows[] = {DOT_NARROW_BITS, MIDDLE_BITS};
  for (int i = 0; i < 2 && !p->target->simd_lanes && !*done; i++) {
    dot_shape tile = dot_narrow_tile(p, 0, rows[i]);
    int first = p->out->n_variants;
    if (rows[i] >= large->bits[DOT_DIM_M]) continue;
    llrt_status status = dot_add_whole(p, &tile, 0, 1 << rows[i], done);
    if (status != LLRT_UNSUPPORTED) LLRT_TRY(status);
    else p->out->n_variants = first;
  }
  return LLRT_OK;
}

#define FEW_GATHERED 64 /* likely rows of an expert: of more, threads gather as fast as a copy */

/* Rows that an index gathers are copied once where experts have few, so that boxes copy them to
 * shared memory. The stage that multiplies says which shapes the variant takes. */
static llrt_status add_gathered(dot_planner *p) {
  const int m = p->rank - 3;
  if (!dot_can_copy(p, 0)) return LLRT_OK;
  LLRT_TRY(dot_begin_copies(p));
  p->copied = 1;
  llrt_status status = LLRT_OK;
  for (int i = 0; i < DOT_GATHERED_TILES && (status == LLRT_OK || status == LLRT_UNSUPPORTED);
       i++) {
    const int first = p->out->n_variants;
    status = dot_add_gathered_tile(p, i);
    const bool boxes = status == LLRT_OK && p->out->n_variants == first + 2 &&
                       p->out->variant[first + 1].launch.n_boxes == 2;
    if (!boxes) {
      p->out->n_variants = first;
      continue;
    }
    plan_range *range = &p->out->variant[first].launch.range;
    if (range->max_extent[m] == 0 || range->max_extent[m] > FEW_GATHERED)
      range->max_extent[m] = FEW_GATHERED;
    p->out->variant[first + 1].launch.range = *range;
  }
  p->copied = 0;
  return status == LLRT_UNSUPPORTED ? LLRT_OK : status;
}

static bool has_pointers(const op_description *desc) {
  bool has = false;
  for (int t = 0; t < desc->n_tensors; t++) has |= desc->tensors[t].n_indices > 0;
  return has;
}

/* between: the type in which D stands in the workspace first, where it does. */
static llrt_status make_all(const op_description *known, const plan_target *target,
                            const plan_options *options, bool shares, llrt_dtype between,
                            plan *out) {
  dot_planner p = {.desc = known,
                   .target = target,
                   .options = options,
                   .out = out,
                   .rank = known->tensors[0].rank,
                   .grouped = dot_grouped_axis(&known->dot) >= 0,
                   .invariant = known->dot.batch_invariant,
                   .between = between};
  p.alone = p.grouped || has_pointers(known);
  p.gathered = p.grouped && known->tensors[0].n_indices > 0;
  p.shares = shares && !p.alone && !p.invariant;
  bool done = false;
  int copies;
  out->n_variants = 0;
  dot_begin_job(known, target, &p.job);
  LLRT_TRY(begin(&p, &copies));
  dot_shape shape = dot_large_tile(&p);
  LLRT_TRY(dot_add_row(&p, &done));
  if (done) return LLRT_OK;
  if (p.warpgroups && p.gathered && !p.invariant) LLRT_TRY(add_gathered(&p));
  if (p.warpgroups) return dot_add_groups(&p);
  if (p.invariant && !target->simd_lanes) shape = dot_narrow_tile(&p, 0, MIDDLE_BITS);
  if (copies && !p.invariant) LLRT_TRY(dot_add_copied_tiles(&p, copies, &done));
  if (p.grouped && !p.invariant) LLRT_TRY(add_few_rows(&p, &shape, &done));
  p.shares &= !target->simd_lanes && !p.rows; /* the first stage says how */
  for (int narrow = 0; narrow < 2 && !done && p.shares; narrow++) {
    dot_shape tile = dot_narrow_tile(&p, narrow, DOT_NARROW_BITS);
    LLRT_TRY(try_split(&p, &tile, narrow, &done));
  }
  if (!done && p.shares && shape.bits[0] > MIDDLE_BITS) {
    dot_shape tile = dot_narrow_tile(&p, 0, MIDDLE_BITS);
    LLRT_TRY(try_split(&p, &tile, 0, &done));
  }
  if (!done && p.shares) LLRT_TRY(try_split(&p, &shape, -1, &done));
  if (!done && target->simd_lanes && !p.rows && !p.result_in_workspace)
    LLRT_TRY(add_thin(&p, &done));
  return done ? LLRT_OK : dot_add_whole(&p, &shape, -1, 0, &done);
}

bool dot_parts_bytes(const plan *made) {
  bool parts = false;
  for (int v = 0; v < made->n_variants; v++)
    for (int s = 0; s < made->variant[v].n_steps; s++) {
      const plan_kernel *kernel = &made->variant[v];
      const plan_step *step = &kernel->step[s];
      parts |= step->kind == PLAN_STORE && kernel->value[step->in].bits << step->vector < 8;
    }
  return parts;
}

/* What is cast to D's type behind everything else. */
static llrt_dtype type_before_cast(const op_description *desc, const plan_target *target) {
  dot_job job;
  dot_begin_job(desc, target, &job);
  llrt_dtype sums = job.rule.sums;
  if (dot_acts(&job)) return dot_acting_type(sums);
  return sums == LLRT_I64 ? LLRT_F64 : sums;
}

/* Results of 4 bits some of whose bytes would have two writers, or whose halves threads do not have
 * together, are stored by a convert behind, which casts them and owns whole bytes. */
llrt_status plan_dot_make(const op_description *desc, const plan_target *target,
                          const plan_options *options, bool shares, plan *out) {
  op_description known;
  llrt_dtype type = desc->tensors[1].dtype;
  LLRT_TRY(dot_promise_extents(desc, target, options, &out->variant[0], &known));
  if (known.dot.batch_invariant) { /* storages say what divides rows, not how many there are */
    llrt_promise *rows = &known.promises[0].shape[known.tensors[0].rank - 3];
    rows->min = rows->max = 0;
  }
  llrt_status status = make_all(&known, target, options, shares, type, out);
  if (llrt_dtype_bits(type) >= 8 || (status == LLRT_OK && !dot_parts_bytes(out))) return status;
  if (status != LLRT_OK && status != LLRT_UNSUPPORTED) return status;
  plan_refused(options, NULL, "D as 4-bit elements of tiles",
               "a byte would have two writers: a convert behind casts and stores");
  return make_all(&known, target, options, shares, type_before_cast(&known, target), out);
}
