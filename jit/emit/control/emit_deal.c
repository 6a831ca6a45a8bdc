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

static LLVMValueRef least_of(emitter *e, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef args[2] = {a, b};
  return emit_intrinsic(e, "llvm.umin", &e->i64, 1, args, 2);
}

/* The first of the turns dealt to block number `block`; of the one behind the last: all. */
static LLVMValueRef first_turn(emitter *e, LLVMValueRef block) {
  return op(e, LLVMAdd, op(e, LLVMMul, block, e->deal.share), least_of(e, block, e->deal.longer));
}

/* ---- the block's number ---- */

static LLVMValueRef flag_of(emitter *e, LLVMValueRef block) {
  LLVMValueRef at = op(e, LLVMShl, block, emit_i64(e, 3));
  return e->ops->global(e, op(e, LLVMAdd, emit_number(e, &e->kernel->deal.flags), at));
}

/* What a block is dealt: words of 8 bytes in shared memory. */
typedef enum dealt_word {
  DEALT_NUMBER,    /* of the block: its ticket */
  DEALT_WAVES,     /* whole positions of a block */
  DEALT_SHARE,     /* turns of a run, ... */
  DEALT_LONGER,    /* ... and how many blocks, the first ones, have one more */
  DEALT_FIRST,     /* the first position of its run, of those whose turns are dealt */
  DEALT_POSITIONS, /* of its run, in whole or in part */
  DEALT_WORDS
} dealt_word;
_Static_assert(8 * DEALT_WORDS == PLAN_DEAL_BYTES, "the block's words have other room");

static LLVMValueRef place_of(emitter *e, dealt_word word) {
  LLVMValueRef place = emit_i64(e, e->kernel->deal.place + 8 * (int)word);
  return LLVMBuildGEP2(e->builder, e->i8, e->shared_start, &place, 1, "");
}

static void put_word(emitter *e, dealt_word word, LLVMValueRef value) {
  LLVMBuildStore(e->builder, value, place_of(e, word));
}

static LLVMValueRef get_word(emitter *e, dealt_word word) {
  LLVMValueRef value = LLVMBuildLoad2(e->builder, e->i64, place_of(e, word), "");
  LLVMSetVolatile(value, true); /* else it would stay in a register */
  return value;
}

static LLVMValueRef blocks_of_launch(emitter *e) {
  return LLVMBuildZExt(e->builder, e->ops->blocks(e), e->i64, "");
}

/* i64 1 where x is at least y, else 0. */
static LLVMValueRef reaches(emitter *e, LLVMValueRef x, LLVMValueRef y) {
  return LLVMBuildZExt(e->builder, LLVMBuildICmp(e->builder, LLVMIntUGE, x, y, ""), e->i64, "");
}

/* The quotient of two numbers below 2^32. Of 64 bits it would be a function's, for whose sake ptxas
 * keeps addresses of shared memory in threads' own registers, everywhere: slots, boxes and turns
 * are then numbered by each lane for itself, and producers' turns take a tenth longer than
 * products do. */
static LLVMValueRef divide(emitter *e, LLVMValueRef a, LLVMValueRef b) {
  a = LLVMBuildTrunc(e->builder, a, e->i32, "");
  b = LLVMBuildTrunc(e->builder, b, e->i32, "");
  return LLVMBuildZExt(e->builder, op(e, LLVMUDiv, a, b), e->i64, "");
}

/* A run is shorter than two positions, so it has parts of three at most. What needs no ticket is
 * computed while that is on its way. */
static void deal_out(emitter *e, LLVMValueRef number) {
  LLVMValueRef one = emit_i64(e, 1), turns = turns_of_walk(e), blocks = blocks_of_launch(e),
               positions = emit_number(e, &e->kernel->positions),
               waves = divide(e, positions, blocks), args[2] = {waves, one};
  waves = op(e, LLVMSub, emit_intrinsic(e, "llvm.umax", &e->i64, 1, args, 2), one);
  LLVMValueRef dealt =
      op(e, LLVMMul, op(e, LLVMSub, positions, op(e, LLVMMul, waves, blocks)), turns);
  e->deal.share = divide(e, dealt, blocks);
  e->deal.longer = op(e, LLVMSub, dealt, op(e, LLVMMul, e->deal.share, blocks));
  put_word(e, DEALT_WAVES, waves);
  put_word(e, DEALT_SHARE, e->deal.share);
  put_word(e, DEALT_LONGER, e->deal.longer);
  number = LLVMBuildZExt(e->builder, number, e->i64, "");
  put_word(e, DEALT_NUMBER, number);
  LLVMValueRef begin = first_turn(e, number),
               last = op(e, LLVMSub, first_turn(e, op(e, LLVMAdd, number, one)), one),
               first = divide(e, begin, turns),
               second = op(e, LLVMMul, op(e, LLVMAdd, first, one), turns),
               third = op(e, LLVMAdd, second, turns);
  put_word(e, DEALT_FIRST, first);
  put_word(e, DEALT_POSITIONS,
           op(e, LLVMAdd, op(e, LLVMAdd, one, reaches(e, last, second)), reaches(e, last, third)));
}

/* Behind the last ticket nobody draws any more: it leaves the counter, which lies behind all flags,
 * as it was. */
void emit_deal_ticket(emitter *e) {
  LLVMValueRef counter = flag_of(e, emit_i64(e, e->kernel->launch.dealt)),
               number = e->ops->ticket(e, counter);
  LLVMValueRef last = LLVMBuildSub(e->builder, e->ops->blocks(e), emit_i32(e, 1), "");
  deal_out(e, number);
  LLVMBasicBlockRef next =
      emit_open_guard(e, LLVMBuildICmp(e->builder, LLVMIntEQ, number, last, ""));
  e->ops->poke(e, counter, emit_i64(e, 0));
  emit_close_guard(e, next);
}

/* ---- what it is dealt ---- */

LLVMValueRef emit_dealt_pieces(emitter *e) {
  return op(e, LLVMAdd, get_word(e, DEALT_WAVES), get_word(e, DEALT_POSITIONS));
}

/* Whole positions first, then those of the run, the last first. Read anew for each piece, and again
 * behind its walk: nothing of it stays in registers meanwhile. */
void emit_deal_piece(emitter *e, LLVMValueRef left) {
  emit_deal *deal = &e->deal;
  LLVMBuilderRef b = e->builder;
  LLVMValueRef turns = turns_of_walk(e), one = emit_i64(e, 1), zero = emit_i64(e, 0),
               blocks = blocks_of_launch(e), of_run = get_word(e, DEALT_POSITIONS);
  deal->block = get_word(e, DEALT_NUMBER);
  deal->share = get_word(e, DEALT_SHARE);
  deal->longer = get_word(e, DEALT_LONGER);
  LLVMValueRef begin = first_turn(e, deal->block),
               end = first_turn(e, op(e, LLVMAdd, deal->block, one));
  LLVMValueRef whole = LLVMBuildICmp(b, LLVMIntUGT, left, of_run, "");
  LLVMValueRef round = op(e, LLVMSub, op(e, LLVMSub, left, of_run), one);
  LLVMValueRef own = op(e, LLVMAdd, deal->block, op(e, LLVMMul, round, blocks));
  LLVMValueRef shared = op(e, LLVMAdd, get_word(e, DEALT_FIRST), op(e, LLVMSub, left, one)),
               start = op(e, LLVMMul, shared, turns), args[2] = {begin, start};
  begin = emit_intrinsic(e, "llvm.umax", &e->i64, 1, args, 2);
  end = least_of(e, end, op(e, LLVMAdd, start, turns));
  deal->position = start;
  shared = op(e, LLVMAdd, shared, op(e, LLVMMul, get_word(e, DEALT_WAVES), blocks));
  e->block = LLVMBuildSelect(b, whole, own, shared, "");
  deal->from = LLVMBuildSelect(b, whole, zero, op(e, LLVMSub, begin, start), "");
  deal->to = LLVMBuildSelect(b, whole, turns, op(e, LLVMSub, end, start), "");
  deal->left = left;
  deal->rest = op(e, LLVMSub, left, one);
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

/* That the cell is filled: by one thread, when all of the block's have stored. */
static void tell(emitter *e, LLVMValueRef flag) {
  e->ops->barrier(e, true);
  LLVMBasicBlockRef next = emit_open_guard(e, is_first_thread(e));
  e->ops->fence(e);
  e->ops->poke(e, flag, emit_i64(e, 1));
  emit_close_guard(e, next);
  emit_bring_together(e);
}

/* The flag is zero then: what fills the cell next is another launch. */
static void await(emitter *e, LLVMValueRef flag) {
  LLVMBasicBlockRef next = emit_open_guard(e, is_first_thread(e));
  LLVMBasicBlockRef wait = emit_new_block(e, "await"), done = emit_new_block(e, "awaited");
  LLVMValueRef zero = emit_i64(e, 0);
  LLVMBuildBr(e->builder, wait);
  LLVMPositionBuilderAtEnd(e->builder, wait);
  LLVMValueRef seen = e->ops->peek(e, flag, LLVMConstInt(e->i1, 1, false), zero);
  LLVMBuildCondBr(e->builder, LLVMBuildICmp(e->builder, LLVMIntNE, seen, zero, ""), done, wait);
  LLVMPositionBuilderAtEnd(e->builder, done);
  e->ops->fence(e); /* which would wait for what is put back */
  e->ops->poke(e, flag, zero);
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
  tell(e, flag_of(e, e->deal.block));
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
