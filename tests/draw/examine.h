/* A finding: whether it stands alone or needs cases before it, and its smallest form. */
#ifndef LLRT_TESTS_DRAW_EXAMINE_H
#define LLRT_TESTS_DRAW_EXAMINE_H

#include "worker.h"

/* Where a finding was seen. */
typedef struct draw_finding {
  const char *device, *target;
  draw_request request;
  draw_reply reply;
  const uint64_t *before; /* cases that the process had run, the last the latest */
  int n_before;
  double seconds, budget; /* for one case; for making it smaller */
} draw_finding;

/* Makes the finding's request as small as the budget allows, and prints it with the command that
 * repeats it. */
void examine_finding(draw_finding *of);
/* Prints what the request's case is. */
void examine_print(const draw_request *request, const char *device);

#endif
