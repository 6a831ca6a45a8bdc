/* A split sum, captured on a stream and replayed on another, while eager sums run on the first. All
 * have inexact sums, whose bits a lost or doubled share of any block would change. */
#include "replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct sums {
  llrt_tensor source, result;
  float *results; /* on the device, one for each turn */
} sums;

/* Numbers from -8 to 8, of all sizes. */
static float *make_numbers(int64_t n, uint32_t seed) {
  float *numbers = malloc((size_t)n * sizeof *numbers);
  if (!numbers) replay_must(-1, "memory");
  for (int64_t i = 0; i < n; i++) {
    seed = seed * 1664525 + 1013904223;
    numbers[i] = ((float)(seed >> 8) / (float)(1 << 20) - 8) / (float)(1 << (seed & 7));
  }
  return numbers;
}

static sums make_sums(const replay_bench *bench, uint32_t seed) {
  int64_t n = bench->params.elements;
  float *numbers = make_numbers(n, seed);
  sums made = {.source = {.dtype = LLRT_F32, .rank = 1, .shape = {n}, .device = bench->device},
               .result = {.dtype = LLRT_F32, .device = bench->device}};
  made.source.data = replay_memory(bench, numbers, (size_t)n * sizeof *numbers);
  made.result.data = replay_memory(bench, NULL, sizeof(float));
  made.results = replay_memory(bench, NULL, (size_t)bench->params.replays * sizeof(float));
  free(numbers);
  return made;
}

static void free_sums(const replay_bench *bench, sums *made) {
  LLRT_MUST(llrt_memory_free(bench->device, made->source.data));
  LLRT_MUST(llrt_memory_free(bench->device, made->result.data));
  LLRT_MUST(llrt_memory_free(bench->device, made->results));
}

/* Bytes of workspace that the sum takes: none would be a sum that no blocks share. */
static size_t workspace_of(const replay_bench *bench, const sums *of) {
  llrt_storage kept_storage;
  llrt_tensor tensors[2] = {of->source};
  llrt_tensor_promise promises[2];
  LLRT_MUST(llrt_reduce_keep_axes(&of->result, 1, 1, &kept_storage, &tensors[1]));
  llrt_op_desc desc = {.kind = LLRT_OP_REDUCE,
                       .n_tensors = 2,
                       .tensors = tensors,
                       .promises = promises,
                       .combine = {.op = LLRT_COMBINE_SUM, .axes = 1}};
  llrt_op *op;
  size_t bytes;
  LLRT_MUST(llrt_op_promise_coarse(&desc));
  LLRT_MUST(llrt_op_prepare(bench->device, &desc, &op));
  LLRT_MUST(llrt_op_workspace(op, desc.tensors, 2, &bytes));
  llrt_op_destroy(&op);
  return bytes;
}

static void sum(const sums *of, void *stream) {
  LLRT_MUST(llrt_reduce_into(&of->source, &of->result, NULL, stream));
}

static void keep_result(const replay_bench *bench, const sums *of, int turn, void *stream) {
  LLRT_MUST(llrt_memory_copy(bench->device, of->results + turn, of->result.data, sizeof(float),
                             LLRT_COPY_ON_DEVICE, stream));
}

/* What the sum is when nothing runs beside it. */
static float sum_alone(const replay_bench *bench, const sums *of) {
  float alone;
  sum(of, bench->eager);
  replay_fetch(bench, &alone, of->result.data, sizeof alone);
  return alone;
}

static long count_other(const replay_bench *bench, const sums *of, float expected) {
  int n = bench->params.replays;
  float *found = malloc((size_t)n * sizeof *found);
  long wrong = 0;
  if (!found) replay_must(-1, "memory");
  replay_fetch(bench, found, of->results, (size_t)n * sizeof *found);
  for (int i = 0; i < n; i++) wrong += memcmp(&found[i], &expected, sizeof expected) != 0;
  free(found);
  return wrong;
}

static void *capture(const replay_bench *bench, const sums *of) {
  void *exec;
  MUST(bench->driver.begin(bench->captured, GRAPH_CAPTURE_GLOBAL));
  sum(of, bench->captured);
  MUST(graph_driver_finish(&bench->driver, bench->captured, &exec));
  return exec;
}

static void run_both(const replay_bench *bench, void *exec, const sums *replayed,
                     const sums *eager) {
  for (int turn = 0; turn < bench->params.replays; turn++) {
    MUST(bench->driver.launch(exec, bench->replayed));
    sum(eager, bench->eager);
    keep_result(bench, replayed, turn, bench->replayed);
    keep_result(bench, eager, turn, bench->eager);
  }
}

long replay_beside_eager(replay_bench *bench) {
  replay_open(bench, 0);
  sums replayed = make_sums(bench, 1), eager = make_sums(bench, 2);
  size_t workspace = workspace_of(bench, &replayed);
  float first = sum_alone(bench, &replayed), second = sum_alone(bench, &eager);
  void *exec = capture(bench, &replayed);
  run_both(bench, exec, &replayed, &eager);
  long wrong = count_other(bench, &replayed, first),
       wrong_eager = count_other(bench, &eager, second);
  printf("%s: a sum of %lld numbers with %zu bytes of workspace: %d replays, %ld other than alone; "
         "%d eager calls beside, %ld\n",
         bench->params.device, (long long)bench->params.elements, workspace, bench->params.replays,
         wrong, bench->params.replays, wrong_eager);
  MUST(bench->driver.exec_destroy(exec));
  free_sums(bench, &replayed);
  free_sums(bench, &eager);
  replay_close(bench);
  return wrong + wrong_eager + (workspace == 0);
}
