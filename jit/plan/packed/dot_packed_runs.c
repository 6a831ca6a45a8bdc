/* Boxes of packed operands: where memory is runs (jit/plan/facts/runs.h), one box has a turn's
 * part of W, or of its scales, for all columns of a block. See dot_packed_kernel.h. */
#include "jit/plan/packed/dot_packed_kernel.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/draft/draft.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/runs.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"

#define ELEMENT_BYTES 2  /* log2, of a box's dimension 0 */
#define PIECE_BITS 7     /* log2: addresses, strides and rows of boxes are multiples of 16 bytes */
#define MOST_POSITIONS 8 /* log2, of a dimension */
#define MOST_WINDOW 3    /* bits: a slot has eight times what a turn wants, at most */
#define WINDOW_BITS 8    /* of plan_buffer.window */

/* log2 elements of `bits` bits in 2^log2 bits. */
static int elements_of(int log2, int bits) { return log2 - bits_log2(bits); }

/* What memory has outside the tensor's extents counts as zeros, and boxes read it. */
static bool has_zeros_behind(const packed *p, int tensor) {
  const llrt_storage *storage = p->job.desc.tensors[tensor].storage;
  return storage->pad == LLRT_PAD_NONE ||
         (storage->pad == LLRT_PAD_VALUE && storage->pad_value == 0);
}

/* The buffer's offset bits where memory has them: those of runs, of which the turn may have some,
 * then the columns' runs. */
static bool lay_out(const packed *p, int tensor, const plan_runs *runs, const plan_value *copied,
                    plan_buffer *buffer) {
  const plan_kernel *kernel = p->x.d.kernel;
  const llrt_layout from = buffer->layout;
  const int bits = from.in[0].bits, behind = llrt_layout_in_bits(&from) - bits;
  uint64_t in_run[LLRT_MAX_BITS] = {0}, rows[LLRT_MAX_BITS] = {0};
  int width = elements_of(PIECE_BITS, buffer->bits), n_rows = 0;
  for (int i = 0; i < bits; i++) {
    const uint64_t tile = plan_tile_bits_of(copied, from.column[i]);
    const uint64_t place =
        plan_place_in_run(kernel, tensor, runs, f2_apply(kernel->space.column, tile));
    if (place) in_run[bits_lowest(place)] = from.column[i];
    else rows[n_rows++] = from.column[i];
    if (place) width = bits_max(width, bits_lowest(place) + 1);
  }
  if (width > runs->bits || width + n_rows + behind > LLRT_MAX_BITS) return false;
  llrt_layout *to = &buffer->layout;
  *to = llrt_layout_empty();
  if (llrt_layout_add_out(to, from.out[0].name, from.out[0].bits) != LLRT_OK ||
      llrt_layout_add_in(to, from.in[0].name, width + n_rows) != LLRT_OK ||
      llrt_layout_add_in(to, from.in[1].name, from.in[1].bits) != LLRT_OK ||
      llrt_layout_add_in(to, from.in[2].name, from.in[2].bits) != LLRT_OK)
    return false;
  for (int i = 0; i < width; i++) to->column[i] = in_run[i];
  for (int i = 0; i < n_rows; i++) to->column[width + i] = rows[i];
  for (int i = 0; i < behind; i++) to->column[width + n_rows + i] = from.column[bits + i];
  buffer->bytes = plan_access_bytes(buffer->bits, width + n_rows);
  return true;
}

static llrt_status add_box(packed *p, int tensor, const plan_runs *runs, const plan_run_slot *slot,
                           plan_step *copy) {
  draft *d = &p->x.d;
  plan_launch *launch = &d->kernel->launch;
  const int unit = elements_of(ELEMENT_BYTES + 3, d->kernel->tensor_bits[tensor]);
  plan_box box = {.bytes = ELEMENT_BYTES,
                  .runs = true,
                  .packed = unit & 7,
                  .address = {.arg = tensor},
                  .size = {(uint16_t)(1 << (slot->width - unit)), (uint16_t)(1 << slot->rows),
                           runs->n == PLAN_RUN_DIGITS},
                  .extent = {{.arg = -1, .value = 1ll << (runs->bits - unit)}}};
  int8_t *axis = d->kernel->box_axis[launch->n_boxes];
  axis[0] = -1;
  for (int i = 0; i < runs->n; i++) {
    const plan_digit *digit = &d->kernel->digit[runs->digit[i]];
    axis[1 + i] = runs->digit[i];
    box.stride[i] = runs->stride[i];
    LLRT_TRY(draft_number(d, PLAN_ARG_CEIL, digit->axis, 0, digit->step, &box.extent[1 + i]));
  }
  launch->box[launch->n_boxes++] = box;
  copy->box = (uint8_t)launch->n_boxes;
  return LLRT_OK;
}

llrt_status packed_plan_runs(packed *p, int operand, const plan_value *copied, plan_buffer *buffer,
                             plan_step *copy) {
  const plan_kernel *kernel = p->x.d.kernel;
  const int tensor = p->operand[operand].tensor, bits = kernel->tensor_bits[tensor];
  const int unit = elements_of(ELEMENT_BYTES + 3, bits);
  plan_runs runs;
  plan_run_slot slot;
  bool found = plan_runs_of(kernel, tensor, &runs) && has_zeros_behind(p, tensor) &&
               draft_base_align(&p->x.d, tensor) >= elements_of(PIECE_BITS, bits) &&
               kernel->launch.n_boxes < PLAN_MAX_BOXES &&
               lay_out(p, tensor, &runs, copied, buffer) &&
               buffer->bytes % PLAN_LINE_BYTES == 0 && /* where a box may begin */
               plan_run_slot_of(kernel, tensor, copied, buffer, &slot);
  if (!found || slot.width - unit > MOST_POSITIONS || slot.rows > MOST_POSITIONS ||
      bits_count(slot.window) > MOST_WINDOW || slot.window >> WINDOW_BITS)
    return llrt_error(LLRT_UNSUPPORTED, "operand %d does not lie in runs that boxes bring",
                      operand);
  buffer->window = (uint8_t)slot.window;
  return add_box(p, tensor, &runs, &slot, copy);
}
