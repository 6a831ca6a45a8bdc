/* Which values of a program may err a little more than f32 does: those that come to memory, or on,
 * rounded to floats of 16 bits or fewer alone. */
#ifndef LLRT_EXPRESSION_PROGRAM_NARROW_H
#define LLRT_EXPRESSION_PROGRAM_NARROW_H

#include "expression/program.h"

#define PROGRAM_NARROW_ERROR 0x1p-15  /* of the value itself */
#define PROGRAM_NARROW_LEAST 0x1p-112 /* or by so much */

/* narrow[i]: node i is an f32, and an error of it, small beside it, is as small beside all that is
 * rounded to a float of 16 bits or fewer, and reaches nothing else: on the way are products,
 * quotients, signs, choices, extremes, sums of what is not negative. Or it is exp(x - max(x)) that
 * reaches sums of it along the same axes alone, whatever becomes of these: they are at least 1, and
 * what |x - max(x)| times 2^-24 of each power comes to is below 2^-20 of a sum of 2^20 powers. */
void program_find_narrow(const expr_program *program, bool narrow[PROGRAM_MAX_NODES]);

/* Whether node `at` is a quotient whose dividend errs so by itself, a function of `narrow` or a
 * product with one, and whose divisor is the sum of exp(x - max(x)): 1 or more. */
bool program_divides_narrow(const expr_program *program, const bool narrow[PROGRAM_MAX_NODES],
                            int at);

#endif
