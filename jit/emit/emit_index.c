/* Indices: values are loaded, checked, and split into what they add to an address. Must agree with
 * jit/plan/index_eval.c. A value that is the same for a whole block is loaded once, at its start. */
#include "jit/emit/builder.h"

#include "base/bits.h"
#include "jit/plan/eval.h"

/* ---- values ---- */

/* a where `condition` holds, else b. */
static LLVMValueRef choose(const emitter *e, LLVMIntPredicate predicate, LLVMValueRef a,
                           LLVMValueRef b) {
  LLVMValueRef condition = LLVMBuildICmp(e->builder, predicate, a, b, "");
  return LLVMBuildSelect(e->builder, condition, a, b, "");
}

/* Where the value lies that tile coordinate `tile` XOR what the thread adds selects, in values. Beyond the
 * shape, where masked paths and pads are, there is none: the last of the axis stands in, and *beyond says
 * so; NULL: never. */
static LLVMValueRef value_place(emitter *e, const plan_index *index, const plan_value *value,
                                uint64_t tile, LLVMValueRef *beyond) {
  LLVMValueRef at = emit_i64(e, 0);
  *beyond = NULL;
  for (int axis = 0; axis < LLRT_MAX_RANK; axis++) {
    if (!(index->axes >> axis & 1)) continue;
    LLVMValueRef x = emit_coordinate(e, value, axis, tile);
    if (plan_overhangs(e->kernel, axis)) {
      LLVMValueRef limit = emit_number(e, &index->limit[axis]);
      LLVMValueRef end = e->extent[axis] ? e->extent[axis] : limit;
      LLVMValueRef past = LLVMBuildICmp(e->builder, LLVMIntUGE, x, end, "");
      *beyond = *beyond ? LLVMBuildOr(e->builder, *beyond, past, "") : past;
      x = choose(e, LLVMIntULT, x, LLVMBuildSub(e->builder, limit, emit_i64(e, 1), ""));
    }
    x = LLVMBuildMul(e->builder, x, emit_number(e, &index->stride[axis]), "");
    at = LLVMBuildAdd(e->builder, at, x, "");
  }
  return at;
}

static LLVMValueRef load_value(emitter *e, const plan_index *index, LLVMValueRef at) {
  LLVMTypeRef type = index->wide ? e->i64 : e->i32;
  LLVMValueRef base = e->ops->global(e, emit_number(e, &index->data));
  LLVMValueRef place = LLVMBuildGEP2(e->builder, type, base, &at, 1, "");
  LLVMValueRef loaded = LLVMBuildLoad2(e->builder, type, place, "");
  LLVMSetAlignment(loaded, index->wide ? 8 : 4);
  return LLVMBuildSExt(e->builder, loaded, e->i64, "");
}

/* The value that tile coordinate `tile` XOR what the thread adds selects, clamped where asked to, and
 * whether it is in range. */
static emit_index_value read_value(emitter *e, const plan_index *index, const plan_value *value,
                                   uint64_t tile) {
  LLVMValueRef zero = emit_i64(e, 0), extent = emit_number(e, &index->extent), beyond;
  LLVMValueRef at = value_place(e, index, value, tile, &beyond);
  emit_index_value read = {.value = load_value(e, index, at)};
  if (index->kind == LLRT_INDEX_POINTER) {
    read.valid = LLVMBuildICmp(e->builder, LLVMIntSGT, read.value, zero, "");
  } else if (index->out_of_range == LLRT_RANGE_CLAMP) {
    LLVMValueRef last = LLVMBuildSub(e->builder, extent, emit_i64(e, 1), "");
    read.value = choose(e, LLVMIntSGT, read.value, zero);
    read.value = choose(e, LLVMIntSLT, read.value, last);
  } else {
    read.valid = LLVMBuildICmp(e->builder, LLVMIntULT, read.value, extent, "");
  }
  if (read.valid && beyond) read.valid = LLVMBuildOr(e->builder, read.valid, beyond, "");
  return read;
}

/* An int32 of device memory, taken into 0 .. limit. */
static LLVMValueRef load_extent(emitter *e, const plan_device_extent *extent) {
  LLVMValueRef at = e->ops->global(e, emit_number(e, &extent->address));
  LLVMValueRef loaded = LLVMBuildLoad2(e->builder, e->i32, at, "");
  LLVMSetAlignment(loaded, 4);
  loaded = LLVMBuildSExt(e->builder, loaded, e->i64, "");
  loaded = choose(e, LLVMIntSGT, loaded, emit_i64(e, 0));
  return choose(e, LLVMIntSLT, loaded, emit_number(e, &extent->limit));
}

void emit_begin_indices(emitter *e) {
  const plan_kernel *kernel = e->kernel;
  for (int axis = 0; axis < LLRT_MAX_RANK; axis++)
    e->extent[axis] = kernel->extent[axis].used ? load_extent(e, &kernel->extent[axis]) : NULL;
  for (int i = 0; i < kernel->n_indices; i++)
    if (kernel->index[i].uniform)
      e->index[i] = read_value(e, &kernel->index[i], &kernel->value[0], 0);
}

LLVMValueRef emit_present(emitter *e) {
  LLVMValueRef present = NULL;
  for (int i = 0; i < e->kernel->n_bounds; i++) {
    const plan_bound *bound = &e->kernel->bound[i];
    if (!bound->device || !(bound->tensors >> PLAN_DESTINATION & 1)) continue;
    LLVMValueRef first = LLVMBuildMul(e->builder, e->upper[bound->top], emit_i64(e, bound->group), "");
    LLVMValueRef inside =
        LLVMBuildICmp(e->builder, LLVMIntULT, first, emit_bound_limit(e, bound), "");
    present = emit_and(e, present, inside);
  }
  for (int i = 0; i < e->kernel->n_indices; i++)
    if (e->kernel->index[i].uniform && plan_leaves_out(&e->kernel->index[i]))
      present = emit_and(e, present, e->index[i].valid);
  return present;
}

/* ---- what values add ---- */

static void add_parts(emitter *e, const plan_index *index, LLVMValueRef value, emit_index_terms *terms) {
  if (index->tile_bits > 0) {
    LLVMValueRef mask = emit_i64(e, (int64_t)bits_mask(index->tile_bits));
    LLVMValueRef low = LLVMBuildAnd(e->builder, value, mask, "");
    LLVMValueRef columns = emit_linear(e, low, index->column, index->tile_bits);
    terms->columns = LLVMBuildXor(e->builder, terms->columns, columns, "");
    value = LLVMBuildLShr(e->builder, value, emit_i64(e, index->tile_bits), "");
  }
  for (int i = 0; i < index->n_parts; i++) {
    LLVMValueRef place = value;
    if (i + 1 < index->n_parts) {
      LLVMValueRef extent = emit_i64(e, index->part[i].extent);
      place = LLVMBuildURem(e->builder, value, extent, "");
      value = LLVMBuildUDiv(e->builder, value, extent, "");
    }
    place = LLVMBuildMul(e->builder, place, emit_number(e, &index->part[i].stride), "");
    terms->sum = LLVMBuildAdd(e->builder, terms->sum, place, "");
  }
}

void emit_index_terms_at(emitter *e, const plan_value *value, int tensor, uint64_t tile,
                         emit_index_terms *terms) {
  *terms = (emit_index_terms){.columns = emit_i64(e, 0), .sum = emit_i64(e, 0)};
  for (int i = 0; i < e->kernel->n_indices; i++) {
    const plan_index *index = &e->kernel->index[i];
    if (index->tensor != tensor) continue;
    emit_index_value read = index->uniform ? e->index[i] : read_value(e, index, value, tile);
    bool leaves_out = plan_leaves_out(index);
    bool settled = index->uniform && leaves_out; /* by PLAN_IF_PRESENT */
    if (read.valid && !settled) terms->valid = emit_and(e, terms->valid, read.valid);
    if (read.valid && !settled && leaves_out) terms->kept = emit_and(e, terms->kept, read.valid);
    if (index->kind == LLRT_INDEX_POINTER) terms->base = e->ops->global(e, read.value);
    else add_parts(e, index, read.value, terms);
  }
}

/* ---- reports ---- */

/* i1: whether the element at `tile` is the one where the index's value is counted: every other coordinate is
 * 0. NULL: always. */
static LLVMValueRef counts(emitter *e, const plan_index *index, const plan_value *value, uint64_t tile) {
  LLVMValueRef all = NULL;
  for (int i = 0; i < e->kernel->n_digits; i++) {
    int axis = e->kernel->digit[i].axis;
    if (axis >= 0 && index->axes >> axis & 1) continue;
    LLVMValueRef position = emit_position(e, value, i, tile);
    all = all ? LLVMBuildOr(e->builder, all, position, "") : position;
  }
  return all ? LLVMBuildICmp(e->builder, LLVMIntEQ, all, emit_i64(e, 0), "") : NULL;
}

void emit_report_step(emitter *e, const plan_step *step) {
  const plan_index *index = &e->kernel->index[step->index];
  const plan_value *value = &e->kernel->value[step->in];
  LLVMBasicBlockRef next = emit_open_guard(e, emit_is_first_copy(e, value));
  for (uint64_t r = 0; r < 1ull << plan_value_bits(value, PLAN_REGISTER); r++) {
    uint64_t tile = f2_apply(plan_value_columns(value, PLAN_REGISTER), r);
    LLVMBasicBlockRef counted = emit_open_guard(e, counts(e, index, value, tile));
    emit_index_value read = read_value(e, index, value, tile);
    LLVMBasicBlockRef bad = emit_open_guard(e, LLVMBuildNot(e->builder, read.valid, ""));
    LLVMBuildAtomicRMW(e->builder, LLVMAtomicRMWBinOpAdd,
                       e->ops->global(e, emit_number(e, &index->report)), emit_i32(e, 1),
                       LLVMAtomicOrderingMonotonic, false);
    emit_close_guard(e, bad);
    emit_close_guard(e, counted);
  }
  emit_close_guard(e, next);
}
