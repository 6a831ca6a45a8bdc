/* Saved kernels that fuzz targets start from: planned anew in each process, so that what an input
 * changes is a kernel of this format. */
#ifndef LLRT_TESTS_FUZZ_KERNEL_BASE_H
#define LLRT_TESTS_FUZZ_KERNEL_BASE_H

#include "tests/fuzz/fuzz.h"

#include <stdbool.h>

#define KERNEL_BASES 6
#define KERNEL_BASE_TARGET "sm_90a"

/* Kernel `index` of KERNEL_BASES as llrt_op_save would write it, with eight bytes of text for
 * code. Static. */
const char *kernel_base(int index, size_t *size);

/* The kernel that an input means. Its first byte chooses a base, in which records of ten bytes
 * (place of a word, 2; its value, 8) replace words; or, from 128 on, what follows is the kernel
 * itself. Sizes and checksum are made right where `sealed`. Ownership: free. */
unsigned char *kernel_of_input(const uint8_t *data, size_t input, bool sealed, size_t *size);

#endif
