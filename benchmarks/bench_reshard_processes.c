/* Re-shards between processes, by descriptors and by IPC, on one GPU that all share or on several:
 * rows to columns, stored transposed, compared in full; runs captured and replayed; the kernels
 * that move alone, a rank at a time, beside a copy of the same bytes; and runs of few bytes.
 * --device names the ranks' devices with commas between. Times are of the slowest rank. */
#include "cuda_graph.h"
#include "reshard_process.h"
#include "subcommands.h"

#include <stdlib.h>
#include <string.h>

enum { TIMEOUT_MS = 20000, IN_A_ROW = 8, SMALLEST = 8, LARGEST = 16 << 20 };

static int64_t part_bytes; /* of the large case; the same in all processes */

typedef struct trial {
  process_rank *r;
  cuda_graphs *graphs; /* NULL: none, as on the host */
  llrt_comm *comm;
  llrt_reshard *reshard;
  int64_t rows, columns; /* of the whole matrix of 16-bit elements */
} trial;

/* ---- elements ---- */

static uint16_t element(int64_t row, int64_t column) {
  return (uint16_t)harness_mix((uint64_t)row << 32 | (uint64_t)column);
}

static void fill(const trial *t) {
  process_rank *r = t->r;
  int64_t rows = t->rows / r->world->ranks, first = r->rank * rows;
  size_t bytes = (size_t)(rows * t->columns) * 2;
  uint16_t *part = malloc(bytes);
  if (!part) harness_end(1);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < t->columns; j++) part[i * t->columns + j] = element(first + i, j);
  harness_must(
      llrt_memory_copy(r->device, r->sources[r->rank], part, bytes, LLRT_COPY_TO_DEVICE, NULL),
      "copy");
  harness_must(llrt_stream_synchronize(r->device, NULL), "copy");
  free(part);
}

static void clear(const trial *t) {
  process_rank *r = t->r;
  size_t bytes = (size_t)(t->rows * t->columns) * 2 / (size_t)r->world->ranks;
  harness_must(llrt_memory_set(r->device, r->destinations[r->rank], 0x5a, bytes, NULL), "set");
  harness_must(llrt_stream_synchronize(r->device, NULL), "set");
  pthread_barrier_wait(&r->world->together);
}

static int64_t count_wrong(const trial *t) {
  process_rank *r = t->r;
  int64_t columns = t->columns / r->world->ranks, first = r->rank * columns, wrong = 0;
  size_t bytes = (size_t)(columns * t->rows) * 2;
  uint16_t *part = malloc(bytes);
  if (!part) harness_end(1);
  harness_must(llrt_memory_copy(r->device, part, r->destinations[r->rank], bytes,
                                LLRT_COPY_FROM_DEVICE, NULL),
               "copy");
  harness_must(llrt_stream_synchronize(r->device, NULL), "copy");
  for (int64_t j = 0; j < columns; j++)
    for (int64_t i = 0; i < t->rows; i++) wrong += part[j * t->rows + i] != element(i, first + j);
  free(part);
  return wrong;
}

/* ---- what is run ---- */

static void run_all(const trial *t) {
  harness_must(llrt_reshard_run(t->reshard, t->r->sources, t->r->destinations, t->r->stream),
               "run");
}

static void run_moves(const trial *t) {
  harness_must(llrt_reshard_move(t->reshard, t->r->sources, t->r->destinations, t->r->stream),
               "move");
}

static void run_copy(const trial *t) {
  process_rank *r = t->r;
  size_t bytes = (size_t)(t->rows * t->columns) * 2 / (size_t)r->world->ranks;
  harness_must(llrt_memory_copy(r->device, r->destinations[r->rank], r->sources[r->rank], bytes,
                                LLRT_COPY_ON_DEVICE, r->stream),
               "copy");
}

static void prepare(trial *t, int64_t rows, int64_t columns) {
  process_rank *r = t->r;
  const int64_t shape[2] = {rows, columns};
  char from[64], to[64];
  llrt_sharding source, destination;
  const llrt_reshard_desc desc = {.source = &source,
                                  .destination = &destination,
                                  .shape = shape,
                                  .source_dtype = LLRT_B16,
                                  .destination_dtype = LLRT_B16};
  t->rows = rows;
  t->columns = columns;
  snprintf(from, sizeof from, "mesh(a=%d): P(a) o row_major", r->world->ranks);
  snprintf(to, sizeof to, "mesh(a=%d): P(None, a) o col_major", r->world->ranks);
  harness_must(llrt_sharding_parse(from, NULL, 2, shape, &source), from);
  harness_must(llrt_sharding_parse(to, NULL, 2, shape, &destination), to);
  harness_must(llrt_reshard_prepare(t->comm, &desc, r->stream, &t->reshard), "prepare");
  fill(t);
}

/* ---- times ---- */

/* Microseconds of one of several in a row, the median of `repeat`. */
static double measure(const trial *t, void (*run)(const trial *), bool replay) {
  process_rank *r = t->r;
  double sample[HARNESS_MAX_SAMPLES];
  llrt_event *start, *stop;
  cuda_graph graph;
  if (replay) {
    cuda_graph_begin(t->graphs);
    for (int j = 0; j < IN_A_ROW; j++) run(t);
    cuda_graph_end(t->graphs, &graph);
    cuda_graph_launch(t->graphs, &graph);
  }
  harness_must(llrt_event_create(r->device, &start), "event");
  harness_must(llrt_event_create(r->device, &stop), "event");
  for (int i = 0; i < r->world->options->repeat; i++) {
    harness_must(llrt_event_record(start, r->stream), "event");
    if (replay) cuda_graph_launch(t->graphs, &graph);
    else
      for (int j = 0; j < IN_A_ROW; j++) run(t);
    harness_must(llrt_event_record(stop, r->stream), "event");
    harness_must(llrt_event_elapsed(start, stop, &sample[i]), "event");
    sample[i] /= IN_A_ROW;
  }
  llrt_event_destroy(&start);
  llrt_event_destroy(&stop);
  if (replay) cuda_graph_destroy(t->graphs, &graph);
  return harness_summarise(sample, r->world->options->repeat).median;
}

/* The same with every rank for itself, while the others rest. */
static double measure_in_turn(const trial *t, void (*run)(const trial *)) {
  double time = 0;
  for (int rank = 0; rank < t->r->world->ranks; rank++) {
    pthread_barrier_wait(&t->r->world->together);
    if (rank == t->r->rank) time = measure(t, run, true);
    pthread_barrier_wait(&t->r->world->together);
  }
  return process_largest(t->r, time);
}

static void replay_once(const trial *t) {
  cuda_graph graph;
  cuda_graph_begin(t->graphs);
  run_all(t);
  cuda_graph_end(t->graphs, &graph);
  cuda_graph_launch(t->graphs, &graph);
  cuda_graph_launch(t->graphs, &graph);
  harness_must(llrt_comm_status(t->comm, t->r->stream), "replay");
  cuda_graph_destroy(t->graphs, &graph);
}

static int64_t check(const trial *t) {
  clear(t);
  run_all(t);
  harness_must(llrt_comm_status(t->comm, t->r->stream), "run");
  int64_t wrong = count_wrong(t);
  if (!t->graphs) return wrong;
  clear(t);
  replay_once(t);
  return wrong + count_wrong(t);
}

/* ---- cases ---- */

static int64_t run_large(trial *t) {
  int64_t ranks = t->r->world->ranks, side = 64 * ranks;
  while (4 * side * side * 2 / ranks <= part_bytes) side *= 2;
  prepare(t, side, side);
  int64_t wrong = check(t);
  double all = 0, moves = 0, copy = 0, total = process_largest(t->r, (double)wrong);
  if (t->graphs && !t->r->world->options->check_only) {
    all = process_largest(t->r, measure(t, run_all, true));
    moves = measure_in_turn(t, run_moves);
    copy = measure_in_turn(t, run_copy);
  }
  if (t->r->rank == 0) {
    printf("%-12s %12lld bytes a rank  %s", t->r->world->ipc ? "ipc" : "descriptors",
           (long long)(side * side * 2 / ranks), total > 0 ? "WRONG" : "right");
    if (copy > 0)
      printf("  whole %9.1f us   moves alone %9.1f us   local copy %9.1f us: %.3f of it", all,
             moves, copy, copy / moves);
    printf("\n");
    fflush(stdout);
  }
  llrt_reshard_destroy(&t->reshard);
  return wrong;
}

static void run_small(trial *t) {
  int ranks = t->r->world->ranks;
  for (int64_t bytes = SMALLEST; bytes <= LARGEST; bytes *= 8) {
    int64_t columns = bytes / 2 / ranks * ranks;
    if (columns < ranks) columns = ranks;
    prepare(t, ranks, columns);
    double plain = process_largest(t->r, measure(t, run_all, false));
    double replayed = process_largest(t->r, measure(t, run_all, true));
    if (t->r->rank == 0)
      printf("%-12s %12lld bytes a rank  a run %9.1f us   replayed %9.1f us\n",
             t->r->world->ipc ? "ipc" : "descriptors", (long long)columns * 2, plain, replayed);
    fflush(stdout);
    llrt_reshard_destroy(&t->reshard);
  }
}

static bool is_gpu(const char *device) { return strncmp(device, "cuda:", 5) == 0; }

static int run_rank(process_world *world, int rank) {
  process_rank r;
  trial t = {.r = &r};
  bool gpu = is_gpu(world->device[rank]);
  size_t bytes = (size_t)part_bytes > LARGEST ? (size_t)part_bytes : LARGEST;
  process_rank_open(world, rank, gpu ? bytes : (size_t)part_bytes, &r);
  if (gpu) t.graphs = cuda_graphs_create(world->device[rank]);
  if (gpu) r.stream = cuda_graphs_stream(t.graphs);
  const llrt_comm_params params = {
      .rank = rank, .ranks = world->ranks, .signals = r.signals, .timeout_ms = TIMEOUT_MS};
  harness_must(llrt_comm_create(r.device, &params, &t.comm), "communicator");
  int64_t wrong = run_large(&t);
  if (gpu && !world->options->check_only) run_small(&t);
  harness_must(llrt_comm_status(t.comm, r.stream), "communicator");
  pthread_barrier_wait(&world->together);
  llrt_comm_destroy(&t.comm);
  if (gpu) cuda_graphs_destroy(t.graphs);
  process_rank_close(&r);
  return wrong != 0;
}

int bench_reshard_processes(int argc, char *argv[]) {
  static const struct {
    const char *name;
    bool ipc;
  } ways[] = {{"descriptors", false}, {"ipc", true}};
  harness_options options;
  process_world world = {.options = &options};
  int failed = 0;
  harness_parse(argc, argv, &options);
  world.ranks = harness_device_names(&options, "cuda:0,cuda:0", PROCESS_MAX_RANKS, world.device);
  part_bytes = options.n_sizes ? options.size[0] : (int64_t)256 << 20;
  printf("reshard-processes: %d processes on %s\n", world.ranks,
         options.device ? options.device : "cuda:0,cuda:0");
  for (int i = 0; i < 2; i++) {
    bool host = strcmp(world.device[0], "host") == 0;
    if (!harness_takes(&options, ways[i].name) || (host && ways[i].ipc)) continue;
    if (options.list) printf("%s\n", ways[i].name);
    world.ipc = ways[i].ipc;
    if (!options.list) failed += process_world_run(&world, run_rank);
  }
  return failed != 0;
}
