/* A model that is to be written: which files it has, and where each tensor's bytes come to lie,
 * known before the first is written. Tensors follow each other in the order in which they are
 * added, and files are made to be mapped:
 *
 *   .gguf          every tensor begins at a multiple of the file's alignment, and the file ends
 * there .safetensors   the data begin at a multiple of 4096 bytes. The format has no room between
 *                  tensors, so those whose bytes are no multiple of 64 come behind the others, of
 *                  wide elements first: the others begin at multiples of 64, these at multiples of
 *                  their elements */
#ifndef LLRT_TOOLS_MODEL_OUTPUT_H
#define LLRT_TOOLS_MODEL_OUTPUT_H

#include "tools/model/model.h"

#define OUTPUT_HASH_DIGITS 32 /* hexadecimal, of XXH3's 128 bits */

/* Metadata of every tensor: the hash of its bytes, and what the recipe says of it. */
#define OUTPUT_HASH_KEY "llrt.hash."
#define OUTPUT_SPEC_KEY "llrt.spec."
#define OUTPUT_OWN_KEYS "llrt." /* all keys of llrt's begin so */

typedef struct output_tensor {
  char *name;
  const file_type *type;
  int32_t rank;
  int64_t shape[LLRT_MAX_RANK];
  int32_t file;
  uint64_t at, bytes;                /* output_place makes them */
  char *spec;                        /* NULL: none */
  char hash[OUTPUT_HASH_DIGITS + 1]; /* "": not known yet */
} output_tensor;

typedef struct output_file {
  char *name;       /* without folders */
  json_t *metadata; /* texts that this file has alone; NULL: none */
  uint64_t header, size;
} output_file;

typedef struct output {
  model_format format;
  output_file *file;
  int32_t n_files;
  output_tensor *tensor;
  size_t n_tensors;
  json_t *metadata;     /* texts that all files have; NULL: none */
  bool hashes;          /* metadata have every tensor's hash */
  const model *keys_of; /* .gguf: whose keys are kept, apart from OUTPUT_OWN_KEYS; NULL: none */
} output;

/* Adds a file; -1: no memory. */
int32_t output_add_file(output *o, const char *name);

/* Adds a tensor of o->file[like->file]; name and spec are copied, places and hash not. */
bool output_add_tensor(output *o, const output_tensor *like, array_error *error);

/* Gives every tensor its place, and every file its size. Nothing is added afterwards. Errors: a
 * tensor that is too large or no whole blocks, one name twice in a file, one that is no UTF-8. */
bool output_place(output *o, array_error *error);

/* The bytes of a file before its first tensor: o->file[file].header of them, whether hashes are
 * known or not. Free it. NULL: no memory, or keys that cannot be read. */
char *output_header(const output *o, int32_t file);

/* The index of several .safetensors files, as text that ends its line; free it. `like` are the
 * metadata that are kept of another index; NULL: none. NULL: no memory. */
char *output_index(const output *o, const json_t *like);

void output_fini(output *o);

#endif
