/* Joins along axes. What lies beyond an axis's end is left out by the neutral element; registers,
 * lanes and warps are joined as a reduce joins them (jit/plan/block/reduce_block.c), in a tree that
 * the row's tile alone decides. */
#include "jit/plan/rows/rows.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/block/block.h"
#include "jit/plan/exchange/exchange.h"
#include "jit/plan/facts/fold.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/types/combine.h"

#include <string.h>

int rows_combiner(int op) {
  switch (op) {
  case EXPR_SUM:
  case EXPR_CUMSUM:
  case EXPR_MEAN: return LLRT_COMBINE_SUM;
  case EXPR_PROD:
  case EXPR_CUMPROD: return LLRT_COMBINE_PROD;
  case EXPR_MAX:
  case EXPR_CUMMAX: return LLRT_COMBINE_MAX;
  case EXPR_MIN:
  case EXPR_CUMMIN: return LLRT_COMBINE_MIN;
  case EXPR_ANY: return LLRT_COMBINE_ANY;
  case EXPR_ALL: return LLRT_COMBINE_ALL;
  case EXPR_ARGMAX: return LLRT_COMBINE_ARGMAX;
  default: return LLRT_COMBINE_ARGMIN;
  }
}

/* Truth is joined as numbers of 32 bits. */
llrt_dtype rows_joined_type(const program_node *node) {
  return node->from == LLRT_BOOL ? LLRT_U32 : (llrt_dtype)node->from;
}

/* ---- ends ---- */

bool rows_overhang(const rows *r, int axis) {
  bool found = false;
  for (int i = 0; i < r->d.kernel->n_bounds; i++) {
    const plan_bound *bound = &r->d.kernel->bound[i];
    found |=
        bound->axis == axis || (bound->axis < 0 && r->d.kernel->digit[bound->top].axis == axis);
  }
  return found;
}

bool rows_reach_beyond(const rows *r, int axis) {
  bool beyond = rows_overhang(r, axis);
  for (int t = 0; t < r->program->n_tensors; t++) beyond |= draft_stores_pads(&r->d, t, axis);
  return beyond;
}

static llrt_status position_of(rows *r, int axis, int *number) {
  plan_step position = {
      .kind = PLAN_APPLY, .op = EXPR_POSITION, .type = LLRT_I32, .axis = (uint8_t)axis};
  return rows_apply(r, position, r->of_axis[axis], number);
}

llrt_status rows_replace_beyond(rows *r, int axis, llrt_dtype type, int64_t code, int *value) {
  uint64_t tile_bits = plan_tile_bits_in(r->d.kernel, &r->d.kernel->value[*value]);
  plan_number end;
  int position, limit, inside, other;
  LLRT_TRY(draft_number(&r->d, PLAN_ARG_CEIL, axis, 0, 1, &end));
  LLRT_TRY(position_of(r, axis, &position));
  LLRT_TRY(rows_number(r, LLRT_I32, end, &limit));
  LLRT_TRY(rows_number(r, type, (plan_number){.arg = -1, .value = code}, &other));
  plan_step compare = {.kind = PLAN_APPLY,
                       .op = EXPR_LESS,
                       .operands = 2,
                       .in = (uint8_t)position,
                       .second = (uint8_t)limit,
                       .element = LLRT_I32,
                       .type = LLRT_BOOL};
  LLRT_TRY(rows_apply(r, compare, r->of_axis[axis], &inside));
  plan_step choose = {.kind = PLAN_APPLY,
                      .op = EXPR_WHERE,
                      .operands = 3,
                      .in = (uint8_t)inside,
                      .second = (uint8_t)*value,
                      .with = (uint8_t)other,
                      .element = (uint8_t)type,
                      .type = (uint8_t)type};
  return rows_apply(r, choose, tile_bits, value);
}

bool rows_joins_sizes(const rows *r, const program_node *node) {
  const program_node *joined = &r->program->node[node->arg[0]];
  bool known = true;
  for (int a = 0; a < r->program->rank; a++)
    known &= !(node->reduced >> a & 1 && rows_reach_beyond(r, a)) || r->d.shape[a].known > 0;
  return r->resident && known && node->op == EXPR_MAX && node->type == LLRT_F32 &&
         joined->op == EXPR_ABS;
}

/* The neutral element in place of what lies beyond the axis: of sizes 0. */
static llrt_status leave_out_along(rows *r, const program_node *node, int axis, int *value) {
  llrt_dtype type = rows_joined_type(node);
  uint64_t code = combine_identity(rows_combiner(node->op), type);
  if (rows_joins_sizes(r, node)) code = 0;
  return rows_replace_beyond(r, axis, type, (int64_t)code, value);
}

static llrt_status leave_out(rows *r, const program_node *node, int *value) {
  for (int a = 0; a < r->program->rank; a++)
    if (node->reduced >> a & 1 && rows_reach_beyond(r, a))
      LLRT_TRY(leave_out_along(r, node, a, value));
  return LLRT_OK;
}

bool rows_has_ends(const rows *r, const program_node *node) {
  bool ends = false;
  for (int a = 0; a < r->program->rank; a++)
    ends |= node->reduced >> a & 1 && rows_reach_beyond(r, a);
  return ends;
}

/* Of walked rows most turns lie inside, and there nothing is left out. */
llrt_status rows_leave_out(rows *r, const program_node *node, int *value) {
  plan_kernel *kernel = r->d.kernel;
  int whole, branch = kernel->n_steps, edge = kernel->n_steps + 2;
  if (!rows_has_ends(r, node) || r->resident || !rows_may_be_inside(r))
    return leave_out(r, node, value);
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_IF_INTERIOR, .joins = true, .body = 1}));
  LLRT_TRY(rows_renamed(r, *value, kernel->value[*value].reduced, &whole));
  LLRT_TRY(leave_out(r, node, value));
  kernel->step[branch].otherwise = (uint8_t)(kernel->n_steps - edge);
  /* Both ways make one value. */
  kernel->step[edge - 1].out = (uint8_t)*value;
  kernel->step[branch].out = (uint8_t)*value;
  return LLRT_OK;
}

/* ---- the join ---- */

llrt_status rows_renamed(rows *r, int value, uint64_t reduced, int *number) {
  plan_value made = r->d.kernel->value[value];
  made.reduced = reduced;
  LLRT_TRY(draft_value(r->d.kernel, &made, number));
  return draft_step(
      r->d.kernel,
      (plan_step){.kind = PLAN_REGISTERS, .in = (uint8_t)value, .out = (uint8_t)*number});
}

/* Positions along the axis, laid out as value `like`. */
static llrt_status positions_like(rows *r, int axis, int like, int *number) {
  int position;
  uint64_t tile_bits = plan_tile_bits_in(r->d.kernel, &r->d.kernel->value[like]);
  LLRT_TRY(position_of(r, axis, &position));
  plan_step copy = {.kind = PLAN_APPLY,
                    .op = EXPR_CAST,
                    .operands = 1,
                    .in = (uint8_t)position,
                    .element = LLRT_I32,
                    .type = LLRT_I32};
  return rows_apply(r, copy, tile_bits, number);
}

llrt_status rows_begin_join(rows *r, const program_node *node, int in, rows_joining *j) {
  plan_kernel *kernel = r->d.kernel;
  int value = in, at = 0;
  LLRT_TRY(rows_leave_out(r, node, &value));
  *j = (rows_joining){.node = node};
  j->value = (reduce_value){.op = rows_combiner(node->op),
                            .type = rows_joined_type(node),
                            .pairs = combine_is_arg(rows_combiner(node->op)),
                            .index = LLRT_I32};
  j->left = plan_tile_bits_in(kernel, &kernel->value[value]) & ~rows_bits_of(r, node->reduced);
  j->kept = bits_count(j->left);
  if (j->value.pairs) LLRT_TRY(positions_like(r, bits_lowest(node->reduced), value, &at));
  LLRT_TRY(rows_renamed(r, value, 0, &j->value.key));
  return j->value.pairs ? rows_renamed(r, at, 0, &j->value.at) : LLRT_OK;
}

llrt_status rows_end_join(rows *r, const reduce_value *value, uint64_t left, int *out) {
  plan_kernel *kernel = r->d.kernel;
  int joined = value->pairs ? value->at : value->key;
  plan_value wanted, own;
  LLRT_TRY(rows_layout(r, left, kernel->value[joined].bits, &wanted));
  own = wanted;
  own.reduced = 0;
  if (!llrt_layout_equal(&own.layout, &kernel->value[joined].layout))
    LLRT_TRY(draft_exchange(&r->d, joined, &own, &joined));
  return rows_renamed(r, joined, wanted.reduced, out);
}

/* Sum over count. */
llrt_status rows_divide_mean(rows *r, const program_node *node, int *value) {
  uint64_t tile_bits = plan_tile_bits_in(r->d.kernel, &r->d.kernel->value[*value]);
  llrt_dtype type = (llrt_dtype)node->type;
  plan_number number;
  int64_t known = 1;
  int count;
  for (int a = 0; a < r->program->rank; a++) {
    int64_t extent = r->d.shape[a].known;
    if (node->reduced >> a & 1 &&
        (known < 0 || extent < 0 || __builtin_mul_overflow(known, extent, &known)))
      known = -1;
  }
  number = (plan_number){.arg = -1, .value = known};
  if (known < 0)
    LLRT_TRY(
        draft_arg(&r->d, (plan_arg){.kind = PLAN_ARG_EXTENTS, .factor = node->reduced}, &number));
  LLRT_TRY(rows_number(r, LLRT_I64, number, &count));
  plan_step real = {.kind = PLAN_APPLY,
                    .op = EXPR_CAST,
                    .operands = 1,
                    .in = (uint8_t)count,
                    .element = LLRT_I64,
                    .type = (uint8_t)type};
  LLRT_TRY(rows_apply(r, real, 0, &count));
  plan_step divide = {.kind = PLAN_APPLY,
                      .op = EXPR_DIVIDE,
                      .operands = 2,
                      .in = (uint8_t)*value,
                      .second = (uint8_t)count,
                      .element = (uint8_t)type,
                      .type = (uint8_t)type};
  return rows_apply(r, divide, tile_bits, value);
}

/* Whether all lanes hold copies, or what is joined to `kept` tile bits: several of them. */
static bool all_lanes_join(const plan_value *value, int kept) {
  int bit[LLRT_MAX_BITS], joined = plan_fold_bits(value, PLAN_LANE, kept, bit), copies = 0;
  for (int i = 0; i < plan_value_bits(value, PLAN_LANE); i++)
    copies += plan_value_columns(value, PLAN_LANE)[i] == 0;
  return joined > 1 && joined + copies == plan_value_bits(value, PLAN_LANE);
}

llrt_status rows_join_block(rows *r, bool sizes, reduce_value *value, int kept) {
  plan_kernel *kernel = r->d.kernel;
  if (sizes) LLRT_TRY(reduce_threads(&r->d, value, kept));
  if (sizes && kernel->target.fold_lanes && all_lanes_join(&kernel->value[value->key], kept))
    value->type = LLRT_U32;
  return reduce_block(&r->d, value, kept, false);
}

/* In groups inside each other the smaller is joined first: its bits are the tile's last. */
llrt_status rows_join_groups(rows *r, const program_node *node, uint8_t done, int *value) {
  program_node part = *node;
  rows_joining j;
  for (int g = 0; g < r->n_groups; g++) {
    part.reduced = rows_part_of(r, node, g) & (uint8_t)~done;
    if (!part.reduced) continue;
    LLRT_TRY(rows_begin_join(r, &part, *value, &j));
    LLRT_TRY(rows_join_block(r, rows_joins_sizes(r, node), &j.value, j.kept));
    LLRT_TRY(rows_end_join(r, &j.value, j.left, value));
  }
  return LLRT_OK;
}

llrt_status rows_reduce(rows *r, int number, int in, int *out) {
  const program_node *node = &r->program->node[number];
  *out = in;
  LLRT_TRY(rows_join_groups(r, node, 0, out));
  return node->op == EXPR_MEAN ? rows_divide_mean(r, node, out) : LLRT_OK;
}

/* ---- joins one behind the other ---- */

int rows_depth(const rows *r) {
  int depth[PROGRAM_MAX_NODES], most = 0;
  for (int i = 0; i < r->program->n_nodes; i++) {
    const program_node *node = &r->program->node[i];
    depth[i] = 0;
    for (int k = 0; k < node->n_args; k++) depth[i] = bits_max(depth[i], depth[node->arg[k]]);
    depth[i] += node->reduced && !program_scans(node->op);
    most = bits_max(most, depth[i]);
  }
  return most;
}
