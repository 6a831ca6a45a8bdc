/* What include/llrt/dot.h says of a product, in plain C: values of operands, a sum in long double,
 * and how far a right result may be from it. Written from the header, without a look at the
 * library.
 *
 *   |error of the sum| <= (K + 16) 2^-23 sum |a b|        in f32 (2^-52 in f64; integers: none)
 *                       + 2^-9 sum |a b|                  where tf32 was asked for
 *                       + 2^-10 sum |a b| + sum min(|a b|, 2^-12 max |a b|)
 *                                                         where both are 8-bit floats or narrower
 * and every operation behind it adds half a unit of its result in f32 (f64), an activation 2^-20.
 * Results lie between what both ends are rounded to. Data whose sums are exact have no error of the
 * sum. */
#ifndef LLRT_TESTS_DOT_REFERENCE_H
#define LLRT_TESTS_DOT_REFERENCE_H

#include "dot_problem.h"

/* The type of a result where nobody asks for another. */
llrt_dtype dot_reference_result(const dot_problem *problem);

/* Compares what a run left in D's storage, every copy, and what lies between, with what is right.
 * False with the reason in why[size]. */
bool dot_reference_check(const dot_bench *bench, const uint8_t *found, char *why, size_t size);

#endif
