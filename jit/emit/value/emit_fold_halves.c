/* PLAN_FOLD of f16 and bf16: the larger or less of two words at a time, which are four elements. */
#include "jit/emit/core/builder.h"
#include "jit/emit/value/emit_value.h"

#include "base/bits.h"
#include "jit/plan/facts/fold.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/types/combine.h"

typedef struct folder {
  emitter *e;
  const plan_step *step;
  int n, bit[LLRT_MAX_BITS]; /* register bits that are joined, but for that inside of words */
  bool inside;               /* that, too */
} folder;

static LLVMValueRef larger(const folder *f, LLVMValueRef a, LLVMValueRef b) {
  bool least = f->step->combiner == LLRT_COMBINE_MIN;
  return f->e->ops->extreme_pair(f->e, (llrt_dtype)f->step->type, least, a, b);
}

static LLVMValueRef word_at(const folder *f, int word) {
  LLVMValueRef x = f->e->value[f->step->in][word];
  if (!f->step->sizes) return x;
  return LLVMBuildAnd(f->e->builder, x, emit_i32(f->e, 0x7FFF7FFF), "");
}

/* Of word number `word`, and all that differ from it in the first n of the bits. */
static LLVMValueRef tree(const folder *f, int n, int word) {
  if (n == 0) return word_at(f, word);
  LLVMValueRef low = tree(f, n - 1, word);
  return larger(f, low, tree(f, n - 1, word | 1 << (f->bit[n - 1] - 1)));
}

/* Its element alone. */
static LLVMValueRef inside_of(const folder *f, LLVMValueRef word) {
  LLVMValueRef upper = LLVMBuildLShr(f->e->builder, word, emit_i32(f->e, 16), "");
  return LLVMBuildAnd(f->e->builder, larger(f, word, upper), emit_i32(f->e, 0xFFFF), "");
}

void emit_fold_halves(emitter *e, const plan_step *step) {
  const plan_value *in = &e->kernel->value[step->in], *out = &e->kernel->value[step->out];
  int bit[LLRT_MAX_BITS], n = plan_fold_bits(in, PLAN_REGISTER, out->layout.out[0].bits, bit);
  int registers = plan_value_bits(in, PLAN_REGISTER), made = 0;
  folder f = {.e = e, .step = step};
  uint64_t joined = 0;
  for (int i = 0; i < n; i++) {
    joined |= 1ull << bit[i];
    f.inside |= bit[i] == 0;
    if (bit[i] > 0) f.bit[f.n++] = bit[i];
  }
  for (int word = 0; word < 1 << (registers - 1); word++) {
    if ((uint64_t)word << 1 & joined) continue;
    LLVMValueRef x = tree(&f, f.n, word);
    e->value[step->out][made++] = f.inside ? inside_of(&f, x) : x;
  }
}
