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

/* A join as it is made: its values are taken for whole ones, whose tile is what is not reduced. */
typedef struct joining {
  const program_node *node;
  reduce_value value;
  int kept;      /* log2 elements that are left */
  uint64_t left; /* the kernel's tile bits of those */
} joining;

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

/* The neutral element in place of what lies beyond the axis. */
static llrt_status leave_out_along(rows *r, const program_node *node, int axis, int *value) {
  llrt_dtype type = rows_joined_type(node);
  return rows_replace_beyond(r, axis, type,
                             (int64_t)combine_identity(rows_combiner(node->op), type), value);
}

static llrt_status leave_out(rows *r, const program_node *node, int *value) {
  for (int a = 0; a < r->program->rank; a++)
    if (node->reduced >> a & 1 && rows_overhang(r, a)) LLRT_TRY(leave_out_along(r, node, a, value));
  return LLRT_OK;
}

/* Of walked rows most turns lie inside, and there nothing is left out. */
llrt_status rows_leave_out(rows *r, const program_node *node, int *value) {
  plan_kernel *kernel = r->d.kernel;
  int whole, branch = kernel->n_steps, edge = kernel->n_steps + 2;
  bool ends = false;
  for (int a = 0; a < r->program->rank; a++) ends |= node->reduced >> a & 1 && rows_overhang(r, a);
  if (!ends || r->resident || !rows_may_be_inside(r)) return leave_out(r, node, value);
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

static llrt_status begin_join(rows *r, const program_node *node, int in, joining *j) {
  plan_kernel *kernel = r->d.kernel;
  int value = in, at = 0;
  LLRT_TRY(rows_leave_out(r, node, &value));
  *j = (joining){.node = node};
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
static llrt_status divide_mean(rows *r, const program_node *node, int *value) {
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

/* In groups inside each other the smaller is joined first: its bits are the tile's last. */
llrt_status rows_join_groups(rows *r, const program_node *node, uint8_t done, int *value) {
  program_node part = *node;
  joining j;
  for (int g = 0; g < r->n_groups; g++) {
    part.reduced = rows_part_of(r, node, g) & (uint8_t)~done;
    if (!part.reduced) continue;
    LLRT_TRY(begin_join(r, &part, *value, &j));
    LLRT_TRY(reduce_block(&r->d, &j.value, j.kept, false));
    LLRT_TRY(rows_end_join(r, &j.value, j.left, value));
  }
  return LLRT_OK;
}

llrt_status rows_reduce(rows *r, int number, int in, int *out) {
  const program_node *node = &r->program->node[number];
  *out = in;
  LLRT_TRY(rows_join_groups(r, node, 0, out));
  return node->op == EXPR_MEAN ? divide_mean(r, node, out) : LLRT_OK;
}

/* ---- walked ---- */

static llrt_status fill_step(rows *r, const plan_value *laid_out, reduce_value *value) {
  plan_kernel *kernel = r->d.kernel;
  plan_value key = *laid_out, at = *laid_out;
  plan_step step = {.kind = PLAN_FILL,
                    .combiner = (uint8_t)value->op,
                    .type = (uint8_t)value->type,
                    .pairs = value->pairs};
  key.bits = (uint8_t)llrt_dtype_bits(value->type);
  at.bits = (uint8_t)llrt_dtype_bits(value->index);
  LLRT_TRY(draft_value(kernel, &key, &value->key));
  step.out = (uint8_t)value->key;
  if (value->pairs) LLRT_TRY(draft_value(kernel, &at, &value->at));
  step.index_out = (uint8_t)value->at;
  return draft_step(kernel, step);
}

static llrt_status like_values(rows *r, const reduce_value *like, reduce_value *made) {
  plan_value key = r->d.kernel->value[like->key];
  *made = *like;
  LLRT_TRY(draft_value(r->d.kernel, &key, &made->key));
  if (!like->pairs) return LLRT_OK;
  plan_value at = r->d.kernel->value[like->at];
  return draft_value(r->d.kernel, &at, &made->at);
}

llrt_status rows_folded_layout(rows *r, const program_node *node, plan_value *out, int *fold) {
  plan_value whole;
  uint64_t tile_bits = rows_bits_of(r, r->program->node[node->arg[0]].axes);
  uint64_t left = tile_bits & ~rows_bits_of(r, node->reduced);
  int bit[LLRT_MAX_BITS], kept = bits_count(left);
  LLRT_TRY(rows_layout(r, tile_bits, llrt_dtype_bits(rows_joined_type(node)), &whole));
  whole.reduced = 0;
  *fold = kept + plan_fold_bits(&whole, PLAN_LANE, kept, bit) +
          plan_fold_bits(&whole, PLAN_WARP, kept, bit);
  return plan_fold_laid_out(r->d.kernel, &whole, *fold, whole.bits, out);
}

llrt_status rows_walk_reduce(rows *r, int number, int *out) {
  const program_node *node = &r->program->node[number];
  plan_kernel *kernel = r->d.kernel;
  plan_value laid_out;
  reduce_value first = {.op = rows_combiner(node->op),
                        .type = rows_joined_type(node),
                        .pairs = combine_is_arg(rows_combiner(node->op)),
                        .index = LLRT_I32},
               carried, next;
  joining j;
  int before[2][PROGRAM_MAX_NODES], fold;
  if (r->n_groups > 1)
    return llrt_error(LLRT_UNSUPPORTED,
                      "reductions along several sets of axes, and rows too long for a block");
  LLRT_TRY(rows_prepare(r, node->arg[0]));
  *out = r->value[number]; /* what it wants may have brought it along */
  if (*out != ROWS_NONE) return LLRT_OK;
  int sum = rows_online_sum(r, number);
  if (sum != ROWS_NONE) return rows_walk_online(r, number, sum);
  LLRT_TRY(rows_folded_layout(r, node, &laid_out, &fold));
  LLRT_TRY(fill_step(r, &laid_out, &first));
  LLRT_TRY(like_values(r, &first, &carried));
  memcpy(before[0], r->value, sizeof before[0]);
  memcpy(before[1], r->loaded, sizeof before[1]);
  LLRT_TRY(rows_begin_scans(r, node->arg[0]));
  int walk = kernel->n_steps;
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_WALK,
                                          .in = (uint8_t)first.key,
                                          .out = (uint8_t)carried.key,
                                          .pairs = first.pairs,
                                          .index_in = (uint8_t)first.at,
                                          .index_out = (uint8_t)carried.at}));
  LLRT_TRY(rows_fetch_for(r, node->arg[0]));
  rows_load_early(r, walk);
  LLRT_TRY(rows_keep_loaded(r));
  LLRT_TRY(rows_make_node(r, node->arg[0]));
  LLRT_TRY(begin_join(r, node, r->value[node->arg[0]], &j));
  LLRT_TRY(reduce_fold(&r->d, &j.value, fold, false));
  LLRT_TRY(like_values(r, &carried, &next));
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_JOIN,
                                          .combiner = (uint8_t)first.op,
                                          .type = (uint8_t)first.type,
                                          .pairs = first.pairs,
                                          .in = (uint8_t)carried.key,
                                          .with = (uint8_t)j.value.key,
                                          .out = (uint8_t)next.key,
                                          .index_in = (uint8_t)carried.at,
                                          .index_with = (uint8_t)j.value.at,
                                          .index_out = (uint8_t)next.at}));
  rows_close_walk(r, walk);
  rows_end_scans(r);
  memcpy(r->value, before[0], sizeof before[0]);
  memcpy(r->loaded, before[1], sizeof before[1]);
  j.value = carried;
  LLRT_TRY(reduce_block(&r->d, &j.value, j.kept, false));
  LLRT_TRY(rows_end_join(r, &j.value, j.left, out));
  return node->op == EXPR_MEAN ? divide_mean(r, node, out) : LLRT_OK;
}
