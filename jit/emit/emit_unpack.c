/* Values of narrow elements made 16-bit floats, and scaled, two a word, without looking at elements one by one.
 *
 * e2m1: sign, exponent and mantissa go to where a 16-bit float has its own, which makes of a code the number times
 * 2^(1 - bias of that type): one product by a power of two puts that right, exactly, zeros and halves too.
 * Integers of 4 bits are put behind the point of a number 2^p whose last place is 1, from which 2^p is taken
 * (and 8 more where bit 3 is a sign, which is turned over first). */
#include "jit/emit/builder.h"

#include "base/bits.h"

#include <string.h>

/* A 16-bit float's code: exponent bias, bits of the mantissa. */
typedef struct half_format {
  int bias, mantissa;
} half_format;

static half_format format_of(llrt_dtype type) {
  return type == LLRT_F16 ? (half_format){15, 10} : (half_format){127, 7};
}

/* Both halves of a word a 16-bit code. */
static LLVMValueRef twice(const emitter *e, unsigned code) {
  return LLVMConstInt(e->i32, (uint64_t)code << 16 | code, false);
}

/* 2^exponent as a code. */
static unsigned power_of_two(half_format format, int exponent) {
  return (unsigned)(exponent + format.bias) << format.mantissa;
}

/* ---- where bits go ---- */

/* Two elements' way from their word to the halves of another: the bits that arrive by a rotation to the left. */
typedef struct pair_ways {
  uint32_t mask[32], all;
} pair_ways;

/* Of elements `index` and index + 1, bit b of a code to place[b]; perm: where a bit of the word comes from. */
static pair_ways ways_of(int index, const uint8_t *perm, const int place[4]) {
  pair_ways ways = {.all = 0};
  for (int i = 0; i < 2; i++)
    for (int b = 0; b < 4; b++) {
      int bit = 4 * (index + i) + b, from = perm ? perm[bit] : bit, to = 16 * i + place[b];
      ways.mask[(to - from) & 31] |= 1u << to;
      ways.all |= 1u << to;
    }
  return ways;
}

static LLVMValueRef all_ways(emitter *e, LLVMValueRef word, const pair_ways *ways) {
  LLVMValueRef sum = NULL;
  for (int r = 0; r < 32; r++) {
    if (!ways->mask[r]) continue;
    LLVMValueRef part = LLVMBuildAnd(e->builder, emit_rotated(e, word, r, ways->mask[r]), emit_i32(e, ways->mask[r]), "");
    sum = sum ? LLVMBuildOr(e->builder, sum, part, "") : part;
  }
  return sum;
}

/* Whether b's bits go as a's, each from a byte lower in its half: then both meet in one word, which costs one way of each
 * rotation, and of which b's are the lower bytes. */
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

/* Elements `index` and index + 1 of a word, each in its half, bit b of a code at place[b]. */
static LLVMValueRef place_pair(emitter *e, LLVMValueRef word, int index, const uint8_t *perm, const int place[4]) {
  pair_ways ways = ways_of(index, perm, place), other = ways_of(index ^ 2, perm, place), both;
  const int low_bytes[4] = {4, 0, 4, 2};
  if (join_ways(&ways, &other, &both))
    return LLVMBuildAnd(e->builder, all_ways(e, word, &both), emit_i32(e, (int)ways.all), "");
  if (join_ways(&other, &ways, &both)) return emit_permute(e, all_ways(e, word, &both), emit_i32(e, 0), low_bytes);
  return all_ways(e, word, &ways);
}

/* The same, each with `bits` turned over. */
static LLVMValueRef place_and_xor(emitter *e, LLVMValueRef word, int index, const uint8_t *perm, const int place[4],
                                  unsigned bits) {
  pair_ways ways = ways_of(index, perm, place);
  for (int r = 0; r < 32 && e->ops->mask_xor; r++)
    if (ways.mask[r] == ways.all) return e->ops->mask_xor(e, emit_rotated(e, word, r, ways.all), ways.all, bits << 16 | bits);
  return LLVMBuildXor(e->builder, place_pair(e, word, index, perm, place), twice(e, bits), "");
}

/* ---- elements ---- */

/* The codes times 2^(1 - bias). */
static LLVMValueRef place_e2m1(emitter *e, LLVMValueRef word, int index, const plan_map *map) {
  const int m = format_of((llrt_dtype)map->to).mantissa, place[4] = {m - 1, m, m + 1, 15};
  return place_pair(e, word, index, map->words ? map->perm : NULL, place);
}

static LLVMValueRef unpack_e2m1(emitter *e, LLVMValueRef word, int index, const plan_map *map) {
  half_format format = format_of((llrt_dtype)map->to);
  LLVMValueRef codes = place_e2m1(e, word, index, map);
  LLVMValueRef factor = twice(e, power_of_two(format, format.bias - 1));
  return e->ops->multiply_pair(e, (llrt_dtype)map->to, codes, factor, NULL);
}

/* Where the mantissa takes the codes of two integers: at the lowest bits, or higher where a shift by whole bytes, which
 * other elements of the word share, brings them. */
static int integer_place(half_format format, int index, const plan_map *map) {
  int from = map->words ? map->perm[4 * index] & 15 : 0, place = from & 7;
  return place + 4 <= format.mantissa ? place : 0;
}

static LLVMValueRef unpack_integer(emitter *e, LLVMValueRef word, int index, const plan_map *map) {
  half_format format = format_of((llrt_dtype)map->to);
  int p = integer_place(format, index, map), offset = map->from == LLRT_I4 ? 8 : 0;
  const int place[4] = {p, p + 1, p + 2, p + 3};
  unsigned base = power_of_two(format, format.mantissa), sign = (unsigned)offset;
  LLVMValueRef codes = place_and_xor(e, word, index, map->words ? map->perm : NULL, place, base | sign << p);
  unsigned less = power_of_two(format, format.mantissa - p) | sign << p;
  return e->ops->multiply_pair(e, (llrt_dtype)map->to, codes, twice(e, power_of_two(format, -p)), twice(e, 0x8000 | less));
}

bool emit_unpacks(const emitter *e, const plan_step *step, const plan_map *map) {
  const plan_value *in = &e->kernel->value[step->in], *out = &e->kernel->value[step->out];
  bool halves = map->to == LLRT_F16 || map->to == LLRT_BF16;
  bool four = map->from == LLRT_E2M1 || map->from == LLRT_I4 || map->from == LLRT_U4;
  bool tables = !step->lazy && !map->words && map->from == LLRT_E2M1 && e->ops->nibble_selectors;
  return map->kind == PLAN_MAP_CAST && e->ops->multiply_pair && halves && four && in->word == 3 && out->word == 1 && !tables;
}

static LLVMValueRef unpacked(emitter *e, const plan_step *step, const plan_map *map, int w) {
  LLVMValueRef word = emit_word(e, step->in, w / 4);
  int index = w % 4 * 2;
  return map->from == LLRT_E2M1 ? unpack_e2m1(e, word, index, map) : unpack_integer(e, word, index, map);
}

/* ---- scales ---- */

/* e8m0 as bf16, in both halves: the byte is the exponent, but for 0, which is a subnormal number, and 255, which is
 * NaN, as infinity times 0. bytes: it twice, in the upper byte of each half. */
static LLVMValueRef bf16_of(emitter *e, const plan_map *map, LLVMValueRef bytes) {
  LLVMValueRef args[] = {LLVMBuildLShr(e->builder, bytes, emit_i32(e, 1), ""), twice(e, 0x0040)}, code = args[0];
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

/* Element `index` of a value of scales, as a 16-bit code in both halves of a word. */
static LLVMValueRef scale_pair(emitter *e, const plan_map *map, const plan_value *scales, const LLVMValueRef *words,
                               uint64_t index) {
  LLVMValueRef word = words[index >> scales->word];
  int at = (int)(index & bits_mask(scales->word)), half = at * 2;
  if (scales->bits == 16) {
    const int selector[4] = {half, half + 1, half, half + 1};
    return emit_permute(e, word, emit_i32(e, 0), selector);
  }
  const int selector[4] = {4, at, 4, at};
  LLVMValueRef bytes = emit_permute(e, word, emit_i32(e, 0), selector);
  return map->to == LLRT_F16 ? f16_of(e, bytes) : bf16_of(e, map, bytes);
}

/* Whether a product of two numbers of the type, rounded once, is the map's. */
static bool is_pairwise(const plan_map *map) {
  if (map->subtracts || map->from != map->to) return false;
  bool f16 = map->to == LLRT_F16, e8m0 = map->scale == LLRT_E8M0;
  if (!f16 && map->to != LLRT_BF16) return false;
  return map->scale == map->to || (e8m0 && (!f16 || (map->low >= F16_LOW && map->high <= F16_HIGH)));
}

bool emit_scales_by_halves(const emitter *e, llrt_dtype scale, llrt_dtype to) {
  static const llrt_dtype eighths[] = {LLRT_E4M3, LLRT_E5M2, LLRT_E4M3FNUZ, LLRT_E5M2FNUZ};
  bool halves = to == LLRT_F16 || to == LLRT_BF16, held = scale == to || (scale == LLRT_E8M0 && to == LLRT_BF16);
  for (size_t i = 0; i < sizeof eighths / sizeof *eighths; i++) held |= scale == eighths[i];
  return e->ops->multiply_pair && halves && held;
}

bool emit_scales_pairs(const emitter *e, const plan_step *step, const plan_map *map) {
  const plan_value *in = &e->kernel->value[step->in];
  return map->kind == PLAN_MAP_SCALE && e->ops->multiply_pair && step->by_value && is_pairwise(map) && in->word == 1 &&
         plan_reduced_register(in, &e->kernel->value[step->second], 1) == 0; /* neighbours have one */
}

/* The step that places e2m1, where the scales of a SCALE behind it can take up the power of two that is missing: their
 * exponents leave room for it, and the one product that is left rounds as the map's does. NULL: they cannot. */
#define SCALE_HIGH 128
static const plan_step *placed_before(const emitter *e, const plan_step *step, const plan_map *map) {
  const plan_step *cast = e->lazy[step->in];
  bool room = map->scale == LLRT_E8M0 && map->low > 0 && map->high <= SCALE_HIGH;
  if (!room || !cast || !cast->lazy || !step->lazy) return NULL;
  return e->kernel->map[cast->map].kind == PLAN_MAP_CAST && e->kernel->map[cast->map].from == LLRT_E2M1 ? cast : NULL;
}

static LLVMValueRef scaled(emitter *e, const plan_step *step, const plan_map *map, int w) {
  const plan_value *in = &e->kernel->value[step->in], *scales = &e->kernel->value[step->second];
  uint64_t index = plan_reduced_register(in, scales, (uint64_t)w * 2);
  LLVMValueRef *known = &e->prepared[step->out][index];
  const plan_step *placed = placed_before(e, step, map);
  half_format format = format_of((llrt_dtype)map->to);
  if (!*known) {
    *known = scale_pair(e, map, scales, e->value[step->second], index);
    if (placed) *known = LLVMBuildAdd(e->builder, *known, twice(e, (unsigned)(format.bias - 1) << format.mantissa), "");
  }
  if (placed) {
    LLVMValueRef codes = place_e2m1(e, emit_word(e, placed->in, w / 4), w % 4 * 2, &e->kernel->map[placed->map]);
    return e->ops->multiply_pair(e, (llrt_dtype)map->to, codes, *known, NULL);
  }
  return e->ops->multiply_pair(e, (llrt_dtype)map->to, emit_word(e, step->in, w), *known, NULL);
}

/* ---- words ---- */

LLVMValueRef emit_word(emitter *e, int value, int w) {
  const plan_step *step = e->lazy[value];
  LLVMValueRef *word = &e->value[value][w];
  if (!step || *word) return *word;
  if (step->kind == PLAN_SHARED_LOAD) {
    emit_matrix_word(e, step, w);
    return *word;
  }
  const plan_map *map = &e->kernel->map[step->map];
  if (emit_scales_bytes(e, step, map)) return *word = emit_scaled_bytes(e, step, map, w);
  return *word = map->kind == PLAN_MAP_CAST ? unpacked(e, step, map, w) : scaled(e, step, map, w);
}

void emit_map_words(emitter *e, const plan_step *step) {
  int n_words = emit_word_count(&e->kernel->value[step->out]);
  e->lazy[step->out] = step;
  memset(e->value[step->out], 0, sizeof e->value[step->out]);
  memset(e->prepared[step->out], 0, sizeof e->prepared[step->out]);
  for (int w = 0; w < n_words && !step->lazy; w++) emit_word(e, step->out, w);
}
