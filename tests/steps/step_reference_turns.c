/* Turns that a block walks, and copies that are under way, as docs/steps.md defines them. Of copies
 * only what they bring is looked at: whether anybody looks too early is the interpreter's and the
 * emulators' to see. */
#include "step_state.h"

#include <string.h>

/* What a block has of the grid, which a turn changes. */
typedef struct block_place {
  uint64_t grid;
  int64_t upper[PLAN_MAX_DIGITS], turn, begin, end;
} block_place;

static block_place leave(const step_state *s) {
  block_place place = {.grid = s->grid, .turn = s->turn, .begin = s->begin, .end = s->end};
  memcpy(place.upper, s->upper, sizeof place.upper);
  return place;
}

static void come_back(step_state *s, const block_place *place) {
  s->grid = place->grid;
  s->turn = place->turn;
  s->begin = place->begin;
  s->end = place->end;
  memcpy(s->upper, place->upper, sizeof place->upper);
}

/* So many turns, from its number times that on, as far as there are turns. */
static void find_share(step_state *s) {
  const plan_turns *walk = &s->kernel->walk;
  int64_t turns = step_number(s, &walk->turns),
          share = walk->split < 0 ? turns : step_number(s, &walk->share);
  s->begin = walk->split < 0 ? 0 : s->upper[walk->split] * share;
  s->end = s->begin + share < turns ? s->begin + share : turns;
}

/* A turn's number splits like a block's: its bits of the grid lie above the block's, uppers are
 * those of digits of the walk. */
static void enter(step_state *s, uint64_t grid, int64_t turn) {
  const plan_turns *walk = &s->kernel->walk;
  int64_t left = walk->down ? step_number(s, &walk->turns) - 1 - turn : turn;
  s->turn = turn;
  s->grid = grid;
  for (int i = 0; i < walk->n_places; i++) {
    const plan_place *place = &walk->place[i];
    int64_t count = place->digit < 0 ? (int64_t)1 << place->bits : step_number(s, &place->count);
    if (place->digit < 0) s->grid |= (uint64_t)(left % count) << walk->grid_bits;
    else s->upper[place->digit] = left % count;
    left /= count;
  }
}

static void take_over(step_state *s, int from, int to) {
  memcpy(s->value[to], s->value[from], (size_t)step_places_of(s, to) * sizeof(step_element));
}

bool step_walk(step_state *s, int at) {
  const plan_step *step = &s->kernel->step[at], *last = step + step->body;
  const block_place block = leave(s);
  find_share(s);
  for (int64_t turn = s->begin; turn <= s->end || turn == s->begin; turn++) {
    bool first = turn == s->begin;
    if (!step->bare) take_over(s, first ? step->in : last->out, step->out);
    if (step->pairs) take_over(s, first ? step->index_in : last->index_out, step->index_out);
    if (turn >= s->end) break;
    enter(s, block.grid, turn);
    if (!step_run(s, at + 1, step->body)) return false;
  }
  come_back(s, &block);
  return true;
}

bool step_ahead(step_state *s, int at) {
  const plan_step *step = &s->kernel->step[at];
  const block_place now = leave(s);
  bool right = true;
  if (s->turn < 0) find_share(s);
  int64_t turn = (now.turn < 0 ? s->begin : now.turn) + step->turns;
  uint64_t own = ((uint64_t)1 << s->kernel->walk.grid_bits) - 1;
  if (turn < s->end) {
    enter(s, now.grid & own, turn);
    right = step_run(s, at + 1, step->body);
  }
  come_back(s, &now);
  return right;
}
