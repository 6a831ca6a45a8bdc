/* Random invertible layouts for tests. */
#ifndef LLRT_TESTS_PLAN_RANDOM_LAYOUT_H
#define LLRT_TESTS_PLAN_RANDOM_LAYOUT_H

#include <llrt/storage.h>

/* xorshift64*: the next number of a seed that is not 0. */
uint64_t test_random(uint64_t *seed);

/* A storage of shape 2^bits0 x 2^bits1 by a random bit permutation, or a random invertible matrix.
 */
void test_random_storage(uint64_t *seed, int bits0, int bits1, bool permutation,
                         llrt_storage *storage);

#endif
