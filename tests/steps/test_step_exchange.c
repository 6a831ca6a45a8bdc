/* Steps that move elements between registers, lanes and warps: docs/steps.md, "Moving elements". */
#include "exchange_case.h"
#include "step_device.h"

#include <criterion/criterion.h>
#include <stdio.h>

static const char *const ways[] = {"registers", "shuffle", "swap", "turn", "shared", "matrix"};

/* Whether the target has such steps. */
static bool exists(const plan_target *target, exchange_way way) {
  if (way == EXCHANGE_MATRIX) return target->matrix_load;
  return !target->simd_lanes || (way != EXCHANGE_SWAP && way != EXCHANGE_TURN);
}

static void check_way(exchange_way way, int usual) {
  static step_case c;
  static step_target targets[STEP_TARGETS];
  int n = step_open_targets(targets), ran[STEP_TARGETS] = {0};
  uint64_t seed = step_seed_of_run() ^ (uint64_t)(way + 17) << 40;
  for (int t = 0; t < n; t++)
    for (int tries = 0, rounds = step_rounds(usual); ran[t] < rounds && tries < 60 * rounds;
         tries++) {
      c.seed = step_random(&seed) | 1;
      snprintf(c.what, sizeof c.what, "%s, %s", ways[way], targets[t].name);
      if (exchange_case_make(&c, &targets[t].plan, way)) ran[t] += step_check(&c, &targets[t]);
    }
  for (int t = 0; t < n; t++) {
    fprintf(stderr, "%s, %s: %d kernels\n", ways[way], targets[t].name, ran[t]);
    cr_assert(exists(&targets[t].plan, way) ? ran[t] >= usual : ran[t] == 0, "%d kernels", ran[t]);
  }
  step_close_targets(targets, n);
}

Test(step_exchange, registers) { check_way(EXCHANGE_REGISTERS, 8); }
Test(step_exchange, shuffles) { check_way(EXCHANGE_SHUFFLE, 10); }
Test(step_exchange, swaps) { check_way(EXCHANGE_SWAP, 6); }
Test(step_exchange, turns) { check_way(EXCHANGE_TURN, 6); }
Test(step_exchange, shared) { check_way(EXCHANGE_SHARED, 8); }
Test(step_exchange, matrices) { check_way(EXCHANGE_MATRIX, 6); }
