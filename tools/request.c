#include "tools/request.h"

#include "tools/common/array_file.h"
#include "tools/layout_inverse.h"

#include <llrt/llrt.h>

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int request_parse_shape(const char *command_name, const char *text, request *r) {
  if (options_parse_numbers(text, 'x', LLRT_MAX_RANK, r->shape, &r->rank)) return TOOL_DONE;
  return tool_wrong(command_name, "--shape %s is no shape like 128x64", text);
}

bool request_parse_described(const char *text, array *values) {
  const char *open = strchr(text, '[');
  size_t length = strlen(text);
  char type[16], shape[128];
  int rank;
  if (!open || text[length - 1] != ']' || (size_t)(open - text) >= sizeof type) return false;
  if (length - (size_t)(open - text) - 2 >= sizeof shape) return false;
  memcpy(type, text, (size_t)(open - text));
  type[open - text] = 0;
  memcpy(shape, open + 1, length - (size_t)(open - text) - 2);
  shape[length - (size_t)(open - text) - 2] = 0;
  if (llrt_dtype_parse(type, &values->dtype) != LLRT_OK) return false;
  if (!options_parse_numbers(shape, 'x', LLRT_MAX_RANK, values->shape, &rank)) return false;
  values->rank = rank;
  return true;
}

bool request_reinterpret(array *a, llrt_dtype dtype) {
  int old_bits = llrt_dtype_bits(a->dtype), new_bits = llrt_dtype_bits(dtype);
  if (old_bits != new_bits) {
    if (a->rank == 0 || a->stored_as) return false;
    int64_t *extent = &a->shape[a->col_major ? 0 : a->rank - 1];
    if (*extent > INT64_MAX / old_bits || *extent * old_bits % new_bits != 0) return false;
    *extent = *extent * old_bits / new_bits;
  }
  a->dtype = dtype;
  return true;
}

int request_refuse_stored(const char *option, const char *name, const array *a) {
  if (!a->stored_as) return TOOL_DONE;
  return tool_refuse("%s: %s lies in a storage of its own (%.200s): convert it to row_major first",
                     option, name, a->stored_as);
}

static bool parse_constant(const char *text, uint64_t *constant) {
  char *end;
  errno = 0;
  *constant = strtoull(text, &end, 0);
  return isdigit((unsigned char)text[0]) && *end == 0 && errno == 0;
}

static bool parse_word_bits(const char *text, uint8_t perm[32]) {
  int64_t places[32];
  int n;
  if (!options_parse_numbers(text, ',', 32, places, &n) || n != 32) return false;
  for (int i = 0; i < n; i++) perm[i] = (uint8_t)(places[i] < 32 ? places[i] : 32);
  return true;
}

void request_destroy(request *r) {
  array_destroy(&r->scale);
  request_indices_destroy(&r->indices);
}

/* One scale for 1 x … positions of each axis; for all of them where S has one. */
static int parse_scale(const char *name, request *r) {
  array_error error;
  array *s = &r->scale;
  llrt_map *map = &r->maps[r->n_maps++];
  map->kind = LLRT_MAP_SCALE;
  bool known = r->described && request_parse_described(name, s);
  if (!known && !array_read(name, s, &error)) return tool_refuse("%s", error.text);
  int code = request_refuse_stored("--scale", name, s);
  if (code != TOOL_DONE) return code;
  if (s->dtype == LLRT_U8) s->dtype = LLRT_E8M0;
  if (s->rank != r->rank)
    return tool_refuse("--scale: %s has %d axes, the tensor %d", name, s->rank, r->rank);
  for (int a = 0; a < r->rank; a++) {
    if (s->shape[a] < 1 || r->shape[a] % s->shape[a] != 0)
      return tool_refuse("--scale: extent %lld of axis %d does not divide %lld",
                         (long long)s->shape[a], a, (long long)r->shape[a]);
    map->group[a] = s->shape[a] == 1 ? LLRT_GROUP_ALL : r->shape[a] / s->shape[a];
  }
  llrt_status status = s->col_major ? llrt_storage_col_major(r->rank, &r->scale_storage)
                                    : llrt_storage_row_major(r->rank, &r->scale_storage);
  return status == LLRT_OK ? TOOL_DONE : tool_refuse_library("--scale");
}

/* REQUEST_MAP_OPTIONS' values, from the first on; needs r's dtype and shape. */
static int parse_maps(const char *command_name, const char *const *values, request *r) {
  r->out_dtype = r->combine.axes
                     ? request_reduced_dtype(r->combine.op, r->dtype, r->combine.accumulate)
                     : r->dtype;
  if (r->scans) r->out_dtype = request_scan_dtype(&r->scan, r->dtype);
  r->in_place = values[REQUEST_IN_PLACE] != NULL;
  int code =
      tool_parse_dtype(command_name, "--out-dtype", values[REQUEST_OUT_DTYPE], &r->out_dtype);
  if (code != TOOL_DONE) return code;
  if (values[REQUEST_XOR]) {
    llrt_map *map = &r->maps[r->n_maps++];
    map->kind = LLRT_MAP_XOR;
    if (!parse_constant(values[REQUEST_XOR], &map->constant))
      return tool_wrong(command_name, "--xor %s is no number like 0x88", values[REQUEST_XOR]);
    int bits = llrt_dtype_bits(r->dtype);
    if (bits < 64 && map->constant >> bits)
      return tool_refuse("--xor %s has more than the %d bits of %s elements", values[REQUEST_XOR],
                         bits, llrt_dtype_name(r->dtype));
  }
  if (values[REQUEST_SCALE]) {
    code = parse_scale(values[REQUEST_SCALE], r);
    if (code != TOOL_DONE) return code;
  }
  if (values[REQUEST_WORD_BITS]) {
    llrt_map *map = &r->maps[r->n_maps++];
    map->kind = LLRT_MAP_WORD_BITS;
    if (!parse_word_bits(values[REQUEST_WORD_BITS], map->perm))
      return tool_wrong(command_name, "--word-bits needs 32 numbers, by commas");
  }
  return TOOL_DONE;
}

int request_parse_indices(const request_index_options *given, request *r) {
  memcpy(r->stored, r->shape, sizeof r->stored);
  r->scatters = given->scatters;
  return request_indices_read(given, r->rank, r->shape, &r->indices);
}

/* `from` and `to`, the one with indices on what is stored, the other on the shape. */
static int parse_storages(const char *from, const char *to, request *r) {
  if (llrt_storage_parse(from, r->rank, r->scatters ? r->shape : r->stored, &r->from) != LLRT_OK)
    return tool_refuse_library("--from");
  if (llrt_storage_parse(to, r->to_rank, r->scatters ? r->stored : r->to_shape, &r->to) != LLRT_OK)
    return tool_refuse_library("--to");
  return TOOL_DONE;
}

int request_parse_scan_of(const request_scan_options *given, request *r) {
  r->scans = given->scans;
  return given->scans ? request_parse_scan(given, r->rank, &r->scan) : TOOL_DONE;
}

bool request_take_shape_of(const char *expression, request *r) {
  llrt_layout layout;
  return llrt_layout_parse(expression, 0, NULL, &layout) == LLRT_OK &&
         layout_extents(&layout, &r->rank, r->shape);
}

static int check_in_place(const char *command_name, const request *r) {
  if (!r->in_place || r->indices.n == 0) return TOOL_DONE;
  return tool_wrong(command_name, "--index and --in-place exclude each other");
}

int request_finish(const char *command_name, const char *from, const char *to,
                   const char *const *maps, request *r) {
  int code = parse_maps(command_name, maps, r);
  if (code == TOOL_DONE) code = check_in_place(command_name, r);
  return code == TOOL_DONE ? parse_storages(from, to, r) : code;
}

int request_parse(const request_options *given, request *r) {
  const char *command_name = given->command_name;
  const char *from = given->from ? given->from : "row_major", *to = given->to;
  request_index_options index = given->index;
  *r = (request){.dtype = LLRT_F32, .described = true};
  index.gathers = strcmp(given->operation, "gather") == 0;
  index.scatters = strcmp(given->operation, "scatter") == 0;
  request_reduce_options reduce = given->reduce;
  reduce.reduces = strcmp(given->operation, "reduce") == 0;
  request_scan_options scan = given->scan;
  scan.scans = strcmp(given->operation, "scan") == 0;
  bool combines = reduce.reduces || scan.scans;
  if (combines) index.axis = NULL;
  int code = TOOL_DONE;
  if (!to && !index.gathers && !index.scatters && !combines)
    return tool_wrong(command_name, "--to is missing");
  if (!to) to = "row_major";
  if (given->shape) code = request_parse_shape(command_name, given->shape, r);
  else if (!request_take_shape_of(index.scatters ? to : from, r) &&
           (index.n > 0 || reduce.reduces || !request_take_shape_of(to, r)))
    code = tool_wrong(command_name, "--shape is missing");
  if (code == TOOL_DONE) code = tool_parse_dtype(command_name, "--dtype", given->dtype, &r->dtype);
  if (code == TOOL_DONE) code = request_parse_indices(&index, r);
  if (code == TOOL_DONE) code = request_parse_reduce(&reduce, r);
  if (code == TOOL_DONE) code = request_parse_scan_of(&scan, r);
  return code == TOOL_DONE ? request_finish(command_name, from, to, given->maps, r) : code;
}

llrt_tensor request_describe(const request *r, int side, llrt_device *device) {
  llrt_tensor tensor = {.dtype = side ? r->out_dtype : r->dtype,
                        .rank = side ? r->to_rank : r->rank,
                        .storage = side ? &r->to : &r->from,
                        .device = device};
  memcpy(tensor.shape, side ? r->to_shape : r->shape, sizeof tensor.shape);
  if (side != (int)r->scatters) return tensor;
  tensor.indices = r->indices.view.indices;
  tensor.n_indices = r->indices.n;
  return tensor;
}

llrt_tensor request_describe_scale(const request *r, llrt_device *device) {
  llrt_tensor tensor = {.dtype = r->scale.dtype,
                        .rank = r->scale.rank,
                        .storage = &r->scale_storage,
                        .device = device};
  memcpy(tensor.shape, r->scale.shape, sizeof tensor.shape);
  return tensor;
}

int request_describe_op(const request *r, llrt_device *device, request_use *use, void *user) {
  llrt_tensor tensors[3] = {request_describe(r, 0, device), request_describe(r, 1, device)};
  llrt_tensor_promise promises[3];
  llrt_op_desc desc = {.kind = LLRT_OP_CONVERT,
                       .n_tensors = 2,
                       .tensors = tensors,
                       .promises = promises,
                       .in_place = r->in_place,
                       .n_maps = r->n_maps,
                       .maps = r->maps};
  if (r->scale.dtype) {
    tensors[2] = request_describe_scale(r, device);
    tensors[2].data = (void *)256;
    desc.n_tensors = 3;
  }
  llrt_index placed[LLRT_MAX_INDICES];
  static const int64_t somewhere[2];
  memcpy(placed, r->indices.view.indices, sizeof placed);
  for (int i = 0; i < r->indices.n; i++) placed[i].data = somewhere;
  tensors[r->scatters].indices = placed;
  /* Only the alignment of a promised address counts, not what lies there. */
  for (int i = 0; i < 2; i++) tensors[i].data = (void *)256;
  llrt_storage kept;
  if (r->combine.axes) {
    llrt_tensor result = tensors[1];
    desc.kind = LLRT_OP_REDUCE;
    desc.combine = r->combine;
    if (llrt_reduce_keep_axes(&result, r->rank, r->combine.axes, &kept, &tensors[1]) != LLRT_OK)
      return tool_refuse_library(NULL);
  }
  if (r->scans) {
    desc.kind = LLRT_OP_SCAN;
    desc.combine = (llrt_op_combine){.op = r->scan.op,
                                     .accumulate = r->scan.accumulate,
                                     .axes = 1u << r->scan.axis,
                                     .exclusive = r->scan.exclusive != 0,
                                     .reverse = r->scan.reverse != 0};
  }
  if (llrt_op_promise_coarse(&desc) != LLRT_OK) return tool_refuse_library(NULL);
  return use(user, &desc);
}
