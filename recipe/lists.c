/* Moves that go together: those of one class whose tensors nothing else in a run touches, by one
 * launch over two lists of addresses in the workspace, in place over one. And the order in which a
 * run does its moves.
 *
 * A list's kernel has one axis more than its class, the slowest: the number in the lists. */
#include "base/memory.h"
#include "base/status.h"
#include "recipe/plan.h"

#include <stdlib.h>

enum { LEAST_TOGETHER = 2 };

/* Bytes of a move, read and written: larger tensors fill a device by themselves, by kernels that
 * know more of their addresses. */
#define MOST_BYTES_GPU ((uint64_t)64 << 20)
#define MOST_BYTES_HOST ((uint64_t)1 << 20)

static llrt_status no_memory(void) {
  return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a plan");
}

/* ---- kernels ---- */

llrt_index list_index(int32_t alignment, const uint64_t *addresses) {
  return (llrt_index){.axis = 0,
                      .axes = 1,
                      .kind = LLRT_INDEX_POINTER,
                      .out_of_range = LLRT_RANGE_SKIP,
                      .dtype = LLRT_U64,
                      .alignment = alignment < LISTS_ALIGNMENT ? alignment : LISTS_ALIGNMENT,
                      .data = addresses,
                      .strides = {1}};
}

void list_axis(llrt_storage *storage) {
  storage->rank++;
  for (int i = 0; i < storage->n_digits; i++) storage->digit[i].axis++;
}

static void list_tensor(const repack_class *class, bool written, const uint64_t *addresses,
                        repack_listed *listed) {
  llrt_storage *storage = &listed->storage[written];
  llrt_tensor *tensor = &listed->tensor[written];
  *storage = written ? class->destination : class->source;
  list_axis(storage);
  listed->index[written] =
      list_index(written ? class->destination_alignment : class->source_alignment, addresses);
  tensor->dtype = written ? class->to : class->from;
  tensor->rank = class->rank + 1;
  memcpy(tensor->shape + 1, class->shape, (size_t)class->rank * sizeof *class->shape);
  tensor->storage = storage;
  tensor->indices = &listed->index[written];
  tensor->n_indices = 1;
}

void repack_list_tensors(const llrt_repack *plan, const repack_class *class,
                         const uint64_t *sources, const uint64_t *destinations, int64_t n,
                         repack_listed *listed) {
  memset(listed, 0, sizeof *listed);
  list_tensor(class, false, sources, listed);
  list_tensor(class, true, destinations, listed);
  for (int t = 0; t < 2; t++) {
    listed->tensor[t].shape[0] = n;
    listed->tensor[t].device = plan->device;
  }
}

static uint64_t bytes_of(const repack_class *class) {
  uint64_t n = 1;
  for (int i = 0; i < class->rank; i++) n *= (uint64_t)class->shape[i];
  return n * (uint64_t)(llrt_dtype_bits(class->from) + llrt_dtype_bits(class->to)) / 8;
}

/* Whether the destination has places beside its elements, which a kernel of lists leaves alone. */
static bool has_pads(const repack_class *class) {
  const llrt_storage *storage = &class->destination;
  for (int axis = 0; axis < class->rank && storage->pad != LLRT_PAD_NONE; axis++) {
    int64_t extent = 1;
    for (int i = 0; i < storage->n_digits; i++)
      if (storage->digit[i].axis == axis) extent *= storage->digit[i].extent;
    if (extent > class->shape[axis]) return true;
  }
  return false;
}

static bool may_list(const llrt_repack *plan, const repack_class *class) {
  uint64_t bytes = bytes_of(class), most = plan->on_host ? MOST_BYTES_HOST : MOST_BYTES_GPU;
  return class->rank < LLRT_MAX_RANK && bytes > 0 && bytes <= most && !has_pads(class);
}

static llrt_status prepare_lists(const llrt_repack *plan, repack_class *class) {
  static const uint64_t nowhere[1];
  repack_listed listed;
  llrt_tensor_promise promises[2] = {0};
  repack_list_tensors(plan, class, nowhere, nowhere, LEAST_TOGETHER, &listed);
  llrt_op_desc desc = {.kind = LLRT_OP_CONVERT,
                       .n_tensors = 2,
                       .tensors = listed.tensor,
                       .promises = promises,
                       .maps = class->map,
                       .n_maps = class->n_maps,
                       .in_place = class->in_place};
  LLRT_TRY(llrt_op_promise_coarse(&desc));
  for (int t = 0; t < 2; t++) promises[t].shape[0] = (llrt_promise){.max = LISTS_MOST};
  return llrt_op_prepare(plan->device, &desc, &class->many);
}

/* Sets *served: whether moves of the class may go together. */
static llrt_status class_serves(const llrt_repack *plan, repack_class *class, bool *served) {
  if (class->lists == LISTS_UNKNOWN) {
    llrt_status status = LLRT_OK;
    bool may = may_list(plan, class);
    if (may && plan->device) status = prepare_lists(plan, class);
    if (status && status != LLRT_UNSUPPORTED) return status;
    class->lists = may && !status ? LISTS_SERVED : LISTS_REFUSED;
  }
  *served = class->lists == LISTS_SERVED;
  return LLRT_OK;
}

/* The same of runs of a program. */
static llrt_status program_serves(const llrt_repack *plan, repack_program *program,
                                  const repack_arg *args, bool *served) {
  if (program->lists == LISTS_UNKNOWN) {
    llrt_status status = LLRT_OK;
    uint64_t bytes = program_bytes(program, true, args) + program_bytes(program, false, args);
    bool may = bytes <= (plan->on_host ? MOST_BYTES_HOST : MOST_BYTES_GPU);
    for (int i = 0; i < program->n; i++) may &= program->rank[i] < LLRT_MAX_RANK;
    if (may && plan->device) status = program_prepare_lists(plan, program);
    if (status && status != LLRT_UNSUPPORTED) return status;
    program->lists = may && !status ? LISTS_SERVED : LISTS_REFUSED;
  }
  *served = program->lists == LISTS_SERVED;
  return LLRT_OK;
}

/* ---- schedules ---- */

typedef struct scheduler {
  llrt_repack *plan;
  bool *shared;   /* of each input: an output is made in its memory */
  int32_t *alike; /* room for all moves */
} scheduler;

static const repack_move *move_at(const llrt_repack *plan, int number) {
  return PLAN_AT(plan->moves, repack_move, number);
}

static repack_class *class_at(const llrt_repack *plan, int number) {
  return *PLAN_AT(plan->classes, repack_class *, number);
}

/* Whether nothing but a SET of the same output has to come before the move, and nothing behind. */
static bool is_independent(const scheduler *s, const repack_move *move) {
  if (move->kind == REPACK_COMPUTE) {
    const repack_program *program = *PLAN_AT(s->plan->programs, repack_program *, move->of_class);
    const repack_arg *arg = PLAN_AT(s->plan->args, repack_arg, move->args);
    for (int i = 0; i < program->n; i++)
      if (!arg[i].output && arg[i].tensor >= 0 && s->shared[arg[i].tensor]) return false;
    return !s->shared[move->in]; /* what is computed has memory of its own */
  }
  if (move->kind != REPACK_CONVERT || move->in < 0 || move->out < 0) return false;
  if (class_at(s->plan, move->of_class)->in_place) return true;
  return !s->shared[move->in] &&
         PLAN_AT(s->plan->outputs, llrt_repack_tensor, move->out)->place < 0;
}

static bool goes_first(const scheduler *s, const repack_move *move) {
  return move->kind == REPACK_SET && move->out >= 0 &&
         PLAN_AT(s->plan->outputs, llrt_repack_tensor, move->out)->place < 0;
}

static llrt_status add_move(scheduler *s, int number) {
  int32_t *added = plan_append(&s->plan->order, sizeof *added);
  if (!added) return no_memory();
  *added = number;
  return LLRT_OK;
}

static llrt_status add_lot(scheduler *s, repack_schedule *schedule, const int32_t *numbers, int n,
                           int lists) {
  repack_lot *lot = plan_append(&s->plan->lots, sizeof *lot);
  if (!lot) return no_memory();
  *lot = (repack_lot){.first = s->plan->order.n, .n = n, .lists = lists};
  for (int i = 0; i < n; i++) LLRT_TRY(add_move(s, numbers[i]));
  schedule->n++;
  schedule->addresses += lists * n;
  return LLRT_OK;
}

/* The class whose lists may have the move; programs count behind classes. */
static int list_of(const llrt_repack *plan, int number) {
  const repack_move *move = move_at(plan, number);
  if (move->kind == REPACK_COMPUTE) return plan->classes.n + move->of_class;
  return class_at(plan, move->of_class)->alike;
}

/* Whether moves like this one may go together, and how many lists they have then. */
static llrt_status serves(scheduler *s, int number, int *lists, bool *served) {
  const repack_move *move = move_at(s->plan, number);
  if (move->kind != REPACK_COMPUTE) {
    repack_class *class = class_at(s->plan, list_of(s->plan, number));
    *lists = class->in_place ? 1 : 2;
    return class_serves(s->plan, class, served);
  }
  repack_program *program = *PLAN_AT(s->plan->programs, repack_program *, move->of_class);
  *lists = program->n;
  return program_serves(s->plan, program, PLAN_AT(s->plan->args, repack_arg, move->args), served);
}

static int by_class(const void *a, const void *b, void *user) {
  const llrt_repack *plan = user;
  int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  int stage = move_at(plan, x)->stage - move_at(plan, y)->stage;
  if (stage != 0) return stage;
  int of_x = list_of(plan, x), of_y = list_of(plan, y);
  if (of_x != of_y) return of_x < of_y ? -1 : 1;
  return x < y ? -1 : x > y;
}

static bool go_together(const llrt_repack *plan, int a, int b) {
  return list_of(plan, a) == list_of(plan, b) && move_at(plan, a)->stage == move_at(plan, b)->stage;
}

/* Lots of n moves that may go together, sorted by stage and class. */
static llrt_status add_alike(scheduler *s, repack_schedule *schedule, int n) {
  qsort_r(s->alike, (size_t)n, sizeof *s->alike, by_class, s->plan);
  for (int begin = 0, end; begin < n; begin = end) {
    for (end = begin; end < n && go_together(s->plan, s->alike[begin], s->alike[end]);) end++;
    bool together = false;
    int lists = 0;
    if (end - begin >= LEAST_TOGETHER) LLRT_TRY(serves(s, s->alike[begin], &lists, &together));
    if (together) LLRT_TRY(add_lot(s, schedule, s->alike + begin, end - begin, lists));
    for (int i = begin; i < end && !together; i++)
      LLRT_TRY(add_lot(s, schedule, s->alike + i, 1, 0));
  }
  return LLRT_OK;
}

/* The order of the moves begin .. end - 1. */
static llrt_status schedule_moves(scheduler *s, int begin, int end, repack_schedule *schedule) {
  int n = 0;
  schedule->first = s->plan->lots.n;
  for (int32_t i = begin; i < end; i++) {
    if (goes_first(s, move_at(s->plan, i))) LLRT_TRY(add_lot(s, schedule, &i, 1, 0));
    if (is_independent(s, move_at(s->plan, i))) s->alike[n++] = i;
  }
  LLRT_TRY(add_alike(s, schedule, n));
  for (int32_t i = begin; i < end; i++) {
    const repack_move *move = move_at(s->plan, i);
    if (!goes_first(s, move) && !is_independent(s, move)) LLRT_TRY(add_lot(s, schedule, &i, 1, 0));
  }
  return LLRT_OK;
}

/* ---- what a schedule takes ---- */

static size_t aligned(size_t bytes) {
  return (bytes + WORKSPACE_ALIGNMENT - 1) / WORKSPACE_ALIGNMENT * WORKSPACE_ALIGNMENT;
}

size_t schedule_lists(const repack_schedule *schedule) { return aligned(schedule->scratch); }

static size_t lists_end(const repack_schedule *schedule) {
  if (schedule->addresses == 0) return schedule->scratch;
  return schedule_lists(schedule) + (size_t)schedule->addresses * sizeof(uint64_t);
}

size_t schedule_words(const repack_schedule *schedule) { return aligned(lists_end(schedule)); }

size_t schedule_workspace(const repack_schedule *schedule) {
  return schedule->words ? schedule_words(schedule) + schedule->words : lists_end(schedule);
}

/* Kernels, copies and fills, with those that bring addresses. */
static int launches_of(const llrt_repack *plan, const repack_schedule *schedule) {
  int launches = (schedule->addresses + LISTS_AT_ONCE - 1) / LISTS_AT_ONCE;
  for (int t = 0; t < schedule->n; t++) {
    const repack_lot *lot = PLAN_AT(plan->lots, repack_lot, schedule->first + t);
    const repack_move *move = move_at(plan, *PLAN_AT(plan->order, int32_t, lot->first));
    launches += !plan_stays(plan, move);
  }
  return launches;
}

static llrt_status schedule_all(scheduler *s) {
  llrt_repack *plan = s->plan;
  for (int i = 0; i < plan->steps.n; i++) {
    llrt_repack_step *step = PLAN_AT(plan->steps, llrt_repack_step, i);
    step_range *range = PLAN_AT(plan->ranges, step_range, i);
    int end = i + 1 < plan->steps.n ? range[1].move : plan->moves.n;
    range->schedule.scratch = step->workspace;
    if (plan->whole.scratch < step->workspace) plan->whole.scratch = step->workspace;
    LLRT_TRY(schedule_moves(s, range->move, end, &range->schedule));
    step->workspace = schedule_workspace(&range->schedule);
    step->launches = launches_of(plan, &range->schedule);
  }
  plan->whole.words = plan->words;
  LLRT_TRY(schedule_moves(s, 0, plan->moves.n, &plan->whole));
  plan->info.workspace = schedule_workspace(&plan->whole);
  plan->info.launches = launches_of(plan, &plan->whole);
  return LLRT_OK;
}

llrt_status plan_schedule(llrt_repack *plan) {
  scheduler s = {.plan = plan,
                 .shared = memory_zeroed((size_t)plan->inputs.n + 1, sizeof *s.shared),
                 .alike = memory_zeroed((size_t)plan->moves.n + 1, sizeof *s.alike)};
  for (int i = 0; s.shared && i < plan->outputs.n; i++) {
    int place = PLAN_AT(plan->outputs, llrt_repack_tensor, i)->place;
    if (place >= 0) s.shared[place] = true;
  }
  llrt_status status = s.shared && s.alike ? schedule_all(&s) : no_memory();
  free(s.shared);
  free(s.alike);
  if (!status && plan->device && !plan->on_host && plan->whole.addresses > 0)
    plan->captured = captured_lists_make(plan->device, plan->whole.addresses);
  return status;
}
