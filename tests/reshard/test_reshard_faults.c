/* What becomes of ranks when one of them does not come, describes something else, or refuses: an
 * error on every rank within the time-out; and sums in a fixed order. On host devices, a thread a
 * rank. */
#include "tests/open_device.h"
#include "tests/reshard/reshard_case.h"

#include <pthread.h>
#include <time.h>

/* Kernels are compiled by a run without faults, so that no rank is late for that. */
enum { RANKS = 3, PATIENT_MS = 60000, TIMEOUT_MS = 1000 };

/* One rank of a little world: what it describes, and how it went. */
typedef struct world world;
typedef struct member {
  world *of;
  int rank;
  const char *source, *destination;
  bool absent_at_prepare, absent_at_run;
  void *own_source; /* instead of its memory; NULL: that */
  llrt_status prepared, ran, after;
  char said[300];
  double seconds;
} member;

struct world {
  llrt_device *device;
  int64_t shape[2], timeout_ms;
  void *signals[RANKS], *sources[RANKS], *destinations[RANKS];
  member member[RANKS];
};

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void note(member *m) {
  if (!m->said[0]) snprintf(m->said, sizeof m->said, "%s", llrt_last_error());
}

static void run_member(member *m, llrt_comm *comm) {
  world *w = m->of;
  llrt_sharding source, destination;
  llrt_reshard *reshard = NULL;
  const llrt_reshard_desc desc = {.source = &source,
                                  .destination = &destination,
                                  .shape = w->shape,
                                  .source_dtype = LLRT_F32,
                                  .destination_dtype = LLRT_F32};
  void *sources[RANKS];
  if (m->absent_at_prepare) return;
  m->prepared = llrt_sharding_parse(m->source, NULL, 2, w->shape, &source);
  if (!m->prepared)
    m->prepared = llrt_sharding_parse(m->destination, NULL, 2, w->shape, &destination);
  if (!m->prepared) m->prepared = llrt_reshard_prepare(comm, &desc, NULL, &reshard);
  if (m->prepared) note(m);
  memcpy(sources, w->sources, sizeof sources);
  if (m->own_source) sources[m->rank] = m->own_source;
  if (!m->prepared && !m->absent_at_run) {
    m->ran = llrt_reshard_run(reshard, sources, w->destinations, NULL);
    if (m->ran) note(m);
  }
  m->after = llrt_comm_status(comm, NULL);
  llrt_reshard_destroy(&reshard);
}

static void *member_main(void *data) {
  member *m = data;
  const llrt_comm_params params = {
      .rank = m->rank, .ranks = RANKS, .signals = m->of->signals, .timeout_ms = m->of->timeout_ms};
  llrt_comm *comm;
  double begun = now();
  m->prepared = llrt_comm_create(m->of->device, &params, &comm);
  if (!m->prepared) run_member(m, comm);
  llrt_comm_destroy(&comm);
  m->seconds = now() - begun;
  return NULL;
}

static void run_world(world *w) {
  pthread_t thread[RANKS];
  for (int r = 0; r < RANKS; r++) {
    w->member[r].of = w;
    cr_assert_eq(pthread_create(&thread[r], NULL, member_main, &w->member[r]), 0);
  }
  for (int r = 0; r < RANKS; r++) pthread_join(thread[r], NULL);
}

/* A world in which all went well once, made anew. */
static world make_world(llrt_device *device, const char *source, const char *destination) {
  world w = {.device = device, .shape = {6, 6}, .timeout_ms = PATIENT_MS};
  size_t bytes;
  cr_assert_eq(llrt_comm_signal_bytes(RANKS, &bytes), LLRT_OK);
  for (int r = 0; r < RANKS; r++) {
    cr_assert_eq(llrt_memory_allocate(device, bytes, &w.signals[r]), LLRT_OK);
    cr_assert_eq(llrt_memory_allocate(device, 256, &w.sources[r]), LLRT_OK);
    cr_assert_eq(llrt_memory_allocate(device, 256, &w.destinations[r]), LLRT_OK);
    memset(w.signals[r], 0, bytes);
    memset(w.sources[r], 0, 256);
    memset(w.destinations[r], 0, 256);
    w.member[r] = (member){.rank = r, .source = source, .destination = destination};
  }
  run_world(&w);
  for (int r = 0; r < RANKS; r++) {
    cr_assert_eq(w.member[r].after, LLRT_OK, "%s", w.member[r].said);
    cr_assert(!w.member[r].prepared && !w.member[r].ran, "%s", w.member[r].said);
    w.member[r] = (member){.rank = r, .source = source, .destination = destination};
    memset(w.signals[r], 0, bytes);
  }
  w.timeout_ms = TIMEOUT_MS;
  return w;
}

static void free_world(world *w) {
  for (int r = 0; r < RANKS; r++) {
    llrt_memory_free(w->device, w->signals[r]);
    llrt_memory_free(w->device, w->sources[r]);
    llrt_memory_free(w->device, w->destinations[r]);
  }
}

#define ROWS "mesh(a=3): P(a, None) o row_major"
#define COLUMNS "mesh(a=3): P(None, a) o col_major"
#define SUMMANDS "mesh(a=3): P(None, None, partial(a)) o row_major"

/* Who fails says why; what the others say names it. All within the time-out and what machines take.
 */
static void expect_failures(const world *w, int failing) {
  char rank[16];
  snprintf(rank, sizeof rank, "rank %d", failing);
  for (int r = 0; r < RANKS; r++) {
    const member *m = &w->member[r];
    cr_expect_lt(m->seconds, 30.0);
    if (r == failing) continue;
    cr_expect(m->prepared || m->ran, "rank %d has no error", r);
    cr_expect_eq(m->after, LLRT_DEVICE);
    cr_expect(strstr(m->said, rank), "rank %d says: %s", r, m->said);
  }
}

Test(reshard_faults, another_description) {
  opened_device host = open_device("host");
  world w = make_world(host.device, ROWS, COLUMNS);
  w.member[1].destination = "mesh(a=3): P(None, a) o row_major";
  run_world(&w);
  for (int r = 0; r < RANKS; r++) cr_expect_eq(w.member[r].prepared, LLRT_INVALID_ARGUMENT);
  free_world(&w);
  close_device(&host);
}

Test(reshard_faults, one_refuses) {
  opened_device host = open_device("host");
  world w = make_world(host.device, ROWS, COLUMNS);
  w.member[2].destination =
      "mesh(a=3): P(None, a) o storage(rank=2, digits=[dim1: rest, dim0: rest @ 1 on lane])";
  run_world(&w);
  cr_expect_eq(w.member[2].prepared, LLRT_UNSUPPORTED);
  expect_failures(&w, 2);
  free_world(&w);
  close_device(&host);
}

Test(reshard_faults, one_does_not_come) {
  opened_device host = open_device("host");
  world w = make_world(host.device, ROWS, COLUMNS);
  w.member[0].absent_at_prepare = true;
  run_world(&w);
  expect_failures(&w, 0);
  free_world(&w);
  close_device(&host);
}

Test(reshard_faults, one_prepares_and_does_not_come) {
  opened_device host = open_device("host");
  world w = make_world(host.device, ROWS, COLUMNS);
  w.member[1].absent_at_run = true;
  run_world(&w);
  for (int r = 0; r < RANKS; r++) cr_expect_eq(w.member[r].prepared, LLRT_OK);
  expect_failures(&w, 1);
  free_world(&w);
  close_device(&host);
}

/* Addresses are looked at before anything is moved. */
Test(reshard_faults, a_wrong_address) {
  opened_device host = open_device("host");
  world w = make_world(host.device, ROWS, COLUMNS);
  w.member[2].own_source = (char *)w.sources[2] + 4;
  run_world(&w);
  cr_expect_eq(w.member[2].ran, LLRT_OUT_OF_CLASS);
  expect_failures(&w, 2);
  free_world(&w);
  close_device(&host);
}

/* (1e8 + 1) - 1e8 is 0 in f32, 1e8 - 1e8 + 1 would be 1: the mesh's order, on every rank. */
Test(reshard_faults, sums_are_in_the_mesh_s_order) {
  static const float summand[RANKS] = {1e8f, 1, -1e8f};
  opened_device host = open_device("host");
  world w = make_world(host.device, SUMMANDS, "mesh(a=3): P(None, None) o row_major");
  for (int r = 0; r < RANKS; r++)
    for (int i = 0; i < 36; i++) ((float *)w.sources[r])[i] = summand[r];
  for (int r = 0; r < RANKS; r++) memset(w.destinations[r], 0xff, 256);
  run_world(&w);
  for (int r = 0; r < RANKS; r++) {
    cr_expect_eq(w.member[r].ran, LLRT_OK, "%s", w.member[r].said);
    for (int i = 0; i < 36; i++) cr_expect_eq(((float *)w.destinations[r])[i], 0.0f);
  }
  free_world(&w);
  close_device(&host);
}

Test(reshard_faults, parameters) {
  opened_device host = open_device("host");
  static _Alignas(16) char pad[1024];
  void *odd[2] = {pad, pad + 4};
  llrt_comm *comm;
  llrt_comm_params params = {.rank = 2, .ranks = 2, .signals = odd};
  cr_expect_eq(llrt_comm_create(host.device, &params, &comm), LLRT_INVALID_ARGUMENT);
  params.rank = 1;
  cr_expect_eq(llrt_comm_create(host.device, &params, &comm), LLRT_INVALID_ARGUMENT);
  params.ranks = LLRT_MAX_RANKS + 1;
  cr_expect_eq(llrt_comm_create(host.device, &params, &comm), LLRT_INVALID_ARGUMENT);
  cr_expect_null(comm);
  close_device(&host);
}
