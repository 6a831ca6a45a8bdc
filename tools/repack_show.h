/* What llrt repack tells: progress, plans, results. */
#ifndef LLRT_TOOLS_REPACK_SHOW_H
#define LLRT_TOOLS_REPACK_SHOW_H

#include "tools/model/repack.h"

/* Prints what would be done, for people or as one JSON object. `memory` as in repack_run_params. */
int repack_show_plan(const repack *r, uint64_t memory, bool json);

/* The same of a run that is done. */
int repack_show_result(const repack *r, const char *out, const repack_result *result, bool json);

/* Progress on standard error: a bar that is drawn over itself on a terminal, else a line now and
 * then. Zeroed at the beginning. */
typedef struct repack_bar {
  bool drawn;
  double told; /* seconds, when a line was last written */
} repack_bar;

void repack_bar_progress(void *bar, const repack_progress *now);

/* Ends the line of the bar. */
void repack_bar_end(const repack_bar *bar);

#endif
