/* Digits as panels in shared memory want them (staged.c). Private to jit/plan/convert. */
#ifndef LLRT_JIT_PLAN_CONVERT_PANEL_DIGITS_H
#define LLRT_JIT_PLAN_CONVERT_PANEL_DIGITS_H

#include "jit/plan/draft/draft.h"

/* Splits digits whose bits tensor t has in another order where it turns. */
void panel_order_digits(draft *d, int t);

/* Splits the digit of tensor t's run that goes on behind `elements` of it, a power of two; *run:
 * the digits up to there, bit i: digit i. False where there are no runs of so many. */
bool panel_shorten_run(draft *d, int t, int64_t elements, uint64_t *run);
/* Puts places that lie between the run's positions on tensor t behind the run, before others: then
 * those are rows side by side. */
void panel_place_rows(draft *d, int t, uint64_t run);

/* What there is of rows that are taken as longer ones (digit 0 of these), and of as many rows as
 * panels have together. */
typedef struct panel_rows {
  int axis[2];
  int64_t limit[2]; /* positions of the axis; 0: bounds know them */
} panel_rows;

/* Where rows lie side by side in the destination, with room behind each in the source, and are no
 * whole vectors of `vector` elements: takes them as such, and rows of `elements` together as one
 * digit. */
bool panel_pad_rows(draft *d, int vector, int64_t elements, panel_rows *rows);
/* What keeps accesses inside them. Needs: the flat digits. */
llrt_status panel_bound_rows(draft *d, const panel_rows *rows);

#endif
