/* A conversion, gather, scatter, reduce or scan as the command line asks for it: two storages of
 * one logical shape, types, maps, indices. */
#ifndef LLRT_TOOLS_REQUEST_H
#define LLRT_TOOLS_REQUEST_H

#include "tools/common/array.h"
#include "tools/request_index.h"
#include "tools/request_reduce.h"
#include "tools/request_scan.h"
#include "tools/tool.h"

#include <llrt/op.h>

/* The options of value maps, for the tables of convert, explain and compile; `first` is the place
 * of the first of them in the table. */
#define REQUEST_MAP_OPTIONS \
  {"out-dtype", 0, "TYPE", "element type of the result (default: the source's)"}, \
      {"xor", 0, "V", "element ^= V, such as 0x88, before anything else"}, \
      {"scale", 0, "S.npy", \
       "then element *= S at its block: S has IN's axes, and\nits extents divide IN's; uint8 is " \
       "e8m0"}, \
      {"word-bits", 0, "p0,…,p31", \
       "then bit i of each of the result's 32-bit words =\nits bit p_i"}, \
      {"in-place", 0, NULL, "the result overwrites the source's memory"}
enum {
  REQUEST_OUT_DTYPE,
  REQUEST_XOR,
  REQUEST_SCALE,
  REQUEST_WORD_BITS,
  REQUEST_IN_PLACE,
  REQUEST_N_MAP_OPTIONS
};

typedef struct request {
  int rank, to_rank;
  int64_t shape[LLRT_MAX_RANK];    /* logical */
  int64_t to_shape[LLRT_MAX_RANK]; /* of the result: without the axes that a reduce drops */
  int64_t stored[LLRT_MAX_RANK];   /* of the tensor that indices stand on: the source, or with
                                      `scatters` the   destination */
  bool scatters, described;        /* described: "e8m0[16x32]" may stand for a file */
  llrt_dtype dtype, out_dtype;
  bool in_place;
  llrt_storage from, to;
  llrt_op_combine combine; /* axes 0: no reduce */
  bool scans;
  llrt_scan_params scan;
  int n_maps;
  llrt_map maps[LLRT_MAX_MAPS];
  request_indices indices;
  array scale; /* dtype NONE: there is none; without data where it is described */
  llrt_storage scale_storage;
} request;

/* Frees what a request holds; a zeroed one is accepted. */
void request_destroy(request *r);

/* These return an exit code of tool.h, with the line on stderr when it is not TOOL_DONE. */

/* "4096x4096" into rank and shape. */
int request_parse_shape(const char *command_name, const char *text, request *r);

/* "i64[16x32]" into an array without data; false when it is nothing like that. */
bool request_parse_described(const char *text, array *a);

/* Takes a's bytes as another type: the fastest axis then counts more or fewer elements. False where
 * they do not fit together, as elements of another width do not where the file says in which
 * storage they lie. */
bool request_reinterpret(array *a, llrt_dtype dtype);

/* Refuses an array that lies in a storage which the option does not ask about. */
int request_refuse_stored(const char *option, const char *name, const array *a);

/* --index: r->shape, until then what is stored, becomes the logical shape. */
int request_parse_indices(const request_index_options *given, request *r);

/* --op and its companions, where the operation is a scan. */
int request_parse_scan_of(const request_scan_options *given, request *r);

/* What follows once shape, type and indices are known: maps and storages. */
int request_finish(const char *command_name, const char *from, const char *to,
                   const char *const *maps, request *r);

/* The shape that an expression brings along (a literal does); false where it brings none. */
bool request_take_shape_of(const char *expression, request *r);

/* What explain and compile take. from, shape and dtype may be NULL (row_major; what the expressions
 * bring along; f32), to as well where indices are given (row_major). */
typedef struct request_options {
  const char *command_name, *operation; /* convert, gather, scatter, reduce or scan */
  const char *from, *to, *shape, *dtype;
  const char *const *maps;
  request_index_options index;
  request_reduce_options reduce;
  request_scan_options scan;
} request_options;
int request_parse(const request_options *given, request *r);

/* A tensor of the request, without address: 0 the source, 1 the destination. */
llrt_tensor request_describe(const request *r, int side, llrt_device *device);

/* The scales as a tensor of a convert, without address. */
llrt_tensor request_describe_scale(const request *r, llrt_device *device);

/* The operation under the promises that contiguous, 256-byte aligned tensors of this shape keep on
 * the device (NULL: whatever device), with tensors at no memory and indices without values: what
 * `use` does with it, which lives for that call alone. Returns an exit code of tool.h. */
typedef int request_use(void *user, const llrt_op_desc *desc);
int request_describe_op(const request *r, llrt_device *device, request_use *use, void *user);

#endif
