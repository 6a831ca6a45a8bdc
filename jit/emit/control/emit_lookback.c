/* What blocks of a scan exchange while they run: totals, and waiting for them (plan_lookback in
 * jit/plan/kernel/plan.h). A cell says by itself whether its value is there, so no access needs an
 * order. */
#include "jit/emit/control/emit_control.h"
#include "jit/emit/core/builder.h"
#include "jit/emit/place/address.h"
#include "jit/emit/value/emit_value.h"

#include "base/bits.h"
#include "jit/plan/facts/lookback.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"

#include <string.h>

static LLVMValueRef op(emitter *e, LLVMOpcode code, LLVMValueRef a, int64_t b) {
  return LLVMBuildBinOp(e->builder, code, a, emit_i64(e, b), "");
}

/* A step under way. */
typedef struct exchange {
  emitter *e;
  const plan_step *step;
  const plan_value *value;
  LLVMValueRef turn, lines, thread; /* thread: tile coordinate of the thread's register 0 */
  int kept, parts;
} exchange;

static exchange begin(emitter *e, const plan_step *step, int number) {
  const plan_value *value = &e->kernel->value[number];
  int places =
      step->kind == PLAN_PUBLISH ? 0 : plan_lookback_places(&e->kernel->lookback, step->level);
  exchange x = {.e = e,
                .step = step,
                .value = value,
                .turn = e->upper[e->kernel->walk.split],
                .parts = value->bits / 32};
  x.kept = value->layout.out[0].bits - places;
  LLVMValueRef lane = emit_linear(e, LLVMBuildZExt(e->builder, e->lane, e->i64, ""),
                                  plan_value_columns(value, PLAN_LANE), e->kernel->lane_bits);
  LLVMValueRef warp = emit_linear(e, LLVMBuildZExt(e->builder, e->warp, e->i64, ""),
                                  plan_value_columns(value, PLAN_WARP), e->kernel->warp_bits);
  x.thread = LLVMBuildXor(e->builder, lane, warp, "");
  x.lines = emit_number(e, &e->kernel->lookback.lines);
  return x;
}

static LLVMValueRef coordinate(const exchange *x, uint64_t reg) {
  uint64_t own = f2_apply(plan_value_columns(x->value, PLAN_REGISTER), reg);
  return op(x->e, LLVMXor, x->thread, (int64_t)own);
}

/* Cell 0 of an element `before` turns ago. */
static LLVMValueRef cell_of(const exchange *x, LLVMValueRef before, LLVMValueRef element) {
  emitter *e = x->e;
  const plan_lookback *lookback = &e->kernel->lookback;
  LLVMValueRef block =
      LLVMBuildSub(e->builder, e->block, LLVMBuildMul(e->builder, before, x->lines, ""), "");
  LLVMValueRef at = op(e, LLVMMul, emit_number(e, &lookback->blocks), x->step->level);
  at = op(e, LLVMShl, LLVMBuildAdd(e->builder, at, block, ""), x->kept);
  at = op(e, LLVMMul, LLVMBuildAdd(e->builder, at, element, ""), 8 * x->parts);
  at = LLVMBuildAdd(e->builder, emit_number(e, &lookback->cells), at, "");
  return at;
}

static LLVMValueRef part_pointer(const exchange *x, LLVMValueRef cell, int part) {
  return x->e->ops->global(x->e, op(x->e, LLVMAdd, cell, 8 * part));
}

void emit_publish_step(emitter *e, const plan_step *step) {
  exchange x = begin(e, step, step->in);
  LLVMValueRef rest = op(e, LLVMAnd, op(e, LLVMAdd, x.turn, 1),
                         (int64_t)bits_mask(e->kernel->lookback.bits * step->level));
  LLVMValueRef own = LLVMBuildICmp(e->builder, LLVMIntEQ, rest, emit_i64(e, 0), "");
  LLVMBasicBlockRef next = emit_open_guard(e, emit_and(e, own, emit_is_first_copy(e, x.value)));
  for (uint64_t r = 0; r < 1ull << plan_value_bits(x.value, PLAN_REGISTER); r++) {
    LLVMValueRef cell = cell_of(&x, emit_i64(e, 0), coordinate(&x, r));
    LLVMValueRef word = LLVMBuildZExt(e->builder, e->value[step->in][r], e->i64, "");
    for (int p = 0; p < x.parts; p++) {
      LLVMValueRef half = op(e, LLVMShl, op(e, LLVMLShr, word, 32 * p), 32);
      e->ops->poke(e, part_pointer(&x, cell, p), op(e, LLVMOr, half, 1));
    }
  }
  emit_close_guard(e, next);
}

/* plan_lookback_distance, and whether there is such a total. */
static LLVMValueRef distance(const exchange *x, LLVMValueRef k, LLVMValueRef *there) {
  emitter *e = x->e;
  const plan_lookback *lookback = &e->kernel->lookback;
  int level = x->step->level, low = lookback->bits * level, top = lookback->levels - 1;
  LLVMValueRef inside = op(e, LLVMAnd, x->turn, (int64_t)bits_mask(low));
  LLVMValueRef group = LLVMBuildSub(e->builder, x->turn, inside, "");
  if (level == top) {
    int64_t lag = lookback->lags ? (int64_t)1 << low : 0;
    *there = LLVMBuildICmp(e->builder, LLVMIntSGT, group, emit_i64(e, lag), "");
    return op(e, LLVMAdd, inside, 1 + lag);
  }
  LLVMValueRef past = op(e, LLVMAnd, x->turn, (int64_t)bits_mask(low + lookback->bits));
  LLVMValueRef last = LLVMBuildSub(e->builder, x->turn, past, "");
  last = LLVMBuildAdd(e->builder, last, op(e, LLVMShl, k, low), "");
  int64_t lag = lookback->lags && level == top - 1 ? (int64_t)1 << (low + lookback->bits) : 0;
  last = op(e, LLVMAdd, last, (int64_t)bits_mask(low) - lag);
  *there = LLVMBuildICmp(e->builder, LLVMIntSLT, last, group, "");
  if (lag)
    *there = emit_and(e, *there, LLVMBuildICmp(e->builder, LLVMIntSGE, last, emit_i64(e, 0), ""));
  return LLVMBuildSub(e->builder, x->turn, last, "");
}

/* The cells that a thread reads, and whether they are there. */
typedef struct looked {
  int n; /* registers * parts */
  emit_words pointer, there;
} looked;

static void look(const exchange *x, looked *out) {
  emitter *e = x->e;
  out->n = x->parts << plan_value_bits(x->value, PLAN_REGISTER);
  for (int i = 0; i < out->n; i++) {
    LLVMValueRef y = coordinate(x, (uint64_t)(i / x->parts)), there;
    LLVMValueRef before = distance(x, op(e, LLVMLShr, y, x->kept), &there);
    LLVMValueRef cell = cell_of(x, before, op(e, LLVMAnd, y, (int64_t)bits_mask(x->kept)));
    out->pointer[i] = part_pointer(x, cell, i % x->parts);
    out->there[i] = there;
  }
}

/* What is not there is a cell that need not be waited for. */
void emit_peek_step(emitter *e, const plan_step *step) {
  exchange x = begin(e, step, step->out);
  looked at;
  look(&x, &at);
  for (int i = 0; i < at.n; i++)
    e->value[step->out][i] = e->ops->peek(e, at.pointer[i], at.there[i], emit_i64(e, 1));
}

/* cell[i], once all of the warp's are set: those that are not are read again. */
static void wait_for(emitter *e, const looked *at, LLVMValueRef *cell) {
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder), test = emit_new_block(e, "await");
  LLVMBasicBlockRef again = emit_new_block(e, "again"), done = emit_new_block(e, "awaited");
  LLVMValueRef all = NULL;
  emit_words set;
  LLVMBuildBr(e->builder, test);
  LLVMPositionBuilderAtEnd(e->builder, test);
  for (int i = 0; i < at->n; i++) {
    LLVMValueRef first = cell[i];
    cell[i] = LLVMBuildPhi(e->builder, e->i64, "");
    LLVMAddIncoming(cell[i], &first, &before, 1);
  }
  for (int i = 0; i < at->n; i++) {
    set[i] = LLVMBuildTrunc(e->builder, cell[i], e->i1, "");
    all = emit_and(e, all, set[i]);
  }
  LLVMBuildCondBr(e->builder, e->ops->all_lanes(e, all), done, again);
  LLVMPositionBuilderAtEnd(e->builder, again);
  for (int i = 0; i < at->n; i++) {
    LLVMValueRef found =
        e->ops->peek(e, at->pointer[i], LLVMBuildNot(e->builder, set[i], ""), cell[i]);
    LLVMBasicBlockRef from = LLVMGetInsertBlock(e->builder);
    LLVMAddIncoming(cell[i], &found, &from, 1);
  }
  LLVMBuildBr(e->builder, test);
  LLVMPositionBuilderAtEnd(e->builder, done);
}

void emit_await_step(emitter *e, const plan_step *step) {
  exchange x = begin(e, step, step->out);
  LLVMTypeRef word = emit_int_type(e, x.value->bits);
  LLVMValueRef neutral = emit_combine_identity(step->combiner, (llrt_dtype)step->type, word);
  emit_words cell;
  looked at;
  look(&x, &at);
  memcpy(cell, e->value[step->in], (size_t)at.n * sizeof *cell);
  wait_for(e, &at, cell);
  for (int r = 0; r < at.n / x.parts; r++) {
    LLVMValueRef value = NULL;
    for (int p = 0; p < x.parts; p++) {
      LLVMValueRef half = op(e, LLVMShl, op(e, LLVMLShr, cell[r * x.parts + p], 32), 32 * p);
      value = value ? LLVMBuildOr(e->builder, value, half, "") : half;
    }
    value = LLVMBuildTrunc(e->builder, value, word, "");
    e->value[step->out][r] = LLVMBuildSelect(e->builder, at.there[r * x.parts], value, neutral, "");
  }
}
