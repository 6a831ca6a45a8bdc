#include "jit/plan/types/combine.h"

#include "base/bits.h"
#include "jit/plan/types/number.h"

#include <math.h>
#include <string.h>

const char *combine_name(int op) {
  static const char *const names[] = {"?",      "sum",    "prod", "min", "max",
                                      "argmin", "argmax", "any",  "all"};
  if (op == COMBINE_AFFINE) return "affine maps";
  return op >= LLRT_COMBINE_SUM && op <= LLRT_COMBINE_ALL ? names[op] : names[0];
}

/* ---- types ---- */

static bool is_float(llrt_dtype type) {
  const number_format *f = number_format_of(type);
  return f && f->kind == NUMBER_FLOAT && f->bits >= 8;
}

static bool is_signed_integer(llrt_dtype type) { return type >= LLRT_I64 && type <= LLRT_I8; }

static bool is_unsigned_integer(llrt_dtype type) { return type >= LLRT_U64 && type <= LLRT_U8; }

static bool is_integer(llrt_dtype type) {
  return is_signed_integer(type) || is_unsigned_integer(type);
}

static bool is_truth(int op) { return op == LLRT_COMBINE_ANY || op == LLRT_COMBINE_ALL; }

bool combine_is_arg(int op) { return op == LLRT_COMBINE_ARGMIN || op == LLRT_COMBINE_ARGMAX; }

static bool wants_least(int op) { return op == LLRT_COMBINE_MIN || op == LLRT_COMBINE_ARGMIN; }

bool combine_exists(int op, llrt_dtype element) {
  if (op == COMBINE_AFFINE) return element == LLRT_U32;
  if (op < LLRT_COMBINE_SUM || op > LLRT_COMBINE_ALL) return false;
  return is_float(element) || is_integer(element) || (element == LLRT_BOOL && is_truth(op));
}

llrt_dtype combine_accumulator(int op, llrt_dtype element) {
  bool grows = op == LLRT_COMBINE_SUM || op == LLRT_COMBINE_PROD;
  if (is_truth(op) || op == COMBINE_AFFINE) return LLRT_U32;
  if (is_float(element)) return element == LLRT_F64 ? LLRT_F64 : LLRT_F32;
  bool wide = grows || llrt_dtype_bits(element) == 64;
  if (is_unsigned_integer(element)) return wide ? LLRT_U64 : LLRT_U32;
  return wide ? LLRT_I64 : LLRT_I32;
}

bool combine_accumulates(int op, llrt_dtype element, llrt_dtype accumulator) {
  if (is_truth(op) || op == COMBINE_AFFINE) return accumulator == LLRT_U32;
  if (llrt_dtype_bits(accumulator) < bits_max(32, llrt_dtype_bits(element))) return false;
  if (is_float(element)) return is_float(accumulator);
  if (is_unsigned_integer(element)) return is_unsigned_integer(accumulator);
  return is_signed_integer(element) && is_signed_integer(accumulator);
}

bool combine_regroups(int op, llrt_dtype type) {
  bool rounds = op == LLRT_COMBINE_SUM || op == LLRT_COMBINE_PROD;
  return op != COMBINE_AFFINE && !(rounds && is_float(type));
}

llrt_dtype combine_result(int op, llrt_dtype element, llrt_dtype accumulator) {
  bool grows = op == LLRT_COMBINE_SUM || op == LLRT_COMBINE_PROD;
  if (is_truth(op)) return LLRT_BOOL;
  if (combine_is_arg(op)) return LLRT_I64;
  return grows && !is_float(element) ? accumulator : element;
}

/* ---- neutral elements ---- */

/* The code of the number above (or below) all others of a type. */
static uint64_t extreme(llrt_dtype type, bool greatest) {
  int bits = llrt_dtype_bits(type);
  uint64_t sign = 1ull << (bits - 1);
  if (is_unsigned_integer(type)) return greatest ? bits_mask(bits) : 0;
  if (is_signed_integer(type)) return greatest ? sign - 1 : sign;
  const number_format *f = number_format_of(type);
  uint64_t most = f->infinity ? f->infinity : f->largest;
  return greatest ? most : most | sign;
}

static uint64_t code_of(llrt_dtype type, double value) {
  const number_format *f = number_format_of(type);
  return f ? number_code(f, value) : (uint64_t)value; /* 64-bit integers */
}

uint64_t combine_identity(int op, llrt_dtype type) {
  switch (op) {
  case LLRT_COMBINE_SUM: return is_float(type) ? code_of(type, -0.0) : 0;
  case LLRT_COMBINE_PROD: return code_of(type, 1);
  case LLRT_COMBINE_MIN:
  case LLRT_COMBINE_ARGMIN: return extreme(type, true);
  case LLRT_COMBINE_MAX:
  case LLRT_COMBINE_ARGMAX: return extreme(type, false);
  case LLRT_COMBINE_ALL:
  case COMBINE_AFFINE: return 1;
  default: return 0;
  }
}

uint64_t combine_empty(int op, llrt_dtype element, llrt_dtype type) {
  if (op == LLRT_COMBINE_SUM) return 0;
  if (op == LLRT_COMBINE_PROD || element == type) return combine_identity(op, type);
  return number_cast(element, type, combine_identity(op, element));
}

/* ---- two values ---- */

/* Whether a stands before b in the order that MIN and MAX see; `zeros`: -0 before +0. No NaN. */
static bool below(double a, double b, bool zeros) {
  return a < b || (zeros && a == b && signbit(a) && !signbit(b));
}

static uint64_t combine_floats(int op, llrt_dtype type, uint64_t x, uint64_t y) {
  const number_format *f = number_format_of(type);
  double a = number_value(f, x), b = number_value(f, y);
  bool narrow = type == LLRT_F32;
  if (op == LLRT_COMBINE_SUM) return number_code(f, narrow ? (double)((float)a + (float)b) : a + b);
  if (op == LLRT_COMBINE_PROD)
    return number_code(f, narrow ? (double)((float)a * (float)b) : a * b);
  if (isnan(a) || isnan(b)) return number_code(f, (double)NAN);
  bool takes_b = wants_least(op) ? below(b, a, true) : below(a, b, true);
  return takes_b ? y : x;
}

static uint64_t affine(uint64_t a, uint64_t b) {
  uint64_t p = (a & 0xFFFF) * (b & 0xFFFF), q = (b & 0xFFFF) * (a >> 16) + (b >> 16);
  return (p & 0xFFFF) | (q & 0xFFFF) << 16;
}

static bool integer_below(llrt_dtype type, uint64_t a, uint64_t b) {
  uint64_t flip = is_signed_integer(type) ? 1ull << (llrt_dtype_bits(type) - 1) : 0;
  return (a ^ flip) < (b ^ flip);
}

uint64_t combine_two(int op, llrt_dtype type, uint64_t a, uint64_t b) {
  uint64_t mask = bits_mask(llrt_dtype_bits(type));
  a &= mask;
  b &= mask;
  if (is_float(type)) return combine_floats(op, type, a, b);
  switch (op) {
  case LLRT_COMBINE_SUM: return (a + b) & mask;
  case LLRT_COMBINE_PROD: return (a * b) & mask;
  case LLRT_COMBINE_MIN:
  case LLRT_COMBINE_ARGMIN: return integer_below(type, b, a) ? b : a;
  case LLRT_COMBINE_MAX:
  case LLRT_COMBINE_ARGMAX: return integer_below(type, a, b) ? b : a;
  case LLRT_COMBINE_ANY: return a | b;
  case COMBINE_AFFINE: return affine(a, b);
  default: return a & b;
  }
}

/* Whether key b is strictly better than key a; -0 and +0 are equal. */
static bool better(int op, llrt_dtype type, uint64_t a, uint64_t b) {
  if (!is_float(type))
    return wants_least(op) ? integer_below(type, b, a) : integer_below(type, a, b);
  double x = number_value(number_format_of(type), a), y = number_value(number_format_of(type), b);
  if (isnan(x) || isnan(y)) return !isnan(x);
  return wants_least(op) ? below(y, x, false) : below(x, y, false);
}

combine_pair combine_two_pairs(int op, llrt_dtype type, combine_pair a, combine_pair b) {
  if (better(op, type, a.key, b.key)) return b;
  if (better(op, type, b.key, a.key)) return a;
  return b.index < a.index ? b : a;
}

uint64_t combine_truth(llrt_dtype element, uint64_t code) {
  const number_format *f = number_format_of(element);
  if (is_float(element)) return number_value(f, code) != 0; /* NaN too */
  return (code & bits_mask(llrt_dtype_bits(element))) != 0;
}
