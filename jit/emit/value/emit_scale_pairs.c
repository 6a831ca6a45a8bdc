/* Scales and zero points that a value has (PLAN_MAP by_value) of 16-bit floats, two elements a
 * word: made when a word first wants them. */
#include "jit/emit/core/builder.h"
#include "jit/emit/value/emit_unpack.h"
#include "jit/emit/value/emit_value.h"

#include "base/bits.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/types/number.h"

#include <string.h>

/* ---- scales ---- */

/* e8m0 as bf16, in both halves: the byte is the exponent, but for 0, which is a subnormal number,
 * and 255, which is NaN, as infinity times 0. bytes: the scale twice, in the upper byte of each
 * half. */
static LLVMValueRef bf16_of(emitter *e, const plan_map *map, LLVMValueRef bytes) {
  LLVMValueRef args[] = {LLVMBuildLShr(e->builder, bytes, emit_i32(e, 1), ""),
                         unpack_twice(e, 0x0040)},
               code = args[0];
  if (map->low > 0 && map->high < 255) return code;
  code = emit_intrinsic(e, "llvm.umax", &e->i32, 1, args, 2); /* of equal halves */
  return e->ops->multiply_pair(e, LLRT_BF16, code, emit_i32(e, 0), code);
}

/* e8m0 as f16: exponents that both have. What the lower half's sum carries is the constant's. */
#define F16_LOW 113
#define F16_HIGH 142
static LLVMValueRef f16_of(emitter *e, LLVMValueRef bytes) {
  LLVMValueRef code = LLVMBuildShl(e->builder, bytes, emit_i32(e, 2), "");
  return LLVMBuildSub(e->builder, code, emit_i32(e, ((F16_LOW - 1u) << 10) * 65537u), "");
}

/* An element of a value of scales or zero points, in both halves of a word: its bytes lowest, or (8
 * bits) highest. */
static LLVMValueRef element_pair(emitter *e, const plan_value *scales, const LLVMValueRef *words,
                                 uint64_t index, bool high) {
  LLVMValueRef word = words[index >> scales->word];
  int at = (int)(index & bits_mask(scales->word)) * scales->bits, byte = at / 8;
  const int halves[4] = {byte, byte + 1, byte, byte + 1}, low[4] = {byte, 4, byte, 4},
            upper[4] = {4, byte, 4, byte};
  word = emit_permute(e, word, emit_i32(e, 0), scales->bits == 16 ? halves : high ? upper : low);
  if (scales->bits >= 8) return word;
  if (at % 8) word = LLVMBuildLShr(e->builder, word, emit_i32(e, at % 8), "");
  return LLVMBuildAnd(e->builder, word, unpack_twice(e, (unsigned)bits_mask(scales->bits)), "");
}

/* The same as a number of the type: any that it holds. */
static LLVMValueRef number_pair(emitter *e, const plan_map *map, const plan_value *scales,
                                const LLVMValueRef *words, uint64_t index) {
  LLVMValueRef both = element_pair(e, scales, words, index, false);
  both = LLVMBuildAnd(e->builder, both, emit_i32(e, (int)bits_mask(scales->bits)), "");
  const LLVMValueRef code[] = {both, both};
  return unpack_numbers(e, (llrt_dtype)map->scale, (llrt_dtype)map->to, code);
}

/* Elements `index` and the one beside it as numbers of the type, each in both halves of a word:
 * they are decoded together. */
static void two_number_pairs(emitter *e, const plan_map *map, const plan_value *scales,
                             const LLVMValueRef *words, uint64_t index, LLVMValueRef *pairs) {
  LLVMValueRef word = words[index >> scales->word], code[2], x[2];
  for (int i = 0; i < 2; i++) {
    int at = (int)(((index & ~1ull) + (uint64_t)i) & bits_mask(scales->word)) * scales->bits;
    code[i] = LLVMBuildAnd(e->builder, LLVMBuildLShr(e->builder, word, emit_i32(e, at), ""),
                           emit_i32(e, 0xff), "");
  }
  emit_decode_pair(e, (llrt_dtype)map->scale, code, x);
  for (uint64_t i = 0; i < 2; i++) {
    const LLVMValueRef both[] = {x[i], x[i]};
    pairs[(index & ~1ull) + i] = unpack_encoded(e, (llrt_dtype)map->to, both);
  }
}

/* Element `index` of a value of scales, as a 16-bit code in both halves of a word. */
static LLVMValueRef scale_pair(emitter *e, const plan_map *map, const plan_value *scales,
                               const LLVMValueRef *words, uint64_t index) {
  if (map->scale == map->to) return element_pair(e, scales, words, index, false);
  if (map->scale != LLRT_E8M0) return number_pair(e, map, scales, words, index);
  LLVMValueRef bytes = element_pair(e, scales, words, index, true);
  return map->to == LLRT_F16 ? f16_of(e, bytes) : bf16_of(e, map, bytes);
}

/* Whether a product of two numbers of the type, rounded once, is the map's, or a difference from
 * integers. */
static bool is_pairwise(const plan_map *map) {
  bool f16 = map->to == LLRT_F16, e8m0 = map->scale == LLRT_E8M0;
  if (map->from != map->to || (!f16 && map->to != LLRT_BF16)) return false;
  if (map->subtracts) return unpack_is_integer((llrt_dtype)map->scale);
  bool power = e8m0 && (!f16 || (map->low >= F16_LOW && map->high <= F16_HIGH));
  return map->scale == map->to || map->scale == LLRT_E4M3 || power;
}

bool emit_scales_by_halves(const emitter *e, llrt_dtype scale, llrt_dtype to) {
  static const llrt_dtype eighths[] = {LLRT_E4M3, LLRT_E5M2, LLRT_E4M3FNUZ, LLRT_E5M2FNUZ};
  bool halves = to == LLRT_F16 || to == LLRT_BF16,
       held = scale == to || (scale == LLRT_E8M0 && to == LLRT_BF16);
  for (size_t i = 0; i < sizeof eighths / sizeof *eighths; i++) held |= scale == eighths[i];
  return e->ops->multiply_pair && halves && held;
}

bool emit_scales_pairs(const emitter *e, const plan_step *step, const plan_map *map) {
  const plan_value *in = &e->kernel->value[step->in];
  return map->kind == PLAN_MAP_SCALE && e->ops->multiply_pair && step->by_value &&
         is_pairwise(map) && in->word == 1 &&
         plan_reduced_register(in, &e->kernel->value[step->second], 1) ==
             0; /* neighbours have one */
}

/* The step that places e2m1, where the scales of a SCALE behind it can take up the power of two
 * that is missing: their exponents leave room for it, and the one product that is left rounds as
 * the map's does. NULL: they cannot. */
#define SCALE_HIGH 128
static const plan_step *placed_before(const emitter *e, const plan_step *step,
                                      const plan_map *map) {
  const plan_step *cast = e->lazy[step->in];
  bool room = map->scale == LLRT_E8M0 && map->low > 0 && map->high <= SCALE_HIGH;
  if (!room || !cast || !cast->lazy || !step->lazy) return NULL;
  return e->kernel->map[cast->map].kind == PLAN_MAP_CAST &&
                 e->kernel->map[cast->map].from == LLRT_E2M1
             ? cast
             : NULL;
}

static LLVMValueRef scaled(emitter *e, const plan_step *step, const plan_map *map, int w) {
  const plan_value *in = &e->kernel->value[step->in], *scales = &e->kernel->value[step->second];
  uint64_t index = plan_reduced_register(in, scales, (uint64_t)w * 2);
  LLVMValueRef *known = &e->prepared[step->out][index];
  const plan_step *placed = placed_before(e, step, map);
  unpack_format format = unpack_format_of((llrt_dtype)map->to);
  if (!*known && scales->bits == 8 && scales->word > 0 && map->scale != LLRT_E8M0)
    two_number_pairs(e, map, scales, e->value[step->second], index, e->prepared[step->out]);
  if (!*known) {
    *known = scale_pair(e, map, scales, e->value[step->second], index);
    unsigned room = (unsigned)(format.bias - 1) << format.mantissa;
    if (placed) *known = LLVMBuildAdd(e->builder, *known, unpack_twice(e, room), "");
  }
  if (placed) {
    LLVMValueRef codes = unpack_place_e2m1(e, emit_word(e, placed->in, w / 4), w % 4 * 2,
                                           &e->kernel->map[placed->map]);
    return e->ops->multiply_pair(e, (llrt_dtype)map->to, codes, *known, NULL);
  }
  return e->ops->multiply_pair(e, (llrt_dtype)map->to, emit_word(e, step->in, w), *known, NULL);
}

/* ---- zero points ---- */

/* The step that puts integers behind the point of a large number, where a fused multiply-add may
 * take that number and their zero points away at once: their sum is a number with the same last
 * place. NULL: there is none. */
static const plan_step *integers_before(const emitter *e, const plan_step *step,
                                        const plan_map *map) {
  const plan_step *cast = e->lazy[step->in];
  if (!cast || !cast->lazy || !step->lazy) return NULL;
  const plan_map *made = &e->kernel->map[cast->map];
  if (made->kind != PLAN_MAP_CAST || !unpack_is_integer((llrt_dtype)made->from)) return NULL;
  if (!unpack_fits((llrt_dtype)made->from, unpack_format_of((llrt_dtype)map->to))) return NULL;
  const number_format *zero = number_format_of((llrt_dtype)map->scale);
  unpack_format format = unpack_format_of((llrt_dtype)map->to);
  int most =
      format.mantissa - unpack_highest_place(format, llrt_dtype_bits((llrt_dtype)made->from));
  int sign = unpack_offset((llrt_dtype)map->scale), offset = unpack_offset((llrt_dtype)made->from);
  return offset >= sign && offset - sign + (int)bits_mask(zero->bits) < 1 << most ? cast : NULL;
}

/* What is taken from integers at a place of the mantissa, with the zero point `index`. */
static LLVMValueRef less_zero(emitter *e, const plan_step *step, const plan_map *cast, int place,
                              uint64_t index) {
  const plan_map *map = &e->kernel->map[step->map];
  const plan_value *zeros = &e->kernel->value[step->second];
  unpack_format format = unpack_format_of((llrt_dtype)map->to);
  unsigned sign = (unsigned)unpack_offset((llrt_dtype)map->scale);
  unsigned offset = (unsigned)unpack_offset((llrt_dtype)cast->from);
  LLVMValueRef code = element_pair(e, zeros, e->value[step->second], index, false);
  if (sign) code = LLVMBuildXor(e->builder, code, unpack_twice(e, sign), "");
  if (place) code = LLVMBuildShl(e->builder, code, emit_i32(e, place), "");
  unsigned base = 0x8000 | unpack_power(format, format.mantissa - place) | (offset - sign) << place;
  return LLVMBuildAdd(e->builder, code, unpack_twice(e, base), "");
}

static LLVMValueRef subtracted(emitter *e, const plan_step *step, const plan_map *map, int w) {
  const plan_value *in = &e->kernel->value[step->in], *zeros = &e->kernel->value[step->second];
  const plan_step *before = integers_before(e, step, map);
  uint64_t index = plan_reduced_register(in, zeros, (uint64_t)w * 2);
  llrt_dtype type = (llrt_dtype)map->to;
  LLVMValueRef *known = &e->prepared[step->out][index];
  if (!before) {
    LLVMValueRef one = unpack_twice(e, unpack_power(unpack_format_of(type), 0));
    if (!*known) {
      *known = number_pair(e, map, zeros, e->value[step->second], index);
      *known = LLVMBuildXor(e->builder, *known, unpack_twice(e, 0x8000), "");
    }
    return e->ops->multiply_pair(e, type, emit_word(e, step->in, w), one, *known);
  }
  const plan_map *cast = &e->kernel->map[before->map];
  int pairs = 16 / llrt_dtype_bits((llrt_dtype)cast->from), pair = w % pairs * 2;
  int place = unpack_integer_place(unpack_format_of(type), pair, cast);
  if (place) known = &e->prepared[before->out][index]; /* there are two places */
  if (!*known) *known = less_zero(e, step, cast, place, index);
  return unpack_integer(e, emit_word(e, before->in, w / pairs), pair, cast, *known);
}

LLVMValueRef scale_pairs_word(emitter *e, const plan_step *step, const plan_map *map, int w) {
  return map->subtracts ? subtracted(e, step, map, w) : scaled(e, step, map, w);
}
