/* Rows that one walk reads. What a thread may have under way in registers is little, and the
 * registers that a later turn's words come to cannot be others than those that this one's are taken
 * from unless they move, which waits for them. So turns are copied to a ring in shared memory,
 * which takes no registers, as far ahead as there are slots; each thread reads what it has copied
 * itself, and nobody waits for another. */
#include "jit/plan/rows/rows.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/facts/buffer_use.h"
#include "jit/plan/facts/value.h"

enum { LEAST_SLOTS = 3 };

static int slots_of(const rows *r) { return r->d.kernel->target.tuning->rows_walk_slots; }

/* The only tensor that turns load; ROWS_NONE: there are several. */
static int only_tensor(const rows *r) {
  int found = ROWS_NONE, n = 0;
  for (int i = 0; i < r->program->n_nodes; i++) {
    if (r->program->node[i].op != EXPR_TENSOR || !rows_walks(r, i)) continue;
    found = i;
    n++;
  }
  return n == 1 && rows_is_loaded(r, found) ? found : ROWS_NONE;
}

/* The steps that copy the turn that comes `turns` later. */
static llrt_status copy_ahead(rows *r, int turns, bool *may) {
  plan_kernel *kernel = r->d.kernel;
  int at = kernel->n_steps, value;
  plan_value laid_out;
  LLRT_TRY(rows_tensor_value(r, r->program->node[r->ring].slot, &laid_out));
  LLRT_TRY(draft_value(kernel, &laid_out, &value));
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_AHEAD, .turns = turns}));
  LLRT_TRY(rows_copy_elements(r, r->ring, value, r->ring_buffer, may));
  kernel->step[at].body = (uint8_t)(kernel->n_steps - at - 1);
  return LLRT_OK;
}

/* Whether each element of a turn is one thread's, and copies may bring it. */
static llrt_status may_have_ring(rows *r, const plan_value *value, bool *may) {
  plan_kernel *kernel = r->d.kernel;
  const plan_kernel before = *kernel;
  *may = plan_value_bits(value, PLAN_LANE) == kernel->lane_bits;
  for (int i = 0; i < llrt_layout_in_bits(&value->layout); i++)
    *may &= value->layout.column[i] != 0;
  if (!*may) return LLRT_OK;
  llrt_status status = copy_ahead(r, 0, may);
  *kernel = before;
  return status;
}

llrt_status rows_begin_ring(rows *r) {
  plan_kernel *kernel = r->d.kernel;
  int tensor = only_tensor(r), blocks = r->walk_warps >> kernel->warp_bits;
  plan_value value;
  bool may;
  if (!kernel->target.async_copies || slots_of(r) < LEAST_SLOTS || r->walk_warps == 0 ||
      tensor == ROWS_NONE || kernel->n_indices > 0 || kernel->n_buffers == PLAN_MAX_BUFFERS ||
      kernel->cluster_bits > 0)
    return LLRT_OK;
  LLRT_TRY(rows_tensor_value(r, r->program->node[tensor].slot, &value));
  if (plan_tile_bits_in(kernel, &value) != bits_mask(r->d.tile_bits))
    return LLRT_OK; /* weights of several rows beside each other */
  int64_t bytes = ((int64_t)value.bits << r->d.tile_bits) / 8;
  if (slots_of(r) * bytes > rows_room(r, bits_max(blocks, 1))) return LLRT_OK;
  plan_buffer *ring = &kernel->buffer[kernel->n_buffers];
  *ring = (plan_buffer){.bytes = (int32_t)bytes, .slots = (uint8_t)slots_of(r), .bits = value.bits};
  LLRT_TRY(rows_ring_layout(r, &value, &ring->layout));
  r->ring = tensor;
  r->ring_buffer = kernel->n_buffers;
  LLRT_TRY(may_have_ring(r, &value, &may));
  if (may) kernel->n_buffers++;
  else r->ring = ROWS_NONE;
  r->d.keeps = may;
  return LLRT_OK;
}

llrt_status rows_fill_ring(rows *r) {
  bool may;
  for (int i = 0; i < slots_of(r) - 1 && r->ring != ROWS_NONE; i++)
    LLRT_TRY(copy_ahead(r, i, &may));
  return LLRT_OK;
}

llrt_status rows_load_ring(rows *r, const plan_value *laid_out) {
  plan_kernel *kernel = r->d.kernel;
  bool may;
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_COPIED, .turns = slots_of(r) - 2}));
  LLRT_TRY(draft_value(kernel, laid_out, &r->loaded[r->ring]));
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_SHARED_LOAD,
                                          .out = (uint8_t)r->loaded[r->ring],
                                          .buffer = (uint8_t)r->ring_buffer,
                                          .vector = (uint8_t)rows_kept_vector(r, laid_out)}));
  return copy_ahead(r, slots_of(r) - 1, &may);
}
