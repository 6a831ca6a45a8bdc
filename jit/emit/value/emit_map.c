/* PLAN_MAP: what happens to elements on their way. Maps of bits work on whole words (GPU) or
 * vectors (host); casts take elements out of their words, two at a time. */
#include "jit/emit/core/builder.h"
#include "jit/emit/value/emit_value.h"

#include "base/bits.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/types/bit_network.h"

/* ---- XOR ---- */

/* `constant` in every element of a word or vector of `type`. */
static LLVMValueRef element_constant(const plan_value *value, LLVMTypeRef type, uint64_t constant) {
  int bits = value->bits;
  uint64_t word = 0;
  constant &= bits_mask(bits);
  for (int i = 0; i < 1 << value->word; i++) word |= constant << (i * bits);
  return emit_splat(type, word);
}

/* ---- bits of words ---- */

/* Words, or on the host lanes of vectors, of 32 or 64 bits: then both halves. */
static LLVMValueRef permute_lanes(emitter *e, const uint8_t perm[32], LLVMValueRef x) {
  uint64_t columns[64];
  for (int i = 0; i < 32; i++) {
    columns[perm[i]] = 1ull << i;
    columns[perm[i] + 32] = 1ull << (i + 32);
  }
  return emit_linear(e, x, columns, LLVMTypeOf(x) == e->i64 ? 64 : 32);
}

/* A host vector seen as 32-bit words. */
static LLVMValueRef permute_vector(emitter *e, const uint8_t perm[32], LLVMValueRef x) {
  LLVMTypeRef type = LLVMTypeOf(x);
  bool vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
  unsigned bits = vector ? LLVMGetVectorSize(type) * LLVMGetIntTypeWidth(LLVMGetElementType(type))
                         : LLVMGetIntTypeWidth(type);
  LLVMTypeRef words = bits > 32 ? LLVMVectorType(e->i32, bits / 32) : e->i32;
  x = permute_lanes(e, perm, LLVMBuildBitCast(e->builder, x, words, ""));
  return LLVMBuildBitCast(e->builder, x, type, "");
}

/* The bits of each of n words, whose elements are all of one type. */
static void permute_words(emitter *e, const uint8_t perm[32], const LLVMValueRef *words, int n,
                          LLVMValueRef *made) {
  bit_network net;
  bool by_steps = e->ops->permute && LLVMTypeOf(words[0]) == e->i32;
  if (by_steps) bit_network_make(perm, &net);
  for (int w = 0; w < n; w++)
    made[w] = by_steps          ? emit_permuted_word(e, &net, words[w])
              : emit_is_host(e) ? permute_vector(e, perm, words[w])
                                : permute_lanes(e, perm, words[w]);
}

static void map_bits(emitter *e, const plan_step *step, const plan_map *map) {
  const plan_value *value = &e->kernel->value[step->in];
  LLVMValueRef *from = e->value[step->in], *to = e->value[step->out];
  int n_words = emit_word_count(value);
  if (map->kind == PLAN_MAP_WORD_BITS) permute_words(e, map->perm, from, n_words, to);
  else
    for (int w = 0; w < n_words; w++)
      to[w] = LLVMBuildXor(e->builder, from[w],
                           element_constant(value, LLVMTypeOf(from[w]), map->constant), "");
}

/* ---- elements ---- */

/* A step that treats elements as numbers. */
typedef struct caster {
  emitter *e;
  const plan_value *in, *out;
  LLVMValueRef *from, *to; /* words */
  llrt_dtype from_type, to_type;
  bool wide, truth, any_nan, fits;
  emit_scales *scales;       /* NULL: a plain cast, or scales of a value */
  const plan_step *by_value; /* the step that has such */
  const plan_map *map;
  const LLVMValueRef *permuted; /* words whose bits were permuted, by word; NULL: as they are */
  const LLVMValueRef
      *halves; /* the elements as bf16, two a word; NULL: each is taken out of its word */
} caster;

static const LLVMValueRef *words_of(const caster *c) { return c->permuted ? c->permuted : c->from; }

/* The scale of element `index` that the step's second value has, decoded. */
static LLVMValueRef value_scale(const caster *c, int index) {
  emitter *e = c->e;
  const plan_value *scales = &e->kernel->value[c->by_value->second];
  uint64_t own = plan_reduced_register(c->in, scales, (uint64_t)index);
  LLVMValueRef code = e->value[c->by_value->second][own >> scales->word];
  int at = (int)((own & bits_mask(scales->word)) * scales->bits);
  if (at > 0) code = LLVMBuildLShr(e->builder, code, emit_i32(e, at), "");
  if (scales->bits < 32)
    code = LLVMBuildAnd(e->builder, code, emit_i32(e, (int)bits_mask(scales->bits)), "");
  return emit_decode(e, (llrt_dtype)c->map->scale, c->wide, code);
}

/* x times the scale of element `index` (or minus it). Where the code generator would join the
 * product with a rounding to f16 (mixes_halves), the product is hidden from it. */
static LLVMValueRef scaled(const caster *c, int index, LLVMValueRef x) {
  emitter *e = c->e;
  if (!c->scales && !c->by_value) return x;
  LLVMValueRef scale = c->by_value ? value_scale(c, index) : emit_scale_of(c->scales, index);
  if (c->map->subtracts) return LLVMBuildFSub(e->builder, x, scale, "");
  LLVMValueRef product = LLVMBuildFMul(e->builder, x, scale, "");
  if (!e->ops->mixes_halves || c->to_type != LLRT_F16 || c->wide) return product;
  LLVMValueRef bits = LLVMBuildBitCast(e->builder, product, e->i32, "");
  return LLVMBuildBitCast(e->builder, e->ops->opaque(e, bits), LLVMTypeOf(product), "");
}

/* Codes have 32 bits, or 64 where the type does. */
static LLVMTypeRef code_type(const emitter *e, int bits, LLVMTypeRef like) {
  LLVMTypeRef scalar = bits == 64 ? e->i64 : e->i32;
  if (LLVMGetTypeKind(like) != LLVMVectorTypeKind) return scalar;
  return LLVMVectorType(scalar, LLVMGetVectorSize(like));
}

/* The code of element `index`: cut out of its word, or on the host out of lanes made wide. */
static LLVMValueRef take_code(const caster *c, int index) {
  const emitter *e = c->e;
  LLVMValueRef word = words_of(c)[index >> c->in->word];
  int bits = c->in->bits, place = index & (int)bits_mask(c->in->word);
  if (emit_is_host(e))
    word = LLVMBuildZExt(e->builder, word, code_type(e, bits, LLVMTypeOf(word)), "");
  if (place > 0)
    word =
        LLVMBuildLShr(e->builder, word, emit_splat(LLVMTypeOf(word), (uint64_t)(place * bits)), "");
  if (bits >= 32 || (emit_is_host(e) && bits >= 8)) return word;
  return LLVMBuildAnd(e->builder, word, emit_splat(LLVMTypeOf(word), bits_mask(bits)), "");
}

static void put_code(const caster *c, int index, LLVMValueRef code) {
  const emitter *e = c->e;
  LLVMValueRef *word = &c->to[index >> c->out->word];
  int bits = c->out->bits, place = index & (int)bits_mask(c->out->word);
  if (emit_is_host(e)) {
    LLVMTypeRef type = LLVMTypeOf(code), lane = emit_int_type(e, bits_max(bits, 8));
    bool vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
    type = vector ? LLVMVectorType(lane, LLVMGetVectorSize(type)) : lane;
    code = LLVMBuildTrunc(e->builder, code, type, "");
  }
  if (place > 0)
    code =
        LLVMBuildShl(e->builder, code, emit_splat(LLVMTypeOf(code), (uint64_t)(place * bits)), "");
  *word = place > 0 ? LLVMBuildOr(e->builder, *word, code, "") : code;
}

/* Whether an integer's code becomes another's of 32 bits or 64 by extension: the numbers are the
 * same, and pass through no float. */
static bool extends(const caster *c) {
  const number_format *from = number_format_of(c->from_type), *to = number_format_of(c->to_type);
  if (c->scales || c->by_value) return false;
  if (number_extends(c->from_type, c->to_type)) return true;
  if (!from || !to || from->kind != NUMBER_INTEGER || to->kind != NUMBER_INTEGER) return false;
  return to->bits == 32 && from->bits < 32 && (to->is_signed || !from->is_signed);
}

/* Such a code, sign- or zero-extended. */
static LLVMValueRef extended(const caster *c, LLVMValueRef code) {
  const emitter *e = c->e;
  const number_format *f = number_format_of(c->from_type);
  LLVMTypeRef type = LLVMTypeOf(code), wide = code_type(e, llrt_dtype_bits(c->to_type), type);
  LLVMValueRef unused = emit_splat(type, (uint64_t)(32 - f->bits));
  if (f->is_signed)
    code = LLVMBuildAShr(e->builder, LLVMBuildShl(e->builder, code, unused, ""), unused, "");
  if (wide == type) return code;
  return f->is_signed ? LLVMBuildSExt(e->builder, code, wide, "")
                      : LLVMBuildZExt(e->builder, code, wide, "");
}

/* A 64-bit integer's nearest f64, as bits. */
static LLVMValueRef nearest(const caster *c, LLVMValueRef code) {
  LLVMBuilderRef b = c->e->builder;
  LLVMTypeRef type = LLVMTypeOf(code);
  return LLVMBuildBitCast(b, LLVMBuildSIToFP(b, code, emit_number_type(c->e, LLRT_F64, type), ""),
                          type, "");
}

/* The bits of x as an f32 or f64, NaN as it is. */
static LLVMValueRef bits_of(const caster *c, LLVMValueRef x) {
  if (c->wide && c->to_type == LLRT_F32)
    x = LLVMBuildFPTrunc(c->e->builder, x, emit_number_type(c->e, LLRT_F32, LLVMTypeOf(x)), "");
  return LLVMBuildBitCast(c->e->builder, x, code_type(c->e, c->out->bits, LLVMTypeOf(x)), "");
}

/* Whether every element is a number of f16: nothing is rounded, so the compiler may leave out the
 * way by f32. Only where instructions decode pairs: they make one NaN of all, others keep its bits.
 */
static bool is_half_already(const caster *c) {
  bool narrow = c->from_type == LLRT_E4M3 || c->from_type == LLRT_E5M2;
  return narrow && c->to_type == LLRT_F16 && !c->scales && !c->by_value && c->e->ops->decode_pair;
}

static LLVMValueRef half_code(const caster *c, LLVMValueRef x) {
  emitter *e = c->e;
  LLVMValueRef half = LLVMBuildFPTrunc(e->builder, x, LLVMHalfTypeInContext(e->context), "");
  return LLVMBuildZExt(e->builder, LLVMBuildBitCast(e->builder, half, emit_int_type(e, 16), ""),
                       e->i32, "");
}

/* Whether every element is a number of bf16, times a power of two: e2m1 has two bits, bf16 eight,
 * and subnormals far below the least of either's products. An infinity or NaN is what it would be.
 * GPUs have instructions that round. */
static bool is_bf16_already(const caster *c) {
  bool power = !c->scales || (c->map->scale == LLRT_E8M0 && !c->map->subtracts);
  return emit_is_host(c->e) && c->from_type == LLRT_E2M1 && c->to_type == LLRT_BF16 &&
         !c->by_value && power;
}

/* The upper half of x, f32. */
static LLVMValueRef upper_code(const caster *c, LLVMValueRef x) {
  LLVMValueRef bits = LLVMBuildBitCast(c->e->builder, x, code_type(c->e, 32, LLVMTypeOf(x)), "");
  return LLVMBuildLShr(c->e->builder, bits, emit_splat(LLVMTypeOf(bits), 16), "");
}

/* Elements index and index + 1 as f32. */
static void decode_elements(const caster *c, int index, const LLVMValueRef code[2],
                            LLVMValueRef x[2]) {
  emitter *e = c->e;
  if (!c->halves) {
    emit_decode_pair(e, c->from_type, code, x);
    return;
  }
  LLVMValueRef word = c->halves[index >> 1];
  x[0] = LLVMBuildShl(e->builder, word, emit_i32(e, 16), "");
  x[1] = LLVMBuildAnd(e->builder, word, emit_i32(e, (int)0xFFFF0000), "");
  for (int i = 0; i < 2; i++)
    x[i] = LLVMBuildBitCast(e->builder, x[i], LLVMFloatTypeInContext(e->context), "");
}

/* The elements as bf16, two a word, of a cast that rounds them to e2m1 and nothing else; NULL:
 * there are none. */
static const LLVMValueRef *rounded_halves(const caster *c) {
  bool plain = c->to_type == LLRT_E2M1 && !c->any_nan && !c->scales && !c->by_value &&
               emit_has_e2m1_of_halves(c->e);
  if (!plain || c->halves) return plain ? c->halves : NULL;
  return c->from_type == LLRT_BF16 && c->in->word == 1 ? words_of(c) : NULL;
}

/* Elements index and index + 1 by f32: what instructions for pairs of numbers make of them. */
static void cast_pair(const caster *c, int index, const LLVMValueRef code[2],
                      LLVMValueRef made[2]) {
  LLVMValueRef x[2];
  const LLVMValueRef *rounded = rounded_halves(c);
  if (rounded) {
    emit_e2m1_pair_of_halves(c->e, rounded[index >> 1], made);
    return;
  }
  decode_elements(c, index, code, x);
  for (int i = 0; i < 2; i++) x[i] = scaled(c, index + i, x[i]);
  bool bf16 = is_bf16_already(c), half = is_half_already(c);
  if (!bf16 && !half && !c->any_nan) {
    emit_encode_pair(c->e, c->to_type, x, made);
    return;
  }
  for (int i = 0; i < 2; i++)
    made[i] = bf16 ? upper_code(c, x[i]) : half ? half_code(c, x[i]) : bits_of(c, x[i]);
}

/* The code of one element by itself. */
static LLVMValueRef cast_one(const caster *c, int index, LLVMValueRef code) {
  if (c->truth) return emit_combine_truth(c->e, c->from_type, code);
  if (c->fits) return code;
  if (extends(c)) return extended(c, code);
  if (number_nears(c->from_type, c->to_type)) return nearest(c, code);
  LLVMValueRef x = scaled(c, index, emit_decode(c->e, c->from_type, c->wide, code));
  return c->any_nan           ? bits_of(c, x)
         : is_bf16_already(c) ? upper_code(c, x)
                              : emit_encode(c->e, c->to_type, c->wide, x);
}

/* Casts element `index` and, where `pair`, the one behind it. */
static void cast_elements(const caster *c, int index, bool pair) {
  LLVMValueRef code[2], made[2];
  bool by_codes = c->truth || c->fits || extends(c) || number_nears(c->from_type, c->to_type);
  for (int i = 0; i <= pair && !c->halves; i++) code[i] = take_code(c, index + i);
  if (pair && !by_codes && !c->wide) cast_pair(c, index, code, made);
  else
    for (int i = 0; i <= pair; i++) made[i] = cast_one(c, index + i, code[i]);
  for (int i = 0; i <= pair; i++) put_code(c, index + i, made[i]);
}

/* ---- words of 4-bit elements ---- */

/* The scales of elements index and index + 1 as codes of the result's type, a word. */
static LLVMValueRef pair_scales(const caster *c, int index) {
  emitter *e = c->e;
  LLVMValueRef x[] = {emit_scale_of(c->scales, index), emit_scale_of(c->scales, index + 1)},
               code[2];
  emit_encode_pair(e, c->to_type, x, code);
  return LLVMBuildOr(e->builder, LLVMBuildShl(e->builder, code[1], emit_i32(e, 16), ""), code[0],
                     "");
}

/* Words of elements as they are, times their scales. */
static void scale_words(const caster *c, LLVMValueRef *words, int n) {
  emit_words scales;
  for (int w = 0; w < n; w++) {
    LLVMValueRef low = emit_scale_of(c->scales, 2 * w), high = emit_scale_of(c->scales, 2 * w + 1);
    int same = 0;
    while (same < w &&
           (c->scales->known[2 * same] != low || c->scales->known[2 * same + 1] != high))
      same++;
    scales[w] = same < w ? scales[same] : pair_scales(c, 2 * w);
    words[w] = c->e->ops->multiply_pair(c->e, c->to_type, words[w], scales[w], NULL);
  }
}

/* Casts all words by tables, where that is the step; else, where it goes by f32, *halves are the
 * elements as bf16. */
static bool look_up_words(caster *c, emit_words halves) {
  emitter *e = c->e;
  bool scaled = c->scales && !c->map->subtracts, plain = c->map->kind == PLAN_MAP_CAST, all = plain;
  llrt_dtype to = c->to_type;
  if (scaled) all = emit_scales_by_halves(e, (llrt_dtype)c->map->scale, to);
  all &= c->out->bits << c->out->word == 32; /* tables make whole words */
  if (!(all && emit_looks_up(e, c->from_type, to, c->in))) {
    bool fits = emit_word_count(c->in) * 4 <= EMIT_MAX_REGISTERS;
    bool by_f32 = !c->wide && !c->truth && !number_extends(c->from_type, to) &&
                  !number_nears(c->from_type, to);
    if (!by_f32 || !fits || !emit_looks_up(e, c->from_type, LLRT_BF16, c->in)) return false;
    to = LLRT_BF16;
    all = false;
    c->halves = halves;
  }
  int words = emit_word_count(c->in), each = llrt_dtype_bits(to) / 4;
  LLVMValueRef *made = all ? c->to : halves;
  for (int w = 0; w < words; w++)
    emit_look_up(e, c->from_type, to, words_of(c)[w], &made[w * each]);
  if (all && scaled) scale_words(c, made, words * each);
  return all;
}

/* ---- words of e2m1 ---- */

/* Whether eight elements become a word at a time. */
static bool makes_e2m1_words(const caster *c) {
  bool by_codes = c->truth || c->fits || extends(c) || number_nears(c->from_type, c->to_type);
  return emit_has_e2m1(c->e) && c->to_type == LLRT_E2M1 && c->out->word == 3 && !c->wide &&
         !by_codes;
}

static void make_e2m1_words(const caster *c) {
  const LLVMValueRef *halves = rounded_halves(c);
  for (int w = 0; w < emit_word_count(c->out); w++) {
    LLVMValueRef x[8], code[2];
    for (int i = 0; i < 8 && !halves; i += 2) {
      int index = 8 * w + i;
      for (int k = 0; k < 2 && !c->halves; k++) code[k] = take_code(c, index + k);
      decode_elements(c, index, code, &x[i]);
      for (int k = 0; k < 2; k++) x[i + k] = scaled(c, index + k, x[i + k]);
    }
    c->to[w] = halves ? emit_e2m1_word_of_halves(c->e, &halves[4 * w]) : emit_e2m1_word(c->e, x);
  }
}

static void cast_value(emitter *e, const plan_step *step, const plan_map *map) {
  caster c = {.e = e,
              .in = &e->kernel->value[step->in],
              .out = &e->kernel->value[step->out],
              .from = e->value[step->in],
              .to = e->value[step->out],
              .from_type = (llrt_dtype)map->from,
              .to_type = (llrt_dtype)map->to,
              .truth = map->kind == PLAN_MAP_TRUTH,
              .any_nan = map->any_nan,
              .fits = map->fits};
  c.wide = number_is_wide(c.from_type, c.to_type);
  emit_words permuted;
  c.map = map;
  for (int w = 0; e->lazy[step->in] && w < emit_word_count(c.in); w++) emit_word(e, step->in, w);
  if (map->words) {
    permute_words(e, map->perm, c.from, emit_word_count(c.in), permuted);
    c.permuted = permuted;
  }
  if (step->by_value) {
    c.by_value = step;
  } else if (map->kind == PLAN_MAP_SCALE) {
    c.scales = emit_scales_begin(e, step);
  }
  emit_words halves;
  if (e->halves[step->in]) c.halves = e->value[step->in];
  if (look_up_words(&c, halves)) return;
  if (makes_e2m1_words(&c)) {
    make_e2m1_words(&c);
    return;
  }
  int registers = 1 << plan_value_bits(c.in, PLAN_REGISTER);
  bool pairs = registers > 1 && !emit_is_host(e);
  for (int index = 0; index < registers; index += 1 + pairs) cast_elements(&c, index, pairs);
}

/* Words of f32 or f64 as numbers. */
static void act(emitter *e, const plan_step *step, const plan_map *map) {
  const plan_value *value = &e->kernel->value[step->in];
  for (int w = 0; w < 1 << plan_value_bits(value, PLAN_REGISTER); w++) {
    LLVMValueRef code = e->value[step->in][w], x;
    LLVMTypeRef type = LLVMTypeOf(code);
    x = emit_activation(
        e, map,
        LLVMBuildBitCast(e->builder, code, emit_number_type(e, (llrt_dtype)map->from, type), ""));
    e->value[step->out][w] = LLVMBuildBitCast(e->builder, x, type, "");
  }
}

void emit_map_step(emitter *e, const plan_step *step) {
  const plan_map *map = &e->kernel->map[step->map];
  if (map->kind >= PLAN_MAP_MULTIPLY && map->kind <= PLAN_MAP_SILU) {
    act(e, step, map);
    return;
  }
  if (emit_keep_halves(e, step, map) || emit_round_halves_back(e, step)) return;
  if (map->kind == PLAN_MAP_XOR || map->kind == PLAN_MAP_WORD_BITS) map_bits(e, step, map);
  else if (emit_unpacks(e, step, map) || emit_scales_pairs(e, step, map) ||
           emit_scales_bytes(e, step, map))
    emit_map_words(e, step);
  else cast_value(e, step, map);
}
