/* See rolled_weights.h. */
#include "jit/plan/rolled/rolled_weights.h"

#include "jit/plan/rolled/rolled_steps.h"
#include "layout/f2.h"

static bool is_zero(const plan_number *number) { return number->arg < 0 && number->value == 0; }

/* Whether the tensor's addresses are the same in all blocks. */
static bool is_of_all_blocks(const plan_kernel *kernel, int tensor) {
  const llrt_layout *space = &kernel->space;
  bool same = true;
  for (int i = 0; i < kernel->n_terms; i++) same &= kernel->term[i].tensor != tensor;
  for (int i = 0; i < space->in[1].bits; i++)
    same &= f2_apply(kernel->column[tensor], space->column[space->in[0].bits + i]) == 0;
  for (int i = 0; i < kernel->n_digits; i++) {
    const plan_digit *digit = &kernel->digit[i];
    const plan_digit_side *side = &digit->side[tensor];
    if (digit->rest || side->kind != PLAN_COLUMNS)
      same &= side->kind != PLAN_INDEXED && is_zero(&side->stride);
  }
  return same;
}

bool rolled_loads_weights(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  bool joined = false;
  if (step->kind != PLAN_LOAD || !rolled_moves_plainly(kernel, step)) return false;
  for (int i = 0; i < at; i++) joined |= kernel->step[i].kind == PLAN_FOLD_LANES;
  return joined && is_of_all_blocks(kernel, step->tensor);
}

static bool has(const int *list, int n, int x) {
  bool found = false;
  for (int i = 0; i < n; i++) found |= list[i] == x;
  return found;
}

static bool is_by_turns(const rolled *r, int step) {
  bool is = false;
  for (int i = 0; i < r->n_runs; i++) is |= r->run[i].first <= step && step < r->run[i].end;
  return is;
}

const rolled_run *rolled_run_of_load(const rolled *r, int step) {
  for (int i = 0; i < r->n_runs; i++)
    if (has(r->run[i].late, r->run[i].n_late, step)) return &r->run[i];
  return NULL;
}

/* Whether nothing but the run's turns uses the value. */
static bool is_of_turns(const plan_kernel *kernel, const rolled *r, const rolled_run *run,
                        int value) {
  bool alone = true;
  for (int i = 0; i < kernel->n_steps; i++)
    if (rolled_uses(&kernel->step[i], value))
      alone &= i >= run->first && has(run->turn, run->n_turn, i);
  for (int i = 0; i < r->n_runs; i++) {
    const rolled_run *other = &r->run[i];
    alone &= !has(other->in, other->n_in, value);
    for (int k = 0; k < other->n_behind; k++)
      alone &= !rolled_uses(&kernel->step[other->behind[k]], value);
  }
  return alone;
}

bool rolled_wants_loads(const plan_kernel *kernel, const rolled *r) {
  int bytes = 0;
  bool straight = false;
  for (int i = 0; i < kernel->n_steps; i++) {
    int value = kernel->step[i].out;
    if (!rolled_loads_weights(kernel, i)) continue;
    bytes += rolled_bytes(kernel, value);
    for (int k = i; k < kernel->n_steps; k++)
      straight |= rolled_uses(&kernel->step[k], value) && !is_by_turns(r, k);
  }
  return straight && bytes <= kernel->target.tuning->rows_turn_weights;
}

bool rolled_may_load(const plan_kernel *kernel, const rolled *r) {
  bool may = true;
  for (int i = 0; i < r->n_runs; i++)
    for (int k = 0; k < r->run[i].n_late; k++) {
      int step = r->run[i].late[k];
      may &= rolled_run_of_load(r, step) == &r->run[i] &&
             is_of_turns(kernel, r, &r->run[i], kernel->step[step].out);
    }
  return may;
}
