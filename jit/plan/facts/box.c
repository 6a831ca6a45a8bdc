/* See box.h. */
#include "jit/plan/facts/box.h"

#include "base/bits.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/tile_padding.h"

bool plan_digit_stride(const plan_kernel *kernel, int tensor, int digit, plan_number *stride) {
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
  return !kernel->digit[digit].rest ||
         (side->stride.arg < 0 && side->stride.value == (int64_t)(column[0] << bits));
}

/* Whether a stride is so many times another one. */
static bool is_multiple(const plan_kernel *kernel, const plan_number *stride, const plan_number *of,
                        int64_t times) {
  if (of->arg < 0) return plan_is_number(stride, of->value * times);
  if (stride->arg < 0) return false;
  plan_arg arg = kernel->launch.arg[of->arg];
  const plan_arg *other = &kernel->launch.arg[stride->arg];
  arg.factor *= times;
  return arg.kind == PLAN_ARG_STRIDE && other->kind == arg.kind && other->tensor == arg.tensor &&
         other->index == arg.index && other->padded == arg.padded && other->factor == arg.factor;
}

/* Whether a digit that begins at no power of two has one stride for all of its positions. */
static bool is_even(const plan_kernel *kernel, int tensor, int digit) {
  return kernel->digit[digit].bits == 0 || kernel->digit[digit].side[tensor].kind == PLAN_STRIDE;
}

bool plan_axis_stride(const plan_kernel *kernel, int tensor, int axis, plan_number *stride) {
  bool found = false;
  plan_number other;
  for (int i = 0; i < kernel->n_digits; i++)
    if (kernel->digit[i].axis == axis && kernel->digit[i].step == 1)
      found = !found && plan_digit_stride(kernel, tensor, i, stride);
  for (int i = 0; found && i < kernel->n_digits; i++) {
    const plan_digit *digit = &kernel->digit[i];
    if (digit->axis == axis && digit->step != 1)
      found = (bits_is_power_of_two(digit->step) ? stride->arg < 0 : is_even(kernel, tensor, i)) &&
              plan_digit_stride(kernel, tensor, i, &other) &&
              is_multiple(kernel, &other, stride, digit->step);
  }
  return found;
}

bool plan_digit_moves(const plan_kernel *kernel, int tensor, int digit) {
  plan_number stride;
  return !plan_digit_stride(kernel, tensor, digit, &stride) || !plan_is_number(&stride, 0);
}

bool plan_is_of_axes(const plan_kernel *kernel, int tensor, const int8_t *axis, int rank) {
  bool only = kernel->origin[tensor] == 0 && kernel->swizzle[tensor].swizzle_len == 0;
  for (int i = 0; i < kernel->n_indices; i++) only &= kernel->index[i].tensor != tensor;
  for (int i = 0; i < kernel->n_digits; i++) {
    bool of_box = false;
    for (int d = 0; d < rank; d++) of_box |= kernel->digit[i].axis == axis[d];
    only &= of_box || !plan_digit_moves(kernel, tensor, i);
  }
  for (int i = 0; i < kernel->n_terms; i++) only &= kernel->term[i].tensor != tensor;
  return only;
}

/* A bound within the tile: of which digit, where that has no other tile. */
static bool keeps_padding(const plan_kernel *kernel, const plan_box *box, const int8_t *axis,
                          const plan_bound *bound) {
  int digit = plan_padded_digit(kernel, bound);
  if (digit < 0 || !plan_digit_moves(kernel, PLAN_DESTINATION, digit)) return false;
  if (kernel->digit[digit].axis == axis[0]) return true;
  return kernel->digit[digit].axis == axis[1] && bound->limit.value == plan_box_rows(box) &&
         2 * bound->limit.value > 1ll << kernel->digit[digit].bits;
}

bool plan_box_keeps(const plan_kernel *kernel, int tensor, const plan_box *box, const int8_t *axis,
                    const plan_bound *bound) {
  int d = 0, rank = plan_box_rank(box);
  if (!(bound->tensors >> tensor & 1)) return true;
  if (bound->axis < 0) return keeps_padding(kernel, box, axis, bound);
  while (d + 1 < rank && bound->axis != axis[d]) d++;
  if (kernel->experts.shared && bound->axis == kernel->experts.axis)
    return bound->axis == axis[d]; /* other experts' rows, whose results are not stored */
  if (kernel->experts.used && bound->axis == kernel->experts.axis)
    return bound->axis == axis[d]; /* or which threads do not copy */
  return !bound->device && bound->axis == axis[d] &&
         plan_same_number(&bound->limit, &box->extent[d]);
}

/* Whether it is an axis of results, not one that is summed along. */
static bool is_of_results(const plan_kernel *kernel, int axis) {
  bool moves = false;
  for (int i = 0; i < kernel->n_digits; i++)
    moves |= kernel->digit[i].axis == axis && plan_digit_moves(kernel, PLAN_DESTINATION, i);
  return moves;
}

bool plan_box_may_lack(const plan_kernel *kernel, int tensor, const plan_box *box,
                       const int8_t *axis) {
  bool bounded = false;
  for (int i = 0; i < kernel->n_bounds; i++)
    bounded |= kernel->bound[i].axis == axis[1] && kernel->bound[i].tensors >> tensor & 1;
  return bounded && box->parts == 0 && !kernel->experts.used && !kernel->deal.used &&
         is_of_results(kernel, axis[1]);
}

int plan_box_pitch(const plan_box *box) {
  return box->size[0] << bits_highest(2 * (uint64_t)plan_box_rows(box) - 1) << box->bytes;
}

int plan_box_count(const plan_kernel *kernel, const plan_step *step) {
  const plan_box *box = &kernel->launch.box[step->box - 1];
  int count = plan_buffer_held(&kernel->buffer[step->buffer]) / plan_box_pitch(box);
  if (box->runs) return count;
  int64_t own = plan_unpadded_positions(kernel, kernel->box_axis[step->box - 1][0],
                                        (int64_t)count * box->size[0]);
  return bits_min(count, (int)bits_ceil_div(own, box->size[0]));
}

int plan_box_end(const plan_kernel *kernel, const plan_step *step) {
  const plan_box *box = &kernel->launch.box[step->box - 1];
  return (plan_box_count(kernel, step) - 1) * plan_box_pitch(box) +
         (box->size[0] * plan_box_rows(box) << box->bytes);
}

bool plan_fetches_together(const plan_kernel *kernel) {
  bool together = false;
  for (int i = 0; i < kernel->launch.n_boxes; i++) together |= kernel->launch.box[i].parts > 0;
  return together;
}

int plan_other_fetchers(const plan_kernel *kernel) {
  int others = 0;
  for (int i = 0; i < kernel->launch.n_boxes; i++) others += (1 << kernel->launch.box[i].parts) - 1;
  return others;
}

bool plan_cuts_boxes(const plan_kernel *kernel) {
  return kernel->experts.used && !kernel->experts.shared && kernel->launch.n_boxes > 0;
}

/* Of teams one multiplies while the other one asks: 32 experts, 16384 tokens, take 2598 us on an
 * H200, asked late 2721; of 128 experts, tiles of 128 x 256, 4074 and 4029. Products of others were
 * not measured, and where two blocks stay it made no difference (docs/history/grouped-products.md).
 */
bool plan_asks_late(const plan_kernel *kernel) {
  static const uint64_t alike =
      1ull << PLAN_FILLED | 1ull << PLAN_DOT | 1ull << PLAN_MULTIPLIED | 1ull << PLAN_RELEASE;
  int at = 0;
  if (!kernel->experts.shared || kernel->team_bits > 0 || kernel->launch.rounds != 1) return false;
  while (at < kernel->n_steps && kernel->step[at].kind != PLAN_ROLES) at++;
  if (++at >= kernel->n_steps || kernel->step[at].kind != PLAN_WALK || kernel->walk.split >= 0)
    return false;
  const plan_step *walk = &kernel->step[at];
  bool late = walk->ahead == 0 && !walk->by_warps;
  for (int i = 1; i <= walk->body && late; i++)
    if (walk[i].kind == PLAN_PRODUCE) i += walk[i].body;
    else late = alike >> walk[i].kind & 1;
  return late;
}

bool plan_only_boxes(const plan_kernel *kernel) {
  int at = 0;
  if (plan_cuts_boxes(kernel)) return false;
  while (at < kernel->n_steps && kernel->step[at].kind != PLAN_PRODUCE) at++;
  bool only = at < kernel->n_steps;
  for (int i = at + 1; only && i <= at + kernel->step[at].body; i++) only = kernel->step[i].box > 0;
  return only;
}

bool plan_sends(const plan_kernel *kernel) {
  bool sends = false;
  for (int i = 0; i < kernel->n_steps; i++) sends |= kernel->step[i].kind == PLAN_SEND;
  return sends;
}

bool plan_is_multiplied(const plan_kernel *kernel, int buffer) {
  for (int i = 0; i < kernel->n_steps; i++) {
    const plan_step *step = &kernel->step[i];
    for (int o = 0; o < 2 && step->kind == PLAN_DOT; o++)
      if (step->shared >> o & 1 && step->from[o] == buffer) return true;
  }
  return false;
}

bool plan_threads_tell(const plan_kernel *kernel) {
  return kernel->launch.n_boxes == 0 && !plan_waits_fence(kernel);
}

bool plan_waits_fence(const plan_kernel *kernel) {
  bool fence = plan_cuts_boxes(kernel);
  for (int i = 0; i < kernel->n_steps && kernel->experts.used; i++)
    fence |= kernel->step[i].kind == PLAN_COPY && !kernel->step[i].box &&
             plan_is_multiplied(kernel, kernel->step[i].buffer);
  return fence;
}

/* Bytes that are to be under way: what memory brings to a multiprocessor while a copy takes its
 * way. With 48 KiB, pieces of 8 bytes, 64 x 4096 x 4100 takes 27.4 us on an H200, with 96 KiB 25.5,
 * with 160 KiB as long. */
#define UNDER_WAY (96 << 10)
#define FREE_SLOTS 3 /* of a turn that is multiplied, of one that is released, of the next one */

int plan_copies_lag(const plan_kernel *kernel) {
  int bytes = 0;
  for (int i = 0; i < kernel->n_steps; i++) {
    const plan_step *step = &kernel->step[i];
    if (step->kind == PLAN_COPY && (!step->masked || step->lines))
      bytes += kernel->buffer[step->buffer].bytes;
  }
  if (bytes == 0) return 1;
  return bits_max(bits_min(UNDER_WAY / bytes, kernel->slots - FREE_SLOTS), 1);
}

bool plan_copies_lines(const plan_kernel *kernel) {
  bool lines = false;
  for (int i = 0; i < kernel->n_steps; i++) lines |= kernel->step[i].lines;
  return lines;
}

int plan_landed_step(const plan_kernel *kernel) {
  int at = kernel->n_steps - 1;
  while (at >= 0 && kernel->step[at].kind != PLAN_LANDED) at--;
  return at;
}
