#include "reference.h"

#include "element.h"
#include "harness.h"

enum { CHECK_ALL_BITS = 22, SAMPLE_BITS = 20 };

void reference_fill(void *data, size_t bytes, uint64_t seed) {
  uint64_t *words = data;
  int64_t count = (int64_t)(bytes / sizeof *words);
#pragma omp parallel for
  for (int64_t i = 0; i < count; i++) words[i] = harness_mix(seed + (uint64_t)i);
}

static uint64_t apply(const workload *w, uint64_t offset) {
  uint64_t result = 0;
  for (int i = 0; i < w->bits; i++)
    if (offset >> i & 1) result ^= w->column[i];
  return result;
}

static uint64_t sum_of(const void *data, int64_t count, int bits) {
  uint64_t sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (int64_t i = 0; i < count; i++) {
    element value = element_load(data, i, bits);
    sum += harness_mix(value.low) + harness_mix(~value.high);
  }
  return sum;
}

bool reference_check(const workload *w, const void *source, const void *destination,
                     uint64_t seed) {
  int bits = llrt_dtype_bits(w->dtype);
  bool all = w->bits <= CHECK_ALL_BITS;
  int64_t count = INT64_C(1) << (all ? w->bits : SAMPLE_BITS);
  const void *walked = w->backward ? source : destination;
  const void *other = w->backward ? destination : source;
  int64_t wrong = 0;
#pragma omp parallel for reduction(+ : wrong)
  for (int64_t i = 0; i < count; i++) {
    uint64_t offset = all ? (uint64_t)i : harness_mix(seed ^ (uint64_t)i) >> (64 - w->bits);
    element right = element_load(other, (int64_t)apply(w, offset), bits);
    wrong += !element_same(element_load(walked, (int64_t)offset, bits), right);
  }
  int64_t elements = INT64_C(1) << w->bits;
  return wrong == 0 &&
         (all || sum_of(source, elements, bits) == sum_of(destination, elements, bits));
}
