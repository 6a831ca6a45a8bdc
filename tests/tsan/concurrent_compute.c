/* Many threads call one expression at once: what a call keeps for the next one (compute_kept.c) is
 * taken by one thread at a time, and each has its own memory, shape and number. */
#include "tests/tsan/check.h"

#include <llrt/llrt.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 6, ROUNDS = 40, ROWS = 5, MOST_LENGTH = 24 };

static llrt_device *host;
static llrt_expr *rows, *parts;
static pthread_barrier_t together;

/* One thread's tensors: x and y of ROWS rows, a result of each row, and one of each column. */
typedef struct own {
  float x[ROWS * MOST_LENGTH], y[ROWS * MOST_LENGTH], sum[ROWS];
  float column[MOST_LENGTH], weight[MOST_LENGTH];
  int length;
  llrt_tensor tensor[5];
} own;

static void begin(own *o, int length, float first) {
  float *data[5] = {o->x, o->y, o->sum, o->column, o->weight};
  o->length = length;
  for (int i = 0; i < ROWS * length; i++) o->x[i] = first + (float)(i % 7), o->y[i] = -1;
  for (int n = 0; n < length; n++) o->weight[n] = first + (float)n;
  for (int i = 0; i < 5; i++)
    o->tensor[i] = (llrt_tensor){.data = data[i],
                                 .dtype = LLRT_F32,
                                 .rank = i < 2 ? 2 : 1,
                                 .shape = {i > 2 ? length : ROWS, i < 2 ? length : 0},
                                 .device = host};
}

static void expect(float got, float wanted, const char *what, int at) {
  if (got == wanted) return;
  fprintf(stderr, "%s[%d] is %g, not %g\n", what, at, (double)got, (double)wanted);
  exit(1);
}

static void call_rows(own *o, float s) {
  const llrt_arg args[] = {{.name = "x", .tensor = &o->tensor[0]},
                           {.name = "y", .tensor = &o->tensor[1]},
                           {.name = "r", .tensor = &o->tensor[2]},
                           {.name = "s", .number = s}};
  CHECK(llrt_compute_into(rows, args, 4, NULL, NULL));
  for (int t = 0; t < ROWS; t++) {
    float sum = 0;
    for (int n = 0; n < o->length; n++) {
      sum += o->x[t * o->length + n];
      expect(o->y[t * o->length + n], o->x[t * o->length + n] * s + (float)n, "y", n);
    }
    expect(o->sum[t], sum, "r", t);
  }
}

static void call_parts(own *o) {
  const llrt_arg args[] = {{.name = "x", .tensor = &o->tensor[0]},
                           {.name = "y", .tensor = &o->tensor[1]},
                           {.name = "c", .tensor = &o->tensor[3]},
                           {.name = "w", .tensor = &o->tensor[4]}};
  CHECK(llrt_compute_into(parts, args, 4, NULL, NULL));
  for (int i = 0; i < ROWS * o->length; i++) expect(o->y[i], o->x[i] + 1, "y", i);
  for (int n = 0; n < o->length; n++) expect(o->column[n], 3 * o->weight[n], "c", n);
}

static void *work(void *number) {
  int id = (int)(uintptr_t)number;
  own *o = malloc(sizeof *o);
  for (int round = 0; round < ROUNDS && o; round++) {
    pthread_barrier_wait(&together);
    begin(o, (round + id) % 3 ? MOST_LENGTH : MOST_LENGTH - 3, (float)id);
    call_rows(o, (float)(id + round));
    call_parts(o);
  }
  free(o);
  return NULL;
}

int main(void) {
  llrt_context *context;
  llrt_context_params params = {.jit_library = LLRT_TEST_JIT_LIBRARY, .threads = 2};
  pthread_t thread[THREADS];
  CHECK(llrt_context_create(&params, &context));
  CHECK(llrt_device_open(context, "host", NULL, &host));
  CHECK(llrt_expr_parse("(x[t n], s: f32) -> (y[t n], r[t]) { y = x * s + n; r = sum(x, n) }",
                        &rows));
  CHECK(llrt_expr_parse("(x[t n], w[n]) -> (y[t n], c[n]) { y = x + 1; c = 3 * w }", &parts));
  pthread_barrier_init(&together, NULL, THREADS);
  for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, work, (void *)i);
  for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
  pthread_barrier_destroy(&together);
  llrt_expr_destroy(&rows);
  llrt_expr_destroy(&parts);
  llrt_device_close(&host);
  llrt_context_destroy(&context);
  return 0;
}
