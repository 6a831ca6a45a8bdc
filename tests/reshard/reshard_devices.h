/* Emulated devices that reach each other, for tests of several ranks in one process. */
#ifndef LLRT_TESTS_RESHARD_DEVICES_H
#define LLRT_TESTS_RESHARD_DEVICES_H

#include "tests/reshard/reshard_case.h"

/* Eight of them, on one context; each thread's stream is its own. */
llrt_context *reshard_open_emulated(reshard_place *place);
void reshard_close_emulated(llrt_context **context, reshard_place *place);

#endif
