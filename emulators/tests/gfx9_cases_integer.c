/* Integer arithmetic of 16 bits, packed, of three sources, clamped; scans for bits. */
#include "gfx9_cases.h"
#include "gfx9_numbers.h"

#define S16(x) ((int32_t)(LOW(x) ^ 0x8000) - 0x8000)
#define S32(x) ((int64_t)((x) ^ 1ull << 31) - (int64_t)(1ull << 31))
#define SHOW(to) "\nv_cndmask_b32_e64 " to ", 0, 1, vcc\n"

static int64_t lesser(int64_t x, int64_t y) { return x < y ? x : y; }
static int64_t greater(int64_t x, int64_t y) { return x > y ? x : y; }
static int64_t least_of(int64_t x, int64_t y, int64_t z) { return lesser(lesser(x, y), z); }
static int64_t most_of(int64_t x, int64_t y, int64_t z) { return greater(greater(x, y), z); }
static int64_t middle_of(int64_t x, int64_t y, int64_t z) {
  return x + y + z - least_of(x, y, z) - most_of(x, y, z);
}
static int64_t limited(int64_t x, int64_t low, int64_t high) {
  return lesser(greater(x, low), high);
}

static uint32_t zeros_above(uint64_t x, int size) {
  for (int k = 0; k < size; k++)
    if (x >> (size - 1 - k) & 1) return (uint32_t)k;
  return 0xffffffff;
}
static uint32_t same_above(uint64_t x, int size) {
  uint64_t turned = x >> (size - 1) & 1 ? ~x : x;
  return zeros_above(size == 32 ? (uint32_t)turned : turned, size);
}
static uint32_t apart(uint32_t x, uint32_t y, int bits) {
  uint32_t sum = 0;
  for (int k = 0; k < 32; k += bits) {
    int64_t p = x >> k & ((1ll << bits) - 1), q = y >> k & ((1ll << bits) - 1);
    sum += (uint32_t)(p < q ? q - p : p - q);
  }
  return sum;
}
static uint32_t lowest_of(uint32_t x) {
  for (uint32_t k = 0; k < 32; k++)
    if (x >> k & 1) return k;
  return 0xffffffff;
}

#define BOTH_CASES(X) \
  X(scans, "v_ffbl_b32 v8, v4\nv_ffbh_u32 v9, v4\nv_ffbh_i32 v10, v4\nv_bfm_b32 v11, v4, v5", \
    out[0] = lowest_of(a), out[1] = zeros_above(a, 32), out[2] = same_above(a, 32), \
    out[3] = (uint32_t)(((1ull << a % 32) - 1) * (1ull << b % 32))) \
  X(packs, \
    "v_pack_b32_f16 v8, v4, v5\nv_pack_b32_f16 v9, v4, -v5 op_sel:[1,1,0]\n" \
    "v_sat_pk_u8_i16 v10, v4\nv_mov_b32 v11, v4\nv_mov_b32 v12, v5\nv_swap_b32 v11, v12", \
    out[0] = BOTH(a, b), out[1] = BOTH(TOP(a), TOP(b) ^ 0x8000), \
    out[2] = (uint32_t)(limited(S16(a), 0, 255) | limited(S16(TOP(a)), 0, 255) << 8), out[3] = b) \
  X(clamped, \
    "v_add_u32_e64 v8, v4, v5 clamp\nv_sub_u32_e64 v9, v4, v5 clamp\n" \
    "v_add_i32 v10, v4, v5 clamp\nv_sub_i32 v11, v4, v5 clamp", \
    out[0] = (uint32_t)limited((int64_t)a + b, 0, UINT32_MAX), \
    out[1] = (uint32_t)limited((int64_t)a - b, 0, UINT32_MAX), \
    out[2] = (uint32_t)limited(S32(a) + S32(b), INT32_MIN, INT32_MAX), \
    out[3] = (uint32_t)limited(S32(a) - S32(b), INT32_MIN, INT32_MAX)) \
  X(clamped_16, \
    "v_add_u16_e64 v8, v4, v5 clamp\nv_subrev_u16_e64 v9, v4, v5 clamp\n" \
    "v_add_i16 v10, v4, v5 clamp\nv_sub_i16 v11, v4, v5 clamp", \
    out[0] = (uint32_t)limited((int64_t)LOW(a) + LOW(b), 0, UINT16_MAX), \
    out[1] = (uint32_t)limited((int64_t)LOW(b) - LOW(a), 0, UINT16_MAX), \
    out[2] = LOW(limited(S16(a) + S16(b), INT16_MIN, INT16_MAX)), \
    out[3] = LOW(limited(S16(a) - S16(b), INT16_MIN, INT16_MAX))) \
  X(mad_i64, "v_mad_i64_i32 v[8:9], vcc, v4, v5, v[6:7]", OUT64((uint64_t)(S32(a) * S32(b)) + cd)) \
  X(sads, "v_sad_u32 v8, v4, v5, v6\nv_sad_u16 v9, v4, v5, v6\nv_sad_u8 v10, v4, v5, v6", \
    out[0] = (a < b ? b - a : a - b) + c, out[1] = apart(a, b, 16) + c, \
    out[2] = apart(a, b, 8) + c) \
  X(three_i32, "v_min3_i32 v8, v4, v5, v6\nv_max3_i32 v9, v4, v5, v6\nv_med3_i32 v10, v4, v5, v6", \
    out[0] = (uint32_t)least_of(S32(a), S32(b), S32(c)), \
    out[1] = (uint32_t)most_of(S32(a), S32(b), S32(c)), \
    out[2] = (uint32_t)middle_of(S32(a), S32(b), S32(c))) \
  X(three_u32, "v_min3_u32 v8, v4, v5, v6\nv_max3_u32 v9, v4, v5, v6\nv_med3_u32 v10, v4, v5, v6", \
    out[0] = (uint32_t)least_of(a, b, c), out[1] = (uint32_t)most_of(a, b, c), \
    out[2] = (uint32_t)middle_of(a, b, c)) \
  X(three_i16, \
    "v_mov_b32 v8, v7\nv_min3_i16 v8, v4, v5, v6\nv_mov_b32 v9, v7\n" \
    "v_max3_i16 v9, v4, v5, v6 op_sel:[1,0,0,1]\nv_med3_i16 v10, v4, v5, v6", \
    out[0] = (d & 0xffff0000) | LOW(least_of(S16(a), S16(b), S16(c))), \
    out[1] = BOTH(d, most_of(S16(TOP(a)), S16(b), S16(c))), \
    out[2] = LOW(middle_of(S16(a), S16(b), S16(c)))) \
  X(three_u16, "v_min3_u16 v8, v4, v5, v6\nv_max3_u16 v9, v4, v5, v6\nv_med3_u16 v10, v4, v5, v6", \
    out[0] = (uint32_t)least_of(LOW(a), LOW(b), LOW(c)), \
    out[1] = (uint32_t)most_of(LOW(a), LOW(b), LOW(c)), \
    out[2] = (uint32_t)middle_of(LOW(a), LOW(b), LOW(c))) \
  X(sums_16, \
    "v_mov_b32 v8, -1\nv_mov_b32 v9, -1\nv_mov_b32 v10, -1\nv_add_u16 v8, v4, v5\n" \
    "v_sub_u16 v9, v4, v5\nv_subrev_u16 v10, v4, v5\nv_ashrrev_i16 v11, v4, v5", \
    out[0] = LOW(a + b), out[1] = LOW(a - b), out[2] = LOW(b - a), out[3] = LOW(S16(b) >> a % 16)) \
  X(products_16, \
    "v_mul_lo_u16 v8, v4, v5\nv_mad_legacy_u16 v9, v4, v5, v6\n" \
    "v_mad_legacy_i16 v10, v4, v5, v6\nv_mov_b32 v11, v7\n" \
    "v_mad_u16 v11, v4, v5, v6 op_sel:[0,1,0,0]", \
    out[0] = LOW(a * b), out[1] = LOW(a * b + c), out[2] = LOW(a * b + c), \
    out[3] = (d & 0xffff0000) | LOW(a * TOP(b) + c)) \
  X(mad_i16, \
    "v_mov_b32 v8, v7\nv_mad_i16 v8, v4, v5, v6 op_sel:[0,0,0,1]\n" \
    "v_mad_u32_u16 v9, v4, v5, v6 op_sel:[1,0,0,0]\nv_mad_i32_i16 v10, v4, v5, v6", \
    out[0] = BOTH(d, LOW(a * b + c)), out[1] = TOP(a) * LOW(b) + c, \
    out[2] = (uint32_t)(S16(a) * S16(b)) + c) \
  X(limits_16, \
    "v_min_u16 v8, v4, v5\nv_max_u16 v9, v4, v5\nv_min_i16 v10, v4, v5\n" \
    "v_max_i16 v11, v4, v5", \
    out[0] = (uint32_t)lesser(LOW(a), LOW(b)), out[1] = (uint32_t)greater(LOW(a), LOW(b)), \
    out[2] = LOW(lesser(S16(a), S16(b))), out[3] = LOW(greater(S16(a), S16(b)))) \
  X(pk_shifts, \
    "v_pk_lshlrev_b16 v8, v4, v5\nv_pk_lshrrev_b16 v9, v4, v5\n" \
    "v_pk_ashrrev_i16 v10, v4, v5\nv_pk_lshlrev_b16 v11, 8, v5 op_sel_hi:[0,1]", \
    out[0] = BOTH(LOW(b) << a % 16, TOP(b) << TOP(a) % 16), \
    out[1] = BOTH(LOW(b) >> a % 16, TOP(b) >> TOP(a) % 16), \
    out[2] = BOTH(S16(b) >> a % 16, S16(TOP(b)) >> TOP(a) % 16), \
    out[3] = BOTH(b << 8, TOP(b) << 8)) \
  X(pk_sums, \
    "v_pk_add_u16 v8, v4, v5\nv_pk_sub_i16 v9, v4, v5 op_sel:[0,1] op_sel_hi:[1,0]\n" \
    "v_pk_add_u16 v10, v4, v5 clamp\nv_pk_sub_u16 v11, v4, v5 clamp", \
    out[0] = BOTH(a + b, TOP(a) + TOP(b)), out[1] = BOTH(a - TOP(b), TOP(a) - b), \
    out[2] = BOTH(limited(LOW(a) + LOW(b), 0, 65535), limited(TOP(a) + TOP(b), 0, 65535)), \
    out[3] = BOTH(limited((int64_t)LOW(a) - LOW(b), 0, 65535), \
                  limited((int64_t)TOP(a) - TOP(b), 0, 65535))) \
  X(pk_products, \
    "v_pk_mul_lo_u16 v8, v4, v5\nv_pk_mad_u16 v9, v4, v5, v6\n" \
    "v_pk_mad_i16 v10, v4, v5, v6\nv_pk_add_i16 v11, v4, v5 clamp", \
    out[0] = BOTH(a * b, TOP(a) * TOP(b)), out[1] = BOTH(a * b + c, TOP(a) * TOP(b) + TOP(c)), \
    out[2] = out[1], \
    out[3] = BOTH(limited(S16(a) + S16(b), -32768, 32767), \
                  limited(S16(TOP(a)) + S16(TOP(b)), -32768, 32767))) \
  X(pk_limits, \
    "v_pk_min_u16 v8, v4, v5\nv_pk_max_u16 v9, v4, v5\nv_pk_min_i16 v10, v4, v5\n" \
    "v_pk_max_i16 v11, v4, v5", \
    out[0] = BOTH(lesser(LOW(a), LOW(b)), lesser(TOP(a), TOP(b))), \
    out[1] = BOTH(greater(LOW(a), LOW(b)), greater(TOP(a), TOP(b))), \
    out[2] = BOTH(lesser(S16(a), S16(b)), lesser(S16(TOP(a)), S16(TOP(b)))), \
    out[3] = BOTH(greater(S16(a), S16(b)), greater(S16(TOP(a)), S16(TOP(b))))) \
  X(sdwa_sign, \
    "v_add_u32_sdwa v8, sext(v4), v5 dst_sel:DWORD dst_unused:UNUSED_PAD " \
    "src0_sel:BYTE_1 src1_sel:WORD_1\nv_cmp_lt_u32_sdwa vcc, v4, v5 " \
    "src0_sel:BYTE_3 src1_sel:WORD_0" SHOW("v9"), \
    out[0] = (uint32_t)((int32_t)((a >> 8 & 0xff) ^ 0x80) - 0x80) + TOP(b), \
    out[1] = a >> 24 < LOW(b))

#define COMPARE_CASE(X, op, symbol) \
  X(cmp16_##op, \
    "v_cmp_" #op "_u16 vcc, v4, v5" SHOW("v8") "v_cmp_" #op "_i16 vcc, v4, v5" SHOW("v9"), \
    out[0] = LOW(a) symbol LOW(b), out[1] = S16(a) symbol S16(b))
/* clang-format off */
#define COMPARE_CASES(X)                                                             \
  COMPARE_CASE(X, lt, <) COMPARE_CASE(X, le, <=) COMPARE_CASE(X, eq, ==)             \
  COMPARE_CASE(X, ne, !=) COMPARE_CASE(X, gt, >) COMPARE_CASE(X, ge, >=)
/* clang-format on */

BOTH_CASES(CASE_FUNCTION)
COMPARE_CASES(CASE_FUNCTION)

static const gfx9_case cases[] = {BOTH_CASES(CASE_ROW) COMPARE_CASES(CASE_ROW)};
const gfx9_cases gfx9_integer_cases = {cases, sizeof cases / sizeof *cases};
