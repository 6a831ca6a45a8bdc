#include "one_line.h"

#include <stdlib.h>

/* One way's context; the two ways share none. */
typedef struct way {
  llrt_context *context;
  llrt_device *device;
} way;

struct one_line_case {
  one_line_request request;
  llrt_storage storage[3];
  way one_line, prepared;
  llrt_tensor tensors[2];
  llrt_tensor_promise promises[2];
  llrt_op_desc desc; /* CONVERT, REDUCE, SCAN, prepared, of these tensors */
  llrt_op_desc *dot; /* DOT, prepared */
  llrt_op *op;
  llrt_run_params workspace;
  llrt_storage kept_storage; /* of a reduce's result with all axes */
};

const char *one_line_error(void) { return llrt_last_error(); }

#define TRY(call) \
  do { \
    llrt_status status = (call); \
    if (status != LLRT_OK) return status; \
  } while (0)

static llrt_status open_way(way *w, const char *device, const char *driver) {
  llrt_device_params params = {.driver_library = driver};
  TRY(llrt_context_create(NULL, &w->context));
  return llrt_device_open(w->context, device, &params, &w->device);
}

static void close_way(way *w) {
  llrt_device_close(&w->device);
  llrt_context_destroy(&w->context);
}

/* ---- tensors ---- */

static llrt_tensor tensor_of(void *data, const char *dtype, int rank, const int64_t *shape,
                             const llrt_storage *storage, llrt_device *device) {
  llrt_tensor tensor = {.data = data, .rank = rank, .storage = storage, .device = device};
  llrt_dtype_parse(dtype, &tensor.dtype);
  for (int a = 0; a < rank; a++) tensor.shape[a] = shape[a];
  return tensor;
}

static bool reduces(const one_line_request *r, int axis) { return r->axis < 0 || r->axis == axis; }

static uint32_t axes_of(const one_line_request *r) {
  uint32_t axes = 0;
  for (int a = 0; a < r->rank; a++) axes |= reduces(r, a) ? 1u << a : 0;
  return axes;
}

static llrt_tensor source_of(const one_line_case *c, llrt_device *device) {
  const one_line_request *r = &c->request;
  const int64_t rows[] = {r->shape[0], r->shape[2]};
  if (r->kind == ONE_LINE_DOT) return tensor_of(r->source, r->dtype, 2, rows, NULL, device);
  return tensor_of(r->source, r->dtype, r->rank, r->shape, r->from ? &c->storage[0] : NULL, device);
}

static llrt_tensor second_of(const one_line_case *c, llrt_device *device) {
  const one_line_request *r = &c->request;
  const int64_t shape[] = {r->shape[2], r->shape[1]};
  return tensor_of(r->second, r->dtype, 2, shape, r->from ? &c->storage[0] : NULL, device);
}

static llrt_tensor destination_of(const one_line_case *c, llrt_device *device) {
  const one_line_request *r = &c->request;
  int64_t shape[4];
  int rank = 0, all = r->kind == ONE_LINE_DOT ? 2 : r->rank;
  for (int a = 0; a < all; a++)
    if (r->kind != ONE_LINE_REDUCE || !reduces(r, a)) shape[rank++] = r->shape[a];
  return tensor_of(r->destination, r->to_dtype ? r->to_dtype : r->dtype, rank, shape,
                   r->to ? &c->storage[1] : NULL, device);
}

/* ---- the one-line call ---- */

static llrt_status call(one_line_case *c, void *stream) {
  llrt_device *device = c->one_line.device;
  llrt_tensor source = source_of(c, device), destination = destination_of(c, device), second;
  llrt_reduce_params reduce = {.op = (llrt_combiner)c->request.op, .axes = axes_of(&c->request)};
  llrt_scan_params scan = {.axis = c->request.axis};
  switch ((one_line_kind)c->request.kind) {
  case ONE_LINE_CONVERT: return llrt_convert_into(&source, &destination, NULL, stream);
  case ONE_LINE_REDUCE: return llrt_reduce_into(&source, &destination, &reduce, stream);
  case ONE_LINE_SCAN: return llrt_scan_into(&source, &destination, &scan, stream);
  case ONE_LINE_DOT:
    second = second_of(c, device);
    return llrt_dot_into(&source, &second, &destination, NULL, stream);
  }
  return LLRT_INVALID_ARGUMENT;
}

/* ---- prepared ---- */

static llrt_status describe(one_line_case *c) {
  llrt_device *device = c->prepared.device;
  llrt_tensor source = source_of(c, device), destination = destination_of(c, device), second;
  if (c->request.kind == ONE_LINE_DOT) {
    second = second_of(c, device);
    TRY(llrt_dot_describe(&source, &second, &destination, NULL, &c->dot));
    return llrt_op_promise_coarse(c->dot);
  }
  c->tensors[0] = source;
  c->tensors[1] = destination;
  c->desc = (llrt_op_desc){
      .size = sizeof c->desc, .n_tensors = 2, .tensors = c->tensors, .promises = c->promises};
  c->desc.kind = c->request.kind == ONE_LINE_CONVERT ? LLRT_OP_CONVERT
                 : c->request.kind == ONE_LINE_SCAN  ? LLRT_OP_SCAN
                                                     : LLRT_OP_REDUCE;
  if (c->request.kind == ONE_LINE_SCAN)
    c->desc.combine = (llrt_op_combine){.op = LLRT_COMBINE_SUM, .axes = 1u << c->request.axis};
  if (c->request.kind == ONE_LINE_REDUCE) {
    uint32_t axes = axes_of(&c->request);
    c->desc.combine = (llrt_op_combine){.op = (llrt_combiner)c->request.op, .axes = axes};
    TRY(llrt_reduce_keep_axes(&destination, c->request.rank, axes, &c->kept_storage,
                              &c->tensors[1]));
  }
  return llrt_op_promise_coarse(&c->desc);
}

static const llrt_op_desc *desc_of(const one_line_case *c) {
  return c->request.kind == ONE_LINE_DOT ? c->dot : &c->desc;
}

static llrt_status prepare(one_line_case *c) {
  TRY(describe(c));
  const llrt_op_desc *desc = desc_of(c);
  TRY(llrt_op_prepare(c->prepared.device, desc, &c->op));
  TRY(llrt_op_workspace(c->op, desc->tensors, desc->n_tensors, &c->workspace.workspace_bytes));
  if (c->workspace.workspace_bytes == 0) return LLRT_OK;
  TRY(llrt_memory_allocate(c->prepared.device, c->workspace.workspace_bytes,
                           &c->workspace.workspace));
  TRY(llrt_memory_set(c->prepared.device, c->workspace.workspace, 0, c->workspace.workspace_bytes,
                      NULL));
  return llrt_stream_synchronize(c->prepared.device, NULL);
}

/* ---- cases ---- */

static llrt_status start(one_line_case *c, const char *device, const char *driver) {
  const one_line_request *r = &c->request;
  int rank = r->kind == ONE_LINE_DOT ? 2 : r->rank;
  if (r->from) TRY(llrt_storage_parse(r->from, rank, NULL, &c->storage[0]));
  if (r->to) TRY(llrt_storage_parse(r->to, rank, NULL, &c->storage[1]));
  TRY(open_way(&c->one_line, device, driver));
  TRY(open_way(&c->prepared, device, driver));
  return prepare(c);
}

one_line_case *one_line_new(const one_line_request *request, const char *device,
                            const char *driver) {
  one_line_case *c = calloc(1, sizeof *c);
  if (!c) return NULL;
  c->request = *request;
  if (start(c, device, driver) == LLRT_OK) return c;
  one_line_free(c);
  return NULL;
}

void one_line_free(one_line_case *c) {
  llrt_op_destroy(&c->op);
  llrt_op_desc_destroy(&c->dot);
  if (c->workspace.workspace) llrt_memory_free(c->prepared.device, c->workspace.workspace);
  close_way(&c->one_line);
  close_way(&c->prepared);
  free(c);
}

int one_line_run(one_line_case *c, int n, int prepared, void *stream) {
  const llrt_op_desc *desc = desc_of(c);
  for (int i = 0; i < n; i++) {
    llrt_status status =
        prepared ? llrt_op_run(c->op, stream, desc->tensors, desc->n_tensors, &c->workspace)
                 : call(c, stream);
    if (status != LLRT_OK) return (int)status;
  }
  return 0;
}

int one_line_compiles(const one_line_case *c) {
  llrt_cache_stats stats = {0};
  llrt_context_get_cache_stats(c->one_line.context, &stats);
  return (int)stats.compiles;
}
