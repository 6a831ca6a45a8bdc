/* Random expressions (expression_draw.h) against the reference on the host and emulated GPUs: few
 * of them; llrt_expressions draws takes any number. LLRT_TEST_SEED chooses the first,
 * LLRT_TEST_DRAWS how many on each device, LLRT_TEST_DEVICE one device; a failure prints the seed.
 */
#include "tests/expression/expression_draw.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static void run_seeds(const char *device, uint64_t first, int n, bool may_be_refused) {
  static expression_draw draw;
  for (int i = 0; i < n; i++) {
    uint64_t seed = first + (uint64_t)i;
    expression_draw_seed(seed, &draw);
    draw.trial.device = trial_device(device);
    cr_assert_not_null(draw.trial.device, "%s", llrt_last_error());
    const char *wrong = trial_run(&draw.trial);
    cr_assert(!wrong || (may_be_refused && trial_refused()), "seed %llu on %s, %lld x %lld: %s\n%s",
              (unsigned long long)seed, device, (long long)draw.trial.extent[0],
              (long long)draw.trial.extent[1], wrong, draw.text);
  }
}

/* Seeds that were wrong once (docs/expressions.md). */
static const struct {
  const char *device;
  uint64_t seed;
} mended[] = {
    {"host", 3412}, /* an index along an axis that a block walks */
    {"host", 4317},
    {"cuda-emu:sm_90a", 101683}, /* a thread reads more warps than a value has words */
    {"cuda-emu:sm_90a", 312158},
    {"cuda-emu:sm_90a", 5230078}, /* the root of -infinity */
    {"cuda-emu:sm_90a", 304798}, /* a load of its own condition in a walk: wrong on an H100 alone */
    {"cuda-emu:sm_90a",
     811149}, /* rings of a walked row, and an exchange that has no room beside */
    {"cuda-emu:sm_90a", 3500091}, /* a scan's warps, of more registers than a value has */
    {"cuda-emu:sm_90a", 3530150},
    {"host", 3643141},            /* the sum of nothing, in front of a row, was -0 */
    {"cuda-emu:sm_90a", 2209124}, /* the quotient of an f16 that is infinite */
    {"cuda-emu:sm_90a", 732040},  /* 0 - truth as a float, which LLVM's code generator made +1 */
    {"cuda-emu:sm_90a", 5712006}, /* a 64-bit integer beyond 2^31, on the way to bf16 */
    {"cuda-emu:sm_90a", 7710110}, /* 732 bytes spilled: an illegal address on an H200 alone */
    {"cuda-emu:sm_90a", 6711026}, /* backwards along an axis, of what has not that axis */
    {"hip-emu:gfx942", 6715035},
    {"cuda-emu:sm_90a", 6703029},
    /* words of two elements, which a turn makes and all of which are wanted behind it */
    {"cuda-emu:sm_90a", 8600441},
    {"cuda-emu:sm_90a", 8650000},
    {"cuda-emu:sm_90a", 8680216},
    {"hip-emu:gfx942", 8900034},   /* slots in a tile of fewer elements than lanes */
    {"hip-emu:gfx942", 8911312},   /* fma rounded to f16: v_fma_mixlo leaves the upper half */
    {"cuda-emu:sm_90a", 25102440}, /* a walk that reads kept turns alone leaves out what is not */
    {"cuda-emu:sm_90a", 25104026}, /* an output in place of what another part takes: not drawn */
    {"host", 30000029},            /* a run-time stride of an axis of one position */
    {"host", 30000141}, /* one position of an axis that a tensor lacks, which is promised */
    {"cuda-emu:sm_90a", 39300017}, /* words behind a loop that waited in shared memory */
    {"host", 45000636},            /* an axis of outputs alone, which one of them pads */
    {"cuda-emu:sm_90a", 53000018}, /* turns that load weights alone, of several rows */
    {"cuda-emu:sm_90a", 46005542}, /* turns that load weights alone, joined with positions */
    /* the reference: */
    {"cuda-emu:sm_80", 500222},  /* abs(-0) */
    {"cuda-emu:sm_90a", 314715}, /* and its reciprocal */
    {"host", 1843},              /* sin(-0) */
    {"cuda-emu:sm_90a", 310857},
    {"cuda-emu:sm_90a", 101497}, /* zero times what may be infinite */
    {"cuda-emu:sm_90a", 312657}, /* fma of f64 */
    {"host", 6160127},           /* the bits of a zero that has either sign */
};

Test(compute_random, mended_seeds) {
  const char *only = getenv("LLRT_TEST_DEVICE");
  for (size_t i = 0; i < sizeof mended / sizeof *mended; i++)
    if (!only || strcmp(only, mended[i].device) == 0)
      run_seeds(mended[i].device, mended[i].seed, 1, false);
}

/* Lanes that a branch parted stay apart until they synchronise. */
Test(compute_random, lanes_apart) {
  setenv("LLRT_EMU_LANES", "apart", 1);
  run_seeds("cuda-emu:sm_90a", 9870001, 1, false); /* of values out of range some lanes count one */
  run_seeds("cuda-emu:sm_80", 34000200, 3, true);
}

Test(compute_random, all_devices) {
  static const char *const devices[] = {"host", "cuda-emu:sm_80", "cuda-emu:sm_90a",
                                        "hip-emu:gfx90a", "hip-emu:gfx942"};
  const char *seed = getenv("LLRT_TEST_SEED"), *draws = getenv("LLRT_TEST_DRAWS"),
             *only = getenv("LLRT_TEST_DEVICE");
  for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
    int n = draws ? atoi(draws) : d == 0 ? 16 : 3;
    if (only && strcmp(only, devices[d]) != 0) continue;
    run_seeds(devices[d], seed ? strtoull(seed, NULL, 10) : 1 + 1000 * d, n, true);
  }
}
