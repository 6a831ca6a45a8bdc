/* Cold prepares: described, promised as a one-line call would, planned, compiled, loaded. */
#include "tests/expression/proofs/proofs.h"

#include "tests/expression/catalogue_call.h"
#include "tests/expression/compute_trial.h"
#include "tests/expression/row_alone.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* *ms: what llrt_op_prepare took. */
static llrt_status prepare(llrt_device *device, const char *text, double *ms) {
  llrt_op_desc *desc = NULL;
  llrt_op *op = NULL;
  llrt_status status = catalogue_describe(text, device, &desc);
  double start = now_ms();
  if (status == LLRT_OK) status = llrt_op_prepare(device, desc, &op);
  *ms = now_ms() - start;
  llrt_op_destroy(&op);
  llrt_op_desc_destroy(&desc);
  return status;
}

int proof_prepare(const proof_options *options) {
  char text[4000];
  double ms;
  int wrong = 0;
  printf("%s\n| expression | ms |\n|---|---|\n", options->name);
  for (int i = -1; i < 0 || row_alone_name(i); i++) {
    const char *name = i < 0 ? "(the first of a process)" : row_alone_name(i);
    if (i >= 0 && options->only && strcmp(options->only, name) != 0) continue;
    if (i < 0) snprintf(text, sizeof text, "(x[n]) -> (y[n]) { y = -x }");
    else trial_read_text(name, text, sizeof text);
    llrt_status status = prepare(options->device, text, &ms);
    wrong += status != LLRT_OK;
    if (status == LLRT_OK) printf("| %s | %.1f |\n", name, ms);
    else printf("%s: %s\n", name, llrt_last_error());
    fflush(stdout);
  }
  return wrong > 0;
}
