/* Shapes of products that no list has: D [M,N] = A [M,K] B, about even in the logarithm of each
 * extent. */
#ifndef LLRT_BENCHMARKS_RANDOM_SHAPES_H
#define LLRT_BENCHMARKS_RANDOM_SHAPES_H

#include "dot_kinds.h"
#include "harness.h"

#include <stdint.h>

#define RANDOM_SHAPES 20 /* of a seed */

/* Number i of the seed's: M from 1 to 8192, N from 256 to 32768 and K from 256 to 16384 by 64s; or
 * of those that were asked for (harness_options.extents). False behind the last one. */
bool random_shape(const harness_options *options, int i, dot_extents *out);

#endif
