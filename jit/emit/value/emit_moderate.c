/* Quotients and functions of many numbers at once on a GPU: where all numbers of a warp are
 * moderate, which most are, fewer instructions make the same bits. One branch for all of a thread's
 * numbers tells, the same in all lanes of a warp.
 *
 * A division of f32 is a branch and a dozen instructions; where a thread divides many numbers by
 * one, three do: with r the rounded 1 / y, q = x r and m = y q - x, which is exact, q - m r rounded
 * once is x / y rounded once (Markstein 1990), if nothing overflows or is subnormal on the way. */
#include "jit/emit/core/builder.h"
#include "jit/emit/value/emit_function.h"
#include "jit/emit/value/emit_value.h"

#include "base/bits.h"

#include <float.h>
#include <llvm-c/DebugInfo.h>
#include <math.h>

/* Numbers of a thread that are worth two ways. */
#define MANY 4

/* The ranges of |x|, unless it is 0, and of y: no quotient is above 2^126 or below 2^-124, and the
 * last place of m is at least 2^-147. */
#define LEAST_X 0x1p-100
#define MOST_X 0x1p66 /* 2^PLAN_BOUNDED */
#define LEAST_Y 0x1p-60
#define MOST_Y 0x1p24

/* n results, each made by one of two functions of these. */
typedef struct two_ways {
  emitter *e;
  int n, op;
  const LLVMValueRef *x; /* NULL: `dividend` makes each where it is wanted */
  emit_dividend *dividend;
  const void *from;
  const LLVMValueRef *y; /* of quotients, number divisor[i] for x[i] */
  const int *divisor;    /* NULL: of functions, which have no y */
  int n_divisors;
  LLVMValueRef r[EMIT_MAX_REGISTERS], minus_r[EMIT_MAX_REGISTERS]; /* 1 / y, and its negative */
} two_ways;

typedef LLVMValueRef make_one(const two_ways *w, int i);

static LLVMValueRef number_of(const two_ways *w, int i) {
  return w->x ? w->x[i] : w->dividend(w->from, i);
}

static LLVMValueRef real(const emitter *e, double x) {
  return LLVMConstReal(LLVMFloatTypeInContext(e->context), x);
}

static LLVMValueRef call(const emitter *e, const char *name, LLVMValueRef *args, int n) {
  LLVMTypeRef type = LLVMTypeOf(args[0]);
  return emit_intrinsic(e, name, &type, 1, args, n);
}

static LLVMValueRef size_of(const emitter *e, LLVMValueRef x) {
  return call(e, "llvm.fabs", &x, 1);
}

static LLVMValueRef at_most(const emitter *e, LLVMRealPredicate order, LLVMValueRef x, double y) {
  return LLVMBuildFCmp(e->builder, order, x, real(e, y), "");
}

/* The larger or less of both; of what is not there the other. */
static LLVMValueRef joined(const emitter *e, const char *name, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef args[2] = {a, b};
  return a ? call(e, name, args, 2) : b;
}

/* ---- two ways ---- */

static LLVMBasicBlockRef make_all(const two_ways *w, make_one *make, LLVMBasicBlockRef at,
                                  LLVMBasicBlockRef next, LLVMValueRef *made) {
  LLVMPositionBuilderAtEnd(w->e->builder, at);
  for (int i = 0; i < w->n; i++) made[i] = make(w, i);
  LLVMBuildBr(w->e->builder, next);
  return LLVMGetInsertBlock(w->e->builder);
}

/* Numbers of a turn of the loop below. */
#define AT_ONCE 4
/* From so many numbers on a loop over memory is less code than what it replaces. */
#define LEAST_IN_MEMORY 4
/* Numbers of an access to it. */
#define OWN_VECTOR 4

/* The same in a loop, whose turns take the numbers in front and put what they make behind the
 * others: few instructions to compile, for numbers that are rare. */
static LLVMBasicBlockRef make_by_turns(const two_ways *w, make_one *make, LLVMBasicBlockRef at,
                                       LLVMBasicBlockRef next, LLVMValueRef *made) {
  emitter *e = w->e;
  two_ways some = *w;
  LLVMValueRef carried[EMIT_MAX_REGISTERS], zero = emit_i32(e, 0);
  LLVMBasicBlockRef body = emit_new_block(e, "some");
  some.x = carried;
  some.n = AT_ONCE;
  LLVMPositionBuilderAtEnd(e->builder, at);
  LLVMBuildBr(e->builder, body);
  LLVMPositionBuilderAtEnd(e->builder, body);
  LLVMValueRef turn = LLVMBuildPhi(e->builder, e->i32, "turn");
  LLVMAddIncoming(turn, &zero, &at, 1);
  for (int i = 0; i < w->n; i++) {
    LLVMValueRef x = number_of(w, i);
    carried[i] = LLVMBuildPhi(e->builder, LLVMTypeOf(x), "");
    LLVMAddIncoming(carried[i], &x, &at, 1);
  }
  for (int i = 0; i < w->n - AT_ONCE; i++) made[i] = carried[i + AT_ONCE];
  for (int i = 0; i < AT_ONCE; i++) made[w->n - AT_ONCE + i] = make(&some, i);
  LLVMValueRef after = emit_add(e, turn, emit_i32(e, 1));
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->builder);
  LLVMAddIncoming(turn, &after, &latch, 1);
  for (int i = 0; i < w->n; i++) LLVMAddIncoming(carried[i], &made[i], &latch, 1);
  LLVMBuildCondBr(e->builder, emit_less(e, after, emit_i32(e, w->n / AT_ONCE)), body, next);
  return latch;
}

/* Not quotients: each is one instruction, and the loop takes registers. */
static bool goes_by_turns(const two_ways *w) {
  int least = w->e->kernel->target.tuning->rows_looped_numbers;
  return least > 0 && w->n >= bits_max(least, 2 * AT_ONCE) && w->n % AT_ONCE == 0 && !w->divisor;
}

static LLVMValueRef hidden(emitter *e, LLVMValueRef pointer) {
  LLVMValueRef address = LLVMBuildPtrToInt(e->builder, pointer, e->i64, "");
  return LLVMBuildIntToPtr(e->builder, e->ops->opaque(e, address), LLVMTypeOf(pointer), "");
}

/* Memory of the thread's own for so many numbers: of the function, wherever it is used. Its address
 * is one of which nothing is known, or ptxas makes registers of it and looks for each by its
 * number; but that it is the thread's own is known: as an address of any memory it takes ptxas 2 ms
 * more of a softmax. */
static LLVMValueRef own_memory(emitter *e, int n) {
  LLVMBasicBlockRef here = LLVMGetInsertBlock(e->builder);
  LLVMTypeRef type = LLVMArrayType2(LLVMFloatTypeInContext(e->context), (uint64_t)n);
  LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(e->function);
  LLVMPositionBuilderBefore(e->builder, LLVMGetFirstInstruction(entry));
  LLVMValueRef memory = LLVMBuildAlloca(e->builder, type, "");
  LLVMSetAlignment(memory, OWN_VECTOR * sizeof(float));
  LLVMPositionBuilderAtEnd(e->builder, here);
  LLVMTypeRef own = LLVMPointerTypeInContext(e->context, e->ops->own_space);
  return hidden(e, LLVMBuildAddrSpaceCast(e->builder, memory, own, ""));
}

static LLVMValueRef own_place(const emitter *e, LLVMValueRef memory, LLVMValueRef at) {
  return LLVMBuildInBoundsGEP2(e->builder, LLVMFloatTypeInContext(e->context), memory, &at, 1, "");
}

static LLVMValueRef load_own(const emitter *e, LLVMValueRef memory, LLVMValueRef at) {
  return LLVMBuildLoad2(e->builder, LLVMFloatTypeInContext(e->context), own_place(e, memory, at),
                        "");
}

/* n numbers, OWN_VECTOR at a time, the last ones maybe fewer: number which[i] of x, or x[i]. */
static void store_all_own(const emitter *e, LLVMValueRef memory, int n, const LLVMValueRef *x,
                          const int *which) {
  LLVMBuilderRef b = e->builder;
  for (int i = 0; i < n; i += OWN_VECTOR) {
    int some = bits_min(OWN_VECTOR, n - i);
    LLVMTypeRef type = LLVMVectorType(LLVMFloatTypeInContext(e->context), (unsigned)some);
    LLVMValueRef vector = LLVMGetUndef(type);
    for (int k = 0; k < some; k++)
      vector =
          LLVMBuildInsertElement(b, vector, x[which ? which[i + k] : i + k], emit_i32(e, k), "");
    LLVMBuildStore(b, vector, own_place(e, memory, emit_i32(e, i)));
  }
}

static void load_all_own(const emitter *e, LLVMValueRef memory, int n, LLVMValueRef *x) {
  LLVMBuilderRef b = e->builder;
  for (int i = 0; i < n; i += OWN_VECTOR) {
    int some = bits_min(OWN_VECTOR, n - i);
    LLVMTypeRef type = LLVMVectorType(LLVMFloatTypeInContext(e->context), (unsigned)some);
    LLVMValueRef vector = LLVMBuildLoad2(b, type, own_place(e, memory, emit_i32(e, i)), "");
    for (int k = 0; k < some; k++)
      x[i + k] = LLVMBuildExtractElement(b, vector, emit_i32(e, k), "");
  }
}

/* The same in a loop over the thread's own memory, a number in a turn: the least code, and no more
 * registers than one number takes. */
static LLVMBasicBlockRef make_in_memory(const two_ways *w, make_one *make, LLVMBasicBlockRef at,
                                        LLVMBasicBlockRef next, LLVMValueRef *made) {
  emitter *e = w->e;
  two_ways one = *w;
  LLVMValueRef x, y, zero = emit_i32(e, 0), numbers, divisors = NULL;
  static const int first = 0;
  LLVMBasicBlockRef body = emit_new_block(e, "some"), after = emit_new_block(e, "all");
  one.x = &x;
  one.y = w->n_divisors > 1 ? &y : w->y;
  one.divisor = w->divisor ? &first : NULL;
  LLVMPositionBuilderAtEnd(e->builder, at);
  numbers = own_memory(e, w->n);
  if (w->n_divisors > 1) divisors = own_memory(e, w->n);
  LLVMValueRef all[EMIT_MAX_REGISTERS];
  for (int i = 0; i < w->n; i++) all[i] = number_of(w, i);
  store_all_own(e, numbers, w->n, all, NULL);
  if (divisors) store_all_own(e, divisors, w->n, w->y, w->divisor);
  LLVMBuildBr(e->builder, body);
  LLVMPositionBuilderAtEnd(e->builder, body);
  LLVMValueRef turn = LLVMBuildPhi(e->builder, e->i32, "turn");
  LLVMAddIncoming(turn, &zero, &at, 1);
  x = load_own(e, numbers, turn);
  if (divisors) y = load_own(e, divisors, turn);
  LLVMBuildStore(e->builder, make(&one, 0), own_place(e, numbers, turn));
  LLVMValueRef following = emit_add(e, turn, emit_i32(e, 1));
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->builder);
  LLVMAddIncoming(turn, &following, &latch, 1);
  emit_keep_rolled(
      e, LLVMBuildCondBr(e->builder, emit_less(e, following, emit_i32(e, w->n)), body, after));
  LLVMPositionBuilderAtEnd(e->builder, after);
  load_all_own(e, hidden(e, numbers), w->n, made); /* with offsets, not other addresses */
  LLVMBuildBr(e->builder, next);
  return after;
}

/* The way of numbers that are rare. */
static LLVMBasicBlockRef make_rare(const two_ways *w, make_one *make, LLVMBasicBlockRef at,
                                   LLVMBasicBlockRef next, LLVMValueRef *made) {
  if (w->e->ops->own_space && w->n >= LEAST_IN_MEMORY)
    return make_in_memory(w, make, at, next, made);
  return goes_by_turns(w) ? make_by_turns(w, make, at, next, made)
                          : make_all(w, make, at, next, made);
}

static void go_two_ways(const two_ways *w, LLVMValueRef moderate, make_one *few, make_one *all,
                        LLVMValueRef *made) {
  emitter *e = w->e;
  LLVMValueRef other[EMIT_MAX_REGISTERS];
  LLVMBasicBlockRef way[2] = {emit_new_block(e, "moderate"), emit_new_block(e, "any")};
  LLVMBasicBlockRef next = emit_new_block(e, "made"), end[2];
  LLVMBuildCondBr(e->builder, e->ops->all_lanes(e, moderate), way[0], way[1]);
  end[0] = make_all(w, few, way[0], next, made);
  end[1] = make_rare(w, all, way[1], next, other);
  LLVMPositionBuilderAtEnd(e->builder, next);
  for (int i = 0; i < w->n; i++) {
    LLVMValueRef both[2] = {made[i], other[i]};
    made[i] = LLVMBuildPhi(e->builder, LLVMTypeOf(both[0]), "");
    LLVMAddIncoming(made[i], both, end, 2);
  }
}

/* ---- quotients ---- */

/* The code less 1, positive: x has no sign, else without it: in the order of |x|, but the largest
 * of all for 0. */
static LLVMValueRef order_of(const emitter *e, LLVMValueRef x, bool positive) {
  LLVMValueRef code = LLVMBuildBitCast(e->builder, x, e->i32, "");
  if (!positive) code = LLVMBuildShl(e->builder, code, emit_i32(e, 1), "");
  return LLVMBuildAdd(e->builder, code, emit_i32(e, -1), "");
}

/* Whether no |x| but 0 is below LEAST_X. */
static LLVMValueRef are_large(const two_ways *w, bool positive) {
  const emitter *e = w->e;
  const int64_t least = ((int64_t)(ilogb(LEAST_X) + 127) << (positive ? 23 : 24)) - 1;
  LLVMValueRef low = NULL;
  for (int i = 0; i < w->n; i++)
    low = joined(e, "llvm.umin", low, order_of(e, number_of(w, i), positive));
  return LLVMBuildICmp(e->builder, LLVMIntUGE, low, emit_i32(e, least), "");
}

/* Whether no |x| is above MOST_X. NaN is not: its quotient is one. */
static LLVMValueRef are_small(const two_ways *w) {
  LLVMValueRef high = NULL;
  for (int i = 0; i < w->n; i++)
    high = joined(w->e, "llvm.maxnum", high, size_of(w->e, number_of(w, i)));
  return at_most(w->e, LLVMRealULE, high, MOST_X);
}

/* What the step says of x needs no look. Of small |x| the short way may miss the last bit, but
 * neither the sign nor 2^-38. */
static LLVMValueRef are_moderate(const two_ways *w, const plan_step *step) {
  LLVMBuilderRef b = w->e->builder;
  LLVMValueRef moderate = LLVMConstInt(w->e->i1, 1, false);
  if (!step->coarse) moderate = are_large(w, step->positive);
  return step->bounded ? moderate : LLVMBuildAnd(b, moderate, are_small(w), "");
}

static LLVMValueRef is_moderate_divisor(const emitter *e, LLVMValueRef y) {
  return LLVMBuildAnd(e->builder, at_most(e, LLVMRealOGE, y, LEAST_Y),
                      at_most(e, LLVMRealOLE, y, MOST_Y), "");
}

/* The signs are such that quotients of -0 are -0. */
static LLVMValueRef short_quotient(const two_ways *w, int i) {
  LLVMBuilderRef b = w->e->builder;
  LLVMValueRef y = w->y[w->divisor[i]], r = w->r[w->divisor[i]], x = number_of(w, i);
  LLVMValueRef q = LLVMBuildFMul(b, x, r, "");
  LLVMValueRef over[3] = {y, q, LLVMBuildFNeg(b, x, "")};
  LLVMValueRef m = call(w->e, "llvm.fma", over, 3);
  LLVMValueRef back[3] = {m, w->minus_r[w->divisor[i]], q};
  return call(w->e, "llvm.fma", back, 3);
}

static LLVMValueRef quotient(const two_ways *w, int i) {
  return emit_quotient(w->e, number_of(w, i), w->y[w->divisor[i]]);
}

/* 1 / y of a power of two from 2^-127 to 2^127: the exponent's negative. That of 2^-127, which is
 * subnormal, is 0 here and makes 2^127; 2^127 makes 0, in whose place 2^-127 stands. */
LLVMValueRef emit_inverse_of_power(const emitter *e, LLVMValueRef y) {
  LLVMBuilderRef b = e->builder;
  LLVMTypeRef type = e->i32;
  LLVMValueRef code = LLVMBuildBitCast(b, y, type, ""), least = emit_i32(e, 1 << 22);
  LLVMValueRef exponent = LLVMBuildAnd(b, code, emit_i32(e, 0x7F800000), "");
  LLVMValueRef limited[2] = {LLVMBuildSub(b, emit_i32(e, 254 << 23), exponent, ""), least};
  LLVMValueRef inverse = emit_intrinsic(e, "llvm.umax", &type, 1, limited, 2);
  inverse = LLVMBuildBitCast(b, inverse, LLVMTypeOf(y), "");
  return LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealUNO, y, y, ""), y, inverse, "");
}

/* By powers of two: their inverses are exact, and a product is rounded once, whatever it is. By
 * others of quotients that may err: the table's inverses. False: there is no table. */
static bool divide_by_products(two_ways *w, bool powers, LLVMValueRef *made) {
  LLVMBuilderRef b = w->e->builder;
  for (int i = 0; i < w->n_divisors; i++) {
    w->r[i] = powers ? emit_inverse_of_power(w->e, w->y[i]) : emit_narrow_inverse(w->e, w->y[i]);
    if (!w->r[i]) return false;
  }
  for (int i = 0; i < w->n; i++)
    made[i] = LLVMBuildFMul(b, number_of(w, i), w->r[w->divisor[i]], "");
  return true;
}

/* By divisors that are moderate whatever tensors hold, or infinite, of quotients that are bounded
 * and of which small ones need their sign alone: without a look at them, and without a second way.
 * By infinity, whose inverse is 0, all is 0 or NaN: in its place stands the largest number, as its
 * product with 0 is 0. */
static void divide_moderately(const two_ways *all, LLVMValueRef *made) {
  two_ways w = *all;
  LLVMValueRef limited[EMIT_MAX_REGISTERS];
  w.y = limited;
  for (int i = 0; i < w.n_divisors; i++) {
    LLVMValueRef args[2] = {all->y[i], real(w.e, FLT_MAX)};
    w.r[i] = emit_finite_inverse(w.e, all->y[i]);
    w.minus_r[i] = LLVMBuildFNeg(w.e->builder, w.r[i], "");
    limited[i] = call(w.e, "llvm.minnum", args, 2);
  }
  for (int i = 0; i < w.n; i++) made[i] = short_quotient(&w, i);
}

bool emit_quotients(emitter *e, const plan_step *step, int n, emit_dividend *x, const void *from,
                    int n_divisors, const LLVMValueRef *y, const int *divisor, LLVMValueRef *made) {
  two_ways w = {.e = e,
                .n = n,
                .dividend = x,
                .from = from,
                .y = y,
                .divisor = divisor,
                .n_divisors = n_divisors};
  if (emit_is_host(e) || n < MANY * n_divisors) return false;
  if ((step->power || step->narrow) && divide_by_products(&w, step->power, made)) return true;
  if (step->moderate && step->bounded && step->coarse) {
    divide_moderately(&w, made);
    return true;
  }
  LLVMValueRef moderate = are_moderate(&w, step);
  for (int i = 0; i < n_divisors; i++) {
    w.r[i] = emit_moderate_inverse(e, y[i]);
    w.minus_r[i] = LLVMBuildFNeg(e->builder, w.r[i], "");
    moderate = LLVMBuildAnd(e->builder, moderate, is_moderate_divisor(e, y[i]), "");
  }
  go_two_ways(&w, moderate, short_quotient, quotient, made);
  return true;
}

/* ---- functions ---- */

static LLVMValueRef function_of_moderate(const two_ways *w, int i) {
  return emit_function_of_moderate(w->e, w->op, w->x[i]);
}

static LLVMValueRef function_of_any(const two_ways *w, int i) {
  return emit_function(w->e, w->op, w->x[i]);
}

bool emit_functions(emitter *e, int op, int n, const LLVMValueRef *x, LLVMValueRef *made) {
  two_ways w = {.e = e, .n = n, .op = op, .x = x};
  double most = emit_function_moderate(e, op);
  LLVMValueRef high = NULL;
  if (emit_is_host(e) || n < MANY || most == 0) return false;
  for (int i = 0; i < n; i++) high = joined(e, "llvm.maximum", high, size_of(e, x[i]));
  go_two_ways(&w, at_most(e, LLVMRealOLE, high, most), function_of_moderate, function_of_any, made);
  return true;
}
