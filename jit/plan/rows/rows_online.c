/* A walked row's maximum m and the sum of exp(x - m) in one walk: each thread carries the maximum
 * of what it has seen and its own sum of exponentials less that, which it scales where the maximum
 * rises. What threads have is joined behind the walk. */
#include "jit/plan/rows/rows.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/block/block.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/types/combine.h"

#include <string.h>

/* What a thread has of a row: numbers of values. The elements of a turn are folded into `layout`,
 * which as a value of the kernel's tile varies along tile bits `bits`. */
typedef struct online {
  rows *r;
  const program_node *node; /* the maximum's */
  plan_value layout;
  uint64_t bits;
  int fold;    /* log2 elements that a turn is folded into */
  bool narrow; /* the elements' powers may err (program_find_narrow) */
} online;

/* ---- the pattern ---- */

static bool is_of_row(const program_node *node, int op, const program_node *like) {
  return node->op == op && node->reduced == like->reduced && node->type == LLRT_F32;
}

int rows_online_sum(const rows *r, int max) {
  const program_node *node = r->program->node, *own = &node[max];
  if (r->resident || r->n_groups != 1 || r->d.kernel->target.simd_lanes) return ROWS_NONE;
  if (own->op != EXPR_MAX || own->type != LLRT_F32) return ROWS_NONE;
  for (int i = 0; i < r->program->n_nodes; i++) {
    if (!is_of_row(&node[i], EXPR_SUM, own) || r->value[i] != ROWS_NONE) continue;
    const program_node *power = &node[node[i].arg[0]], *less = &node[power->arg[0]];
    if (power->op == EXPR_EXP && less->op == EXPR_SUBTRACT && less->arg[0] == own->arg[0] &&
        less->arg[1] == max)
      return i;
  }
  return ROWS_NONE;
}

/* Whether the row's tensor is the only one that turns load, and nothing else is what loads give
 * where there is no element. */
static bool loads_alone(const rows *r, int tensor) {
  const expr_program *program = r->program;
  bool alone = r->d.kernel->fill == 0 && !rows_have_scans(program);
  for (int i = 0; i < program->n_nodes; i++)
    alone &= program->node[i].op != EXPR_TENSOR || i == tensor || !rows_walks(r, i);
  for (int t = 0; t < r->d.desc->n_tensors; t++) alone &= r->d.desc->tensors[t].n_indices == 0;
  return alone;
}

void rows_fill_ends(rows *r) {
  for (int i = 0; i < r->program->n_nodes && !r->filled; i++) {
    if (r->program->node[i].op != EXPR_MAX || rows_online_sum(r, i) == ROWS_NONE) continue;
    int tensor = r->program->node[i].arg[0];
    const program_node *node = &r->program->node[tensor];
    bool real = node->from == LLRT_F32 || node->from == LLRT_BF16 || node->from == LLRT_F16;
    r->filled = node->op == EXPR_TENSOR && real && loads_alone(r, tensor);
    if (r->filled) r->d.kernel->fill = combine_identity(LLRT_COMBINE_MAX, (llrt_dtype)node->from);
  }
}

/* ---- steps ---- */

/* A value of the folded layout as one of the kernel's tile, and back. */
static llrt_status as_tile(const online *o, int value, int *number) {
  plan_value wanted;
  LLRT_TRY(rows_layout(o->r, o->bits, 32, &wanted));
  return rows_renamed(o->r, value, wanted.reduced, number);
}

static llrt_status as_fold(const online *o, int value, int *number) {
  return rows_renamed(o->r, value, 0, number);
}

static llrt_status apply(const online *o, int op, int a, int b, uint64_t bits, int *number) {
  plan_step step = {.kind = PLAN_APPLY,
                    .op = (uint8_t)op,
                    .operands = b < 0 ? 1 : 2,
                    .in = (uint8_t)a,
                    .second = (uint8_t)(b < 0 ? 0 : b),
                    .element = LLRT_F32,
                    .type = op == EXPR_EQUAL ? LLRT_BOOL : LLRT_F32,
                    .coarse = op == EXPR_EXP, /* the row's sum is at least 1 */
                    .narrow = op == EXPR_EXP && o->narrow && bits != o->bits};
  return rows_apply(o->r, step, bits, number);
}

/* exp(a - b) */
static llrt_status power_of(const online *o, int a, int b, uint64_t bits, int *number) {
  LLRT_TRY(apply(o, EXPR_SUBTRACT, a, b, bits, number));
  return apply(o, EXPR_EXP, *number, -1, bits, number);
}

/* The maximum, but 0 where it is -infinity: exp(x - that) then is 0 of what is -infinity, too. */
static llrt_status finite(const online *o, int max, int *number) {
  int least, zero, same;
  plan_number code = {.arg = -1, .value = (int64_t)combine_identity(LLRT_COMBINE_MAX, LLRT_F32)};
  LLRT_TRY(rows_number(o->r, LLRT_F32, code, &least));
  LLRT_TRY(rows_number(o->r, LLRT_F32, (plan_number){.arg = -1}, &zero));
  LLRT_TRY(apply(o, EXPR_EQUAL, max, least, o->bits, &same));
  plan_step choose = {.kind = PLAN_APPLY,
                      .op = EXPR_WHERE,
                      .operands = 3,
                      .in = (uint8_t)same,
                      .second = (uint8_t)zero,
                      .with = (uint8_t)max,
                      .element = LLRT_F32,
                      .type = LLRT_F32};
  return rows_apply(o->r, choose, o->bits, number);
}

static llrt_status new_folded(const online *o, int *number) {
  plan_value value = o->layout;
  return draft_value(o->r->d.kernel, &value, number);
}

static llrt_status neutral(const online *o, int combiner, int *number) {
  LLRT_TRY(new_folded(o, number));
  return draft_step(o->r->d.kernel, (plan_step){.kind = PLAN_FILL,
                                                .combiner = (uint8_t)combiner,
                                                .type = LLRT_F32,
                                                .out = (uint8_t)*number});
}

/* ---- a turn ---- */

/* The turn's elements in the folded layout, joined. */
static llrt_status folded(const online *o, int combiner, int value, int *number) {
  reduce_value whole = {.op = combiner, .type = LLRT_F32};
  LLRT_TRY(as_fold(o, value, &whole.key));
  LLRT_TRY(reduce_fold(&o->r->d, &whole, o->fold, false));
  *number = whole.key;
  return LLRT_OK;
}

/* Whether what is joined is a tensor of halves that lie two in a word, of which each thread has
 * several. */
static bool has_halves(const online *o) {
  const rows *r = o->r;
  int tensor = o->node->arg[0], loaded = r->loaded[tensor];
  const program_node *node = &r->program->node[tensor];
  if (node->op != EXPR_TENSOR || loaded == ROWS_NONE || !r->d.kernel->target.half_extremes)
    return false;
  const plan_value *value = &r->d.kernel->value[loaded];
  return (node->from == LLRT_BF16 || node->from == LLRT_F16) && value->word == 1 &&
         value->bits == 16 && plan_value_bits(value, PLAN_REGISTER) > 1;
}

/* The largest of a turn's halves, joined two at a time. */
static llrt_status largest_half(const online *o, int *number) {
  rows *r = o->r;
  int tensor = o->node->arg[0];
  llrt_dtype type = (llrt_dtype)r->program->node[tensor].from;
  const plan_map map = {
      .kind = PLAN_MAP_CAST, .from = (uint8_t)type, .to = LLRT_F32, .any_nan = true};
  reduce_value whole = {.op = LLRT_COMBINE_MAX, .type = type};
  LLRT_TRY(rows_renamed(r, r->loaded[tensor], 0, &whole.key));
  LLRT_TRY(reduce_fold(&r->d, &whole, o->fold, false));
  *number = whole.key;
  return draft_retype(&r->d, map, number);
}

/* The largest of a turn. */
static llrt_status largest(const online *o, int x, int *number) {
  bool halves = has_halves(o) && (o->r->filled || !rows_has_ends(o->r, o->node));
  return halves ? largest_half(o, number) : folded(o, LLRT_COMBINE_MAX, x, number);
}

/* *max, *sum: what was carried joined with the turn's elements x. */
static llrt_status turn(const online *o, int x, int *max, int *sum) {
  plan_kernel *kernel = o->r->d.kernel;
  uint64_t bits = plan_tile_bits_in(kernel, &kernel->value[x]);
  int own, next, level, before, power, had;
  LLRT_TRY(largest(o, x, &own));
  LLRT_TRY(new_folded(o, &next));
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_JOIN,
                                          .combiner = LLRT_COMBINE_MAX,
                                          .type = LLRT_F32,
                                          .in = (uint8_t)*max,
                                          .with = (uint8_t)own,
                                          .out = (uint8_t)next}));
  LLRT_TRY(as_tile(o, next, &level));
  LLRT_TRY(finite(o, level, &level));
  LLRT_TRY(power_of(o, x, level, bits, &power));
  LLRT_TRY(folded(o, LLRT_COMBINE_SUM, power, &own));
  LLRT_TRY(as_tile(o, own, &own));
  LLRT_TRY(as_tile(o, *max, &before));
  LLRT_TRY(power_of(o, before, level, o->bits, &before));
  LLRT_TRY(as_tile(o, *sum, &had));
  LLRT_TRY(apply(o, EXPR_MULTIPLY, had, before, o->bits, &had));
  LLRT_TRY(apply(o, EXPR_ADD, had, own, o->bits, &had));
  LLRT_TRY(as_fold(o, had, sum));
  /* A walk's last step makes both values that it carries. */
  LLRT_TRY(new_folded(o, max));
  return draft_step(kernel, (plan_step){.kind = PLAN_REGISTERS,
                                        .in = (uint8_t)next,
                                        .out = (uint8_t)*max,
                                        .pairs = true,
                                        .index_out = (uint8_t)*sum});
}

/* ---- the whole ---- */

static llrt_status joined(const online *o, int combiner, int value, rows_together *t, int *out) {
  reduce_value whole = {.op = combiner, .type = LLRT_F32, .key = value};
  uint64_t left = o->bits & ~rows_bits_of(o->r, o->node->reduced);
  LLRT_TRY(rows_end_together(o->r, &whole, bits_count(left), t));
  return rows_end_join(o->r, &whole, left, out);
}

static llrt_status walk(const online *o, rows_together *t, int *max, int *sum) {
  rows *r = o->r;
  plan_kernel *kernel = r->d.kernel;
  int first[2], carried[2], before[2][PROGRAM_MAX_NODES], at, x;
  LLRT_TRY(neutral(o, LLRT_COMBINE_MAX, &first[0]));
  LLRT_TRY(neutral(o, LLRT_COMBINE_SUM, &first[1]));
  for (int i = 0; i < 2; i++) LLRT_TRY(new_folded(o, &carried[i]));
  memcpy(before[0], r->value, sizeof before[0]);
  memcpy(before[1], r->loaded, sizeof before[1]);
  LLRT_TRY(rows_begin_scans(r, o->node->arg[0]));
  LLRT_TRY(rows_fill_ring(r));
  LLRT_TRY(draft_open(kernel,
                      (plan_step){.kind = PLAN_WALK,
                                  .pairs = true,
                                  .in = (uint8_t)first[0],
                                  .out = (uint8_t)carried[0],
                                  .index_in = (uint8_t)first[1],
                                  .index_out = (uint8_t)carried[1]},
                      &at));
  LLRT_TRY(rows_fetch_for(r, o->node->arg[0]));
  rows_load_early(r, at);
  LLRT_TRY(rows_keep_loaded(r));
  LLRT_TRY(rows_make_node(r, o->node->arg[0]));
  x = r->value[o->node->arg[0]];
  if (!r->filled) LLRT_TRY(rows_leave_out(r, o->node, &x));
  LLRT_TRY(rows_turn_together(r, t));
  *max = carried[0];
  *sum = carried[1];
  LLRT_TRY(turn(o, x, max, sum));
  rows_close_walk(r, at);
  rows_end_scans(r);
  memcpy(r->value, before[0], sizeof before[0]);
  memcpy(r->loaded, before[1], sizeof before[1]);
  *max = carried[0];
  *sum = carried[1];
  return LLRT_OK;
}

llrt_status rows_walk_online(rows *r, int max_node, int sum_node) {
  const program_node *node = &r->program->node[max_node];
  online o = {.r = r, .node = node, .narrow = r->narrow[r->program->node[sum_node].arg[0]]};
  rows_together together;
  plan_value tile;
  int max, sum, own, had;
  LLRT_TRY(rows_folded_layout(r, node, &o.layout, &o.fold));
  o.bits = rows_bits_of(r, r->program->node[node->arg[0]].axes);
  for (int i = 0; i < r->held[PLAN_REGISTER].n; i++)
    o.bits &= ~(r->held[PLAN_REGISTER].at[i] & rows_bits_of(r, node->reduced));
  LLRT_TRY(rows_layout(r, o.bits, 32, &tile));
  if (!llrt_layout_equal(&tile.layout, &o.layout.layout))
    return llrt_error(LLRT_INTERNAL, "a turn is folded into another layout than its tile's");
  LLRT_TRY(rows_begin_together(r, max_node, &together));
  LLRT_TRY(walk(&o, &together, &max, &sum));
  LLRT_TRY(joined(&o, LLRT_COMBINE_MAX, max, &together, &r->value[max_node]));
  LLRT_TRY(as_tile(&o, max, &own));
  LLRT_TRY(power_of(&o, own, r->value[max_node], o.bits, &own));
  LLRT_TRY(as_tile(&o, sum, &had));
  LLRT_TRY(apply(&o, EXPR_MULTIPLY, had, own, o.bits, &had));
  LLRT_TRY(as_fold(&o, had, &had));
  together.n = 0;
  return joined(&o, LLRT_COMBINE_SUM, had, &together, &r->value[sum_node]);
}
