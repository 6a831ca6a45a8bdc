/* Shared memory, as docs/steps.md defines what steps do to it. */
#include "step_state.h"

#include "base/bits.h"
#include "layout/f2.h"

/* Where an element lies: offset, repetition and block are what the layout maps to its tile
 * coordinate; a buffer's columns are independent, so that there is one. */
static uint64_t place_in(const plan_buffer *buffer, uint64_t tile) {
  f2_basis basis;
  uint64_t place = 0;
  f2_basis_init(&basis);
  for (int i = 0; i < llrt_layout_in_bits(&buffer->layout); i++)
    f2_basis_insert_as(&basis, buffer->layout.column[i], 1ull << i);
  f2_basis_reduce(&basis, tile, &place);
  return place;
}

/* That place of a block: in a ring in the turn's slot. */
static step_element *element_at(const step_state *s, const plan_buffer *buffer, uint64_t block,
                                uint64_t offset) {
  uint64_t slot = buffer->slots ? (uint64_t)(s->turn - s->begin) % buffer->slots : 0;
  uint64_t first = (uint64_t)buffer->offset + slot * (uint64_t)buffer->bytes;
  return &s->shared[(block * (uint64_t)s->kernel->launch.shared_bytes + first) * 2 +
                    offset * (uint64_t)buffer->bits / 4];
}

static bool move_shared(step_state *s, const plan_step *step, int value, bool load) {
  const plan_buffer *buffer = &s->kernel->buffer[step->buffer];
  int offsets = buffer->layout.in[0].bits;
  for (int64_t at = 0; at < step_places_of(s, value); at++) {
    uint64_t place = place_in(buffer, step_own_tile(s, value, at)),
             offset = place & bits_mask(offsets);
    if ((place >> offsets & bits_mask(buffer->layout.in[1].bits)) != step->repetition) continue;
    step_element *element =
        element_at(s, buffer, place >> (offsets + buffer->layout.in[1].bits), offset);
    if (load) s->value[value][at] = *element;
    else if (step_is_first(s, value, at)) *element = s->value[value][at];
  }
  return true;
}

void step_fetch(step_state *s, int value, int number) {
  const plan_buffer *buffer = &s->kernel->buffer[number];
  for (int64_t at = 0; at < step_places_of(s, value); at++)
    s->value[value][at] = *element_at(s, buffer, 0, place_in(buffer, step_own_tile(s, value, at)));
}

/* A load of `in` that goes to the turn's slot; 0 where it loads nothing. */
static bool copy(step_state *s, const plan_step *step) {
  const plan_buffer *buffer = &s->kernel->buffer[step->buffer];
  for (int64_t at = 0; at < step_places_of(s, step->in); at++) {
    int64_t position[PLAN_MAX_DIGITS];
    step_position(s, step_tile(s, step->in, at), position);
    step_element element = {0, 0};
    if (step_inside(s, step, position)) {
      int64_t offset = step_offset(s, step->tensor, position);
      if (offset < 0 || offset >= s->c->tensor[step->tensor].elements)
        return step_fail(s, "element %lld of tensor %d is copied", (long long)offset, step->tensor);
      element = step_read(s, step->tensor, offset);
    }
    *element_at(s, buffer, 0, place_in(buffer, step_own_tile(s, step->in, at))) = element;
  }
  return true;
}

bool step_run_shared(step_state *s, const plan_step *step) {
  switch ((plan_step_kind)step->kind) {
  case PLAN_SHARED_STORE: return move_shared(s, step, step->in, false);
  case PLAN_SHARED_LOAD: return move_shared(s, step, step->out, true);
  case PLAN_COPY: return copy(s, step);
  case PLAN_COPIED:
  case PLAN_BARRIER: return true;
  case PLAN_ROLES:
  case PLAN_LANDED:
  case PLAN_FILLED:
  case PLAN_RELEASE: return true;
  default: return step_run_dot(s, step);
  }
}
