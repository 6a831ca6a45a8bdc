/* Random expressions (expression_draw.h) against the reference on the host and emulated GPUs: few
 * of them; llrt_expressions draws takes any number. LLRT_TEST_SEED chooses the first,
 * LLRT_TEST_DRAWS how many on each device, LLRT_TEST_DEVICE one device; a failure prints the seed.
 */
#include "tests/expression/expression_draw.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static void run_seeds(const char *device, uint64_t first, int n) {
  static expression_draw draw;
  for (int i = 0; i < n; i++) {
    uint64_t seed = first + (uint64_t)i;
    expression_draw_seed(seed, &draw);
    draw.trial.device = trial_device(device);
    cr_assert_not_null(draw.trial.device, "%s", llrt_last_error());
    const char *wrong = trial_run(&draw.trial);
    cr_assert(!wrong || trial_refused(), "seed %llu on %s, %lld x %lld: %s\n%s",
              (unsigned long long)seed, device, (long long)draw.trial.extent[0],
              (long long)draw.trial.extent[1], wrong, draw.text);
  }
}

Test(compute_random, all_devices) {
  static const char *const devices[] = {"host", "cuda-emu:sm_80", "cuda-emu:sm_90a",
                                        "hip-emu:gfx90a", "hip-emu:gfx942"};
  const char *seed = getenv("LLRT_TEST_SEED"), *draws = getenv("LLRT_TEST_DRAWS"),
             *only = getenv("LLRT_TEST_DEVICE");
  for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
    int n = draws ? atoi(draws) : d == 0 ? 16 : 3;
    if (only && strcmp(only, devices[d]) != 0) continue;
    run_seeds(devices[d], seed ? strtoull(seed, NULL, 10) : 1 + 1000 * d, n);
  }
}
