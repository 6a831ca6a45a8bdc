/* Counts in device memory: one captured CUDA graph serves every count, and what that costs.
 *
 * Each case is captured once, prepared before, and replayed with 50 counts: edges, numbers beyond
 * the limits, random ones. After each replay the whole destination, poisoned before, is compared
 * with plain C. Then the cost, in graphs of RUNS runs one after the other, so that the launch of a
 * graph does not count: one run at the full count, the same conversion whose extents are the
 * launch's, one run at count 0, and the empty kernel; what count 0 takes beyond the empty kernel is
 * what its idle blocks cost.
 *
 * Where there are no CUDA graphs the same counts are compared after plain launches, at small sizes.
 */
#include "cuda_graph.h"
#include "empty_kernel.h"
#include "graph_case.h"
#include "harness.h"
#include "subcommands.h"

#include "runtime/described.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { COUNTS = 50, RUNS = 16, BATCH = 8, WARM_UP = 3 };

typedef struct graph_bench {
  harness *h;
  cuda_graphs *graphs; /* NULL: plain launches */
  void *stream;
  graph_data data;
  llrt_storage storage[2];
  llrt_index index;
  void *memory[2], *table, *count; /* on the device */
  unsigned char *found;            /* the destination, copied back */
  llrt_op *counted, *plain;
} graph_bench;

static const char *const kinds[] = {"count on the device", "extent of the launch"};

/* ---- what is run ---- */

/* Source and destination; `counted`: the outermost extent is read on the device. */
static void make_tensors(graph_bench *b, bool counted, llrt_tensor tensors[2]) {
  const graph_case *of = b->data.of;
  for (int t = 0; t < 2; t++) {
    tensors[t] = (llrt_tensor){.data = b->memory[t],
                               .dtype = of->dtype,
                               .rank = of->rank,
                               .shape = {b->data.limit},
                               .storage = &b->storage[t],
                               .device = b->h->device};
    memcpy(tensors[t].shape + 1, of->inner, (size_t)(of->rank - 1) * sizeof *of->inner);
  }
  if (counted) tensors[1].extent_ptr[0] = b->count;
  if (!of->paged) return;
  b->index = (llrt_index){.axis = 0,
                          .dtype = LLRT_I32,
                          .axes = 1,
                          .extent = b->data.pool,
                          .data = b->table,
                          .strides = {1}};
  tensors[0].indices = &b->index;
  tensors[0].n_indices = 1;
}

static llrt_op *prepare(graph_bench *b, bool counted) {
  llrt_op *op;
  op_description desc = {.kind = LLRT_OP_CONVERT, .n_tensors = 2};
  make_tensors(b, counted, desc.tensors);
  harness_must(described_promise(&desc), "promises");
  harness_must(described_prepare(b->h->device, &desc, &op), kinds[!counted]);
  return op;
}

static void run(graph_bench *b, bool counted) {
  llrt_tensor tensors[2];
  make_tensors(b, counted, tensors);
  harness_must(llrt_op_run(counted ? b->counted : b->plain, b->stream, tensors, 2, NULL),
               kinds[!counted]);
}

static void set_count(graph_bench *b, int32_t count) {
  harness_must(llrt_memory_copy(b->h->device, b->count, &count, sizeof count, LLRT_COPY_TO_DEVICE,
                                b->stream),
               "the count");
}

static void *send(graph_bench *b, const void *data, size_t bytes) {
  void *memory;
  harness_must(llrt_memory_allocate(b->h->device, bytes, &memory), "device memory");
  if (data)
    harness_must(
        llrt_memory_copy(b->h->device, memory, data, bytes, LLRT_COPY_TO_DEVICE, b->stream),
        "copy to the device");
  return memory;
}

static void bench_init(harness *h, cuda_graphs *graphs, const graph_case *of, graph_bench *b) {
  *b =
      (graph_bench){.h = h, .graphs = graphs, .stream = graphs ? cuda_graphs_stream(graphs) : NULL};
  bool large = graphs && !h->options.check_only;
  if (!graph_data_init(of, large ? of->large : of->small, h->options.seed, &b->data))
    harness_must(LLRT_OUT_OF_MEMORY, "host memory");
  int64_t shape[LLRT_MAX_RANK] = {b->data.limit};
  memcpy(shape + 1, of->inner, (size_t)(of->rank - 1) * sizeof *of->inner);
  harness_must(llrt_storage_parse(of->from, of->rank, shape, &b->storage[0]), of->from);
  harness_must(llrt_storage_parse(of->to, of->rank, shape, &b->storage[1]), of->to);
  b->memory[0] = send(b, b->data.source, b->data.source_bytes);
  b->memory[1] = send(b, NULL, b->data.destination_bytes);
  b->count = send(b, NULL, sizeof(int32_t));
  if (of->paged) b->table = send(b, b->data.table, (size_t)b->data.limit * sizeof *b->data.table);
  b->found = malloc(b->data.destination_bytes);
  if (!b->found) harness_must(LLRT_OUT_OF_MEMORY, "host memory");
  b->counted = prepare(b, true);
  b->plain = prepare(b, false);
}

static void bench_fini(graph_bench *b) {
  llrt_op_destroy(&b->counted);
  llrt_op_destroy(&b->plain);
  for (int t = 0; t < 2; t++) llrt_memory_free(b->h->device, b->memory[t]);
  llrt_memory_free(b->h->device, b->count);
  if (b->table) llrt_memory_free(b->h->device, b->table);
  free(b->found);
  graph_data_fini(&b->data);
}

/* ---- checking ---- */

/* The edges first, and what counts as an edge; then any. */
static int32_t count_number(const graph_bench *b, int i) {
  int32_t limit = (int32_t)b->data.limit;
  const int32_t edges[] = {0,  limit,     1,         limit - 1, limit / 2,
                           -1, limit + 1, INT32_MIN, INT32_MAX, 0};
  enum { EDGES = sizeof edges / sizeof *edges };
  if (i < EDGES) return edges[i];
  return (int32_t)(harness_mix(b->h->options.seed + (uint64_t)i) % (uint64_t)(limit + 1));
}

/* Runs into poison, by replaying the graph where there is one, and compares all of the destination.
 */
static bool is_right(graph_bench *b, const cuda_graph *graph, int32_t count) {
  llrt_device *device = b->h->device;
  size_t bytes = b->data.destination_bytes;
  set_count(b, count);
  harness_must(llrt_memory_set(device, b->memory[1], GRAPH_POISON, bytes, b->stream), "poison");
  if (graph) cuda_graph_launch(b->graphs, graph);
  else run(b, true);
  harness_must(
      llrt_memory_copy(device, b->found, b->memory[1], bytes, LLRT_COPY_FROM_DEVICE, b->stream),
      "copy from the device");
  harness_must(llrt_stream_synchronize(device, b->stream), "run");
  int64_t wrong = graph_data_wrong(&b->data, count, b->found);
  if (wrong > 0)
    printf("%s: WRONG at count %" PRId32 " of %" PRId64 ": %" PRId64 " elements\n",
           b->data.of->name, count, b->data.limit, wrong);
  return wrong == 0;
}

static bool check_counts(graph_bench *b, const cuda_graph *graph) {
  bool right = true;
  for (int i = 0; i < COUNTS; i++) right &= is_right(b, graph, count_number(b, i));
  return right;
}

/* ---- timing ---- */

typedef enum what { WHAT_COUNTED, WHAT_PLAIN, WHAT_EMPTY } what;

static void capture(graph_bench *b, what is, int runs, const ptx_kernel *empty, cuda_graph *graph) {
  cuda_graph_begin(b->graphs);
  for (int i = 0; i < runs; i++) {
    if (is == WHAT_EMPTY) empty_kernel_launch(empty, b->stream);
    else run(b, is == WHAT_COUNTED);
  }
  cuda_graph_end(b->graphs, graph);
}

/* Microseconds of one run, of RUNS in the graph. */
static double time_replays(graph_bench *b, const cuda_graph *graph) {
  llrt_event *start, *stop;
  double microseconds;
  harness_must(llrt_event_create(b->h->device, &start), "event");
  harness_must(llrt_event_create(b->h->device, &stop), "event");
  cuda_graph_launch(b->graphs, graph); /* the next are queued while it runs */
  harness_must(llrt_event_record(start, b->stream), "event");
  for (int i = 0; i < BATCH; i++) cuda_graph_launch(b->graphs, graph);
  harness_must(llrt_event_record(stop, b->stream), "event");
  harness_must(llrt_event_elapsed(start, stop, &microseconds), "event");
  llrt_event_destroy(&start);
  llrt_event_destroy(&stop);
  return microseconds / (BATCH * RUNS);
}

typedef struct graph_times {
  harness_statistic full, plain, zero, empty;
  int64_t blocks;
} graph_times;

/* All four in turn, so that no drift of the clock favours one. */
static graph_times measure(graph_bench *b) {
  double samples[4][HARNESS_MAX_SAMPLES];
  cuda_graph graphs[3];
  graph_times times;
  ptx_kernel *empty = empty_kernel_create(b->h->info.name);
  empty_kernel_launch(empty,
                      b->stream); /* the driver may load it no sooner, and not in a capture */
  for (what is = WHAT_COUNTED; is <= WHAT_EMPTY; is++) capture(b, is, RUNS, empty, &graphs[is]);
  for (int i = -WARM_UP; i < b->h->options.repeat; i++) {
    int at = i < 0 ? 0 : i;
    set_count(b, (int32_t)b->data.limit);
    samples[0][at] = time_replays(b, &graphs[WHAT_COUNTED]);
    samples[1][at] = time_replays(b, &graphs[WHAT_PLAIN]);
    set_count(b, 0);
    samples[2][at] = time_replays(b, &graphs[WHAT_COUNTED]);
    samples[3][at] = time_replays(b, &graphs[WHAT_EMPTY]);
  }
  times.full = harness_summarise(samples[0], b->h->options.repeat);
  times.plain = harness_summarise(samples[1], b->h->options.repeat);
  times.zero = harness_summarise(samples[2], b->h->options.repeat);
  times.empty = harness_summarise(samples[3], b->h->options.repeat);
  times.blocks = cuda_graph_blocks(b->graphs, &graphs[WHAT_COUNTED]) / RUNS;
  for (what is = WHAT_COUNTED; is <= WHAT_EMPTY; is++) cuda_graph_destroy(b->graphs, &graphs[is]);
  ptx_kernel_destroy(empty);
  return times;
}

static void report(graph_bench *b, const graph_times *t) {
  const graph_case *of = b->data.of;
  double idle = (t->zero.median - t->empty.median) / (double)t->blocks * 1e3;
  double moved = (double)(b->data.limit * b->data.inner) * (double)b->data.element;
  printf("%-28s %7" PRId64 " %7" PRId64 " %9.2f %9.2f %6.3f %9.2f %9.2f %9.3f %8.1f\n", of->name,
         b->data.limit, t->blocks, t->full.median, t->plain.median,
         t->full.median / t->plain.median, t->zero.median, t->empty.median, idle,
         2e-3 * moved / t->full.median);
  harness_record(b->h, of->name,
                 "\"limit\":%" PRId64 ",\"counts\":%d,\"blocks\":%" PRId64 ",\"bytes\":%.0f,"
                 "\"full_us\":%.3f,\"full_min_us\":%.3f,\"full_max_us\":%.3f,\"plain_us\":%.3f,"
                 "\"plain_min_us\":%.3f,\"plain_max_us\":%.3f,\"zero_us\":%.3f,\"empty_us\":%.3f,"
                 "\"idle_us_per_1000_blocks\":%.4f,\"n\":%d",
                 b->data.limit, COUNTS, t->blocks, moved, t->full.median, t->full.min, t->full.max,
                 t->plain.median, t->plain.min, t->plain.max, t->zero.median, t->empty.median, idle,
                 t->full.count);
}

/* ---- all cases ---- */

static void report_checked(graph_bench *b) {
  const graph_case *of = b->data.of;
  printf("%-28s %7" PRId64 "  %d counts are right, %s\n", of->name, b->data.limit, COUNTS,
         b->graphs ? "one graph" : "plain launches");
  harness_record(b->h, of->name, "\"limit\":%" PRId64 ",\"counts\":%d,\"graph\":%s", b->data.limit,
                 COUNTS, b->graphs ? "true" : "false");
}

static bool run_case(harness *h, cuda_graphs *graphs, const graph_case *of) {
  graph_bench b;
  cuda_graph graph;
  bench_init(h, graphs, of, &b);
  if (graphs) capture(&b, WHAT_COUNTED, 1, NULL, &graph);
  bool right = check_counts(&b, graphs ? &graph : NULL);
  if (graphs) cuda_graph_destroy(graphs, &graph);
  if (right && graphs && !h->options.check_only) {
    graph_times times = measure(&b);
    report(&b, &times);
  } else if (right) {
    report_checked(&b);
  }
  bench_fini(&b);
  return right;
}

static void print_heading(const harness *h, bool graphs) {
  if (h->options.list) return;
  if (!graphs)
    printf("%s has no CUDA graphs: plain launches at small sizes, compared but not timed\n",
           h->info.name);
  else if (!h->options.check_only)
    printf("%-28s %7s %7s %9s %9s %6s %9s %9s %9s %8s\n", "case", "limit", "blocks", "full us",
           "plain us", "ratio", "zero us", "empty us", "idle/1000", "GB/s");
}

int bench_graph(int argc, char *argv[]) {
  harness_options options;
  harness h;
  bool right = true;
  harness_parse(argc, argv, &options);
  harness_init(&options, &h);
  bool possible = strncmp(h.info.name, "cuda:", 5) == 0;
  cuda_graphs *graphs = possible && !options.list ? cuda_graphs_create(h.info.name) : NULL;
  print_heading(&h, possible);
  for (int i = 0; i < GRAPH_CASES; i++) {
    if (!harness_wants(&h, graph_cases[i].name)) continue;
    if (options.list) printf("%s\n", graph_cases[i].name);
    else right &= run_case(&h, graphs, &graph_cases[i]);
    fflush(stdout);
  }
  if (graphs) cuda_graphs_destroy(graphs);
  harness_fini(&h);
  return right ? 0 : 1;
}
