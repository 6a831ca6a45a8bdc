/* The target of the machine that this process runs on. */
#include "backends/host/host_device.h"

#include "base/status.h"

#include <string.h>

/* The x86-64 levels of the psABI, best first, the best also with VBMI and VNNI. Each level is asked by the features that its code
 * needs most; no processor has these without the level's others. */
static const char *const levels[] = {"x86-64-v4-vbmi", "x86-64-v4", "x86-64-v3", "x86-64-v2"};
enum { N_LEVELS = sizeof levels / sizeof *levels };

static bool host_runs_level(int level) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  switch (level) {
    case 0:
      return __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vnni") && host_runs_level(1);
    case 1:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl") && host_runs_level(2);
    case 2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
             __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma") && host_runs_level(3);
    default:
      return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
  }
#else
  (void)level;
  return false;
#endif
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
  if (llrt_host_runs("aarch64")) return plan_target_find("aarch64", target);
  for (int level = 0; level < N_LEVELS; level++) {
    if (host_runs_level(level)) return plan_target_find(levels[level], target);
  }
  *target = (plan_target){0};
  return llrt_error(LLRT_UNSUPPORTED, "this processor is neither x86-64-v2 nor aarch64");
}
