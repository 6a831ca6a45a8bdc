/* Storages made of seeds: digits of all axes in any order, split, with gaps, counting down, with
 * copies; tiles of bits in any order or of sums of them; pads, swizzles, places before the first
 * element. */
#ifndef LLRT_TESTS_RANDOM_STORAGE_H
#define LLRT_TESTS_RANDOM_STORAGE_H

#include <llrt/llrt.h>

/* Axes of one position get one place along them. A span has at most `most` elements, if row-major's
 * has. */
void random_storage_make(uint64_t *seed, int rank, const int64_t *shape, int64_t most,
                         llrt_storage *made);

#endif
