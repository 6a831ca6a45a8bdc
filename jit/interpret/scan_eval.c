/* SCAN, PREFIX and PICK on numbers. Positions are combined one after the
 * other: kernels join them in a tree, so floats may differ in their last bits. */
#include "jit/interpret/scan_eval.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/facts/eval.h"
#include "jit/plan/facts/lookback.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/types/combine.h"
#include "layout/f2.h"

#include <stdlib.h>

static int64_t place_count(const plan_kernel *kernel, const plan_value *value) {
  return (int64_t)1 << (plan_value_bits(value, PLAN_REGISTER) + kernel->lane_bits +
                        kernel->warp_bits);
}

/* ---- scans ---- */

/* The tile coordinate that position k along the order adds. */
static uint64_t along(const plan_value *value, const plan_order *order, uint64_t k) {
  uint64_t x = 0;
  for (int i = 0; i < order->n; i++)
    if (k >> i & 1) x |= plan_value_bits_of(value, 1ull << order->bit[i]);
  return x;
}

/* One group: the elements from `first` on, in order, become their scan; returns the total. */
static uint64_t scan_group(const plan_step *step, const plan_value *value, const plan_order *order,
                           uint64_t first, uint64_t *elements) {
  uint64_t n = 1ull << order->n, so_far = combine_identity(step->combiner, (llrt_dtype)step->type);
  for (uint64_t k = 0; k < n; k++) {
    uint64_t *element = &elements[first | along(value, order, step->reverse ? n - 1 - k : k)];
    uint64_t own = *element, before = so_far;
    so_far = step->reverse ? combine_two(step->combiner, (llrt_dtype)step->type, own, so_far)
                           : combine_two(step->combiner, (llrt_dtype)step->type, so_far, own);
    *element = step->exclusive ? before : so_far;
  }
  return so_far;
}

llrt_status plan_eval_scan(const plan_kernel *kernel, const plan_step *step,
                           uint64_t *const *values) {
  const plan_value *value = &kernel->value[step->in], *total = &kernel->value[step->total];
  const plan_order *order = &kernel->order[step->order];
  uint64_t n = 1ull << value->layout.out[0].bits, mask = along(value, order, bits_mask(order->n));
  uint64_t *elements = calloc(n, sizeof *elements), *totals = calloc(n, sizeof *totals);
  if (elements && totals) {
    for (int64_t at = 0; at < place_count(kernel, value); at++)
      elements[f2_apply(value->layout.column, (uint64_t)at)] = values[step->in][at];
    for (uint64_t x = 0, at = 0; x < n; x++)
      if (!(x & mask)) totals[at++] = scan_group(step, value, order, x, elements);
    for (int64_t at = 0; at < place_count(kernel, value); at++)
      values[step->out][at] = elements[f2_apply(value->layout.column, (uint64_t)at)];
    for (int64_t at = 0; at < place_count(kernel, total); at++)
      values[step->total][at] = totals[f2_apply(total->layout.column, (uint64_t)at)];
  }
  bool made = elements && totals;
  free(elements);
  free(totals);
  return made ? LLRT_OK : llrt_error(LLRT_OUT_OF_MEMORY, "no memory for the plan interpreter");
}

/* ---- elementwise ---- */

void plan_eval_prefix(const plan_kernel *kernel, const plan_step *step, uint64_t *const *values) {
  const plan_value *out = &kernel->value[step->out];
  const int operand[2] = {step->in, step->second};
  int registers = plan_value_bits(out, PLAN_REGISTER);
  for (int64_t at = 0; at < place_count(kernel, out); at++) {
    uint64_t x[2], thread = (uint64_t)at >> registers, index = (uint64_t)at & bits_mask(registers);
    for (int i = 0; i < 2; i++) {
      const plan_value *value = &kernel->value[operand[i]];
      uint64_t own = plan_reduced_register(out, value, index);
      x[i] = values[operand[i]][thread << plan_value_bits(value, PLAN_REGISTER) | own];
    }
    values[step->out][at] = combine_two(step->combiner, (llrt_dtype)step->type, x[0], x[1]);
  }
}

/* ---- picks ---- */

void plan_eval_pick(const plan_kernel *kernel, const plan_step *step, uint64_t *const *values) {
  const plan_value *in = &kernel->value[step->in], *out = &kernel->value[step->out];
  int registers = plan_value_bits(out, PLAN_REGISTER);
  plan_pick pick;
  plan_pick_of(in, out, &pick);
  for (int64_t at = 0; at < place_count(kernel, out); at++) {
    uint64_t thread = (uint64_t)at >> registers;
    uint64_t index = f2_apply(pick.of_register, (uint64_t)at & bits_mask(registers)) ^
                     f2_apply(pick.of_warp, thread >> kernel->lane_bits);
    values[step->out][at] = values[step->in][thread << plan_value_bits(in, PLAN_REGISTER) | index];
  }
}

/* ---- between blocks ---- */

/* A step on one block's cells. */
typedef struct cell_step {
  const plan_kernel *kernel;
  const plan_step *step;
  const uint64_t *args;
  int64_t block, turn, lines;
  int kept, parts; /* log2 elements of a total, cells of one */
} cell_step;

/* The cells of an element of the block `before` turns ago. */
static uint64_t *cells_of(const cell_step *s, int64_t before, uint64_t element) {
  const plan_lookback *lookback = &s->kernel->lookback;
  int64_t blocks = plan_number_value(&lookback->blocks, s->args, 1),
          block = s->block - before * s->lines;
  uint64_t *cells = (uint64_t *)(uintptr_t)plan_number_value(&lookback->cells, s->args, 0);
  return &cells[(((s->step->level * blocks + block) << s->kept) + (int64_t)element) * s->parts];
}

static void publish(const cell_step *s, uint64_t y, uint64_t element) {
  uint64_t *cell = cells_of(s, 0, y);
  for (int p = 0; p < s->parts; p++) cell[p] = (element >> (32 * p)) << 32 | 1;
}

static llrt_status await(const cell_step *s, uint64_t y, uint64_t *element) {
  int64_t before = plan_lookback_distance(&s->kernel->lookback, s->step->level, s->turn,
                                          (int64_t)(y >> s->kept));
  uint64_t *cell = cells_of(s, before, y & bits_mask(s->kept));
  *element = before ? 0 : combine_identity(s->step->combiner, (llrt_dtype)s->step->type);
  for (int p = 0; before && p < s->parts; p++) {
    if (!(cell[p] & 1))
      return llrt_error(LLRT_INTERNAL, "block %lld would wait", (long long)s->block);
    *element |= cell[p] >> 32 << (32 * p);
  }
  return LLRT_OK;
}

llrt_status plan_eval_lookback(const plan_kernel *kernel, const plan_step *step, int64_t block,
                               const int64_t upper[PLAN_MAX_DIGITS], const uint64_t *args,
                               uint64_t *const *values) {
  int number = step->kind == PLAN_PUBLISH ? step->in : step->out;
  const plan_value *value = &kernel->value[number];
  cell_step s = {kernel,
                 step,
                 args,
                 block,
                 upper[kernel->walk.split],
                 plan_number_value(&kernel->lookback.lines, args, 1),
                 plan_lookback_kept(kernel, step, value),
                 value->bits / 32};
  if (step->kind == PLAN_PUBLISH &&
      !plan_lookback_publishes(&kernel->lookback, step->level, s.turn))
    return LLRT_OK;
  for (int64_t at = 0; at < place_count(kernel, value); at++) {
    uint64_t y = f2_apply(value->layout.column, (uint64_t)at), *element = &values[number][at];
    if (step->kind == PLAN_PEEK) *element = 0;
    else if (step->kind == PLAN_PUBLISH) publish(&s, y, *element);
    else LLRT_TRY(await(&s, y, element));
  }
  return LLRT_OK;
}
