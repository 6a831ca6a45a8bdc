/* Steps that make values of values, as docs/steps.md defines them. */
#include "step_state.h"

bool step_run_value(step_state *s, const plan_step *step) {
  return step_fail(s, "no definition of step kind %d", step->kind);
}
