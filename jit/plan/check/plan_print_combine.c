/* The text of steps that combine, and of what is walked. */
#include "jit/plan/check/plan_print.h"

#include "expression/operators.h"
#include "jit/plan/types/combine.h"

static void print_scan(const plan_kernel *kernel, const plan_step *step, llrt_text *text) {
  const plan_order *order = &kernel->order[step->order];
  llrt_text_add(text, "%s%s scan (%s, %s) of v%d along tile bits [",
                step->exclusive ? "exclusive" : "inclusive", step->reverse ? " reverse" : "",
                combine_name(step->combiner), llrt_dtype_name((llrt_dtype)step->type), step->in);
  for (int i = 0; i < order->n; i++) llrt_text_add(text, "%s%d", i ? "," : "", order->bit[i]);
  llrt_text_add(text, "] -> v%d, total ", step->out);
  plan_print_value(kernel, step->total, text);
}

/* The step's value `key`, of a pair with its positions. */
static void print_pair(const plan_step *step, int key, int index, llrt_text *text) {
  if (step->pairs) llrt_text_add(text, "(v%d, v%d)", key, index);
  else llrt_text_add(text, "v%d", key);
}

static void print_walk(const plan_kernel *kernel, const plan_step *step, llrt_text *text) {
  const plan_turns *walk = &kernel->walk;
  if (kernel->lookback.queued) {
    llrt_text_add(text, "for each ticket that the block draws:");
    return;
  }
  llrt_text_add(text, "walk");
  for (int i = 0; i < walk->n_places; i++) {
    if (walk->place[i].digit < 0) {
      llrt_text_add(text, " grid bits (%d)", walk->place[i].bits);
      continue;
    }
    llrt_text_add(text, " d%d (", walk->place[i].digit);
    plan_print_number(kernel, &walk->place[i].count, text);
    llrt_text_add(text, ")");
  }
  llrt_text_add(text, "%s", walk->split < 0 ? "" : ", a share of it,");
  if (step->reverse) llrt_text_add(text, " backwards");
  if (!step->bare) {
    llrt_text_add(text, " with ");
    print_pair(step, step->out, step->index_out, text);
    llrt_text_add(text, ", at first ");
    print_pair(step, step->in, step->index_in, text);
  }
  if (step->ahead) llrt_text_add(text, ", %d steps a turn ahead", step->ahead);
  llrt_text_add(text, ":");
}

/* The last axis counts single positions. */
static void print_positions(const plan_kernel *kernel, llrt_text *text) {
  bool one = (kernel->position_axes & (kernel->position_axes - 1)) == 0;
  llrt_text_add(text, one ? "positions along axis" : "positions along axes");
  for (int a = 0; a < LLRT_MAX_RANK; a++) {
    if (!(kernel->position_axes >> a & 1)) continue;
    llrt_text_add(text, " %d", a);
    if (kernel->position[a].arg < 0 && kernel->position[a].value == 1) continue;
    llrt_text_add(text, " * ");
    plan_print_number(kernel, &kernel->position[a], text);
  }
}

/* Elements joined: those of a value with another's, in a thread, across lanes. */
static void print_join(const plan_step *step, llrt_text *text) {
  llrt_text_add(text, "%s in %s: %s", combine_name(step->combiner),
                llrt_dtype_name((llrt_dtype)step->type), step->sizes ? "sizes of " : "");
  print_pair(step, step->in, step->index_in, text);
  if (step->kind == PLAN_JOIN) llrt_text_add(text, " with ");
  if (step->kind == PLAN_JOIN) print_pair(step, step->with, step->index_with, text);
  if (step->kind == PLAN_FOLD) llrt_text_add(text, " inside a thread");
  if (step->kind == PLAN_FOLD_LANES) llrt_text_add(text, " across lanes");
  llrt_text_add(text, " -> ");
}

static void print_reduction(const plan_kernel *kernel, const plan_step *step, llrt_text *text) {
  if (step->kind == PLAN_SPREAD) llrt_text_add(text, "lanes keep parts of v%d -> ", step->in);
  else if (step->kind == PLAN_FILL)
    llrt_text_add(text, "neutral element of %s in %s -> ", combine_name(step->combiner),
                  llrt_dtype_name((llrt_dtype)step->type));
  else print_join(step, text);
  plan_print_value(kernel, step->out, text);
  if (step->pairs) llrt_text_add(text, ", v%d", step->index_out);
}

/* "v3 = exp of v2, f32" */
static void print_apply(const plan_kernel *kernel, const plan_step *step, llrt_text *text) {
  const int operands[] = {step->in, step->second, step->with};
  const char *name = step->op == EXPR_NUMBER     ? "number "
                     : step->op == EXPR_POSITION ? "position along axis "
                     : step->op == EXPR_CAST     ? "cast"
                     : step->op == EXPR_FLIP     ? "flip"
                                                 : expr_row_of(step->op)->text;
  llrt_text_add(text, "%s", name);
  if (step->op == EXPR_NUMBER) plan_print_number(kernel, &step->number, text);
  if (step->op == EXPR_POSITION) llrt_text_add(text, "%d", step->axis);
  for (int i = 0; i < step->operands; i++)
    llrt_text_add(text, "%sv%d", i ? ", " : " of ", operands[i]);
  if (step->operands && step->element != step->type)
    llrt_text_add(text, " (%s)", llrt_dtype_name((llrt_dtype)step->element));
  if (step->through) llrt_text_add(text, " through %s", llrt_dtype_name((llrt_dtype)step->through));
  llrt_text_add(text, " in %s -> ", llrt_dtype_name((llrt_dtype)step->type));
  plan_print_value(kernel, step->out, text);
}

void plan_print_combining(const plan_kernel *kernel, const plan_step *step, llrt_text *text) {
  switch ((plan_step_kind)step->kind) {
  case PLAN_WALK: print_walk(kernel, step, text); break;
  case PLAN_POSITION:
  case PLAN_POSITION_ADD:
    print_positions(kernel, text);
    if (step->kind == PLAN_POSITION_ADD) llrt_text_add(text, " from v%d", step->in);
    else if (step->relative) llrt_text_add(text, " from the thread's first on");
    llrt_text_add(text, " -> v%d", step->out);
    break;
  case PLAN_APPLY: print_apply(kernel, step, text); break;
  case PLAN_CARRY:
    llrt_text_add(text, "v%d is v%d at first, then v%d of the turn before", step->out, step->in,
                  step->with);
    break;
  case PLAN_SCAN: print_scan(kernel, step, text); break;
  case PLAN_PREFIX:
    llrt_text_add(text, "%s of v%d and v%d -> v%d", combine_name(step->combiner), step->in,
                  step->second, step->out);
    break;
  case PLAN_PUBLISH:
    llrt_text_add(text, "publish v%d as the block's total of level %d", step->in, step->level);
    break;
  case PLAN_PEEK:
    llrt_text_add(text, "look for totals of level %d of blocks before -> v%d", step->level,
                  step->out);
    break;
  case PLAN_AWAIT:
    llrt_text_add(text, "totals of level %d of blocks before, from v%d on -> ", step->level,
                  step->in);
    plan_print_value(kernel, step->out, text);
    break;
  default: print_reduction(kernel, step, text); break;
  }
}
