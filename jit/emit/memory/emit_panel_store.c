/* Panels of the destination: see emit_panel.c. Vectors of the source are loaded wherever memory has
 * all of them, their elements are stored to shared memory one by one, and at the end the panel goes
 * to memory by aligned vectors. */
#include "jit/emit/core/builder.h"
#include "jit/emit/memory/emit_memory.h"
#include "jit/emit/memory/emit_panel.h"
#include "jit/emit/place/address.h"

#include "base/bits.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"

/* ---- loads ---- */

static LLVMTypeRef vector_type(const emitter *e, int words) {
  return words > 1 ? LLVMVectorType(e->i32, (unsigned)words) : e->i32;
}

/* Elements of a vector that memory has in part, or that bounds part: those inside. */
static void load_inside(emitter *e, const plan_value *value, const panel_vector *vector,
                        LLVMValueRef pointer, LLVMValueRef *words) {
  int bits = value->bits, per = 32 / bits;
  for (int j = 0; j < 1 << e->kernel->panel.vector; j++) {
    LLVMValueRef zero = emit_i32(e, 0), byte = emit_i64(e, (int64_t)j * bits / 8);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder),
                      next = emit_open_guard(e, panel_inside(e, vector, 0, j));
    LLVMBasicBlockRef body = LLVMGetInsertBlock(e->builder);
    LLVMValueRef part =
        LLVMBuildLoad2(e->builder, emit_int_type(e, bits), panel_byte(e, pointer, byte), "");
    LLVMSetAlignment(part, (unsigned)bits / 8);
    part = LLVMBuildShl(e->builder, LLVMBuildZExt(e->builder, part, e->i32, ""),
                        emit_i32(e, j % per * bits), "");
    emit_close_guard(e, next);
    if (next) {
      LLVMValueRef phi = LLVMBuildPhi(e->builder, e->i32, "");
      LLVMAddIncoming(phi, &part, &body, 1);
      LLVMAddIncoming(phi, &zero, &before, 1);
      part = phi;
    }
    words[j / per] = j % per ? LLVMBuildOr(e->builder, words[j / per], part, "") : part;
  }
}

static void join(emitter *e, LLVMValueRef *words, int n, LLVMBasicBlockRef from,
                 LLVMValueRef *other, LLVMBasicBlockRef beside) {
  for (int k = 0; k < n; k++) {
    LLVMValueRef phi = LLVMBuildPhi(e->builder, e->i32, "");
    LLVMAddIncoming(phi, &words[k], &from, 1);
    LLVMAddIncoming(phi, &other[k], &beside, 1);
    words[k] = phi;
  }
}

/* Whole where memory has all of it, whatever bounds say of elements behind the first. */
static void load_vector(emitter *e, const plan_value *value, emit_place *place, LLVMValueRef *out,
                        uint64_t index) {
  int n = (value->bits << e->kernel->panel.vector) / 32;
  LLVMValueRef whole[4], parts[4], none[4];
  panel_vector vector;
  panel_vector_of(e, value, index, &vector);
  for (int k = 0; k < n; k++) none[k] = emit_i32(e, 0);
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder);
  LLVMBasicBlockRef next =
      emit_open_guard(e, emit_and(e, panel_inside(e, &vector, 0, 0), vector.there));
  LLVMValueRef pointer =
      emit_pointer(e, place, f2_apply(plan_value_columns(value, PLAN_REGISTER), index));
  LLVMValueRef behind =
      emit_add(e, LLVMBuildPtrToInt(e->builder, pointer, e->i64, ""), emit_i64(e, 4 * n));
  LLVMValueRef has =
      LLVMBuildICmp(e->builder, LLVMIntULE, behind, emit_number(e, &e->kernel->panel.end), "");
  LLVMBasicBlockRef all = emit_new_block(e, "whole"), some = emit_new_block(e, "in_part");
  LLVMBasicBlockRef done = emit_new_block(e, "loaded");
  LLVMBuildCondBr(e->builder, has, all, some);
  LLVMPositionBuilderAtEnd(e->builder, all);
  LLVMValueRef loaded = LLVMBuildLoad2(e->builder, vector_type(e, n), pointer, "");
  LLVMSetAlignment(loaded, (unsigned)(4 * n));
  for (int k = 0; k < n; k++)
    whole[k] = n > 1 ? LLVMBuildExtractElement(e->builder, loaded, emit_i32(e, k), "") : loaded;
  LLVMBuildBr(e->builder, done);
  LLVMPositionBuilderAtEnd(e->builder, some);
  load_inside(e, value, &vector, pointer, parts);
  LLVMBasicBlockRef end = LLVMGetInsertBlock(e->builder);
  LLVMBuildBr(e->builder, done);
  LLVMPositionBuilderAtEnd(e->builder, done);
  join(e, whole, n, all, parts, end);
  LLVMBasicBlockRef body = LLVMGetInsertBlock(e->builder);
  emit_close_guard(e, next);
  join(e, whole, n, body, none, before);
  for (int k = 0; k < n; k++) out[(index >> value->word) + (uint64_t)k] = whole[k];
}

void emit_load_vectors(emitter *e, const plan_step *step) {
  const plan_value *value = &e->kernel->value[step->out];
  uint64_t registers = 1ull << plan_value_bits(value, PLAN_REGISTER);
  emit_place place;
  emit_place_tensor(e, value, 0, &place);
  panel_range at;
  panel_range_of(e, &at);
  for (uint64_t i = 0; i < registers; i += 1ull << e->kernel->panel.vector)
    load_vector(e, value, &place, e->value[step->out], i);
}

/* ---- stores ---- */

static void store_vector(emitter *e, const plan_value *value, LLVMValueRef *words, uint64_t index) {
  int bits = value->bits, per = 32 / bits;
  panel_vector vector;
  panel_vector_of(e, value, index, &vector);
  LLVMBasicBlockRef next = emit_open_guard(e, vector.there);
  for (int j = 0; j < 1 << e->kernel->panel.vector; j++) {
    LLVMBasicBlockRef then = emit_open_guard(e, panel_inside(e, &vector, PLAN_DESTINATION, j));
    LLVMValueRef part = words[(index + (uint64_t)j) >> value->word];
    part = LLVMBuildLShr(e->builder, part, emit_i32(e, j % per * bits), "");
    part = LLVMBuildTrunc(e->builder, part, emit_int_type(e, bits), "");
    LLVMSetAlignment(LLVMBuildStore(e->builder, part, panel_element(e, &vector, j)),
                     (unsigned)bits / 8);
    emit_close_guard(e, then);
  }
  emit_close_guard(e, next);
}

void emit_store_apart(emitter *e, const plan_step *step) {
  const plan_value *value = &e->kernel->value[step->in];
  uint64_t registers = 1ull << plan_value_bits(value, PLAN_REGISTER);
  for (uint64_t i = 0; i < registers; i += 1ull << e->kernel->panel.vector)
    store_vector(e, value, e->value[step->in], i);
}

/* ---- to memory ---- */

/* From shared memory to where it belongs, under a condition. */
static void copy_out(emitter *e, const panel_range *s, LLVMTypeRef type, LLVMValueRef address,
                     LLVMValueRef condition, int bytes) {
  LLVMBasicBlockRef next = emit_open_guard(e, condition);
  LLVMValueRef from = panel_byte(e, s->shared, LLVMBuildSub(e->builder, address, s->first, ""));
  LLVMValueRef moved = LLVMBuildLoad2(e->builder, type, from, "");
  LLVMSetAlignment(moved, (unsigned)bytes);
  LLVMSetAlignment(LLVMBuildStore(e->builder, moved, e->ops->global(e, address)), (unsigned)bytes);
  emit_close_guard(e, next);
}

/* The elements of begin .. end, fewer than a vector has, one by each thread. */
static void copy_elements(emitter *e, const panel_range *s, LLVMValueRef thread, LLVMValueRef begin,
                          LLVMValueRef end) {
  int width = e->kernel->tensor_bits[1] / 8;
  LLVMValueRef at = emit_add(e, begin, LLVMBuildMul(e->builder, thread, emit_i64(e, width), ""));
  copy_out(e, s, emit_int_type(e, 8 * width), at,
           LLVMBuildICmp(e->builder, LLVMIntULT, at, end, ""), width);
}

void emit_copy_apart(emitter *e) {
  int unit = 1 << e->kernel->panel.unit;
  int64_t bytes = e->kernel->panel.elements * e->kernel->tensor_bits[1] / 8;
  int64_t each = (int64_t)unit * e->kernel->launch.threads;
  LLVMTypeRef type = LLVMVectorType(e->i32, (unsigned)unit / 4);
  LLVMValueRef thread = emit_thread_index(e);
  panel_range s;
  panel_range_of(e, &s);
  copy_elements(e, &s, thread, s.begin, emit_smaller(e, s.first, s.end));
  copy_elements(e, &s, thread, emit_larger(e, s.last, s.first), s.end);
  LLVMValueRef own = emit_add(e, s.first, LLVMBuildMul(e->builder, thread, emit_i64(e, unit), ""));
  for (int64_t at = 0; at < bytes; at += each) {
    LLVMValueRef here = emit_add(e, own, emit_i64(e, at));
    copy_out(e, &s, type, here, LLVMBuildICmp(e->builder, LLVMIntULT, here, s.last, ""), unit);
  }
}
