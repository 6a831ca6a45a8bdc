#include "tests/recipe/draws.h"
#include "tests/recipe/model.h"

#include <stdlib.h>

shape_draws draws_begin(int preset) {
  const char *count = getenv("LLRT_TEST_SHAPES"), *seed = getenv("LLRT_TEST_SEED");
  if (!seed) seed = getenv("LLRT_TEST_TURN");
  return (shape_draws){.state = seed ? strtoull(seed, NULL, 10) : 1,
                       .left = count ? atoi(count) : preset};
}

int draws_next(shape_draws *draws, uint64_t *state) {
  model_shape = draws->state;
  *state = draws->state++;
  for (int i = 0; i < 3; i++) model_random(state, 2); /* neighbours begin alike */
  return draws->left-- > 0;
}

int draws_from(uint64_t *state, int from, int to) {
  return from + (int)model_random(state, (uint64_t)(to - from + 1));
}

static int least(int a, int b) { return a < b ? a : b; }

rank_part draws_part(int all, int block, int tp, int rank) {
  int blocks = (all + block - 1) / block, room = least((blocks + tp - 1) / tp * block, all);
  int step = (blocks + tp - 1) / tp * block;
  return (rank_part){least(rank * step, all), least((rank + 1) * step, all), room};
}
