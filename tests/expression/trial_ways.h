/* The ways in which an expression is called. */
#ifndef LLRT_TESTS_EXPRESSION_TRIAL_WAYS_H
#define LLRT_TESTS_EXPRESSION_TRIAL_WAYS_H

#include <llrt/llrt.h>

typedef enum trial_way {
  TRIAL_AT_ONCE = 0, /* llrt_compute_into */
  TRIAL_UNPROMISED,  /* described, prepared and run; nothing is promised */
  TRIAL_COARSE,      /* what llrt_op_promise_coarse promises */
  TRIAL_SOME,        /* some of that */
  TRIAL_EXACT,       /* that, and all extents */
  TRIAL_SAVED,       /* some of that; saved, loaded and run */
  TRIAL_AGAIN,       /* at once, in other memory first: what a call keeps serves the next one */
  TRIAL_CAPTURED,    /* what is coarse; on a GPU into a graph that another stream replays */
  TRIAL_WAYS
} trial_way;

/* Makes the call, behind which the device is idle. seed: chooses what is promised. */
llrt_status trial_call(trial_way way, llrt_device *device, uint64_t seed, const llrt_expr *expr,
                       const llrt_arg *args, int n);

#endif
