#include "jit/plan/cost/trace.h"

#include "base/status.h"
#include "jit/plan/cost/predict.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The next attempt; NULL: none is asked for, or there are too many. */
static plan_attempt *next(const plan_options *options, const plan_kernel *kernel) {
  plan_trace *trace = plan_trace_of(options);
  if (!trace) return NULL;
  if (trace->n == PLAN_MAX_ATTEMPTS) {
    trace->left_out++;
    return NULL;
  }
  plan_attempt *attempt = &trace->attempt[trace->n++];
  *attempt = (plan_attempt){.clocks = kernel ? plan_predict_clocks(kernel) : -1};
  return attempt;
}

void plan_taken(const plan_options *options, const plan_kernel *kernel, const char *what, ...) {
  plan_attempt *attempt = next(options, kernel);
  va_list words;
  if (!attempt) return;
  va_start(words, what);
  vsnprintf(attempt->what, sizeof attempt->what, what, words);
  va_end(words);
}

llrt_status plan_refused(const plan_options *options, const plan_kernel *kernel, const char *what,
                         const char *why, ...) {
  plan_attempt *attempt = next(options, kernel);
  va_list words;
  if (!attempt) return LLRT_OK;
  snprintf(attempt->what, sizeof attempt->what, "%s", what);
  va_start(words, why);
  vsnprintf(attempt->why, sizeof attempt->why, why, words);
  va_end(words);
  return LLRT_OK;
}

const char *plan_refusal(void) {
  const char *message = llrt_last_error(), *end = strstr(message, ": ");
  return strncmp(message, "llrt_", 5) == 0 && end ? end + 2 : message;
}

llrt_status plan_refused_by(const plan_options *options, llrt_status status, const char *what) {
  if (status != LLRT_OK) plan_refused(options, NULL, what, "%s", plan_refusal());
  return status;
}

void plan_trace_print(const plan_trace *trace, llrt_text *out) {
  for (int i = 0; i < trace->n; i++) {
    const plan_attempt *attempt = &trace->attempt[i];
    llrt_text_add(out, "%-8s%s", attempt->why[0] ? "refused" : "taken", attempt->what);
    if (attempt->clocks >= 0) llrt_text_add(out, ", %.4f clocks a byte", attempt->clocks);
    llrt_text_add(out, "%s%s\n", attempt->why[0] ? ": " : "", attempt->why);
  }
  if (trace->left_out > 0)
    llrt_text_add(out, "and %d attempts more than are kept\n", trace->left_out);
}
