/* Totals that blocks tell each other, as docs/steps.md defines them. Blocks go in order, so that
 * nobody waits. */
#include "step_state.h"

#include "base/bits.h"

#include <stdlib.h>
#include <string.h>

/* What blocks have published: by level, block and coordinate, behind a word that says whether it is
 * there. */
static step_element *cell_of(const step_state *s, int level, int64_t block, int kept,
                             uint64_t tile) {
  int64_t blocks = step_number(s, &s->kernel->lookback.blocks);
  return &s->cells[((level * blocks + block) << kept) + (int64_t)tile];
}

static int64_t turn_of(const step_state *s) { return s->upper[s->kernel->walk.split]; }

static void publish(step_state *s, const plan_step *step) {
  const plan_lookback *lookback = &s->kernel->lookback;
  int64_t unit = (int64_t)1 << lookback->bits * step->level;
  int kept = s->kernel->value[step->in].layout.out[0].bits;
  if ((turn_of(s) + 1) % unit != 0) return;
  for (int64_t at = 0; at < step_places_of(s, step->in); at++)
    *cell_of(s, step->level, s->block, kept, step_own_tile(s, step->in, at)) =
        s->value[step->in][at];
}

/* The turn that publishes the k-th total of a level before this one; -1: there is none. A level has
 * a group of totals of each total of the next level; the highest has one, of all turns. Lagging,
 * the highest ends a total earlier, and the group of the level below begins a group earlier. */
static int64_t publisher(const plan_lookback *lookback, int level, int64_t turn, int64_t k) {
  int64_t unit = (int64_t)1 << lookback->bits * level, group = unit << lookback->bits,
          whole = turn / unit * unit;
  int top = lookback->levels - 1;
  if (level == top) {
    int64_t end = whole - (lookback->lags ? unit : 0);
    return end > 0 ? end - 1 : -1;
  }
  int64_t begin =
      turn / group * group - (lookback->lags && level == top - 1 ? group : 0) + k * unit;
  return begin >= 0 && begin + unit <= whole ? begin + unit - 1 : -1;
}

static bool await(step_state *s, const plan_step *step) {
  const plan_lookback *lookback = &s->kernel->lookback;
  int top = lookback->levels - 1, level = step->level,
      bits = s->kernel->value[step->out].layout.out[0].bits;
  int kept = level == top ? bits : bits - lookback->bits - (lookback->lags && level == top - 1);
  int64_t lines = step_number(s, &lookback->lines);
  for (int64_t at = 0; at < step_places_of(s, step->out); at++) {
    uint64_t tile = step_own_tile(s, step->out, at);
    int64_t from = publisher(lookback, level, turn_of(s), (int64_t)(tile >> kept));
    step_element *element = &s->value[step->out][at];
    *element = (step_element){step_neutral(step), 0};
    if (from < 0) continue;
    *element =
        *cell_of(s, level, s->block - (turn_of(s) - from) * lines, kept, tile & bits_mask(kept));
  }
  return true;
}

bool step_run_lookback(step_state *s, const plan_step *step) {
  switch ((plan_step_kind)step->kind) {
  case PLAN_PUBLISH: publish(s, step); return true;
  case PLAN_PEEK: return true;
  case PLAN_AWAIT: return await(s, step);
  default: return step_fail(s, "no definition of step kind %d", step->kind);
  }
}

/* Room for every block's totals, none of which is there; of the cells' memory nothing is said. */
void step_begin_lookback(step_state *s) {
  const plan_kernel *kernel = s->kernel;
  if (!kernel->lookback.used) return;
  size_t n = (size_t)(kernel->lookback.levels * step_number(s, &kernel->lookback.blocks))
             << kernel->space.in[0].bits;
  s->cells = malloc(n * sizeof *s->cells);
  for (size_t i = 0; i < n; i++) s->cells[i] = (step_element){0, ~(uint64_t)0};
  memset(s->open[2], 0xFF, step_bytes(&s->c->tensor[2]));
}
