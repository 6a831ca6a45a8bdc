/* The emulated HIP devices through the public API: names, memory, and faults as errors. */
#include <llrt/llrt.h>

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static llrt_context *context;
static llrt_device *device;

static void open_device(void) {
  llrt_context_params params = {.jit_library = LLRT_TEST_JIT_LIBRARY};
  cr_assert_eq(llrt_context_create(&params, &context), LLRT_OK);
  cr_assert_eq(llrt_device_open(context, "hip-emu:gfx942", NULL, &device), LLRT_OK, "%s",
               llrt_last_error());
}

static void close_device(void) {
  llrt_device_close(&device);
  llrt_context_destroy(&context);
}

TestSuite(gfx9_driver, .init = open_device, .fini = close_device);

Test(gfx9_driver, info) {
  llrt_device_info info = {0};
  cr_expect_eq(llrt_device_get_info(device, &info), LLRT_OK);
  cr_expect_str_eq(info.name, "hip-emu:gfx942");
  cr_expect_str_eq(info.target, "gfx942");
  cr_expect_str_eq(info.description, "emulated gfx942");
}

Test(gfx9_driver, unknown_target) {
  llrt_device *other;
  cr_expect_eq(llrt_device_open(context, "hip-emu:gfx1100", NULL, &other), LLRT_INVALID_ARGUMENT);
  cr_expect_null(other);
}

Test(gfx9_driver, memory) {
  uint32_t words[4] = {1, 2, 3, 4}, back[4] = {0};
  void *memory;
  cr_assert_eq(llrt_memory_allocate(device, sizeof words, &memory), LLRT_OK);
  cr_expect_eq(llrt_memory_copy(device, memory, words, sizeof words, LLRT_COPY_TO_DEVICE, NULL),
               LLRT_OK);
  cr_expect_eq(llrt_memory_set(device, memory, 0xff, 4, NULL), LLRT_OK);
  cr_expect_eq(llrt_memory_copy(device, back, memory, sizeof back, LLRT_COPY_FROM_DEVICE, NULL),
               LLRT_OK);
  cr_expect_eq(back[0], 0xffffffff);
  cr_expect_eq(back[3], 4);
  cr_expect_eq(llrt_memory_copy(device, memory, words, sizeof words + 1, LLRT_COPY_TO_DEVICE, NULL),
               LLRT_DEVICE);
  cr_expect_eq(llrt_memory_free(device, memory), LLRT_OK);
  cr_expect_eq(llrt_memory_free(device, memory), LLRT_DEVICE);
  cr_expect_eq(llrt_memory_allocate(device, (size_t)1 << 40, &memory), LLRT_OUT_OF_MEMORY);
}

/* Converts `bytes` of source, of which `defined` are set, to as many of destination. */
static llrt_status convert(size_t bytes, size_t defined) {
  void *memory[2];
  llrt_storage columns;
  for (int i = 0; i < 2; i++) {
    cr_assert_eq(llrt_memory_allocate(device, bytes, &memory[i]), LLRT_OK);
  }
  cr_assert_eq(llrt_memory_set(device, memory[0], 1, defined, NULL), LLRT_OK);
  cr_assert_eq(llrt_storage_parse("col_major", 2, (int64_t[]){64, 64}, &columns), LLRT_OK);
  llrt_tensor from = {
      .data = memory[0], .dtype = LLRT_F32, .rank = 2, .shape = {64, 64}, .device = device};
  llrt_tensor to = from;
  to.data = memory[1];
  to.storage = &columns;
  llrt_status status = llrt_convert_into(&from, &to, NULL, NULL);
  for (int i = 0; i < 2; i++) llrt_memory_free(device, memory[i]);
  return status;
}

Test(gfx9_driver, converts) {
  cr_expect_eq(convert(64 * 64 * 4, 64 * 64 * 4), LLRT_OK, "%s", llrt_last_error());
}

Test(gfx9_driver, buffer_too_small) {
  cr_expect_eq(convert(64 * 64 * 4 - 16, 64 * 64 * 4 - 16), LLRT_DEVICE);
  cr_expect(strstr(llrt_last_error(), "access out of range"), "%s", llrt_last_error());
  cr_expect(strstr(llrt_last_error(), "global_"), "%s", llrt_last_error());
}

/* Which step of the plan: with locations, from the code object's line table. */
Test(gfx9_driver, plan_step) {
  setenv("LLRT_EMIT_LOCATIONS", "1", 1);
  cr_expect_eq(convert(64 * 64 * 4, 64 * 64 * 4), LLRT_OK, "%s", llrt_last_error());
  cr_expect_eq(convert(64 * 64 * 4, 64 * 64 * 4 - 1), LLRT_DEVICE);
  cr_expect(strstr(llrt_last_error(), ", plan step "), "%s", llrt_last_error());
}

Test(gfx9_driver, source_never_written) {
  cr_expect_eq(convert(64 * 64 * 4, 64 * 64 * 4 - 1), LLRT_DEVICE);
  cr_expect(strstr(llrt_last_error(), "undefined value: the stored value"), "%s",
            llrt_last_error());
}
