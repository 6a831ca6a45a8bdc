/* Kernels of many candidates, compiled at the same time. */
#include "runtime/tune_search.h"

#include "base/parallel.h"
#include "base/status.h"
#include "runtime/context.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct builds {
  const tuning *t;
  candidate *list;
} builds;

static plan_range shape_alone(const llrt_tensor *first) {
  plan_range range = {.min_elements = 0};
  for (int a = 0; a < first->rank; a++) range.min_extent[a] = range.max_extent[a] = first->shape[a];
  return range;
}

/* Rows of experts count as many as one is likely to have, wherever ranges of them are asked for. */
static void keep_shape_alone(plan_kernel *stage, int n, const llrt_tensor *first) {
  const plan_launch *decides = plan_launch_decides(&stage[0].launch, &stage[n - 1].launch);
  plan_range range = shape_alone(first);
  plan_launch_likely(decides, range.min_extent, range.max_extent);
  stage[0].launch.range = range;
  if (decides != &stage[0].launch) stage[n - 1].launch.range = range;
}

/* An operation of the candidate's kernels alone, for the shape alone; nothing is loaded. */
static llrt_status compile(const tuning *t, candidate *c) {
  llrt_op *op;
  keep_shape_alone(c->kept->stage, c->kept->n, &t->bench.call.tensor[0]);
  LLRT_TRY(llrt_op_make(t->op->device, &t->op->desc, t->op->set, &op));
  llrt_status status = llrt_op_compile_kernels(op, c->kept->stage, c->kept->n);
  if (status == LLRT_OK) c->op = op;
  else llrt_op_release(op);
  return status;
}

/* What went wrong on this thread. */
static void note(candidate *c, llrt_status status) {
  c->status = status;
  if (status != LLRT_OK) snprintf(c->why, sizeof c->why, "%s", llrt_error_text());
}

static void compile_some(void *data, int64_t begin, int64_t end) {
  const builds *b = data;
  for (int64_t i = begin; i < end && tune_now() < b->t->deadline; i++)
    note(&b->list[i], compile(b->t, &b->list[i]));
}

static void load(candidate *c) {
  if (!c->op) return;
  note(c, llrt_op_load_variants(c->op));
  if (c->status == LLRT_OK) return;
  llrt_op_release(c->op);
  c->op = NULL;
}

void tune_build(tuning *t, candidate *list, int n) {
  builds b = {.t = t, .list = list};
  double since = tune_now();
  llrt_parallel_run(&t->op->device->context->parallel, n, 1, compile_some, &b);
  tune_spend(t, TUNE_COMPILING, &since);
  for (int i = 0; i < n; i++) {
    load(&list[i]);
    free(list[i].kept);
    list[i].kept = NULL;
  }
  tune_spend(t, TUNE_LOADING, &since);
}
