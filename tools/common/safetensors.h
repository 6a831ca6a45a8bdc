/* The .safetensors file format: an 8-byte little-endian length, a JSON header of that length, and
 * the tensors' bytes. Several tensors a file, little-endian, row-major. */
#ifndef LLRT_TOOLS_COMMON_SAFETENSORS_H
#define LLRT_TOOLS_COMMON_SAFETENSORS_H

#include "tools/common/array.h"

/* Reads one tensor of `file` (seekable, at its beginning); only the header and that tensor's bytes
 * are read. Refused: a header that is no JSON object or passes the file, an unknown dtype, offsets
 * outside the file or of another length than the shape's; tensors that overlap, bytes that are no
 * tensor's; metadata other than texts; a name that is not there, with the nearest that are.
 * Ownership: array_destroy. */
bool safetensors_read(FILE *file, const char *name, array *out, array_error *error);

/* Writes a file that holds this tensor alone, with its storage's text where it has one. Refused: a
 * dtype that the format lacks. */
bool safetensors_write(FILE *file, const char *name, const array *a, array_error *error);

#endif
