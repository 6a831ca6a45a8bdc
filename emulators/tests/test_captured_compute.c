/* Expressions in graphs: one of several kernels (parts along different axes; 4-bit elements whose
 * bytes two kernels write) is captured, and replayed on other contents of the same memory. Results
 * are whole numbers, and compared with plain C. */
#include "driver_fixture.h"

#include "tests/open_device.h"

enum { ROWS = 10, COLUMNS = 24, ELEMENTS = ROWS * COLUMNS };

#define MUST(call) cr_assert_eq((call), 0, #call)
#define LLRT_MUST(call) cr_assert_eq((call), LLRT_OK, "%s: %s", #call, llrt_last_error())

/* q's bytes lie along columns, threads' words along rows. */
static const char text[] = "(x[t n], w[n], k: f32) -> (q[t n]: i4, m[t], v[n]) "
                           "{ m = max(x, n); q = minimum(m - x, 7); v = w * k + sum(w, n) }";

enum { X, W, Q, M, V, TENSORS };

static const struct {
  const char *name;
  llrt_dtype dtype;
  int rank;
  int64_t shape[2];
  size_t bytes;
} kinds[TENSORS] = {[X] = {"x", LLRT_F32, 2, {ROWS, COLUMNS}, ELEMENTS * 4},
                    [W] = {"w", LLRT_F32, 1, {COLUMNS}, COLUMNS * 4},
                    [Q] = {"q", LLRT_I4, 2, {ROWS, COLUMNS}, ELEMENTS / 2},
                    [M] = {"m", LLRT_F32, 1, {ROWS}, ROWS * 4},
                    [V] = {"v", LLRT_F32, 1, {COLUMNS}, COLUMNS * 4}};

typedef struct bench {
  opened_device opened;
  tested_driver driver;
  void *stream;
  llrt_storage columns;
  llrt_tensor tensor[TENSORS];
  llrt_expr *expr;
  float x[ELEMENTS], w[COLUMNS];
} bench;

static void make(const char *name, const char *library, int ordinal, bench *b) {
  memset(b, 0, sizeof *b);
  b->opened = open_device(name);
  driver_open(library, &b->driver);
  b->driver.device = ordinal;
  driver_use(&b->driver);
  MUST(b->driver.stream_create(&b->stream, DRIVER_NON_BLOCKING));
  LLRT_MUST(llrt_storage_col_major(2, &b->columns));
  LLRT_MUST(llrt_expr_parse(text, &b->expr));
  for (int t = 0; t < TENSORS; t++) {
    b->tensor[t] = (llrt_tensor){.dtype = kinds[t].dtype,
                                 .rank = kinds[t].rank,
                                 .shape = {kinds[t].shape[0], kinds[t].shape[1]},
                                 .device = b->opened.device};
    if (t == Q) b->tensor[t].storage = &b->columns;
    LLRT_MUST(llrt_memory_allocate(b->opened.device, kinds[t].bytes, &b->tensor[t].data));
  }
}

static void end(bench *b) {
  MUST(b->driver.synchronize());
  for (int t = 0; t < TENSORS; t++)
    LLRT_MUST(llrt_memory_free(b->opened.device, b->tensor[t].data));
  MUST(b->driver.stream_destroy(b->stream));
  llrt_expr_destroy(&b->expr);
  close_device(&b->opened);
  driver_close(&b->driver);
}

/* Other inputs for each seed; outputs are what they never become. */
static void send(bench *b, uint32_t seed) {
  for (int i = 0; i < ELEMENTS + COLUMNS; i++) {
    seed = seed * 1664525 + 1013904223;
    *(i < ELEMENTS ? &b->x[i] : &b->w[i - ELEMENTS]) = (float)((int)(seed >> 24) % 11 - 5);
  }
  llrt_device *device = b->opened.device;
  LLRT_MUST(
      llrt_memory_copy(device, b->tensor[X].data, b->x, sizeof b->x, LLRT_COPY_TO_DEVICE, NULL));
  LLRT_MUST(
      llrt_memory_copy(device, b->tensor[W].data, b->w, sizeof b->w, LLRT_COPY_TO_DEVICE, NULL));
  for (int t = Q; t < TENSORS; t++)
    LLRT_MUST(llrt_memory_set(device, b->tensor[t].data, 0x99, kinds[t].bytes, NULL));
  LLRT_MUST(llrt_stream_synchronize(device, NULL));
}

static void call(bench *b) {
  llrt_arg args[TENSORS + 1] = {{.name = "k", .number = 3}};
  for (int t = 0; t < TENSORS; t++)
    args[t + 1] = (llrt_arg){.name = kinds[t].name, .tensor = &b->tensor[t]};
  LLRT_MUST(llrt_compute_into(b->expr, args, TENSORS + 1, NULL, b->stream));
}

static int count_wrong(bench *b) {
  unsigned char q[ELEMENTS / 2];
  float m[ROWS], v[COLUMNS], sum = 0;
  void *const to[] = {q, m, v};
  int wrong = 0;
  MUST(b->driver.stream_synchronize(b->stream));
  for (int t = Q; t < TENSORS; t++)
    LLRT_MUST(llrt_memory_copy(b->opened.device, to[t - Q], b->tensor[t].data, kinds[t].bytes,
                               LLRT_COPY_FROM_DEVICE, NULL));
  LLRT_MUST(llrt_stream_synchronize(b->opened.device, NULL));
  for (int n = 0; n < COLUMNS; n++) sum += b->w[n];
  for (int n = 0; n < COLUMNS; n++) wrong += v[n] != b->w[n] * 3 + sum;
  for (int t = 0; t < ROWS; t++) {
    float most = b->x[t * COLUMNS];
    for (int n = 1; n < COLUMNS; n++)
      if (b->x[t * COLUMNS + n] > most) most = b->x[t * COLUMNS + n];
    wrong += m[t] != most;
    for (int n = 0; n < COLUMNS; n++) {
      float less = most - b->x[t * COLUMNS + n];
      int at = n * ROWS + t, got = q[at / 2] >> at % 2 * 4 & 15;
      wrong += (float)got != (less < 7 ? less : 7);
    }
  }
  return wrong;
}

static void check(const char *name, const char *library, int ordinal) {
  bench b;
  void *graph, *exec;
  make(name, library, ordinal, &b);
  send(&b, 1);
  call(&b);
  cr_expect_eq(count_wrong(&b), 0, "%s", name);
  MUST(b.driver.begin(b.stream, 0));
  call(&b);
  cr_assert_eq(b.driver.end(b.stream, &graph), 0, "%s: the call broke the capture", name);
  MUST(b.driver.instantiate(&exec, graph, 0));
  MUST(b.driver.graph_destroy(graph));
  for (uint32_t run = 2; run < 5; run++) {
    send(&b, run);
    cr_expect_gt(count_wrong(&b), 0, "%s: a capture ran", name);
    MUST(b.driver.launch(exec, b.stream));
    cr_expect_eq(count_wrong(&b), 0, "%s, replay %u", name, run);
  }
  MUST(b.driver.exec_destroy(exec));
  end(&b);
}

Test(captured_compute, replays) {
  check("cuda-emu:sm_90a", "cuda", 0);
  check("cuda-emu:sm_80", "cuda", 2);
  check("hip-emu:gfx942", "hip", 1);
}
