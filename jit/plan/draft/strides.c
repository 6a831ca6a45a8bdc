/* How positions of a digit move a tensor's offset, and bits of the draft's digits those of the
 * kernel's. */
#include "jit/plan/draft/draft.h"

#include "base/bits.h"
#include "base/status.h"
#include "layout/f2.h"

#include <stdio.h>
#include <string.h>

/* Their offsets by the right inverse. */
llrt_status draft_tile_columns(const llrt_storage *storage, int axis, int from, int n,
                               uint64_t *columns) {
  llrt_layout inverse;
  char name[LLRT_NAME_BYTES];
  if (n == 0) return LLRT_OK;
  LLRT_TRY(llrt_layout_right_inverse(&storage->tile, &inverse));
  snprintf(name, sizeof name, "dim%d", axis);
  int shift = llrt_layout_in_shift(&inverse, llrt_layout_in_index(&inverse, name)) + from;
  memcpy(columns, &inverse.column[shift], (size_t)n * sizeof *columns);
  return LLRT_OK;
}

/* Whether digit s alone tells in which half of a byte an element lies: a tile has offset bit 0. */
static bool tells_half(const draft *d, int tensor, int s) {
  const llrt_storage *storage = draft_storage(d, tensor);
  bool alone = storage->offset[0] % 2 == 0 && llrt_layout_in_bits(&storage->tile) == 0 &&
               (storage->swizzle.swizzle_len == 0 || storage->swizzle.per_element > 0);
  for (int i = 0; i < storage->n_digits && alone; i++)
    alone = i == s || storage->digit[i].extent == 1 || draft_stride_alignment(d, tensor, i) > 0;
  return alone;
}

/* Whether storage digit s tells apart the two 4-bit elements of a byte, the first in the high half.
 */
bool draft_is_high_first(const draft *d, int tensor, int s) {
  const llrt_digit *digit = &draft_storage(d, tensor)->digit[s];
  return d->kernel->tensor_bits[tensor] < 8 && digit->reversed && digit->extent == 2 &&
         draft_known_stride(d, tensor, s) == 1 && tells_half(d, tensor, s);
}

llrt_status draft_stride(draft *d, int tensor, int s, int64_t factor, plan_number *stride) {
  factor <<= d->kernel->split_128;
  int64_t known = draft_known_stride(d, tensor, s), value;
  if (known < 0)
    return draft_arg(d,
                     (plan_arg){.kind = PLAN_ARG_STRIDE,
                                .tensor = (uint8_t)tensor,
                                .index = (uint8_t)s,
                                .factor = factor},
                     stride);
  if (__builtin_mul_overflow(known, factor, &value)) value = 0; /* no shape binds to that */
  if (draft_storage(d, tensor)->digit[s].reversed && !draft_is_high_first(d, tensor, s))
    value = -value;
  *stride = (plan_number){.arg = -1, .value = value};
  return LLRT_OK;
}

/* Rewrites a vector in the final positions, where upper parts are cut off. */
uint64_t draft_repack(const draft *d, uint64_t x) {
  uint64_t out = 0;
  for (int i = 0, shift = 0; i < d->kernel->n_digits; i++) {
    int bits = d->kernel->digit[i].bits;
    out |= (x >> d->first[i] & bits_mask(bits)) << shift;
    shift += bits;
  }
  return out;
}

bool draft_is_even(const draft *d, int tensor, int i) {
  const uint64_t *columns = &d->column[tensor][d->first[i]];
  for (int b = 1; b < d->bits[i]; b++)
    if (columns[b] != columns[0] << b) return false;
  return true;
}
