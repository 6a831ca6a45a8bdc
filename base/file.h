/* Whole files. Errors: IO with errno as the vendor code and the path in the message,
 * OUT_OF_MEMORY. */
#ifndef LLRT_BASE_FILE_H
#define LLRT_BASE_FILE_H

#include <llrt/status.h>

#include <stddef.h>

/* Reads a file into *data, which gets a zero byte after its *size bytes.
 * Ownership: free(*data). On error *data is NULL. */
llrt_status llrt_file_read(const char *path, char **data, size_t *size);

/* Replaces a file by one rename, so that readers see the old bytes or the new ones. What is there
 * and is no regular file (a pipe, /dev/stdout) is written in place. On error an old file is left as
 * it was. */
llrt_status llrt_file_write(const char *path, const void *data, size_t size);

#endif
