/* Inputs that are each other's neighbours, as one of words. Private to runtime. */
#ifndef LLRT_RUNTIME_COMPUTE_PAIRS_H
#define LLRT_RUNTIME_COMPUTE_PAIRS_H

#include "runtime/compute_axes.h"
#include "runtime/compute_kept.h"

/* Of a call that is described and checked: what is computed, and where it is stored, stays. */
void compute_join_pairs(compute_call *call);

#endif
