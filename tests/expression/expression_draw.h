/* Random expressions on random tensors: what a seed says, in full. */
#ifndef LLRT_TESTS_EXPRESSION_DRAW_H
#define LLRT_TESTS_EXPRESSION_DRAW_H

#include "tests/expression/compute_trial.h"

typedef struct expression_draw {
  char text[6000];
  char storage[LLRT_EXPR_MAX_TENSORS][200]; /* which trial.tensor borrows */
  trial trial;                              /* without a device */
} expression_draw;

/* An expression of 2 to 30 nodes and its names, with shapes, types, storages, indices, counts, in
 * place or not, with or without zeros, infinities and NaN; from seed 3000000 on of all that the
 * language has (docs/expressions.md), from 10000000 on with axes that have no position. Of what it
 * draws some is refused (UNSUPPORTED). */
void expression_draw_seed(uint64_t seed, expression_draw *out);

#endif
