/* PLAN_APPLY on numbers. Functions are the C library's, rounded: emitted code may differ from them
 * in the last places (docs/expressions.md). */
#include "jit/interpret/interpret.h"

#include "expression/expression.h"
#include "jit/plan/types/number.h"

#include <math.h>

static double real_of(llrt_dtype type, uint64_t code) {
  return number_value(number_format_of(type), code);
}

static uint64_t code_of(llrt_dtype type, double x) {
  return number_code(number_format_of(type), x);
}

static bool is_real(llrt_dtype type) { return type == LLRT_F32 || type == LLRT_F64; }

static int64_t whole_of(llrt_dtype type, uint64_t code) {
  return type == LLRT_I64 ? (int64_t)code : (int32_t)code;
}

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

static double function(int op, double x) {
  switch (op) {
  case EXPR_NEGATE: return -x;
  case EXPR_ABS: return fabs(x);
  case EXPR_SQRT: return sqrt(x);
  case EXPR_RSQRT: return 1 / sqrt(x);
  case EXPR_RCP: return 1 / x;
  case EXPR_FLOOR: return floor(x);
  case EXPR_CEIL: return ceil(x);
  case EXPR_ROUND: return nearbyint(x);
  case EXPR_EXP: return exp(x);
  case EXPR_EXP2: return exp2(x);
  case EXPR_LOG: return log(x);
  case EXPR_LOG2: return log2(x);
  case EXPR_SIN: return sin(x);
  case EXPR_COS: return cos(x);
  case EXPR_TANH: return tanh(x);
  case EXPR_ERF: return erf(x);
  case EXPR_SIGMOID: return sigmoid(x);
  case EXPR_SILU: return x < -200 ? -0.0 : x * sigmoid(x);
  default: return x < -200 ? -0.0 : x * erfc(-x / sqrt(2)) / 2;
  }
}

static double of_reals(int op, double x, double y) {
  switch (op) {
  case EXPR_ADD: return x + y;
  case EXPR_SUBTRACT: return x - y;
  case EXPR_MULTIPLY: return x * y;
  case EXPR_DIVIDE: return x / y;
  case EXPR_FLOOR_DIVIDE: return floor(x / y);
  case EXPR_MODULO: return x - floor(x / y) * y;
  case EXPR_MAXIMUM: return isnan(x) || isnan(y) ? (double)NAN : x > y ? x : y;
  default: return isnan(x) || isnan(y) ? (double)NAN : x < y ? x : y;
  }
}

static int64_t of_whole(int op, int bits, int64_t x, int64_t y) {
  uint64_t a = (uint64_t)x, b = (uint64_t)y;
  int64_t q = y == 0 ? 0 : y == -1 ? (int64_t)(0 - a) : x / y - (x % y != 0 && (x < 0) != (y < 0));
  switch (op) {
  case EXPR_ADD: return (int64_t)(a + b);
  case EXPR_SUBTRACT: return (int64_t)(a - b);
  case EXPR_MULTIPLY: return (int64_t)(a * b);
  case EXPR_AND: return x & y;
  case EXPR_OR: return x | y;
  case EXPR_XOR: return x ^ y;
  case EXPR_SHIFT_LEFT: return (int64_t)(a << (b & (uint64_t)(bits - 1)));
  case EXPR_SHIFT_RIGHT: return x >> (b & (uint64_t)(bits - 1));
  case EXPR_FLOOR_DIVIDE: return q;
  case EXPR_MODULO: return (int64_t)(a - (uint64_t)q * b);
  case EXPR_MAXIMUM: return x > y ? x : y;
  default: return x < y ? x : y;
  }
}

#define COMPARED(op, x, y) \
  ((op) == EXPR_EQUAL        ? (x) == (y) \
   : (op) == EXPR_UNEQUAL    ? (x) != (y) \
   : (op) == EXPR_LESS       ? (x) < (y) \
   : (op) == EXPR_LESS_EQUAL ? (x) <= (y) \
   : (op) == EXPR_GREATER    ? (x) > (y) \
                             : (x) >= (y))

/* The code of e8m0 for an f32. */
static uint64_t power_code(double x, int rounding) {
  if (isnan(x) || x < 0) return 255;
  if (x <= 0x1p-127) return 0;
  if (x >= 0x1p127) return 254;
  int e = ilogb(x) + 127;
  double low = ldexp(1, e - 127);
  bool up = rounding == EXPR_UP ? x > low : rounding == EXPR_DOWN ? false : x > 1.5 * low;
  if (rounding == EXPR_NEAREST && x == 1.5 * low) up = e % 2 != 0;
  return (uint64_t)(e + up);
}

static uint64_t cast(const plan_step *step, uint64_t code) {
  llrt_dtype from = (llrt_dtype)step->element, to = (llrt_dtype)step->type;
  if (step->through) {
    uint64_t power = power_code(real_of(LLRT_F32, code), step->rounding);
    return to == LLRT_I32
               ? power
               : code_of(LLRT_F32, power == 255 ? (double)NAN : ldexp(1, (int)power - 127));
  }
  if (from == to || from != LLRT_I64) return code;
  int64_t x = (int64_t)code;
  if (to == LLRT_F32) {
    float narrow = (float)x;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    return bits;
  }
  if (to == LLRT_F64) return code_of(LLRT_F64, (double)x);
  return (uint32_t)(int32_t)(x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : x);
}

static uint64_t of_one(const plan_step *step, uint64_t a) {
  llrt_dtype type = (llrt_dtype)step->element;
  int64_t x;
  if (step->op == EXPR_CAST) return cast(step, a);
  if (step->op == EXPR_BITCAST || step->op == EXPR_FLIP) return a;
  if (is_real(type)) return code_of(type, function(step->op, real_of(type, a)));
  x = whole_of(type, a);
  if (step->op == EXPR_INVERT) return type == LLRT_BOOL ? a ^ 1 : ~a;
  return (uint64_t)(step->op == EXPR_ABS && x >= 0 ? x : (int64_t)(0 - (uint64_t)x));
}

static uint64_t of_two(const plan_step *step, uint64_t a, uint64_t b) {
  llrt_dtype type = (llrt_dtype)step->element;
  bool compares = expr_row_of(step->op)->typing == EXPR_TYPED_COMPARED;
  if (is_real(type)) {
    double x = real_of(type, a), y = real_of(type, b);
    return compares ? (uint64_t)COMPARED(step->op, x, y) : code_of(type, of_reals(step->op, x, y));
  }
  int64_t x = whole_of(type, a), y = whole_of(type, b);
  if (compares) return (uint64_t)COMPARED(step->op, x, y);
  return (uint64_t)of_whole(step->op, type == LLRT_I64 ? 64 : 32, x, y);
}

/* The operand's element for a place of the result: register fastest, then lane and warp. */
static uint64_t operand(const interpreter *in, const plan_step *step, int value, int64_t at) {
  const plan_kernel *kernel = in->kernel;
  const plan_value *out = &kernel->value[step->out], *from = &kernel->value[value];
  int own = plan_value_bits(out, PLAN_REGISTER), registers = plan_value_bits(from, PLAN_REGISTER);
  uint64_t place = (uint64_t)at >> own, lane = place & bits_mask(kernel->lane_bits);
  uint64_t reg = plan_reduced_register(out, from, (uint64_t)at & bits_mask(own));
  if (kernel->target.simd_lanes) lane = plan_reduced_lane(out, from, lane);
  place = (place & ~bits_mask(kernel->lane_bits)) | lane;
  return in->value[value][place << registers | reg];
}

static uint64_t number_at(const interpreter *in, const plan_step *step, int64_t at) {
  int64_t position[PLAN_MAX_DIGITS];
  if (step->op == EXPR_NUMBER) return (uint64_t)plan_number_value(&step->number, in->args, 0);
  plan_tile_position(in->kernel, interpreter_kernel_tile(in, step->out, at), in->grid, in->upper,
                     position);
  return (uint64_t)plan_coordinate(in->kernel, step->axis, position);
}

void interpret_apply(interpreter *in, const plan_step *step) {
  const plan_value *out = &in->kernel->value[step->out];
  int64_t flipped = step->op == EXPR_FLIP ? plan_flipped_registers(in->kernel, step) : 0;
  for (int64_t at = 0; at < interpreter_size(in->kernel, step->out); at++) {
    uint64_t code[3] = {0, 0, 0};
    const int operands[] = {step->in, step->second, step->with};
    for (int i = 0; i < step->operands; i++) code[i] = operand(in, step, operands[i], at ^ flipped);
    uint64_t made = step->operands == 0   ? number_at(in, step, at)
                    : step->operands == 1 ? of_one(step, code[0])
                    : step->operands == 2 ? of_two(step, code[0], code[1])
                                          : 0;
    llrt_dtype type = (llrt_dtype)step->element;
    if (step->op == EXPR_WHERE) made = code[0] ? code[1] : code[2];
    if (step->op == EXPR_FMA && type == LLRT_F32)
      made =
          code_of(type, (double)fmaf((float)real_of(type, code[0]), (float)real_of(type, code[1]),
                                     (float)real_of(type, code[2])));
    if (step->op == EXPR_FMA && type == LLRT_F64)
      made = code_of(type,
                     fma(real_of(type, code[0]), real_of(type, code[1]), real_of(type, code[2])));
    in->value[step->out][at] = made & bits_mask(out->bits);
  }
}
