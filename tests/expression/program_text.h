/* A text's program, for tests of what programs tell. */
#ifndef LLRT_TESTS_PROGRAM_TEXT_H
#define LLRT_TESTS_PROGRAM_TEXT_H

#include "expression/program.h"

/* The program of a text whose tensors are of f32, where it says nothing else: the same memory at
 * every call. A text that is refused fails the test. */
const expr_program *program_of(const char *text);

#endif
