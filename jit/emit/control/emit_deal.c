/* Turns that are dealt out (plan_deal in jit/plan/kernel/plan.h): which part of which position's
 * walk comes next, and how blocks that share one hand their sums on. Cells are plain memory; a
 * block's flag tells that its cell is filled. */
#include "jit/emit/control/emit_control.h"
#include "jit/emit/core/builder.h"
#include "jit/emit/place/address.h"

#include "base/bits.h"

#define CELL_WORDS 4 /* that a thread's access has */

static LLVMValueRef op(emitter *e, LLVMOpcode code, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildBinOp(e->builder, code, a, b, "");
}

static LLVMValueRef turns_of_walk(const emitter *e) {
  return emit_number(e, &e->kernel->walk.turns);
}

/* The first of the turns dealt to block number `block`; of the one behind the last: all. */
static LLVMValueRef first_turn(emitter *e, LLVMValueRef block) {
  return op(e, LLVMUDiv, op(e, LLVMMul, block, e->deal.dealt), e->deal.blocks);
}

/* ---- the block's number ---- */

static LLVMValueRef flag_of(emitter *e, LLVMValueRef block) {
  LLVMValueRef at = op(e, LLVMShl, block, emit_i64(e, 3));
  return e->ops->global(e, op(e, LLVMAdd, emit_number(e, &e->kernel->deal.flags), at));
}

static LLVMValueRef number_place(emitter *e) {
  LLVMValueRef place = emit_i64(e, e->kernel->deal.place);
  return LLVMBuildGEP2(e->builder, e->i8, e->shared_start, &place, 1, "");
}

/* Behind the last ticket nobody draws any more: it leaves the counter, which lies behind all flags,
 * as it was. */
void emit_deal_ticket(emitter *e) {
  LLVMValueRef counter = flag_of(e, emit_i64(e, e->kernel->launch.dealt)),
               number = e->ops->ticket(e, counter);
  LLVMValueRef last = LLVMBuildSub(e->builder, e->ops->blocks(e), emit_i32(e, 1), "");
  LLVMBuildStore(e->builder, number, number_place(e));
  LLVMBasicBlockRef next =
      emit_open_guard(e, LLVMBuildICmp(e->builder, LLVMIntEQ, number, last, ""));
  e->ops->poke(e, counter, emit_i64(e, 0));
  emit_close_guard(e, next);
}

static LLVMValueRef number_of_block(emitter *e) {
  LLVMValueRef number = LLVMBuildLoad2(e->builder, e->i32, number_place(e), "");
  LLVMSetVolatile(number, true); /* else it would stay in a register */
  return LLVMBuildZExt(e->builder, number, e->i64, "");
}

/* ---- what it is dealt ---- */

/* What the block is dealt. Found anew for each piece, and again behind its walk: nothing of it
 * stays in registers meanwhile. */
static void find_deal(emitter *e) {
  LLVMValueRef positions = emit_number(e, &e->kernel->positions), turns = turns_of_walk(e),
               one = emit_i64(e, 1);
  emit_deal *deal = &e->deal;
  deal->block = number_of_block(e);
  deal->blocks = LLVMBuildZExt(e->builder, e->ops->blocks(e), e->i64, "");
  LLVMValueRef waves = op(e, LLVMUDiv, positions, deal->blocks), args[2] = {waves, one};
  waves = op(e, LLVMSub, emit_intrinsic(e, "llvm.umax", &e->i64, 1, args, 2), one);
  deal->own = op(e, LLVMMul, waves, turns);
  deal->first = op(e, LLVMMul, waves, deal->blocks);
  deal->dealt = op(e, LLVMMul, op(e, LLVMSub, positions, deal->first), turns);
  deal->begin = first_turn(e, deal->block);
  LLVMValueRef end = first_turn(e, op(e, LLVMAdd, deal->block, one));
  deal->run = op(e, LLVMSub, end, deal->begin);
}

LLVMValueRef emit_dealt_turns(emitter *e) {
  find_deal(e);
  return op(e, LLVMAdd, e->deal.run, e->deal.own);
}

/* Whole positions first, then those of the run, the last first. */
void emit_deal_piece(emitter *e, LLVMValueRef left) {
  emit_deal *deal = &e->deal;
  find_deal(e);
  LLVMBuilderRef b = e->builder;
  LLVMValueRef turns = turns_of_walk(e), one = emit_i64(e, 1), zero = emit_i64(e, 0);
  LLVMValueRef whole = LLVMBuildICmp(b, LLVMIntUGT, left, deal->run, "");
  LLVMValueRef round = op(e, LLVMSub, op(e, LLVMUDiv, op(e, LLVMSub, left, deal->run), turns), one);
  LLVMValueRef own = op(e, LLVMAdd, deal->block, op(e, LLVMMul, round, deal->blocks));
  LLVMValueRef end = op(e, LLVMAdd, deal->begin, left);
  LLVMValueRef shared = op(e, LLVMUDiv, op(e, LLVMSub, end, one), turns),
               start = op(e, LLVMMul, shared, turns);
  LLVMValueRef args[2] = {deal->begin, start};
  LLVMValueRef begin = emit_intrinsic(e, "llvm.umax", &e->i64, 1, args, 2);
  deal->position = start;
  e->block = LLVMBuildSelect(b, whole, own, op(e, LLVMAdd, shared, deal->first), "");
  deal->from = LLVMBuildSelect(b, whole, zero, op(e, LLVMSub, begin, start), "");
  deal->to = LLVMBuildSelect(b, whole, turns, op(e, LLVMSub, end, start), "");
  deal->left = left;
  deal->rest = op(e, LLVMSub, left, op(e, LLVMSub, deal->to, deal->from));
  emit_decode_block(e);
}

/* ---- cells ---- */

/* Where the thread's first words lie in a block's cell; behind them those of all other threads. */
static LLVMValueRef cell_of(emitter *e, LLVMValueRef block, int words) {
  const plan_kernel *kernel = e->kernel;
  LLVMValueRef thread = LLVMBuildShl(e->builder, e->warp, emit_i32(e, kernel->lane_bits), "");
  thread = LLVMBuildZExt(e->builder, LLVMBuildOr(e->builder, thread, e->lane, ""), e->i64, "");
  LLVMValueRef at = op(e, LLVMMul, block,
                       emit_i64(e, (int64_t)words * 4 << (kernel->lane_bits + kernel->warp_bits)));
  at = op(e, LLVMAdd, at, op(e, LLVMShl, thread, emit_i64(e, 4)));
  return e->ops->global(e, op(e, LLVMAdd, emit_number(e, &kernel->deal.cells), at));
}

/* By constant distances, which accesses have in themselves. */
static LLVMValueRef part_of(emitter *e, LLVMValueRef cell, int word) {
  LLVMValueRef offset =
      emit_i64(e, (int64_t)word * 4 << (e->kernel->lane_bits + e->kernel->warp_bits));
  return LLVMBuildGEP2(e->builder, e->i8, cell, &offset, 1, "");
}

static LLVMTypeRef part_type(const emitter *e) { return LLVMVectorType(e->i32, CELL_WORDS); }

static LLVMValueRef is_first_thread(emitter *e) {
  LLVMValueRef thread = LLVMBuildOr(e->builder, e->warp, e->lane, "");
  return LLVMBuildICmp(e->builder, LLVMIntEQ, thread, emit_i32(e, 0), "");
}

/* By one thread, when all of the block's have done what comes before. */
static void tell(emitter *e, LLVMValueRef flag, int64_t filled) {
  e->ops->barrier(e, true);
  LLVMBasicBlockRef next = emit_open_guard(e, is_first_thread(e));
  e->ops->fence(e);
  e->ops->poke(e, flag, emit_i64(e, filled));
  emit_close_guard(e, next);
  emit_bring_together(e);
}

static void await(emitter *e, LLVMValueRef flag) {
  LLVMBasicBlockRef next = emit_open_guard(e, is_first_thread(e));
  LLVMBasicBlockRef wait = emit_new_block(e, "await"), done = emit_new_block(e, "awaited");
  LLVMValueRef zero = emit_i64(e, 0);
  LLVMBuildBr(e->builder, wait);
  LLVMPositionBuilderAtEnd(e->builder, wait);
  LLVMValueRef seen = e->ops->peek(e, flag, LLVMConstInt(e->i1, 1, false), zero);
  LLVMBuildCondBr(e->builder, LLVMBuildICmp(e->builder, LLVMIntNE, seen, zero, ""), done, wait);
  LLVMPositionBuilderAtEnd(e->builder, done);
  e->ops->fence(e);
  emit_close_guard(e, next);
  e->ops->barrier(e, true);
}

static void store_cell(emitter *e, LLVMValueRef *words, int n) {
  LLVMValueRef cell = cell_of(e, e->deal.block, n);
  for (int i = 0; i < n; i += CELL_WORDS) {
    LLVMValueRef part = LLVMGetUndef(part_type(e));
    for (int k = 0; k < CELL_WORDS; k++)
      part = LLVMBuildInsertElement(e->builder, part, words[i + k], emit_i32(e, k), "");
    LLVMSetAlignment(LLVMBuildStore(e->builder, part, part_of(e, cell, i)), 16);
  }
}

static LLVMValueRef add(emitter *e, LLVMValueRef a, LLVMValueRef b) {
  LLVMTypeRef type = LLVMFloatTypeInContext(e->context);
  a = LLVMBuildBitCast(e->builder, a, type, "");
  b = LLVMBuildBitCast(e->builder, b, type, "");
  return LLVMBuildBitCast(e->builder, LLVMBuildFAdd(e->builder, a, b, ""), e->i32, "");
}

#define BATCH 16 /* accesses that are under way at a time */

/* Adds `n` words of a block's cell, and leaves zeros. Sums are hidden: else LLVM would make them
 * behind what comes next, and have all of the cell in registers until then. */
static void take_batch(emitter *e, LLVMValueRef cell, int first, LLVMValueRef *words, int n) {
  LLVMValueRef part[BATCH];
  for (int i = 0; i < n; i++) {
    part[i] =
        LLVMBuildLoad2(e->builder, part_type(e), part_of(e, cell, first + i * CELL_WORDS), "");
    LLVMSetAlignment(part[i], 16);
  }
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < CELL_WORDS; k++) {
      LLVMValueRef *word = &words[first + i * CELL_WORDS + k];
      *word = e->ops->opaque(
          e, add(e, *word, LLVMBuildExtractElement(e->builder, part[i], emit_i32(e, k), "")));
    }
    LLVMValueRef zeros = LLVMConstNull(part_type(e));
    LLVMSetAlignment(LLVMBuildStore(e->builder, zeros, part_of(e, cell, first + i * CELL_WORDS)),
                     16);
  }
}

static void take_cell(emitter *e, LLVMValueRef block, LLVMValueRef *words, int n) {
  LLVMValueRef cell = cell_of(e, block, n);
  for (int i = 0; i < n; i += BATCH * CELL_WORDS)
    take_batch(e, cell, i, words, bits_min(BATCH, (n - i) / CELL_WORDS));
}

/* ---- the step ---- */

static void hand_on(emitter *e, const plan_step *step) {
  store_cell(e, e->value[step->in], emit_word_count(&e->kernel->value[step->in]));
  tell(e, flag_of(e, e->deal.block), 1);
}

/* Sums of the blocks before, the nearest first, as far as the position goes. */
static void take_others(emitter *e, const plan_step *step) {
  LLVMValueRef *words = e->value[step->out], one = emit_i64(e, 1), begun[EMIT_MAX_REGISTERS];
  int n = emit_word_count(&e->kernel->value[step->out]);
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder), head = emit_new_block(e, "others"),
                    done = emit_new_block(e, "joined"), body = emit_new_block(e, "join");
  LLVMBuildBr(e->builder, head);
  LLVMPositionBuilderAtEnd(e->builder, head);
  LLVMValueRef block = LLVMBuildPhi(e->builder, e->i64, "");
  LLVMAddIncoming(block, &e->deal.block, &before, 1);
  for (int i = 0; i < n; i++) {
    begun[i] = LLVMBuildPhi(e->builder, e->i32, "");
    LLVMAddIncoming(begun[i], &e->value[step->in][i], &before, 1);
    words[i] = begun[i];
  }
  LLVMValueRef there =
      LLVMBuildICmp(e->builder, LLVMIntUGT, first_turn(e, block), e->deal.position, "");
  there = LLVMBuildAnd(e->builder, there,
                       LLVMBuildICmp(e->builder, LLVMIntNE, e->deal.from, emit_i64(e, 0), ""), "");
  LLVMBuildCondBr(e->builder, there, body, done);
  LLVMPositionBuilderAtEnd(e->builder, body);
  LLVMValueRef other = op(e, LLVMSub, block, one), flag = flag_of(e, other);
  await(e, flag);
  take_cell(e, other, words, n);
  tell(e, flag, 0);
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->builder);
  LLVMBuildBr(e->builder, head);
  LLVMAddIncoming(block, &other, &latch, 1);
  for (int i = 0; i < n; i++) LLVMAddIncoming(begun[i], &words[i], &latch, 1);
  LLVMPositionBuilderAtEnd(e->builder, done);
  for (int i = 0; i < n; i++) words[i] = begun[i];
}

void emit_settle_step(emitter *e, int at) {
  const plan_step *step = &e->kernel->step[at];
  emit_deal_piece(e, e->ops->opaque(e, e->deal.left));
  LLVMBasicBlockRef ends = emit_new_block(e, "ends"), parts = emit_new_block(e, "parts"),
                    done = emit_new_block(e, "settled");
  LLVMValueRef last = LLVMBuildICmp(e->builder, LLVMIntEQ, e->deal.to, turns_of_walk(e), "");
  LLVMBuildCondBr(e->builder, last, ends, parts);
  LLVMPositionBuilderAtEnd(e->builder, parts);
  hand_on(e, step);
  LLVMBuildBr(e->builder, done);
  LLVMPositionBuilderAtEnd(e->builder, ends);
  take_others(e, step);
  emit_steps(e, at + 1, step->body);
  LLVMBuildBr(e->builder, done);
  LLVMPositionBuilderAtEnd(e->builder, done);
}
