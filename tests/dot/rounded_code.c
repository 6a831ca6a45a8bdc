#include "rounded_code.h"

#include "jit/plan/types/number.h"

#include <math.h>

static uint64_t mixed(uint64_t i) {
  i = (i + 1) * 0x9e3779b97f4a7c15u;
  return (i ^ i >> 29) * 0xbf58476d1ce4e5b9u >> 32;
}

uint64_t rounded_code(llrt_dtype dtype, uint64_t number) {
  const uint64_t random = mixed(number);
  if (dtype == LLRT_E8M0) return 124 + (random & 3);
  if (dtype == LLRT_E2M1) return random & 15;
  const double mantissa = (double)(random % 2001) - 1000;
  return number_code(number_format_of(dtype), ldexp(mantissa, (int)(random >> 16 & 15) - 16));
}
