/* Data by which sums in another order show. Private to runtime. */
#ifndef LLRT_RUNTIME_TUNE_DATA_H
#define LLRT_RUNTIME_TUNE_DATA_H

#include <llrt/tensor.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Elements of a type, in the order of memory, with the seed's numbers. Of floats half are numbers
 * around 1 with random mantissas, among them, in every second stretch of the memory, as many large
 * ones of few values with both signs: where those cancel, what is left are the small ones' bits
 * that were lost in between, which are others in every order. `bits` of an element. */
void tune_data_fill(llrt_dtype dtype, int bits, uint64_t seed, void *data, size_t bytes);

/* Bytes behind which these data repeat, of elements of so many bits. */
size_t tune_data_period(int bits);

/* Whether elements are about what they should be, joined in another order perhaps: floats as far
 * apart as a few roundings of the type are of all elements' size, others the same. Of many, some.
 */
bool tune_data_is_near(llrt_dtype dtype, int bits, const void *data, const void *expected,
                       size_t bytes);

#endif
