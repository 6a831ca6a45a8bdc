/* What the log tells of launches on streams: a captured one is not waited for, and has no time. */
#include "driver_fixture.h"

#include "tests/open_device.h"

enum { SIDE = 48, BYTES = SIDE * SIDE * 4 };

#define MUST(call) cr_assert_eq((call), 0, #call)
#define LLRT_MUST(call) cr_assert_eq((call), LLRT_OK, "%s: %s", #call, llrt_last_error())

typedef struct last_message {
  int n;
  char text[1024];
} last_message;

static void note(void *user, llrt_log_level level, const char *message) {
  last_message *last = user;
  if (level != LLRT_LOG_VERBOSE) return;
  last->n++;
  snprintf(last->text, sizeof last->text, "%s", message);
}

static void capture(const tested_driver *driver, const llrt_tensor *source,
                    const llrt_tensor *destination, void *stream) {
  void *graph;
  MUST(driver->begin(stream, 0));
  LLRT_MUST(llrt_convert_into(source, destination, NULL, stream));
  MUST(driver->end(stream, &graph));
  MUST(driver->graph_destroy(graph));
}

static void run(const char *name, const char *library, int ordinal) {
  static last_message last;
  tested_driver driver;
  llrt_context *context;
  llrt_device *device;
  llrt_storage columns;
  void *stream;
  const llrt_context_params params = {.jit_library = LLRT_TEST_JIT_LIBRARY,
                                      .log = note,
                                      .log_user = &last,
                                      .log_level = LLRT_LOG_VERBOSE};
  last.n = 0;
  LLRT_MUST(llrt_context_create(&params, &context));
  LLRT_MUST(llrt_device_open(context, name, NULL, &device));
  driver_open(library, &driver);
  driver.device = ordinal;
  driver_use(&driver);
  MUST(driver.stream_create(&stream, DRIVER_NON_BLOCKING));
  LLRT_MUST(llrt_storage_col_major(2, &columns));
  llrt_tensor source = {.dtype = LLRT_F32, .rank = 2, .shape = {SIDE, SIDE}, .device = device},
              destination = source;
  destination.storage = &columns;
  LLRT_MUST(llrt_memory_allocate(device, BYTES, &source.data));
  LLRT_MUST(llrt_memory_allocate(device, BYTES, &destination.data));
  LLRT_MUST(llrt_memory_set(device, source.data, 0, BYTES, stream));
  LLRT_MUST(llrt_convert_into(&source, &destination, NULL, stream));
  cr_expect_eq(last.n, 1);
  cr_expect(strstr(last.text, " captured=0 predicted_us="), "%s", last.text);
  cr_expect_null(strstr(last.text, "_us=-"), "%s", last.text);
  capture(&driver, &source, &destination, stream);
  cr_expect_eq(last.n, 2);
  cr_expect(strstr(last.text, " captured=1 predicted_us="), "%s", last.text);
  cr_expect(strstr(last.text, " measured_us=-"), "%s", last.text);
  LLRT_MUST(llrt_memory_free(device, source.data));
  LLRT_MUST(llrt_memory_free(device, destination.data));
  MUST(driver.stream_destroy(stream));
  llrt_device_close(&device);
  llrt_context_destroy(&context);
  driver_close(&driver);
}

Test(captured_log, cuda) { run("cuda-emu:sm_90a", "cuda", 0); }
Test(captured_log, hip) { run("hip-emu:gfx942", "hip", 1); }
