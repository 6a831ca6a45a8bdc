/* Panels of conversions that are not in place (plan_panel.staged): a block's stretch of one tensor
 * lies in shared memory, as far off a vector as it does in memory, and elements move there one by
 * one. Here: of the source, which comes into shared memory by aligned vectors, and whose elements
 * are made into words by byte permutes. GPU only. */
#include "jit/emit/memory/emit_panel.h"
#include "jit/emit/core/builder.h"
#include "jit/emit/memory/emit_memory.h"

#include "base/bits.h"
#include "jit/plan/facts/value.h"

#define STAGED_AT_ONCE 8 /* accesses of a thread that are under way at once, at most */

/* ---- staging ---- */

typedef struct staging {
  emitter *e;
  LLVMValueRef thread; /* i64 */
  panel_range at;
  int unit, at_once; /* bytes of a vector; how many of them a thread has under way */
} staging;

static LLVMValueRef source_at(const staging *s, LLVMValueRef address) {
  return s->e->ops->global(s->e, address);
}

/* The elements of begin .. end, fewer than a vector has, one by each thread. */
static void copy_elements(staging *s, LLVMValueRef begin, LLVMValueRef end) {
  emitter *e = s->e;
  int width = e->kernel->tensor_bits[0] / 8;
  LLVMValueRef at = emit_add(e, begin, LLVMBuildMul(e->builder, s->thread, emit_i64(e, width), ""));
  LLVMBasicBlockRef next = emit_open_guard(e, LLVMBuildICmp(e->builder, LLVMIntULT, at, end, ""));
  LLVMValueRef element =
      LLVMBuildLoad2(e->builder, emit_int_type(e, 8 * width), source_at(s, at), "");
  LLVMSetAlignment(element, (unsigned)width);
  LLVMValueRef offset = LLVMBuildSub(e->builder, at, s->at.first, "");
  LLVMSetAlignment(LLVMBuildStore(e->builder, element, panel_byte(e, s->at.shared, offset)),
                   (unsigned)width);
  emit_close_guard(e, next);
}

/* The vectors at, at + threads, …: all loads, then all stores. Behind the last the last one is
 * loaded once more, and not stored. */
static void copy_vectors(staging *s, LLVMValueRef at, LLVMValueRef n) {
  emitter *e = s->e;
  LLVMTypeRef type = LLVMVectorType(e->i32, (unsigned)s->unit / 4);
  LLVMValueRef own[STAGED_AT_ONCE], loaded[STAGED_AT_ONCE],
      last = LLVMBuildSub(e->builder, n, emit_i64(e, 1), "");
  for (int i = 0; i < s->at_once; i++) {
    own[i] = emit_add(e, at, emit_i64(e, (int64_t)i * e->kernel->launch.threads));
    LLVMValueRef offset =
        LLVMBuildMul(e->builder, emit_smaller(e, own[i], last), emit_i64(e, s->unit), "");
    loaded[i] =
        LLVMBuildLoad2(e->builder, type, source_at(s, emit_add(e, s->at.first, offset)), "");
    LLVMSetAlignment(loaded[i], (unsigned)s->unit);
  }
  for (int i = 0; i < s->at_once; i++) {
    LLVMBasicBlockRef next =
        emit_open_guard(e, LLVMBuildICmp(e->builder, LLVMIntSLT, own[i], n, ""));
    LLVMValueRef offset = LLVMBuildMul(e->builder, own[i], emit_i64(e, s->unit), "");
    LLVMSetAlignment(LLVMBuildStore(e->builder, loaded[i], panel_byte(e, s->at.shared, offset)),
                     (unsigned)s->unit);
    emit_close_guard(e, next);
  }
}

static void copy_whole(staging *s) {
  emitter *e = s->e;
  LLVMValueRef n = LLVMBuildSub(e->builder, s->at.last, s->at.first, "");
  n = LLVMBuildAShr(e->builder, n, emit_i64(e, e->kernel->panel.unit), "");
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder), test = emit_new_block(e, "stage");
  LLVMBasicBlockRef body = emit_new_block(e, "stage_vectors"), done = emit_new_block(e, "staged");
  LLVMBuildBr(e->builder, test);
  LLVMPositionBuilderAtEnd(e->builder, test);
  LLVMValueRef at = LLVMBuildPhi(e->builder, e->i64, "");
  LLVMBuildCondBr(e->builder, LLVMBuildICmp(e->builder, LLVMIntSLT, at, n, ""), body, done);
  LLVMPositionBuilderAtEnd(e->builder, body);
  copy_vectors(s, at, n);
  LLVMValueRef next = emit_add(e, at, emit_i64(e, (int64_t)s->at_once * e->kernel->launch.threads));
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->builder);
  LLVMBuildBr(e->builder, test);
  LLVMAddIncoming(at, &s->thread, &before, 1);
  LLVMAddIncoming(at, &next, &latch, 1);
  LLVMPositionBuilderAtEnd(e->builder, done);
}

void emit_stage_apart(emitter *e) {
  staging s = {.e = e, .thread = emit_thread_index(e), .unit = 1 << e->kernel->panel.unit};
  int64_t vectors = e->kernel->panel.elements * e->kernel->tensor_bits[0] / 8 / s.unit;
  s.at_once =
      (int)bits_min(STAGED_AT_ONCE, bits_ceil_div(bits_max(vectors, 1), e->kernel->launch.threads));
  panel_range_of(e, &s.at);
  copy_elements(&s, s.at.begin, emit_smaller(e, s.at.first, s.at.end));
  copy_elements(&s, emit_larger(e, s.at.last, s.at.first), s.at.end);
  copy_whole(&s);
}

/* ---- loads ---- */

/* One word of elements that are zero-extended. */
static LLVMValueRef join_elements(emitter *e, LLVMValueRef *part, int bits) {
  static const int bytes[4] = {0, 4, 0, 4}, halves[4] = {0, 1, 4, 5};
  if (bits == 32) return part[0];
  if (bits == 16) return emit_permute(e, part[0], part[1], halves);
  LLVMValueRef low = emit_permute(e, part[0], part[1], bytes),
               high = emit_permute(e, part[2], part[3], bytes);
  return emit_permute(e, low, high, halves);
}

/* The vector at the registers from `index` on. */
static void load_vector(emitter *e, const plan_value *value, LLVMValueRef *words, uint64_t index) {
  int bits = value->bits, per = 32 / bits;
  LLVMValueRef part[4];
  panel_vector vector;
  panel_vector_of(e, value, index, &vector);
  for (int j = 0; j < 1 << e->kernel->panel.vector; j++) {
    LLVMValueRef inside = panel_inside(e, &vector, 0, j);
    LLVMValueRef loaded =
        LLVMBuildLoad2(e->builder, emit_int_type(e, bits), panel_element(e, &vector, j), "");
    LLVMSetAlignment(loaded, (unsigned)bits / 8);
    loaded = LLVMBuildZExt(e->builder, loaded, e->i32, "");
    if (inside) loaded = emit_choose(e, inside, loaded, emit_i32(e, (int64_t)e->kernel->fill));
    part[j % per] = loaded;
    if (j % per == per - 1)
      words[(index + (uint64_t)j) >> value->word] = join_elements(e, part, bits);
  }
}

void emit_load_staged(emitter *e, const plan_step *step) {
  const plan_value *value = &e->kernel->value[step->out];
  uint64_t registers = 1ull << plan_value_bits(value, PLAN_REGISTER);
  for (uint64_t i = 0; i < registers; i += 1ull << e->kernel->panel.vector)
    load_vector(e, value, e->value[step->out], i);
}
