/* Casts to e2m1 on GPUs, of which none that is known here has an instruction for it.
 *
 * The numbers of one sign are 0, 1/2, 1, 3/2, 2, 3, 4, 6, and from one to the next the code grows
 * evenly. So the code of a = |x|, which is at most 6, is the least of 2 a, a + 2 and a / 2 + 4,
 * rounded to the nearest whole number, of two the even one. Each of the three is made by one fma,
 * whose sum's last place is 1; the sum then has the code in its lowest bits. */
#include "jit/emit/core/builder.h"
#include "jit/emit/value/emit_value.h"

#define LARGEST 6
/* Numbers of a word. */
#define NUMBERS 8
/* What is added to the sums besides, and taken from them by the sign: of a negative number half of
 * SIGN is added where it is taken of another one, so that bit 3 of the code is the sign. */
#define SIGN 8

/* 2 a, a + 2, a / 2 + 4 */
static const struct {
  float slope, more;
} line[] = {{2, 0}, {1, 2}, {0.5f, 4}};
enum { LINES = sizeof line / sizeof *line };

bool emit_has_e2m1(const emitter *e) { return !emit_is_host(e); }

/* ---- f32 ---- */

/* 2^23, from which on f32 have a last place of 1, and its code. */
#define WHOLE 8388608.0
#define WHOLE_CODE 0x4B000000u
/* 4, and the bits of f32 but for the sign. */
#define HALF_SIGN_CODE 0x40800000u
#define SIGN_BIT 0x80000000u

static LLVMValueRef call(const emitter *e, const char *name, LLVMValueRef *args, int n) {
  LLVMTypeRef type = LLVMTypeOf(args[0]);
  return emit_intrinsic(e, name, &type, 1, args, n);
}

static LLVMValueRef real(const emitter *e, double x) {
  return LLVMConstReal(LLVMFloatTypeInContext(e->context), x);
}

static LLVMValueRef bits_of(const emitter *e, LLVMValueRef x) {
  return LLVMBuildBitCast(e->builder, x, e->i32, "");
}

/* (x & mask) ^ bits */
static LLVMValueRef mask_xor(emitter *e, LLVMValueRef x, uint32_t mask, uint32_t bits) {
  if (e->ops->mask_xor) return e->ops->mask_xor(e, x, mask, bits);
  x = LLVMBuildAnd(e->builder, x, emit_i32(e, (int)mask), "");
  return LLVMBuildXor(e->builder, x, emit_i32(e, (int)bits), "");
}

static LLVMValueRef least_of(const emitter *e, LLVMValueRef least, LLVMValueRef sum) {
  LLVMValueRef both[] = {least, sum};
  return least ? call(e, "llvm.umin", both, 2) : sum;
}

/* x slope + more, in the last places of 2^23. */
static LLVMValueRef sum_of(const emitter *e, LLVMValueRef x, float slope, float more) {
  LLVMValueRef args[] = {x, real(e, slope), real(e, WHOLE + more + SIGN / 2)};
  return bits_of(e, call(e, "llvm.fma", args, 3));
}

/* The least of the sums of a number whose size is at most LARGEST. */
static LLVMValueRef least_sum(const emitter *e, LLVMValueRef size) {
  LLVMValueRef least = NULL;
  for (int i = 0; i < LINES; i++)
    least = least_of(e, least, sum_of(e, size, line[i].slope, line[i].more));
  return least;
}

/* Of any number, and of NaN what LARGEST has: the second and third sum are of (LARGEST - a) / SPAN
 * instead, which is exact where they count, from LARGEST - SPAN on, and between 0 and 1. */
#define SPAN 4
static LLVMValueRef least_share(emitter *e, LLVMValueRef size) {
  LLVMValueRef share = e->ops->unit_share(e, size, -1.f / SPAN, (float)LARGEST / SPAN);
  LLVMValueRef least = sum_of(e, size, line[0].slope, line[0].more);
  for (int i = 1; i < LINES; i++)
    least = least_of(
        e, least, sum_of(e, share, -SPAN * line[i].slope, LARGEST * line[i].slope + line[i].more));
  return least;
}

/* Between the largest numbers; of NaN the positive one. */
static LLVMValueRef at_most(const emitter *e, LLVMValueRef x) {
  LLVMValueRef args[] = {x, real(e, LARGEST)};
  return call(e, "llvm.minnum", args, 2);
}

static LLVMValueRef limited(const emitter *e, LLVMValueRef x) {
  LLVMValueRef args[] = {at_most(e, x), real(e, -LARGEST)};
  return call(e, "llvm.maxnum", args, 2);
}

/* The code, in the last places of 2^23. */
static LLVMValueRef whole_code(emitter *e, LLVMValueRef x) {
  LLVMBuilderRef b = e->builder;
  bool shares = e->ops->unit_share;
  x = shares ? at_most(e, x) : limited(e, x);
  LLVMValueRef size = call(e, "llvm.fabs", &x, 1);
  LLVMValueRef least = shares ? least_share(e, size) : least_sum(e, size);
  LLVMValueRef sign = mask_xor(e, bits_of(e, x), SIGN_BIT, SIGN_BIT ^ HALF_SIGN_CODE);
  LLVMTypeRef f32 = LLVMFloatTypeInContext(e->context);
  return bits_of(e, LLVMBuildFAdd(b, LLVMBuildBitCast(b, least, f32, ""),
                                  LLVMBuildBitCast(b, sign, f32, ""), ""));
}

LLVMValueRef emit_e2m1(emitter *e, LLVMValueRef x) {
  return LLVMBuildAnd(e->builder, whole_code(e, x), emit_i32(e, 0xF), "");
}

/* Each code's other bits are known, and taken from the sum of all. */
static LLVMValueRef word_of(emitter *e, const LLVMValueRef x[NUMBERS]) {
  LLVMBuilderRef b = e->builder;
  LLVMValueRef word = NULL;
  uint32_t others = 0;
  for (int i = NUMBERS - 1; i >= 0; i--) {
    LLVMValueRef code = whole_code(e, x[i]);
    word = word ? LLVMBuildAdd(b, LLVMBuildMul(b, word, emit_i32(e, 16), ""), code, "") : code;
    others = others * 16 + WHOLE_CODE;
  }
  return LLVMBuildSub(b, word, emit_i32(e, (int)others), "");
}

/* A choice by one truth between 0 and a number, for each number of a word. */
typedef struct choice {
  LLVMValueRef truth;
  unsigned zero; /* which operand of the choice is 0 */
  LLVMValueRef number[NUMBERS];
} choice;

/* Whether x is such a choice; of i > 0 the same as those before. */
static bool joins_choice(choice *c, int i, LLVMValueRef x) {
  while (LLVMIsABitCastInst(x)) x = LLVMGetOperand(x, 0);
  if (!LLVMIsASelectInst(x)) return false;
  LLVMValueRef set = LLVMGetOperand(x, 0);
  unsigned zero = LLVMIsNull(LLVMGetOperand(x, 1)) ? 1 : 2;
  if (!LLVMIsAICmpInst(set) || LLVMGetICmpPredicate(set) != LLVMIntNE ||
      !LLVMIsNull(LLVMGetOperand(set, 1)) || !LLVMIsNull(LLVMGetOperand(x, zero)))
    return false;
  LLVMValueRef truth = LLVMGetOperand(set, 0);
  if (i > 0 && (c->truth != truth || c->zero != zero)) return false;
  c->truth = truth;
  c->zero = zero;
  c->number[i] = LLVMGetOperand(x, 3 - zero);
  return true;
}

/* What all eight numbers choose, their word chooses: of zeros it is 0. */
LLVMValueRef emit_e2m1_word(emitter *e, const LLVMValueRef x[8]) {
  choice c = {.truth = NULL};
  for (int i = 0; i < NUMBERS; i++)
    if (!joins_choice(&c, i, x[i])) return word_of(e, x);
  for (int i = 0; i < NUMBERS; i++)
    c.number[i] = LLVMBuildBitCast(e->builder, c.number[i], LLVMTypeOf(x[i]), "");
  LLVMValueRef none = emit_i32(e, 0), word = word_of(e, c.number);
  LLVMValueRef set = LLVMBuildICmp(e->builder, LLVMIntNE, c.truth, none, "");
  return LLVMBuildSelect(e->builder, set, c.zero == 1 ? none : word, c.zero == 1 ? word : none, "");
}

/* ---- bf16, two in a word ---- */

/* The same of bf16, whose last place is 1 from 2^7 on. */
#define HALF_WHOLE 128
#define HALF_WHOLE_CODE 0x4300u
/* Bits of a word's upper element, and where its code and the lower one's meet. */
#define UPPER_BITS 16
#define MEET_BYTE 2

bool emit_has_e2m1_of_halves(const emitter *e) {
  return e->ops->limit_pair && e->ops->size_pair && e->ops->multiply_pair && e->ops->extreme_pair;
}

#define HALF_SIGN_BITS 0x80008000u

/* A number that bf16 holds, in both halves of a word. */
static uint32_t code_twice(float x) {
  union {
    float number;
    uint32_t code;
  } u = {.number = x};
  return u.code >> UPPER_BITS | (u.code & 0xFFFF0000u);
}

static LLVMValueRef twice(const emitter *e, float x) { return emit_i32(e, (int)code_twice(x)); }

/* As whole_code, in the last places of 2^7. */
static LLVMValueRef whole_codes(emitter *e, LLVMValueRef word) {
  const emit_target_ops *ops = e->ops;
  LLVMValueRef x = ops->limit_pair(e, LLRT_BF16, word, twice(e, LARGEST));
  LLVMValueRef size = ops->size_pair(e, LLRT_BF16, x), least = NULL;
  for (int i = 0; i < LINES; i++) {
    LLVMValueRef sum = ops->multiply_pair(e, LLRT_BF16, size, twice(e, line[i].slope),
                                          twice(e, HALF_WHOLE + line[i].more + SIGN / 2));
    least = least ? ops->extreme_pair(e, LLRT_BF16, true, least, sum) : sum;
  }
  LLVMValueRef sign = mask_xor(e, x, HALF_SIGN_BITS, HALF_SIGN_BITS ^ code_twice(SIGN / 2));
  return ops->multiply_pair(e, LLRT_BF16, least, twice(e, 1), sign);
}

void emit_e2m1_pair_of_halves(emitter *e, LLVMValueRef word, LLVMValueRef code[2]) {
  LLVMValueRef both = whole_codes(e, word);
  code[0] = LLVMBuildAnd(e->builder, both, emit_i32(e, 0xF), "");
  both = LLVMBuildLShr(e->builder, both, emit_i32(e, UPPER_BITS), "");
  code[1] = LLVMBuildAnd(e->builder, both, emit_i32(e, 0xF), "");
}

/* A product moves both codes of a word to where they are side by side. */
LLVMValueRef emit_e2m1_word_of_halves(emitter *e, const LLVMValueRef words[4]) {
  const uint32_t meet = (1u << (MEET_BYTE * 8)) + (1u << (MEET_BYTE * 8 + 4 - UPPER_BITS));
  const uint32_t others = (HALF_WHOLE_CODE | HALF_WHOLE_CODE << UPPER_BITS) * meet;
  static const int bytes[4] = {MEET_BYTE, MEET_BYTE + 4, MEET_BYTE, MEET_BYTE + 4};
  static const int both[4] = {0, 1, 4, 5};
  LLVMValueRef met[4];
  for (int i = 0; i < 4; i++)
    met[i] = LLVMBuildSub(
        e->builder, LLVMBuildMul(e->builder, whole_codes(e, words[i]), emit_i32(e, (int)meet), ""),
        emit_i32(e, (int)others), "");
  return emit_permute(e, emit_permute(e, met[0], met[1], bytes),
                      emit_permute(e, met[2], met[3], bytes), both);
}
