/* A function at numbers that lie evenly beside each other, by a polynomial where it is smooth: the
 * error of a kernel's results, screened without a call of the C library for each. */
#ifndef LLRT_TESTS_FUNCTION_SMOOTH_H
#define LLRT_TESTS_FUNCTION_SMOOTH_H

#include <stdbool.h>

/* Numbers of one block. */
#define SMOOTH_BLOCK 4096
/* What a polynomial's value may be off by, in units of the last place of f32. */
#define SMOOTH_SLACK 1e-3

/* error[i] = how far y[i] is from f(from + i step), in units of the last place of f32, 0 <= i <
 * SMOOTH_BLOCK, up to SMOOTH_SLACK. *largest is the largest of them; infinite or NaN where a y[i]
 * is. False where f is no polynomial of degree 7 there, or anywhere near the ends of f32's normal
 * numbers; error is not written then. */
bool smooth_errors(double (*f)(double), double from, double step, const float *y, double *error,
                   double *largest);

#endif
