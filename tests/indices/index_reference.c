/* What a conversion with indices and counts must leave, straight from its definition. */
#include "index_cases.h"

#include "../storage_walk.h"

#include <string.h>

typedef struct found {
  int64_t offset;
  bool valid, kept;
} found;

static bool leaves_out(const llrt_index *index) {
  return index->out_of_range == LLRT_RANGE_SKIP || index->out_of_range == LLRT_RANGE_REPORT;
}

/* The value, clamped where the index does; whether it is in range. */
static bool read_value(const index_case *of, const index_side *side, int i, const int64_t *coords,
                       int64_t *value) {
  const llrt_index *index = &side->index[i];
  int64_t end = index->kind == LLRT_INDEX_POINTER ? side->layers : index->extent;
  *value = side->values[i][index_value_place(index, of->rank, coords)];
  if (index->out_of_range == LLRT_RANGE_CLAMP) {
    if (*value < 0) *value = 0;
    if (*value >= end) *value = end - 1;
  }
  return *value >= 0 && *value < end;
}

static found find(const index_case *of, const index_side *side, const int64_t *coords) {
  int64_t seen[LLRT_MAX_RANK], layer = 0, value;
  found at = {.valid = true, .kept = true};
  memcpy(seen, coords, sizeof seen);
  for (int i = 0; i < side->n_indices; i++) {
    const llrt_index *index = &side->index[i];
    for (int axis = 0; axis < of->rank; axis++)
      if (index->folded >> axis & 1) seen[axis] = 0;
    if (!read_value(of, side, i, coords, &value)) {
      at.valid = false;
      at.kept &= !leaves_out(index);
    } else if (index->kind == LLRT_INDEX_POINTER) {
      layer = value;
      seen[index->axis] = 0;
    } else {
      seen[index->axis] = value;
    }
  }
  if (at.valid)
    at.offset = layer * side->pitch + llrt_storage_offset(&side->storage, &side->binding, seen);
  return at;
}

static void count_reports(const index_case *of, const int64_t *coords,
                          int32_t reports[2][LLRT_MAX_INDICES]) {
  for (int s = 0; s < 2; s++)
    for (int i = 0; i < of->side[s].n_indices; i++) {
      const llrt_index *index = &of->side[s].index[i];
      bool counts = index->out_of_range == LLRT_RANGE_REPORT;
      int64_t value;
      for (int axis = 0; axis < of->rank; axis++)
        counts &= coords[axis] == 0 || (index->axes >> axis & 1);
      if (counts && !read_value(of, &of->side[s], i, coords, &value)) reports[s][i]++;
    }
}

/* The elements that there are along an axis, and those that the destination has places for: with
 * the pads behind a count. */
static int64_t end_of(const index_case *of, int axis) {
  int64_t count = of->count[axis], shape = of->shape[axis];
  if (!(of->counted >> axis & 1) || count > shape) return shape;
  return count < 0 ? 0 : count;
}

static int64_t padded_end(const index_case *of, int axis) {
  const llrt_storage *storage = &of->side[1].storage;
  int64_t unit = storage->tile.n_out ? (int64_t)1 << storage->tile.out[axis].bits : 1;
  for (int i = 0; i < storage->n_digits; i++)
    if (storage->digit[i].axis == axis && storage->digit[i].extent != LLRT_EXTENT_REST)
      unit *= storage->digit[i].extent;
  return (end_of(of, axis) + unit - 1) / unit * unit;
}

static void store_element(const index_case *of, const void *source, const found *from, char *into) {
  size_t size = (size_t)llrt_dtype_bits(of->dtype) / 8;
  if (from->valid) memcpy(into, (const char *)source + (size_t)from->offset * size, size);
  else memset(into, 0, size);
}

/* A pad along an axis where an index has no values, in a row that another value leaves out, stays
 * as it is. */
static bool keeps_pad(const index_case *of, const int64_t *coords) {
  for (int i = 0; i < of->side[0].n_indices; i++) {
    const llrt_index *index = &of->side[0].index[i];
    bool there = leaves_out(index);
    int64_t value;
    for (int axis = 0; axis < of->rank; axis++)
      there &= !(index->axes >> axis & 1) || coords[axis] < end_of(of, axis);
    if (there && !read_value(of, &of->side[0], i, coords, &value)) return true;
  }
  return false;
}

/* Every place of a destination without indices: copies of elements, and pads. */
static void store_places(const index_case *of, const void *source, char *destination) {
  const llrt_storage *storage = &of->side[1].storage;
  size_t size = (size_t)llrt_dtype_bits(of->dtype) / 8;
  uint64_t pad[2] = {storage->pad_value, 0};
  storage_walk walk;
  storage_walk_begin(&walk, storage, &of->side[1].binding);
  do {
    bool element = true, written = true;
    for (int axis = 0; axis < of->rank; axis++) {
      element &= walk.coords[axis] < end_of(of, axis);
      written &= walk.coords[axis] < padded_end(of, axis);
    }
    char *into = destination + (size_t)walk.place * size;
    if (element) {
      found from = find(of, &of->side[0], walk.coords);
      if (from.kept) store_element(of, source, &from, into);
    } else if (written && storage->pad == LLRT_PAD_VALUE && !keeps_pad(of, walk.coords)) {
      memcpy(into, pad, size);
    }
  } while (storage_walk_next(&walk));
}

/* Of a destination with indices the elements alone. */
static void scatter_elements(const index_case *of, const void *source, char *destination,
                             const int64_t *ends) {
  size_t size = (size_t)llrt_dtype_bits(of->dtype) / 8;
  int64_t coords[LLRT_MAX_RANK] = {0};
  do {
    found from = find(of, &of->side[0], coords), to = find(of, &of->side[1], coords);
    if (from.kept && to.valid)
      store_element(of, source, &from, destination + (size_t)to.offset * size);
  } while (index_next_coordinate(ends, of->rank, coords));
}

void index_case_reference(const index_case *of, const void *source, void *destination,
                          int32_t reports[2][LLRT_MAX_INDICES]) {
  int64_t coords[LLRT_MAX_RANK] = {0}, ends[LLRT_MAX_RANK] = {0};
  memset(reports, 0, 2 * LLRT_MAX_INDICES * sizeof(int32_t));
  for (int axis = 0; axis < of->rank; axis++)
    if ((ends[axis] = end_of(of, axis)) == 0) return;
  do count_reports(of, coords, reports);
  while (index_next_coordinate(ends, of->rank, coords));
  if (of->side[1].n_indices) scatter_elements(of, source, destination, ends);
  else store_places(of, source, destination);
}
