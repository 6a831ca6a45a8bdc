/* Ways to make a conversion smaller. Each has a number; those that change nothing, or no longer
 * suit, are told apart. */
#include "convert_case.h"

#include <string.h>

/* ---- everything beside the storages ---- */

static bool drop_maps(convert_case *of, int which) {
  if (which >= of->n_maps) return false;
  if (of->maps[which].kind == LLRT_MAP_SCALE) of->type[2] = LLRT_DTYPE_NONE;
  memmove(&of->maps[which], &of->maps[which + 1],
          sizeof *of->maps * (size_t)(--of->n_maps - which));
  memset(&of->maps[of->n_maps], 0, sizeof *of->maps);
  return true;
}

static bool drop_index(convert_case *of, int which) {
  if (of->gather) return false;
  int s = which / LLRT_MAX_INDICES, i = which % LLRT_MAX_INDICES;
  if (i >= of->n_indices[s]) return false;
  if (of->index[s][i].index.kind == LLRT_INDEX_POINTER) of->layers[s] = 1;
  memmove(&of->index[s][i], &of->index[s][i + 1],
          sizeof of->index[s][0] * (size_t)(--of->n_indices[s] - i));
  return true;
}

static bool drop_count(convert_case *of, int axis) {
  if (!(of->counted >> axis & 1)) return false;
  of->counted &= ~(1u << axis);
  if (!of->counted) of->count_sides = 0;
  return true;
}

static bool set(int32_t *number, int32_t to) {
  if (*number == to) return false;
  *number = to;
  return true;
}

static bool clear(bool *flag) {
  bool was = *flag;
  *flag = false;
  return was;
}

static bool drop_promise(convert_case *of, int bit) {
  bool was = of->route == ROUTE_PROMISED && of->promised >> bit & 1;
  of->promised &= ~(1u << bit);
  return was;
}

static bool drop_cast(convert_case *of, bool to_source) {
  if (of->type[0] == of->type[1]) return false;
  of->type[to_source ? 1 : 0] = of->type[to_source ? 0 : 1];
  return true;
}

static bool plain_types(convert_case *of) {
  static const llrt_dtype plain[] = {LLRT_U4, LLRT_U8, LLRT_U16, LLRT_U32, LLRT_U64, LLRT_B128};
  if (of->type[0] != of->type[1] || of->type[2]) return false;
  int bits = llrt_dtype_bits(of->type[0]);
  llrt_dtype to = plain[bits == 4    ? 0
                        : bits == 8  ? 1
                        : bits == 16 ? 2
                        : bits == 32 ? 3
                        : bits == 64 ? 4
                                     : 5];
  if (of->type[0] == to) return false;
  of->type[0] = of->type[1] = to;
  return true;
}

static bool plain_index(convert_case *of, int which) {
  int s = which / 4 / LLRT_MAX_INDICES, i = which / 4 % LLRT_MAX_INDICES;
  drawn_index *drawn = &of->index[s][i];
  llrt_index *index = &drawn->index;
  if (i >= of->n_indices[s]) return false;
  switch (which % 4) {
  case 0: return set(&drawn->bad, 0);
  case 1: return set(&index->out_of_range, LLRT_RANGE_SKIP);
  case 2:
    if (of->gather == 1 + LLRT_GATHER_SELECT) return false;
    if (index->axes == 1u << index->axis) return false;
    index->axes = 1u << index->axis;
    index->folded = 0;
    memset(index->strides, 0, sizeof index->strides);
    index->strides[index->axis] = 1;
    return true;
  default:
    if (index->kind == LLRT_INDEX_POINTER || index->extent == of->shape[index->axis]) return false;
    index->extent = of->shape[index->axis];
    return true;
  }
}

/* Way `way` on side s. */
static bool edit_side(convert_case *of, int s, int way) {
  int64_t shape[LLRT_MAX_RANK];
  if (s == 2 && !of->type[2]) return false;
  if (s < 2 && of->has_other[s]) return false; /* the two have to stay one rule */
  convert_seen_shape(of, s, shape);
  return side_edit(&of->side[s], of->rank, shape, way);
}

/* ---- axes ---- */

static uint32_t mask_without(uint32_t mask, int axis) {
  uint32_t low = (1u << axis) - 1;
  return (mask & low) | (mask >> 1 & ~low);
}

static bool drop_axis(convert_case *of, int axis) {
  if (axis >= of->rank || of->shape[axis] != 1 || of->counted >> axis & 1) return false;
  for (int s = 0; s < 2; s++)
    for (int i = 0; i < of->n_indices[s]; i++) {
      llrt_index *index = &of->index[s][i].index;
      if (index->axis == axis) return false;
      index->axis -= index->axis > axis;
      index->axes = mask_without(index->axes, axis);
      index->folded = mask_without(index->folded, axis);
      memmove(&index->strides[axis], &index->strides[axis + 1],
              sizeof *index->strides * (size_t)(LLRT_MAX_RANK - 1 - axis));
    }
  for (int s = 0; s < 3; s++) {
    if (!side_without_axis(&of->side[s], axis)) return false;
    if (s < 2 && of->has_other[s] && !side_without_axis(&of->other[s], axis)) return false;
  }
  for (int i = 0; i < of->n_maps; i++)
    memmove(&of->maps[i].group[axis], &of->maps[i].group[axis + 1],
            sizeof *of->maps[i].group * (size_t)(LLRT_MAX_RANK - 1 - axis));
  memmove(&of->count[axis], &of->count[axis + 1],
          sizeof *of->count * (size_t)(LLRT_MAX_RANK - 1 - axis));
  memmove(&of->shape[axis], &of->shape[axis + 1],
          sizeof *of->shape * (size_t)(LLRT_MAX_RANK - 1 - axis));
  of->counted = mask_without(of->counted, axis);
  of->rank--;
  of->shape[of->rank] = 0;
  return true;
}

static bool shrink_axis(convert_case *of, int axis, int way) {
  int64_t extent = axis < of->rank ? of->shape[axis] : 0, to;
  if (extent < 2) return false;
  to = way == 0   ? 1
       : way == 1 ? extent / 2
       : way == 2 ? (extent + 1) / 2
       : way == 3 ? extent - 1
                  : extent - extent / 4;
  if (to >= extent) return false;
  of->shape[axis] = to;
  for (int s = 0; s < 2; s++)
    for (int i = 0; i < of->n_indices[s]; i++)
      if (of->index[s][i].index.extent == extent && of->index[s][i].index.axis == axis)
        of->index[s][i].index.extent = to;
  if (of->counted >> axis & 1 && of->count[axis] > to) of->count[axis] = (int32_t)to;
  return true;
}

/* A last digit of a number becomes what is left, and so follows the extent. */
static bool shrink_fixed(convert_case *of, int axis, int way) {
  for (int s = 0; s < 3; s++) {
    if (s < 2 && of->has_other[s]) return false;
    side_follow_extent(&of->side[s], axis);
  }
  return shrink_axis(of, axis, way);
}

/* ---- all ways ---- */

typedef struct ways {
  int left;
} ways;

/* Whether the way is one of the next n; then *at is which. */
static bool is_next(ways *w, int n, int *at) {
  *at = w->left;
  w->left -= n;
  return *at >= 0 && *at < n;
}

static bool edit(convert_case *of, int way, bool *known) {
  ways w = {way};
  int at;
  *known = true;
  if (is_next(&w, 1, &at)) return set(&of->route, ROUTE_CALL);
  if (is_next(&w, 1, &at)) return of->context != CONTEXT_WORDS && set(&of->context, CONTEXT_FRESH);
  if (is_next(&w, LLRT_MAX_MAPS, &at)) return drop_maps(of, at);
  if (is_next(&w, 2 * LLRT_MAX_INDICES, &at)) return drop_index(of, at);
  if (is_next(&w, LLRT_MAX_RANK, &at)) return drop_count(of, at);
  if (is_next(&w, 1, &at)) return clear(&of->in_place);
  if (is_next(&w, 3, &at)) return clear(&of->tight[at]);
  if (is_next(&w, 3, &at)) return set(&of->side[at].address, 0);
  if (is_next(&w, 2, &at))
    return clear(&of->has_other[at]) && (of->has_other[0] || of->has_other[1]);
  if (is_next(&w, 2, &at)) return drop_cast(of, at);
  if (is_next(&w, 1, &at)) return plain_types(of);
  if (is_next(&w, 12, &at)) return drop_promise(of, at);
  if (is_next(&w, LLRT_MAX_RANK * 5, &at)) return shrink_axis(of, at / 5, at % 5);
  if (is_next(&w, LLRT_MAX_RANK * 5, &at)) return shrink_fixed(of, at / 5, at % 5);
  if (is_next(&w, LLRT_MAX_RANK, &at)) return drop_axis(of, at);
  if (is_next(&w, 3 * SIDE_WAYS, &at)) return edit_side(of, at % 3, at / 3);
  if (is_next(&w, 2 * LLRT_MAX_INDICES * 4, &at)) return plain_index(of, at);
  if (is_next(&w, 1, &at)) return set(&of->data, 0);
  *known = false;
  return false;
}

/* ---- what is smaller ---- */

static int64_t index_cost(const convert_case *of, int s, int i) {
  const drawn_index *drawn = &of->index[s][i];
  const llrt_index *index = &drawn->index;
  int64_t cost = 100 + (drawn->bad ? 3 : 0) + (index->out_of_range != LLRT_RANGE_SKIP) * 3;
  cost +=
      4 * (__builtin_popcount(index->axes ^ 1u << index->axis) + __builtin_popcount(index->folded));
  if (index->kind == LLRT_INDEX_COORDINATE && index->extent != of->shape[index->axis]) cost += 5;
  for (int a = 0; a < of->rank; a++) cost += index->strides[a] > 1;
  return cost;
}

static int64_t cost_of(const convert_case *of) {
  int64_t cost = 5 * (of->route != ROUTE_CALL) + (of->context == CONTEXT_KEPT) + 30 * of->n_maps +
                 20 * of->in_place + (of->data != 0);
  cost += of->type[0] != of->type[1] ? 30 : 0;
  cost += of->type[0] < LLRT_U64 || (of->type[0] > LLRT_U4 && of->type[0] != LLRT_B128);
  if (of->route == ROUTE_PROMISED) cost += __builtin_popcount(of->promised);
  for (int a = 0; a < of->rank; a++) cost += 20 + 2 * of->shape[a] + 40 * (of->counted >> a & 1);
  for (int s = 0; s < (of->type[2] ? 3 : 2); s++) {
    cost += side_cost(&of->side[s]) + of->tight[s];
    if (s < 2 && of->has_other[s]) cost += 50;
    for (int i = 0; s < 2 && i < of->n_indices[s]; i++) cost += index_cost(of, s, i);
  }
  return cost;
}

int convert_case_edit(convert_case *of, int way) {
  bool known;
  int64_t before = cost_of(of);
  bool done = edit(of, way, &known);
  if (!known) return 0;
  if (of->in_place) of->side[1].address = of->side[0].address;
  return done && cost_of(of) < before && convert_case_suits(of) ? 1 : -1;
}
