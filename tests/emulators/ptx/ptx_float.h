/* Binary floating-point formats narrower than double. */
#ifndef LLRT_TESTS_PTX_FLOAT_H
#define LLRT_TESTS_PTX_FLOAT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct ptx_format {
  const char *name;
  int exponent, mantissa; /* bits */
  bool infinity;          /* false: all numbers but one are finite (e4m3) */
} ptx_format;

typedef enum ptx_rounding {
  PTX_NEAREST_DEFAULT = 0, /* no modifier: the conversion is exact */
  PTX_NEAREST = 1,         /* ties to even */
  PTX_TO_ZERO = 2,
  PTX_AWAY = 3             /* nearest, ties away from zero */
} ptx_rounding;

/* "f16", "bf16", "tf32", "f32", "e4m3", "e5m2", also with a packed type's suffix; NULL: unknown. */
const ptx_format *ptx_format_named(const char *name);
double ptx_unpack(const ptx_format *format, uint64_t bits);
/* Rounds once. Overflow: infinity (NaN without one), or the largest finite number if saturate. */
uint64_t ptx_pack(const ptx_format *format, double x, ptx_rounding rounding, bool saturate);

#endif
