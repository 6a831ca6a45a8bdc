/* Walks: which bits of the grid number a block's turns, and how many turns there are. */
#include "jit/plan/draft/draft.h"

#include "base/bits.h"
#include "base/status.h"

int draft_digit_of(const draft *d, int bit) {
  int i = 0;
  while (bit >= d->first[i] + d->bits[i]) i++;
  return i;
}

uint64_t draft_reduced_bits(const draft *d) {
  uint64_t reduced = 0;
  for (int i = 0; i < d->kernel->n_digits; i++)
    if (draft_is_reduced(d, d->kernel->digit[i].axis))
      reduced |= bits_mask(d->bits[i]) << d->first[i];
  return reduced;
}

void draft_fill_grid(draft *d, uint64_t tile, uint64_t walked) {
  for (int pass = 0; pass < 2; pass++)
    for (int z = 0; z < d->n_bits; z++) {
      if (tile >> z & 1 || d->kernel->digit[draft_digit_of(d, z)].rest) continue;
      if ((int)(walked >> z & 1) != pass) continue;
      d->grid[d->n_grid++] = 1ull << z;
      d->n_walked += pass;
    }
}

llrt_status draft_walk_turns(draft *d, uint32_t axes, int least) {
  plan_turns *turns = &d->kernel->walk;
  plan_walk *walk = &d->kernel->launch.walk;
  turns->grid_bits = (uint8_t)(d->n_grid - d->n_walked);
  turns->split = d->splits ? (int8_t)d->split : -1;
  walk->axes = axes;
  walk->least = least;
  LLRT_TRY(draft_arg(d, (plan_arg){.kind = PLAN_ARG_TURNS}, &turns->turns));
  return draft_arg(d, (plan_arg){.kind = PLAN_ARG_SHARE}, &turns->share);
}
