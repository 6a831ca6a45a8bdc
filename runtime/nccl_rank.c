/* The calls of a rank; nccl_watch.c has the thread that watches them. */
#include "runtime/nccl_rank.h"

#include "base/memory.h"
#include "base/status.h"
#include "runtime/nccl_watch.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Between two looks: what takes microseconds is not slept over. */
static void pause_for(int looks) {
  enum { AT_ONCE = 2000, PAUSE_NS = 20000 };
  if (looks < AT_ONCE) sched_yield();
  else nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
}

/* ---- a call ---- */

/* The thread may call NCCL: the device is current, the watch knows until when. */
static llrt_status enter(nccl_rank *rank, const char *function, int *entry) {
  const llrt_backend *backend = rank->device->backend;
  *entry = 0;
  pthread_mutex_lock(&rank->mutex);
  llrt_status status = nccl_tell(rank);
  if (status == LLRT_OK) {
    rank->call = function;
    rank->call_deadline = nccl_now() + rank->timeout;
    pthread_cond_signal(&rank->changed);
  }
  pthread_mutex_unlock(&rank->mutex);
  if (status != LLRT_OK || !backend->enter) return status;
  status = backend->enter(rank->device, entry);
  if (status == LLRT_OK) return LLRT_OK;
  pthread_mutex_lock(&rank->mutex);
  rank->call = NULL;
  pthread_mutex_unlock(&rank->mutex);
  return status;
}

/* What became of the communicator's calls, once it has ended with all that they began: it may work
 * behind them (blocking = 0). *result: NCCL's. */
static bool has_settled(nccl_rank *rank, nccl_result *result) {
  pthread_mutex_lock(&rank->mutex);
  bool gone = !rank->comm;
  if (!gone && rank->library.ncclCommGetAsyncError(rank->comm, result) != NCCL_RESULT_SUCCESS)
    *result = NCCL_RESULT_IN_PROGRESS;
  pthread_mutex_unlock(&rank->mutex);
  return gone || *result != NCCL_RESULT_IN_PROGRESS;
}

/* The other end of enter; waits for what the calls began. */
static llrt_status leave(nccl_rank *rank, nccl_result result, int entry) {
  const llrt_backend *backend = rank->device->backend;
  for (int looks = 0; result == NCCL_RESULT_IN_PROGRESS && !has_settled(rank, &result); looks++)
    pause_for(looks);
  llrt_status left = backend->leave ? backend->leave(rank->device, entry, LLRT_OK) : LLRT_OK;
  pthread_mutex_lock(&rank->mutex);
  const char *function = rank->call;
  void *comm = NULL;
  rank->call = NULL;
  if (result != NCCL_RESULT_SUCCESS) comm = nccl_fail(rank, NCCL_ERROR, result, function);
  llrt_status status = nccl_tell(rank);
  pthread_mutex_unlock(&rank->mutex);
  nccl_abort(rank, comm);
  return status == LLRT_OK ? left : status;
}

/* ---- open and close ---- */

static llrt_status check_given(nccl_rank *rank) {
  const nccl_library *library = &rank->library;
  int ranks, number;
  LLRT_TRY(nccl_check(library, library->ncclCommCount(rank->comm, &ranks), "ncclCommCount"));
  LLRT_TRY(nccl_check(library, library->ncclCommUserRank(rank->comm, &number), "ncclCommUserRank"));
  LLRT_REQUIRE(ranks == rank->ranks && number == rank->rank,
               "params: nccl is rank %d of %d, and this is rank %d of %d", number, ranks,
               rank->rank, rank->ranks);
  return LLRT_OK;
}

/* The handle is there at once, and is what has to be aborted where ranks do not come. */
static llrt_status make_comm(nccl_rank *rank, const void *id_bytes) {
  nccl_config config = {.size = sizeof config,
                        .magic = NCCL_CONFIG_MAGIC,
                        .version = NCCL_CONFIG_VERSION,
                        .blocking = 0};
  nccl_id id;
  int entry;
  void *comm = NULL;
  memcpy(id.bytes, id_bytes, sizeof id.bytes);
  LLRT_TRY(enter(rank, "ncclCommInitRankConfig", &entry));
  nccl_result result =
      rank->library.ncclCommInitRankConfig(&comm, rank->ranks, id, rank->rank, &config);
  pthread_mutex_lock(&rank->mutex);
  bool late = rank->failure.kind != NCCL_NO_FAILURE;
  if (!late) rank->comm = comm;
  pthread_mutex_unlock(&rank->mutex);
  if (late) nccl_abort(rank, comm);
  return leave(rank, late ? NCCL_RESULT_SUCCESS : result, entry);
}

static llrt_status make_events(nccl_rank *rank) {
  const llrt_backend *backend = rank->device->backend;
  if (!backend->event_done) return LLRT_OK;
  LLRT_TRY(backend->event_create(rank->device, &rank->probe));
  LLRT_TRY(backend->event_create(rank->device, &rank->turn));
  LLRT_TRY(backend->stream_create(rank->device, &rank->stream));
  for (int i = 0; i < NCCL_MAX_FLIGHTS; i++) {
    LLRT_TRY(backend->event_create(rank->device, &rank->flight[i].begin));
    LLRT_TRY(backend->event_create(rank->device, &rank->flight[i].end));
  }
  return LLRT_OK;
}

static void drop_events(nccl_rank *rank) {
  const llrt_backend *backend = rank->device->backend;
  if (rank->probe) backend->event_destroy(rank->device, rank->probe);
  if (rank->turn) backend->event_destroy(rank->device, rank->turn);
  if (rank->stream) backend->stream_destroy(rank->device, rank->stream);
  for (int i = 0; i < NCCL_MAX_FLIGHTS; i++) {
    if (rank->flight[i].begin) backend->event_destroy(rank->device, rank->flight[i].begin);
    if (rank->flight[i].end) backend->event_destroy(rank->device, rank->flight[i].end);
  }
}

static llrt_status open_rank(nccl_rank *rank, const nccl_rank_params *params) {
  LLRT_TRY(make_events(rank));
  if (rank->own) return make_comm(rank, params->id);
  rank->comm = params->comm;
  return check_given(rank);
}

llrt_status nccl_rank_open(const nccl_rank_params *params, nccl_rank **out) {
  *out = NULL;
  nccl_rank *rank = memory_zeroed(1, sizeof *rank);
  if (!rank) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a communicator");
  rank->device = params->device;
  rank->own = !params->comm;
  rank->rank = params->rank;
  rank->ranks = params->ranks;
  rank->timeout = params->timeout;
  llrt_status status = nccl_library_open(params->device, params->library, &rank->library);
  if (status != LLRT_OK) {
    free(rank);
    return status;
  }
  status = nccl_watch_start(rank);
  if (status == LLRT_OK) status = open_rank(rank, params);
  if (status == LLRT_OK) *out = rank;
  else nccl_rank_close(rank);
  return status;
}

/* Other ranks may be gone: the end of a communicator of our own is watched as calls are. */
static void end_comm(nccl_rank *rank) {
  int entry;
  if (!rank->own || !rank->comm || enter(rank, "ncclCommFinalize", &entry) != LLRT_OK) return;
  nccl_result result = NCCL_RESULT_SUCCESS;
  if (rank->library.ncclCommFinalize) result = rank->library.ncclCommFinalize(rank->comm);
  if (leave(rank, result, entry) != LLRT_OK) return;
  pthread_mutex_lock(&rank->mutex);
  void *comm = rank->comm;
  rank->comm = NULL;
  pthread_mutex_unlock(&rank->mutex);
  const llrt_backend *backend = rank->device->backend;
  bool entered = backend->enter && backend->enter(rank->device, &entry) == LLRT_OK;
  rank->library.ncclCommDestroy(comm);
  if (entered) backend->leave(rank->device, entry, LLRT_OK);
}

void nccl_rank_close(nccl_rank *rank) {
  if (!rank) return;
  end_comm(rank);
  nccl_watch_stop(rank);
  drop_events(rank);
  nccl_library_close(&rank->library);
  free(rank);
}

/* ---- messages ---- */

/* The calling thread's own stream, as CUDA and HIP number it. A communicator that does not block
 * launches from threads of NCCL's, in which that number is another stream. */
#define STREAM_OF_THREAD ((void *)2)

/* What is queued on `behind` from now on begins when what is on `before` has ended. */
static llrt_status order(nccl_rank *rank, void *before, void *behind) {
  const llrt_backend *backend = rank->device->backend;
  if (before == behind) return LLRT_OK;
  LLRT_TRY(backend->event_record(rank->device, rank->turn, before));
  return backend->event_wait(rank->device, rank->turn, behind);
}

/* The stream that NCCL gets for the caller's. */
static void *stream_for(const nccl_rank *rank, void *stream) {
  return stream == STREAM_OF_THREAD && rank->stream ? rank->stream : stream;
}

static llrt_status queue_messages(nccl_rank *rank, const nccl_transfer *transfers, int n,
                                  void *stream) {
  const nccl_library *library = &rank->library;
  int entry;
  LLRT_TRY(enter(rank, "ncclSend and ncclRecv", &entry));
  void *comm = rank->comm;
  nccl_result result = library->ncclGroupStart();
  if (result != NCCL_RESULT_SUCCESS) return leave(rank, result, entry);
  for (int i = 0; i < n && result == NCCL_RESULT_SUCCESS; i++) {
    const nccl_transfer *t = &transfers[i];
    result = t->sends ? library->ncclSend(t->data, t->bytes, NCCL_UINT8, t->peer, comm, stream)
                      : library->ncclRecv(t->data, t->bytes, NCCL_UINT8, t->peer, comm, stream);
    if (result == NCCL_RESULT_IN_PROGRESS) result = NCCL_RESULT_SUCCESS;
  }
  nccl_result ended = library->ncclGroupEnd();
  return leave(rank, result == NCCL_RESULT_SUCCESS ? ended : result, entry);
}

llrt_status nccl_rank_exchange(nccl_rank *rank, const nccl_transfer *transfers, int n,
                               void *stream) {
  void *given = stream_for(rank, stream);
  if (n == 0) return LLRT_OK;
  LLRT_TRY(order(rank, stream, given));
  LLRT_TRY(queue_messages(rank, transfers, n, given));
  return order(rank, given, stream);
}

llrt_status nccl_rank_gather(nccl_rank *rank, const void *own, void *all, size_t bytes,
                             void *stream) {
  void *given = stream_for(rank, stream);
  int entry;
  LLRT_TRY(order(rank, stream, given));
  LLRT_TRY(enter(rank, "ncclAllGather", &entry));
  LLRT_TRY(leave(rank, rank->library.ncclAllGather(own, all, bytes, NCCL_UINT8, rank->comm, given),
                 entry));
  return order(rank, given, stream);
}

/* ---- work under way ---- */

/* Where the ring is full the newest flight becomes longer: its end is that of the last one. */
static nccl_flight *newest(nccl_rank *rank) {
  return &rank->flight[(rank->first + rank->n_flights - 1) % NCCL_MAX_FLIGHTS];
}

/* Whether work on the stream can be watched. */
static llrt_status is_watched(const nccl_rank *rank, void *stream, bool *watched) {
  const llrt_backend *backend = rank->device->backend;
  backend_stream state;
  *watched = false;
  if (!rank->probe) return LLRT_OK;
  LLRT_TRY(backend->stream_state(rank->device, stream, &state));
  *watched = !state.capturing;
  return LLRT_OK;
}

llrt_status nccl_rank_begin(nccl_rank *rank, void *stream) {
  bool watched;
  LLRT_TRY(is_watched(rank, stream, &watched));
  if (!watched) return nccl_rank_status(rank);
  pthread_mutex_lock(&rank->mutex);
  llrt_status status = nccl_tell(rank);
  if (status == LLRT_OK) {
    if (rank->n_flights < NCCL_MAX_FLIGHTS) rank->n_flights++;
    nccl_flight *flight = newest(rank);
    flight->begun = 0;
    status = rank->device->backend->event_record(rank->device, flight->begin, stream);
    /* Its end, until it has one: behind all that is on the stream now. */
    if (status == LLRT_OK)
      status = rank->device->backend->event_record(rank->device, flight->end, stream);
  }
  pthread_mutex_unlock(&rank->mutex);
  return status;
}

llrt_status nccl_rank_end(nccl_rank *rank, void *stream) {
  bool watched;
  LLRT_TRY(is_watched(rank, stream, &watched));
  if (!watched) return nccl_rank_status(rank);
  pthread_mutex_lock(&rank->mutex);
  llrt_status status = nccl_tell(rank);
  if (status == LLRT_OK) {
    if (rank->n_flights == 0) rank->n_flights = 1; /* its beginning was seen, and taken for it */
    status = rank->device->backend->event_record(rank->device, newest(rank)->end, stream);
  }
  pthread_cond_signal(&rank->changed);
  pthread_mutex_unlock(&rank->mutex);
  return status;
}

llrt_status nccl_rank_status(nccl_rank *rank) {
  nccl_result state = NCCL_RESULT_SUCCESS;
  void *comm = NULL;
  pthread_mutex_lock(&rank->mutex);
  if (rank->comm &&
      rank->library.ncclCommGetAsyncError(rank->comm, &state) == NCCL_RESULT_SUCCESS &&
      state != NCCL_RESULT_SUCCESS && state != NCCL_RESULT_IN_PROGRESS)
    comm = nccl_fail(rank, NCCL_ERROR, state, "NCCL, behind calls");
  llrt_status status = nccl_tell(rank);
  pthread_mutex_unlock(&rank->mutex);
  nccl_abort(rank, comm);
  return status;
}

/* Whether all that is queued has ended. */
static llrt_status poll(nccl_rank *rank, bool *done) {
  LLRT_TRY(nccl_rank_status(rank));
  return rank->device->backend->event_done(rank->device, rank->probe, done);
}

llrt_status nccl_rank_wait(nccl_rank *rank, void *stream) {
  const llrt_backend *backend = rank->device->backend;
  uint64_t begun = nccl_now();
  bool done = false;
  if (!rank->probe) return nccl_rank_status(rank);
  LLRT_TRY(nccl_rank_status(rank));
  LLRT_TRY(backend->event_record(rank->device, rank->probe, stream));
  for (int looks = 0; nccl_now() - begun <= rank->timeout; looks++) {
    LLRT_TRY(poll(rank, &done));
    if (done) return nccl_rank_status(rank);
    pause_for(looks);
  }
  pthread_mutex_lock(&rank->mutex);
  void *comm = nccl_fail(rank, NCCL_LATE, 0, "what was waited for");
  llrt_status status = nccl_tell(rank);
  pthread_mutex_unlock(&rank->mutex);
  nccl_abort(rank, comm);
  return status;
}

void nccl_rank_refuse(nccl_rank *rank) {
  pthread_mutex_lock(&rank->mutex);
  void *comm = nccl_fail(rank, NCCL_REFUSED, 0, "this rank");
  pthread_mutex_unlock(&rank->mutex);
  nccl_abort(rank, comm);
}
