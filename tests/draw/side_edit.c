/* Ways to make one storage smaller. */
#include "sides.h"

#include <string.h>

static bool to_rows(draw_side *side, int rank) {
  llrt_storage rows;
  if (llrt_storage_row_major(rank, &rows) != LLRT_OK ||
      memcmp(&rows, &side->storage, sizeof rows) == 0)
    return false;
  side->storage = rows;
  return true;
}

/* Strides that the tensor brings as numbers. */
static bool to_numbers(draw_side *side, int rank, const int64_t *shape) {
  llrt_storage *rule = &side->storage;
  llrt_storage_binding bound;
  bool changed = false;
  if (llrt_storage_bind(rule, rank, shape, side->strides, &bound) != LLRT_OK) return false;
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
  memmove(&rule->digit[i], &rule->digit[i + 1],
          sizeof *rule->digit * (size_t)(--rule->n_digits - i));
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
  case 3:
    if (last && digit->axis >= 0) digit->extent = LLRT_EXTENT_REST;
    break;
  case 4:
    if (digit->extent > 2) digit->extent /= 2;
    break;
  default:
    if (digit->extent > 1) digit->extent--;
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
  case 2:
    rule->pad = LLRT_PAD_NONE;
    rule->pad_value = 0;
    break;
  case 3:
    if (rule->pad) rule->pad = LLRT_PAD_KEEP;
    rule->pad_value = 0;
    break;
  case 4:
    if (rule->pad) {
      rule->pad = LLRT_PAD_VALUE;
      rule->pad_value = 0;
    }
    break;
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
    if (i == last)
      rule->digit[n - 1] = (llrt_digit){LLRT_EXTENT_REST, LLRT_STRIDE_PACKED, axis, 0, false};
  }
  memset(&rule->digit[n], 0, sizeof *rule->digit * (size_t)(rule->n_digits - n));
  rule->n_digits = n;
  return dropped > 0;
}

#define RULE_WAYS 8
#define DIGIT_WAYS 6
_Static_assert(SIDE_WAYS == 2 + RULE_WAYS + LLRT_MAX_RANK + LLRT_MAX_DIGITS * DIGIT_WAYS + 16,
               "as many as side_edit knows");

bool side_edit(draw_side *side, int rank, const int64_t *shape, int way) {
  llrt_storage *rule = &side->storage;
  side->is_meant = false;
  side->text[0] = 0;
  if (way == 0) return to_rows(side, rank);
  if (way == 1) return to_numbers(side, rank, shape);
  way -= 2;
  if (way < RULE_WAYS) return edit_rule(rule, way);
  way -= RULE_WAYS;
  if (way < LLRT_MAX_RANK) return way < rank && join_digits(rule, way);
  way -= LLRT_MAX_RANK;
  if (way < LLRT_MAX_DIGITS * DIGIT_WAYS)
    return edit_digit(rule, way / DIGIT_WAYS, way % DIGIT_WAYS);
  return drop_tile_bit(rule, way - LLRT_MAX_DIGITS * DIGIT_WAYS);
}

bool side_without_axis(draw_side *side, int axis) {
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
  memmove(&side->strides[axis], &side->strides[axis + 1],
          sizeof *side->strides * (size_t)(LLRT_MAX_RANK - 1 - axis));
  side->text[0] = 0;
  side->is_meant = false;
  return true;
}

bool side_follow_extent(draw_side *side, int axis) {
  llrt_storage *rule = &side->storage;
  int i = rule->n_digits - 1;
  while (i >= 0 && rule->digit[i].axis != axis) i--;
  if (i < 0 || rule->digit[i].extent == LLRT_EXTENT_REST) return false;
  rule->digit[i].extent = LLRT_EXTENT_REST;
  side->text[0] = 0;
  side->is_meant = false;
  return true;
}

int64_t side_cost(const draw_side *side) {
  const llrt_storage *rule = &side->storage;
  const llrt_swizzle *z = &rule->swizzle;
  int64_t cost = (z->swizzle_len ? 12 : 0) + (rule->offset[0] ? 2 + rule->offset[0] / 8 : 0) +
                 (side->address ? 3 : 0);
  cost += rule->pad == LLRT_PAD_NONE ? 0 : rule->pad == LLRT_PAD_KEEP ? 6 : rule->pad_value ? 8 : 7;
  for (int i = 0; i < rule->n_digits; i++) {
    const llrt_digit *digit = &rule->digit[i];
    bool number = digit->stride != LLRT_STRIDE_PACKED && digit->stride != LLRT_STRIDE_RUNTIME;
    cost += 10 + (digit->stride == LLRT_STRIDE_PACKED ? 0 : number ? 3 : 4) + digit->reversed * 3;
    cost += digit->extent == LLRT_EXTENT_REST
                ? 0
                : 2 + (digit->extent < 1000 ? digit->extent : 1000) / 4;
    cost += i > 0 && rule->digit[i - 1].axis < digit->axis; /* rows are the simplest order */
  }
  for (int i = 0; i < rule->tile.n_in; i++) cost += 9 * rule->tile.in[i].bits;
  return cost;
}
