/* Calls of NCCL's as the watch sees them. */
#include "runtime/nccl_watch.h"

#include <sched.h>
#include <time.h>

void nccl_pause(int looks) {
  enum { AT_ONCE = 2000, PAUSE_NS = 20000 };
  if (looks < AT_ONCE) sched_yield();
  else nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
}

llrt_status nccl_enter(nccl_rank *rank, const char *function, int *entry) {
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

llrt_status nccl_leave(nccl_rank *rank, nccl_result result, int entry) {
  const llrt_backend *backend = rank->device->backend;
  for (int looks = 0; result == NCCL_RESULT_IN_PROGRESS && !has_settled(rank, &result); looks++)
    nccl_pause(looks);
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
