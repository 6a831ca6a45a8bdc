/* Results of blocks in rounds, stored by boxes from shared memory: see dot_packed_kernel.h. */
#include "jit/plan/packed/dot_packed_kernel.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/dot/dot.h"
#include "jit/plan/draft/draft.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/dot_shared.h"

#define RESULT_BITS 16
#define PIECE_BITS 7 /* log2: addresses and pitches of boxes are multiples of 16 bytes */
#define MATRIX_ROW 3 /* log2 results of a row of stmatrix */
#define BESIDE 1024  /* bytes that barriers of slots take, at most */

/* Whether D has results of 16 bits on which nothing acts, in whole rows of 128 bytes. */
static bool may_send(const packed *p) {
  const plan_kernel *kernel = p->x.d.kernel;
  const int tensor = p->job.tensor[LLRT_DOT_D];
  return p->runs && p->shape.rounds && !kernel->deal.used && kernel->cluster_bits == 0 &&
         !dot_acts(&p->job) && kernel->tensor_bits[tensor] == RESULT_BITS &&
         p->shape.n >= PACKED_LINE && kernel->target.matrix_load &&
         kernel->launch.n_boxes < PLAN_MAX_BOXES && kernel->n_buffers < PLAN_MAX_BUFFERS &&
         draft_base_align(&p->x.d, tensor) >= PIECE_BITS - bits_log2(RESULT_BITS);
}

static llrt_status send_steps(packed *p, int value, int tensor, const plan_buffer *buffer) {
  plan_kernel *kernel = p->x.d.kernel;
  const int number = kernel->n_buffers++;
  kernel->buffer[number] = *buffer;
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_SENT}));
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_SHARED_STORE,
                                          .in = (uint8_t)value,
                                          .buffer = (uint8_t)number,
                                          .matrix = PLAN_MATRIX_TRANSPOSED,
                                          .vector = MATRIX_ROW}));
  return draft_step(kernel, (plan_step){.kind = PLAN_SEND,
                                        .in = (uint8_t)value,
                                        .masked = true,
                                        .tensor = (uint8_t)tensor,
                                        .buffer = (uint8_t)number,
                                        .box = (uint8_t)kernel->launch.n_boxes});
}

llrt_status packed_send_results(packed *p, int sums, bool *sent) {
  plan_kernel *kernel = p->x.d.kernel;
  const int tensor = p->job.tensor[LLRT_DOT_D];
  const llrt_dtype type = p->job.desc.tensors[tensor].dtype;
  const plan_value made = draft_retyped(&p->x.d, &kernel->value[sums], RESULT_BITS);
  plan_buffer buffer;
  *sent = may_send(p);
  if (!*sent) return LLRT_OK;
  LLRT_TRY(packed_results_buffer(p, &made, &buffer));
  const int end = plan_buffer_end(&kernel->buffer[kernel->n_buffers - 1]);
  buffer.offset = (end + DOT_SHARED_ALIGNMENT - 1) & -DOT_SHARED_ALIGNMENT;
  *sent = plan_buffer_end(&buffer) + BESIDE <= kernel->target.facts.shared_bytes;
  if (*sent) LLRT_TRY(dot_plan_result_box(&p->x, tensor, PACKED_LINE, sent));
  if (!*sent) return LLRT_OK;
  LLRT_TRY(dot_cast(&p->x, LLRT_F32, type, &sums));
  return send_steps(p, sums, tensor, &buffer);
}
