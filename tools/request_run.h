/* Doing on a device what a request asks for: reading IN, converting, making OUT's bytes. */
#ifndef LLRT_TOOLS_REQUEST_RUN_H
#define LLRT_TOOLS_REQUEST_RUN_H

#include "tools/common/array_file.h"
#include "tools/request.h"

/* The options of commands that read IN, in their tables' order from the first on. */
#define REQUEST_FILE_OPTIONS \
  {"to", 0, "EXPR", "storage of the result"}, \
      {"from", 0, "EXPR", \
       "storage that IN's elements lie in (default: as the\n" \
       "file says, row_major or col_major)"}, \
      {"shape", 0, "MxN", "IN's logical shape (default: the literal's in --from, else IN's own)"}, \
      {"dtype", 0, "TYPE", "read IN's bytes as this type, such as bf16"}, \
      {"device", 0, "NAME", \
       "host, cuda:0, hip:0 (default: the first GPU that\nworks, else the host)"}, \
      {"output", 'o', "OUT", "file to write: .npy, or new.safetensors:NAME"}
enum {
  REQUEST_TO,
  REQUEST_FROM,
  REQUEST_SHAPE,
  REQUEST_DTYPE,
  REQUEST_DEVICE,
  REQUEST_OUTPUT,
  REQUEST_N_FILE_OPTIONS
};

/* What such a command was given: its options by place, the maps' from `maps` on. */
typedef struct request_call {
  const char *in;           /* a file */
  const char *const *value; /* REQUEST_FILE_OPTIONS' values; TO NULL: row_major */
  const char *const *maps;
  const char *values; /* reduce: a file for the values beside positions, or NULL */
  request_index_options index;
  request_reduce_options reduce;
  request_scan_options scan;
} request_call;

/* Begins the file of a result, and describes its bytes: of the tensor's shape for row_major, else a
 * list; they lie in the file itself where they may. Both are to be destroyed in any event; the file
 * is complete after request_end_result. */
int request_begin_result(const llrt_tensor *tensor, const char *name, array *result, outfile *file);
int request_end_result(outfile *file, const array *result);

/* Device memory of `room` bytes for a tensor: `bytes` of data, then zeros; and such a tensor's
 * bytes back. */
llrt_status request_place(llrt_tensor *tensor, const void *data, size_t bytes, size_t room);
llrt_status request_fetch(const llrt_tensor *tensor, array *result);

/* Memory for a tensor of the array's bytes: on the host the array's own, elsewhere the device's,
 * with the array's bytes in it where it is `filled`. request_fetch copies nothing that is there
 * already; request_give_back frees what is not the array's. */
llrt_status request_lend(llrt_tensor *tensor, const array *a, bool filled);
void request_give_back(llrt_tensor *tensor, const array *a);

/* Reads, converts, gathers, reduces or scans, and writes; returns the exit code. */
int request_run(const request_call *call);

#endif
