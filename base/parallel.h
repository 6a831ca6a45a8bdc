/* Spreading independent work over host threads: the one place where llrt runs code in parallel
 * (base/pool.h has the threads). */
#ifndef LLRT_BASE_PARALLEL_H
#define LLRT_BASE_PARALLEL_H

#include <stdint.h>

typedef void llrt_parallel_body(void *data, int64_t begin, int64_t end);

typedef struct llrt_parallel {
  int threads; /* 0, or more than there are cores: one for each core */
  void *user;
  /* The caller's own loop (llrt_context_params.parallel_for), or NULL for the library's threads. */
  void (*run)(void *user, int64_t count, llrt_parallel_body *body, void *data);
} llrt_parallel;

/* Calls body over disjoint ranges that cover [0, count) and returns when all are done. `grain` is
 * the smallest range worth a thread. Thread: any, also from inside of a body. */
void llrt_parallel_run(const llrt_parallel *parallel, int64_t count, int64_t grain,
                       llrt_parallel_body *body, void *data);

/* Threads that llrt_parallel_run would use at most. */
int llrt_parallel_threads(const llrt_parallel *parallel);

#endif
