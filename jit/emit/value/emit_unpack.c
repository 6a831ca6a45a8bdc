/* Values of narrow elements made 16-bit floats, two a word, without looking at elements one by one.
 *
 * e2m1: sign, exponent and mantissa go to where a 16-bit float has its own, which makes of a code
 * the number times 2^(1 - bias of that type): one product by a power of two puts that right,
 * exactly, zeros and halves too. Integers of 4 bits are put behind the point of a number 2^p whose
 * last place is 1, from which 2^p is taken (and 8 more where bit 3 is a sign, which is turned over
 * first). */
#include "jit/emit/value/emit_unpack.h"
#include "jit/emit/core/builder.h"
#include "jit/emit/value/emit_value.h"

#include "base/bits.h"
#include "jit/plan/types/number.h"

#include <string.h>

unpack_format unpack_format_of(llrt_dtype type) {
  return type == LLRT_F16 ? (unpack_format){15, 10} : (unpack_format){127, 7};
}

LLVMValueRef unpack_twice(const emitter *e, unsigned code) {
  return LLVMConstInt(e->i32, (uint64_t)code << 16 | code, false);
}

unsigned unpack_power(unpack_format format, int exponent) {
  return (unsigned)(exponent + format.bias) << format.mantissa;
}

/* ---- where bits go ---- */

/* Two elements' way from their word to the halves of another: the bits that arrive by a rotation to
 * the left. */
typedef struct pair_ways {
  uint32_t mask[32], all;
} pair_ways;

/* Where bits of an element's code go in its half: bit b to at[b]; not at all: NOWHERE. */
#define NOWHERE (-1)
typedef struct code_places {
  int bits, at[8];
} code_places;

/* From `place` on, those below `end`. */
static code_places places_from(int bits, int place, int end) {
  code_places places = {.bits = bits};
  for (int b = 0; b < bits; b++) places.at[b] = b < end ? place + b : NOWHERE;
  return places;
}

/* Of elements `index` and index + 1, each in its half; perm: where a bit of the word comes from. */
static pair_ways ways_of(int index, const uint8_t *perm, const code_places *place) {
  pair_ways ways = {.all = 0};
  for (int i = 0; i < 2; i++)
    for (int b = 0; b < place->bits; b++) {
      if (place->at[b] == NOWHERE) continue;
      int bit = place->bits * (index + i) + b, from = perm ? perm[bit] : bit,
          to = 16 * i + place->at[b];
      ways.mask[(to - from) & 31] |= 1u << to;
      ways.all |= 1u << to;
    }
  return ways;
}

static LLVMValueRef all_ways(emitter *e, LLVMValueRef word, const pair_ways *ways) {
  LLVMValueRef sum = NULL;
  for (int r = 0; r < 32; r++) {
    if (!ways->mask[r]) continue;
    LLVMValueRef part = LLVMBuildAnd(e->builder, emit_rotated(e, word, r, ways->mask[r]),
                                     emit_i32(e, ways->mask[r]), "");
    sum = sum ? LLVMBuildOr(e->builder, sum, part, "") : part;
  }
  return sum;
}

/* Whether b's bits go as a's, each from a byte lower in its half: then both meet in one word, which
 * costs one way of each rotation, and of which b's are the lower bytes. */
static bool join_ways(const pair_ways *a, const pair_ways *b, pair_ways *both) {
  int n = 0;
  for (int r = 0; r < 32; r++) {
    if (a->mask[r] != b->mask[(r + 8) & 31]) return false;
    both->mask[r] = a->mask[r] | a->mask[r] >> 8;
    n += a->mask[r] != 0;
  }
  both->all = a->all | a->all >> 8;
  return n > 1 && !(a->all & 0x00ff00ff);
}

/* Elements `index` and index + 1 of a word, each in its half, the bits of a code at their places.
 */
static LLVMValueRef place_pair(emitter *e, LLVMValueRef word, int index, const uint8_t *perm,
                               code_places place) {
  pair_ways ways = ways_of(index, perm, &place), other = ways_of(index ^ 2, perm, &place), both;
  const int low_bytes[4] = {4, 0, 4, 2};
  if (join_ways(&ways, &other, &both))
    return LLVMBuildAnd(e->builder, all_ways(e, word, &both), emit_i32(e, (int)ways.all), "");
  if (join_ways(&other, &ways, &both))
    return emit_permute(e, all_ways(e, word, &both), emit_i32(e, 0), low_bytes);
  return all_ways(e, word, &ways);
}

/* The same, each with `bits` turned over. */
static LLVMValueRef place_and_xor(emitter *e, LLVMValueRef word, int index, const uint8_t *perm,
                                  code_places place, unsigned bits) {
  pair_ways ways = ways_of(index, perm, &place);
  for (int r = 0; r < 32 && e->ops->mask_xor; r++)
    if (ways.mask[r] == ways.all)
      return e->ops->mask_xor(e, emit_rotated(e, word, r, ways.all), ways.all, bits << 16 | bits);
  return LLVMBuildXor(e->builder, place_pair(e, word, index, perm, place), unpack_twice(e, bits),
                      "");
}

/* ---- elements ---- */

bool unpack_is_integer(llrt_dtype type) {
  return number_format_of(type)->kind == NUMBER_INTEGER && llrt_dtype_bits(type) <= 8;
}

/* The codes times 2^(1 - bias). */
LLVMValueRef unpack_place_e2m1(emitter *e, LLVMValueRef word, int index, const plan_map *map) {
  const int m = unpack_format_of((llrt_dtype)map->to).mantissa;
  return place_pair(e, word, index, map->words ? map->perm : NULL,
                    (code_places){4, {m - 1, m, m + 1, 15}});
}

static LLVMValueRef unpack_e2m1(emitter *e, LLVMValueRef word, int index, const plan_map *map) {
  unpack_format format = unpack_format_of((llrt_dtype)map->to);
  LLVMValueRef codes = unpack_place_e2m1(e, word, index, map);
  LLVMValueRef factor = unpack_twice(e, unpack_power(format, format.bias - 1));
  return e->ops->multiply_pair(e, (llrt_dtype)map->to, codes, factor, NULL);
}

int unpack_highest_place(unpack_format format, int bits) {
  return format.mantissa >= bits + 4 ? 4 : 0;
}

/* Where the mantissa takes the codes of two integers: at the lowest bits, or higher where a shift
 * by whole bytes, which other elements of the word share, brings them. */
int unpack_integer_place(unpack_format format, int index, const plan_map *map) {
  int bits = llrt_dtype_bits((llrt_dtype)map->from), higher = unpack_highest_place(format, bits);
  int from = map->words ? map->perm[bits * index] & 15 : 0;
  return (from & 7) == higher ? higher : 0;
}

int unpack_offset(llrt_dtype type) {
  const number_format *format = number_format_of(type);
  return format->is_signed ? 1 << (format->bits - 1) : 0;
}

bool unpack_fits(llrt_dtype type, unpack_format format) {
  return llrt_dtype_bits(type) <= format.mantissa;
}

LLVMValueRef unpack_integer(emitter *e, LLVMValueRef word, int index, const plan_map *map,
                            LLVMValueRef less) {
  unpack_format format = unpack_format_of((llrt_dtype)map->to);
  int p = unpack_integer_place(format, index, map), bits = llrt_dtype_bits((llrt_dtype)map->from);
  unsigned base = unpack_power(format, format.mantissa),
           sign = (unsigned)unpack_offset((llrt_dtype)map->from);
  const uint8_t *perm = map->words ? map->perm : NULL;
  LLVMValueRef codes =
      place_and_xor(e, word, index, perm, places_from(bits, p, bits), base | sign << p);
  if (!less) less = unpack_twice(e, 0x8000 | unpack_power(format, format.mantissa - p) | sign << p);
  return e->ops->multiply_pair(e, (llrt_dtype)map->to, codes,
                               unpack_twice(e, unpack_power(format, -p)), less);
}

/* Integers of a bit more than the mantissa has: their other bits make 2^m + them, from which 2^m or
 * 2^(m + 1) is taken, whose codes differ in the place of the highest bit. So unsigned ones are 2^m
 * less, which is added then. */
static LLVMValueRef unpack_long_integer(emitter *e, LLVMValueRef word, int index,
                                        const plan_map *map) {
  llrt_dtype type = (llrt_dtype)map->to;
  unpack_format format = unpack_format_of(type);
  const int m = format.mantissa;
  bool is_signed = unpack_offset((llrt_dtype)map->from) > 0;
  const uint8_t *perm = map->words ? map->perm : NULL;
  code_places top = places_from(m + 1, 0, 0);
  top.at[m] = m;
  unsigned one = unpack_power(format, 0), base = unpack_power(format, m);
  LLVMValueRef codes = place_and_xor(e, word, index, perm, places_from(m + 1, 0, m), base);
  LLVMValueRef less =
      place_and_xor(e, word, index, perm, top, 0x8000 | base | (is_signed ? 0 : 1u << m));
  codes = e->ops->multiply_pair(e, type, codes, unpack_twice(e, one), less);
  return is_signed
             ? codes
             : e->ops->multiply_pair(e, type, codes, unpack_twice(e, one), unpack_twice(e, base));
}

LLVMValueRef unpack_encoded(emitter *e, llrt_dtype to, const LLVMValueRef x[2]) {
  LLVMValueRef made[2];
  if (to == LLRT_F16) {
    for (int i = 0; i < 2; i++) {
      LLVMValueRef half = LLVMBuildFPTrunc(e->builder, x[i], LLVMHalfTypeInContext(e->context), "");
      made[i] = LLVMBuildZExt(
          e->builder, LLVMBuildBitCast(e->builder, half, emit_int_type(e, 16), ""), e->i32, "");
    }
  } else {
    emit_encode_pair(e, to, x, made);
  }
  return LLVMBuildOr(e->builder, LLVMBuildShl(e->builder, made[1], emit_i32(e, 16), ""), made[0],
                     "");
}

LLVMValueRef unpack_numbers(emitter *e, llrt_dtype from, llrt_dtype to,
                            const LLVMValueRef code[2]) {
  LLVMValueRef x[2];
  emit_decode_pair(e, from, code, x);
  return unpack_encoded(e, to, x);
}

/* e5m2 is the upper half of f16. */
static LLVMValueRef unpack_float(emitter *e, LLVMValueRef word, int index, const plan_map *map) {
  const uint8_t *perm = map->words ? map->perm : NULL;
  if (map->from == LLRT_E5M2 && map->to == LLRT_F16)
    return place_pair(e, word, index, perm, places_from(8, 8, 8));
  LLVMValueRef both = place_pair(e, word, index, perm, places_from(8, 0, 8));
  LLVMValueRef code[] = {LLVMBuildAnd(e->builder, both, emit_i32(e, 0xff), ""),
                         LLVMBuildLShr(e->builder, both, emit_i32(e, 16), "")};
  return unpack_numbers(e, (llrt_dtype)map->from, (llrt_dtype)map->to, code);
}

/* log2 elements of such a type in a word; 0: there are no such. */
static int unpacked_word(llrt_dtype type) {
  static const llrt_dtype types[] = {LLRT_E2M1, LLRT_I4, LLRT_U4, LLRT_E4M3,
                                     LLRT_E5M2, LLRT_I8, LLRT_U8};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (types[i] == type) return bits_log2(32 / llrt_dtype_bits(type));
  return 0;
}

bool emit_unpacks(const emitter *e, const plan_step *step, const plan_map *map) {
  const plan_value *in = &e->kernel->value[step->in], *out = &e->kernel->value[step->out];
  bool halves = map->to == LLRT_F16 || map->to == LLRT_BF16;
  int word = unpacked_word((llrt_dtype)map->from);
  bool words = word == 3 || (word == 2 && step->lazy);
  bool tables = !step->lazy && !map->words && map->from == LLRT_E2M1 && e->ops->nibble_selectors;
  return map->kind == PLAN_MAP_CAST && e->ops->multiply_pair && halves && words &&
         in->word == word && out->word == 1 && !tables;
}

LLVMValueRef unpack_word(emitter *e, const plan_step *step, const plan_map *map, int w) {
  llrt_dtype type = (llrt_dtype)map->from;
  int pairs = 16 / llrt_dtype_bits(type), index = w % pairs * 2;
  LLVMValueRef word = emit_word(e, step->in, w / pairs);
  if (type == LLRT_E2M1) return unpack_e2m1(e, word, index, map);
  if (!unpack_is_integer(type)) return unpack_float(e, word, index, map);
  bool fits = unpack_fits(type, unpack_format_of((llrt_dtype)map->to));
  return fits ? unpack_integer(e, word, index, map, NULL)
              : unpack_long_integer(e, word, index, map);
}
