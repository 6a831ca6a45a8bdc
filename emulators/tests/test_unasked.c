/* In a context whose program gave no limit of kernels, launches do not ask the driver whether the
 * stream captures, until half of the preset limit is taken. What was launched before that stays,
 * since a graph may have it; what comes later is unloaded like anything else. */
#include "driver_fixture.h"

#include "runtime/context.h"

#include <llrt/llrt.h>

#include <criterion/criterion.h>
#include <stdio.h>

enum { ROWS = 64, COLUMNS = 16, ELEMENTS = ROWS * COLUMNS, BYTES = ELEMENTS * 4 };

#define MUST(call) cr_assert_eq((call), 0, #call)
#define LLRT_MUST(call) cr_assert_eq((call), LLRT_OK, "%s: %s", #call, llrt_last_error())

typedef struct unasked_bench {
  tested_driver driver;
  llrt_context *context;
  llrt_tensor source, destination;
  void *stream, *other;
  float numbers[ELEMENTS];
} unasked_bench;

/* To rows that come in groups of so many. */
static void convert_in_groups(unasked_bench *bench, int rows) {
  llrt_storage storage;
  llrt_tensor to = bench->destination;
  char text[96];
  snprintf(text, sizeof text, "storage(digits=[dim0: %d, dim1: rest, dim0: rest])", rows);
  LLRT_MUST(llrt_storage_parse(text, 2, NULL, &storage));
  to.storage = &storage;
  LLRT_MUST(llrt_convert_into(&bench->source, &to, NULL, bench->stream));
}

static unsigned long asked(const unasked_bench *bench) {
  return bench->driver.calls("cuStreamIsCapturing") + bench->driver.calls("hipStreamIsCapturing");
}

/* How many elements are not where groups of `rows` have them. */
static int count_wrong(unasked_bench *bench, int rows) {
  static float found[ELEMENTS];
  int wrong = 0;
  LLRT_MUST(llrt_memory_copy(bench->source.device, found, bench->destination.data, BYTES,
                             LLRT_COPY_FROM_DEVICE, bench->other));
  MUST(bench->driver.stream_synchronize(bench->other));
  for (int r = 0; r < ROWS; r++)
    for (int c = 0; c < COLUMNS; c++)
      wrong += found[r % rows + rows * c + rows * COLUMNS * (r / rows)] !=
               bench->numbers[r * COLUMNS + c];
  return wrong;
}

static void run(const char *name, const char *library, int ordinal) {
  static unasked_bench bench;
  const llrt_context_params params = {.jit_library = LLRT_TEST_JIT_LIBRARY};
  llrt_device *device;
  void *graph, *exec;
  LLRT_MUST(llrt_context_create(&params, &bench.context));
  LLRT_MUST(llrt_device_open(bench.context, name, NULL, &device));
  driver_open(library, &bench.driver);
  const tested_driver *driver = &bench.driver;
  bench.driver.device = ordinal;
  driver_use(driver);
  MUST(driver->stream_create(&bench.stream, DRIVER_NON_BLOCKING));
  MUST(driver->stream_create(&bench.other, DRIVER_NON_BLOCKING));
  bench.source =
      (llrt_tensor){.dtype = LLRT_F32, .rank = 2, .shape = {ROWS, COLUMNS}, .device = device};
  bench.destination = bench.source;
  LLRT_MUST(llrt_memory_allocate(device, BYTES, &bench.source.data));
  LLRT_MUST(llrt_memory_allocate(device, BYTES, &bench.destination.data));
  for (int i = 0; i < ELEMENTS; i++) bench.numbers[i] = (float)i;
  LLRT_MUST(
      llrt_memory_copy(device, bench.source.data, bench.numbers, BYTES, LLRT_COPY_TO_DEVICE, NULL));
  LLRT_MUST(llrt_stream_synchronize(device, NULL));
  convert_in_groups(&bench, 4);
  driver->calls_reset();
  convert_in_groups(&bench, 4);
  cr_expect_eq(asked(&bench), 0, "%s: a warm launch asks", name);
  MUST(driver->begin(bench.stream, 0));
  convert_in_groups(&bench, 4);
  MUST(driver->end(bench.stream, &graph));
  MUST(driver->instantiate(&exec, graph, 0));
  MUST(driver->graph_destroy(graph));

  bench.context->cache.most_bytes = 1; /* as if the preset were taken */
  for (int rows = 8; rows <= 32; rows *= 2) convert_in_groups(&bench, rows);
  MUST(driver->stream_synchronize(bench.stream));
  cr_expect_geq(llrt_cache_count(&bench.context->cache).unloaded, 2, "%s", name);
  driver->calls_reset();
  convert_in_groups(&bench, 16);
  MUST(driver->stream_synchronize(bench.stream));
  cr_expect_eq(count_wrong(&bench, 16), 0, "%s: after it was unloaded", name);
  cr_expect_gt(asked(&bench), 0, "%s: launches do not ask", name);
  MUST(driver->launch(exec, bench.other));
  MUST(driver->stream_synchronize(bench.other));
  cr_expect_eq(count_wrong(&bench, 4), 0, "%s: the graph's kernel is gone", name);

  MUST(driver->exec_destroy(exec));
  LLRT_MUST(llrt_memory_free(device, bench.source.data));
  LLRT_MUST(llrt_memory_free(device, bench.destination.data));
  MUST(driver->stream_destroy(bench.stream));
  MUST(driver->stream_destroy(bench.other));
  llrt_device_close(&device);
  llrt_context_destroy(&bench.context);
  driver_close(&bench.driver);
}

Test(unasked, cuda) { run("cuda-emu:sm_90a", "cuda", 0); }
Test(unasked, hip) { run("hip-emu:gfx942", "hip", 1); }
