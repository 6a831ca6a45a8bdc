/* A conversion as the command line asks for it: two storages of one logical shape and type. */
#ifndef LLRT_TOOLS_REQUEST_H
#define LLRT_TOOLS_REQUEST_H

#include "tools/tool.h"

#include <llrt/op.h>

typedef struct request {
  int rank;
  int64_t shape[LLRT_MAX_RANK];
  llrt_dtype dtype;
  llrt_storage from, to;
} request;

/* These return an exit code of tool.h, with the line on stderr when it is not TOOL_DONE. */

/* "4096x4096" into rank and shape. */
int request_parse_shape(const char *command_name, const char *text, request *r);

int request_parse_dtype(const char *text, request *r);

/* Both expressions on r's shape. */
int request_parse_storages(const char *from, const char *to, request *r);

/* The shape that an expression brings along (a literal does); false where it brings none. */
bool request_take_shape_of(const char *expression, request *r);

/* What explain and compile take: --from, --to, --shape, --dtype. from and shape may be NULL
 * (row_major; what the expressions bring along), dtype too (f32). */
int request_parse(const char *command_name, const char *from, const char *to, const char *shape,
                  const char *dtype, request *r);

/* Compiles for a target under the promises that contiguous, 256-byte aligned tensors of this shape
 * keep. Ownership: llrt_buffer_free. */
int request_compile(const request *r, const char *target, llrt_emit emit, char **bytes,
                    size_t *size);

#endif
