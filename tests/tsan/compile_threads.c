/* Four threads compile for every kind of target at once: LLVM's registration, lld's lock, the
 * opening of the compiler library. Bytes of equal requests are equal. */
#include "runtime/described.h"

#include <llrt/llrt.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = 4, TARGETS = 3 };

static const char *const targets[TARGETS] = {"sm_90a", "gfx90a", "host"};

typedef struct job {
  llrt_context *context;
  char *bytes[TARGETS];
  size_t size[TARGETS];
  int failures;
} job;

static void *compile_all(void *data) {
  job *mine = data;
  llrt_storage row_major, col_major;
  llrt_storage_row_major(2, &row_major);
  llrt_storage_col_major(2, &col_major);
  op_description desc = {.kind = LLRT_OP_CONVERT, .n_tensors = 2};
  desc.tensors[0] = (llrt_tensor){.dtype = LLRT_F32, .rank = 2, .storage = &row_major};
  desc.tensors[1] = (llrt_tensor){.dtype = LLRT_F32, .rank = 2, .storage = &col_major};
  for (int i = 0; i < TARGETS; i++) {
    llrt_status status = described_compile(mine->context, targets[i], &desc, LLRT_EMIT_OBJECT,
                                           &mine->bytes[i], &mine->size[i]);
    if (status == LLRT_OK) continue;
    fprintf(stderr, "%s: %s\n", targets[i], llrt_last_error());
    mine->failures++;
  }
  return NULL;
}

static int differs(const job *a, const job *b) {
  for (int i = 0; i < TARGETS; i++)
    if (a->size[i] != b->size[i] || memcmp(a->bytes[i], b->bytes[i], a->size[i]) != 0) return 1;
  return 0;
}

int main(void) {
  llrt_context *context;
  if (llrt_context_create(NULL, &context) != LLRT_OK) return 1;
  pthread_t thread[THREADS];
  job jobs[THREADS] = {0};
  int failures = 0;
  for (int i = 0; i < THREADS; i++) {
    jobs[i].context = context;
    if (pthread_create(&thread[i], NULL, compile_all, &jobs[i]) != 0) return 1;
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(thread[i], NULL);
    failures += jobs[i].failures;
  }
  for (int i = 0; failures == 0 && i < THREADS; i++) failures += differs(&jobs[0], &jobs[i]);
  for (int i = 0; i < THREADS; i++)
    for (int t = 0; t < TARGETS; t++) llrt_buffer_free(&jobs[i].bytes[t]);
  llrt_context_destroy(&context);
  return failures != 0;
}
