/* Running a plan, and what it tells. */
#include "base/params.h"
#include "base/status.h"
#include "recipe/plan.h"

#include <stdlib.h>

typedef struct run {
  const llrt_repack *plan;
  const void *const *in;
  void *const *out;
  void *workspace, *stream;
  uint64_t *lists; /* in the workspace */
} run;

static llrt_status address_of(const run *r, int number, bool output, int64_t offset,
                              void **address) {
  const plan_array *tensors = output ? &r->plan->outputs : &r->plan->inputs;
  const void *base = r->workspace;
  if (number >= 0) base = output ? r->out[number] : r->in[number];
  LLRT_REQUIRE(base || (number >= 0 && PLAN_AT(*tensors, llrt_repack_tensor, number)->bytes == 0),
               "%s[%d], %s, is NULL", output ? "out" : "in", number,
               PLAN_AT(*tensors, llrt_repack_tensor, number)->name);
  *address = base ? (char *)(uintptr_t)base + offset : NULL;
  return LLRT_OK;
}

static llrt_status convert(const run *r, const repack_move *move, void *source, void *destination) {
  const repack_class *class = *PLAN_AT(r->plan->classes, repack_class *, move->of_class);
  llrt_convert_params params = {.size = sizeof params, .n_maps = class->n_maps, .maps = class->map};
  llrt_tensor tensors[2];
  repack_tensors(r->plan, class, source, destination, tensors);
  return llrt_convert_into(&tensors[0], &tensors[1], &params, r->stream);
}

static llrt_status fill(const run *r, const repack_move *move, void *destination) {
  llrt_tensor tensor;
  repack_fill_tensor(r->plan, PLAN_AT(r->plan->outputs, llrt_repack_tensor, move->out), destination,
                     &tensor);
  if (tensor.shape[0] == 0) return LLRT_OK;
  llrt_arg args[2] = {{.name = "a", .number = move->number}, {.name = "y", .tensor = &tensor}};
  return llrt_compute_into(r->plan->fill, args, 2, NULL, r->stream);
}

static llrt_status run_move(const run *r, const repack_move *move) {
  bool reads = move->kind == REPACK_CONVERT || move->kind == REPACK_COPY;
  void *source = NULL, *destination;
  if (reads) LLRT_TRY(address_of(r, move->in, false, move->in_offset, &source));
  LLRT_TRY(address_of(r, move->out, true, move->out_offset, &destination));
  llrt_device *device = r->plan->device;
  switch ((repack_kind)move->kind) {
  case REPACK_CONVERT: return convert(r, move, source, destination);
  case REPACK_FILL: return fill(r, move, destination);
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
static llrt_status check_places(const run *r, const llrt_repack_step *step) {
  for (int i = 0; i < step->n_outputs; i++) {
    int number = step->outputs[i];
    const llrt_repack_tensor *out = PLAN_AT(r->plan->outputs, llrt_repack_tensor, number);
    LLRT_REQUIRE(out->place < 0 || r->out[number] == r->in[out->place],
                 "out[%d], %s, is made in the memory of in[%d], and has another address", number,
                 out->name, out->place);
  }
  return LLRT_OK;
}

/* ---- several moves by one launch ---- */

static const repack_move *move_of(const run *r, const repack_lot *lot, int i) {
  int number = *PLAN_AT(r->plan->order, int32_t, lot->first + i);
  return PLAN_AT(r->plan->moves, repack_move, number);
}

/* The class that has the kernel of the lot's lists. */
static const repack_class *class_of(const run *r, const repack_lot *lot) {
  int of_class = move_of(r, lot, 0)->of_class;
  int alike = (*PLAN_AT(r->plan->classes, repack_class *, of_class))->alike;
  return *PLAN_AT(r->plan->classes, repack_class *, alike);
}

/* Address i of a lot's two lists, which follow each other. */
static llrt_status listed_address(const run *r, const repack_lot *lot, int i, void **address) {
  const repack_move *move = move_of(r, lot, i % lot->n);
  if (i < lot->n) return address_of(r, move->in, false, move->in_offset, address);
  return address_of(r, move->out, true, move->out_offset, address);
}

/* Brings the addresses of all lists into the workspace, some at a time. */
static llrt_status write_lists(const run *r, const repack_schedule *schedule) {
  uint64_t some[LISTS_AT_ONCE], *to = r->lists;
  int n = 0;
  for (int t = 0; t < schedule->n; t++) {
    const repack_lot *lot = PLAN_AT(r->plan->lots, repack_lot, schedule->first + t);
    for (int i = 0; i < 2 * lot->n && lot->together; i++) {
      void *address;
      LLRT_TRY(listed_address(r, lot, i, &address));
      some[n++] = (uintptr_t)address;
      if (n < LISTS_AT_ONCE) continue;
      LLRT_TRY(
          llrt_memory_copy(r->plan->device, to, some, sizeof some, LLRT_COPY_TO_DEVICE, r->stream));
      to += n;
      n = 0;
    }
  }
  return llrt_memory_copy(r->plan->device, to, some, (size_t)n * sizeof *some, LLRT_COPY_TO_DEVICE,
                          r->stream);
}

/* Whether all addresses are multiples of what the class's kernel of lists relies on. */
static llrt_status lists_fit(const run *r, const repack_lot *lot, bool *fit) {
  const repack_class *class = class_of(r, lot);
  *fit = true;
  for (int i = 0; i < 2 * lot->n && *fit; i++) {
    int32_t wanted = i < lot->n ? class->source_alignment : class->destination_alignment;
    void *address;
    LLRT_TRY(listed_address(r, lot, i, &address));
    *fit = (uintptr_t)address % (size_t)(wanted < LISTS_ALIGNMENT ? wanted : LISTS_ALIGNMENT) == 0;
  }
  return LLRT_OK;
}

static llrt_status run_together(const run *r, const repack_lot *lot, const uint64_t *lists) {
  const repack_class *class = class_of(r, lot);
  const llrt_run_params params = {.size = sizeof params, .own_workspace = 1};
  repack_listed listed;
  repack_list_tensors(r->plan, class, lists, lists + lot->n, lot->n, &listed);
  return llrt_op_run(class->many, r->stream, listed.tensor, 2, &params);
}

static llrt_status run_lot(const run *r, const repack_lot *lot, const uint64_t *lists) {
  bool together = lists && lot->together;
  if (together) LLRT_TRY(lists_fit(r, lot, &together));
  if (together) return run_together(r, lot, lists);
  for (int i = 0; i < lot->n; i++) LLRT_TRY(run_move(r, move_of(r, lot, i)));
  return LLRT_OK;
}

static int step_of(const run *r, const repack_lot *lot) {
  const repack_move *move = move_of(r, lot, 0);
  if (move->out >= 0) return PLAN_AT(r->plan->outputs, llrt_repack_tensor, move->out)->step;
  return PLAN_AT(r->plan->inputs, llrt_repack_tensor, move->in)->step;
}

static llrt_status run_schedule(run *r, const repack_schedule *schedule) {
  size_t workspace = schedule_workspace(schedule);
  const uint64_t *lists = NULL;
  LLRT_REQUIRE(workspace == 0 || r->workspace, "workspace is NULL, and %zu bytes are needed",
               workspace);
  if (schedule->addresses > 0) {
    int32_t capturing;
    LLRT_TRY(llrt_stream_is_capturing(r->plan->device, r->stream, &capturing));
    r->lists = (uint64_t *)((char *)r->workspace + schedule_lists(schedule));
    if (!capturing) {
      lists = r->lists;
      LLRT_TRY(write_lists(r, schedule));
    }
  }
  for (int t = 0; t < schedule->n; t++) {
    const repack_lot *lot = PLAN_AT(r->plan->lots, repack_lot, schedule->first + t);
    llrt_status status = run_lot(r, lot, lists);
    if (status) return llrt_error_prefix(status, "step %d", step_of(r, lot));
    if (lists && lot->together) lists += 2 * lot->n;
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
  run r = {.plan = plan, .in = in, .out = out, .workspace = workspace, .stream = stream};
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
  run r = {.plan = plan, .in = in, .out = out, .workspace = workspace, .stream = stream};
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
  for (int i = 0; i < p->fills.n; i++) llrt_op_destroy(PLAN_AT(p->fills, llrt_op *, i));
  for (int i = 0; i < p->texts.n; i++) free(*PLAN_AT(p->texts, char *, i));
  llrt_expr_destroy(&p->fill);
  plan_array *arrays[] = {&p->inputs, &p->outputs, &p->steps, &p->ranges, &p->used, &p->made,
                          &p->moves,  &p->classes, &p->texts, &p->fills,  &p->lots, &p->order};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) free(arrays[i]->data);
  free(p);
  *plan = NULL;
}
