/* oneDNN's sgemm, where libdnnl.so.3 can be opened: DNNL_LIBRARY names it, else the loader finds
 * it. */
#ifndef LLRT_BENCHMARKS_DNNL_H
#define LLRT_BENCHMARKS_DNNL_H

#include <stdint.h>

/* dnnl_sgemm of oneDNN 3: row-major C = A B, all f32; trans_b 'T': B is [n, k] in memory. 0: done.
 */
typedef int dnnl_sgemm_function(char trans_a, char trans_b, int64_t m, int64_t n, int64_t k,
                                float alpha, const float *a, int64_t lda, const float *b,
                                int64_t ldb, float beta, float *c, int64_t ldc);

typedef struct dnnl {
  void *library;
  dnnl_sgemm_function *sgemm; /* NULL: there is no oneDNN */
} dnnl;

void dnnl_open(dnnl *out);
void dnnl_close(dnnl *library);

#endif
