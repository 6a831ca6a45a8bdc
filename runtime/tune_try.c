/* Candidates on the device: first samples, results, and the rounds that decide. */
#include "runtime/tune_search.h"

#include "base/parallel.h"
#include "base/status.h"
#include "runtime/context.h"

#include <stdlib.h>

#define FIRST_SAMPLES 3 /* of every candidate */
#define FIRST_ROUNDS 5  /* by turns, of the few best and what they are to beat */
#define FINALISTS 4
#define WORTH 0.99              /* of the time of what it is to beat */
#define CLOSE 1.03              /* of the fastest one's time: more rounds decide */
#define CONTENDS 1.25           /* of the fastest one's time: by first samples it may be faster */
#define SLOW 1.5                /* of it: one sample says enough */
#define DOUBT 1.5               /* by so much the model may be wronger than it was so far */
#define SMALL ((size_t)4 << 20) /* bytes that are moved, of which a check takes no time */
#define LEAST_BATCH 4

int tune_batch(const tuning *t) {
  int wanted = 2 * llrt_parallel_threads(&t->op->device->context->parallel);
  return wanted > LEAST_BATCH ? wanted : LEAST_BATCH;
}

bool tune_is_behind(const tuning *t, const candidate *c) {
  return t->compiled > 0 && c->clocks * t->clocks_us > DOUBT * t->most_over * t->fastest;
}

/* ---- first samples ---- */

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median_of(candidate *c, int n) {
  qsort(c->sample, (size_t)n, sizeof *c->sample, by_value);
  return n % 2 ? c->sample[n / 2] : (c->sample[n / 2 - 1] + c->sample[n / 2]) / 2;
}

llrt_status tune_time_first(tuning *t, candidate *c) {
  double since = tune_now(), warm;
  int n = 0;
  LLRT_TRY(tune_bench_time(&t->bench, c->op, c->variant, &warm));
  bool slow = false;
  while (n < FIRST_SAMPLES && !slow) {
    LLRT_TRY(tune_bench_time(&t->bench, c->op, c->variant, &c->sample[n]));
    slow = t->fastest > 0 && c->sample[n] > SLOW * t->fastest;
    n++;
  }
  c->us = median_of(c, n);
  double over = c->clocks * t->clocks_us / c->us;
  if (over > t->most_over) t->most_over = over;
  tune_spend(t, TUNE_TIMING, &since);
  return LLRT_OK;
}

/* ---- one candidate ---- */

/* What results of a candidate may be beside the planned ones. */
static tune_results most_other(const llrt_op *op) {
  return op->desc.any_order ? TUNE_OTHER_ORDER : TUNE_SAME_BITS;
}

static void give_up(candidate *c) {
  llrt_op_release(c->op);
  c->op = NULL;
}

/* Told, and counted. Errors: of the device alone. */
static llrt_status fail(tuning *t, candidate *c, llrt_status status, const char *why) {
  t->failed++;
  c->us = 0;
  tune_tell(t, c, LLRT_TUNE_FAILED, 0, why);
  give_up(c);
  return status == LLRT_DEVICE ? llrt_error(status, "%s", why) : LLRT_OK;
}

/* Of one that was timed: whether its results are right, where that matters. */
static llrt_status check(tuning *t, candidate *c) {
  tune_results results = TUNE_SAME_BITS;
  double since = tune_now();
  const bool contends = c->us <= CONTENDS * t->fastest;
  if (contends || t->bench.moved_bytes <= SMALL) {
    llrt_status status = tune_bench_compare(&t->bench, c->op, c->variant, &results);
    if (status != LLRT_OK) return fail(t, c, status, llrt_error_text());
  }
  tune_spend(t, TUNE_CHECKING, &since);
  const bool right = results <= most_other(t->op);
  tune_tell(t, c, right ? LLRT_TUNE_TIMED : LLRT_TUNE_OTHER_BITS, 0, "");
  if (right && contends && c->us < t->fastest) t->fastest = c->us;
  if (!right || !contends) give_up(c);
  return LLRT_OK;
}

/* The fastest that waits for its check; NULL: none does. */
static candidate *find_next(candidate *list, int n) {
  candidate *least = NULL;
  for (int i = 0; i < n; i++)
    if (list[i].waits && (!least || list[i].us < least->us)) least = &list[i];
  return least;
}

/* What could be built of a list is timed; what could not is told. */
static llrt_status time_all(tuning *t, candidate *list, int n) {
  for (int i = 0; i < n; i++) {
    candidate *c = &list[i];
    llrt_status status = c->status;
    if (!c->op && status == LLRT_OK) continue; /* the time was up */
    t->compiled++;
    if (status != LLRT_OK) {
      LLRT_TRY(fail(t, c, status, c->why));
      continue;
    }
    status = tune_time_first(t, c);
    if (status != LLRT_OK) LLRT_TRY(fail(t, c, status, llrt_error_text()));
  }
  return LLRT_OK;
}

llrt_status tune_try(tuning *t, candidate *list, int n) {
  tune_build(t, list, n);
  LLRT_TRY(time_all(t, list, n));
  for (int i = 0; i < n; i++) list[i].waits = list[i].op != NULL;
  for (candidate *c; (c = find_next(list, n));) {
    c->waits = false;
    LLRT_TRY(check(t, c));
  }
  return LLRT_OK;
}

/* ---- the rounds that decide ---- */

/* Those of the list that are still in it and the fastest by first samples, behind player[0]. */
static int choose_players(candidate *list, int n, candidate **player) {
  int players = 1;
  for (; players <= FINALISTS; players++) {
    candidate *least = NULL;
    for (int c = 0; c < n; c++) {
      bool taken = list[c].op == NULL;
      for (int p = 1; p < players; p++) taken |= player[p] == &list[c];
      if (!taken && (!least || list[c].us < least->us)) least = &list[c];
    }
    if (!least) break;
    player[players] = least;
  }
  return players;
}

/* Rounds [from, to) by turns; medians of all rounds so far. */
static llrt_status play_rounds(tuning *t, candidate **player, int players, int from, int to) {
  for (int round = from; round < to; round++)
    for (int p = 0; p < players; p++)
      LLRT_TRY(
          tune_bench_time(&t->bench, player[p]->op, player[p]->variant, &player[p]->sample[round]));
  for (int p = 0; p < players; p++) player[p]->us = median_of(player[p], to);
  return LLRT_OK;
}

/* Of players 1 and up those that are close to the fastest of all. */
static int drop_losers(candidate **player, int players) {
  double least = player[0]->us;
  int left = 1;
  for (int p = 1; p < players; p++)
    if (player[p]->us < least) least = player[p]->us;
  for (int p = 1; p < players; p++)
    if (player[p]->us <= CLOSE * least) player[left++] = player[p];
  return left;
}

llrt_status tune_play(tuning *t, candidate *best, candidate *list, int n, int *won) {
  candidate *player[FINALISTS + 1] = {best};
  double since = tune_now();
  int players = choose_players(list, n, player);
  *won = -1;
  if (players == 1) return LLRT_OK;
  LLRT_TRY(play_rounds(t, player, players, 0, FIRST_ROUNDS));
  players = drop_losers(player, players);
  if (players > 1) LLRT_TRY(play_rounds(t, player, players, FIRST_ROUNDS, TUNE_MOST_SAMPLES));
  for (int p = 1; p < players; p++)
    if (player[p]->us < WORTH * best->us && (*won < 0 || player[p]->us < list[*won].us))
      *won = (int)(player[p] - list);
  tune_spend(t, TUNE_TIMING, &since);
  return LLRT_OK;
}
