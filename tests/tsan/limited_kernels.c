/* Many threads on a context that keeps fewer kernels than they use: kernels are unloaded while
 * others are looked up, compiled, run, and held by handles. */
#include "tests/tsan/check.h"

#include <llrt/llrt.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 6, TURNS = 10, LAYOUTS = 5, LIMIT = 2, COLUMNS = 8 };

static llrt_context *context;
static llrt_device *host;
static llrt_storage storage[LAYOUTS];

static llrt_tensor tensor_of(int32_t *data, int layout, bool destination) {
  return (llrt_tensor){.data = data,
                       .dtype = LLRT_I32,
                       .rank = 2,
                       .shape = {2 * (layout + 2), COLUMNS},
                       .device = host,
                       .storage = destination ? &storage[layout] : NULL};
}

static void check(const llrt_tensor *source, const llrt_tensor *destination) {
  llrt_storage_binding binding;
  const int32_t *in = source->data, *out = destination->data;
  CHECK(llrt_storage_bind(destination->storage, 2, destination->shape, NULL, &binding));
  for (int64_t i = 0; i < source->shape[0] * COLUMNS; i++) {
    if (out[llrt_storage_offset(destination->storage, &binding,
                                (int64_t[]){i / COLUMNS, i % COLUMNS})] == in[i])
      continue;
    fprintf(stderr, "wrong element %d\n", (int)i);
    exit(1);
  }
}

static void convert(int layout, bool prepared) {
  int32_t in[2 * (LAYOUTS + 2) * COLUMNS], out[2 * (LAYOUTS + 2) * COLUMNS];
  llrt_tensor tensors[] = {tensor_of(in, layout, false), tensor_of(out, layout, true)};
  const llrt_op_desc desc = {.kind = LLRT_OP_CONVERT, .n_tensors = 2, .tensors = tensors};
  llrt_op *op;
  for (int i = 0; i < 2 * (LAYOUTS + 2) * COLUMNS; i++) in[i] = i + layout, out[i] = -1;
  if (prepared) {
    CHECK(llrt_op_prepare(host, &desc, &op));
    CHECK(llrt_op_run(op, NULL, tensors, 2, NULL));
    llrt_op_destroy(&op);
  } else {
    CHECK(llrt_convert_into(&tensors[0], &tensors[1], NULL, NULL));
  }
  check(&tensors[0], &tensors[1]);
}

static void *work(void *number) {
  unsigned seed = (unsigned)(uintptr_t)number;
  for (int turn = 0; turn < TURNS; turn++) {
    seed = seed * 1664525 + 1013904223;
    convert((int)((seed >> 16) % LAYOUTS), (seed >> 28) % 4 == 0);
  }
  return NULL;
}

int main(void) {
  const llrt_context_params params = {
      .jit_library = LLRT_TEST_JIT_LIBRARY, .threads = 1, .most_kernels = LIMIT};
  pthread_t threads[THREADS];
  llrt_cache_stats stats = {0};
  CHECK(llrt_context_create(&params, &context));
  CHECK(llrt_device_open(context, "host", NULL, &host));
  for (int i = 0; i < LAYOUTS; i++) {
    char text[96];
    snprintf(text, sizeof text, "storage(digits=[dim0: %d, dim1: rest, dim0: rest])", i + 2);
    CHECK(llrt_storage_parse(text, 2, NULL, &storage[i]));
  }
  for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, (void *)(i + 1));
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < LAYOUTS; i++) convert(i, false);
  CHECK(llrt_context_get_cache_stats(context, &stats));
  llrt_device_close(&host);
  llrt_context_destroy(&context);
  printf("%llu compiles, %llu kernels in the end\n", (unsigned long long)stats.compiles,
         (unsigned long long)stats.kernels);
  return stats.kernels > LIMIT;
}
