/* Arrays by file name, and files that appear only when they are complete. */
#ifndef LLRT_TOOLS_COMMON_ARRAY_FILE_H
#define LLRT_TOOLS_COMMON_ARRAY_FILE_H

#include "tools/common/array.h"

/* `name` is a .npy file ("-": standard input), or "model.safetensors:tensor_name". Ownership:
 * array_destroy. */
bool array_read(const char *name, array *out, array_error *error);

/* The same for writing. A .npy file is replaced ("-": to standard output); a .safetensors file is
 * made anew with this tensor alone, and one that exists is refused, since its other tensors would
 * be lost. */
bool array_write(const char *name, const array *a, array_error *error);

/* Several: all of them are written before the first takes its name. */
#define ARRAY_MAX_WRITES 16
bool array_write_all(const char *const *names, const array *const *arrays, int n,
                     array_error *error);

/* A file being written: its bytes go to a temporary file beside it, which takes the file's name at
 * outfile_commit. What is no regular file (/dev/stdout) is written directly; "-" is
 * standard output. */
typedef struct outfile {
  FILE *stream;
  char *path;      /* what was asked for, symbolic links resolved */
  char *temporary; /* NULL: written directly */
} outfile;

bool outfile_open(const char *path, outfile *out, array_error *error);

/* Opens the file of an array without data, as array_write does, writes all that comes before them,
 * and gives the array data: those in the file itself where that is possible. array_end_all writes
 * the rest of several; the files take their names when all are complete. A file that was begun is
 * the caller's to discard where that does not happen. */
bool array_begin(const char *name, array *a, outfile *file, array_error *error);
bool array_end_all(outfile *const *files, const array *const *arrays, int n, array_error *error);

/* Sends what was written to the file, so that a full disk shows before the commit. */
bool outfile_flush(outfile *file, array_error *error);

/* Ends the file: it has its new content when this returns true, and its old one otherwise. */
bool outfile_commit(outfile *file, array_error *error);

/* Ends the file and leaves nothing behind; a zeroed outfile is accepted. */
void outfile_discard(outfile *file);

#endif
