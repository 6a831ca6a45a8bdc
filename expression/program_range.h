/* How large a program's values may be, whatever its tensors hold. */
#ifndef LLRT_EXPRESSION_PROGRAM_RANGE_H
#define LLRT_EXPRESSION_PROGRAM_RANGE_H

#include "expression/program.h"

#define PROGRAM_ANY_SIZE 1024

/* The least k found with |value| <= 2^k, NaN left aside; PROGRAM_ANY_SIZE: none is known. */
int program_most(const expr_program *program, int node);
/* The largest k found with value >= 2^k, NaN left aside; -PROGRAM_ANY_SIZE: none is known. */
int program_least(const expr_program *program, int node);
/* The least k found with |value| <= 2^k wherever the value, of f32, is finite. */
int program_most_finite(const expr_program *program, int node);
/* Whether the value is known to be +0, larger, or NaN (of nothing, a maximum is -infinity); whether
 * it is so by its own operator, whatever that takes. */
bool program_is_positive(const expr_program *program, int node);
bool program_makes_positive(const expr_program *program, int node);

/* The least k found with |x| <= 2^k y wherever y is a normal number; PROGRAM_ANY_SIZE: none is
 * known. So is y a maximum of |x| along an axis, times a number: a scale. */
int program_most_over(const expr_program *program, int x, int y);
/* Whether the value is a number of e8m0: a power of two from 2^-127 to 2^127, or NaN. */
bool program_is_power(const expr_program *program, int node);
/* Whether all that uses the value makes the same of it and of any other of its sign where both are
 * below 2^-30: what is rounded to types without numbers so small. */
bool program_is_coarse(const expr_program *program, int node);

/* Whether the value is a power e^(x - m), m a maximum of x, that is used by sums alone which have
 * the one of the largest x, 1, among them: then only what it adds to 1 counts. */
bool program_is_added(const expr_program *program, int node);

#endif
