/* The largest errors of functions: threads take pieces of the bit patterns by turns. */
#include "tests/expression/function_errors.h"
#include "tests/expression/proofs/proofs.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PIECE (1 << 20)

typedef struct work {
  const proof_options *options;
  const function_row *row;
  llrt_dtype type;
  atomic_ullong next; /* the first pattern that no thread has */
  pthread_mutex_t lock;
  function_worst worst;
  char failure[512]; /* empty: none */
} work;

/* What a thread found becomes everybody's, and the other way round. */
static void share(work *w, function_worst *worst) {
  pthread_mutex_lock(&w->lock);
  if (worst->ulp > w->worst.ulp) w->worst = *worst;
  *worst = w->worst;
  pthread_mutex_unlock(&w->lock);
}

static void *take_pieces(void *argument) {
  work *w = argument;
  uint64_t stride = w->options->stride, step = PIECE * stride, first;
  function_worst worst = {0};
  function_sweep sweep;
  llrt_status status = function_sweep_begin(&sweep, w->options->device, w->row, w->type, PIECE);
  while (status == LLRT_OK && (first = atomic_fetch_add(&w->next, step)) < 1ull << 32) {
    status = function_sweep_piece(&sweep, first, stride, &worst);
    share(w, &worst);
  }
  function_sweep_end(&sweep);
  if (status == LLRT_OK) return NULL;
  pthread_mutex_lock(&w->lock);
  snprintf(w->failure, sizeof w->failure, "%s", llrt_last_error());
  pthread_mutex_unlock(&w->lock);
  return NULL;
}

/* Few patterns first: what they find spares looking closely at most of the others. */
static void begin_worst(work *w) {
  function_sweep sweep;
  llrt_status status = function_sweep_begin(&sweep, w->options->device, w->row, w->type, PIECE);
  if (status == LLRT_OK) status = function_sweep_piece(&sweep, 0, 4099, &w->worst);
  if (status != LLRT_OK) snprintf(w->failure, sizeof w->failure, "%s", llrt_last_error());
  function_sweep_end(&sweep);
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static const char *rounding(llrt_dtype type) {
  return type == LLRT_BF16 ? " as bf16" : type == LLRT_F16 ? " as f16" : "";
}

static bool run_row(const proof_options *options, const function_row *row, llrt_dtype type) {
  static pthread_t thread[1024];
  work w = {.options = options, .row = row, .type = type, .lock = PTHREAD_MUTEX_INITIALIZER};
  double start = seconds();
  int n = 0;
  begin_worst(&w);
  while (n < options->threads && pthread_create(&thread[n], NULL, take_pieces, &w) == 0) n++;
  if (n == 0) take_pieces(&w);
  for (int i = 0; i < n; i++) pthread_join(thread[i], NULL);
  if (*w.failure) printf("%s: %s\n", row->name, w.failure);
  else
    printf("| `%s`%s | %.4g | %.9g | %.1f |\n", row->name, rounding(type), w.worst.ulp,
           (double)w.worst.at, seconds() - start);
  fflush(stdout);
  return !*w.failure && w.worst.ulp <= function_most(row, type) + 1e-6;
}

/* In f32, and rounded to 16 bits where that is another function. */
static bool run_types(const proof_options *options, const function_row *row) {
  bool right = run_row(options, row, LLRT_F32);
  if (!row->narrow) return right;
  return run_row(options, row, LLRT_BF16) & run_row(options, row, LLRT_F16) & right;
}

int proof_functions(const proof_options *options) {
  bool right = true;
  printf("%s, every %llu of 2^32 bit patterns\n| function | ulp | at | s |\n|---|---|---|---|\n",
         options->name, (unsigned long long)options->stride);
  for (int i = 0; function_row_of(i); i++)
    if (!options->only || strcmp(options->only, function_row_of(i)->name) == 0)
      right &= run_types(options, function_row_of(i));
  return !right;
}
