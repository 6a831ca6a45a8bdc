/* In-block conversion of a value from one layout to another: nothing, registers alone, lane exchange
 * rounds, or a swizzled shared buffer. Fixed rule: shuffles where at most target.max_shuffle_rounds
 * rounds do it, else shared memory. */
#include "jit/plan/frame.h"

#include "base/status.h"

#include <string.h>

llrt_status draft_step(plan_kernel *kernel, plan_step step) {
  if (kernel->n_steps == PLAN_MAX_STEPS)
    return llrt_error(LLRT_INTERNAL, "a kernel of more than %d steps", PLAN_MAX_STEPS);
  kernel->step[kernel->n_steps++] = step;
  return LLRT_OK;
}

llrt_status draft_value(plan_kernel *kernel, const plan_value *value, int *number) {
  if (kernel->n_values == PLAN_MAX_VALUES)
    return llrt_error(LLRT_INTERNAL, "a kernel of more than %d values", PLAN_MAX_VALUES);
  *number = kernel->n_values;
  kernel->value[kernel->n_values++] = *value;
  return LLRT_OK;
}

/* Appends `kind` from value *at to the frame `to`; *at becomes its result. */
static llrt_status convert_step(draft *d, plan_step_kind kind, const frame *to,
                                const plan_value *warps_of, int *at) {
  plan_value value;
  int in = *at;
  frame_to_value(to, warps_of, &value);
  LLRT_TRY(draft_value(d->kernel, &value, at));
  return draft_step(d->kernel,
                    (plan_step){.kind = (uint8_t)kind, .in = (uint8_t)in, .out = (uint8_t)*at});
}

static bool same_warps(const plan_value *a, const plan_value *b) {
  int n = plan_value_bits(a, PLAN_WARP);
  return n == plan_value_bits(b, PLAN_WARP) &&
         memcmp(plan_value_columns(a, PLAN_WARP), plan_value_columns(b, PLAN_WARP),
                (size_t)n * sizeof(uint64_t)) == 0;
}

/* log2 lanes of the 128-bit parts of a SIMD register, in which unpack instructions work. */
static int interleave_bits(const draft *d, int bits) {
  if (!d->kernel->target.lanes_first) return 0;
  return bits_min(bits_log2(128 / bits), d->kernel->lane_bits);
}

static llrt_status barrier_step(draft *d) {
  return draft_step(d->kernel, (plan_step){.kind = PLAN_BARRIER});
}

/* Whether shared memory may be in use when this point is reached: loaded before, or in a turn before. */
static bool shared_in_use(const plan_kernel *kernel) {
  for (int i = 0; i < kernel->n_steps; i++)
    if (kernel->step[i].kind == PLAN_SHARED_LOAD || kernel->step[i].kind == PLAN_REPEAT) return true;
  return false;
}

/* Through a buffer, part after part: store, barrier, load. */
static llrt_status through_shared(draft *d, const frame *from, const frame *to,
                                  const plan_value *target, int *at) {
  plan_kernel *kernel = d->kernel;
  int in = *at, buffer = kernel->n_buffers;
  swizzle chosen;
  if (buffer == PLAN_MAX_BUFFERS)
    return llrt_error(LLRT_INTERNAL, "a kernel of more than %d buffers", PLAN_MAX_BUFFERS);
  LLRT_TRY(swizzle_plan(&kernel->target, target->bits, from, to, &chosen));
  kernel->buffer[kernel->n_buffers++] = chosen.buffer;
  LLRT_TRY(draft_value(kernel, target, at));
  for (int part = 0; part < 1 << chosen.rep_bits; part++) {
    plan_step store = {.kind = PLAN_SHARED_STORE, .in = (uint8_t)in, .buffer = (uint8_t)buffer,
                       .vector = (uint8_t)chosen.vector[0], .repetition = (uint8_t)part};
    plan_step load = {.kind = PLAN_SHARED_LOAD, .out = (uint8_t)*at, .buffer = (uint8_t)buffer,
                      .vector = (uint8_t)chosen.vector[1], .repetition = (uint8_t)part};
    if (shared_in_use(kernel)) LLRT_TRY(barrier_step(d));
    LLRT_TRY(draft_step(kernel, store));
    LLRT_TRY(barrier_step(d));
    LLRT_TRY(draft_step(kernel, load));
  }
  return LLRT_OK;
}

/* Inside the warp, where lane shuffles can do it in few rounds; *done tells. */
static llrt_status through_shuffles(draft *d, const frame *from, const frame *to,
                                    const plan_value *start, int *at, bool *done) {
  frame rounds[FRAME_MAX_LANES + 1];
  bool forced = d->options && d->options->exchange == PLAN_EXCHANGE_SHUFFLE;
  int most = forced ? FRAME_MAX_LANES + 1 : d->kernel->target.max_shuffle_rounds;
  int n = shuffle_rounds(from, to, interleave_bits(d, start->bits), rounds);
  *done = n >= 0 && n <= most;
  for (int i = 0; *done && i < n; i++)
    LLRT_TRY(convert_step(d, PLAN_SHUFFLE, &rounds[i], start, at));
  return LLRT_OK;
}

llrt_status draft_exchange(draft *d, int in, const plan_value *target, int *out) {
  plan_value start = d->kernel->value[in];
  plan_exchange wanted = d->options ? d->options->exchange : PLAN_EXCHANGE_AUTO;
  frame from, to, based;
  frame_of_value(&start, &from);
  frame_of_value(target, &to);
  *out = in;
  /* Words that the thread cannot form beforehand go through shared memory in parts. */
  bool words = frame_rebase(&from, &to, &based), done = false;
  if (!words) based = from;
  if (!frame_equal(&from, &based))
    LLRT_TRY(convert_step(d, PLAN_REGISTERS, &based, &start, out));
  if (words && wanted != PLAN_EXCHANGE_SHARED && same_warps(&start, target)) {
    if (frame_equal(&based, &to)) return LLRT_OK;
    LLRT_TRY(through_shuffles(d, &based, &to, &start, out, &done));
  }
  if (done) return LLRT_OK;
  if (wanted == PLAN_EXCHANGE_SHUFFLE)
    return llrt_error(LLRT_UNSUPPORTED, "lane shuffles cannot make this conversion");
  return through_shared(d, &based, &to, target, out);
}
