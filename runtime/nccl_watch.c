#include "runtime/nccl_watch.h"

#include "base/memory.h"
#include "base/status.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define LONGEST_PAUSE 50000000u /* ns between looks at what is under way */
#define SHORTEST_PAUSE 1000000u
#define LOOKS_A_TIMEOUT 16

uint64_t nccl_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* ---- failures ---- */

static void note_words(nccl_rank *rank, nccl_failure *failure) {
  const char *words = NULL;
  if (rank->comm && rank->library.ncclGetLastError)
    words = rank->library.ncclGetLastError(rank->comm);
  if (!words || !words[0]) words = rank->library.ncclGetErrorString(failure->result);
  snprintf(failure->text, sizeof failure->text, "%s", words ? words : "");
}

void *nccl_fail(nccl_rank *rank, nccl_failure_kind kind, nccl_result result, const char *what) {
  void *comm = rank->comm;
  if (rank->failure.kind == NCCL_NO_FAILURE) {
    rank->failure = (nccl_failure){.kind = kind, .result = result, .what = what};
    if (kind == NCCL_ERROR) note_words(rank, &rank->failure);
  }
  rank->comm = NULL;
  return comm;
}

void nccl_abort(nccl_rank *rank, void *comm) {
  const llrt_backend *backend = rank->device->backend;
  int entry = 0;
  if (!comm) return;
  bool entered = backend->enter && backend->enter(rank->device, &entry) == LLRT_OK;
  rank->library.ncclCommAbort(comm);
  if (entered) backend->leave(rank->device, entry, LLRT_OK);
}

llrt_status nccl_tell(const nccl_rank *rank) {
  const nccl_failure *failure = &rank->failure;
  switch (failure->kind) {
  case NCCL_NO_FAILURE: return LLRT_OK;
  case NCCL_LATE:
    return llrt_error(LLRT_DEVICE, "%s did not end within the time-out: a rank did not come",
                      failure->what);
  case NCCL_ERROR:
    return llrt_error_vendor(LLRT_DEVICE, failure->result, "%s: %s", failure->what, failure->text);
  case NCCL_REFUSED: return llrt_error(LLRT_DEVICE, "this rank refused what the others did");
  }
  return LLRT_OK;
}

/* ---- the thread ---- */

/* Drops flights that have ended; true: the oldest one has taken too long. Precondition: the mutex
 * is held. Events that a driver in trouble does not tell of are left to the time-out. */
static bool look_at_flights(nccl_rank *rank, uint64_t now) {
  const llrt_backend *backend = rank->device->backend;
  while (rank->n_flights > 0) {
    nccl_flight *flight = &rank->flight[rank->first];
    bool done = false;
    if (backend->event_done(rank->device, flight->end, &done) == LLRT_OK && done) {
      rank->first = (rank->first + 1) % NCCL_MAX_FLIGHTS;
      rank->n_flights--;
      continue;
    }
    if (!flight->begun && backend->event_done(rank->device, flight->begin, &done) == LLRT_OK &&
        done)
      flight->begun = now;
    return flight->begun && now - flight->begun > rank->timeout;
  }
  return false;
}

/* What has to be aborted, or NULL. Precondition: the mutex is held. */
static void *look(nccl_rank *rank) {
  uint64_t now = nccl_now();
  nccl_result state = NCCL_RESULT_SUCCESS;
  if (rank->failure.kind != NCCL_NO_FAILURE) return NULL;
  if (rank->call) {
    bool late = now > rank->call_deadline;
    return late ? nccl_fail(rank, NCCL_LATE, 0, rank->call) : NULL;
  }
  if (rank->n_flights == 0 || !rank->comm) return NULL;
  if (look_at_flights(rank, now)) return nccl_fail(rank, NCCL_LATE, 0, "a re-shard");
  rank->library.ncclCommGetAsyncError(rank->comm, &state);
  if (state == NCCL_RESULT_SUCCESS || state == NCCL_RESULT_IN_PROGRESS) return NULL;
  return nccl_fail(rank, NCCL_ERROR, state, "NCCL, behind calls");
}

static void pause_until_next_look(nccl_rank *rank) {
  uint64_t pause = rank->timeout / LOOKS_A_TIMEOUT;
  if (pause > LONGEST_PAUSE) pause = LONGEST_PAUSE;
  if (pause < SHORTEST_PAUSE) pause = SHORTEST_PAUSE;
  uint64_t until = nccl_now() + pause;
  struct timespec time = {.tv_sec = (time_t)(until / 1000000000u),
                          .tv_nsec = (long)(until % 1000000000u)};
  pthread_cond_timedwait(&rank->changed, &rank->mutex, &time);
}

static void *watch(void *data) {
  nccl_rank *rank = data;
  pthread_mutex_lock(&rank->mutex);
  while (!rank->ends) {
    void *comm = look(rank);
    if (comm) {
      pthread_mutex_unlock(&rank->mutex);
      nccl_abort(rank, comm);
      pthread_mutex_lock(&rank->mutex);
    }
    bool idle = rank->failure.kind != NCCL_NO_FAILURE || (!rank->call && rank->n_flights == 0);
    if (rank->ends) break;
    if (idle) pthread_cond_wait(&rank->changed, &rank->mutex);
    else pause_until_next_look(rank);
  }
  pthread_mutex_unlock(&rank->mutex);
  return NULL;
}

llrt_status nccl_watch_start(nccl_rank *rank) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_mutex_init(&rank->mutex, NULL);
  pthread_cond_init(&rank->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  rank->started = memory_thread(&rank->thread, NULL, watch, rank) == 0;
  if (rank->started) return LLRT_OK;
  return llrt_error(LLRT_OUT_OF_MEMORY, "no thread to watch over a communicator");
}

void nccl_watch_stop(nccl_rank *rank) {
  if (rank->started) {
    pthread_mutex_lock(&rank->mutex);
    rank->ends = true;
    pthread_cond_signal(&rank->changed);
    pthread_mutex_unlock(&rank->mutex);
    pthread_join(rank->thread, NULL);
  }
  pthread_cond_destroy(&rank->changed);
  pthread_mutex_destroy(&rank->mutex);
}
