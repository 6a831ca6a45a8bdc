/* PLAN_MAP: what happens to elements on their way, word by word (GPU) or vector by vector (host). */
#include "jit/emit/builder.h"

#include "base/bits.h"

/* ---- XOR ---- */

/* `constant` in every element of a word or vector of `type`. */
static LLVMValueRef element_constant(const emitter *e, const plan_value *value, LLVMTypeRef type,
                                     uint64_t constant) {
  int bits = value->bits;
  uint64_t word = 0;
  constant &= bits_mask(bits);
  if (emit_is_host(e)) return emit_splat(type, constant);
  for (int i = 0; i < 1 << value->word; i++) word |= constant << (i * bits);
  return emit_splat(type, word);
}

/* ---- bits of words ---- */

/* Whether perm moves whole bytes: byte i from byte selector[i]. */
static bool moves_bytes(const uint8_t perm[32], int selector[4]) {
  for (int i = 0; i < 32; i++) {
    if (i % 8 == 0) selector[i / 8] = perm[i] / 8;
    if (perm[i] != selector[i / 8] * 8 + i % 8) return false;
  }
  return true;
}

/* Both 32-bit halves where x has 64 bits; every lane of a vector. */
static LLVMValueRef permute_bits(emitter *e, const uint8_t perm[32], LLVMValueRef x) {
  uint64_t columns[64];
  int selector[4];
  if (LLVMTypeOf(x) == e->i32 && e->ops->permute && moves_bytes(perm, selector))
    return e->ops->permute(e, x, emit_i32(e, 0), selector);
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
  x = permute_bits(e, perm, LLVMBuildBitCast(e->builder, x, words, ""));
  return LLVMBuildBitCast(e->builder, x, type, "");
}

/* ---- the step ---- */

void emit_map_step(emitter *e, const plan_step *step) {
  const plan_map *map = &e->kernel->map[step->map];
  const plan_value *value = &e->kernel->value[step->in];
  int n_words = 1 << (plan_value_bits(value, PLAN_REGISTER) - value->word);
  for (int w = 0; w < n_words; w++) {
    LLVMValueRef x = e->value[step->in][w];
    if (map->kind == PLAN_MAP_XOR)
      x = LLVMBuildXor(e->builder, x, element_constant(e, value, LLVMTypeOf(x), map->constant), "");
    else
      x = emit_is_host(e) ? permute_vector(e, map->perm, x) : permute_bits(e, map->perm, x);
    e->value[step->out][w] = x;
  }
}
