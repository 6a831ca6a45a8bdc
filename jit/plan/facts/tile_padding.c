/* See tile_padding.h. */
#include "jit/plan/facts/tile_padding.h"

#include "base/bits.h"

int plan_padded_digit(const plan_kernel *kernel, const plan_bound *bound) {
  if (bound->axis >= 0 || bound->limit.arg >= 0 || bound->device) return -1;
  const plan_number *upper = &kernel->digit[bound->top].upper;
  return kernel->digit[bound->top].rest && upper->arg < 0 && upper->value == 1 ? bound->top : -1;
}

int64_t plan_unpadded_positions(const plan_kernel *kernel, int axis, int64_t positions) {
  for (int i = 0; i < kernel->n_bounds; i++) {
    int digit = plan_padded_digit(kernel, &kernel->bound[i]);
    if (digit < 0 || kernel->digit[digit].axis != axis || kernel->digit[digit].step != 1) continue;
    if ((int64_t)1 << kernel->digit[digit].bits == positions) return kernel->bound[i].limit.value;
  }
  return positions;
}

#define COLUMNS 8 /* of which products have whole multiples */

/* The bit of the tile that moves a digit by 2^b and nothing else; 0: none does. */
static uint64_t tile_bit(const plan_kernel *kernel, int digit, int b) {
  uint64_t wanted = 1ull << (llrt_layout_out_shift(&kernel->space, digit) + b);
  for (int i = 0; i < kernel->space.in[0].bits; i++)
    if (kernel->space.column[i] == wanted) return 1ull << i;
  return 0;
}

void plan_padding_find(const plan_kernel *kernel, plan_padding *out) {
  out->n = 0;
  for (int i = 0; i < kernel->n_bounds && out->n == 0; i++) {
    int digit = plan_padded_digit(kernel, &kernel->bound[i]), n = 0;
    out->own = kernel->bound[i].limit.value;
    if (digit < 0 || out->own % COLUMNS) continue;
    while (n < kernel->digit[digit].bits && (out->bit[n] = tile_bit(kernel, digit, n)) != 0) n++;
    if (n == kernel->digit[digit].bits) out->n = n;
  }
}

bool plan_padding_has(const plan_padding *padding, uint64_t tile) {
  int64_t position = 0;
  for (int i = 0; i < padding->n; i++) position |= (int64_t)((tile & padding->bit[i]) != 0) << i;
  return padding->n > 0 && position >= padding->own;
}
