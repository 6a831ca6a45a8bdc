/* A context that keeps two kernels, and calls of many that wait for nobody: a kernel that goes is
 * not unloaded before what was launched of it has run, on any stream, and one that a graph has
 * never is. The emulated drivers tell when code runs that is gone. Results are compared with plain
 * C. */
#include "driver_fixture.h"

#include <llrt/llrt.h>

#include <criterion/criterion.h>
#include <stdlib.h>

enum { SIDE = 32, ELEMENTS = SIDE * SIDE, BYTES = 4 * ELEMENTS, KERNELS = 12, LIMIT = 2 };

#define MUST(call) cr_assert_eq((call), 0, #call)
#define LLRT_MUST(call) cr_assert_eq((call), LLRT_OK, "%s: %s", #call, llrt_last_error())

typedef struct unload_bench {
  llrt_context *context;
  llrt_device *device;
  tested_driver driver;
  const char *name;
  void *stream[2];
  uint32_t numbers[ELEMENTS];
  void *source, *result[KERNELS];
  llrt_storage columns;
} unload_bench;

static const struct {
  const char *device, *library, *unload;
  int ordinal;
} devices[] = {{"cuda-emu:sm_90a", "cuda", "cuModuleUnload", 0},
               {"hip-emu:gfx942", "hip", "hipModuleUnload", 1}};

static void bench_make(int d, unload_bench *bench) {
  const llrt_context_params params = {
      .jit_library = LLRT_TEST_JIT_LIBRARY, .threads = 1, .most_kernels = LIMIT};
  *bench = (unload_bench){.name = devices[d].device};
  LLRT_MUST(llrt_context_create(&params, &bench->context));
  LLRT_MUST(llrt_device_open(bench->context, bench->name, NULL, &bench->device));
  driver_open(devices[d].library, &bench->driver);
  bench->driver.device = devices[d].ordinal;
  driver_use(&bench->driver);
  for (int i = 0; i < 2; i++)
    MUST(bench->driver.stream_create(&bench->stream[i], DRIVER_NON_BLOCKING));
  for (int i = 0; i < ELEMENTS; i++) bench->numbers[i] = (uint32_t)i * 2654435761u;
  LLRT_MUST(llrt_storage_col_major(2, &bench->columns));
  LLRT_MUST(llrt_memory_allocate(bench->device, BYTES, &bench->source));
  LLRT_MUST(llrt_memory_copy(bench->device, bench->source, bench->numbers, BYTES,
                             LLRT_COPY_TO_DEVICE, NULL));
  for (int k = 0; k < KERNELS; k++)
    LLRT_MUST(llrt_memory_allocate(bench->device, BYTES, &bench->result[k]));
  LLRT_MUST(llrt_stream_synchronize(bench->device, NULL));
}

static void bench_end(unload_bench *bench) {
  MUST(bench->driver.synchronize());
  LLRT_MUST(llrt_memory_free(bench->device, bench->source));
  for (int k = 0; k < KERNELS; k++) LLRT_MUST(llrt_memory_free(bench->device, bench->result[k]));
  for (int i = 0; i < 2; i++) MUST(bench->driver.stream_destroy(bench->stream[i]));
  llrt_device_close(&bench->device);
  llrt_context_destroy(&bench->context);
  driver_close(&bench->driver);
}

/* Kernel k transposes and flips bits k. */
static void call(unload_bench *bench, int k, void *stream) {
  const llrt_map map = {.kind = LLRT_MAP_XOR, .constant = (uint64_t)k + 1};
  const llrt_convert_params params = {.size = sizeof params, .n_maps = 1, .maps = &map};
  llrt_tensor from = {.data = bench->source,
                      .dtype = LLRT_U32,
                      .rank = 2,
                      .shape = {SIDE, SIDE},
                      .device = bench->device};
  llrt_tensor to = from;
  to.data = bench->result[k];
  to.storage = &bench->columns;
  LLRT_MUST(llrt_convert_into(&from, &to, &params, stream));
}

static void poison(unload_bench *bench) {
  for (int k = 0; k < KERNELS; k++)
    LLRT_MUST(llrt_memory_set(bench->device, bench->result[k], 0xa5, BYTES, bench->stream[0]));
  MUST(bench->driver.stream_synchronize(bench->stream[0]));
}

static void expect_right(unload_bench *bench, int k, const char *when) {
  static uint32_t found[ELEMENTS];
  int wrong = 0;
  LLRT_MUST(llrt_memory_copy(bench->device, found, bench->result[k], BYTES, LLRT_COPY_FROM_DEVICE,
                             bench->stream[0]));
  MUST(bench->driver.stream_synchronize(bench->stream[0]));
  for (int i = 0; i < ELEMENTS; i++)
    wrong += found[i] != (bench->numbers[i % SIDE * SIDE + i / SIDE] ^ ((uint32_t)k + 1));
  cr_expect_eq(wrong, 0, "%s, %s, kernel %d: %d wrong", bench->name, when, k, wrong);
}

static uint64_t unloaded(const unload_bench *bench) {
  llrt_context_stats stats = {.size = sizeof stats};
  LLRT_MUST(llrt_context_get_stats(bench->context, &stats));
  return stats.unloaded;
}

static const emu_mode modes[] = {EMU_WORKERS, EMU_LATE, EMU_CROSSED};

/* Two streams by turns; nobody waits before all is queued. */
static void check_under_way(int d) {
  unload_bench bench;
  bench_make(d, &bench);
  for (int m = 0; m < 3; m++) {
    bench.driver.set_mode(modes[m]);
    poison(&bench);
    bench.driver.calls_reset();
    uint64_t before = unloaded(&bench);
    for (int k = 0; k < KERNELS; k++) call(&bench, k, bench.stream[k % 2]);
    cr_expect(unloaded(&bench) - before >= KERNELS - LIMIT - 1, "%s: %d went", bench.name,
              (int)(unloaded(&bench) - before));
    cr_expect(bench.driver.calls(devices[d].unload) > 0, "%s: nothing was unloaded", bench.name);
    MUST(bench.driver.stream_synchronize(bench.stream[0]));
    MUST(bench.driver.stream_synchronize(bench.stream[1]));
    for (int k = 0; k < KERNELS; k++) expect_right(&bench, k, "under way");
  }
  bench_end(&bench);
}
Test(unload, under_way, .timeout = 200) {
  for (int d = 0; d < 2; d++) check_under_way(d);
}

/* While one stream captures, calls on the other one let kernels go: the capture is not broken, and
 * the graph has its kernels when all others have gone. */
static void check_captured(int d) {
  enum { IN_GRAPH = LIMIT };
  unload_bench bench;
  bench_make(d, &bench);
  for (int m = 0; m < 3; m++) {
    void *graph, *exec;
    bench.driver.set_mode(modes[m]);
    for (int k = 0; k < IN_GRAPH; k++) call(&bench, k, bench.stream[0]);
    poison(&bench);
    MUST(bench.driver.begin(bench.stream[0], 0));
    for (int k = 0; k < IN_GRAPH; k++) call(&bench, k, bench.stream[0]);
    for (int k = IN_GRAPH; k < KERNELS; k++) call(&bench, k, bench.stream[1]);
    cr_assert_eq(bench.driver.end(bench.stream[0], &graph), 0, "%s: the capture is broken",
                 bench.name);
    MUST(bench.driver.instantiate(&exec, graph, 0));
    MUST(bench.driver.graph_destroy(graph));
    for (int run = 0; run < 2; run++) {
      MUST(bench.driver.launch(exec, bench.stream[1]));
      MUST(bench.driver.stream_synchronize(bench.stream[1]));
      for (int k = 0; k < KERNELS; k++) expect_right(&bench, k, "captured");
      poison(&bench);
      for (int k = IN_GRAPH; k < KERNELS; k++) call(&bench, k, bench.stream[1]);
    }
    MUST(bench.driver.exec_destroy(exec));
  }
  cr_expect(unloaded(&bench) > 0);
  bench_end(&bench);
}
Test(unload, captured, .timeout = 200) {
  for (int d = 0; d < 2; d++) check_captured(d);
}
