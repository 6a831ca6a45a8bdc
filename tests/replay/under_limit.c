/* Graphs of conversions with a kernel each, in a context that keeps fewer kernels than there are
 * graphs; after each capture a call with yet another kernel has one unloaded. What was captured
 * stays. */
#include "replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 64, LEAST = 2 }; /* extent of the innermost digit of the first layout */

/* A matrix to a layout of its own, whose rows come in groups of `number` + LEAST. */
typedef struct conversion {
  llrt_storage storage;
  llrt_tensor source, destination;
  int32_t *numbers;
  int64_t rows;
  void *exec; /* NULL: not captured */
} conversion;

static void make_conversion(const replay_bench *bench, int number, conversion *made) {
  char text[96];
  *made = (conversion){.rows = 2 * (number + LEAST)};
  snprintf(text, sizeof text, "storage(digits=[dim0: %d, dim1: rest, dim0: rest])", number + LEAST);
  LLRT_MUST(llrt_storage_parse(text, 2, NULL, &made->storage));
  size_t bytes = (size_t)made->rows * COLUMNS * sizeof *made->numbers;
  made->numbers = malloc(bytes);
  if (!made->numbers) replay_must(-1, "memory");
  for (int64_t i = 0; i < made->rows * COLUMNS; i++)
    made->numbers[i] = (int32_t)(i * 2654435761u) + number;
  made->source = (llrt_tensor){
      .dtype = LLRT_I32, .rank = 2, .shape = {made->rows, COLUMNS}, .device = bench->device};
  made->destination = made->source;
  made->destination.storage = &made->storage;
  made->source.data = replay_memory(bench, made->numbers, bytes);
  made->destination.data = replay_memory(bench, NULL, bytes);
}

static void end_conversion(const replay_bench *bench, conversion *made) {
  if (made->exec) MUST(bench->driver.exec_destroy(made->exec));
  LLRT_MUST(llrt_memory_free(bench->device, made->source.data));
  LLRT_MUST(llrt_memory_free(bench->device, made->destination.data));
  free(made->numbers);
}

static void convert(const conversion *of, void *stream) {
  LLRT_MUST(llrt_convert_into(&of->source, &of->destination, NULL, stream));
}

static void poison(const replay_bench *bench, const conversion *of, void *stream) {
  LLRT_MUST(llrt_memory_set(bench->device, of->destination.data, 0xA5,
                            (size_t)of->rows * COLUMNS * 4, stream));
}

static void capture(const replay_bench *bench, conversion *of) {
  convert(of, bench->captured); /* compiles */
  MUST(bench->driver.begin(bench->captured, GRAPH_CAPTURE_GLOBAL));
  convert(of, bench->captured);
  MUST(graph_driver_finish(&bench->driver, bench->captured, &of->exec));
}

static long count_wrong(const replay_bench *bench, const conversion *of) {
  llrt_storage_binding binding;
  size_t bytes = (size_t)of->rows * COLUMNS * sizeof(int32_t);
  int32_t *found = malloc(bytes);
  long wrong = 0;
  if (!found) replay_must(-1, "memory");
  replay_fetch(bench, found, of->destination.data, bytes);
  LLRT_MUST(llrt_storage_bind(&of->storage, 2, of->destination.shape, NULL, &binding));
  for (int64_t i = 0; i < of->rows * COLUMNS; i++) {
    int64_t at = llrt_storage_offset(&of->storage, &binding, (int64_t[]){i / COLUMNS, i % COLUMNS});
    wrong += found[at] != of->numbers[i];
  }
  free(found);
  return wrong;
}

/* One by one: a replay, and a call that needs another kernel. */
static long replay_all(const replay_bench *bench, const conversion *graphs,
                       const conversion *others) {
  int n = bench->params.graphs;
  long wrong = 0;
  for (int i = 0; i < n; i++) {
    poison(bench, &graphs[i], bench->replayed);
    MUST(bench->driver.launch(graphs[i].exec, bench->replayed));
    poison(bench, &others[i], bench->eager);
    convert(&others[i], bench->eager);
  }
  for (int i = 0; i < n; i++)
    wrong += count_wrong(bench, &graphs[i]) + count_wrong(bench, &others[i]);
  return wrong;
}

static llrt_cache_stats stats_of(const replay_bench *bench) {
  llrt_cache_stats stats = {0};
  LLRT_MUST(llrt_context_get_cache_stats(bench->context, &stats));
  return stats;
}

long replay_under_limit(replay_bench *bench) {
  int n = bench->params.graphs;
  conversion *graphs = calloc((size_t)n, sizeof *graphs),
             *others = calloc((size_t)n, sizeof *others);
  if (!graphs || !others) replay_must(-1, "memory");
  replay_open(bench, (uint64_t)bench->params.limit);
  for (int i = 0; i < n; i++) {
    make_conversion(bench, i, &graphs[i]);
    make_conversion(bench, n + i, &others[i]);
    capture(bench, &graphs[i]);
    convert(&others[i], bench->eager);
  }
  llrt_cache_stats captured = stats_of(bench);
  long wrong = replay_all(bench, graphs, others) + replay_all(bench, graphs, others);
  llrt_cache_stats stats = stats_of(bench);
  /* Each graph has a kernel; of the others, called in turn, a limit below their number leaves none
   * to be found again. */
  bool kept = stats.kernels <= (uint64_t)(n + bench->params.limit);
  bool unloaded = bench->params.limit == 0 || bench->params.limit >= n ||
                  stats.compiles >= captured.compiles + 2 * (uint64_t)n;
  printf("%s: %d graphs under a limit of %d kernels, replayed twice: %ld elements wrong; %llu "
         "kernels loaded, %llu compiles, %llu"
         " until all were captured%s\n",
         bench->params.device, n, bench->params.limit, wrong, (unsigned long long)stats.kernels,
         (unsigned long long)stats.compiles, (unsigned long long)captured.compiles,
         kept && unloaded ? "" : ": the limit was not kept");
  for (int i = 0; i < n; i++) {
    end_conversion(bench, &graphs[i]);
    end_conversion(bench, &others[i]);
  }
  replay_close(bench);
  free(graphs);
  free(others);
  return wrong + !kept + !unloaded;
}
