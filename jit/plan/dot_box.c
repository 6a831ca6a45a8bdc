/* Boxes for the rings of warpgroups' operands: where a tensor is rows of elements that follow each other, at one stride,
 * the device copies a ring's slot by itself (plan_box), instead of threads that copy 16 bytes each. A row of a box is a row
 * of shared memory, its other dimension all rows; longer rows take several boxes. One more axis, of a batch, may say which
 * plane of rows it is. */
#include "jit/plan/dot.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/dot_box.h"
#include "jit/plan/dot_shared.h"
#include "jit/plan/own_bound.h"
#include "jit/plan/verify.h"
#include "layout/f2.h"

#define ROW_BYTES 7 /* log2 */
#define PIECE_BYTES 4
#define MOST_ROWS 8 /* log2 */

bool dot_digit_stride(const plan_kernel *kernel, int tensor, int digit, plan_number *stride) {
  const plan_digit_side *side = &kernel->digit[digit].side[tensor];
  int bits = kernel->digit[digit].bits;
  const uint64_t *column = &kernel->column[tensor][llrt_layout_out_shift(&kernel->space, digit)];
  *stride = side->stride;
  if (side->kind == PLAN_STRIDE) return true;
  if (side->kind != PLAN_COLUMNS) return false;
  if (bits == 0) return kernel->digit[digit].rest;
  *stride = (plan_number){.arg = -1, .value = (int64_t)column[0]};
  for (int b = 1; b < bits; b++)
    if (column[b] != column[0] << b) return false;
  return !kernel->digit[digit].rest || (side->stride.arg < 0 && side->stride.value == (int64_t)(column[0] << bits));
}

static bool is_number(const plan_number *number, int64_t value) { return number->arg < 0 && number->value == value; }

/* Whether a stride is so many times another one. */
static bool is_multiple(const plan_kernel *kernel, const plan_number *stride, const plan_number *of, int64_t times) {
  if (of->arg < 0) return is_number(stride, of->value * times);
  if (stride->arg < 0) return false;
  plan_arg arg = kernel->launch.arg[of->arg];
  const plan_arg *other = &kernel->launch.arg[stride->arg];
  arg.factor *= times;
  return arg.kind == PLAN_ARG_STRIDE && other->kind == arg.kind && other->tensor == arg.tensor && other->index == arg.index &&
         other->padded == arg.padded && other->factor == arg.factor;
}

/* The stride of one position of an axis, which several digits may make up; false: there is no such number. */
static bool axis_stride(const plan_kernel *kernel, int tensor, int axis, plan_number *stride) {
  bool found = false;
  plan_number other;
  for (int i = 0; i < kernel->n_digits; i++)
    if (kernel->digit[i].axis == axis && kernel->digit[i].step == 1)
      found = !found && dot_digit_stride(kernel, tensor, i, stride);
  for (int i = 0; found && i < kernel->n_digits; i++) {
    const plan_digit *digit = &kernel->digit[i];
    if (digit->axis == axis && digit->step != 1)
      found = (bits_is_power_of_two(digit->step) ? stride->arg < 0 : digit->bits == 0) &&
              dot_digit_stride(kernel, tensor, i, &other) && is_multiple(kernel, &other, stride, digit->step);
  }
  return found;
}

/* Whether a digit moves the tensor's address. */
static bool moves(const plan_kernel *kernel, int tensor, int digit) {
  plan_number stride;
  return !dot_digit_stride(kernel, tensor, digit, &stride) || !is_number(&stride, 0);
}

/* Whether no digit of an axis that the box has not, and nothing else, moves the tensor's address. */
static bool is_of_axes(const plan_kernel *kernel, int tensor, const int8_t *axis, int rank) {
  bool only = kernel->origin[tensor] == 0 && kernel->swizzle[tensor].swizzle_len == 0 && kernel->n_indices == 0;
  for (int i = 0; i < kernel->n_digits; i++) {
    bool of_box = false;
    for (int d = 0; d < rank; d++) of_box |= kernel->digit[i].axis == axis[d];
    only &= of_box || !moves(kernel, tensor, i);
  }
  for (int i = 0; i < kernel->n_terms; i++) only &= kernel->term[i].tensor != tensor;
  return only;
}

/* The first axis beside rows and what is across them that moves the tensor's address; -1: none. */
static int batch_axis(const plan_kernel *kernel, int tensor, const int8_t axis[2]) {
  for (int i = 0; i < kernel->n_digits; i++) {
    int own = kernel->digit[i].axis;
    if (own >= 0 && own != axis[0] && own != axis[1] && moves(kernel, tensor, i)) return own;
  }
  return -1;
}

/* One dimension of a box: its extent, and its stride but for rows'. */
static llrt_status add_dimension(dot_draft *x, int tensor, int d, int axis, plan_box *box, bool *found) {
  plan_kernel *kernel = x->d.kernel;
  plan_number stride;
  kernel->box_axis[kernel->launch.n_boxes][d] = (int8_t)axis;
  *found = !draft_on_device(&x->d, axis) && axis_stride(kernel, tensor, axis, &stride) &&
           (d == 0 ? is_number(&stride, 1) : stride.value >= 0);
  if (!*found) return LLRT_OK;
  if (d > 0) box->stride[d - 1] = stride;
  return draft_number(&x->d, PLAN_ARG_CEIL, axis, false, 1, &box->extent[d]);
}

llrt_status dot_plan_box(dot_draft *x, int operand, bool transposed, const plan_step *copy, int most, bool *found) {
  plan_kernel *kernel = x->d.kernel;
  plan_launch *launch = &kernel->launch;
  int first = x->job->desc.tensors[0].rank - 3, tensor = copy->tensor, dims[2] = {DOT_DIM_K, operand ? DOT_DIM_N : DOT_DIM_M};
  int element = bits_log2(kernel->tensor_bits[tensor]) - 3, n[2];
  plan_box box = {.bytes = (uint8_t)element, .address = {.arg = tensor}};
  *found = element >= 0 && launch->n_boxes < PLAN_MAX_BOXES;
  if (!*found) return LLRT_OK;
  for (int i = 0; i < 2 && *found; i++) {
    int dim = dims[transposed ? 1 - i : i];
    n[i] = bits_count(x->bits[dim]);
    LLRT_TRY(add_dimension(x, tensor, i, first + dim, &box, found));
  }
  if (!*found) return LLRT_OK;
  const int8_t *axis = kernel->box_axis[launch->n_boxes];
  int row = bits_min(bits_min(n[0], most), ROW_BYTES - element), batch = batch_axis(kernel, tensor, axis);
  *found = row + element >= PIECE_BYTES && n[1] <= MOST_ROWS;
  if (*found && batch >= 0) LLRT_TRY(add_dimension(x, tensor, 2, batch, &box, found));
  box.size[0] = (uint16_t)(1 << row);
  box.size[1] = (uint16_t)plan_own_positions(kernel, axis[1], 1 << n[1]);
  box.size[2] = batch >= 0;
  *found = *found && is_of_axes(kernel, tensor, axis, plan_box_rank(&box));
  if (!*found) return LLRT_OK;
  box.swizzle = (uint8_t)(row + element - PIECE_BYTES);
  launch->box[launch->n_boxes++] = box;
  return LLRT_OK;
}

int dot_box_pitch(const plan_box *box) {
  return box->size[0] << bits_highest(2 * (uint64_t)box->size[1] - 1) << box->bytes;
}

int dot_box_count(const plan_kernel *kernel, const plan_step *step) {
  const plan_box *box = &kernel->launch.box[step->box - 1];
  int count = kernel->buffer[step->buffer].bytes / dot_box_pitch(box);
  int64_t own = plan_own_positions(kernel, kernel->box_axis[step->box - 1][0], (int64_t)count * box->size[0]);
  return bits_min(count, (int)bits_ceil_div(own, box->size[0]));
}

bool dot_only_boxes(const plan_kernel *kernel) {
  int at = 0;
  while (at < kernel->n_steps && kernel->step[at].kind != PLAN_PRODUCE) at++;
  bool only = at < kernel->n_steps;
  for (int i = at + 1; only && i <= at + kernel->step[at].body; i++) only = kernel->step[i].box > 0;
  return only;
}

int dot_landed_step(const plan_kernel *kernel) {
  int at = kernel->n_steps - 1;
  while (at >= 0 && kernel->step[at].kind != PLAN_LANDED) at--;
  return at;
}

/* ---- verification ---- */

/* Takes an axis's position out of the digits' fixed bits. */
static uint64_t take_position(const plan_kernel *kernel, int axis, uint64_t *at) {
  uint64_t position = 0;
  for (int i = 0; i < kernel->n_digits; i++) {
    if (kernel->digit[i].axis != axis) continue;
    int shift = llrt_layout_out_shift(&kernel->space, i);
    uint64_t mask = bits_mask(kernel->digit[i].bits);
    position += (*at >> shift & mask) * (uint64_t)kernel->digit[i].step;
    *at &= ~(mask << shift);
  }
  return position;
}

/* Whether byte b of the slot, for each b that is a power of two, is where boxes put what the buffer has there. */
static bool lies_so(const plan_kernel *kernel, const plan_step *step) {
  const plan_box *box = &kernel->launch.box[step->box - 1];
  const plan_buffer *buffer = &kernel->buffer[step->buffer];
  const int8_t *axis = kernel->box_axis[step->box - 1];
  int row = bits_log2(box->size[0]), rows = bits_highest(2 * (uint64_t)box->size[1] - 1);
  if (buffer->bytes % (1 << (row + rows + box->bytes)) != 0) return false;
  for (int i = 0; i < buffer->layout.in[0].bits; i++) {
    uint64_t tile = plan_tile_bits_of(&kernel->value[step->in], buffer->layout.column[i]);
    uint64_t at = f2_apply(kernel->space.column, tile), position[2];
    for (int d = 0; d < 2; d++) position[d] = take_position(kernel, axis[d], &at); /* of a batch a box has one position */
    uint64_t plain = (position[0] & bits_mask(row)) | position[1] << row | position[0] >> row << (row + rows);
    if (at != 0 || position[1] >> rows || dot_shared_permuted(plain << box->bytes, box->swizzle) != 1ull << (i + box->bytes))
      return false;
  }
  return true;
}

static bool same(const plan_number *a, const plan_number *b) {
  return a->arg == b->arg && (a->arg >= 0 || a->value == b->value);
}

llrt_status dot_verify_box(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  CHECK(step->box <= kernel->launch.n_boxes && step->masked && kernel->producers > 0, "step %d: box %d", at, step->box);
  const plan_box *box = &kernel->launch.box[step->box - 1];
  const int8_t *axis = kernel->box_axis[step->box - 1];
  int rank = plan_box_rank(box);
  plan_number stride;
  for (int d = 0; d < rank; d++)
    CHECK(box->size[d] > 0 && box->size[d] <= (d < 2 ? 256 : 1) && (d == 1 || bits_count(box->size[d]) == 1) &&
              axis_stride(kernel, step->tensor, axis[d], &stride) &&
              (d == 0 ? is_number(&stride, 1) : same(&stride, &box->stride[d - 1])),
          "step %d: dimension %d of a box", at, d);
  CHECK(box->address.arg == step->tensor && is_of_axes(kernel, step->tensor, axis, rank) &&
            8 << box->bytes == kernel->tensor_bits[step->tensor] &&
            box->size[0] << box->bytes == 1 << PIECE_BYTES << box->swizzle && lies_so(kernel, step),
        "step %d: a box is not what the buffer holds", at);
  for (int i = 0; i < kernel->n_bounds; i++) {
    const plan_bound *bound = &kernel->bound[i];
    if (!(bound->tensors >> step->tensor & 1)) continue;
    int digit = plan_own_digit(kernel, bound), own = digit < 0 ? -1 : kernel->digit[digit].axis;
    if (own >= 0 && (own == axis[0] || (own == axis[1] && bound->limit.value == box->size[1]))) continue;
    int d = 0;
    while (d + 1 < rank && bound->axis != axis[d]) d++;
    CHECK(!bound->device && bound->axis == axis[d] && same(&bound->limit, &box->extent[d]),
          "step %d: bound %d is not that of a box", at, i);
  }
  return LLRT_OK;
}
