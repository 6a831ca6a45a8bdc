/* The threads of this library: few, idle most of the time, and gone when it is.
 *
 * There is one pool in a process, whatever the number of contexts, of no more threads than cores
 * that the process may use (sched_getaffinity of its main thread), callers counted. Threads start
 * when a call first wants them; they are joined when the last user lets go (llrt_pool_release) and
 * when the library is unloaded. They block all signals, begin with the floating-point mode of a
 * fresh thread and run on any core of the process, wherever their starter is pinned. A child of
 * fork() has none and starts its own; what of the parent's calls was under way on other threads is
 * not there. */
#ifndef LLRT_BASE_POOL_H
#define LLRT_BASE_POOL_H

enum { LLRT_POOL_MOST = 256 }; /* threads of one call */

typedef struct llrt_pool_call llrt_pool_call;
typedef void llrt_pool_work(llrt_pool_call *call, void *data, int part);

/* Runs work for part 0 on this thread and for others of [1, parts) on threads that are idle now, at
 * once. A part may be left out: whoever runs has to do what is left of the whole, and returns when
 * none is left. Threads that look for work come by themselves; others only after llrt_pool_wake.
 * Returns when all that began have ended. parts <= LLRT_POOL_MOST. Thread: any, also one of the
 * pool's. */
void llrt_pool_run(int parts, llrt_pool_work *work, void *data);

/* Lets threads of the call that sleep, or have not been started yet, come too: some microseconds of
 * the caller's time. For part 0 alone, once. */
void llrt_pool_wake(llrt_pool_call *call);

/* Cores that the process may use, at most LLRT_POOL_MOST, at least 1. */
int llrt_pool_cores(void);

/* Counts a user of the pool. */
void llrt_pool_retain(void);

/* Counts one less; the last one's ends the threads. Precondition of that: no other thread is in
 * llrt_pool_run. */
void llrt_pool_release(void);

/* Threads that have been started and not ended. */
int llrt_pool_threads(void);

#endif
