/* A program outside of llrt that knows include/llrt alone: operations on another library's memory
 * and stream, by the one-line call and prepared. For benchmarks/peers/one_line.py, which calls it
 * through ctypes. */
#ifndef LLRT_BENCHMARKS_ONE_LINE_H
#define LLRT_BENCHMARKS_ONE_LINE_H

#include <llrt/llrt.h>

typedef enum one_line_kind {
  ONE_LINE_CONVERT,
  ONE_LINE_REDUCE,
  ONE_LINE_SCAN,
  ONE_LINE_DOT
} one_line_kind;

/* Of a case, which borrows the texts. Tensors are contiguous but for their storages; text may be
 * NULL for row_major. */
typedef struct one_line_request {
  int32_t kind, op;                    /* one_line_kind; llrt_combiner of a reduce */
  int32_t rank, axis;                  /* axis: of a reduce and a scan; -1: all */
  int64_t shape[4];                    /* of the source; of a dot M, N, K */
  const char *dtype, *to_dtype;        /* names */
  const char *from, *to;               /* storages; of a dot B's and D's */
  void *source, *second, *destination; /* second: B of a dot */
} one_line_request;

typedef struct one_line_case one_line_case;

/* The library's own context for each case, so that one-line calls find nothing prepared. driver:
 * NULL, or a path. NULL on an error, which one_line_error tells. */
one_line_case *one_line_new(const one_line_request *request, const char *device,
                            const char *driver);
void one_line_free(one_line_case *c);
const char *one_line_error(void);

/* n calls, one after the other. prepared: llrt_op_run with workspace of its own, else the one-line
 * call. Returns llrt's status. */
int one_line_run(one_line_case *c, int n, int prepared, void *stream);

/* Compiles done by one-line calls until now. */
int one_line_compiles(const one_line_case *c);

#endif
