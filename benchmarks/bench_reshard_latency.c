/* Rows to columns of small tensors over the GPUs of a host, a thread for each: how long one takes,
 * of many queued in a row and of as many in a graph, by peers' memory, by NCCL, and NCCL's bare
 * sends and receives of the same bytes. --sizes: bytes that each rank sends to each other one.
 * Stored by rows nothing is packed; transposed, what arrives is unpacked or what goes is packed. */
#include "cuda_graph.h"
#include "harness.h"
#include "nccl_calls.h"
#include "subcommands.h"

#include <llrt/reshard.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANKS = 8, TIMEOUT_MS = 20000, IN_A_ROW = 20, WIDTH = 2 /* bytes of an element */ };

static const struct {
  const char *name, *destination;
} cases[] = {{"rows to columns", "P(None, a) o row_major"},
             {"rows to columns, transposed", "P(None, a) o col_major"}};
enum { CASE_COUNT = sizeof cases / sizeof cases[0] };

/* Peers' memory is written, or read; or NCCL's messages. */
typedef enum way { BY_WRITING, BY_READING, BY_NCCL } way;

typedef struct shared {
  const harness_options *options;
  int ranks, of; /* of: the case */
  bool transposed;
  int64_t columns; /* of each rank */
  llrt_sharding source, destination;
  pthread_barrier_t together;
  llrt_device *device[MAX_RANKS];
  void *sources[MAX_RANKS], *destinations[MAX_RANKS], *signals[MAX_RANKS];
  llrt_nccl_id id[2];
} shared;

/* us of one; 0: not measured */
typedef struct times {
  double eager, graph;
} times;

typedef struct rank_run {
  shared *of;
  int rank;
  char device[32];
  cuda_graphs *graphs; /* NULL: no GPU */
  void *stream;
  int64_t bytes, wrong; /* bytes of a part */
  times peers, reading, nccl, given, bare;
} rank_run;

/* What is timed. */
typedef struct work {
  const rank_run *r;
  const llrt_reshard *reshard;
  const nccl_calls *calls;
} work;

static void run_once(const work *w) {
  const shared *s = w->r->of;
  int own = w->r->rank;
  if (w->calls)
    nccl_calls_all_to_all(w->calls, s->sources[own], s->destinations[own],
                          (size_t)s->columns * WIDTH, w->r->stream);
  else
    harness_must(llrt_reshard_run(w->reshard, s->sources, s->destinations, w->r->stream),
                 "reshard");
}

/* ---- data ---- */

static uint16_t value_at(int64_t row, int64_t column) {
  return (uint16_t)harness_mix((uint64_t)(row << 32 | column));
}

static uint16_t *new_part(const rank_run *r) {
  uint16_t *part = malloc((size_t)r->bytes);
  if (!part) harness_end(1);
  return part;
}

static void copy(const rank_run *r, void *to, const void *from, llrt_copy_kind kind) {
  llrt_device *device = r->of->device[r->rank];
  harness_must(llrt_memory_copy(device, to, from, (size_t)r->bytes, kind, r->stream), "copy");
  harness_must(llrt_stream_synchronize(device, r->stream), "synchronize");
}

static void fill(const rank_run *r) {
  uint16_t *part = new_part(r);
  for (int64_t i = 0; i < r->bytes / WIDTH; i++) part[i] = value_at(r->rank, i);
  copy(r, r->of->sources[r->rank], part, LLRT_COPY_TO_DEVICE);
  memset(part, 0xff, (size_t)r->bytes);
  copy(r, r->of->destinations[r->rank], part, LLRT_COPY_TO_DEVICE);
  free(part);
  pthread_barrier_wait(&r->of->together);
}

static int64_t count_wrong(const rank_run *r) {
  const shared *s = r->of;
  uint16_t *part = new_part(r);
  int64_t wrong = 0;
  copy(r, part, s->destinations[r->rank], LLRT_COPY_FROM_DEVICE);
  for (int64_t row = 0; row < s->ranks; row++)
    for (int64_t column = 0; column < s->columns; column++) {
      int64_t at = s->transposed ? column * s->ranks + row : row * s->columns + column;
      wrong += part[at] != value_at(row, r->rank * s->columns + column);
    }
  free(part);
  return wrong;
}

/* ---- time ---- */

static void queue_eager(const work *w, const cuda_graph *graph) {
  (void)graph;
  for (int i = 0; i < IN_A_ROW; i++) run_once(w);
}

static void queue_graph(const work *w, const cuda_graph *graph) {
  cuda_graph_launch(w->r->graphs, graph);
}

static double measure(const work *w, const cuda_graph *graph,
                      void (*queue)(const work *w, const cuda_graph *graph)) {
  const rank_run *r = w->r;
  llrt_device *device = r->of->device[r->rank];
  double sample[HARNESS_MAX_SAMPLES];
  llrt_event *start, *stop;
  harness_must(llrt_event_create(device, &start), "event");
  harness_must(llrt_event_create(device, &stop), "event");
  for (int i = 0; i < r->of->options->repeat; i++) {
    pthread_barrier_wait(&r->of->together);
    run_once(w); /* all have come */
    harness_must(llrt_event_record(start, r->stream), "event");
    queue(w, graph);
    harness_must(llrt_event_record(stop, r->stream), "event");
    harness_must(llrt_event_elapsed(start, stop, &sample[i]), "event");
    sample[i] /= IN_A_ROW;
  }
  llrt_event_destroy(&start);
  llrt_event_destroy(&stop);
  return harness_summarise(sample, r->of->options->repeat).median;
}

/* Compares and times; what is right eagerly has to be so replayed. */
static void measure_all(rank_run *r, const work *w, times *out) {
  cuda_graph graph;
  fill(r);
  run_once(w);
  harness_must(llrt_stream_synchronize(r->of->device[r->rank], r->stream), "synchronize");
  if (!w->calls) r->wrong += count_wrong(r);
  if (r->of->options->check_only) return;
  out->eager = measure(w, NULL, queue_eager);
  if (!r->graphs) return;
  pthread_barrier_wait(&r->of->together);
  cuda_graph_begin_beside(r->graphs);
  queue_eager(w, NULL);
  cuda_graph_end(r->graphs, &graph);
  fill(r);
  queue_graph(w, &graph);
  harness_must(llrt_stream_synchronize(r->of->device[r->rank], r->stream), "synchronize");
  if (!w->calls) r->wrong += count_wrong(r);
  out->graph = measure(w, &graph, queue_graph);
  pthread_barrier_wait(&r->of->together);
  cuda_graph_destroy(r->graphs, &graph);
}

/* ---- a rank ---- */

/* given: by the caller's communicator; NULL: by one of llrt's own. */
static void run_path(rank_run *r, way by, void *given, times *out) {
  shared *s = r->of;
  bool by_nccl = by == BY_NCCL;
  llrt_comm *comm;
  llrt_reshard *reshard;
  const int64_t shape[2] = {s->ranks, s->ranks * s->columns};
  const llrt_comm_params params = {.size = sizeof params,
                                   .rank = r->rank,
                                   .ranks = s->ranks,
                                   .signals = by_nccl ? NULL : s->signals,
                                   .timeout_ms = TIMEOUT_MS,
                                   .nccl = given,
                                   .nccl_id = by_nccl && !given ? &s->id[0] : NULL,
                                   .nccl_library = s->options->nccl};
  const llrt_reshard_desc desc = {.size = sizeof desc,
                                  .source = &s->source,
                                  .destination = &s->destination,
                                  .shape = shape,
                                  .source_dtype = LLRT_B16,
                                  .destination_dtype = LLRT_B16,
                                  .access =
                                      by == BY_READING ? LLRT_RESHARD_READ : LLRT_RESHARD_WRITE};
  harness_must(llrt_comm_create(s->device[r->rank], &params, &comm), "communicator");
  harness_must(llrt_reshard_prepare(comm, &desc, r->stream, &reshard), "prepare");
  const work w = {.r = r, .reshard = reshard};
  measure_all(r, &w, out);
  harness_must(llrt_comm_status(comm, r->stream), "communicator");
  pthread_barrier_wait(&s->together);
  llrt_reshard_destroy(&reshard);
  llrt_comm_destroy(&comm);
}

static void run_bare(rank_run *r) {
  shared *s = r->of;
  nccl_calls *calls = nccl_calls_open(s->options->nccl, &s->id[1], r->rank, s->ranks);
  run_path(r, BY_NCCL, nccl_calls_comm(calls), &r->given);
  const work w = {.r = r, .calls = calls};
  measure_all(r, &w, &r->bare);
  pthread_barrier_wait(&s->together);
  nccl_calls_close(calls);
}

static void open_rank(rank_run *r, llrt_context **context) {
  shared *s = r->of;
  size_t bytes;
  harness_must(llrt_context_create(NULL, context), "context");
  harness_must(llrt_device_open(*context, r->device, NULL, &s->device[r->rank]), r->device);
  llrt_device *device = s->device[r->rank];
  if (strncmp(r->device, "cuda:", 5) == 0) {
    r->graphs = cuda_graphs_create(r->device);
    r->stream = cuda_graphs_stream(r->graphs);
  }
  r->bytes = s->ranks * s->columns * WIDTH;
  harness_must(llrt_comm_signal_bytes(s->ranks, &bytes), "signals");
  harness_must(llrt_memory_allocate(device, bytes, &s->signals[r->rank]), "memory");
  harness_must(llrt_memory_set(device, s->signals[r->rank], 0, bytes, r->stream), "memory");
  harness_must(llrt_memory_allocate(device, (size_t)r->bytes, &s->sources[r->rank]), "memory");
  harness_must(llrt_memory_allocate(device, (size_t)r->bytes, &s->destinations[r->rank]), "memory");
  harness_must(llrt_stream_synchronize(device, r->stream), "synchronize");
  if (r->rank == 0 && s->options->by_nccl)
    for (int i = 0; i < 2; i++)
      harness_must(llrt_nccl_id_create(device, s->options->nccl, &s->id[i]), "NCCL");
  pthread_barrier_wait(&s->together);
  bool reaches = s->options->by_peers || s->options->by_reading;
  for (int other = 0; other < s->ranks && reaches; other++)
    harness_must(llrt_device_reach_peer(device, s->device[other]), "peer");
  pthread_barrier_wait(&s->together);
}

static void *rank_main(void *data) {
  rank_run *r = data;
  shared *s = r->of;
  llrt_context *context;
  open_rank(r, &context);
  if (s->options->by_peers) run_path(r, BY_WRITING, NULL, &r->peers);
  if (s->options->by_reading) run_path(r, BY_READING, NULL, &r->reading);
  if (s->options->by_nccl) run_path(r, BY_NCCL, NULL, &r->nccl);
  if (s->options->by_nccl && r->graphs && !s->options->check_only) run_bare(r);
  llrt_device *device = s->device[r->rank];
  pthread_barrier_wait(&s->together);
  llrt_memory_free(device, s->signals[r->rank]);
  llrt_memory_free(device, s->sources[r->rank]);
  llrt_memory_free(device, s->destinations[r->rank]);
  if (r->graphs) cuda_graphs_destroy(r->graphs);
  llrt_device_close(&s->device[r->rank]);
  llrt_context_destroy(&context);
  return NULL;
}

/* ---- cases ---- */

static void take_slower(const times *from, times *to) {
  if (from->eager > to->eager) to->eager = from->eager;
  if (from->graph > to->graph) to->graph = from->graph;
}

static void print_times(const char *name, const times *t) {
  if (t->eager > 0) printf("  %s %8.2f", name, t->eager);
  if (t->graph > 0) printf(" graph %8.2f", t->graph);
}

static bool run_case(const harness_options *options, int of, int ranks, char devices[][32],
                     int64_t bytes) {
  shared s = {.options = options, .ranks = ranks, .of = of, .transposed = of == 1};
  rank_run run[MAX_RANKS], slowest = {.rank = 0};
  pthread_t thread[MAX_RANKS];
  llrt_mesh mesh;
  char text[32];
  s.columns = bytes / WIDTH ? bytes / WIDTH : 1;
  snprintf(text, sizeof text, "mesh(a=%d)", ranks);
  harness_must(llrt_mesh_parse(text, &mesh), "mesh");
  harness_must(llrt_sharding_parse("P(a, None) o row_major", &mesh, 2, NULL, &s.source), "source");
  harness_must(llrt_sharding_parse(cases[of].destination, &mesh, 2, NULL, &s.destination),
               "destination");
  pthread_barrier_init(&s.together, NULL, (unsigned)ranks);
  for (int r = 0; r < ranks; r++) {
    run[r] = (rank_run){.of = &s, .rank = r};
    memcpy(run[r].device, devices[r], sizeof run[r].device);
    if (pthread_create(&thread[r], NULL, rank_main, &run[r]) != 0) harness_end(1);
  }
  for (int r = 0; r < ranks; r++) {
    pthread_join(thread[r], NULL);
    slowest.wrong += run[r].wrong;
    take_slower(&run[r].peers, &slowest.peers);
    take_slower(&run[r].reading, &slowest.reading);
    take_slower(&run[r].nccl, &slowest.nccl);
    take_slower(&run[r].given, &slowest.given);
    take_slower(&run[r].bare, &slowest.bare);
  }
  pthread_barrier_destroy(&s.together);
  printf("%-28s %9lld B %s", cases[of].name, (long long)(s.columns * WIDTH),
         slowest.wrong ? "WRONG" : "right");
  print_times("peers", &slowest.peers);
  print_times("reading", &slowest.reading);
  print_times("NCCL", &slowest.nccl);
  print_times("given", &slowest.given);
  print_times("bare", &slowest.bare);
  printf("\n");
  fflush(stdout);
  return slowest.wrong == 0;
}

int bench_reshard_latency(int argc, char *argv[]) {
  static const int64_t preset[] = {8, 64, 512, 4096, 32768, 262144, 1048576, 4194304, 16777216};
  harness_options options;
  char devices[MAX_RANKS][32];
  bool right = true;
  harness_parse(argc, argv, &options);
  int ranks = harness_device_names(&options, "cuda:0,cuda:1", MAX_RANKS, devices);
  for (int i = 0; options.n_sizes == 0 && i < (int)(sizeof preset / sizeof *preset); i++)
    options.size[i] = preset[i];
  if (options.n_sizes == 0) options.n_sizes = sizeof preset / sizeof *preset;
  printf("reshard-latency: %d ranks, us of one, %d in a row; bytes to each other rank\n", ranks,
         IN_A_ROW);
  for (int of = 0; of < CASE_COUNT; of++) {
    if (!harness_takes(&options, cases[of].name)) continue;
    if (options.list) printf("%s\n", cases[of].name);
    for (int size = 0; size < options.n_sizes && !options.list; size++)
      right &= run_case(&options, of, ranks, devices, options.size[size]);
  }
  return !right;
}
