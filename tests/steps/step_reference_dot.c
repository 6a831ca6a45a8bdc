/* Products, as docs/steps.md defines them. */
#include "step_state.h"

#include "base/bits.h"
#include "jit/plan/types/dot_instruction.h"
#include "tests/number_reference.h"

#include <stdlib.h>

enum { TF32_DROPPED = 13 };

static bool is_float(llrt_dtype type) {
  return type != LLRT_I8 && type != LLRT_U8 && type != LLRT_I16 && type != LLRT_I32 &&
         type != LLRT_I64;
}

/* A code of an integer type, extended to 64 bits. */
static uint64_t extended(llrt_dtype type, uint64_t code) {
  int unused = 64 - llrt_dtype_bits(type);
  if (type == LLRT_U8) return code;
  return (uint64_t)((int64_t)(code << unused) >> unused);
}

/* An operand, or the sums that the products join. */
typedef struct operand {
  llrt_dtype type;
  step_element *element; /* by tile */
  uint64_t bits, keep;   /* of the tile that it has; of a code that count */
} operand;

static operand operand_of(step_state *s, int value, uint8_t type, bool tf32) {
  operand o = {
      .type = (llrt_dtype)type, .element = step_by_tile(s, value), .bits = step_bits_of(s, value)};
  o.keep = tf32 ? ~bits_mask(TF32_DROPPED) : ~0ull;
  return o;
}

static uint64_t code_at(const operand *o, uint64_t tile) {
  return o->element[tile & o->bits].bits & o->keep;
}

/* with + the sum over the subsets of `summed`. Numbers are such that every sum is exact. */
static uint64_t sum_of(const operand *a, const operand *b, llrt_dtype type, uint64_t with,
                       uint64_t tile, uint64_t summed) {
  bool floats = is_float(type);
  double sum = floats ? reference_decode(type, with) : 0;
  uint64_t z = 0;
  do {
    uint64_t x = code_at(a, tile | z), y = code_at(b, tile | z);
    if (floats) sum += reference_decode(a->type, x) * reference_decode(b->type, y);
    else with += extended(a->type, x) * extended(b->type, y);
    z = (z - summed) & summed;
  } while (z);
  return floats ? reference_encode(type, sum) : with & bits_mask(llrt_dtype_bits(type));
}

static bool multiply(step_state *s, const plan_step *step) {
  const dot_instruction *row = dot_instruction_at(step->instruction);
  const int value[2] = {step->in, step->second};
  for (int o = 0; o < 2; o++)
    if (step->shared >> o & 1) step_fetch(s, value[o], step->from[o]);
  operand a = operand_of(s, step->in, row->a, row->tf32),
          b = operand_of(s, step->second, row->b, row->tf32);
  uint64_t summed = (a.bits | b.bits) & ~step_bits_of(s, step->out);
  for (int64_t at = 0; at < step_places_of(s, step->out); at++) {
    uint64_t with = s->value[step->with][at].bits, tile = step_tile(s, step->out, at);
    s->value[step->out][at] =
        (step_element){sum_of(&a, &b, (llrt_dtype)row->acc, with, tile, summed), 0};
  }
  free(a.element);
  free(b.element);
  return true;
}

/* Groups are done as soon as they begin here; whether anybody uses them too early is the
 * interpreter's to see. */
bool step_run_dot(step_state *s, const plan_step *step) {
  if (step->kind == PLAN_DOT) return multiply(s, step);
  if (step->kind != PLAN_MULTIPLIED) return step_run_lookback(s, step);
  for (int64_t at = 0; step->turns == 0 && at < step_places_of(s, step->out); at++)
    s->value[step->out][at] = s->value[step->in][at];
  return true;
}
