/* Floating point: sums, rounding, conversions, comparisons. */
#include "gfx9_cases.h"
#include "gfx9_numbers.h"

#include <math.h>

#define SHOW(to) "\nv_cndmask_b32_e64 " to ", 0, 1, vcc\n"
#define F32(x) f32_or_nan(x, a, b, 0)
#define F32_3(x) f32_or_nan(x, a, b, c)
#define F16(x) f16_or_nan(x, a, b, 0)
#define A1 single(a)
#define B1 single(b)
#define C1 single(c)
#define HA half(a)
#define HB half(b)
#define HC half(c)

/* Least and greatest by their order as integers: all numbers, -0 below 0. greater: 1. */
static uint64_t chosen(uint64_t p, uint64_t q, int bits, bool greater) {
  uint64_t sign = 1ull << (bits - 1), all = sign | (sign - 1), top, quiet;
  top = bits == 16 ? 0x7c00 : bits == 32 ? 0x7f800000 : 0x7ffull << 52;
  quiet = bits == 16 ? 0x200 : bits == 32 ? 1ull << 22 : 1ull << 51;
  bool p_nan = (p & ~sign & all) > top, q_nan = (q & ~sign & all) > top;
  if (p_nan && !(p & quiet)) return p | quiet;
  if (q_nan && !(q & quiet)) return q | quiet;
  if (p_nan || q_nan) return p_nan ? q : p;
  uint64_t x = p & sign ? ~p & all : p | sign, y = q & sign ? ~q & all : q | sign;
  return (x > y) == greater ? p : q;
}
#define MIN32(p, q) (uint32_t)chosen(p, q, 32, false)
#define MAX32(p, q) (uint32_t)chosen(p, q, 32, true)
#define MIN16(p, q) (uint32_t)chosen(LOW(p), LOW(q), 16, false)
#define MAX16(p, q) (uint32_t)chosen(LOW(p), LOW(q), 16, true)
static uint32_t between32(uint32_t a, uint32_t b, uint32_t c) {
  if (isnan(single(a)) || isnan(single(b)) || isnan(single(c))) return MIN32(MIN32(a, b), c);
  return MAX32(MIN32(a, b), MIN32(MAX32(a, b), c));
}
static uint32_t between16(uint32_t a, uint32_t b, uint32_t c) {
  if (isnan(half(a)) || isnan(half(b)) || isnan(half(c))) return MIN16(MIN16(a, b), c);
  return MAX16(MIN16(a, b), MIN16(MAX16(a, b), c));
}

static int64_t truncated(double x, int64_t low, int64_t high) {
  if (isnan(x)) return 0;
  if (x < (double)low) return low;
  return x > (double)high ? high : (int64_t)x;
}
static float held(float x) { return x > 0 ? x < 1 ? x : 1 : 0; }
static uint32_t to_half(uint32_t p) {
  float x = single(p);
  return isnan(x) ? (TOP(p) & 0x8000) | 0x7e00 | (p & 0x7fffff) >> 13 : of_half((double)x);
}
static uint32_t from_half(uint32_t p) {
  uint32_t nan = (p & 0x8000) << 16 | 0x7fc00000 | (p & 0x3ff) << 13;
  return isnan(half(p)) ? nan : of_single((float)half(p));
}
/* Towards zero: a rounded one that is too large goes back by one. */
static uint32_t to_half_down(uint32_t p) {
  uint32_t h = to_half(p);
  if (isnan(single(p)) || isinf(single(p)) || fabs(half(h)) <= (double)fabsf(single(p))) return h;
  return h - 1;
}

/* FNUZ: no infinity, 0x80 is NaN, biases 8 and 16. */
static uint32_t to_fp8(float x, int e, int m) {
  int bias = 1 << (e - 1);
  if (isnan(x)) return 0x80;
  uint32_t bits = isinf(x) ? 0x80 : nearest_of((double)x, e, m, bias, 0x7f);
  return bits == 0 || bits == 0x80 ? bits : bits | (x < 0 ? 0x80 : 0);
}
static uint32_t from_fp8(uint32_t byte, int e, int m) {
  byte &= 0xff;
  return byte == 0x80 ? 0x7fc00000 : of_single((float)number_of(byte, e, m, 1 << (e - 1)));
}
#define FP8(x) to_fp8(x, 4, 3)
#define BF8(x) to_fp8(x, 5, 2)

static uint32_t classes(double x, bool quiet, double least_normal) {
  bool negative = signbit(x);
  if (isnan(x)) return quiet ? 2 : 1;
  if (isinf(x)) return negative ? 4 : 0x200;
  if (x == 0) return negative ? 0x20 : 0x40;
  if (fabs(x) < least_normal) return negative ? 0x10 : 0x80;
  return negative ? 8 : 0x100;
}
static double mantissa_of(double x) {
  if (x == 0 || isinf(x) || isnan(x)) return x;
  while (fabs(x) >= 1) x /= 2;
  while (fabs(x) < 0.5) x *= 2;
  return x;
}
static uint32_t exponent_of(double x) {
  uint32_t n = 0;
  if (x == 0 || isinf(x) || isnan(x)) return 0;
  for (; fabs(x) >= 1; n++) x /= 2;
  for (; fabs(x) < 0.5; n--) x *= 2;
  return n;
}
static double even(double x) {
  double down = floor(x), apart = x - down;
  if (isinf(x) || apart == 0) return x;
  double made = apart < 0.5 || (apart == 0.5 && fmod(down, 2) == 0) ? down : down + 1;
  return copysign(made, x);
}

/* gfx90a: rounds twice, and denormal numbers are zeros. */
static float normal(float x) { return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x; }
static float twice_rounded(float x, float y, float z) {
  volatile float product = normal(normal(x) * normal(y));
  return normal(product + normal(z));
}
#define CASES_90A(X) \
  X(mad_f32, "v_mad_f32 v8, v4, v5, v6\nv_mad_f32 v9, -v4, v5, v6", \
    out[0] = F32_3(twice_rounded(A1, B1, C1)); \
    const uint32_t m = a ^ 1u << 31; \
    out[1] = f32_or_nan(twice_rounded(single(m), B1, C1), m, b, c))

#define ROUNDED(X, type, s8, s9, s10, s11, from, OUT) \
  X(rounds_##type, \
    "v_trunc_" #type " " s8 ", v" from "\nv_ceil_" #type " " s9 ", v" from "\n" \
    "v_floor_" #type " " s10 ", v" from "\nv_rndne_" #type " " s11 ", v" from, \
    OUT)

#define BOTH_CASES(X) \
  X(sums_f32, \
    "v_add_f32 v8, v4, v5\nv_mul_f32 v9, v4, v5\nv_sub_f32 v10, v4, v5\n" \
    "v_fma_f32 v11, v4, v5, v6", \
    out[0] = F32(A1 + B1), out[1] = F32(A1 * B1), \
    out[2] = f32_or_nan(A1 - B1, a, b ^ 1u << 31, 0), \
    out[2] = isnan(A1 - B1) ? F32(A1 - B1) : out[2], out[3] = F32_3(fmaf(A1, B1, C1))) \
  X(signs_f32, \
    "s_mov_b64 vcc, 0\nv_add_f32_e64 v8, -v4, |v5|\nv_mul_f32_e64 v9, -|v4|, v5\n" \
    "v_add_f32_e64 v10, v4, v5 clamp\nv_cndmask_b32_e64 v11, -v4, |v5|, vcc", \
    const uint32_t m = a ^ 1u << 31, n = b & ~(1u << 31), k = a | 1u << 31; \
    out[0] = f32_or_nan(single(m) + single(n), m, n, 0), \
    out[1] = f32_or_nan(single(k) * B1, k, b, 0), out[2] = of_single(held(A1 + B1)), out[3] = m) \
  X(fmac, \
    "v_subrev_f32 v8, v4, v5\nv_mov_b32 v9, v6\nv_fmac_f32 v9, v4, v5\n" \
    "v_add_f32 v10, 0.5, v4\nv_mov_b32 v11, v6\n" \
    "v_fmac_f32_dpp v11, v4, v5 row_shr:1 row_mask:0xf bank_mask:0xf", \
    const uint32_t before = lane % 16 ? in[lane - 1][0] : 0; \
    out[0] = f32_or_nan(B1 - A1, a, b, 0), out[1] = f32_or_nan(fmaf(A1, B1, C1), c, a, b), \
    out[2] = f32_or_nan(A1 + 0.5f, a, 0, 0), \
    out[3] = lane % 16 ? f32_or_nan(fmaf(single(before), B1, C1), c, before, b) : c) \
  X(sum_f64, "v_add_f64 v[8:9], v[4:5], v[6:7]\nv_mul_f64 v[10:11], v[4:5], -v[6:7]", \
    OUT64(f64_or_nan(wide(ab) + wide(cd), ab, cd, 0)); \
    const uint64_t m = f64_or_nan(wide(ab) * -wide(cd), ab, cd ^ 1ull << 63, 0); \
    out[2] = (uint32_t)m, out[3] = (uint32_t)(m >> 32)) \
  X(fma_f64, \
    "v_fma_f64 v[8:9], v[4:5], v[6:7], 1.0\nv_mov_b32 v10, 0\n" \
    "v_mov_b32 v11, 0x40000000\n" \
    "v_fmac_f64 v[10:11], v[4:5], v[6:7]", \
    OUT64(f64_or_nan(fma(wide(ab), wide(cd), 1), ab, cd, 0)); \
    const uint64_t m = f64_or_nan(fma(wide(ab), wide(cd), 2), ab, cd, 0); \
    out[2] = (uint32_t)m, out[3] = (uint32_t)(m >> 32)) \
  X(literal_f64, "v_cvt_i32_f64 v8, 0xc0240000\nv_cvt_i32_f64 v9, 4.0", out[0] = -10u, out[1] = 4) \
  X(sums_f16, \
    "v_add_f16 v8, v4, v5\nv_mul_f16 v9, v4, v5\nv_sub_f16 v10, v4, v5\n" \
    "v_subrev_f16 v11, v4, v5", \
    out[0] = F16(HA + HB), out[1] = F16(HA * HB), out[2] = F16(HA - HB), out[3] = F16(HB - HA)) \
  X(fma_f16, \
    "v_mov_b32 v8, v7\nv_fma_f16 v8, v4, v5, v6 op_sel:[0,1,0,1]\n" \
    "v_add_f16 v9, 1.0, v4\n" \
    "v_add_f16_sdwa v10, -v4, v5 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 " \
    "src1_sel:DWORD", \
    out[0] = BOTH(d, f16_or_nan(fma(HA, half(TOP(b)), HC), a, TOP(b), c)), \
    out[1] = f16_or_nan(HA + 1, a, 0, 0), \
    out[2] = f16_or_nan(half(TOP(a) ^ 0x8000) + HB, TOP(a) ^ 0x8000, b, 0)) \
  X(mix, \
    "v_fma_mix_f32 v8, v4, v5, v6 op_sel:[1,0,0] op_sel_hi:[1,0,0]\nv_mov_b32 v9, v7\n" \
    "v_fma_mixlo_f16 v9, v4, v5, v6 op_sel_hi:[0,0,1]\nv_mov_b32 v10, v7\n" \
    "v_fma_mixhi_f16 v10, v4, -v5, 0", \
    const uint32_t h = from_half(TOP(a)), k = from_half(LOW(c)), m = b ^ 1u << 31; \
    out[0] = f32_or_nan(fmaf(single(h), B1, C1), h, b, c), \
    out[1] = (d & 0xffff0000) | to_half(f32_or_nan(fmaf(A1, B1, single(k)), a, b, k)), \
    out[2] = BOTH(d, to_half(f32_or_nan(fmaf(A1, single(m), 0), a, m, 0)))) \
  X(limits_f32, \
    "v_min_f32 v8, v4, v5\nv_max_f32 v9, v4, v5\nv_max_f32_e64 v10, v4, v4 clamp\n" \
    "v_med3_f32 v11, v4, v5, v6", \
    out[0] = MIN32(a, b), out[1] = MAX32(a, b), out[2] = of_single(held(A1)), \
    out[3] = between32(a, b, c)) \
  X(limits3_f32, "v_min3_f32 v8, v4, v5, v6\nv_max3_f32 v9, v4, v5, v6", \
    out[0] = MIN32(MIN32(a, b), c), out[1] = MAX32(MAX32(a, b), c)) \
  X(limits_f16, \
    "v_min_f16 v8, v4, v5\nv_max_f16 v9, v4, v5\nv_min3_f16 v10, v4, v5, v6\n" \
    "v_max3_f16 v11, v4, v5, v6", \
    out[0] = MIN16(a, b), out[1] = MAX16(a, b), out[2] = MIN16(MIN16(a, b), c), \
    out[3] = MAX16(MAX16(a, b), c)) \
  X(med3_f16, "v_med3_f16 v8, v4, v5, v6", out[0] = between16(a, b, c)) \
  X(limits_f64, "v_min_f64 v[8:9], v[4:5], v[6:7]\nv_max_f64 v[10:11], v[4:5], v[6:7]", \
    OUT64(chosen(ab, cd, 64, false)); \
    const uint64_t m = chosen(ab, cd, 64, true); \
    out[2] = (uint32_t)m, out[3] = (uint32_t)(m >> 32)) \
  X(pk_f16, \
    "v_pk_add_f16 v8, v4, v5\nv_pk_mul_f16 v9, v4, v5 neg_lo:[1,0] neg_hi:[0,1]\n" \
    "v_pk_fma_f16 v10, v4, v5, v6\nv_pk_add_f16 v11, v4, 1.0 op_sel_hi:[1,0]", \
    out[0] = BOTH(F16(HA + HB), f16_or_nan(half(TOP(a)) + half(TOP(b)), TOP(a), TOP(b), 0)), \
    out[1] = BOTH(f16_or_nan(half(a ^ 0x8000) * HB, a ^ 0x8000, b, 0), \
                  f16_or_nan(half(TOP(a)) * half(TOP(b) ^ 0x8000), TOP(a), TOP(b) ^ 0x8000, 0)), \
    out[2] = \
        BOTH(f16_or_nan(fma(HA, HB, HC), a, b, c), \
             f16_or_nan(fma(half(TOP(a)), half(TOP(b)), half(TOP(c))), TOP(a), TOP(b), TOP(c))), \
    out[3] = BOTH(f16_or_nan(HA + 1, a, 0, 0), f16_or_nan(half(TOP(a)) + 1, TOP(a), 0, 0))) \
  X(pk_limits_f16, "v_pk_min_f16 v8, v4, v5\nv_pk_max_f16 v9, v4, v5", \
    out[0] = BOTH(MIN16(a, b), MIN16(TOP(a), TOP(b))), \
    out[1] = BOTH(MAX16(a, b), MAX16(TOP(a), TOP(b)))) \
  X(pk_f32, \
    "v_pk_add_f32 v[8:9], v[4:5], v[6:7]\n" \
    "v_pk_mul_f32 v[10:11], v[4:5], v[6:7] op_sel:[0,1] op_sel_hi:[1,0]", \
    out[0] = f32_or_nan(A1 + C1, a, c, 0), out[1] = f32_or_nan(B1 + single(d), b, d, 0), \
    out[2] = f32_or_nan(A1 * single(d), a, d, 0), out[3] = f32_or_nan(B1 * C1, b, c, 0)) \
  X(div_scale, \
    "v_div_scale_f32 v8, vcc, v4, v5, v4\n" \
    "v_div_scale_f64 v[10:11], vcc, v[4:5], v[6:7], v[4:5]\nv_mov_b32 v9, v8", \
    out[0] = out[1] = out[2] = a, out[3] = b) \
  X(div_f32, "v_div_fmas_f32 v8, v4, v5, v6\nv_div_fixup_f32 v9, v4, v5, v6", \
    out[0] = F32_3(fmaf(A1, B1, C1)), out[1] = F32_3(C1 / B1)) \
  X(div_f64, \
    "v_div_fmas_f64 v[8:9], v[4:5], v[6:7], v[4:5]\n" \
    "v_div_fixup_f64 v[10:11], v[4:5], v[6:7], v[4:5]", \
    OUT64(f64_or_nan(fma(wide(ab), wide(cd), wide(ab)), ab, cd, ab)); \
    const uint64_t m = f64_or_nan(wide(ab) / wide(cd), ab, cd, ab); \
    out[2] = (uint32_t)m, out[3] = (uint32_t)(m >> 32)) \
  X(pk_fma_f32, "v_pk_fma_f32 v[8:9], v[4:5], v[6:7], v[4:5] neg_hi:[0,0,1]", \
    out[0] = f32_or_nan(fmaf(A1, C1, A1), a, c, a), \
    out[1] = f32_or_nan(fmaf(B1, single(d), -B1), b, d, b)) \
  ROUNDED(X, f32, "v8", "v9", "v10", "v11", "4", \
          (out[0] = f32_or_nan(truncf(A1), a, 0, 0), out[1] = f32_or_nan(ceilf(A1), a, 0, 0), \
           out[2] = f32_or_nan(floorf(A1), a, 0, 0), \
           out[3] = f32_or_nan((float)even((double)A1), a, 0, 0))) \
  ROUNDED(X, f16, "v8", "v9", "v10", "v11", "4", \
          (out[0] = f16_or_nan(trunc(HA), a, 0, 0), out[1] = f16_or_nan(ceil(HA), a, 0, 0), \
           out[2] = f16_or_nan(floor(HA), a, 0, 0), out[3] = f16_or_nan(even(HA), a, 0, 0))) \
  X(rounds_f64, \
    "v_trunc_f64 v[12:13], v[4:5]\nv_ceil_f64 v[14:15], v[4:5]\n" \
    "v_xor_b32 v8, v12, v14\n" \
    "v_xor_b32 v9, v13, v15\nv_floor_f64 v[12:13], v[4:5]\nv_rndne_f64 v[14:15], v[4:5]\n" \
    "v_xor_b32 v10, v12, v14\nv_xor_b32 v11, v13, v15", \
    const double p = wide(ab); \
    const uint64_t m = isnan(p) ? 0 : of_wide(trunc(p)) ^ of_wide(ceil(p)); \
    const uint64_t n = isnan(p) ? 0 : of_wide(floor(p)) ^ of_wide(even(p)); \
    OUT64(m), out[2] = (uint32_t)n, out[3] = (uint32_t)(n >> 32)) \
  X(roots_f32, "v_rcp_f32 v8, v4\nv_rsq_f32 v9, v4\nv_sqrt_f32 v10, v4\nv_rcp_iflag_f32 v11, v4", \
    out[0] = out[3] = f32_or_nan(1 / A1, a, 0, 0), \
    out[1] = f32_or_nan((float)(1 / sqrt((double)A1)), a, 0, 0), \
    out[2] = f32_or_nan(sqrtf(A1), a, 0, 0)) \
  X(roots_f16, "v_rcp_f16 v8, v4\nv_rsq_f16 v9, v4\nv_sqrt_f16 v10, v4", \
    out[0] = f16_or_nan(1 / HA, a, 0, 0), out[1] = f16_or_nan(1 / sqrt(HA), a, 0, 0), \
    out[2] = f16_or_nan(sqrt(HA), a, 0, 0)) \
  X(roots_f64, "v_rcp_f64 v[8:9], v[4:5]\nv_sqrt_f64 v[10:11], v[4:5]", \
    OUT64(f64_or_nan(1 / wide(ab), ab, 0, 0)); \
    const uint64_t m = f64_or_nan(sqrt(wide(ab)), ab, 0, 0); \
    out[2] = (uint32_t)m, out[3] = (uint32_t)(m >> 32)) \
  X(rsq_f64, "v_rsq_f64 v[8:9], v[4:5]", OUT64(f64_or_nan(1 / sqrt(wide(ab)), ab, 0, 0))) \
  X(powers, "v_exp_f32 v8, v4\nv_log_f32 v9, v4\nv_exp_f16 v10, v4\nv_log_f16 v11, v4", \
    out[0] = f32_or_nan(exp2f(A1), a, 0, 0), out[1] = f32_or_nan(log2f(A1), a, 0, 0), \
    out[2] = f16_or_nan(exp2(HA), a, 0, 0), out[3] = f16_or_nan(log2(HA), a, 0, 0)) \
  X(frexps, \
    "v_frexp_mant_f32 v8, v4\nv_frexp_exp_i32_f32 v9, v4\nv_frexp_mant_f16 v10, v4\n" \
    "v_frexp_exp_i16_f16 v11, v4", \
    out[0] = f32_or_nan((float)mantissa_of((double)A1), a, 0, 0), \
    out[1] = exponent_of((double)A1), out[2] = f16_or_nan(mantissa_of(HA), a, 0, 0), \
    out[3] = LOW(exponent_of(HA))) \
  X(frexps_f64, "v_frexp_mant_f64 v[8:9], v[4:5]\nv_frexp_exp_i32_f64 v10, v[4:5]", \
    OUT64(f64_or_nan(mantissa_of(wide(ab)), ab, 0, 0)), out[2] = exponent_of(wide(ab))) \
  X(ldexps, "v_ldexp_f32 v8, v4, v5\nv_ldexp_f64 v[10:11], v[4:5], 3\nv_ldexp_f16 v9, v4, 2", \
    out[0] = f32_or_nan(ldexpf(A1, (int32_t)b > 1000    ? 1000 \
                                   : (int32_t)b < -1000 ? -1000 \
                                                        : (int32_t)b), \
                        a, 0, 0), \
    out[1] = f16_or_nan(4 * HA, a, 0, 0); \
    const uint64_t m = f64_or_nan(8 * wide(ab), ab, 0, 0); \
    out[2] = (uint32_t)m, out[3] = (uint32_t)(m >> 32)) \
  X(from_integers, \
    "v_cvt_f32_i32 v8, v4\nv_cvt_f32_u32 v9, v4\nv_cvt_f16_i16 v10, v4\n" \
    "v_cvt_f16_u16 v11, v4", \
    out[0] = of_single((float)(int32_t)a), out[1] = of_single((float)a), \
    out[2] = of_half((int16_t)a), out[3] = of_half(LOW(a))) \
  X(from_bytes, \
    "v_cvt_f32_ubyte0 v8, v4\nv_cvt_f32_ubyte1 v9, v4\nv_cvt_f32_ubyte2 v10, v4\n" \
    "v_cvt_f32_ubyte3 v11, v4", \
    for (int k = 0; k < 4; k++) out[k] = of_single((float)(a >> 8 * k & 255))) \
  X(to_wide, "v_cvt_f64_i32 v[8:9], v4\nv_cvt_f64_u32 v[10:11], v4", OUT64(of_wide((int32_t)a)); \
    const uint64_t m = of_wide(a); out[2] = (uint32_t)m, out[3] = (uint32_t)(m >> 32)) \
  X(to_integers, \
    "v_cvt_i32_f32 v8, v4\nv_cvt_u32_f32 v9, v4\nv_cvt_i32_f64 v10, v[4:5]\n" \
    "v_cvt_u32_f64 v11, v[4:5]", \
    out[0] = (uint32_t)truncated((double)A1, INT32_MIN, INT32_MAX), \
    out[1] = (uint32_t)truncated((double)A1, 0, UINT32_MAX), \
    out[2] = (uint32_t)truncated(wide(ab), INT32_MIN, INT32_MAX), \
    out[3] = (uint32_t)truncated(wide(ab), 0, UINT32_MAX)) \
  X(to_shorts, \
    "v_cvt_i16_f16 v8, v4\nv_cvt_u16_f16 v9, v4\nv_cvt_pk_i16_i32 v10, v4, v5\n" \
    "v_cvt_pk_u16_u32 v11, v4, v5", \
    out[0] = LOW(truncated(HA, INT16_MIN, INT16_MAX)), out[1] = LOW(truncated(HA, 0, UINT16_MAX)), \
    out[2] = BOTH(truncated((int32_t)a, INT16_MIN, INT16_MAX), \
                  truncated((int32_t)b, INT16_MIN, INT16_MAX)), \
    out[3] = BOTH(truncated(a, 0, UINT16_MAX), truncated(b, 0, UINT16_MAX))) \
  X(formats, \
    "v_cvt_f16_f32 v8, v4\nv_cvt_f32_f16 v9, v4\nv_cvt_pkrtz_f16_f32 v10, v4, v5\n" \
    "v_cvt_f32_f16_sdwa v11, v4 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1", \
    out[0] = to_half(a), out[1] = from_half(a), out[2] = BOTH(to_half_down(a), to_half_down(b)), \
    out[3] = from_half(TOP(a))) \
  X(formats_f64, "v_cvt_f32_f64 v8, v[4:5]\nv_cvt_f64_f32 v[10:11], v4", \
    const uint32_t n = (b & 1u << 31) | 0x7fc00000 | (uint32_t)(ab >> 29 & 0x7fffff); \
    out[0] = isnan(wide(ab)) ? n : of_single((float)wide(ab)); \
    const uint64_t m = \
        isnan(A1) ? (uint64_t)(a >> 31) << 63 | 0x7ff8ull << 48 | (uint64_t)(a & 0x7fffff) << 29 \
                  : of_wide((double)A1); \
    out[2] = (uint32_t)m, out[3] = (uint32_t)(m >> 32)) \
  X(classes_f, \
    "v_cmp_class_f32 vcc, v4, v5" SHOW("v8") "v_cmp_class_f16 vcc, v4, v5" SHOW( \
        "v9") "v_cmp_class_f64 vcc, v[4:5], v6" SHOW("v10"), \
    out[0] = (classes((double)A1, a & 1 << 22, 0x1p-126) & b) != 0, \
    out[1] = (classes(isnan(HA) ? HA : half(a), a & 1 << 9, 0x1p-14) & b) != 0, \
    out[2] = (classes(wide(ab), b & 1 << 19, 0x1p-1022) & c) != 0)

#define CASES_942(X) \
  X(fma_literal, "v_fmaak_f32 v8, v4, v5, 0x40490fdb\nv_fmamk_f32 v9, v4, 0x40490fdb, v5", \
    const float k = single(0x40490fdb); \
    out[0] = f32_or_nan(fmaf(A1, B1, k), a, b, 0), out[1] = f32_or_nan(fmaf(A1, k, B1), a, b, 0)) \
  X(fp8_single, \
    "v_cvt_f32_fp8 v8, v4\nv_cvt_f32_bf8 v9, v4\n" \
    "v_cvt_f32_fp8_sdwa v10, v4 src0_sel:BYTE_2\n" \
    "v_cvt_f32_bf8_sdwa v11, v4 src0_sel:BYTE_3", \
    out[0] = from_fp8(a, 4, 3), out[1] = from_fp8(a, 5, 2), out[2] = from_fp8(a >> 16, 4, 3), \
    out[3] = from_fp8(a >> 24, 5, 2)) \
  X(fp8_pair, "v_cvt_pk_f32_fp8 v[8:9], v4\nv_cvt_pk_f32_bf8_sdwa v[10:11], v4 src0_sel:WORD_1", \
    out[0] = from_fp8(a, 4, 3), out[1] = from_fp8(a >> 8, 4, 3), out[2] = from_fp8(a >> 16, 5, 2), \
    out[3] = from_fp8(a >> 24, 5, 2)) \
  X(to_fp8_pair, \
    "v_mov_b32 v8, v6\nv_cvt_pk_fp8_f32 v8, v4, v5\nv_mov_b32 v9, v6\n" \
    "v_cvt_pk_bf8_f32 v9, v4, v5 op_sel:[0,0,1]", \
    out[0] = (c & 0xffff0000) | FP8(A1) | FP8(B1) << 8, out[1] = BOTH(c, BF8(A1) | BF8(B1) << 8))

#define COMPARE_CASE(X, op, condition) \
  X( \
      cmp_##op, \
      "v_cmp_" #op "_f32 vcc, v4, v5" SHOW("v8") "v_cmp_" #op "_f16 vcc, v4, v5" SHOW( \
          "v9") "v_cmp_" #op "_f64 vcc, v[4:5], v[6:7]" SHOW("v10"), \
      const double p[] = {(double)A1, HA, wide(ab)}, q[] = {(double)B1, HB, wide(cd)}; \
      for (int k = 0; k < 3; k++) { \
        bool less = isless(p[k], q[k]), more = isgreater(p[k], q[k]), equal = p[k] == q[k]; \
        bool any = isunordered(p[k], q[k]); \
        (void)less, (void)more, (void)equal, (void)any; \
        out[k] = condition; \
      })
/* clang-format off */
#define COMPARE_CASES(X)                                                                          \
  COMPARE_CASE(X, lt, less) COMPARE_CASE(X, eq, equal) COMPARE_CASE(X, le, less || equal)         \
  COMPARE_CASE(X, gt, more) COMPARE_CASE(X, lg, less || more) COMPARE_CASE(X, ge, more || equal)  \
  COMPARE_CASE(X, o, !any) COMPARE_CASE(X, u, any) COMPARE_CASE(X, nge, less || any)              \
  COMPARE_CASE(X, nlg, equal || any) COMPARE_CASE(X, ngt, less || equal || any)                   \
  COMPARE_CASE(X, nle, more || any) COMPARE_CASE(X, neq, less || more || any)                     \
  COMPARE_CASE(X, nlt, more || equal || any)
/* clang-format on */

BOTH_CASES(CASE_FUNCTION)
CASES_90A(CASE_FUNCTION)
CASES_942(CASE_FUNCTION)
COMPARE_CASES(CASE_FUNCTION)

static const gfx9_case cases[] = {BOTH_CASES(CASE_ROW) CASES_90A(CASE_ROW_90A)
                                      CASES_942(CASE_ROW_942) COMPARE_CASES(CASE_ROW)};
const gfx9_cases gfx9_float_cases = {cases, sizeof cases / sizeof *cases};
