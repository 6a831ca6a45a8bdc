/* Values that are others' backwards along an axis of which each thread has all positions: the same
 * registers in another order, which nothing is loaded or computed for. */
#include "jit/plan/rows/rows.h"

#include "base/bits.h"
#include "base/status.h"

enum { DEPTH = 8 }; /* of nodes that are compared */

/* The tile bits of named axis a, if a thread has all of its positions; else 0. */
static uint64_t bits_in_threads(const rows *r, int a) {
  int axis = r->program->leading + a;
  uint64_t own = r->of_axis[axis], held = 0;
  for (int i = 0; i < r->held[PLAN_REGISTER].n; i++) held |= r->held[PLAN_REGISTER].at[i];
  bool whole = r->d.shape[axis].known == 1ll << bits_count(own);
  return whole && !(own & ~held) ? own : 0;
}

static bool same_places(const program_tensor *x, const program_tensor *y) {
  bool same = x->tensor == y->tensor && x->axes == y->axes && x->taken == y->taken;
  for (int a = 0; a < EXPR_MAX_AXES; a++) same &= !(x->taken >> a & 1) || x->at[a] == y->at[a];
  return same;
}

/* Whether node y is node x backwards along named axis a, which both have, and x as it is, and errs
 * no less. One node without that axis is the same either way. */
static bool is_flip(const rows *r, int x, int y, int a, int depth) {
  const expr_program *program = r->program;
  const program_node *n = &program->node[x], *m = &program->node[y];
  int axis = program->leading + a;
  if (x == y) return !(n->axes >> axis & 1);
  if (depth == 0 || (r->narrow[x] && !r->narrow[y]) || n->op != m->op || n->type != m->type ||
      n->from != m->from || n->n_args != m->n_args || n->through != m->through ||
      n->rounding != m->rounding || n->reduced != m->reduced || n->axes != m->axes ||
      !(n->axes >> axis & 1) || n->reduced >> axis & 1)
    return false;
  if (n->op == EXPR_TENSOR) {
    const program_tensor *from = &program->tensor[n->slot], *to = &program->tensor[m->slot];
    return same_places(from, to) && !(from->flipped >> a & 1) &&
           to->flipped == (from->flipped | 1u << a);
  }
  bool flip = n->n_args > 0;
  for (int i = 0; i < n->n_args && flip; i++) flip = is_flip(r, n->arg[i], m->arg[i], a, depth - 1);
  return flip;
}

static uint16_t flipped_axes(const expr_program *program) {
  uint16_t axes = 0;
  for (int t = 0; t < program->n_tensors; t++) axes |= program->tensor[t].flipped;
  return axes;
}

int rows_flip_of(const rows *r, int node, uint64_t *bits) {
  const expr_program *program = r->program;
  uint16_t axes = flipped_axes(program);
  if (!r->resident || r->d.kernel->target.simd_lanes) return ROWS_NONE;
  for (int a = 0; a < EXPR_MAX_AXES; a++) {
    *bits = axes >> a & 1 ? bits_in_threads(r, a) : 0;
    for (int i = 0; i < program->n_nodes && *bits; i++) {
      bool there = program->node[node].op == EXPR_TENSOR || r->value[i] != ROWS_NONE;
      if (i != node && there && is_flip(r, i, node, a, DEPTH)) return i;
    }
  }
  return ROWS_NONE;
}

llrt_status rows_flip(rows *r, int node, int of, uint64_t bits, int *value) {
  const program_node *own = &r->program->node[node];
  LLRT_TRY(rows_make_node(r, of));
  plan_step step = {.kind = PLAN_APPLY,
                    .op = EXPR_FLIP,
                    .operands = 1,
                    .in = (uint8_t)r->value[of],
                    .element = own->type,
                    .type = own->type,
                    .number = {.arg = -1, .value = (int64_t)bits}};
  return rows_apply(r, step, rows_bits_of(r, own->axes), value);
}
