/* Random shapes for tests of recipes: a few in each run, and others at each commit. */
#ifndef LLRT_TESTS_RECIPE_DRAWS_H
#define LLRT_TESTS_RECIPE_DRAWS_H

#include <stdint.h>

/* Shapes that a test draws: LLRT_TEST_SHAPES, else `preset`. They begin with LLRT_TEST_SEED, else
 * with the number of the commit (LLRT_TEST_TURN). */
typedef struct shape_draws {
  uint64_t state;
  int left;
} shape_draws;

shape_draws draws_begin(int preset);

/* Whether there is one more; then each shape has a sequence of its own, *state, whose number
 * failures say (model.h): alone with LLRT_TEST_SEED=THAT and LLRT_TEST_SHAPES=1. */
int draws_next(shape_draws *draws, uint64_t *state);

/* from .. to */
int draws_from(uint64_t *state, int from, int to);

/* What a rank has of `all` positions that are cut by whole blocks: `room` of them, of which begin
 * .. end - 1 are the checkpoint's, and zeros follow. */
typedef struct rank_part {
  int begin, end, room;
} rank_part;

rank_part draws_part(int all, int block, int tp, int rank);

#endif
