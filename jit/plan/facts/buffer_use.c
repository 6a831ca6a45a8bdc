/* Who still reads shared memory behind the steps that a kernel has, and what rings take of it. */
#include "jit/plan/facts/buffer_use.h"

#include "base/bits.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/kernel/step_table.h"

bool plan_in_loop(const plan_kernel *kernel) {
  bool open = false;
  for (int i = 0; i < kernel->n_steps; i++)
    open |= plan_step_row_of(kernel->step[i].kind)->loops && kernel->step[i].body == 0;
  return open;
}

bool plan_shared_in_use(const plan_kernel *kernel) {
  if (plan_in_loop(kernel)) return true;
  for (int i = 0; i < kernel->n_steps; i++) {
    const plan_step *step = &kernel->step[i];
    if (step->kind == PLAN_SHARED_LOAD || step->kind == PLAN_REPEAT) return true;
    if (step->kind == PLAN_GATHER && step->staged) return true;
    if (step->kind == PLAN_DOT && step->shared) return true;
  }
  return false;
}

bool plan_others_read(const plan_kernel *kernel) {
  bool read = false;
  if (plan_in_loop(kernel)) return kernel->cluster_bits > 0;
  for (int i = 0, inside = 0; i < kernel->n_steps; i++) {
    const plan_step *step = &kernel->step[i];
    read |= step->kind == PLAN_SHARED_LOAD &&
            !plan_is_local(kernel, step->buffer, &kernel->value[step->out]);
    if (step->kind == PLAN_BARRIER && !step->own && i >= inside) read = false;
    inside = bits_max(inside, i + 1 + step->body + step->otherwise);
  }
  return read && kernel->cluster_bits > 0;
}

int plan_pushed_buffer(const plan_kernel *kernel) {
  int at = kernel->n_buffers - 1;
  while (at >= 0 && !kernel->buffer[at].pushed) at--;
  return at;
}

bool plan_meets_cluster(const plan_kernel *kernel, int n) {
  bool meets = false;
  for (int i = 0; i < n; i++)
    meets |=
        kernel->step[i].kind == PLAN_BARRIER && !kernel->step[i].own && !kernel->step[i].pushed;
  return meets;
}

int plan_ring_bytes(const plan_kernel *kernel) {
  int bytes = 0;
  for (int i = 0; i < kernel->n_buffers; i++)
    if (kernel->buffer[i].slots > 0) bytes = bits_max(bytes, plan_buffer_end(&kernel->buffer[i]));
  return bytes;
}
