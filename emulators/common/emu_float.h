/* Binary floating-point formats narrower than double. */
#ifndef LLRT_EMULATORS_EMU_FLOAT_H
#define LLRT_EMULATORS_EMU_FLOAT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct emu_format {
  int exponent, mantissa; /* bits */
  bool infinity;          /* false: all numbers but one are finite (e4m3) */
  bool unsigned_zero;     /* FNUZ: bias one more, -0 is the only NaN, everything else is finite */
} emu_format;

typedef enum emu_rounding {
  EMU_NEAREST_DEFAULT = 0, /* no modifier: the conversion is exact */
  EMU_NEAREST = 1,         /* ties to even */
  EMU_TO_ZERO = 2,
  EMU_AWAY = 3 /* nearest, ties away from zero */
} emu_rounding;

extern const emu_format emu_f16, emu_bf16, emu_tf32, emu_f32, emu_e4m3, emu_e5m2, emu_e4m3fnuz,
    emu_e5m2fnuz;

double emu_unpack(const emu_format *format, uint64_t bits);
/* Rounds once. Overflow: infinity (NaN without one), or the largest finite number if saturate. */
uint64_t emu_pack(const emu_format *format, double x, emu_rounding rounding, bool saturate);

#endif
