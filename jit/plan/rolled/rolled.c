#include "jit/plan/rolled/rolled.h"

#include "base/bits.h"
#include "expression/operators.h"
#include "jit/plan/rolled/rolled_steps.h"
#include "jit/plan/rolled/rolled_straight.h"
#include "jit/plan/rolled/rolled_weights.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/kernel/step_table.h"
#include "jit/plan/types/combine.h"

#include <string.h>

/* Instructions of a turn at least: the loop and what is moved for it take a dozen. */
#define LEAST_TURN 24
/* Instructions an element that make again what several runs want. */
#define MOST_AGAIN 6
/* Words that are taken from turn to turn rather than made again. */
#define FEW 4
/* Words of elements by themselves that turns leave, at most. */
#define MOST_OUT 16
/* Instructions of a loop. */
#define LOOP 6
/* Instructions of a thread's elements from which on a kernel takes long to compile. */
#define LEAST_WHOLE 256
/* log2 turns that load weights, at most: of more each waits for what the one before asked for. */
#define MOST_LOADING_BITS 1
/* Instructions that load the next turn's part of a value. */
#define LOAD 3
/* Words that turns store to and load from shared memory, for each word of a row in memory, at most:
 * a multiprocessor moves so much more of them in the same time. */
#define MOST_TRAFFIC 2

/* ---- a run ---- */

typedef struct finder {
  const plan_kernel *kernel;
  rolled_run *run;
  bool loads; /* turns may load weights */
} finder;

/* What it takes to make a value again, of those that lie in words of two elements or more, that
 * were loaded, that are FEW or that steps before `since` made: instructions an element; more than
 * MOST_AGAIN: it is not done. */
static int cost_again(const finder *f, int value, int before, int since) {
  const plan_kernel *kernel = f->kernel;
  int at = rolled_maker(kernel, value, before);
  if (at < since || kernel->value[value].word > 0) return 0;
  const plan_step *step = &kernel->step[at];
  if (step->kind == PLAN_LOAD) return 0;
  if (step->kind == PLAN_FOLD || !rolled_may_turn(kernel, step))
    return rolled_words(kernel, value) <= FEW ? 0 : MOST_AGAIN + 1;
  int cost = rolled_weight(kernel, step);
  rolled_operands o = rolled_operands_of(step);
  for (int i = 0; i < o.n && cost <= MOST_AGAIN; i++) {
    rolled_standing_kind s = rolled_standing(kernel, f->run, o.value[i]);
    if (s == ROLLED_OTHER) return MOST_AGAIN + 1;
    if (s == ROLLED_WHOLE) cost += cost_again(f, o.value[i], at, since);
  }
  return cost;
}

/* A turn's part of a value that was made before step `before`: made again, or taken. */
static bool provide(finder *f, int value, int before) {
  const plan_kernel *kernel = f->kernel;
  rolled_run *run = f->run;
  if (rolled_is_made(kernel, run, value) || rolled_list_has(run->in, run->n_in, value)) return true;
  int at = rolled_maker(kernel, value, before);
  const plan_step *step = at < 0 ? NULL : &kernel->step[at];
  if (f->loads && step && rolled_loads_weights(kernel, at) &&
      rolled_keeps_together(kernel, run, step))
    return rolled_list_add(run->late, &run->n_late, ROLLED_MOST_VALUES, at);
  bool again = step && step->kind != PLAN_FOLD && rolled_may_turn(kernel, step) &&
               kernel->value[value].word == 0 && cost_again(f, value, before, 0) <= MOST_AGAIN;
  if (!again) return rolled_list_add(run->in, &run->n_in, ROLLED_MOST_VALUES, value);
  rolled_operands o = rolled_operands_of(step);
  for (int i = 0; i < o.n; i++)
    if (rolled_standing(kernel, f->run, o.value[i]) == ROLLED_WHOLE && !provide(f, o.value[i], at))
      return false;
  return rolled_list_add(run->turn, &run->n_turn, ROLLED_MOST_STEPS, at);
}

/* Puts a step of [first, end) where it belongs. */
static bool place_step(finder *f, int at) {
  const plan_kernel *kernel = f->kernel;
  const plan_step *step = &kernel->step[at];
  rolled_run *run = f->run;
  rolled_operands o = rolled_operands_of(step);
  bool whole = false;
  for (int i = 0; i < o.n; i++) {
    rolled_standing_kind s = rolled_standing(kernel, f->run, o.value[i]);
    if (s == ROLLED_OTHER) return false;
    if (s == ROLLED_WHOLE && !provide(f, o.value[i], run->first)) return false;
    whole |= s == ROLLED_WHOLE;
  }
  rolled_standing_kind made = step->kind == PLAN_STORE ? whole ? ROLLED_WHOLE : ROLLED_SINGLE
                                                       : rolled_standing(kernel, f->run, step->out);
  if (made == ROLLED_OTHER || (whole && made == ROLLED_SINGLE && step->kind != PLAN_FOLD))
    return false;
  if (step->kind == PLAN_APPLY && step->op == EXPR_FLIP && made == ROLLED_WHOLE) {
    int registers = plan_value_bits(&kernel->value[step->out], PLAN_REGISTER);
    if (plan_flipped_registers(kernel, step) >> (registers - f->run->bits)) return false;
  }
  if (step->kind == PLAN_FOLD && whole && made == ROLLED_SINGLE &&
      !rolled_joins_turns_last(kernel, run, step))
    return false;
  if (!whole && made == ROLLED_SINGLE)
    return rolled_list_add(run->before, &run->n_before, ROLLED_MOST_STEPS, at);
  return rolled_keeps_together(kernel, run, step) &&
         rolled_list_add(run->turn, &run->n_turn, ROLLED_MOST_STEPS, at);
}

/* Bits of memory that a row's element takes: what is loaded before anything is joined, and what is
 * stored. */
static int bits_of_element(const plan_kernel *kernel, int registers) {
  bool joined = false;
  int bits = 0;
  for (int i = 0; i < kernel->n_steps; i++) {
    const plan_step *step = &kernel->step[i];
    joined |= step->kind == PLAN_FOLD_LANES;
    bool row = step->kind == PLAN_STORE || (step->kind == PLAN_LOAD && !joined);
    if (row && rolled_registers(kernel, step) == registers)
      bits += kernel->tensor_bits[step->tensor];
  }
  return bits;
}

/* Words of a thread that turns of the run would store to and load from shared memory, if what they
 * take waits there. */
static int traffic_of(const finder *f) {
  int words = 0;
  for (int i = 0; i < f->run->n_in; i++)
    if (rolled_may_wait(f->kernel, f->run->in[i], f->run->bits))
      words += 2 * rolled_words(f->kernel, f->run->in[i]);
  return words;
}

static const rolled_run *run_of(const rolled *r, int step) {
  for (int i = 0; i < r->n_runs; i++)
    if (r->run[i].first <= step && step < r->run[i].end) return &r->run[i];
  return NULL;
}

/* Whether the run's turns take the value from shared memory. What steps want that are not made by
 * turns is in registers anyway. r: runs behind it; NULL: they are not known yet. */
static bool waits(const finder *f, const rolled *r, int value) {
  return f->run->places && rolled_may_wait(f->kernel, value, f->run->bits) &&
         !(r && rolled_wants_whole(f->kernel, r, f->run, value));
}

/* How many instructions are left out by a loop of 2^bits turns; 0: it does not pay. What is moved
 * and counted takes time in each turn. Where what turns take waits, what steps of a run in front
 * make would be made again behind it. earlier: runs in front; r: as `waits` has it. */
static int saved_by(const finder *f, const rolled *earlier, const rolled *r, int registers) {
  rolled_run *run = f->run;
  int whole = 0, again = 0, made = 0, moved = LOOP, waiting = 0;
  int memory = (bits_of_element(f->kernel, registers) << registers) / 32;
  run->places = traffic_of(f) <= MOST_TRAFFIC * memory;
  for (int i = 0; i < run->n_turn; i++) {
    const plan_step *step = &f->kernel->step[run->turn[i]];
    int instructions = rolled_weight(f->kernel, step) << rolled_registers(f->kernel, step);
    bool before = run->turn[i] < run->first;
    made += instructions;
    if (before) again += instructions;
    if (!before || (run->places && run_of(earlier, run->turn[i]))) whole += instructions;
    if (step->kind == PLAN_FOLD && !combine_regroups(step->combiner, (llrt_dtype)step->type))
      moved += (1 << run->bits) - 1;
  }
  for (int i = 0; i < run->n_in; i++) {
    int words = rolled_words(f->kernel, run->in[i]);
    if (words < 1 << run->bits) return 0;
    if (waits(f, r, run->in[i])) waiting += words / ROLLED_ACCESS_WORDS;
    else moved += words - (words >> run->bits);
  }
  for (int i = 0; i < run->n_late; i++)
    moved += LOAD + (rolled_words(f->kernel, f->kernel->step[run->late[i]].out) >> run->bits);
  int turn = made >> run->bits;
  int more = (moved << run->bits) + again / 2 + 2 * waiting;
  int most = f->kernel->target.tuning->rows_rolled_more *
             (bits_of_element(f->kernel, registers) << registers) / (16 * 8);
  int saved = whole - turn - moved - waiting - (waiting >> run->bits);
  run->spare = bits_max(most, whole / 4) - more;
  return turn < LEAST_TURN || run->spare < 0 || saved < f->kernel->target.tuning->rows_rolled_saved
             ? 0
             : saved;
}

/* The steps [first, end) in 2^bits turns, as far as they may be; what that saves. */
static int make_run(const plan_kernel *kernel, const rolled *earlier, int first, int end, int bits,
                    rolled_run *run) {
  finder f = {.kernel = kernel, .run = run, .loads = earlier->loads};
  int most = 0;
  *run = (rolled_run){.first = first, .end = end, .bits = bits};
  for (int i = first; i < end; i++) {
    const plan_step *step = &kernel->step[i];
    if (rolled_registers(kernel, step) <= most) continue;
    most = rolled_registers(kernel, step);
    if (!rolled_part(kernel, rolled_whole(step), bits, run->column)) return 0;
  }
  if (most < bits) return 0;
  for (run->end = first; run->end < end; run->end++)
    if (!place_step(&f, run->end)) break;
  run->registers = most;
  return saved_by(&f, earlier, NULL, most);
}

/* ---- all runs ---- */

/* Whether the step is a branch of warps that have a position (plan_step.holds), whose values end
 * with it. */
static bool is_of_warps(const plan_step *step) {
  return step->kind == PLAN_IF_INTERIOR && step->holds;
}

/* Where the branch ends that step `first` is in, or the kernel. */
static int end_of_branch(const plan_kernel *kernel, int first) {
  for (int i = 0; i < first; i++)
    if (is_of_warps(&kernel->step[i]) && first <= i + kernel->step[i].body)
      return i + 1 + kernel->step[i].body;
  return kernel->n_steps;
}

/* What a run in a branch stores, others lack: behind a branch there are no runs. */
static bool is_behind_branch(const plan_kernel *kernel, int first) {
  bool behind = false;
  for (int i = 0; i < first; i++)
    behind |= is_of_warps(&kernel->step[i]) && first > i + kernel->step[i].body;
  return behind;
}

/* How far steps from `first` on may be one run: to the first that may not be in turns, or that
 * wants what turns join. */
static int end_of(const plan_kernel *kernel, int first) {
  int end = first, last = end_of_branch(kernel, first);
  while (end < last) {
    const plan_step *step = &kernel->step[end];
    bool waits = false;
    if (!rolled_may_turn(kernel, step)) break;
    for (int i = first; i < end; i++)
      if (kernel->step[i].kind == PLAN_FOLD)
        waits |= rolled_uses(step, kernel->step[i].out) ||
                 (kernel->step[i].pairs && rolled_uses(step, kernel->step[i].index_out));
    if (waits) break;
    end++;
  }
  return end;
}

/* The run that goes farthest, of these the one that saves the most. */
static bool make_best(const plan_kernel *kernel, const rolled *earlier, int first, int end,
                      rolled_run *best) {
  *best = (rolled_run){0};
  for (int bits = 1; bits <= ROLLED_MOST_BITS; bits++) {
    rolled_run run;
    run.saved = make_run(kernel, earlier, first, end, bits, &run);
    if (run.n_late > 0 && bits > MOST_LOADING_BITS) continue;
    bool longer = best->saved == 0 || run.end > best->end;
    if (run.saved > 0 && (longer || (run.end == best->end && run.saved > best->saved))) *best = run;
  }
  return best->saved > 0;
}

bool rolled_makes_again_of(const plan_kernel *kernel, const rolled_run *run, int value) {
  for (int k = 0; k < run->n_behind; k++)
    if (rolled_uses(&kernel->step[run->behind[k]], value)) return true;
  return false;
}

bool rolled_wants_whole(const plan_kernel *kernel, const rolled *r, const rolled_run *run,
                        int value) {
  for (int i = run->end; i < kernel->n_steps; i++)
    if (rolled_uses(&kernel->step[i], value) && !run_of(r, i)) return true;
  for (int i = 0; i < r->n_runs; i++) {
    const rolled_run *later = &r->run[i];
    if (later->first >= run->end && rolled_makes_again_of(kernel, later, value)) return true;
  }
  return false;
}

/* Whether something behind the run uses the value that it makes, and does not make it again. */
static bool is_used_behind(const plan_kernel *kernel, const rolled *r, const rolled_run *run,
                           int value) {
  bool taken = false;
  for (int i = 0; i < r->n_runs; i++)
    if (r->run[i].first >= run->end) taken |= rolled_list_has(r->run[i].in, r->run[i].n_in, value);
  return taken || rolled_wants_whole(kernel, r, run, value);
}

/* Keeps a value that the run makes for what is behind it, or sees to it that it is made again. */
static bool keep(finder *f, int value) {
  const plan_kernel *kernel = f->kernel;
  rolled_run *run = f->run;
  int at = rolled_maker(kernel, value, run->end);
  if (at < run->first || rolled_standing(kernel, run, value) == ROLLED_SINGLE) return true;
  bool few = kernel->value[value].word > 0 || rolled_words(kernel, value) <= MOST_OUT;
  if (few) return rolled_list_add(run->out, &run->n_out, ROLLED_MOST_VALUES, value);
  if (cost_again(f, value, run->end, run->first) > MOST_AGAIN) return false;
  rolled_operands o = rolled_operands_of(&kernel->step[at]);
  for (int i = 0; i < o.n; i++)
    if (!keep(f, o.value[i])) return false;
  return rolled_list_add(run->behind, &run->n_behind, ROLLED_MOST_STEPS, at);
}

/* Finds what the run leaves. False: what would be moved from turn to turn, or made again, is too
 * much. */
static bool find_outs(const plan_kernel *kernel, const rolled *r, rolled_run *run) {
  finder f = {.kernel = kernel, .run = run};
  int again = 0;
  run->n_out = run->n_behind = 0;
  for (int i = 0; i < run->n_turn; i++) {
    const plan_step *step = &kernel->step[run->turn[i]];
    if (run->turn[i] < run->first || step->kind == PLAN_STORE) continue;
    if (is_used_behind(kernel, r, run, step->out) && !keep(&f, step->out)) return false;
    bool pairs = step->pairs && is_used_behind(kernel, r, run, step->index_out);
    if (pairs && !keep(&f, step->index_out)) return false;
  }
  for (int i = 0; i < run->n_behind; i++) {
    const plan_step *step = &kernel->step[run->behind[i]];
    again += rolled_weight(kernel, step) << rolled_registers(kernel, step);
  }
  if (again > run->spare) return false;
  for (int i = 0; i < run->n_out; i++) {
    int words = rolled_words(kernel, run->out[i]);
    bool in_memory = waits(&f, r, run->out[i]) && !rolled_makes_again_of(kernel, run, run->out[i]);
    again += in_memory ? words / ROLLED_ACCESS_WORDS : words - (words >> run->bits);
  }
  return run->saved - again >= kernel->target.tuning->rows_rolled_saved;
}

/* Finds what the run leaves, in fewer turns where so many cost too much. */
static bool settle(const plan_kernel *kernel, const rolled *r, rolled_run *run) {
  const int first = run->first, end = run->end;
  bool settled = false;
  for (int bits = run->bits; bits > 0 && !settled; bits--) {
    finder f = {.kernel = kernel, .run = run};
    bool made = bits == run->bits || make_run(kernel, r, first, end, bits, run) > 0;
    run->saved = made ? saved_by(&f, r, r, run->registers) : 0;
    settled = run->saved > 0 && run->end == end && find_outs(kernel, r, run);
  }
  return settled;
}

/* Instructions of a thread's elements, about. */
static int instructions_of(const plan_kernel *kernel) {
  int sum = 0;
  for (int i = 0; i < kernel->n_steps; i++) {
    const plan_step *step = &kernel->step[i];
    bool counts = step->kind == PLAN_APPLY || step->kind == PLAN_MAP || step->kind == PLAN_FOLD;
    if (counts) sum += rolled_weight(kernel, step) << rolled_registers(kernel, step);
  }
  return sum;
}

/* Whether all steps are done once, one behind the other, or by some warps: no more than one branch
 * around them. */
static bool is_straight(const plan_kernel *kernel) {
  bool straight = true;
  for (int i = 0; i < kernel->n_steps; i++) {
    const plan_step *step = &kernel->step[i];
    bool around = step->kind == PLAN_IF_PRESENT && i + 1 + step->body == kernel->n_steps;
    straight &= around || is_of_warps(step) || !plan_step_row_of(step->kind)->owns;
  }
  return straight;
}

static int saved_of(const rolled *r) {
  int saved = 0;
  for (int i = 0; i < r->n_runs; i++) saved += r->run[i].saved;
  return saved;
}

static void find(const plan_kernel *kernel, rolled *r) {
  r->n_runs = 0;
  for (int first = 0; first < kernel->n_steps && r->n_runs < ROLLED_MOST_RUNS &&
                      !is_behind_branch(kernel, first);) {
    int end = end_of(kernel, first);
    bool made = end > first && make_best(kernel, r, first, end, &r->run[r->n_runs]);
    first = made ? r->run[r->n_runs].end : bits_max(end, first + 1);
    r->n_runs += made;
  }
  for (int i = r->n_runs - 1; i >= 0; i--) { /* what later ones want is known */
    if (settle(kernel, r, &r->run[i])) continue;
    memmove(&r->run[i], &r->run[i + 1], (size_t)(r->n_runs - i - 1) * sizeof *r->run);
    i = --r->n_runs;
  }
}

void rolled_find(const plan_kernel *kernel, rolled *r) {
  bool joins = false;
  r->n_runs = 0;
  r->straight = kernel->straight && rolled_find_straight(kernel, r);
  if (kernel->straight) return;
  if (kernel->target.tuning->rows_rolled_saved == 0 || kernel->n_bounds > 0 || kernel->flat ||
      !is_straight(kernel))
    return;
  for (int i = 0; i < kernel->n_steps; i++) joins |= kernel->step[i].kind == PLAN_FOLD_LANES;
  if (!joins || instructions_of(kernel) < LEAST_WHOLE) return;
  r->loads = false;
  find(kernel, r);
  if (!rolled_wants_loads(kernel, r)) return;
  rolled loading = {.loads = true};
  find(kernel, &loading);
  bool pays = saved_of(&loading) - saved_of(r) >= kernel->target.tuning->rows_rolled_saved;
  if (pays && rolled_may_load(kernel, &loading)) *r = loading;
}
