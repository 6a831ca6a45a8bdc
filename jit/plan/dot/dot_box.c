/* Boxes for the rings of warpgroups' operands: where a tensor is rows of elements that follow each
 * other, at one stride, the device copies a ring's slot by itself (plan_box), instead of threads
 * that copy 16 bytes each. A row of a box is a row of shared memory, its other dimension all rows;
 * longer rows take several boxes. One more axis, of a batch, may say which plane of rows it is. */
#include "jit/plan/dot/dot.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/draft/draft.h"
#include "jit/plan/facts/box.h"
#include "jit/plan/facts/dot_shared.h"
#include "jit/plan/facts/tile_padding.h"
#include "layout/f2.h"

#define ROW_BYTES 7 /* log2 */
#define PIECE_BYTES 4
#define MOST_ROWS 8 /* log2 */

/* The first axis beside rows and what is across them that moves the tensor's address; -1: none. */
static int batch_axis(const plan_kernel *kernel, int tensor, const int8_t axis[2]) {
  for (int i = 0; i < kernel->n_digits; i++) {
    int own = kernel->digit[i].axis;
    if (own >= 0 && own != axis[0] && own != axis[1] && plan_digit_moves(kernel, tensor, i))
      return own;
  }
  return -1;
}

/* One dimension of a box: its extent, and its stride but for rows'. */
static llrt_status add_dimension(dot_draft *x, int tensor, int d, int axis, plan_box *box,
                                 bool *found) {
  plan_kernel *kernel = x->d.kernel;
  plan_number stride;
  kernel->box_axis[kernel->launch.n_boxes][d] = (int8_t)axis;
  bool anywhere =
      kernel->experts.used && axis == kernel->experts.axis; /* other experts' rows, too */
  *found = (anywhere || !draft_on_device(&x->d, axis)) &&
           plan_axis_stride(kernel, tensor, axis, &stride) &&
           (d == 0 ? plan_is_number(&stride, 1) : stride.value >= 0);
  if (!*found) return LLRT_OK;
  if (d > 0) box->stride[d - 1] = stride;
  return draft_number(&x->d, PLAN_ARG_CEIL, axis, 0, 1, &box->extent[d]);
}

static bool keeps_bounds(const plan_kernel *kernel, int tensor, const plan_box *box,
                         const int8_t *axis) {
  bool keeps = true;
  for (int i = 0; i < kernel->n_bounds; i++)
    keeps &= plan_box_keeps(kernel, tensor, box, axis, &kernel->bound[i]);
  return keeps;
}

#define TURNED_ROWS 8 /* of a box whose pieces are permuted, after which the permutation recurs */

/* Has blocks of a cluster that have the same positions along the dim fetch a part each, of whole
 * permutations. */
static bool fetch_together(const dot_draft *x, int dim, int row_bytes, plan_box *box) {
  const uint64_t cluster = dot_tile_bits(x, x->cluster),
                 peers = dot_tile_bits(x, x->cluster & ~x->bits[dim]);
  const int parts = 1 << bits_count(peers);
  if (peers == 0) return true;
  if (row_bytes != ROW_BYTES || box->size[1] % (parts * TURNED_ROWS) != 0) return false;
  box->size[1] = (uint16_t)(box->size[1] / parts);
  box->parts = bits_count(peers) & 3;
  box->among = bits_count(cluster & ((peers & -peers) - 1)) & 3;
  return true;
}

/* Of a tensor whose rows lie along dims[0]. */
static llrt_status plan_box_of(dot_draft *x, int tensor, const int dims[2], int most, bool *found) {
  plan_kernel *kernel = x->d.kernel;
  plan_launch *launch = &kernel->launch;
  int first = x->job->desc.tensors[0].rank - 3;
  int element = bits_log2(kernel->tensor_bits[tensor]) - 3, n[2];
  plan_box box = {.bytes = element & 3, .address = {.arg = tensor}};
  *found = element >= 0 && launch->n_boxes < PLAN_MAX_BOXES;
  if (!*found) return LLRT_OK;
  for (int i = 0; i < 2 && *found; i++) {
    int dim = dims[i];
    n[i] = bits_count(x->bits[dim] & ~x->cluster);
    LLRT_TRY(add_dimension(x, tensor, i, first + dim, &box, found));
  }
  if (!*found) return LLRT_OK;
  const int8_t *axis = kernel->box_axis[launch->n_boxes];
  int row = bits_min(bits_min(n[0], most), ROW_BYTES - element),
      batch = batch_axis(kernel, tensor, axis);
  *found = row + element >= PIECE_BYTES && n[1] <= MOST_ROWS;
  if (*found && batch >= 0) LLRT_TRY(add_dimension(x, tensor, 2, batch, &box, found));
  box.size[0] = (uint16_t)(1 << row);
  box.size[1] = (uint16_t)plan_unpadded_positions(kernel, axis[1], 1 << n[1]);
  box.size[2] = batch >= 0;
  if (x->beside)
    *found = *found && fetch_together(x, dims[dims[0] == DOT_DIM_K], row + element, &box);
  *found = *found && plan_is_of_axes(kernel, tensor, axis, plan_box_rank(&box)) &&
           keeps_bounds(kernel, tensor, &box, axis);
  if (!*found) return LLRT_OK;
  box.swizzle = (row + element - PIECE_BYTES) & 7;
  launch->box[launch->n_boxes++] = box;
  return LLRT_OK;
}

llrt_status dot_plan_box(dot_draft *x, int operand, bool transposed, const plan_step *copy,
                         int most, bool *found) {
  const int along = DOT_DIM_K, across = operand ? DOT_DIM_N : DOT_DIM_M;
  const int dims[2] = {transposed ? across : along, transposed ? along : across};
  return plan_box_of(x, copy->tensor, dims, most, found);
}

llrt_status dot_plan_result_box(dot_draft *x, int tensor, int most, bool *found) {
  const int dims[2] = {DOT_DIM_N, DOT_DIM_M};
  return plan_box_of(x, tensor, dims, most, found);
}
