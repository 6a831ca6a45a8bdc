/* Vector arithmetic: an expression and a row each. CDNA2 and CDNA3 ISA documents, "VOP1" to "VOP3P". */
#include "gfx9_ops.h"

/* ---- moves, bits ---- */
WORD(move, A)
PAIR(move_pair, A2)
PAIR(move_packed, A | (uint64_t)B << 32)
WORD(not, ~A)
WORD(and, A &B)
WORD(or, A | B)
WORD(xor, A ^ B)
WORD(xnor, ~(A ^ B))
WORD(or3, A | B | C)
WORD(and_or, (A & B) | C)
WORD(lshl_or, (A << (B & 31)) | C)
WORD(select, IN ? B : A)
WORD(bitfield_insert, (A & B) | (~A & C))
WORD(shift_left, B << (A & 31))
WORD(shift_right, B >> (A & 31))
WORD(shift_right_signed, SIGNED32(B) >> (A & 31))
WORD(shift_left_16, (B << (A & 15)) & 0xffff)
WORD(shift_right_16, (B & 0xffff) >> (A & 15))
PAIR(shift_left_pair, B2 << (A & 63))
PAIR(shift_right_pair, B2 >> (A & 63))
PAIR(shift_right_signed_pair, SIGNED64(B2) >> (A & 63))
WORD(align_bits, ((uint64_t)A << 32 | B) >> (C & 31))
WORD(align_bytes, ((uint64_t)A << 32 | B) >> 8 * (C & 3))
/* A width of 0 gives 0; what lies beyond bit 31 is not there. */
WORD(bitfield, A >> (B & 31) & (((uint32_t)1 << (C & 31)) - 1))

static uint32_t bitfield_of(uint32_t value, uint32_t offset, uint32_t width) {
  if (width == 0) return 0;
  if (offset + width >= 32) return (uint32_t)(SIGNED32(value) >> offset);
  return (uint32_t)(SIGNED32(value << (32 - offset - width)) >> (32 - width));
}
WORD(bitfield_signed, bitfield_of(A, B & 31, C & 31))

static uint32_t reverse(uint32_t x) {
  x = (x & 0x55555555) << 1 | (x >> 1 & 0x55555555);
  x = (x & 0x33333333) << 2 | (x >> 2 & 0x33333333);
  x = (x & 0x0f0f0f0f) << 4 | (x >> 4 & 0x0f0f0f0f);
  return __builtin_bswap32(x);
}
WORD(reverse_bits, reverse(A))

/* Selectors 0-7 take a byte of high:low, 8-11 repeat a sign, 12 is 0x00, above is 0xff. */
static uint32_t permuted_byte(uint64_t bytes, uint32_t selector) {
  if (selector < 8) return bytes >> 8 * selector & 0xff;
  if (selector < 12) return bytes >> (16 * (selector - 8) + 15) & 1 ? 0xff : 0;
  return selector == 12 ? 0 : 0xff;
}
static uint32_t permute_of(uint32_t high, uint32_t low, uint32_t selectors) {
  uint64_t bytes = (uint64_t)high << 32 | low;
  uint32_t made = 0;
  for (int k = 0; k < 32; k += 8) made |= permuted_byte(bytes, selectors >> k & 0xff) << k;
  return made;
}
WORD(permute, permute_of(A, B, C))

/* ---- sums and products ---- */
WORD(add, A + B)
WORD(subtract, A - B)
WORD(subtract_reversed, B - A)
WORD(add3, A + B + C)
WORD(lshl_add, (A << (B & 31)) + C)
WORD(add_lshl, (A + B) << (C & 31))
WORD(xor_add, (A ^ B) + C)
CARRY(add_carry, (uint64_t)A + B)
CARRY(subtract_borrow, (uint64_t)A - B)
CARRY(subtract_reversed_borrow, (uint64_t)B - A)
CARRY(add_with_carry, (uint64_t)A + B + IN)
CARRY(subtract_with_borrow, (uint64_t)A - B - IN)
CARRY(subtract_reversed_with_borrow, (uint64_t)B - A - IN)
PAIR(lshl_add_pair, (A2 << (B & 7)) + C2)
WORD(multiply, A *B)
WORD(multiply_high, (uint64_t)A *B >> 32)
WORD(multiply_high_signed, (uint64_t)((int64_t)SIGNED32(A) * SIGNED32(B)) >> 32)
WORD(multiply_24, (A & 0xffffff) * (B & 0xffffff))
WORD(multiply_high_24, (uint64_t)(A & 0xffffff) * (B & 0xffffff) >> 32)
WORD(multiply_add_24, (A & 0xffffff) * (B & 0xffffff) + C)
#define SIGNED24(x) ((int64_t)(SIGNED32((x) << 8) >> 8))
WORD(multiply_24_signed, SIGNED24(A) * SIGNED24(B))
WORD(multiply_high_24_signed, SIGNED24(A) * SIGNED24(B) >> 32)
WORD(multiply_add_24_signed, SIGNED24(A) * SIGNED24(B) + SIGNED32(C))

static void multiply_add_wide(gfx9_args *x, int n) {
  GFX9_EACH(uint64_t product = (uint64_t)A * B; uint64_t sum = product + C2; d[i] = (uint32_t)sum;
            dh[i] = (uint32_t)(sum >> 32); out |= (uint64_t)(sum < product) << i;)
  x->out = out;
}

WORD(minimum, A < B ? A : B)
WORD(maximum, A > B ? A : B)
WORD(minimum_signed, SIGNED32(A) < SIGNED32(B) ? A : B)
WORD(maximum_signed, SIGNED32(A) > SIGNED32(B) ? A : B)
WORD(count_bits, (uint32_t)__builtin_popcount(A) + B)
/* Bits of the mask below this lane, in its lower and its upper half. */
WORD(count_below_low, B + (uint32_t)__builtin_popcount(i < 32 ? A & (((uint32_t)1 << (i & 31)) - 1) : A))
WORD(count_below_high, B + (uint32_t)__builtin_popcount(i < 32 ? 0 : A & (((uint32_t)1 << (i & 31)) - 1)))

/* ---- comparisons ---- */
#define COMPARE(type, name, x, y) \
  BIT(lt_##name, (type)x < (type)y) BIT(eq_##name, (type)x == (type)y) \
  BIT(le_##name, (type)x <= (type)y) BIT(gt_##name, (type)x > (type)y) \
  BIT(ne_##name, (type)x != (type)y) BIT(ge_##name, (type)x >= (type)y)
COMPARE(uint32_t, u32, A, B)
COMPARE(int32_t, i32, A, B)
COMPARE(uint64_t, u64, A2, B2)
COMPARE(int64_t, i64, A2, B2)

#define ARITHMETIC COUNT(arithmetic)
#define BITS(sources) .rule = GFX9_MONOTONE, .data = sources /* bit k: source k */
#define SUM .rule = GFX9_UPWARD, ARITHMETIC

#define COMPARE_ROW(op, type, operands) {"v_cmp_" #op "_" #type, operands, op##_##type, ARITHMETIC}
#define COMPARE_ROWS(type, operands)                                                       \
  COMPARE_ROW(lt, type, operands), COMPARE_ROW(eq, type, operands),                        \
      COMPARE_ROW(le, type, operands), COMPARE_ROW(gt, type, operands),                    \
      COMPARE_ROW(ne, type, operands), COMPARE_ROW(ge, type, operands)

static const gfx9_info rows[] = {
    {"v_mov_b32", "ds", move, BITS(1), COUNT(moves)},
    {"v_mov_b64", "DS", move_pair, BITS(1), COUNT(moves)},
    {"v_pk_mov_b32", "DSS", move_packed, BITS(3), .modifiers = GFX9_OP_SEL, COUNT(moves)},
    {"v_accvgpr_read_b32", "ds", move, BITS(1), COUNT(moves)},
    {"v_accvgpr_write_b32", "ds", move, BITS(1), COUNT(moves)},
    {"v_accvgpr_mov_b32", "ds", move, BITS(1), COUNT(moves)},
    {"v_not_b32", "ds", not, .rule = GFX9_BITWISE, ARITHMETIC},
    {"v_and_b32", "dss", and, BITS(3), ARITHMETIC},
    {"v_or_b32", "dss", or, BITS(3), ARITHMETIC},
    {"v_xor_b32", "dss", xor, .rule = GFX9_BITWISE, ARITHMETIC},
    {"v_xnor_b32", "dss", xnor, .rule = GFX9_BITWISE, ARITHMETIC},
    {"v_or3_b32", "dsss", or3, BITS(7), ARITHMETIC},
    {"v_and_or_b32", "dsss", and_or, BITS(7), ARITHMETIC},
    {"v_lshl_or_b32", "dsss", lshl_or, BITS(5), ARITHMETIC},
    {"v_cndmask_b32", "dssM", select, BITS(3), ARITHMETIC},
    {"v_bfi_b32", "dsss", bitfield_insert, BITS(6), ARITHMETIC},
    {"v_bfe_u32", "dsss", bitfield, BITS(1), ARITHMETIC},
    {"v_bfe_i32", "dsss", bitfield_signed, BITS(1), ARITHMETIC},
    {"v_bfrev_b32", "ds", reverse_bits, BITS(1), ARITHMETIC},
    {"v_lshlrev_b32", "dss", shift_left, BITS(2), ARITHMETIC},
    {"v_lshrrev_b32", "dss", shift_right, BITS(2), ARITHMETIC},
    {"v_ashrrev_i32", "dss", shift_right_signed, BITS(2), ARITHMETIC},
    {"v_lshlrev_b16", "dss", shift_left_16, BITS(2), ARITHMETIC},
    {"v_lshrrev_b16", "dss", shift_right_16, BITS(2), ARITHMETIC},
    {"v_lshlrev_b64", "DsS", shift_left_pair, BITS(2), ARITHMETIC},
    {"v_lshrrev_b64", "DsS", shift_right_pair, BITS(2), ARITHMETIC},
    {"v_ashrrev_i64", "DsS", shift_right_signed_pair, BITS(2), ARITHMETIC},
    {"v_alignbit_b32", "dsss", align_bits, BITS(3), COUNT(permutes)},
    {"v_alignbyte_b32", "dsss", align_bytes, BITS(3), COUNT(permutes)},
    {"v_perm_b32", "dsss", permute, BITS(3), COUNT(permutes)},
    {"v_add_u32", "dss", add, SUM},
    {"v_sub_u32", "dss", subtract, SUM},
    {"v_subrev_u32", "dss", subtract_reversed, SUM},
    {"v_add3_u32", "dsss", add3, SUM},
    {"v_lshl_add_u32", "dsss", lshl_add, SUM},
    {"v_add_lshl_u32", "dsss", add_lshl, SUM},
    {"v_xad_u32", "dsss", xor_add, SUM},
    {"v_add_co_u32", "dmss", add_carry, SUM},
    {"v_sub_co_u32", "dmss", subtract_borrow, SUM},
    {"v_subrev_co_u32", "dmss", subtract_reversed_borrow, SUM},
    {"v_addc_co_u32", "dmssM", add_with_carry, SUM},
    {"v_subb_co_u32", "dmssM", subtract_with_borrow, SUM},
    {"v_subbrev_co_u32", "dmssM", subtract_reversed_with_borrow, SUM},
    {"v_lshl_add_u64", "DSsS", lshl_add_pair, SUM},
    {"v_mul_lo_u32", "dss", multiply, SUM},
    {"v_mul_hi_u32", "dss", multiply_high, ARITHMETIC},
    {"v_mul_hi_i32", "dss", multiply_high_signed, ARITHMETIC},
    {"v_mul_u32_u24", "dss", multiply_24, SUM},
    {"v_mul_hi_u32_u24", "dss", multiply_high_24, ARITHMETIC},
    {"v_mul_i32_i24", "dss", multiply_24_signed, SUM},
    {"v_mul_hi_i32_i24", "dss", multiply_high_24_signed, ARITHMETIC},
    {"v_mad_u32_u24", "dsss", multiply_add_24, SUM},
    {"v_mad_i32_i24", "dsss", multiply_add_24_signed, SUM},
    {"v_mad_u64_u32", "DmssS", multiply_add_wide, SUM},
    {"v_min_u32", "dss", minimum, ARITHMETIC},
    {"v_max_u32", "dss", maximum, ARITHMETIC},
    {"v_min_i32", "dss", minimum_signed, ARITHMETIC},
    {"v_max_i32", "dss", maximum_signed, ARITHMETIC},
    {"v_bcnt_u32_b32", "dss", count_bits, ARITHMETIC},
    {"v_mbcnt_lo_u32_b32", "dss", count_below_low, ARITHMETIC},
    {"v_mbcnt_hi_u32_b32", "dss", count_below_high, ARITHMETIC},
    COMPARE_ROWS(u32, "mss"),
    COMPARE_ROWS(i32, "mss"),
    COMPARE_ROWS(u64, "mSS"),
    COMPARE_ROWS(i64, "mSS"),
};

const gfx9_table gfx9_vector_table = {rows, sizeof rows / sizeof *rows};
