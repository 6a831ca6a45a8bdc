/* Atomics. A lane's 16 bytes of global memory or LDS first hold a, b, c, d. One that gives nothing
 * back, then one that gives back what it found, work on c or c, d with the data a or a, b: so the
 * found value is what the first made, and what they leave is what two made. */
#include "gfx9_cases.h"
#include "gfx9_numbers.h"

#include <math.h>

#define WAIT "\ns_waitcnt vmcnt(0) lgkmcnt(0)\n"
#define BEGIN \
  "v_mov_b32 v13, s7\nv_add_co_u32 v12, vcc, s6, v1\nv_addc_co_u32 v13, vcc, 0, v13, vcc\n" \
  "s_nop 0\nglobal_store_dwordx4 v1, v[4:7], s[6:7]" WAIT
/* v16, v17 or v[16:17], v[18:19]: the data, then c, d in even lanes and in odd ones b, d. */
#define COMPARED \
  "v_and_b32 v14, 1, v0\nv_cmp_eq_u32 vcc, 1, v14\nv_mov_b32 v16, v4\nv_mov_b32 v19, v7\n"
#define COMPARED_32 COMPARED "v_cndmask_b32 v17, v6, v5, vcc\n"
#define COMPARED_64 COMPARED "v_mov_b32 v17, v5\nv_cndmask_b32 v18, v6, v5, vcc\n"

static uint64_t low_of(uint64_t x, int bits) { return bits == 64 ? x : x & ((1ull << bits) - 1); }
static uint64_t turned(uint64_t x, int bits) { return x ^ 1ull << (bits - 1); } /* orders by sign */
#define MADE(name, result) \
  static uint64_t made_##name(uint64_t old, uint64_t data, int bits) { \
    (void)old, (void)data; \
    return low_of(result, bits); \
  }
MADE(swap, data)
MADE(add, old + data)
MADE(sub, old - data)
MADE(and, old &data)
MADE(or, (old ^ data) + (old & data))
MADE(xor, (old | data) - (old & data))
MADE(umin, old < data ? old : data)
MADE(umax, old < data ? data : old)
MADE(smin, turned(old, bits) < turned(data, bits) ? old : data)
MADE(smax, turned(old, bits) < turned(data, bits) ? data : old)
MADE(inc, old < data ? old + 1 : 0)
MADE(dec, old == 0 || old > data ? data : old - 1)
MADE(fadd, bits == 64 ? f64_or_nan(wide(old) + wide(data), old, data, 0)
                      : f32_or_nan(single((uint32_t)old) + single((uint32_t)data), (uint32_t)old,
                                   (uint32_t)data, 0))

/* min: a signalling NaN wins, quiet; a quiet one gives way; the numbers' order is that of their
 * bits. */
static uint64_t extreme(uint64_t p, uint64_t q, int bits, bool greater) {
  uint64_t quiet = bits == 64 ? 1ull << 51 : 1ull << 22;
  bool p_nan = bits == 64 ? isnan(wide(p)) : isnan(single((uint32_t)p));
  bool q_nan = bits == 64 ? isnan(wide(q)) : isnan(single((uint32_t)q));
  if (p_nan && !(p & quiet)) return p | quiet;
  if (q_nan && !(q & quiet)) return q | quiet;
  if (p_nan || q_nan) return p_nan ? q : p;
  uint64_t sign = 1ull << (bits - 1);
  uint64_t x = p & sign ? low_of(~p, bits) : p | sign, y = q & sign ? low_of(~q, bits) : q | sign;
  return (x > y) == greater ? p : q;
}
MADE(fmin, extreme(old, data, bits, false))
MADE(fmax, extreme(old, data, bits, true))

static uint32_t half_sum(uint32_t p, uint32_t q) { return f16_or_nan(half(p) + half(q), p, q, 0); }
MADE(pk_f16, BOTH(half_sum((uint32_t)old, (uint32_t)data),
                  half_sum(TOP((uint32_t)old), TOP((uint32_t)data))))
static uint32_t brain_sum(uint32_t p, uint32_t q) {
  double sum = (double)single(LOW(p) << 16) + (double)single(LOW(q) << 16);
  uint32_t sign = signbit(sum) ? 0x8000 : 0;
  if (isnan(sum)) return TOP(f32_or_nan((float)NAN, p << 16, q << 16, 0));
  return sign | (isinf(sum) ? 0x7f80 : nearest_of(sum, 8, 7, 127, 0x7f7f));
}
MADE(pk_bf16, BOTH(brain_sum((uint32_t)old, (uint32_t)data),
                   brain_sum(TOP((uint32_t)old), TOP((uint32_t)data))))

/* What two of them leave, the old value, the new one: at c, with data a; at c, d with data a, b. */
#define EXPECT_32(made) out[0] = (uint32_t)made(c, a, 32), out[2] = (uint32_t)made(out[0], a, 32)
#define EXPECT_64(made) \
  const uint64_t once = made(cd, ab, 64), twice = made(once, ab, 64); \
  OUT64(once), out[2] = (uint32_t)twice, out[3] = (uint32_t)(twice >> 32)

#define TWO(plain, giving, read) BEGIN plain WAIT giving WAIT read WAIT
#define READ_32 "global_load_dword v10, v1, s[6:7] offset:8"
#define READ_64 "global_load_dwordx2 v[10:11], v1, s[6:7] offset:8"
/* In flat addresses, then global; and the other way round. */
#define PLACES(X, id, op, back, data, to, read, expect) \
  X(id##_flat, \
    TWO("flat_atomic_" op " v[12:13], " data " offset:8", \
        "global_atomic_" op " " to ", v1, " data ", s[6:7] offset:8 " back, read), \
    expect) \
  X(id##_global, \
    TWO("global_atomic_" op " v1, " data ", s[6:7] offset:8", \
        "flat_atomic_" op " " to ", v[12:13], " data " offset:8 " back, read), \
    expect)
#define WORD_CASE(X, op, back, made) \
  PLACES(X, op##_32, #op, back, "v4", "v8", READ_32, EXPECT_32(made))
#define PAIR_CASE(X, id, op, back, made) \
  PLACES(X, id##_64, op, back, "v[4:5]", "v[8:9]", READ_64, EXPECT_64(made))
/* clang-format off */
#define BOTH_WIDTHS(X, op, back) \
  WORD_CASE(X, op, back, made_##op) PAIR_CASE(X, op, #op "_x2", back, made_##op)

#define GLOBAL_CASES(X, back)                                                                     \
  BOTH_WIDTHS(X, swap, back) BOTH_WIDTHS(X, add, back) BOTH_WIDTHS(X, sub, back)                  \
  BOTH_WIDTHS(X, smin, back) BOTH_WIDTHS(X, umin, back) BOTH_WIDTHS(X, smax, back)                \
  BOTH_WIDTHS(X, umax, back) BOTH_WIDTHS(X, and, back) BOTH_WIDTHS(X, or, back)                   \
  BOTH_WIDTHS(X, xor, back) BOTH_WIDTHS(X, inc, back) BOTH_WIDTHS(X, dec, back)                   \
  PAIR_CASE(X, add_f64, "add_f64", back, made_fadd) PAIR_CASE(X, min_f64, "min_f64", back, \
      made_fmin) \
  PAIR_CASE(X, max_f64, "max_f64", back, made_fmax)                                               \
  X(cmpswap, BEGIN COMPARED_32 "global_atomic_cmpswap v8, v1, v[16:17], s[6:7] offset:8 " \
    back WAIT \
    "flat_atomic_cmpswap v[12:13], v[16:17]" WAIT READ_32 "\nglobal_load_dword v11, v1, s[6:7]",   \
    const uint32_t with = lane % 2 ? b : c; out[0] = c, out[2] = with == c ? a : c,               \
    out[3] = a)                                                                   \
  X(cmpswap_64, BEGIN COMPARED_64 "flat_atomic_cmpswap_x2 v[8:9], v[12:13], v[16:19] offset:8 " \
    back WAIT \
    "global_atomic_cmpswap_x2 v1, v[16:19], s[6:7]" WAIT READ_64,                                 \
    const uint64_t with = (lane % 2 ? b : c) | (uint64_t)d << 32, made = with == cd ? ab : cd;    \
    OUT64(cd), out[2] = (uint32_t)made, out[3] = (uint32_t)(made >> 32))
/* clang-format on */
/* Of gfx90a these have no flat form and give nothing back. */
#define CASES_90A(X) \
  GLOBAL_CASES(X, "glc") \
  X(add_f32_90a, BEGIN "global_atomic_add_f32 v1, v4, s[6:7] offset:8" WAIT READ_32, \
    out[2] = (uint32_t)made_fadd(c, a, 32)) \
  X(pk_add_f16_90a, BEGIN "global_atomic_pk_add_f16 v1, v4, s[6:7] offset:8" WAIT READ_32, \
    out[2] = (uint32_t)made_pk_f16(c, a, 32))
#define CASES_942(X) \
  PLACES(X, add_f32, "add_f32", "sc0", "v4", "v8", READ_32, EXPECT_32(made_fadd)) \
  PLACES(X, pk_add_f16, "pk_add_f16", "sc0", "v4", "v8", READ_32, EXPECT_32(made_pk_f16)) \
  PLACES(X, pk_add_bf16, "pk_add_bf16", "sc0", "v4", "v8", READ_32, EXPECT_32(made_pk_bf16)) \
  X(add_942, \
    TWO("global_atomic_add v1, v4, s[6:7] offset:8", \
        "global_atomic_add v8, v1, v4, s[6:7] offset:8 sc0", READ_32), \
    EXPECT_32(made_add)) \
  LDS_PAIR(X, pk_add_f16, "v4", "v8", "b32 v10", EXPECT_32(made_pk_f16), "ds_pk_add_f16", \
           "ds_pk_add_rtn_f16") \
  LDS_PAIR(X, pk_add_bf16, "v4", "v8", "b32 v10", EXPECT_32(made_pk_bf16), "ds_pk_add_bf16", \
           "ds_pk_add_rtn_bf16")

#define LDS_PAIR(X, id, data, to, read, expect, plain, giving) \
  X(lds_##id, \
    "ds_write_b128 v1, v[4:7]" WAIT plain " v1, " data " offset:8" WAIT giving " " to \
    ", v1, " data " offset:8" WAIT "ds_read_" read ", v1 offset:8", \
    expect)
#define LDS(X, op, type, made) \
  LDS_PAIR(X, op##type##32, "v4", "v8", "b32 v10", EXPECT_32(made), "ds_" #op "_" #type "32", \
           "ds_" #op "_rtn_" #type "32") \
  LDS_PAIR(X, op##type##64, "v[4:5]", "v[8:9]", "b64 v[10:11]", EXPECT_64(made), \
           "ds_" #op "_" #type "64", "ds_" #op "_rtn_" #type "64")
/* clang-format off */
#define LDS_CASES(X)                                                                              \
  LDS(X, add, u, made_add) LDS(X, sub, u, made_sub) LDS(X, inc, u, made_inc) LDS(X, dec, u, \
      made_dec) \
  LDS(X, min, i, made_smin) LDS(X, max, i, made_smax) LDS(X, min, u, made_umin)                   \
  LDS(X, max, u, made_umax) LDS(X, and, b, made_and) LDS(X, or, b, made_or) LDS(X, xor, b, \
      made_xor) \
  LDS(X, add, f, made_fadd) LDS(X, min, f, made_fmin) LDS(X, max, f, made_fmax)                   \
  X(lds_swap, "ds_write_b128 v1, v[4:7]" WAIT "ds_wrxchg_rtn_b32 v8, v1, v5" WAIT                 \
    "ds_wrxchg_rtn_b64 v[10:11], v1, v[4:5] offset:8" WAIT "ds_read_b32 v9, v1",                  \
    out[0] = a, out[1] = b, out[2] = c, out[3] = d)                                               \
  X(lds_compare, "ds_write_b128 v1, v[4:7]" WAIT COMPARED_32                                      \
    "ds_cmpst_rtn_b32 v8, v1, v17, v16 offset:8" WAIT "ds_cmpst_b32 v1, v4, v5" WAIT              \
    "ds_read_b32 v10, v1 offset:8\nds_read_b32 v11, v1",                                          \
    const uint32_t with = lane % 2 ? b : c; out[0] = c, out[2] = with == c ? a : c, out[3] = b)   \
  X(lds_compare_64, "ds_write_b128 v1, v[4:7]" WAIT COMPARED_64                                   \
    "ds_cmpst_rtn_b64 v[8:9], v1, v[18:19], v[16:17] offset:8" WAIT                               \
    "ds_cmpst_b64 v1, v[4:5], v[6:7]" WAIT "ds_read_b64 v[10:11], v1 offset:8",                   \
    const uint64_t with = (lane % 2 ? b : c) | (uint64_t)d << 32, made = with == cd ? ab : cd;    \
    OUT64(cd), out[2] = (uint32_t)made, out[3] = (uint32_t)(made >> 32))
/* clang-format on */

CASES_90A(CASE_FUNCTION)
CASES_942(CASE_FUNCTION)
LDS_CASES(CASE_FUNCTION)

static const gfx9_case cases[] = {CASES_90A(CASE_ROW_90A) CASES_942(CASE_ROW_942)
                                      LDS_CASES(CASE_ROW)};
const gfx9_cases gfx9_atomic_cases = {cases, sizeof cases / sizeof *cases};
