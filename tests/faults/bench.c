/* The device, and calls whose answers are looked at. */
#include "faults.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = FAULTS_ELEMENTS * sizeof(float) };

void faults_must(int result, const char *what) {
  if (result == 0) return;
  printf(" %s: the driver's error %d;", what, result);
  fflush(stdout);
  exit(1);
}

void faults_llrt_must(llrt_status status, const char *what) {
  if (status == LLRT_OK) return;
  printf(" %s: %s;", what, llrt_last_error());
  fflush(stdout);
  exit(1);
}

void *faults_symbol(const faults_bench *bench, const char *name) {
  void *found = dlsym(bench->driver.library, name);
  if (!found) faults_must(-1, name);
  return found;
}

static float number(int element) { return (float)element; }

static void fill(faults_bench *bench) {
  float *numbers = malloc(BYTES);
  faults_must(numbers == NULL, "memory");
  for (int i = 0; i < FAULTS_ELEMENTS; i++) numbers[i] = number(i);
  LLRT_MUST(llrt_memory_copy(bench->device, bench->rows_of.data, numbers, BYTES,
                             LLRT_COPY_TO_DEVICE, NULL));
  LLRT_MUST(llrt_stream_synchronize(bench->device, NULL));
  free(numbers);
}

/* Compiles all that later calls run, so that none of them depends on the compiler. */
static void save_kernel(faults_bench *bench) {
  llrt_tensor tensors[] = {bench->rows_of, bench->columns_of};
  const llrt_op_desc desc = {.kind = LLRT_OP_CONVERT, .n_tensors = 2, .tensors = tensors};
  llrt_op *op;
  LLRT_MUST(llrt_op_prepare(bench->device, &desc, &op));
  LLRT_MUST(llrt_op_save(op, NULL, &bench->kernel_bytes));
  bench->kernel = malloc(bench->kernel_bytes);
  faults_must(bench->kernel == NULL, "memory");
  LLRT_MUST(llrt_op_save(op, bench->kernel, &bench->kernel_bytes));
  llrt_op_destroy(&op);
}

void faults_open(faults_bench *bench) {
  LLRT_MUST(llrt_context_create(NULL, &bench->context));
  LLRT_MUST(llrt_device_open(bench->context, bench->name, NULL, &bench->device));
  LLRT_MUST(llrt_storage_col_major(2, &bench->columns));
  bench->rows_of = (llrt_tensor){.dtype = LLRT_F32,
                                 .rank = 2,
                                 .shape = {FAULTS_ROWS, FAULTS_COLUMNS},
                                 .device = bench->device};
  bench->columns_of = bench->rows_of;
  bench->columns_of.storage = &bench->columns;
  LLRT_MUST(llrt_memory_allocate(bench->device, BYTES, &bench->rows_of.data));
  LLRT_MUST(llrt_memory_allocate(bench->device, BYTES, &bench->columns_of.data));
  MUST(bench->driver.stream_create(&bench->stream, GRAPH_STREAM_NON_BLOCKING));
  fill(bench);
  save_kernel(bench);
  faults_works(bench, bench->stream);
}

void faults_close(faults_bench *bench) {
  bench->driver.stream_destroy(bench->stream);
  llrt_memory_free(bench->device, bench->rows_of.data);
  llrt_memory_free(bench->device, bench->columns_of.data);
  llrt_device_close(&bench->device);
  llrt_context_destroy(&bench->context);
  free(bench->kernel);
}

/* ---- calls ---- */

static llrt_status convert(faults_bench *bench, void *stream) {
  return llrt_convert_into(&bench->rows_of, &bench->columns_of, NULL, stream);
}

static llrt_status convert_new(faults_bench *bench, void *stream) {
  llrt_tensor made;
  llrt_status status = llrt_convert(&bench->rows_of, &bench->columns, NULL, stream, &made);
  return status == LLRT_OK ? llrt_tensor_free(&made, stream) : status;
}

static llrt_status reduce(faults_bench *bench, void *stream) {
  const llrt_reduce_params params = {.axes = 3};
  llrt_tensor made;
  llrt_status status = llrt_reduce(&bench->rows_of, NULL, &params, stream, &made);
  return status == LLRT_OK ? llrt_tensor_free(&made, stream) : status;
}

static llrt_status copy(faults_bench *bench, void *stream) {
  return llrt_memory_copy(bench->device, bench->columns_of.data, bench->rows_of.data, BYTES,
                          LLRT_COPY_ON_DEVICE, stream);
}

static llrt_status set(faults_bench *bench, void *stream) {
  return llrt_memory_set(bench->device, bench->columns_of.data, 0, BYTES, stream);
}

static llrt_status record(faults_bench *bench, void *stream) {
  llrt_event *event;
  llrt_status status = llrt_event_create(bench->device, &event);
  if (status != LLRT_OK) return status;
  status = llrt_event_record(event, stream);
  llrt_event_destroy(&event);
  return status;
}

static llrt_status load(faults_bench *bench, void *stream) {
  const llrt_tensor tensors[] = {bench->rows_of, bench->columns_of};
  llrt_op *op;
  llrt_status status = llrt_op_load(bench->device, bench->kernel, bench->kernel_bytes, &op);
  if (status != LLRT_OK) return status;
  status = llrt_op_run(op, stream, tensors, 2, NULL);
  llrt_op_destroy(&op);
  return status;
}

static llrt_status synchronize(faults_bench *bench, void *stream) {
  return llrt_stream_synchronize(bench->device, stream);
}

static const struct {
  const char *name;
  llrt_status (*run)(faults_bench *bench, void *stream);
} calls[] = {
    {"convert", convert}, {"convert to new memory", convert_new},
    {"reduce", reduce},   {"copy", copy},
    {"set", set},         {"record an event", record},
    {"load", load},       {"synchronize", synchronize},
};

/* ---- their answers ---- */

void faults_answer(faults_bench *bench, const char *call, llrt_status status, bool right) {
  bool told = status == LLRT_OK || llrt_last_error()[0] != 0;
  right = right && told && status != LLRT_INTERNAL;
  printf(" %s %s", call, llrt_status_name(status));
  if (status == LLRT_DEVICE) printf(" %d", llrt_last_vendor_code());
  if (!right) printf(" (WRONG: %s)", status == LLRT_OK ? "it fails" : llrt_last_error());
  printf(";");
  bench->wrong += !right;
}

void faults_call_all(faults_bench *bench, void *stream, bool may_work) {
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    llrt_status status = calls[i].run(bench, stream);
    faults_answer(bench, calls[i].name, status, may_work || status != LLRT_OK);
  }
}

static int count_wrong(const float *found) {
  int wrong = 0;
  for (int i = 0; i < FAULTS_ROWS; i++)
    for (int j = 0; j < FAULTS_COLUMNS; j++)
      wrong += found[j * FAULTS_ROWS + i] != number(i * FAULTS_COLUMNS + j);
  return wrong;
}

void faults_works(faults_bench *bench, void *stream) {
  float *found = malloc(BYTES);
  faults_must(found == NULL, "memory");
  LLRT_MUST(set(bench, stream));
  LLRT_MUST(convert(bench, stream));
  LLRT_MUST(synchronize(bench, stream));
  LLRT_MUST(llrt_memory_copy(bench->device, found, bench->columns_of.data, BYTES,
                             LLRT_COPY_FROM_DEVICE, NULL));
  LLRT_MUST(llrt_stream_synchronize(bench->device, NULL));
  int wrong = count_wrong(found);
  free(found);
  if (wrong) printf(" %d WRONG ELEMENTS;", wrong);
  bench->wrong += wrong;
}
