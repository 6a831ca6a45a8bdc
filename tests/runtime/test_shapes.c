/* One-line converts of all shapes: the kernel that serves is as fast, by the cost model, as the one
 * that would be prepared for the very call, and few kernels serve many shapes. On the emulated
 * H200. */
#include "tests/open_device.h"

#include "runtime/described.h"

#include <stdlib.h>

#define DEVICE "cuda-emu:sm_90a"
#define AS_GOOD 1.06 /* of the time: 0.95 of it is worth a kernel */
#define MOST_BYTES ((size_t)4 << 20)

/* The order of KV caches that vLLM's kernels read values in, of paged caches with heads outside,
 * and of images. */
#define PAGED_V "storage(rank=4, digits=[dim1: rest, dim3: rest, dim2: rest, dim0: rest])"
#define PAGED_K "storage(rank=4, digits=[dim3: rest, dim1: rest, dim2: rest, dim0: rest])"
#define PLANES \
  "storage(rank=5, digits=[dim4: rest, dim2: rest, dim3: rest, dim1: rest, dim0: rest])"
#define FIRST_INSIDE "storage(rank=3, digits=[dim2: rest, dim0: rest, dim1: rest])"

typedef struct call {
  const char *from, *to; /* NULL: row_major */
  llrt_dtype dtype;
  int rank;
  int64_t shape[LLRT_MAX_RANK];
} call;

/* In this order in one context: a shape must not live with what an earlier one left. */
static const call calls[] = {
    {PAGED_V, NULL, LLRT_B8, 4, {1, 256, 64, 64}},
    {PAGED_V, NULL, LLRT_B8, 4, {2, 256, 56, 56}},
    {PAGED_V, NULL, LLRT_B8, 4, {128, 16, 8, 128}},
    {PAGED_V, NULL, LLRT_B8, 4, {31, 16, 4, 128}},
    {NULL, PAGED_V, LLRT_B16, 4, {64, 16, 8, 128}},
    {NULL, PAGED_V, LLRT_B16, 4, {40, 16, 8, 128}},
    {NULL, PAGED_V, LLRT_B16, 4, {8, 3, 224, 224}},
    {NULL, PAGED_V, LLRT_B32, 4, {32, 16, 8, 128}},
    {NULL, PAGED_K, LLRT_B8, 4, {128, 16, 8, 128}},
    {NULL, PAGED_K, LLRT_B16, 4, {64, 16, 8, 128}},
    {NULL, PLANES, LLRT_B16, 5, {2, 32, 16, 8, 128}},
    {NULL, PLANES, LLRT_B32, 5, {2, 16, 16, 8, 128}},
    {NULL, PLANES, LLRT_B16, 5, {2, 40, 16, 5, 80}},
    {NULL, FIRST_INSIDE, LLRT_B16, 3, {2, 256, 1024}},
    {FIRST_INSIDE, NULL, LLRT_B8, 3, {2, 512, 2048}},
    {FIRST_INSIDE, NULL, LLRT_B16, 3, {3, 700, 333}},
};
#define CALLS ((int)(sizeof calls / sizeof *calls))

/* What the last launch took by the model, in microseconds. */
static double predicted;

static void note(void *user, llrt_log_level level, const char *message) {
  const char *at = strstr(message, " predicted_us=");
  (void)user;
  (void)level;
  if (at) predicted = atof(at + strlen(" predicted_us="));
}

typedef struct bench {
  llrt_context *context;
  llrt_device *device;
  void *memory[2];
} bench;

static void open_bench(bench *b) {
  const llrt_context_params params = {
      .jit_library = LLRT_TEST_JIT_LIBRARY, .log = note, .log_level = LLRT_LOG_VERBOSE};
  cr_assert_eq(llrt_context_create(&params, &b->context), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_device_open(b->context, DEVICE, NULL, &b->device), LLRT_OK, "%s",
               llrt_last_error());
  for (int i = 0; i < 2; i++)
    cr_assert_eq(llrt_memory_allocate(b->device, MOST_BYTES, &b->memory[i]), LLRT_OK);
  cr_assert_eq(llrt_memory_set(b->device, b->memory[0], 1, MOST_BYTES, NULL), LLRT_OK);
}

static void close_bench(bench *b) {
  for (int i = 0; i < 2; i++) llrt_memory_free(b->device, b->memory[i]);
  llrt_device_close(&b->device);
  llrt_context_destroy(&b->context);
}

static void make_tensors(const bench *b, const call *c, llrt_storage storage[2],
                         llrt_tensor tensors[2]) {
  const char *text[] = {c->from ? c->from : "row_major", c->to ? c->to : "row_major"};
  for (int i = 0; i < 2; i++) {
    cr_assert_eq(llrt_storage_parse(text[i], c->rank, NULL, &storage[i]), LLRT_OK, "%s",
                 llrt_last_error());
    tensors[i] = (llrt_tensor){.data = b->memory[i],
                               .dtype = c->dtype,
                               .rank = c->rank,
                               .storage = &storage[i],
                               .device = b->device};
    memcpy(tensors[i].shape, c->shape, sizeof c->shape);
  }
}

static uint64_t run_one_line(bench *b, const call *c) {
  llrt_storage storage[2];
  llrt_tensor tensors[2];
  llrt_cache_stats stats = {0};
  make_tensors(b, c, storage, tensors);
  cr_assert_eq(llrt_convert_into(&tensors[0], &tensors[1], NULL, NULL), LLRT_OK, "%s",
               llrt_last_error());
  cr_assert_eq(llrt_context_get_cache_stats(b->context, &stats), LLRT_OK);
  return stats.compiles;
}

/* The model's time of the operation that is prepared for these tensors with all that they promise.
 */
static double predict_prepared(const call *c) {
  bench b;
  llrt_storage storage[2];
  op_description desc = {.kind = LLRT_OP_CONVERT, .n_tensors = 2};
  llrt_op *op;
  open_bench(&b);
  make_tensors(&b, c, storage, desc.tensors);
  cr_assert_eq(described_promise(&desc), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(described_prepare(b.device, &desc, &op), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_op_run(op, NULL, desc.tensors, 2, NULL), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_stream_synchronize(b.device, NULL), LLRT_OK);
  llrt_op_destroy(&op);
  close_bench(&b);
  return predicted;
}

Test(shapes, any_order_is_as_fast_as_prepared) {
  bench b;
  open_bench(&b);
  for (int i = 0; i < CALLS; i++) {
    run_one_line(&b, &calls[i]);
    double one_line = predicted, prepared = predict_prepared(&calls[i]);
    cr_expect_leq(one_line, AS_GOOD * prepared, "call %d: %.1f us, prepared %.1f us", i, one_line,
                  prepared);
  }
  close_bench(&b);
}

/* A cache grows by blocks, a batch by requests: one kernel takes them all. */
Test(shapes, numbers_of_blocks_share_a_kernel) {
  bench b;
  uint64_t compiles = 0;
  open_bench(&b);
  for (int64_t blocks = 1; blocks <= 64; blocks += blocks < 9 ? 1 : 11) {
    const call of_blocks = {NULL, PAGED_V, LLRT_B16, 4, {blocks, 16, 8, 128}};
    compiles = run_one_line(&b, &of_blocks);
  }
  cr_expect_leq(compiles, 3, "%d kernels", (int)compiles);
  close_bench(&b);
}

/* 348 shapes: some columns are worth a kernel of their own for any rows, the others share those
 * that are there. The emulated device has two multiprocessors, so that kernels weigh more beside
 * launches than on a GPU. */
Test(shapes, many_shapes_have_few_kernels) {
  bench b;
  uint64_t compiles = 0;
  open_bench(&b);
  for (int64_t rows = 1; rows <= 400; rows += 7)
    for (int64_t columns = 5; columns <= 400; columns += 79) {
      const call matrix = {NULL, "col_major", LLRT_B32, 2, {rows, columns}};
      compiles = run_one_line(&b, &matrix);
    }
  cr_expect_leq(compiles, 12, "%d kernels", (int)compiles);
  close_bench(&b);
}

/* Scales of groups that are longer than the axes, of which two have one position: a kernel for any
 * extents would count 256 along each, 65,536 times the elements. */
Test(shapes, groups_longer_than_axes, .timeout = 20) {
  bench b;
  llrt_storage storage[2];
  llrt_tensor tensors[2];
  const call of_ones = {"trt_chw16", "col_major", LLRT_U8, 4, {1, 1, 5, 1025}};
  const llrt_map map = {.kind = LLRT_MAP_SCALE, .group = {256, 256, 5, 882}};
  open_bench(&b);
  make_tensors(&b, &of_ones, storage, tensors);
  tensors[1].dtype = LLRT_F64;
  llrt_tensor scale = {.data = (char *)b.memory[0] + MOST_BYTES / 2,
                       .dtype = LLRT_E8M0,
                       .rank = 4,
                       .shape = {1, 1, 1, 2},
                       .device = b.device};
  const llrt_convert_params params = {.n_maps = 1, .maps = &map, .scale = &scale};
  cr_assert_eq(llrt_convert_into(&tensors[0], &tensors[1], &params, NULL), LLRT_OK, "%s",
               llrt_last_error());
  cr_assert_eq(llrt_stream_synchronize(b.device, NULL), LLRT_OK);
  cr_expect_leq(predicted, 100, "%.1f us", predicted);
  close_bench(&b);
}
