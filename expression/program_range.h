/* How large a program's values may be, whatever its tensors hold. */
#ifndef LLRT_EXPRESSION_PROGRAM_RANGE_H
#define LLRT_EXPRESSION_PROGRAM_RANGE_H

#include "expression/program.h"

#define PROGRAM_ANY_SIZE 1024

/* The least k found with |value| <= 2^k, NaN left aside; PROGRAM_ANY_SIZE: none is known. */
int program_most(const expr_program *program, int node);
/* Whether the value is known to be +0, larger, or NaN. */
bool program_is_positive(const expr_program *program, int node);

#endif
