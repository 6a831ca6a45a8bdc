#include "tools/request_run.h"

#include "tools/common/best_device.h"

#include <llrt/llrt.h>

#include <stdlib.h>
#include <string.h>

/* ---- what is asked ---- */

static int reinterpret(const char *text, llrt_dtype dtype, array *a) {
  if (request_reinterpret(a, dtype)) return TOOL_DONE;
  if (a->stored_as)
    return tool_refuse("--dtype %s: the file says that %s elements lie in %.200s; --from would say "
                       "otherwise",
                       text, llrt_dtype_name(a->dtype), a->stored_as);
  return tool_refuse("--dtype %s: the elements of the fastest axis do not fit together", text);
}

/* Fills the request from the call and the array; a's type and shape become what --dtype says. */
static int understand(const request_call *call, array *a, request *r) {
  const char *const *value = call->value;
  const char *from = value[REQUEST_FROM], *command_name = call->index.command_name;
  int code = TOOL_DONE;
  if (from) array_forget_storage(a);
  if (value[REQUEST_DTYPE]) {
    code = tool_parse_dtype(command_name, "--dtype", value[REQUEST_DTYPE], &r->dtype);
    if (code == TOOL_DONE) code = reinterpret(value[REQUEST_DTYPE], r->dtype, a);
  }
  if (code != TOOL_DONE) return code;
  r->dtype = a->dtype;
  if (value[REQUEST_SHAPE]) {
    code = request_parse_shape(command_name, value[REQUEST_SHAPE], r);
  } else if (a->stored_as) {
    r->rank = a->logical_rank;
    memcpy(r->shape, a->logical_shape, sizeof r->shape);
  } else if (!from || !request_take_shape_of(from, r)) {
    r->rank = a->rank;
    memcpy(r->shape, a->shape, sizeof r->shape);
  }
  if (code == TOOL_DONE) code = request_parse_indices(&call->index, r);
  if (code == TOOL_DONE) code = request_parse_reduce(&call->reduce, r);
  if (code == TOOL_DONE) code = request_parse_scan_of(&call->scan, r);
  if (!from) from = a->stored_as ? a->stored_as : a->col_major ? "col_major" : "row_major";
  const char *to = value[REQUEST_TO] ? value[REQUEST_TO] : "row_major";
  return code == TOOL_DONE ? request_finish(command_name, from, to, call->maps, r) : code;
}

/* What a file may say of a result that is a storage's memory. */
static bool tell_storage(const llrt_tensor *tensor, array *result, array_error *error) {
  size_t length;
  if (llrt_storage_print(tensor->storage, NULL, 0, &length) != LLRT_OK)
    return array_fail(error, "%s", llrt_last_error());
  char *text = malloc(length + 1);
  bool done = text && llrt_storage_print(tensor->storage, text, length + 1, NULL) == LLRT_OK;
  if (!done) array_fail(error, "no memory for a storage's text");
  done = done && array_store_as(result, text, tensor->rank, tensor->shape, error);
  free(text);
  return done;
}

/* The result's type, shape and storage. */
static int describe_result(const llrt_tensor *tensor, array *result) {
  llrt_storage row_major;
  llrt_storage_binding binding;
  array_error error;
  int rank = tensor->rank;
  if (llrt_storage_row_major(rank, &row_major) != LLRT_OK ||
      llrt_storage_bind(tensor->storage, rank, tensor->shape, NULL, &binding) != LLRT_OK)
    return tool_refuse_library("--to");
  bool shaped = llrt_storage_equal(tensor->storage, &row_major);
  if (!array_describe(tensor->dtype, shaped ? rank : 1, shaped ? tensor->shape : &binding.span,
                      result, &error))
    return tool_refuse("the result: %s", error.text);
  if (!shaped && !tell_storage(tensor, result, &error))
    return tool_refuse("the result: %s", error.text);
  return TOOL_DONE;
}

int request_begin_result(const llrt_tensor *tensor, const char *name, array *result,
                         outfile *file) {
  array_error error;
  int code = describe_result(tensor, result);
  if (code != TOOL_DONE || array_begin(name, result, file, &error)) return code;
  return tool_refuse("%s", error.text);
}

int request_end_result(outfile *file, const array *result) {
  array_error error;
  return array_end_all(&file, &result, 1, &error) ? TOOL_DONE : tool_refuse("%s", error.text);
}

/* ---- doing it ---- */

llrt_status request_place(llrt_tensor *tensor, const void *data, size_t bytes, size_t room) {
  if (room == 0) return LLRT_OK;
  llrt_status status = llrt_memory_allocate(tensor->device, room, &tensor->data);
  if (status == LLRT_OK && room > bytes)
    status = llrt_memory_set(tensor->device, (char *)tensor->data + bytes, 0, room - bytes, NULL);
  if (status != LLRT_OK || bytes == 0) return status;
  return llrt_memory_copy(tensor->device, tensor->data, data, bytes, LLRT_COPY_TO_DEVICE, NULL);
}

static bool is_host(const llrt_device *device) {
  llrt_device_info info = {0};
  return llrt_device_get_info(device, &info) == LLRT_OK && strcmp(info.name, "host") == 0;
}

llrt_status request_lend(llrt_tensor *tensor, const array *a, bool filled) {
  if (!is_host(tensor->device))
    return request_place(tensor, filled ? a->data : NULL, filled ? a->bytes : 0, a->bytes);
  tensor->data = a->bytes ? a->data : NULL;
  return LLRT_OK;
}

void request_give_back(llrt_tensor *tensor, const array *a) {
  if (tensor->data && tensor->data != a->data) llrt_memory_free(tensor->device, tensor->data);
  tensor->data = NULL;
}

/* The indices with their values on the device; what is there is to be freed in any event. */
static llrt_status place_indices(llrt_device *device, const request_indices *indices,
                                 llrt_index placed[LLRT_MAX_INDICES],
                                 void *memory[LLRT_MAX_INDICES]) {
  llrt_status status = LLRT_OK;
  memcpy(placed, indices->view.indices, (size_t)indices->n * sizeof *placed);
  for (int i = 0; i < indices->n && status == LLRT_OK; i++) {
    const array *values = &indices->values[i];
    status = llrt_memory_allocate(device, values->bytes ? values->bytes : 1, &memory[i]);
    placed[i].data = memory[i];
    if (status == LLRT_OK && values->bytes > 0)
      status = llrt_memory_copy(device, memory[i], values->data, values->bytes, LLRT_COPY_TO_DEVICE,
                                NULL);
  }
  return status;
}

llrt_status request_fetch(const llrt_tensor *tensor, array *result) {
  if (result->bytes == 0 || tensor->data == result->data) return LLRT_OK;
  return llrt_memory_copy(tensor->device, result->data, tensor->data, result->bytes,
                          LLRT_COPY_FROM_DEVICE, NULL);
}

/* values: row-major, or without data where nobody wants them. */
static llrt_status reduce_on(llrt_device *device, const request *r, const array *source,
                             array *result, array *values) {
  llrt_tensor in = request_describe(r, 0, device), out = request_describe(r, 1, device);
  llrt_tensor best = {.dtype = r->dtype, .rank = r->to_rank, .device = device};
  llrt_reduce_params params = {.op = r->combine.op,
                               .axes = r->combine.axes,
                               .accumulate = r->combine.accumulate,
                               .values = values->data ? &best : NULL};
  memcpy(best.shape, r->to_shape, sizeof best.shape);
  llrt_status status = request_lend(&in, source, true);
  if (status == LLRT_OK) status = request_lend(&out, result, false);
  if (status == LLRT_OK && values->data) status = request_lend(&best, values, false);
  if (status == LLRT_OK) status = llrt_reduce_into(&in, &out, &params, NULL);
  if (status == LLRT_OK) status = request_fetch(&out, result);
  if (status == LLRT_OK && values->data) status = request_fetch(&best, values);
  if (status == LLRT_OK) status = llrt_stream_synchronize(device, NULL);
  request_give_back(&in, source);
  request_give_back(&out, result);
  request_give_back(&best, values);
  return status;
}

static llrt_status convert_on(llrt_device *device, const request *r, const array *source,
                              array *result) {
  const request_indices *indices = &r->indices;
  llrt_index placed[LLRT_MAX_INDICES];
  void *lists[LLRT_MAX_INDICES] = {0};
  llrt_tensor in = request_describe(r, 0, device), out = request_describe(r, 1, device);
  llrt_convert_params params = {.n_maps = r->n_maps, .maps = r->maps};
  llrt_tensor scale = request_describe_scale(r, device);
  size_t room = source->bytes > result->bytes ? source->bytes : result->bytes;
  llrt_status status = place_indices(device, indices, placed, lists);
  in.indices = placed;
  if (status == LLRT_OK)
    status = r->in_place ? request_place(&in, source->data, source->bytes, room)
                         : request_lend(&in, source, true);
  if (status == LLRT_OK && r->scale.data) {
    status = request_lend(&scale, &r->scale, true);
    params.scale = &scale;
  }
  if (r->in_place) out.data = in.data;
  else if (status == LLRT_OK) status = request_lend(&out, result, false);
  if (status == LLRT_OK)
    status = r->scans ? llrt_scan_into(&in, &out, &r->scan, NULL)
                      : llrt_convert_into(&in, &out, &params, NULL);
  if (status == LLRT_OK) status = request_fetch(&out, result);
  if (status == LLRT_OK) status = llrt_stream_synchronize(device, NULL);
  if (!r->in_place) request_give_back(&out, result);
  request_give_back(&in, source);
  request_give_back(&scale, &r->scale);
  for (int i = 0; i < indices->n; i++)
    if (lists[i]) llrt_memory_free(device, lists[i]);
  return status;
}

static int work(const char *device_name, const request *r, const array *source, array *result,
                array *values) {
  llrt_context *context;
  llrt_device *device = NULL;
  if (tool_context_create(&context) != LLRT_OK) return tool_refuse_library(NULL);
  llrt_status status = best_device_open(context, device_name, NULL, &device);
  if (status == LLRT_OK)
    status = r->combine.axes ? reduce_on(device, r, source, result, values)
                             : convert_on(device, r, source, result);
  int code = status == LLRT_OK ? TOOL_DONE : tool_refuse_library(NULL);
  llrt_device_close(&device);
  llrt_context_destroy(&context);
  return code;
}

/* Refuses IN when its bytes are not exactly what the source's storage takes. */
static int check_source(const char *name, const request *r, const array *source) {
  llrt_tensor tensor = request_describe(r, 0, NULL);
  size_t bytes;
  if (llrt_tensor_bytes(&tensor, &bytes) != LLRT_OK) return tool_refuse_library("--from");
  if (bytes == source->bytes) return TOOL_DONE;
  return tool_refuse("%s holds %zu bytes, a source of this shape and storage takes %zu", name,
                     source->bytes, bytes);
}

/* What a run makes, and where. */
typedef struct outputs {
  array result, values;
  outfile file[2];
} outputs;

static int begin_outputs(const request_call *call, const request *r, outputs *out) {
  llrt_tensor tensor = request_describe(r, 1, NULL);
  array_error error;
  int code =
      request_begin_result(&tensor, call->value[REQUEST_OUTPUT], &out->result, &out->file[0]);
  if (code != TOOL_DONE || !call->values) return code;
  if (!array_describe(r->dtype, r->to_rank, r->to_shape, &out->values, &error) ||
      !array_begin(call->values, &out->values, &out->file[1], &error))
    code = tool_refuse("the values: %s", error.text);
  return code;
}

static int end_outputs(const request_call *call, outputs *out) {
  outfile *const files[] = {&out->file[0], &out->file[1]};
  const array *const arrays[] = {&out->result, &out->values};
  array_error error;
  return array_end_all(files, arrays, call->values ? 2 : 1, &error) ? TOOL_DONE
                                                                    : tool_refuse("%s", error.text);
}

static void destroy_outputs(outputs *out) {
  outfile_discard(&out->file[0]);
  outfile_discard(&out->file[1]);
  array_destroy(&out->result);
  array_destroy(&out->values);
}

int request_run(const request_call *call) {
  const char *const *value = call->value;
  array source;
  outputs out = {0};
  array_error error;
  request r = {0};
  if (!value[REQUEST_OUTPUT]) return tool_wrong(call->index.command_name, "-o OUT is missing");
  if (call->values && strcmp(call->values, value[REQUEST_OUTPUT]) == 0)
    return tool_wrong(call->index.command_name, "--values %s is OUT, too", call->values);
  if (!array_read(call->in, &source, &error)) return tool_refuse("%s", error.text);
  int code = understand(call, &source, &r);
  if (code == TOOL_DONE) code = check_source(call->in, &r, &source);
  if (code == TOOL_DONE) code = begin_outputs(call, &r, &out);
  if (code == TOOL_DONE) code = work(value[REQUEST_DEVICE], &r, &source, &out.result, &out.values);
  if (code == TOOL_DONE) code = end_outputs(call, &out);
  request_destroy(&r);
  array_destroy(&source);
  destroy_outputs(&out);
  return code;
}
