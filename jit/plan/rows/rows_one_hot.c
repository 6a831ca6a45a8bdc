/* Sums of which one position counts: sum(where(n == y, f, 0), n), where y is the same all along n.
 * Of a long row few warps have that position, in one turn of a walk: the others leave out f, the
 * choice and the sum of their elements, which is 0. */
#include "jit/plan/rows/rows.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/block/block.h"
#include "jit/plan/facts/eval.h"
#include "jit/plan/facts/value.h"

#include <string.h>

/* A position along an axis, and the node that it is to be. */
typedef struct wanted {
  int axis, place;
} wanted;

/* A node without the casts between whole numbers around it. */
static int inside_casts(const expr_program *program, int at) {
  const program_node *node = &program->node[at];
  while (node->op == EXPR_CAST && node->type == LLRT_I64 && node->from == LLRT_I32) {
    at = node->arg[0];
    node = &program->node[at];
  }
  return at;
}

/* Whether argument k of a comparison is a position along the axis that is joined, and the other one
 * the same all along it. */
static bool finds(const expr_program *program, const program_node *sum, int k, wanted *w) {
  const program_node *equal = &program->node[program->node[sum->arg[0]].arg[0]];
  const program_node *position = &program->node[inside_casts(program, equal->arg[k])];
  *w = (wanted){.axis = position->slot, .place = equal->arg[1 - k]};
  return position->op == EXPR_POSITION && sum->reduced == 1u << w->axis &&
         !(program->node[w->place].axes >> w->axis & 1);
}

/* A row of one position may be -0, to which nothing may be added. */
static bool is_one_hot(const rows *r, const program_node *sum, wanted *w) {
  const expr_program *program = r->program;
  const program_node *choice = &program->node[sum->arg[0]];
  if (sum->op != EXPR_SUM || choice->op != EXPR_WHERE || r->d.kernel->target.simd_lanes)
    return false;
  const program_node *equal = &program->node[choice->arg[0]],
                     *zero = &program->node[choice->arg[2]];
  if (equal->op != EXPR_EQUAL || zero->op != EXPR_NUMBER || zero->bits != 0) return false;
  if (!finds(program, sum, 0, w) && !finds(program, sum, 1, w)) return false;
  return r->d.shape[w->axis].known != 1 && !rows_walks(r, w->place);
}

/* The bits of a position that registers move; 0: none, or they are not bits of it. */
static uint64_t bits_of_registers(const rows *r, int axis, uint64_t *tile_bits) {
  static const int64_t no_upper[PLAN_MAX_DIGITS];
  int64_t position[PLAN_MAX_DIGITS];
  uint64_t all = 0;
  *tile_bits = 0;
  for (int i = 0; i < r->held[PLAN_REGISTER].n; i++) {
    uint64_t column = r->held[PLAN_REGISTER].at[i];
    *tile_bits |= column;
    if (!(column & r->of_axis[axis])) continue;
    plan_tile_position(r->d.kernel, column, 0, no_upper, position);
    int64_t own = plan_coordinate(r->d.kernel, axis, position);
    if (!bits_is_power_of_two(own) || (all & (uint64_t)own)) return 0;
    all |= (uint64_t)own;
  }
  return all;
}

/* Whether a row is more than one warp's at once. */
static bool has_others(const rows *r, int axis) {
  bool warps = false;
  for (int i = 0; i < r->held[PLAN_WARP].n; i++)
    warps |= (r->held[PLAN_WARP].at[i] & r->of_axis[axis]) != 0;
  return warps || !r->resident;
}

/* Elements of the row are taken out of their words in the branch, not before it, and wait in no
 * registers: what turns load are words there of which compilers know nothing. */
static llrt_status take_again(rows *r, uint8_t axes) {
  plan_kernel *kernel = r->d.kernel;
  for (int i = 0; i < r->program->n_nodes; i++) {
    if (!(r->program->node[i].axes & axes)) continue;
    r->value[i] = ROWS_NONE;
    if (r->resident || r->loaded[i] == ROWS_NONE) continue;
    plan_value again = kernel->value[r->loaded[i]];
    int in = r->loaded[i];
    LLRT_TRY(draft_value(kernel, &again, &r->loaded[i]));
    LLRT_TRY(draft_step(
        kernel, (plan_step){.kind = PLAN_OPAQUE, .in = (uint8_t)in, .out = (uint8_t)r->loaded[i]}));
  }
  return LLRT_OK;
}

llrt_status rows_open_one_hot(rows *r, const program_node *sum, rows_one_hot *o) {
  uint64_t registers, moved;
  wanted w;
  int first;
  o->branch = ROWS_NONE;
  if (!is_one_hot(r, sum, &w) || !has_others(r, w.axis)) return LLRT_OK;
  moved = bits_of_registers(r, w.axis, &registers);
  LLRT_TRY(rows_make_node(r, w.place));
  int place = r->value[w.place];
  if (!moved || plan_value_bits(&r->d.kernel->value[place], PLAN_REGISTER) > 0) return LLRT_OK;
  plan_step position = {
      .kind = PLAN_APPLY, .op = EXPR_POSITION, .type = LLRT_I32, .axis = (uint8_t)w.axis};
  LLRT_TRY(rows_apply(r, position, r->of_axis[w.axis] & ~registers, &first));
  memcpy(o->value, r->value, sizeof o->value);
  memcpy(o->loaded, r->loaded, sizeof o->loaded);
  o->branch = r->d.kernel->n_steps;
  LLRT_TRY(draft_step(r->d.kernel, (plan_step){.kind = PLAN_IF_INTERIOR,
                                               .holds = true,
                                               .joins = true,
                                               .in = (uint8_t)first,
                                               .second = (uint8_t)place,
                                               .number = {.arg = -1, .value = (int64_t)moved}}));
  return take_again(r, sum->reduced);
}

llrt_status rows_close_one_hot(rows *r, const rows_one_hot *o, const reduce_value *joined) {
  plan_kernel *kernel = r->d.kernel;
  if (o->branch == ROWS_NONE) return LLRT_OK;
  kernel->step[o->branch].body = (uint8_t)(kernel->n_steps - o->branch - 1);
  kernel->step[o->branch].otherwise = 1;
  kernel->step[o->branch].out = (uint8_t)joined->key;
  memcpy(r->value, o->value, sizeof o->value);
  memcpy(r->loaded, o->loaded, sizeof o->loaded);
  return draft_step(kernel, (plan_step){.kind = PLAN_FILL,
                                        .combiner = LLRT_COMBINE_SUM,
                                        .type = (uint8_t)joined->type,
                                        .element = (uint8_t)joined->type,
                                        .exclusive = true,
                                        .out = (uint8_t)joined->key});
}

bool rows_joins_one_hot(const rows *r, int number) {
  const program_node *sum = &r->program->node[number];
  wanted w;
  return r->resident && r->n_groups == 1 && sum->reduced && is_one_hot(r, sum, &w) &&
         has_others(r, w.axis);
}

llrt_status rows_reduce_one_hot(rows *r, int number, int *out) {
  const program_node *sum = &r->program->node[number];
  rows_one_hot one;
  rows_joining j;
  LLRT_TRY(rows_open_one_hot(r, sum, &one));
  LLRT_TRY(rows_make_node(r, sum->arg[0]));
  LLRT_TRY(rows_begin_join(r, sum, r->value[sum->arg[0]], &j));
  LLRT_TRY(reduce_threads(&r->d, &j.value, j.kept));
  LLRT_TRY(rows_close_one_hot(r, &one, &j.value));
  LLRT_TRY(rows_join_block(r, false, &j.value, j.kept));
  return rows_end_join(r, &j.value, j.left, out);
}
