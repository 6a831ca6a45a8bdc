/* The emulators' narrow floating-point formats against their definition: every code, every number
 * between two neighbours. */
#include "emulators/common/emu_float.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static const struct {
  const char *name;
  const emu_format *format;
} formats[] = {{"f16", &emu_f16},          {"bf16", &emu_bf16}, {"e5m2", &emu_e5m2},
               {"e4m3", &emu_e4m3},        {"tf32", &emu_tf32}, {"e5m2fnuz", &emu_e5m2fnuz},
               {"e4m3fnuz", &emu_e4m3fnuz}};
#define N_FORMATS (sizeof formats / sizeof *formats)

static int bits_of(const emu_format *format) { return 1 + format->exponent + format->mantissa; }

/* What a code without a sign means; NaN and infinity by the format's own rules. */
static double defined(const emu_format *f, uint64_t code) {
  int exponent = (int)(code >> f->mantissa), top = (1 << f->exponent) - 1;
  int bias = (1 << (f->exponent - 1)) - !f->unsigned_zero;
  double fraction = (double)(code & ((1u << f->mantissa) - 1)) / (1 << f->mantissa);
  if (f->infinity && exponent == top) return fraction != 0 ? (double)NAN : (double)INFINITY;
  if (!f->infinity && !f->unsigned_zero && code == (1u << (f->exponent + f->mantissa)) - 1)
    return (double)NAN;
  return exponent == 0 ? fraction * pow(2, 1 - bias) : (1 + fraction) * pow(2, exponent - bias);
}

static bool same(double a, double b) {
  return isnan(a) ? isnan(b) : a == b && signbit(a) == signbit(b);
}

Test(emu_float, codes_mean_what_the_format_defines) {
  for (size_t i = 0; i < N_FORMATS; i++) {
    const emu_format *f = formats[i].format;
    uint64_t sign = (uint64_t)1 << (bits_of(f) - 1);
    for (uint64_t code = 0; code < sign; code++) {
      double x = defined(f, code), minus = f->unsigned_zero && code == 0 ? (double)NAN : -x;
      cr_assert(same(emu_unpack(f, code), x), "%s %llx", formats[i].name, (unsigned long long)code);
      cr_assert(same(emu_unpack(f, code | sign), minus), "%s -%llx", formats[i].name,
                (unsigned long long)code);
      if (isnan(x)) continue;
      cr_assert_eq(emu_pack(f, x, EMU_NEAREST, false), code, "%s %a", formats[i].name, x);
      if (!isnan(minus))
        cr_assert_eq(emu_pack(f, -x, EMU_NEAREST, false), code | sign, "%s %a", formats[i].name,
                     -x);
    }
  }
}

/* Halfway between neighbours the even code, or the one farther from zero; a little to either side
 * the nearer one. */
Test(emu_float, numbers_between_codes_are_rounded_once) {
  for (size_t i = 0; i < N_FORMATS; i++) {
    const emu_format *f = formats[i].format;
    for (uint64_t code = 0; code + 1 < (uint64_t)1 << (bits_of(f) - 1); code++) {
      double low = defined(f, code), high = defined(f, code + 1), middle = (low + high) / 2;
      if (isnan(high) || isinf(high)) break;
      uint64_t even = code + (code & 1);
      cr_assert_eq(emu_pack(f, middle, EMU_NEAREST, false), even, "%s %a", formats[i].name, middle);
      cr_assert_eq(emu_pack(f, middle, EMU_AWAY, false), code + 1, "%s %a", formats[i].name,
                   middle);
      cr_assert_eq(emu_pack(f, nextafter(high, 0), EMU_TO_ZERO, false), code, "%s %a",
                   formats[i].name, high);
      cr_assert_eq(emu_pack(f, nextafter(middle, 0), EMU_NEAREST, false), code, "%s %a",
                   formats[i].name, middle);
      cr_assert_eq(emu_pack(f, nextafter(middle, high), EMU_NEAREST, false), code + 1, "%s %a",
                   formats[i].name, middle);
    }
  }
}

/* f32 is the processor's own, and NaN has one code. */
Test(emu_float, f32) {
  static const double numbers[] = {0,
                                   -0.0,
                                   1,
                                   -1.5,
                                   0x1p-149,
                                   0x1.8p-149,
                                   0x1p-150,
                                   0x1.fffffep127,
                                   0x1.ffffffp127,
                                   0x1p128,
                                   0x1.000001p0,
                                   0x1.000003p0,
                                   -0x1.fffffep-127,
                                   INFINITY,
                                   -INFINITY};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    float narrow = (float)numbers[i];
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    cr_expect_eq(emu_pack(&emu_f32, numbers[i], EMU_NEAREST, false), bits, "%a", numbers[i]);
    cr_expect(same(emu_unpack(&emu_f32, bits), (double)narrow), "%a", numbers[i]);
  }
  cr_expect_eq(emu_pack(&emu_f32, (double)NAN, EMU_NEAREST, false), 0x7fffffff);
  cr_expect(isnan(emu_unpack(&emu_f32, 0xffc00001)));
  cr_expect_eq(emu_pack(&emu_f32, -0x1p200, EMU_NEAREST, true), 0xff7fffff);
  cr_expect_eq(emu_pack(&emu_f32, 0x1.ffffffp0, EMU_TO_ZERO, false), 0x3fffffff);
}
