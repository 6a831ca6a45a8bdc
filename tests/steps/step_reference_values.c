/* Steps that make values of values, as docs/steps.md defines them. */
#include "step_state.h"

#include "base/bits.h"
#include "jit/plan/access.h"
#include "layout/f2.h"

/* ---- moving elements ---- */

/* out(y) = in(y), from the same `places` places: those of a thread, of a warp. */
static bool take(step_state *s, const plan_step *step, int extra_bits) {
  int64_t from = step_registers_of(s, step->in) << extra_bits, to = step_registers_of(s, step->out) << extra_bits;
  for (int64_t at = 0; at < step_places_of(s, step->out); at++) {
    bool found = false;
    for (int64_t i = at / to * from; i < (at / to + 1) * from && !found; i++) {
      found = step_own_tile(s, step->in, i) == step_own_tile(s, step->out, at);
      if (found) s->value[step->out][at] = s->value[step->in][i];
    }
    if (!found) return step_fail(s, "element %lld of v%d is out of reach", (long long)at, step->out);
  }
  return true;
}

/* ---- shared memory ---- */

/* Where an element lies: offset, repetition and block are what the layout maps to its tile coordinate; a buffer's columns are
 * independent, so that there is one. */
static uint64_t place_in(const plan_buffer *buffer, uint64_t tile) {
  f2_basis basis;
  uint64_t place = 0;
  f2_basis_init(&basis);
  for (int i = 0; i < llrt_layout_in_bits(&buffer->layout); i++) f2_basis_insert_as(&basis, buffer->layout.column[i], 1ull << i);
  f2_basis_reduce(&basis, tile, &place);
  return place;
}

static bool move_shared(step_state *s, const plan_step *step, int value, bool load) {
  const plan_buffer *buffer = &s->kernel->buffer[step->buffer];
  int offsets = buffer->layout.in[0].bits;
  for (int64_t at = 0; at < step_places_of(s, value); at++) {
    uint64_t place = place_in(buffer, step_own_tile(s, value, at)), offset = place & bits_mask(offsets);
    if ((place >> offsets & bits_mask(buffer->layout.in[1].bits)) != step->repetition) continue;
    step_element *element = &s->shared[(uint64_t)buffer->offset * 2 + offset * (uint64_t)buffer->bits / 4];
    if (load) s->value[value][at] = *element;
    else if (step_is_first(s, value, at)) *element = s->value[value][at];
  }
  return true;
}

bool step_run_value(step_state *s, const plan_step *step) {
  switch ((plan_step_kind)step->kind) {
    case PLAN_REGISTERS:
    case PLAN_SPREAD: return take(s, step, 0);
    case PLAN_SHUFFLE: return take(s, step, s->kernel->lane_bits);
    case PLAN_SHARED_STORE: return move_shared(s, step, step->in, false);
    case PLAN_SHARED_LOAD: return move_shared(s, step, step->out, true);
    case PLAN_BARRIER: return true;
    default: return step_fail(s, "no definition of step kind %d", step->kind);
  }
}
