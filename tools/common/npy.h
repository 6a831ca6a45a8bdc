/* The .npy file format of NumPy, versions 1 to 3 (NEP 1): one array, little-endian.
 *
 * Types without a NumPy code are written as their bits: bf16 as u16, 8-bit floats as u8, 4-bit
 * elements as u8 pairs (the last axis must then be even). Void types of 1 to 16 bytes ("V2") are
 * read as b8 to b128. */
#ifndef LLRT_TOOLS_COMMON_NPY_H
#define LLRT_TOOLS_COMMON_NPY_H

#include "tools/common/array.h"

/* Reads the array that is all of `file` (at its beginning; a pipe, too). Refused: another byte
 * order, an unknown type, more than LLRT_MAX_RANK axes, a header that is not exactly the three
 * keys, and a file shorter or longer than its header says. Ownership: array_destroy. */
bool npy_read(FILE *file, array *out, array_error *error);

/* Writes version 1.0, fortran_order as a->col_major says. */
bool npy_write(FILE *file, const array *a, array_error *error);

#endif
