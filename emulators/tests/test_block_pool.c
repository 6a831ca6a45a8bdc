/* Memory in the order of streams on drivers that have none, which the emulators are with
 * LLRT_EMU_POOLS=0. */
#include "driver_fixture.h"

#include "tests/open_device.h"

#include <stdlib.h>

enum { SIDE = 256, ELEMENTS = SIDE * SIDE, BYTES = ELEMENTS * 4 };

#define MUST(call) cr_assert_eq((call), 0, #call)
#define LLRT_MUST(call) cr_assert_eq((call), LLRT_OK, "%s: %s", #call, llrt_last_error())

typedef struct pool_bench {
  const char *name;
  opened_device opened;
  tested_driver driver;
  void *a, *b; /* streams */
  llrt_storage columns;
  llrt_tensor source, sum;
  int32_t numbers[ELEMENTS];
} pool_bench;

static const struct {
  const char *device, *library;
  int ordinal;
} devices[] = {{"cuda-emu:sm_90a", "cuda", 0}, {"hip-emu:gfx942", "hip", 1}};

static void make(int device, pool_bench *at) {
  memset(at, 0, sizeof *at);
  setenv("LLRT_EMU_POOLS", "0", 1);
  setenv("LLRT_EMU_UNITS", "16", 1); /* as many as let blocks share a sum of 65536 numbers */
  at->name = devices[device].device;
  at->opened = open_device(at->name);
  driver_open(devices[device].library, &at->driver);
  at->driver.device = devices[device].ordinal;
  driver_use(&at->driver);
  MUST(at->driver.stream_create(&at->a, DRIVER_NON_BLOCKING));
  MUST(at->driver.stream_create(&at->b, DRIVER_NON_BLOCKING));
  LLRT_MUST(llrt_storage_col_major(2, &at->columns));
  at->source = (llrt_tensor){
      .dtype = LLRT_I32, .rank = 2, .shape = {SIDE, SIDE}, .device = at->opened.device};
  at->sum = (llrt_tensor){.dtype = LLRT_I64, .device = at->opened.device};
  LLRT_MUST(llrt_memory_allocate(at->opened.device, BYTES, &at->source.data));
  LLRT_MUST(llrt_memory_allocate(at->opened.device, 8, &at->sum.data));
  for (int i = 0; i < ELEMENTS; i++) at->numbers[i] = (int32_t)((uint32_t)i * 40503u);
  LLRT_MUST(llrt_memory_copy(at->opened.device, at->source.data, at->numbers, BYTES,
                             LLRT_COPY_TO_DEVICE, NULL));
  LLRT_MUST(llrt_stream_synchronize(at->opened.device, NULL));
}

static void end(pool_bench *at) {
  at->driver.set_mode(EMU_IMMEDIATE);
  LLRT_MUST(llrt_memory_free(at->opened.device, at->source.data));
  LLRT_MUST(llrt_memory_free(at->opened.device, at->sum.data));
  MUST(at->driver.stream_destroy(at->a));
  MUST(at->driver.stream_destroy(at->b));
  close_device(&at->opened);
  driver_close(&at->driver);
}

static void each_device(void (*body)(pool_bench *at)) {
  static pool_bench at;
  for (int d = 0; d < 2; d++) {
    make(d, &at);
    body(&at);
    end(&at);
  }
}

static unsigned long allocations(const pool_bench *at) {
  return at->driver.calls("cuMemAlloc") + at->driver.calls("hipMalloc");
}
static unsigned long frees(const pool_bench *at) {
  return at->driver.calls("cuMemFree") + at->driver.calls("hipFree");
}

/* Into memory of the context's. */
static llrt_tensor convert(pool_bench *at, void *stream) {
  llrt_tensor result;
  LLRT_MUST(llrt_convert(&at->source, &at->columns, NULL, stream, &result));
  return result;
}

static int count_wrong(const pool_bench *at, const int32_t *found) {
  int wrong = 0;
  for (int i = 0; i < ELEMENTS; i++) wrong += found[i % SIDE * SIDE + i / SIDE] != at->numbers[i];
  return wrong;
}

/* ---- order ---- */

/* Its own stream's blocks at once; another's when they are done with. */
static void check_order(pool_bench *at) {
  llrt_tensor first = convert(at, at->a);
  LLRT_MUST(llrt_tensor_free(&first, at->a));
  MUST(at->driver.synchronize());
  at->driver.set_mode(EMU_LATE);
  first = convert(at, at->a);
  void *memory = first.data;
  LLRT_MUST(llrt_tensor_free(&first, at->a)); /* its work has not run yet */
  llrt_tensor again = convert(at, at->a), other = convert(at, at->b);
  cr_expect_eq(again.data, memory, "%s: the stream's own block", at->name);
  LLRT_MUST(llrt_tensor_free(&again, at->a));
  llrt_tensor third = convert(at, at->b);
  cr_expect_neq(third.data, memory, "%s: a block that is used on another stream", at->name);
  MUST(at->driver.stream_synchronize(at->a));
  llrt_tensor fourth = convert(at, at->b);
  cr_expect_eq(fourth.data, memory, "%s: a block that is done with", at->name);
  LLRT_MUST(llrt_tensor_free(&other, at->b));
  LLRT_MUST(llrt_tensor_free(&third, at->b));
  LLRT_MUST(llrt_tensor_free(&fourth, at->b));
  MUST(at->driver.stream_synchronize(at->b));
}
Test(block_pool, order, .timeout = 100) { each_device(check_order); }

/* Two results in one block, one after the other on a stream, each read before the next is written;
 * whatever runs when. */
static void check_results(pool_bench *at) {
  static const emu_mode modes[] = {EMU_IMMEDIATE, EMU_WORKERS, EMU_LATE, EMU_CROSSED};
  enum { TURNS = 4 };
  int32_t *kept[TURNS], found[ELEMENTS];
  for (int i = 0; i < TURNS; i++)
    LLRT_MUST(llrt_memory_allocate(at->opened.device, BYTES, (void **)&kept[i]));
  for (int m = 0; m < 4; m++) {
    at->driver.set_mode(modes[m]);
    for (int i = 0; i < TURNS; i++) {
      void *stream = i % 2 ? at->b : at->a;
      llrt_tensor result = convert(at, stream);
      LLRT_MUST(llrt_memory_copy(at->opened.device, kept[i], result.data, BYTES,
                                 LLRT_COPY_ON_DEVICE, stream));
      LLRT_MUST(llrt_memory_set(at->opened.device, result.data, 0xff, BYTES, stream));
      LLRT_MUST(llrt_tensor_free(&result, stream));
    }
    MUST(at->driver.synchronize());
    for (int i = 0; i < TURNS; i++) {
      LLRT_MUST(
          llrt_memory_copy(at->opened.device, found, kept[i], BYTES, LLRT_COPY_FROM_DEVICE, at->a));
      MUST(at->driver.stream_synchronize(at->a));
      cr_expect_eq(count_wrong(at, found), 0, "%s: mode %d, turn %d", at->name, modes[m], i);
    }
  }
  for (int i = 0; i < TURNS; i++) LLRT_MUST(llrt_memory_free(at->opened.device, kept[i]));
}
Test(block_pool, results, .timeout = 100) { each_device(check_results); }

/* ---- what the driver is asked for ---- */

static void check_driver_calls(pool_bench *at) {
  const llrt_tensor warm = convert(at, at->a);
  llrt_tensor freed = warm;
  LLRT_MUST(llrt_reduce_into(&at->source, &at->sum, NULL, at->a));
  LLRT_MUST(llrt_tensor_free(&freed, at->a));
  at->driver.calls_reset();
  for (int i = 0; i < 8; i++) {
    llrt_tensor result = convert(at, at->a);
    LLRT_MUST(llrt_reduce_into(&at->source, &at->sum, NULL, at->a));
    LLRT_MUST(llrt_tensor_free(&result, at->a));
  }
  cr_expect_eq(allocations(at), 0, "%s", at->name);
  cr_expect_eq(frees(at), 0, "%s", at->name);
  LLRT_MUST(llrt_context_trim(at->opened.context, SIZE_MAX));
  unsigned long workspace = frees(at); /* is among the blocks now */
  cr_expect_eq(workspace, 0, "%s", at->name);
  LLRT_MUST(llrt_context_trim(at->opened.context, 0));
  cr_expect_geq(frees(at), 2, "%s: a result, workspace", at->name);
  freed = convert(at, at->a);
  LLRT_MUST(llrt_tensor_free(&freed, at->a));
}
Test(block_pool, driver_calls, .timeout = 100) { each_device(check_driver_calls); }

/* Where the driver has no memory, what is kept is given back first. */
static void check_full(pool_bench *at) {
  const llrt_convert_params wide = {.dtype = LLRT_F64};
  bool cuda = strcmp(at->driver.name, "cuda") == 0;
  llrt_tensor result = convert(at, at->a), larger;
  LLRT_MUST(llrt_tensor_free(&result, at->a));
  at->driver.calls_reset();
  at->driver.fail(cuda ? "cuMemAlloc_v2" : "hipMalloc", EMU_OUT_OF_MEMORY, 0);
  LLRT_MUST(llrt_convert(&at->source, &at->columns, &wide, at->b, &larger));
  cr_expect_eq(frees(at), 1, "%s: %lu", at->name, frees(at));
  LLRT_MUST(llrt_tensor_free(&larger, at->b));
}
Test(block_pool, full, .timeout = 100) { each_device(check_full); }

/* ---- captures ---- */

static void check_capture(pool_bench *at) {
  void *graph;
  llrt_tensor result = convert(at, at->a), kept = result;
  LLRT_MUST(llrt_reduce_into(&at->source, &at->sum, NULL, at->a));
  MUST(at->driver.synchronize());
  MUST(at->driver.begin(at->a, 0));
  cr_expect_eq(llrt_reduce_into(&at->source, &at->sum, NULL, at->a), LLRT_NOT_PREPARED, "%s",
               at->name);
  cr_expect_eq(llrt_tensor_free(&result, at->a), LLRT_UNSUPPORTED, "%s", at->name);
  cr_expect_eq(llrt_convert_into(&at->source, &kept, NULL, at->a), LLRT_OK, "%s: %s", at->name,
               llrt_last_error());
  cr_expect_eq(at->driver.end(at->a, &graph), 0, "%s: the capture is whole", at->name);
  MUST(at->driver.graph_destroy(graph));
  LLRT_MUST(llrt_tensor_free(&kept, at->a));
}
Test(block_pool, capture, .timeout = 100) { each_device(check_capture); }
