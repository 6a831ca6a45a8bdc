/* The header of a .safetensors file: an 8-byte little-endian length and a JSON object of that
 * length, which says of each tensor its type, its shape and where its bytes lie. Nothing in it is
 * trusted. Functions return false with error->text, as those of array.h. */
#ifndef LLRT_TOOLS_COMMON_SAFETENSORS_HEADER_H
#define LLRT_TOOLS_COMMON_SAFETENSORS_HEADER_H

#include "tools/common/array.h"
#include "tools/common/file_type.h"

#include <jansson.h>

#define SAFETENSORS_METADATA "__metadata__" /* the one key that is no tensor */

/* In which storage a tensor lies stands in the file's metadata: "llrt.storage.NAME" has the
 * storage's text, "llrt.shape.NAME" the logical shape, as 128x64. */
#define SAFETENSORS_STORAGE "llrt.storage."
#define SAFETENSORS_SHAPE "llrt.shape."

typedef struct safetensors_header {
  json_t *json;       /* an object; its members are read by safetensors_header_entry */
  uint64_t data;      /* where the tensors' bytes begin in the file */
  uint64_t available; /* from there to the file's end */
} safetensors_header;

/* One tensor; its bytes are `begin` to `end`, counted from header.data. */
typedef struct safetensors_entry {
  const file_type *type;
  int32_t rank;
  int64_t shape[LLRT_MAX_RANK];
  int64_t begin, end;
} safetensors_entry;

/* Reads the header of a file (seekable, at its beginning). Refused: what is no JSON object, or
 * passes the file or the format's limit of 100 MB; a key twice. Ownership:
 * safetensors_header_fini. */
bool safetensors_header_read(FILE *file, safetensors_header *out, array_error *error);
void safetensors_header_fini(safetensors_header *header);

/* What one member says. Refused: an unknown type, a shape that is none or is too large, elements
 * that are no whole bytes, bytes that lie outside of the file or are another number than the
 * shape's. */
bool safetensors_header_entry(const safetensors_header *header, json_t *member,
                              safetensors_entry *out, array_error *error);

/* Whether the bytes of all tensors follow each other from the first byte to the last: the format
 * has neither holes nor bytes of two. */
bool safetensors_header_check(const safetensors_header *header, array_error *error);

/* Whether all metadata are texts. */
bool safetensors_header_check_metadata(const safetensors_header *header, array_error *error);

/* The text of a header, with its length in front, that is filled up with spaces so that what
 * follows begins at a multiple of `align` bytes (a power of two, at least 8). Free it. NULL: no
 * memory. */
char *safetensors_header_print(const json_t *json, size_t align, size_t *length);

#endif
