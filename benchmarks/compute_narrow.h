/* Which values of an expression may err by more than their type's last places, because all that
 * uses them rounds them, or what has their error alone, to floats of 16 bits or fewer
 * (include/llrt/expression.h). Written apart from the library's own (expression/program_narrow.h).
 */
#ifndef LLRT_BENCHMARKS_COMPUTE_NARROW_H
#define LLRT_BENCHMARKS_COMPUTE_NARROW_H

#include "compute_reference.h"

/* By node; r->type is filled in. */
void narrow_find(const reference *r, bool narrow[LLRT_EXPR_MAX_NODES]);

/* What such a function's value may be, `x` being what it is in f32. */
range narrow_range(int op, range x);

#endif
