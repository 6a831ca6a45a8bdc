/* Casts of 4-bit elements by looking them up: a byte permute whose selector is four codes takes
 * four bytes at once out of a table of eight, which two registers hold. Targets whose selectors are
 * nibbles.
 *
 * Bit 3 of a code is no part of the selector. Where the upper eight codes' bytes are the lower
 * ones' with some bits turned over, as signs are, a second permute gives those bits; else the upper
 * codes have a table of their own, and a mask chooses. */
#include "jit/emit/core/builder.h"
#include "jit/emit/value/emit_value.h"

#include "base/bits.h"

#define CODES 16

/* What byte `plane` of the result is, by code. */
typedef struct look_up_table {
  uint8_t byte[CODES];
} look_up_table;

/* Eight codes as selectors: of the table, and of what bit 3 chooses; four in the lower half, four
 * in the upper. */
typedef struct look_up_codes {
  LLVMValueRef low, high;
} look_up_codes;

static look_up_table table_of(llrt_dtype from, llrt_dtype to, int plane) {
  look_up_table table;
  for (int i = 0; i < CODES; i++)
    table.byte[i] = (uint8_t)(number_cast(from, to, (uint64_t)i) >> 8 * plane);
  return table;
}

static uint32_t bytes_of(const look_up_table *table, int first) {
  uint32_t word = 0;
  for (int i = 0; i < 4; i++) word |= (uint32_t)table->byte[first + i] << 8 * i;
  return word;
}

static bool is_zero(const look_up_table *table) {
  return !(bytes_of(table, 0) | bytes_of(table, 4) | bytes_of(table, 8) | bytes_of(table, 12));
}

/* Whether the upper codes' bytes are the lower ones' but for *bits. */
static bool is_turned(const look_up_table *table, int *bits) {
  *bits = table->byte[0] ^ table->byte[8];
  for (int i = 0; i < 8; i++)
    if ((table->byte[i] ^ table->byte[i + 8]) != *bits) return false;
  return true;
}

static look_up_codes codes_of(const emitter *e, LLVMValueRef word) {
  LLVMValueRef up = LLVMBuildLShr(e->builder, word, emit_i32(e, 3), "");
  return (look_up_codes){.low = LLVMBuildAnd(e->builder, word, emit_i32(e, 0x77777777), ""),
                         .high = LLVMBuildAnd(e->builder, up, emit_i32(e, 0x11111111), "")};
}

static look_up_codes upper_half(const emitter *e, look_up_codes codes) {
  LLVMValueRef half = emit_i32(e, 16);
  return (look_up_codes){.low = LLVMBuildLShr(e->builder, codes.low, half, ""),
                         .high = LLVMBuildLShr(e->builder, codes.high, half, "")};
}

/* The bytes of four codes. */
static LLVMValueRef look_up(emitter *e, const look_up_table *table, look_up_codes codes) {
  LLVMValueRef zero = emit_i32(e, 0);
  int bits;
  if (is_zero(table)) return zero;
  LLVMValueRef low = e->ops->permute(e, emit_i32(e, (int)bytes_of(table, 0)),
                                     emit_i32(e, (int)bytes_of(table, 4)), codes.low);
  if (is_turned(table, &bits)) {
    if (bits == 0) return low;
    LLVMValueRef turned = e->ops->permute(e, emit_i32(e, bits << 8), zero, codes.high);
    return LLVMBuildXor(e->builder, low, turned, "");
  }
  LLVMValueRef high = e->ops->permute(e, emit_i32(e, (int)bytes_of(table, 8)),
                                      emit_i32(e, (int)bytes_of(table, 12)), codes.low);
  LLVMValueRef mask = e->ops->permute(e, emit_i32(e, 0xFF00), zero, codes.high);
  LLVMValueRef kept = LLVMBuildAnd(e->builder, low, LLVMBuildNot(e->builder, mask, ""), "");
  return LLVMBuildOr(e->builder, kept, LLVMBuildAnd(e->builder, high, mask, ""), "");
}

bool emit_looks_up(const emitter *e, llrt_dtype from, llrt_dtype to, const plan_value *in) {
  int bits = llrt_dtype_bits(to);
  return e->ops->nibble_selectors && llrt_dtype_bits(from) == 4 && in->word == 3 &&
         (bits == 8 || bits == 16);
}

void emit_look_up(emitter *e, llrt_dtype from, llrt_dtype to, LLVMValueRef word,
                  LLVMValueRef *made) {
  static const int pairs[2][4] = {{0, 4, 1, 5}, {2, 6, 3, 7}};
  look_up_table lower = table_of(from, to, 0), upper = table_of(from, to, 1);
  look_up_codes codes = codes_of(e, word);
  for (int half = 0; half < 2; half++) {
    LLVMValueRef low = look_up(e, &lower, codes);
    if (llrt_dtype_bits(to) == 8) {
      made[half] = low;
    } else {
      LLVMValueRef high = look_up(e, &upper, codes);
      for (int i = 0; i < 2; i++) made[2 * half + i] = emit_permute(e, low, high, pairs[i]);
    }
    codes = upper_half(e, codes);
  }
}
