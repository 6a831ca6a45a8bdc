/* What a walk moves, and what those move that share rings with it. */
#include "jit/plan/facts/walk_moves.h"

#include "base/bits.h"
#include "layout/f2.h"

_Static_assert(PLAN_MAX_BUFFERS <= 32, "a mask has a bit for each buffer");

static bool moves_tensor(const plan_step *step) {
  return step->kind == PLAN_LOAD || step->kind == PLAN_STORE;
}

static bool moves_ring(const plan_kernel *kernel, const plan_step *step) {
  return (step->kind == PLAN_SHARED_LOAD || step->kind == PLAN_SHARED_STORE) &&
         kernel->buffer[step->buffer].slots > 0;
}

static bool stores(const plan_step *step) {
  return step->kind == PLAN_STORE || step->kind == PLAN_SHARED_STORE;
}

/* One that tensors' accesses have goes before one of a ring, one of the whole tile before others.
 */
static int moved_value(const plan_kernel *kernel, int at) {
  int value = -1, of_ring = -1;
  for (int i = at + 1; i <= at + kernel->step[at].body; i++) {
    const plan_step *step = &kernel->step[i];
    int own = stores(step) ? step->in : step->out;
    if (moves_ring(kernel, step)) of_ring = own;
    if (moves_tensor(step) && (value < 0 || !kernel->value[own].reduced)) value = own;
  }
  return value < 0 ? of_ring : value;
}

static uint32_t rings_of(const plan_kernel *kernel, int at) {
  uint32_t rings = 0;
  for (int i = at + 1; i <= at + kernel->step[at].body; i++)
    if (moves_ring(kernel, &kernel->step[i])) rings |= 1u << kernel->step[i].buffer;
  return rings;
}

static uint32_t tensors_of(const plan_kernel *kernel, int at) {
  uint32_t tensors = 0;
  for (int i = at + 1; i <= at + kernel->step[at].body; i++)
    if (moves_tensor(&kernel->step[i])) tensors |= 1u << kernel->step[i].tensor;
  return tensors;
}

/* The rings of the walk, and of those that share such with it. */
static uint32_t shared_rings(const plan_kernel *kernel, int at) {
  uint32_t rings = rings_of(kernel, at), before;
  do {
    before = rings;
    for (int i = 0; i < kernel->n_steps; i++) {
      uint32_t own = kernel->step[i].kind == PLAN_WALK ? rings_of(kernel, i) : 0;
      if (own & rings) rings |= own;
    }
  } while (rings != before);
  return rings;
}

/* Whether some of the tile's bits move what a bound is about. */
static bool move_bounded(const plan_kernel *kernel, const plan_bound *bound, uint64_t tile_bits) {
  uint64_t moved = f2_apply(kernel->space.column, tile_bits);
  bool found = false;
  for (int i = 0; i < kernel->n_digits; i++) {
    const plan_digit *digit = &kernel->digit[i];
    uint64_t bits = moved >> llrt_layout_out_shift(&kernel->space, i) & bits_mask(digit->bits);
    found |= bits && (bound->axis < 0 ? i == bound->top : digit->axis == bound->axis);
  }
  return found;
}

/* A value that lacks tile bits (weights along another axis, say, beside positions of a row that is
 * joined) has of what they move the first position alone: that says nothing of the others. */
static bool tells_whole(const plan_kernel *kernel, int value) {
  bool tells = value >= 0;
  for (int i = 0; i < kernel->n_bounds && tells; i++)
    tells = !move_bounded(kernel, &kernel->bound[i], kernel->value[value].reduced);
  return tells;
}

plan_moves plan_walk_moves(const plan_kernel *kernel, int at) {
  uint32_t rings = shared_rings(kernel, at);
  plan_moves moves = {.value = moved_value(kernel, at),
                      .tensors = tensors_of(kernel, at),
                      .may_leave = kernel->step[at].by_warps};
  moves.tells_whole = tells_whole(kernel, moves.value);
  for (int i = 0; i < kernel->n_steps && rings; i++) {
    if (kernel->step[i].kind != PLAN_WALK || !(rings_of(kernel, i) & rings)) continue;
    moves.tensors |= tensors_of(kernel, i);
    moves.may_leave &= kernel->step[i].by_warps;
  }
  return moves;
}
