/* See random_shapes.h. */
#include "random_shapes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int64_t random_extent(uint64_t seed, int64_t least, int64_t most, int64_t multiple) {
  double u = (double)(harness_mix(seed) >> 11) / (double)(1ull << 53);
  int64_t x = (int64_t)((double)least * pow((double)most / (double)least, u));
  return (x + multiple - 1) / multiple * multiple;
}

static dot_extents shape_of_seed(uint64_t seed, int i) {
  const uint64_t own = seed * 3000 + 3 * (uint64_t)i;
  return (dot_extents){.m = random_extent(own, 1, 8192, 1),
                       .n = random_extent(own + 1, 256, 32768, 64),
                       .k = random_extent(own + 2, 256, 16384, 64)};
}

bool random_shape(const harness_options *options, int i, dot_extents *out) {
  const char *at = options->extents;
  if (!at) {
    *out = shape_of_seed(options->seed, i);
    return i < RANDOM_SHAPES;
  }
  for (; i > 0 && at; i--) {
    at = strchr(at, ',');
    if (at) at++;
  }
  long long m, n, k;
  if (!at || sscanf(at, "%lldx%lldx%lld", &m, &n, &k) != 3) return false;
  *out = (dot_extents){.m = m, .n = n, .k = k};
  return m > 0 && n > 0 && k > 0;
}
