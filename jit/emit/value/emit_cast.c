/* Casts: codes of one number format as codes of another (jit/plan/types/number.h).
 *
 * Every code is decoded to f32, which holds all values of the narrow formats exactly, and encoded
 * with one rounding; f64 and 32-bit integers go through f64. What a target has instructions for is
 * done by them; elsewhere integer arithmetic and additions of powers of two round, which every
 * target does alike. No subnormal f32 is read or made but for bf16 and e8m0, so a caller's
 * flush-to-zero mode changes nothing else. Codes are i32 (i64 where a type has 64 bits), scalars or
 * vectors of lanes, zero above their bits. */
#include "jit/emit/core/builder.h"
#include "jit/emit/value/emit_value.h"

#include "base/bits.h"

#define F32_MANTISSA 23
#define F32_BIAS 127
#define F32_INFINITY 0x7F800000
#define F32_MAGNITUDE 0x7FFFFFFF
#define F64_INFINITY 0x7FF0000000000000
#define F64_MAGNITUDE INT64_MAX

/* ---- shapes of types ---- */

/* `scalar` with as many lanes as `like` has. */
static LLVMTypeRef shaped(LLVMTypeRef like, LLVMTypeRef scalar) {
  if (LLVMGetTypeKind(like) != LLVMVectorTypeKind) return scalar;
  return LLVMVectorType(scalar, LLVMGetVectorSize(like));
}

static LLVMTypeRef f32_like(const emitter *e, LLVMValueRef x) {
  return shaped(LLVMTypeOf(x), LLVMFloatTypeInContext(e->context));
}

static LLVMTypeRef f64_like(const emitter *e, LLVMValueRef x) {
  return shaped(LLVMTypeOf(x), LLVMDoubleTypeInContext(e->context));
}

static LLVMTypeRef i32_like(const emitter *e, LLVMValueRef x) {
  return shaped(LLVMTypeOf(x), e->i32);
}

static LLVMTypeRef i64_like(const emitter *e, LLVMValueRef x) {
  return shaped(LLVMTypeOf(x), e->i64);
}

/* ---- integer arithmetic on x's type ---- */

static LLVMValueRef same(LLVMValueRef x, uint64_t number) {
  return emit_splat(LLVMTypeOf(x), number);
}
static LLVMValueRef and_(emitter *e, LLVMValueRef x, uint64_t mask) {
  return LLVMBuildAnd(e->builder, x, same(x, mask), "");
}
static LLVMValueRef or_(emitter *e, LLVMValueRef x, uint64_t bits) {
  return LLVMBuildOr(e->builder, x, same(x, bits), "");
}
static LLVMValueRef shift(emitter *e, LLVMValueRef x, int left) {
  if (left == 0) return x;
  if (left > 0) return LLVMBuildShl(e->builder, x, same(x, (uint64_t)left), "");
  return LLVMBuildLShr(e->builder, x, same(x, (uint64_t)-left), "");
}
static LLVMValueRef plus(emitter *e, LLVMValueRef x, uint64_t number) {
  return LLVMBuildAdd(e->builder, x, same(x, number), "");
}
static LLVMValueRef above(emitter *e, LLVMValueRef x, uint64_t number) {
  return LLVMBuildICmp(e->builder, LLVMIntUGT, x, same(x, number), "");
}
static LLVMValueRef equals(emitter *e, LLVMValueRef x, uint64_t number) {
  return LLVMBuildICmp(e->builder, LLVMIntEQ, x, same(x, number), "");
}
static LLVMValueRef choose(emitter *e, LLVMValueRef condition, LLVMValueRef yes, LLVMValueRef no) {
  return LLVMBuildSelect(e->builder, condition, yes, no, "");
}
static LLVMValueRef as_f32(emitter *e, LLVMValueRef bits) {
  return LLVMBuildBitCast(e->builder, bits, f32_like(e, bits), "");
}
static LLVMValueRef as_i32(emitter *e, LLVMValueRef x) {
  return LLVMBuildBitCast(e->builder, x, i32_like(e, x), "");
}
static LLVMValueRef as_f64(emitter *e, LLVMValueRef bits) {
  return LLVMBuildBitCast(e->builder, bits, f64_like(e, bits), "");
}
static LLVMValueRef as_i64(emitter *e, LLVMValueRef x) {
  return LLVMBuildBitCast(e->builder, x, i64_like(e, x), "");
}
/* A real constant in x's floating type. */
static LLVMValueRef real(LLVMValueRef x, double number) {
  LLVMTypeRef type = LLVMTypeOf(x);
  LLVMValueRef lanes[EMIT_MAX_LANES];
  if (LLVMGetTypeKind(type) != LLVMVectorTypeKind) return LLVMConstReal(type, number);
  unsigned n = LLVMGetVectorSize(type);
  for (unsigned i = 0; i < n; i++) lanes[i] = LLVMConstReal(LLVMGetElementType(type), number);
  return LLVMConstVector(lanes, n);
}

/* The code of 2^exponent as f32. */
static uint64_t power(int exponent) { return (uint64_t)(exponent + F32_BIAS) << F32_MANTISSA; }

/* ---- decoding to f32 ---- */

/* A subnormal's bits stand below an implicit one of the least exponent, which is then subtracted.
 */
static LLVMValueRef decode_small_float(emitter *e, const number_format *f, LLVMValueRef code) {
  int up = F32_MANTISSA - f->mantissa;
  uint64_t sign = 1ull << (f->bits - 1), least = power(1 - f->bias);
  LLVMValueRef magnitude = and_(e, code, sign - 1), bits = shift(e, magnitude, up);
  LLVMValueRef normal = plus(e, bits, (uint64_t)(F32_BIAS - f->bias) << F32_MANTISSA);
  LLVMValueRef small =
      LLVMBuildFSub(e->builder, as_f32(e, or_(e, bits, least)), as_f32(e, same(bits, least)), "");
  LLVMValueRef x = choose(e, above(e, magnitude, bits_mask(f->mantissa)), normal, as_i32(e, small));
  if (f->nan == sign) x = choose(e, equals(e, code, sign), same(x, F32_MAGNITUDE), x);
  else if (f->infinity)
    x = choose(e, above(e, magnitude, f->largest), or_(e, bits, F32_INFINITY), x);
  else if (f->nan) x = choose(e, equals(e, magnitude, f->nan), same(x, F32_MAGNITUDE), x);
  LLVMValueRef negative = shift(e, and_(e, code, sign), 32 - f->bits);
  return as_f32(e, LLVMBuildOr(e->builder, x, negative, ""));
}

/* The integer in the mantissa of 2^23, which is then subtracted. */
static LLVMValueRef decode_small_integer(emitter *e, const number_format *f, LLVMValueRef code) {
  uint64_t offset = f->is_signed ? 1ull << (f->bits - 1) : 0;
  LLVMValueRef bits = LLVMBuildXor(e->builder, code, same(code, offset | power(F32_MANTISSA)), "");
  LLVMValueRef x = as_f32(e, bits);
  return LLVMBuildFSub(e->builder, x, real(x, 8388608.0 + (double)offset), "");
}

/* 2^(code - 127): the code as exponent, but for 2^-127, which is subnormal, and NaN. */
static LLVMValueRef decode_power(emitter *e, LLVMValueRef code) {
  LLVMValueRef bits = shift(e, code, F32_MANTISSA);
  bits = choose(e, equals(e, code, 0), same(bits, 1ull << (F32_MANTISSA - 1)), bits);
  return as_f32(e, choose(e, equals(e, code, 0xFF), same(bits, F32_MAGNITUDE), bits));
}

/* On the host LLVM must not see that a number was a half: it would compare and join halves, which
 * x86 has no vectors of, lane by lane, and of vectors its minimum and maximum (of LLVM 19) lose
 * NaN. */
static LLVMValueRef decode_half(emitter *e, LLVMValueRef code) {
  LLVMValueRef x =
      LLVMBuildTrunc(e->builder, code, shaped(LLVMTypeOf(code), emit_int_type(e, 16)), "");
  x = LLVMBuildBitCast(e->builder, x, shaped(LLVMTypeOf(code), LLVMHalfTypeInContext(e->context)),
                       "");
  x = LLVMBuildFPExt(e->builder, x, f32_like(e, code), "");
  LLVMTypeRef type = LLVMTypeOf(x);
  return emit_is_host(e) ? emit_intrinsic(e, "llvm.arithmetic.fence", &type, 1, &x, 1) : x;
}

/* The 16 numbers of e2m1 out of a table; NULL where the target has no instruction for that. */
static LLVMValueRef look_up_e2m1(emitter *e, LLVMValueRef code) {
  float number[16];
  if (!e->ops->look_up) return NULL;
  for (uint64_t i = 0; i < 16; i++) number[i] = (float)number_value(number_format_of(LLRT_E2M1), i);
  return e->ops->look_up(e, number, code);
}

static LLVMValueRef decode_f32(emitter *e, llrt_dtype from, LLVMValueRef code) {
  const number_format *f = number_format_of(from);
  LLVMValueRef found = from == LLRT_E2M1 ? look_up_e2m1(e, code) : NULL;
  if (found) return found;
  if (from == LLRT_F32) return as_f32(e, code);
  if (from == LLRT_BF16) return as_f32(e, shift(e, code, 16));
  if (from == LLRT_F16 && e->ops->has_half(e)) return decode_half(e, code);
  if (f->kind == NUMBER_POWER) return decode_power(e, code);
  return f->kind == NUMBER_FLOAT ? decode_small_float(e, f, code)
                                 : decode_small_integer(e, f, code);
}

/* ---- encoding from f32 ---- */

/* Adds half of the last place that stays, less one bit where that place is even, and cuts. */
static LLVMValueRef round_off(emitter *e, LLVMValueRef bits, int places) {
  LLVMValueRef odd = and_(e, shift(e, bits, -places), 1);
  LLVMValueRef sum = LLVMBuildAdd(e->builder, bits, odd, "");
  return shift(e, plus(e, sum, bits_mask(places - 1)), -places);
}

static LLVMValueRef encode_bf16(emitter *e, LLVMValueRef x) {
  LLVMValueRef bits = as_i32(e, x);
  LLVMValueRef nan = above(e, and_(e, bits, F32_MAGNITUDE), F32_INFINITY);
  return choose(e, nan, same(bits, 0x7FFF), round_off(e, bits, 16));
}

/* The f32 code of a format's largest number, or of the least that rounds to infinity, doubled. */
static uint64_t most(const number_format *f) {
  int m = f->mantissa, exponent = (int)(f->largest >> m) - f->bias;
  if (!f->saturates) return power(exponent + 1);
  return power(exponent) | (f->largest & bits_mask(m)) << (F32_MANTISSA - m);
}

/* x between -limit and limit; NaN becomes limit. */
static LLVMValueRef within(emitter *e, LLVMValueRef x, uint64_t limit) {
  LLVMTypeRef type = LLVMTypeOf(x);
  LLVMValueRef most_x = as_f32(e, emit_splat(i32_like(e, x), limit));
  LLVMValueRef least_x = LLVMBuildFNeg(e->builder, most_x, "");
  if (emit_is_host(e)) {
    x = choose(e, LLVMBuildFCmp(e->builder, LLVMRealOLT, x, most_x, ""), x, most_x);
    return choose(e, LLVMBuildFCmp(e->builder, LLVMRealOGT, x, least_x, ""), x, least_x);
  }
  LLVMValueRef above_args[2] = {x, most_x};
  LLVMValueRef below_args[2] = {emit_intrinsic(e, "llvm.minnum", &type, 1, above_args, 2), least_x};
  return emit_intrinsic(e, "llvm.maxnum", &type, 1, below_args, 2);
}

/* The code of |limited|, at most most(f). To it is added the power of two whose last place is that
 * of the format's numbers of its exponent, or of its subnormals: the sum is rounded there, and has
 * in its lowest bits how many last places |limited| is above 0. That follows on what numbers of the
 * exponents below take, counted from the least: an even number, which the power has there before.
 */
static LLVMValueRef round_small_float(emitter *e, const number_format *f, LLVMValueRef limited) {
  int down = F32_MANTISSA - f->mantissa;
  uint64_t least = power(1 - f->bias), mask = bits_mask(f->bits - 1),
           before = -(least >> down) & mask;
  LLVMValueRef exponent = and_(e, limited, F32_INFINITY);
  exponent = choose(e, above(e, exponent, least), exponent, same(exponent, least));
  LLVMValueRef ruler = plus(e, exponent, ((uint64_t)down << F32_MANTISSA) + before);
  LLVMValueRef size = as_f32(e, and_(e, limited, F32_MAGNITUDE));
  LLVMValueRef sum = as_i32(e, LLVMBuildFAdd(e->builder, size, as_f32(e, ruler), ""));
  return and_(e, LLVMBuildAdd(e->builder, sum, shift(e, exponent, -down), ""), mask);
}

static LLVMValueRef encode_small_float(emitter *e, const number_format *f, LLVMValueRef x) {
  uint64_t sign = 1ull << (f->bits - 1);
  bool finite = !f->nan && !f->infinity; /* then a NaN is the largest number */
  if (finite) x = within(e, x, most(f));
  LLVMValueRef bits = as_i32(e, x), limited = bits, nan = NULL;
  if (!finite) {
    LLVMValueRef magnitude = and_(e, bits, F32_MAGNITUDE);
    nan = above(e, magnitude, F32_INFINITY);
    limited = choose(e, above(e, magnitude, most(f)), same(magnitude, most(f)), magnitude);
  }
  LLVMValueRef code = round_small_float(e, f, limited);
  LLVMValueRef negative = and_(e, shift(e, bits, f->bits - 32), sign);
  LLVMValueRef result = LLVMBuildOr(e->builder, code, negative, "");
  if (f->nan == sign) result = choose(e, equals(e, code, 0), code, result);
  return finite ? result : choose(e, nan, same(bits, f->nan ? f->nan : f->largest), result);
}

/* The value's place in [low, high], then its bits below 1.5 * 2^23: ties go to even. */
static LLVMValueRef encode_small_integer(emitter *e, const number_format *f, LLVMValueRef x) {
  double high = (double)f->largest, low = f->is_signed ? -high - 1 : 0;
  LLVMValueRef nan = LLVMBuildFCmp(e->builder, LLVMRealUNO, x, x, "");
  LLVMValueRef least = real(x, low), largest = real(x, high);
  x = choose(e, LLVMBuildFCmp(e->builder, LLVMRealOGT, x, least, ""), x, least);
  x = choose(e, LLVMBuildFCmp(e->builder, LLVMRealOLT, x, largest, ""), x, largest);
  LLVMValueRef code = as_i32(e, LLVMBuildFAdd(e->builder, x, real(x, 12582912.0), ""));
  return choose(e, nan, same(code, 0), and_(e, code, bits_mask(f->bits)));
}

/* Whether it is made by a product or by fma. */
static bool is_product(LLVMValueRef x) {
  while (LLVMIsABitCastInst(x)) x = LLVMGetOperand(x, 0);
  if (!LLVMIsAInstruction(x)) return false;
  bool call = LLVMGetInstructionOpcode(x) == LLVMCall;
  const char fma[] = "llvm.fma";
  return call ? LLVMGetIntrinsicID(LLVMGetCalledValue(x)) == LLVMLookupIntrinsicID(fma, 8)
              : LLVMGetInstructionOpcode(x) == LLVMFMul;
}

/* A product, hidden from a code generator that would join it with its rounding to f16 (AMD's
 * v_fma_mixlo), lose the sign of a zero and take the upper half of the register, which that
 * instruction leaves as it was, for 0. */
static LLVMValueRef hide_product(emitter *e, LLVMValueRef x) {
  if (!e->ops->mixes_halves || !is_product(x)) return x;
  return as_f32(e, e->ops->opaque(e, as_i32(e, x)));
}

static LLVMValueRef encode_half(emitter *e, LLVMValueRef x) {
  LLVMTypeRef type = LLVMTypeOf(x);
  x = hide_product(e, x);
  LLVMValueRef nan = LLVMBuildFCmp(e->builder, LLVMRealUNO, x, x, "");
  LLVMValueRef half =
      LLVMBuildFPTrunc(e->builder, x, shaped(type, LLVMHalfTypeInContext(e->context)), "");
  half = LLVMBuildBitCast(e->builder, half, shaped(type, emit_int_type(e, 16)), "");
  LLVMValueRef code = LLVMBuildZExt(e->builder, half, shaped(type, e->i32), "");
  return choose(e, nan, same(code, 0x7FFF), code);
}

static LLVMValueRef encode_f32(emitter *e, llrt_dtype to, LLVMValueRef x) {
  const number_format *f = number_format_of(to);
  if (to == LLRT_F32) {
    LLVMValueRef bits = as_i32(e, x);
    LLVMValueRef nan = above(e, and_(e, bits, F32_MAGNITUDE), F32_INFINITY);
    return choose(e, nan, same(bits, F32_MAGNITUDE), bits);
  }
  if (to == LLRT_BF16) return encode_bf16(e, x);
  if (to == LLRT_F16 && e->ops->has_half(e)) return encode_half(e, x);
  if (to == LLRT_E2M1 && emit_has_e2m1(e)) return emit_e2m1(e, x);
  return f->kind == NUMBER_FLOAT ? encode_small_float(e, f, x) : encode_small_integer(e, f, x);
}

/* ---- f64 ---- */

static LLVMValueRef decode_f64(emitter *e, llrt_dtype from, LLVMValueRef code) {
  LLVMTypeRef type = f64_like(e, code);
  if (from == LLRT_F64) return as_f64(e, code);
  if (from == LLRT_I32) return LLVMBuildSIToFP(e->builder, code, type, "");
  if (from == LLRT_U32) return LLVMBuildUIToFP(e->builder, code, type, "");
  return LLVMBuildFPExt(e->builder, decode_f32(e, from, code), type, "");
}

/* x as f32, cut, its last bit set where anything was cut: rounding that once more to fewer bits is
 * rounding x (Boldo and Melquiond 2008). */
static LLVMValueRef round_to_odd(emitter *e, LLVMValueRef x) {
  LLVMValueRef near = LLVMBuildFPTrunc(e->builder, x, f32_like(e, x), "");
  LLVMValueRef back = LLVMBuildFPExt(e->builder, near, LLVMTypeOf(x), "");
  LLVMValueRef bits = as_i32(e, near);
  LLVMValueRef past = LLVMBuildICmp(e->builder, LLVMIntUGT, and_(e, as_i64(e, back), F64_MAGNITUDE),
                                    and_(e, as_i64(e, x), F64_MAGNITUDE), "");
  LLVMValueRef cut = choose(e, past, plus(e, bits, UINT64_MAX), bits);
  LLVMValueRef inexact = LLVMBuildFCmp(e->builder, LLVMRealONE, back, x, "");
  return as_f32(e, choose(e, inexact, or_(e, cut, 1), bits));
}

/* As encode_small_integer, below 1.5 * 2^52. */
static LLVMValueRef encode_wide_integer(emitter *e, const number_format *f, LLVMValueRef x) {
  double high = (double)f->largest, low = f->is_signed ? -high - 1 : 0;
  LLVMValueRef nan = LLVMBuildFCmp(e->builder, LLVMRealUNO, x, x, "");
  LLVMValueRef least = real(x, low), largest = real(x, high);
  x = choose(e, LLVMBuildFCmp(e->builder, LLVMRealOGT, x, least, ""), x, least);
  x = choose(e, LLVMBuildFCmp(e->builder, LLVMRealOLT, x, largest, ""), x, largest);
  LLVMValueRef bits = as_i64(e, LLVMBuildFAdd(e->builder, x, real(x, 6755399441055744.0), ""));
  LLVMValueRef code = LLVMBuildTrunc(e->builder, bits, i32_like(e, bits), "");
  return choose(e, nan, same(code, 0), code);
}

static LLVMValueRef encode_f64(emitter *e, llrt_dtype to, LLVMValueRef x) {
  if (to == LLRT_F64) {
    LLVMValueRef bits = as_i64(e, x);
    LLVMValueRef nan = above(e, and_(e, bits, F64_MAGNITUDE), F64_INFINITY);
    return choose(e, nan, same(bits, F64_MAGNITUDE), bits);
  }
  if (to == LLRT_F32) return encode_f32(e, to, LLVMBuildFPTrunc(e->builder, x, f32_like(e, x), ""));
  if (to == LLRT_I32 || to == LLRT_U32) return encode_wide_integer(e, number_format_of(to), x);
  return encode_f32(e, to, round_to_odd(e, x));
}

/* ---- the whole ---- */

/* An instruction for two takes one and a 0 as well. */
static bool is_alone(bool wide, LLVMValueRef x) {
  return !wide && LLVMGetTypeKind(LLVMTypeOf(x)) != LLVMVectorTypeKind;
}

LLVMValueRef emit_decode(emitter *e, llrt_dtype from, bool wide, LLVMValueRef code) {
  LLVMValueRef both[2] = {code, LLVMConstNull(LLVMTypeOf(code))}, x[2];
  if (is_alone(wide, code) && e->ops->decode_pair && e->ops->decode_pair(e, from, both, x))
    return x[0];
  return wide ? decode_f64(e, from, code) : decode_f32(e, from, code);
}

LLVMValueRef emit_encode(emitter *e, llrt_dtype to, bool wide, LLVMValueRef x) {
  LLVMValueRef both[2] = {x, LLVMConstNull(LLVMTypeOf(x))}, code[2];
  if (is_alone(wide, x) && e->ops->encode_pair && e->ops->encode_pair(e, to, both, code))
    return code[0];
  return wide ? encode_f64(e, to, x) : encode_f32(e, to, x);
}

void emit_decode_pair(emitter *e, llrt_dtype from, const LLVMValueRef code[2], LLVMValueRef x[2]) {
  if (e->ops->decode_pair && e->ops->decode_pair(e, from, code, x)) return;
  for (int i = 0; i < 2; i++) x[i] = decode_f32(e, from, code[i]);
}

void emit_encode_pair(emitter *e, llrt_dtype to, const LLVMValueRef x[2], LLVMValueRef code[2]) {
  if (e->ops->encode_pair && e->ops->encode_pair(e, to, x, code)) return;
  for (int i = 0; i < 2; i++) code[i] = encode_f32(e, to, x[i]);
}
