/* Appending to a kernel, and taking back. */
#include "jit/plan/draft.h"

#include "base/status.h"

llrt_status draft_step(plan_kernel *kernel, plan_step step) {
  if (kernel->n_steps == PLAN_MAX_STEPS)
    return llrt_error(LLRT_INTERNAL, "a kernel of more than %d steps", PLAN_MAX_STEPS);
  kernel->step[kernel->n_steps++] = step;
  return LLRT_OK;
}

llrt_status draft_value(plan_kernel *kernel, const plan_value *value, int *number) {
  if (kernel->n_values == PLAN_MAX_VALUES)
    return llrt_error(LLRT_INTERNAL, "a kernel of more than %d values", PLAN_MAX_VALUES);
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

bool draft_shared_in_use(const plan_kernel *kernel) {
  for (int i = 0; i < kernel->n_steps; i++) {
    const plan_step *step = &kernel->step[i];
    if (step->kind == PLAN_SHARED_LOAD || step->kind == PLAN_REPEAT) return true;
    if ((step->kind == PLAN_WALK || step->kind == PLAN_LOOP) && step->body == 0) return true; /* it goes on */
    if (step->kind == PLAN_GATHER && step->staged) return true;
    if (step->kind == PLAN_DOT && step->shared) return true;
  }
  return false;
}

bool draft_others_read(const plan_kernel *kernel) {
  bool read = false;
  for (int i = 0, inside = 0; i < kernel->n_steps; i++) {
    const plan_step *step = &kernel->step[i];
    bool loops = step->kind == PLAN_REPEAT || step->kind == PLAN_WALK || step->kind == PLAN_LOOP;
    if (loops && step->body == 0) return kernel->cluster_bits > 0; /* it goes on */
    read |= step->kind == PLAN_SHARED_LOAD && !plan_is_local(kernel, step->buffer, &kernel->value[step->out]);
    if (step->kind == PLAN_BARRIER && !step->own && i >= inside) read = false;
    inside = bits_max(inside, i + 1 + step->body + step->otherwise);
  }
  return read && kernel->cluster_bits > 0;
}
