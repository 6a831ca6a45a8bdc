/* Products of which several runs are under way at once. */
#ifndef LLRT_BENCHMARKS_DOT_OVERLAP_H
#define LLRT_BENCHMARKS_DOT_OVERLAP_H

#include "dot_run.h"

/* Whether all of them leave the D, bit by bit, that the host has of a run alone: graphs on several
 * streams, replayed by turns, each with a workspace and a D of its own. CUDA; true without looking
 * elsewhere. */
bool dot_overlap_is_right(harness *h, llrt_op *op, const dot_case *c);

#endif
