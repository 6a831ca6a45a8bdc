/* What the parts of the program of faults share. */
#ifndef LLRT_TESTS_FAULTS_H
#define LLRT_TESTS_FAULTS_H

#include "tests/replay/graph_driver.h"

#include <llrt/llrt.h>

enum { FAULTS_ROWS = 96, FAULTS_COLUMNS = 160, FAULTS_ELEMENTS = FAULTS_ROWS * FAULTS_COLUMNS };

/* A device with a matrix, its copy in columns, and the bytes of the kernel between them. */
typedef struct faults_bench {
  const char *name; /* of the device */
  bool emulated;    /* whose driver tells an error once and goes on */
  graph_driver driver;
  llrt_context *context;
  llrt_device *device;
  llrt_storage columns;
  llrt_tensor rows_of, columns_of;
  void *stream;
  void *kernel;
  size_t kernel_bytes;
  int wrong; /* answers that the fault does not allow */
} faults_bench;

/* Prints what stands in the way and ends the process. */
void faults_must(int result, const char *what);
void faults_llrt_must(llrt_status status, const char *what);
#define MUST(call) faults_must((call), #call)
#define LLRT_MUST(call) faults_llrt_must((call), #call)

void faults_open(faults_bench *bench);
/* After some faults nothing can be given back: errors do not matter, that it returns does. */
void faults_close(faults_bench *bench);

/* The driver's function of that name. */
void *faults_symbol(const faults_bench *bench, const char *name);

/* Prints a call's answer; `right` says whether the fault allows it. An error without a message and
 * INTERNAL are never right. */
void faults_answer(faults_bench *bench, const char *call, llrt_status status, bool right);

/* One-line calls, memory, events and saved kernels on a stream, which all fail, or where `may_work`
 * perhaps do not. */
void faults_call_all(faults_bench *bench, void *stream, bool may_work);

/* A conversion on the stream: right, and so are its results. */
void faults_works(faults_bench *bench, void *stream);

typedef struct faults_kind {
  const char *name;
  void (*run)(faults_bench *bench);
} faults_kind;

/* Ends with a kind without a name. */
extern const faults_kind faults_kinds[];

#endif
