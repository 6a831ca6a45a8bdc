/* What becomes of ranks whose NCCL fails, by a stand-in that does so on demand: an error on every
 * rank within the time-out, and nothing lost. */
#include "tests/nccl_standin/standin.h"
#include "tests/open_device.h"
#include "tests/reshard/reshard_case.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Kernels are compiled by a run without faults, so that no rank is late for that. */
enum { RANKS = 3, PATIENT_MS = 60000, TIMEOUT_MS = 1500, RUNS = 3, LONGEST_S = 30 };
#define PER_THREAD_STREAM ((void *)2) /* CU_STREAM_PER_THREAD */

typedef struct world world;
typedef struct member {
  world *of;
  int rank;
  const char *destination;
  bool absent, absent_at_run;
  llrt_status opened, prepared, ran, after;
  char said[300];
  double seconds;
} member;

struct world {
  llrt_device *device[RANKS];
  void *stream;
  const char *library;
  bool given; /* the callers' own communicators, which block */
  bool asks;  /* llrt_comm_status; else runs go on until one tells what the watch has found */
  int64_t timeout_ms;
  llrt_nccl_id id;
  void *source[RANKS], *destination[RANKS];
  member member[RANKS];
};

static const int64_t shape[2] = {6, 6};
#define ROWS "mesh(a=3): P(a, None) o row_major"
#define COLUMNS "mesh(a=3): P(None, a) o col_major"

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void *find(const char *library, const char *name) {
  void *handle = dlopen(library, RTLD_NOW);
  cr_assert(handle, "%s", dlerror());
  return dlsym(handle, name);
}

static void set_fault(const world *w, int rank, int kind, int from_group) {
  void (*set)(int, int, int);
  *(void **)&set = find(w->library, "standin_nccl_fault");
  set(rank, kind, from_group);
}

static llrt_status note(member *m, llrt_status status) {
  if (status && !m->said[0]) snprintf(m->said, sizeof m->said, "%s", llrt_last_error());
  return status;
}

/* ---- a rank ---- */

/* Runs until one fails; where nobody asks, what the watch finds is told by a later one. */
static llrt_status run_some(member *m, const llrt_reshard *reshard) {
  world *w = m->of;
  void *sources[RANKS] = {NULL}, *destinations[RANKS] = {NULL};
  llrt_status status = LLRT_OK;
  double begun = now();
  sources[m->rank] = w->source[m->rank];
  destinations[m->rank] = w->destination[m->rank];
  for (int i = 0; i < RUNS && !status; i++)
    status = llrt_reshard_run(reshard, sources, destinations, w->stream);
  while (!w->asks && !status && now() - begun < LONGEST_S) {
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    status = llrt_reshard_run(reshard, sources, destinations, w->stream);
  }
  return note(m, status);
}

static void run_member(member *m, llrt_comm *comm) {
  world *w = m->of;
  llrt_sharding source, destination;
  llrt_reshard *reshard = NULL;
  const llrt_reshard_desc desc = {.source = &source,
                                  .destination = &destination,
                                  .shape = shape,
                                  .source_dtype = LLRT_F32,
                                  .destination_dtype = LLRT_F32};
  llrt_sharding_parse(ROWS, NULL, 2, shape, &source);
  llrt_sharding_parse(m->destination, NULL, 2, shape, &destination);
  m->prepared = note(m, llrt_reshard_prepare(comm, &desc, w->stream, &reshard));
  if (!m->prepared && !m->absent_at_run) m->ran = run_some(m, reshard);
  m->after = note(m, llrt_comm_status(comm, w->stream));
  llrt_reshard_destroy(&reshard);
}

static void *make_given(const world *w, int rank) {
  nccl_result (*init)(void **comm, int ranks, nccl_id id, int number);
  nccl_id id;
  void *comm;
  memcpy(id.bytes, w->id.bytes, sizeof id.bytes);
  *(void **)&init = find(w->library, "ncclCommInitRank");
  return init(&comm, RANKS, id, rank) == 0 ? comm : NULL;
}

/* A communicator that has failed is no more; of another one the caller disposes. */
static void end_given(const world *w, const member *m, void *nccl) {
  nccl_result (*destroy)(void *);
  *(void **)&destroy = find(w->library, "ncclCommDestroy");
  if (!m->after) destroy(nccl);
}

static void *member_main(void *data) {
  member *m = data;
  world *w = m->of;
  llrt_comm_params params = {.size = sizeof params,
                             .rank = m->rank,
                             .ranks = RANKS,
                             .timeout_ms = w->timeout_ms,
                             .nccl_library = w->library};
  llrt_comm *comm;
  double begun = now();
  if (m->absent) return NULL;
  if (w->given) params.nccl = make_given(w, m->rank);
  else params.nccl_id = &w->id;
  m->opened = note(m, llrt_comm_create(w->device[m->rank], &params, &comm));
  if (!m->opened) run_member(m, comm);
  llrt_comm_destroy(&comm);
  m->seconds = now() - begun;
  if (w->given && !m->opened) end_given(w, m, params.nccl);
  return NULL;
}

/* ---- a world ---- */

static void run_world(world *w) {
  pthread_t thread[RANKS];
  cr_assert_eq(llrt_nccl_id_create(w->device[0], w->library, &w->id), LLRT_OK, "%s",
               llrt_last_error());
  for (int r = 0; r < RANKS; r++)
    cr_assert_eq(pthread_create(&thread[r], NULL, member_main, &w->member[r]), 0);
  for (int r = 0; r < RANKS; r++) pthread_join(thread[r], NULL);
}

static void expect_right(const world *w) {
  for (int r = 0; r < RANKS; r++) {
    const member *m = &w->member[r];
    cr_expect(!m->opened && !m->prepared && !m->ran && !m->after, "rank %d: %s", r, m->said);
  }
}

static void begin_again(world *w) {
  for (int r = 0; r < RANKS; r++)
    w->member[r] = (member){.of = w, .rank = r, .destination = COLUMNS};
}

/* In which all went well once. */
static void open_world(world *w) {
  for (int r = 0; r < RANKS; r++) {
    cr_assert_eq(llrt_memory_allocate(w->device[r], 256, &w->source[r]), LLRT_OK);
    cr_assert_eq(llrt_memory_allocate(w->device[r], 256, &w->destination[r]), LLRT_OK);
    cr_assert_eq(llrt_memory_set(w->device[r], w->source[r], r, 256, w->stream), LLRT_OK);
    llrt_stream_synchronize(w->device[r], w->stream);
  }
  w->asks = true;
  w->timeout_ms = PATIENT_MS;
  begin_again(w);
  run_world(w);
  expect_right(w);
  w->timeout_ms = TIMEOUT_MS;
  begin_again(w);
}

static void free_memory(world *w) {
  for (int r = 0; r < RANKS; r++) {
    set_fault(w, r, STANDIN_NONE, 0);
    llrt_memory_free(w->device[r], w->source[r]);
    llrt_memory_free(w->device[r], w->destination[r]);
  }
}

/* All have an error, none waits for longer than it has to, and all tell of it afterwards. */
static void expect_failures(const world *w) {
  for (int r = 0; r < RANKS; r++) {
    const member *m = &w->member[r];
    cr_expect_lt(m->seconds, LONGEST_S);
    cr_expect(m->opened || m->prepared || m->ran || m->after, "rank %d has no error", r);
    cr_expect(m->opened || m->after == LLRT_DEVICE, "rank %d: %s", r, llrt_status_name(m->after));
    cr_expect(m->said[0], "rank %d says nothing", r);
  }
}

static world host_world(opened_device *host) {
  *host = open_device("host");
  world w = {.library = LLRT_TEST_NCCL "host.so"};
  for (int r = 0; r < RANKS; r++) w.device[r] = host->device;
  return w;
}

/* ---- faults, on host devices ---- */

/* Group 0 is the one by which ranks are connected, or shared the second communicator's id before,
 * group 1 prepare's, in which they compare what they are about to do. Of given communicators
 * prepare's is group 0. */
static void one_fails(int fault, int from_group, bool given) {
  opened_device host;
  world w = host_world(&host);
  w.given = given;
  open_world(&w);
  set_fault(&w, 1, fault, from_group);
  run_world(&w);
  expect_failures(&w);
  free_memory(&w);
  close_device(&host);
}

Test(reshard_nccl_faults, a_send_fails) { one_fails(STANDIN_SEND_FAILS, 2, false); }
Test(reshard_nccl_faults, a_group_fails) { one_fails(STANDIN_GROUP_FAILS, 2, false); }
Test(reshard_nccl_faults, a_group_fails_in_prepare) { one_fails(STANDIN_GROUP_FAILS, 1, false); }
Test(reshard_nccl_faults, a_group_fails_at_first) { one_fails(STANDIN_GROUP_FAILS, 0, false); }
Test(reshard_nccl_faults, no_connection_is_made) { one_fails(STANDIN_SEND_FAILS, 0, false); }
Test(reshard_nccl_faults, a_group_hangs) { one_fails(STANDIN_HANGS, 3, false); }
Test(reshard_nccl_faults, a_given_send_fails) { one_fails(STANDIN_SEND_FAILS, 1, true); }
Test(reshard_nccl_faults, a_given_group_hangs) { one_fails(STANDIN_HANGS, 1, true); }

Test(reshard_nccl_faults, a_slow_peer_is_waited_for) {
  opened_device host;
  world w = host_world(&host);
  open_world(&w);
  set_fault(&w, 2, STANDIN_SLOW, 0);
  w.timeout_ms = PATIENT_MS;
  run_world(&w);
  expect_right(&w);
  free_memory(&w);
  close_device(&host);
}

/* Communicators are made by all ranks together. */
Test(reshard_nccl_faults, one_makes_no_communicator) {
  opened_device host;
  world w = host_world(&host);
  open_world(&w);
  w.member[0].absent = true;
  run_world(&w);
  for (int r = 1; r < RANKS; r++) {
    cr_expect_eq(w.member[r].opened, LLRT_DEVICE);
    cr_expect_lt(w.member[r].seconds, LONGEST_S);
    cr_expect(strstr(w.member[r].said, "time-out"), "rank %d says: %s", r, w.member[r].said);
  }
  free_memory(&w);
  close_device(&host);
}

/* As NCCL does where two ranks name one GPU: behind a call that did not fail. */
static void none_is_made(int first, int last) {
  opened_device host;
  world w = host_world(&host);
  open_world(&w);
  for (int r = first; r <= last; r++) set_fault(&w, r, STANDIN_REFUSES, 0);
  run_world(&w);
  for (int r = 0; r < RANKS; r++) {
    bool refused = r >= first && r <= last;
    cr_expect_eq(w.member[r].opened, LLRT_DEVICE);
    cr_expect_lt(w.member[r].seconds, LONGEST_S);
    cr_expect(strstr(w.member[r].said, refused ? "invalid usage" : "time-out"), "rank %d says: %s",
              r, w.member[r].said);
  }
  free_memory(&w);
  close_device(&host);
}

Test(reshard_nccl_faults, no_communicator_is_made) { none_is_made(0, RANKS - 1); }
Test(reshard_nccl_faults, one_communicator_is_not_made) { none_is_made(1, 1); }

Test(reshard_nccl_faults, one_does_not_come) {
  opened_device host;
  world w = host_world(&host);
  open_world(&w);
  w.member[2].absent_at_run = true;
  run_world(&w);
  for (int r = 0; r < 2; r++) {
    cr_expect_eq(w.member[r].ran, LLRT_DEVICE);
    cr_expect_eq(w.member[r].after, LLRT_DEVICE);
  }
  free_memory(&w);
  close_device(&host);
}

/* No byte is moved, and communicators are as they were. */
static void descriptions(const char *destination, llrt_status own, const char *others) {
  opened_device host;
  world w = host_world(&host);
  open_world(&w);
  w.member[1].destination = destination;
  w.timeout_ms = PATIENT_MS;
  run_world(&w);
  for (int r = 0; r < RANKS; r++) {
    const member *m = &w.member[r];
    cr_expect_eq(m->prepared, r == 1 ? own : LLRT_INVALID_ARGUMENT);
    cr_expect_eq(m->after, LLRT_OK);
    if (r != 1) cr_expect(strstr(m->said, others), "rank %d says: %s", r, m->said);
  }
  free_memory(&w);
  close_device(&host);
}

Test(reshard_nccl_faults, another_description) {
  descriptions("mesh(a=3): P(None, a) o row_major", LLRT_INVALID_ARGUMENT,
               "rank 1 described something else");
}

Test(reshard_nccl_faults, one_refuses) {
  descriptions(
      "mesh(a=3): P(None, a) o storage(rank=2, digits=[dim1: rest, dim0: rest @ 1 on lane])",
      LLRT_UNSUPPORTED, "rank 1 refused");
}

/* ---- on emulated devices ---- */

/* Streams run behind calls: asked for, or by later runs without anybody asking. */
static void stream_hangs(bool asks) {
  static const char *const names[RANKS] = {"cuda-emu:sm_90a", "cuda-emu:sm_80", "cuda-emu:sm_89"};
  const llrt_context_params params = {.jit_library = LLRT_TEST_JIT_LIBRARY};
  world w = {.library = LLRT_TEST_NCCL "cuda.so", .stream = PER_THREAD_STREAM};
  llrt_context *context[RANKS];
  setenv("LLRT_EMU_STREAMS", "workers", 1);
  for (int r = 0; r < RANKS; r++) {
    cr_assert_eq(llrt_context_create(&params, &context[r]), LLRT_OK);
    cr_assert_eq(llrt_device_open(context[r], names[r], NULL, &w.device[r]), LLRT_OK, "%s",
                 llrt_last_error());
  }
  open_world(&w);
  w.asks = asks;
  set_fault(&w, 1, STANDIN_HANGS, 3);
  run_world(&w);
  expect_failures(&w);
  free_memory(&w);
  for (int r = 0; r < RANKS; r++) {
    llrt_device_close(&w.device[r]);
    llrt_context_destroy(&context[r]);
  }
}

Test(reshard_nccl_faults, a_stream_hangs) { stream_hangs(true); }
Test(reshard_nccl_faults, a_stream_hangs_and_nobody_asks) { stream_hangs(false); }

/* ---- processes ---- */

/* Exit status of a rank: what it got, or what the stand-in ends with. */
static int run_process(world *w, int rank, bool ends) {
  opened_device host = open_device("host");
  for (int r = 0; r < RANKS; r++) w->device[r] = host.device;
  w->source[rank] = aligned_alloc(64, 256);
  w->destination[rank] = aligned_alloc(64, 256);
  if (ends) set_fault(w, rank, STANDIN_EXITS, 3);
  member_main(&w->member[rank]);
  free(w->source[rank]);
  free(w->destination[rank]);
  close_device(&host);
  return (int)(w->member[rank].ran ? w->member[rank].ran : w->member[rank].after);
}

static void run_processes(int ending, int status[RANKS]) {
  world w = {.library = LLRT_TEST_NCCL "host.so", .asks = true, .timeout_ms = 8000};
  pid_t child[RANKS];
  opened_device host = open_device("host");
  begin_again(&w);
  cr_assert_eq(llrt_nccl_id_create(host.device, w.library, &w.id), LLRT_OK);
  close_device(&host);
  for (int r = 0; r < RANKS; r++) {
    child[r] = fork();
    cr_assert_geq(child[r], 0);
    if (child[r] == 0) _exit(run_process(&w, r, r == ending));
  }
  for (int r = 0; r < RANKS; r++) {
    int how;
    cr_assert_eq(waitpid(child[r], &how, 0), child[r]);
    status[r] = WIFEXITED(how) ? WEXITSTATUS(how) : -1;
  }
}

Test(reshard_nccl_faults, processes) {
  int status[RANKS];
  run_processes(-1, status);
  for (int r = 0; r < RANKS; r++) cr_expect_eq(status[r], LLRT_OK);
}

Test(reshard_nccl_faults, a_process_ends) {
  int status[RANKS];
  run_processes(1, status);
  for (int r = 0; r < RANKS; r++) cr_expect_eq(status[r], r == 1 ? 3 : LLRT_DEVICE);
}
