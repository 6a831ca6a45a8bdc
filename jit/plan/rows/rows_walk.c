/* Reductions of rows that are walked. Those of the same tensors of which none waits for another are
 * made in one walk, which reads the row once: one of them leads, and the others' values are carried
 * beside its own (PLAN_CARRY). */
#include "jit/plan/rows/rows.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/block/block.h"
#include "jit/plan/facts/fold.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/types/combine.h"

#include <string.h>

/* ---- who goes with whom ---- */

/* What is known of a node: which tensors its value takes in a turn, and in how many walks, one
 * behind the other, what it waits for is joined; a maximum's sum of exponentials is made with it.
 */
typedef struct walked_node {
  uint32_t tensors;
  int level;
} walked_node;

static bool is_joined(const rows *r, int number) {
  const program_node *node = &r->program->node[number];
  return node->reduced && !program_scans(node->op) && rows_walks(r, node->arg[0]);
}

/* The maximum that a node's sum is made with; ROWS_NONE: it is none. */
static int maximum_of(const rows *r, int sum) {
  int found = ROWS_NONE;
  for (int i = 0; i < sum; i++)
    if (is_joined(r, i) && r->value[i] == ROWS_NONE && rows_online_sum(r, i) == sum) found = i;
  return found;
}

static void find_walked(const rows *r, walked_node *of) {
  for (int i = 0; i < r->program->n_nodes; i++) {
    const program_node *node = &r->program->node[i];
    bool joined = is_joined(r, i);
    of[i] = (walked_node){.tensors =
                              node->op == EXPR_TENSOR && rows_walks(r, i) ? 1u << node->slot : 0};
    for (int k = 0; k < node->n_args; k++) {
      of[i].level = bits_max(of[i].level, of[node->arg[k]].level);
      of[i].tensors |= of[node->arg[k]].tensors;
    }
    int max = joined ? maximum_of(r, i) : ROWS_NONE;
    if (max != ROWS_NONE) of[i].level = of[max].level;
    else of[i].level += joined;
    if (!rows_walks(r, i) && !joined) of[i].tensors = 0;
  }
}

/* Whether node i may be made in the walk of node `leader`. */
static bool may_follow(const rows *r, const walked_node *of, int leader, int i) {
  bool lone = rows_online_sum(r, i) == ROWS_NONE && maximum_of(r, i) == ROWS_NONE &&
              maximum_of(r, leader) == ROWS_NONE;
  return i != leader && is_joined(r, i) && is_joined(r, leader) && lone &&
         r->value[i] == ROWS_NONE && r->value[leader] == ROWS_NONE &&
         of[i].level == of[leader].level && !(of[i].tensors & ~of[leader].tensors);
}

int rows_leader(const rows *r, int number) {
  walked_node of[PROGRAM_MAX_NODES];
  int first = number, max = maximum_of(r, number);
  if (max != ROWS_NONE) return max;
  if (r->n_groups != 1 || rows_have_scans(r->program)) return number;
  find_walked(r, of);
  for (int i = 0; i < r->program->n_nodes; i++) {
    if (!may_follow(r, of, i, number)) continue;
    if (rows_online_sum(r, i) != ROWS_NONE) return i;
    int more = bits_count(of[i].tensors) - bits_count(of[first].tensors);
    if (more > 0 || (more == 0 && i < first)) first = i;
  }
  return first;
}

/* ---- what a walk carries of one ---- */

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

static llrt_status begin(rows *r, int number, rows_walked *w) {
  const program_node *node = &r->program->node[number];
  plan_value laid_out;
  *w = (rows_walked){.number = number,
                     .first = {.op = rows_combiner(node->op),
                               .type = rows_joined_type(node),
                               .pairs = combine_is_arg(rows_combiner(node->op)),
                               .index = LLRT_I32}};
  LLRT_TRY(rows_folded_layout(r, node, &laid_out, &w->fold));
  LLRT_TRY(fill_step(r, &laid_out, &w->first));
  return like_values(r, &w->first, &w->carried);
}

/* The turn's elements joined with what was carried: w->next. */
static llrt_status join_turn(rows *r, rows_walked *w) {
  const program_node *node = &r->program->node[w->number];
  rows_one_hot one;
  LLRT_TRY(rows_open_one_hot(r, node, &one));
  LLRT_TRY(rows_make_node(r, node->arg[0]));
  LLRT_TRY(rows_begin_join(r, node, r->value[node->arg[0]], &w->join));
  LLRT_TRY(reduce_fold(&r->d, &w->join.value, w->fold, false));
  LLRT_TRY(rows_close_one_hot(r, &one, &w->join.value));
  LLRT_TRY(like_values(r, &w->carried, &w->next));
  return draft_step(r->d.kernel, (plan_step){.kind = PLAN_JOIN,
                                             .combiner = (uint8_t)w->first.op,
                                             .type = (uint8_t)w->first.type,
                                             .pairs = w->first.pairs,
                                             .in = (uint8_t)w->carried.key,
                                             .with = (uint8_t)w->join.value.key,
                                             .out = (uint8_t)w->next.key,
                                             .index_in = (uint8_t)w->carried.at,
                                             .index_with = (uint8_t)w->join.value.at,
                                             .index_out = (uint8_t)w->next.at});
}

static llrt_status carry(rows *r, int first, int next, int carried) {
  return draft_step(r->d.kernel, (plan_step){.kind = PLAN_CARRY,
                                             .in = (uint8_t)first,
                                             .with = (uint8_t)next,
                                             .out = (uint8_t)carried});
}

/* Behind the walk, and the joins of what threads have. */
static llrt_status end(rows *r, const rows_walked *w) {
  const program_node *node = &r->program->node[w->number];
  int *out = &r->value[w->number];
  LLRT_TRY(rows_end_join(r, &w->join.value, w->join.left, out));
  return node->op == EXPR_MEAN ? rows_divide_mean(r, node, out) : LLRT_OK;
}

/* ---- those that follow ---- */

llrt_status rows_begin_together(rows *r, int leader, rows_together *t) {
  t->n = 0;
  for (int i = 0; i < r->program->n_nodes; i++) {
    if (i == leader || !is_joined(r, i) || r->value[i] != ROWS_NONE || t->n == ROWS_MOST_TOGETHER)
      continue;
    if (maximum_of(r, i) != ROWS_NONE || rows_leader(r, i) != leader) continue;
    LLRT_TRY(rows_prepare(r, r->program->node[i].arg[0]));
    LLRT_TRY(begin(r, i, &t->of[t->n++]));
  }
  return LLRT_OK;
}

llrt_status rows_turn_together(rows *r, rows_together *t) {
  for (int i = 0; i < t->n; i++) {
    rows_walked *w = &t->of[i];
    LLRT_TRY(join_turn(r, w));
    LLRT_TRY(carry(r, w->first.key, w->next.key, w->carried.key));
    if (w->first.pairs) LLRT_TRY(carry(r, w->first.at, w->next.at, w->carried.at));
  }
  return LLRT_OK;
}

llrt_status rows_end_together(rows *r, reduce_value *lead, int kept, rows_together *t) {
  reduce_value *values[1 + ROWS_MOST_TOGETHER] = {lead};
  int left[1 + ROWS_MOST_TOGETHER] = {kept};
  for (int i = 0; i < t->n; i++) {
    t->of[i].join.value = t->of[i].carried;
    values[1 + i] = &t->of[i].join.value;
    left[1 + i] = t->of[i].join.kept;
  }
  LLRT_TRY(reduce_blocks(&r->d, values, left, 1 + t->n, false));
  for (int i = 0; i < t->n; i++) LLRT_TRY(end(r, &t->of[i]));
  return LLRT_OK;
}

/* ---- the walk ---- */

static llrt_status walk(rows *r, rows_walked *w, rows_together *t) {
  plan_kernel *kernel = r->d.kernel;
  int in = r->program->node[w->number].arg[0], before[2][PROGRAM_MAX_NODES];
  memcpy(before[0], r->value, sizeof before[0]);
  memcpy(before[1], r->loaded, sizeof before[1]);
  LLRT_TRY(rows_begin_scans(r, in));
  LLRT_TRY(rows_fill_ring(r));
  int at = kernel->n_steps;
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_WALK,
                                          .in = (uint8_t)w->first.key,
                                          .out = (uint8_t)w->carried.key,
                                          .pairs = w->first.pairs,
                                          .index_in = (uint8_t)w->first.at,
                                          .index_out = (uint8_t)w->carried.at}));
  LLRT_TRY(rows_fetch_for(r, in));
  rows_load_early(r, at);
  LLRT_TRY(rows_keep_loaded(r));
  LLRT_TRY(rows_turn_together(r, t));
  LLRT_TRY(join_turn(r, w));
  rows_close_walk(r, at);
  rows_end_scans(r);
  memcpy(r->value, before[0], sizeof before[0]);
  memcpy(r->loaded, before[1], sizeof before[1]);
  return LLRT_OK;
}

llrt_status rows_walk_reduce(rows *r, int number, int *out) {
  const program_node *node = &r->program->node[number];
  rows_together together;
  rows_walked own;
  if (r->n_groups > 1)
    return llrt_error(LLRT_UNSUPPORTED,
                      "reductions along several sets of axes, and rows too long for a block");
  LLRT_TRY(rows_prepare(r, node->arg[0]));
  int leader = r->value[number] == ROWS_NONE ? rows_leader(r, number) : number;
  if (leader != number && r->value[leader] == ROWS_NONE) LLRT_TRY(rows_make_node(r, leader));
  *out = r->value[number]; /* what it wants, or its leader, may have brought it along */
  if (*out != ROWS_NONE) return LLRT_OK;
  int sum = rows_online_sum(r, number);
  if (sum != ROWS_NONE) return rows_walk_online(r, number, sum);
  LLRT_TRY(rows_begin_together(r, number, &together));
  LLRT_TRY(begin(r, number, &own));
  LLRT_TRY(walk(r, &own, &together));
  own.join.value = own.carried;
  LLRT_TRY(rows_end_together(r, &own.join.value, own.join.kept, &together));
  LLRT_TRY(end(r, &own));
  *out = r->value[number];
  return LLRT_OK;
}
