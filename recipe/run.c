/* Running a plan, and what it tells. */
#include "base/params.h"
#include "base/status.h"
#include "recipe/run.h"

#include <stdlib.h>

llrt_status run_address(const repack_run *r, int number, bool output, int64_t offset,
                        void **address) {
  const plan_array *tensors = output ? &r->plan->outputs : &r->plan->inputs;
  const void *base = number == REPACK_WORDS ? r->words : r->workspace;
  if (number >= 0) base = output ? r->out[number] : r->in[number];
  LLRT_REQUIRE(base || (number >= 0 && PLAN_AT(*tensors, llrt_repack_tensor, number)->bytes == 0),
               "%s[%d], %s, is NULL", output ? "out" : "in", number,
               PLAN_AT(*tensors, llrt_repack_tensor, number)->name);
  *address = base ? (char *)(uintptr_t)base + offset : NULL;
  return LLRT_OK;
}

static llrt_status convert(const repack_run *r, const repack_move *move, void *source,
                           void *destination) {
  const repack_class *class = *PLAN_AT(r->plan->classes, repack_class *, move->of_class);
  llrt_convert_params params = {.size = sizeof params, .n_maps = class->n_maps, .maps = class->map};
  llrt_tensor tensors[2];
  repack_tensors(r->plan, class, source, destination, tensors);
  return llrt_convert_into(&tensors[0], &tensors[1], &params, r->stream);
}

static llrt_status fill(const repack_run *r, const repack_move *move, void *destination) {
  llrt_tensor tensor;
  repack_fill_tensor(r->plan, PLAN_AT(r->plan->outputs, llrt_repack_tensor, move->out), destination,
                     &tensor);
  if (tensor.shape[0] == 0) return LLRT_OK;
  llrt_arg args[2] = {{.name = "a", .number = move->number}, {.name = "y", .tensor = &tensor}};
  return llrt_compute_into(r->plan->fill, args, 2, NULL, r->stream);
}

static llrt_status compute(const repack_run *r, const repack_move *move) {
  const repack_program *program = *PLAN_AT(r->plan->programs, repack_program *, move->of_class);
  const repack_arg *args = PLAN_AT(r->plan->args, repack_arg, move->args);
  void *addresses[PLAN_MOST_ARGS];
  program_call call;
  for (int i = 0; i < program->n; i++)
    LLRT_TRY(run_address(r, args[i].tensor, args[i].output, args[i].offset, &addresses[i]));
  program_args(r->plan, program, addresses, &call);
  return program_run(program, &call, false, r->stream);
}

static llrt_status run_move(const repack_run *r, const repack_move *move) {
  if (move->kind == REPACK_COMPUTE) return compute(r, move);
  bool reads = move->kind == REPACK_CONVERT || move->kind == REPACK_COPY;
  void *source = NULL, *destination;
  if (reads) LLRT_TRY(run_address(r, move->in, false, move->in_offset, &source));
  LLRT_TRY(run_address(r, move->out, true, move->out_offset, &destination));
  llrt_device *device = r->plan->device;
  switch ((repack_kind)move->kind) {
  case REPACK_CONVERT: return convert(r, move, source, destination);
  case REPACK_FILL: return fill(r, move, destination);
  case REPACK_COMPUTE: break; /* above */
  case REPACK_SET:
    return llrt_memory_set(device, destination, move->value, (size_t)move->bytes, r->stream);
  case REPACK_COPY:
    if (source == destination) return LLRT_OK;
    return llrt_memory_copy(device, destination, source, (size_t)move->bytes, LLRT_COPY_ON_DEVICE,
                            r->stream);
  }
  return llrt_error(LLRT_INTERNAL, "a move of kind %d", move->kind);
}

/* That the step's outputs lie where the plan puts them. */
static llrt_status check_places(const repack_run *r, const llrt_repack_step *step) {
  for (int i = 0; i < step->n_outputs; i++) {
    int number = step->outputs[i];
    const llrt_repack_tensor *out = PLAN_AT(r->plan->outputs, llrt_repack_tensor, number);
    LLRT_REQUIRE(out->place < 0 || r->out[number] == r->in[out->place],
                 "out[%d], %s, is made in the memory of in[%d], and has another address", number,
                 out->name, out->place);
  }
  return LLRT_OK;
}

/* ---- lots ---- */

static llrt_status run_lot(const repack_run *r, const repack_lot *lot, const uint64_t *lists) {
  bool together = lists && lot->lists;
  if (together) LLRT_TRY(run_lists_fit(r, lot, &together));
  if (together) return run_together(r, lot, lists);
  for (int i = 0; i < lot->n; i++) LLRT_TRY(run_move(r, run_move_of(r, lot, i)));
  return LLRT_OK;
}

static int step_of(const repack_run *r, const repack_lot *lot) {
  const repack_move *move = run_move_of(r, lot, 0);
  if (move->out >= 0) return PLAN_AT(r->plan->outputs, llrt_repack_tensor, move->out)->step;
  return PLAN_AT(r->plan->inputs, llrt_repack_tensor, move->in)->step;
}

/* Sets *lists: where those of the schedule's first lot are; NULL: it goes without, as a captured
 * step does. */
static llrt_status bring_lists(const repack_run *r, const repack_schedule *schedule,
                               const uint64_t **lists) {
  uint64_t *to = (uint64_t *)((char *)r->workspace + schedule_lists(schedule));
  int32_t capturing;
  bool done = false;
  LLRT_TRY(llrt_stream_is_capturing(r->plan->device, r->stream, &capturing));
  if (!capturing) {
    LLRT_TRY(run_write_lists(r, schedule));
    done = true;
  } else if (schedule == &r->plan->whole) {
    LLRT_TRY(run_capture_lists(r, to, &done));
  }
  *lists = done ? to : NULL;
  return LLRT_OK;
}

static llrt_status run_schedule(repack_run *r, const repack_schedule *schedule) {
  size_t workspace = schedule_workspace(schedule);
  const uint64_t *lists = NULL;
  LLRT_REQUIRE(workspace == 0 || r->workspace, "workspace is NULL, and %zu bytes are needed",
               workspace);
  if (schedule->words)
    r->words = (char *)r->workspace + schedule_words(schedule) - schedule->first_word;
  if (schedule->addresses > 0) LLRT_TRY(bring_lists(r, schedule, &lists));
  for (int t = 0; t < schedule->n; t++) {
    const repack_lot *lot = PLAN_AT(r->plan->lots, repack_lot, schedule->first + t);
    llrt_status status = run_lot(r, lot, lists);
    if (status) return llrt_error_prefix(status, "step %d", step_of(r, lot));
    if (lists) lists += lot->lists * lot->n;
  }
  return LLRT_OK;
}

static llrt_status check_run(const llrt_repack *plan, const void *const *in, void *const *out) {
  LLRT_REQUIRE(plan, "plan is NULL");
  LLRT_REQUIRE(plan->device, "the plan was bound without a device: it can be looked at alone");
  LLRT_REQUIRE(in, "in is NULL");
  LLRT_REQUIRE(out, "out is NULL");
  return LLRT_OK;
}

llrt_status llrt_repack_run(const llrt_repack *plan, const void *const *in, void *const *out,
                            void *workspace, void *stream) {
  LLRT_ENTRY();
  LLRT_TRY(check_run(plan, in, out));
  repack_run r = {.plan = plan, .in = in, .out = out, .workspace = workspace, .stream = stream};
  for (int s = 0; s < plan->steps.n; s++)
    LLRT_TRY(check_places(&r, PLAN_AT(plan->steps, llrt_repack_step, s)));
  return run_schedule(&r, &plan->whole);
}

llrt_status llrt_repack_run_step(const llrt_repack *plan, int step, const void *const *in,
                                 void *const *out, void *workspace, void *stream) {
  LLRT_ENTRY();
  LLRT_TRY(check_run(plan, in, out));
  LLRT_REQUIRE(step >= 0 && step < plan->steps.n, "step is %d, and there are %d", step,
               plan->steps.n);
  repack_run r = {.plan = plan, .in = in, .out = out, .workspace = workspace, .stream = stream};
  LLRT_TRY(check_places(&r, PLAN_AT(plan->steps, llrt_repack_step, step)));
  return run_schedule(&r, &PLAN_AT(plan->ranges, step_range, step)->schedule);
}

/* ---- what a plan tells ---- */

llrt_status llrt_repack_get_info(const llrt_repack *plan, llrt_repack_info *info) {
  LLRT_ENTRY();
  LLRT_REQUIRE(plan, "plan is NULL");
  LLRT_REQUIRE(info, "info is NULL");
  return LLRT_PARAMS_WRITE(llrt_repack_info, info, &plan->info);
}

const llrt_repack_tensor *llrt_repack_input(const llrt_repack *plan, int number) {
  bool there = plan && number >= 0 && number < plan->inputs.n;
  return there ? PLAN_AT(plan->inputs, llrt_repack_tensor, number) : NULL;
}

const llrt_repack_tensor *llrt_repack_output(const llrt_repack *plan, int number) {
  bool there = plan && number >= 0 && number < plan->outputs.n;
  return there ? PLAN_AT(plan->outputs, llrt_repack_tensor, number) : NULL;
}

const llrt_repack_step *llrt_repack_step_at(const llrt_repack *plan, int number) {
  bool there = plan && number >= 0 && number < plan->steps.n;
  return there ? PLAN_AT(plan->steps, llrt_repack_step, number) : NULL;
}

void llrt_repack_destroy(llrt_repack **plan) {
  if (!plan || !*plan) return;
  llrt_repack *p = *plan;
  for (int i = 0; i < p->classes.n; i++) {
    repack_class *class = *PLAN_AT(p->classes, repack_class *, i);
    llrt_op_destroy(&class->op);
    llrt_op_destroy(&class->many);
    free(class);
  }
  captured_lists_destroy(p->device, p->captured);
  for (int i = 0; i < p->programs.n; i++)
    program_destroy(*PLAN_AT(p->programs, repack_program *, i));
  for (int i = 0; i < p->fills.n; i++) llrt_op_destroy(PLAN_AT(p->fills, llrt_op *, i));
  for (int i = 0; i < p->texts.n; i++) free(*PLAN_AT(p->texts, char *, i));
  llrt_expr_destroy(&p->fill);
  plan_array *arrays[] = {&p->inputs, &p->outputs, &p->steps,   &p->ranges,  &p->used,
                          &p->made,   &p->moves,   &p->classes, &p->texts,   &p->fills,
                          &p->lots,   &p->order,   &p->args,    &p->programs};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) free(arrays[i]->data);
  free(p);
  *plan = NULL;
}
