#include "tests/soak/soak.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY_BYTES ((uint64_t)4 << 20) /* of kernels: most go again */

static int draw(soak_thread *at, int low, int high) {
  at->seed = at->seed * 1664525u + 1013904223u;
  return low + (int)((at->seed >> 8) % (uint32_t)(high - low + 1));
}

llrt_status soak_open(const char *device_name, llrt_context **context, llrt_device **device) {
  const llrt_cache_params cache = {.size = sizeof cache, .memory_bytes = MEMORY_BYTES};
  const llrt_context_params params = {.size = sizeof params, .cache = &cache};
  llrt_status status = llrt_context_create(&params, context);
  if (status == LLRT_OK) status = llrt_device_open(*context, device_name, NULL, device);
  return status;
}

/* ---- matrices ---- */

/* A matrix of random small numbers on the device; its numbers are in at->in. */
typedef struct matrix {
  llrt_tensor tensor;
  llrt_storage storage;
  size_t bytes;
} matrix;

static llrt_status make(soak_thread *at, llrt_dtype dtype, int rows, int columns, matrix *out) {
  out->tensor =
      (llrt_tensor){.dtype = dtype, .rank = 2, .shape = {rows, columns}, .device = at->device};
  llrt_status status = llrt_tensor_bytes(&out->tensor, &out->bytes);
  if (status == LLRT_OK) status = llrt_memory_allocate(at->device, out->bytes, &out->tensor.data);
  return status;
}

static llrt_status fill(soak_thread *at, matrix *m) {
  for (size_t i = 0; i < m->bytes / 4; i++) at->in[i] = draw(at, -9, 9);
  return llrt_memory_copy(at->device, m->tensor.data, at->in, m->bytes, LLRT_COPY_TO_DEVICE, NULL);
}

/* A divisor of the extent, at random. */
static int draw_divisor(soak_thread *at, int extent) {
  int divisor = draw(at, 1, extent);
  while (extent % divisor) divisor--;
  return divisor;
}

/* Puts it into a storage of groups of positions, of which there are many. */
static llrt_status choose_storage(soak_thread *at, matrix *m) {
  char text[96];
  int axis = draw(at, 0, 1), group = draw_divisor(at, (int)m->tensor.shape[axis]);
  if (group == 1) return llrt_storage_col_major(2, &m->storage);
  snprintf(text, sizeof text, "storage(digits=[dim%d: %d, dim%d: rest, dim%d: rest])", axis, group,
           1 - axis, axis);
  return llrt_storage_parse(text, 2, NULL, &m->storage);
}

static llrt_status fetch(soak_thread *at, const matrix *m) {
  llrt_status status =
      llrt_memory_copy(at->device, at->out, m->tensor.data, m->bytes, LLRT_COPY_FROM_DEVICE, NULL);
  return status == LLRT_OK ? llrt_stream_synchronize(at->device, NULL) : status;
}

static void drop(soak_thread *at, matrix *m) {
  if (m->tensor.data) llrt_memory_free(at->device, m->tensor.data);
}

/* ---- calls ---- */

/* To a storage and back. */
static llrt_status there_and_back(soak_thread *at, int rows, int columns, bool *right) {
  matrix from = {0}, to = {0}, back = {0};
  llrt_status status = make(at, LLRT_I32, rows, columns, &from);
  if (status == LLRT_OK) status = fill(at, &from);
  to.tensor = from.tensor;
  if (status == LLRT_OK) status = choose_storage(at, &to);
  to.tensor.storage = &to.storage;
  to.tensor.data = NULL;
  if (status == LLRT_OK) status = llrt_tensor_bytes(&to.tensor, &to.bytes);
  if (status == LLRT_OK) status = llrt_memory_allocate(at->device, to.bytes, &to.tensor.data);
  if (status == LLRT_OK) status = make(at, LLRT_I32, rows, columns, &back);
  if (status == LLRT_OK) status = llrt_convert_into(&from.tensor, &to.tensor, NULL, NULL);
  if (status == LLRT_OK) status = llrt_convert_into(&to.tensor, &back.tensor, NULL, NULL);
  if (status == LLRT_OK) status = fetch(at, &back);
  *right = status == LLRT_OK && memcmp(at->in, at->out, from.bytes) == 0;
  drop(at, &from);
  drop(at, &to);
  drop(at, &back);
  return status;
}

/* Sums along columns or rows, in i64; or running ones. */
static llrt_status sums(soak_thread *at, int rows, int columns, bool *right) {
  int axis = draw(at, 0, 1);
  bool running = draw(at, 0, 1);
  matrix from = {0};
  llrt_tensor result = {0};
  const llrt_reduce_params reduce = {.size = sizeof reduce, .axes = 1u << axis};
  const llrt_scan_params scan = {.size = sizeof scan, .axis = axis};
  llrt_status status = make(at, LLRT_I32, rows, columns, &from);
  if (status == LLRT_OK) status = fill(at, &from);
  if (status == LLRT_OK)
    status = running ? llrt_scan(&from.tensor, NULL, &scan, NULL, &result)
                     : llrt_reduce(&from.tensor, NULL, &reduce, NULL, &result);
  matrix sums_of = {.tensor = result};
  if (status == LLRT_OK) status = llrt_tensor_bytes(&result, &sums_of.bytes);
  if (status == LLRT_OK) status = fetch(at, &sums_of);
  *right = status == LLRT_OK;
  int lines = axis ? rows : columns, length = axis ? columns : rows;
  for (int line = 0; line < lines && *right; line++) {
    int64_t sum = 0, found;
    for (int i = 0; i < length; i++) {
      size_t place = axis ? (size_t)(line * columns + i) : (size_t)(i * columns + line);
      sum += at->in[place];
      if (!running && i + 1 < length) continue;
      memcpy(&found, (char *)at->out + 8 * (running ? place : (size_t)line), 8);
      *right = *right && found == sum;
    }
  }
  if (result.data) llrt_tensor_free(&result, NULL);
  drop(at, &from);
  return status;
}

/* Rows by an index. */
static llrt_status take_rows(soak_thread *at, int rows, int columns, bool *right) {
  matrix from = {0}, index = {0}, to = {0};
  int32_t chosen[SOAK_SIDE];
  const llrt_gather_params select = {.size = sizeof select, .form = LLRT_GATHER_SELECT};
  for (int i = 0; i < rows; i++) chosen[i] = draw(at, 0, rows - 1);
  llrt_status status = make(at, LLRT_I32, rows, columns, &from);
  if (status == LLRT_OK) status = fill(at, &from);
  if (status == LLRT_OK) status = make(at, LLRT_I32, 1, rows, &index);
  if (status == LLRT_OK)
    status = llrt_memory_copy(at->device, index.tensor.data, chosen, index.bytes,
                              LLRT_COPY_TO_DEVICE, NULL);
  index.tensor.rank = 1;
  index.tensor.shape[0] = rows;
  if (status == LLRT_OK) status = make(at, LLRT_I32, rows, columns, &to);
  if (status == LLRT_OK)
    status = llrt_gather_into(&from.tensor, &index.tensor, 0, &to.tensor, &select, NULL);
  if (status == LLRT_OK) status = fetch(at, &to);
  *right = status == LLRT_OK;
  for (int i = 0; i < rows && *right; i++)
    *right = memcmp(at->out + i * columns, at->in + chosen[i] * columns, (size_t)columns * 4) == 0;
  drop(at, &from);
  drop(at, &index);
  drop(at, &to);
  return status;
}

/* Prepared, saved, loaded and run. */
static llrt_status saved(soak_thread *at, int rows, int columns, bool *right) {
  matrix from = {0}, to = {0};
  llrt_op *made = NULL, *loaded = NULL;
  char *image = NULL;
  size_t size = 0;
  llrt_status status = make(at, LLRT_I32, rows, columns, &from);
  if (status == LLRT_OK) status = fill(at, &from);
  if (status == LLRT_OK) status = make(at, LLRT_I32, rows, columns, &to);
  if (status == LLRT_OK) status = llrt_storage_col_major(2, &to.storage);
  to.tensor.storage = &to.storage;
  const llrt_map map = {.kind = LLRT_MAP_XOR, .constant = (uint64_t)draw(at, 1, 1000)};
  const llrt_tensor tensors[] = {from.tensor, to.tensor};
  const llrt_op_desc desc = {.size = sizeof desc,
                             .kind = LLRT_OP_CONVERT,
                             .n_tensors = 2,
                             .tensors = tensors,
                             .n_maps = 1,
                             .maps = &map};
  if (status == LLRT_OK) status = llrt_op_prepare(at->device, &desc, &made);
  if (status == LLRT_OK) status = llrt_op_save(made, NULL, &size);
  image = malloc(size + 1);
  if (status == LLRT_OK) status = llrt_op_save(made, image, &size);
  if (status == LLRT_OK) status = llrt_op_load(at->device, image, size, &loaded);
  if (status == LLRT_OK) status = llrt_op_run(loaded, NULL, tensors, 2, NULL);
  if (status == LLRT_OK) status = fetch(at, &to);
  *right = status == LLRT_OK;
  for (int i = 0; i < rows * columns && *right; i++)
    *right = at->out[i % columns * rows + i / columns] == (at->in[i] ^ (int32_t)map.constant);
  llrt_op_destroy(&made);
  llrt_op_destroy(&loaded);
  free(image);
  drop(at, &from);
  drop(at, &to);
  return status;
}

/* In a context of its own, which ends. */
static llrt_status in_own_context(soak_thread *at, int rows, int columns, bool *right) {
  llrt_context *context = at->context;
  llrt_device *device = at->device;
  *right = false;
  llrt_status status = soak_open(at->device_name, &at->context, &at->device);
  if (status == LLRT_OK) status = there_and_back(at, rows, columns, right);
  llrt_device_close(&at->device);
  llrt_context_destroy(&at->context);
  at->context = context;
  at->device = device;
  return status;
}

bool soak_call(soak_thread *at) {
  int kind = draw(at, 0, 99), rows = draw(at, 1, SOAK_SIDE), columns = draw(at, 1, SOAK_SIDE);
  bool right = true;
  llrt_status status = kind < 50   ? there_and_back(at, rows, columns, &right)
                       : kind < 70 ? sums(at, rows, columns, &right)
                       : kind < 85 ? take_rows(at, rows, columns, &right)
                       : kind < 96 ? saved(at, rows, columns, &right)
                       : kind < 98 ? in_own_context(at, rows, columns, &right)
                                   : llrt_context_trim(at->context, 0);
  if (right && status == LLRT_OK) return true;
  fprintf(stderr, "llrt-soak: call of kind %d, %d x %d: %s\n", kind, rows, columns,
          status == LLRT_OK ? "wrong" : llrt_last_error());
  return false;
}
