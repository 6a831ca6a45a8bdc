/* A rule with other numbers for its axes. */
#include "layout/storage_rule.h"

#include "base/bits.h"
#include "base/status.h"
#include "layout/check.h"

#include <string.h>

/* The tile's out-dims become those of the new axes, in order; columns follow. */
static llrt_status renumber_tile(const llrt_layout *in, const int8_t *to, int rank,
                                 llrt_layout *out) {
  llrt_layout made = llrt_layout_empty();
  if (in->n_in == 0 && in->n_out == 0) return LLRT_OK;
  int8_t from[LLRT_MAX_RANK];
  memset(from, -1, sizeof from);
  for (int a = 0; a < in->n_out; a++)
    if (to[a] >= 0) from[to[a]] = (int8_t)a;
  for (int a = 0; a < rank; a++) {
    char name[LLRT_NAME_BYTES];
    layout_axis_name(a, name);
    LLRT_TRY(llrt_layout_add_out(&made, name, from[a] < 0 ? 0 : in->out[from[a]].bits));
  }
  LLRT_TRY(llrt_layout_add_in(&made, in->in[0].name, in->in[0].bits));
  for (int i = 0; i < in->in[0].bits; i++)
    for (int a = 0; a < rank; a++)
      if (from[a] >= 0)
        made.column[i] |=
            (in->column[i] >> llrt_layout_out_shift(in, from[a]) & bits_mask(in->out[from[a]].bits))
            << llrt_layout_out_shift(&made, a);
  *out = made;
  return LLRT_OK;
}

llrt_status storage_renumber(const llrt_storage *storage, const int8_t to[LLRT_MAX_RANK], int rank,
                             llrt_storage *out) {
  llrt_storage made = *storage;
  made.rank = rank;
  for (int i = 0; i < made.n_digits; i++) {
    llrt_digit *digit = &made.digit[i];
    if (digit->axis < 0) continue;
    digit->axis = to[digit->axis];
    if (digit->axis >= 0) continue;
    digit->axis = LLRT_AXIS_REPLICA;
    digit->extent = 1;
  }
  LLRT_TRY(renumber_tile(&storage->tile, to, rank, &made.tile));
  *out = made;
  return LLRT_OK;
}
