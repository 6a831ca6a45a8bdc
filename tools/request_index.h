/* The indices of a conversion as the command line asks for them: --index AXIS=I.npy on the source. */
#ifndef LLRT_TOOLS_REQUEST_INDEX_H
#define LLRT_TOOLS_REQUEST_INDEX_H

#include "tools/common/array.h"

#include <llrt/tensor.h>

/* The options, for a table; REQUEST_INDEX may be given LLRT_MAX_INDICES times. */
#define REQUEST_INDEX "index"
#define REQUEST_INDEX_OPTIONS                                                               \
  {REQUEST_INDEX, 0, "AXIS=I.npy",                                                          \
   "take positions I[0], I[1], … of the source's AXIS: a list\n"                            \
   "of int32 or int64; once for each axis wanted"},                                         \
  {                                                                                         \
    "out-of-range", 0, "WHAT",                                                              \
        "where a value of I is negative or too large: zero\n(default), clamp, or error"     \
  }

typedef struct request_indices {
  int n;
  llrt_index index[LLRT_MAX_INDICES]; /* without addresses */
  array values[LLRT_MAX_INDICES];
} request_indices;

/* Reads the n values of --index, each on another axis of a source of this shape; what it makes the
 * logical shape goes to `shape`. `out_of_range` may be NULL. Returns an exit code of tool.h, with the line
 * on stderr when it is not TOOL_DONE; request_indices_destroy in any event. */
int request_indices_read(const char *command_name, const char *const *texts, int n,
                         const char *out_of_range, int rank, int64_t shape[LLRT_MAX_RANK],
                         request_indices *indices);

/* A zeroed one is accepted. */
void request_indices_destroy(request_indices *indices);

#endif
