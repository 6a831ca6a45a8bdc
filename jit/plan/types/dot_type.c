#include "jit/plan/types/dot_type.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/types/number.h"

#include <assert.h>
#include <math.h>

/* ---- sets of numbers ---- */

static dot_values values_of_integer(int64_t least, int64_t most) {
  dot_values values = {.integer = true, .is_signed = least < 0};
  while (least < -((int64_t)1 << values.digits) || most > ((int64_t)1 << values.digits) - 1)
    values.digits++;
  values.high =
      (int16_t)(values.digits + values.is_signed); /* the least is a power of two itself */
  return values;
}

static dot_values values_of_float(const number_format *format) {
  int high;
  frexp(number_value(format, format->largest), &high);
  return (dot_values){.is_signed = true,
                      .digits = (int16_t)(format->mantissa + 1),
                      .low = (int16_t)(1 - format->bias - format->mantissa),
                      .high = (int16_t)high};
}

static dot_values values_of(llrt_dtype dtype) {
  const number_format *format = number_format_of(dtype);
  if (dtype == LLRT_I64)
    return (dot_values){.integer = true, .is_signed = true, .digits = 63, .high = 64};
  if (format->kind == NUMBER_FLOAT) return values_of_float(format);
  int64_t most = (int64_t)format->largest;
  return values_of_integer(format->is_signed ? -most - 1 : 0, most);
}

static dot_values difference(llrt_dtype element, llrt_dtype zero) {
  const number_format *e = number_format_of(element), *z = number_format_of(zero);
  int64_t e_most = (int64_t)e->largest, z_most = (int64_t)z->largest;
  int64_t e_least = e->is_signed ? -e_most - 1 : 0, z_least = z->is_signed ? -z_most - 1 : 0;
  return values_of_integer(e_least - z_most, e_most - z_least);
}

/* Scales e8m0 in bytes range[0] .. range[1]. */
static dot_values powers(const uint8_t range[2]) {
  bool promised = range[0] || range[1];
  int least = promised ? range[0] : 0, most = promised ? range[1] : 254;
  return (dot_values){
      .digits = 1, .low = (int16_t)(least - 127), .high = (int16_t)(most - 127 + 1)};
}

/* Products of one number of each set; the product of powers of two just below 2^high is below
 * 2^(high - 1). */
static dot_values product(const dot_values *a, const dot_values *b, bool power) {
  return (dot_values){.is_signed = a->is_signed || b->is_signed,
                      .digits = (int16_t)(power ? a->digits : a->digits + b->digits),
                      .low = (int16_t)(a->low + b->low),
                      .high = (int16_t)(a->high + b->high - power)};
}

/* What becomes of a set that is rounded to a type: larger numbers become infinite. */
static dot_values rounded_to(const dot_values *values, llrt_dtype dtype) {
  dot_values type = values_of(dtype), out = *values;
  out.is_signed = true;
  out.integer = false;
  if (out.digits > type.digits) out.digits = type.digits;
  if (out.low < type.low) out.low = type.low;
  if (out.high > type.high) out.high = type.high;
  return out;
}

static bool holds(const dot_values *type, const dot_values *values) {
  if (type->integer)
    return values->integer && (type->is_signed || !values->is_signed) &&
           values->digits <= type->digits;
  return values->digits <= type->digits && values->low >= type->low && values->high <= type->high;
}

bool dot_dtype_holds(llrt_dtype dtype, const dot_values *values) {
  dot_values type = values_of(dtype);
  return holds(&type, values);
}

#define SHORT_DIGITS 8 /* of integers that sum in i32: 2^15 products fit */

static dot_values compute_values(dot_compute compute) {
  /* tf32: f32's exponents, f16's mantissa (PTX ISA, "alternate floating-point data formats"). */
  static const dot_values tf32 = {.is_signed = true, .digits = 11, .low = -136, .high = 128};
  static const dot_values i32 = {
      .integer = true, .is_signed = true, .digits = SHORT_DIGITS, .high = SHORT_DIGITS + 1};
  switch (compute) {
  case DOT_F16: return values_of(LLRT_F16);
  case DOT_BF16: return values_of(LLRT_BF16);
  case DOT_TF32: return tf32;
  case DOT_F32: return values_of(LLRT_F32);
  case DOT_F64: return values_of(LLRT_F64);
  case DOT_I32: return i32;
  case DOT_I64: break;
  }
  return values_of(LLRT_I64);
}

static bool compute_holds(dot_compute compute, const dot_values *values) {
  dot_values type = compute_values(compute);
  return holds(&type, values);
}

/* ---- names ---- */

llrt_dtype dot_compute_dtype(dot_compute compute) {
  switch (compute) {
  case DOT_F16: return LLRT_F16;
  case DOT_BF16: return LLRT_BF16;
  case DOT_TF32:
  case DOT_F32: return LLRT_F32;
  case DOT_F64: return LLRT_F64;
  case DOT_I32: return LLRT_I32;
  case DOT_I64: return LLRT_I64;
  }
  return LLRT_DTYPE_NONE;
}

/* ---- operands ---- */

static bool is_integer(llrt_dtype dtype) {
  const number_format *format = number_format_of(dtype);
  return dtype == LLRT_I64 || (format && format->kind == NUMBER_INTEGER);
}

static bool is_float(llrt_dtype dtype) {
  const number_format *format = number_format_of(dtype);
  return format && format->kind == NUMBER_FLOAT;
}

static bool is_short_integer(llrt_dtype dtype) {
  return is_integer(dtype) && llrt_dtype_bits(dtype) <= 8;
}

bool dot_operand_exists(llrt_dtype element) {
  if (is_float(element)) return true;
  return is_short_integer(element) || element == LLRT_I16 || element == LLRT_I32 ||
         element == LLRT_I64;
}

static bool is_scale(llrt_dtype dtype) {
  int bits = llrt_dtype_bits(dtype);
  return dtype == LLRT_E8M0 || (is_float(dtype) && bits >= 8 && bits <= 32);
}

dot_scaling_fit dot_scaling_check(const dot_operand_type *operand) {
  llrt_dtype zero = operand->zero;
  if (operand->scale && !is_scale(operand->scale)) return DOT_SCALING_TYPE;
  if (operand->scale && !operand->on_sums && llrt_dtype_bits(operand->element) > 8)
    return DOT_SCALING_WIDE;
  if (!zero) return DOT_SCALING_FITS;
  bool number = is_short_integer(zero) || zero == LLRT_F16 || zero == LLRT_BF16;
  return number && is_short_integer(operand->element) ? DOT_SCALING_FITS : DOT_SCALING_ZERO;
}

/* The type that a scaled element is rounded to. */
static llrt_dtype scaled_type(llrt_dtype scale) {
  return scale == LLRT_E8M0 || llrt_dtype_bits(scale) == 8 ? LLRT_BF16 : scale;
}

static bool is_scaled(const dot_operand_type *operand) {
  return operand->scale && !operand->on_sums;
}

static dot_values scaled_values(const dot_operand_type *operand, const dot_values *elements) {
  bool power = operand->scale == LLRT_E8M0;
  dot_values scale = power ? powers(operand->range) : values_of(operand->scale);
  return product(elements, &scale, power);
}

static dot_operand_rule rule_of_operand(const dot_operand_type *operand) {
  bool scaled = is_scaled(operand);
  dot_operand_rule rule = {.values = values_of(operand->element)};
  if (operand->zero && is_float(operand->zero)) {
    rule.rounded = operand->zero;
    rule.values = values_of(scaled ? LLRT_F32 : operand->zero);
  } else if (operand->zero) {
    rule.rounded = LLRT_I16;
    rule.values = difference(operand->element, operand->zero);
  }
  if (!scaled) return rule;
  dot_values values = scaled_values(operand, &rule.values);
  rule.rounded = scaled_type(operand->scale);
  rule.values = rounded_to(&values, rule.rounded);
  return rule;
}

bool dot_dtype_holds_exactly(llrt_dtype dtype, const dot_operand_type *operand) {
  dot_operand_type plain = *operand;
  plain.scale = LLRT_DTYPE_NONE;
  dot_values values = rule_of_operand(&plain).values;
  if (is_scaled(operand)) values = scaled_values(operand, &values);
  return dot_dtype_holds(dtype, &values);
}

/* ---- pairs ---- */

static dot_compute narrowest(const dot_values *a, const dot_values *b) {
  for (dot_compute c = DOT_F16; c < DOT_F64; c++)
    if (compute_holds(c, a) && compute_holds(c, b)) return c;
  return DOT_F64;
}

static dot_compute compute_of(const dot_values *a, const dot_values *b) {
  if (!a->integer || !b->integer) return narrowest(a, b);
  return compute_holds(DOT_I32, a) && compute_holds(DOT_I32, b) ? DOT_I32 : DOT_I64;
}

static llrt_dtype sums_of(dot_compute compute) {
  if (compute == DOT_F64) return LLRT_F64;
  if (compute == DOT_I32) return LLRT_I32;
  return compute == DOT_I64 ? LLRT_I64 : LLRT_F32;
}

/* The wider of two elements' floating types of at least 16 bits. */
static llrt_dtype wider_float(llrt_dtype a, llrt_dtype b) {
  int bits_a = is_float(a) ? llrt_dtype_bits(a) : 0, bits_b = is_float(b) ? llrt_dtype_bits(b) : 0;
  if (bits_a < 16 && bits_b < 16) return LLRT_F32;
  if (bits_a == bits_b) return a == b ? a : LLRT_F32;
  return bits_a > bits_b ? a : b;
}

static llrt_dtype result_of(const dot_operand_type *a, const dot_operand_type *b,
                            dot_compute compute) {
  bool long_a = is_integer(a->element) && !is_short_integer(a->element);
  bool long_b = is_integer(b->element) && !is_short_integer(b->element);
  if (compute == DOT_I32 || compute == DOT_I64 || long_a || long_b)
    return dot_compute_dtype(compute);
  return wider_float(a->element, b->element);
}

/* Takes the type of sums that was asked for. */
static bool accumulate_in(llrt_dtype type, dot_rule *rule) {
  if (type == LLRT_DTYPE_NONE || type == rule->sums) return true;
  bool wider = type == LLRT_F64 || (type == LLRT_I64 && rule->sums == LLRT_I32);
  if (!wider) return false;
  rule->compute = type == LLRT_F64 ? DOT_F64 : DOT_I64;
  rule->sums = type;
  return true;
}

/* Sums that a scale stands on are in f64 instead of i64. */
static bool scales_sums(const dot_operand_type *operand) {
  return operand->scale && operand->on_sums;
}

bool dot_rule_find(const dot_operand_type *a, const dot_operand_type *b, llrt_dtype accumulate,
                   bool tf32, dot_rule *rule) {
  *rule = (dot_rule){.a = rule_of_operand(a), .b = rule_of_operand(b)};
  rule->compute = compute_of(&rule->a.values, &rule->b.values);
  if (rule->compute == DOT_I64 && (scales_sums(a) || scales_sums(b))) rule->compute = DOT_F64;
  rule->result = result_of(a, b, rule->compute);
  if (rule->compute == DOT_F32 && tf32) rule->compute = DOT_TF32;
  rule->sums = sums_of(rule->compute);
  if (!accumulate_in(accumulate, rule)) return false;
  if (rule->a.values.integer && rule->b.values.integer) rule->result = rule->sums;
  return true;
}

llrt_dtype dot_acting_type(llrt_dtype sums) {
  return sums == LLRT_F64 || sums == LLRT_I64 ? LLRT_F64 : LLRT_F32;
}

bool dot_can_be(llrt_dtype sums, llrt_dtype type) {
  if (sums == type || number_extends(sums, type)) return true;
  return number_cast_exists(sums == LLRT_I64 ? LLRT_F64 : sums, type);
}

llrt_status dot_refuse_short(int64_t positions) {
  return llrt_error(LLRT_UNSUPPORTED,
                    "K has %lld positions, no more than a group of scales: these stand on the sums "
                    "then, and no kernel has them there for such storages",
                    (long long)positions);
}

/* ---- descriptions ---- */

int dot_tensor(const op_dot *dot, llrt_dot_role role) {
  if (!(dot->roles >> role & 1)) return -1;
  return bits_count(dot->roles & (uint32_t)bits_mask((int)role));
}

int dot_grouped_axis(const op_dot *dot) {
  if (!(dot->roles >> LLRT_DOT_ENDS & 1)) return -1;
  int d = dot_tensor(dot, LLRT_DOT_D);
  return dot->group[d][DOT_EXPERT_AXIS] == LLRT_GROUP_ALL ? DOT_GROUPED_M : DOT_GROUPED_K;
}

bool dot_is_sorted(const op_dot *dot) {
  int ends = dot_tensor(dot, LLRT_DOT_ENDS);
  return ends >= 0 && dot->group[ends][DOT_EXPERT_AXIS] == LLRT_GROUP_ALL;
}

llrt_dot_role dot_role(uint32_t roles, int tensor) {
  int role = 0;
  for (int before = 0; role < LLRT_DOT_ROLES; role++) {
    if (!(roles >> role & 1)) continue;
    if (before++ == tensor) break;
  }
  return (llrt_dot_role)role;
}

static llrt_dtype dtype_of(const op_description *desc, int tensor) {
  return tensor < 0 ? LLRT_DTYPE_NONE : desc->tensors[tensor].dtype;
}

dot_operand_type dot_operand_of(const op_description *desc, llrt_dot_role operand) {
  const op_dot *dot = &desc->dot;
  bool is_b = operand == LLRT_DOT_B;
  int element = dot_tensor(dot, operand), k = desc->tensors[element].rank - 1;
  int scale = dot_tensor(dot, is_b ? LLRT_DOT_SCALE_B : LLRT_DOT_SCALE_A);
  int zero = dot_tensor(dot, is_b ? LLRT_DOT_ZERO_B : LLRT_DOT_ZERO_A);
  dot_operand_type type = {.element = desc->tensors[element].dtype,
                           .scale = dtype_of(desc, scale),
                           .zero = dtype_of(desc, zero)};
  type.on_sums = scale >= 0 && dot->group[scale][k] == LLRT_GROUP_ALL;
  for (int i = 0; i < 2; i++) type.range[i] = dot->scale_range[is_b][i];
  return type;
}

dot_rule dot_rule_of(const op_description *desc) {
  dot_operand_type a = dot_operand_of(desc, LLRT_DOT_A), b = dot_operand_of(desc, LLRT_DOT_B);
  dot_rule rule;
  bool found = dot_rule_find(&a, &b, desc->dot.accumulate, desc->dot.tf32, &rule);
  assert(found);
  (void)found;
  return rule;
}
