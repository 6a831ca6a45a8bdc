/* Tensors that are alike in a captured stream, some of them computed with what is the largest of
 * all: they go together by lists of addresses, which the graph reads anew from memory of the
 * plan's, whatever else used the workspace; and a capture with other addresses goes without. */
#include "tests/open_device.h"
#include "tests/replay/graph_driver.h"

#include <dlfcn.h>
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

typedef struct session {
  llrt_device *device;
  const graph_driver *driver;
  const llrt_repack *plan;
  void *workspace, *stream;
} session;

/* A graph of the whole plan, of so many nodes. */
static void *capture(const session *on, void *const *in, void *const *out, int nodes) {
  int (*list_nodes)(void *, void **, size_t *);
  void *graph, *exec;
  size_t n = 0;
  *(void **)&list_nodes = dlsym(on->driver->library, "cuGraphGetNodes");
  cr_assert_eq(on->driver->begin(on->stream, GRAPH_CAPTURE_GLOBAL), 0);
  cr_expect_eq(llrt_repack_run(on->plan, (const void *const *)in, out, on->workspace, on->stream),
               LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(on->driver->end(on->stream, &graph), 0);
  cr_assert_eq(list_nodes(graph, NULL, &n), 0);
  cr_expect_eq(n, (size_t)nodes, "%zu nodes", n);
  cr_assert_eq(on->driver->instantiate(&exec, graph, 0), 0);
  on->driver->graph_destroy(graph);
  return exec;
}

static void check(const char *name) {
  opened_device at = open_device(name);
  graph_driver driver;
  const char *why;
  void *stream, *in[2 * N_IN], *out[2 * N_IN];
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
  for (int i = 0; i < 2 * N_IN; i++) {
    in[i] = device_memory(at.device, sizeof(float) * M * N);
    out[i] = device_memory(at.device, sizeof(float) * M * N);
  }
  void *workspace = device_memory(at.device, info.workspace);
  cr_assert_eq(driver.stream_create(&stream, GRAPH_STREAM_NON_BLOCKING), 0);
  const session on = {at.device, &driver, plan, workspace, stream};
  /* As often as the plan says; again, with other addresses: a kernel for each tensor. */
  void *exec[] = {capture(&on, in, out, info.launches), capture(&on, in, out, info.launches),
                  capture(&on, in + N_IN, out + N_IN, 4 * LAYERS)};
  for (int turn = 0; turn < 6; turn++) {
    void **to = turn % 3 == 2 ? out + N_IN : out;
    for (int i = 0; i < 2 * N_IN; i++) put(at.device, in[i], i % N_IN / 2, turn);
    cr_assert_eq(driver.launch(exec[turn % 3], stream), 0);
    cr_assert_eq(driver.stream_synchronize(stream), 0);
    for (int i = 0; i < N_IN; i++) expect(at.device, plan, i, to[i], turn);
    /* Not captured, and with others: the workspace has their addresses then. */
    cr_expect_eq(
        llrt_repack_run(plan, (const void *const *)(in + N_IN), out + N_IN, workspace, stream),
        LLRT_OK, "%s", llrt_last_error());
    cr_assert_eq(driver.stream_synchronize(stream), 0);
  }
  for (int i = 0; i < 3; i++) driver.exec_destroy(exec[i]);
  driver.stream_destroy(stream);
  for (int i = 0; i < 2 * N_IN; i++) {
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
