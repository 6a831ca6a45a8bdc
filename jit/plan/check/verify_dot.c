/* What emission and interpretation rely on in products, boxes and blocks that go in rounds. */
#include "jit/plan/check/verify.h"

#include "base/bits.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/box.h"
#include "jit/plan/facts/runs.h"
#include "jit/plan/facts/buffer_use.h"
#include "jit/plan/facts/dot_tiling.h"
#include "jit/plan/facts/thread_registers.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/kernel/plan_check.h"
#include "layout/f2.h"

/* log2 bytes of what a box's rows are turned by */
#define PIECE_BYTES 4

/* How many an instruction's sums stand beside those of all turns. */
static int fresh_sets(const plan_step *step, const dot_tiling *tiling) {
  return step->fresh_sums ? 1 + (plan_dot_fresh(tiling) < tiling->n_sum) : 0;
}

llrt_status plan_verify_dot(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  dot_tiling tiling;
  CHECK(step->with < kernel->n_values && step->second < kernel->n_values, "step %d: no such value",
        at);
  const plan_value *with = &kernel->value[step->with], *out = &kernel->value[step->out];
  CHECK(with->bits == out->bits && with->word == out->word && with->reduced == out->reduced &&
            llrt_layout_equal(&with->layout, &out->layout),
        "step %d: v%d is not laid out as v%d", at, step->with, step->out);
  LLRT_TRY(plan_dot_tiling(kernel, step, &tiling));
  CHECK(!step->parts || (tiling.row->family == DOT_WGMMA && !tiling.shared[DOT_A]),
        "step %d: parts", at);
  CHECK(!step->fresh_sums ||
            (tiling.row->family == DOT_WGMMA && tiling.row->acc == LLRT_F32 && !step->parts),
        "step %d: sums beside", at);
  CHECK(!step->late_sums ||
            (step->fresh_sums && tiling.n_out == 0 && plan_dot_fresh(&tiling) + 1 == tiling.n_sum &&
             at + 1 < kernel->n_steps && step[1].kind == PLAN_RELEASE && step[1].turns == 1),
        "step %d: sums of the turn after", at);
  CHECK(tiling.row->family != DOT_WGMMA ||
            plan_registers_hold(kernel, out, tiling.row, fresh_sets(step, &tiling), false),
        "step %d: %s has more registers than a thread", at, tiling.row->name);
  return LLRT_OK;
}

llrt_status plan_verify_settle(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  const plan_value *in = &kernel->value[step->in], *out = &kernel->value[step->out];
  CHECK(kernel->deal.used && kernel->launch.dealt > 0 && kernel->launch.rounds > 0 &&
            at + step->body + 1 == kernel->n_steps,
        "step %d: turns that are not dealt", at);
  CHECK(kernel->deal.place >=
                kernel->barriers + (plan_landed_step(kernel) < 0 ? 16 : 24) * kernel->slots &&
            kernel->deal.place + PLAN_DEAL_BYTES <= kernel->launch.shared_bytes,
        "step %d: the block's ticket lies where barriers do", at);
  for (int i = 0; i < kernel->n_buffers; i++)
    CHECK(plan_buffer_end(&kernel->buffer[i]) <= kernel->deal.place,
          "buffer %d lies where the block's ticket does", i);
  CHECK(in->bits == 32 && in->word == 0 && plan_value_bits(in, PLAN_REGISTER) >= 2 &&
            llrt_layout_equal(&in->layout, &out->layout),
        "step %d: sums that cells do not hold", at);
  return LLRT_OK;
}

/* Warps of a team wait for no others, and give the last slots of a position back before they end
 * it. */
static llrt_status check_teams(const plan_kernel *kernel) {
  int behind = 0; /* the walk: the number of its first step */
  bool released = false;
  if (kernel->team_bits == 0) return LLRT_OK;
  CHECK(kernel->launch.rounds > 0 && kernel->launch.n_boxes > 0 && kernel->cluster_bits == 0 &&
            !kernel->deal.used && !plan_cuts_boxes(kernel) &&
            (kernel->n_indices == 0 || kernel->experts.shared),
        "teams of blocks whose positions do not follow each other");
  for (int at = 0; at < kernel->n_steps; at++) {
    const plan_step *step = &kernel->step[at];
    if (step->kind == PLAN_WALK) behind = at + 1 + step->body;
    released |= step->kind == PLAN_RELEASE && (at >= behind || step->turns == 0);
    CHECK(step->kind != PLAN_BARRIER && step->kind != PLAN_SHARED_STORE,
          "step %d: teams do not wait for each other", at);
  }
  CHECK(released, "teams keep the slots of their last turns");
  return LLRT_OK;
}

/* The next position's copies go to rings at any time, and so do other warps' accesses to other
 * buffers until a barrier. */
llrt_status plan_verify_rounds(const plan_kernel *kernel) {
  int at = 0, rings = plan_ring_bytes(kernel);
  bool met = false, uniform = true;
  LLRT_TRY(check_teams(kernel));
  if (kernel->launch.rounds == 0) return LLRT_OK;
  for (int i = 0; i < kernel->n_indices; i++) uniform &= kernel->index[i].uniform;
  CHECK(kernel->producers > 0 && !plan_threads_tell(kernel) &&
            (kernel->cluster_bits == 0 || plan_fetches_together(kernel)) &&
            (uniform || kernel->experts.used) && kernel->walk.split < 0,
        "rounds of blocks whose copies wait for each other");
  while (kernel->step[at].kind == PLAN_FILL) at++;
  CHECK(kernel->step[at].kind == PLAN_ROLES, "step %d: before the rounds", at);
  for (; at < kernel->n_steps; at++) {
    const plan_step *step = &kernel->step[at];
    bool stores = step->kind == PLAN_SHARED_STORE;
    met |= step->kind == PLAN_BARRIER || step->kind == PLAN_SENT;
    CHECK(!stores || met, "step %d: a store before what the round before has loaded", at);
    CHECK(!stores || kernel->buffer[step->buffer].offset >= rings,
          "step %d: a store to what producers fill", at);
  }
  return LLRT_OK;
}

/* Takes an axis's position out of the digits' fixed bits. */
static uint64_t take_position(const plan_kernel *kernel, int axis, uint64_t *at) {
  uint64_t position = 0;
  for (int i = 0; i < kernel->n_digits; i++) {
    if (kernel->digit[i].axis != axis) continue;
    int shift = llrt_layout_out_shift(&kernel->space, i);
    uint64_t mask = bits_mask(kernel->digit[i].bits);
    position += (*at >> shift & mask) * (uint64_t)kernel->digit[i].step;
    *at &= ~(mask << shift);
  }
  return position;
}

/* Whether a slot is as long as what its buffer numbers, or, aligned for the permutation, as what
 * boxes fill. */
static bool has_room(const plan_kernel *kernel, const plan_step *step) {
  const plan_buffer *buffer = &kernel->buffer[step->buffer];
  const int end = plan_box_end(kernel, step);
  return buffer->bytes == plan_buffer_held(buffer) ||
         (buffer->bytes >= end && buffer->bytes % DOT_SHARED_ALIGNMENT == 0);
}

/* Whether byte b of the slot, for each b that is a power of two, is where boxes put what the buffer
 * has there. */
static bool lies_so(const plan_kernel *kernel, const plan_step *step) {
  const plan_box *box = &kernel->launch.box[step->box - 1];
  const plan_buffer *buffer = &kernel->buffer[step->buffer];
  const int8_t *axis = kernel->box_axis[step->box - 1];
  int row = bits_log2(box->size[0]), rows = bits_highest(2 * (uint64_t)plan_box_rows(box) - 1);
  if (plan_buffer_held(buffer) % (1 << (row + rows + box->bytes)) != 0 || !has_room(kernel, step))
    return false;
  for (int i = 0; i < buffer->layout.in[0].bits; i++) {
    uint64_t tile = plan_tile_bits_of(&kernel->value[step->in], buffer->layout.column[i]);
    uint64_t at = f2_apply(kernel->space.column, tile), position[2];
    for (int d = 0; d < 2; d++)
      position[d] = take_position(kernel, axis[d], &at); /* of a batch a box has one position */
    uint64_t plain =
        (position[0] & bits_mask(row)) | position[1] << row | position[0] >> row << (row + rows);
    if (at != 0 || position[1] >> rows ||
        dot_shared_permuted(plain << box->bytes, box->swizzle) != 1ull << (i + box->bytes))
      return false;
  }
  return true;
}

/* Whether the blocks that fetch a box together are those of the cluster that want the same. */
static bool has_peers(const plan_kernel *kernel, const plan_step *step) {
  const plan_box *box = &kernel->launch.box[step->box - 1];
  const plan_value *value = &kernel->value[step->in];
  const uint64_t *warps = plan_value_columns(value, PLAN_WARP);
  const int first = kernel->warp_bits - kernel->cluster_bits;
  int same = 0;
  for (int i = 0; i < kernel->cluster_bits; i++)
    if (first + i >= plan_value_bits(value, PLAN_WARP) || warps[first + i] == 0) same |= 1 << i;
  return plan_box_peers(box) == same;
}

/* A box of runs: what a turn wants lies in the slot as in memory, and nothing else moves the
 * tensor's address. */
static llrt_status verify_runs(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  const plan_box *box = &kernel->launch.box[step->box - 1];
  const plan_buffer *buffer = &kernel->buffer[step->buffer];
  plan_runs runs;
  plan_run_slot slot;
  CHECK(plan_runs_of(kernel, step->tensor, &runs) &&
            plan_run_slot_of(kernel, step->tensor, &kernel->value[step->in], buffer, &slot) &&
            slot.window == buffer->window &&
            plan_is_number(&box->extent[0], 1ll << (runs.bits - box->packed)),
        "step %d: a slot is not runs of memory", at);
  CHECK(box->address.arg == step->tensor && box->size[0] == 1 << (slot.width - box->packed) &&
            box->size[1] == 1 << slot.rows && plan_box_rank(box) == 1 + runs.n &&
            box->size[0] <= 256 && box->size[1] <= 256 && !box->rest && !box->parts &&
            !box->swizzle && 8 << box->bytes == kernel->tensor_bits[step->tensor] << box->packed,
        "step %d: a box is not what the buffer holds", at);
  for (int i = 0; i < runs.n; i++)
    CHECK(kernel->box_axis[step->box - 1][1 + i] == runs.digit[i] &&
              plan_same_number(&box->stride[i], &runs.stride[i]),
          "step %d: dimension %d of a box", at, 1 + i);
  return LLRT_OK;
}

static llrt_status verify_rows(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  const plan_box *box = &kernel->launch.box[step->box - 1];
  const int8_t *axis = kernel->box_axis[step->box - 1];
  int rank = plan_box_rank(box);
  plan_number stride;
  CHECK(box->parts == 0 || (plan_only_boxes(kernel) && has_peers(kernel, step)),
        "step %d: a box that others fetch", at);
  for (int d = 0; d < rank; d++)
    CHECK(
        box->size[d] > 0 && (d == 1 ? plan_box_rows(box) : box->size[d]) <= (d < 2 ? 256 : 1) &&
            (d == 1 || bits_count(box->size[d]) == 1) &&
            plan_axis_stride(kernel, step->tensor, axis[d], &stride) &&
            (d == 0 ? plan_is_number(&stride, 1) : plan_same_number(&stride, &box->stride[d - 1])),
        "step %d: dimension %d of a box", at, d);
  CHECK(box->address.arg == step->tensor && plan_is_of_axes(kernel, step->tensor, axis, rank) &&
            8 << box->bytes == kernel->tensor_bits[step->tensor] &&
            box->size[0] << box->bytes == 1 << PIECE_BYTES << box->swizzle && lies_so(kernel, step),
        "step %d: a box is not what the buffer holds", at);
  CHECK(!box->rest || (plan_is_multiplied(kernel, step->buffer) &&
                       plan_box_may_lack(kernel, step->tensor, box, axis)),
        "step %d: a rest of a box of whose rows all are read", at);
  for (int i = 0; i < kernel->n_bounds; i++)
    CHECK(plan_box_keeps(kernel, step->tensor, box, axis, &kernel->bound[i]),
          "step %d: bound %d is not that of a box", at, i);
  return LLRT_OK;
}

llrt_status plan_verify_box(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  CHECK(step->box <= kernel->launch.n_boxes && step->masked && kernel->producers > 0,
        "step %d: box %d", at, step->box);
  return kernel->launch.box[step->box - 1].runs ? verify_runs(kernel, at) : verify_rows(kernel, at);
}

/* Of a whole buffer that is no ring, which a store before it has filled. */
llrt_status plan_verify_send(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  CHECK(step->box > 0 && step->box <= kernel->launch.n_boxes && kernel->producers > 0 &&
            step->masked && kernel->cluster_bits == 0 && step->tensor < kernel->n_tensors &&
            step->buffer < kernel->n_buffers,
        "step %d: box %d", at, step->box);
  const plan_box *box = &kernel->launch.box[step->box - 1];
  CHECK(!box->runs && !box->rest && !box->parts && kernel->buffer[step->buffer].slots == 0,
        "step %d: what is sent is no box", at);
  const plan_step *before = &kernel->step[at - 1];
  CHECK(at > 1 && before->kind == PLAN_SHARED_STORE && before->buffer == step->buffer &&
            kernel->step[at - 2].kind == PLAN_SENT,
        "step %d: nothing is stored to be sent", at);
  return verify_rows(kernel, at);
}
