/* See step_device.h: the targets, and how much is drawn. */
#include "step_device.h"

#include "tests/open_device.h"

#include <stdio.h>
#include <stdlib.h>

bool llrt_host_runs(const char *name);

static void add_target(step_target *targets, int *n, const char *name, const char *device) {
  step_target *made = &targets[*n];
  *made = (step_target){.name = name, .device = device};
  cr_assert_eq(plan_target_find(name, &made->plan), LLRT_OK, "%s", name);
  opened_device opened = open_device(device);
  made->context = opened.context;
  made->opened = opened.device;
  ++*n;
}

int step_open_targets(step_target *targets) {
  static const char *const levels[] = {"x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v4-vbmi",
                                       "aarch64"};
  static const char *const emulated[][2] = {
      {"sm_80", "cuda-emu:sm_80"},   {"sm_89", "cuda-emu:sm_89"},  {"sm_90", "cuda-emu:sm_90"},
      {"sm_90a", "cuda-emu:sm_90a"}, {"gfx90a", "hip-emu:gfx90a"}, {"gfx942", "hip-emu:gfx942"}};
  int n = 0;
  for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
    if (llrt_host_runs(levels[i])) add_target(targets, &n, levels[i], "host");
  for (size_t i = 0; i < sizeof emulated / sizeof *emulated; i++)
    add_target(targets, &n, emulated[i][0], emulated[i][1]);
  return n;
}

void step_close_targets(step_target *targets, int n) {
  for (int i = 0; i < n; i++) {
    llrt_device_close(&targets[i].opened);
    llrt_context_destroy(&targets[i].context);
  }
}

uint64_t step_seed_of_run(void) {
  const char *text = getenv("LLRT_TEST_SEED");
  uint64_t seed = text ? strtoull(text, NULL, 0) : 20261123;
  fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
  return seed ? seed : 1;
}

int step_rounds(int usual) {
  const char *text = getenv("LLRT_TEST_STEPS");
  return usual * (text ? atoi(text) : 1);
}
