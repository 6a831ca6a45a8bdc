/* A conversion planned, compiled and executed by the PTX emulator, with the plan open to the test. */
#ifndef LLRT_TESTS_PTX_PLAN_H
#define LLRT_TESTS_PTX_PLAN_H

#include "jit/plan/plan.h"
#include "tests/emulators/ptx/ptx.h"

typedef struct ptx_conversion {
  const char *source, *destination; /* storages, in the layout language */
  int rank;
  int64_t shape[4];
  llrt_dtype dtype;
  const char *target;
} ptx_conversion;

typedef struct ptx_outcome {
  bool compiled, done;
  size_t wrong; /* bytes of the destination, where done */
  emu_counters counters;
  emu_fault fault;
  char message[512]; /* the fault, or why there was no run */
} ptx_outcome;

/* The kernel for this shape. Asserts (Criterion) that there is one. */
void ptx_plan_make(const ptx_conversion *conversion, plan_kernel *kernel);

/* Compiles and runs the kernel, which a test may have changed, and compares with the storages' own
 * offsets. Elements that the destination holds twice are checked in every place. */
void ptx_plan_run(const ptx_conversion *conversion, const plan_kernel *kernel, ptx_outcome *outcome);

#endif
