/* PLAN_DOT executed, without regard to its instruction: products as they are, their sum rounded
 * once. */
#include "jit/plan/facts/dot_tiling.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/interpret/scan_eval.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/types/number.h"
#include "layout/f2.h"

#include <math.h>
#include <stdlib.h>

#define TF32_DROPPED 13 /* bits of an f32 that tf32 has not */

/* An operand by tile coordinate. */
typedef struct operand {
  const plan_value *value;
  llrt_dtype type;
  uint64_t bits;     /* of the kernel's tile */
  double *number;    /* floats */
  uint64_t *integer; /* sign-extended */
} operand;

static bool is_integer(llrt_dtype type) {
  const number_format *f = number_format_of(type);
  return !f || f->kind == NUMBER_INTEGER; /* those of 64 bits have none */
}

static uint64_t extend(llrt_dtype type, uint64_t code) {
  const number_format *f = number_format_of(type);
  if (!f) return code;
  uint64_t sign = f->is_signed ? 1ull << (f->bits - 1) : 0;
  return ((code & bits_mask(f->bits)) ^ sign) - sign;
}

static void operand_fini(operand *o) {
  free(o->number);
  free(o->integer);
}

/* keep: the bits of a code that the instruction looks at. */
static llrt_status operand_init(const plan_kernel *kernel, int number, llrt_dtype type,
                                uint64_t keep, const uint64_t *elements, operand *o) {
  const plan_value *value = &kernel->value[number];
  int bits = llrt_layout_in_bits(&value->layout) - plan_value_bits(value, PLAN_ITERATION);
  size_t places = (size_t)1 << bits, n = (size_t)1 << value->layout.out[0].bits;
  *o = (operand){.value = value, .type = type, .bits = plan_turn_bits_in(kernel, value)};
  o->number = calloc(n, sizeof *o->number);
  o->integer = calloc(n, sizeof *o->integer);
  if (!o->number || !o->integer)
    return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for the plan interpreter");
  for (size_t at = 0; at < places; at++) {
    uint64_t x = f2_apply(value->layout.column, at);
    if (is_integer(type)) o->integer[x] = extend(type, elements[at]);
    else o->number[x] = number_value(number_format_of(type), elements[at] & keep);
  }
  return LLRT_OK;
}

/* The operand's coordinate of a place in the kernel's tile. */
static uint64_t coordinate_of(const operand *o, uint64_t tile) {
  return plan_value_bits_of(o->value, tile & o->bits);
}

static uint64_t sum_at(const operand side[2], llrt_dtype type, uint64_t with, uint64_t tile,
                       uint64_t summed) {
  bool integers = is_integer(type);
  double sum = integers ? 0 : number_value(number_format_of(type), with);
  uint64_t z = 0;
  do {
    uint64_t a = coordinate_of(&side[0], tile | z), b = coordinate_of(&side[1], tile | z);
    if (integers) with += side[0].integer[a] * side[1].integer[b];
    else sum = fma(side[0].number[a], side[1].number[b], sum);
    z = (z - summed) & summed; /* the next subset of the bits, ascending */
  } while (z);
  return integers ? with & bits_mask(llrt_dtype_bits(type))
                  : number_code(number_format_of(type), sum);
}

llrt_status plan_eval_dot(const plan_kernel *kernel, const plan_step *step,
                          uint64_t *const *values) {
  const dot_instruction *row = dot_instruction_at(step->instruction);
  const plan_value *out = &kernel->value[step->out];
  size_t places =
      (size_t)1 << (llrt_layout_in_bits(&out->layout) - plan_value_bits(out, PLAN_ITERATION));
  operand side[2] = {{0}, {0}};
  plan_padding left;
  plan_dot_left(kernel, step, &left);
  uint64_t keep = row->tf32 ? ~bits_mask(TF32_DROPPED) : UINT64_MAX;
  llrt_dtype type[2] = {(llrt_dtype)row->a, (llrt_dtype)row->b};
  llrt_status status = operand_init(kernel, step->in, type[0], keep, values[step->in], &side[0]);
  if (status == LLRT_OK)
    status = operand_init(kernel, step->second, type[1], keep, values[step->second], &side[1]);
  uint64_t summed = (side[0].bits | side[1].bits) & ~plan_tile_bits_in(kernel, out);
  for (size_t at = 0; at < places && status == LLRT_OK; at++) {
    uint64_t tile = plan_tile_bits_of(out, f2_apply(out->layout.column, at));
    if (plan_padding_has(&left, tile)) {
      values[step->out][at] = values[step->with][at];
      continue;
    }
    values[step->out][at] =
        sum_at(side, (llrt_dtype)row->acc, values[step->with][at], tile, summed);
  }
  for (int i = 0; i < 2; i++) operand_fini(&side[i]);
  return status;
}
