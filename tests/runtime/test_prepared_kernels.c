/* How many kernels of a product preparing it compiles: those that some promised shape takes, and
 * lazily none, until a run wants one. */
#include "runtime/described.h"
#include "runtime/prepared.h"
#include "tests/open_device.h"

#include <llrt/tune.h>

#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 256, LENGTH = 128, MOST_ROWS = 256 };

static opened_device at;
static described_dot call;
static llrt_storage turned;

static void start(void) { at = open_device("cuda-emu:sm_90a"); }
static void stop(void) { close_device(&at); }
TestSuite(prepared_kernels, .init = start, .fini = stop, .timeout = 120);

static uint64_t count_compiles(void) {
  llrt_cache_stats stats = {0};
  cr_assert_eq(llrt_context_get_cache_stats(at.context, &stats), LLRT_OK);
  return stats.compiles;
}

/* bf16, d [rows, COLUMNS] = a [rows, LENGTH] times b's transpose, of from `least` to `most` rows.
 */
static void describe(int64_t rows, int64_t least, int64_t most, void *const memory[3]) {
  const llrt_tensor a = {.dtype = LLRT_BF16,
                         .rank = 2,
                         .shape = {rows, LENGTH},
                         .device = at.device,
                         .data = memory[0]};
  llrt_tensor b = a, d = a;
  cr_assert_eq(llrt_storage_col_major(2, &turned), LLRT_OK);
  b.storage = &turned;
  b.data = memory[1];
  d.data = memory[2];
  b.shape[0] = LENGTH;
  b.shape[1] = d.shape[1] = COLUMNS;
  cr_assert_eq(described_dot_make(&a, &b, &d, NULL, &call), LLRT_OK, "%s", llrt_last_error());
  for (int t = 0; t < 3; t++) call.desc.promises[t].address.multiple = 128;
  llrt_promise *shape = call.desc.promises[0].shape;
  shape[0] = (llrt_promise){.min = least, .max = most};
  shape[1] = (llrt_promise){.min = COLUMNS, .max = COLUMNS};
  shape[2] = (llrt_promise){.min = LENGTH, .max = LENGTH};
}

static llrt_op *prepare(bool lazy) {
  const llrt_op_desc shown = described_as(&call.desc);
  const llrt_prepare_params params = {.size = sizeof params, .lazy = lazy};
  llrt_op *op = NULL;
  cr_assert_eq(llrt_op_prepare_with(at.device, &shown, &params, &op), LLRT_OK, "%s",
               llrt_last_error());
  return op;
}

static int pick(const llrt_op *op, int64_t rows) {
  llrt_tensor first = call.desc.tensors[0];
  first.shape[0] = rows, first.shape[1] = COLUMNS, first.shape[2] = LENGTH;
  return llrt_op_pick(op, &first);
}

static const struct {
  int64_t least, most;
  int kernels; /* at most */
} counts[] = {{64, 64, 1}, {1, 16, 3}, {1, MOST_ROWS, 8}};

Test(prepared_kernels, those_of_promised_shapes) {
  void *const nothing[3] = {(void *)4096, (void *)4096, (void *)4096};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    describe(counts[i].most, counts[i].least, counts[i].most, nothing);
    const uint64_t before = count_compiles();
    llrt_op *op = prepare(false);
    const int compiled = (int)(count_compiles() - before);
    cr_expect(compiled > 0 && compiled <= counts[i].kernels, "%d to %d rows: %d kernels of %d",
              (int)counts[i].least, (int)counts[i].most, compiled, (int)op->n_variants);
    for (int64_t rows = counts[i].least; rows <= counts[i].most; rows++) {
      const int variant = pick(op, rows);
      cr_assert(variant >= 0 && llrt_op_loaded(op) >> variant & 1, "%d rows", (int)rows);
    }
    llrt_op_destroy(&op);
  }
}

static void run_backwards(void *user, int64_t count, void (*body)(void *, int64_t, int64_t),
                          void *data) {
  *(int64_t *)user = count;
  for (int64_t i = count; i-- > 0;) body(data, i, i + 1);
}

/* Several kernels go through the context's loop, each once, where they have to be compiled; where
 * that is forbidden the caller is told. */
Test(prepared_kernels, together) {
  void *const nothing[3] = {(void *)4096, (void *)4096, (void *)4096};
  int64_t count = 0;
  const llrt_context_params params = {
      .jit_library = LLRT_TEST_JIT_LIBRARY, .parallel_user = &count, .parallel_for = run_backwards};
  close_device(&at);
  cr_assert_eq(llrt_context_create(&params, &at.context), LLRT_OK);
  cr_assert_eq(llrt_device_open(at.context, "cuda-emu:sm_90a", NULL, &at.device), LLRT_OK);
  describe(MOST_ROWS, 1, MOST_ROWS, nothing);
  const llrt_op_desc shown = described_as(&call.desc);
  llrt_op *op = NULL;
  llrt_context_set_compile(at.context, LLRT_COMPILE_FORBIDDEN);
  cr_expect_eq(llrt_op_prepare(at.device, &shown, &op), LLRT_UNAVAILABLE);
  cr_expect(strstr(llrt_last_error(), "forbids") && count >= 2, "%s", llrt_last_error());
  llrt_context_set_compile(at.context, LLRT_COMPILE_NOW);
  count = 0;
  const uint64_t before = count_compiles();
  op = prepare(false);
  cr_expect(count >= 2 && count_compiles() - before == (uint64_t)count, "%d of %d kernels",
            (int)count, (int)(count_compiles() - before));
  for (int64_t rows = 1; rows <= MOST_ROWS; rows++)
    cr_assert(llrt_op_loaded(op) >> pick(op, rows) & 1, "%d rows", (int)rows);
  llrt_op_destroy(&op);
}

/* bf16 whose products and sums are small integers. */
static uint16_t code(int number) {
  float x = (float)number;
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return (uint16_t)(bits >> 16);
}

static int number_a(int64_t i) { return (int)(i % 3) - 1; }
static int number_b(int64_t i) { return (int)(i % 5 == 0); }

static void fill(uint16_t *to, int64_t n, int (*number)(int64_t)) {
  for (int64_t i = 0; i < n; i++) to[i] = code(number(i));
}

static void check(const uint16_t *d, int64_t rows) {
  for (int64_t m = 0; m < rows; m++)
    for (int64_t n = 0; n < COLUMNS; n += 7) {
      int sum = 0;
      for (int k = 0; k < LENGTH; k++) sum += number_a(m * LENGTH + k) * number_b(n * LENGTH + k);
      cr_assert_eq(d[m * COLUMNS + n], code(sum), "(%d, %d) of %d rows", (int)m, (int)n, (int)rows);
    }
}

Test(prepared_kernels, lazily) {
  static uint16_t a[MOST_ROWS * LENGTH], b[COLUMNS * LENGTH], d[MOST_ROWS * COLUMNS];
  const size_t bytes[] = {sizeof a, sizeof b, sizeof d};
  uint16_t *const data[] = {a, b, d};
  void *memory[3];
  fill(a, MOST_ROWS * LENGTH, number_a);
  fill(b, COLUMNS * LENGTH, number_b);
  for (int t = 0; t < 3; t++) {
    cr_assert_eq(llrt_memory_allocate(at.device, bytes[t], &memory[t]), LLRT_OK);
    cr_assert_eq(
        llrt_memory_copy(at.device, memory[t], data[t], bytes[t], LLRT_COPY_TO_DEVICE, NULL),
        LLRT_OK);
  }
  describe(MOST_ROWS, 1, MOST_ROWS, memory);
  const uint64_t before = count_compiles();
  llrt_op *op = prepare(true);
  cr_expect_eq(count_compiles(), before);
  int64_t other = 8; /* the fewest rows with a kernel of their own */
  while (other < MOST_ROWS && pick(op, other) == pick(op, 8)) other++;
  const int64_t rows[] = {8, 8, other};
  static const int kernels[] = {1, 1, 2};
  for (int i = 0; i < 3; i++) {
    describe(rows[i], 1, MOST_ROWS, memory);
    const llrt_run_params run = {.own_workspace = 1};
    cr_assert_eq(llrt_op_run(op, NULL, call.desc.tensors, call.desc.n_tensors, &run), LLRT_OK, "%s",
                 llrt_last_error());
    cr_expect_eq(count_compiles() - before, (uint64_t)kernels[i]);
    cr_assert_eq(llrt_memory_copy(at.device, d, memory[2], sizeof d, LLRT_COPY_FROM_DEVICE, NULL),
                 LLRT_OK);
    cr_assert_eq(llrt_stream_synchronize(at.device, NULL), LLRT_OK);
    check(d, rows[i]);
  }
  cr_assert_eq(llrt_context_set_compile(at.context, LLRT_COMPILE_NEVER), LLRT_OK);
  llrt_op_destroy(&op);
  describe(64, 1, MOST_ROWS / 2, memory);
  op = prepare(true);
  const llrt_run_params run = {.own_workspace = 1};
  cr_expect_eq(llrt_op_run(op, NULL, call.desc.tensors, call.desc.n_tensors, &run),
               LLRT_NOT_PREPARED);
  llrt_op_destroy(&op);
  for (int t = 0; t < 3; t++) llrt_memory_free(at.device, memory[t]);
}

Test(prepared_kernels, refusals) {
  void *const nothing[3] = {(void *)4096, (void *)4096, (void *)4096};
  static const llrt_prepare_params bad[] = {
      {.size = sizeof *bad, .lazy = 2},
      {.size = sizeof *bad, .lazy = 1, .tune = LLRT_TUNE_SAME},
  };
  static const char *const words[] = {"lazy is 2", "or lazy"};
  describe(64, 64, 64, nothing);
  const llrt_op_desc shown = described_as(&call.desc);
  for (int i = 0; i < 2; i++) {
    llrt_op *op = NULL;
    cr_expect_eq(llrt_op_prepare_with(at.device, &shown, &bad[i], &op), LLRT_INVALID_ARGUMENT);
    cr_expect(strstr(llrt_last_error(), words[i]), "%s", llrt_last_error());
  }
}
