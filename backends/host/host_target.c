/* The target of the machine that this process runs on. */
#include "backends/host/host_device.h"

#include "base/status.h"

#include <stdlib.h>
#include <string.h>

/* The x86-64 levels of the psABI, best first, the best also with VBMI and VNNI. Each level is asked
 * by the features that its code needs most; no processor has these without the level's others. */
static const char *const levels[] = {"x86-64-v4-vbmi", "x86-64-v4", "x86-64-v3", "x86-64-v2"};
enum { N_LEVELS = sizeof levels / sizeof *levels };

/* In builds with tests LLRT_HOST_TARGET is the level that the processor is taken to have; -1: it is
 * none. NULL: its own. */
static int held_level(const char **name) {
  *name = NULL;
#ifdef LLRT_EMULATORS
  *name = getenv("LLRT_HOST_TARGET");
#endif
  if (!*name || !**name) return 0;
  for (int level = 0; level < N_LEVELS; level++)
    if (strcmp(*name, levels[level]) == 0) return level;
  return -1;
}

static bool processor_has_level(int level) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  switch (level) {
  case 0:
    return __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vnni") &&
           processor_has_level(1);
  case 1:
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") && processor_has_level(2);
  case 2:
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma") &&
           processor_has_level(3);
  default: return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
  }
#else
  (void)level;
  return false;
#endif
}

static bool host_runs_level(int level) {
  const char *name;
  return level >= held_level(&name) && processor_has_level(level);
}

bool llrt_host_runs(const char *target) {
#if defined(__aarch64__)
  if (strcmp(target, "aarch64") == 0) return true;
#endif
  for (int level = 0; level < N_LEVELS; level++) {
    if (strcmp(target, levels[level]) == 0) return host_runs_level(level);
  }
  return false;
}

llrt_status llrt_host_target(plan_target *target) {
  const char *held;
  int level = held_level(&held);
  *target = (plan_target){0};
  if (level < 0 || (level > 0 && !host_runs_level(level)))
    return llrt_error(LLRT_INVALID_ARGUMENT,
                      "LLRT_HOST_TARGET=%s: this processor has no such level", held);
  if (llrt_host_runs("aarch64")) return plan_target_find("aarch64", target);
  for (; level < N_LEVELS; level++)
    if (host_runs_level(level)) return plan_target_find(levels[level], target);
  return llrt_error(LLRT_UNSUPPORTED, "this processor is neither x86-64-v2 nor aarch64");
}
