/* e2m1 times e8m0 made numbers of e5m2, four a word: bytes out of a table of the eight magnitudes
 * times the scale, which a byte permute takes by the elements' own bits. A magnitude's exponent and
 * the scale's add, so a table is two products of the scale's byte; scales are promised to lie where
 * all of them are normal numbers. */
#include "jit/emit/core/builder.h"
#include "jit/emit/value/emit_value.h"

#include "base/bits.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/types/bit_network.h"
#include "jit/plan/types/dot_packed.h"

#include <string.h>

#define MANTISSA 2 /* bits, of e5m2 */
#define ONE 127    /* of e8m0 */
#define MAGNITUDES 0x77777777
#define SIGNS 0x80808080

bool emit_scales_bytes(const emitter *e, const plan_step *step, const plan_map *map) {
  const plan_value *in = &e->kernel->value[step->in], *out = &e->kernel->value[step->out];
  bool types = map->from == LLRT_E2M1 && map->to == LLRT_E5M2 && map->scale == LLRT_E8M0;
  int least = map->low - ONE - map->shift, most = map->high - ONE - map->shift;
  return map->kind == PLAN_MAP_SCALE && step->by_value && types && !map->subtracts &&
         e->ops->nibble_selectors && in->word == 3 && out->word == 2 && map->low > 0 &&
         least >= -DOT_PACKED_REACH && most <= DOT_PACKED_REACH &&
         plan_reduced_register(in, &e->kernel->value[step->second], 3) == 0; /* a word's have one */
}

/* Codes of 4 of the magnitudes, those from `first` on, times 2^(byte - ONE - shift). */
static LLVMValueRef table_of(emitter *e, const plan_map *map, LLVMValueRef byte, int first) {
  const number_format *format = number_format_of(LLRT_E2M1);
  uint32_t each = 0, sum = 0;
  for (int i = 0; i < 4; i++) {
    double magnitude = number_value(format, (uint64_t)(first + i));
    if (magnitude == 0) continue;
    uint32_t code = (uint32_t)number_code(number_format_of(LLRT_E5M2), magnitude);
    each += 1u << (8 * i + MANTISSA);
    sum += (code - ((uint32_t)(ONE + map->shift) << MANTISSA)) << 8 * i;
  }
  LLVMValueRef product = LLVMBuildMul(e->builder, byte, emit_i32(e, (int)each), "");
  return LLVMBuildAdd(e->builder, product, emit_i32(e, (int)sum), "");
}

/* The table of scale `index`, two words. */
static LLVMValueRef *prepared_table(emitter *e, const plan_step *step, const plan_map *map,
                                    uint64_t index) {
  const plan_value *scales = &e->kernel->value[step->second];
  LLVMValueRef *table = &e->prepared[step->out][2 * index];
  if (table[0]) return table;
  const int selector[4] = {(int)(index & bits_mask(scales->word)), 4, 4, 4};
  LLVMValueRef byte =
      emit_permute(e, e->value[step->second][index >> scales->word], emit_i32(e, 0), selector);
  for (int i = 0; i < 2; i++) table[i] = table_of(e, map, byte, 4 * i);
  return table;
}

/* A word whose bits lie as dot_packed_words has them for bytes. */
static LLVMValueRef ordered(emitter *e, const plan_map *map, LLVMValueRef word) {
  uint8_t packed[32], formed[32], wanted[32];
  bit_network net;
  dot_packed_words(LLRT_E2M1, LLRT_E5M2, true, packed, formed);
  bool same = true;
  for (int i = 0; i < 32; i++) {
    wanted[formed[i]] = map->words ? map->perm[i] : (uint8_t)i;
    same &= wanted[formed[i]] == formed[i];
  }
  if (same) return word;
  bit_network_make(wanted, &net);
  return emit_permuted_word(e, &net, word);
}

LLVMValueRef emit_scaled_bytes(emitter *e, const plan_step *step, const plan_map *map, int w) {
  const plan_value *in = &e->kernel->value[step->in], *scales = &e->kernel->value[step->second];
  const LLVMValueRef *table =
      prepared_table(e, step, map, plan_reduced_register(in, scales, (uint64_t)w * 4));
  LLVMValueRef word = ordered(e, map, e->value[step->in][w / 2]);
  LLVMValueRef selector = LLVMBuildAnd(e->builder, word, emit_i32(e, MAGNITUDES), "");
  if (w % 2) {
    selector = LLVMBuildLShr(e->builder, selector, emit_i32(e, 16), "");
    word = LLVMBuildShl(e->builder, word, emit_i32(e, 4), "");
  }
  LLVMValueRef magnitudes = e->ops->permute(e, table[0], table[1], selector);
  return LLVMBuildOr(e->builder, magnitudes,
                     LLVMBuildAnd(e->builder, word, emit_i32(e, (int)SIGNS), ""), "");
}
