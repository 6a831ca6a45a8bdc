/* Runs a case's kernel: by the interpreter and on devices, and compares what it leaves with what
 * docs/steps.md says. */
#ifndef LLRT_TESTS_STEPS_STEP_DEVICE_H
#define LLRT_TESTS_STEPS_STEP_DEVICE_H

#include "step_case.h"

#include <llrt/llrt.h>

typedef struct step_target {
  const char *name;   /* as test output names it */
  const char *device; /* as llrt_device_open takes it; NULL: the kernel is interpreted, no more */
  plan_target plan;
  llrt_context *context;
  llrt_device *opened;
} step_target;

/* Every target of this build and machine: the host's levels up to its own, each emulated GPU. Fills
 * at most `most`; how many there are. close_targets ends them. */
enum { STEP_TARGETS = 12 };
int step_open_targets(step_target *targets);
void step_close_targets(step_target *targets, int n);

/* Runs the case in all ways that the target has; a test assertion fails where one of them differs.
 * False where the kernel is not well formed by plan_verify: then nothing was run. */
bool step_check(const step_case *c, const step_target *target);

/* Runs a kernel that is the case's but for a planted fault. Who sees it: who refuses the kernel, or
 * is left with other memory than the case's kernel leaves. */
typedef struct step_seen {
  bool interpreter, device;
} step_seen;
step_seen step_plant(const step_case *c, const plan_kernel *planted, const step_target *target);

/* LLRT_TEST_CASE: only the case of this seed runs. LLRT_TEST_SHOW: cases are printed before they
 * run, with their assembly or, of "ir", LLVM's code.
 *
 * The seed of the run (LLRT_TEST_SEED), printed; rounds of a family and target: `usual`, times
 * LLRT_TEST_STEPS. */
uint64_t step_seed_of_run(void);
int step_rounds(int usual);

#endif
