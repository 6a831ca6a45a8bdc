/* The types of tensors as numbers: what a cast reads and writes. Plain data and, for the
 * interpreter, one value at a time; kernels get theirs from jit/emit/value/emit_cast.c. */
#ifndef LLRT_JIT_PLAN_TYPES_NUMBER_H
#define LLRT_JIT_PLAN_TYPES_NUMBER_H

#include <llrt/tensor.h>

typedef enum number_kind {
  NUMBER_FLOAT = 1, /* sign, exponent, mantissa; subnormals */
  NUMBER_INTEGER,   /* two's complement where signed */
  NUMBER_POWER      /* e8m0: 2^(code - bias) */
} number_kind;

typedef struct number_format {
  uint8_t kind; /* number_kind */
  uint8_t bits, exponent, mantissa;
  bool is_signed;
  int16_t bias;
  bool saturates;    /* what overflows becomes the largest finite number, not infinity */
  uint64_t infinity; /* magnitude's code; 0: there is none */
  uint64_t nan; /* the NaN that is written; 0: there is none. FNUZ: the sign alone, the only one */
  uint64_t largest; /* code of the largest finite number */
} number_format;

/* NULL for types that are no numbers here: opaque bits, bool, 64-bit integers. */
const number_format *number_format_of(llrt_dtype dtype);

/* Whether elements of one type can be made from another's values. */
bool number_cast_exists(llrt_dtype from, llrt_dtype to);

/* Whether one type's elements become another's by sign- or zero-extension to 64 bits; operations
 * that accumulate in 64-bit integers do that. */
bool number_extends(llrt_dtype from, llrt_dtype to);

/* Whether 64-bit integers become the nearest floats, ties to even; dots with floats do that. */
bool number_nears(llrt_dtype from, llrt_dtype to);

/* Whether casts between the two go through f64: where f32 does not hold every value of either. */
bool number_is_wide(llrt_dtype from, llrt_dtype to);

/* The value of a code (upper bits are ignored), and the code nearest to a value: ties to even;
 * saturation and NaN as include/llrt/map.h says. */
double number_value(const number_format *format, uint64_t code);
uint64_t number_code(const number_format *format, double value);

/* What a cast, an extension or number_nears makes of a code. */
uint64_t number_cast(llrt_dtype from, llrt_dtype to, uint64_t code);

#endif
