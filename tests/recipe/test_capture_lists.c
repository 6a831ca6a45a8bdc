/* Tensors that are alike in a captured stream, some of them computed with what is the largest of
 * all: a kernel for each tensor, in the order that one reads what another wrote, and no list of
 * addresses, whose host memory a graph would read anew. */
#include "tests/open_device.h"
#include "tests/replay/graph_driver.h"

#include <stdlib.h>

enum { LAYERS = 3, M = 20, N = 32, N_IN = 2 * LAYERS };

static const char json[] =
    "{\"recipe\": 1, \"name\": \"t\", \"rows\": ["
    "{\"in\": {\"x\": \"{L}.turned: f32[m, n]\"}, \"out\": {\"x\": \"{L}.turned: f32[n, m] = "
    "f32[n m]\"}},"
    "{\"in\": {\"x\": \"{L}.less: f32[m, n]\"}, \"largest\": {\"a\": \"x\"}, \"compute\": \"y = a "
    "- "
    "x\", \"out\": {\"y\": \"{L}.less: f32[m, n]\"}}]}";

static void *device_memory(llrt_device *device, size_t bytes) {
  void *memory;
  cr_assert_eq(llrt_memory_allocate(device, bytes, &memory), LLRT_OK);
  return memory;
}

static float value_of(int layer, int i, int turn) {
  return (float)((i * 37 + layer * 101 + turn * 53) % 509);
}

static void put(llrt_device *device, void *memory, int layer, int turn) {
  float values[M * N];
  for (int i = 0; i < M * N; i++) values[i] = value_of(layer, i, turn);
  cr_assert_eq(llrt_memory_copy(device, memory, values, sizeof values, LLRT_COPY_TO_DEVICE, NULL),
               LLRT_OK);
  cr_assert_eq(llrt_stream_synchronize(device, NULL), LLRT_OK);
}

static void expect(llrt_device *device, const llrt_repack *plan, int number, const void *memory,
                   int turn) {
  float made[M * N], most = 0;
  const char *name = llrt_repack_output(plan, number)->name;
  int layer = name[0] - '0';
  cr_assert_eq(llrt_memory_copy(device, made, memory, sizeof made, LLRT_COPY_FROM_DEVICE, NULL),
               LLRT_OK);
  cr_assert_eq(llrt_stream_synchronize(device, NULL), LLRT_OK);
  for (int i = 0; i < M * N; i++)
    if (value_of(layer, i, turn) > most) most = value_of(layer, i, turn);
  for (int i = 0; i < M * N; i++) {
    int from = name[2] == 't' ? i % M * N + i / M : i;
    float is = value_of(layer, from, turn);
    cr_assert_eq(made[i], name[2] == 't' ? is : most - is, "%s[%d]", name, i);
  }
}

static void check(const char *name) {
  opened_device at = open_device(name);
  graph_driver driver;
  const char *why;
  void *stream, *exec, *in[N_IN], *out[N_IN];
  llrt_recipe *recipe;
  llrt_repack *plan;
  llrt_repack_info info = {0};
  llrt_named_tensor tensors[N_IN];
  char names[N_IN][32];
  for (int i = 0; i < N_IN; i++) {
    snprintf(names[i], sizeof names[i], "%d.%s", i / 2, i % 2 ? "less" : "turned");
    tensors[i] = (llrt_named_tensor){names[i], LLRT_F32, 2, {M, N}, {0}};
  }
  cr_assert(graph_driver_open(name, &driver, &why), "%s", why);
  cr_assert_eq(llrt_recipe_load(json, sizeof json - 1, &recipe), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_recipe_bind(at.device, recipe, tensors, N_IN, NULL, &plan), LLRT_OK, "%s",
               llrt_last_error());
  cr_assert_eq(llrt_repack_get_info(plan, &info), LLRT_OK);
  cr_expect_eq(info.launches, 5, "%d launches", info.launches); /* one of them brings addresses */
  for (int i = 0; i < N_IN; i++) {
    in[i] = device_memory(at.device, sizeof(float) * M * N);
    out[i] = device_memory(at.device, sizeof(float) * M * N);
  }
  void *workspace = device_memory(at.device, info.workspace);
  cr_assert_eq(driver.stream_create(&stream, GRAPH_STREAM_NON_BLOCKING), 0);
  cr_assert_eq(driver.begin(stream, GRAPH_CAPTURE_GLOBAL), 0);
  cr_expect_eq(llrt_repack_run(plan, (const void *const *)in, out, workspace, stream), LLRT_OK,
               "%s", llrt_last_error());
  cr_assert_eq(graph_driver_finish(&driver, stream, &exec), 0);
  for (int turn = 0; turn < 2; turn++) {
    for (int i = 0; i < N_IN; i++) put(at.device, in[i], i / 2, turn);
    cr_assert_eq(driver.launch(exec, stream), 0);
    cr_assert_eq(driver.stream_synchronize(stream), 0);
    for (int i = 0; i < N_IN; i++) expect(at.device, plan, i, out[i], turn);
  }
  driver.exec_destroy(exec);
  driver.stream_destroy(stream);
  for (int i = 0; i < N_IN; i++) {
    llrt_memory_free(at.device, in[i]);
    llrt_memory_free(at.device, out[i]);
  }
  llrt_memory_free(at.device, workspace);
  llrt_repack_destroy(&plan);
  llrt_recipe_destroy(&recipe);
  close_device(&at);
  graph_driver_close(&driver);
}

Test(recipe_capture_lists, replayed) { check("cuda-emu:sm_90a"); }
