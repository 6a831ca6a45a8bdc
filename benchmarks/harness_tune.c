/* --tune: operations that are prepared are tuned first. */
#include "harness.h"

#include "runtime/described.h"

#include <string.h>

/* A row of the record's field: [choice, state, predicted us, measured us]. */
static void add_candidate(void *user, const llrt_tune_candidate *c) {
  static const char *const states[] = {
      [LLRT_TUNE_PLANNED] = "planned",       [LLRT_TUNE_TIMED] = "timed",
      [LLRT_TUNE_OTHER_BITS] = "other bits", [LLRT_TUNE_FAILED] = "failed",
      [LLRT_TUNE_CHOSEN] = "chosen",         [LLRT_TUNE_KEPT] = "kept"};
  harness *h = user;
  llrt_text_add(&h->tuned, "%s[\"%s\",\"%s\",%.3f,%.3f]", h->tuned.length > 15 ? "," : "",
                c->choice, states[c->state], c->predicted_us, c->measured_us);
  if (c->state == LLRT_TUNE_FAILED) printf("  %s failed: %s\n", c->choice, c->why);
  if (c->state == LLRT_TUNE_CHOSEN)
    printf("  %s: %.2f us by turns, planned %.2f us\n", c->choice, c->measured_us, c->planned_us);
}

llrt_status harness_prepare(harness *h, const op_description *desc, llrt_op **op) {
  if (!h->options.tune) return described_prepare(h->device, desc, op);
  const llrt_op_desc shown = described_as(desc);
  return harness_tune(h, &shown, op);
}

llrt_status harness_tune(harness *h, const llrt_op_desc *shown, llrt_op **op) {
  const llrt_prepare_params params = {
      .tune = h->options.tune, .user = h, .on_candidate = add_candidate};
  double begin = harness_now();
  llrt_text_fini(&h->tuned);
  llrt_text_init(&h->tuned);
  llrt_text_add(&h->tuned, "{\"candidates\":[");
  llrt_status status = llrt_op_prepare_with(h->device, shown, &params, op);
  double seconds = 1e-6 * (harness_now() - begin);
  llrt_text_add(&h->tuned, "],\"seconds\":%.3f}", seconds);
  return status;
}
