/* Products, and the roles of those who multiply and those who copy for them. */
#include "jit/interpret/interpret.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/interpret/scan_eval.h"
#include "jit/plan/facts/dot_tiling.h"

/* ---- products ---- */

/* The elements of an operand that lies in shared memory, as the products' group reads them: not
 * what they leave out. */
static llrt_status fetch_operand(interpreter *in, const plan_step *step, int o,
                                 const plan_padding *left) {
  const plan_buffer *buffer = &in->kernel->buffer[step->from[o]];
  int value = o ? step->second : step->in;
  int64_t per_block = interpreter_size(in->kernel, value) >> in->kernel->cluster_bits;
  uint64_t inside = bits_mask(buffer->layout.in[0].bits);
  llrt_layout offset_of;
  LLRT_TRY(llrt_layout_right_inverse(&buffer->layout, &offset_of));
  for (int64_t at = 0; at < interpreter_size(in->kernel, value); at++) {
    if (plan_padding_has(left, interpreter_kernel_tile(in, value, at))) continue;
    uint64_t offset = llrt_layout_apply_flat(&offset_of, interpreter_tile(in, value, at)) & inside;
    offset = offset * buffer->bits / 4 + interpreter_slot(in, buffer) +
             (uint64_t)(at / per_block) * in->shared_size;
    if (in->group[offset] || in->written[offset] == 0 || in->written[offset] >= in->phase)
      return llrt_error(LLRT_INTERNAL,
                        "shared offset %llu is multiplied without a barrier after its write",
                        (unsigned long long)offset);
    in->value[value][at] = in->shared[offset];
    in->reading[offset] = in->products + 1;
  }
  return LLRT_OK;
}

/* Those of a step that waits for its own. */
static void all_multiplied(interpreter *in, int value) {
  interpret_multiplied(in, &(plan_step){.turns = 0, .in = (uint8_t)value, .out = (uint8_t)value});
  in->pending[value] = 0;
}

llrt_status interpret_dot(interpreter *in, const plan_step *step) {
  plan_padding left;
  plan_dot_left(in->kernel, step, &left);
  for (int o = 0; o < 2; o++)
    if (step->shared >> o & 1) LLRT_TRY(fetch_operand(in, step, o, &left));
  LLRT_TRY(plan_eval_dot(in->kernel, step, in->value));
  bool later = dot_instruction_at(step->instruction)->family == DOT_WGMMA;
  in->pending[step->out] = later ? ++in->products : 0;
  if (step->fresh_sums) all_multiplied(in, step->out);
  if (step->parts) interpret_multiplied(in, &(plan_step){.turns = 1});
  return LLRT_OK;
}

/* What was read until now was read in this phase, as far as other warps know. */
void interpret_multiplied(interpreter *in, const plan_step *step) {
  in->multiplied = bits_max(in->multiplied, in->products - step->turns);
  for (size_t i = 0; i < in->shared_size << in->kernel->cluster_bits; i++) {
    if (in->reading[i] == 0 || in->reading[i] > in->multiplied) continue;
    in->reading[i] = 0;
    in->read[i] = in->phase;
  }
  if (step->turns == 0) interpreter_copy(in, step->in, step->out);
}

/* ---- roles ---- */

/* Producers run ahead on hardware; here a turn's copies begin with the turn, for which its slots
 * have to be free. */
llrt_status interpret_produce(interpreter *in, int at) {
  int64_t number = in->turn - in->begin, slots = in->kernel->slots;
  if (number >= slots && in->released <= number - slots)
    return llrt_error(LLRT_INTERNAL, "turn %lld wants slots that are not free", (long long)number);
  LLRT_TRY(interpret_steps(in, at + 1, in->kernel->step[at].body));
  in->groups++;
  return LLRT_OK;
}

void interpret_filled(interpreter *in) {
  interpret_await(in, &(plan_step){.turns = 0});
  in->phase++;
}

/* Here no copies are under way that begin later. */
void interpret_landed(interpreter *in) {
  in->groups++;
  interpret_filled(in);
}

static llrt_status release_slot(interpreter *in, uint64_t first, uint64_t n) {
  for (uint64_t i = first; i < first + n; i++) {
    if (in->reading[i] > in->multiplied)
      return llrt_error(LLRT_INTERNAL, "a slot is free while products read it");
    in->read[i] = in->written[i] = 0;
  }
  return LLRT_OK;
}

llrt_status interpret_release(interpreter *in, const plan_step *step) {
  const int64_t now = in->turn;
  const int64_t turn = (now < 0 ? in->end : now) - step->turns; /* < 0: behind the walk */
  if (turn < in->begin) return LLRT_OK;
  llrt_status status = LLRT_OK;
  in->turn = turn;
  for (int b = 0; b < in->kernel->n_buffers; b++) {
    const plan_buffer *buffer = &in->kernel->buffer[b];
    uint64_t slot = interpreter_slot(in, buffer);
    for (uint64_t block = 0; buffer->slots && block < 1ull << in->kernel->cluster_bits; block++)
      status = status
                   ? status
                   : release_slot(in, slot + block * in->shared_size, (uint64_t)buffer->bytes * 2);
  }
  in->turn = now;
  LLRT_TRY(status);
  in->released = turn - in->begin + 1;
  return LLRT_OK;
}
