/* The workspace of one-line calls.
 *
 * Eager calls keep it: per device and stream, zeroed once, grown rarely; what must be zero when a
 * run begins lies apart from the rest, because runs leave only that as they found it. A call on a
 * capturing stream never takes what is kept, since its graph may be replayed on any stream at any
 * time: its workspace is allocated in stream order, which makes it the graph's own, and zeroed
 * there. So does a call where another thread is launching on the same stream at this moment, or
 * that needs very much, or where very many streams have theirs already. */
#ifndef LLRT_RUNTIME_WORKSPACE_H
#define LLRT_RUNTIME_WORKSPACE_H

#include "jit/plan/kernel/launch.h"

#include <llrt/device.h>

#include <pthread.h>
#include <stdbool.h>

typedef struct kept_workspace kept_workspace;

typedef struct workspace_keeper {
  pthread_mutex_t mutex; /* over the list; what an entry holds is its borrower's */
  kept_workspace *first;
} workspace_keeper;

void llrt_workspace_keeper_init(workspace_keeper *keeper);
/* Precondition: nothing is kept: all devices are closed. */
void llrt_workspace_keeper_fini(workspace_keeper *keeper);

/* Gives back what is kept of a device that has finished its work. */
void llrt_workspace_drop_device(workspace_keeper *keeper, llrt_device *device);

/* One call's hold on workspace. */
typedef struct workspace_loan {
  llrt_device *device;
  void *stream;
  kept_workspace *kept; /* NULL: `own` is released behind the call */
  void *own;
  size_t zero_bytes;
} workspace_loan;

/* Workspace for a run that has begun: the regions' addresses are set, what must be zero is. Errors:
 * OUT_OF_MEMORY, DEVICE, NOT_PREPARED; nothing is held then. */
llrt_status llrt_workspace_take(llrt_device *device, plan_run *run, void *stream,
                                workspace_loan *loan);

/* Behind the run's launches. status: how they went, which it passes through; zeroes: they leave
 * zero what they found so. */
llrt_status llrt_workspace_return(workspace_loan *loan, llrt_status status, bool zeroes);

#endif
