/* From a launch recipe and bound tensors to arguments and grid: all the arithmetic of a run. */
#include "jit/plan/kernel/launch.h"

#include "base/bits.h"
#include "base/status.h"
#include "layout/storage_rule.h"

#include <assert.h>
#include <string.h>

#define REGION_ALIGNMENT 256 /* bytes; as drivers align allocations */

void plan_magic(int64_t d, uint64_t *multiplier, uint64_t *shift) {
  /* m = ceil(2^(63+s) / d) with s = ceil(log2 d): the error m d - 2^(63+s) is below d <= 2^s, so
   * for n < 2^63 the quotient's error stays below 1/d (Granlund and Montgomery 1994, theorem 4.2).
   */
  assert(d >= 1);
  int s = d == 1 ? 0 : bits_highest((uint64_t)(d - 1)) + 1;
  unsigned __int128 power = (unsigned __int128)1 << (63 + s);
  *multiplier = (uint64_t)((power + (uint64_t)d - 1) / (uint64_t)d);
  *shift = (uint64_t)s;
}

/* What a launch is computed from. */
typedef struct bound_call {
  const plan_launch *launch;
  const plan_run *run;
  const llrt_tensor *tensors; /* the stage's */
  const llrt_storage_binding *bindings;
} bound_call;

static int64_t extent_of(const bound_call *call, int axis, int padded) {
  return padded > 0 && call->bindings ? call->bindings[padded].padded[axis]
                                      : call->tensors[0].shape[axis];
}

/* Parts of 1. */
#define PARTS 1024
#define LN_2 710
#define EULER 591 /* what the sum of 1, 1/2, …, 1/n is beyond ln n */

/* ln n, n >= 1, in PARTS. */
static int64_t natural_log(int64_t n) {
  const int bits = bits_highest((uint64_t)n);
  return LN_2 * bits + (int64_t)((__int128)LN_2 * (n - ((int64_t)1 << bits)) >> bits);
}

/* Tiles of n experts whose rows are in proportion to 1, 1/2, …, 1/n: of the first `most` of them,
 * most / 1, most / 2, … and half a tile more each; one of each other. */
static int64_t skewed_tiles(int64_t n, int64_t all, int64_t rows) {
  const __int128 whole = (__int128)(natural_log(n) + EULER) * rows;
  const int64_t most = (int64_t)((__int128)all * PARTS / whole);
  if (most < 1) return n;
  if (most >= n) return all / rows + bits_ceil_div(n, 2);
  return n + (int64_t)((__int128)most * (natural_log(most) + EULER - PARTS / 2) / PARTS);
}

/* Tiles of so many rows of which each has one expert's: T rows of n experts that have some, n of
 * them and (T - n) / rows more at most; half a tile of each is empty where nothing is known. What
 * is likely lies between even rows and skewed ones. */
static int64_t expert_tiles(const bound_call *call, int64_t rows) {
  int64_t experts = call->tensors[0].shape[0], all = call->tensors[0].shape[1];
  int64_t some = experts < all ? experts : all;
  if (!call->run->likely) return some + (all - some) / rows;
  if (some < 1) return 0;
  int64_t even = all / rows + bits_ceil_div(some, 2), skewed = skewed_tiles(some, all, rows);
  even = even > some ? even : some;
  return (even + (skewed > even ? skewed : even)) / 2;
}

static int64_t place_count(const bound_call *call, const plan_grid_place *place) {
  if (place->axis == PLAN_AXIS_EXPERTS) return expert_tiles(call, place->factor);
  if (place->axis == PLAN_AXIS_SPLITS) return call->run->splits;
  if (place->axis < 0) return place->factor;
  return bits_ceil_div(extent_of(call, place->axis, place->padded), place->factor);
}

/* The product of places; -1 past 2^62. */
static int64_t count_places(const bound_call *call, const plan_grid_place *places, int n) {
  int64_t positions = 1;
  for (int i = 0; i < n; i++) {
    int64_t count = place_count(call, &places[i]);
    if (__builtin_mul_overflow(positions, count, &positions) || positions > INT64_MAX / 2)
      return -1;
  }
  return positions;
}

static int64_t count_positions(const bound_call *call) {
  return count_places(call, call->launch->grid, call->launch->n_grid);
}

/* Turns of the stage's own walk, and how many of them a block takes. Only the first stage's are
 * shared. */
static int64_t own_turns(const bound_call *call) {
  const plan_walk *walk = &call->launch->walk;
  return walk->n == 0 ? 1 : count_places(call, walk->place, walk->n);
}

static int64_t own_share(const bound_call *call) {
  return call->launch->walk.blocks > 0 ? call->run->share : own_turns(call);
}

/* Whole bytes: planning saw to that. */
static int64_t origin_bytes(const llrt_storage_binding *binding, int bits) {
  return binding->origin[0] / 8 * bits + binding->origin[0] % 8 * bits / 8;
}

/* The product of the extents of some axes: no more than the tensor's elements, unless it has none.
 */
static uint64_t extents_of(const bound_call *call, uint64_t axes) {
  uint64_t product = 1;
  for (; axes; axes &= axes - 1) product *= (uint64_t)extent_of(call, bits_lowest(axes), 0);
  return product;
}

/* The code of a number in f32 or f64. */
static uint64_t number_code_of(double number, bool wide) {
  float narrow = (float)number;
  uint64_t code = 0;
  if (wide) memcpy(&code, &number, sizeof number);
  else memcpy(&code, &narrow, sizeof narrow);
  return code;
}

static uint64_t arg_value(const bound_call *call, const plan_arg *arg) {
  bool of_index = arg->kind >= PLAN_ARG_INDEX_DATA && arg->kind <= PLAN_ARG_INDEX_REPORT;
  const llrt_index *index = of_index ? &call->tensors[arg->tensor].indices[arg->index] : NULL;
  uint64_t multiplier, shift;
  switch ((plan_arg_kind)arg->kind) {
  case PLAN_ARG_ADDRESS:
    return (uint64_t)(uintptr_t)call->tensors[arg->tensor].data + (uint64_t)arg->factor +
           (uint64_t)(arg->index ? origin_bytes(&call->bindings[arg->tensor], arg->index) : 0);
  case PLAN_ARG_STRIDE:
    return (uint64_t)call->bindings[arg->tensor].stride[arg->index] * (uint64_t)arg->factor;
  case PLAN_ARG_POSITIONS: return (uint64_t)count_positions(call);
  case PLAN_ARG_FLOOR: return (uint64_t)(extent_of(call, arg->index, arg->padded) / arg->factor);
  case PLAN_ARG_INDEX_DATA: return (uint64_t)(uintptr_t)index->data;
  case PLAN_ARG_INDEX_STRIDE: return (uint64_t)index->strides[arg->factor];
  case PLAN_ARG_INDEX_EXTENT: return (uint64_t)index->extent;
  case PLAN_ARG_INDEX_REPORT: return (uint64_t)(uintptr_t)index->report;
  case PLAN_ARG_EXTENT_PTR:
    return (uint64_t)(uintptr_t)call->tensors[arg->tensor].extent_ptr[arg->index];
  case PLAN_ARG_WORKSPACE: return (uint64_t)call->run->address[arg->index] + (uint64_t)arg->factor;
  case PLAN_ARG_TURNS: return (uint64_t)own_turns(call);
  case PLAN_ARG_SHARE: return (uint64_t)own_share(call);
  case PLAN_ARG_SPLITS: return (uint64_t)call->run->splits;
  case PLAN_ARG_BLOCKS: return (uint64_t)(count_positions(call) / call->run->splits);
  case PLAN_ARG_ALPHA: return number_code_of(call->run->alpha, arg->factor != 0);
  case PLAN_ARG_BETA: return number_code_of(call->run->beta, arg->factor != 0);
  case PLAN_ARG_EXPERT_TILES: return (uint64_t)expert_tiles(call, arg->factor);
  case PLAN_ARG_SCALAR: return call->run->scalars ? call->run->scalars[arg->index] : 0;
  case PLAN_ARG_EXTENTS: return extents_of(call, (uint64_t)arg->factor);
  case PLAN_ARG_PARTIAL: return (uint64_t)call->bindings[arg->tensor].span;
  case PLAN_ARG_BEGIN: return (uint64_t)(uintptr_t)call->tensors[arg->tensor].data;
  case PLAN_ARG_END:
    return (uint64_t)(uintptr_t)call->tensors[arg->tensor].data +
           (uint64_t)call->bindings[arg->tensor].span * (uint64_t)arg->factor / 8;
  case PLAN_ARG_CEIL:
  case PLAN_ARG_ROUND_UP:
  case PLAN_ARG_MAGIC:
  case PLAN_ARG_MAGIC_SHIFT: break;
  }
  int64_t count = bits_ceil_div(extent_of(call, arg->index, arg->padded), arg->factor);
  if (arg->kind == PLAN_ARG_CEIL) return (uint64_t)count;
  if (arg->kind == PLAN_ARG_ROUND_UP) return (uint64_t)(count * arg->factor);
  plan_magic(count > 0 ? count : 1, &multiplier, &shift); /* a walk of no turns divides nothing */
  return arg->kind == PLAN_ARG_MAGIC ? multiplier : shift;
}

/* Blocks that turns are dealt to. */
static int64_t dealt_blocks(const bound_call *call, int64_t positions) {
  const plan_launch *launch = call->launch;
  int64_t shares;
  if (__builtin_mul_overflow(positions, own_turns(call), &shares)) shares = INT64_MAX;
  shares /= launch->walk.least;
  return shares < 1 ? 1 : shares < launch->dealt ? shares : launch->dealt;
}

static llrt_status count_blocks(const bound_call *call, int64_t *blocks) {
  int64_t positions = count_positions(call);
  if (call->launch->block_elements > 0 && positions > 0)
    positions = bits_ceil_div(positions, call->launch->block_elements);
  if (call->launch->cluster > 0 && positions > 0 && positions <= INT32_MAX)
    positions *= call->launch->cluster;
  if (positions < 0 || positions > INT32_MAX)
    return llrt_error(LLRT_UNSUPPORTED, "the launch would need more than 2^31 - 1 blocks");
  if (call->launch->dealt > 0 && positions > 0) positions = dealt_blocks(call, positions);
  bool fewer = call->launch->most_blocks > 0 && positions > call->launch->most_blocks;
  *blocks = fewer ? call->launch->most_blocks : positions;
  return LLRT_OK;
}

/* Whether there is nothing to do: an axis without positions that is not walked. */
static bool is_empty(const plan_launch *launch, const llrt_tensor *tensors) {
  for (int a = 0; a < tensors[0].rank; a++)
    if (tensors[0].shape[a] == 0 && !(launch->walk.axes >> a & 1)) return true;
  return false;
}

static bool is_grouped(const plan_launch *launch) {
  bool grouped = false;
  for (int i = 0; i < launch->n_grid; i++) grouped |= launch->grid[i].axis == PLAN_AXIS_EXPERTS;
  return grouped;
}

static int64_t product(int64_t x, int64_t y) {
  int64_t xy;
  return __builtin_mul_overflow(x, y, &xy) ? INT64_MAX : xy;
}

/* Whether rows of an operand whose last axes have these extents begin inside lines of memory. */
static bool is_torn(const plan_pace *pace, const int64_t *last, int operand) {
  const int64_t pitch = pace->pitch[operand];
  return pitch > 0 && last[pitch - 1] % pace->line[operand] != 0;
}

/* Of so many positions each. */
static int64_t tiles_of(int64_t extent, int64_t positions) {
  return positions > 0 ? bits_ceil_div(extent, positions) : 1;
}

/* Of experts that sum along their parts of K. */
static pace_shape shape_of_parts(const plan_launch *launch, const llrt_tensor *tensor,
                                 int64_t blocks, int64_t turns) {
  const int64_t *shape = tensor->shape, experts = shape[0] > 0 ? shape[0] : 1;
  return (pace_shape){
      .blocks = blocks,
      .turns = bits_ceil_div(turns, experts),
      .rows = shape[1],
      .tiles = {tiles_of(shape[1], launch->pace.rows), tiles_of(shape[2], launch->pace.columns)},
      .elements = {product(shape[1], shape[3]), product(shape[2], shape[3]),
                   product(experts, product(shape[1], shape[2]))},
      .products = product(shape[1], product(shape[2], shape[3]))};
}

/* What the launch's pace counts, of a dot: axes batch.., M, N, K. A batch's matrices are all its
 * own; of experts those count that have rows, which are all experts' together. */
static pace_shape shape_of(const plan_launch *launch, const llrt_tensor *tensor, int64_t blocks,
                           int64_t turns) {
  const int64_t *last = &tensor->shape[tensor->rank - 3];
  int64_t batch = 1;
  if (launch->pace.parts) return shape_of_parts(launch, tensor, blocks, turns);
  for (int a = 0; a < tensor->rank - 3; a++) batch = product(batch, tensor->shape[a]);
  const bool grouped = is_grouped(launch);
  const int64_t with_rows = grouped ? 1 : batch,
                matrices = grouped && batch > last[0] ? last[0] : batch,
                rows = grouped ? bits_ceil_div(last[0], batch > 0 ? batch : 1) : last[0];
  return (pace_shape){
      .blocks = blocks,
      .turns = turns,
      .rows = rows,
      .tiles = {tiles_of(rows, launch->pace.rows), tiles_of(last[1], launch->pace.columns)},
      .elements = {product(with_rows, product(last[0], last[2])),
                   product(matrices, product(last[1], last[2])),
                   product(with_rows, product(last[0], last[1]))},
      .products = product(with_rows, product(last[0], product(last[1], last[2]))),
      .torn = {is_torn(&launch->pace, last, 0), is_torn(&launch->pace, last, 1)},
      .experts = grouped};
}

/* How many blocks share a walk by the pace of their tiles, else by the walk's own rule. */
static int64_t count_shares(const plan_launch *launch, const plan_run *run, int64_t others) {
  const plan_walk *walk = &launch->walk;
  if (launch->pace.units > 0) {
    const pace_shape shape = shape_of(launch, run->tensors, others, run->turns);
    return pace_shares(&launch->pace, &shape, walk->least, (int)walk->blocks);
  }
  int64_t wanted = walk->blocks / others, most = run->turns / walk->least;
  if (walk->enough == 0 || wanted * others < walk->enough)
    wanted = bits_ceil_div(walk->blocks, others);
  return wanted < most ? wanted : most;
}

/* The turns of a walk and how blocks share them. The grid without its splits is the run's at splits
 * = 1. */
static llrt_status share_turns(const plan_launch *launch, plan_run *run) {
  const plan_walk *walk = &launch->walk;
  const bound_call call = {launch, run, run->tensors, run->bindings};
  run->turns = run->share = run->splits = 1;
  if (walk->n == 0) return LLRT_OK;
  run->turns = run->share = count_places(&call, walk->place, walk->n);
  if (run->turns < 0) return llrt_error(LLRT_UNSUPPORTED, "a walk would take more than 2^62 turns");
  int64_t others = count_positions(&call);
  if (walk->blocks == 0 || run->turns == 0 || others <= 0) return LLRT_OK;
  int64_t splits = count_shares(launch, run, others);
  if (splits > 1) run->share = bits_ceil_div(run->turns, splits);
  run->splits = bits_ceil_div(run->turns, run->share);
  return LLRT_OK;
}

/* Of a walk whose turns are dealt: those of fewer than two positions a block are numbers of 32
 * bits, which blocks divide. */
#define DEALT_TURNS (1 << 22)

int64_t plan_launch_clocks(const plan_launch *first, const llrt_tensor *tensor, int units) {
  plan_run run = {.tensors = tensor, .n = 1, .turns = 1, .share = 1, .splits = 1, .likely = true};
  const bound_call call = {first, &run, tensor, NULL};
  if (share_turns(first, &run) != LLRT_OK) return INT64_MAX;
  int64_t splits = run.splits;
  run.splits = 1;
  int64_t blocks = count_positions(&call);
  if (first->cluster > 0) blocks = product(blocks, first->cluster);
  if (blocks < 0) return INT64_MAX;
  const pace_shape shape = shape_of(first, tensor, blocks, run.turns);
  bool dealt = first->dealt > 0 && dealt_blocks(&call, blocks) > 1;
  if (dealt && run.turns > DEALT_TURNS) return INT64_MAX;
  return pace_clocks(&first->pace, &shape, splits, dealt, units);
}

/* Rows by which a batch-invariant product's tile is chosen: of decoding and of prefill. */
static const int64_t typical_rows[] = {8, 256, 1024, 4096};
#define TYPICAL_ROWS ((int)(sizeof typical_rows / sizeof *typical_rows))
#define COST_PART 1024 /* of the least time */

/* *tensor with so many rows (of each expert), and of batch axes one position. */
static void set_rows(const plan_launch *launch, int64_t rows, llrt_tensor *tensor) {
  const int m = tensor->rank - 3;
  const bool grouped = is_grouped(launch);
  tensor->shape[m] = product(rows, grouped ? tensor->shape[0] : 1);
  for (int a = 0; a < m && !grouped; a++) tensor->shape[a] = 1;
}

int64_t plan_launch_cost(const plan_launch *first, const llrt_tensor *tensor, int units) {
  if (!first->pace.invariant) return plan_launch_clocks(first, tensor, units);
  int64_t cost = 0;
  llrt_tensor typical = *tensor;
  for (int i = 0; i < TYPICAL_ROWS; i++) {
    set_rows(first, typical_rows[i], &typical);
    const pace_shape shape = shape_of(first, &typical, 1, 1);
    const int64_t least = pace_least(&first->pace, &shape, units) / COST_PART + 1;
    cost += plan_launch_clocks(first, &typical, units) / least;
  }
  return cost;
}

double plan_launch_covered_bytes(const plan_launch *launch, const llrt_tensor *tensors,
                                 const llrt_storage_binding *bindings, int n_tensors) {
  plan_run run = {.tensors = tensors, .n = 1, .turns = 1, .share = 1, .splits = 1};
  const bound_call call = {launch, &run, tensors, bindings};
  int widest = 0;
  if (launch->walk.n > 0) return 0;
  int64_t positions = count_positions(&call);
  if (positions < 0) positions = INT64_MAX;
  if (launch->block_elements == 0) return (double)positions * launch->block_bytes;
  for (int t = 0; t < n_tensors; t++)
    if (llrt_dtype_bits(tensors[t].dtype) > widest) widest = llrt_dtype_bits(tensors[t].dtype);
  return (double)positions * widest / 8;
}

static __int128 position_bytes(const plan_region *region, const plan_run *run) {
  __int128 bytes = region->per_position;
  int rank = run->tensors[0].rank;
  for (int a = 0; a < rank; a++) {
    int64_t positions = run->tensors[0].shape[a],
            piece = a == rank - 1 ? (int64_t)1 << region->pieces : 1;
    if (region->axes >> a & 1) bytes *= bits_ceil_div(positions, piece) * piece;
  }
  return bytes;
}

/* Results of the shares of a run. */
static __int128 count_partials(const plan_launch *launch, const plan_run *run) {
  __int128 partials = run->splits;
  for (int a = 0; a < run->tensors[0].rank; a++)
    if (!(launch->walk.axes >> a & 1)) partials *= run->tensors[0].shape[a];
  return partials;
}

/* The most of them of a run on these extents or smaller ones. With `others` blocks for the axes
 * that are not walked there are at most blocks / others + 1 shares of others * results positions
 * each, of others beyond blocks, where the range has such, one, which has the positions: all of
 * these bounds grow with the extents. */
static __int128 most_partials(const plan_launch *launch, const plan_run *run) {
  const plan_walk *walk = &launch->walk;
  __int128 positions = count_partials(launch, run) / run->splits;
  if (walk->blocks == 0) return positions;
  int64_t shares = run->turns / walk->least;
  __int128 partials = positions * (shares > walk->blocks ? walk->blocks : shares > 1 ? shares : 1);
  __int128 most = (__int128)2 * walk->blocks * walk->results;
  if (launch->range.max_across == 0 && most < positions) most = positions;
  return walk->results > 0 && partials > most ? most : partials;
}

/* Sizes and offsets of the workspace's regions. */
static llrt_status place_regions(const plan_launch *launch, __int128 partials, plan_run *run) {
  const plan_workspace *workspace = &launch->workspace;
  const bound_call call = {launch, run, run->tensors, run->bindings};
  __int128 blocks = 1, bytes = 0;
  if (workspace->n == 0) return LLRT_OK;
  blocks = count_positions(&call);
  run->n_zero = workspace->zero;
  for (int i = 0; i < workspace->n; i++) {
    const plan_region *region = &workspace->region[i];
    run->region[i] = (int64_t)bytes;
    bytes += region->fixed + region->per_block * blocks + region->per_partial * partials +
             position_bytes(region, run);
    bytes = (bytes + REGION_ALIGNMENT - 1) / REGION_ALIGNMENT * REGION_ALIGNMENT;
    if (blocks < 0 || bytes > INT64_MAX / 2)
      return llrt_error(LLRT_UNSUPPORTED, "the workspace would pass 2^62 bytes");
    if (i < workspace->zero) run->zero_bytes = (int64_t)bytes;
  }
  run->workspace_bytes = (int64_t)bytes;
  return LLRT_OK;
}

static llrt_status begin_run(const plan_launch *first, const llrt_tensor *tensors,
                             const llrt_storage_binding *bindings, int n_tensors, bool most,
                             plan_run *run) {
  *run = (plan_run){.tensors = tensors,
                    .bindings = bindings,
                    .n = n_tensors,
                    .turns = 1,
                    .share = 1,
                    .splits = 1,
                    .alpha = first->alpha,
                    .beta = first->beta};
  assert(n_tensors >= 1);
  if (is_empty(first, tensors)) return LLRT_OK;
  LLRT_TRY(share_turns(first, run));
  return place_regions(first, most ? most_partials(first, run) : count_partials(first, run), run);
}

llrt_status plan_run_begin(const plan_launch *first, const llrt_tensor *tensors,
                           const llrt_storage_binding *bindings, int n_tensors, plan_run *run) {
  return begin_run(first, tensors, bindings, n_tensors, false, run);
}

void plan_run_place(plan_run *run, void *zeroed, void *rest) {
  for (int i = 0; i < PLAN_MAX_REGIONS; i++) {
    bool zero = i < run->n_zero;
    uintptr_t first = (uintptr_t)(zero ? zeroed : rest);
    run->address[i] = first + (uintptr_t)(run->region[i] - (zero ? 0 : run->zero_bytes));
  }
}

llrt_status plan_workspace_most(const plan_launch *first, const llrt_tensor *tensors,
                                const llrt_storage_binding *bindings, int n_tensors,
                                int64_t *bytes) {
  plan_run run;
  LLRT_TRY(begin_run(first, tensors, bindings, n_tensors, true, &run));
  *bytes = run.workspace_bytes;
  return LLRT_OK;
}

/* An extent of the stage's axis a. */
static int64_t view_extent(const plan_view *view, const plan_run *run, int a) {
  if (view->axis[a] == PLAN_AXIS_SPLITS) return run->splits;
  return view->axis[a] < 0 ? 1 : run->tensors[0].shape[view->axis[a]];
}

/* A tensor of the operation with the stage's axes. */
static void view_own(const plan_view *view, const plan_run *run, int from, llrt_tensor *tensor,
                     llrt_storage_binding *binding) {
  *tensor = run->tensors[from];
  *binding = run->bindings[from];
  tensor->rank = view->rank;
  for (int a = 0; a < view->rank; a++) {
    tensor->shape[a] = view_extent(view, run, a);
    binding->padded[a] = view->axis[a] < 0 ? 1 : run->bindings[from].padded[view->axis[a]];
  }
}

llrt_status plan_view_tensors(const plan_launch *launch, const plan_run *run, llrt_tensor *tensors,
                              llrt_storage_binding *bindings) {
  const plan_view *view = &launch->view;
  for (int t = 0; t < view->n; t++) {
    if (view->tensor[t] >= 0) {
      view_own(view, run, view->tensor[t], &tensors[t], &bindings[t]);
      continue;
    }
    llrt_storage rows;
    LLRT_TRY(storage_whole_rows(view->rank, view->pieces[t], &rows));
    tensors[t] = (llrt_tensor){.rank = view->rank};
    tensors[t].data = (void *)run->address[-1 - view->tensor[t]];
    for (int a = 0; a < view->rank; a++)
      tensors[t].shape[a] = view->ones[t] >> a & 1 ? 1 : view_extent(view, run, a);
    LLRT_TRY(llrt_storage_bind(&rows, view->rank, tensors[t].shape, NULL, &bindings[t]));
    for (int a = 0; a < view->rank; a++)
      tensors[t].shape[a] = view_extent(view, run, a); /* the stage's */
  }
  return LLRT_OK;
}

llrt_status plan_run_stage(const plan_launch *launch, const plan_run *run,
                           uint64_t args[PLAN_MAX_ARGS], int64_t *blocks) {
  llrt_tensor tensors[LLRT_MAX_TENSORS];
  llrt_storage_binding bindings[LLRT_MAX_TENSORS];
  bound_call call = {launch, run, run->tensors, run->bindings};
  *blocks = 0;
  if (launch->view.used) {
    LLRT_TRY(plan_view_tensors(launch, run, tensors, bindings));
    call.tensors = tensors;
    call.bindings = bindings;
  }
  if (is_empty(launch, call.tensors)) return LLRT_OK;
  LLRT_TRY(count_blocks(&call, blocks));
  for (int i = 0; i < launch->n_args; i++) args[i] = arg_value(&call, &launch->arg[i]);
  return LLRT_OK;
}

llrt_status plan_launch_bind(const plan_launch *launch, const llrt_tensor *tensors,
                             const llrt_storage_binding *bindings, int n_tensors,
                             uint64_t args[PLAN_MAX_ARGS], int64_t *blocks) {
  plan_run run;
  *blocks = 0;
  LLRT_TRY(plan_run_begin(launch, tensors, bindings, n_tensors, &run));
  return plan_run_stage(launch, &run, args, blocks);
}

/* The product of the extents of the range's axes. */
static int64_t extent_along(const plan_range *range, int rank, const int64_t *shape) {
  int64_t along = 1;
  for (int a = 0; a < rank; a++)
    if (range->axes >> a & 1) along *= shape[a];
  return along;
}

bool plan_range_takes(const plan_range *range, const llrt_tensor *source) {
  int64_t values = source->n_indices > 0 ? source->indices[0].extent : 0;
  if (!plan_range_contains(range, source->rank, source->shape)) return false;
  if (range->max_values == 0) return true;
  return values <= range->max_values &&
         values <= PLAN_RANGE_REUSE * extent_along(range, source->rank, source->shape);
}

bool plan_range_contains(const plan_range *range, int rank, const int64_t *shape) {
  int64_t elements = 1, along = extent_along(range, rank, shape);
  for (int a = 0; a < rank; a++) {
    bool empty = range->or_empty >> a & 1 && shape[a] == 0;
    if (shape[a] < range->min_extent[a] && !empty) return false;
    if (range->max_extent[a] > 0 && shape[a] > range->max_extent[a]) return false;
    elements *= shape[a];
  }
  if (range->axes && along < range->min_along) return false;
  if (range->max_across > 0 && along > 0 && elements / along > range->max_across) return false;
  if (range->min_across > 0 && along > 0 && elements / along < range->min_across) return false;
  if (elements < range->min_elements) return false;
  return range->max_elements <= 0 || elements <= range->max_elements;
}

/* Rows of an expert, of those that have some, half as many again: few have more. */
static int64_t likely_rows(int64_t experts, int64_t all) {
  int64_t some = experts < all ? experts : all, mean = some > 0 ? bits_ceil_div(all, some) : 0;
  if (mean > INT64_MAX / 3 * 2) return INT64_MAX;
  return mean > 1 ? mean + mean / 2 : mean;
}

const plan_launch *plan_launch_decides(const plan_launch *first, const plan_launch *last) {
  return is_grouped(last) || last->pace.copied[0] || last->pace.copied[1] ? last : first;
}

bool plan_launch_takes(const plan_launch *first, const llrt_tensor *source) {
  llrt_tensor one;
  if (!is_grouped(first)) return plan_range_takes(&first->range, source);
  one = *source;
  one.shape[1] = likely_rows(source->shape[0], source->shape[1]);
  return plan_range_takes(&first->range, &one);
}

void plan_launch_likely(const plan_launch *first, int64_t *least, int64_t *most) {
  if (!is_grouped(first)) return;
  least[1] = likely_rows(most[0], least[1]);
  most[1] = likely_rows(least[0], most[1]);
}
