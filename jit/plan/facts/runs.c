/* See runs.h. */
#include "jit/plan/facts/runs.h"

#include "base/bits.h"
#include "jit/plan/facts/box.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"

/* Whether nothing but digits moves the tensor's address. */
static bool is_of_digits(const plan_kernel *kernel, int tensor) {
  bool only = kernel->origin[tensor] == 0 && kernel->swizzle[tensor].swizzle_len == 0;
  for (int i = 0; i < kernel->n_indices; i++) only &= kernel->index[i].tensor != tensor;
  for (int i = 0; i < kernel->n_terms; i++) only &= kernel->term[i].tensor != tensor;
  return only;
}

/* Adds a digit with an upper part, behind those of axes before its own. */
static bool add_digit(const plan_kernel *kernel, int tensor, int digit, plan_runs *out) {
  plan_number stride;
  int at = out->n;
  if (at == PLAN_RUN_DIGITS || kernel->digit[digit].axis < 0 ||
      !plan_digit_stride(kernel, tensor, digit, &stride))
    return false;
  for (; at > 0 && kernel->digit[out->digit[at - 1]].axis > kernel->digit[digit].axis; at--) {
    out->digit[at] = out->digit[at - 1];
    out->stride[at] = out->stride[at - 1];
  }
  out->digit[at] = (int8_t)digit;
  out->stride[at] = stride;
  out->n++;
  return true;
}

/* Takes the places of a digit's bits in the run, each of which no other bit has. */
static bool add_places(const plan_kernel *kernel, int tensor, int digit, uint64_t *places) {
  const uint64_t *column = &kernel->column[tensor][llrt_layout_out_shift(&kernel->space, digit)];
  if (kernel->digit[digit].side[tensor].kind != PLAN_COLUMNS) return false;
  for (int b = 0; b < kernel->digit[digit].bits; b++) {
    if (bits_count(column[b]) > 1 || *places & column[b]) return false;
    *places |= column[b];
  }
  return true;
}

bool plan_runs_of(const plan_kernel *kernel, int tensor, plan_runs *out) {
  uint64_t places = 0;
  bool found = is_of_digits(kernel, tensor);
  *out = (plan_runs){0};
  for (int i = 0; i < kernel->n_digits && found; i++) {
    const plan_digit *digit = &kernel->digit[i];
    if ((digit->bits == 0 && !digit->rest) || !plan_digit_moves(kernel, tensor, i)) continue;
    found =
        digit->rest ? add_digit(kernel, tensor, i, out) : add_places(kernel, tensor, i, &places);
  }
  out->bits = bits_count(places);
  return found && out->n > 0 && places > 0 && (places & (places + 1)) == 0;
}

uint64_t plan_place_in_run(const plan_kernel *kernel, int tensor, const plan_runs *runs,
                           uint64_t at) {
  for (int i = 0; i < runs->n; i++)
    at &= ~(bits_mask(kernel->space.out[runs->digit[i]].bits)
            << llrt_layout_out_shift(&kernel->space, runs->digit[i]));
  return f2_apply(kernel->column[tensor], at);
}

bool plan_run_slot_of(const plan_kernel *kernel, int tensor, const plan_value *value,
                      const plan_buffer *buffer, plan_run_slot *out) {
  plan_runs runs;
  *out = (plan_run_slot){0};
  if (!plan_runs_of(kernel, tensor, &runs)) return false;
  const int first = llrt_layout_out_shift(&kernel->space, runs.digit[0]);
  for (int i = 0; i < buffer->layout.in[0].bits; i++) {
    const uint64_t column = buffer->layout.column[i],
                   at = f2_apply(kernel->space.column, plan_tile_bits_of(value, column)),
                   place = plan_place_in_run(kernel, tensor, &runs, at);
    const bool row = column && !place;
    if (row && at != 1ull << (first + out->rows)) return false;
    if (!row && (out->rows > 0 || (column && place != 1ull << i))) return false;
    if (!column) out->window |= 1ull << i;
    if (row) out->rows++;
    else out->width++;
  }
  return out->width <= runs.bits;
}

const plan_step *plan_box_step(const plan_kernel *kernel, int buffer) {
  for (int i = 0; i < kernel->n_steps; i++) {
    const plan_step *step = &kernel->step[i];
    if (step->kind == PLAN_COPY && step->box && step->buffer == buffer) return step;
  }
  return NULL;
}
