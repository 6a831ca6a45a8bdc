/* Kernels whose tensors are plain arrays, on the interpreter and on devices. */
#ifndef LLRT_TESTS_PLAN_FLAT_RUN_H
#define LLRT_TESTS_PLAN_FLAT_RUN_H

#include "jit/plan/kernel/plan.h"

#include <llrt/llrt.h>

enum { FLAT_MAX_ARRAYS = 4, FLAT_RESULT = 1 };

/* Array FLAT_RESULT is written: its bytes are 0xEE before. The others are read. */
typedef struct flat_array {
  llrt_dtype dtype;
  void *data; /* host memory */
} flat_array;

/* The opaque type of so many bits. */
llrt_dtype flat_opaque(int bits);

/* Runs a kernel of n arrays of `elements` elements each; the test fails, naming `what`, where that
 * fails. */
void flat_interpret(const plan_kernel *kernel, const flat_array *arrays, int n, int64_t elements,
                    const char *what);
void flat_run(llrt_device *device, const llrt_op *op, const flat_array *arrays, int n,
              int64_t elements, const char *what);

#endif
