#include "planned_kernels.h"

#include "jit/interpret/plan_interpret.h"
#include "jit/plan/plan_make.h"
#include "jit/plan/types/dot_instruction.h"
#include "runtime/prepared.h"

#include <stdlib.h>

bool planned_by_warpgroups(const plan_kernel *kernel) {
  bool group = false;
  for (int i = 0; i < kernel->n_steps; i++)
    group |= kernel->step[i].kind == PLAN_DOT &&
             dot_instruction_at(kernel->step[i].instruction)->family == DOT_WGMMA;
  return group;
}

llrt_status planned_interpret(const op_description *desc, const plan_kernel *kernel,
                              const dot_problem *problem) {
  llrt_storage_binding bindings[LLRT_MAX_TENSORS];
  llrt_tensor tensors[LLRT_MAX_TENSORS];
  const int n = problem->n_batch;
  for (int i = 0; i < desc->n_tensors; i++) {
    llrt_tensor *tensor = &tensors[i];
    *tensor = desc->tensors[i];
    cr_assert_eq(llrt_storage_bind(tensor->storage, tensor->rank, tensor->shape, tensor->strides,
                                   &bindings[i]),
                 LLRT_OK, "%s", llrt_last_error());
    memcpy(tensor->shape, problem->batch, (size_t)n * sizeof *tensor->shape);
    memcpy(&tensor->shape[n], (int64_t[]){problem->m, problem->n, problem->k}, 3 * sizeof(int64_t));
  }
  return plan_interpret(kernel, tensors, bindings, desc->n_tensors);
}

/* Plans the bench's product on tensors of it. */
static void plan_kernels(planned_kernels *t, const llrt_tensor *a, const llrt_tensor *b,
                         const llrt_tensor *d) {
  const plan_options options = {.wide = true};
  plan_target target;
  cr_assert_eq(plan_target_find("sm_90a", &target), LLRT_OK);
  cr_assert_eq(described_dot_make(a, b, d, &t->bench.params, &t->call), LLRT_OK, "%s",
               llrt_last_error());
  cr_assert_eq(described_promise(&t->call.desc), LLRT_OK);
  cr_assert_eq(plan_make(&t->call.desc, &target, &options, &t->made), LLRT_OK, "%s",
               llrt_last_error());
}

void planned_kernels_make(planned_kernels *t, const dot_problem *problem, uint64_t seed) {
  const dot_part *part = t->bench.part;
  cr_assert(dot_bench_make(problem, seed, &t->bench), "%s", llrt_last_error());
  plan_kernels(t, &part[LLRT_DOT_A].tensor, &part[LLRT_DOT_B].tensor, &part[LLRT_DOT_D].tensor);
}

int planned_kernels_next(const planned_kernels *t, bool (*chosen)(const plan_kernel *kernel),
                         int v) {
  while (v < t->made.n_variants && !chosen(&t->made.variant[v])) v++;
  return v < t->made.n_variants ? v : -1;
}

static void check(planned_kernels *t, int v, const uint8_t *found) {
  char title[DOT_TITLE_BYTES], why[400];
  bool right = dot_reference_check(&t->bench, found, why, sizeof why);
  dot_problem_title(&t->bench.problem, title, sizeof title);
  cr_expect(right, "%s, variant %d: %s", title, v, why);
}

void planned_kernels_interpret(planned_kernels *t, int v) {
  uint8_t *image = t->bench.part[LLRT_DOT_D].image;
  memset(image, 0xee, 2);
  cr_assert_eq(planned_interpret(&t->call.desc, &t->made.variant[v], &t->bench.problem), LLRT_OK,
               "variant %d: %s", v, llrt_last_error());
  check(t, v, image);
}

/* ---- on a device ---- */

static const int role[] = {LLRT_DOT_A, LLRT_DOT_B, LLRT_DOT_D};

static llrt_tensor send(llrt_device *device, const dot_part *part) {
  llrt_tensor sent = part->tensor;
  sent.device = device;
  cr_assert_eq(llrt_memory_allocate(device, part->bytes, &sent.data), LLRT_OK);
  cr_assert_eq(
      llrt_memory_copy(device, sent.data, part->image, part->bytes, LLRT_COPY_TO_DEVICE, NULL),
      LLRT_OK);
  return sent;
}

void planned_kernels_open(planned_kernels *t, const dot_problem *problem, uint64_t seed) {
  t->opened = open_device("cuda-emu:sm_90a");
  cr_assert(dot_bench_make(problem, seed, &t->bench), "%s", llrt_last_error());
  for (int i = 0; i < 3; i++) t->sent[i] = send(t->opened.device, &t->bench.part[role[i]]);
  plan_kernels(t, &t->sent[0], &t->sent[1], &t->sent[2]);
}

void planned_kernels_run(planned_kernels *t, int v) {
  const op_description *desc = &t->call.desc;
  const dot_part *part = &t->bench.part[LLRT_DOT_D];
  llrt_device *device = t->opened.device;
  void *d = t->sent[2].data;
  storage_set set;
  llrt_op *op;
  cr_assert_eq(llrt_storage_set_init(desc->tensors, desc->n_tensors, 0, &set), LLRT_OK);
  cr_assert_eq(llrt_op_make(device, desc, &set, &op), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_op_build_kernels(op, &t->made.variant[v], 1), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_memory_copy(device, d, part->image, part->bytes, LLRT_COPY_TO_DEVICE, NULL),
               LLRT_OK);
  cr_assert_eq(llrt_op_run(op, NULL, desc->tensors, desc->n_tensors, NULL), LLRT_OK,
               "variant %d: %s", v, llrt_last_error());
  uint8_t *found = malloc(part->bytes);
  cr_assert(found);
  cr_assert_eq(llrt_memory_copy(device, found, d, part->bytes, LLRT_COPY_FROM_DEVICE, NULL),
               LLRT_OK, "variant %d: %s", v, llrt_last_error());
  check(t, v, found);
  free(found);
  llrt_op_destroy(&op);
}

void planned_kernels_close(planned_kernels *t) {
  for (int i = 0; i < 3; i++) llrt_memory_free(t->opened.device, t->sent[i].data);
  dot_bench_free(&t->bench);
  close_device(&t->opened);
}
