/* Appending to a kernel, and taking back. */
#include "jit/plan/draft/draft.h"

#include "base/status.h"

llrt_status draft_step(plan_kernel *kernel, plan_step step) {
  if (kernel->n_steps == PLAN_MAX_STEPS)
    return llrt_error(LLRT_UNSUPPORTED, "a kernel of more than %d steps", PLAN_MAX_STEPS);
  kernel->step[kernel->n_steps++] = step;
  return LLRT_OK;
}

llrt_status draft_open(plan_kernel *kernel, plan_step step, int *at) {
  *at = kernel->n_steps;
  return draft_step(kernel, step);
}

void draft_close(plan_kernel *kernel, int at) {
  kernel->step[at].body = (uint8_t)(kernel->n_steps - at - 1);
}

llrt_status draft_value(plan_kernel *kernel, const plan_value *value, int *number) {
  if (kernel->n_values == PLAN_MAX_VALUES)
    return llrt_error(LLRT_UNSUPPORTED, "a kernel of more than %d values", PLAN_MAX_VALUES);
  *number = kernel->n_values;
  kernel->value[kernel->n_values++] = *value;
  return LLRT_OK;
}

draft_mark draft_mark_of(const plan_kernel *kernel) {
  return (draft_mark){kernel->n_steps, kernel->n_values, kernel->n_buffers};
}

void draft_take_back(plan_kernel *kernel, draft_mark to) {
  kernel->n_steps = to.steps;
  kernel->n_values = to.values;
  kernel->n_buffers = to.buffers;
}
