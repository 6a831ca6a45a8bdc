/* Blocks whose warps have roles (PLAN_ROLES): producers fill slots of rings, the others go on with
 * everything else. For each slot there are two barriers of the block's memory: one tells that it is
 * filled, one that it is free; a third one, where producers work on what boxes bring (PLAN_LANDED),
 * that these have landed. A phase of each is a round through the ring. */
#include "jit/emit/control/emit_control.h"
#include "jit/emit/control/emit_slots.h"
#include "jit/emit/core/builder.h"
#include "jit/emit/memory/emit_memory.h"
#include "jit/emit/place/address.h"

#include "base/bits.h"
#include "jit/plan/facts/box.h"
#include "jit/plan/facts/thread_registers.h"

#include <string.h>

/* ---- producers ---- */

/* Copies of all turns but the last `turns` are there: the last of them is turn `number` - turns, or
 * the one before, some of which came with it. */
static void tell_filled(emitter *e, LLVMValueRef number, int turns) {
  const int back = turns + plan_copies_lines(e->kernel);
  e->ops->await_copies(e, turns);
  e->ops->proxy_fence(e);
  LLVMValueRef own = number; /* of this position's turns: those before are told */
  if (e->turns_before) own = LLVMBuildSub(e->builder, number, e->turns_before, "");
  LLVMBasicBlockRef next = emit_open_guard(e, emit_at_least(e, own, back));
  e->ops->arrive(e, emit_slot_barrier(e, SLOT_FILLED,
                                      LLVMBuildSub(e->builder, number, emit_i32(e, back), "")));
  emit_close_guard(e, next);
}

/* All boxes of the turn, by the one thread that comes here, to slots that are free. */
static void copy_boxes(emitter *e, int at) {
  const plan_step *step = &e->kernel->step[at];
  LLVMValueRef barrier = emit_slot_barrier(
      e, plan_landed_step(e->kernel) < 0 ? SLOT_FILLED : SLOT_LANDED, emit_turn_number(e));
  e->ops->expect_boxes(e, barrier, emit_box_bytes(e, at));
  for (int i = 1; i <= step->body && step[i].box; i++) emit_box_copy(e, &step[i], barrier);
}

/* i1: whether the thread is the one that tells the device of boxes where threads copy, too: of the
 * last producer's warp, since the first ones copy what there is little of. A turn is filled as soon
 * as the slowest of them is through with it. */
static LLVMValueRef tells_of_boxes(emitter *e) {
  return emit_is_one_of_warp(e, emit_other_warps(e) + e->kernel->producers - 1);
}

/* The number of the warp whose work a producer does in part `part`. */
static LLVMValueRef warp_of_part(const emitter *e, int part) {
  int first = part * e->kernel->producers - emit_other_warps(e);
  LLVMValueRef warp = LLVMBuildAdd(e->builder, e->block_warp, emit_i32(e, first), "");
  return e->rank ? LLVMBuildOr(e->builder, warp, e->rank, "") : warp;
}

/* Each producer does the work of several warps, one after the other. */
static void work_of_warps(emitter *e, int first_step, int n) {
  LLVMValueRef warp = e->warp;
  for (int part = 0; part * e->kernel->producers < emit_other_warps(e); part++) {
    e->warp = warp_of_part(e, part);
    e->kept.part = part;
    emit_steps(e, first_step, n);
  }
  e->warp = warp;
}

/* Each part has rows of its own. */
static void keep_copied_rows(emitter *e, int at) {
  LLVMValueRef warp = e->warp;
  for (int part = 0; part * e->kernel->producers < emit_other_warps(e); part++) {
    e->warp = warp_of_part(e, part);
    e->kept.part = part;
    emit_keep_rows_of_copies(e, at);
  }
  e->warp = warp;
}

#define MOST_PARTS 4

/* The same, all loads before anything else, as far as there are so many parts. */
static void work_behind_loads(emitter *e, int first_step, int n) {
  const plan_step *load = &e->kernel->step[first_step];
  LLVMValueRef warp = e->warp;
  emit_words loaded[MOST_PARTS];
  int parts = emit_other_warps(e) / e->kernel->producers;
  if (load->kind != PLAN_SHARED_LOAD || parts > MOST_PARTS) {
    work_of_warps(e, first_step, n);
    return;
  }
  for (int part = 0; part < parts; part++) {
    e->warp = warp_of_part(e, part);
    emit_steps(e, first_step, 1);
    memcpy(loaded[part], e->value[load->out], sizeof loaded[part]);
  }
  for (int part = 0; part < parts; part++) {
    e->warp = warp_of_part(e, part);
    memcpy(e->value[load->out], loaded[part], sizeof loaded[part]);
    emit_steps(e, first_step + 1, n - 1);
  }
  e->warp = warp;
}

/* Boxes where the turn has all of its positions, which its expert says; else threads copy what the
 * expert has. Every producer's thread tells of either (plan_cuts_boxes). Lanes go on together:
 * nothing promises that one which waits for a free slot lets the others of its warp tell. They meet
 * before both ways do: lanes that a branch parted need not come together where others come in, too
 * (emulators/ptx/ptx_meet.c). */
static void fill_cut(emitter *e, int at) {
  const plan_kernel *kernel = e->kernel;
  LLVMValueRef number = emit_turn_number(e), barrier = emit_slot_barrier(e, SLOT_FILLED, number);
  emit_await_phase(e, emit_slot_barrier(e, SLOT_FREE, number), emit_slot_parity(e, number, true));
  LLVMBasicBlockRef boxes = emit_new_block(e, "boxes"), threads = emit_new_block(e, "cut");
  LLVMBasicBlockRef done = emit_new_block(e, "copied");
  LLVMBuildCondBr(e->builder, emit_expert_has_turn(e, e->walked->turn), boxes, threads);
  LLVMPositionBuilderAtEnd(e->builder, boxes);
  LLVMValueRef first = emit_is_first_producer(e);
  LLVMBasicBlockRef next = emit_open_guard(e, first);
  copy_boxes(e, at);
  emit_close_guard(e, next);
  next = emit_open_guard(e, LLVMBuildNot(e->builder, first, ""));
  e->ops->arrive(e, barrier);
  emit_close_guard(e, next);
  e->ops->meet_warp(e);
  LLVMBuildBr(e->builder, done);
  LLVMPositionBuilderAtEnd(e->builder, threads);
  LLVMValueRef warp = e->warp;
  for (int part = 0; part * kernel->producers < emit_other_warps(e); part++) {
    e->warp = warp_of_part(e, part);
    e->kept.part = part;
    for (int i = 1; i <= kernel->step[at].body; i++) emit_copy_step(e, &kernel->step[at + i]);
  }
  e->warp = warp;
  e->ops->arrive_copied(e, barrier);
  e->ops->meet_warp(e);
  LLVMBuildBr(e->builder, done);
  LLVMPositionBuilderAtEnd(e->builder, done);
}

/* Copies a line of memory of each row: lanes whose pieces of it are before the turn's first
 * position have the turn before. One more turn than there are has the last lines. */
static void copy_line(emitter *e, const plan_step *step) {
  const emit_walked *walked = e->walked;
  emit_walked own_turn = *walked;
  LLVMValueRef lane = e->lane, grid = e->grid, upper[PLAN_MAX_DIGITS];
  LLVMValueRef before = emit_pieces_before(e, step), last = emit_i32(e, EMIT_LINE_PIECES - 1),
               piece = LLVMBuildAnd(e->builder, lane, last, "");
  memcpy(upper, e->upper, sizeof upper);
  LLVMValueRef behind = LLVMBuildICmp(e->builder, LLVMIntULT, piece, before, ""),
               own =
                   LLVMBuildAnd(e->builder, LLVMBuildSub(e->builder, piece, before, ""), last, "");
  e->lane = LLVMBuildXor(e->builder, lane, LLVMBuildXor(e->builder, piece, own, ""), "");
  own_turn.turn =
      LLVMBuildSub(e->builder, walked->turn, LLVMBuildZExt(e->builder, behind, e->i64, ""), "");
  LLVMValueRef there =
      emit_and(e, LLVMBuildICmp(e->builder, LLVMIntSGE, own_turn.turn, walked->begin, ""),
               LLVMBuildICmp(e->builder, LLVMIntSLT, own_turn.turn, walked->end, ""));
  LLVMBasicBlockRef next = emit_open_guard(e, there);
  e->walked = &own_turn;
  e->grid = walked->grid;
  emit_decode_turn(e, own_turn.turn);
  emit_copy_step(e, step);
  emit_close_guard(e, next);
  e->ops->meet_warp(e);
  e->walked = walked;
  e->grid = grid;
  memcpy(e->upper, upper, sizeof upper);
  e->lane = lane;
}

static void copy_lines(emitter *e, int at) {
  LLVMValueRef warp = e->warp;
  for (int part = 0; part * e->kernel->producers < emit_other_warps(e); part++) {
    e->warp = warp_of_part(e, part);
    for (int i = 1; i <= e->kernel->step[at].body; i++) copy_line(e, &e->kernel->step[at + i]);
  }
  e->warp = warp;
}

/* Where there are boxes copies tell by themselves that they are there, and the turn's slots are
 * filled without anybody's wait (plan_waits_fence). */
static void fill_slots(emitter *e, int at) {
  const plan_kernel *kernel = e->kernel;
  LLVMValueRef number = emit_turn_number(e);
  bool boxes = kernel->launch.n_boxes > 0;
  emit_await_phase(e, emit_slot_barrier(e, SLOT_FREE, number), emit_slot_parity(e, number, true));
  if (boxes) {
    LLVMBasicBlockRef next = emit_open_guard(e, tells_of_boxes(e));
    copy_boxes(e, at);
    emit_close_guard(e, next);
  }
  if (plan_copies_lines(kernel)) copy_lines(e, at);
  else work_of_warps(e, at + 1, kernel->step[at].body);
  if (!plan_threads_tell(kernel)) {
    e->ops->arrive_copied(e, emit_slot_barrier(e, SLOT_FILLED, number));
    return;
  }
  e->ops->end_copies(e);
  tell_filled(e, number, plan_copies_lag(kernel));
}

/* Of one thread alone, where all copies are boxes. */
static void fill_by_boxes(emitter *e, int at) {
  LLVMValueRef number = emit_turn_number(e);
  emit_await_phase(e, emit_slot_barrier(e, SLOT_FREE, number), emit_slot_parity(e, number, true));
  copy_boxes(e, at);
}

/* ---- producers that work on what boxes bring ---- */

/* The boxes of the turn that comes `turns` after this one, if there is one, by one thread. Their
 * slots are free when producers have worked on the turn that had them before: all have told that
 * its slots are filled. */
static void copy_boxes_early(emitter *e, int at, emit_walked *walked, int turns) {
  LLVMValueRef turn = walked->turn, grid = e->grid, upper[PLAN_MAX_DIGITS];
  memcpy(upper, e->upper, sizeof upper);
  walked->turn = LLVMBuildAdd(e->builder, turn, emit_i64(e, turns), "");
  LLVMValueRef there = LLVMBuildICmp(e->builder, LLVMIntSLT, walked->turn, walked->end, "");
  LLVMBasicBlockRef next = emit_open_guard(e, emit_and(e, there, emit_is_first_producer(e)));
  LLVMValueRef number = emit_turn_number(e),
               before = LLVMBuildSub(e->builder, number, emit_i32(e, e->kernel->slots), "");
  LLVMBasicBlockRef free = emit_open_guard(e, emit_at_least(e, before, 0));
  emit_await_phase(e, emit_slot_barrier(e, SLOT_FILLED, before),
                   emit_slot_parity(e, before, false));
  emit_close_guard(e, free);
  e->grid = walked->grid;
  emit_decode_turn(e, walked->turn);
  copy_boxes(e, at);
  emit_close_guard(e, next);
  e->grid = grid;
  memcpy(e->upper, upper, sizeof upper);
  walked->turn = turn;
}

/* Whether slots become free for a turn only when the turn before it is told to be filled. */
static bool frees_behind_filled(const plan_kernel *kernel) {
  int at = 0;
  while (kernel->step[at].kind != PLAN_RELEASE) at++;
  return kernel->step[at].turns + 1 == kernel->slots;
}

/* What stands behind PLAN_LANDED, number `at`. Products then see what the warp has stored; one lane
 * tells it for all. The others wait for it where they would next wait for what follows from that:
 * nothing promises that lanes which wait in a loop let another one of their warp run. */
static void work_on_landed(emitter *e, int at, int end) {
  LLVMValueRef number = emit_turn_number(e);
  emit_await_phase(e, emit_slot_barrier(e, SLOT_LANDED, number),
                   emit_slot_parity(e, number, false));
  work_behind_loads(e, at + 1, end - at - 1);
  e->ops->proxy_fence(e);
  e->ops->meet_warp(e);
  LLVMBasicBlockRef next =
      emit_open_guard(e, LLVMBuildICmp(e->builder, LLVMIntEQ, e->lane, emit_i32(e, 0), ""));
  e->ops->arrive(e, emit_slot_barrier(e, SLOT_FILLED, number));
  emit_close_guard(e, next);
  if (frees_behind_filled(e->kernel)) emit_bring_together(e);
}

/* A turn of PLAN_PRODUCE, number `at`: the copies of threads, boxes of a later turn, work on this
 * one's. */
static void fill_and_work(emitter *e, int at, emit_walked *walked) {
  int landed = plan_landed_step(e->kernel), end = at + 1 + e->kernel->step[at].body;
  LLVMValueRef number = emit_turn_number(e);
  emit_await_phase(e, emit_slot_barrier(e, SLOT_FREE, number), emit_slot_parity(e, number, true));
  work_of_warps(e, at + 1, landed - at - 1);
  e->ops->arrive_copied(e, emit_slot_barrier(e, SLOT_FILLED, number));
  copy_boxes_early(e, at, walked, e->kernel->step[landed].turns);
  emit_bring_together(e);
  work_on_landed(e, landed, end);
}

/* Behind the last turn, if there is any, one that has what is left of rows' last lines. */
static LLVMValueRef with_last_lines(emitter *e, const emit_walked *walked) {
  LLVMValueRef any = LLVMBuildICmp(e->builder, LLVMIntSLT, walked->begin, walked->end, "");
  return LLVMBuildAdd(e->builder, walked->end, LLVMBuildZExt(e->builder, any, e->i64, ""), "");
}

/* The walk that comes, of which these do PLAN_PRODUCE, number `at`. */
static void emit_producers(emitter *e, int at) {
  emit_walked walked = {.grid = e->grid};
  LLVMValueRef upper[PLAN_MAX_DIGITS];
  bool tell = plan_threads_tell(e->kernel);
  int landed = plan_landed_step(e->kernel);
  memcpy(upper, e->upper, sizeof upper);
  emit_block_turns(e, &walked.begin, &walked.end);
  e->walked = &walked;
  walked.turn = walked.begin;
  for (int i = 0; landed >= 0 && i < e->kernel->step[landed].turns; i++)
    copy_boxes_early(e, at, &walked, i);
  emit_bring_together(e);
  if (e->kernel->n_indices > 0) keep_copied_rows(e, at);
  LLVMValueRef limit = walked.end;
  if (plan_copies_lines(e->kernel)) limit = with_last_lines(e, &walked);
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder), head = emit_new_block(e, "produce");
  LLVMBasicBlockRef body = emit_new_block(e, "fill"), done = emit_new_block(e, "produced");
  LLVMBuildBr(e->builder, head);
  LLVMPositionBuilderAtEnd(e->builder, head);
  walked.turn = LLVMBuildPhi(e->builder, e->i64, "turn");
  LLVMAddIncoming(walked.turn, &walked.begin, &before, 1);
  LLVMValueRef more = LLVMBuildICmp(e->builder, LLVMIntSLT, walked.turn, limit, "");
  LLVMBuildCondBr(e->builder, more, body, done);
  LLVMPositionBuilderAtEnd(e->builder, body);
  emit_decode_turn(e, walked.turn);
  if (landed >= 0) fill_and_work(e, at, &walked);
  else if (plan_cuts_boxes(e->kernel)) fill_cut(e, at);
  else if (plan_only_boxes(e->kernel)) fill_by_boxes(e, at);
  else fill_slots(e, at);
  LLVMValueRef after = LLVMBuildAdd(e->builder, walked.turn, emit_i64(e, 1), "");
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->builder);
  LLVMBuildBr(e->builder, head);
  LLVMAddIncoming(walked.turn, &after, &latch, 1);
  LLVMPositionBuilderAtEnd(e->builder, done);
  LLVMValueRef last = LLVMBuildSub(e->builder, emit_turn_number(e), emit_i32(e, 1), "");
  for (int i = plan_copies_lag(e->kernel) - 1; i >= 0 && tell; i--) tell_filled(e, last, i);
  e->kept = (emit_kept){0};
  e->walked = NULL;
  e->grid = walked.grid;
  memcpy(e->upper, upper, sizeof upper);
}

/* ---- steps ---- */

/* By the first thread, which draws the block's ticket, too, where it wants one. */
static void make_barriers(emitter *e) {
  const plan_kernel *kernel = e->kernel;
  bool landed = plan_landed_step(kernel) >= 0;
  int copying = plan_only_boxes(kernel) ? 0 : kernel->producers << kernel->lane_bits;
  int others = landed ? kernel->producers : kernel->launch.n_boxes > 0 && !plan_cuts_boxes(kernel);
  const int far = plan_other_fetchers(kernel);
  const int counts[] = {copying + others,
                        (emit_other_warps(e) >> kernel->team_bits << kernel->lane_bits) +
                            far * emit_other_warps(e),
                        1};
  LLVMValueRef thread = LLVMBuildOr(e->builder, e->block_warp, e->lane, "");
  LLVMValueRef first = LLVMBuildICmp(e->builder, LLVMIntEQ, thread, emit_i32(e, 0), "");
  LLVMBasicBlockRef next = emit_open_guard(e, first);
  for (int which = 0; which < 2 + landed; which++)
    for (int i = 0; i < kernel->slots; i++)
      e->ops->make_barrier(e, emit_slot_barrier(e, which, emit_i32(e, i)), counts[which]);
  for (int i = 0; kernel->team_bits > 0 && i < 1 << kernel->team_bits; i++)
    e->ops->make_barrier(e, emit_team_barrier(e, emit_i32(e, i)), counts[SLOT_FREE]);
  if (kernel->deal.used) emit_deal_ticket(e);
  emit_close_guard(e, next);
}

/* The first copy of a box waits for its map: it is on its way while barriers are made, and the
 * block finds its place. */
static void fetch_maps(emitter *e) {
  const int n = e->kernel->launch.n_boxes;
  if (n == 0) return;
  LLVMBasicBlockRef next = emit_open_guard(e, emit_is_first_producer(e));
  for (int i = 0; i < n; i++) {
    e->ops->fetch_map(e, e->boxes[i]);
    if (e->rests[i]) e->ops->fetch_map(e, e->rests[i]);
  }
  emit_close_guard(e, next);
}

/* From here on a warp's number is that in its team. */
static void part_teams(emitter *e) {
  const int warps = e->kernel->warp_bits;
  e->team = LLVMBuildLShr(e->builder, e->warp, emit_i32(e, warps), "");
  e->warp = LLVMBuildAnd(e->builder, e->warp, emit_i32(e, (1 << warps) - 1), "");
}

/* The number of the walk's PLAN_PRODUCE. */
static int producing_step(const plan_kernel *kernel, int from) {
  while (kernel->step[from].kind != PLAN_PRODUCE) from++;
  return from;
}

/* Warps' numbers from their first lanes: so ptxas knows that the lanes of a warp have one role, and
 * has in uniform registers what does not depend on the lane: slots, barriers, descriptors, which
 * products and copies would else wait for (16 R2UR a turn of m64n96). */
static void number_warps(emitter *e) {
  const bool same = e->warp == e->block_warp;
  e->block_warp = e->ops->shuffle(e, e->block_warp, emit_i32(e, 0));
  e->warp = same ? e->block_warp : e->ops->shuffle(e, e->warp, emit_i32(e, 0));
}

void emit_roles_step(emitter *e, int at) {
  const plan_kernel *kernel = e->kernel;
  bool alone = plan_only_boxes(kernel);
  LLVMValueRef offset = emit_i64(e, kernel->barriers);
  e->barriers = LLVMBuildGEP2(e->builder, e->i8, e->shared_start, &offset, 1, "");
  plan_registers registers;
  plan_registers_of(kernel, &registers);
  number_warps(e);
  fetch_maps(e);
  make_barriers(e);
  e->ops->barrier(e, !plan_fetches_together(kernel)); /* others' copies and warps tell them, too */
  if (kernel->launch.rounds > 0)
    e->proxies = false; /* what threads write from here on no product reads */
  LLVMBasicBlockRef producers = emit_new_block(e, "producers"),
                    others = emit_new_block(e, "others");
  LLVMBuildCondBr(e->builder, emit_at_least(e, e->block_warp, emit_other_warps(e)), producers,
                  others);
  LLVMPositionBuilderAtEnd(e->builder, producers);
  bool shifts = registers.others > registers.begin;
  if (shifts) e->ops->set_registers(e, registers.producers, false);
  LLVMBasicBlockRef rest = alone ? emit_open_guard(e, emit_is_first_producer(e)) : NULL;
  emit_rounds rounds = {.late = false};
  if (kernel->launch.rounds > 0) emit_open_rounds(e, &rounds);
  emit_producers(e, producing_step(kernel, at));
  if (kernel->launch.rounds > 0) emit_close_rounds(e, &rounds);
  if (!plan_threads_tell(kernel) && !alone) { /* no thread ends before what it copies is there */
    e->ops->end_copies(e);
    e->ops->await_copies(e, 0);
  }
  if (alone) emit_close_guard(e, rest);
  LLVMBuildRetVoid(e->builder);
  LLVMPositionBuilderAtEnd(e->builder, others);
  if (shifts) e->ops->set_registers(e, registers.others, true);
  e->roles = true;
  if (kernel->team_bits > 0) part_teams(e);
  e->rounds.late = plan_asks_late(kernel);
  if (kernel->launch.rounds > 0) emit_open_rounds(e, &e->rounds);
}
