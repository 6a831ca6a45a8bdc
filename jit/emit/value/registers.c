/* PLAN_REGISTERS: words are renamed; where elements change places inside or between words, bytes
 * are gathered by permutes, two words at a time, moved by a nibble and merged
 * (jit/plan/facts/permute.h). */
#include "jit/emit/core/builder.h"
#include "jit/emit/value/emit_value.h"

#include "base/bits.h"
#include "jit/plan/facts/permute.h"
#include "jit/plan/facts/value.h"

/* The first word that byte `i` or a later one needs, is not `other` and not in `done`; -1: none. */
static int next_word(const plan_permute *g, const plan_permute_part *part, unsigned done,
                     int other) {
  for (int i = 0; i < g->bytes; i++)
    if (part->word[i] >= 0 && !(done >> i & 1) && part->word[i] != other) return part->word[i];
  return -1;
}

/* Byte permute of `low` and `high`: bytes of source word `a` are taken from low, of `b` from high,
 * bytes in *done stay as low has them. Adds what it takes to *done. */
static LLVMValueRef permute(emitter *e, const plan_permute *g, const plan_permute_part *part, int a,
                            LLVMValueRef low, int b, LLVMValueRef high, unsigned *done) {
  int selector[4] = {0, 1, 2, 3};
  for (int i = 0; i < g->bytes; i++) {
    if (part->word[i] < 0 || *done >> i & 1) continue;
    if (part->word[i] == b) selector[i] = 4 + part->byte[i];
    else if (part->word[i] == a) selector[i] = part->byte[i];
    else continue;
    *done |= 1u << i;
  }
  return emit_permute(e, low, high, selector);
}

static LLVMValueRef gather_bytes(emitter *e, const plan_permute *g, const plan_permute_part *part,
                                 LLVMValueRef *words) {
  int whole = plan_permute_whole(g, part);
  if (whole >= 0) return words[whole];
  unsigned done = 0;
  int a = next_word(g, part, done, -1), b = next_word(g, part, done, a);
  LLVMValueRef high = words[b >= 0 ? b : a];
  LLVMValueRef so_far = permute(e, g, part, a, words[a], b, high, &done);
  while ((b = next_word(g, part, done, -1)) >= 0)
    so_far = permute(e, g, part, -2, so_far, b, words[b], &done);
  return so_far;
}

static LLVMValueRef shifted(const emitter *e, LLVMValueRef x, int shift) {
  if (shift > 0) return LLVMBuildShl(e->builder, x, emit_splat(LLVMTypeOf(x), (uint32_t)shift), "");
  if (shift < 0)
    return LLVMBuildLShr(e->builder, x, emit_splat(LLVMTypeOf(x), (uint32_t)-shift), "");
  return x;
}

static LLVMValueRef gather_word(emitter *e, const plan_permute *g, LLVMValueRef *words) {
  LLVMValueRef sum = NULL;
  for (int i = 0; i < g->n_parts; i++) {
    const plan_permute_part *part = &g->part[i];
    LLVMValueRef x = shifted(e, gather_bytes(e, g, part, words), part->shift);
    sum = sum ? emit_merged(e, sum, x, part->mask) : x;
  }
  return sum;
}

/* The host: a word of lanes with several elements each, out of words of lanes with one. */
static LLVMValueRef join_words(emitter *e, const plan_value *in, const plan_value *out, int w,
                               LLVMValueRef *words) {
  LLVMTypeRef type = emit_int_type(e, out->bits << out->word);
  LLVMValueRef sum = NULL;
  for (int i = 0; i < 1 << out->word; i++) {
    LLVMValueRef x = words[plan_register_of(in, out, w << out->word | i).word];
    bool lanes = LLVMGetTypeKind(LLVMTypeOf(x)) == LLVMVectorTypeKind;
    x = LLVMBuildZExt(e->builder, x,
                      lanes ? LLVMVectorType(type, LLVMGetVectorSize(LLVMTypeOf(x))) : type, "");
    x = shifted(e, x, i * out->bits);
    sum = sum ? LLVMBuildOr(e->builder, sum, x, "") : x;
  }
  return sum;
}

void emit_registers_step(emitter *e, const plan_step *step) {
  const plan_value *in = &e->kernel->value[step->in], *out = &e->kernel->value[step->out];
  int n_words = 1 << (plan_value_bits(out, PLAN_REGISTER) - out->word);
  bool joins = emit_is_host(e) && out->bits >= 8 && out->word > in->word;
  for (int w = 0; w < n_words; w++) {
    if (joins) {
      e->value[step->out][w] = join_words(e, in, out, w, e->value[step->in]);
      continue;
    }
    plan_permute g;
    plan_permute_of(in, out, w, &g);
    e->value[step->out][w] = gather_word(e, &g, e->value[step->in]);
  }
}
