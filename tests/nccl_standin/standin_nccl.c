/* The entry points. */
#include "tests/nccl_standin/standin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define VERSION 22703

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static standin_comm *all; /* that there were */
static struct {
  int kind, from_group;
} fault[STANDIN_MAX_RANKS];

EXPORT void standin_nccl_fault(int rank, int kind, int from_group);
#define PROTOTYPE(required, type, name, arguments) EXPORT type name arguments;
NCCL_SYMBOLS(PROTOTYPE)
#undef PROTOTYPE
EXPORT nccl_result ncclCommInitRank(void **comm, int ranks, nccl_id id, int rank);

void standin_nccl_fault(int rank, int kind, int from_group) {
  pthread_mutex_lock(&mutex);
  fault[rank].kind = kind;
  fault[rank].from_group = from_group;
  pthread_mutex_unlock(&mutex);
}

static int fault_of(const standin_comm *comm) {
  pthread_mutex_lock(&mutex);
  int kind = comm->groups >= fault[comm->rank].from_group ? fault[comm->rank].kind : STANDIN_NONE;
  pthread_mutex_unlock(&mutex);
  return kind;
}

static void misuse(const char *what) {
  fprintf(stderr, "stand-in for NCCL: %s\n", what);
  abort();
}

static standin_comm *comm_of(const void *handle) {
  standin_comm *comm = (standin_comm *)(uintptr_t)handle;
  if (!comm || comm->gone) misuse("a communicator that is no more");
  return comm;
}

nccl_result ncclGetVersion(int *version) {
  *version = VERSION;
  return NCCL_RESULT_SUCCESS;
}

const char *ncclGetErrorString(nccl_result result) {
  static const char *const text[] = {"no error",
                                     "unhandled cuda error",
                                     "unhandled system error",
                                     "internal error",
                                     "invalid argument",
                                     "invalid usage",
                                     "remote process exited or there was a network error",
                                     "NCCL operation in progress"};
  return result >= 0 && result < 8 ? text[result] : "unknown result code";
}

const char *ncclGetLastError(void *comm) {
  comm_of(comm);
  return "";
}

nccl_result ncclGetUniqueId(nccl_id *id) {
  static atomic_int count;
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  memset(id, 0, sizeof *id);
  snprintf(id->bytes, sizeof id->bytes, "%d-%lld-%ld-%d", (int)getpid(), (long long)time.tv_sec,
           time.tv_nsec, count++);
  return NCCL_RESULT_SUCCESS;
}

/* ---- communicators ---- */

static void linger(void) { nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL); }

/* What NCCL and the libraries under it leave to be done when a program ends. */
static void add_handlers(void) {
  enum { HANDLERS = 100 };
  for (int i = 0; i < HANDLERS; i++) atexit(linger);
}

static nccl_result connect_or_refuse(standin_comm *comm) {
  bool all_refused = getenv(STANDIN_REFUSES_ALL) != NULL;
  if (all_refused) add_handlers();
  if (all_refused || fault_of(comm) == STANDIN_REFUSES) return STANDIN_INVALID_USAGE;
  return standin_connect(comm);
}

static void *open_comm(void *data) {
  standin_comm *comm = data;
  comm->state = connect_or_refuse(comm);
  return NULL;
}

static nccl_result init(void **out, int ranks, nccl_id id, int rank, bool blocking) {
  standin_comm *comm = calloc(1, sizeof *comm);
  *out = comm;
  if (!comm || ranks > STANDIN_MAX_RANKS || rank < 0 || rank >= ranks)
    return STANDIN_INVALID_ARGUMENT;
  comm->rank = rank;
  comm->ranks = ranks;
  comm->id = id;
  comm->blocking = blocking;
  for (int r = 0; r < STANDIN_MAX_RANKS; r++) comm->socket[r] = -1;
  pthread_mutex_lock(&mutex);
  comm->next = all;
  all = comm;
  pthread_mutex_unlock(&mutex);
  if (blocking) return connect_or_refuse(comm);
  comm->state = NCCL_RESULT_IN_PROGRESS;
  comm->opening = pthread_create(&comm->opener, NULL, open_comm, comm) == 0;
  return comm->opening ? NCCL_RESULT_IN_PROGRESS : STANDIN_SYSTEM_ERROR;
}

nccl_result ncclCommInitRank(void **comm, int ranks, nccl_id id, int rank) {
  return init(comm, ranks, id, rank, true);
}

nccl_result ncclCommInitRankConfig(void **comm, int ranks, nccl_id id, int rank,
                                   nccl_config *config) {
  if (config->magic != NCCL_CONFIG_MAGIC || config->size < sizeof *config ||
      config->version < NCCL_OLDEST_VERSION)
    return STANDIN_INVALID_ARGUMENT;
  return init(comm, ranks, id, rank, config->blocking != 0);
}

static void end(standin_comm *comm) {
  comm->ends = true;
  if (comm->opening) pthread_join(comm->opener, NULL);
  while (comm->busy > 0) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  comm->gone = true;
  for (int r = 0; r < comm->ranks; r++)
    if (comm->socket[r] >= 0) close(comm->socket[r]);
}

nccl_result ncclCommFinalize(void *comm) {
  return comm_of(comm)->blocking ? NCCL_RESULT_SUCCESS : NCCL_RESULT_IN_PROGRESS;
}

nccl_result ncclCommDestroy(void *comm) {
  end(comm_of(comm));
  return NCCL_RESULT_SUCCESS;
}

nccl_result ncclCommAbort(void *comm) {
  end(comm_of(comm));
  return NCCL_RESULT_SUCCESS;
}

nccl_result ncclCommGetAsyncError(void *comm, nccl_result *state) {
  *state = comm_of(comm)->state;
  return NCCL_RESULT_SUCCESS;
}

nccl_result ncclCommCount(const void *comm, int *ranks) {
  *ranks = comm_of(comm)->ranks;
  return NCCL_RESULT_SUCCESS;
}

nccl_result ncclCommUserRank(const void *comm, int *rank) {
  *rank = comm_of(comm)->rank;
  return NCCL_RESULT_SUCCESS;
}

/* ---- groups ---- */

typedef struct group {
  int depth, n, room;
  standin_comm *comm;
  void *stream;
  standin_op *op; /* [room] */
} group;
static _Thread_local group current;

static void run_job(void *data) {
  standin_job *job = data;
  job->comm->busy++;
  nccl_result result = job->comm->ends ? STANDIN_INTERNAL_ERROR : standin_move(job);
  if (result != NCCL_RESULT_SUCCESS) job->comm->state = result;
  job->comm->busy--;
}

static nccl_result submit(const group *g) {
  standin_job *job = malloc(sizeof *job + (size_t)g->n * sizeof *job->op);
  if (!job) return STANDIN_SYSTEM_ERROR;
  *job = (standin_job){.comm = g->comm, .n = g->n, .fault = fault_of(g->comm)};
  memcpy(job->op, g->op, (size_t)g->n * sizeof *job->op);
  job->next = g->comm->jobs;
  g->comm->jobs = job;
  g->comm->groups++;
  for (int i = 0; i < job->n; i++) {
    job->op[i].stage = standin_stage(job->op[i].bytes);
    if (!job->op[i].stage) job->op[i].stage = job->op[i].memory;
  }
  if (!standin_queue(job, run_job, g->stream)) return 1; /* ncclUnhandledCudaError */
  return g->comm->blocking ? (nccl_result)g->comm->state : NCCL_RESULT_IN_PROGRESS;
}

nccl_result ncclGroupStart(void) {
  if (current.depth++ == 0) current.n = 0;
  return NCCL_RESULT_SUCCESS;
}

nccl_result ncclGroupEnd(void) {
  if (current.depth == 0) misuse("ncclGroupEnd without ncclGroupStart");
  if (--current.depth > 0) return NCCL_RESULT_SUCCESS;
  nccl_result result = current.n > 0 ? submit(&current) : NCCL_RESULT_SUCCESS;
  free(current.op);
  current = (group){.depth = 0};
  return result;
}

static bool make_room(group *g) {
  if (g->n < g->room) return true;
  int room = g->room ? 2 * g->room : 64;
  standin_op *op = realloc(g->op, (size_t)room * sizeof *op);
  if (!op) return false;
  g->op = op;
  g->room = room;
  return true;
}

#define STREAM_OF_THREAD ((void *)2) /* CU_STREAM_PER_THREAD, hipStreamPerThread */

static nccl_result add(const standin_op *op, void *handle, void *stream) {
  standin_comm *comm = comm_of(handle);
  if (current.n > 0 && (current.comm != comm || current.stream != stream))
    misuse("a group of several communicators or streams");
  if (!comm->blocking && stream == STREAM_OF_THREAD)
    misuse("a thread's own stream: a communicator that does not block launches from others");
  if (op->peer < 0 || op->peer >= comm->ranks) return STANDIN_INVALID_ARGUMENT;
  if (!make_room(&current)) return STANDIN_SYSTEM_ERROR;
  current.comm = comm;
  current.stream = stream;
  current.op[current.n++] = *op;
  return NCCL_RESULT_SUCCESS;
}

nccl_result ncclSend(const void *data, size_t count, int type, int peer, void *comm, void *stream) {
  if (type != NCCL_UINT8 || current.depth == 0) misuse("ncclSend of another type, or alone");
  if (fault_of(comm_of(comm)) == STANDIN_SEND_FAILS) return STANDIN_SYSTEM_ERROR;
  const standin_op op = {
      .sends = true, .peer = peer, .bytes = count, .memory = (void *)(uintptr_t)data};
  return add(&op, comm, stream);
}

nccl_result ncclRecv(void *data, size_t count, int type, int peer, void *comm, void *stream) {
  if (type != NCCL_UINT8 || current.depth == 0) misuse("ncclRecv of another type, or alone");
  const standin_op op = {.peer = peer, .bytes = count, .memory = data};
  return add(&op, comm, stream);
}

nccl_result ncclAllGather(const void *own, void *gathered, size_t count, int type, void *handle,
                          void *stream) {
  standin_comm *comm = comm_of(handle);
  if (type != NCCL_UINT8) misuse("ncclAllGather of another type");
  ncclGroupStart();
  for (int r = 0; r < comm->ranks; r++) {
    standin_op op = {.peer = r, .bytes = count, .memory = (void *)(uintptr_t)own, .sends = true};
    add(&op, handle, stream);
    op = (standin_op){.peer = r, .bytes = count, .memory = (char *)gathered + (size_t)r * count};
    add(&op, handle, stream);
  }
  return ncclGroupEnd();
}
