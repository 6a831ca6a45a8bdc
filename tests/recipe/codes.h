/* Numbers of 4, 8 and 16 bits, by plain arithmetic, and weights of them. */
#ifndef LLRT_TESTS_RECIPE_CODES_H
#define LLRT_TESTS_RECIPE_CODES_H

#include "tests/recipe/model.h"

float codes_of_bf16(uint16_t code);
float codes_of_e4m3(uint8_t code);

/* The nearest number, of two the even one; what is too large becomes the largest. */
uint8_t codes_e4m3(float x);
uint8_t codes_e2m1(float x);

/* The power of two that is not below x. */
uint8_t codes_e8m0_up(float x);

/* The largest magnitude of x[rows][columns], rows `pitch` apart. */
float codes_amax(const float *x, int rows, int columns, int pitch);

/* Adds bf16 weights of some magnitude, of whose rows and columns the first `block` are zero, if
 * there are more rows. Ownership of the numbers: free. */
float *codes_add_weight(model *in, uint64_t *state, const char *name, int rows, int columns,
                        int block);

#endif
