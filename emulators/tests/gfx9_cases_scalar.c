/* Scalar arithmetic, exec and branches. The inputs are lane 0's: s8-s11, and SCC is bit 0 of s11;
 * the results s12, s13 and SCC are shown to all lanes. */
#include "gfx9_cases.h"

#define SCALAR(text) \
  "v_readfirstlane_b32 s8, v4\nv_readfirstlane_b32 s9, v5\nv_readfirstlane_b32 s10, v6\n" \
  "v_readfirstlane_b32 s11, v7\ns_mov_b64 s[12:13], 0\ns_bitcmp1_b32 s11, 0\n" text \
  "\ns_cselect_b32 s14, 1, 0\nv_mov_b32 v8, s12\nv_mov_b32 v9, s13\nv_mov_b32 v10, s14"

/* An expectation over lane 0; scc_in is what SCC was. */
#define SCALAR_FUNCTION(id, text, ...) \
  static void id(const uint32_t(*in)[4], int lane, uint32_t *out) { \
    const uint32_t a = in[0][0], b = in[0][1], c = in[0][2], d = in[0][3], scc_in = d & 1; \
    const uint64_t ab = a | (uint64_t)b << 32, cd = c | (uint64_t)d << 32; \
    (void)a, (void)b, (void)c, (void)d, (void)ab, (void)cd, (void)scc_in, (void)lane; \
    out[2] = scc_in; \
    __VA_ARGS__; \
  }
#define SCALAR_ROW(id, text, ...) {#id, SCALAR(text), id, NULL},

#define TO_SIGN(x) ((x) ^ 1u << 31) /* orders signed numbers as unsigned ones */
#define NONZERO out[2] = (out[0] | out[1]) != 0

static uint64_t some_bits(uint64_t value, uint32_t first, uint32_t count, uint32_t size) {
  uint64_t made = 0;
  for (uint32_t k = 0; k < count && k < size && first + k < size; k++) {
    made |= (value >> (first + k) & 1) << k;
  }
  return made;
}

static uint32_t some_signed_bits(uint32_t value, uint32_t first, uint32_t count) {
  uint32_t made = 0;
  for (uint32_t k = 0; k < 32 && count; k++) {
    uint32_t at = first + (k < count ? k : count - 1);
    made |= (value >> (at < 31 ? at : 31) & 1) << k;
  }
  return made;
}

static uint32_t ones(uint64_t value) {
  uint32_t n = 0;
  for (; value; value &= value - 1) n++;
  return n;
}

static uint32_t lowest(uint64_t value) {
  for (uint32_t k = 0; k < 64; k++)
    if (value >> k & 1) return k;
  return 0xffffffff;
}

static uint32_t highest(uint64_t value, uint32_t size) {
  for (uint32_t k = 0; k < size; k++)
    if (value >> (size - 1 - k) & 1) return k;
  return 0xffffffff;
}

static uint64_t some_signed_bits64(uint64_t value, uint32_t first, uint32_t count) {
  uint64_t made = 0;
  for (uint32_t k = 0; k < 64 && count; k++) {
    uint32_t at = first + (k < count ? k : count - 1);
    made |= (value >> (at < 63 ? at : 63) & 1) << k;
  }
  return made;
}

static uint32_t reversed(uint32_t value) {
  uint32_t made = 0;
  for (int k = 0; k < 32; k++) made = made << 1 | (value >> k & 1);
  return made;
}

/* Whether a sum leaves the range of signed 32 bits. */
static bool leaves(int64_t sum) { return sum != (int32_t)sum; }

/* exec is the first pair before, the second one is the operand. */
#define EXEC_CASE(name) \
  "s_mov_b64 exec, s[8:9]\n" name " s[12:13], s[10:11]\ns_cselect_b32 s15, 1, 0\n" \
  "s_mov_b64 s[16:17], exec\ns_mov_b64 exec, -1\nv_mov_b32 v11, s17\ns_cmp_lg_u32 s15, 0"
#define EXEC_RESULT(made, given) \
  OUT64(given), out[3] = (uint32_t)((made) >> 32), out[2] = (made) != 0

#define SCALAR_CASES(X) \
  X(s_mov, "s_mov_b32 s12, s8\ns_mov_b32 s13, 0x80000001", out[0] = a, out[1] = 0x80000001) \
  X(s_mov64, "s_mov_b64 s[12:13], s[8:9]", OUT64(ab)) \
  X(s_mov64_inline, "s_mov_b64 s[12:13], -3", OUT64(-3ll)) \
  X(s_mov64_literal, "s_mov_b64 s[12:13], 0x7ffffff0", OUT64(0x7ffffff0)) \
  X(s_movk, "s_movk_i32 s12, 0x8001\ns_movk_i32 s13, 0x7fff", out[0] = 0xffff8001, \
    out[1] = 0x7fff) \
  X(s_not, "s_not_b32 s12, s8", out[0] = ~a, NONZERO) \
  X(s_not64, "s_not_b64 s[12:13], s[8:9]", OUT64(~ab), NONZERO) \
  X(s_and, "s_and_b32 s12, s8, s9", out[0] = a & b, NONZERO) \
  X(s_and64, "s_and_b64 s[12:13], s[8:9], s[10:11]", OUT64(ab &cd), NONZERO) \
  X(s_or, "s_or_b32 s12, s8, s9", out[0] = a | b, NONZERO) \
  X(s_or64, "s_or_b64 s[12:13], s[8:9], s[10:11]", OUT64(ab | cd), NONZERO) \
  X(s_xor, "s_xor_b32 s12, s8, s9", out[0] = a ^ b, NONZERO) \
  X(s_xor64, "s_xor_b64 s[12:13], s[8:9], s[10:11]", OUT64(ab ^ cd), NONZERO) \
  X(s_andn2, "s_andn2_b32 s12, s8, s9", out[0] = a - (a & b), NONZERO) \
  X(s_andn264, "s_andn2_b64 s[12:13], s[8:9], s[10:11]", OUT64(ab - (ab & cd)), NONZERO) \
  X(s_orn2, "s_orn2_b32 s12, s8, s9", out[0] = ~(b & ~a), NONZERO) \
  X(s_orn264, "s_orn2_b64 s[12:13], s[8:9], s[10:11]", OUT64(~(cd & ~ab)), NONZERO) \
  X(s_cselect, "s_cselect_b32 s12, s8, s9", out[0] = scc_in ? a : b) \
  X(s_cselect64, "s_cselect_b64 s[12:13], s[8:9], s[10:11]", OUT64(scc_in ? ab : cd)) \
  X(s_lshl, "s_lshl_b32 s12, s8, s9", out[0] = (uint32_t)(a * (1ull << b % 32)), NONZERO) \
  X(s_lshl64, "s_lshl_b64 s[12:13], s[8:9], s10", OUT64(ab << c % 64), NONZERO) \
  X(s_lshr, "s_lshr_b32 s12, s8, s9", out[0] = (uint32_t)(a / (1ull << b % 32)), NONZERO) \
  X(s_lshr64, "s_lshr_b64 s[12:13], s[8:9], s10", OUT64(ab >> c % 64), NONZERO) \
  X(s_ashr, "s_ashr_i32 s12, s8, s9", \
    out[0] = a >> b % 32 | (a >> 31 ? ~(0xffffffff >> b % 32) : 0), NONZERO) \
  X(s_ashr64, "s_ashr_i64 s[12:13], s[8:9], s10", \
    OUT64(ab >> c % 64 | (b >> 31 ? ~(~0ull >> c % 64) : 0)), NONZERO) \
  X(s_bfe_u, "s_bfe_u32 s12, s8, s9", out[0] = (uint32_t)some_bits(a, b % 32, b >> 16 & 127, 32), \
    NONZERO) \
  X(s_bfe_u_known, "s_bfe_u32 s12, s8, 0x80004", out[0] = a >> 4 & 0xff, NONZERO) \
  X(s_bfe_i, "s_bfe_i32 s12, s8, s9", out[0] = some_signed_bits(a, b % 32, b >> 16 & 127), \
    NONZERO) \
  X(s_bfe_u64, "s_bfe_u64 s[12:13], s[8:9], s10", OUT64(some_bits(ab, c % 64, c >> 16 & 127, 64)), \
    NONZERO) \
  X(s_bfm, "s_bfm_b32 s12, s8, s9", \
    out[0] = (uint32_t)(((1ull << a % 32) - 1) * (1ull << b % 32))) \
  X(s_brev, "s_brev_b32 s12, s8", out[0] = reversed(a)) \
  X(s_pack_ll, "s_pack_ll_b32_b16 s12, s8, s9", out[0] = a % 65536 + b % 65536 * 65536) \
  X(s_pack_lh, "s_pack_lh_b32_b16 s12, s8, s9", out[0] = a % 65536 + b / 65536 * 65536) \
  X(s_pack_hh, "s_pack_hh_b32_b16 s12, s8, s9", out[0] = a / 65536 + b / 65536 * 65536) \
  X(s_sext8, "s_sext_i32_i8 s12, s8", out[0] = a & 0x80 ? a | 0xffffff00 : a & 0xff) \
  X(s_sext16, "s_sext_i32_i16 s12, s8", out[0] = a & 0x8000 ? a | 0xffff0000 : a & 0xffff) \
  X(s_bcnt1, "s_bcnt1_i32_b32 s12, s8", out[0] = ones(a), NONZERO) \
  X(s_bcnt164, "s_bcnt1_i32_b64 s12, s[8:9]", out[0] = ones(ab), NONZERO) \
  X(s_ff1, "s_ff1_i32_b32 s12, s8", out[0] = lowest(a)) \
  X(s_ff164, "s_ff1_i32_b64 s12, s[8:9]", out[0] = lowest(ab)) \
  X(s_add, "s_add_u32 s12, s8, s9", out[0] = a + b, out[2] = b > ~a) \
  X(s_addc, "s_addc_u32 s12, s8, s9", out[0] = a + b + scc_in, \
    out[2] = (uint64_t)a + b + scc_in > 0xffffffff) \
  X(s_sub, "s_sub_u32 s12, s8, s9", out[0] = a - b, out[2] = a < b) \
  X(s_subb, "s_subb_u32 s12, s8, s9", out[0] = a - b - scc_in, out[2] = (uint64_t)b + scc_in > a) \
  X(s_add_i, "s_add_i32 s12, s8, s9", out[0] = a + b, \
    out[2] = leaves((int64_t)(int32_t)a + (int32_t)b)) \
  X(s_sub_i, "s_sub_i32 s12, s8, s9", out[0] = a - b, \
    out[2] = leaves((int64_t)(int32_t)a - (int32_t)b)) \
  X(s_mul, "s_mul_i32 s12, s8, s9", out[0] = a * b) \
  X(s_addk, "s_mov_b32 s12, s8\ns_addk_i32 s12, 0x8000", out[0] = a - 0x8000, \
    out[2] = leaves((int64_t)(int32_t)a - 0x8000)) \
  X(s_mulk, "s_mov_b32 s12, s8\ns_mulk_i32 s12, 0xfffd", out[0] = 0 - 3 * a) \
  X(s_mul_hi, "s_mul_hi_u32 s12, s8, s9", out[0] = (uint32_t)((unsigned __int128)a * b >> 32)) \
  X(s_mul_hi_i, "s_mul_hi_i32 s12, s8, s9", \
    out[0] = (uint32_t)((uint64_t)a * b >> 32) - (a >> 31 ? b : 0) - (b >> 31 ? a : 0)) \
  X(s_min_u, "s_min_u32 s12, s8, s9", out[0] = a < b ? a : b, out[2] = a < b) \
  X(s_max_u, "s_max_u32 s12, s8, s9", out[0] = a > b ? a : b, out[2] = a > b) \
  X(s_min_i, "s_min_i32 s12, s8, s9", out[0] = TO_SIGN(a) < TO_SIGN(b) ? a : b, \
    out[2] = TO_SIGN(a) < TO_SIGN(b)) \
  X(s_max_i, "s_max_i32 s12, s8, s9", out[0] = TO_SIGN(a) > TO_SIGN(b) ? a : b, \
    out[2] = TO_SIGN(a) > TO_SIGN(b)) \
  X(s_cmp_eq_64, "s_cmp_eq_u64 s[8:9], s[10:11]", out[2] = ab == cd) \
  X(s_cmp_lg_64, "s_cmp_lg_u64 s[8:9], s[10:11]", out[2] = ab != cd) \
  X(s_bitcmp0, "s_bitcmp0_b32 s8, s9", out[2] = !(a & 1u << b % 32)) \
  X(s_bitcmp1, "s_bitcmp1_b32 s8, s9", out[2] = (a & 1u << b % 32) != 0) \
  X(s_cmov, "s_mov_b32 s12, s8\ns_mov_b32 s13, s8\ns_cmov_b32 s12, s9\ns_cmovk_i32 s13, 0x8000", \
    out[0] = scc_in ? b : a, out[1] = scc_in ? 0xffff8000 : a) \
  X(s_cmov64, "s_mov_b64 s[12:13], s[8:9]\ns_cmov_b64 s[12:13], s[10:11]", \
    OUT64(scc_in ? cd : ab)) \
  X(s_nand, "s_nand_b32 s12, s8, s9", out[0] = 0xffffffff - (a & b), NONZERO) \
  X(s_nand64, "s_nand_b64 s[12:13], s[8:9], s[10:11]", OUT64(~0ull - (ab & cd)), NONZERO) \
  X(s_nor, "s_nor_b32 s12, s8, s9", out[0] = ~a & ~b, NONZERO) \
  X(s_nor64, "s_nor_b64 s[12:13], s[8:9], s[10:11]", OUT64(~ab & ~cd), NONZERO) \
  X(s_xnor, "s_xnor_b32 s12, s8, s9", out[0] = (a & b) | (~a & ~b), NONZERO) \
  X(s_xnor64, "s_xnor_b64 s[12:13], s[8:9], s[10:11]", OUT64((ab & cd) | (~ab & ~cd)), NONZERO) \
  X(s_bfe_i64, "s_bfe_i64 s[12:13], s[8:9], s10", \
    OUT64(some_signed_bits64(ab, c % 64, c >> 16 & 127)), NONZERO) \
  X(s_bfm64, "s_bfm_b64 s[12:13], s8, s9", OUT64(((1ull << a % 64) - 1) << b % 64)) \
  X(s_bitset, \
    "s_mov_b32 s12, s8\ns_mov_b32 s13, s8\ns_bitset0_b32 s12, s9\n" \
    "s_bitset1_b32 s13, s9", \
    out[0] = a & ~(1u << b % 32), out[1] = a | 1u << b % 32) \
  X(s_bitset0_64, "s_mov_b64 s[12:13], s[8:9]\ns_bitset0_b64 s[12:13], s10", \
    OUT64(ab & ~(1ull << c % 64))) \
  X(s_bitset1_64, "s_mov_b64 s[12:13], s[8:9]\ns_bitset1_b64 s[12:13], s10", \
    OUT64(ab | 1ull << c % 64)) \
  X(s_brev64, "s_brev_b64 s[12:13], s[8:9]", out[0] = reversed(b), out[1] = reversed(a)) \
  X(s_bcnt0, "s_bcnt0_i32_b32 s12, s8", out[0] = 32 - ones(a), NONZERO) \
  X(s_bcnt064, "s_bcnt0_i32_b64 s12, s[8:9]", out[0] = 64 - ones(ab), NONZERO) \
  X(s_ff0, "s_ff0_i32_b32 s12, s8\ns_ff0_i32_b64 s13, s[8:9]", out[0] = lowest((uint32_t)~a), \
    out[1] = lowest(~ab)) \
  X(s_flbit, "s_flbit_i32_b32 s12, s8\ns_flbit_i32_b64 s13, s[8:9]", out[0] = highest(a, 32), \
    out[1] = highest(ab, 64)) \
  X(s_flbit_i, "s_flbit_i32 s12, s8\ns_flbit_i32_i64 s13, s[8:9]", \
    out[0] = highest(a >> 31 ? (uint32_t)~a : a, 32), out[1] = highest(b >> 31 ? ~ab : ab, 64)) \
  X(s_lshl1_add, "s_lshl1_add_u32 s12, s8, s9", out[0] = 2 * a + b, \
    out[2] = 2 * (uint64_t)a + b > 0xffffffff) \
  X(s_lshl2_add, "s_lshl2_add_u32 s12, s8, s9", out[0] = 4 * a + b, \
    out[2] = 4 * (uint64_t)a + b > 0xffffffff) \
  X(s_lshl3_add, "s_lshl3_add_u32 s12, s8, s9", out[0] = 8 * a + b, \
    out[2] = 8 * (uint64_t)a + b > 0xffffffff) \
  X(s_lshl4_add, "s_lshl4_add_u32 s12, s8, s9", out[0] = 16 * a + b, \
    out[2] = 16 * (uint64_t)a + b > 0xffffffff) \
  X(s_abs, "s_abs_i32 s12, s8", out[0] = a >> 31 ? 0 - a : a, NONZERO) \
  X(s_absdiff, "s_absdiff_i32 s12, s8, s9", out[0] = (a - b) >> 31 ? b - a : a - b, NONZERO) \
  X(s_bitcmp64, "s_bitcmp0_b64 s[8:9], s10\ns_cselect_b32 s12, 1, 0\ns_bitcmp1_b64 s[8:9], s10", \
    out[0] = !(ab >> c % 64 & 1), out[2] = ab >> c % 64 & 1) \
  X(s_halves, \
    "s_mov_b32 m0, s8\ns_mov_b32 s12, m0\ns_mov_b32 vcc_hi, s9\n" \
    "s_mov_b32 s13, vcc_hi", \
    out[0] = a, out[1] = b) \
  X(s_nops, "s_nop 3\ns_sleep 1\ns_setprio 2", (void)0) \
  X(s_real_time, \
    "s_memrealtime s[14:15]\ns_waitcnt lgkmcnt(0)\ns_memrealtime s[16:17]\n" \
    "s_waitcnt lgkmcnt(0)\ns_sub_u32 s14, s16, s14\ns_subb_u32 s12, s17, s15\n" \
    "s_bitcmp1_b32 s11, 0", \
    out[0] = 0) \
  X(s_getpc, \
    "s_getpc_b64 s[14:15]\ns_getpc_b64 s[16:17]\ns_sub_u32 s12, s16, s14\n" \
    "s_bitcmp1_b32 s11, 0", \
    out[0] = 4) \
  X(s_and_save, \
    "s_and_saveexec_b64 s[12:13], s[8:9]\ns_cselect_b32 s15, 1, 0\n" \
    "s_mov_b64 s[16:17], exec\n" \
    "s_mov_b64 exec, -1\nv_mov_b32 v11, s16\ns_cmp_lg_u32 s15, 0", \
    OUT64(~0ull), out[3] = a, out[2] = ab != 0) \
  X(s_or_save, \
    "s_mov_b32 exec_lo, s8\ns_or_saveexec_b64 s[12:13], s[10:11]\n" \
    "s_cselect_b32 s15, 1, 0\ns_mov_b64 s[16:17], exec\n" \
    "s_mov_b64 exec, -1\nv_mov_b32 v11, s16\ns_cmp_lg_u32 s15, 0", \
    out[0] = a, out[1] = ~0u, out[3] = a | c, out[2] = 1) \
  X(s_xor_save, \
    "s_mov_b32 exec_lo, s8\ns_xor_saveexec_b64 s[12:13], s[10:11]\n" \
    "s_cselect_b32 s15, 1, 0\ns_mov_b64 s[16:17], exec\n" \
    "s_mov_b64 exec, -1\nv_mov_b32 v11, s16\ns_cmp_lg_u32 s15, 0", \
    out[0] = a, out[1] = ~0u, out[3] = a ^ c, out[2] = (a ^ c) != 0 || d != ~0u) \
  X(s_andn2_save, \
    "s_mov_b64 exec, s[8:9]\ns_andn2_saveexec_b64 s[12:13], s[10:11]\n" \
    "s_cselect_b32 s15, 1, 0\ns_mov_b64 s[16:17], exec\n" \
    "s_mov_b64 exec, -1\nv_mov_b32 v11, s16\ns_cmp_lg_u32 s15, 0", \
    OUT64(ab), out[3] = c & ~a, out[2] = (cd & ~ab) != 0) \
  X(s_andn1_saveexec, EXEC_CASE("s_andn1_saveexec_b64"), EXEC_RESULT(~cd &ab, ab)) \
  X(s_orn1_saveexec, EXEC_CASE("s_orn1_saveexec_b64"), EXEC_RESULT(~cd | ab, ab)) \
  X(s_orn2_saveexec, EXEC_CASE("s_orn2_saveexec_b64"), EXEC_RESULT(cd | ~ab, ab)) \
  X(s_nand_saveexec, EXEC_CASE("s_nand_saveexec_b64"), EXEC_RESULT(~(cd & ab), ab)) \
  X(s_nor_saveexec, EXEC_CASE("s_nor_saveexec_b64"), EXEC_RESULT(~(cd | ab), ab)) \
  X(s_xnor_saveexec, EXEC_CASE("s_xnor_saveexec_b64"), EXEC_RESULT(~(cd ^ ab), ab)) \
  X(s_andn1_wrexec, EXEC_CASE("s_andn1_wrexec_b64"), EXEC_RESULT(~cd &ab, ~cd &ab)) \
  X(s_andn2_wrexec, EXEC_CASE("s_andn2_wrexec_b64"), EXEC_RESULT(cd & ~ab, cd & ~ab)) \
  X(s_branch_over, "s_branch .Lover\ns_mov_b32 s12, 1\n.Lover:", out[0] = 0) \
  X(s_branch_scc, \
    "s_cbranch_scc0 .Lclear\ns_mov_b32 s12, 1\n.Lclear:\ns_cbranch_scc1 .Lset\n" \
    "s_mov_b32 s13, 1\n.Lset:", \
    out[0] = scc_in, out[1] = !scc_in) \
  X(s_branch_vcc, \
    "s_mov_b32 vcc_hi, 0\ns_mov_b32 vcc_lo, s8\ns_cbranch_vccz .Lzero\n" \
    "s_mov_b32 s12, 1\n.Lzero:\n" \
    "s_cbranch_vccnz .Lsome\ns_mov_b32 s13, 1\n.Lsome:", \
    out[0] = a != 0, out[1] = a == 0) \
  X(s_branch_exec, \
    "s_mov_b64 exec, s[8:9]\ns_cbranch_execz .Lnone\ns_mov_b32 s12, 1\n.Lnone:\n" \
    "s_cbranch_execnz .Lany\ns_mov_b32 s13, 1\n.Lany:\ns_mov_b64 exec, -1", \
    out[0] = ab != 0, out[1] = ab == 0) \
  X(s_loop, \
    "s_mov_b32 s12, 0\ns_movk_i32 s15, 0x5\n.Lagain:\ns_add_u32 s12, s12, s8\n" \
    "s_sub_u32 s15, s15, 1\n" \
    "s_cmp_lg_u32 s15, 0\ns_cbranch_scc1 .Lagain", \
    out[0] = 5 * a, out[2] = 0)

#define COMPARE_CASE(X, op, symbol) \
  X(s_cmp_##op, "s_cmp_" #op "_u32 s8, s9\ns_cselect_b32 s12, 1, 0\ns_cmp_" #op "_i32 s8, s9\n", \
    out[0] = a symbol b, out[2] = TO_SIGN(a) symbol TO_SIGN(b)) \
  X(s_cmpk_##op, \
    "s_cmpk_" #op "_u32 s8, 0xffff\ns_cselect_b32 s12, 1, 0\ns_cmpk_" #op "_i32 s8, 0xffff\n" \
    "s_cselect_b32 s13, 1, 0\ns_cmpk_" #op "_i32 s9, 0x3f", \
    out[0] = a symbol 0xffff, out[1] = TO_SIGN(a) symbol 0x7fffffff, \
    out[2] = TO_SIGN(b) symbol 0x8000003f)
/* clang-format off */
#define COMPARE_CASES(X) \
  COMPARE_CASE(X, eq, ==) COMPARE_CASE(X, lg, !=) COMPARE_CASE(X, gt, >) \
  COMPARE_CASE(X, ge, >=) COMPARE_CASE(X, lt, <) COMPARE_CASE(X, le, <=)
/* clang-format on */

SCALAR_CASES(SCALAR_FUNCTION)
COMPARE_CASES(SCALAR_FUNCTION)

static const gfx9_case cases[] = {SCALAR_CASES(SCALAR_ROW) COMPARE_CASES(SCALAR_ROW)};
const gfx9_cases gfx9_scalar_cases = {cases, sizeof cases / sizeof *cases};
