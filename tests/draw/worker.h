/* Processes that run cases: a crash or a kernel that does not end is one case's fault. The library
 * is used in them alone. */
#ifndef LLRT_TESTS_DRAW_WORKER_H
#define LLRT_TESTS_DRAW_WORKER_H

#include "operations.h"

#include <sys/types.h>

#define MOST_EDITS 400

/* Case `number` of a seed, made smaller by `edits`. */
typedef struct draw_request {
  uint64_t seed, number;
  int32_t only, n_edits;
  int16_t edit[MOST_EDITS];
} draw_request;

typedef struct draw_reply {
  int32_t verdict;
  int32_t unfit; /* the last edit: 1 changes nothing or does not suit, 2 is none, the ways have come
                    to their end */
  int32_t operation;
  char why[WHY_BYTES];
} draw_reply;

typedef struct draw_worker {
  pid_t pid; /* 0: none */
  int to, from;
} draw_worker;

/* Starts a process for a device. Exits the program where that fails. */
void worker_start(draw_worker *worker, const char *device, const char *target);
void worker_stop(draw_worker *worker);
bool worker_ask(draw_worker *worker, const draw_request *request);
/* Seconds of the processors that the process has used. */
double worker_seconds(const draw_worker *worker);
/* Waits up to `seconds` of its for the reply, ten times as long where it gets no processor; 0: it
 * has had its time. A process that ended or did not is stopped, and the reply says so. */
void worker_reply(draw_worker *worker, double seconds, draw_reply *reply);

/* Makes the request's case, of `operation`; NULL, with reply->unfit, where an edit does not suit.
 */
void *worker_case_make(const draw_request *request, const char *device, draw_reply *reply);

#endif
