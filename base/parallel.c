#include "base/parallel.h"

#ifdef _OPENMP
#include <omp.h>
#endif

int llrt_parallel_threads(const llrt_parallel *parallel) {
  if (parallel->threads > 0) return parallel->threads;
#ifdef _OPENMP
  return omp_get_max_threads();
#else
  return 1;
#endif
}

/* Part `index` of `parts` contiguous, nearly equal ranges of [0, count): neighbours stay on one
 * core, so pages and cache lines are shared at the seams only. */
static void run_part(int64_t count, int64_t index, int64_t parts, llrt_parallel_body *body,
                     void *data) {
  int64_t share = count / parts, longer = count % parts;
  int64_t begin = index * share + (index < longer ? index : longer);
  int64_t end = begin + share + (index < longer);
  if (begin < end) body(data, begin, end);
}

void llrt_parallel_run(const llrt_parallel *parallel, int64_t count, int64_t grain,
                       llrt_parallel_body *body, void *data) {
  if (count <= 0) return;
  if (parallel->run) {
    parallel->run(parallel->user, count, body, data);
    return;
  }
  int64_t parts = grain > 1 ? (count - 1) / grain + 1 : count;
  int threads = llrt_parallel_threads(parallel);
  if (parts > threads) parts = threads;
  if (parts <= 1) {
    body(data, 0, count);
    return;
  }
#ifdef _OPENMP
#pragma omp parallel num_threads((int)parts)
  run_part(count, omp_get_thread_num(), omp_get_num_threads(), body, data);
#else
  for (int64_t i = 0; i < parts; i++) run_part(count, i, parts, body, data);
#endif
}
