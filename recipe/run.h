/* A run of a plan on addresses. Private to recipe. */
#ifndef LLRT_RECIPE_RUN_H
#define LLRT_RECIPE_RUN_H

#include "recipe/plan.h"

typedef struct repack_run {
  const llrt_repack *plan;
  const void *const *in;
  void *const *out;
  void *workspace, *stream;
  char *words; /* where the plan's words would begin; the schedule's are there */
} repack_run;

/* Where byte `offset` of an input, an output, the workspace or the words is. */
llrt_status run_address(const repack_run *r, int number, bool output, int64_t offset,
                        void **address);

/* ---- several moves by one launch (recipe/run_lists.c) ---- */

const repack_move *run_move_of(const repack_run *r, const repack_lot *lot, int i);

/* Brings the addresses of all lists into the workspace. */
llrt_status run_write_lists(const repack_run *r, const repack_schedule *schedule);

/* Address i of a list of the lot's. */
llrt_status run_listed_address(const repack_run *r, const repack_lot *lot, int list, int i,
                               void **address);

/* The same of the whole plan where the stream captures (recipe/captured.c). *done: false where
 * there is no memory that a graph could read them from. */
llrt_status run_capture_lists(const repack_run *r, uint64_t *to, bool *done);

/* Whether all addresses are multiples of what the kernel of the lot's lists relies on. */
llrt_status run_lists_fit(const repack_run *r, const repack_lot *lot, bool *fit);

/* Launches that kernel on the lot's lists, which stand behind each other. */
llrt_status run_together(const repack_run *r, const repack_lot *lot, const uint64_t *lists);

#endif
