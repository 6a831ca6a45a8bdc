/* Test data and the check of a conversion's result against a workload's columns. */
#ifndef LLRT_BENCHMARKS_REFERENCE_H
#define LLRT_BENCHMARKS_REFERENCE_H

#include "workload.h"

#include <stddef.h>

/* Fills `bytes` bytes (a multiple of 8) with words that depend on place and seed. */
void reference_fill(void *data, size_t bytes, uint64_t seed);

/* Whether destination is what the workload makes of source: every element up to 2^22 of them;
 * beyond, 2^20 random elements, and a sum over the mixed values of all elements of both sides,
 * which finds elements that were lost, doubled or changed. */
bool reference_check(const workload *w, const void *source, const void *destination, uint64_t seed);

#endif
