/* Host memory given to a GPU: refused before a kernel's fault would end the driver's context. */
#include "tests/runtime/convert_fixture.h"

/* Far from anything that the emulated driver allocates. */
enum { FAR = 4 << 20 };
static _Alignas(64) char host_memory[2 * FAR];

static const char *const devices[] = {"cuda-emu:sm_80", "hip-emu:gfx942"};

static fixture at;
static llrt_device *gpu;
static const char *name; /* of gpu */
static llrt_tensor source, destination;

static void *device_memory(void) {
  void *memory;
  cr_assert_eq(llrt_memory_allocate(gpu, sizeof at.input, &memory), LLRT_OK);
  cr_assert_eq(llrt_memory_copy(gpu, memory, at.input, sizeof at.input, LLRT_COPY_TO_DEVICE, NULL),
               LLRT_OK);
  return memory;
}

static void start(const char *device) {
  name = device;
  fixture_make(&at, &fixture_params);
  cr_assert_eq(llrt_device_open(at.context, name, NULL, &gpu), LLRT_OK, "%s", llrt_last_error());
  source = at.source;
  destination = at.destination;
  source.device = destination.device = gpu;
  source.data = device_memory();
  destination.data = device_memory();
}

static void stop(void) {
  llrt_memory_free(gpu, source.data);
  llrt_memory_free(gpu, destination.data);
  llrt_device_close(&gpu);
  fixture_end(&at);
}

static void each_device(void (*check)(void)) {
  for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
    start(devices[i]);
    check();
    stop();
  }
}

static llrt_status convert(const llrt_tensor *from, const llrt_tensor *to) {
  return llrt_convert_into(from, to, NULL, NULL);
}

static llrt_tensor on_host(const llrt_tensor *tensor) {
  llrt_tensor moved = *tensor;
  moved.data = host_memory + FAR;
  return moved;
}

static void check_one_line_calls(void) {
  llrt_tensor from = on_host(&source), to = on_host(&destination);
  for (int turn = 0; turn < 2; turn++) { /* also when kernels and memory are known */
    cr_expect_eq(convert(&from, &destination), LLRT_INVALID_ARGUMENT);
    expect_said("llrt_convert_into: the source's data 0x");
    char words[80];
    snprintf(words, sizeof words, "is host memory, which %s does not reach", name);
    expect_said(words);
    cr_expect_eq(convert(&source, &to), LLRT_INVALID_ARGUMENT);
    expect_said("the destination's data 0x");
    cr_expect_eq(convert(&source, &destination), LLRT_OK, "%s", llrt_last_error());
  }
}
Test(reach, one_line_calls) { each_device(check_one_line_calls); }

static void check_prepared_operations(void) {
  const llrt_tensor tensors[2] = {source, destination};
  const llrt_op_desc desc = {.kind = LLRT_OP_CONVERT, .n_tensors = 2, .tensors = tensors};
  const llrt_tensor moved[2] = {source, on_host(&destination)};
  llrt_op *op;
  cr_assert_eq(llrt_op_prepare(gpu, &desc, &op), LLRT_OK, "%s", llrt_last_error());
  cr_expect_eq(llrt_op_run(op, NULL, moved, 2, NULL), LLRT_INVALID_ARGUMENT);
  expect_said("llrt_op_run: the destination's data 0x");
  cr_expect_eq(llrt_op_run(op, NULL, tensors, 2, NULL), LLRT_OK, "%s", llrt_last_error());
  llrt_op_destroy(&op);
}
Test(reach, prepared_operations) { each_device(check_prepared_operations); }

static void check_values_of_indices(void) {
  const llrt_index index = {
      .dtype = LLRT_I32, .axes = 1, .extent = ROWS, .data = host_memory + FAR, .strides = {1}};
  source.indices = &index;
  source.n_indices = 1;
  cr_expect_eq(convert(&source, &destination), LLRT_INVALID_ARGUMENT);
  expect_said("the values of the source's index 0 are in host memory");
}
Test(reach, values_of_indices) { each_device(check_values_of_indices); }

/* Nothing is asked of tensors without elements. */
static void check_nothing_to_reach(void) {
  llrt_tensor from = on_host(&source), to = destination;
  from.shape[0] = to.shape[0] = 0;
  cr_expect_eq(convert(&from, &to), LLRT_OK, "%s", llrt_last_error());
}
Test(reach, nothing_to_reach) { each_device(check_nothing_to_reach); }

/* Nor of their indices, which have no values then, where something is made of nothing. */
static void check_no_values(void) {
  const llrt_index index = {.dtype = LLRT_I32, .axes = 1, .extent = ROWS, .strides = {1}};
  llrt_expr *expr;
  llrt_tensor none = source, sums = destination;
  none.shape[0] = 0;
  none.indices = &index;
  none.n_indices = 1;
  sums.rank = 1;
  sums.shape[0] = source.shape[1];
  sums.storage = NULL;
  const llrt_arg args[] = {{.name = "x", .tensor = &none}, {.name = "y", .tensor = &sums}};
  cr_assert_eq(llrt_expr_parse("(x[t n]) -> (y[n]) { y = sum(x, t) }", &expr), LLRT_OK);
  cr_expect_eq(llrt_compute_into(expr, args, 2, NULL, NULL), LLRT_OK, "%s", llrt_last_error());
  float first = 1;
  cr_assert_eq(llrt_memory_copy(gpu, &first, sums.data, sizeof first, LLRT_COPY_FROM_DEVICE, NULL),
               LLRT_OK);
  cr_expect_eq(first, 0);
  llrt_expr_destroy(&expr);
}
Test(reach, no_values) { each_device(check_no_values); }

static void check_inner_addresses(void) {
  llrt_tensor inner = source;
  inner.data = (char *)source.data + ELEMENTS * sizeof(float);
  cr_expect_eq(convert(&inner, &destination), LLRT_OK, "%s", llrt_last_error());
}
Test(reach, inner_addresses) { each_device(check_inner_addresses); }
