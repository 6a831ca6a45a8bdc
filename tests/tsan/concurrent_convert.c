/* Many threads on one context: the same class at once (compiled once), different classes at once,
 * one prepared operation run by all, devices opened and closed meanwhile. */
#include "tests/tsan/check.h"

#include "runtime/described.h"

#include <llrt/llrt.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 6
#define ROUNDS 4
#define ROWS 48
#define COLUMNS 20

static llrt_context *context;
static llrt_device *host;
static llrt_storage col_major;
static llrt_op *shared_op;
static pthread_barrier_t together;

/* One thread's matrices, of one element type. */
typedef struct pair {
  uint64_t input[ROWS * COLUMNS], output[ROWS * COLUMNS];
  llrt_tensor tensor[2];
} pair;

static void pair_fill(pair *made, llrt_dtype dtype, unsigned seed) {
  unsigned char *bytes = (unsigned char *)made->input;
  for (size_t i = 0; i < sizeof made->input; i++) bytes[i] = (unsigned char)(i * 7 + seed);
  memset(made->output, 0xee, sizeof made->output);
  made->tensor[0] = (llrt_tensor){
      .data = made->input, .dtype = dtype, .rank = 2, .shape = {ROWS, COLUMNS}, .device = host};
  made->tensor[1] = made->tensor[0];
  made->tensor[1].data = made->output;
  made->tensor[1].storage = &col_major;
}

static void pair_check(const pair *checked) {
  size_t size = (size_t)llrt_dtype_bits(checked->tensor[0].dtype) / 8;
  const char *in = (const char *)checked->input, *out = (const char *)checked->output;
  for (size_t i = 0; i < ROWS; i++) {
    for (size_t j = 0; j < COLUMNS; j++) {
      if (memcmp(out + (i + j * ROWS) * size, in + (i * COLUMNS + j) * size, size) == 0) continue;
      fprintf(stderr, "wrong element at %zu, %zu\n", i, j);
      exit(1);
    }
  }
}

static void *work(void *number) {
  static const llrt_dtype dtypes[] = {LLRT_F32, LLRT_U8, LLRT_F16, LLRT_I64};
  unsigned id = (unsigned)(uintptr_t)number;
  pair *own = malloc(sizeof *own);
  for (unsigned round = 0; round < ROUNDS; round++) {
    pthread_barrier_wait(&together);
    pair_fill(own, dtypes[round], id); /* all threads want the same new class */
    CHECK(llrt_convert_into(&own->tensor[0], &own->tensor[1], NULL, NULL));
    pair_check(own);
    pair_fill(own, dtypes[(round + id) % ROUNDS], id); /* and different ones */
    CHECK(llrt_convert_into(&own->tensor[0], &own->tensor[1], NULL, NULL));
    pair_check(own);
    pair_fill(own, LLRT_I32, id);
    CHECK(llrt_op_run(shared_op, NULL, own->tensor, 2, NULL));
    pair_check(own);
    llrt_device *again;
    llrt_cache_stats stats = {0};
    CHECK(llrt_device_open(context, "host", NULL, &again));
    CHECK(llrt_context_get_cache_stats(context, &stats));
    llrt_device_close(&again);
  }
  free(own);
  return NULL;
}

int main(void) {
  llrt_context_params params = {.jit_library = LLRT_TEST_JIT_LIBRARY, .threads = 2};
  CHECK(llrt_context_create(&params, &context));
  CHECK(llrt_device_open(context, "host", NULL, &host));
  CHECK(llrt_storage_col_major(2, &col_major));
  op_description desc = {.kind = LLRT_OP_CONVERT, .n_tensors = 2};
  for (int i = 0; i < 2; i++) desc.tensors[i] = (llrt_tensor){.dtype = LLRT_F32, .rank = 2};
  desc.tensors[1].storage = &col_major;
  CHECK(described_prepare(host, &desc, &shared_op));
  llrt_cache_stats before = {0}, after = {0};
  CHECK(llrt_context_get_cache_stats(context, &before));
  pthread_barrier_init(&together, NULL, THREADS);
  pthread_t threads[THREADS];
  for (uintptr_t i = 0; i < THREADS; i++) {
    pthread_create(&threads[i], NULL, work, (void *)i);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  pthread_barrier_destroy(&together);
  CHECK(llrt_context_get_cache_stats(context, &after));
  llrt_op_destroy(&shared_op);
  llrt_device_close(&host);
  llrt_context_destroy(&context);
  printf("%llu kernels compiled by %d threads\n",
         (unsigned long long)(after.compiles - before.compiles), THREADS);
  /* One class an element type, as all threads' memory has malloc's alignment; of one the prepared
   * operation serves. */
  return after.compiles - before.compiles != ROUNDS - 1;
}
