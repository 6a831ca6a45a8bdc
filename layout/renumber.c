/* A rule with other numbers for its axes. */
#include "layout/storage_rule.h"

#include "base/bits.h"
#include "base/status.h"
#include "layout/check.h"

#include <string.h>

llrt_status storage_deal_tile(const llrt_layout *in, const storage_tile_piece *piece, int n,
                              int rank, llrt_layout *out) {
  llrt_layout made = llrt_layout_empty();
  int bits[LLRT_MAX_RANK] = {0};
  for (int i = 0; i < n; i++) bits[piece[i].to] = piece[i].bits;
  for (int a = 0; a < rank; a++) {
    char name[LLRT_NAME_BYTES];
    layout_axis_name(a, name);
    LLRT_TRY(llrt_layout_add_out(&made, name, bits[a]));
  }
  LLRT_TRY(llrt_layout_add_in(&made, in->in[0].name, in->in[0].bits));
  for (int j = 0; j < in->in[0].bits; j++)
    for (int i = 0; i < n; i++)
      made.column[j] |=
          (in->column[j] >> llrt_layout_out_shift(in, piece[i].from) >> piece[i].first &
           bits_mask(piece[i].bits))
          << llrt_layout_out_shift(&made, piece[i].to);
  *out = made;
  return LLRT_OK;
}

/* Each axis whole. */
static llrt_status renumber_tile(const llrt_layout *in, const int8_t *to, int rank,
                                 llrt_layout *out) {
  storage_tile_piece piece[LLRT_MAX_RANK];
  int n = 0;
  if (in->n_in == 0 && in->n_out == 0) return LLRT_OK;
  for (int a = 0; a < in->n_out; a++)
    if (to[a] >= 0) piece[n++] = (storage_tile_piece){(int8_t)a, to[a], 0, (int8_t)in->out[a].bits};
  return storage_deal_tile(in, piece, n, rank, out);
}

/* Digit number i, of an axis that goes, has one position, so its own stride counts where that of
 * the digit outside follows from it alone. */
static llrt_status drop_axis(llrt_storage *storage, int i) {
  llrt_digit *digit = &storage->digit[i];
  bool followed = i + 1 < storage->n_digits && storage->digit[i + 1].stride == LLRT_STRIDE_PACKED;
  if (digit->stride == LLRT_STRIDE_RUNTIME && followed)
    return llrt_error(LLRT_UNSUPPORTED,
                      "digit %d's stride follows from a run-time stride of an axis of one position",
                      i + 1);
  if (digit->stride == LLRT_STRIDE_RUNTIME) digit->stride = LLRT_STRIDE_PACKED;
  digit->axis = LLRT_AXIS_REPLICA;
  digit->extent = 1;
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
    if (digit->axis < 0) LLRT_TRY(drop_axis(&made, i));
  }
  LLRT_TRY(renumber_tile(&storage->tile, to, rank, &made.tile));
  *out = made;
  return LLRT_OK;
}
