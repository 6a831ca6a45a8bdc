/* The largest errors of functions: threads take pieces of the bit patterns by turns. */
#include "tests/expression/function_errors.h"
#include "tests/expression/proofs/proofs.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE (1 << 20)

typedef struct work {
  const proof_options *options;
  const function_row *row;
  atomic_ullong next; /* the first pattern that no thread has */
  pthread_mutex_t lock;
  double worst;
  float at;
  char failure[512]; /* empty: none */
} work;

static void *take_pieces(void *argument) {
  work *w = argument;
  float *x = malloc(PIECE * sizeof *x), *y = malloc(PIECE * sizeof *y), at = 0;
  double worst = 0;
  uint64_t stride = w->options->stride, step = PIECE * stride, first;
  llrt_status status = x && y ? LLRT_OK : LLRT_OUT_OF_MEMORY;
  while (status == LLRT_OK && (first = atomic_fetch_add(&w->next, step)) < 1ull << 32)
    status = function_errors(w->options->device, w->row, first, stride, PIECE, x, y, &worst, &at);
  pthread_mutex_lock(&w->lock);
  if (status != LLRT_OK) snprintf(w->failure, sizeof w->failure, "%s", llrt_last_error());
  if (worst > w->worst) w->worst = worst, w->at = at;
  pthread_mutex_unlock(&w->lock);
  free(x);
  free(y);
  return NULL;
}

static bool run_row(const proof_options *options, const function_row *row) {
  static pthread_t thread[1024];
  work w = {.options = options, .row = row, .lock = PTHREAD_MUTEX_INITIALIZER};
  int n = 0;
  while (n < options->threads && pthread_create(&thread[n], NULL, take_pieces, &w) == 0) n++;
  if (n == 0) take_pieces(&w);
  for (int i = 0; i < n; i++) pthread_join(thread[i], NULL);
  if (*w.failure) printf("%s: %s\n", row->name, w.failure);
  else printf("| `%s` | %.2f | %.9g |\n", row->name, w.worst, (double)w.at);
  fflush(stdout);
  return !*w.failure && w.worst <= row->most + 1e-6;
}

int proof_functions(const proof_options *options) {
  bool right = true;
  printf("%s, every %llu of 2^32 bit patterns\n| function | ulp | at |\n|---|---|---|\n",
         options->name, (unsigned long long)options->stride);
  for (int i = 0; function_row_of(i); i++)
    if (!options->only || strcmp(options->only, function_row_of(i)->name) == 0)
      right &= run_row(options, function_row_of(i));
  return !right;
}
