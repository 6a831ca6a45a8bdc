/* Loads and stores of tensors alone: docs/steps.md, "Memory of tensors". */
#include "memory_case.h"
#include "step_device.h"

#include <criterion/criterion.h>
#include <stdio.h>

static const char *const ways[] = {"whole", "parted", "overhang", "interior", "loose"};

static void check_way(bool store, memory_way way, int usual) {
  static step_case c;
  static step_target targets[STEP_TARGETS];
  int n = step_open_targets(targets), ran[STEP_TARGETS] = {0};
  uint64_t seed = step_seed_of_run() ^ (uint64_t)(way * 2 + store + 1) << 40;
  for (int t = 0; t < n; t++)
    for (int tries = 0, rounds = step_rounds(usual); ran[t] < rounds && tries < 40 * rounds;
         tries++) {
      c.seed = step_random(&seed) | 1;
      snprintf(c.what, sizeof c.what, "%s %s, %s", ways[way], store ? "store" : "load",
               targets[t].name);
      if (memory_case_make(&c, &targets[t].plan, store, way)) ran[t] += step_check(&c, &targets[t]);
    }
  for (int t = 0; t < n; t++) {
    fprintf(stderr, "%s %s, %s: %d kernels\n", ways[way], store ? "store" : "load", targets[t].name,
            ran[t]);
    bool host = targets[t].plan.simd_lanes;
    bool none = (host && way >= MEMORY_OVERHANG) || (!host && !store && way == MEMORY_PARTED);
    cr_assert(none ? ran[t] == 0 : ran[t] >= usual, "%d kernels", ran[t]);
  }
  step_close_targets(targets, n);
}

Test(step_memory, whole_loads) { check_way(false, MEMORY_PLAIN, 12); }
Test(step_memory, whole_stores) { check_way(true, MEMORY_PLAIN, 12); }
Test(step_memory, parted_loads) { check_way(false, MEMORY_PARTED, 8); }
Test(step_memory, parted_stores) { check_way(true, MEMORY_PARTED, 8); }
Test(step_memory, overhanging_loads) { check_way(false, MEMORY_OVERHANG, 10); }
Test(step_memory, overhanging_stores) { check_way(true, MEMORY_OVERHANG, 10); }
Test(step_memory, interior_loads) { check_way(false, MEMORY_INTERIOR, 8); }
Test(step_memory, interior_stores) { check_way(true, MEMORY_INTERIOR, 8); }
Test(step_memory, loose_loads) { check_way(false, MEMORY_LOOSE, 8); }
