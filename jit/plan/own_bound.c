/* See own_bound.h. */
#include "jit/plan/own_bound.h"

#include "base/bits.h"

int plan_own_digit(const plan_kernel *kernel, const plan_bound *bound) {
  if (bound->axis >= 0 || bound->limit.arg >= 0 || bound->device) return -1;
  const plan_number *upper = &kernel->digit[bound->top].upper;
  return kernel->digit[bound->top].rest && upper->arg < 0 && upper->value == 1 ? bound->top : -1;
}

int64_t plan_own_positions(const plan_kernel *kernel, int axis, int64_t positions) {
  for (int i = 0; i < kernel->n_bounds; i++) {
    int digit = plan_own_digit(kernel, &kernel->bound[i]);
    if (digit < 0 || kernel->digit[digit].axis != axis || kernel->digit[digit].step != 1) continue;
    if ((int64_t)1 << kernel->digit[digit].bits == positions) return kernel->bound[i].limit.value;
  }
  return positions;
}

uint64_t plan_foreign_quarter(const plan_kernel *kernel) {
  for (int i = 0; i < kernel->n_bounds; i++) {
    int digit = plan_own_digit(kernel, &kernel->bound[i]), bits = digit < 0 ? 0 : kernel->digit[digit].bits;
    if (bits < 2 || kernel->bound[i].limit.value != 3ll << (bits - 2)) continue;
    uint64_t wanted = 3ull << (llrt_layout_out_shift(&kernel->space, digit) + bits - 2), found = 0;
    for (int b = 0; b < kernel->space.in[0].bits; b++)
      if (kernel->space.column[b] & wanted && bits_count(kernel->space.column[b]) == 1) found |= 1ull << b;
    if (bits_count(found) == 2) return found;
  }
  return 0;
}
