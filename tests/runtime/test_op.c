/* Prepared operations: promises, classes, variants, compile-once. */
#include "runtime/described.h"
#include "tests/runtime/convert_fixture.h"

#include <pthread.h>

static fixture at;

static void setup(void) { fixture_make(&at, &fixture_params); }
static void teardown(void) { fixture_end(&at); }

TestSuite(op, .init = setup, .fini = teardown);

static llrt_status run(const llrt_op *op) {
  const llrt_tensor tensors[2] = {at.source, at.destination};
  return llrt_op_run(op, NULL, tensors, 2, NULL);
}

Test(op, prepare_with_no_promises_serves_every_shape) {
  op_description desc = fixture_desc(&at);
  llrt_op *op;
  cr_assert_eq(described_prepare(at.host, &desc, &op), LLRT_OK, "%s", llrt_last_error());
  uint64_t compiles = fixture_stats(&at).compiles;
  cr_expect_eq(run(op), LLRT_OK, "%s", llrt_last_error());
  cr_expect(fixture_is_converted(&at));
  for (int rows = 0; rows <= ROWS; rows += 3) {
    at.source.shape[0] = at.destination.shape[0] = rows;
    at.source.data = at.input + rows; /* element-aligned only */
    cr_expect_eq(run(op), LLRT_OK, "%s", llrt_last_error());
  }
  cr_expect_eq(fixture_stats(&at).compiles, compiles);
  llrt_op_destroy(&op);
  cr_expect_null(op);
}

Test(op, promises_are_checked) {
  op_description desc = fixture_desc(&at);
  desc.promises[0].address.multiple = 16;
  desc.promises[0].shape[0] = (llrt_promise){.multiple = 8, .min = 8, .max = 64};
  desc.promises[1].stride[1].multiple = 4; /* of col_major: the row count */
  llrt_op *op;
  cr_assert_eq(described_prepare(at.host, &desc, &op), LLRT_OK, "%s", llrt_last_error());
  const struct {
    int rows, shift;
    const char *said; /* NULL: within the class */
  } rows[] = {{24, 0, NULL},       {8, 0, NULL}, {24, 4, NULL},      {24, 1, "address"},
              {12, 0, "shape[0]"}, {0, 0, NULL}, {4, 0, "shape[0]"}, {72, 0, "shape[0]"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    at.source.shape[0] = at.destination.shape[0] = rows[i].rows;
    at.source.shape[1] = at.destination.shape[1] = 10;
    at.source.data = at.input + rows[i].shift;
    cr_expect_eq(run(op), rows[i].said ? LLRT_OUT_OF_CLASS : LLRT_OK, "row %zu: %s", i,
                 llrt_last_error());
    if (rows[i].said) expect_said(rows[i].said);
  }
  llrt_op_destroy(&op);
}

Test(op, a_broken_stride_promise_is_named) {
  op_description desc = fixture_desc(&at);
  desc.promises[1].stride[1].multiple = 16;
  llrt_op *op;
  cr_assert_eq(described_prepare(at.host, &desc, &op), LLRT_OK);
  cr_expect_eq(run(op), LLRT_OUT_OF_CLASS); /* 24 rows */
  expect_said("destination's stride of axis 1 is 24");
  cr_expect(fixture_is_untouched(&at));
  llrt_op_destroy(&op);
}

Test(op, an_extent_may_be_compiled_in) {
  op_description desc = fixture_desc(&at);
  for (int i = 0; i < 2; i++) {
    desc.promises[i].shape[1] = (llrt_promise){.min = COLUMNS, .max = COLUMNS};
  }
  llrt_op *op;
  cr_assert_eq(described_prepare(at.host, &desc, &op), LLRT_OK, "%s", llrt_last_error());
  cr_expect_eq(run(op), LLRT_OK);
  cr_expect(fixture_is_converted(&at));
  at.source.shape[1] = at.destination.shape[1] = COLUMNS - 1;
  cr_expect_eq(run(op), LLRT_OUT_OF_CLASS);
  llrt_op_destroy(&op);
}

Test(op, one_line_calls_find_prepared_kernels) {
  op_description desc = fixture_desc(&at);
  cr_assert_eq(described_promise(&desc), LLRT_OK);
  cr_expect_eq(desc.promises[0].address.multiple, 64);
  cr_expect_eq(desc.promises[1].shape[0].min, at.source.shape[0], "small: as it is");
  cr_expect_eq(desc.promises[1].shape[0].max, at.source.shape[0]);
  cr_expect_eq(desc.promises[1].stride[1].multiple, 8); /* of 24 rows; at most 64 bytes */
  llrt_op *op;
  cr_assert_eq(described_prepare(at.host, &desc, &op), LLRT_OK);
  uint64_t compiles = fixture_stats(&at).compiles;
  cr_expect_eq(llrt_convert_into(&at.source, &at.destination, NULL, NULL), LLRT_OK);
  cr_expect(fixture_is_converted(&at));
  cr_expect_eq(fixture_stats(&at).compiles, compiles);
  llrt_op_destroy(&op);
}

Test(op, bad_descriptions) {
  op_description desc = fixture_desc(&at);
  llrt_op *op = (llrt_op *)&desc;
  cr_expect_eq(described_prepare(NULL, &desc, &op), LLRT_INVALID_ARGUMENT);
  cr_expect_null(op);
  cr_expect_eq(llrt_op_prepare(at.host, NULL, &op), LLRT_INVALID_ARGUMENT);
  cr_expect_eq(described_prepare(at.host, &desc, NULL), LLRT_INVALID_ARGUMENT);
  desc.kind = 0;
  cr_expect_eq(described_prepare(at.host, &desc, &op), LLRT_INVALID_ARGUMENT);
  desc = fixture_desc(&at);
  desc.n_tensors = 3;
  cr_expect_eq(described_prepare(at.host, &desc, &op), LLRT_INVALID_ARGUMENT);
  desc = fixture_desc(&at);
  desc.promises[0].shape[1] = (llrt_promise){.min = 9, .max = 8};
  cr_expect_eq(described_prepare(at.host, &desc, &op), LLRT_INVALID_ARGUMENT);
  expect_said("min 9 above max 8");
  desc.promises[0].shape[1] = (llrt_promise){.multiple = -8};
  cr_expect_eq(described_prepare(at.host, &desc, &op), LLRT_INVALID_ARGUMENT);
  cr_expect_eq(llrt_op_promise_coarse(NULL), LLRT_INVALID_ARGUMENT);
}

Test(op, bad_runs) {
  op_description desc = fixture_desc(&at);
  llrt_op *op;
  cr_assert_eq(described_prepare(at.host, &desc, &op), LLRT_OK);
  llrt_tensor tensors[2] = {at.source, at.destination};
  cr_expect_eq(llrt_op_run(NULL, NULL, tensors, 2, NULL), LLRT_INVALID_ARGUMENT);
  cr_expect_eq(llrt_op_run(op, NULL, NULL, 2, NULL), LLRT_INVALID_ARGUMENT);
  cr_expect_eq(llrt_op_run(op, NULL, tensors, 1, NULL), LLRT_INVALID_ARGUMENT);
  cr_expect_eq(llrt_op_run(op, &op, tensors, 2, NULL), LLRT_INVALID_ARGUMENT);
  tensors[0].storage = &at.col_major;
  cr_expect_eq(llrt_op_run(op, NULL, tensors, 2, NULL), LLRT_INVALID_ARGUMENT);
  expect_said("source's storage is not the operation's");
  tensors[0] = at.source;
  tensors[0].dtype = tensors[1].dtype = LLRT_F16;
  cr_expect_eq(llrt_op_run(op, NULL, tensors, 2, NULL), LLRT_INVALID_ARGUMENT);
  tensors[0].dtype = tensors[1].dtype = LLRT_F32;
  tensors[0].rank = tensors[1].rank = 1;
  cr_expect_eq(llrt_op_run(op, NULL, tensors, 2, NULL), LLRT_INVALID_ARGUMENT);
  cr_expect(fixture_is_untouched(&at));
  size_t bytes = 1;
  cr_expect_eq(llrt_op_workspace(op, tensors, 2, &bytes), LLRT_INVALID_ARGUMENT);
  tensors[0].rank = tensors[1].rank = 2;
  cr_expect_eq(llrt_op_workspace(op, tensors, 2, &bytes), LLRT_OK);
  cr_expect_eq(bytes, 0);
  cr_expect_eq(llrt_op_workspace(op, tensors, 2, NULL), LLRT_INVALID_ARGUMENT);
  llrt_op_destroy(&op);
}

/* ---- threads ---- */

static pthread_barrier_t together;

static void *convert_once(void *unused) {
  (void)unused;
  static _Thread_local float output[ELEMENTS];
  llrt_tensor destination = at.destination;
  destination.data = output;
  pthread_barrier_wait(&together);
  llrt_status status = llrt_convert_into(&at.source, &destination, NULL, NULL);
  return status == LLRT_OK && output[1] == at.input[COLUMNS] ? NULL : "failed";
}

Test(op, threads_that_want_one_kernel_compile_it_once) {
  enum { THREADS = 8 };
  pthread_t threads[THREADS];
  pthread_barrier_init(&together, NULL, THREADS);
  for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, convert_once, NULL);
  for (int i = 0; i < THREADS; i++) {
    void *failed;
    pthread_join(threads[i], &failed);
    cr_expect_null(failed);
  }
  pthread_barrier_destroy(&together);
  cr_expect_eq(fixture_stats(&at).compiles, 1);
}

/* ---- without a compiler ---- */

Test(op, forbidden_compiles_are_unavailable) {
  llrt_context_params params = fixture_params;
  params.compile = LLRT_COMPILE_FORBIDDEN;
  fixture_end(&at);
  fixture_make(&at, &params);
  cr_expect_eq(llrt_convert_into(&at.source, &at.destination, NULL, NULL), LLRT_UNAVAILABLE);
  expect_said("policy forbids");
  cr_expect(fixture_is_untouched(&at));
  cr_expect_eq(fixture_stats(&at).compiles, 0);
}

Test(op, an_absent_compiler_is_unavailable) {
  llrt_context_params params = {.jit_library = "/nowhere/libllrt-jit.so"};
  fixture_end(&at);
  fixture_make(&at, &params);
  cr_expect_eq(llrt_convert_into(&at.source, &at.destination, NULL, NULL), LLRT_UNAVAILABLE);
  expect_said("/nowhere/libllrt-jit.so");
  cr_expect(fixture_is_untouched(&at));
}

/* ---- llrt_op_compile ---- */

Test(op, compile_without_a_device) {
  op_description desc = fixture_desc(&at);
  char *bytes;
  size_t size;
  for (llrt_emit emit = LLRT_EMIT_PLAN; emit <= LLRT_EMIT_KERNEL; emit++) {
    cr_expect_eq(described_compile(at.context, "sm_80", &desc, emit, &bytes, &size), LLRT_OK,
                 "%d: %s", (int)emit, llrt_last_error());
    cr_expect(size > 0);
    cr_expect_eq(bytes[size], 0);
    llrt_buffer_free(&bytes);
    cr_expect_null(bytes);
  }
  cr_expect_eq(described_compile(at.context, "host", &desc, LLRT_EMIT_ASM, &bytes, &size), LLRT_OK);
  llrt_buffer_free(&bytes);
  cr_expect_eq(described_compile(at.context, "sm_42", &desc, LLRT_EMIT_PLAN, &bytes, &size),
               LLRT_INVALID_ARGUMENT);
  expect_said("sm_80");
  cr_expect_eq(described_compile(NULL, "sm_80", &desc, LLRT_EMIT_PLAN, &bytes, &size),
               LLRT_INVALID_ARGUMENT);
  cr_expect_eq(described_compile(at.context, NULL, &desc, LLRT_EMIT_PLAN, &bytes, &size),
               LLRT_INVALID_ARGUMENT);
  cr_expect_eq(llrt_op_compile(at.context, "sm_80", NULL, LLRT_EMIT_PLAN, &bytes, &size),
               LLRT_INVALID_ARGUMENT);
  cr_expect_eq(described_compile(at.context, "sm_80", &desc, (llrt_emit)9, &bytes, &size),
               LLRT_INVALID_ARGUMENT);
  cr_expect_eq(described_compile(at.context, "sm_80", &desc, LLRT_EMIT_PLAN, NULL, &size),
               LLRT_INVALID_ARGUMENT);
}
