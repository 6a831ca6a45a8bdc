/* PLAN_APPLY: one operator of an expression on words of one element. What an operand is reduced
 * along it is the same for; on the host its lanes are fewer then, and are spread. */
#include "jit/emit/core/builder.h"
#include "jit/emit/value/emit_function.h"
#include "jit/emit/value/emit_value.h"

#include "base/bits.h"
#include "expression/expression.h"
#include "jit/plan/facts/eval.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"

/* Quotients of a thread. */
#define FEW 2

typedef struct applier {
  emitter *e;
  const plan_step *step;
  LLVMBuilderRef b;
  LLVMTypeRef out; /* of a word of the result */
  llrt_dtype from, type;
} applier;

/* ---- operands ---- */

static int host_lanes(const plan_value *value) {
  int n = 0;
  for (int i = 0; i < plan_value_bits(value, PLAN_LANE); i++)
    n += plan_value_columns(value, PLAN_LANE)[i] != 0;
  return n;
}

static LLVMTypeRef word_type(const emitter *e, const plan_value *value) {
  LLVMTypeRef scalar = emit_int_type(e, value->bits);
  int lanes = emit_is_host(e) ? host_lanes(value) : 0;
  return lanes > 0 ? LLVMVectorType(scalar, 1u << lanes) : scalar;
}

/* The operand's lanes as the result has them. */
static LLVMValueRef spread_lanes(const applier *a, const plan_value *in, LLVMValueRef word) {
  const plan_value *out = &a->e->kernel->value[a->step->out];
  LLVMValueRef mask[EMIT_MAX_LANES];
  int from = host_lanes(in), to = host_lanes(out);
  if (!emit_is_host(a->e) || from == to) return word;
  LLVMTypeRef type = LLVMTypeOf(word);
  if (from == 0) {
    LLVMValueRef one = LLVMGetUndef(LLVMVectorType(type, 1));
    word = LLVMBuildInsertElement(a->b, one, word, emit_i32(a->e, 0), "");
  }
  for (int l = 0; l < 1 << to; l++)
    mask[l] = emit_i32(a->e, from ? (int64_t)plan_reduced_lane(out, in, (uint64_t)l) : 0);
  return LLVMBuildShuffleVector(a->b, word, LLVMGetUndef(LLVMTypeOf(word)),
                                LLVMConstVector(mask, 1u << to), "");
}

static LLVMValueRef operand(const applier *a, int value, int register_) {
  const plan_value *in = &a->e->kernel->value[value], *out = &a->e->kernel->value[a->step->out];
  uint64_t own = plan_reduced_register(out, in, (uint64_t)register_);
  return spread_lanes(a, in, emit_register(a->e, value, (int)own));
}

/* ---- numbers ---- */

static bool is_real(llrt_dtype type) { return type == LLRT_F32 || type == LLRT_F64; }

static LLVMTypeRef scalar_of(LLVMTypeRef type) {
  return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type;
}

static LLVMTypeRef shaped(LLVMTypeRef like, LLVMTypeRef scalar) {
  return LLVMGetTypeKind(like) == LLVMVectorTypeKind
             ? LLVMVectorType(scalar, LLVMGetVectorSize(like))
             : scalar;
}

/* A code as a number, where its type is one of reals. */
static LLVMValueRef as_number(const applier *a, LLVMValueRef code) {
  if (!is_real(a->from)) return code;
  return LLVMBuildBitCast(a->b, code, emit_number_type(a->e, a->from, LLVMTypeOf(code)), "");
}

static LLVMValueRef truth_of(const applier *a, LLVMValueRef condition) {
  return LLVMBuildZExt(a->b, condition, shaped(LLVMTypeOf(condition), a->e->i32), "");
}

static LLVMValueRef extreme(const applier *a, LLVMValueRef x, LLVMValueRef y) {
  static const char *const names[2][2] = {{"llvm.smin", "llvm.smax"},
                                          {"llvm.minimum", "llvm.maximum"}};
  LLVMTypeRef type = LLVMTypeOf(x);
  LLVMValueRef args[2] = {x, y};
  return emit_intrinsic(a->e, names[is_real(a->from)][a->step->op == EXPR_MAXIMUM], &type, 1, args,
                        2);
}

/* ---- whole numbers ---- */

/* Rounded down, as Python has it. By 0 the quotient is 0 and the rest x. */
static LLVMValueRef floor_divided(const applier *a, LLVMValueRef x, LLVMValueRef y, bool rest) {
  LLVMTypeRef type = LLVMTypeOf(x);
  LLVMValueRef zero = emit_splat(type, 0), one = emit_splat(type, 1),
               minus = emit_splat(type, ~0ull);
  LLVMValueRef none = LLVMBuildICmp(a->b, LLVMIntEQ, y, zero, "");
  LLVMValueRef negates =
      LLVMBuildICmp(a->b, LLVMIntEQ, y, minus, ""); /* of the least: no quotient */
  LLVMValueRef by = LLVMBuildSelect(a->b, LLVMBuildOr(a->b, none, negates, ""), one, y, "");
  LLVMValueRef q = LLVMBuildSDiv(a->b, x, by, "");
  LLVMValueRef r = LLVMBuildSub(a->b, x, LLVMBuildMul(a->b, q, by, ""), "");
  LLVMValueRef differ = LLVMBuildICmp(a->b, LLVMIntSLT, LLVMBuildXor(a->b, r, by, ""), zero, "");
  LLVMValueRef below = LLVMBuildAnd(a->b, differ, LLVMBuildICmp(a->b, LLVMIntNE, r, zero, ""), "");
  q = LLVMBuildSelect(a->b, below, LLVMBuildSub(a->b, q, one, ""), q, "");
  r = LLVMBuildSelect(a->b, below, LLVMBuildAdd(a->b, r, by, ""), r, "");
  q = LLVMBuildSelect(a->b, negates, LLVMBuildSub(a->b, zero, x, ""), q, "");
  if (rest) return LLVMBuildSelect(a->b, none, x, r, "");
  return LLVMBuildSelect(a->b, none, zero, q, "");
}

static LLVMValueRef shifted(const applier *a, LLVMValueRef x, LLVMValueRef y) {
  LLVMTypeRef type = LLVMTypeOf(x);
  unsigned bits = LLVMGetIntTypeWidth(scalar_of(type));
  y = LLVMBuildAnd(a->b, y, emit_splat(type, bits - 1), "");
  return a->step->op == EXPR_SHIFT_LEFT ? LLVMBuildShl(a->b, x, y, "")
                                        : LLVMBuildAShr(a->b, x, y, "");
}

static LLVMValueRef compared(const applier *a, LLVMValueRef x, LLVMValueRef y) {
  static const LLVMIntPredicate integers[] = {LLVMIntEQ,  LLVMIntNE,  LLVMIntSLE,
                                              LLVMIntSLT, LLVMIntSGE, LLVMIntSGT};
  static const LLVMRealPredicate reals[] = {LLVMRealOEQ, LLVMRealUNE, LLVMRealOLE,
                                            LLVMRealOLT, LLVMRealOGE, LLVMRealOGT};
  int which = a->step->op - EXPR_EQUAL;
  return truth_of(a, is_real(a->from) ? LLVMBuildFCmp(a->b, reals[which], x, y, "")
                                      : LLVMBuildICmp(a->b, integers[which], x, y, ""));
}

/* ---- casts ---- */

/* The code of a number that e8m0 has: the exponent, which is 0 of the subnormal one. */
static LLVMValueRef own_code(const applier *a, LLVMValueRef x) {
  LLVMTypeRef type = LLVMTypeOf(x);
  LLVMValueRef code = LLVMBuildLShr(a->b, x, emit_splat(type, 23), "");
  return LLVMBuildAnd(a->b, code, emit_splat(type, 0xFF), "");
}

/* The power of two that e8m0 has for an f32, as an f32: 2^-127, which is subnormal, for what is
 * less or nearest to it, 2^127 for what is more, NaN for NaN and for numbers below 0. */
static LLVMValueRef power_value(const applier *a, LLVMValueRef x) {
  LLVMTypeRef type = LLVMTypeOf(x);
  bool positive = a->step->positive;
  LLVMValueRef magnitude = x, more = NULL, odd;
  uint64_t least = 0x7FFFFF; /* the last that becomes 2^-127, whose bit is 22 */
  if (!positive) magnitude = LLVMBuildAnd(a->b, x, emit_splat(type, 0x7FFFFFFF), "");
  if (a->step->rounding == EXPR_UP) {
    least = 0x400000;
    more = emit_splat(type, 0x7FFFFF);
  } else if (a->step->rounding != EXPR_DOWN) {
    least = 0x600000;
    odd = LLVMBuildAnd(a->b, LLVMBuildLShr(a->b, x, emit_splat(type, 23), ""), emit_splat(type, 1),
                       "");
    more = LLVMBuildAdd(a->b, emit_splat(type, 0x3FFFFF), odd, "");
  }
  LLVMValueRef power = more ? LLVMBuildAdd(a->b, magnitude, more, "") : magnitude;
  LLVMValueRef args[2] = {LLVMBuildAnd(a->b, power, emit_splat(type, 0x7F800000), ""),
                          emit_splat(type, 254ull << 23)};
  power = emit_intrinsic(a->e, "llvm.umin", &type, 1, args, 2);
  LLVMValueRef small = LLVMBuildICmp(a->b, LLVMIntULE, magnitude, emit_splat(type, least), "");
  power = LLVMBuildSelect(a->b, small, emit_splat(type, 0x400000), power, "");
  LLVMValueRef none = LLVMBuildICmp(a->b, LLVMIntUGT, magnitude, emit_splat(type, 0x7F800000), "");
  if (!positive) {
    LLVMValueRef below = LLVMBuildICmp(a->b, LLVMIntUGT, x, emit_splat(type, 0x80000000), "");
    none = LLVMBuildOr(a->b, none, below, "");
  }
  return LLVMBuildSelect(a->b, none, emit_splat(type, 0x7FFFFFFF), power, "");
}

static LLVMValueRef narrowed(const applier *a, LLVMValueRef x) {
  LLVMTypeRef type = LLVMTypeOf(x);
  LLVMValueRef most[2] = {x, emit_splat(type, INT32_MAX)};
  LLVMValueRef least[2] = {emit_intrinsic(a->e, "llvm.smin", &type, 1, most, 2),
                           emit_splat(type, (uint64_t)INT32_MIN)};
  x = emit_intrinsic(a->e, "llvm.smax", &type, 1, least, 2);
  return LLVMBuildTrunc(a->b, x, shaped(type, a->e->i32), "");
}

static LLVMValueRef cast(const applier *a, LLVMValueRef x) {
  if (a->step->through) {
    LLVMValueRef power = a->step->power ? x : power_value(a, x);
    return a->type == LLRT_F32 ? power : own_code(a, power);
  }
  if (a->from == a->type || a->from != LLRT_I64) return x;
  if (a->type == LLRT_I32) return narrowed(a, x);
  x = LLVMBuildSIToFP(a->b, x, emit_number_type(a->e, a->type, LLVMTypeOf(x)), "");
  return x;
}

/* ---- operators ---- */

/* Where a thread divides many numbers, the divisions' own instructions take the least time. */
static LLVMValueRef divided(const applier *a, LLVMValueRef x, LLVMValueRef y) {
  bool few = emit_word_count(&a->e->kernel->value[a->step->out]) <= FEW;
  if (!few) return LLVMBuildFDiv(a->b, x, y, "");
  return emit_known_quotient(a->e, x, y, a->step->least, a->step->moderate);
}

static LLVMValueRef arithmetic(const applier *a, LLVMValueRef x, LLVMValueRef y) {
  bool real = is_real(a->from);
  switch (a->step->op) {
  case EXPR_ADD: return real ? LLVMBuildFAdd(a->b, x, y, "") : LLVMBuildAdd(a->b, x, y, "");
  case EXPR_SUBTRACT: return real ? LLVMBuildFSub(a->b, x, y, "") : LLVMBuildSub(a->b, x, y, "");
  case EXPR_MULTIPLY: return real ? LLVMBuildFMul(a->b, x, y, "") : LLVMBuildMul(a->b, x, y, "");
  case EXPR_DIVIDE: return divided(a, x, y);
  case EXPR_AND: return LLVMBuildAnd(a->b, x, y, "");
  case EXPR_OR: return LLVMBuildOr(a->b, x, y, "");
  case EXPR_XOR: return LLVMBuildXor(a->b, x, y, "");
  case EXPR_SHIFT_LEFT:
  case EXPR_SHIFT_RIGHT: return shifted(a, x, y);
  case EXPR_MAXIMUM:
  case EXPR_MINIMUM: return extreme(a, x, y);
  case EXPR_FLOOR_DIVIDE:
  case EXPR_MODULO: break;
  default: return compared(a, x, y);
  }
  bool rest = a->step->op == EXPR_MODULO;
  if (!real) return floor_divided(a, x, y, rest);
  LLVMValueRef whole = emit_function(a->e, EXPR_FLOOR, divided(a, x, y));
  return rest ? LLVMBuildFSub(a->b, x, LLVMBuildFMul(a->b, whole, y, ""), "") : whole;
}

static LLVMValueRef of_one(const applier *a, LLVMValueRef x) {
  bool real = is_real(a->from);
  LLVMTypeRef type = LLVMTypeOf(x);
  switch (a->step->op) {
  case EXPR_NEGATE: return real ? LLVMBuildFNeg(a->b, x, "") : LLVMBuildNeg(a->b, x, "");
  case EXPR_INVERT:
    return a->from == LLRT_BOOL ? LLVMBuildXor(a->b, x, emit_splat(type, 1), "")
                                : LLVMBuildNot(a->b, x, "");
  case EXPR_ABS: {
    if (real) return emit_intrinsic(a->e, "llvm.fabs", &type, 1, &x, 1);
    LLVMValueRef below = LLVMBuildICmp(a->b, LLVMIntSLT, x, emit_splat(type, 0), "");
    return LLVMBuildSelect(a->b, below, LLVMBuildNeg(a->b, x, ""), x, "");
  }
  case EXPR_BITCAST: return x;
  case EXPR_CAST: return cast(a, x);
  case EXPR_RCP: return divided(a, LLVMConstReal(type, 1), x);
  case EXPR_EXP:
    return a->step->coarse ? emit_exp_added(a->e, x) : emit_function(a->e, EXPR_EXP, x);
  default: return emit_function(a->e, a->step->op, x);
  }
}

static LLVMValueRef apply(const applier *a, int register_) {
  const plan_step *step = a->step;
  LLVMValueRef x = operand(a, step->in, register_), y, z;
  bool codes = step->op == EXPR_CAST || step->op == EXPR_BITCAST || step->op == EXPR_WHERE;
  if (!codes) x = as_number(a, x);
  if (step->operands == 1) return of_one(a, x);
  y = operand(a, step->second, register_);
  if (!codes) y = as_number(a, y);
  if (step->operands == 2) return arithmetic(a, x, y);
  z = operand(a, step->with, register_);
  if (step->op == EXPR_WHERE) {
    LLVMValueRef set = LLVMBuildICmp(a->b, LLVMIntNE, x, LLVMConstNull(LLVMTypeOf(x)), "");
    return LLVMBuildSelect(a->b, set, y, z, "");
  }
  LLVMValueRef args[3] = {x, y, as_number(a, z)};
  LLVMTypeRef type = LLVMTypeOf(x);
  return emit_intrinsic(a->e, "llvm.fma", &type, 1, args, 3);
}

/* Whether a word is beyond the end of an axis in all threads: what they add is not negative. */
static bool is_beyond(const plan_kernel *kernel, const plan_value *value, int word) {
  static const int64_t no_upper[PLAN_MAX_DIGITS];
  int64_t position[PLAN_MAX_DIGITS];
  plan_value spread;
  plan_value_spread(kernel, value, &spread);
  uint64_t tile = f2_apply(plan_value_columns(&spread, PLAN_REGISTER), (uint64_t)word);
  plan_tile_position(kernel, tile, 0, no_upper, position);
  for (int i = 0; i < kernel->n_bounds; i++) {
    const plan_bound *bound = &kernel->bound[i];
    int64_t at =
        bound->axis >= 0 ? plan_coordinate(kernel, bound->axis, position) : position[bound->top];
    if (!bound->device && bound->limit.arg < 0 && at >= bound->limit.value) return true;
  }
  return false;
}

/* Operands of the words that are made. */
typedef struct dividends {
  const applier *a;
  const int *word;
} dividends;

static LLVMValueRef dividend(const void *from, int i) {
  const dividends *d = from;
  return as_number(d->a, operand(d->a, d->a->step->in, d->word[i]));
}

/* n results; where they may err by more than f32 does, by shorter functions, if the target has
 * any. */
static bool functions(const dividends *from, int n, LLVMValueRef *made) {
  emitter *e = from->a->e;
  const plan_step *step = from->a->step;
  LLVMValueRef x[EMIT_MAX_REGISTERS];
  for (int i = 0; i < n; i++) x[i] = dividend(from, i);
  bool short_ones = step->narrow && n > 0;
  for (int i = 0; i < n && short_ones; i++) {
    made[i] = emit_narrow_function(e, step->op, x[i]);
    short_ones = made[i] != NULL;
  }
  return short_ones || emit_functions(e, step->op, n, x, made);
}

/* Quotients by few numbers, and functions, of all words at once; false, and nothing is emitted,
 * where each is made by itself. */
static bool apply_to_all(const applier *a) {
  emitter *e = a->e;
  const plan_step *step = a->step;
  const plan_value *out = &e->kernel->value[step->out], *by = &e->kernel->value[step->second];
  int n_divisors = emit_word_count(by), divisor[EMIT_MAX_REGISTERS], word[EMIT_MAX_REGISTERS];
  LLVMValueRef y[EMIT_MAX_REGISTERS], made[EMIT_MAX_REGISTERS];
  dividends from = {.a = a, .word = word};
  bool divides = step->op == EXPR_DIVIDE;
  int n = 0;
  if (emit_is_host(e) || a->from != LLRT_F32 || a->type != LLRT_F32) return false;
  if (!divides && step->operands != 1) return false;
  for (int i = 0; i < emit_word_count(out); i++)
    if (!is_beyond(e->kernel, out, i)) word[n++] = i;
  for (int i = 0; i < n_divisors && divides; i++)
    y[i] = as_number(a, emit_register(e, step->second, i));
  for (int i = 0; i < n && divides; i++)
    divisor[i] = (int)plan_reduced_register(out, by, (uint64_t)word[i]);
  if (divides ? !emit_quotients(e, step, n, dividend, &from, n_divisors, y, divisor, made)
              : !functions(&from, n, made))
    return false;
  for (int i = 0; i < emit_word_count(out); i++) e->value[step->out][i] = LLVMConstNull(a->out);
  for (int i = 0; i < n; i++)
    e->value[step->out][word[i]] = LLVMBuildBitCast(a->b, made[i], a->out, "");
  return true;
}

/* The operand's registers in another order. */
static void flip(const applier *a) {
  const plan_step *step = a->step;
  const plan_value *out = &a->e->kernel->value[step->out];
  int mask = plan_flipped_registers(a->e->kernel, step);
  for (int i = 0; i < emit_word_count(out); i++)
    a->e->value[step->out][i] = emit_register(a->e, step->in, i ^ mask);
}

void emit_apply_step(emitter *e, const plan_step *step) {
  const plan_value *out = &e->kernel->value[step->out];
  applier a = {.e = e,
               .step = step,
               .b = e->builder,
               .out = word_type(e, out),
               .from = (llrt_dtype)step->element,
               .type = (llrt_dtype)step->type};
  if (step->op == EXPR_POSITION) {
    emit_positions_along(e, step->out, step->axis);
    return;
  }
  if (step->op == EXPR_FLIP) {
    flip(&a);
    return;
  }
  if (emit_divide_halves(e, step) || emit_add_halves(e, step) || apply_to_all(&a)) return;
  for (int i = 0; i < emit_word_count(out); i++) {
    LLVMValueRef made;
    if (step->op == EXPR_NUMBER) {
      made = emit_number(e, &step->number);
      if (out->bits == 32) made = LLVMBuildTrunc(e->builder, made, e->i32, "");
    } else {
      made = apply(&a, i);
    }
    e->value[step->out][i] = LLVMBuildBitCast(e->builder, made, a.out, "");
  }
}
