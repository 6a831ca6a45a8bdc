#include "runtime/tune_data.h"

#include "jit/plan/types/number.h"

#include <math.h>
#include <string.h>

/* Elements after which data repeat: no multiple of any extent that is usual, and whole bytes of
 * elements of any width. */
#define PERIOD 65528

static uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

/* Code of element i. */
static uint64_t code_of(const number_format *format, uint64_t seed, int i) {
  uint64_t random = mix(seed * PERIOD + (uint64_t)i);
  if (!format || format->kind == NUMBER_INTEGER) return random;
  if (format->kind == NUMBER_POWER) return (uint64_t)format->bias - 2 + random % 5;
  double sign = random & 1 ? -1 : 1, value = 0.5 + (double)(random >> 12) * 0x1p-52;
  bool large = i % 8192 < 4096 && (random >> 1 & 1);
  if (large) value = format->exponent >= 5 ? 4096 : format->exponent == 4 ? 128 : 6;
  return number_code(format, sign * value);
}

static void put_code(unsigned char *data, int i, int bits, uint64_t code) {
  if (bits == 4) {
    data[i / 2] = (unsigned char)(data[i / 2] & (i & 1 ? 0x0f : 0xf0));
    data[i / 2] |= (unsigned char)((code & 15) << (i & 1 ? 4 : 0));
    return;
  }
  for (int b = 0; b < bits / 8; b++)
    data[(size_t)i * (size_t)(bits / 8) + (size_t)b] =
        (unsigned char)(b < 8 ? code >> (8 * b) : mix(code + (uint64_t)b));
}

size_t tune_data_period(int bits) { return (size_t)PERIOD * (size_t)bits / 8; }

void tune_data_fill(llrt_dtype dtype, int bits, uint64_t seed, void *data, size_t bytes) {
  const number_format *format = number_format_of(dtype);
  const size_t period = tune_data_period(bits);
  unsigned char *at = data;
  int n = (int)(bytes < period ? bytes * 8 / (size_t)bits : PERIOD);
  memset(data, 0, bytes < period ? bytes : period);
  for (int i = 0; i < n; i++) {
    uint64_t code = code_of(format, seed, i);
    put_code(at, i, bits, dtype == LLRT_BOOL ? code & 1 : code);
  }
  for (size_t done = period; done < bytes; done += period)
    memcpy(at + done, at, bytes - done < period ? bytes - done : period);
}

/* ---- results ---- */

#define MOST_COMPARED 262144 /* elements of a tensor */
#define NEAR 0x1p-5          /* of the root mean square, for types of 8 bits of mantissa and more */

static uint64_t get_code(const unsigned char *data, size_t i, int bits) {
  uint64_t code = 0;
  if (bits == 4) return data[i / 2] >> (i & 1 ? 4 : 0) & 15;
  memcpy(&code, data + i * (size_t)(bits / 8), (size_t)(bits < 64 ? bits / 8 : 8));
  return code;
}

/* Of values that are no numbers one stands for all. */
static bool is_as_far(double got, double wanted, double most) {
  if (isfinite(got) && isfinite(wanted)) return fabs(got - wanted) <= most;
  return isnan(got) ? isnan(wanted) : got == wanted;
}

bool tune_data_is_near(llrt_dtype dtype, int bits, const void *data, const void *expected,
                       size_t bytes) {
  const number_format *format = number_format_of(dtype);
  if (!format || format->kind != NUMBER_FLOAT || bits < 8)
    return memcmp(data, expected, bytes) == 0;
  size_t n = bytes * 8 / (size_t)bits, step = n / MOST_COMPARED + 1, count = 0;
  double squares = 0, near = NEAR + ldexp(4, -format->mantissa);
  for (size_t i = 0; i < n; i += step) {
    double wanted = number_value(format, get_code(expected, i, bits));
    if (!isfinite(wanted)) continue;
    squares += wanted * wanted;
    count++;
  }
  double size = count > 0 ? sqrt(squares / (double)count) : 0;
  for (size_t i = 0; i < n; i += step) {
    double wanted = number_value(format, get_code(expected, i, bits));
    double got = number_value(format, get_code(data, i, bits));
    if (!is_as_far(got, wanted, near * (size + fabs(wanted)))) return false;
  }
  return true;
}
