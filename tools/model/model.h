/* A model in files: which tensors it has, and where their bytes lie. A model is a .gguf file, or
 * one or several .safetensors files, with an index or without.
 *
 * Files are never trusted: all that a header says is checked against the file before it is used.
 * Tensors' bytes are read when they are asked for, so a model takes no more memory than its
 * headers. Functions return false with one line in error->text, as those of tools/common/array.h.
 */
#ifndef LLRT_TOOLS_MODEL_MODEL_H
#define LLRT_TOOLS_MODEL_MODEL_H

#include "tools/common/array.h"
#include "tools/common/file_type.h"

#include <jansson.h>
#include <time.h>

typedef enum model_format { MODEL_SAFETENSORS, MODEL_GGUF } model_format;

typedef struct model_tensor {
  char *name; /* UTF-8, without zeros inside */
  const file_type *type;
  int32_t rank;
  int64_t shape[LLRT_MAX_RANK]; /* the last axis is fastest, in a .gguf file too */
  int32_t file;                 /* of the model's */
  uint64_t at, bytes;           /* where its bytes begin in that file, and how many they are */
} model_tensor;

/* What a file was when its header was read. */
typedef struct model_file {
  char *path;
  FILE *stream;
  uint64_t size, device, inode;
  struct timespec modified;
} model_file;

/* A key of a .gguf file: its pair is `bytes` bytes of the file from `at`, name and value. */
typedef struct model_key {
  char *name;
  uint64_t at, bytes;
} model_key;

typedef struct model {
  model_format format;
  model_file *file;
  int32_t n_files;
  model_tensor *tensor; /* as they lie: by file, then by place in it */
  size_t n_tensors;
  model_tensor **by_name;
  json_t *metadata; /* .safetensors: all files' metadata, an object of texts; the first file's count
                       where several have a key. NULL: a .gguf file */
  json_t *index;    /* the index's own metadata; NULL: there are none */
  model_key *key;   /* .gguf, in the file's order */
  size_t n_keys;
  uint32_t alignment; /* .gguf: bytes to whose multiples tensors are aligned */
  char *folder;       /* that was named, or that the index lies in; NULL: files were named */
} model;

/* Opens what `paths` name: a folder with an index, or with .safetensors files, or with one .gguf
 * file; an index; a .gguf file; one or several .safetensors files. Ownership: model_close. Errors:
 * also tensors of one name in two files, tensors that the index places elsewhere, shards outside of
 * the index's folder, a part of a split .gguf file. */
bool model_open(const char *const *paths, int n, model *out, array_error *error);
void model_close(model *m);

/* NULL: there is none. */
const model_tensor *model_find(const model *m, const char *name);

/* Reads bytes [from, from + bytes) of a tensor. Thread: any number at once. */
bool model_read(const model *m, const model_tensor *tensor, uint64_t from, uint64_t bytes, void *to,
                array_error *error);

/* Whether the files still are what they were when they were opened. */
bool model_unchanged(const model *m, array_error *error);

/* ---- the parts, which tests and fuzz targets call ---- */

/* Adds a file's tensors, and its metadata or keys, to *m. `stream` is seekable, at its beginning,
 * and m->file[file] of the model. On error *m has some of the tensors. */
bool model_read_safetensors(FILE *stream, int32_t file, model *m, array_error *error);
bool model_read_gguf(FILE *stream, int32_t file, model *m, array_error *error);

/* Sorts by place, and by name, and refuses a name twice: after all files. */
bool model_sort(model *m, array_error *error);

/* Room for one more tensor, which is zeroed and not counted yet; NULL: no memory. */
model_tensor *model_add(model *m);

/* An index: {"metadata": {…}, "weight_map": {TENSOR: SHARD, …}}. */
typedef struct model_index {
  json_t *metadata; /* NULL: none */
  json_t *map;      /* texts, each the name of a file in the index's folder */
} model_index;

/* Reads an index from a file (seekable, at its beginning). Refused: other than the above, a shard
 * that is no plain file name. Ownership: model_index_fini. */
bool model_index_read(FILE *stream, model_index *out, array_error *error);
void model_index_fini(model_index *index);

#endif
