/* llrt's calls on two streams that wait for each other by events: eagerly, captured and replayed,
 * in every mode of the emulated drivers. The stream a: Y = X by columns; R = P Q, whose K is shared
 * by blocks; and after b, W = Y + 0 by rows. The stream b, when Y is there: S = the sum of Y, which
 * takes workspace. Results are exact, and compared with plain C. */
#include "driver_fixture.h"

#include "tests/open_device.h"

#include <pthread.h>
#include <stdlib.h>

enum { ROWS = 64, COLUMNS = 1024, ELEMENTS = ROWS * COLUMNS, M = 16, K = 256 };
static const emu_mode modes[] = {EMU_IMMEDIATE, EMU_WORKERS, EMU_LATE, EMU_CROSSED};
#define N_MODES 4

#define MUST(call) cr_assert_eq((call), 0, #call)
#define LLRT_MUST(call) cr_assert_eq((call), LLRT_OK, "%s: %s", #call, llrt_last_error())

enum { X, Y, S, P, Q, R, W, TENSORS };

typedef struct call_bench {
  opened_device opened;
  tested_driver driver;
  const char *name;
  void *a, *b, *other, *ready, *done; /* streams that do not block; events */
  llrt_storage columns;
  llrt_tensor tensor[TENSORS];
  size_t bytes[TENSORS];
  float *x, *p, *q; /* what X, P and Q hold */
} call_bench;

/* ---- what is there ---- */

static const struct {
  const char *device, *library;
  int ordinal;
} devices[] = {
    {"cuda-emu:sm_90a", "cuda", 0}, {"cuda-emu:sm_80", "cuda", 2}, {"hip-emu:gfx942", "hip", 1}};
#define N_DEVICES 3

static const struct {
  llrt_dtype dtype;
  int rank;
  int64_t shape[2];
} shapes[TENSORS] = {[X] = {LLRT_F32, 2, {ROWS, COLUMNS}},
                     [Y] = {LLRT_F32, 2, {ROWS, COLUMNS}},
                     [S] = {LLRT_F32, 0, {0}},
                     [P] = {LLRT_BF16, 2, {M, K}},
                     [Q] = {LLRT_BF16, 2, {K, M}},
                     [R] = {LLRT_F32, 2, {M, M}},
                     [W] = {LLRT_F32, 2, {ROWS, COLUMNS}}};

static int64_t elements_of(int t) {
  int64_t n = 1;
  for (int i = 0; i < shapes[t].rank; i++) n *= shapes[t].shape[i];
  return n;
}

static void make_tensor(call_bench *bench, int t) {
  llrt_tensor *tensor = &bench->tensor[t];
  *tensor = (llrt_tensor){.dtype = shapes[t].dtype,
                          .rank = shapes[t].rank,
                          .shape = {shapes[t].shape[0], shapes[t].shape[1]},
                          .device = bench->opened.device};
  if (t == Y) tensor->storage = &bench->columns;
  bench->bytes[t] = (size_t)elements_of(t) * (shapes[t].dtype == LLRT_BF16 ? 2 : 4);
  LLRT_MUST(llrt_memory_allocate(bench->opened.device, bench->bytes[t], &tensor->data));
}

static void send(call_bench *bench, int t, const float *numbers) {
  int64_t n = elements_of(t);
  uint16_t *narrow = malloc((size_t)n * 2);
  for (int64_t i = 0; i < n; i++) { /* small whole numbers: exact */
    uint32_t bits;
    memcpy(&bits, &numbers[i], sizeof bits);
    narrow[i] = (uint16_t)(bits >> 16);
  }
  const void *data = shapes[t].dtype == LLRT_BF16 ? (const void *)narrow : numbers;
  LLRT_MUST(llrt_memory_copy(bench->opened.device, bench->tensor[t].data, data, bench->bytes[t],
                             LLRT_COPY_TO_DEVICE, NULL));
  free(narrow);
}

static float *make_numbers(int64_t n, uint32_t seed) {
  float *numbers = malloc((size_t)n * sizeof *numbers);
  for (int64_t i = 0; i < n; i++) {
    seed = seed * 1664525 + 1013904223;
    numbers[i] = (float)((int)(seed >> 24) % 7 - 3);
  }
  return numbers;
}

static void bench_make(int device, call_bench *bench) {
  memset(bench, 0, sizeof *bench);
  setenv("LLRT_EMU_UNITS", "16", 1); /* as many as let blocks share a sum of 65536 numbers */
  bench->name = devices[device].device;
  bench->opened = open_device(bench->name);
  driver_open(devices[device].library, &bench->driver);
  const tested_driver *driver = &bench->driver;
  bench->driver.device = devices[device].ordinal;
  driver_use(driver);
  MUST(driver->stream_create(&bench->a, DRIVER_NON_BLOCKING));
  MUST(driver->stream_create(&bench->b, DRIVER_NON_BLOCKING));
  MUST(driver->stream_create(&bench->other, DRIVER_NON_BLOCKING));
  MUST(driver->event_create(&bench->ready, 0));
  MUST(driver->event_create(&bench->done, 0));
  LLRT_MUST(llrt_storage_col_major(2, &bench->columns));
  for (int t = 0; t < TENSORS; t++) make_tensor(bench, t);
  bench->x = make_numbers(ELEMENTS, 1);
  bench->p = make_numbers(M * K, 2);
  bench->q = make_numbers(K * M, 3);
  send(bench, X, bench->x);
  send(bench, P, bench->p);
  send(bench, Q, bench->q);
  LLRT_MUST(llrt_stream_synchronize(bench->opened.device, NULL));
}

static void bench_end(call_bench *bench) {
  const tested_driver *driver = &bench->driver;
  MUST(driver->synchronize());
  for (int t = 0; t < TENSORS; t++)
    LLRT_MUST(llrt_memory_free(bench->opened.device, bench->tensor[t].data));
  MUST(driver->event_destroy(bench->ready));
  MUST(driver->event_destroy(bench->done));
  MUST(driver->stream_destroy(bench->a));
  MUST(driver->stream_destroy(bench->b));
  MUST(driver->stream_destroy(bench->other));
  free(bench->x);
  free(bench->p);
  free(bench->q);
  close_device(&bench->opened);
  driver_close(&bench->driver);
}

static void each_device(void (*body)(call_bench *bench)) {
  for (int d = 0; d < N_DEVICES; d++) {
    call_bench bench;
    bench_make(d, &bench);
    body(&bench);
    bench_end(&bench);
  }
}

/* ---- the calls ---- */

/* Queues all of them; waits: b waits for Y, and a for b. */
static void call_all(call_bench *bench, void *a, void *b, bool waits) {
  const tested_driver *driver = &bench->driver;
  llrt_tensor *t = bench->tensor;
  LLRT_MUST(llrt_convert_into(&t[X], &t[Y], NULL, a));
  MUST(driver->event_record(bench->ready, a));
  if (waits) MUST(driver->stream_wait(b, bench->ready, 0));
  LLRT_MUST(llrt_reduce_into(&t[Y], &t[S], NULL, b));
  MUST(driver->event_record(bench->done, b));
  LLRT_MUST(llrt_dot_into(&t[P], &t[Q], &t[R], NULL, a));
  if (waits) MUST(driver->stream_wait(a, bench->done, 0));
  LLRT_MUST(llrt_convert_into(&t[Y], &t[W], NULL, a));
}

static void poison(call_bench *bench, void *stream) {
  static const int results[] = {Y, S, R, W};
  for (int i = 0; i < 4; i++)
    LLRT_MUST(llrt_memory_set(bench->opened.device, bench->tensor[results[i]].data, 0xff,
                              bench->bytes[results[i]], stream));
}

static void fetch(call_bench *bench, int t, float *numbers) {
  LLRT_MUST(llrt_memory_copy(bench->opened.device, numbers, bench->tensor[t].data, bench->bytes[t],
                             LLRT_COPY_FROM_DEVICE, bench->other));
  MUST(bench->driver.stream_synchronize(bench->other));
}

static int wrong_products(const call_bench *bench, const float *found) {
  int wrong = 0;
  for (int i = 0; i < M * M; i++) {
    float sum = 0;
    for (int k = 0; k < K; k++) sum += bench->p[i / M * K + k] * bench->q[k * M + i % M];
    wrong += found[i] != sum;
  }
  return wrong;
}

/* How many results are not what they must be. */
static int count_wrong(call_bench *bench) {
  float *found = malloc(ELEMENTS * sizeof *found), sum = 0, total;
  int wrong = 0;
  fetch(bench, Y, found);
  for (int i = 0; i < ELEMENTS; i++) {
    wrong += found[i % COLUMNS * ROWS + i / COLUMNS] != bench->x[i];
    sum += bench->x[i];
  }
  fetch(bench, W, found);
  for (int i = 0; i < ELEMENTS; i++) wrong += found[i] != bench->x[i];
  fetch(bench, S, &total);
  wrong += total != sum;
  fetch(bench, R, found);
  wrong += wrong_products(bench, found);
  free(found);
  return wrong;
}

/* Compiles and loads all that the calls need, and keeps their workspace. */
static void warm_up(call_bench *bench) {
  bench->driver.set_mode(EMU_IMMEDIATE);
  call_all(bench, bench->a, bench->b, true);
  MUST(bench->driver.synchronize());
  cr_expect_eq(count_wrong(bench), 0, "%s", bench->name);
}

/* ---- eager calls ---- */

/* A forgotten wait is found: that the right results are the order's. */
static void check_eager(call_bench *bench) {
  const tested_driver *driver = &bench->driver;
  warm_up(bench);
  for (int m = 0; m < N_MODES; m++) {
    driver->set_mode(modes[m]);
    for (int run = 0; run < 2; run++) {
      poison(bench, bench->a);
      call_all(bench, bench->a, bench->b, true);
      MUST(driver->stream_synchronize(bench->a));
      cr_expect_eq(count_wrong(bench), 0, "%s, mode %d", bench->name, modes[m]);
    }
  }
  driver->set_mode(EMU_LATE);
  poison(bench, bench->a);
  MUST(driver->synchronize());
  call_all(bench, bench->a, bench->b, false);
  MUST(driver->stream_synchronize(bench->b));
  MUST(driver->stream_synchronize(bench->a));
  cr_expect_gt(count_wrong(bench), 0, "%s: a missing wait was not found", bench->name);
}
Test(captured_calls, eager, .timeout = 200) { each_device(check_eager); }

/* A warm call asks the driver for no memory and waits for nothing. */
static void check_driver_calls(call_bench *bench) {
  static const char *const never[] = {"cuMemAlloc",
                                      "cuMemFree",
                                      "cuMemAllocAsync",
                                      "cuMemAllocFromPoolAsync",
                                      "cuMemFreeAsync",
                                      "cuCtxSynchronize",
                                      "cuStreamSynchronize",
                                      "cuStreamQuery",
                                      "cuEventSynchronize",
                                      "cuEventQuery",
                                      "cuModuleLoadDataEx",
                                      "hipMalloc",
                                      "hipFree",
                                      "hipMallocAsync",
                                      "hipMallocFromPoolAsync",
                                      "hipFreeAsync",
                                      "hipDeviceSynchronize",
                                      "hipStreamSynchronize",
                                      "hipStreamQuery",
                                      "hipEventSynchronize",
                                      "hipEventQuery",
                                      "hipModuleLoadData"};
  const tested_driver *driver = &bench->driver;
  warm_up(bench);
  driver->calls_reset();
  for (int i = 0; i < 5; i++) call_all(bench, bench->a, bench->b, true);
  for (size_t i = 0; i < sizeof never / sizeof *never; i++)
    cr_expect_eq(driver->calls(never[i]), 0, "%s: %lu of %s", bench->name, driver->calls(never[i]),
                 never[i]);
  unsigned long launches = driver->calls("cuLaunchKernel") + driver->calls("cuLaunchKernelEx") +
                           driver->calls("hipModuleLaunchKernel");
  cr_expect_geq(launches, 5 * 4, "%s: %lu launches", bench->name, launches);
}
Test(captured_calls, driver_calls, .timeout = 200) { each_device(check_driver_calls); }

/* ---- captures ---- */

/* Captured from a, with b forked off and joined; *allocates: how many nodes allocate. */
static void *capture_all(call_bench *bench, int *allocates) {
  const tested_driver *driver = &bench->driver;
  void *graph, *exec, *nodes[256];
  size_t n = 256;
  MUST(driver->begin(bench->a, 0));
  call_all(bench, bench->a, bench->b, true);
  cr_assert_eq(driver->end(bench->a, &graph), 0, "%s: a call broke the capture", bench->name);
  MUST(driver->graph_nodes(graph, nodes, &n));
  *allocates = 0;
  for (size_t i = 0; i < n; i++) {
    int type;
    MUST(driver->node_type(nodes[i], &type));
    *allocates += type == 10;
  }
  MUST(driver->instantiate(&exec, graph, 0));
  MUST(driver->graph_destroy(graph));
  return exec;
}

static void check_captured(call_bench *bench) {
  const tested_driver *driver = &bench->driver;
  warm_up(bench);
  for (int m = 0; m < N_MODES; m++) {
    int allocates;
    driver->set_mode(modes[m]);
    void *exec = capture_all(bench, &allocates);
    cr_expect_gt(allocates, 0, "%s: no workspace of the graph's own", bench->name);
    for (int run = 0; run < 2; run++) {
      poison(bench, bench->other);
      MUST(driver->launch(exec, bench->other)); /* neither of the streams of the capture */
      MUST(driver->stream_synchronize(bench->other));
      cr_expect_eq(count_wrong(bench), 0, "%s, mode %d, run %d", bench->name, modes[m], run);
    }
    MUST(driver->exec_destroy(exec));
  }
}
Test(captured_calls, captured, .timeout = 300) { each_device(check_captured); }

typedef struct eager_sums {
  call_bench *bench;
  llrt_tensor result;
  llrt_status status;
  int runs;
} eager_sums;

static void *sum_eagerly(void *argument) {
  eager_sums *sums = argument;
  driver_use(&sums->bench->driver);
  for (int i = 0; i < sums->runs && sums->status == LLRT_OK; i++)
    sums->status = llrt_reduce_into(&sums->bench->tensor[X], &sums->result, NULL, sums->bench->a);
  return NULL;
}

/* A reduce that was captured on stream a, replayed on another while eager calls run on a: neither
 * spoils the other's workspace. */
static void check_beside_eager(call_bench *bench) {
  const tested_driver *driver = &bench->driver;
  enum { RUNS = 8 };
  eager_sums sums = {.bench = bench, .runs = RUNS};
  void *graph, *exec;
  float sum = 0, found;
  pthread_t thread;
  warm_up(bench);
  sums.result = bench->tensor[S];
  LLRT_MUST(llrt_memory_allocate(bench->opened.device, sizeof(float), &sums.result.data));
  LLRT_MUST(llrt_reduce_into(&bench->tensor[X], &sums.result, NULL, bench->a));
  driver->set_mode(EMU_WORKERS);
  MUST(driver->begin(bench->a, 0));
  LLRT_MUST(llrt_reduce_into(&bench->tensor[Y], &bench->tensor[S], NULL, bench->a));
  MUST(driver->end(bench->a, &graph));
  MUST(driver->instantiate(&exec, graph, 0));
  MUST(driver->graph_destroy(graph));
  for (int i = 0; i < ELEMENTS; i++) sum += bench->x[i];
  cr_assert_eq(pthread_create(&thread, NULL, sum_eagerly, &sums), 0);
  for (int i = 0; i < RUNS; i++) {
    MUST(driver->launch(exec, bench->other));
    fetch(bench, S, &found);
    cr_expect_eq(found, sum, "%s, run %d: %g", bench->name, i, found);
  }
  pthread_join(thread, NULL);
  cr_expect_eq(sums.status, LLRT_OK);
  LLRT_MUST(llrt_memory_copy(bench->opened.device, &found, sums.result.data, sizeof found,
                             LLRT_COPY_FROM_DEVICE, bench->a));
  cr_expect_eq(found, sum, "%s: %g", bench->name, found);
  MUST(driver->exec_destroy(exec));
  LLRT_MUST(llrt_memory_free(bench->opened.device, sums.result.data));
}
Test(captured_calls, beside_eager, .timeout = 200) { each_device(check_beside_eager); }
