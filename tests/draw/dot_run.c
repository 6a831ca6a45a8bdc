/* Runs a product: tensors of tests/dot/dot_problem.h in memory with guards. */
#include "dot_case.h"
#include "promises.h"
#include "runtime/described.h"
#include "tests/dot/dot_reference.h"

#include <stdlib.h>
#include <string.h>

#define TRY_VERDICT(call) \
  do { \
    verdict tried = (call); \
    if (tried != VERDICT_RIGHT) return tried; \
  } while (0)

typedef struct dot_run {
  bench *at;
  const dot_case *of;
  dot_problem problem;
  dot_bench made;
  memory memory[LLRT_DOT_ROLES], workspace;
  described_dot call;
  op_description promised;
} dot_run;

/* ---- memory ---- */

static bool make_problem(dot_run *run, int words) {
  const dot_case *of = run->of;
  run->problem = of->problem;
  for (int r = 0; r < LLRT_DOT_ROLES; r++) {
    if (!of->lies[r]) continue;
    bool other = r < 2 && words >> r & 1;
    run->problem.lies[r] = other ? &of->other[r].storage : &of->side[r].storage;
    run->problem.strides[r] = of->side[r].strides;
  }
  return dot_bench_make(&run->problem, of->data_seed, &run->made);
}

static bool shares_memory(const dot_run *run, int role) {
  return role == LLRT_DOT_C && run->problem.in_place;
}

static verdict place(dot_run *run, int role) {
  dot_part *part = &run->made.part[role];
  memory *into = &run->memory[role];
  const draw_side *side = &run->of->side[role];
  if (!part->image) return VERDICT_RIGHT;
  part->tensor.device = run->at->device;
  if (shares_memory(run, role)) {
    part->tensor.data = run->made.part[LLRT_DOT_D].tensor.data;
    return VERDICT_RIGHT;
  }
  if (!memory_make(run->at, part->bytes, side->address, run->of->tight >> role & 1,
                   run->of->data_seed + (uint64_t)role, into))
    return bench_fail(run->at, LLRT_OUT_OF_MEMORY, "memory");
  if (role == LLRT_DOT_D && run->problem.in_place)
    memcpy(part->image, run->made.part[LLRT_DOT_C].image, part->bytes);
  if (role == LLRT_DOT_D && run->of->route == ROUTE_ALLOCATED)
    memset(part->image, ALLOCATED_BYTE, part->bytes);
  memcpy(memory_image(into), part->image, part->bytes);
  if (!memory_send(run->at, into)) return bench_fail(run->at, LLRT_DEVICE, "sending");
  part->tensor.data = memory_data(into);
  return VERDICT_RIGHT;
}

/* ---- calls ---- */

static const llrt_tensor *tensor_of(const dot_run *run, int role) {
  return &run->made.part[role].tensor;
}

static verdict finish(dot_run *run, llrt_status status, const char *what) {
  if (status != LLRT_OK) return bench_fail(run->at, status, what);
  if (!run->at->is_host) status = llrt_stream_synchronize(run->at->device, NULL);
  return status == LLRT_OK ? VERDICT_RIGHT : bench_fail(run->at, status, "running");
}

static verdict call_allocated(dot_run *run) {
  const dot_part *d = &run->made.part[LLRT_DOT_D];
  llrt_tensor result = {0};
  llrt_status status = llrt_dot(tensor_of(run, LLRT_DOT_A), tensor_of(run, LLRT_DOT_B), &d->storage,
                                &run->made.params, NULL, &result);
  TRY_VERDICT(finish(run, status, "llrt_dot"));
  if (d->bytes)
    status = llrt_memory_copy(run->at->device, d->tensor.data, result.data, d->bytes,
                              LLRT_COPY_ON_DEVICE, NULL);
  verdict done = finish(run, status, "copying");
  llrt_tensor_free(&result, NULL);
  return done;
}

/* Twice where D is no operand: the workspace is left zero, and both give the same. */
static verdict run_op(dot_run *run, const llrt_op *op) {
  const op_description *desc = &run->call.desc;
  size_t bytes = 0;
  TRY_VERDICT(finish(run, llrt_op_workspace(op, desc->tensors, desc->n_tensors, &bytes),
                     "llrt_op_workspace"));
  if (!memory_make(run->at, bytes, 0, bytes % 16 == 0 && run->of->tight & 1, run->of->data_seed,
                   &run->workspace))
    return bench_fail(run->at, LLRT_OUT_OF_MEMORY, "workspace");
  memset(memory_image(&run->workspace), 0, bytes);
  if (!memory_send(run->at, &run->workspace)) return bench_fail(run->at, LLRT_DEVICE, "sending");
  llrt_run_params params = {.workspace = memory_data(&run->workspace), .workspace_bytes = bytes};
  for (int turn = 0; turn < (run->problem.in_place ? 1 : 2); turn++)
    TRY_VERDICT(
        finish(run, llrt_op_run(op, NULL, desc->tensors, desc->n_tensors, &params), "llrt_op_run"));
  return memory_compare(run->at, &run->workspace, "workspace", false);
}

/* Axes that a tensor does not have are the operation's: nothing is promised of them here. */
static void promise(dot_run *run, op_description *desc) {
  static const places *const nowhere[LLRT_MAX_TENSORS];
  promises_draw(run->of->promise_seed, run->of->promised, nowhere, desc);
  for (int t = 0; t < desc->n_tensors; t++)
    for (int a = 0; a < desc->tensors[t].rank; a++)
      if (desc->dot.group[t][a] == LLRT_GROUP_ALL) desc->promises[t].shape[a] = (llrt_promise){0};
}

static verdict call_prepared(dot_run *run) {
  op_description *desc = &run->call.desc;
  llrt_op *op = NULL;
  llrt_status status =
      described_dot_make(tensor_of(run, LLRT_DOT_A), tensor_of(run, LLRT_DOT_B),
                         tensor_of(run, LLRT_DOT_D), &run->made.params, &run->call);
  if (status != LLRT_OK) return bench_fail(run->at, status, "llrt_dot_describe");
  if (run->of->route == ROUTE_PROMISED) promise(run, desc);
  else status = described_promise(desc);
  if (status != LLRT_OK) return bench_fail(run->at, status, "llrt_op_promise_coarse");
  if (run->of->route == ROUTE_PROMISED) run->promised = *desc;
  status = described_prepare(run->at->device, desc, &op);
  if (status != LLRT_OK) return bench_fail(run->at, status, "llrt_op_prepare");
  verdict made = run->of->route == ROUTE_LOADED ? bench_reload(run->at, &op) : VERDICT_RIGHT;
  if (made == VERDICT_RIGHT) made = run_op(run, op);
  llrt_op_destroy(&op);
  return made;
}

static verdict call(dot_run *run) {
  if (run->of->route == ROUTE_ALLOCATED) return call_allocated(run);
  if (run->of->route != ROUTE_CALL) return call_prepared(run);
  return finish(run,
                llrt_dot_into(tensor_of(run, LLRT_DOT_A), tensor_of(run, LLRT_DOT_B),
                              tensor_of(run, LLRT_DOT_D), &run->made.params, NULL),
                "llrt_dot_into");
}

/* ---- comparing ---- */

static verdict compare_memory(dot_run *run) {
  for (int r = 0; r < LLRT_DOT_ROLES; r++)
    if (run->memory[r].image)
      TRY_VERDICT(memory_compare(run->at, &run->memory[r], r == LLRT_DOT_D ? "result" : "operand",
                                 r != LLRT_DOT_D));
  return VERDICT_RIGHT;
}

static verdict compare_all(dot_run *run) {
  const dot_part *d = &run->made.part[LLRT_DOT_D];
  uint8_t *found = malloc(d->bytes + 1);
  if (!found) return bench_say(run->at, VERDICT_LIMIT, "no memory");
  llrt_status status = LLRT_OK;
  if (d->bytes)
    status = llrt_memory_copy(run->at->device, found, d->tensor.data, d->bytes,
                              LLRT_COPY_FROM_DEVICE, NULL);
  verdict made = finish(run, status, "reading back");
  if (made == VERDICT_RIGHT &&
      !dot_reference_check(&run->made, found, run->at->why, sizeof run->at->why))
    made = VERDICT_WRONG;
  if (made == VERDICT_RIGHT) memcpy(memory_image(&run->memory[LLRT_DOT_D]), found, d->bytes);
  free(found);
  return made == VERDICT_RIGHT ? compare_memory(run) : made;
}

/* After a call that failed nothing is written. */
static verdict compare_untouched(dot_run *run, verdict failed) {
  char kept[WHY_BYTES];
  if (failed == VERDICT_FAULT || verdict_is_finding(failed)) return failed;
  memcpy(kept, run->at->why, sizeof kept);
  if (compare_memory(run) != VERDICT_RIGHT) return VERDICT_TOUCHED;
  memcpy(run->at->why, kept, sizeof kept);
  return failed;
}

static verdict run_all(dot_run *run, int words) {
  if (!make_problem(run, words))
    return bench_say(run->at, VERDICT_INVALID, "cannot be made: %.800s", llrt_last_error());
  TRY_VERDICT(place(run, LLRT_DOT_D));
  for (int r = 0; r < LLRT_DOT_ROLES; r++)
    if (r != LLRT_DOT_D) TRY_VERDICT(place(run, r));
  verdict called = call(run);
  return called == VERDICT_RIGHT ? compare_all(run) : compare_untouched(run, called);
}

verdict dot_case_run(bench *at, const dot_case *of, int words) {
  dot_run *run = calloc(1, sizeof *run);
  if (!run) return bench_say(at, VERDICT_LIMIT, "no memory");
  run->at = at;
  run->of = of;
  verdict made = run_all(run, words);
  if (verdict_is_finding(made)) promises_say(at, &run->promised);
  for (int r = 0; r < LLRT_DOT_ROLES; r++) memory_free(at, &run->memory[r]);
  memory_free(at, &run->workspace);
  dot_bench_free(&run->made);
  free(run);
  return made;
}
