/* Products whose threads copy whole lines of memory, of rows that begin inside lines: as plans,
 * interpreted, and on an emulated device. */
#include "dot_reference.h"

#include "jit/interpret/plan_interpret.h"
#include "jit/plan/check/plan_view.h"
#include "jit/plan/facts/box.h"
#include "jit/plan/plan_make.h"
#include "runtime/described.h"
#include "runtime/prepared.h"
#include "tests/open_device.h"

#include <stdlib.h>

#define TYPES(a_, b_) .type = {[LLRT_DOT_A] = LLRT_##a_, [LLRT_DOT_B] = LLRT_##b_}
#define LIES(a_, b_) .storage = {[LLRT_DOT_A] = a_, [LLRT_DOT_B] = b_}
#define SHAPE(m_, n_, k_) .m = m_, .n = n_, .k = k_

/* Rows of 16, 48 and 112 bytes beyond lines, of one turn, of more than rings have slots, and of
 * none behind whole ones; blocks at the edges. */
static const dot_problem problems[] = {
    {SHAPE(140, 200, 840), TYPES(BF16, BF16), LIES("", "col_major")},
    {SHAPE(70, 136, 1096), TYPES(F16, F16), LIES("", "col_major")},
    {SHAPE(200, 72, 56), TYPES(BF16, BF16), LIES("", "col_major")},
    {SHAPE(64, 72, 136), TYPES(BF16, BF16), LIES("", "col_major"), .n_batch = 1, .batch = {3},
     .shared = {false, true}},
};
#define PROBLEMS ((int)(sizeof problems / sizeof *problems))

static plan made;
static described_dot call;
static dot_bench bench;

/* Plans product number i on tensors of it, with all candidates. */
static void plan_product(int i, const llrt_tensor *a, const llrt_tensor *b, const llrt_tensor *d) {
  const plan_options options = {.wide = true};
  plan_target target;
  cr_assert_eq(plan_target_find("sm_90a", &target), LLRT_OK);
  cr_assert_eq(described_dot_make(a, b, d, &bench.params, &call), LLRT_OK, "%d: %s", i,
               llrt_last_error());
  cr_assert_eq(described_promise(&call.desc), LLRT_OK);
  cr_assert_eq(plan_make(&call.desc, &target, &options, &made), LLRT_OK, "%d: %s", i,
               llrt_last_error());
}

static void make_product(int i) {
  cr_assert(dot_bench_make(&problems[i], 5 + (uint64_t)i, &bench), "%d: %s", i, llrt_last_error());
  plan_product(i, &bench.part[LLRT_DOT_A].tensor, &bench.part[LLRT_DOT_B].tensor,
               &bench.part[LLRT_DOT_D].tensor);
}

/* The next kernel of the plan from number v on; -1: there is none. */
static int next_lines(int v) {
  while (v < made.n_variants && !plan_copies_lines(&made.variant[v])) v++;
  return v < made.n_variants ? v : -1;
}

static llrt_status interpret(const plan_kernel *kernel, const dot_problem *problem) {
  const op_description *desc = &call.desc;
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

Test(dot_lines, interpreted, .timeout = 120) {
  char why[400];
  for (int i = 0; i < PROBLEMS; i++) {
    int number = 0;
    make_product(i);
    for (int v = next_lines(0); v >= 0; v = next_lines(v + 1)) {
      if (number++ != 1) continue;
      memset(bench.part[LLRT_DOT_D].image, 0xee, 2);
      cr_assert_eq(interpret(&made.variant[v], &problems[i]), LLRT_OK, "%d, variant %d: %s", i, v,
                   llrt_last_error());
      cr_expect(dot_reference_check(&bench, bench.part[LLRT_DOT_D].image, why, sizeof why),
                "%d, variant %d: %s", i, v, why);
    }
    cr_expect_gt(number, 1, "%d", i);
    dot_bench_free(&bench);
  }
}

/* Lanes that have other pieces than those of a line, and boxes, copy none. */
Test(dot_lines, verified) {
  make_product(0);
  for (int v = next_lines(0); v >= 0; v = next_lines(v + 1)) {
    plan_kernel *kernel = &made.variant[v];
    int at = 0;
    while (!kernel->step[at].lines) at++;
    cr_expect_eq(plan_verify(kernel), LLRT_OK, "%s", llrt_last_error());
    kernel->step[at].masked = false;
    cr_expect_eq(plan_verify(kernel), LLRT_INTERNAL, "variant %d: no masks", v);
    kernel->step[at].masked = true;
    kernel->launch.rounds = 1;
    cr_expect_eq(plan_verify(kernel), LLRT_INTERNAL, "variant %d: rounds", v);
    kernel->launch.rounds = 0;
  }
  dot_bench_free(&bench);
}

/* ---- on a device ---- */

static llrt_tensor send(llrt_device *device, const dot_part *part) {
  llrt_tensor sent = part->tensor;
  sent.device = device;
  cr_assert_eq(llrt_memory_allocate(device, part->bytes, &sent.data), LLRT_OK);
  cr_assert_eq(
      llrt_memory_copy(device, sent.data, part->image, part->bytes, LLRT_COPY_TO_DEVICE, NULL),
      LLRT_OK);
  return sent;
}

static void run_kernel(llrt_device *device, int i, int v, const llrt_tensor *d) {
  op_description *desc = &call.desc;
  const dot_part *part = &bench.part[LLRT_DOT_D];
  storage_set set;
  llrt_op *op;
  char why[400];
  cr_assert_eq(llrt_storage_set_init(desc->tensors, desc->n_tensors, 0, &set), LLRT_OK);
  cr_assert_eq(llrt_op_make(device, desc, &set, &op), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_op_build_kernels(op, &made.variant[v], 1), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(
      llrt_memory_copy(device, d->data, part->image, part->bytes, LLRT_COPY_TO_DEVICE, NULL),
      LLRT_OK);
  cr_assert_eq(llrt_op_run(op, NULL, desc->tensors, desc->n_tensors, NULL), LLRT_OK,
               "%d, variant %d: %s", i, v, llrt_last_error());
  unsigned char *found = malloc(part->bytes);
  cr_assert(found);
  cr_assert_eq(llrt_memory_copy(device, found, d->data, part->bytes, LLRT_COPY_FROM_DEVICE, NULL),
               LLRT_OK, "%d, variant %d: %s", i, v, llrt_last_error());
  cr_expect(dot_reference_check(&bench, found, why, sizeof why), "%d, variant %d: %s", i, v, why);
  free(found);
  llrt_op_destroy(&op);
}

/* The emulator tells of copies that products read before they are there. */
static void run_emulated(int i, int step) {
  opened_device opened = open_device("cuda-emu:sm_90a");
  llrt_tensor sent[3];
  static const int role[] = {LLRT_DOT_A, LLRT_DOT_B, LLRT_DOT_D};
  int number = 0;
  cr_assert(dot_bench_make(&problems[i], 5 + (uint64_t)i, &bench), "%d: %s", i, llrt_last_error());
  for (int t = 0; t < 3; t++) sent[t] = send(opened.device, &bench.part[role[t]]);
  plan_product(i, &sent[0], &sent[1], &sent[2]);
  for (int v = next_lines(0); v >= 0; v = next_lines(v + 1))
    if (made.variant[v].launch.later == 0 && number++ % step == i % step)
      run_kernel(opened.device, i, v, &sent[2]);
  cr_expect_gt(number, 0, "%d", i);
  for (int t = 0; t < 3; t++) llrt_memory_free(opened.device, sent[t].data);
  dot_bench_free(&bench);
  close_device(&opened);
}

Test(dot_lines, emulated, .timeout = 300) {
  for (int i = 0; i < PROBLEMS; i++) run_emulated(i, 3);
}

Test(dot_lines, apart, .timeout = 300) {
  setenv("LLRT_EMU_LANES", "apart", 1);
  run_emulated(0, 3);
}
