/* The routes of an in-block conversion (exchange.c chooses one), and the steps that they are made of. Private to jit/plan. */
#ifndef LLRT_JIT_PLAN_EXCHANGE_ROUTE_H
#define LLRT_JIT_PLAN_EXCHANGE_ROUTE_H

#include "jit/plan/draft.h"
#include "jit/plan/frame.h"

/* One conversion as its routes see it. A route appends its steps, or says by *found that it has none. */
typedef struct exchange_ends {
  draft *d;
  const plan_value *start, *target;
  frame from, to;
  const uint8_t *matrix; /* exchange_by_matrices: plan_matrix_kind of store and load */
} exchange_ends;

typedef llrt_status exchange_route(const exchange_ends *c, int *at, bool *found);

exchange_route exchange_by_shuffles, exchange_by_buffer, exchange_by_formed_words, exchange_by_matrices;

/* Appends `kind` from value *at to the frame `to`; *at becomes its result. */
llrt_status exchange_step(draft *d, plan_step_kind kind, const frame *to, const plan_value *warps_of, int *at);
/* Appends the registers' rounds from value *at in frame `from` to frame `to` of the same lanes. */
llrt_status exchange_rename(draft *d, const frame *from, const frame *to, const plan_value *warps_of, int *at);
/* Appends n lane shuffles, of which each makes the next frame. */
llrt_status exchange_shuffle_to(const exchange_ends *c, const frame *rounds, int n, int *at);

#endif
