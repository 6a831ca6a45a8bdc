/* The search: candidates one number away from the best so far, compiled in the order in which the
 * model has them, until nothing is faster or what was allowed is spent. */
#include "runtime/tune.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/status.h"
#include "jit/plan/cost/predict.h"
#include "jit/plan/plan_choice.h"
#include "runtime/context.h"
#include "runtime/disk_folder.h"
#include "runtime/tuned.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PRESET_MOST 48
#define PRESET_SECONDS 60.0
#define MOST_NEIGHBOURS 200
#define MOST_KNOWN 512  /* variants that were met, compiled or not */
#define MOST_STEPS 4    /* numbers one after the other */
#define FIRST_SAMPLES 3 /* of every candidate */
#define LAST_ROUNDS 9   /* by turns, of the few best and what they are to beat */
#define FINALISTS 4
#define WORTH 0.99        /* of the time of what it is to beat */
#define START_CLOCKS 3000 /* of any launch, for predictions (choose_shape.c) */
#define WAIT_MS 60000     /* for another process that tunes the same operation */

typedef struct candidate {
  plan_choice choice;
  llrt_op *op; /* NULL: not compiled, or given up */
  int variant;
  double clocks; /* predicted; 0: not */
  double us;     /* median; 0: not timed */
  double sample[LAST_ROUNDS];
} candidate;

typedef struct tuning {
  llrt_op *op;
  llrt_prepare_params params;
  tune_bench bench;
  plan_chosen *best_plan, *scratch; /* of the best so far; of one that is looked at */
  double deadline;                  /* milliseconds of now_ms */
  int compiled, failed; /* candidates that were tried; those of them that could not run */
  double clocks_us;     /* measured microseconds of a predicted clock, of the planned one */
  int n_known;
  llrt_hash known[MOST_KNOWN];
} tuning;

static double now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

/* ---- telling ---- */

static void tell(tuning *t, const candidate *c, llrt_tune_state state, double planned_us,
                 const char *why) {
  llrt_text text;
  llrt_text_init(&text);
  plan_choice_print(&c->choice, &text);
  const llrt_tune_candidate told = {.size = sizeof told,
                                    .choice = text.data ? text.data : "",
                                    .why = why,
                                    .predicted_us = c->clocks * t->clocks_us,
                                    .measured_us = c->us,
                                    .planned_us = planned_us,
                                    .state = (int32_t)state};
  if (t->params.on_candidate) t->params.on_candidate(t->params.user, &told);
  llrt_log(&t->op->device->context->log,
           state == LLRT_TUNE_CHOSEN ? LLRT_LOG_INFO : LLRT_LOG_VERBOSE,
           "tune device=%s choice=\"%s\" state=%d us=%.2f predicted=%.2f planned=%.2f why=\"%s\"",
           t->op->device->info.name, told.choice, told.state, told.measured_us, told.predicted_us,
           planned_us, why);
  llrt_text_fini(&text);
}

/* ---- predictions ---- */

/* Clocks of a whole run, by whichever model the variant has; all stages of it. */
static double predict(const tuning *t, const plan_chosen *made) {
  const plan_kernel *stages = &made->plan.variant[made->variant];
  const op_call *call = &t->bench.call;
  int units = t->op->device->info.compute_units;
  double widest = 0, clocks = 0;
  const plan_launch *decides =
      plan_launch_decides(&stages->launch, &stages[stages->launch.later].launch);
  if (decides->pace.units > 0)
    return START_CLOCKS + (double)plan_launch_clocks(decides, &call->tensor[0], units);
  for (int i = 0; i < call->n; i++)
    if ((double)t->bench.bytes[i] > widest) widest = (double)t->bench.bytes[i];
  for (int i = 0; i <= stages->launch.later; i++) {
    double covered =
        stages[i].launch.view.used
            ? 0
            : plan_launch_covered_bytes(&stages[i].launch, call->tensor, call->binding, call->n);
    double bytes = covered > widest ? covered : widest;
    clocks += START_CLOCKS + plan_predict_clocks(&stages[i]) * bytes / units;
  }
  return clocks;
}

/* ---- planning ---- */

static llrt_status plan_one(tuning *t, const plan_choice *choice, plan_chosen *out) {
  return plan_choose(&t->op->desc, &t->op->device->target, choice, &t->bench.call.tensor[0],
                     t->op->device->info.compute_units, out);
}

/* Whether the variant was not met before. */
static bool is_new(tuning *t, plan_chosen *made) {
  llrt_hash hash;
  if (plan_variant_hash(made, &hash) != LLRT_OK) return false;
  for (int i = 0; i < t->n_known; i++)
    if (llrt_hash_equal(t->known[i], hash)) return false;
  if (t->n_known < MOST_KNOWN) t->known[t->n_known++] = hash;
  return true;
}

/* By predicted clocks; those that are not predicted last; else as they were listed. */
static void sort(candidate *list, int n) {
  for (int i = 1; i < n; i++) {
    candidate c = list[i];
    int at = i;
    for (; at > 0 && c.clocks > 0 && (list[at - 1].clocks <= 0 || list[at - 1].clocks > c.clocks);
         at--)
      list[at] = list[at - 1];
    list[at] = c;
  }
}

/* One number away, and of plans that have more variants than they choose from, those. */
static int list_neighbours(tuning *t, const plan_choice *from, plan_choice *near) {
  const op_description *desc = &t->op->desc;
  const plan_target *target = &t->op->device->target;
  const llrt_tensor *first = &t->bench.call.tensor[0];
  plan_choice wide;
  int n = plan_neighbours(desc, target, from, t->best_plan, first, near, MOST_NEIGHBOURS);
  if (!plan_widen(desc, from, &wide) || plan_one(t, &wide, t->scratch) != LLRT_OK) return n;
  t->scratch->variant = -1; /* all of them */
  return n + plan_variants(&wide, t->scratch, first, near + n, MOST_NEIGHBOURS - n);
}

/* What is one number away from `from` and new, best predictions first. Ownership: free. */
static candidate *list_candidates(tuning *t, const plan_choice *from, int *n) {
  plan_choice *near = memory_new(MOST_NEIGHBOURS * sizeof *near);
  candidate *list = memory_zeroed(MOST_NEIGHBOURS, sizeof *list);
  *n = 0;
  int count = near && list ? list_neighbours(t, from, near) : 0;
  for (int i = 0; i < count && now_ms() < t->deadline; i++) {
    if (plan_one(t, &near[i], t->scratch) != LLRT_OK || !is_new(t, t->scratch)) continue;
    list[*n] = (candidate){.choice = near[i], .clocks = predict(t, t->scratch)};
    ++*n;
  }
  free(near);
  if (list) sort(list, *n);
  return list;
}

/* ---- one candidate ---- */

static plan_range shape_alone(const llrt_tensor *first) {
  plan_range range = {.min_elements = 0};
  for (int a = 0; a < first->rank; a++) range.min_extent[a] = range.max_extent[a] = first->shape[a];
  return range;
}

/* An operation of the choice's variant alone, loaded. */
static llrt_status build(tuning *t, candidate *c) {
  llrt_op *op;
  LLRT_TRY(plan_one(t, &c->choice, t->scratch));
  plan_kernel *stages = &t->scratch->plan.variant[t->scratch->variant];
  stages->launch.range = shape_alone(&t->bench.call.tensor[0]);
  LLRT_TRY(llrt_op_make(t->op->device, &t->op->desc, t->op->set, &op));
  llrt_status status = llrt_op_build_kernels(op, stages, 1 + stages->launch.later);
  if (status == LLRT_OK) c->op = op;
  else llrt_op_release(op);
  return status;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median_of(candidate *c, int n) {
  qsort(c->sample, (size_t)n, sizeof *c->sample, by_value);
  return n % 2 ? c->sample[n / 2] : (c->sample[n / 2 - 1] + c->sample[n / 2]) / 2;
}

/* The first samples of it. */
static llrt_status time_first(tuning *t, candidate *c) {
  double warm;
  LLRT_TRY(tune_bench_time(&t->bench, c->op, c->variant, &warm));
  for (int i = 0; i < FIRST_SAMPLES; i++)
    LLRT_TRY(tune_bench_time(&t->bench, c->op, c->variant, &c->sample[i]));
  c->us = median_of(c, FIRST_SAMPLES);
  return LLRT_OK;
}

/* What results of a candidate may be beside the planned ones. */
static tune_results most_other(const llrt_op *op) {
  return op->desc.any_order ? TUNE_OTHER_ORDER : TUNE_SAME_BITS;
}

/* Compiles, checks and times it; what fails is told and given up. Errors: of the device alone,
 * which other candidates would have, too. */
static llrt_status try_one(tuning *t, candidate *c) {
  tune_results results = TUNE_SAME_BITS;
  t->compiled++;
  llrt_status status = build(t, c);
  if (status == LLRT_OK) status = tune_bench_compare(&t->bench, c->op, 0, &results);
  if (status == LLRT_OK && results <= most_other(t->op)) status = time_first(t, c);
  t->failed += status != LLRT_OK;
  if (status != LLRT_OK) tell(t, c, LLRT_TUNE_FAILED, 0, llrt_error_text());
  else tell(t, c, c->us > 0 ? LLRT_TUNE_TIMED : LLRT_TUNE_OTHER_BITS, 0, "");
  if (c->us > 0 && status == LLRT_OK) return LLRT_OK;
  llrt_op_release(c->op);
  c->op = NULL;
  c->us = 0;
  return status == LLRT_DEVICE ? status : LLRT_OK;
}

/* ---- one step ---- */

/* Times the few best of the list and `best` by turns. *won: the fastest, where it is enough faster,
 * else -1; medians are in its and best's `us`. */
static llrt_status play(tuning *t, candidate *best, candidate *list, int n, int *won) {
  candidate *player[FINALISTS + 1] = {best};
  int players = 1;
  *won = -1;
  for (int i = 0; i < FINALISTS; i++) {
    candidate *least = NULL;
    for (int c = 0; c < n; c++) {
      bool taken = list[c].op == NULL;
      for (int p = 0; p < players; p++) taken |= player[p] == &list[c];
      if (!taken && (!least || list[c].us < least->us)) least = &list[c];
    }
    if (least) player[players++] = least;
  }
  for (int round = 0; round < LAST_ROUNDS && players > 1; round++)
    for (int p = 0; p < players; p++)
      LLRT_TRY(
          tune_bench_time(&t->bench, player[p]->op, player[p]->variant, &player[p]->sample[round]));
  for (int p = 0; p < players && players > 1; p++)
    player[p]->us = median_of(player[p], LAST_ROUNDS);
  for (int p = 1; p < players; p++)
    if (player[p]->us < WORTH * best->us && (*won < 0 || player[p]->us < list[*won].us))
      *won = (int)(player[p] - list);
  return LLRT_OK;
}

static int allowed(const tuning *t) { return t->params.most > 0 ? t->params.most : PRESET_MOST; }

/* From *best to what is one number away and faster; *better: there is one, which *best is now. */
static llrt_status step(tuning *t, candidate *best, bool *better) {
  int n, won = -1;
  *better = false;
  candidate *list = list_candidates(t, &best->choice, &n);
  if (!list) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for candidates");
  llrt_status status = LLRT_OK;
  for (int i = 0; i < n && status == LLRT_OK; i++)
    if (t->compiled < allowed(t) && now_ms() < t->deadline) status = try_one(t, &list[i]);
  if (status == LLRT_OK) status = play(t, best, list, n, &won);
  if (status == LLRT_OK && won >= 0) {
    llrt_op_release(best->op);
    *best = list[won];
    list[won].op = NULL;
    *better = plan_one(t, &best->choice, t->best_plan) == LLRT_OK;
  }
  for (int i = 0; i < n; i++) llrt_op_release(list[i].op);
  free(list);
  return status;
}

/* ---- the whole ---- */

/* The planned kernels as the first best. */
static llrt_status begin(tuning *t, candidate *planned) {
  const llrt_tensor *first = &t->bench.call.tensor[0];
  *planned = (candidate){.op = llrt_op_retain(t->op)};
  LLRT_TRY(llrt_op_ready(t->op, first, NULL, &planned->variant));
  LLRT_TRY(plan_one(t, &planned->choice, t->best_plan));
  is_new(t, t->best_plan);
  planned->clocks = predict(t, t->best_plan);
  LLRT_TRY(tune_bench_allocate(&t->bench));
  LLRT_TRY(tune_bench_keep(&t->bench, t->op, planned->variant));
  LLRT_TRY(time_first(t, planned));
  if (planned->clocks > 0) t->clocks_us = planned->us / planned->clocks;
  tell(t, planned, LLRT_TUNE_PLANNED, 0, "");
  return LLRT_OK;
}

/* The last word: the best so far beside the planned one, by turns. */
static llrt_status finish(tuning *t, candidate *planned, candidate *best) {
  int won = 0;
  if (best->op == planned->op) planned->us = best->us;
  if (best->op == planned->op) return LLRT_OK;
  LLRT_TRY(play(t, planned, best, 1, &won));
  if (won == 0) return LLRT_OK;
  llrt_op_release(best->op);
  *best = *planned;
  llrt_op_retain(best->op);
  return LLRT_OK;
}

static llrt_status keep(tuning *t, const candidate *planned, const candidate *best) {
  tuned_choice *choice = memory_zeroed(1, sizeof *choice);
  llrt_text text;
  if (!choice) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a choice");
  llrt_text_init(&text);
  plan_choice_print(&best->choice, &text);
  if (text.length >= sizeof choice->text || llrt_text_status(&text) != LLRT_OK) {
    llrt_text_fini(&text);
    free(choice);
    return llrt_error(LLRT_INTERNAL, "a choice's text has %zu characters", text.length);
  }
  memcpy(choice->text, text.data, text.length);
  llrt_text_fini(&text);
  memcpy(choice->shape, t->bench.call.tensor[0].shape, sizeof choice->shape);
  choice->predicted_us = best->clocks * t->clocks_us;
  choice->measured_us = best->us;
  choice->planned_us = planned->us;
  if (best->op != t->op) choice->op = llrt_op_retain(best->op);
  llrt_tuned_add(t->op, choice);
  llrt_tuned_store(t->op);
  tell(t, best, LLRT_TUNE_CHOSEN, planned->us, "");
  return LLRT_OK;
}

static llrt_status search(tuning *t) {
  candidate planned, best;
  bool better = true;
  llrt_status status = begin(t, &planned);
  best = planned;
  llrt_op_retain(best.op);
  for (int i = 0; i < MOST_STEPS && better && status == LLRT_OK; i++)
    status = step(t, &best, &better);
  if (status == LLRT_OK && t->failed > 0 && t->failed == t->compiled)
    status = llrt_error(LLRT_UNSUPPORTED, "none of %d candidates could run", t->failed);
  if (status == LLRT_OK) status = finish(t, &planned, &best);
  if (status == LLRT_OK) status = keep(t, &planned, &best);
  llrt_op_release(best.op);
  llrt_op_release(planned.op);
  return status;
}

static llrt_status search_with_memory(tuning *t) {
  t->best_plan = memory_new(sizeof *t->best_plan);
  t->scratch = memory_new(sizeof *t->scratch);
  llrt_status status = t->best_plan && t->scratch
                           ? search(t)
                           : llrt_error(LLRT_OUT_OF_MEMORY, "no memory for plans");
  if (status != LLRT_OK) tell(t, &(candidate){.op = NULL}, LLRT_TUNE_FAILED, 0, llrt_error_text());
  free(t->best_plan);
  free(t->scratch);
  return status;
}

/* Whether the shape has a choice that serves; it is told then. */
static bool is_kept(tuning *t) {
  const tuned_choice *choice = llrt_tuned_find(t->op, &t->bench.call.tensor[0]);
  if (!choice || t->params.retune) return false;
  const llrt_tune_candidate told = {.size = sizeof told,
                                    .choice = choice->text,
                                    .why = "",
                                    .predicted_us = choice->predicted_us,
                                    .measured_us = choice->measured_us,
                                    .planned_us = choice->planned_us,
                                    .state = LLRT_TUNE_KEPT};
  if (t->params.on_candidate) t->params.on_candidate(t->params.user, &told);
  return true;
}

/* Alone in the context, and among processes that have the cache's folder. */
static void tune_alone(tuning *t) {
  llrt_op *op = t->op;
  pthread_mutex_lock(&op->device->context->tuning);
  if (!is_kept(t)) {
    int lock = llrt_tuned_lock(op, WAIT_MS);
    pthread_mutex_lock(&op->build);
    llrt_tuned_look(op, true);
    pthread_mutex_unlock(&op->build);
    if (!is_kept(t)) search_with_memory(t);
    llrt_disk_unlock(lock);
  }
  pthread_mutex_unlock(&op->device->context->tuning);
}

llrt_status llrt_tune_op(llrt_op *op, const llrt_op_desc *given,
                         const llrt_prepare_params *params) {
  tuning *t = memory_zeroed(1, sizeof *t);
  if (!t) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for tuning");
  t->op = op;
  t->params = *params;
  t->deadline = now_ms() + 1e3 * (params->seconds > 0 ? params->seconds : PRESET_SECONDS);
  llrt_status status = tune_bench_begin(op, given, &t->bench);
  if (status == LLRT_OK && !t->bench.call.empty) tune_alone(t);
  tune_bench_end(&t->bench);
  free(t);
  return status;
}
