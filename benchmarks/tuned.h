/* Tuned numbers (docs/tuning.md) that a run varies: --tune NAME=N[,NAME=N]. */
#ifndef LLRT_BENCHMARKS_TUNED_H
#define LLRT_BENCHMARKS_TUNED_H

#include <llrt/llrt.h>

/* What is planned for the device from now on has these numbers, until the process ends; kernels on
 * disk, which were made with others, must not be used. Ends the program where a number is not
 * known. */
void tuned_apply(llrt_device *device, const char *text);

#endif
