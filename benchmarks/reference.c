#include "reference.h"

#include "harness.h"

#include <string.h>

enum { CHECK_ALL_BITS = 22, SAMPLE_BITS = 20 };

void reference_fill(void *data, size_t bytes, uint64_t seed) {
  uint64_t *words = data;
  int64_t count = (int64_t)(bytes / sizeof *words);
#pragma omp parallel for
  for (int64_t i = 0; i < count; i++) words[i] = harness_mix(seed + (uint64_t)i);
}

static uint64_t element(const void *data, uint64_t index, size_t width) {
  uint64_t value = 0;
  memcpy(&value, (const char *)data + index * width, width);
  return value;
}

static uint64_t apply(const workload *w, uint64_t offset) {
  uint64_t result = 0;
  for (int i = 0; i < w->bits; i++)
    if (offset >> i & 1) result ^= w->column[i];
  return result;
}

static uint64_t sum_of(const void *data, int64_t count, size_t width) {
  uint64_t sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (int64_t i = 0; i < count; i++) sum += harness_mix(element(data, (uint64_t)i, width));
  return sum;
}

bool reference_check(const workload *w, const void *source, const void *destination,
                     uint64_t seed) {
  size_t width = (size_t)llrt_dtype_bits(w->dtype) / 8;
  bool all = w->bits <= CHECK_ALL_BITS;
  int64_t count = INT64_C(1) << (all ? w->bits : SAMPLE_BITS);
  const void *walked = w->backward ? source : destination;
  const void *other = w->backward ? destination : source;
  int64_t wrong = 0;
#pragma omp parallel for reduction(+ : wrong)
  for (int64_t i = 0; i < count; i++) {
    uint64_t offset = all ? (uint64_t)i : harness_mix(seed ^ (uint64_t)i) >> (64 - w->bits);
    wrong += element(walked, offset, width) != element(other, apply(w, offset), width);
  }
  int64_t elements = INT64_C(1) << w->bits;
  return wrong == 0 &&
         (all || sum_of(source, elements, width) == sum_of(destination, elements, width));
}
