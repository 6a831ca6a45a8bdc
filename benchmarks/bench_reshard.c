/* Whole tensors from one sharding to another over the GPUs of a host (or several emulated ones), a
 * thread for each: compared in full, then timed beside a copy of a rank's bytes in its own memory
 * and the bytes that cross, as copies into the others' memory or as NCCL's bare sends and receives.
 * --device names the ranks' devices with commas between. GB/s counts the bytes that a rank sends,
 * or where nothing crosses those that it reads and writes. */
#include "cuda_driver.h"
#include "harness.h"
#include "nccl_calls.h"
#include "subcommands.h"

#include <llrt/reshard.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MIB(n) ((int64_t)(n) << 20)

enum { MAX_RANKS = 8, SIGNAL_TIMEOUT_MS = 20000 };

typedef struct reshard_case {
  const char *name, *source, *destination; /* over mesh(a=…) */
  int rank;
  llrt_dtype to;
} reshard_case;

static const reshard_case cases[] = {
    {"rows to columns, transposed", "P(a, None) o row_major", "P(None, a) o col_major", 2,
     LLRT_BF16},
    {"rows to columns", "P(a, None) o row_major", "P(None, a) o row_major", 2, LLRT_BF16},
    {"Shard(0) to Shard(1)", "P(a) o row_major", "P(None, a) o row_major", 4, LLRT_BF16},
    {"replicated to sharded", "P(None, None) o row_major", "P(a, None) o row_major", 2, LLRT_BF16},
    {"rows to columns, e4m3", "P(a, None) o row_major", "P(None, a) o col_major", 2, LLRT_E4M3},
};
enum { CASE_COUNT = sizeof cases / sizeof cases[0] };

/* One run of one case, shared by its ranks. */
typedef struct shared {
  const harness_options *options;
  const reshard_case *c;
  llrt_sharding source, destination;
  int64_t shape[LLRT_MAX_RANK];
  int ranks;
  pthread_barrier_t together;
  llrt_device *device[MAX_RANKS];
  void *sources[MAX_RANKS], *destinations[MAX_RANKS], *signals[MAX_RANKS];
  llrt_nccl_id id[2]; /* of llrt's communicator, of that of bare calls */
} shared;

typedef struct rank_run {
  shared *of;
  int rank;
  char device[32];
  int64_t wrong, source_bytes, destination_bytes, crossing_bytes;
  double peers, nccl, local, copies, bare; /* us; 0: not measured */
} rank_run;

/* ---- elements ---- */

/* Small integers, which every type holds. */
static int value_at(const shared *s, const int64_t *coords) {
  uint64_t number = s->options->seed;
  for (int axis = 0; axis < s->c->rank; axis++)
    number = number * (uint64_t)s->shape[axis] + (uint64_t)coords[axis];
  return (int)(harness_mix(number) & 7);
}

static unsigned code_of(llrt_dtype dtype, int value) {
  static const uint16_t bf16[] = {0, 0x3f80, 0x4000, 0x4040, 0x4080, 0x40a0, 0x40c0, 0x40e0};
  static const uint8_t e4m3[] = {0, 0x38, 0x40, 0x44, 0x48, 0x4a, 0x4c, 0x4e};
  return dtype == LLRT_BF16 ? bf16[value] : e4m3[value];
}

/* Fills a part's bytes, or counts those of its elements that are wrong. */
static int64_t visit(const shared *s, const llrt_sharding *sharding, llrt_dtype dtype, int rank,
                     uint8_t *bytes, bool compare) {
  llrt_part part;
  llrt_storage_binding binding;
  int64_t elements = 1, wrong = 0;
  int width = llrt_dtype_bits(dtype) / 8;
  harness_must(llrt_sharding_part(sharding, s->shape, rank, &part), "part");
  harness_must(llrt_storage_bind(&sharding->storage, sharding->rank, part.extent, NULL, &binding),
               "bind");
  for (int axis = 0; axis < sharding->rank; axis++) elements *= part.extent[axis];
#pragma omp parallel for reduction(+ : wrong)
  for (int64_t i = 0; i < elements; i++) {
    int64_t local[LLRT_MAX_RANK], coords[LLRT_MAX_RANK], rest = i;
    for (int axis = sharding->rank - 1; axis >= 0; axis--) {
      local[axis] = rest % part.extent[axis];
      coords[axis] = part.begin[axis] + local[axis];
      rest /= part.extent[axis];
    }
    unsigned code = code_of(dtype, value_at(s, coords));
    uint8_t *at = bytes + llrt_storage_offset(&sharding->storage, &binding, local) * width;
    if (compare) wrong += memcmp(at, &code, (size_t)width) != 0; /* little-endian */
    else memcpy(at, &code, (size_t)width);
  }
  return wrong;
}

static int64_t part_bytes(const shared *s, const llrt_sharding *sharding, llrt_dtype dtype,
                          int rank) {
  llrt_part part;
  llrt_storage_binding binding;
  int64_t bytes;
  harness_must(llrt_sharding_part(sharding, s->shape, rank, &part), "part");
  harness_must(llrt_storage_bind(&sharding->storage, sharding->rank, part.extent, NULL, &binding),
               "bind");
  harness_must(llrt_storage_bytes(&binding, llrt_dtype_bits(dtype), &bytes), "bytes");
  return bytes;
}

/* ---- a rank ---- */

static void fill_source(rank_run *r) {
  shared *s = r->of;
  uint8_t *bytes = malloc((size_t)r->source_bytes);
  if (!bytes) exit(1);
  visit(s, &s->source, LLRT_BF16, r->rank, bytes, false);
  llrt_device *device = s->device[r->rank];
  harness_must(llrt_memory_copy(device, s->sources[r->rank], bytes, (size_t)r->source_bytes,
                                LLRT_COPY_TO_DEVICE, NULL),
               "copy");
  harness_must(llrt_stream_synchronize(device, NULL), "synchronize");
  free(bytes);
}

/* Before others may write to it: what is compared is this path's. */
static void forget_destination(const rank_run *r) {
  shared *s = r->of;
  llrt_device *device = s->device[r->rank];
  harness_must(
      llrt_memory_set(device, s->destinations[r->rank], 0xff, (size_t)r->destination_bytes, NULL),
      "set");
  harness_must(llrt_stream_synchronize(device, NULL), "synchronize");
  pthread_barrier_wait(&s->together);
}

static void check_destination(rank_run *r) {
  shared *s = r->of;
  uint8_t *bytes = malloc((size_t)r->destination_bytes);
  if (!bytes) exit(1);
  llrt_device *device = s->device[r->rank];
  harness_must(llrt_memory_copy(device, bytes, s->destinations[r->rank],
                                (size_t)r->destination_bytes, LLRT_COPY_FROM_DEVICE, NULL),
               "copy");
  harness_must(llrt_stream_synchronize(device, NULL), "synchronize");
  r->wrong += visit(s, &s->destination, s->c->to, r->rank, bytes, true);
  free(bytes);
}

/* What is timed. */
typedef struct work {
  rank_run *r;
  const llrt_reshard *reshard;
  const nccl_calls *calls;
} work;

static void run_fused(const work *w) {
  shared *s = w->r->of;
  harness_must(llrt_reshard_run(w->reshard, s->sources, s->destinations, NULL), "reshard");
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static void run_local(const work *w) {
  shared *s = w->r->of;
  int64_t bytes = smaller(w->r->source_bytes, w->r->destination_bytes);
  harness_must(llrt_memory_copy(s->device[w->r->rank], s->destinations[w->r->rank],
                                s->sources[w->r->rank], (size_t)bytes, LLRT_COPY_ON_DEVICE, NULL),
               "copy");
}

static void run_bare(const work *w) {
  shared *s = w->r->of;
  int others = s->ranks > 1 ? s->ranks - 1 : 1;
  nccl_calls_all_to_all(w->calls, s->sources[w->r->rank], s->destinations[w->r->rank],
                        (size_t)(w->r->crossing_bytes / others), NULL);
}

/* The bytes that cross, in one piece for each other rank, the next one first. */
static void run_copies(const work *w) {
  shared *s = w->r->of;
  int64_t piece = w->r->crossing_bytes / (s->ranks > 1 ? s->ranks - 1 : 1) / 256 * 256;
  for (int i = 1; i < s->ranks; i++) {
    int to = (w->r->rank + i) % s->ranks;
    if (piece > 0)
      harness_must(llrt_memory_copy(s->device[w->r->rank],
                                    (char *)s->destinations[to] + (i - 1) * piece,
                                    (char *)s->sources[w->r->rank] + (i - 1) * piece, (size_t)piece,
                                    LLRT_COPY_ON_DEVICE, NULL),
                   "copy to a peer");
  }
}

/* Microseconds of one of several in a row, begun by all ranks together; the median of `repeat`. */
static double measure(rank_run *r, const work *w, void (*run)(const work *w)) {
  enum { IN_A_ROW = 4 };
  shared *s = r->of;
  llrt_device *device = s->device[r->rank];
  double sample[HARNESS_MAX_SAMPLES];
  llrt_event *start, *stop;
  harness_must(llrt_event_create(device, &start), "event");
  harness_must(llrt_event_create(device, &stop), "event");
  for (int i = 0; i < s->options->repeat; i++) {
    pthread_barrier_wait(&s->together);
    run(w);
    harness_must(llrt_event_record(start, NULL), "event");
    for (int j = 0; j < IN_A_ROW; j++) run(w);
    harness_must(llrt_event_record(stop, NULL), "event");
    harness_must(llrt_event_elapsed(start, stop, &sample[i]), "event");
    sample[i] /= IN_A_ROW;
  }
  llrt_event_destroy(&start);
  llrt_event_destroy(&stop);
  return harness_summarise(sample, s->options->repeat).median;
}

static void open_rank(rank_run *r, llrt_context **context) {
  shared *s = r->of;
  size_t bytes;
  harness_must(llrt_context_create(NULL, context), "context");
  harness_must(llrt_device_open(*context, r->device, NULL, &s->device[r->rank]), r->device);
  llrt_device *device = s->device[r->rank];
  r->source_bytes = part_bytes(s, &s->source, LLRT_BF16, r->rank);
  r->destination_bytes = part_bytes(s, &s->destination, s->c->to, r->rank);
  harness_must(llrt_comm_signal_bytes(s->ranks, &bytes), "signals");
  harness_must(llrt_memory_allocate(device, bytes, &s->signals[r->rank]), "memory");
  harness_must(llrt_memory_set(device, s->signals[r->rank], 0, bytes, NULL), "memory");
  harness_must(llrt_memory_allocate(device, (size_t)r->source_bytes, &s->sources[r->rank]),
               "memory");
  harness_must(
      llrt_memory_allocate(device, (size_t)r->destination_bytes, &s->destinations[r->rank]),
      "memory");
  fill_source(r);
  pthread_barrier_wait(&s->together);
  for (int other = 0; other < s->ranks && s->options->by_peers; other++)
    harness_must(llrt_device_reach_peer(device, s->device[other]), "peer");
  if (r->rank == 0 && s->options->by_nccl)
    for (int i = 0; i < 2; i++)
      harness_must(llrt_nccl_id_create(device, s->options->nccl, &s->id[i]), "NCCL");
  pthread_barrier_wait(&s->together);
}

static void close_rank(rank_run *r, llrt_context **context) {
  shared *s = r->of;
  llrt_device *device = s->device[r->rank];
  pthread_barrier_wait(&s->together);
  llrt_memory_free(device, s->signals[r->rank]);
  llrt_memory_free(device, s->sources[r->rank]);
  llrt_memory_free(device, s->destinations[r->rank]);
  llrt_device_close(&s->device[r->rank]);
  llrt_context_destroy(context);
}

/* Runs the case by one path and compares the result; the time of a run, or 0. */
static double run_path(rank_run *r, bool by_nccl) {
  shared *s = r->of;
  llrt_comm *comm;
  llrt_reshard *reshard;
  double time = 0;
  const llrt_comm_params params = {.size = sizeof params,
                                   .rank = r->rank,
                                   .ranks = s->ranks,
                                   .signals = by_nccl ? NULL : s->signals,
                                   .timeout_ms = SIGNAL_TIMEOUT_MS,
                                   .nccl_id = by_nccl ? &s->id[0] : NULL,
                                   .nccl_library = s->options->nccl};
  const llrt_reshard_desc desc = {.source = &s->source,
                                  .destination = &s->destination,
                                  .shape = s->shape,
                                  .source_dtype = LLRT_BF16,
                                  .destination_dtype = s->c->to,
                                  .parts = s->options->parts};
  harness_must(llrt_comm_create(s->device[r->rank], &params, &comm), "communicator");
  harness_must(llrt_reshard_prepare(comm, &desc, NULL, &reshard), s->c->name);
  const work w = {.r = r, .reshard = reshard};
  forget_destination(r);
  run_fused(&w);
  harness_must(llrt_comm_status(comm, NULL), "communicator");
  check_destination(r);
  if (!s->options->check_only) time = measure(r, &w, run_fused);
  harness_must(llrt_comm_status(comm, NULL), "communicator");
  pthread_barrier_wait(&s->together);
  llrt_reshard_destroy(&reshard);
  llrt_comm_destroy(&comm);
  return time;
}

/* NCCL's own calls, on GPUs. */
static double measure_bare(rank_run *r) {
  shared *s = r->of;
  cuda_driver driver;
  if (strncmp(r->device, "cuda:", 5) != 0) return 0;
  cuda_driver_open(r->device, &driver);
  nccl_calls *calls = nccl_calls_open(s->options->nccl, &s->id[1], r->rank, s->ranks);
  const work w = {.r = r, .calls = calls};
  double time = measure(r, &w, run_bare);
  harness_must(llrt_stream_synchronize(s->device[r->rank], NULL), "synchronize");
  pthread_barrier_wait(&s->together);
  nccl_calls_close(calls);
  cuda_driver_close(&driver);
  return time;
}

static void *rank_main(void *data) {
  rank_run *r = data;
  shared *s = r->of;
  llrt_context *context;
  open_rank(r, &context);
  if (s->options->by_peers) r->peers = run_path(r, false);
  if (s->options->by_nccl) r->nccl = run_path(r, true);
  if (!s->options->check_only) {
    const work w = {.r = r};
    r->local = measure(r, &w, run_local);
    if (s->options->by_peers) r->copies = measure(r, &w, run_copies);
    if (s->options->by_nccl && r->crossing_bytes > 0) r->bare = measure_bare(r);
  }
  close_rank(r, &context);
  return NULL;
}

/* ---- cases ---- */

/* Bytes that cross from a rank: all of its part but what it keeps itself. */
static int64_t crossing(const shared *s) {
  int64_t elements = 1;
  for (int axis = 0; axis < s->c->rank; axis++) elements *= s->shape[axis];
  int64_t part = elements / s->ranks / s->ranks * (s->ranks - 1);
  bool split = s->source.n_splits > 0;
  return split ? part * llrt_dtype_bits(s->c->to) / 8 : 0;
}

/* A tensor of which each rank's part of the source has about `bytes` bytes. */
static void choose_shape(const reshard_case *c, int64_t bytes, int ranks, shared *s) {
  int64_t elements = bytes / 2 * (s->source.n_splits ? ranks : 1), side = 64 * ranks;
  if (c->rank == 4) {
    s->shape[0] = 4 * ranks;
    s->shape[1] = 8 * ranks;
    s->shape[3] = 128;
    s->shape[2] = elements / s->shape[0] / s->shape[1] / 128;
    if (s->shape[2] < 1) s->shape[2] = 1;
    return;
  }
  while (4 * side * side <= elements) side *= 2;
  s->shape[0] = s->shape[1] = side;
}

static double larger(double a, double b) { return a > b ? a : b; }

static void take_slower(const rank_run *r, rank_run *slowest) {
  slowest->wrong += r->wrong;
  slowest->peers = larger(slowest->peers, r->peers);
  slowest->nccl = larger(slowest->nccl, r->nccl);
  slowest->local = larger(slowest->local, r->local);
  slowest->copies = larger(slowest->copies, r->copies);
  slowest->bare = larger(slowest->bare, r->bare);
}

/* By NCCL also as a share of what its bare calls and a copy in memory take. */
static void print_case(const rank_run *r, int64_t moved) {
  printf("%-30s %s", r->of->c->name, r->wrong ? "WRONG" : "right");
  if (r->peers > 0) printf("  peers %9.1f us %7.1f GB/s", r->peers, (double)moved / r->peers / 1e3);
  if (r->nccl > 0) printf("  NCCL %9.1f us %7.1f GB/s", r->nccl, (double)moved / r->nccl / 1e3);
  if (r->bare > 0)
    printf("  bare %9.1f us, with a copy %.2f", r->bare, (r->bare + r->local) / r->nccl);
  if (r->copies > 0) printf("  copies to peers %9.1f us", r->copies);
  if (r->local > 0) printf("  local copy %9.1f us", r->local);
  printf("\n");
  fflush(stdout);
}

static bool run_case(const harness_options *options, const reshard_case *c, int ranks,
                     char devices[][32], int64_t bytes) {
  shared s = {.options = options, .c = c, .ranks = ranks};
  rank_run run[MAX_RANKS];
  pthread_t thread[MAX_RANKS];
  llrt_mesh mesh;
  char text[32];
  snprintf(text, sizeof text, "mesh(a=%d)", ranks);
  harness_must(llrt_mesh_parse(text, &mesh), "mesh");
  harness_must(llrt_sharding_parse(c->source, &mesh, c->rank, NULL, &s.source), c->source);
  harness_must(llrt_sharding_parse(c->destination, &mesh, c->rank, NULL, &s.destination),
               c->destination);
  choose_shape(c, bytes, ranks, &s);
  pthread_barrier_init(&s.together, NULL, (unsigned)ranks);
  for (int r = 0; r < ranks; r++) {
    run[r] = (rank_run){.of = &s, .rank = r, .crossing_bytes = crossing(&s)};
    memcpy(run[r].device, devices[r], sizeof run[r].device);
    if (pthread_create(&thread[r], NULL, rank_main, &run[r]) != 0) exit(1);
  }
  rank_run slowest = {.of = &s};
  for (int r = 0; r < ranks; r++) {
    pthread_join(thread[r], NULL);
    take_slower(&run[r], &slowest);
  }
  pthread_barrier_destroy(&s.together);
  int64_t crosses = crossing(&s);
  print_case(&slowest, crosses ? crosses : run[0].destination_bytes * 2);
  return slowest.wrong == 0;
}

int bench_reshard(int argc, char *argv[]) {
  harness_options options;
  char devices[MAX_RANKS][32];
  bool right = true;
  harness_parse(argc, argv, &options);
  int ranks = harness_device_names(&options, "cuda:0,cuda:1", MAX_RANKS, devices);
  if (options.n_sizes == 0) options.size[options.n_sizes++] = MIB(1024);
  for (int size = 0; size < options.n_sizes; size++) {
    printf("reshard: %d ranks, %lld bytes a rank\n", ranks, (long long)options.size[size]);
    for (int i = 0; i < CASE_COUNT; i++) {
      if (options.only && !strstr(cases[i].name, options.only)) continue;
      if (options.list) printf("%s\n", cases[i].name);
      else right &= run_case(&options, &cases[i], ranks, devices, options.size[size]);
    }
  }
  return !right;
}
