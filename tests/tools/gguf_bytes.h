/* Bytes of .gguf files, for reader tests: one key and one tensor, of which anything may be wrong.
 */
#ifndef LLRT_TESTS_TOOLS_GGUF_BYTES_H
#define LLRT_TESTS_TOOLS_GGUF_BYTES_H

#include "memory_file.h"

#include <stdint.h>

typedef struct gguf_key_case {
  const char *name;
  uint32_t type;
  const char *value; /* `bytes` bytes */
  size_t bytes;
} gguf_key_case;

typedef struct gguf_tensor_case {
  const char *name;
  uint32_t rank;
  uint64_t extent[6]; /* as in the file: the fastest axis first */
  uint32_t type;
  uint64_t offset;
} gguf_tensor_case;

/* All-zero members are what a sound file has: version 3, as many as there are names of. */
typedef struct gguf_case {
  const char *magic; /* NULL: "GGUF" */
  uint32_t version;
  uint64_t n_keys, n_tensors;
  gguf_key_case key[3];
  gguf_tensor_case tensor[3];
  uint64_t align;    /* of the data; 0: 32 */
  size_t data_bytes; /* bytes behind the header, numbered from 1 */
  size_t cut;        /* bytes that are missing at the end */
} gguf_case;

/* free file.data. */
memory_file gguf_bytes(const gguf_case *c);

#endif
