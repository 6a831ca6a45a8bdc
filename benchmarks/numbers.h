/* Numbers for operations that compute: data whose sums are exact, and elements read as f64. */
#ifndef LLRT_BENCHMARKS_NUMBERS_H
#define LLRT_BENCHMARKS_NUMBERS_H

#include <llrt/tensor.h>

/* n elements k / 128 with -128 <= k < 128, which depend on place and seed. A sum of them is exact
 * in f32 as long as it stays below 2^17, so what order it is made in does not show. dtype: BF16,
 * F16 or F32. */
void numbers_fill(llrt_dtype dtype, void *data, int64_t n, uint64_t seed);

/* Element i; of I64 too. */
double numbers_at(llrt_dtype dtype, const void *data, int64_t i);

/* Half the distance between neighbours of the type around x, which is what rounding to it may cost.
 */
double numbers_rounding(llrt_dtype dtype, double x);

#endif
