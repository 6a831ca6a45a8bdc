/* Whole tensors from one sharding to another over the GPUs of a host (or several emulated ones), a
 * thread for each: compared in full, then timed beside what a copy in a rank's own memory takes
 * that reads and writes as many bytes as its parts have, and the bytes that cross, as copies into
 * the others' memory or as NCCL's bare sends and receives; and beside llrt_reshard_explain's
 * prediction. --device names the ranks' devices with commas between. GB/s counts the bytes that the
 * busiest rank sends or receives, or where nothing crosses those that it reads and writes. */
#include "cuda_driver.h"
#include "harness.h"
#include "nccl_calls.h"
#include "reshard_case.h"
#include "subcommands.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MIB(n) ((int64_t)(n) << 20)

enum { MAX_RANKS = 8, SIGNAL_TIMEOUT_MS = 20000, LEAST_BYTES = 256 };

/* Peers' memory is written, or read; or NCCL's messages. */
typedef enum way { BY_WRITING, BY_READING, BY_NCCL } way;

/* One run of one case, shared by its ranks. */
typedef struct shared {
  const harness_options *options;
  reshard_problem problem;
  pthread_barrier_t together;
  llrt_device *device[MAX_RANKS];
  void *sources[MAX_RANKS], *destinations[MAX_RANKS], *signals[MAX_RANKS];
  void *scales[MAX_RANKS]; /* of a scaled case */
  llrt_map map;
  llrt_nccl_id id[2]; /* of llrt's communicator, of that of bare calls */
} shared;

typedef struct times {
  double peers, reading, nccl, local, copies, bare; /* us; 0: not measured */
} times;

typedef struct rank_run {
  shared *of;
  int rank;
  char device[32];
  int64_t wrong, source_bytes, destination_bytes; /* 0 bytes: it has no such part */
  int parts;                                      /* of NCCL's messages */
  times us;
} rank_run;

static bool reaches(const harness_options *options) {
  return options->by_peers || options->by_reading;
}

static size_t room(int64_t bytes) { return (size_t)(bytes < LEAST_BYTES ? LEAST_BYTES : bytes); }

/* ---- a rank ---- */

static void fill_source(rank_run *r) {
  shared *s = r->of;
  uint8_t *bytes = calloc(room(r->source_bytes), 1);
  if (!bytes) harness_end(1);
  reshard_problem_fill(&s->problem, r->rank, bytes);
  llrt_device *device = s->device[r->rank];
  harness_must(llrt_memory_copy(device, s->sources[r->rank], bytes, (size_t)r->source_bytes,
                                LLRT_COPY_TO_DEVICE, NULL),
               "copy");
  harness_must(llrt_stream_synchronize(device, NULL), "synchronize");
  free(bytes);
}

static void fill_scales(rank_run *r) {
  shared *s = r->of;
  llrt_device *device = s->device[r->rank];
  size_t bytes;
  float *scales = reshard_problem_scales(&s->problem, r->rank, &bytes);
  if (!scales) return;
  harness_must(llrt_memory_allocate(device, room((int64_t)bytes), &s->scales[r->rank]), "memory");
  harness_must(
      llrt_memory_copy(device, s->scales[r->rank], scales, bytes, LLRT_COPY_TO_DEVICE, NULL),
      "copy");
  harness_must(llrt_stream_synchronize(device, NULL), "synchronize");
  free(scales);
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
  uint8_t *bytes = malloc(room(r->destination_bytes));
  if (!bytes) harness_end(1);
  llrt_device *device = s->device[r->rank];
  harness_must(llrt_memory_copy(device, bytes, s->destinations[r->rank],
                                (size_t)r->destination_bytes, LLRT_COPY_FROM_DEVICE, NULL),
               "copy");
  harness_must(llrt_stream_synchronize(device, NULL), "synchronize");
  r->wrong += reshard_problem_compare(&s->problem, r->rank, bytes);
  free(bytes);
}

/* What is timed. */
typedef struct work {
  rank_run *r;
  const llrt_reshard *reshard;
  const nccl_calls *calls;
  size_t sent[MAX_RANKS], received[MAX_RANKS];
} work;

static void run_fused(const work *w) {
  shared *s = w->r->of;
  const llrt_reshard_run_params params = {.size = sizeof params,
                                          .sources = s->sources,
                                          .destinations = s->destinations,
                                          .scales = s->problem.c->group ? s->scales : NULL};
  harness_must(llrt_reshard_run_with(w->reshard, &params, NULL), "reshard");
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static void copy_on_device(const rank_run *r, void *to, const void *from, int64_t bytes) {
  harness_must(
      llrt_memory_copy(r->of->device[r->rank], to, from, (size_t)bytes, LLRT_COPY_ON_DEVICE, NULL),
      "copy");
}

/* As much as both parts have; of a rank that has one part, its first half over its second one. */
static void run_local(const work *w) {
  const rank_run *r = w->r;
  int64_t bytes = smaller(r->source_bytes, r->destination_bytes);
  int64_t half = (r->source_bytes + r->destination_bytes) / 2;
  char *part = r->of->sources[r->rank];
  if (bytes > 0) copy_on_device(r, r->of->destinations[r->rank], part, bytes);
  else if (r->source_bytes > 0) copy_on_device(r, part + half, part, half);
}

static void run_bare(const work *w) {
  shared *s = w->r->of;
  nccl_calls_exchange(w->calls, s->sources[w->r->rank], s->destinations[w->r->rank], w->sent,
                      w->received, NULL);
}

/* The bytes that cross, in one piece for each other rank, the next one first. */
static void run_copies(const work *w) {
  shared *s = w->r->of;
  for (int i = 1; i < s->problem.ranks; i++) {
    int to = (w->r->rank + i) % s->problem.ranks;
    if (w->sent[to] > 0)
      copy_on_device(w->r, s->destinations[to], s->sources[w->r->rank], (int64_t)w->sent[to]);
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
  r->source_bytes = reshard_problem_bytes(&s->problem, false, r->rank);
  r->destination_bytes = reshard_problem_bytes(&s->problem, true, r->rank);
  harness_must(llrt_comm_signal_bytes(s->problem.ranks, &bytes), "signals");
  harness_must(llrt_memory_allocate(device, bytes, &s->signals[r->rank]), "memory");
  harness_must(llrt_memory_set(device, s->signals[r->rank], 0, bytes, NULL), "memory");
  harness_must(llrt_memory_allocate(device, room(r->source_bytes), &s->sources[r->rank]), "memory");
  harness_must(llrt_memory_allocate(device, room(r->destination_bytes), &s->destinations[r->rank]),
               "memory");
  fill_source(r);
  fill_scales(r);
  pthread_barrier_wait(&s->together);
  for (int other = 0; other < s->problem.ranks && reaches(s->options); other++)
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
  llrt_memory_free(device, s->scales[r->rank]);
  llrt_device_close(&s->device[r->rank]);
  llrt_context_destroy(context);
}

static llrt_reshard_desc describe(const shared *s, way by) {
  bool scaled = s->problem.c->group > 0;
  return (llrt_reshard_desc){.size = sizeof(llrt_reshard_desc),
                             .source = &s->problem.source,
                             .destination = &s->problem.destination,
                             .shape = s->problem.shape,
                             .source_dtype = LLRT_BF16,
                             .destination_dtype = s->problem.c->to,
                             .path = by == BY_NCCL ? LLRT_RESHARD_NCCL : LLRT_RESHARD_CHOOSE,
                             .access = by == BY_READING ? LLRT_RESHARD_READ : LLRT_RESHARD_WRITE,
                             .parts = s->options->parts,
                             .maps = &s->map,
                             .n_maps = scaled,
                             .scale = scaled ? &s->problem.scale : NULL,
                             .scale_dtype = scaled ? LLRT_F32 : LLRT_DTYPE_NONE};
}

/* Runs the case by one path and compares the result; the time of a run, or 0. */
static double run_path(rank_run *r, way by) {
  shared *s = r->of;
  bool by_nccl = by == BY_NCCL;
  llrt_comm *comm;
  llrt_reshard *reshard;
  double time = 0;
  const llrt_comm_params params = {.size = sizeof params,
                                   .rank = r->rank,
                                   .ranks = s->problem.ranks,
                                   .signals = by_nccl ? NULL : s->signals,
                                   .timeout_ms = SIGNAL_TIMEOUT_MS,
                                   .nccl_id = by_nccl ? &s->id[0] : NULL,
                                   .nccl_library = s->options->nccl};
  const llrt_reshard_desc desc = describe(s, by);
  llrt_reshard_info info = {.size = sizeof info};
  harness_must(llrt_comm_create(s->device[r->rank], &params, &comm), "communicator");
  harness_must(llrt_reshard_prepare(comm, &desc, NULL, &reshard), s->problem.c->name);
  harness_must(llrt_reshard_get(reshard, &info), "info");
  if (by_nccl) r->parts = info.parts;
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
static double measure_bare(rank_run *r, work *w) {
  shared *s = r->of;
  cuda_driver driver;
  if (strncmp(r->device, "cuda:", 5) != 0) return 0;
  cuda_driver_open(r->device, &driver);
  nccl_calls *calls = nccl_calls_open(s->options->nccl, &s->id[1], r->rank, s->problem.ranks);
  w->calls = calls;
  double time = measure(r, w, run_bare);
  harness_must(llrt_stream_synchronize(s->device[r->rank], NULL), "synchronize");
  pthread_barrier_wait(&s->together);
  nccl_calls_close(calls);
  cuda_driver_close(&driver);
  return time;
}

/* What a copy takes that reads and writes as many bytes as both parts have. */
static double measure_local(rank_run *r, const work *w) {
  int64_t copied = smaller(r->source_bytes, r->destination_bytes);
  double time = measure(r, w, run_local);
  if (copied == 0) return time;
  return time * (double)(r->source_bytes + r->destination_bytes) / (2.0 * (double)copied);
}

static void measure_beside(rank_run *r) {
  const shared *s = r->of;
  work w = {.r = r};
  for (int other = 0; other < s->problem.ranks; other++) {
    w.sent[other] = (size_t)reshard_problem_crossing(&s->problem, r->rank, other);
    w.received[other] = (size_t)reshard_problem_crossing(&s->problem, other, r->rank);
  }
  r->us.local = measure_local(r, &w);
  if (reaches(s->options)) r->us.copies = measure(r, &w, run_copies);
  if (s->options->by_nccl && reshard_problem_busiest(&s->problem) > 0)
    r->us.bare = measure_bare(r, &w);
}

static void *rank_main(void *data) {
  rank_run *r = data;
  shared *s = r->of;
  llrt_context *context;
  open_rank(r, &context);
  if (s->options->by_peers) r->us.peers = run_path(r, BY_WRITING);
  if (s->options->by_reading) r->us.reading = run_path(r, BY_READING);
  if (s->options->by_nccl) r->us.nccl = run_path(r, BY_NCCL);
  if (!s->options->check_only) measure_beside(r);
  close_rank(r, &context);
  return NULL;
}

/* ---- cases ---- */

static double larger(double a, double b) { return a > b ? a : b; }

static void take_slower(const rank_run *r, rank_run *slowest) {
  slowest->wrong += r->wrong;
  slowest->parts = r->parts > slowest->parts ? r->parts : slowest->parts;
  slowest->us.peers = larger(slowest->us.peers, r->us.peers);
  slowest->us.reading = larger(slowest->us.reading, r->us.reading);
  slowest->us.nccl = larger(slowest->us.nccl, r->us.nccl);
  slowest->us.local = larger(slowest->us.local, r->us.local);
  slowest->us.copies = larger(slowest->us.copies, r->us.copies);
  slowest->us.bare = larger(slowest->us.bare, r->us.bare);
}

/* By both paths, of what llrt_reshard_explain says; 0: nothing. */
static void predict(const shared *s, times *out) {
  static const char line[] = "by peers' memory ";
  const llrt_reshard_desc desc = describe(s, BY_WRITING);
  char text[8192];
  size_t length;
  *out = (times){.peers = 0};
  if (llrt_reshard_explain(&desc, 0, 0, text, sizeof text, &length) != LLRT_OK) return;
  const char *at = strstr(text, line);
  if (!at || sscanf(at + strlen(line), "%lf us, by NCCL %lf us", &out->peers, &out->nccl) != 2)
    *out = (times){.peers = 0};
}

/* By NCCL also as a share of what its bare calls and a copy in memory take. */
static void print_case(const shared *s, const rank_run *r, double moved) {
  const times *us = &r->us;
  times model;
  predict(s, &model);
  printf("%-28s %s", s->problem.c->name, r->wrong ? "WRONG" : "right");
  if (us->peers > 0)
    printf("  peers %9.1f us %7.1f GB/s, model %9.1f", us->peers, moved / us->peers / 1e3,
           model.peers);
  if (us->reading > 0)
    printf("  reading %9.1f us %7.1f GB/s", us->reading, moved / us->reading / 1e3);
  if (us->nccl > 0)
    printf("  NCCL %9.1f us %7.1f GB/s, parts %d, model %9.1f", us->nccl, moved / us->nccl / 1e3,
           r->parts, model.nccl);
  if (us->bare > 0)
    printf("  bare %9.1f us, with a copy %.3f", us->bare, (us->bare + us->local) / us->nccl);
  if (us->copies > 0) printf("  copies to peers %9.1f us", us->copies);
  if (us->local > 0) printf("  local copy %9.1f us", us->local);
  printf("\n");
  fflush(stdout);
}

static bool run_case(const harness_options *options, const reshard_case *c, int ranks,
                     char devices[][32], int64_t bytes) {
  shared s = {.options = options};
  rank_run run[MAX_RANKS], slowest = {.of = &s};
  pthread_t thread[MAX_RANKS];
  if (!reshard_problem_make(c, ranks, bytes, options->seed, &s.problem)) return true;
  s.map = (llrt_map){.kind = LLRT_MAP_SCALE};
  s.map.group[c->rank - 1] = c->group;
  pthread_barrier_init(&s.together, NULL, (unsigned)ranks);
  for (int r = 0; r < ranks; r++) {
    run[r] = (rank_run){.of = &s, .rank = r};
    memcpy(run[r].device, devices[r], sizeof run[r].device);
    if (pthread_create(&thread[r], NULL, rank_main, &run[r]) != 0) harness_end(1);
  }
  for (int r = 0; r < ranks; r++) {
    pthread_join(thread[r], NULL);
    take_slower(&run[r], &slowest);
  }
  pthread_barrier_destroy(&s.together);
  int64_t crosses = reshard_problem_busiest(&s.problem);
  print_case(&s, &slowest, (double)(crosses ? crosses : run[0].destination_bytes * 2));
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
    for (int i = 0; i < reshard_case_count; i++) {
      const reshard_case *c = &reshard_cases[i];
      if (!harness_takes(&options, c->name)) continue;
      if (options.list) printf("%s\n", c->name);
      else right &= run_case(&options, c, ranks, devices, options.size[size]);
    }
  }
  return !right;
}
