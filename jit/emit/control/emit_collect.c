/* PLAN_COLLECT: stores go into a buffer on the stack, each at its distance from the first element,
 * and the buffer to memory: of each row the lines past the caches, what it has of a line at either
 * end through them. */
#include "jit/emit/control/emit_control.h"
#include "jit/emit/core/builder.h"
#include "jit/emit/memory/emit_memory.h"
#include "jit/emit/place/address.h"

#include "base/bits.h"

/* ---- loops ---- */

/* A loop over byte offsets, whose body is made between open and close; at least one turn. */
typedef struct counter {
  LLVMBasicBlockRef before, body;
  LLVMValueRef at, first;
} counter;

static counter open_counter(emitter *e, LLVMValueRef first) {
  counter loop = {LLVMGetInsertBlock(e->builder), emit_new_block(e, "collected"), NULL, first};
  LLVMBuildBr(e->builder, loop.body);
  LLVMPositionBuilderAtEnd(e->builder, loop.body);
  loop.at = LLVMBuildPhi(e->builder, e->i64, "");
  return loop;
}

static void close_counter(emitter *e, counter *loop, int64_t step, LLVMValueRef end) {
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->builder),
                    done = emit_new_block(e, "collected_done");
  LLVMValueRef next = LLVMBuildAdd(e->builder, loop->at, emit_i64(e, step), "");
  LLVMAddIncoming(loop->at, &loop->first, &loop->before, 1);
  LLVMAddIncoming(loop->at, &next, &latch, 1);
  LLVMBuildCondBr(e->builder, LLVMBuildICmp(e->builder, LLVMIntSLT, next, end, ""), loop->body,
                  done);
  LLVMPositionBuilderAtEnd(e->builder, done);
}

/* ---- lines and parts of them ---- */

static LLVMValueRef behind(emitter *e, LLVMValueRef pointer, LLVMValueRef at) {
  return LLVMBuildGEP2(e->builder, e->i8, pointer, &at, 1, "");
}

static LLVMValueRef load_collected(emitter *e, LLVMTypeRef type, LLVMValueRef at) {
  LLVMValueRef part = LLVMBuildLoad2(e->builder, type, behind(e, e->collected.buffer, at), "");
  LLVMSetAlignment(part, 1);
  return part;
}

/* The line from byte `at` on, in as many registers as it takes. */
static void store_line(emitter *e, LLVMValueRef at) {
  int bytes = e->kernel->target.vector_bytes, line = e->kernel->target.sector_bytes;
  LLVMTypeRef type = LLVMVectorType(e->i64, (unsigned)bytes / 8);
  for (int i = 0; i < line; i += bytes) {
    LLVMValueRef own = emit_add(e, at, emit_i64(e, i));
    LLVMValueRef store = LLVMBuildStore(e->builder, load_collected(e, type, own),
                                        behind(e, e->collected.first, own));
    LLVMSetAlignment(store, 1);
    emit_set_nontemporal(e, store, bytes);
  }
}

/* From byte `first` to `end`. */
typedef struct lines {
  LLVMValueRef first, end;
} lines;

static void store_each_line(emitter *e, void *data) {
  const lines *all = data;
  counter loop = open_counter(e, all->first);
  store_line(e, loop.at);
  close_counter(e, &loop, e->kernel->target.sector_bytes, all->end);
}

static void store_lines(emitter *e, LLVMValueRef first, LLVMValueRef end) {
  lines all = {first, end};
  emit_either_way(e, store_each_line, &all);
}

/* The first n bytes from `at` on, fewer than a register has, where one instruction stores bytes
 * under a mask. */
static void store_masked(emitter *e, LLVMValueRef at, LLVMValueRef n) {
  unsigned lanes = (unsigned)e->kernel->target.vector_bytes;
  LLVMTypeRef type = LLVMVectorType(e->i8, lanes);
  LLVMValueRef ones = LLVMBuildShl(e->builder, emit_i64(e, 1), n, "");
  LLVMValueRef bits = emit_subtract(e, ones, emit_i64(e, 1));
  bits = LLVMBuildTrunc(e->builder, bits, emit_int_type(e, (int)lanes), "");
  LLVMValueRef mask = LLVMBuildBitCast(e->builder, bits, LLVMVectorType(e->i1, lanes), "");
  emit_parted_store(e, load_collected(e, type, at), behind(e, e->collected.first, at), mask);
}

/* n bytes from `at` on, fewer than a line, by units of `unit` bytes. */
static void store_part(emitter *e, LLVMValueRef at, LLVMValueRef n, int unit) {
  if (e->kernel->target.vector_bytes == e->kernel->target.sector_bytes && e->ops->has_masks(e, 8)) {
    store_masked(e, at, n);
    return;
  }
  LLVMTypeRef type = emit_int_type(e, unit * 8);
  LLVMBasicBlockRef next =
      emit_open_guard(e, LLVMBuildICmp(e->builder, LLVMIntSGT, n, emit_i64(e, 0), ""));
  counter loop = open_counter(e, at);
  LLVMValueRef moved = load_collected(e, type, loop.at);
  LLVMValueRef store = LLVMBuildStore(e->builder, moved, behind(e, e->collected.first, loop.at));
  LLVMSetAlignment(store, (unsigned)unit);
  close_counter(e, &loop, unit, emit_add(e, at, n));
  emit_close_guard(e, next);
}

/* ---- rows ---- */

/* A row of `bytes` from `at` on, enough for a line wherever it begins. */
static void store_row(emitter *e, LLVMValueRef at, int bytes, int unit) {
  int line = e->kernel->target.sector_bytes;
  LLVMValueRef end = emit_add(e, at, emit_i64(e, bytes)), inside = emit_i64(e, line - 1);
  if (unit >= line) {
    store_lines(e, at, end);
    return;
  }
  LLVMValueRef address =
      LLVMBuildPtrToInt(e->builder, behind(e, e->collected.first, at), e->i64, "");
  LLVMValueRef before = LLVMBuildAnd(e->builder, LLVMBuildNeg(e->builder, address, ""), inside, "");
  LLVMValueRef left = emit_subtract(e, emit_i64(e, bytes), before);
  LLVMValueRef after = LLVMBuildAnd(e->builder, left, inside, "");
  LLVMValueRef last = emit_subtract(e, end, after);
  store_part(e, at, before, unit);
  store_lines(e, emit_add(e, at, before), last);
  store_part(e, last, after, unit);
}

static void store_rows(emitter *e, const plan_step *step, int width) {
  int64_t pitch = (int64_t)step->pitch * width;
  int unit = width << step->vector;
  LLVMValueRef zero = emit_i64(e, 0);
  if (step->rows == 1) {
    store_row(e, zero, step->elements * width, unit);
    return;
  }
  counter loop = open_counter(e, zero);
  store_row(e, loop.at, step->elements * width, unit);
  close_counter(e, &loop, pitch, emit_i64(e, pitch * step->rows));
}

/* What bounds leave out has room, too: where no instruction stores under a mask it is written as it
 * was. So has what a register reads behind the end of a row. */
void emit_collect(emitter *e, int at) {
  const plan_step *step = &e->kernel->step[at];
  int width = e->kernel->tensor_bits[step->tensor] / 8;
  emit_place place;
  emit_place_tensor(e, &e->kernel->value[step->in], step->tensor, &place);
  e->collected.first = emit_pointer(e, &place, 0);
  e->collected.buffer = e->ops->shared(e, step->reach * width + e->kernel->target.vector_bytes);
  emit_steps(e, at + 1, step->body);
  store_rows(e, step, width);
  e->collected = (emit_collection){NULL, NULL};
}
