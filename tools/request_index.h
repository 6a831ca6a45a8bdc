/* The indices of an operation as the command line asks for them: on the source of a convert or a
 * gather, on the destination of a scatter. */
#ifndef LLRT_TOOLS_REQUEST_INDEX_H
#define LLRT_TOOLS_REQUEST_INDEX_H

#include "tools/common/array.h"

#include <llrt/gather.h>

/* convert's options, for a table; REQUEST_INDEX may be given LLRT_MAX_INDICES times. */
#define REQUEST_INDEX "index"
#define REQUEST_OUT_OF_RANGE_OPTION \
  {"out-of-range", 0, "WHAT", \
   "where a value of I is negative or too large: zero\n(default), clamp, or error"}
#define REQUEST_INDEX_OPTIONS \
  {REQUEST_INDEX, 0, "AXIS=I.npy", \
   "take positions I[0], I[1], … of the source's AXIS: a list\n" \
   "of int32 or int64; once for each axis wanted"}, \
      REQUEST_OUT_OF_RANGE_OPTION
/* gather's beside them: --index is then I.npy alone. */
#define REQUEST_FORM_OPTION \
  {"form", 0, "FORM", \
   "take_along (default): I has IN's axes, a value for every\nelement of the result, as " \
   "numpy's take_along_axis;\nselect: I is a list of positions"}
#define REQUEST_GATHER_OPTIONS \
  {"axis", 0, "A", "the axis along which I chooses positions, from 0"}, REQUEST_FORM_OPTION

/* explain's and compile's: values are not looked at. */
#define REQUEST_DESCRIBED_INDEX_OPTIONS \
  {REQUEST_INDEX, 0, "I", \
   "gather, scatter: the index, as TYPE[SHAPE] such as\ni64[4096], or I.npy; convert: AXIS=I, " \
   "for " \
   "up to four axes"}, \
      REQUEST_OUT_OF_RANGE_OPTION, \
      {"axis", 0, "A", \
       "gather, scatter: the axis along which I chooses, from 0;\nscan: the axis; reduce: the " \
       "axes, by commas"}, \
      REQUEST_FORM_OPTION

typedef struct request_indices {
  int n;
  llrt_view view; /* the store's: the logical shape, and indices without addresses */
  array values[LLRT_MAX_INDICES];
} request_indices;

/* What --index and its companions say; texts may be NULL where they are not given. */
typedef struct request_index_options {
  const char *command_name;
  const char *const *texts; /* --index, n of them */
  int n;
  const char *axis, *form; /* gather, scatter: of the one index; NULL: texts are AXIS=I.npy */
  const char *out_of_range;
  bool gathers, scatters; /* the operation is one */
  bool described;         /* no values are needed: I may be TYPE[SHAPE], such as i64[4096] */
} request_index_options;

/* Reads the indices on a store of this shape, which becomes the logical shape. Returns an exit code
 * of tool.h, with the line on stderr when it is not TOOL_DONE; request_indices_destroy in any
 * event. */
int request_indices_read(const request_index_options *given, int rank, int64_t shape[LLRT_MAX_RANK],
                         request_indices *indices);

/* A zeroed one is accepted. */
void request_indices_destroy(request_indices *indices);

#endif
