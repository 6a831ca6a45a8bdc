/* What is told of each launch (LLRT_LOG_VERBOSE, docs/logging.md). */
#ifndef LLRT_RUNTIME_LAUNCH_LOG_H
#define LLRT_RUNTIME_LAUNCH_LOG_H

#include "runtime/context.h"
#include "runtime/prepared.h"

/* One launch of a variant's stages, while it is timed. */
typedef struct launch_log {
  const llrt_op *op;
  int variant;
  const op_call *call;
  const plan_run *run;
  void *stream;
  bool captured, timed;
  backend_event *start, *stop;
} launch_log;

static inline bool llrt_launch_log_wanted(const llrt_op *op) {
  return llrt_log_wants(&op->device->context->log, LLRT_LOG_VERBOSE);
}

/* Before the first stage is launched, and behind the last: waits for them, unless the stream
 * captures, and tells. What goes wrong with the timing alone leaves the time out. */
void llrt_launch_log_begin(launch_log *log);
void llrt_launch_log_end(launch_log *log, llrt_status status);

/* Tells of a call that failed (LLRT_LOG_ERROR), by what the thread's error slot has; returns
 * status. */
llrt_status llrt_log_failure(llrt_device *device, llrt_op_kind kind, llrt_status status);

#endif
