/* What emission and interpretation rely on in what producers do. */
#include "jit/plan/check/verify.h"

#include "jit/plan/facts/box.h"
#include "jit/plan/kernel/plan_check.h"

/* Behind what has landed: loads from rings that boxes fill, stores to others of as many slots. */
static llrt_status check_landed(const plan_kernel *kernel, int produce, int at) {
  const plan_step *landed = &kernel->step[at],
                  *end = &kernel->step[produce] + kernel->step[produce].body + 1;
  for (const plan_step *step = landed + 1; step < end; step++) {
    CHECK(step->kind == PLAN_SHARED_LOAD || step->kind == PLAN_MAP ||
              step->kind == PLAN_SHARED_STORE,
          "step %d: no work of producers", (int)(step - kernel->step));
    if (step->kind == PLAN_MAP) continue;
    bool boxes = false;
    for (const plan_step *copy = &kernel->step[produce] + 1; copy < landed; copy++)
      boxes |= copy->kind == PLAN_COPY && copy->box && copy->buffer == step->buffer;
    CHECK(kernel->buffer[step->buffer].slots == kernel->slots &&
              boxes == (step->kind == PLAN_SHARED_LOAD) && !step->matrix,
          "step %d: no ring of producers", (int)(step - kernel->step));
  }
  CHECK(landed->turns < kernel->slots, "step %d: boxes of %d turns", at, landed->turns);
  return LLRT_OK;
}

/* Copies to rings of as many slots, at the beginning of a walk that nothing is ahead of: boxes
 * first; then what is made of what they bring. Where there are boxes nobody makes other copies
 * known to products. */
llrt_status plan_verify_produce(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  bool boxes = true;
  CHECK(kernel->producers > 0 && at > 0 && kernel->step[at - 1].kind == PLAN_WALK &&
            kernel->step[at - 1].ahead == 0,
        "step %d: producers outside a walk", at);
  for (int i = at + 1; i <= at + step->body; i++) {
    const plan_step *inner = &kernel->step[i];
    if (inner->kind == PLAN_LANDED) return check_landed(kernel, at, i);
    CHECK(inner->kind == PLAN_COPY || inner->kind == PLAN_IF_INTERIOR,
          "step %d: no work of producers", i);
    CHECK(inner->kind != PLAN_COPY || kernel->buffer[inner->buffer].slots == kernel->slots,
          "step %d: slots", i);
    CHECK(boxes || inner->box == 0, "step %d: a box behind other copies", i);
    boxes &= inner->box > 0;
    CHECK(inner->kind != PLAN_COPY || inner->box || plan_threads_tell(kernel) ||
              plan_waits_fence(kernel) || !plan_is_multiplied(kernel, inner->buffer),
          "step %d: products of what threads copy beside boxes", i);
  }
  return LLRT_OK;
}

/* Producers whose threads copy say that a turn's slots are filled when they have begun the copies
 * of the next: for that other slots are free, whatever those that are released wait for. */
llrt_status plan_verify_release(const plan_kernel *kernel, int at) {
  int lag = plan_threads_tell(kernel) ? plan_copies_lag(kernel) : 0;
  CHECK(kernel->producers > 0 && kernel->step[at].turns >= 0, "step %d: no producers", at);
  CHECK(kernel->step[at].turns + lag < kernel->slots, "step %d: %d slots are never free", at,
        kernel->slots);
  return LLRT_OK;
}
