/* Elements whose sums are rounded, and so differ by their order. */
#ifndef LLRT_TESTS_DOT_ROUNDED_CODE_H
#define LLRT_TESTS_DOT_ROUNDED_CODE_H

#include <llrt/llrt.h>

#include <stdint.h>

/* The code of element `number`, of numbers of many magnitudes; of e8m0 one of 2^-3 to 1. */
uint64_t rounded_code(llrt_dtype dtype, uint64_t number);

#endif
