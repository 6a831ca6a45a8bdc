/* A conversion planned, compiled and executed by the emulator of its target, with the plan open to
 * the test. */
#ifndef LLRT_TESTS_EMU_PLAN_H
#define LLRT_TESTS_EMU_PLAN_H

#include "jit/plan/kernel/plan.h"
#include "emulators/gfx9/gfx9.h"
#include "emulators/ptx/ptx.h"

typedef struct emu_conversion {
  const char *source, *destination; /* storages, in the layout language */
  int rank;
  int64_t shape[4];
  llrt_dtype dtype;
  const char *target;
  bool large; /* by the first variant, whatever the shape: that for large tensors, where there is
                 one */
  int panels; /* by the variant that keeps panels of this kind in shared memory (plan_options),
                 extents known */
} emu_conversion;

typedef struct emu_outcome {
  bool compiled, done;
  size_t wrong; /* bytes of the destination, where done */
  emu_counters counters;
  emu_fault fault;
  char message[512]; /* the fault, or why there was no run */
} emu_outcome;

/* The kernel for this shape. Asserts (Criterion) that there is one. */
void emu_plan_make(const emu_conversion *conversion, plan_kernel *kernel);

/* Compiles and runs the kernel, which a test may have changed, and compares with the storages' own
 * offsets. Elements that the destination holds twice are checked in every place. */
void emu_plan_run(const emu_conversion *conversion, const plan_kernel *kernel,
                  emu_outcome *outcome);

#endif
