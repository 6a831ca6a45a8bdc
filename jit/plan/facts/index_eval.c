/* What indices add to addresses, on numbers: for the interpreter and the cost count. Emitted code
 * must agree (jit/emit/place/emit_index.c). */
#include "jit/plan/facts/index_eval.h"

#include "base/bits.h"
#include "jit/plan/facts/eval.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"

#include <string.h>

uint64_t plan_axes_bits(const plan_kernel *kernel, unsigned axes) {
  uint64_t bits = 0;
  for (int i = 0; i < kernel->n_digits; i++) {
    const plan_digit *digit = &kernel->digit[i];
    if (digit->axis >= 0 && axes >> digit->axis & 1)
      bits |= bits_mask(digit->bits) << llrt_layout_out_shift(&kernel->space, i);
  }
  return bits;
}

uint64_t plan_selecting_bits(const plan_kernel *kernel, int tensor) {
  unsigned axes = 0;
  for (int i = 0; i < kernel->n_indices; i++)
    if (kernel->index[i].tensor == tensor) axes |= kernel->index[i].axes;
  return plan_axes_bits(kernel, axes);
}

bool plan_leaves_out_all(const plan_index *index) {
  return index->out_of_range == LLRT_RANGE_SKIP || index->out_of_range == LLRT_RANGE_REPORT;
}

bool plan_leaves_out(const plan_index *index) {
  return plan_leaves_out_all(index) || index->out_of_range == PLAN_RANGE_SKIP_ALONE;
}

bool plan_ends_block(const plan_index *index) {
  return index->uniform && plan_leaves_out_all(index);
}

bool plan_overhangs(const plan_kernel *kernel, int axis) {
  bool overhangs = kernel->flat;
  for (int i = 0; i < kernel->n_bounds; i++) {
    const plan_bound *bound = &kernel->bound[i];
    overhangs |= kernel->digit[bound->top].axis == axis;
  }
  return overhangs;
}

int plan_lowest_digit(const plan_kernel *kernel, int axis) {
  for (int i = 0; i < kernel->n_digits; i++)
    if (kernel->digit[i].axis == axis && kernel->digit[i].step == 1) return i;
  return -1;
}

/* The register bit that moves a digit's position by 2^j and nothing else; -1: there is none. */
static int register_of(const plan_kernel *kernel, const plan_value *value, int shift, int j) {
  for (int r = 0; r < plan_value_bits(value, PLAN_REGISTER); r++)
    if (f2_apply(kernel->space.column, plan_value_columns(value, PLAN_REGISTER)[r]) ==
        1ull << (shift + j))
      return r;
  return -1;
}

/* Whether bits beside the vector's registers move a position in a way that parts vectors. */
static bool keeps_aligned(const plan_kernel *kernel, const plan_value *value, uint64_t low,
                          const int *position, int vector) {
  const llrt_layout *space = &kernel->space;
  uint64_t own = 0;
  for (int j = 0; j < vector; j++) own |= 1ull << position[j];
  for (int i = 0; i < llrt_layout_in_bits(&value->layout); i++)
    if (!(i < plan_value_bits(value, PLAN_REGISTER) && own >> i & 1) &&
        f2_apply(space->column, value->layout.column[i]) & low)
      return false;
  for (int i = 0; i < space->in[1].bits; i++)
    if (space->column[space->in[0].bits + i] & low) return false;
  return true;
}

int plan_index_vector(const plan_kernel *kernel, const plan_index *index, const plan_value *value,
                      int position[]) {
  int vector = 0, digit = index->along < 0 ? -1 : plan_lowest_digit(kernel, index->along);
  if (kernel->flat || kernel->target.simd_lanes || digit < 0) return 0;
  int shift = llrt_layout_out_shift(&kernel->space, digit);
  while (vector < bits_min(index->vector, kernel->digit[digit].bits) &&
         (position[vector] = register_of(kernel, value, shift, vector)) >= 0)
    vector++;
  for (int i = 0; i < kernel->n_digits; i++)
    while (i != digit && kernel->digit[i].axis == index->along &&
           kernel->digit[i].step % (1 << vector))
      vector--;
  while (!keeps_aligned(kernel, value, bits_mask(vector) << shift, position, vector)) vector--;
  return vector;
}

int64_t plan_index_place(const plan_kernel *kernel, const plan_index *index,
                         const int64_t position[PLAN_MAX_DIGITS], const uint64_t *args,
                         int64_t unknown) {
  int64_t at = 0;
  for (int axis = 0; axis < LLRT_MAX_RANK; axis++) {
    if (!(index->axes >> axis & 1)) continue;
    int64_t coordinate = plan_coordinate(kernel, axis, position);
    if (coordinate >= plan_number_value(&index->limit[axis], args, INT64_MAX)) return -1;
    if (kernel->extent[axis].used && coordinate >= plan_device_limit(kernel, axis, args)) return -1;
    at += coordinate * plan_number_value(&index->stride[axis], args, unknown);
  }
  return at;
}

/* Adds what a value in range contributes. */
static void split_value(const plan_index *index, int64_t value, const uint64_t *args,
                        int64_t unknown, plan_index_terms *terms) {
  terms->columns ^= f2_apply(index->column, (uint64_t)value & bits_mask(index->tile_bits));
  value >>= index->tile_bits;
  for (int i = 0; i < index->n_parts; i++) {
    bool last = i + 1 == index->n_parts;
    int64_t place = last ? value : value % index->part[i].extent;
    terms->sum += place * plan_number_value(&index->part[i].stride, args, unknown);
    if (!last) value /= index->part[i].extent;
  }
}

static int64_t read_value(const plan_index *index, int64_t at, const uint64_t *args) {
  const unsigned char *data =
      (const unsigned char *)(uintptr_t)plan_number_value(&index->data, args, 0);
  int64_t wide;
  int32_t narrow;
  if (index->wide) {
    memcpy(&wide, data + 8 * at, sizeof wide);
    return wide;
  }
  memcpy(&narrow, data + 4 * at, sizeof narrow);
  return narrow;
}

bool plan_index_value(const plan_kernel *kernel, const plan_index *index,
                      const int64_t position[PLAN_MAX_DIGITS], const uint64_t *args,
                      int64_t *value) {
  int64_t at = plan_index_place(kernel, index, position, args, 0);
  int64_t extent = plan_number_value(&index->extent, args, 0);
  *value = 0;
  if (at < 0) return true;
  *value = read_value(index, at, args);
  if (index->kind == LLRT_INDEX_POINTER) return *value > 0;
  if (index->out_of_range == LLRT_RANGE_CLAMP) {
    if (*value < 0) *value = 0;
    if (*value >= extent) *value = extent - 1;
  }
  return *value >= 0 && *value < extent;
}

void plan_index_terms_at(const plan_kernel *kernel, int tensor,
                         const int64_t position[PLAN_MAX_DIGITS], const uint64_t *args,
                         plan_index_terms *terms) {
  *terms = (plan_index_terms){.valid = true, .kept = true};
  for (int i = 0; i < kernel->n_indices; i++) {
    const plan_index *index = &kernel->index[i];
    int64_t value;
    if (index->tensor != tensor) continue;
    if (!plan_index_value(kernel, index, position, args, &value)) {
      terms->valid = false;
      terms->kept &= !plan_leaves_out(index);
    } else if (index->kind == LLRT_INDEX_POINTER) {
      terms->base = (void *)(uintptr_t)value;
    } else {
      split_value(index, value, args, 0, terms);
    }
  }
}

void plan_index_terms_far(const plan_kernel *kernel, int tensor,
                          const int64_t position[PLAN_MAX_DIGITS], int64_t far,
                          plan_index_terms *terms) {
  *terms = (plan_index_terms){.valid = true, .kept = true};
  for (int i = 0; i < kernel->n_indices; i++)
    if (kernel->index[i].tensor == tensor)
      terms->sum += far * plan_index_place(kernel, &kernel->index[i], position, NULL, 1);
}
