/* Scalar arithmetic: lane operations with one lane, whose `in` is SCC. CDNA3 ISA, "SOP1" to "SOPK". */
#include "gfx9_ops.h"

WORD(move, A)
PAIR(move_pair, A2)
WORD(move_short, (int16_t)A)
WORD(not, ~A)
PAIR(not_pair, ~A2)
WORD(and, A &B)
PAIR(and_pair, A2 &B2)
WORD(or, A | B)
PAIR(or_pair, A2 | B2)
WORD(xor, A ^ B)
PAIR(xor_pair, A2 ^ B2)
WORD(and_not, A & ~B)
PAIR(and_not_pair, A2 & ~B2)
WORD(or_not, A | ~B)
PAIR(or_not_pair, A2 | ~B2)
WORD(select, IN ? A : B)
PAIR(select_pair, IN ? A2 : B2)
WORD(shift_left, A << (B & 31))
PAIR(shift_left_pair, A2 << (B & 63))
WORD(shift_right, A >> (B & 31))
PAIR(shift_right_pair, A2 >> (B & 63))
WORD(shift_right_signed, SIGNED32(A) >> (B & 31))
PAIR(shift_right_signed_pair, SIGNED64(A2) >> (B & 63))
WORD(multiply, A *B)
WORD(multiply_high, (uint64_t)A *B >> 32)
WORD(multiply_high_signed, (uint64_t)((int64_t)SIGNED32(A) * SIGNED32(B)) >> 32)
CARRY(add_carry, (uint64_t)A + B)
CARRY(add_with_carry, (uint64_t)A + B + IN)
CARRY(subtract_borrow, (uint64_t)A - B)
CARRY(subtract_with_borrow, (uint64_t)A - B - IN)
WORD(pack_low_low, (A & 0xffff) | B << 16)
WORD(pack_low_high, (A & 0xffff) | (B & 0xffff0000))
WORD(pack_high_high, A >> 16 | (B & 0xffff0000))
WORD(extend_byte, (int8_t)A)
WORD(extend_short, (int16_t)A)
WORD(bit_mask, (((uint32_t)1 << (A & 31)) - 1) << (B & 31))
WORD(count_ones, __builtin_popcount(A))
WORD(count_ones_pair, __builtin_popcountll(A2))
WORD(first_one, A ? __builtin_ctz(A) : -1)
WORD(first_one_pair, A2 ? __builtin_ctzll(A2) : -1)

/* Signed sums set SCC on overflow. */
static void add_signed(gfx9_args *x, int n) {
  GFX9_EACH(int32_t sum; out |= (uint64_t)__builtin_add_overflow(SIGNED32(A), SIGNED32(B), &sum) << i;
            d[i] = (uint32_t)sum;)
  x->out = out;
}
static void subtract_signed(gfx9_args *x, int n) {
  GFX9_EACH(int32_t sum; out |= (uint64_t)__builtin_sub_overflow(SIGNED32(A), SIGNED32(B), &sum) << i;
            d[i] = (uint32_t)sum;)
  x->out = out;
}

/* SOPK: 16 bits beside the destination, which is the first source. */
WORD(multiply_short, A *(uint32_t)(int16_t)B)
static void add_short(gfx9_args *x, int n) {
  GFX9_EACH(int32_t sum; out |= (uint64_t)__builtin_add_overflow(SIGNED32(A), (int16_t)B, &sum) << i;
            d[i] = (uint32_t)sum;)
  x->out = out;
}

static uint32_t reverse(uint32_t x) {
  uint32_t made = 0;
  for (int k = 0; k < 32; k++) made |= (x >> k & 1) << (31 - k);
  return made;
}
WORD(reverse_bits, reverse(A))

/* The field's place and width are in the second source: bits 4..0 (5..0) and 22..16. */
static uint64_t field(uint64_t value, uint32_t where, unsigned size) {
  unsigned offset = where & (size - 1), width = where >> 16 & 127;
  if (width >= 64) return value >> offset;
  return value >> offset & (((uint64_t)1 << width) - 1);
}
WORD(bitfield, field(A, B, 32))
PAIR(bitfield_pair, field(A2, B, 64))

static uint32_t signed_field(uint32_t value, uint32_t where) {
  unsigned offset = where & 31, width = where >> 16 & 127;
  if (width == 0) return 0;
  if (offset + width >= 32) return (uint32_t)(SIGNED32(value) >> offset);
  return (uint32_t)(SIGNED32(value << (32 - offset - width)) >> (32 - width));
}
WORD(bitfield_signed, signed_field(A, B))

#define MINMAX(name, type, sign)                                             \
  static void name(gfx9_args *x, int n) {                                    \
    GFX9_EACH(bool first = (type)A sign(type) B; d[i] = first ? A : B;       \
              out |= (uint64_t)first << i;)                                  \
    x->out = out;                                                            \
  }
MINMAX(minimum, uint32_t, <)
MINMAX(maximum, uint32_t, >)
MINMAX(minimum_signed, int32_t, <)
MINMAX(maximum_signed, int32_t, >)

#define COMPARE(name, type) \
  BIT(eq_##name, (type)A == (type)B) BIT(lg_##name, (type)A != (type)B) \
  BIT(gt_##name, (type)A > (type)B) BIT(ge_##name, (type)A >= (type)B) \
  BIT(lt_##name, (type)A < (type)B) BIT(le_##name, (type)A <= (type)B)
COMPARE(u32, uint32_t)
COMPARE(i32, int32_t)
BIT(eq_u64, A2 == B2)
BIT(lg_u64, A2 != B2)
BIT(bit_is_clear, !(A >> (B & 31) & 1))
BIT(bit_is_set, A >> (B & 31) & 1)

#define ARITHMETIC COUNT(arithmetic)
#define BITS(sources) .rule = GFX9_MONOTONE, .data = sources
#define SUM .rule = GFX9_UPWARD, ARITHMETIC
#define XOR .rule = GFX9_BITWISE, ARITHMETIC
#define OUT .scc = GFX9_SCC_OUT
#define NONZERO .scc = GFX9_SCC_NONZERO
#define COMPARE_ROW(op, type, operands) {"s_cmp_" #op "_" #type, operands, op##_##type, OUT, ARITHMETIC}
#define COMPARE_ROWS(type)                                                                  \
  COMPARE_ROW(eq, type, "ss"), COMPARE_ROW(lg, type, "ss"), COMPARE_ROW(gt, type, "ss"),    \
      COMPARE_ROW(ge, type, "ss"), COMPARE_ROW(lt, type, "ss"), COMPARE_ROW(le, type, "ss")

static const gfx9_info rows[] = {
    {"s_mov_b32", "ds", move, BITS(1), COUNT(moves)},
    {"s_mov_b64", "DS", move_pair, BITS(1), COUNT(moves)},
    {"s_movk_i32", "ds", move_short, BITS(1), COUNT(moves)},
    {"s_not_b32", "ds", not, XOR, NONZERO},
    {"s_not_b64", "DS", not_pair, XOR, NONZERO},
    {"s_and_b32", "dss", and, BITS(3), NONZERO, ARITHMETIC},
    {"s_and_b64", "DSS", and_pair, BITS(3), NONZERO, ARITHMETIC},
    {"s_or_b32", "dss", or, BITS(3), NONZERO, ARITHMETIC},
    {"s_or_b64", "DSS", or_pair, BITS(3), NONZERO, ARITHMETIC},
    {"s_xor_b32", "dss", xor, XOR, NONZERO},
    {"s_xor_b64", "DSS", xor_pair, XOR, NONZERO},
    {"s_andn2_b32", "dss", and_not, XOR, NONZERO},
    {"s_andn2_b64", "DSS", and_not_pair, XOR, NONZERO},
    {"s_orn2_b32", "dss", or_not, XOR, NONZERO},
    {"s_orn2_b64", "DSS", or_not_pair, XOR, NONZERO},
    {"s_cselect_b32", "dss", select, BITS(3), .scc = GFX9_SCC_IN, ARITHMETIC},
    {"s_cselect_b64", "DSS", select_pair, BITS(3), .scc = GFX9_SCC_IN, ARITHMETIC},
    {"s_lshl_b32", "dss", shift_left, BITS(1), NONZERO, ARITHMETIC},
    {"s_lshl_b64", "DSs", shift_left_pair, BITS(1), NONZERO, ARITHMETIC},
    {"s_lshr_b32", "dss", shift_right, BITS(1), NONZERO, ARITHMETIC},
    {"s_lshr_b64", "DSs", shift_right_pair, BITS(1), NONZERO, ARITHMETIC},
    {"s_ashr_i32", "dss", shift_right_signed, BITS(1), NONZERO, ARITHMETIC},
    {"s_ashr_i64", "DSs", shift_right_signed_pair, BITS(1), NONZERO, ARITHMETIC},
    {"s_bfe_u32", "dss", bitfield, BITS(1), NONZERO, ARITHMETIC},
    {"s_bfe_i32", "dss", bitfield_signed, BITS(1), NONZERO, ARITHMETIC},
    {"s_bfe_u64", "DSs", bitfield_pair, BITS(1), NONZERO, ARITHMETIC},
    {"s_bfm_b32", "dss", bit_mask, ARITHMETIC},
    {"s_brev_b32", "ds", reverse_bits, BITS(1), ARITHMETIC},
    {"s_pack_ll_b32_b16", "dss", pack_low_low, BITS(3), ARITHMETIC},
    {"s_pack_lh_b32_b16", "dss", pack_low_high, BITS(3), ARITHMETIC},
    {"s_pack_hh_b32_b16", "dss", pack_high_high, BITS(3), ARITHMETIC},
    {"s_sext_i32_i8", "ds", extend_byte, BITS(1), COUNT(conversions)},
    {"s_sext_i32_i16", "ds", extend_short, BITS(1), COUNT(conversions)},
    {"s_bcnt1_i32_b32", "ds", count_ones, NONZERO, ARITHMETIC},
    {"s_bcnt1_i32_b64", "dS", count_ones_pair, NONZERO, ARITHMETIC},
    {"s_ff1_i32_b32", "ds", first_one, ARITHMETIC},
    {"s_ff1_i32_b64", "dS", first_one_pair, ARITHMETIC},
    {"s_add_u32", "dss", add_carry, SUM, OUT},
    {"s_addc_u32", "dss", add_with_carry, SUM, .scc = GFX9_SCC_IN | GFX9_SCC_OUT},
    {"s_sub_u32", "dss", subtract_borrow, SUM, OUT},
    {"s_subb_u32", "dss", subtract_with_borrow, SUM, .scc = GFX9_SCC_IN | GFX9_SCC_OUT},
    {"s_add_i32", "dss", add_signed, SUM, OUT},
    {"s_sub_i32", "dss", subtract_signed, SUM, OUT},
    {"s_mul_i32", "dss", multiply, SUM},
    {"s_addk_i32", "xs", add_short, SUM, OUT},
    {"s_mulk_i32", "xs", multiply_short, SUM},
    {"s_mul_hi_u32", "dss", multiply_high, ARITHMETIC},
    {"s_mul_hi_i32", "dss", multiply_high_signed, ARITHMETIC},
    {"s_min_u32", "dss", minimum, OUT, ARITHMETIC},
    {"s_max_u32", "dss", maximum, OUT, ARITHMETIC},
    {"s_min_i32", "dss", minimum_signed, OUT, ARITHMETIC},
    {"s_max_i32", "dss", maximum_signed, OUT, ARITHMETIC},
    COMPARE_ROWS(u32),
    COMPARE_ROWS(i32),
    COMPARE_ROW(eq, u64, "SS"),
    COMPARE_ROW(lg, u64, "SS"),
    {"s_bitcmp0_b32", "ss", bit_is_clear, OUT, ARITHMETIC},
    {"s_bitcmp1_b32", "ss", bit_is_set, OUT, ARITHMETIC},
};

const gfx9_table gfx9_scalar_table = {rows, sizeof rows / sizeof *rows};
