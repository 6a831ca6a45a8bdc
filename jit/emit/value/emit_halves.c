/* Casts of 16-bit floats to f32 that nothing but operators take: words stay as they were loaded,
 * two elements each, and every operator takes the element out that it wants. So what rows wait for
 * holds half as many registers, and behind a branch each way takes them out by itself. */
#include "jit/emit/core/builder.h"
#include "jit/emit/value/emit_value.h"

#include "base/bits.h"
#include "expression/operators.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/rolled/rolled.h"
#include "jit/plan/types/number.h"

/* Whether the step rounds such a value, which changes no number, to the floats that it was. */
static bool rounds_back(const plan_kernel *kernel, const plan_step *step, llrt_dtype from) {
  if (step->kind != PLAN_MAP || !kernel->target.half_extremes) return false;
  const plan_map *map = &kernel->map[step->map];
  return map->kind == PLAN_MAP_CAST && map->to == from && !map->words &&
         kernel->value[step->out].word == 1;
}

/* Whether a float's least number but 0 is far above the least of bf16's that are not subnormal. */
static bool is_coarse(llrt_dtype type) {
  const number_format *f = number_format_of(type);
  return f && f->kind == NUMBER_FLOAT && f->bits <= 8;
}

/* Whether the step is a cast to such a float. */
static bool is_coarse_cast(const plan_kernel *kernel, const plan_step *step) {
  const plan_map *map = step->kind == PLAN_MAP ? &kernel->map[step->map] : NULL;
  return map && map->kind == PLAN_MAP_CAST && !map->words && !step->lazy &&
         is_coarse((llrt_dtype)map->to);
}

/* Whether the step is not among the turns that take the value now: others have it made for
 * themselves. */
static bool is_elsewhere(const emitter *e, int step) {
  bool here = !e->straight;
  for (int i = 0; e->straight && i < e->straight->n_turn; i++) here |= e->straight->turn[i] == step;
  return !here;
}

/* Whether nothing but operators behind it takes the value, and such casts, of bf16 those that take
 * words as they are, too. */
static bool is_operand_alone(const emitter *e, int value, llrt_dtype from) {
  const plan_kernel *kernel = e->kernel;
  bool alone = true;
  for (int i = 0; i < kernel->n_steps; i++) {
    const plan_step *step = &kernel->step[i];
    bool uses =
        !is_elsewhere(e, i) && (step->in == value || step->second == value || step->with == value);
    bool casts = step->in == value && (rounds_back(kernel, step, from) ||
                                       (from == LLRT_BF16 && is_coarse_cast(kernel, step)));
    alone &= !uses || step->kind == PLAN_APPLY || casts;
  }
  return alone;
}

bool emit_keep_halves(emitter *e, const plan_step *step, const plan_map *map) {
  const plan_value *in = &e->kernel->value[step->in];
  bool halves = map->from == LLRT_BF16 || map->from == LLRT_F16;
  if (emit_is_host(e) || map->kind != PLAN_MAP_CAST || !halves || map->to != LLRT_F32 ||
      !map->any_nan || map->words || in->word != 1 || !is_operand_alone(e, step->out, map->from))
    return false;
  for (int w = 0; w < emit_word_count(in); w++) e->value[step->out][w] = emit_word(e, step->in, w);
  e->halves[step->out] = map->from;
  return true;
}

/* What alone makes the value; NULL: several steps do, or none. */
static const plan_step *maker_of(const plan_kernel *kernel, int value) {
  const plan_step *maker = NULL;
  int makers = 0;
  for (int i = 0; i < kernel->n_steps; i++) {
    if (kernel->step[i].out != value) continue;
    maker = &kernel->step[i];
    makers++;
  }
  return makers == 1 ? maker : NULL;
}

static bool is_cast(const plan_kernel *kernel, const plan_step *step) {
  return step && step->kind == PLAN_MAP && kernel->map[step->map].kind == PLAN_MAP_CAST;
}

/* Whether the kernel itself rounded f32 to what lies in such a value's words, or added it: each of
 * their NaNs is the one that casts write. */
static bool is_rounded(const plan_kernel *kernel, int value) {
  const plan_step *kept = maker_of(kernel, value);
  if (kept && kept->kind == PLAN_APPLY) return true;
  if (!is_cast(kernel, kept)) return false;
  const plan_step *rounded = maker_of(kernel, kept->in);
  return is_cast(kernel, rounded) && kernel->map[rounded->map].from == LLRT_F32 &&
         !kernel->map[rounded->map].words;
}

/* Two at a time: the larger of an element and itself is that, or the NaN that is written. */
bool emit_round_halves_back(emitter *e, const plan_step *step) {
  llrt_dtype from = (llrt_dtype)e->halves[step->in];
  if (!from || !rounds_back(e->kernel, step, from)) return false;
  bool same = is_rounded(e->kernel, step->in);
  for (int w = 0; w < emit_word_count(&e->kernel->value[step->out]); w++) {
    LLVMValueRef word = e->value[step->in][w];
    e->value[step->out][w] = same ? word : e->ops->extreme_pair(e, from, false, word, word);
  }
  return true;
}

/* Whether nothing but casts to floats of 8 bits or fewer takes the value. */
static bool is_cast_alone(const plan_kernel *kernel, int value) {
  bool alone = kernel->value[value].word == 0;
  for (int i = 0; i < kernel->n_steps; i++) {
    const plan_step *step = &kernel->step[i];
    bool uses = step->in == value || step->second == value || step->with == value;
    alone &= !uses || step->out == value || is_coarse_cast(kernel, step);
  }
  return alone;
}

/* Whether registers 2 i and 2 i + 1 of the result are those of the dividend, and have one divisor.
 */
static bool goes_by_words(const plan_value *out, const plan_value *x, const plan_value *by) {
  bool goes = true;
  for (int i = 0; i < 1 << plan_value_bits(out, PLAN_REGISTER); i++)
    goes &= plan_reduced_register(out, x, (uint64_t)i) == (uint64_t)i &&
            plan_reduced_register(out, by, (uint64_t)i) ==
                plan_reduced_register(out, by, (uint64_t)(i & ~1));
  return goes && plan_value_bits(out, PLAN_REGISTER) > 0;
}

bool emit_divide_halves(emitter *e, const plan_step *step) {
  const plan_kernel *kernel = e->kernel;
  const plan_value *out = &kernel->value[step->out], *by = &kernel->value[step->second];
  static const int upper[4] = {2, 3, 2, 3};
  emit_words inverse;
  if (step->op != EXPR_DIVIDE || !step->power || e->halves[step->in] != LLRT_BF16 ||
      e->halves[step->second] || !e->ops->multiply_pair || !is_cast_alone(kernel, step->out) ||
      !goes_by_words(out, &kernel->value[step->in], by))
    return false;
  for (int i = 0; i < emit_word_count(by); i++) {
    LLVMTypeRef f32 = LLVMFloatTypeInContext(e->context);
    LLVMValueRef y = LLVMBuildBitCast(e->builder, e->value[step->second][i], f32, "");
    y = LLVMBuildBitCast(e->builder, emit_inverse_of_power(e, y), e->i32, "");
    inverse[i] = emit_permute(e, y, y, upper);
  }
  for (int i = 0; i < 1 << plan_value_bits(out, PLAN_REGISTER); i += 2) {
    int divisor = (int)plan_reduced_register(out, by, (uint64_t)i);
    e->value[step->out][i / 2] =
        e->ops->multiply_pair(e, LLRT_BF16, e->value[step->in][i / 2], inverse[divisor], NULL);
  }
  e->halves[step->out] = LLRT_BF16;
  return true;
}

/* Whether nothing but roundings to the floats takes the value. */
static bool is_rounded_alone(const plan_kernel *kernel, int value, llrt_dtype to) {
  int uses = 0;
  for (int i = 0; i < kernel->n_steps; i++) {
    const plan_step *step = &kernel->step[i];
    if (step->in != value && step->second != value && step->with != value) continue;
    if (step->out == value) continue;
    if (step->in != value || !rounds_back(kernel, step, to)) return false;
    uses++;
  }
  return uses > 0;
}

static bool has_same_registers(const plan_value *out, const plan_value *in) {
  bool same = true;
  for (int i = 0; i < 1 << plan_value_bits(out, PLAN_REGISTER); i++)
    same &= plan_reduced_register(out, in, (uint64_t)i) == (uint64_t)i;
  return same;
}

/* f32 has more than twice the bits of a half and two, so that a sum which is rounded to f32 first
 * is the one that is rounded once. A sum is x * 1 + y, a difference y * -1 + x. */
bool emit_add_halves(emitter *e, const plan_step *step) {
  const plan_kernel *kernel = e->kernel;
  const plan_value *out = &kernel->value[step->out];
  llrt_dtype type = (llrt_dtype)e->halves[step->in];
  bool less = step->op == EXPR_SUBTRACT;
  if ((step->op != EXPR_ADD && !less) || !type || e->halves[step->second] != type ||
      !e->ops->multiply_pair || out->word > 0 || plan_value_bits(out, PLAN_REGISTER) == 0 ||
      !is_rounded_alone(kernel, step->out, type) ||
      !has_same_registers(out, &kernel->value[step->in]) ||
      !has_same_registers(out, &kernel->value[step->second]))
    return false;
  int code = type == LLRT_BF16 ? 0x3F803F80 : 0x3C003C00;
  LLVMValueRef one = emit_i32(e, less ? code | (int)0x80008000 : code);
  for (int w = 0; w < emit_word_count(out) / 2; w++) {
    LLVMValueRef x = e->value[step->in][w], y = e->value[step->second][w];
    e->value[step->out][w] = e->ops->multiply_pair(e, type, less ? y : x, one, less ? x : y);
  }
  e->halves[step->out] = type;
  return true;
}

/* An element of bf16 as f32 by a permutation, of which compilers do not know that it is what they
 * have, or had by another one. */
static LLVMValueRef take_again(emitter *e, LLVMValueRef word, bool upper) {
  LLVMValueRef zero = emit_i32(e, 0);
  bool behind = e->taking % 2 == 0;
  const int own = (behind ? 4 : 0) + 2 * upper, none = behind ? 0 : 4;
  const int bytes[4] = {none, none, own, own + 1};
  return emit_permute(e, behind ? zero : word, behind ? word : zero, bytes);
}

LLVMValueRef emit_register(emitter *e, int value, int number) {
  llrt_dtype from = (llrt_dtype)e->halves[value];
  if (!from) return e->value[value][number];
  LLVMValueRef word = e->value[value][number >> 1];
  bool upper = number & 1;
  if (from == LLRT_BF16 && e->taking > 0) return take_again(e, word, upper);
  if (from == LLRT_BF16)
    return upper ? LLVMBuildAnd(e->builder, word, emit_i32(e, (int)0xFFFF0000), "")
                 : LLVMBuildShl(e->builder, word, emit_i32(e, 16), "");
  word = upper ? LLVMBuildLShr(e->builder, word, emit_i32(e, 16), "")
               : LLVMBuildAnd(e->builder, word, emit_i32(e, 0xFFFF), "");
  return LLVMBuildBitCast(e->builder, emit_decode(e, from, false, word), e->i32, "");
}
