/* Moves that go together, by one launch over lists of their addresses. */
#include "base/status.h"
#include "recipe/run.h"

const repack_move *run_move_of(const repack_run *r, const repack_lot *lot, int i) {
  int number = *PLAN_AT(r->plan->order, int32_t, lot->first + i);
  return PLAN_AT(r->plan->moves, repack_move, number);
}

/* The class that has the kernel of the lot's lists. */
static const repack_class *class_of(const repack_run *r, const repack_lot *lot) {
  int of_class = run_move_of(r, lot, 0)->of_class;
  int alike = (*PLAN_AT(r->plan->classes, repack_class *, of_class))->alike;
  return *PLAN_AT(r->plan->classes, repack_class *, alike);
}

/* The program of the lot's moves; NULL: they convert. */
static const repack_program *program_of(const repack_run *r, const repack_lot *lot) {
  const repack_move *move = run_move_of(r, lot, 0);
  if (move->kind != REPACK_COMPUTE) return NULL;
  return *PLAN_AT(r->plan->programs, repack_program *, move->of_class);
}

llrt_status run_listed_address(const repack_run *r, const repack_lot *lot, int list, int i,
                               void **address) {
  const repack_move *move = run_move_of(r, lot, i);
  if (move->kind == REPACK_COMPUTE) {
    const repack_arg *arg = PLAN_AT(r->plan->args, repack_arg, move->args + list);
    return run_address(r, arg->tensor, arg->output, arg->offset, address);
  }
  if (list == 0) return run_address(r, move->in, false, move->in_offset, address);
  return run_address(r, move->out, true, move->out_offset, address);
}

/* Addresses on their way into the workspace, some at a time. */
typedef struct list_writer {
  const repack_run *r;
  uint64_t *to;
  int n;
  uint64_t some[LISTS_AT_ONCE];
} list_writer;

static llrt_status flush(list_writer *w) {
  int n = w->n;
  uint64_t *to = w->to;
  w->to += n;
  w->n = 0;
  return llrt_memory_copy(w->r->plan->device, to, w->some, (size_t)n * sizeof *to,
                          LLRT_COPY_TO_DEVICE, w->r->stream);
}

static llrt_status write_lot(list_writer *w, const repack_lot *lot) {
  for (int list = 0; list < lot->lists; list++)
    for (int i = 0; i < lot->n; i++) {
      void *address;
      LLRT_TRY(run_listed_address(w->r, lot, list, i, &address));
      w->some[w->n++] = (uintptr_t)address;
      if (w->n == LISTS_AT_ONCE) LLRT_TRY(flush(w));
    }
  return LLRT_OK;
}

llrt_status run_write_lists(const repack_run *r, const repack_schedule *schedule) {
  list_writer w;
  w.r = r;
  w.n = 0;
  w.to = (uint64_t *)((char *)r->workspace + schedule_lists(schedule));
  for (int t = 0; t < schedule->n; t++)
    LLRT_TRY(write_lot(&w, PLAN_AT(r->plan->lots, repack_lot, schedule->first + t)));
  return flush(&w);
}

static int32_t wanted_alignment(const repack_run *r, const repack_lot *lot, int list) {
  const repack_program *program = program_of(r, lot);
  if (program) return program->alignment[list];
  const repack_class *class = class_of(r, lot);
  int32_t alignment = list ? class->destination_alignment : class->source_alignment;
  return alignment < LISTS_ALIGNMENT ? alignment : LISTS_ALIGNMENT;
}

llrt_status run_lists_fit(const repack_run *r, const repack_lot *lot, bool *fit) {
  *fit = true;
  for (int list = 0; list < lot->lists; list++) {
    size_t wanted = (size_t)wanted_alignment(r, lot, list);
    for (int i = 0; i < lot->n && *fit; i++) {
      void *address;
      LLRT_TRY(run_listed_address(r, lot, list, i, &address));
      *fit = (uintptr_t)address % wanted == 0;
    }
  }
  return LLRT_OK;
}

static llrt_status convert_together(const repack_run *r, const repack_lot *lot,
                                    const uint64_t *lists) {
  const repack_class *class = class_of(r, lot);
  const llrt_run_params params = {.size = sizeof params, .own_workspace = 1};
  repack_listed listed;
  repack_list_tensors(r->plan, class, lists, class->in_place ? lists : lists + lot->n, lot->n,
                      &listed);
  return llrt_op_run(class->many, r->stream, listed.tensor, 2, &params);
}

llrt_status run_together(const repack_run *r, const repack_lot *lot, const uint64_t *lists) {
  const repack_program *program = program_of(r, lot);
  program_call call;
  if (!program) return convert_together(r, lot, lists);
  program_list_args(r->plan, program, lists, lot->n, &call);
  return program_run(program, &call, true, r->stream);
}
