/* A plan's run in a captured stream: kernels, fills, and copies through the workspace become a
 * graph, which does the work anew whenever it is launched. */
#include "tests/open_device.h"
#include "tests/replay/graph_driver.h"

#include <stdlib.h>

enum { M = 48, N = 72, BYTES = M * N * 4 };

/* Rank 1 of two: what is rank 0's alone is set to zero. */
static const char json[] =
    "{\"recipe\": 1, \"name\": \"t\", \"rows\": ["
    "{\"in\": {\"x\": \"turned: f32[m, n]\"}, \"out\": {\"x\": \"turned: f32[n, m] = f32[n m]\"}, "
    "\"const\": {\"ones: f16[n]\": 1}},"
    "{\"shard\": {\"tp\": \"first\"}, \"in\": {\"x\": \"bias: f32[n]\"}, \"out\": {\"x\": \"bias: "
    "f32[n]\"}},"
    "{\"pad\": {\"n\": \"n + 8\"}, \"in\": {\"x\": \"wide: f32[m, n]\"}, \"out\": {\"x\": \"wide: "
    "f32[m, n]\"}}]}";

static const llrt_named_tensor tensors[] = {
    {.name = "turned", .dtype = LLRT_F32, .rank = 2, .shape = {M, N}},
    {.name = "bias", .dtype = LLRT_F32, .rank = 1, .shape = {N}},
    {.name = "wide", .dtype = LLRT_F32, .rank = 2, .shape = {M, N}}};

static void *device_memory(llrt_device *device) {
  void *memory;
  cr_assert_eq(llrt_memory_allocate(device, 2 * BYTES, &memory), LLRT_OK);
  return memory;
}

static void put(llrt_device *device, void *memory, const float *values) {
  cr_assert_eq(llrt_memory_copy(device, memory, values, BYTES, LLRT_COPY_TO_DEVICE, NULL), LLRT_OK);
  cr_assert_eq(llrt_stream_synchronize(device, NULL), LLRT_OK);
}

static void expect(llrt_device *device, const void *const *memory, const float *values) {
  static float turned[N][M], bias[N], wide[M][N + 8];
  static uint16_t ones[N];
  void *const to[4] = {turned, ones, bias, wide};
  const size_t bytes[4] = {sizeof turned, sizeof ones, sizeof bias, sizeof wide};
  for (int i = 0; i < 4; i++)
    cr_assert_eq(llrt_memory_copy(device, to[i], memory[i], bytes[i], LLRT_COPY_FROM_DEVICE, NULL),
                 LLRT_OK);
  cr_assert_eq(llrt_stream_synchronize(device, NULL), LLRT_OK);
  for (int m = 0; m < M; m++)
    for (int n = 0; n < N + 8; n++) {
      if (n < N) cr_assert_eq(turned[n][m], values[m * N + n], "turned[%d][%d]", n, m);
      cr_assert_eq(wide[m][n], n < N ? values[m * N + n] : 0, "wide[%d][%d]", m, n);
    }
  for (int n = 0; n < N; n++) cr_assert(ones[n] == 0x3c00 && bias[n] == 0, "%d", n);
}

Test(recipe_capture, replayed) {
  static float values[M * N];
  opened_device at = open_device("cuda-emu:sm_90a");
  graph_driver driver;
  const char *why;
  void *stream, *exec, *in[3], *out[4];
  llrt_recipe *recipe;
  llrt_repack *plan;
  llrt_recipe_params params = {.tp = 2, .rank = 1, .in_place = 1};
  llrt_repack_info info = {0};
  cr_assert(graph_driver_open("cuda-emu:sm_90a", &driver, &why), "%s", why);
  cr_assert_eq(llrt_recipe_load(json, sizeof json - 1, &recipe), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_recipe_bind(at.device, recipe, tensors, 3, &params, &plan), LLRT_OK, "%s",
               llrt_last_error());
  cr_assert_eq(llrt_repack_get_info(plan, &info), LLRT_OK);
  for (int i = 0; i < 3; i++) in[i] = device_memory(at.device);
  for (int i = 0; i < 4; i++) {
    int place = llrt_repack_output(plan, i)->place;
    out[i] = place >= 0 ? in[place] : device_memory(at.device);
  }
  void *workspace = info.workspace ? device_memory(at.device) : NULL;
  cr_assert_eq(driver.stream_create(&stream, GRAPH_STREAM_NON_BLOCKING), 0);
  cr_assert_eq(driver.begin(stream, GRAPH_CAPTURE_GLOBAL), 0);
  cr_expect_eq(llrt_repack_run(plan, (const void *const *)in, out, workspace, stream), LLRT_OK,
               "%s", llrt_last_error());
  cr_assert_eq(graph_driver_finish(&driver, stream, &exec), 0);
  for (int turn = 0; turn < 2; turn++) {
    for (int i = 0; i < M * N; i++) values[i] = (float)(i + turn);
    for (int i = 0; i < 3; i++) put(at.device, in[i], values);
    cr_assert_eq(driver.launch(exec, stream), 0);
    cr_assert_eq(driver.stream_synchronize(stream), 0);
    expect(at.device, (const void *const *)out, values);
  }
  driver.exec_destroy(exec);
  driver.stream_destroy(stream);
  for (int i = 0; i < 4; i++)
    if (llrt_repack_output(plan, i)->place < 0) llrt_memory_free(at.device, out[i]);
  for (int i = 0; i < 3; i++) llrt_memory_free(at.device, in[i]);
  llrt_memory_free(at.device, workspace);
  llrt_repack_destroy(&plan);
  llrt_recipe_destroy(&recipe);
  close_device(&at);
  graph_driver_close(&driver);
}
