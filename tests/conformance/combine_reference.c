#include "combine_reference.h"

#include "../number_reference.h"

bool combine_is_float(llrt_dtype type) {
  const reference_format *f = reference_format_of(type);
  return type == LLRT_F64 || (f && f->exponent > 0);
}

bool combine_is_unsigned(llrt_dtype type) { return type >= LLRT_U64 && type <= LLRT_U8; }
bool combine_is_extreme(llrt_combiner op) {
  return op >= LLRT_COMBINE_MIN && op <= LLRT_COMBINE_ARGMAX;
}
bool combine_is_arg(llrt_combiner op) {
  return op == LLRT_COMBINE_ARGMIN || op == LLRT_COMBINE_ARGMAX;
}
bool combine_is_truth(llrt_combiner op) { return op == LLRT_COMBINE_ANY || op == LLRT_COMBINE_ALL; }

static bool wants_least(llrt_combiner op) {
  return op == LLRT_COMBINE_MIN || op == LLRT_COMBINE_ARGMIN;
}

static uint64_t mask_of(llrt_dtype type) {
  int bits = llrt_dtype_bits(type);
  return bits == 64 ? ~0ull : (1ull << bits) - 1;
}

/* ---- types ---- */

static llrt_dtype accumulator_of(llrt_combiner op, llrt_dtype from) {
  bool wide = !combine_is_extreme(op) || llrt_dtype_bits(from) == 64;
  if (combine_is_truth(op)) return LLRT_U32;
  if (combine_is_float(from)) return from == LLRT_F64 ? LLRT_F64 : LLRT_F32;
  if (combine_is_unsigned(from)) return wide ? LLRT_U64 : LLRT_U32;
  return wide ? LLRT_I64 : LLRT_I32;
}

static llrt_dtype result_of(llrt_combiner op, llrt_dtype from) {
  if (combine_is_truth(op)) return LLRT_BOOL;
  if (combine_is_arg(op)) return LLRT_I64;
  if (combine_is_float(from) || combine_is_extreme(op)) return from;
  return combine_is_unsigned(from) ? LLRT_U64 : LLRT_I64;
}

combine_kind combine_reference_resolve(llrt_combiner op, llrt_dtype from, llrt_dtype accumulate,
                                       llrt_dtype to) {
  return (combine_kind){op, from, accumulate ? accumulate : accumulator_of(op, from),
                        to ? to : result_of(op, from)};
}

/* ---- joining ---- */

static double number(llrt_dtype type, uint64_t code) {
  if (type == LLRT_BOOL) return (double)(code & 0xFF);
  if (type == LLRT_I64) return (double)(int64_t)code;
  if (type == LLRT_U64) return (double)code;
  return reference_decode(type, code);
}

static uint64_t extended(llrt_dtype type, uint64_t code) {
  int bits = llrt_dtype_bits(type);
  bool negative = type >= LLRT_I64 && type <= LLRT_I8 && bits < 64 && code >> (bits - 1) & 1;
  return negative ? code | ~0ull << bits : code & mask_of(type);
}

static bool float_is_better(llrt_combiner op, double x, double best) {
  bool least = wants_least(op);
  if (isnan(best) || isnan(x)) return isnan(x) && !isnan(best);
  if (x == best)
    return x == 0 && !combine_is_arg(op) &&
           (least ? signbit(x) && !signbit(best) : !signbit(x) && signbit(best));
  return least ? x < best : x > best;
}

/* Whether an element, which is x where it is a float, stands before the best so far. */
static bool is_better(const combine_kind *kind, uint64_t code, double x, const combine_joined *o) {
  bool least = wants_least(kind->op);
  if (o->n == 0) return true;
  if (combine_is_float(kind->from)) return float_is_better(kind->op, x, o->best);
  if (combine_is_unsigned(kind->from)) return least ? code < o->best_code : code > o->best_code;
  int64_t a = (int64_t)extended(kind->from, code), b = (int64_t)extended(kind->from, o->best_code);
  return least ? a < b : a > b;
}

combine_joined combine_nothing(void) {
  return (combine_joined){.product = 1, .whole_product = 1, .all = true};
}

void combine_take(const combine_kind *kind, uint64_t code, int64_t position,
                  combine_joined *joined) {
  double x = number(kind->from, code);
  if (is_better(kind, code, x, joined)) {
    joined->best = x;
    joined->best_code = code;
    joined->at = position;
  }
  joined->sum += x;
  joined->magnitude += fabs(x);
  joined->product *= x;
  if (isfinite(x) && x != 0) *(fabs(x) > 1 ? &joined->above : &joined->below) += log2(fabs(x));
  joined->integer += extended(kind->from, code);
  joined->whole_product *= extended(kind->from, code);
  joined->any |= x != 0;
  joined->all &= x != 0;
  joined->n++;
}

/* ---- comparing ---- */

/* An accumulator's integer as another type. */
static uint64_t cast_integer(llrt_dtype accumulate, llrt_dtype to, uint64_t value) {
  value = extended(accumulate, value);
  if (llrt_dtype_bits(to) == 64 && !combine_is_float(to)) return value;
  double x = combine_is_unsigned(accumulate) ? (double)value : (double)(int64_t)value;
  return reference_encode(to, x);
}

/* A float whose value is known but for `error`. */
static bool float_agrees(llrt_dtype to, double wanted, double error, uint64_t code) {
  if (isnan(wanted))
    return combine_is_float(to) ? isnan(number(to, code)) : code == reference_encode(to, wanted);
  if (isinf(wanted)) return code == reference_encode(to, wanted);
  double least = number(to, reference_encode(to, wanted - error));
  double most = number(to, reference_encode(to, wanted + error)), x = number(to, code);
  return x >= least && x <= most;
}

/* What MIN or MAX of nothing is: the extreme number of the elements' type. */
static uint64_t neutral_of(const combine_kind *kind) {
  llrt_dtype type = kind->from;
  uint64_t sign = 1ull << (llrt_dtype_bits(type) - 1);
  bool least = wants_least(kind->op);
  if (combine_is_float(type)) {
    double x = number(type, reference_encode(type, least ? INFINITY : -INFINITY));
    bool has_infinity = reference_format_of(type) && reference_format_of(type)->infinity;
    return reference_encode(kind->to,
                            has_infinity || type == LLRT_F64 ? (least ? INFINITY : -INFINITY) : x);
  }
  if (combine_is_unsigned(type))
    return cast_integer(kind->accumulate, kind->to, least ? mask_of(type) : 0);
  return cast_integer(kind->accumulate, kind->to, extended(type, least ? sign - 1 : sign));
}

bool combine_value_agrees(const combine_kind *kind, const combine_joined *joined, llrt_dtype type,
                          uint64_t code) {
  bool real = combine_is_float(kind->from);
  if (real && isnan(joined->best)) return float_agrees(type, joined->best, 0, code);
  if (real) return code == reference_encode(type, joined->best);
  return code == cast_integer(kind->accumulate, type, extended(kind->from, joined->best_code));
}

/* What a product is where one of some elements has left the accumulator's range before others
 * joined it. */
static bool is_beyond(const combine_kind *kind, const combine_joined *joined, uint64_t code) {
  static const double beyond[] = {INFINITY, -INFINITY, NAN, 0, -0.0};
  double most = kind->accumulate == LLRT_F64 ? 1023 : 127;
  bool found = false;
  for (int i = 0; i < 5; i++) found |= code == reference_encode(kind->to, beyond[i]);
  if (combine_is_float(kind->to)) found |= isnan(number(kind->to, code));
  return found && (joined->above > most || joined->below < 1 - most);
}

bool combine_agrees(const combine_kind *kind, const combine_joined *joined, double joins,
                    uint64_t code) {
  bool sum = kind->op == LLRT_COMBINE_SUM;
  double last_place = kind->accumulate == LLRT_F64 ? ldexp(1, -53) : ldexp(1, -24);
  if (combine_is_arg(kind->op)) return code == ((uint64_t)joined->at & mask_of(kind->to));
  if (kind->op == LLRT_COMBINE_ANY) return code == joined->any;
  if (kind->op == LLRT_COMBINE_ALL) return code == joined->all;
  if (combine_is_extreme(kind->op))
    return joined->n ? combine_value_agrees(kind, joined, kind->to, code)
                     : code == neutral_of(kind);
  if (!combine_is_float(kind->from))
    return code ==
           cast_integer(kind->accumulate, kind->to, sum ? joined->integer : joined->whole_product);
  if (!sum && is_beyond(kind, joined, code)) return true;
  return float_agrees(kind->to, sum ? joined->sum : joined->product,
                      sum ? joins * last_place * joined->magnitude : 0, code);
}
