/* How formats of files store elements: the types of .safetensors, and ggml's, which .gguf files
 * have. */
#ifndef LLRT_TOOLS_COMMON_FILE_TYPE_H
#define LLRT_TOOLS_COMMON_FILE_TYPE_H

#include <llrt/tensor.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Blocks of `elements` elements in `bytes` bytes. Static. */
typedef struct file_type {
  const char *name;  /* as the format calls it: "BF16", "Q4_K" */
  llrt_dtype dtype;  /* NONE: blocks that llrt moves as bytes */
  uint32_t code;     /* ggml's number of it; of .safetensors 0 */
  uint32_t elements; /* of a block, > 0 */
  uint32_t bytes;    /* of a block, > 0 */
} file_type;

/* The type of that name, number or dtype; NULL: the format has none. */
const file_type *file_type_safetensors(const char *name);
const file_type *file_type_safetensors_of(llrt_dtype dtype);
const file_type *file_type_ggml(uint32_t code);
const file_type *file_type_ggml_of(llrt_dtype dtype);

/* Bytes of a packed tensor. False: its elements are no whole blocks. *bytes is 0 and the result
 * false as well where an extent is negative or the bytes pass 2^62; *large tells which. */
bool file_type_bytes(const file_type *type, int rank, const int64_t *shape, uint64_t *bytes,
                     bool *large);

#endif
