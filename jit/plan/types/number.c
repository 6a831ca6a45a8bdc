#include "jit/plan/types/number.h"

#include "base/bits.h"

#include <math.h>
#include <string.h>

#define IEEE(e, m, bias_) \
  {.kind = NUMBER_FLOAT, \
   .bits = 1 + (e) + (m), \
   .exponent = e, \
   .mantissa = m, \
   .bias = bias_, \
   .is_signed = true, \
   .saturates = false, \
   .infinity = (uint64_t)((1 << (e)) - 1) << (m), \
   .nan = (1ull << ((e) + (m))) - 1, \
   .largest = ((uint64_t)((1 << (e)) - 1) << (m)) - 1}
#define INTEGER(bits_, signed_) \
  {.kind = NUMBER_INTEGER, \
   .bits = bits_, \
   .is_signed = signed_, \
   .saturates = true, \
   .largest = (1ull << ((bits_) - (signed_))) - 1}
#define FNUZ(e, m, bias_) \
  {.kind = NUMBER_FLOAT, \
   .bits = 8, \
   .exponent = e, \
   .mantissa = m, \
   .bias = bias_, \
   .is_signed = true, \
   .saturates = true, \
   .nan = 0x80, \
   .largest = 0x7F}

/* IEEE 754; OCP 8-bit floating point 1.0; OCP microscaling formats 1.0; FNUZ: arXiv 2206.02915. */
static const number_format formats[LLRT_DTYPE_COUNT] = {
    [LLRT_F64] = IEEE(11, 52, 1023),
    [LLRT_F32] = IEEE(8, 23, 127),
    [LLRT_F16] = IEEE(5, 10, 15),
    [LLRT_BF16] = IEEE(8, 7, 127),
    [LLRT_E5M2] = {.kind = NUMBER_FLOAT,
                   .bits = 8,
                   .exponent = 5,
                   .mantissa = 2,
                   .bias = 15,
                   .is_signed = true,
                   .saturates = true,
                   .infinity = 0x7C,
                   .nan = 0x7F,
                   .largest = 0x7B},
    [LLRT_E4M3] = {.kind = NUMBER_FLOAT,
                   .bits = 8,
                   .exponent = 4,
                   .mantissa = 3,
                   .bias = 7,
                   .is_signed = true,
                   .saturates = true,
                   .nan = 0x7F,
                   .largest = 0x7E},
    [LLRT_E5M2FNUZ] = FNUZ(5, 2, 16),
    [LLRT_E4M3FNUZ] = FNUZ(4, 3, 8),
    [LLRT_E2M1] = {.kind = NUMBER_FLOAT,
                   .bits = 4,
                   .exponent = 2,
                   .mantissa = 1,
                   .bias = 1,
                   .is_signed = true,
                   .saturates = true,
                   .largest = 0x7},
    [LLRT_E8M0] =
        {.kind = NUMBER_POWER, .bits = 8, .exponent = 8, .bias = 127, .nan = 0xFF, .largest = 0xFE},
    [LLRT_I32] = INTEGER(32, true),
    [LLRT_I16] = INTEGER(16, true),
    [LLRT_I8] = INTEGER(8, true),
    [LLRT_I4] = INTEGER(4, true),
    [LLRT_U32] = INTEGER(32, false),
    [LLRT_U16] = INTEGER(16, false),
    [LLRT_U8] = INTEGER(8, false),
    [LLRT_U4] = INTEGER(4, false),
};

const number_format *number_format_of(llrt_dtype dtype) {
  if (dtype <= LLRT_DTYPE_NONE || dtype >= LLRT_DTYPE_COUNT || !formats[dtype].kind) return NULL;
  return &formats[dtype];
}

bool number_cast_exists(llrt_dtype from, llrt_dtype to) {
  const number_format *target = number_format_of(to);
  return number_format_of(from) && target && target->kind != NUMBER_POWER;
}

bool number_extends(llrt_dtype from, llrt_dtype to) {
  const number_format *f = number_format_of(from);
  if (!f || f->kind != NUMBER_INTEGER) return false;
  return to == LLRT_I64 || (to == LLRT_U64 && !f->is_signed);
}

bool number_nears(llrt_dtype from, llrt_dtype to) { return from == LLRT_I64 && to == LLRT_F64; }

static bool is_wide(llrt_dtype dtype) {
  return dtype == LLRT_F64 || dtype == LLRT_I32 || dtype == LLRT_U32;
}

bool number_is_wide(llrt_dtype from, llrt_dtype to) { return is_wide(from) || is_wide(to); }

/* ---- one value ---- */

static double float_value(const number_format *f, uint64_t code) {
  int m = f->mantissa;
  uint64_t sign = 1ull << (f->bits - 1), magnitude = code & (sign - 1);
  double one = code & sign ? -1.0 : 1.0;
  if (f->nan == sign && code == sign) return (double)NAN;
  if (f->infinity && magnitude == f->infinity) return one * (double)INFINITY;
  if (magnitude > f->largest) return (double)NAN;
  int exponent = (int)(magnitude >> m);
  uint64_t fraction = magnitude & bits_mask(m);
  if (exponent == 0) return one * ldexp((double)fraction, 1 - f->bias - m);
  return one * ldexp((double)(fraction | 1ull << m), exponent - f->bias - m);
}

double number_value(const number_format *f, uint64_t code) {
  double value;
  code &= bits_mask(f->bits);
  if (f->bits == 64) {
    memcpy(&value, &code, sizeof value);
    return value;
  }
  if (f->kind == NUMBER_FLOAT) return float_value(f, code);
  if (f->kind == NUMBER_POWER) return code == f->nan ? (double)NAN : ldexp(1, (int)code - f->bias);
  bool negative = f->is_signed && code >> (f->bits - 1);
  return negative ? (double)code - ldexp(1, f->bits) : (double)code;
}

static uint64_t integer_code(const number_format *f, double value) {
  double low = f->is_signed ? -(double)f->largest - 1 : 0, high = (double)f->largest;
  if (isnan(value)) return 0;
  value = nearbyint(value < low ? low : value > high ? high : value);
  return (uint64_t)(int64_t)value & bits_mask(f->bits);
}

/* The magnitude's code of x >= 0: scaled so that the last mantissa bit counts 1, rounded, and added
 * to the exponent, into which the rounding may carry. */
static uint64_t magnitude_code(const number_format *f, double x) {
  int exponent = 0, lowest = 1 - f->bias;
  uint64_t over = f->saturates ? f->largest : f->infinity;
  if (isinf(x)) return over;
  if (x == 0) return 0;
  frexp(x, &exponent);
  exponent = bits_max(exponent - 1, lowest);
  if (exponent > f->bias + 1) return over;
  double scaled = nearbyint(ldexp(x, f->mantissa - exponent));
  uint64_t code = ((uint64_t)(exponent - lowest) << f->mantissa) + (uint64_t)scaled;
  return code > f->largest ? over : code;
}

uint64_t number_code(const number_format *f, double value) {
  uint64_t code;
  if (f->kind == NUMBER_INTEGER) return integer_code(f, value);
  if (isnan(value)) return f->nan ? f->nan : f->largest;
  if (f->bits == 64) {
    memcpy(&code, &value, sizeof code);
    return code;
  }
  code = magnitude_code(f, fabs(value));
  uint64_t sign = 1ull << (f->bits - 1);
  return signbit(value) && !(f->nan == sign && code == 0) ? code | sign : code;
}

uint64_t number_cast(llrt_dtype from, llrt_dtype to, uint64_t code) {
  const number_format *f = number_format_of(from);
  if (number_nears(from, to)) return number_code(number_format_of(to), (double)(int64_t)code);
  if (!number_extends(from, to)) return number_code(number_format_of(to), number_value(f, code));
  uint64_t sign = f->is_signed ? 1ull << (f->bits - 1) : 0;
  return ((code & bits_mask(f->bits)) ^ sign) - sign;
}
