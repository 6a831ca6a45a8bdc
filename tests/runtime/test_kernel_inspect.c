/* What saved bytes are for: told without loading them, and true when they are loaded. */
#include "base/hash.h"
#include "runtime/prepared.h"

#include "tests/runtime/convert_fixture.h"

#define DEVICE "cuda-emu:sm_80"

static fixture at;

static void setup(void) {
  unsetenv("LLRT_EMU_MINOR");
  fixture_make(&at, &fixture_params);
}
static void teardown(void) { fixture_end(&at); }
TestSuite(kernel_inspect, .init = setup, .fini = teardown);

/* A device of compute capability 8.`minor`. */
static llrt_device *open_minor(llrt_context *context, const char *minor) {
  llrt_device *device;
  setenv("LLRT_EMU_MINOR", minor, 1);
  cr_assert_eq(llrt_device_open(context, DEVICE, NULL, &device), LLRT_OK, "%s", llrt_last_error());
  return device;
}

typedef struct saved_bytes {
  char *data;
  size_t size;
} saved_bytes;

static saved_bytes save(const llrt_op *op) {
  saved_bytes saved;
  cr_assert_eq(llrt_op_save(op, NULL, &saved.size), LLRT_OK);
  saved.data = malloc(saved.size);
  cr_assert_eq(llrt_op_save(op, saved.data, &saved.size), LLRT_OK);
  return saved;
}

static saved_bytes save_for(llrt_device *device) {
  llrt_op *op;
  op_description desc = fixture_desc(&at);
  cr_assert_eq(described_promise(&desc), LLRT_OK);
  cr_assert_eq(described_prepare(device, &desc, &op), LLRT_OK, "%s", llrt_last_error());
  saved_bytes saved = save(op);
  llrt_op_destroy(&op);
  return saved;
}

static void convert_by(llrt_device *device, const llrt_op *op) {
  llrt_tensor tensors[2] = {at.source, at.destination};
  void *memory;
  cr_assert_eq(llrt_memory_allocate(device, 2 * sizeof at.input, &memory), LLRT_OK);
  for (int t = 0; t < 2; t++) {
    tensors[t].device = device;
    tensors[t].data = (char *)memory + t * sizeof at.input;
  }
  cr_assert_eq(
      llrt_memory_copy(device, memory, at.input, sizeof at.input, LLRT_COPY_TO_DEVICE, NULL),
      LLRT_OK);
  cr_assert_eq(llrt_op_run(op, NULL, tensors, 2, NULL), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_memory_copy(device, at.output, tensors[1].data, sizeof at.output,
                                LLRT_COPY_FROM_DEVICE, NULL),
               LLRT_OK);
  cr_expect(fixture_is_converted(&at));
  llrt_memory_free(device, memory);
}

/* Linked for 8.6, loaded on a device of 8.0 (which cannot take that code) and on one of 8.6. */
Test(kernel_inspect, one_file_serves_every_device_of_its_target) {
  llrt_device *newer = open_minor(at.context, "6");
  saved_bytes saved = save_for(newer);
  llrt_kernel_info info = {0};
  cr_assert_eq(llrt_kernel_inspect(saved.data, saved.size, newer, &info), LLRT_OK);
  cr_expect_str_eq(info.target, "sm_80");
  cr_expect_str_eq(info.version, llrt_version());
  cr_expect_eq(info.capability, 86);
  cr_expect_eq(info.fits, 1, "%s", info.why);
  cr_expect_eq(info.kind, LLRT_OP_CONVERT);
  cr_expect_eq(info.n_tensors, 2);
  cr_expect(info.n_compiled > 0 && info.n_compiled <= info.n_kernels);
  llrt_device_close(&newer);

  llrt_device *older = open_minor(at.context, "0");
  cr_assert_eq(llrt_kernel_inspect(saved.data, saved.size, older, &info), LLRT_OK);
  cr_expect_eq(info.fits, 1);
  uint64_t compiles = fixture_stats(&at).compiles;
  llrt_op *op;
  cr_assert_eq(llrt_op_load(older, saved.data, saved.size, &op), LLRT_OK, "%s", llrt_last_error());
  convert_by(older, op);
  cr_expect_eq(fixture_stats(&at).compiles, compiles);
  saved_bytes again = save(op);
  cr_assert_eq(llrt_kernel_inspect(again.data, again.size, NULL, &info), LLRT_OK);
  cr_expect_eq(info.capability, 80);
  llrt_op_destroy(&op);
  llrt_device_close(&older);
  free(again.data);
  free(saved.data);
}

/* Linked code that says to be of this capability, but is another driver's: linked again. */
Test(kernel_inspect, code_that_another_driver_linked_is_linked_again) {
  llrt_device *device = open_minor(at.context, "0");
  saved_bytes saved = save_for(device);
  char *linked = memmem(saved.data, saved.size, "// cubin", 8);
  cr_assert_not_null(linked);
  memcpy(linked, "## cubin", 8);
  llrt_hash sum = llrt_hash_bytes(saved.data, saved.size - 16);
  memcpy(saved.data + saved.size - 16, &sum, 16);
  llrt_op *op;
  cr_assert_eq(llrt_op_load(device, saved.data, saved.size, &op), LLRT_OK, "%s", llrt_last_error());
  convert_by(device, op);
  llrt_op_destroy(&op);
  llrt_device_close(&device);
  free(saved.data);
}

Test(kernel_inspect, what_does_not_fit_says_why) {
  llrt_device *device = open_minor(at.context, "0");
  saved_bytes saved = save_for(at.host);
  llrt_kernel_info info = {0};
  cr_expect_eq(llrt_kernel_inspect(saved.data, saved.size, device, &info), LLRT_OK);
  cr_expect_eq(info.fits, 0);
  cr_expect(strstr(info.why, "runs sm_80"), "%s", info.why);
  cr_expect_eq(llrt_kernel_inspect(saved.data, saved.size, at.host, &info), LLRT_OK);
  cr_expect_eq(info.fits, 1, "%s", info.why);
  cr_expect_eq(info.capability, 0, "host code is not linked for a capability");

  saved.data[8]++; /* a newer format */
  llrt_hash sum = llrt_hash_bytes(saved.data, saved.size - 16);
  memcpy(saved.data + saved.size - 16, &sum, 16);
  cr_expect_eq(llrt_kernel_inspect(saved.data, saved.size, at.host, &info), LLRT_OK);
  cr_expect_eq(info.fits, 0);
  cr_expect_eq(info.target[0], 0);
  cr_expect(strstr(info.why, "has format"), "%s", info.why);
  llrt_device_close(&device);
  free(saved.data);
}

Test(kernel_inspect, bad_input) {
  saved_bytes saved = save_for(at.host);
  llrt_kernel_info info = {.n_kernels = 7};
  cr_expect_eq(llrt_kernel_inspect(saved.data, saved.size, NULL, NULL), LLRT_INVALID_ARGUMENT);
  cr_expect_eq(llrt_kernel_inspect(NULL, saved.size, NULL, &info), LLRT_INVALID_ARGUMENT);
  cr_expect_eq(info.n_kernels, 0);
  for (size_t size = 0; size < saved.size; size += 7)
    cr_assert_eq(llrt_kernel_inspect(saved.data, size, NULL, &info), LLRT_CORRUPT, "%zu", size);
  for (size_t i = 0; i < saved.size; i += 5) {
    saved.data[i] ^= 4;
    cr_assert_eq(llrt_kernel_inspect(saved.data, saved.size, NULL, &info), LLRT_CORRUPT, "%zu", i);
    saved.data[i] ^= 4;
  }
  info.size = 3;
  cr_expect_eq(llrt_kernel_inspect(saved.data, saved.size, NULL, &info), LLRT_INVALID_ARGUMENT);
  free(saved.data);
}
