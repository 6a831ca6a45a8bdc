/* What emission and interpretation rely on in steps of scans, and of blocks that look back or
 * queue. */
#include "jit/plan/check/verify.h"

#include "base/bits.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/lookback.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/kernel/plan_check.h"

llrt_status plan_verify_scan(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  const plan_value *in = &kernel->value[step->in], *out = &kernel->value[step->out];
  plan_scan_bit bits[LLRT_MAX_BITS];
  plan_value reduced;
  uint64_t mask = 0;
  CHECK(step->total < kernel->n_values && step->order < kernel->n_orders, "step %d: no such value",
        at);
  CHECK(in->word == 0 && in->bits == llrt_dtype_bits((llrt_dtype)step->type),
        "step %d: elements of %d bits", at, in->bits);
  CHECK(in->bits == out->bits && out->word == 0 && in->reduced == out->reduced &&
            llrt_layout_equal(&in->layout, &out->layout),
        "step %d: a scan moves elements", at);
  CHECK(plan_scan_bits(kernel, step, bits), "step %d: an order outside registers and lanes", at);
  for (int i = 0; i < kernel->order[step->order].n; i++)
    mask |= 1ull << kernel->order[step->order].bit[i];
  plan_value_reduce(in, mask, &reduced);
  const plan_value *total = &kernel->value[step->total];
  reduced.reduced &= bits_mask(kernel->space.in[0].bits);
  /* Bits above the kernel's tile number other blocks, of which one total is left. */
  CHECK(((total->reduced ^ reduced.reduced) & bits_mask(kernel->space.in[0].bits)) == 0 &&
            total->bits == in->bits && total->word == 0 &&
            llrt_layout_equal(&total->layout, &reduced.layout),
        "step %d: the total is not laid out as what is left", at);
  return LLRT_OK;
}

llrt_status plan_verify_prefix(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  const plan_value *out = &kernel->value[step->out];
  const int operand[2] = {step->in, step->second};
  uint64_t reduced = UINT64_MAX;
  CHECK(step->second < kernel->n_values, "step %d: value %d", at, step->second);
  for (int i = 0; i < 2; i++) {
    const plan_value *value = &kernel->value[operand[i]];
    plan_value expected;
    plan_value_reduce(out, value->reduced & ~out->reduced, &expected);
    CHECK(value->word == 0 && value->bits == llrt_dtype_bits((llrt_dtype)step->type),
          "step %d: elements of %d bits", at, value->bits);
    CHECK(value->reduced == expected.reduced && llrt_layout_equal(&value->layout, &expected.layout),
          "step %d: v%d is not laid out as v%d", at, operand[i], step->out);
    reduced &= value->reduced;
  }
  CHECK(out->word == 0 && out->bits == kernel->value[step->in].bits && out->reduced == reduced,
        "step %d: v%d is no combination", at, step->out);
  return LLRT_OK;
}

llrt_status plan_verify_pick(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  const plan_value *in = &kernel->value[step->in], *out = &kernel->value[step->out];
  plan_pick pick;
  CHECK(in->bits == out->bits && in->word == 0 && out->word == 0 && in->reduced == out->reduced,
        "step %d: elements change", at);
  CHECK(plan_pick_of(in, out, &pick), "step %d: elements that the thread does not have", at);
  return LLRT_OK;
}

/* Barriers stand before and behind the first step that finds the next ticket. */
llrt_status plan_verify_queue(const plan_kernel *kernel, int walk) {
  const plan_step *step = &kernel->step[walk];
  bool barrier = false, finds = false;
  CHECK(kernel->lookback.used && step->bare && kernel->launch.most_blocks > 0, "step %d: no queue",
        walk);
  for (int i = 0; i < walk; i += 1 + kernel->step[i].body + kernel->step[i].otherwise)
    CHECK(kernel->step[i].kind != PLAN_AHEAD || kernel->step[i].turns == 0, "step %d: no ticket",
          i);
  for (int i = 1; i <= step->body; i += 1 + step[i].body + step[i].otherwise) {
    bool first = step[i].kind == PLAN_AHEAD && !finds;
    CHECK(step[i].kind != PLAN_AHEAD || (step[i].turns == 1 && (!first || barrier)),
          "step %d: no ticket", walk + i);
    finds |= first;
    barrier = step[i].kind == PLAN_BARRIER || (barrier && !first);
  }
  CHECK(barrier && finds, "step %d: a turn without a next", walk);
  for (int i = 0; i < kernel->n_buffers; i++)
    CHECK(kernel->buffer[i].slots == 0 &&
              (kernel->buffer[i].offset >= kernel->lookback.place + 4 ||
               plan_buffer_end(&kernel->buffer[i]) <= kernel->lookback.place),
          "buffer %d lies where the ticket is", i);
  return LLRT_OK;
}

llrt_status plan_verify_lookback(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  const plan_value *value = &kernel->value[step->kind == PLAN_PUBLISH ? step->in : step->out];
  const plan_lookback *lookback = &kernel->lookback;
  CHECK(lookback->used && kernel->walk.split >= 0, "step %d: blocks that do not look back", at);
  CHECK(lookback->levels >= 2 && lookback->levels <= PLAN_LOOKBACK_LEVELS && lookback->bits > 0,
        "%d levels of %d bits", lookback->levels, lookback->bits);
  CHECK(step->level < lookback->levels, "step %d: level %d", at, step->level);
  CHECK(value->word == 0 && (value->bits == 32 || value->bits == 64),
        "step %d: elements of %d bits", at, value->bits);
  CHECK(plan_lookback_kept(kernel, step, value) >= 0, "step %d: fewer tile bits than blocks have",
        at);
  CHECK(step->kind != PLAN_AWAIT ||
            llrt_layout_equal(&value->layout, &kernel->value[step->in].layout),
        "step %d: another layout than what was looked at", at);
  return LLRT_OK;
}
