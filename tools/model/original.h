/* What a checkpoint was, as a repacked model's metadata tell it (REPACK_CHECKPOINT), so that it can
 * be made again:
 *
 *   {"files": ["model-00001-of-00002.safetensors", …],
 *    "tensors": [["model.norm.weight", "BF16", [4096], 0], …]}      name, type, shape, file */
#ifndef LLRT_TOOLS_MODEL_ORIGINAL_H
#define LLRT_TOOLS_MODEL_ORIGINAL_H

#include "tools/model/model.h"

typedef struct original_tensor {
  char *name;
  const file_type *type;
  int32_t rank, file;
  int64_t shape[LLRT_MAX_RANK];
} original_tensor;

typedef struct original {
  char **file; /* names without folders */
  int32_t n_files;
  original_tensor *tensor;
  size_t n_tensors;
  original_tensor **by_name;
} original;

/* That of a model's own files. Ownership, of both: original_fini. */
bool original_of(const model *m, original *out, array_error *error);

/* That which a repacked model tells of. Nothing of it is trusted. Errors: it tells of none. */
bool original_parse(const model *m, original *out, array_error *error);

/* As JSON on one line; free it. NULL: no memory. */
char *original_print(const original *c);

/* NULL: there is none. */
const original_tensor *original_find(const original *c, const char *name);

void original_fini(original *c);

/* A text of a repacked model's metadata, whatever its format; free it. NULL: there is none. */
char *original_metadata(const model *m, const char *key);

#endif
