/* What the files of a search share: tune.c searches, tune_list.c lists what is one number away,
 * tune_build.c compiles candidates, tune_try.c checks and times them. */
#ifndef LLRT_RUNTIME_TUNE_SEARCH_H
#define LLRT_RUNTIME_TUNE_SEARCH_H

#include "base/hash.h"
#include "jit/plan/plan_choice.h"
#include "runtime/tune.h"

#define TUNE_MOST_KNOWN 512 /* variants that were met, compiled or not */
#define TUNE_MOST_SAMPLES 15

/* Where tuning's time goes. */
typedef enum tune_phase {
  TUNE_PLANNING,
  TUNE_COMPILING, /* and linking, by all threads */
  TUNE_LOADING,
  TUNE_MAKING, /* memory, data, results of the planned kernels */
  TUNE_CHECKING,
  TUNE_TIMING,
  TUNE_PHASES
} tune_phase;

typedef struct candidate {
  plan_choice choice;
  plan_kept *kept; /* its kernels, until they are compiled; owned */
  llrt_op *op;     /* compiled, right and fast enough so far; else NULL */
  int variant;
  bool waits;     /* timed, and not checked yet */
  llrt_hash hash; /* of what it does */
  double clocks;  /* predicted; 0: not */
  double us;      /* median; 0: not timed */
  double sample[TUNE_MOST_SAMPLES];
  llrt_status status; /* of its build, and why it failed */
  char why[256];
} candidate;

typedef struct tuning {
  llrt_op *op;
  llrt_prepare_params params;
  tune_bench bench;
  plan_chosen *best_plan; /* of the best so far */
  double deadline;        /* milliseconds of tune_now */
  int compiled, failed;   /* candidates that were tried; those of them that could not run */
  double clocks_us;       /* measured microseconds of a predicted clock, of the planned one */
  double fastest;         /* microseconds, of what is right so far */
  double most_over;       /* the worst of predicted / measured so far, at least 1 */
  int n_known;
  llrt_hash known[TUNE_MOST_KNOWN];
  double spent[TUNE_PHASES]; /* milliseconds */
} tuning;

/* Milliseconds of a clock that only goes on. */
double tune_now(void);
/* Adds to the phase what passed since *since, which is now from here on. */
void tune_spend(tuning *t, tune_phase phase, double *since);

/* Tells program and log of a candidate. planned_us: of a choice; else 0. */
void tune_tell(tuning *t, const candidate *c, llrt_tune_state state, double planned_us,
               const char *why);

/* Frees what a candidate holds. */
void tune_drop(candidate *c);

/* ---- tune_list.c ---- */

/* Plans the choice. */
llrt_status tune_plan(const tuning *t, const plan_choice *choice, plan_chosen *out);

/* Clocks of a whole run by whichever model the kernels have, all n stages; 0: by none. */
double tune_predict(const tuning *t, const plan_kernel *stages);

/* Whether a variant that does this was not met before; it is from now on. */
bool tune_is_new(tuning *t, llrt_hash hash);

/* What is one number away from `from` (t->best_plan is its plan) and new, best predictions first;
 * what is not predicted comes last. Planned by all threads, until the deadline. Ownership: each is
 * tune_drop'ped, the list freed. NULL: there is no memory. */
candidate *tune_list(tuning *t, const plan_choice *from, int *n);

/* ---- tune_build.c ---- */

/* Compiles candidates by all threads, and loads them on this one. Each has an operation then, or a
 * status and why; or neither, where the deadline came first. */
void tune_build(tuning *t, candidate *list, int n);

/* ---- tune_try.c ---- */

/* Candidates that are built at once. */
int tune_batch(const tuning *t);

/* Whether the predicted time is so far behind the fastest one that the model would have to be wrong
 * by more than it was with those that were timed; never before some were. */
bool tune_is_behind(const tuning *t, const candidate *c);

/* The median of some first samples; slow candidates have fewer. */
llrt_status tune_time_first(tuning *t, candidate *c);

/* Builds the n candidates, times them and checks those that may win; tells of all. Errors: of the
 * device alone, which other candidates would have, too. */
llrt_status tune_try(tuning *t, candidate *list, int n);

/* Times the few best of the list and `best` by turns. *won: the fastest, where it is enough faster,
 * else -1; medians are in its and best's `us`. */
llrt_status tune_play(tuning *t, candidate *best, candidate *list, int n, int *won);

#endif
