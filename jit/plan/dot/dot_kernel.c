/* One kernel of a dot: a block makes a tile of D, turn by turn along K:
 *
 *   - through registers: fill, walk { load A, load B, as the instruction takes them, multiply },
 *     epilogue, store
 *   - through rings: fill, copies, walk { await, copies of a later turn, load from the ring,
 *     multiply }, epilogue, store
 *   - one row: fill, walk { load A, load B, multiply }, join lanes and warps, epilogue, store
 *   - by warpgroups: roles, fill, walk { copies by producers, await, multiply out of the ring, free
 *     a slot }, epilogue, store
 *   - to finish shares of K: fill, walk { load sums, add }, epilogue, store */
#include "jit/plan/dot/dot.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/block/block.h"
#include "jit/plan/dot/dot_stage.h"
#include "jit/plan/dot/rounds.h"
#include "jit/plan/draft/draft.h"
#include "jit/plan/facts/buffer_use.h"
#include "jit/plan/facts/value.h"

#include <string.h>

/* ---- the tile ---- */

/* Takes bits of the axis's digits, lowest first, until the tile has `wanted` of them. */
static void take_bits(dot_draft *x, int axis, int dim, int wanted) {
  draft *d = &x->d;
  int64_t above = 0;
  int taken = 0;
  for (;;) {
    int next = -1;
    for (int i = 0; i < d->kernel->n_digits; i++) {
      int64_t step = d->kernel->digit[i].step;
      if (d->kernel->digit[i].axis == axis && step > above &&
          (next < 0 || step < d->kernel->digit[next].step))
        next = i;
    }
    if (next < 0) return;
    above = d->kernel->digit[next].step;
    for (int b = 0; b < d->bits[next] && taken < wanted; b++, taken++) {
      uint64_t bit = 1ull << (d->first[next] + b);
      x->bits[dim] |= bit;
      d->order[0][d->tile_bits++] = bit;
    }
  }
}

static void make_tile(dot_draft *x, const dot_shape *shape) {
  int first = x->job->desc.tensors[0].rank - 3 + x->job->finish;
  const int rows = !shape->beside ? DOT_DIM_K : shape->swapped ? DOT_DIM_N : DOT_DIM_M;
  int parted[3] = {0};
  parted[rows] = shape->cluster - shape->across;
  if (shape->across) parted[1 - rows] = shape->across;
  for (int dim = 0; dim < 3 - x->job->finish; dim++) {
    take_bits(x, first + dim, dim, shape->bits[dim]);
    for (int i = 0; i < parted[dim]; i++) x->cluster |= x->d.order[0][x->d.tile_bits - 1 - i];
  }
  draft_fill_grid(&x->d, x->bits[0] | x->bits[1] | x->bits[2], draft_reduced_bits(&x->d));
}

uint64_t dot_axis_bit(const dot_draft *x, int axis, int p) {
  const draft *d = &x->d;
  for (int i = 0; i < d->kernel->n_digits; i++) {
    const plan_digit *digit = &d->kernel->digit[i];
    int at = p - bits_log2(digit->step);
    if (digit->axis == axis && bits_is_power_of_two(digit->step) && at >= 0 && at < d->bits[i])
      return 1ull << (d->first[i] + at);
  }
  return 0;
}

void dot_count_turns(dot_draft *x) {
  const draft *d = &x->d;
  const plan_turns *turns = &d->kernel->walk;
  plan_walk *walk = &d->kernel->launch.walk;
  int positions = bits_count(x->bits[DOT_DIM_K]);
  if (turns->n_places != 2 || turns->place[0].digit >= 0 || walk->place[1].axis != d->summed)
    return;
  if (walk->place[1].factor != (int64_t)1 << (positions + turns->place[0].bits)) return;
  for (int i = 0; i < positions; i++)
    if (!(dot_axis_bit(x, d->summed, i) & x->bits[DOT_DIM_K])) return;
  for (int i = 0; i < d->n_walked; i++)
    if (d->grid[d->n_grid - d->n_walked + i] != dot_axis_bit(x, d->summed, positions + i)) return;
  walk->place[0] = (plan_grid_place){.axis = (int8_t)d->summed, .factor = (int64_t)1 << positions};
  walk->n = 1;
}

/* ---- how it is shared ---- */

static dot_space space_of(const dot_draft *x, const dot_types *types) {
  dot_space space = {.a = types->a, .b = types->b, .acc = types->sum, .tf32 = types->tf32};
  space.cluster = dot_tile_bits(x, x->cluster);
  for (int dim = 0; dim < 3; dim++)
    for (uint64_t bits = dot_tile_bits(x, x->bits[dim] & ~x->cluster); bits; bits &= bits - 1)
      space.bit[dim][space.n[dim]++] = (uint8_t)bits_lowest(bits);
  return space;
}

/* The ways to multiply, those of the narrowest types first. */
static int list_types(const dot_job *job, const plan_target *target, dot_types list[4]) {
  const dot_rule *rule = &job->rule;
  llrt_dtype a = job->desc.tensors[job->tensor[LLRT_DOT_A]].dtype,
             compute = dot_compute_dtype(rule->compute);
  llrt_dtype b = job->desc.tensors[job->tensor[LLRT_DOT_B]].dtype, sum = rule->sums;
  bool plain = !rule->a.rounded && !rule->b.rounded,
       eight = llrt_dtype_bits(a) == 8 && llrt_dtype_bits(b) == 8;
  bool real = sum == LLRT_F32;
  int n = 0;
  if (!target->simd_lanes) {
    if (plain && eight)
      list[n++] =
          (dot_types){.a = a,
                      .b = b,
                      .sum = sum,
                      .short_sums = real && !job->desc.dot.fast_accumulate && target->short_sums};
    list[n++] =
        (dot_types){.a = compute, .b = compute, .sum = sum, .tf32 = rule->compute == DOT_TF32};
  }
  list[n++] = (dot_types){.a = sum, .b = sum, .sum = sum};
  return n;
}

bool dot_sums_short(const dot_job *job, const plan_target *target) {
  dot_types types[4];
  return list_types(job, target, types) > 0 && types[0].short_sums && target->async_copies;
}

llrt_dtype dot_multiplied_type(const dot_job *job, const plan_target *target, int operand) {
  dot_types types[4];
  list_types(job, target, types);
  return operand ? types[0].b : types[0].a;
}

bool dot_has_matrices(const dot_job *job, const plan_target *target) {
  dot_types types[4];
  int n = list_types(job, target, types);
  for (int t = 0; t < n; t++)
    for (int i = 0; i < dot_instruction_count(); i++) {
      const dot_instruction *row = dot_instruction_at(i);
      bool fits = (row->a == types[t].a && row->b == types[t].b) ||
                  (row->a == types[t].b && row->b == types[t].a);
      if (fits && row->acc == types[t].sum && row->family != DOT_FMA &&
          (types[t].tf32 || !row->tf32) && dot_instruction_is_of(row, target))
        return true;
    }
  return false;
}

#define MAX_WAYS 24

/* Words of a lane: of the operands' parts of a turn. */
static int words_of(const plan_value *value) {
  return (value->bits > 32 ? 2 : 1) << (plan_value_bits(value, PLAN_REGISTER) - value->word);
}

/* The fewest clocks; of equal ones the fewest words that go through shared memory. */
static llrt_status choose_way(dot_draft *x) {
  dot_layouts ways[MAX_WAYS];
  static const dot_room room = {.results = 7, .operand = 7};
  dot_types types[4];
  int n_types = list_types(x->job, &x->d.kernel->target, types), best = -1;
  for (int t = 0; t < n_types; t++) {
    dot_space space = space_of(x, &types[t]);
    int n = dot_layouts_list(x->d.kernel, &space, &room, ways, MAX_WAYS);
    for (int i = 0; i < n && ways[i].clocks <= ways[0].clocks; i++) {
      int words = words_of(&ways[i].a) + words_of(&ways[i].b);
      if (best >= 0 && words >= best) continue;
      best = words;
      x->how = ways[i];
      x->types = types[t];
    }
    if (best >= 0) return LLRT_OK;
  }
  return llrt_error(LLRT_INTERNAL, "no way of a dot fits the threads of a block");
}

/* Of the narrowest types. */
static llrt_status choose_warpgroups(dot_draft *x) {
  dot_types types[4];
  list_types(x->job, &x->d.kernel->target, types);
  dot_space space = space_of(x, &types[0]);
  return dot_plan_warpgroups(x, &space, &types[0]);
}

/* Of the sums' type. */
static llrt_status choose_row(dot_draft *x) {
  const dot_types types = {
      .a = x->job->rule.sums, .b = x->job->rule.sums, .sum = x->job->rule.sums};
  dot_space space = space_of(x, &types);
  return dot_plan_row(x, &space);
}

/* ---- steps ---- */

static llrt_status zero_step(dot_draft *x, const plan_value *like, int *value) {
  LLRT_TRY(draft_value(x->d.kernel, like, value));
  return draft_step(x->d.kernel, (plan_step){.kind = PLAN_FILL,
                                             .combiner = LLRT_COMBINE_SUM,
                                             .exclusive = true,
                                             .type = (uint8_t)x->types.sum,
                                             .out = (uint8_t)*value});
}

static llrt_status join_step(dot_draft *x, int in, int with) {
  plan_value like = x->d.kernel->value[in];
  int out;
  LLRT_TRY(draft_value(x->d.kernel, &like, &out));
  return draft_step(x->d.kernel, (plan_step){.kind = PLAN_JOIN,
                                             .combiner = LLRT_COMBINE_SUM,
                                             .type = (uint8_t)x->types.sum,
                                             .in = (uint8_t)in,
                                             .with = (uint8_t)with,
                                             .out = (uint8_t)out});
}

static llrt_status release_step(dot_draft *x, int made, int turns) {
  return draft_step(
      x->d.kernel,
      (plan_step){.kind = PLAN_RELEASE, .turns = turns, .in = (uint8_t)made, .out = (uint8_t)made});
}

/* By warpgroups: those of one turn are under way while the next one's begin. */
static llrt_status group_steps(dot_draft *x, int carried) {
  bool fresh = x->types.short_sums;
  int made;
  LLRT_TRY(dot_fill_warpgroups(x));
  LLRT_TRY(dot_warpgroup_products(x, carried, &made));
  if (!fresh)
    LLRT_TRY(draft_step(x->d.kernel, (plan_step){.kind = PLAN_MULTIPLIED,
                                                 .turns = 1,
                                                 .in = (uint8_t)made,
                                                 .out = (uint8_t)made}));
  return release_step(x, made, !fresh || x->d.kernel->step[x->d.kernel->n_steps - 1].late_sums);
}

/* The last step makes what the walk carries. */
static llrt_status multiply_steps(dot_draft *x, int carried) {
  plan_kernel *kernel = x->d.kernel;
  bool swapped = x->how.how.swapped;
  int a, b, with = carried, out;
  if (x->warpgroups) return group_steps(x, carried);
  if (x->row) return dot_row_products(x, carried);
  if (x->rings) {
    LLRT_TRY(dot_turn_rings(x));
    LLRT_TRY(dot_ring_operand(x, 0, &a));
    LLRT_TRY(dot_ring_operand(x, 1, &b));
  } else {
    LLRT_TRY(dot_load_operand(x, 0, &a));
    LLRT_TRY(dot_load_operand(x, 1, &b));
    LLRT_TRY(dot_prepare_operand(x, 0, &a));
    LLRT_TRY(dot_prepare_operand(x, 1, &b));
  }
  if (x->types.short_sums) LLRT_TRY(zero_step(x, &x->how.acc, &with));
  LLRT_TRY(draft_value(kernel, &x->how.acc, &out));
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_DOT,
                                          .in = (uint8_t)(swapped ? b : a),
                                          .second = (uint8_t)(swapped ? a : b),
                                          .with = (uint8_t)with,
                                          .out = (uint8_t)out,
                                          .instruction = (uint8_t)x->how.how.instruction}));
  return x->types.short_sums ? join_step(x, carried, out) : LLRT_OK;
}

/* A share's sums, on their way while those of the one before are added. Zeros stay behind where
 * nothing else clears the workspace. */
static llrt_status add_steps(dot_draft *x, const dot_access *sums, int zero, int carried) {
  plan_kernel *kernel = x->d.kernel;
  const int shares = x->job->tensor[LLRT_DOT_A], walk = kernel->n_steps - 1;
  int loaded;
  LLRT_TRY(dot_load(x, shares, sums, &loaded));
  if (!kernel->target.simd_lanes) kernel->step[walk].ahead = (uint8_t)(kernel->n_steps - walk - 1);
  if (x->job->zeroes) LLRT_TRY(dot_store(x, shares, sums, zero));
  return join_step(x, carried, loaded);
}

/* Sums of a block's lanes and warps, or of a cluster's blocks, are joined in their order, and each
 * block has a part of them. One whose memory others still read must not end. */
static llrt_status joined_results(dot_draft *x, int sums) {
  const int results = bits_count(x->bits[DOT_DIM_M]) + bits_count(x->bits[DOT_DIM_N]);
  reduce_value value = {.op = LLRT_COMBINE_SUM, .type = x->types.sum, .key = sums};
  LLRT_TRY(reduce_block(&x->d, &value, results, true));
  LLRT_TRY(dot_epilogue(x, value.key));
  if (!plan_others_read(x->d.kernel)) return LLRT_OK;
  return draft_step(x->d.kernel, (plan_step){.kind = PLAN_BARRIER});
}

/* Those of a position whose turns others have, too. */
static llrt_status dealt_results(dot_draft *x, int sums) {
  int at;
  LLRT_TRY(rounds_settle(&x->d, &sums, &at));
  LLRT_TRY(dot_epilogue(x, sums));
  draft_close(x->d.kernel, at);
  return LLRT_OK;
}

static llrt_status kernel_steps(dot_draft *x) {
  plan_kernel *kernel = x->d.kernel;
  dot_access sums;
  int zero, carried;
  if (x->job->finish)
    LLRT_TRY(dot_memory_value(x, x->job->tensor[LLRT_DOT_A],
                              x->bits[DOT_DIM_M] | x->bits[DOT_DIM_N], &sums));
  const plan_value like = x->job->finish ? sums.value : x->how.acc;
  LLRT_TRY(zero_step(x, &like, &zero));
  LLRT_TRY(draft_value(kernel, &like, &carried));
  if (!x->job->finish && !x->warpgroups && !x->row) LLRT_TRY(dot_plan_rings(x));
  if (x->warpgroups) LLRT_TRY(dot_open_warpgroups(x));
  else if (x->rings) LLRT_TRY(dot_open_rings(x));
  int walk;
  LLRT_TRY(draft_open(
      kernel, (plan_step){.kind = PLAN_WALK, .in = (uint8_t)zero, .out = (uint8_t)carried}, &walk));
  LLRT_TRY(x->job->finish ? add_steps(x, &sums, zero, carried) : multiply_steps(x, carried));
  draft_close(kernel, walk);
  if (x->warpgroups && !x->types.short_sums) LLRT_TRY(dot_stage_finish(&x->d, &carried));
  if (kernel->team_bits > 0 && !x->types.short_sums) LLRT_TRY(release_step(x, carried, 1));
  if (kernel->deal.used) return dealt_results(x, carried);
  const bool joins = x->row || (x->cluster && !x->beside);
  return joins ? joined_results(x, carried) : dot_epilogue(x, carried);
}

/* ---- the whole ---- */

/* The host's lanes hold the narrowest elements that are loaded or computed with. */
static int host_lanes(const dot_job *job, const plan_target *target) {
  int narrowest = llrt_dtype_bits(job->rule.sums);
  for (int t = 0; t < 3 && !job->finish; t++)
    narrowest = bits_min(narrowest, bits_max(llrt_dtype_bits(job->desc.tensors[t].dtype), 8));
  return bits_log2(target->vector_bytes * 8 / narrowest);
}

/* Narrower elements fill parts of a register then. */
static int sum_lanes(const dot_job *job, const plan_target *target) {
  return bits_log2(target->vector_bytes * 8 / llrt_dtype_bits(job->rule.sums));
}

static llrt_status deal_turns(dot_draft *x) {
  plan_kernel *kernel = x->d.kernel;
  if (kernel->launch.rounds == 0)
    return llrt_error(LLRT_UNSUPPORTED, "turns are dealt where blocks go in rounds");
  kernel->launch.walk.least = kernel->target.tuning->packed_dealt_turns;
  for (int i = 0; i < kernel->launch.n_boxes; i++)
    kernel->launch.box[i].rest = 0; /* sums of all of a tile are kept for another block */
  return rounds_deal(&x->d, &x->how.acc, kernel->target.facts.units);
}

/* Teams have no barrier of their own: what they store passes registers alone. */
static llrt_status check_teams(const plan_kernel *kernel) {
  bool alone = kernel->launch.rounds > 0;
  for (int i = 0; i < kernel->n_steps; i++) alone &= kernel->step[i].kind != PLAN_BARRIER;
  if (alone || kernel->team_bits == 0) return LLRT_OK;
  return llrt_error(LLRT_UNSUPPORTED, "teams take tiles in rounds, and do not wait for each other");
}

#define RESERVED_BYTES 1024 /* of shared memory, of each block, by the driver */

/* Whether two blocks go in rounds on each multiprocessor. */
static bool stays_twice(plan_kernel *kernel) {
  const int room = kernel->target.facts.shared_bytes + RESERVED_BYTES;
  if (kernel->launch.rounds == 0 || kernel->launch.shared_bytes > room / 2 - RESERVED_BYTES)
    return false;
  kernel->launch.rounds = 2;
  return true;
}

/* log2 most positions along an axis of a tile whose operands and sums are all registers, where few
 * lanes are taken. */
#define WHOLE_BITS 3

llrt_status dot_plan_kernel(const dot_job *job, const dot_shape *wanted, bool split,
                            const plan_target *target, const plan_options *options,
                            plan_kernel *kernel, bool *divided) {
  dot_shape shape = *wanted;
  dot_draft x = {.job = job,
                 .swapped = shape.swapped,
                 .beside = shape.beside,
                 .lines = shape.lines,
                 .all_memory = shape.all_memory,
                 .halves = shape.halves};
  draft *d = &x.d;
  int rank = job->desc.tensors[0].rank;
  draft_begin(d, &job->desc, target, options, kernel);
  if (target->simd_lanes)
    kernel->lane_bits = shape.blocked ? sum_lanes(job, target) : host_lanes(job, target);
  else kernel->warp_bits = shape.warps + shape.cluster;
  kernel->cluster_bits = shape.cluster;
  kernel->resident = shape.resident;
  kernel->team_bits = (uint8_t)(shape.teams & 7);
  d->splits = split;
  draft_sum_along(d, job->finish ? 0 : rank - 1, job->finish ? rank - 2 : rank - 3);
  for (int dim = 0; dim < 3 && (shape.row || shape.cluster); dim++)
    d->wide_bits[rank - 3 + dim] = shape.bits[dim];
  for (int dim = 0; dim < 2; dim++)
    if (shape.own[dim]) d->tile_positions[d->first_tiled + dim] = shape.own[dim];
  LLRT_TRY(draft_digits(d));
  *divided = d->divided;
  if (d->divided) return LLRT_OK;
  if (shape.blocked) dot_shape_block(&x, &shape);
  make_tile(&x, &shape);
  if (shape.row && bits_count(x.bits[DOT_DIM_K]) < shape.bits[DOT_DIM_K])
    return llrt_error(LLRT_UNSUPPORTED, "the storages have too few positions of K beside others");
  if (shape.row) dot_order_row(&x);
  for (int dim = 0; dim < 3 && shape.cluster; dim++)
    if (bits_count(x.bits[dim]) < shape.bits[dim])
      return llrt_error(LLRT_UNSUPPORTED, "there are no positions for all blocks of a cluster");
  if (shape.blocked) dot_order_blocks(&x);
  LLRT_TRY(draft_space(d));
  if (!job->finish) dot_count_turns(&x);
  LLRT_TRY(draft_walk_turns(d, 1u << d->summed, 1));
  draft_uniform_indices(d); /* one pointer for a block */
  x.types.sum = job->rule.sums;
  if (shape.blocked && !dot_can_block(&x)) {
    dot_shape whole = shape;
    whole.blocked = false;
    for (int dim = 0; dim < 3; dim++) whole.bits[dim] = bits_min(whole.bits[dim], WHOLE_BITS);
    return dot_plan_kernel(job, &whole, split, target, options, kernel, divided);
  }
  if (shape.blocked) {
    LLRT_TRY(dot_blocked_steps(&x));
  } else {
    if (shape.warpgroups) LLRT_TRY(choose_warpgroups(&x));
    else if (shape.row) LLRT_TRY(choose_row(&x));
    else if (!job->finish) LLRT_TRY(choose_way(&x));
    if (shape.rounds && (x.boxes || x.mixed) && !split && (!shape.cluster || shape.beside))
      LLRT_TRY(rounds_begin(d));
    if (shape.deal) LLRT_TRY(deal_turns(&x));
    LLRT_TRY(kernel_steps(&x));
    LLRT_TRY(check_teams(kernel));
  }
  draft_finish(kernel);
  if (shape.halves && !stays_twice(kernel)) {
    shape = *wanted;
    shape.halves = false;
    return dot_plan_kernel(job, &shape, split, target, options, kernel, divided);
  }
  if (kernel->launch.rounds == 0 || kernel->launch.shared_bytes <= target->facts.shared_bytes)
    return LLRT_OK;
  shape = *wanted;
  if (!shape.all_memory && shape.deal)
    return llrt_error(LLRT_UNSUPPORTED, "no room for results of dealt turns beside the rings");
  shape.rounds = shape.all_memory;
  shape.all_memory = false;
  return dot_plan_kernel(job, &shape, split, target, options, kernel, divided);
}
