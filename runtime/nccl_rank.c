/* Messages of a rank, and how they and what runs around them end. nccl_open.c makes the
 * communicator, nccl_watch.c has the thread that watches it. */
#include "runtime/nccl_rank.h"

#include "base/status.h"
#include "runtime/comm.h"
#include "runtime/nccl_watch.h"

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
  return stream == STREAM_OF_THREAD && rank->stream && !rank->blocks ? rank->stream : stream;
}

static llrt_status queue_messages(nccl_rank *rank, const nccl_transfer *transfers, int n,
                                  void *stream) {
  const nccl_library *library = &rank->library;
  int entry;
  LLRT_TRY(nccl_enter(rank, "ncclSend and ncclRecv", &entry));
  void *comm = rank->comm;
  nccl_result result = library->ncclGroupStart();
  if (result != NCCL_RESULT_SUCCESS) return nccl_leave(rank, result, entry);
  for (int i = 0; i < n && result == NCCL_RESULT_SUCCESS; i++) {
    const nccl_transfer *t = &transfers[i];
    result = t->sends ? library->ncclSend(t->data, t->bytes, NCCL_UINT8, t->peer, comm, stream)
                      : library->ncclRecv(t->data, t->bytes, NCCL_UINT8, t->peer, comm, stream);
    if (result == NCCL_RESULT_IN_PROGRESS) result = NCCL_RESULT_SUCCESS;
  }
  nccl_result ended = library->ncclGroupEnd();
  return nccl_leave(rank, result == NCCL_RESULT_SUCCESS ? ended : result, entry);
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
  LLRT_TRY(nccl_enter(rank, "ncclAllGather", &entry));
  LLRT_TRY(nccl_leave(
      rank, rank->library.ncclAllGather(own, all, bytes, NCCL_UINT8, rank->comm, given), entry));
  return order(rank, given, stream);
}

llrt_status nccl_rank_tell(nccl_rank *rank, const void *own, void *all, size_t bytes,
                           void *stream) {
  llrt_device *device = rank->device;
  const llrt_backend *backend = device->backend;
  size_t all_bytes = (size_t)rank->ranks * bytes;
  void *sent, *received = NULL;
  LLRT_TRY(llrt_comm_upload(device, own, bytes, stream, &sent));
  llrt_status status = backend->allocate(device, all_bytes, &received);
  if (status == LLRT_OK) status = nccl_rank_gather(rank, sent, received, bytes, stream);
  if (status == LLRT_OK) status = nccl_rank_wait(rank, stream);
  if (status == LLRT_OK)
    status = backend->copy(device, all, received, all_bytes, LLRT_COPY_FROM_DEVICE, stream);
  if (status == LLRT_OK) status = backend->synchronize(device, stream);
  if (received) backend->release(device, received);
  backend->release(device, sent);
  return status;
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
    nccl_pause(looks);
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
