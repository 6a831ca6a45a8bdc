/* What a run does with its stage beside the tensors. Private to repack_*.c. */
#ifndef LLRT_TOOLS_MODEL_REPACK_STAGE_H
#define LLRT_TOOLS_MODEL_REPACK_STAGE_H

#include "tools/model/repack.h"
#include "tools/model/stage.h"

/* Reads all tensors again, from the disk where the system lets go of what it has of them, and
 * compares with their hashes. */
bool repack_verify(const repack *r, const stage *s, array_error *error);

/* For a folder: the index of several files, and what the source's folder has beside weights:
 * config, tokenizer, licence. Hidden files, folders and weights in other formats are left out. */
bool repack_add_rest(const repack *r, const stage *s, array_error *error);

#endif
