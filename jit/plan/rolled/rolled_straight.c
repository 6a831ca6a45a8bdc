/* See rolled_straight.h. */
#include "jit/plan/rolled/rolled_straight.h"

#include "base/bits.h"
#include "expression/operators.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/kernel/step_table.h"
#include "jit/plan/rolled/rolled_steps.h"

#include <string.h>

/* log2 elements of a turn; instructions an element that make a value again; words of a thread that
 * wait in registers. */
#define TURN_BITS 3
#define MOST_AGAIN 2
#define MOST_WORDS 16
/* Instructions of an element from which on these are what a row waits for, not memory. */
#define MOST_WEIGHT 20

typedef struct finder {
  const plan_kernel *kernel;
  rolled_run *run;
  int rows; /* steps before this one load rows */
} finder;

/* Barriers, stores and what is asked for have no value. */
static bool makes_nothing(const plan_step *step) {
  return step->kind == PLAN_BARRIER || step->kind == PLAN_SHARED_STORE ||
         step->kind == PLAN_PREFETCH;
}

/* As rolled_maker, of steps that make something. */
static int maker_of(const plan_kernel *kernel, int value, int before) {
  int at = rolled_maker(kernel, value, before);
  while (at >= 0 && makes_nothing(&kernel->step[at])) at = rolled_maker(kernel, value, at);
  return at;
}

/* Instructions an element that make the value again of rows as they were loaded. */
static int cost_again(const finder *f, int value, int before) {
  const plan_kernel *kernel = f->kernel;
  int at = maker_of(kernel, value, before);
  if (at >= 0 && at < f->rows) return 0;
  const plan_step *step = at < 0 ? NULL : &kernel->step[at];
  if (!step || step->kind == PLAN_LOAD || step->kind == PLAN_FOLD ||
      !rolled_may_turn(kernel, step) || kernel->value[value].word > 0)
    return MOST_AGAIN + 1;
  int cost = rolled_weight(kernel, step);
  rolled_operands o = rolled_operands_of(step);
  for (int i = 0; i < o.n && cost <= MOST_AGAIN; i++)
    if (rolled_standing(kernel, f->run, o.value[i]) != ROLLED_SINGLE)
      cost += cost_again(f, o.value[i], at);
  return cost;
}

/* A turn's part of a value that was made before step `before`: made again, or taken. */
static bool provide(finder *f, int value, int before) {
  const plan_kernel *kernel = f->kernel;
  rolled_run *run = f->run;
  int at = maker_of(kernel, value, before);
  if (rolled_is_made(kernel, run, value) || rolled_list_has(run->in, run->n_in, value)) return true;
  if (at < f->rows || cost_again(f, value, before) > MOST_AGAIN)
    return at >= 0 && kernel->step[at].kind != PLAN_FOLD &&
           (at < f->rows || kernel->step[at].kind != PLAN_LOAD) &&
           rolled_list_add(run->in, &run->n_in, ROLLED_MOST_VALUES, value);
  rolled_operands o = rolled_operands_of(&kernel->step[at]);
  for (int i = 0; i < o.n; i++)
    if (rolled_standing(kernel, run, o.value[i]) == ROLLED_WHOLE && !provide(f, o.value[i], at))
      return false;
  return rolled_list_add(run->turn, &run->n_turn, ROLLED_MOST_STEPS, at);
}

/* Whether the step takes halves out of words by instructions that do not tell one run from another
 * (emit_halves.c): what the first one made would wait in registers. */
static bool takes_f16(const plan_kernel *kernel, const plan_step *step) {
  return step->kind == PLAN_MAP && kernel->map[step->map].from == LLRT_F16;
}

static bool place_step(finder *f, int at) {
  const plan_kernel *kernel = f->kernel;
  const plan_step *step = &kernel->step[at];
  rolled_run *run = f->run;
  rolled_operands o = rolled_operands_of(step);
  bool whole = false;
  for (int i = 0; i < o.n; i++) {
    rolled_standing_kind s = rolled_standing(kernel, run, o.value[i]);
    if (s == ROLLED_OTHER || (s == ROLLED_WHOLE && !provide(f, o.value[i], run->first)))
      return false;
    whole |= s == ROLLED_WHOLE;
  }
  int made = step->kind == PLAN_STORE ? step->in : step->out;
  rolled_standing_kind s = rolled_standing(kernel, run, made);
  bool joins = step->kind == PLAN_FOLD && whole && s == ROLLED_SINGLE;
  bool flips = step->kind == PLAN_APPLY && step->op == EXPR_FLIP;
  if (s == ROLLED_OTHER || step->pairs || flips || takes_f16(kernel, step) ||
      (whole && s == ROLLED_SINGLE && !joins) ||
      (joins && !rolled_joins_turns_last(kernel, run, step)))
    return false;
  if (!whole && s == ROLLED_SINGLE)
    return rolled_list_add(run->before, &run->n_before, ROLLED_MOST_STEPS, at);
  return rolled_keeps_together(kernel, run, step) &&
         rolled_list_add(run->turn, &run->n_turn, ROLLED_MOST_STEPS, at);
}

static bool may_turn(const finder *f, int at) {
  const plan_step *step = &f->kernel->step[at];
  return rolled_may_turn(f->kernel, step) ||
         (step->kind == PLAN_LOAD && rolled_moves_plainly(f->kernel, step));
}

/* Whether the step wants what turns from `first` on join. */
static bool wants_joined(const plan_kernel *kernel, int first, int at) {
  bool wants = false;
  for (int i = first; i < at; i++)
    wants |=
        kernel->step[i].kind == PLAN_FOLD && rolled_uses(&kernel->step[at], kernel->step[i].out);
  return wants;
}

/* What a run leaves that later ones take; false: they take what none leaves. */
static bool find_outs(const plan_kernel *kernel, rolled *r, int rows) {
  for (int i = 0; i < r->n_runs; i++)
    for (int k = 0; k < r->run[i].n_in; k++) {
      int value = r->run[i].in[k], at = maker_of(kernel, value, r->run[i].first), from = 0;
      if (at < rows) continue;
      while (from < i && !(r->run[from].first <= at && at < r->run[from].end)) from++;
      if (from == i ||
          !rolled_list_add(r->run[from].out, &r->run[from].n_out, ROLLED_MOST_VALUES, value))
        return false;
    }
  return true;
}

/* Whether a step between runs takes and makes few words of a thread, as joins across lanes and
 * warps do.
 */
static bool is_between(const plan_kernel *kernel, const plan_step *step) {
  int value = step->kind == PLAN_SHARED_LOAD ? step->out : step->in;
  switch (step->kind) {
  case PLAN_PREFETCH:
  case PLAN_BARRIER: return true;
  case PLAN_REGISTERS:
  case PLAN_FOLD_LANES:
  case PLAN_SHARED_STORE:
  case PLAN_SHARED_LOAD: return plan_value_bits(&kernel->value[value], PLAN_REGISTER) < TURN_BITS;
  default: return false;
  }
}

/* The run that begins with step `first`; false: a step of it cannot be done by turns. */
static bool make_run(finder *f, int first, const uint64_t *column, int bits) {
  rolled_run *run = f->run;
  *run = (rolled_run){.first = first, .end = first, .bits = bits, .places = true};
  for (int i = 0; i < bits; i++) run->column[i] = column[i];
  while (run->end < f->kernel->n_steps && may_turn(f, run->end) &&
         !wants_joined(f->kernel, first, run->end)) {
    if (!place_step(f, run->end)) return false;
    run->end++;
  }
  return true;
}

/* Instructions an element of all turns, about. */
static int weight_of(const plan_kernel *kernel, const rolled *r) {
  int weight = 0;
  for (int i = 0; i < r->n_runs; i++)
    for (int k = 0; k < r->run[i].n_turn; k++)
      weight += rolled_weight(kernel, &kernel->step[r->run[i].turn[k]]);
  return weight;
}

bool rolled_find_straight(const plan_kernel *kernel, rolled *r) {
  finder f = {.kernel = kernel};
  uint64_t column[ROLLED_MOST_BITS];
  r->n_runs = 0;
  while (f.rows < kernel->n_steps && kernel->step[f.rows].kind == PLAN_LOAD &&
         rolled_moves_plainly(kernel, &kernel->step[f.rows]))
    f.rows++;
  int bits = f.rows > 0 ? rolled_registers(kernel, &kernel->step[0]) - TURN_BITS : 0;
  if (bits < 1 || bits > ROLLED_MOST_BITS || kernel->n_bounds > 0 ||
      !rolled_part(kernel, kernel->step[0].out, bits, column))
    return false;
  for (int at = f.rows; at < kernel->n_steps;) {
    if (!may_turn(&f, at)) {
      if (!is_between(kernel, &kernel->step[at++])) return false;
      continue;
    }
    if (r->n_runs == ROLLED_MOST_RUNS) return false;
    f.run = &r->run[r->n_runs];
    if (!make_run(&f, at, column, bits)) return false;
    at = f.run->end;
    r->n_runs += f.run->n_turn > 0;
  }
  return r->n_runs > 0 && weight_of(kernel, r) <= MOST_WEIGHT && find_outs(kernel, r, f.rows);
}

/* ---- what waits ---- */

static int part_of(const plan_kernel *kernel, const rolled_run *run, int value) {
  return rolled_words(kernel, value) >> run->bits;
}

/* Words of a thread that wait in registers behind run `behind`, and places for more of them where
 * these are too many. */
static int words_behind(const plan_kernel *kernel, const rolled *found, int behind,
                        rolled_places *places) {
  const rolled_run *last = &found->run[behind];
  int counted[ROLLED_MOST_VALUES * ROLLED_MOST_RUNS], n = 0, words = 0;
  for (int i = behind + 1; i < found->n_runs; i++)
    for (int k = 0; k < found->run[i].n_in; k++) {
      int value = found->run[i].in[k], at = maker_of(kernel, value, found->run[i].first);
      if (at >= last->end || rolled_list_has(counted, n, value)) continue;
      counted[n++] = value;
      words += ((1 << last->bits) - places->turns[value]) * part_of(kernel, last, value);
    }
  for (int i = 0; i <= behind; i++)
    for (int k = 0; k < found->run[i].n_out; k++) {
      int value = found->run[i].out[k], part = part_of(kernel, last, value);
      while (rolled_list_has(counted, n, value) && words > MOST_WORDS &&
             places->turns[value] < 1 << last->bits) {
        places->turns[value]++;
        words -= part;
      }
    }
  return words;
}

void rolled_place_straight(const plan_kernel *kernel, const rolled *found, rolled_places *places) {
  places->bytes = 0;
  memset(places->turns, 0, sizeof places->turns);
  memset(places->offset, -1, sizeof places->offset);
  for (int i = 0; i < found->n_runs; i++) words_behind(kernel, found, i, places);
  for (int i = 0; i < kernel->n_values; i++) {
    if (places->turns[i] == 0) continue;
    places->offset[i] = places->bytes;
    places->bytes += (rolled_bytes(kernel, i) >> found->run[0].bits) * places->turns[i];
  }
}

bool rolled_may_be_straight(const plan_kernel *kernel, int most) {
  rolled found;
  rolled_places places;
  if (!rolled_find_straight(kernel, &found)) return false;
  rolled_place_straight(kernel, &found, &places);
  bool may = rolled_first_byte(kernel) + places.bytes <= most;
  for (int i = 0; i < found.n_runs; i++)
    may &= words_behind(kernel, &found, i, &places) <= MOST_WORDS;
  return may;
}
