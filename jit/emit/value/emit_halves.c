/* Casts of 16-bit floats to f32 that nothing but operators take: words stay as they were loaded,
 * two elements each, and every operator takes the element out that it wants. So what rows wait for
 * holds half as many registers, and behind a branch each way takes them out by itself. */
#include "jit/emit/core/builder.h"
#include "jit/emit/value/emit_value.h"

#include "base/bits.h"

/* Whether the step rounds such a value, which changes no number, to the floats that it was. */
static bool rounds_back(const plan_kernel *kernel, const plan_step *step, llrt_dtype from) {
  if (step->kind != PLAN_MAP || !kernel->target.half_extremes) return false;
  const plan_map *map = &kernel->map[step->map];
  return map->kind == PLAN_MAP_CAST && map->to == from && !map->words &&
         kernel->value[step->out].word == 1;
}

/* Whether nothing but operators behind it takes the value, and such casts. */
static bool is_operand_alone(const plan_kernel *kernel, int value, llrt_dtype from) {
  bool alone = true;
  for (int i = 0; i < kernel->n_steps; i++) {
    const plan_step *step = &kernel->step[i];
    bool uses = step->in == value || step->second == value || step->with == value;
    alone &=
        !uses || step->kind == PLAN_APPLY || (step->in == value && rounds_back(kernel, step, from));
  }
  return alone;
}

bool emit_keep_halves(emitter *e, const plan_step *step, const plan_map *map) {
  const plan_value *in = &e->kernel->value[step->in];
  bool halves = map->from == LLRT_BF16 || map->from == LLRT_F16;
  if (emit_is_host(e) || map->kind != PLAN_MAP_CAST || !halves || map->to != LLRT_F32 ||
      !map->any_nan || map->words || in->word != 1 ||
      !is_operand_alone(e->kernel, step->out, map->from))
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

/* Whether the kernel itself rounded f32 to what lies in such a value's words: each of their NaNs is
 * the one that casts write. */
static bool is_rounded(const plan_kernel *kernel, int value) {
  const plan_step *kept = maker_of(kernel, value);
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

LLVMValueRef emit_register(emitter *e, int value, int number) {
  llrt_dtype from = (llrt_dtype)e->halves[value];
  if (!from) return e->value[value][number];
  LLVMValueRef word = e->value[value][number >> 1];
  bool upper = number & 1;
  if (from == LLRT_BF16)
    return upper ? LLVMBuildAnd(e->builder, word, emit_i32(e, (int)0xFFFF0000), "")
                 : LLVMBuildShl(e->builder, word, emit_i32(e, 16), "");
  word = upper ? LLVMBuildLShr(e->builder, word, emit_i32(e, 16), "")
               : LLVMBuildAnd(e->builder, word, emit_i32(e, 0xFFFF), "");
  return LLVMBuildBitCast(e->builder, emit_decode(e, from, false, word), e->i32, "");
}
