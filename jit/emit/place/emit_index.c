/* Indices: values are loaded, checked, and split into what they add to an address. Must agree with
 * jit/plan/facts/index_eval.c. A value that is the same for a whole block is loaded once, at its
 * start. */
#include "jit/emit/core/builder.h"
#include "jit/emit/place/address.h"
#include "jit/emit/place/index.h"

#include "base/bits.h"
#include "jit/plan/facts/index_eval.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"

#include <string.h>

/* ---- values ---- */

/* a where `condition` holds, else b. */
static LLVMValueRef choose(const emitter *e, LLVMIntPredicate predicate, LLVMValueRef a,
                           LLVMValueRef b) {
  LLVMValueRef condition = LLVMBuildICmp(e->builder, predicate, a, b, "");
  return LLVMBuildSelect(e->builder, condition, a, b, "");
}

/* Whether blocks that come here are inside the bounds of an axis. */
static bool is_interior(const emitter *e, int axis) {
  bool interior = e->interior;
  for (int i = 0; i < e->kernel->n_bounds; i++)
    interior &= !(e->interior_but >> i & 1) || e->kernel->bound[i].axis != axis;
  return interior;
}

/* Whether every coordinate along an axis that the thread computes is one of the shape's. */
static bool is_inside(const emitter *e, int axis) {
  return is_interior(e, axis) || !plan_overhangs(e->kernel, axis);
}

/* The coordinate along an axis at `tile`: that at tile coordinate 0 and, where the two do not meet,
 * what `tile` adds, as *known. */
static LLVMValueRef split_coordinate(emitter *e, const plan_value *value, int axis, uint64_t tile,
                                     int64_t *known) {
  *known = 0;
  for (int i = 0; i < e->kernel->n_digits && !e->kernel->flat; i++) {
    if (e->kernel->digit[i].axis != axis) continue;
    int64_t position = emit_position_known(e, value, i, tile);
    if (position < 0) {
      *known = 0;
      return emit_coordinate(e, value, axis, tile);
    }
    *known += position * e->kernel->digit[i].step;
  }
  return emit_coordinate(e, value, axis, e->kernel->flat ? tile : 0);
}

/* Where a value lies, in values: `common` plus `own`, of which the threads' addresses share the
 * first. */
typedef struct value_place {
  LLVMValueRef common, own; /* i64 */
  LLVMValueRef beyond;      /* i1: there is none; NULL: never */
} value_place;

/* The place of the value that tile coordinate `tile` XOR what the thread adds selects. Beyond the
 * shape, where masked paths and pads are, there is none: the last of the axis stands in. */
static value_place find_value(emitter *e, const plan_index *index, const plan_value *value,
                              uint64_t tile) {
  value_place at = {emit_i64(e, 0), emit_i64(e, 0), NULL};
  for (int axis = 0; axis < LLRT_MAX_RANK; axis++) {
    int64_t known = 0;
    LLVMValueRef x, stride = emit_number(e, &index->stride[axis]);
    if (!(index->axes >> axis & 1)) continue;
    bool of_experts = e->kernel->experts.used && axis == e->kernel->experts.axis;
    if (is_inside(e, axis)) {
      x = split_coordinate(e, value, axis, tile, &known);
    } else {
      x = emit_coordinate(e, value, axis, tile);
      LLVMValueRef limit = of_experts ? e->extent[axis] : emit_number(e, &index->limit[axis]);
      LLVMValueRef end = e->extent[axis] ? e->extent[axis] : limit;
      LLVMValueRef past = LLVMBuildICmp(e->builder, LLVMIntUGE, x, end, "");
      at.beyond = at.beyond ? LLVMBuildOr(e->builder, at.beyond, past, "") : past;
      x = choose(e, LLVMIntULT, x, LLVMBuildSub(e->builder, limit, emit_i64(e, 1), ""));
    }
    if (of_experts) x = LLVMBuildAdd(e->builder, x, e->experts.first, "");
    x = LLVMBuildMul(e->builder, x, stride, "");
    at.common = LLVMBuildAdd(e->builder, at.common, x, "");
    x = LLVMBuildMul(e->builder, emit_i64(e, known), stride, "");
    at.own = LLVMBuildAdd(e->builder, at.own, x, "");
  }
  return at;
}

/* Loads n consecutive values, a power of two. */
static void load_values(emitter *e, const plan_index *index, const value_place *at, int n,
                        LLVMValueRef *values) {
  LLVMTypeRef unit = index->wide ? e->i64 : e->i32;
  LLVMTypeRef type = n > 1 ? LLVMVectorType(unit, (unsigned)n) : unit;
  LLVMValueRef place = e->ops->global(e, emit_number(e, &index->data)),
               parts[] = {at->common, at->own};
  for (int i = 0; i < 2; i++) place = LLVMBuildGEP2(e->builder, unit, place, &parts[i], 1, "");
  LLVMValueRef loaded = LLVMBuildLoad2(e->builder, type, place, "");
  LLVMSetAlignment(loaded, (index->wide ? 8u : 4u) * (unsigned)n);
  for (int i = 0; i < n; i++) {
    values[i] = n > 1 ? LLVMBuildExtractElement(e->builder, loaded, emit_i32(e, i), "") : loaded;
    values[i] = LLVMBuildSExt(e->builder, values[i], e->i64, "");
  }
}

/* A value taken into range where the index asks for that, and whether it is there. */
static emit_index_value check_value(emitter *e, const plan_index *index, LLVMValueRef value,
                                    LLVMValueRef beyond) {
  LLVMValueRef zero = emit_i64(e, 0), extent = emit_number(e, &index->extent);
  emit_index_value read = {.value = value};
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

/* The value that tile coordinate `tile` XOR what the thread adds selects. */
static emit_index_value read_value(emitter *e, const plan_index *index, const plan_value *value,
                                   uint64_t tile) {
  LLVMValueRef loaded;
  value_place at = find_value(e, index, value, tile);
  load_values(e, index, &at, 1, &loaded);
  return check_value(e, index, loaded, at.beyond);
}

LLVMValueRef emit_raw_value(emitter *e, const plan_index *index, const plan_value *value,
                            uint64_t tile) {
  LLVMValueRef loaded;
  value_place at = find_value(e, index, value, tile);
  load_values(e, index, &at, 1, &loaded);
  return loaded;
}

/* The same for an access at a place: neighbouring values that the thread needs are loaded together.
 */
static emit_index_value read_grouped(emitter *e, int number, emit_place *place, uint64_t tile) {
  const plan_index *index = &e->kernel->index[number];
  const plan_value *value = place->value;
  int position[LLRT_MAX_BITS], inside = 0;
  bool interior = e->interior;
  for (int axis = 0; axis < LLRT_MAX_RANK; axis++)
    interior &= !(index->axes >> axis & 1) || is_interior(e, axis);
  int vector = !place->following && (interior || e->kernel->n_bounds == 0)
                   ? plan_index_vector(e->kernel, index, value, position)
                   : 0;
  uint64_t first = tile, selecting = plan_axes_bits(e->kernel, index->axes);
  for (int j = 0; j < vector; j++) {
    uint64_t step = plan_value_columns(value, PLAN_REGISTER)[position[j]];
    uint64_t moved = f2_apply(e->kernel->space.column, step);
    if (!(f2_apply(e->kernel->space.column, tile) & moved)) continue;
    first ^= step;
    inside |= 1 << j;
  }
  uint64_t key = f2_apply(e->kernel->space.column, first) & selecting;
  emit_index_group *group = NULL;
  for (int i = 0; i < bits_min(place->n_groups, EMIT_MAX_SPOTS) && !group; i++)
    if (place->group[i].index == number && place->group[i].key == key) group = &place->group[i];
  if (vector == 0 || e->kernel->flat) return read_value(e, index, value, tile);
  if (!group) {
    group = &place->group[place->n_groups++ % EMIT_MAX_SPOTS];
    *group = (emit_index_group){.index = number, .key = key};
    value_place at = find_value(e, index, value, first);
    load_values(e, index, &at, 1 << vector, group->value);
  }
  return check_value(e, index, group->value[inside], NULL);
}

/* ---- values that are kept ---- */

static uint64_t kept_key(const emitter *e, int number, uint64_t tile) {
  return f2_apply(e->kernel->space.column, tile) &
         plan_axes_bits(e->kernel, e->kernel->index[number].axes);
}

static bool find_kept(const emitter *e, int number, uint64_t tile, emit_index_value *read) {
  const uint64_t key = e->kept.n > 0 ? kept_key(e, number, tile) : 0;
  for (int i = 0; i < e->kept.n; i++) {
    if (e->kept.value[i].index != number || e->kept.value[i].part != e->kept.part ||
        e->kept.value[i].key != key)
      continue;
    *read = e->kept.value[i].read;
    return true;
  }
  return false;
}

/* Whether turns of the walk choose values of the index. */
static bool is_walked(const plan_kernel *kernel, const plan_index *index) {
  bool walked = false;
  for (int i = 0; i < kernel->walk.n_places; i++) {
    const int digit = kernel->walk.place[i].digit,
              axis = digit < 0 ? -1 : kernel->digit[digit].axis;
    walked |= axis < 0 || index->axes >> axis & 1;
  }
  return walked;
}

static bool is_keepable(const plan_kernel *kernel, const plan_index *index, int tensor) {
  return index->tensor == tensor && !index->uniform && !is_walked(kernel, index);
}

/* Bounds of the axes along which values differ. */
static uint32_t bounds_of_values(const plan_kernel *kernel, const plan_index *index) {
  uint32_t bounds = 0;
  for (int i = 0; i < kernel->n_bounds; i++)
    if (kernel->bound[i].axis >= 0 && index->axes >> kernel->bound[i].axis & 1) bounds |= 1u << i;
  return bounds;
}

uint32_t emit_kept_bounds(const emitter *e, const emit_place *place, uint64_t tile) {
  uint32_t bounds = 0;
  emit_index_value read;
  for (int i = 0; i < e->kernel->n_indices; i++)
    if (is_keepable(e->kernel, &e->kernel->index[i], place->tensor) && find_kept(e, i, tile, &read))
      bounds |= bounds_of_values(e->kernel, &e->kernel->index[i]);
  return bounds;
}

/* Values of what is outside of these bounds count as none. */
static emit_index_value read_inside(emitter *e, const plan_index *index, const emit_place *place,
                                    uint64_t tile) {
  const uint32_t ignored = e->ignored_bounds;
  emit_index_value read = read_value(e, index, place->value, tile);
  e->ignored_bounds = ~bounds_of_values(e->kernel, index);
  LLVMValueRef inside = emit_inside(e, place, tile);
  e->ignored_bounds = ignored;
  if (inside) read.valid = emit_and(e, read.valid, inside);
  return read;
}

void emit_keep_values(emitter *e, const emit_place *place, uint64_t tile) {
  for (int i = 0; i < e->kernel->n_indices; i++) {
    const plan_index *index = &e->kernel->index[i];
    emit_index_value read;
    if (!is_keepable(e->kernel, index, place->tensor) || e->kept.n == EMIT_MAX_KEPT ||
        find_kept(e, i, tile, &read))
      continue;
    read = read_inside(e, index, place, tile);
    const int n = e->kept.n++;
    e->kept.value[n].index = i;
    e->kept.value[n].part = e->kept.part;
    e->kept.value[n].key = kept_key(e, i, tile);
    e->kept.value[n].read = read;
  }
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
    if (!kernel->experts.used || axis != kernel->experts.axis)
      e->extent[axis] = kernel->extent[axis].used ? load_extent(e, &kernel->extent[axis]) : NULL;
  plan_value still =
      kernel->value[0]; /* what no thread moves: of a flat kernel the block's first */
  if (kernel->flat) memset(still.layout.column, 0, sizeof still.layout.column);
  for (int i = 0; i < kernel->n_indices; i++)
    if (kernel->index[i].uniform) e->index[i] = read_value(e, &kernel->index[i], &still, 0);
}

LLVMValueRef emit_present(emitter *e) {
  LLVMValueRef present = NULL;
  for (int i = 0; i < e->kernel->n_bounds; i++) {
    const plan_bound *bound = &e->kernel->bound[i];
    if (!bound->device || !(bound->tensors >> PLAN_DESTINATION & 1)) continue;
    LLVMValueRef first =
        LLVMBuildMul(e->builder, e->upper[bound->top], emit_i64(e, bound->covered), "");
    LLVMValueRef inside =
        LLVMBuildICmp(e->builder, LLVMIntULT, first, emit_bound_limit(e, bound), "");
    present = emit_and(e, present, inside);
  }
  for (int i = 0; i < e->kernel->n_indices; i++)
    if (plan_ends_block(&e->kernel->index[i])) present = emit_and(e, present, e->index[i].valid);
  return present;
}

/* ---- what values add ---- */

static void add_parts(emitter *e, const plan_index *index, LLVMValueRef value,
                      emit_index_terms *terms) {
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

void emit_index_terms_at(emitter *e, emit_place *place, uint64_t tile, emit_index_terms *terms) {
  *terms = (emit_index_terms){.columns = emit_i64(e, 0), .sum = emit_i64(e, 0)};
  for (int i = 0; i < e->kernel->n_indices; i++) {
    const plan_index *index = &e->kernel->index[i];
    if (index->tensor != place->tensor) continue;
    emit_index_value read;
    if (index->uniform) read = e->index[i];
    else if (!find_kept(e, i, tile, &read)) read = read_grouped(e, i, place, tile);
    terms->value = read.value;
    bool leaves_out = plan_leaves_out(index);
    bool settled = plan_ends_block(index); /* by PLAN_IF_PRESENT */
    if (read.valid && !settled) terms->valid = emit_and(e, terms->valid, read.valid);
    if (read.valid && !settled && leaves_out) terms->kept = emit_and(e, terms->kept, read.valid);
    if (index->kind == LLRT_INDEX_POINTER) terms->base = e->ops->global(e, read.value);
    else add_parts(e, index, read.value, terms);
  }
}

/* ---- reports ---- */

static bool has_bound(const plan_kernel *kernel, int tensor, int axis) {
  bool has = false;
  for (int i = 0; i < kernel->n_bounds; i++)
    has |= kernel->bound[i].tensors >> tensor & 1 && kernel->bound[i].axis == axis;
  return has;
}

/* i1: whether the axes that the tensor lacks, and that have counts in device memory, have a
 * position: else there are no elements. NULL: always. */
static LLVMValueRef has_elements(emitter *e, int tensor) {
  LLVMValueRef all = NULL, zero = emit_i64(e, 0);
  for (int axis = 0; axis < LLRT_MAX_RANK; axis++)
    if (e->kernel->extent[axis].used && !has_bound(e->kernel, tensor, axis))
      all = emit_and(e, all, LLVMBuildICmp(e->builder, LLVMIntSGT, e->extent[axis], zero, ""));
  return all;
}

/* i1: whether the element at `tile` is the one where the index's value is counted: it is one of the
 * tensor's, so that digits which overhang their extents give no coordinate twice, every other
 * coordinate is 0, and there are elements. NULL: always. */
static LLVMValueRef counts(emitter *e, const plan_index *index, const plan_value *value,
                           uint64_t tile) {
  emit_place place = {.value = value, .tensor = index->tensor};
  LLVMValueRef inside = emit_inside(e, &place, tile), all = NULL;
  for (int i = 0; i < e->kernel->n_digits; i++) {
    int axis = e->kernel->digit[i].axis;
    if (axis >= 0 && index->axes >> axis & 1) continue;
    LLVMValueRef position = emit_position(e, value, i, tile);
    all = all ? LLVMBuildOr(e->builder, all, position, "") : position;
  }
  if (all) all = LLVMBuildICmp(e->builder, LLVMIntEQ, all, emit_i64(e, 0), "");
  return emit_and(e, has_elements(e, index->tensor), emit_and(e, inside, all));
}

/* Counts the value that tile coordinate `tile` XOR what the thread adds selects. */
static void report_element(emitter *e, const plan_index *index, const plan_value *value,
                           uint64_t tile) {
  LLVMBasicBlockRef counted = emit_open_guard(e, counts(e, index, value, tile));
  emit_index_value read = read_value(e, index, value, tile);
  LLVMBasicBlockRef bad = emit_open_guard(e, LLVMBuildNot(e->builder, read.valid, ""));
  LLVMBuildAtomicRMW(e->builder, LLVMAtomicRMWBinOpAdd,
                     e->ops->global(e, emit_number(e, &index->report)), emit_i32(e, 1),
                     LLVMAtomicOrderingMonotonic, false);
  emit_close_guard(e, bad);
  emit_close_guard(e, counted);
}

/* Whether lane l of the host is the first of those that hold its element. */
static bool is_first_lane(const plan_value *value, uint64_t l) {
  for (int i = 0; i < plan_value_bits(value, PLAN_LANE); i++)
    if (l >> i & 1 && plan_value_columns(value, PLAN_LANE)[i] == 0) return false;
  return true;
}

void emit_report_step(emitter *e, const plan_step *step) {
  const plan_index *index = &e->kernel->index[step->index];
  const plan_value *value = &e->kernel->value[step->in];
  uint64_t lanes = emit_is_host(e) ? 1ull << plan_value_bits(value, PLAN_LANE)
                                   : 1; /* of a GPU each is a thread */
  LLVMBasicBlockRef next = emit_open_guard(e, emit_is_first_copy(e, value));
  for (uint64_t r = 0; r < 1ull << plan_value_bits(value, PLAN_REGISTER); r++)
    for (uint64_t l = 0; l < lanes; l++)
      if (is_first_lane(value, l))
        report_element(e, index, value,
                       f2_apply(plan_value_columns(value, PLAN_REGISTER), r) ^
                           f2_apply(plan_value_columns(value, PLAN_LANE), l));
  emit_close_guard(e, next);
}
