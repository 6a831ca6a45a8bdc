/* Blocks that take several positions of the grid, one after the other (launch.rounds in
 * jit/plan/kernel/launch.h). The turns of all of a block's positions follow each other: what is
 * counted by turns, slots of rings, goes on from one to the next. */
#include "jit/emit/control/emit_control.h"
#include "jit/emit/core/builder.h"
#include "jit/emit/place/address.h"
#include "jit/emit/place/index.h"

/* Turns of a position, i32. */
static LLVMValueRef position_turns(emitter *e) {
  LLVMValueRef begin, end;
  emit_block_turns(e, &begin, &end);
  return LLVMBuildTrunc(e->builder, LLVMBuildSub(e->builder, end, begin, ""), e->i32, "");
}

/* Positions that the grid takes at a time, i64: a cluster takes one. */
static LLVMValueRef grid_blocks(emitter *e) {
  LLVMValueRef blocks = LLVMBuildZExt(e->builder, e->ops->blocks(e), e->i64, "");
  if (e->kernel->cluster_bits == 0) return blocks;
  return LLVMBuildLShr(e->builder, blocks, emit_i64(e, e->kernel->cluster_bits), "");
}

static void begin_indices(emitter *e) {
  if (e->kernel->experts.shared || e->kernel->n_indices > 0) emit_begin_indices(e);
}

/* What is asked behind a walk is computed there, while products are under way: left to itself the
 * compiler does so where it is used, behind them. Tiles along an axis are fewer than 2^31. */
static void keep_position(emitter *e) {
  for (int i = 0; i < e->kernel->n_places; i++) {
    const int digit = e->kernel->place[i].digit;
    if (digit < 0 || LLVMIsConstant(e->upper[digit])) continue;
    LLVMValueRef tile = LLVMBuildTrunc(e->builder, e->upper[digit], e->i32, "");
    e->upper[digit] = LLVMBuildZExt(e->builder, e->ops->opaque(e, tile), e->i64, "");
  }
}

void emit_ask_position(emitter *e) {
  emit_decode_block(e);
  if (e->rounds.late) keep_position(e);
  begin_indices(e);
}

/* Until then there is none. */
static void hide_position(emitter *e) {
  e->grid = emit_i64(e, 0);
  for (int i = 0; i < e->kernel->n_digits; i++) e->upper[i] = e->grid;
}

/* Inside, the thread's number is hidden: else every address of what stands behind the walk would be
 * computed before the rounds and stay in a register of its own. */
void emit_open_rounds(emitter *e, emit_rounds *r) {
  LLVMBasicBlockRef body = emit_new_block(e, "round");
  *r = (emit_rounds){.first = e->block,
                     .lane = e->lane,
                     .warp = e->warp,
                     .late = r->late,
                     .head = emit_new_block(e, "rounds"),
                     .done = emit_new_block(e, "rounds_done")};
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder);
  LLVMValueRef none = emit_i32(e, 0), first = e->block, limit;
  bool dealt = e->kernel->deal.used;
  if (e->team) {
    none = LLVMBuildMul(e->builder, e->team, position_turns(e), "");
    LLVMValueRef team = LLVMBuildZExt(e->builder, e->team, e->i64, "");
    first = LLVMBuildAdd(e->builder, first, LLVMBuildMul(e->builder, team, grid_blocks(e), ""), "");
  }
  if (dealt) {
    first = emit_dealt_pieces(e);
    before = LLVMGetInsertBlock(e->builder);
  }
  LLVMBuildBr(e->builder, r->head);
  LLVMPositionBuilderAtEnd(e->builder, r->head);
  r->block = LLVMBuildPhi(e->builder, e->i64, "block");
  r->turns = e->turns_before = LLVMBuildPhi(e->builder, e->i32, "turns");
  LLVMAddIncoming(r->block, &first, &before, 1);
  LLVMAddIncoming(r->turns, &none, &before, 1);
  if (e->team) {
    LLVMValueRef zero = emit_i32(e, 0);
    r->number = LLVMBuildPhi(e->builder, e->i32, "number");
    LLVMAddIncoming(r->number, &zero, &before, 1);
  }
  limit = dealt                       ? emit_i64(e, 0)
          : e->kernel->experts.shared ? emit_expert_positions(e)
                                      : emit_number(e, &e->kernel->positions);
  LLVMValueRef more =
      LLVMBuildICmp(e->builder, dealt ? LLVMIntUGT : LLVMIntULT, r->block, limit, "");
  LLVMBuildCondBr(e->builder, more, body, r->done);
  LLVMPositionBuilderAtEnd(e->builder, body);
  e->lane = e->ops->opaque(e, e->lane);
  e->warp = e->ops->opaque(e, e->warp);
  e->block = r->block;
  if (dealt) {
    emit_deal_piece(e, r->block);
    begin_indices(e);
  } else if (r->late) {
    hide_position(e);
  } else {
    emit_ask_position(e);
  }
}

void emit_close_rounds(emitter *e, const emit_rounds *r) {
  LLVMValueRef turns = position_turns(e), next = e->deal.rest;
  if (!e->kernel->deal.used) {
    LLVMValueRef blocks = grid_blocks(e);
    if (e->team) { /* the others have those between */
      blocks = LLVMBuildShl(e->builder, blocks, emit_i64(e, e->kernel->team_bits), "");
      turns = LLVMBuildShl(e->builder, turns, emit_i32(e, e->kernel->team_bits), "");
    }
    next = LLVMBuildAdd(e->builder, r->block, blocks, "");
  }
  turns = LLVMBuildAdd(e->builder, r->turns, turns, "");
  LLVMValueRef number = r->number ? LLVMBuildAdd(e->builder, r->number, emit_i32(e, 1), "") : NULL;
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->builder);
  LLVMBuildBr(e->builder, r->head);
  LLVMAddIncoming(r->block, &next, &latch, 1);
  LLVMAddIncoming(r->turns, &turns, &latch, 1);
  if (number) LLVMAddIncoming(r->number, &number, &latch, 1);
  LLVMPositionBuilderAtEnd(e->builder, r->done);
  e->block = r->first;
  e->lane = r->lane;
  e->warp = r->warp;
  e->turns_before = NULL;
}
