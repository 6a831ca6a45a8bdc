/* One kernel of a reduce (docs/reduce.md), whose blocks walk their share of the reduced positions:
 *
 *   fill, walk { load, cast, fold in the thread, join }, in-block reduction, cast, store
 *
 * On the host all of it may stand in a loop over lines of a row (reduce_tile.c), which is turned:
 * a turn takes all lines of its rows before the next one. */
#include "jit/plan/reduce/reduce.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/block/block.h"
#include "jit/plan/draft/draft.h"
#include "jit/plan/exchange/exchange.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/fold.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/types/combine.h"
#include "jit/plan/types/number.h"
#include "layout/f2.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- maps ---- */

/* To what elements are joined in: what is written in the end is a NaN of the destination's type. */
static llrt_status cast_to_join(draft *d, llrt_dtype from, llrt_dtype to, int *value) {
  bool same = (to == LLRT_F32 && !number_is_wide(from, to)) || to == LLRT_F64;
  return draft_retype(
      d,
      (plan_map){.kind = PLAN_MAP_CAST, .from = (uint8_t)from, .to = (uint8_t)to, .any_nan = same},
      value);
}

/* What a turn's elements are joined in: integers of 8 and 16 bits cannot leave 32 bits in one. */
static llrt_dtype turn_type(const reduction *r) {
  llrt_dtype type = r->value.type;
  if (r->value.op != LLRT_COMBINE_SUM || llrt_dtype_bits(r->desc.tensors[0].dtype) > 16)
    return type;
  return type == LLRT_I64 ? LLRT_I32 : type == LLRT_U64 ? LLRT_U32 : type;
}

static bool is_truth(int op) { return op == LLRT_COMBINE_ANY || op == LLRT_COMBINE_ALL; }

/* log2 elements of an access: as many registers as lie side by side in memory, aligned, below what
 * a swizzle moves, on one side of every bound. Host: lanes, wherever bounds are. */
static int access_vector(draft *d, const plan_value *value, int tensor) {
  const plan_kernel *kernel = d->kernel;
  plan_address_map map;
  draft_runs runs;
  plan_address_of_tensor(kernel, tensor, &map);
  draft_runs_of(d, tensor, &runs);
  plan_dim dim = kernel->target.simd_lanes ? PLAN_LANE : PLAN_REGISTER;
  const llrt_swizzle *swizzle = &kernel->swizzle[tensor];
  int vector = plan_access_widest(kernel, value, &map, dim);
  if (!kernel->target.simd_lanes) vector = bits_min(vector, runs.align);
  if (swizzle->swizzle_len) vector = bits_min(vector, bits_min(swizzle->per_element, runs.align));
  return kernel->target.simd_lanes ? vector : draft_whole_vector(d, value, tensor, vector);
}

/* Masks an access, which is as wide as bounds leave it whole; on the host they part it. */
static void mask_access(const draft *d, const plan_value *value, plan_step *step) {
  int whole = draft_whole_vector(d, value, step->tensor, step->vector);
  step->masked = true;
  if (d->kernel->target.simd_lanes) step->parted = whole < step->vector;
  else step->vector = (uint8_t)whole;
}

/* log2 of an access's size over what divides its address: the source's run, and whole vectors of
 * workspace. */
static uint8_t misaligned(const draft *d, int tensor, int vector) {
  return (uint8_t)(tensor == 0 ? bits_max(vector - d->align[0], 0) : 0);
}

static bool is_looped(const plan_value *value) {
  return plan_value_bits(value, PLAN_ITERATION) > 0;
}

/* The bounds that tensor t does not have. */
static uint32_t bounds_of_others(const plan_kernel *kernel, int t) {
  uint32_t bounds = 0;
  for (int i = 0; i < kernel->n_bounds; i++)
    if (!(kernel->bound[i].tensors >> t & 1)) bounds |= 1u << i;
  return bounds;
}

/* Steps for a value that is inside the bounds that are not ignored, and as many for another one;
 * loads join what they make. */
static llrt_status branch_step(draft *d, const plan_step *access, bool looped, uint32_t ignored,
                               int otherwise) {
  bool load = access->kind == PLAN_LOAD;
  uint8_t value = load ? access->out : access->in;
  return draft_step(d->kernel, (plan_step){.kind = PLAN_IF_INTERIOR,
                                           .looped = looped,
                                           .in = looped || load ? value : 0,
                                           .out = load ? value : 0,
                                           .joins = load,
                                           .ignored_bounds = ignored,
                                           .body = 1,
                                           .otherwise = (uint8_t)otherwise});
}

/* One load: in turns at an edge masked, accesses as wide as masks allow. Where a turn takes lines
 * of rows, lines that no column bound parts are loaded whole from the rows that are there: mostly
 * it is the walk's last turn that lacks some. */
static llrt_status load_steps(draft *d, const plan_value *value, int tensor, int vector,
                              int *loaded) {
  plan_kernel *kernel = d->kernel;
  LLRT_TRY(draft_value(kernel, value, loaded));
  plan_step load = {.kind = PLAN_LOAD,
                    .tensor = (uint8_t)tensor,
                    .out = (uint8_t)*loaded,
                    .vector = (uint8_t)vector,
                    .misaligned = misaligned(d, tensor, vector)};
  load.overhang = load.exact = load.by_words =
      kernel->target.access_align_bytes > 1 && load.misaligned > 0;
  uint32_t rows = bounds_of_others(kernel, PLAN_DESTINATION);
  bool edge = kernel->n_bounds > 0, looped = is_looped(value);
  bool apart = looped && rows && rows != bits_mask(kernel->n_bounds);
  if (edge) LLRT_TRY(branch_step(d, &load, looped, 0, apart ? 3 : 1));
  LLRT_TRY(draft_step(kernel, load));
  if (!edge) return LLRT_OK;
  plan_step masked = load;
  masked.masked = true;
  if (load.overhang) return draft_step(kernel, masked);
  mask_access(d, value, &masked);
  masked.misaligned = misaligned(d, tensor, masked.vector);
  if (apart) {
    LLRT_TRY(branch_step(d, &load, looped, rows, 1));
    load.masked = true;
    load.parted = masked.parted;
    load.ignored_bounds = (uint32_t)bits_mask(kernel->n_bounds) & ~rows;
    LLRT_TRY(draft_step(kernel, load));
  }
  return draft_step(kernel, masked);
}

/* Zeros where value `like` was loaded from a tensor of the workspace: behind a barrier, because
 * other warps may load the same copies. */
static llrt_status clear_step(draft *d, const plan_value *like, int tensor, int vector) {
  plan_kernel *kernel = d->kernel;
  bool edge = kernel->n_bounds > 0;
  llrt_dtype type = like->bits == 64 ? LLRT_U64 : LLRT_U32;
  int zero;
  LLRT_TRY(draft_value(kernel, like, &zero));
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_FILL,
                                          .combiner = LLRT_COMBINE_SUM,
                                          .type = (uint8_t)type,
                                          .out = (uint8_t)zero}));
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_BARRIER}));
  plan_step store = {.kind = PLAN_STORE,
                     .tensor = (uint8_t)tensor,
                     .in = (uint8_t)zero,
                     .vector = (uint8_t)vector};
  if (edge) mask_access(d, like, &store);
  return draft_step(kernel, store);
}

/* A value of another width with the layout of `like`. */
static plan_value retyped(const plan_value *like, llrt_dtype type) {
  plan_value value = *like;
  value.bits = (uint8_t)llrt_dtype_bits(type);
  value.word = 0;
  return value;
}

/* ---- the walk ---- */

static bool counts_one_axis(const reduction *r) { return bits_count(r->desc.combine.axes) == 1; }

/* Positions number the reduced elements row by row: a coordinate counts the extents of the reduced
 * axes behind its own. */
static llrt_status position_axes(draft *d, const reduction *r) {
  plan_kernel *kernel = d->kernel;
  uint32_t behind = 0;
  int64_t known = 1;
  kernel->position_axes = r->desc.combine.axes;
  for (int a = r->desc.tensors[0].rank - 1; a >= 0; a--) {
    if (!(kernel->position_axes >> a & 1)) continue;
    kernel->position[a] = (plan_number){.arg = -1, .value = known};
    if (known < 0)
      LLRT_TRY(draft_arg(d, (plan_arg){.kind = PLAN_ARG_EXTENTS, .factor = behind},
                         &kernel->position[a]));
    behind |= 1u << a;
    if (d->shape[a].known < 0 || known < 0 ||
        __builtin_mul_overflow(known, d->shape[a].known, &known))
      known = -1;
  }
  return LLRT_OK;
}

/* Whether the positions that a thread meets in a turn are all above those of the turns before, so
 * that of equal keys the earlier one is the first: along one axis every bit that turns count weighs
 * more than those counted before it and than the thread's own. Digits of one axis are nested, so
 * then it weighs more than all of them together. */
static bool turns_go_up(const draft *d, const plan_value *clean, int kept) {
  const plan_kernel *kernel = d->kernel;
  int64_t above = 0;
  if (bits_count(kernel->position_axes) > 1) return false;
  for (int i = 0; i < plan_value_bits(clean, PLAN_REGISTER); i++) {
    uint64_t x = plan_value_columns(clean, PLAN_REGISTER)[i];
    int64_t own = x >> kept ? reduce_weight(d, d->order[0][bits_lowest(x)]) : 0;
    if (own > above) above = own;
  }
  for (int i = d->n_grid - d->n_walked; i < d->n_grid; i++) {
    if (reduce_weight(d, d->grid[i]) <= above) return false;
    above = reduce_weight(d, d->grid[i]);
  }
  for (int i = 0; i < kernel->walk.n_places; i++) {
    if (kernel->walk.place[i].digit < 0) continue;
    const plan_digit *digit = &kernel->digit[kernel->walk.place[i].digit];
    if (digit->step << digit->bits <= above) return false;
    above = digit->step << digit->bits;
  }
  return true;
}

/* Adds what the thread's place, this turn's included, leaves of positions relative to its register
 * 0. */
static llrt_status absolute_positions(draft *d, int of, reduce_value *value) {
  plan_value made = d->kernel->value[value->at];
  plan_step step = {.kind = PLAN_POSITION_ADD, .in = (uint8_t)value->at, .with = (uint8_t)of};
  LLRT_TRY(draft_value(d->kernel, &made, &value->at));
  step.out = (uint8_t)value->at;
  return draft_step(d->kernel, step);
}

/* The turn's elements, joined in every thread: `clean` is their layout, `fold` the tile bits that
 * are left. */
static llrt_status turn_steps(draft *d, const reduction *r, const plan_value *load,
                              const plan_value *clean, int fold, reduce_value *turn) {
  plan_kernel *kernel = d->kernel;
  const llrt_dtype from = r->desc.tensors[0].dtype, type = turn_type(r);
  *turn = r->value;
  turn->type = type;
  LLRT_TRY(load_steps(d, load, 0, d->vector[0], &turn->key));
  if (r->clears) LLRT_TRY(clear_step(d, load, 0, d->vector[0]));
  if (is_truth(r->value.op) && !r->reads_pairs)
    LLRT_TRY(draft_retype(
        d, (plan_map){.kind = PLAN_MAP_TRUTH, .from = (uint8_t)from, .to = LLRT_U32}, &turn->key));
  else LLRT_TRY(cast_to_join(d, from, type, &turn->key));
  const plan_value target = retyped(clean, type);
  LLRT_TRY(draft_exchange(d, turn->key, &target, &turn->key));
  if (r->reads_pairs) {
    plan_value read = *clean;
    read.bits = (uint8_t)llrt_dtype_bits(r->value.index);
    int vector = access_vector(d, &read, 3);
    LLRT_TRY(load_steps(d, &read, 3, vector, &turn->at));
    if (r->clears) LLRT_TRY(clear_step(d, &read, 3, vector));
  } else if (turn->pairs) {
    plan_value positions = retyped(clean, r->value.index);
    LLRT_TRY(draft_value(kernel, &positions, &turn->at));
    LLRT_TRY(draft_step(
        kernel, (plan_step){.kind = PLAN_POSITION, .out = (uint8_t)turn->at, .relative = true}));
  }
  int whole = turn->at;
  LLRT_TRY(reduce_fold(
      d, turn, fold,
      !r->reads_pairs &&
          counts_one_axis(r))); /* shares of turns that do not go up come in any order */
  if (turn->pairs && !r->reads_pairs) LLRT_TRY(absolute_positions(d, whole, turn));
  LLRT_TRY(draft_cast(d, type, r->value.type, &turn->key));
  turn->type = r->value.type;
  return LLRT_OK;
}

static llrt_status fill_step(draft *d, const plan_value *laid_out, reduce_value *value) {
  plan_value key = retyped(laid_out, value->type), at = retyped(laid_out, value->index);
  plan_step step = {.kind = PLAN_FILL,
                    .combiner = (uint8_t)value->op,
                    .type = (uint8_t)value->type,
                    .pairs = value->pairs};
  LLRT_TRY(draft_value(d->kernel, &key, &value->key));
  step.out = (uint8_t)value->key;
  if (value->pairs) LLRT_TRY(draft_value(d->kernel, &at, &value->at));
  step.index_out = (uint8_t)value->at;
  return draft_step(d->kernel, step);
}

/* Another pair of values laid out as `like`. */
static llrt_status like_values(draft *d, const reduce_value *like, reduce_value *made) {
  plan_value key = d->kernel->value[like->key];
  *made = *like;
  LLRT_TRY(draft_value(d->kernel, &key, &made->key));
  if (!like->pairs) return LLRT_OK;
  plan_value at = d->kernel->value[like->at];
  return draft_value(d->kernel, &at, &made->at);
}

/* *value: everything that the block's turns bring, joined in every thread. */
static llrt_status walk_steps(draft *d, const reduction *r, const plan_value *load,
                              const plan_value *clean, int kept, int fold, reduce_value *value) {
  plan_kernel *kernel = d->kernel;
  plan_value laid_out;
  reduce_value first = r->value, carried, turn, next;
  LLRT_TRY(plan_fold_laid_out(kernel, clean, fold, 32, &laid_out));
  LLRT_TRY(fill_step(d, &laid_out, &first));
  LLRT_TRY(like_values(d, &first, &carried));
  int walk;
  LLRT_TRY(draft_open(kernel,
                      (plan_step){.kind = PLAN_WALK,
                                  .in = (uint8_t)first.key,
                                  .out = (uint8_t)carried.key,
                                  .pairs = first.pairs,
                                  .index_in = (uint8_t)first.at,
                                  .index_out = (uint8_t)carried.at},
                      &walk));
  LLRT_TRY(turn_steps(d, r, load, clean, fold, &turn));
  LLRT_TRY(like_values(d, &carried, &next));
  LLRT_TRY(draft_step(
      kernel, (plan_step){.kind = PLAN_JOIN,
                          .combiner = (uint8_t)first.op,
                          .type = (uint8_t)first.type,
                          .pairs = first.pairs,
                          .ordered = first.pairs && !r->reads_pairs && turns_go_up(d, clean, kept),
                          .in = (uint8_t)carried.key,
                          .with = (uint8_t)turn.key,
                          .out = (uint8_t)next.key,
                          .index_in = (uint8_t)carried.at,
                          .index_with = (uint8_t)turn.at,
                          .index_out = (uint8_t)next.at}));
  draft_close(kernel, walk);
  *value = carried;
  return LLRT_OK;
}

/* ---- results ---- */

static llrt_status store_step(draft *d, int value, int tensor) {
  const plan_value *stored = &d->kernel->value[value];
  plan_step store = {.kind = PLAN_STORE,
                     .tensor = (uint8_t)tensor,
                     .in = (uint8_t)value,
                     .vector = (uint8_t)access_vector(d, stored, tensor)};
  if (d->kernel->n_bounds == 0) return draft_step(d->kernel, store);
  if (is_looped(stored)) {
    LLRT_TRY(branch_step(d, &store, true, bounds_of_others(d->kernel, tensor), 1));
    LLRT_TRY(draft_step(d->kernel, store));
  }
  mask_access(d, stored, &store);
  return draft_step(d->kernel, store);
}

/* BOOL's codes are those of U8. */
static llrt_dtype number_type(llrt_dtype type) { return type == LLRT_BOOL ? LLRT_U8 : type; }

static llrt_status result_steps(draft *d, const reduction *r, reduce_value *value) {
  const llrt_tensor *tensors = r->desc.tensors;
  if (value->pairs) {
    LLRT_TRY(draft_cast(d, value->index, tensors[1].dtype, &value->at));
    LLRT_TRY(store_step(d, value->at, 1));
    if (!r->writes_keys) return LLRT_OK;
    LLRT_TRY(draft_cast(d, value->type, tensors[2].dtype, &value->key));
    return store_step(d, value->key, 2);
  }
  LLRT_TRY(draft_cast(d, value->type, number_type(tensors[1].dtype), &value->key));
  return store_step(d, value->key, 1);
}

/* ---- the kernel ---- */

/* What a block carries of a result. */
static int result_bytes(const reduce_value *value) {
  int bits = llrt_dtype_bits(value->type) + (value->pairs ? llrt_dtype_bits(value->index) : 0);
  return bits / 8;
}

/* The loop over lines, and in it what leaves out those that overhang the destination. */
typedef struct lines {
  int loop, present; /* steps; -1: there is none */
} lines;

static llrt_status open_lines(draft *d, const plan_value *load, lines *opened) {
  plan_kernel *kernel = d->kernel;
  plan_value whole = *load;
  int number = 0;
  *opened = (lines){.loop = -1, .present = -1};
  if (!is_looped(load)) return LLRT_OK;
  LLRT_TRY(draft_open(kernel,
                      (plan_step){.kind = PLAN_LOOP,
                                  .turned = true,
                                  .iterations = (uint8_t)plan_value_bits(load, PLAN_ITERATION)},
                      &opened->loop));
  if (kernel->n_bounds == 0) return LLRT_OK;
  opened->present = kernel->n_steps;
  LLRT_TRY(draft_value(kernel, &whole, &number));
  return draft_step(kernel,
                    (plan_step){.kind = PLAN_IF_PRESENT, .looped = true, .in = (uint8_t)number});
}

static void close_lines(plan_kernel *kernel, const lines *opened) {
  const int at[] = {opened->loop, opened->present};
  for (int i = 0; i < 2; i++)
    if (at[i] >= 0) draft_close(kernel, at[i]);
}

/* A kernel's tile: how the source is loaded, and the same with one bit of a digit a column; log2
 * results. */
typedef struct reduce_layouts {
  plan_value load, clean;
  int kept;
  bool divided, fits, stretched;
} reduce_layouts;

/* Digits, tile and space. fits: words of rows that are not aligned can be loaded. */
static llrt_status make_tile(draft *d, const reduction *r, const reduce_shape *shape,
                             const plan_target *target, const plan_options *options,
                             plan_kernel *kernel, reduce_layouts *made) {
  plan_value spread;
  draft_begin(d, &r->desc, target, options, kernel);
  d->splits = r->shape.split;
  llrt_status digits = draft_digits(d);
  made->fits = true;
  made->divided = d->divided; /* or the destinations have no refinement among themselves */
  if (d->divided) return LLRT_OK;
  LLRT_TRY(digits);
  LLRT_TRY(reduce_tile(d, shape, &made->load, &made->clean, &made->kept, &made->stretched));
  LLRT_TRY(draft_space(d));
  plan_value_spread(kernel, &made->load, &spread);
  if (target->access_align_bytes > 1 && misaligned(d, 0, d->vector[0]) > 0)
    made->fits = draft_can_be_exact(d, 0, &spread, d->vector[0]);
  return LLRT_OK;
}

/* How many blocks share a walk, whatever the device has: that decides in which order elements are
 * joined. Of those with narrow accesses no more than wanted have room at once. */
static void share_walk(plan_kernel *kernel, bool stretched) {
  const plan_tuning *tuning = kernel->target.tuning;
  plan_walk *walk = &kernel->launch.walk;
  walk->blocks = stretched ? tuning->reduce_stretch_blocks : tuning->reduce_blocks;
  walk->enough = stretched ? 1 : tuning->reduce_least_blocks;
}

llrt_status reduce_plan_kernel(const reduction *r, const plan_target *target,
                               const plan_options *options, plan_kernel *kernel, bool *divided,
                               int *kept) {
  draft d;
  reduce_layouts made;
  reduce_value value;
  reduce_shape shape = r->shape;
  lines opened;
  shape.result_bytes = result_bytes(&r->value);
  shape.words = !r->reads_pairs && !r->clears;
  shape.stretches = !r->clears; /* partial results are few: more blocks read them sooner */
  LLRT_TRY(make_tile(&d, r, &shape, target, options, kernel, &made));
  shape.words = false;
  if (!made.fits) LLRT_TRY(make_tile(&d, r, &shape, target, options, kernel, &made));
  *divided = made.divided;
  *kept = made.kept;
  if (made.divided) return LLRT_OK;
  plan_value load = made.load, clean = made.clean;
  LLRT_TRY(draft_walk_turns(&d, d.desc->combine.axes,
                            is_looped(&load) ? REDUCE_LEAST_TURNS_OF_ROWS : REDUCE_LEAST_TURNS));
  if (shape.split) share_walk(kernel, made.stretched);
  if (r->value.pairs && !r->reads_pairs) LLRT_TRY(position_axes(&d, r));
  if (r->reads_pairs) load = clean; /* both tensors are rows of words */
  kernel->fill = combine_identity(r->value.op, r->desc.tensors[0].dtype);
  int lanes_and_warps = 0, bit[LLRT_MAX_BITS];
  lanes_and_warps += plan_fold_bits(&clean, PLAN_LANE, *kept, bit);
  lanes_and_warps += plan_fold_bits(&clean, PLAN_WARP, *kept, bit);
  LLRT_TRY(open_lines(&d, &load, &opened));
  LLRT_TRY(walk_steps(&d, r, &load, &clean, *kept, *kept + lanes_and_warps, &value));
  LLRT_TRY(reduce_block(&d, &value, *kept, true));
  LLRT_TRY(result_steps(&d, r, &value));
  close_lines(kernel, &opened);
  draft_finish(kernel);
  return LLRT_OK;
}
