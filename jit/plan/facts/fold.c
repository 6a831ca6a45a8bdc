/* What a fold leaves of a value, and which of its bits it joins. */
#include "jit/plan/facts/fold.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/facts/vector_list.h"

int plan_fold_bits(const plan_value *in, plan_dim dim, int tile_bits, int bit[LLRT_MAX_BITS]) {
  const uint64_t *columns = plan_value_columns(in, dim);
  int n = 0;
  for (int i = 0; i < plan_value_bits(in, dim); i++) {
    if (columns[i] >> tile_bits == 0) continue;
    int at = n++;
    for (; at > 0 && columns[bit[at - 1]] > columns[i]; at--) bit[at] = bit[at - 1];
    bit[at] = i;
  }
  return n;
}

bool plan_folds_halves(const plan_step *step) {
  return step->kind == PLAN_FOLD && llrt_dtype_bits((llrt_dtype)step->type) == 16;
}

/* Lane bits that the step folds; *copies: lane bits that hold copies. */
static int folded_lanes(const plan_kernel *kernel, const plan_step *step, int *copies) {
  const plan_value *in = &kernel->value[step->in];
  int bit[LLRT_MAX_BITS];
  *copies = 0;
  for (int i = 0; i < plan_value_bits(in, PLAN_LANE); i++)
    *copies += plan_value_columns(in, PLAN_LANE)[i] == 0;
  return plan_fold_bits(in, PLAN_LANE, kernel->value[step->out].layout.out[0].bits, bit);
}

bool plan_folds_pairs_at_once(const plan_kernel *kernel, const plan_step *step) {
  int copies, n = folded_lanes(kernel, step, &copies);
  if (!kernel->target.fold_lanes || !step->pairs || kernel->value[step->index_in].bits != 32)
    return false;
  return n > 1 && n + copies == plan_value_bits(&kernel->value[step->in], PLAN_LANE);
}

bool plan_folds_at_once(const plan_kernel *kernel, const plan_step *step) {
  const plan_value *in = &kernel->value[step->in];
  int copies, n = folded_lanes(kernel, step, &copies);
  if (!kernel->target.fold_lanes || step->pairs || in->bits != 32 ||
      step->combiner == LLRT_COMBINE_PROD)
    return false;
  if (step->type != LLRT_I32 && step->type != LLRT_U32) return false;
  if (step->combiner == LLRT_COMBINE_SUM && copies > 0) return false;
  return n > 1 && n + copies == plan_value_bits(in, PLAN_LANE);
}

/* Columns beyond the tile's bits go. */
static void drop_beyond(vector_list *list, int tile_bits, bool keeps_places) {
  int n = 0, before = list->n;
  for (int i = 0; i < before; i++) {
    uint64_t x = list->at[i] >> tile_bits ? 0 : list->at[i];
    if (keeps_places) list->at[i] = x;
    else if (x) list->at[n++] = x;
  }
  if (!keeps_places) list->n = n;
}

llrt_status plan_fold_laid_out(const plan_kernel *kernel, const plan_value *in, int tile_bits,
                               int bits, plan_value *out) {
  vector_list dims[4];
  const vector_list *each[4];
  for (int i = 0; i < 4; i++) {
    vector_list_read(in, (plan_dim)i, &dims[i]);
    each[i] = &dims[i];
  }
  int lanes = dims[1].n;
  drop_beyond(&dims[0], tile_bits, false);
  drop_beyond(&dims[1], tile_bits, !kernel->target.simd_lanes);
  drop_beyond(&dims[2], tile_bits, true);
  while (dims[1].n < lanes) dims[1].at[dims[1].n++] = 0;
  *out = (plan_value){.bits = (uint8_t)bits};
  return vector_lists_layout(tile_bits, each, &out->layout);
}
