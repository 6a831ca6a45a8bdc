/* The search: candidates one number away from the best so far, compiled in the order in which the
 * model has them, until nothing is faster or what was allowed is spent. */
#include "runtime/tune_search.h"

#include "base/memory.h"
#include "base/status.h"
#include "runtime/context.h"
#include "runtime/disk_folder.h"
#include "runtime/tuned.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PRESET_MOST 48
#define PRESET_SECONDS 60.0
#define MOST_STEPS 4  /* numbers one after the other */
#define WAIT_MS 60000 /* for another process that tunes the same operation */

double tune_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

void tune_spend(tuning *t, tune_phase phase, double *since) {
  double now = tune_now();
  t->spent[phase] += now - *since;
  *since = now;
}

/* ---- telling ---- */

void tune_tell(tuning *t, const candidate *c, llrt_tune_state state, double planned_us,
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

/* Where the time went. */
static void tell_times(tuning *t) {
  const double *spent = t->spent;
  llrt_log(&t->op->device->context->log, LLRT_LOG_INFO,
           "tuning device=%s candidates=%d failed=%d planning_ms=%.1f compiling_ms=%.1f "
           "loading_ms=%.1f making_ms=%.1f checking_ms=%.1f timing_ms=%.1f",
           t->op->device->info.name, t->compiled, t->failed, spent[TUNE_PLANNING],
           spent[TUNE_COMPILING], spent[TUNE_LOADING], spent[TUNE_MAKING], spent[TUNE_CHECKING],
           spent[TUNE_TIMING]);
}

void tune_drop(candidate *c) {
  llrt_op_release(c->op);
  c->op = NULL;
  free(c->kept);
  c->kept = NULL;
}

/* ---- one step ---- */

static int allowed(const tuning *t) { return t->params.most > 0 ? t->params.most : PRESET_MOST; }

/* Of a sorted list, by batches: each says how far the model is to be trusted with the next ones. */
static llrt_status try_all(tuning *t, candidate *list, int n) {
  for (int at = 0, end = 0; at < n && tune_now() < t->deadline; at = end) {
    const int most =
        t->compiled + tune_batch(t) < allowed(t) ? tune_batch(t) : allowed(t) - t->compiled;
    while (end < n && end - at < most && !tune_is_behind(t, &list[end])) end++;
    if (end == at) return LLRT_OK;
    LLRT_TRY(tune_try(t, list + at, end - at));
  }
  return LLRT_OK;
}

/* From *best to what is one number away and faster; *better: there is one, which *best is now. */
static llrt_status step(tuning *t, candidate *best, bool *better) {
  int n, won = -1;
  *better = false;
  candidate *list = tune_list(t, &best->choice, &n);
  if (!list) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for candidates");
  llrt_status status = try_all(t, list, n);
  if (status == LLRT_OK) status = tune_play(t, best, list, n, &won);
  if (status == LLRT_OK && won >= 0) {
    llrt_op_release(best->op);
    *best = list[won];
    list[won].op = NULL;
    *better = tune_plan(t, &best->choice, t->best_plan) == LLRT_OK;
  }
  for (int i = 0; i < n; i++) tune_drop(&list[i]);
  free(list);
  return status;
}

/* ---- the whole ---- */

/* The planned kernels as the first best. */
static llrt_status begin(tuning *t, candidate *planned) {
  const llrt_tensor *first = &t->bench.call.tensor[0];
  *planned = (candidate){.op = llrt_op_retain(t->op)};
  LLRT_TRY(llrt_op_ready(t->op, first, NULL, &planned->variant));
  double since = tune_now();
  LLRT_TRY(tune_plan(t, &planned->choice, t->best_plan));
  LLRT_TRY(plan_variant_hash(t->best_plan, &planned->hash));
  tune_is_new(t, planned->hash);
  planned->clocks = tune_predict(t, &t->best_plan->plan.variant[t->best_plan->variant]);
  tune_spend(t, TUNE_PLANNING, &since);
  LLRT_TRY(tune_bench_allocate(&t->bench));
  LLRT_TRY(tune_bench_keep(&t->bench, t->op, planned->variant));
  tune_spend(t, TUNE_MAKING, &since);
  t->most_over = 1;
  LLRT_TRY(tune_time_first(t, planned));
  t->fastest = planned->us;
  if (planned->clocks > 0) t->clocks_us = planned->us / planned->clocks;
  tune_tell(t, planned, LLRT_TUNE_PLANNED, 0, "");
  return LLRT_OK;
}

/* The last word: the best so far beside the planned one, by turns. */
static llrt_status finish(tuning *t, candidate *planned, candidate *best) {
  int won = 0;
  if (best->op == planned->op) planned->us = best->us;
  if (best->op == planned->op) return LLRT_OK;
  LLRT_TRY(tune_play(t, planned, best, 1, &won));
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
  tune_tell(t, best, LLRT_TUNE_CHOSEN, planned->us, "");
  return LLRT_OK;
}

/* A plan that was compared with nothing is no choice to be kept. */
static llrt_status check_tried(const tuning *t) {
  if (t->failed > 0 && t->failed == t->compiled)
    return llrt_error(LLRT_UNSUPPORTED, "none of %d candidates could run", t->failed);
  if (t->compiled == 0 && tune_now() >= t->deadline)
    return llrt_error(LLRT_UNSUPPORTED, "the time was up before a candidate was tried");
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
  if (status == LLRT_OK) status = check_tried(t);
  if (status == LLRT_OK) status = finish(t, &planned, &best);
  if (status == LLRT_OK) status = keep(t, &planned, &best);
  llrt_op_release(best.op);
  llrt_op_release(planned.op);
  return status;
}

static llrt_status search_with_memory(tuning *t) {
  t->best_plan = memory_new(sizeof *t->best_plan);
  llrt_status status =
      t->best_plan ? search(t) : llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a plan");
  if (status != LLRT_OK)
    tune_tell(t, &(candidate){.op = NULL}, LLRT_TUNE_FAILED, 0, llrt_error_text());
  free(t->best_plan);
  tell_times(t);
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
  t->deadline = tune_now() + 1e3 * (params->seconds > 0 ? params->seconds : PRESET_SECONDS);
  llrt_status status = tune_bench_begin(op, given, &t->bench);
  if (status == LLRT_OK && !t->bench.call.empty) tune_alone(t);
  tune_bench_end(&t->bench);
  free(t);
  return status;
}
