/* Binary floating-point formats narrower than double. */
#ifndef LLRT_TESTS_EMU_FLOAT_H
#define LLRT_TESTS_EMU_FLOAT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct emu_format {
  const char *name;
  int exponent, mantissa; /* bits */
  bool infinity;          /* false: all numbers but one are finite (e4m3) */
  bool unsigned_zero;     /* FNUZ: bias one more, -0 is the only NaN, everything else is finite */
} emu_format;

typedef enum emu_rounding {
  EMU_NEAREST_DEFAULT = 0, /* no modifier: the conversion is exact */
  EMU_NEAREST = 1,         /* ties to even */
  EMU_TO_ZERO = 2,
  EMU_AWAY = 3             /* nearest, ties away from zero */
} emu_rounding;

/* "f16", "bf16", "tf32", "f32", "e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz", also with a packed type's
 * suffix; NULL: unknown. */
const emu_format *emu_format_named(const char *name);
double emu_unpack(const emu_format *format, uint64_t bits);
/* Rounds once. Overflow: infinity (NaN without one), or the largest finite number if saturate. */
uint64_t emu_pack(const emu_format *format, double x, emu_rounding rounding, bool saturate);

#endif
