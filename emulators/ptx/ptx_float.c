/* Conversions between widths and types, and the few floating-point operations of element maps (PTX
 * ISA, "cvt", "Floating Point"). */
#include "emulators/common/emu_float.h"
#include "emulators/ptx/ptx_run.h"

#include <math.h>
#include <string.h>

/* ---- values of any scalar type ---- */

static double real_of(const ptx_type *type, uint64_t bits) {
  double wide;
  if (type->kind == 's') return (double)((int64_t)(bits << (64 - type->bits)) >> (64 - type->bits));
  if (type->kind == 'u') return (double)bits;
  if (type->bits < 64) return emu_unpack(type->format, bits);
  memcpy(&wide, &bits, sizeof wide);
  return wide;
}

static uint64_t bits_of(const ptx_type *type, double x, emu_rounding rounding, bool saturate) {
  uint64_t bits;
  if (type->bits < 64) return emu_pack(type->format, x, rounding, saturate);
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

/* Float to integer: the nearest value that the type has; NaN gives 0. */
static uint64_t integer_of(const ptx_type *to, double x) {
  double low = to->kind == 's' ? -ldexp(1, to->bits - 1) : 0;
  double high = ldexp(1, to->kind == 's' ? to->bits - 1 : to->bits);
  if (isnan(x)) return 0;
  if (x < low) x = low;
  if (x >= high)
    return to->kind == 's' ? ((uint64_t)1 << (to->bits - 1)) - 1 : UINT64_MAX >> (64 - to->bits);
  return x < 0 ? (uint64_t)(int64_t)x : (uint64_t)x;
}

static double round_integer(int how, double x) {
  switch (how) {
  case 1: return nearbyint(x);
  case 2: return trunc(x);
  case 3: return floor(x);
  default: return ceil(x);
  }
}

/* Integer to integer: extended by the source's sign, cut to the result's width. .sat clamps. */
static uint64_t integer_cvt(const ptx_op *op, uint64_t a) {
  const ptx_type *to = op->type[0], *from = op->type[1];
  uint64_t mask = from->bits == 64 ? UINT64_MAX : ((uint64_t)1 << from->bits) - 1;
  if (from->kind != 's') return a & mask;
  (void)to;
  return (uint64_t)((int64_t)(a << (64 - from->bits)) >> (64 - from->bits));
}

/* A result narrower than its register is extended in it by the type's sign. */
static uint64_t fill_register(const ptx_op *op, uint64_t bits) {
  const ptx_type *to = op->type[0];
  int width = op->operand[0].bits;
  if (to->bits < 64) bits &= ((uint64_t)1 << to->bits) - 1;
  if (to->kind == 's') {
    bits = (uint64_t)((int64_t)(bits << (64 - to->bits)) >> (64 - to->bits));
    if (width < 64) bits &= ((uint64_t)1 << width) - 1;
  }
  return bits;
}

#define EACH(expression) \
  do { \
    (void)b, (void)c; \
    for (int i = 0; i < PTX_LANES; i++) r[i] = (expression); \
  } while (0)

static void cvt_integer(const ptx_op *op, const uint64_t *a, const uint64_t *b, const uint64_t *c,
                        uint64_t *r) {
  EACH(fill_register(op, integer_cvt(op, a[i])));
}
static uint64_t spread_cvt(const ptx_op *op, const uint64_t *v, const uint64_t *u) {
  (void)v;
  return fill_register(op, integer_cvt(op, u[0]));
}
static void cvt_to_integer(const ptx_op *op, const uint64_t *a, const uint64_t *b,
                           const uint64_t *c, uint64_t *r) {
  EACH(fill_register(
      op, integer_of(op->type[0], round_integer(op->choice[0], real_of(op->type[1], a[i])))));
}
static void cvt_to_float(const ptx_op *op, const uint64_t *a, const uint64_t *b, const uint64_t *c,
                         uint64_t *r) {
  EACH(bits_of(op->type[0], real_of(op->type[1], a[i]), (emu_rounding)op->choice[0], false));
}
/* Two integers as bytes, the first in the upper one, behind the lower half of the third operand. */
static void cvt_bytes(const ptx_op *op, const uint64_t *a, const uint64_t *b, const uint64_t *c,
                      uint64_t *r) {
  const bool is_signed = op->choice[0] == 1;
  const int32_t low = is_signed ? -128 : 0, high = is_signed ? 127 : 255;
  for (int i = 0; i < PTX_LANES; i++) {
    const int32_t of[2] = {(int32_t)b[i], (int32_t)a[i]};
    r[i] = c[i] << 16 & UINT32_MAX;
    for (int k = 0; k < 2; k++) {
      const int32_t byte = of[k] < low ? low : of[k] > high ? high : of[k];
      r[i] |= (uint64_t)(uint8_t)byte << 8 * k;
    }
  }
}
/* rna for tf32. The low bits are 0. */
static void cvt_to_tf32(const ptx_op *op, const uint64_t *a, const uint64_t *b, const uint64_t *c,
                        uint64_t *r) {
  emu_rounding rounding = op->choice[0] == 2 ? EMU_AWAY : EMU_NEAREST;
  EACH(emu_pack(&emu_tf32, real_of(op->type[1], a[i]), rounding, false) << 13);
}
/* Two operands, the first in the upper half; for 8-bit floats always to the largest finite
 * number. */
static void cvt_pair(const ptx_op *op, const uint64_t *a, const uint64_t *b, const uint64_t *c,
                     uint64_t *r) {
  const emu_format *to = op->type[0]->format;
  const emu_format *from = &emu_f32;
  int width = op->type[0]->bits / 2;
  bool saturate = width == 8;
  emu_rounding rounding = (emu_rounding)(saturate ? EMU_NEAREST : op->choice[0]);
  (void)c;
  for (int i = 0; i < PTX_LANES; i++) {
    r[i] = emu_pack(to, emu_unpack(from, a[i]), rounding, saturate) << width |
           emu_pack(to, emu_unpack(from, b[i]), rounding, saturate);
  }
}
/* The first operand makes the upper half of the result, the second one the lower. */
static uint64_t spread_pair(const ptx_op *op, const uint64_t *v, const uint64_t *u) {
  const int bits = op->type[0]->bits / 2;
  const uint64_t half = ((uint64_t)1 << bits) - 1;
  (void)v;
  return (u[0] ? half << bits : 0) | (u[1] ? half : 0);
}
/* Packed to packed: e4m3x2 <-> f16x2. */
static void cvt_packed(const ptx_op *op, const uint64_t *a, const uint64_t *b, const uint64_t *c,
                       uint64_t *r) {
  const emu_format *to = op->type[0]->format;
  const emu_format *from = op->type[1]->format;
  int width = op->type[0]->bits / 2, half = op->type[1]->bits / 2;
  (void)b, (void)c;
  for (int i = 0; i < PTX_LANES; i++) {
    uint64_t low = a[i] & (((uint64_t)1 << half) - 1), high = a[i] >> half;
    r[i] = emu_pack(to, emu_unpack(from, high), EMU_NEAREST, width == 8) << width |
           emu_pack(to, emu_unpack(from, low), EMU_NEAREST, width == 8);
  }
}

/* ---- arithmetic: rn only. f32 and f64 by C's own, narrower types through double ---- */

typedef enum real_kind {
  REAL_ADD,
  REAL_SUB,
  REAL_MUL,
  REAL_DIV,
  REAL_SQRT,
  REAL_RCP,
  REAL_FMA,
  REAL_NEG,
  REAL_ABS
} real_kind;

static double real_op(real_kind kind, bool single, double a, double b, double c) {
  switch (kind) {
  case REAL_ADD: return a + b;
  case REAL_SUB: return a - b;
  case REAL_MUL: return a * b;
  case REAL_DIV: return a / b;
  case REAL_SQRT: return sqrt(a);
  case REAL_RCP: return 1 / a;
  case REAL_FMA: return single ? (double)fmaf((float)a, (float)b, (float)c) : fma(a, b, c);
  case REAL_NEG: return -a;
  default: return fabs(a);
  }
}

/* Sums, products, quotients and roots of numbers of at most 24 bits, rounded to double and then to
 * 24 bits or fewer, round as if once (Figueroa 1995); a double product of 11-bit numbers is exact.
 */
static void real_lanes(const ptx_op *op, real_kind kind, const uint64_t *a, const uint64_t *b,
                       const uint64_t *c, uint64_t *r) {
  const ptx_type *type = op->type[0];
  bool single = type->format == &emu_f32;
  for (int i = 0; i < PTX_LANES; i++) {
    double x = real_op(kind, single, real_of(type, a[i]), real_of(type, b[i]), real_of(type, c[i]));
    r[i] = bits_of(type, x, EMU_NEAREST, false);
  }
}

#define REAL(name, kind) \
  static void name(const ptx_op *op, const uint64_t *a, const uint64_t *b, const uint64_t *c, \
                   uint64_t *r) { \
    real_lanes(op, kind, a, b, c, r); \
  }
REAL(real_add, REAL_ADD)
REAL(real_sub, REAL_SUB)
REAL(real_mul, REAL_MUL)
REAL(real_div, REAL_DIV)
REAL(real_sqrt, REAL_SQRT)
REAL(real_rcp, REAL_RCP)
REAL(real_fma, REAL_FMA)

/* .sat: between 0 and 1, NaN to 0. */
static void real_fma_saturated(const ptx_op *op, const uint64_t *a, const uint64_t *b,
                               const uint64_t *c, uint64_t *r) {
  const ptx_type *type = op->type[0];
  for (int i = 0; i < PTX_LANES; i++) {
    double x =
        real_op(REAL_FMA, true, real_of(type, a[i]), real_of(type, b[i]), real_of(type, c[i]));
    r[i] = bits_of(type, x >= 1 ? 1 : x > 0 ? x : 0, EMU_NEAREST, false);
  }
}

/* .approx.ftz: what a GPU's tables give is within two units of the last place; here it is the
 * nearest number. Numbers that are not normal are zeros, as operands and as results. Of f64 tables
 * see and give the upper half. */
static uint64_t flushed(const ptx_type *type, uint64_t bits) {
  if (type->bits == 64) return bits & 0xffffffff00000000;
  return bits & 0x7f800000 || type->bits != 32 ? bits : bits & 0x80000000;
}

static void near_lanes(const ptx_op *op, double (*of)(double), const uint64_t *a, uint64_t *r) {
  const ptx_type *type = op->type[0];
  for (int i = 0; i < PTX_LANES; i++)
    r[i] = flushed(type, bits_of(type, of(real_of(type, flushed(type, a[i]))), EMU_NEAREST, false));
}

static double reciprocal(double x) { return 1 / x; }
static double inverse_root(double x) { return 1 / sqrt(x); }

static void near_exp2(const ptx_op *op, const uint64_t *a, const uint64_t *b, const uint64_t *c,
                      uint64_t *r) {
  (void)b, (void)c;
  near_lanes(op, exp2, a, r);
}
static void near_rcp(const ptx_op *op, const uint64_t *a, const uint64_t *b, const uint64_t *c,
                     uint64_t *r) {
  (void)b, (void)c;
  near_lanes(op, reciprocal, a, r);
}
static void near_rsqrt(const ptx_op *op, const uint64_t *a, const uint64_t *b, const uint64_t *c,
                       uint64_t *r) {
  (void)b, (void)c;
  near_lanes(op, inverse_root, a, r);
}

/* Both halves of a word. */
static void pair_lanes(const ptx_op *op, real_kind kind, const uint64_t *a, const uint64_t *b,
                       const uint64_t *c, uint64_t *r) {
  const emu_format *format = op->type[0]->format;
  for (int i = 0; i < PTX_LANES; i++) {
    r[i] = 0;
    for (int at = 0; at < 32; at += 16) {
      double x = emu_unpack(format, a[i] >> at & 0xffff),
             y = emu_unpack(format, b[i] >> at & 0xffff);
      double z = kind == REAL_FMA ? emu_unpack(format, c[i] >> at & 0xffff) : 0;
      r[i] |= emu_pack(format, real_op(kind, false, x, y, z), EMU_NEAREST, false) << at;
    }
  }
}

static void pair_mul(const ptx_op *op, const uint64_t *a, const uint64_t *b, const uint64_t *c,
                     uint64_t *r) {
  pair_lanes(op, REAL_MUL, a, b, c, r);
}
static void pair_fma(const ptx_op *op, const uint64_t *a, const uint64_t *b, const uint64_t *c,
                     uint64_t *r) {
  pair_lanes(op, REAL_FMA, a, b, c, r);
}

/* -0 is below +0; with .NaN one NaN makes the result NaN, without it the other operand wins. */
static double extreme(double a, double b, bool least, bool nan) {
  if (isnan(a) || isnan(b)) return nan ? (double)NAN : isnan(a) ? b : a;
  if (a == b) return (signbit(a) != 0) == least ? a : b;
  return (a < b) == least ? a : b;
}

static void real_extreme(const ptx_op *op, bool least, const uint64_t *a, const uint64_t *b,
                         uint64_t *r) {
  const ptx_type *type = op->type[0];
  for (int i = 0; i < PTX_LANES; i++)
    r[i] =
        bits_of(type, extreme(real_of(type, a[i]), real_of(type, b[i]), least, op->choice[0] == 1),
                EMU_NEAREST, false);
}

static void real_min(const ptx_op *op, const uint64_t *a, const uint64_t *b, const uint64_t *c,
                     uint64_t *r) {
  (void)c;
  real_extreme(op, true, a, b, r);
}

static void real_max(const ptx_op *op, const uint64_t *a, const uint64_t *b, const uint64_t *c,
                     uint64_t *r) {
  (void)c;
  real_extreme(op, false, a, b, r);
}

static void pair_extreme(const ptx_op *op, bool least, const uint64_t *a, const uint64_t *b,
                         uint64_t *r) {
  const emu_format *format = op->type[0]->format;
  for (int i = 0; i < PTX_LANES; i++) {
    r[i] = 0;
    for (int at = 0; at < 32; at += 16) {
      double x = emu_unpack(format, a[i] >> at & 0xffff),
             y = emu_unpack(format, b[i] >> at & 0xffff);
      double z = extreme(x, y, least, op->choice[0] == 1);
      r[i] |= emu_pack(format, z, EMU_NEAREST, false) << at;
    }
  }
}

static void pair_min(const ptx_op *op, const uint64_t *a, const uint64_t *b, const uint64_t *c,
                     uint64_t *r) {
  (void)c;
  pair_extreme(op, true, a, b, r);
}

static void pair_max(const ptx_op *op, const uint64_t *a, const uint64_t *b, const uint64_t *c,
                     uint64_t *r) {
  (void)c;
  pair_extreme(op, false, a, b, r);
}

REAL(real_neg, REAL_NEG)
REAL(real_abs, REAL_ABS)

/* Of a NaN the canonical one. */
static void pair_abs(const ptx_op *op, const uint64_t *a, const uint64_t *b, const uint64_t *c,
                     uint64_t *r) {
  (void)c;
  (void)b;
  for (int i = 0; i < PTX_LANES; i++) {
    r[i] = 0;
    for (int at = 0; at < 32; at += 16) {
      const emu_format *format = op->type[0]->format;
      double x = fabs(emu_unpack(format, a[i] >> at & 0xffff));
      r[i] |= emu_pack(format, x, EMU_NEAREST, false) << at;
    }
  }
}

/* eq ne lt le gt ge (false for NaN), then the unordered ones (true), num, nan. */
static bool compare(int how, double x, double y) {
  bool unordered = isnan(x) || isnan(y);
  switch (how) {
  case 13: return !unordered;
  case 14: return unordered;
  default: break;
  }
  if (unordered) return how > 6;
  bool results[] = {x == y, x != y, x<y, x <= y, x> y, x >= y};
  return results[(how - 1) % 6];
}

static void real_compare(const ptx_op *op, const uint64_t *a, const uint64_t *b, const uint64_t *c,
                         uint64_t *r) {
  EACH(compare(op->choice[0], real_of(op->type[0], a[i]), real_of(op->type[0], b[i])));
}

#define ROW(syntax, operands, compute, spread, class, result) \
  {syntax, operands, ptx_compute_op, compute, spread, class, result}
#define CVT(syntax, operands, compute, spread, result) \
  ROW(syntax, operands, compute, spread, PTX_CONVERT, result)
#define REAL_ROW(syntax, operands, compute) ROW(syntax, operands, compute, NULL, PTX_ARITHMETIC, 0)

const ptx_form ptx_float_forms[] = {
    CVT("cvt %J %J", "ds", cvt_integer, spread_cvt, 64),
    CVT("cvt rni|rzi|rmi|rpi %J %F", "ds", cvt_to_integer, NULL, 64),
    CVT("cvt pack sat s8|u8 s32 b32", "dsss", cvt_bytes, NULL, 0),
    CVT("cvt rn|rz %F %J", "ds", cvt_to_float, NULL, 0),
    CVT("cvt rn|rz %F %F", "ds", cvt_to_float, NULL, 0),
    CVT("cvt %F %F", "ds", cvt_to_float, NULL, 0),
    CVT("cvt rn|rna %T %F", "ds", cvt_to_tf32, NULL, 0),
    CVT("cvt rn|rz %H f32", "dss", cvt_pair, spread_pair, 0),
    CVT("cvt rn satfinite %E f32", "dss", cvt_pair, spread_pair, 0),
    CVT("cvt rn satfinite %E %H", "ds", cvt_packed, NULL, 0),
    CVT("cvt rn %H %E", "ds", cvt_packed, NULL, 0),
    REAL_ROW("add ?rn %F", "dss", real_add),
    REAL_ROW("sub ?rn %F", "dss", real_sub),
    REAL_ROW("mul ?rn %F", "dss", real_mul),
    REAL_ROW("div rn %R", "dss", real_div),
    REAL_ROW("sqrt rn %R", "ds", real_sqrt),
    REAL_ROW("rcp rn %R", "ds", real_rcp),
    REAL_ROW("fma rn %R", "dsss", real_fma),
    REAL_ROW("fma rn sat %R", "dsss", real_fma_saturated),
    REAL_ROW("ex2 approx ftz %R", "ds", near_exp2),
    REAL_ROW("rcp approx ftz %R", "ds", near_rcp),
    REAL_ROW("rsqrt approx ftz %R", "ds", near_rsqrt),
    REAL_ROW("mul ?rn %H", "dss", pair_mul),
    REAL_ROW("fma rn %H", "dsss", pair_fma),
    REAL_ROW("min ?NaN %F", "dss", real_min),
    REAL_ROW("max ?NaN %F", "dss", real_max),
    REAL_ROW("min ?NaN %H", "dss", pair_min),
    REAL_ROW("max ?NaN %H", "dss", pair_max),
    REAL_ROW("neg %F", "ds", real_neg),
    REAL_ROW("abs %F", "ds", real_abs),
    REAL_ROW("abs %H", "ds", pair_abs),
    ROW("setp eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan %F", "dss", real_compare, NULL,
        PTX_ARITHMETIC, 1),
    {0}};
