#include "tools/layout_inverse.h"

#include <stdio.h>

/* Removes from *value the pivots' highest bits and puts what that takes into *input. */
static void reduce(const layout_inverse *inverse, uint64_t *value, uint64_t *input) {
  for (int i = 0; i < inverse->n_pivots; i++) {
    uint64_t top = UINT64_C(1) << (63 - __builtin_clzll(inverse->value[i]));
    if (!(*value & top)) continue;
    *value ^= inverse->value[i];
    *input ^= inverse->input[i];
  }
}

/* Gaussian elimination over F2, leftmost columns first. A later pivot has no earlier pivot's
 * highest bit, since it was reduced by them, so one pass over the pivots in order reduces fully. */
void layout_inverse_init(const llrt_layout *layout, layout_inverse *out) {
  *out = (layout_inverse){.layout = layout};
  int bits = llrt_layout_in_bits(layout);
  for (int i = 0; i < bits; i++) {
    uint64_t value = layout->column[i];
    uint64_t input = UINT64_C(1) << i;
    reduce(out, &value, &input);
    if (value) {
      out->value[out->n_pivots] = value;
      out->input[out->n_pivots++] = input;
    } else {
      out->free[out->n_free++] = input;
    }
  }
}

bool layout_inverse_find(const layout_inverse *inverse, uint64_t y, uint64_t copy, uint64_t *x) {
  *x = 0;
  reduce(inverse, &y, x);
  for (int i = 0; i < inverse->n_free; i++)
    if (copy >> i & 1) *x ^= inverse->free[i];
  return y == 0;
}

static uint64_t take_bits(uint64_t flat, int shift, int bits) {
  if (bits == 0) return 0;
  return flat >> shift & (~UINT64_C(0) >> (64 - bits));
}

uint64_t layout_in_coordinate(const llrt_layout *layout, int index, uint64_t flat) {
  return take_bits(flat, llrt_layout_in_shift(layout, index), layout->in[index].bits);
}

uint64_t layout_out_coordinate(const llrt_layout *layout, int index, uint64_t flat) {
  return take_bits(flat, llrt_layout_out_shift(layout, index), layout->out[index].bits);
}

void layout_axes(const llrt_layout *layout, int axis[LLRT_MAX_OUT_DIMS]) {
  bool named = true;
  for (int i = 0; i < layout->n_out; i++) {
    char name[LLRT_NAME_BYTES];
    snprintf(name, sizeof name, "dim%d", i);
    axis[i] = llrt_layout_out_index(layout, name);
    named &= axis[i] >= 0;
  }
  for (int i = 0; i < layout->n_out && !named; i++) axis[i] = i;
}

bool layout_extents(const llrt_layout *layout, int *rank, int64_t shape[LLRT_MAX_RANK]) {
  if (layout->n_out > LLRT_MAX_RANK) return false;
  for (int i = 0; i < layout->n_out; i++) {
    char name[LLRT_NAME_BYTES];
    snprintf(name, sizeof name, "dim%d", i);
    int out = llrt_layout_out_index(layout, name);
    if (out < 0 || layout->out[out].bits > 62) return false;
    shape[i] = INT64_C(1) << layout->out[out].bits;
  }
  *rank = layout->n_out;
  return true;
}
