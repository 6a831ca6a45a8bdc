/* PLAN_COPY by boxes: one thread of the producers begins the copies of a slot, which tell its
 * barrier by themselves. */
#include "jit/emit/core/builder.h"
#include "jit/emit/memory/emit_memory.h"
#include "jit/emit/place/address.h"
#include "jit/emit/place/place.h"

#include "base/bits.h"
#include "jit/plan/facts/box.h"
#include "jit/plan/facts/value.h"

#include <string.h>

/* Where the box of this turn begins along an axis: the same for all of a block's threads; i32. */
static LLVMValueRef first_position(emitter *e, const plan_value *value, int axis) {
  LLVMValueRef lane = e->lane, warp = e->warp, position = emit_i64(e, 0);
  e->lane = emit_i32(e, 0);
  e->warp = e->rank ? e->rank : e->lane;
  for (int i = 0; i < e->kernel->n_digits; i++) {
    const plan_digit *digit = &e->kernel->digit[i];
    if (digit->axis != axis) continue;
    LLVMValueRef part =
        LLVMBuildMul(e->builder, emit_digit_position(e, value, i, 0), emit_i64(e, digit->step), "");
    position = LLVMBuildAdd(e->builder, position, part, "");
  }
  e->lane = lane;
  e->warp = warp;
  bool of_experts = e->kernel->experts.used && axis == e->kernel->experts.axis;
  if (of_experts) position = LLVMBuildAdd(e->builder, position, e->experts.first, "");
  return LLVMBuildTrunc(e->builder, position, e->i32, "");
}

/* Where the turn's box of runs begins. */
static void first_of_runs(emitter *e, const plan_step *step, LLVMValueRef first[PLAN_BOX_RANK]) {
  const plan_box *box = &e->kernel->launch.box[step->box - 1];
  const plan_buffer *buffer = &e->kernel->buffer[step->buffer];
  LLVMValueRef lane = e->lane, warp = e->warp;
  plan_value whole;
  plan_value_spread(e->kernel, &e->kernel->value[step->in], &whole);
  first[0] = emit_place_in_run(e, step);
  first[0] = LLVMBuildAnd(e->builder, first[0], emit_i32(e, ~(int64_t)buffer->window), "");
  first[0] = LLVMBuildLShr(e->builder, first[0], emit_i32(e, box->packed), "");
  e->lane = emit_i32(e, 0);
  e->warp = e->rank ? e->rank : e->lane;
  for (int d = 1; d < plan_box_rank(box); d++) {
    const int digit = e->kernel->box_axis[step->box - 1][d];
    first[d] = emit_resize(e, emit_digit_position(e, &whole, digit, 0), e->i32);
  }
  e->lane = lane;
  e->warp = warp;
}

/* The block's number in its cluster. */
static LLVMValueRef own_number(emitter *e) {
  const int warps = e->kernel->warp_bits - e->kernel->cluster_bits;
  return LLVMBuildLShr(e->builder, e->rank, emit_i32(e, warps), "");
}

/* The block's own of the parts that a cluster fetches: begins behind those of the blocks before. */
static LLVMValueRef own_part(emitter *e, const plan_box *box, LLVMValueRef *row) {
  LLVMValueRef part = LLVMBuildAnd(e->builder, own_number(e), emit_i32(e, plan_box_peers(box)), "");
  part = LLVMBuildLShr(e->builder, part, emit_i32(e, box->among), "");
  LLVMValueRef rows = LLVMBuildMul(e->builder, part, emit_i32(e, box->size[1]), "");
  *row = LLVMBuildAdd(e->builder, *row, rows, "");
  return LLVMBuildMul(e->builder, rows, emit_i32(e, box->size[0] << box->bytes), "");
}

/* Bit i: block number i of the cluster has what this one fetches of the box, too. NULL: no other
 * block has. */
static LLVMValueRef blocks_of(emitter *e, const plan_box *box) {
  const int peers = plan_box_peers(box), all = bits_mask(e->kernel->cluster_bits);
  int64_t blocks = 0;
  if (peers == 0) return NULL;
  for (int i = 0; i <= all; i++)
    if ((i & ~peers) == 0) blocks |= (int64_t)1 << i;
  LLVMValueRef first = LLVMBuildAnd(e->builder, own_number(e), emit_i32(e, all & ~peers), "");
  LLVMValueRef mask = LLVMBuildShl(e->builder, emit_i32(e, blocks), first, "");
  return LLVMBuildTrunc(e->builder, mask, LLVMInt16TypeInContext(e->context), "");
}

/* How the rows come of which a tile begins at `first`. */
typedef struct brought_rows {
  LLVMValueRef map;  /* a pointer */
  LLVMValueRef rows; /* i32: how many */
} brought_rows;

static brought_rows bring_rows(emitter *e, int number, LLVMValueRef first) {
  const plan_box *box = &e->kernel->launch.box[number];
  LLVMValueRef all = emit_i32(e, plan_box_rows(box));
  if (!box->rest) return (brought_rows){e->boxes[number], all};
  LLVMValueRef extent = LLVMBuildTrunc(e->builder, emit_number(e, &box->extent[1]), e->i32, ""),
               left = emit_subtract(e, extent, first), one = emit_i32(e, 1);
  /* a tile that is beyond the tensor has none, as if it had all */
  LLVMValueRef whole = LLVMBuildICmp(e->builder, LLVMIntUGE, emit_subtract(e, left, one),
                                     emit_subtract(e, all, one), "");
  LLVMValueRef map =
      emit_choose(e, whole, LLVMBuildPtrToInt(e->builder, e->boxes[number], e->i64, ""),
                  LLVMBuildPtrToInt(e->builder, e->rests[number], e->i64, ""));
  map = LLVMBuildIntToPtr(e->builder, map, LLVMPointerTypeInContext(e->context, 0), "");
  return (brought_rows){map, emit_choose(e, whole, all, left)};
}

void emit_box_copy(emitter *e, const plan_step *step, LLVMValueRef barrier) {
  const plan_box *box = &e->kernel->launch.box[step->box - 1];
  const int8_t *axis = e->kernel->box_axis[step->box - 1];
  int pitch = plan_box_pitch(box);
  LLVMValueRef first[PLAN_BOX_RANK] = {NULL}, start = emit_slot_pointer(e, step->buffer),
               blocks = blocks_of(e, box);
  plan_value whole;
  plan_value_spread(e->kernel, &e->kernel->value[step->in], &whole);
  if (box->runs) first_of_runs(e, step, first);
  for (int d = 0; d < plan_box_rank(box) && !box->runs; d++)
    first[d] = first_position(e, &whole, axis[d]);
  if (box->parts) {
    LLVMValueRef behind = own_part(e, box, &first[1]);
    start = LLVMBuildGEP2(e->builder, e->i8, start, &behind, 1, "");
  }
  const brought_rows how = bring_rows(e, step->box - 1, first[1]);
  for (int i = 0; i < plan_box_count(e->kernel, step); i++) {
    LLVMValueRef offset = emit_i32(e, i * pitch), from[PLAN_BOX_RANK];
    memcpy(from, first, sizeof from);
    from[0] = LLVMBuildAdd(e->builder, first[0], emit_i32(e, i * box->size[0]), "");
    LLVMValueRef to = LLVMBuildGEP2(e->builder, e->i8, start, &offset, 1, "");
    e->ops->copy_box(e, to, how.map, from, plan_box_rank(box), barrier, blocks);
  }
}

LLVMValueRef emit_box_bytes(emitter *e, int at) {
  const plan_step *step = &e->kernel->step[at];
  LLVMValueRef bytes = emit_i32(e, 0);
  for (int i = 1; i <= step->body; i++) {
    if (!step[i].box) continue;
    const plan_box *box = &e->kernel->launch.box[step[i].box - 1];
    LLVMValueRef row =
        emit_i32(e, plan_box_count(e->kernel, &step[i]) * (box->size[0] << box->bytes));
    LLVMValueRef rows = emit_i32(e, plan_box_rows(box));
    if (box->rest) {
      plan_value whole;
      plan_value_spread(e->kernel, &e->kernel->value[step[i].in], &whole);
      LLVMValueRef first = first_position(e, &whole, e->kernel->box_axis[step[i].box - 1][1]);
      rows = bring_rows(e, step[i].box - 1, first).rows;
    }
    bytes = emit_add(e, bytes, LLVMBuildMul(e->builder, rows, row, ""));
  }
  return bytes;
}

/* ---- the other way ---- */

/* i1: whether the thread is the block's first. */
static LLVMValueRef is_first_thread(emitter *e) {
  return LLVMBuildICmp(e->builder, LLVMIntEQ, LLVMBuildOr(e->builder, e->block_warp, e->lane, ""),
                       emit_i32(e, 0), "");
}

void emit_send_step(emitter *e, const plan_step *step) {
  const plan_box *box = &e->kernel->launch.box[step->box - 1];
  LLVMValueRef first[PLAN_BOX_RANK] = {NULL};
  plan_value whole;
  plan_value_spread(e->kernel, &e->kernel->value[step->in], &whole);
  e->ops->proxy_fence(e);
  e->ops->barrier(e, true);
  LLVMBasicBlockRef next = emit_open_guard(e, is_first_thread(e));
  for (int d = 0; d < plan_box_rank(box); d++)
    first[d] = first_position(e, &whole, e->kernel->box_axis[step->box - 1][d]);
  for (int i = 0; i < plan_box_count(e->kernel, step); i++) {
    LLVMValueRef offset = emit_i32(e, i * plan_box_pitch(box)), to[PLAN_BOX_RANK];
    memcpy(to, first, sizeof to);
    to[0] = LLVMBuildAdd(e->builder, first[0], emit_i32(e, i * box->size[0]), "");
    LLVMValueRef from = LLVMBuildGEP2(e->builder, e->i8, e->shared[step->buffer], &offset, 1, "");
    e->ops->send_box(e, from, e->boxes[step->box - 1], to, plan_box_rank(box));
  }
  e->ops->end_sends(e);
  emit_close_guard(e, next);
  e->ops->meet_warp(e);
}

void emit_await_sent(emitter *e) {
  LLVMBasicBlockRef next = emit_open_guard(e, is_first_thread(e));
  e->ops->await_sent(e);
  emit_close_guard(e, next);
  e->ops->meet_warp(e);
}

void emit_sent_step(emitter *e) {
  emit_await_sent(e);
  e->ops->barrier(e, true);
}
