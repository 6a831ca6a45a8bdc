/* What the backends of GPU drivers must do alike, over fake libraries. */
#ifndef LLRT_TESTS_DRIVER_CASES_H
#define LLRT_TESTS_DRIVER_CASES_H

#include "tests/runtime/fake_library.h"

#include <llrt/llrt.h>

/* A library that is not there, named in the message, and one that lacks `symbol`. */
static inline void expect_unusable_libraries(llrt_context *context, const char *name,
                                             const char *missing, const char *incomplete,
                                             const char *symbol) {
  llrt_device_params params = {.driver_library = missing};
  llrt_device *device;
  cr_expect_eq(llrt_device_open(context, name, &params, &device), LLRT_UNAVAILABLE);
  cr_expect_null(device);
  expect_message(missing);
  params.driver_library = incomplete;
  cr_expect_eq(llrt_device_open(context, name, &params, &device), LLRT_UNAVAILABLE);
  expect_message(symbol);
}

static inline void expect_memory(llrt_device *device) {
  void *memory, *copy;
  char back[4] = "";
  cr_assert_eq(llrt_memory_allocate(device, 4, &memory), LLRT_OK);
  cr_assert_eq(llrt_memory_allocate(device, 4, &copy), LLRT_OK);
  cr_expect_eq(llrt_memory_copy(device, memory, "abc", 4, LLRT_COPY_TO_DEVICE, NULL), LLRT_OK);
  cr_expect_eq(llrt_memory_copy(device, copy, memory, 4, LLRT_COPY_ON_DEVICE, NULL), LLRT_OK);
  cr_expect_eq(llrt_memory_set(device, copy, 'x', 1, NULL), LLRT_OK);
  cr_expect_eq(llrt_memory_copy(device, back, copy, 4, LLRT_COPY_FROM_DEVICE, NULL), LLRT_OK);
  cr_expect_str_eq(back, "xbc");
  cr_expect_eq(llrt_stream_synchronize(device, NULL), LLRT_OK);
  cr_expect_eq(llrt_memory_free(device, memory), LLRT_OK);
  cr_expect_eq(llrt_memory_free(device, copy), LLRT_OK);
}

/* The fake drivers say 1.5 ms between any two events. */
static inline void expect_events(llrt_device *device) {
  llrt_event *start, *stop;
  double microseconds;
  cr_assert_eq(llrt_event_create(device, &start), LLRT_OK);
  cr_assert_eq(llrt_event_create(device, &stop), LLRT_OK);
  cr_expect_eq(llrt_event_record(start, NULL), LLRT_OK);
  cr_expect_eq(llrt_event_elapsed(start, stop, &microseconds), LLRT_INVALID_ARGUMENT);
  cr_expect_eq(llrt_event_record(stop, NULL), LLRT_OK);
  cr_expect_eq(llrt_event_elapsed(start, stop, &microseconds), LLRT_OK);
  cr_expect_float_eq(microseconds, 1500.0, 1e-6);
  llrt_event_destroy(&start);
  llrt_event_destroy(&stop);
}

#endif
