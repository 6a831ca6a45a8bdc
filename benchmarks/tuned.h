/* Tuned numbers (docs/tuning.md) that a run varies: --numbers NAME=N[,NAME=N], --spoil SEED. */
#ifndef LLRT_BENCHMARKS_TUNED_H
#define LLRT_BENCHMARKS_TUNED_H

#include <llrt/llrt.h>

/* What is planned for the device from now on has these numbers, until the process ends; kernels on
 * disk, which were made with others, must not be used. Ends the program where a number is not
 * known. */
void tuned_apply(llrt_device *device, const char *text);

/* The same with every number halved or doubled, as the seed has it: of a logarithm what it stands
 * for. Prints them. */
void tuned_spoil(llrt_device *device, uint64_t seed);

#endif
