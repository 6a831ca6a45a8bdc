/* A description as bytes: part of a saved kernel (kernel_bytes.h). */
#ifndef LLRT_RUNTIME_DESCRIPTION_BYTES_H
#define LLRT_RUNTIME_DESCRIPTION_BYTES_H

#include "runtime/byte_stream.h"
#include "runtime/storage_set.h"

/* Appends a description. Its storages count as set gives them. */
void llrt_description_write(llrt_text *out, const op_description *desc, const storage_set *set);

/* Reads one back, checked as a caller's would be; of the tensors *desc has dtypes alone. Errors:
 * CORRUPT. */
llrt_status llrt_description_read(reader *in, op_description *desc, storage_set *set);

#endif
