/* A context of this build's compiler library and a device in it, for tests that run on every device there is. */
#ifndef LLRT_TESTS_OPEN_DEVICE_H
#define LLRT_TESTS_OPEN_DEVICE_H

#include <llrt/llrt.h>

#include <criterion/criterion.h>
#include <stdbool.h>

typedef struct opened_device {
  llrt_context *context;
  llrt_device *device;
} opened_device;

/* False where this build or this machine has no such device. */
static inline bool open_device(const char *name, opened_device *out) {
  const llrt_context_params params = {.jit_library = LLRT_TEST_JIT_LIBRARY};
  cr_assert_eq(llrt_context_create(&params, &out->context), LLRT_OK, "%s", llrt_last_error());
  llrt_status status = llrt_device_open(out->context, name, NULL, &out->device);
  if (status == LLRT_OK) return true;
  cr_assert_eq(status, LLRT_UNAVAILABLE, "%s", llrt_last_error());
  llrt_context_destroy(&out->context);
  return false;
}

/* Skips the test instead. */
static inline opened_device open_device_or_skip(const char *name) {
  opened_device opened = {0};
  if (!open_device(name, &opened)) cr_skip_test("%s", llrt_last_error());
  return opened;
}

static inline void close_device(opened_device *opened) {
  llrt_device_close(&opened->device);
  llrt_context_destroy(&opened->context);
}

#endif
