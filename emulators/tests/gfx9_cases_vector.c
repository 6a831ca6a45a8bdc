/* Vector arithmetic. Formulas follow the ISA documents' descriptions, not the emulator's code. */
#include "gfx9_cases.h"

/* A mask register as 0 or 1 in v9. */
#define SHOW_VCC "\nv_cndmask_b32_e64 v9, 0, 1, vcc"
/* vcc = the lowest bit of v6, lane by lane. */
#define VCC_FROM_C "v_and_b32 v12, 1, v6\nv_cmp_eq_u32 vcc, 1, v12\n"

static uint32_t bits_from(uint32_t value, uint32_t first, uint32_t count) {
  uint32_t made = 0;
  for (uint32_t k = 0; k < count && first + k < 32; k++) made |= (value >> (first + k) & 1) << k;
  return made;
}

static uint32_t signed_bits_from(uint32_t value, uint32_t first, uint32_t count) {
  uint32_t made = 0;
  for (uint32_t k = 0; k < 32 && count; k++) {
    uint32_t at = first + (k < count ? k : count - 1);
    made |= (value >> (at < 31 ? at : 31) & 1) << k;
  }
  return made;
}

static uint32_t byte_of(uint64_t value, uint32_t k) { return (uint32_t)(value >> 8 * k) & 0xff; }

static uint32_t bit_count(uint32_t value) {
  uint32_t n = 0;
  for (; value; value &= value - 1) n++;
  return n;
}

static int64_t signed_24(uint32_t value) {
  int64_t low = value % (1 << 24);
  return low < 1 << 23 ? low : low - (1 << 24);
}

static uint32_t reversed(uint32_t value) {
  uint32_t made = 0;
  for (int k = 0; k < 32; k++) made = made << 1 | (value >> k & 1);
  return made;
}

/* ISA: D.b = S0 high, S1 low; selector 8 is the sign of byte 1, 11 of byte 7, 12 is 0x00, 13 is
 * 0xff. */
static uint32_t permuted(uint32_t high, uint32_t low, uint32_t selectors) {
  uint32_t made = 0;
  for (uint32_t k = 0; k < 4; k++) {
    uint32_t s = byte_of(selectors, k), byte;
    if (s > 12) {
      byte = 0xff;
    } else if (s == 12) {
      byte = 0;
    } else if (s > 7) {
      byte = byte_of((uint64_t)high << 32 | low, 2 * (s - 8) + 1) & 0x80 ? 0xff : 0;
    } else {
      byte = byte_of(s > 3 ? high : low, s & 3);
    }
    made |= byte << 8 * k;
  }
  return made;
}

#define BOTH_CASES(X) \
  X(mov, "v_mov_b32 v8, v4\nv_mov_b32 v9, -1\nv_mov_b32 v10, 0x12345\nv_mov_b32 v11, 1.0", \
    out[0] = a, out[1] = 0xffffffff, out[2] = 0x12345, out[3] = 0x3f800000) \
  X(pk_mov, \
    "v_pk_mov_b32 v[8:9], v[4:5], v[6:7] op_sel:[0,1]\n" \
    "v_pk_mov_b32 v[10:11], v[4:5], v[6:7] op_sel:[1,0]", \
    out[0] = a, out[1] = d, out[2] = b, out[3] = c) \
  X(acc, \
    "v_accvgpr_write_b32 a3, v4\nv_accvgpr_mov_b32 a4, a3\ns_nop 4\n" \
    "v_accvgpr_read_b32 v8, a4", \
    out[0] = a) \
  X(not, "v_not_b32 v8, v4", out[0] = 0xffffffff - a) \
  X(and, "v_and_b32 v8, v4, v5", out[0] = a & b) \
  X(or, "v_or_b32 v8, v4, v5", out[0] = a + b - (a & b)) \
  X(xor, "v_xor_b32 v8, v4, v5", out[0] = (a | b) - (a & b)) \
  X(xnor, "v_xnor_b32 v8, v4, v5", out[0] = (a & b) | (~a & ~b)) \
  X(or3, "v_or3_b32 v8, v4, v5, v6", out[0] = a | b | c) \
  X(and_or, "v_and_or_b32 v8, v4, v5, v6", out[0] = (a & b) | c) \
  X(lshl_or, "v_lshl_or_b32 v8, v4, v5, v6", out[0] = (uint32_t)(a * (1ull << b % 32)) | c) \
  X(cndmask, VCC_FROM_C "v_cndmask_b32 v8, v4, v5, vcc", out[0] = c & 1 ? b : a) \
  X(bfi, "v_bfi_b32 v8, v4, v5, v6", out[0] = c ^ ((c ^ b) & a)) \
  X(bfe_u, "v_bfe_u32 v8, v4, v5, v6", out[0] = bits_from(a, b % 32, c % 32)) \
  X(bfe_i, "v_bfe_i32 v8, v4, v5, v6", out[0] = signed_bits_from(a, b % 32, c % 32)) \
  X(bfrev, "v_bfrev_b32 v8, v4", out[0] = reversed(a)) \
  X(lshl, "v_lshlrev_b32 v8, v4, v5", out[0] = (uint32_t)(b * (1ull << a % 32))) \
  X(lshr, "v_lshrrev_b32 v8, v4, v5", out[0] = (uint32_t)(b / (1ull << a % 32))) \
  X(ashr, "v_ashrrev_i32 v8, v4, v5", \
    out[0] = b >> a % 32 | (b >> 31 ? ~(0xffffffff >> a % 32) : 0)) \
  X(lshl16, "v_lshlrev_b16 v8, v4, v5", out[0] = (uint16_t)((b & 0xffff) << a % 16)) \
  X(lshr16, "v_lshrrev_b16 v8, v4, v5", out[0] = (uint16_t)b >> a % 16) \
  X(lshl64, "v_lshlrev_b64 v[8:9], v4, v[6:7]", OUT64(cd << a % 64)) \
  X(lshr64, "v_lshrrev_b64 v[8:9], v4, v[6:7]", OUT64(cd >> a % 64)) \
  X(ashr64, "v_ashrrev_i64 v[8:9], v4, v[6:7]", \
    OUT64(cd >> a % 64 | (d >> 31 ? ~(~0ull >> a % 64) : 0))) \
  X(alignbit, "v_alignbit_b32 v8, v4, v5, v6", \
    out[0] = bits_from(b, c % 32, 32) | (c % 32 ? a << (32 - c % 32) : 0)) \
  X(alignbyte, "v_alignbyte_b32 v8, v4, v5, v6", \
    out[0] = (uint32_t)(((uint64_t)a << 32 | b) / (1ull << 8 * (c % 4)))) \
  X(perm, "v_perm_b32 v8, v4, v5, v6", out[0] = permuted(a, b, c)) \
  X(perm_known, \
    "s_mov_b32 s8, 0x01020304\nv_mov_b32 v12, 0x80070605\nv_mov_b32 v13, 0x0d0c0b04\n" \
    "v_perm_b32 v8, v12, s8, v13\n" \
    "v_mov_b32 v13, 0x070605ff\nv_perm_b32 v9, v12, s8, v13", \
    out[0] = 0xff00ff05, out[1] = 0x800706ff) \
  X(add, "v_add_u32 v8, v4, v5", out[0] = a + b) \
  X(sub, "v_sub_u32 v8, v4, v5", out[0] = a - b) \
  X(subrev, "v_subrev_u32 v8, v4, v5", out[0] = b - a) \
  X(add3, "v_add3_u32 v8, v4, v5, v6", out[0] = a + b + c) \
  X(lshl_add, "v_lshl_add_u32 v8, v4, v5, v6", out[0] = (uint32_t)(a * (1ull << b % 32)) + c) \
  X(add_lshl, "v_add_lshl_u32 v8, v4, v5, v6", out[0] = (uint32_t)((a + b) * (1ull << c % 32))) \
  X(xad, "v_xad_u32 v8, v4, v5, v6", out[0] = ((a | b) - (a & b)) + c) \
  X(add_co, "v_add_co_u32 v8, vcc, v4, v5" SHOW_VCC, out[0] = a + b, out[1] = b > 0xffffffff - a) \
  X(sub_co, "v_sub_co_u32 v8, vcc, v4, v5" SHOW_VCC, out[0] = a - b, out[1] = a < b) \
  X(subrev_co, "v_subrev_co_u32 v8, vcc, v4, v5" SHOW_VCC, out[0] = b - a, out[1] = b < a) \
  X(addc, VCC_FROM_C "v_addc_co_u32 v8, vcc, v4, v5, vcc" SHOW_VCC, out[0] = a + b + c % 2, \
    out[1] = (uint64_t)a + b + c % 2 > 0xffffffff) \
  X(subb, VCC_FROM_C "v_subb_co_u32 v8, vcc, v4, v5, vcc" SHOW_VCC, out[0] = a - b - c % 2, \
    out[1] = (uint64_t)b + c % 2 > a) \
  X(subbrev, VCC_FROM_C "v_subbrev_co_u32 v8, vcc, v4, v5, vcc" SHOW_VCC, out[0] = b - a - c % 2, \
    out[1] = (uint64_t)a + c % 2 > b) \
  X(addc_e64, \
    VCC_FROM_C "s_mov_b64 s[10:11], vcc\nv_addc_co_u32_e64 v8, s[12:13], v4, v5, s[10:11]\n" \
               "s_mov_b64 vcc, s[12:13]" SHOW_VCC, \
    out[0] = a + b + c % 2, out[1] = (uint64_t)a + b + c % 2 > 0xffffffff) \
  X(mul_lo, "v_mul_lo_u32 v8, v4, v5", out[0] = a * b) \
  X(mul_hi, "v_mul_hi_u32 v8, v4, v5", out[0] = (uint32_t)((unsigned __int128)a * b >> 32)) \
  X(mul_hi_i, "v_mul_hi_i32 v8, v4, v5", \
    out[0] = (uint32_t)((uint64_t)a * b >> 32) - (a >> 31 ? b : 0) - (b >> 31 ? a : 0)) \
  X(mul24, "v_mul_u32_u24 v8, v4, v5", \
    out[0] = (uint32_t)((uint64_t)(a % (1 << 24)) * (b % (1 << 24)))) \
  X(mad24, "v_mad_u32_u24 v8, v4, v5, v6", \
    out[0] = (uint32_t)((uint64_t)(a % (1 << 24)) * (b % (1 << 24))) + c) \
  X(dot4, "v_mov_b32 v8, v6\nv_dot4c_i32_i8 v8, v4, v5", out[0] = c; \
    for (int i = 0; i < 4; i++) out[0] += \
    (uint32_t)((int)(int8_t)(a >> 8 * i) * (int8_t)(b >> 8 * i))) \
  X( \
      dot4_three, "v_dot4_i32_i8 v8, v4, v5, v6\nv_dot4_u32_u8 v9, v4, v5, v6", \
      out[0] = out[1] = c; \
      for (int i = 0; i < 4; i++) { \
        out[0] += (uint32_t)((int)(int8_t)(a >> 8 * i) * (int8_t)(b >> 8 * i)); \
        out[1] += (uint32_t)(uint8_t)(a >> 8 * i) * (uint8_t)(b >> 8 * i); \
      }) \
  X(mul24_more, \
    "v_mul_hi_u32_u24 v8, v4, v5\nv_mul_i32_i24 v9, v4, v5\n" \
    "v_mul_hi_i32_i24 v10, v4, v5\n" \
    "v_mad_i32_i24 v11, v4, v5, v6", \
    const int64_t p = signed_24(a) * signed_24(b); \
    out[0] = (uint32_t)((uint64_t)(a % (1 << 24)) * (b % (1 << 24)) / (1ull << 32)), \
    out[1] = (uint32_t)p, out[2] = (uint32_t)((uint64_t)p >> 32), out[3] = (uint32_t)p + c) \
  X(mad64, "v_mad_u64_u32 v[10:11], vcc, v4, v5, v[6:7]\nv_mov_b32 v8, v10" SHOW_VCC, \
    out[0] = (uint32_t)((uint64_t)a * b + cd), \
    out[1] = ((unsigned __int128)a * b + cd) >> 64 != 0, out[2] = out[0], \
    out[3] = (uint32_t)(((uint64_t)a * b + cd) >> 32)) \
  X(min_u, "v_min_u32 v8, v4, v5", out[0] = a > b ? b : a) \
  X(max_u, "v_max_u32 v8, v4, v5", out[0] = b > a ? b : a) \
  X(min_i, "v_min_i32 v8, v4, v5", out[0] = (a ^ 1u << 31) > (b ^ 1u << 31) ? b : a) \
  X(max_i, "v_max_i32 v8, v4, v5", out[0] = (a ^ 1u << 31) > (b ^ 1u << 31) ? a : b) \
  X(bcnt, "v_bcnt_u32_b32 v8, v4, v5", out[0] = bit_count(a) + b) \
  X(mbcnt, \
    "v_mbcnt_lo_u32_b32 v8, -1, 0\nv_mbcnt_hi_u32_b32 v8, -1, v8\n" \
    "v_mbcnt_lo_u32_b32 v9, v4, v5\n" \
    "v_mbcnt_hi_u32_b32 v10, v4, v5", \
    out[0] = (uint32_t)lane, out[1] = b + bit_count(lane < 32 ? a & ~(~0u << lane) : a), \
    out[2] = b + (lane < 32 ? 0 : bit_count(a & ~(~0u << (lane - 32))))) \
  X(readfirst, \
    "s_mov_b64 exec, 0xf0\nv_readfirstlane_b32 s8, v4\ns_mov_b64 exec, -1\n" \
    "v_mov_b32 v8, s8", \
    out[0] = in[4][0]) \
  X(readlane, \
    "v_readlane_b32 s8, v4, 37\ns_movk_i32 s9, 0x43\nv_readlane_b32 s10, v4, s9\n" \
    "v_mov_b32 v8, s8\nv_mov_b32 v9, s10", \
    out[0] = in[37][0], out[1] = in[3][0]) \
  X(writelane, \
    "s_mov_b64 exec, 0\nv_writelane_b32 v4, 7, 9\ns_mov_b64 exec, -1\n" \
    "v_mov_b32 v8, v4", \
    out[0] = lane == 9 ? 7 : a) \
  X(exec_off, \
    "s_mov_b32 exec_lo, 0xffff0000\nv_mov_b32 v8, v4\nv_cmp_eq_u32 vcc, v4, v4\n" \
    "s_mov_b64 exec, -1" SHOW_VCC, \
    out[0] = lane < 16 ? 0 : a, out[1] = lane >= 16) \
  X(nop_v, "v_nop\nv_mov_b32 v8, v4", out[0] = a) \
  X(sdwa_source, \
    "v_or_b32_sdwa v8, v4, v5 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_2 " \
    "src1_sel:WORD_1\n" \
    "v_lshlrev_b32_sdwa v9, v6, v4 dst_sel:DWORD dst_unused:UNUSED_PAD " \
    "src0_sel:BYTE_0 src1_sel:BYTE_3", \
    out[0] = byte_of(a, 2) | b >> 16, out[1] = (a >> 24) << byte_of(c, 0) % 32) \
  X(sdwa_destination, \
    "v_or_b32_sdwa v8, v4, v5 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:DWORD " \
    "src1_sel:DWORD\n" \
    "v_mov_b32 v9, v6\n" \
    "v_and_b32_sdwa v9, v4, v5 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE " \
    "src0_sel:DWORD src1_sel:DWORD\n" \
    "v_add_u32_sdwa v10, v4, v5 dst_sel:BYTE_0 dst_unused:UNUSED_SEXT " \
    "src0_sel:DWORD src1_sel:DWORD", \
    out[0] = (a | b) << 16, out[1] = (c & 0xffff00ff) | (a & b & 0xff) << 8, \
    out[2] = (a + b) & 0x80 ? (a + b) | 0xffffff00 : (a + b) & 0xff) \
  X(dpp_quad, \
    "v_mov_b32_dpp v8, v4 quad_perm:[2,3,0,0] row_mask:0xf bank_mask:0xf\n" \
    "v_mov_b32 v9, v4\n" \
    "v_mov_b32_dpp v9, v9 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf", \
    static const int from[] = {2, 3, 0, 0}; \
    out[0] = in[(lane & ~3) + from[lane % 4]][0], out[1] = in[lane ^ 1][0]) \
  X(dpp_shift, \
    "v_mov_b32 v8, v5\nv_mov_b32_dpp v8, v4 row_shl:3 row_mask:0xf bank_mask:0xf\n" \
    "v_mov_b32 v9, v5\n" \
    "v_mov_b32_dpp v9, v4 row_shr:5 row_mask:0xf bank_mask:0xf bound_ctrl:0\n" \
    "v_mov_b32_dpp v10, v4 row_ror:4 row_mask:0xf bank_mask:0xf\n" \
    "v_mov_b32 v11, v5\nv_mov_b32_dpp v11, v4 row_mirror row_mask:0x5 bank_mask:0x3", \
    out[0] = lane % 16 + 3 < 16 ? in[lane + 3][0] : b, \
    out[1] = lane % 16 >= 5 ? in[lane - 5][0] : 0, out[2] = in[(lane & 48) + (lane + 12) % 16][0], \
    out[3] = lane / 16 % 2 == 0 && lane % 16 < 8 ? in[lane ^ 15][0] : b) \
  X(dpp_wave, \
    "v_mov_b32 v8, v5\nv_mov_b32_dpp v8, v4 wave_shl:1 row_mask:0xf bank_mask:0xf\n" \
    "v_mov_b32_dpp v9, v4 wave_ror:1 row_mask:0xf bank_mask:0xf\n" \
    "v_mov_b32 v10, v5\nv_mov_b32_dpp v10, v4 row_bcast:15 row_mask:0xa bank_mask:0xf\n" \
    "v_mov_b32 v11, v5\nv_mov_b32_dpp v11, v4 row_bcast:31 row_mask:0xc bank_mask:0xf", \
    out[0] = lane < 63 ? in[lane + 1][0] : b, out[1] = in[(lane + 63) % 64][0], \
    out[2] = lane / 16 % 2 ? in[(lane & 48) - 1][0] : b, out[3] = lane >= 32 ? in[31][0] : b) \
  X(dpp_more, \
    "v_mov_b32_dpp v8, v4 wave_rol:1 row_mask:0xf bank_mask:0xf\n" \
    "v_mov_b32 v9, v5\nv_mov_b32_dpp v9, v4 wave_shr:1 row_mask:0xf bank_mask:0xf\n" \
    "v_mov_b32_dpp v10, v4 row_half_mirror row_mask:0xf bank_mask:0xf\n" \
    "v_mov_b32_dpp v11, v4 row_newbcast:5 row_mask:0xf bank_mask:0xf", \
    out[0] = in[(lane + 1) % 64][0], out[1] = lane ? in[lane - 1][0] : b, \
    out[2] = in[lane ^ 7][0], out[3] = in[(lane & 48) + 5][0]) \
  X(dpp_inactive, \
    "v_mov_b32 v8, v5\nv_mov_b32 v9, v5\ns_mov_b32 exec_lo, 0x55555555\n" \
    "v_mov_b32_dpp v8, v4 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf\n" \
    "v_mov_b32_dpp v9, v4 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf " \
    "bound_ctrl:0\ns_mov_b64 exec, -1", \
    out[0] = lane < 32 ? b : in[lane ^ 1][0], \
    out[1] = lane < 32 ? (lane % 2 ? b : 0) : in[lane ^ 1][0]) \
  X(dpp_add, "v_add_u32_dpp v8, v4, v5 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:0", \
    out[0] = (lane % 16 ? in[lane - 1][0] : 0) + b)

#define CASES_942(X) \
  X(mov64, "v_mov_b64 v[8:9], v[4:5]\nv_mov_b64 v[10:11], -2", OUT64(ab), out[2] = 0xfffffffe, \
    out[3] = 0xffffffff) \
  X(lshl_add64, "v_lshl_add_u64 v[8:9], v[4:5], 3, v[6:7]", OUT64(ab * 8 + cd))

/* clang-format off */
#define COMPARE_CASE(X, op, symbol)                                                            \
  X(cmp_##op, "v_cmp_" #op "_u32 vcc, v4, v5\nv_cndmask_b32_e64 v8, 0, 1, vcc\n"              \
              "v_cmp_" #op "_i32 vcc, v4, v5\nv_cndmask_b32_e64 v9, 0, 1, vcc\n"              \
              "v_cmp_" #op "_u64 s[10:11], v[4:5], v[6:7]\n" \
                           "v_cndmask_b32_e64 v10, 0, 1, s[10:11]\n" \
              "v_cmp_" #op "_i64 vcc, v[4:5], v[6:7]\nv_cndmask_b32_e64 v11, 0, 1, vcc",      \
    out[0] = a symbol b, out[1] = (a ^ 1u << 31) symbol(b ^ 1u << 31), out[2] = ab symbol cd, \
    out[3] = (ab ^ 1ull << 63) symbol(cd ^ 1ull << 63))
#define COMPARE_CASES(X) \
  COMPARE_CASE(X, lt, <) COMPARE_CASE(X, le, <=) COMPARE_CASE(X, eq, ==) \
  COMPARE_CASE(X, ne, !=) COMPARE_CASE(X, gt, >) COMPARE_CASE(X, ge, >=)
/* clang-format on */

BOTH_CASES(CASE_FUNCTION)
CASES_942(CASE_FUNCTION)
COMPARE_CASES(CASE_FUNCTION)

static const gfx9_case cases[] = {BOTH_CASES(CASE_ROW) CASES_942(CASE_ROW_942)
                                      COMPARE_CASES(CASE_ROW)};
const gfx9_cases gfx9_vector_cases = {cases, sizeof cases / sizeof *cases};
