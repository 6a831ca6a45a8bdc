/* What the calls of a rank and the thread that watches them share (nccl_rank.h). */
#ifndef LLRT_RUNTIME_NCCL_WATCH_H
#define LLRT_RUNTIME_NCCL_WATCH_H

#include "backends/nccl/nccl_library.h"
#include "runtime/nccl_rank.h"

#include <pthread.h>

enum { NCCL_MAX_FLIGHTS = 16 };

/* Queued work that has not been seen to end. */
typedef struct nccl_flight {
  backend_event *begin, *end;
  uint64_t begun; /* when it was first seen to have begun, ns; 0: not yet */
} nccl_flight;

typedef enum nccl_failure_kind {
  NCCL_NO_FAILURE = 0,
  NCCL_LATE = 1,   /* a call did not return, or work did not end, within the time-out */
  NCCL_ERROR = 2,  /* a call failed, or an asynchronous error was told */
  NCCL_REFUSED = 3 /* this rank itself */
} nccl_failure_kind;

typedef struct nccl_failure {
  nccl_failure_kind kind;
  nccl_result result;
  const char *what; /* static: the function, or what was waited for */
  char text[160];   /* NCCL's own words; empty: none */
} nccl_failure;

struct nccl_rank {
  llrt_device *device;
  nccl_library library;
  bool own;    /* the communicator is of our own making */
  bool blocks; /* and its calls block; of the caller's it is not known */
  int rank, ranks;
  uint64_t timeout;     /* ns */
  backend_event *probe; /* for waits; NULL: the device has no streams */
  backend_event *turn;  /* between a thread's own stream and the next one; as the probe */
  void *stream;         /* what NCCL gets in place of a thread's own stream; as the probe */

  pthread_mutex_t mutex; /* over all below */
  pthread_cond_t changed;
  pthread_t thread;
  bool started, ends;
  void *comm;             /* NULL: none yet, or aborted */
  const char *call;       /* the function that a thread is in; NULL: none */
  uint64_t call_deadline; /* ns */
  nccl_flight flight[NCCL_MAX_FLIGHTS];
  int first, n_flights; /* a ring; the newest one may be several in one */
  nccl_failure failure;
};

uint64_t nccl_now(void); /* ns */

/* The thread; started by the first call of watch_start. Errors: OUT_OF_MEMORY. */
llrt_status nccl_watch_start(nccl_rank *rank);
void nccl_watch_stop(nccl_rank *rank);

/* Notes the failure, unless there was one, and takes the communicator: what it returns is to be
 * given to nccl_abort without the mutex; NULL: nothing is. Precondition: the mutex is held. */
void *nccl_fail(nccl_rank *rank, nccl_failure_kind kind, nccl_result result, const char *what);
void nccl_abort(nccl_rank *rank, void *comm);

/* Between the two the thread may call NCCL: the device is current, and the watch knows until when.
 * leave waits for what the calls began, and says what became of them. Errors: DEVICE, also where
 * the rank has failed before: then of enter, which leave does not follow. */
llrt_status nccl_enter(nccl_rank *rank, const char *function, int *entry);
llrt_status nccl_leave(nccl_rank *rank, nccl_result result, int entry);

/* Between two looks: what takes microseconds is not slept over. */
void nccl_pause(int looks);

/* What has failed, as a status; OK: nothing. Precondition: the mutex is held. */
llrt_status nccl_tell(const nccl_rank *rank);

#endif
