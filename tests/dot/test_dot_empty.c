/* Products without positions along K, of kernels that were prepared for any number of them: each
 * result is what is made of a sum of nothing, whatever stages the kernels have. */
#include "planned_kernels.h"

#include <stdlib.h>
#include <string.h>

#define DIGITS "storage(rank=2, digits=[dim1: 8, dim0: 8, dim1: rest, dim0: rest], pad=0)"
#define TURNED "storage(rank=2, digits=[dim0: 4, dim1: 4, dim0: rest, dim1: rest], pad=0)"
#define ADDEND(type_) .type[LLRT_DOT_C] = LLRT_##type_, .beta = 2

static const dot_problem rows[] = {
    {SHAPE(300, 72, 128), TYPES(BF16, BF16), LIES("", "col_major")}, /* boxes */
    {SHAPE(40, 72, 128), TYPES(BF16, BF16), LIES("", "col_major")},
    {SHAPE(1, 72, 128), TYPES(BF16, BF16), LIES("", "col_major")},
    {SHAPE(300, 72, 104), TYPES(BF16, BF16), LIES("", "col_major")},
    {SHAPE(300, 72, 98), TYPES(BF16, BF16), LIES("", "col_major")}, /* threads copy */
    {SHAPE(300, 73, 97), TYPES(BF16, BF16), LIES("", "col_major")}, /* copies in front */
    {SHAPE(40, 73, 97), TYPES(BF16, BF16), LIES("", "col_major")},
    {SHAPE(1, 73, 97), TYPES(BF16, BF16), LIES("", "col_major")},
    {SHAPE(40, 70, 66), TYPES(F16, E2M1), LIES(DIGITS, TURNED)}, /* row-major first */
    {SHAPE(40, 70, 66), TYPES(F16, F16),
     .storage = {[LLRT_DOT_A] = DIGITS, [LLRT_DOT_B] = TURNED, [LLRT_DOT_D] = TURNED}},
    {SHAPE(24, 40, 64), TYPES(F32, F32), ADDEND(F32)},
    {SHAPE(300, 73, 97), TYPES(BF16, BF16), LIES("", "col_major"), ADDEND(BF16)},
    {SHAPE(300, 72, 128), TYPES(E4M3, E4M3), LIES("", "col_major")},
    {SHAPE(17, 33, 50), TYPES(I8, I8)},
};

/* The part's tensor in the device's memory. */
static llrt_tensor send(llrt_device *device, const dot_part *part) {
  llrt_tensor sent = part->tensor;
  sent.device = device;
  cr_assert_eq(llrt_memory_allocate(device, part->bytes + 16, &sent.data), LLRT_OK);
  cr_assert_eq(
      llrt_memory_copy(device, sent.data, part->image, part->bytes, LLRT_COPY_TO_DEVICE, NULL),
      LLRT_OK);
  return sent;
}

static void send_all(llrt_device *device, dot_bench *bench, llrt_tensor sent[LLRT_DOT_ROLES]) {
  memset(sent, 0, LLRT_DOT_ROLES * sizeof *sent);
  for (int r = 0; r < LLRT_DOT_ROLES; r++)
    if (bench->part[r].image) sent[r] = send(device, &bench->part[r]);
  if (sent[LLRT_DOT_C].data) bench->params.c = &sent[LLRT_DOT_C];
}

static void free_all(llrt_device *device, llrt_tensor sent[LLRT_DOT_ROLES]) {
  for (int r = 0; r < LLRT_DOT_ROLES; r++)
    if (sent[r].data) llrt_memory_free(device, sent[r].data);
}

/* Describes the product that the problem is, of tensors that are there. */
static void describe(llrt_device *device, const dot_problem *problem, dot_bench *bench,
                     llrt_tensor sent[LLRT_DOT_ROLES], described_dot *call) {
  cr_assert(dot_bench_make(problem, 1, bench), "%s", llrt_last_error());
  send_all(device, bench, sent);
  cr_assert_eq(described_dot_make(&sent[LLRT_DOT_A], &sent[LLRT_DOT_B], &sent[LLRT_DOT_D],
                                  &bench->params, call),
               LLRT_OK, "%s", llrt_last_error());
}

static void check(llrt_device *device, const dot_problem *problem, const char *where) {
  static dot_bench bench;
  static described_dot call, empty;
  llrt_tensor sent[LLRT_DOT_ROLES];
  dot_problem nothing = *problem;
  char title[DOT_TITLE_BYTES], why[400];
  llrt_op *op;
  describe(device, problem, &bench, sent, &call);
  cr_assert_eq(described_promise(&call.desc), LLRT_OK);
  cr_assert_eq(described_prepare(device, &call.desc, &op), LLRT_OK, "%s", llrt_last_error());
  free_all(device, sent);
  dot_bench_free(&bench);
  nothing.k = 0;
  describe(device, &nothing, &bench, sent, &empty);
  dot_problem_title(&nothing, title, sizeof title);
  const llrt_run_params params = {.size = sizeof params, .own_workspace = 1};
  for (int turn = 0; turn < 2; turn++)
    cr_expect_eq(llrt_op_run(op, NULL, empty.desc.tensors, empty.desc.n_tensors, &params), LLRT_OK,
                 "%s: %s: %s", where, title, llrt_last_error());
  const dot_part *d = &bench.part[LLRT_DOT_D];
  uint8_t *found = malloc(d->bytes + 1);
  cr_assert(found);
  cr_assert_eq(
      llrt_memory_copy(device, found, sent[LLRT_DOT_D].data, d->bytes, LLRT_COPY_FROM_DEVICE, NULL),
      LLRT_OK);
  cr_expect(dot_reference_check(&bench, found, why, sizeof why), "%s: %s: %s", where, title, why);
  free(found);
  free_all(device, sent);
  llrt_op_destroy(&op);
  dot_bench_free(&bench);
}

static void check_all(const char *name) {
  opened_device opened = open_device(name);
  for (size_t row = 0; row < sizeof rows / sizeof *rows; row++)
    check(opened.device, &rows[row], name);
  close_device(&opened);
}

Test(dot_empty, host, .timeout = 300) { check_all("host"); }
Test(dot_empty, sm_90a, .timeout = 300) { check_all("cuda-emu:sm_90a"); }
Test(dot_empty, gfx942, .timeout = 300) { check_all("hip-emu:gfx942"); }
