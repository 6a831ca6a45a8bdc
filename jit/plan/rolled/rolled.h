/* Which steps of a program over rows are made by turns: what a thread does to each of its elements
 * is code for a part of them, in a loop. A long text of instructions is what compilers take their
 * time over. */
#ifndef LLRT_JIT_PLAN_ROLLED_H
#define LLRT_JIT_PLAN_ROLLED_H

#include "jit/plan/kernel/plan.h"

#define ROLLED_MOST_RUNS 8
#define ROLLED_MOST_STEPS 64
#define ROLLED_MOST_VALUES 24
#define ROLLED_MOST_BITS 3
#define ROLLED_AHEAD 1 /* turns: weights are loaded so many before the one that takes them */

/* Steps [first, end) of the kernel. Each turn has a part of the registers of whole values: those
 * whose highest `bits` register bits are the turn's number. */
typedef struct rolled_run {
  int first, end, bits;
  int spare;                         /* instructions of a thread that it may still take more */
  int saved;                         /* instructions that it is less, about */
  int registers;                     /* log2 elements of a thread */
  bool places;                       /* what turns take and leave may wait in shared memory */
  uint64_t column[ROLLED_MOST_BITS]; /* those register bits, as bits of the kernel's tile */
  int n_before, before[ROLLED_MOST_STEPS]; /* steps of values without such parts: made once */
  int n_turn, turn[ROLLED_MOST_STEPS];     /* steps of a turn. Those of before `first` make again
                                              what is cheaper to make than to keep */
  int n_in, in[ROLLED_MOST_VALUES];     /* values that are there, of which a turn takes its part */
  int n_late, late[ROLLED_MOST_VALUES]; /* steps that load weights, of which each turn loads the
                                           next one's part */
  int n_out, out[ROLLED_MOST_VALUES];   /* values that turns make and that are used behind them */
  int n_behind, behind[ROLLED_MOST_STEPS]; /* steps that are made again behind them, as a whole */
} rolled_run;

typedef struct rolled {
  bool loads; /* turns may load weights */
  int n_runs;
  bool straight; /* no loops: each turn is code of its own (rolled_straight.h) */
  rolled_run run[ROLLED_MOST_RUNS];
} rolled;

/* Words of a thread that wait in shared memory for turns (rolled_places.h). */
typedef struct rolled_places {
  int bytes;                       /* of a block, in all */
  int32_t offset[PLAN_MAX_VALUES]; /* of a value's words, from kernel.waiting on; -1: they have
                                      no place */
  uint8_t turns[PLAN_MAX_VALUES];  /* the words of the first so many turns have one, the others
                                      wait in registers */
} rolled_places;

/* Of a kernel without walks and loops; where the target's tuning has none, none. */
void rolled_find(const plan_kernel *kernel, rolled *r);

/* Whether a step behind the run that is not made by turns uses the value. */
bool rolled_wants_whole(const plan_kernel *kernel, const rolled *r, const rolled_run *run,
                        int value);
/* Whether a step that is made again behind the run, as a whole, uses the value. */
bool rolled_makes_again_of(const plan_kernel *kernel, const rolled_run *run, int value);
/* Whether a step of a run joins what each turn has, and the turns' results in the end. */
bool rolled_joins(const plan_kernel *kernel, const rolled_run *run, const plan_step *step);
/* Whether the value has parts in the run's turns. */
bool rolled_has_parts(const plan_kernel *kernel, const rolled_run *run, int value);
/* The run whose turns load what the step loads; NULL: there is none. */
const rolled_run *rolled_run_of_load(const rolled *r, int step);

#endif
