/* See dot_stage.h. */
#include "jit/plan/dot/dot_stage.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/draft/draft.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/dot_shared.h"
#include "jit/plan/facts/value.h"

static int vectors_of(const plan_value *value, const dot_space *space, int dim, uint64_t out[24]) {
  for (int i = 0; i < space->n[dim]; i++)
    out[i] = plan_value_bits_of(value, 1ull << space->bit[dim][i]);
  return space->n[dim];
}

/* Each block of a cluster has its own part: the layout's last in-dim, which it lacks so far. */
static llrt_status add_cluster(const plan_value *value, const dot_space *space,
                               llrt_layout *layout) {
  const int n = llrt_layout_in_bits(layout), blocks = bits_count(space->cluster);
  if (blocks == 0) return LLRT_OK;
  layout->n_in--;
  LLRT_TRY(llrt_layout_add_in(layout, "block", blocks));
  uint64_t left = space->cluster;
  for (int i = 0; i < blocks; i++, left &= left - 1)
    layout->column[n + i] = plan_value_bits_of(value, left & -left);
  return LLRT_OK;
}

llrt_status dot_stage_buffer(draft *d, const plan_value *value, const dot_space *space, int operand,
                             bool transposed, int offset, int *buffer) {
  plan_kernel *kernel = d->kernel;
  uint64_t position[24], k[24];
  int n_position = vectors_of(value, space, operand ? DOT_DIM_N : DOT_DIM_M, position);
  int n_k = vectors_of(value, space, DOT_DIM_K, k), tile = value->layout.out[0].bits;
  if (transposed && value->bits != 16)
    return llrt_error(LLRT_UNSUPPORTED,
                      "an operand of %d-bit elements lies along M or N, which shared memory takes "
                      "of 16 bits alone",
                      value->bits);
  if (kernel->n_buffers == PLAN_MAX_BUFFERS)
    return llrt_error(LLRT_UNSUPPORTED, "a kernel of more than %d buffers", PLAN_MAX_BUFFERS);
  plan_buffer made = {.bits = value->bits,
                      .bytes = plan_access_bytes(value->bits, n_position + n_k),
                      .offset = (offset + DOT_SHARED_ALIGNMENT - 1) & -DOT_SHARED_ALIGNMENT};
  LLRT_TRY(
      dot_shared_layout(position, n_position, k, n_k, value->bits, transposed, tile, &made.layout));
  LLRT_TRY(add_cluster(value, space, &made.layout));
  *buffer = kernel->n_buffers;
  kernel->buffer[kernel->n_buffers++] = made;
  return LLRT_OK;
}

llrt_status dot_stage_store(draft *d, int value, int buffer) {
  plan_kernel *kernel = d->kernel;
  plan_address_map map;
  plan_address_of_buffer(kernel, buffer, &map);
  int vector = plan_access_widest(kernel, &kernel->value[value], &map, PLAN_REGISTER);
  return draft_step(kernel, (plan_step){.kind = PLAN_SHARED_STORE,
                                        .in = (uint8_t)value,
                                        .buffer = (uint8_t)buffer,
                                        .vector = (uint8_t)vector});
}

llrt_status dot_stage_products(draft *d, const dot_layouts *how, const int value[2],
                               const int buffer[2], int with, int *out) {
  plan_step step = {.kind = PLAN_DOT,
                    .in = (uint8_t)value[0],
                    .second = (uint8_t)value[1],
                    .with = (uint8_t)with,
                    .instruction = (uint8_t)how->how.instruction};
  for (int o = 0; o < 2; o++) {
    if (buffer[o] < 0) continue;
    step.shared |= (uint8_t)(1 << o);
    step.from[o] = (uint8_t)buffer[o];
  }
  LLRT_TRY(draft_value(d->kernel, &how->acc, out));
  step.out = (uint8_t)*out;
  return draft_step(d->kernel, step);
}

llrt_status dot_stage_finish(draft *d, int *value) {
  const plan_value like = d->kernel->value[*value];
  int in = *value;
  LLRT_TRY(draft_value(d->kernel, &like, value));
  return draft_step(
      d->kernel, (plan_step){.kind = PLAN_MULTIPLIED, .in = (uint8_t)in, .out = (uint8_t)*value});
}
