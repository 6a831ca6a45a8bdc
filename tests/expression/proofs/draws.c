/* Random expressions (tests/expression/expression_draw.h) on one device. */
#include "tests/expression/expression_draw.h"
#include "tests/expression/proofs/proofs.h"

#include <inttypes.h>
#include <stdio.h>

int proof_draws(const proof_options *options) {
  static expression_draw draw;
  int64_t refused = 0, wrong = 0;
  for (int64_t i = 0; i < options->count; i++) {
    uint64_t seed = options->seed + (uint64_t)i;
    expression_draw_seed(seed, &draw);
    draw.trial.device = options->device;
    const char *why = trial_run(&draw.trial);
    if (!why) continue;
    if (trial_refused()) {
      refused++;
      if (options->only) printf("seed %" PRIu64 " refused: %s\n%s\n", seed, why, draw.text);
      continue;
    }
    wrong++;
    printf("seed %" PRIu64 " on %s, %lld x %lld: %s\n%s\n", seed, options->name,
           (long long)draw.trial.extent[0], (long long)draw.trial.extent[1], why, draw.text);
    fflush(stdout);
  }
  printf("%s: seeds %" PRIu64 " to %" PRIu64 ": %" PRId64 " right, %" PRId64 " refused, %" PRId64
         " wrong\n",
         options->name, options->seed, options->seed + (uint64_t)options->count - 1,
         options->count - refused - wrong, refused, wrong);
  return wrong > 0;
}
