/* What a case of llrt-bench compute is compared with, timed as it is (flushed.h). */
#ifndef LLRT_BENCHMARKS_COMPUTE_BESIDE_H
#define LLRT_BENCHMARKS_COMPUTE_BESIDE_H

#include "dot_run.h"

/* A copy of half of the bytes, which reads and writes as many. */
harness_statistic beside_copy(const flushed *f, int64_t bytes);

/* Reading so many bytes, of which the first are those of x; on CUDA devices, elsewhere all zero. */
harness_statistic beside_read(const flushed *f, const device_matrix *x, int64_t bytes);

#endif
