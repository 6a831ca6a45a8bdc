/* What tests of several ranks in one process share: emulated devices that reach each other, and
 * draws on them. */
#ifndef LLRT_TESTS_RESHARD_DEVICES_H
#define LLRT_TESTS_RESHARD_DEVICES_H

#include "tests/reshard/reshard_case.h"

/* n devices on one context; each thread's stream is its own. */
llrt_context *reshard_open_devices(const char *const *names, int n, reshard_place *place);
/* Eight of CUDA's. */
llrt_context *reshard_open_emulated(reshard_place *place);
/* Two of HIP's. */
llrt_context *reshard_open_hip(reshard_place *place);
void reshard_close_emulated(llrt_context **context, reshard_place *place);

/* Draws of up to most_ranks ranks, none of them wrong, most of them not refused. */
void reshard_run_draws(const reshard_place *place, const char *test, int count, int most_ranks);

#endif
