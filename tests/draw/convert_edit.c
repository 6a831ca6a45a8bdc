/* Ways to make a conversion smaller. Each has a number; those that change nothing, or no longer suit, are told apart. */
#include "convert_case.h"

#include <string.h>

/* ---- everything beside the storages ---- */

static bool drop_maps(convert_case *of, int which) {
  if (which >= of->n_maps) return false;
  if (of->maps[which].kind == LLRT_MAP_SCALE) of->type[2] = LLRT_DTYPE_NONE;
  memmove(&of->maps[which], &of->maps[which + 1], sizeof *of->maps * (size_t)(--of->n_maps - which));
  memset(&of->maps[of->n_maps], 0, sizeof *of->maps);
  return true;
}

static bool drop_index(convert_case *of, int which) {
  if (of->gather) return false;
  int s = which / LLRT_MAX_INDICES, i = which % LLRT_MAX_INDICES;
  if (i >= of->n_indices[s]) return false;
  if (of->index[s][i].index.kind == LLRT_INDEX_POINTER) of->layers[s] = 1;
  memmove(&of->index[s][i], &of->index[s][i + 1], sizeof of->index[s][0] * (size_t)(--of->n_indices[s] - i));
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
  llrt_dtype to = plain[bits == 4 ? 0 : bits == 8 ? 1 : bits == 16 ? 2 : bits == 32 ? 3 : bits == 64 ? 4 : 5];
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

/* ---- storages ---- */

static bool to_rows(convert_case *of, int s) {
  llrt_storage rows;
  if (llrt_storage_row_major(of->rank, &rows) != LLRT_OK || memcmp(&rows, &of->side[s].storage, sizeof rows) == 0) return false;
  of->side[s].storage = rows;
  return true;
}

/* Every digit a number, without PACKED and REST in it. */
static bool to_numbers(convert_case *of, int s) {
  llrt_storage *rule = &of->side[s].storage;
  llrt_storage_binding bound;
  int64_t shape[LLRT_MAX_RANK];
  bool changed = false;
  convert_seen_shape(of, s, shape);
  if (llrt_storage_bind(rule, of->rank, shape, of->side[s].strides, &bound) != LLRT_OK) return false;
  for (int i = 0; i < rule->n_digits; i++) {
    if (rule->digit[i].stride != LLRT_STRIDE_RUNTIME) continue;
    rule->digit[i].stride = bound.stride[i] < 0 ? -bound.stride[i] : bound.stride[i];
    changed = true;
  }
  return changed;
}

static bool drop_digit(llrt_storage *rule, int i) {
  if (i >= rule->n_digits) return false;
  int axis = rule->digit[i].axis, last = -1;
  for (int j = 0; j < rule->n_digits; j++)
    if (rule->digit[j].axis == axis) last = j;
  bool was_last = last == i && axis >= 0;
  memmove(&rule->digit[i], &rule->digit[i + 1], sizeof *rule->digit * (size_t)(--rule->n_digits - i));
  memset(&rule->digit[rule->n_digits], 0, sizeof *rule->digit);
  if (!was_last) return true;
  for (int j = rule->n_digits - 1; j >= 0; j--) /* the one before takes what is left */
    if (rule->digit[j].axis == axis) {
      rule->digit[j].extent = LLRT_EXTENT_REST;
      return true;
    }
  return true;
}

static bool edit_digit(llrt_storage *rule, int i, int way) {
  if (i >= rule->n_digits) return false;
  llrt_digit *digit = &rule->digit[i], before = *digit;
  bool last = true;
  for (int j = i + 1; j < rule->n_digits; j++) last &= rule->digit[j].axis != digit->axis;
  switch (way) {
    case 0: return drop_digit(rule, i);
    case 1: digit->reversed = false; break;
    case 2: digit->stride = LLRT_STRIDE_PACKED; break;
    case 3: if (last && digit->axis >= 0) digit->extent = LLRT_EXTENT_REST; break;
    case 4: if (digit->extent > 2) digit->extent /= 2; break;
    default: if (digit->extent > 1) digit->extent--;
  }
  return memcmp(&before, digit, sizeof before) != 0;
}

/* Without offset bit b of the tile, and without the coordinate bit that is lost with it. */
static bool drop_tile_bit(llrt_storage *rule, int b) {
  llrt_layout *tile = &rule->tile;
  if (tile->n_in != 1 || b >= tile->in[0].bits) return false;
  uint64_t lost = tile->column[b] & -tile->column[b];
  int shift = 0;
  for (int c = b; c + 1 < tile->in[0].bits; c++) tile->column[c] = tile->column[c + 1];
  tile->column[--tile->in[0].bits] = 0;
  if (lost) {
    for (int d = 0; d < tile->n_out; shift += tile->out[d++].bits)
      if (lost >> shift < 1ull << tile->out[d].bits) {
        tile->out[d].bits--;
        break;
      }
    for (int c = 0; c < tile->in[0].bits; c++)
      tile->column[c] = (tile->column[c] & (lost - 1)) | (tile->column[c] >> 1 & ~(lost - 1));
  }
  if (tile->in[0].bits == 0) memset(tile, 0, sizeof *tile);
  return true;
}

static bool edit_rule(llrt_storage *rule, int way) {
  llrt_storage before = *rule;
  switch (way) {
    case 0: memset(&rule->swizzle, 0, sizeof rule->swizzle); break;
    case 1: rule->offset[0] = 0; break;
    case 2: rule->pad = LLRT_PAD_NONE; rule->pad_value = 0; break;
    case 3: if (rule->pad) rule->pad = LLRT_PAD_KEEP; rule->pad_value = 0; break;
    case 4: if (rule->pad) { rule->pad = LLRT_PAD_VALUE; rule->pad_value = 0; } break;
    case 5: memset(&rule->tile, 0, sizeof rule->tile); break;
    case 6: rule->offset[0] /= 2; break;
    default:
      for (int i = 0; i < rule->n_digits; i++)
        if (rule->digit[i].stride != LLRT_STRIDE_RUNTIME) rule->digit[i].stride = LLRT_STRIDE_PACKED;
  }
  return memcmp(&before, rule, sizeof before) != 0;
}

/* One digit for all of an axis's, where its last one was. */
static bool join_digits(llrt_storage *rule, int axis) {
  int n = 0, last = -1, dropped = 0;
  for (int i = 0; i < rule->n_digits; i++)
    if (rule->digit[i].axis == axis) last = i;
  for (int i = 0; i < rule->n_digits; i++) {
    if (rule->digit[i].axis == axis && i != last) {
      dropped++;
      continue;
    }
    rule->digit[n++] = rule->digit[i];
    if (i == last) rule->digit[n - 1] = (llrt_digit){LLRT_EXTENT_REST, LLRT_STRIDE_PACKED, axis, 0, false};
  }
  memset(&rule->digit[n], 0, sizeof *rule->digit * (size_t)(rule->n_digits - n));
  rule->n_digits = n;
  return dropped > 0;
}

#define RULE_WAYS 8
#define DIGIT_WAYS 6
#define SIDE_WAYS (2 + RULE_WAYS + LLRT_MAX_RANK + LLRT_MAX_DIGITS * DIGIT_WAYS + 16)

static bool edit_side(convert_case *of, int s, int way) {
  llrt_storage *rule = &of->side[s].storage;
  of->side[s].is_meant = false;
  of->side[s].text[0] = 0;
  if (s < 2 && of->has_other[s] && way > 1) return false; /* the two have to stay one rule */
  if (way == 0) return (s == 2 || !of->has_other[s]) && to_rows(of, s);
  if (way == 1) return (s == 2 || !of->has_other[s]) && to_numbers(of, s);
  way -= 2;
  if (way < RULE_WAYS) return edit_rule(rule, way);
  way -= RULE_WAYS;
  if (way < LLRT_MAX_RANK) return way < of->rank && join_digits(rule, way);
  way -= LLRT_MAX_RANK;
  if (way < LLRT_MAX_DIGITS * DIGIT_WAYS) return edit_digit(rule, way / DIGIT_WAYS, way % DIGIT_WAYS);
  return drop_tile_bit(rule, way - LLRT_MAX_DIGITS * DIGIT_WAYS);
}

/* ---- axes ---- */

static bool side_without_axis(draw_side *side, int axis) {
  llrt_storage *rule = &side->storage;
  llrt_layout *tile = &rule->tile;
  int n = 0;
  char name[] = {'d', 'i', 'm', (char)('0' + axis), 0};
  for (int d = 0; d < tile->n_out; d++) {
    if (strcmp(tile->out[d].name, name) == 0) {
      if (tile->out[d].bits) return false;
      continue;
    }
    tile->out[n] = tile->out[d];
    if (tile->out[n].name[3] > name[3]) tile->out[n].name[3]--;
    n++;
  }
  tile->n_out = (uint8_t)n;
  n = 0;
  for (int i = 0; i < rule->n_digits; i++) {
    if (rule->digit[i].axis == axis) continue;
    rule->digit[n] = rule->digit[i];
    rule->digit[n].axis -= rule->digit[n].axis > axis;
    n++;
  }
  rule->n_digits = n;
  rule->rank--;
  memmove(&side->strides[axis], &side->strides[axis + 1], sizeof *side->strides * (size_t)(LLRT_MAX_RANK - 1 - axis));
  side->text[0] = 0;
  side->is_meant = false;
  return true;
}

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
      memmove(&index->strides[axis], &index->strides[axis + 1], sizeof *index->strides * (size_t)(LLRT_MAX_RANK - 1 - axis));
    }
  for (int s = 0; s < 3; s++) {
    if (!side_without_axis(&of->side[s], axis)) return false;
    if (s < 2 && of->has_other[s] && !side_without_axis(&of->other[s], axis)) return false;
  }
  for (int i = 0; i < of->n_maps; i++)
    memmove(&of->maps[i].group[axis], &of->maps[i].group[axis + 1], sizeof *of->maps[i].group * (size_t)(LLRT_MAX_RANK - 1 - axis));
  memmove(&of->count[axis], &of->count[axis + 1], sizeof *of->count * (size_t)(LLRT_MAX_RANK - 1 - axis));
  memmove(&of->shape[axis], &of->shape[axis + 1], sizeof *of->shape * (size_t)(LLRT_MAX_RANK - 1 - axis));
  of->counted = mask_without(of->counted, axis);
  of->rank--;
  of->shape[of->rank] = 0;
  return true;
}

static bool shrink_axis(convert_case *of, int axis, int way) {
  int64_t extent = axis < of->rank ? of->shape[axis] : 0, to;
  if (extent < 2) return false;
  to = way == 0 ? 1 : way == 1 ? extent / 2 : way == 2 ? (extent + 1) / 2 : way == 3 ? extent - 1 : extent - extent / 4;
  if (to >= extent) return false;
  of->shape[axis] = to;
  for (int s = 0; s < 2; s++)
    for (int i = 0; i < of->n_indices[s]; i++)
      if (of->index[s][i].index.extent == extent && of->index[s][i].index.axis == axis) of->index[s][i].index.extent = to;
  if (of->counted >> axis & 1 && of->count[axis] > to) of->count[axis] = (int32_t)to;
  return true;
}

/* A last digit of a number becomes what is left, and so follows the extent. */
static bool shrink_fixed(convert_case *of, int axis, int way) {
  for (int s = 0; s < 3; s++) {
    llrt_storage *rule = &of->side[s].storage;
    if (s < 2 && of->has_other[s]) return false;
    for (int i = rule->n_digits - 1; i >= 0; i--)
      if (rule->digit[i].axis == axis) {
        rule->digit[i].extent = LLRT_EXTENT_REST;
        break;
      }
    of->side[s].text[0] = 0;
    of->side[s].is_meant = false;
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
  if (is_next(&w, 2, &at)) return clear(&of->has_other[at]) && (of->has_other[0] || of->has_other[1]);
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

static int64_t side_cost(const draw_side *side) {
  const llrt_storage *rule = &side->storage;
  const llrt_swizzle *z = &rule->swizzle;
  int64_t cost = (z->swizzle_len ? 12 : 0) + (rule->offset[0] ? 2 + rule->offset[0] / 8 : 0) + (side->address ? 3 : 0);
  cost += rule->pad == LLRT_PAD_NONE ? 0 : rule->pad == LLRT_PAD_KEEP ? 6 : rule->pad_value ? 8 : 7;
  for (int i = 0; i < rule->n_digits; i++) {
    const llrt_digit *digit = &rule->digit[i];
    bool number = digit->stride != LLRT_STRIDE_PACKED && digit->stride != LLRT_STRIDE_RUNTIME;
    cost += 10 + (digit->stride == LLRT_STRIDE_PACKED ? 0 : number ? 3 : 4) + digit->reversed * 3;
    cost += digit->extent == LLRT_EXTENT_REST ? 0 : 2 + (digit->extent < 1000 ? digit->extent : 1000) / 4;
    cost += i > 0 && rule->digit[i - 1].axis < digit->axis; /* rows are the simplest order */
  }
  for (int i = 0; i < rule->tile.n_in; i++) cost += 9 * rule->tile.in[i].bits;
  return cost;
}

static int64_t index_cost(const convert_case *of, int s, int i) {
  const drawn_index *drawn = &of->index[s][i];
  const llrt_index *index = &drawn->index;
  int64_t cost = 100 + (drawn->bad ? 3 : 0) + (index->out_of_range != LLRT_RANGE_SKIP) * 3;
  cost += 4 * (__builtin_popcount(index->axes ^ 1u << index->axis) + __builtin_popcount(index->folded));
  if (index->kind == LLRT_INDEX_COORDINATE && index->extent != of->shape[index->axis]) cost += 5;
  for (int a = 0; a < of->rank; a++) cost += index->strides[a] > 1;
  return cost;
}

static int64_t cost_of(const convert_case *of) {
  int64_t cost = 5 * (of->route != ROUTE_CALL) + (of->context == CONTEXT_KEPT) + 30 * of->n_maps + 20 * of->in_place + (of->data != 0);
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
