/* Where a model is written before it takes its name: the folder NAME.partial beside it, with the
 * files and a journal of what is complete in them. A run that is interrupted leaves it behind, and
 * the same run goes on there; the name appears when all is whole.
 *
 * The journal is lines of text that are only ever added:
 *
 *   llrt repack 1 IDENTITY            of inputs, recipe, options and version: 32 hex digits
 *   NUMBER HASH CHECK                 tensor NUMBER of the output is in its file, with this hash
 *
 * CHECK is of the line's beginning, so that a line that was cut off does not count. A line is added
 * after the tensor's bytes are on the disk. */
#ifndef LLRT_TOOLS_MODEL_STAGE_H
#define LLRT_TOOLS_MODEL_STAGE_H

#include "tools/model/output.h"

typedef struct stage {
  char *name;    /* what is made: a file's, or a folder's */
  bool folder;   /* a folder, of all files; else each file is renamed to `target` */
  char *partial; /* NAME.partial */
  int journal;   /* locked while the stage is open; -1: none */
  int *file;     /* descriptors, by the output's files */
  char **target; /* of each file where `folder` is false: its final name */
  int32_t n_files;
  bool resumed; /* some tensors were complete */
} stage;

/* Opens the stage of `name` for an output that has its places, makes what is missing of it, gives
 * each file its room on the disk, and takes from the journal which tensors are complete (their
 * hashes). `target`: see above; borrowed names, NULL for a folder. Errors: the name exists; the
 * stage is another run's (inputs, recipe or options differ), or in use; no room on the disk. */
bool stage_open(const char *name, const char *const *target, output *o, const char *identity,
                stage *out, array_error *error);

/* Writes bytes of a file. Thread: any number at once, of different bytes. */
bool stage_write(const stage *s, const output *o, int32_t file, uint64_t at, const void *data,
                 uint64_t bytes, array_error *error);

/* Brings the files' bytes to the disk, then notes n tensors of the output as complete. */
bool stage_note(stage *s, const output *o, const size_t *number, size_t n, array_error *error);

/* Writes a whole file into the stage, on the disk when this returns. For folders. */
bool stage_add(const stage *s, const char *name, const void *data, size_t bytes,
               array_error *error);

/* Writes the headers, brings all to the disk, and gives the files, or the folder, their names.
 * Where this fails nothing is lost: the same run goes on from there. */
bool stage_finish(stage *s, const output *o, array_error *error);

/* Closes what is open; what is in the stage stays there. */
void stage_close(stage *s);

#endif
