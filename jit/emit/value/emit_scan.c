/* PLAN_SCAN inside a warp, bit by bit of the order, minor first; PLAN_PREFIX and PLAN_PICK.
 *
 * While bits are registers, elements become the scan of their own group of registers (Sklansky
 * 1960). From the first lane bit on, a group keeps a prefix instead, with which its elements are
 * joined at the end. For bit b of the order, groups g without b and h with it, totals t, prefixes
 * p:
 *
 *   p(h) = t(g) . p(h)          in reverse: p(g) = p(g) . t(h)
 *   t(g + h) = t(g) . t(h)
 *
 * A lane's other group is one shuffle away. */
#include "jit/emit/core/builder.h"
#include "jit/emit/value/emit_value.h"

#include "base/bits.h"
#include "jit/plan/facts/lookback.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/types/combine.h"
#include "layout/f2.h"

#include <string.h>

/* ---- lanes of the host ---- */

/* The lane bits that hold no copies: a word is a vector of these lanes. */
static uint64_t lane_mask(const plan_value *value) {
  uint64_t mask = 0;
  for (int i = 0; i < plan_value_bits(value, PLAN_LANE); i++)
    if (plan_value_columns(value, PLAN_LANE)[i]) mask |= 1ull << i;
  return mask;
}

/* The lane number that element i of a vector of `mask`'s lanes has, and the other way. */
static uint64_t spread_lane(uint64_t i, uint64_t mask) {
  uint64_t lane = 0;
  for (; mask; mask &= mask - 1, i >>= 1)
    if (i & 1) lane |= mask & -mask;
  return lane;
}
static uint64_t gather_lane(uint64_t lane, uint64_t mask) {
  uint64_t i = 0;
  for (int n = 0; mask; mask &= mask - 1, n++)
    if (lane & mask & -mask) i |= 1ull << n;
  return i;
}

/* A word of one value as another has it, whose lanes hold copies where the first's do not, or the
 * other way. */
static LLVMValueRef relane(emitter *e, LLVMValueRef word, const plan_value *from,
                           const plan_value *to) {
  uint64_t a = lane_mask(from), b = lane_mask(to);
  if (!emit_is_host(e) || a == b) return word;
  LLVMValueRef mask[EMIT_MAX_LANES];
  unsigned n = 1u << bits_count(b);
  if (!a)
    word = LLVMBuildInsertElement(e->builder, LLVMGetUndef(LLVMVectorType(LLVMTypeOf(word), 1)),
                                  word, emit_i32(e, 0), "");
  if (n == 1) return LLVMBuildExtractElement(e->builder, word, emit_i32(e, 0), "");
  for (unsigned i = 0; i < n; i++)
    mask[i] = emit_i32(e, (int64_t)gather_lane(spread_lane(i, b), a));
  return LLVMBuildShuffleVector(e->builder, word, LLVMGetUndef(LLVMTypeOf(word)),
                                LLVMConstVector(mask, n), "");
}

/* ---- scans ---- */

typedef struct scanner {
  emitter *e;
  const plan_step *step;
  int n_registers;
  uint64_t own, done; /* register bits joined into elements; into totals */
  bool lanes;         /* prefixes are in use */
  emit_words element; /* inclusive in its group of `own` bits */
  emit_words prefix;  /* of groups of `own` bits, by index with these bits 0; NULL: neutral */
  emit_words total;   /* by index with the bits of `done` 0 */
} scanner;

/* In the order of positions: what stands before (reverse: after) comes as `before`. */
static LLVMValueRef join(const scanner *s, LLVMValueRef before, LLVMValueRef x) {
  llrt_dtype type = (llrt_dtype)s->step->type;
  if (!before) return x;
  if (!x) return before;
  if (s->step->reverse) return emit_combine(s->e, s->step->combiner, type, x, before);
  return emit_combine(s->e, s->step->combiner, type, before, x);
}

/* Indices with no bit of `clear`. */
static bool is_first(uint64_t index, uint64_t clear) { return (index & clear) == 0; }

static void register_bit(scanner *s, uint64_t bit) {
  uint64_t ahead = s->step->reverse ? bit : 0; /* of the group that stands before */
  for (uint64_t i = 0; i < 1ull << s->n_registers; i++) {
    if ((i & bit) == ahead) continue;
    LLVMValueRef before = s->total[(i ^ bit) & ~s->done];
    if (!s->lanes) s->element[i] = join(s, before, s->element[i]);
    else if (is_first(i, s->own)) s->prefix[i] = join(s, before, s->prefix[i]);
  }
  for (uint64_t i = 0; i < 1ull << s->n_registers; i++)
    if (is_first(i, s->done | bit))
      s->total[i] = join(s, s->total[i | ahead], s->total[i | (bit ^ ahead)]);
  s->done |= bit;
  if (!s->lanes) s->own |= bit;
}

/* The word of the lane that differs in bit `at`. */
static LLVMValueRef other_lane(const scanner *s, LLVMValueRef word, int at) {
  emitter *e = s->e;
  LLVMTypeRef type = LLVMTypeOf(word);
  if (!emit_is_host(e))
    return emit_shuffle_word(e, word, LLVMBuildXor(e->builder, e->lane, emit_i32(e, 1 << at), ""));
  if (LLVMGetTypeKind(type) != LLVMVectorTypeKind) return word;
  LLVMValueRef mask[EMIT_MAX_LANES];
  unsigned n = LLVMGetVectorSize(type);
  for (unsigned i = 0; i < n; i++) mask[i] = emit_i32(e, i ^ 1u << at);
  word = LLVMBuildShuffleVector(e->builder, word, LLVMGetUndef(type), LLVMConstVector(mask, n), "");
  return e->ops->opaque(e, word);
}

/* i1, or one a lane: whether this lane's group is the one behind the other. */
static LLVMValueRef stands_behind(const scanner *s, int at, LLVMTypeRef type) {
  emitter *e = s->e;
  LLVMValueRef lanes[EMIT_MAX_LANES];
  bool reverse = s->step->reverse;
  if (!emit_is_host(e)) {
    LLVMValueRef set = emit_functional(e, e->lane, 1ull << at);
    return reverse ? LLVMBuildNot(e->builder, set, "") : set;
  }
  unsigned n = LLVMGetVectorSize(type);
  for (unsigned i = 0; i < n; i++) lanes[i] = LLVMConstInt(e->i1, (i >> at & 1) ^ reverse, false);
  return LLVMConstVector(lanes, n);
}

static bool commutes(const plan_step *step) { return step->combiner != COMBINE_AFFINE; }

static void lane_bit(scanner *s, int at) {
  LLVMBuilderRef builder = s->e->builder;
  LLVMTypeRef type = LLVMTypeOf(s->element[0]);
  LLVMValueRef behind = stands_behind(s, at, type), other[EMIT_MAX_REGISTERS];
  LLVMValueRef neutral = emit_combine_identity(s->step->combiner, (llrt_dtype)s->step->type, type);
  s->lanes = true;
  for (uint64_t i = 0; i < 1ull << s->n_registers; i++)
    if (is_first(i, s->done)) other[i] = other_lane(s, s->total[i], at);
  for (uint64_t i = 0; i < 1ull << s->n_registers; i++) {
    if (!is_first(i, s->own)) continue;
    LLVMValueRef joined = join(s, other[i & ~s->done], s->prefix[i]);
    s->prefix[i] =
        LLVMBuildSelect(builder, behind, joined, s->prefix[i] ? s->prefix[i] : neutral, "");
  }
  for (uint64_t i = 0; i < 1ull << s->n_registers; i++) {
    if (!is_first(i, s->done)) continue;
    LLVMValueRef own = s->total[i], joined = join(s, other[i], own);
    s->total[i] = commutes(s->step)
                      ? joined
                      : LLVMBuildSelect(builder, behind, joined, join(s, own, other[i]), "");
  }
}

/* The register whose element comes next before register i in its group of `own` bits; false for the
 * first. */
static bool previous(const scanner *s, const plan_scan_bit *bits, int n, uint64_t i, uint64_t *at) {
  *at = i;
  for (int k = 0; k < n && !bits[k].lane; k++) {
    uint64_t bit = 1ull << bits[k].at;
    *at ^= bit;
    if (((i & bit) != 0) != s->step->reverse) return true;
  }
  return false;
}

static LLVMValueRef result(const scanner *s, const plan_scan_bit *bits, int n, uint64_t i) {
  LLVMValueRef prefix = s->prefix[i & ~s->own];
  uint64_t at;
  if (!s->step->exclusive) return join(s, prefix, s->element[i]);
  if (previous(s, bits, n, i, &at)) return join(s, prefix, s->element[at]);
  if (prefix) return prefix;
  return emit_combine_identity(s->step->combiner, (llrt_dtype)s->step->type,
                               LLVMTypeOf(s->element[0]));
}

void emit_scan_step(emitter *e, const plan_step *step) {
  const plan_value *in = &e->kernel->value[step->in], *total = &e->kernel->value[step->total];
  scanner s = {.e = e, .step = step, .n_registers = plan_value_bits(in, PLAN_REGISTER)};
  plan_scan_bit bits[LLRT_MAX_BITS];
  int n = e->kernel->order[step->order].n;
  size_t words = sizeof(LLVMValueRef) << s.n_registers;
  plan_scan_bits(e->kernel, step, bits);
  memcpy(s.element, e->value[step->in], words);
  memcpy(s.total, e->value[step->in], words);
  for (int i = 0; i < n; i++) {
    int at = bits[i].at;
    if (emit_is_host(e) && bits[i].lane) at = bits_count(lane_mask(in) & bits_mask(at));
    if (bits[i].lane) lane_bit(&s, at);
    else register_bit(&s, 1ull << bits[i].at);
  }
  plan_value left; /* laid out as the total, whose set leaves out bits that number other blocks */
  uint64_t along = 0;
  for (int i = 0; i < n; i++) along |= 1ull << e->kernel->order[step->order].bit[i];
  plan_value_reduce(in, along, &left);
  for (uint64_t i = 0; i < 1ull << s.n_registers; i++) {
    e->value[step->out][i] = result(&s, bits, n, i);
    if (!is_first(i, s.done)) continue;
    e->value[step->total][plan_reduced_register(in, &left, i)] = relane(e, s.total[i], in, total);
  }
}

void emit_prefix_step(emitter *e, const plan_step *step) {
  const plan_kernel *kernel = e->kernel;
  const plan_value *out = &kernel->value[step->out];
  for (uint64_t i = 0; i < 1ull << plan_value_bits(out, PLAN_REGISTER); i++) {
    const int operand[2] = {step->in, step->second};
    LLVMValueRef x[2];
    for (int j = 0; j < 2; j++) {
      const plan_value *value = &kernel->value[operand[j]];
      x[j] = relane(e, e->value[operand[j]][plan_reduced_register(out, value, i)], value, out);
    }
    e->value[step->out][i] = emit_combine(e, step->combiner, (llrt_dtype)step->type, x[0], x[1]);
  }
}

/* One of the registers at ^ span(of_warp[from..n)), by the warp's number. */
static LLVMValueRef pick_word(emitter *e, const plan_step *step, const plan_pick *pick, int from,
                              uint64_t at) {
  for (; from < pick->n_warps; from++) {
    if (pick->of_warp[from] == 0) continue;
    LLVMValueRef zero = pick_word(e, step, pick, from + 1, at);
    LLVMValueRef one = pick_word(e, step, pick, from + 1, at ^ pick->of_warp[from]);
    return LLVMBuildSelect(e->builder, emit_functional(e, e->warp, 1ull << from), one, zero, "");
  }
  return e->value[step->in][at];
}

void emit_pick_step(emitter *e, const plan_step *step) {
  const plan_value *in = &e->kernel->value[step->in], *out = &e->kernel->value[step->out];
  plan_pick pick;
  plan_pick_of(in, out, &pick);
  for (uint64_t i = 0; i < 1ull << pick.n_registers; i++)
    e->value[step->out][i] = pick_word(e, step, &pick, 0, f2_apply(pick.of_register, i));
}
