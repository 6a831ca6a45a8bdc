/* What emission and interpretation rely on in combining steps. */
#include "jit/plan/types/combine.h"

#include "base/bits.h"
#include "expression/operators.h"
#include "base/status.h"
#include "jit/plan/check/verify.h"
#include "jit/plan/facts/fold.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/kernel/plan_check.h"
#include "layout/f2.h"

#include <string.h>

static bool same_layout(const plan_kernel *kernel, int a, int b) {
  return llrt_layout_equal(&kernel->value[a].layout, &kernel->value[b].layout);
}

/* Keys and positions are values of one layout, each as wide as its type. */
static llrt_status check_pair(const plan_kernel *kernel, int at, int key, int index) {
  const plan_step *step = &kernel->step[at];
  CHECK(key < kernel->n_values, "step %d: value %d", at, key);
  bool halves = plan_folds_halves(step);
  CHECK(kernel->value[key].bits == llrt_dtype_bits((llrt_dtype)step->type) &&
            (halves || !kernel->value[key].word),
        "step %d: v%d has not the type that is joined", at, key);
  if (!step->pairs) return LLRT_OK;
  CHECK(index < kernel->n_values && same_layout(kernel, key, index) && !kernel->value[index].word,
        "step %d: v%d are no positions of v%d", at, index, key);
  return LLRT_OK;
}

static llrt_status check_combine(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  LLRT_TRY(check_pair(kernel, at, step->in, step->index_in));
  LLRT_TRY(check_pair(kernel, at, step->with, step->index_with));
  LLRT_TRY(check_pair(kernel, at, step->out, step->index_out));
  CHECK(same_layout(kernel, step->in, step->out) && same_layout(kernel, step->with, step->out),
        "step %d: joins elements that lie elsewhere", at);
  return LLRT_OK;
}

/* Extremes of 16-bit floats: two in a word of in, and of out where the lowest register stays. */
static llrt_status check_halves(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  const plan_value *in = &kernel->value[step->in], *out = &kernel->value[step->out];
  bool stays = plan_value_columns(in, PLAN_REGISTER)[0] >> out->layout.out[0].bits == 0;
  CHECK(kernel->target.half_extremes && !step->pairs && in->word == 1 && out->word == stays,
        "step %d: halves of words", at);
  CHECK(step->combiner == LLRT_COMBINE_MIN || step->combiner == LLRT_COMBINE_MAX,
        "step %d: halves that are no extremes", at);
  return LLRT_OK;
}

/* Each column lies in out's tile or beyond; those beyond are of the dim that is folded, pure. */
static llrt_status check_fold(const plan_kernel *kernel, int at, plan_dim dim) {
  const plan_step *step = &kernel->step[at];
  LLRT_TRY(check_pair(kernel, at, step->in, step->index_in));
  LLRT_TRY(check_pair(kernel, at, step->out, step->index_out));
  if (plan_folds_halves(step)) LLRT_TRY(check_halves(kernel, at));
  CHECK(!step->sizes || plan_folds_halves(step), "step %d: sizes", at);
  const plan_value *in = &kernel->value[step->in], *out = &kernel->value[step->out];
  int tile = out->layout.out[0].bits;
  plan_value wanted;
  CHECK(dim != PLAN_LANE || step->combiner != COMBINE_AFFINE, "step %d: lanes join in no order",
        at);
  for (int i = 0; i < llrt_layout_in_bits(&in->layout); i++) {
    uint64_t x = in->layout.column[i];
    CHECK(x >> tile == 0 || (x & bits_mask(tile)) == 0, "step %d: a column inside and beyond", at);
    CHECK(x >> tile == 0 || bits_is_power_of_two((int64_t)x), "step %d: a column of several bits",
          at);
  }
  for (plan_dim d = PLAN_REGISTER; d <= PLAN_ITERATION; d++)
    for (int i = 0; d != dim && i < plan_value_bits(in, d); i++)
      CHECK(plan_value_columns(in, d)[i] >> tile == 0, "step %d: elements that are not in reach",
            at);
  LLRT_TRY(plan_fold_laid_out(kernel, in, tile, out->bits, &wanted));
  CHECK(llrt_layout_equal(&wanted.layout, &out->layout), "step %d: the result lies elsewhere", at);
  return LLRT_OK;
}

static bool has_column(const plan_value *value, plan_dim dim, uint64_t x) {
  bool found = false;
  for (int i = 0; i < plan_value_bits(value, dim); i++)
    found |= plan_value_columns(value, dim)[i] == x;
  return found;
}

/* Every register of in is one of out or a lane where in holds copies; nothing else changes. */
static llrt_status check_spread(const plan_kernel *kernel, int at) {
  const plan_value *in = &kernel->value[kernel->step[at].in],
                   *out = &kernel->value[kernel->step[at].out];
  int moved = plan_value_bits(in, PLAN_REGISTER) - plan_value_bits(out, PLAN_REGISTER);
  CHECK(in->bits == out->bits && !in->word && !out->word, "step %d: words are spread", at);
  for (int i = 0; i < plan_value_bits(in, PLAN_REGISTER); i++) {
    uint64_t x = plan_value_columns(in, PLAN_REGISTER)[i];
    CHECK(has_column(out, PLAN_REGISTER, x) != has_column(out, PLAN_LANE, x),
          "step %d: register bit %d", at, i);
  }
  for (int i = 0; i < kernel->lane_bits; i++) {
    uint64_t from = plan_value_columns(in, PLAN_LANE)[i],
             to = plan_value_columns(out, PLAN_LANE)[i];
    moved -= from != to;
    CHECK(from == to || (from == 0 && has_column(in, PLAN_REGISTER, to)), "step %d: lane bit %d",
          at, i);
  }
  CHECK(moved == 0, "step %d: registers are lost", at);
  return LLRT_OK;
}

/* Whether nothing of a walk asks for the turns' order. */
static bool goes_back(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  bool may = step->bare && !kernel->lookback.queued && kernel->producers == 0;
  for (int i = 1; i <= step->body; i++)
    may &= step[i].kind != PLAN_CARRY && step[i].kind != PLAN_AHEAD && step[i].kind != PLAN_PRODUCE;
  return may;
}

static llrt_status check_walk(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at], *last = &kernel->step[at + step->body];
  CHECK(kernel->walk.n_places > 0 || kernel->launch.walk.axes, "step %d: there is nothing to walk",
        at);
  CHECK(step->body > 0, "step %d: walks without a body", at);
  if (kernel->lookback.queued) LLRT_TRY(plan_verify_queue(kernel, at));
  CHECK(step->ahead < step->body && step->ahead <= PLAN_MAX_AHEAD &&
            (step->ahead == 0 || !kernel->target.simd_lanes),
        "step %d: %d steps ahead", at, step->ahead);
  for (int i = 1; i <= step->ahead; i++)
    CHECK(step[i].kind == PLAN_LOAD || step[i].kind == PLAN_SHARED_LOAD ||
              (step[i].kind == PLAN_IF_INTERIOR && step[i].joins &&
               i + step[i].body + step[i].otherwise <= step->ahead),
          "step %d: no load is ahead", at + i);
  CHECK(!step->reverse || goes_back(kernel, at), "step %d: turns that want an order", at);
  if (step->bare) return LLRT_OK;
  CHECK(last->pairs == step->pairs, "step %d: pairs", at);
  CHECK(same_layout(kernel, step->in, step->out) && same_layout(kernel, step->out, last->out),
        "step %d: what is carried changes its place", at);
  CHECK(kernel->value[step->in].bits == kernel->value[step->out].bits &&
            kernel->value[step->out].bits == kernel->value[last->out].bits,
        "step %d: what is carried changes its width", at);
  return LLRT_OK;
}

static llrt_status check_carry(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  bool inside = false; /* of the body of a walk, and of nothing else in it */
  for (int i = 0; i < at; i++) {
    const plan_step *other = &kernel->step[i];
    if (other->kind == PLAN_WALK && i + other->body >= at) inside = true;
    else if (i + other->body + other->otherwise >= at && other->kind != PLAN_IF_PRESENT)
      inside = false;
  }
  CHECK(inside && !kernel->lookback.queued, "step %d: no walk carries", at);
  CHECK(same_layout(kernel, step->in, step->out) && same_layout(kernel, step->out, step->with) &&
            kernel->value[step->in].bits == kernel->value[step->out].bits &&
            kernel->value[step->out].bits == kernel->value[step->with].bits,
        "step %d: what is carried changes its place or width", at);
  return LLRT_OK;
}

/* The bits of digits along the kernel's position axes. */
static uint64_t counted_bits(const plan_kernel *kernel) {
  uint64_t bits = 0;
  for (int i = 0, first = 0; i < kernel->n_digits; first += kernel->digit[i++].bits) {
    int axis = kernel->digit[i].axis;
    if (axis >= 0 && kernel->position_axes >> axis & 1)
      bits |= bits_mask(kernel->digit[i].bits) << first;
  }
  return bits;
}

/* What registers, and lanes of the host, move of positions nothing else moves: so positions are
 * sums of what each adds. */
static bool has_own_positions(const plan_kernel *kernel, const plan_value *value) {
  uint64_t counted = counted_bits(kernel), own[2] = {0, 0}, others = 0;
  plan_value spread;
  plan_value_spread(kernel, value, &spread);
  for (plan_dim d = PLAN_REGISTER; d <= PLAN_ITERATION; d++)
    for (int i = 0; i < plan_value_bits(&spread, d); i++) {
      uint64_t moved = f2_apply(kernel->space.column, plan_value_columns(&spread, d)[i]) & counted;
      if (d == PLAN_REGISTER || (d == PLAN_LANE && kernel->target.simd_lanes)) own[d] |= moved;
      else others |= moved;
    }
  for (int i = kernel->space.in[0].bits; i < llrt_layout_in_bits(&kernel->space); i++)
    others |= kernel->space.column[i] & counted;
  return !(own[0] & own[1]) && !((own[0] | own[1]) & others);
}

static llrt_status check_position(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  int bits = kernel->value[step->out].bits;
  CHECK((bits == 32 || bits == 64) && kernel->value[step->out].word == 0, "step %d: positions", at);
  CHECK(kernel->position_axes != 0 && kernel->position_axes >> LLRT_MAX_RANK == 0 && !kernel->flat,
        "step %d: positions of axes 0x%x", at, kernel->position_axes);
  if (step->kind == PLAN_POSITION) {
    CHECK(has_own_positions(kernel, &kernel->value[step->out]),
          "step %d: positions that registers share", at);
    return LLRT_OK;
  }
  CHECK(step->with < kernel->n_values && same_layout(kernel, step->in, step->out) &&
            kernel->value[step->in].bits == bits,
        "step %d: v%d are no positions", at, step->in);
  return LLRT_OK;
}

/* Each element of out finds its operands in its thread: on a GPU in the same lane and warp, on the
 * host, where lanes that are left close up, in the lanes of the same bits. */
static llrt_status check_operand(const plan_kernel *kernel, int at, int operand) {
  const plan_value *out = &kernel->value[kernel->step[at].out], *in;
  plan_value expected;
  CHECK(operand < kernel->n_values, "step %d: value %d", at, operand);
  in = &kernel->value[operand];
  CHECK(in->word == 0 && (in->bits == 32 || in->bits == 64), "step %d: v%d has no numbers", at,
        operand);
  CHECK((in->reduced & out->reduced) == out->reduced, "step %d: v%d varies along more than v%d", at,
        operand, kernel->step[at].out);
  plan_value_reduce(out, in->reduced & ~out->reduced, &expected);
  if (kernel->target.simd_lanes) plan_close_lanes(&expected);
  CHECK(llrt_layout_equal(&in->layout, &expected.layout), "step %d: v%d is not laid out as v%d", at,
        operand, kernel->step[at].out);
  return LLRT_OK;
}

/* Whether registers, and nothing else, move these bits of the tile. */
static bool in_registers(const plan_kernel *kernel, const plan_value *value, uint64_t bits) {
  uint64_t moved[2] = {0, 0};
  plan_value spread;
  plan_value_spread(kernel, value, &spread);
  for (plan_dim d = PLAN_REGISTER; d <= PLAN_ITERATION; d++)
    for (int i = 0; i < plan_value_bits(&spread, d); i++)
      moved[d != PLAN_REGISTER] |= plan_value_columns(&spread, d)[i];
  return bits && !(bits & ~moved[0]) && !(bits & moved[1]);
}

static llrt_status check_apply(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  const plan_value *out = &kernel->value[step->out];
  const int operands[] = {step->in, step->second, step->with};
  CHECK(step->op > 0 && step->op < EXPR_OPERATORS && step->operands <= 3, "step %d: operator %d",
        at, step->op);
  CHECK(out->word == 0 && (out->bits == 32 || out->bits == 64), "step %d: v%d has no numbers", at,
        step->out);
  CHECK(!kernel->flat && step->number.arg < kernel->launch.n_args, "step %d: no number", at);
  for (int i = 0; i < step->operands; i++) LLRT_TRY(check_operand(kernel, at, operands[i]));
  CHECK(step->op != EXPR_FLIP || (!kernel->target.simd_lanes &&
                                  in_registers(kernel, out, (uint64_t)step->number.value) &&
                                  same_layout(kernel, step->in, step->out)),
        "step %d: backwards along what no thread has", at);
  return LLRT_OK;
}

llrt_status plan_verify_combining(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  switch ((plan_step_kind)step->kind) {
  case PLAN_FILL: return check_pair(kernel, at, step->out, step->index_out);
  case PLAN_JOIN: return check_combine(kernel, at);
  case PLAN_FOLD: return check_fold(kernel, at, PLAN_REGISTER);
  case PLAN_FOLD_LANES: return check_fold(kernel, at, PLAN_LANE);
  case PLAN_SPREAD: return check_spread(kernel, at);
  case PLAN_WALK: return check_walk(kernel, at);
  case PLAN_CARRY: return check_carry(kernel, at);
  case PLAN_APPLY: return check_apply(kernel, at);
  case PLAN_POSITION:
  case PLAN_POSITION_ADD: return check_position(kernel, at);
  default: return llrt_error(LLRT_INTERNAL, "plan: step %d combines nothing", at);
  }
}
