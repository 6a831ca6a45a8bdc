/* Functions of expressions beside the C library's in double. */
#ifndef LLRT_TESTS_FUNCTION_ERRORS_H
#define LLRT_TESTS_FUNCTION_ERRORS_H

#include <llrt/llrt.h>

typedef struct function_row {
  const char *name;
  double (*exact)(double);
  double most;   /* units of the last place of f32 */
  bool by_table; /* GPUs of NVIDIA make it by tables of their own, in other bits than others */
} function_row;

/* The functions; NULL past the last. */
const function_row *function_row_of(int number);

/* y[i] = name(x[i]) on the device, i < n. */
llrt_status function_run(llrt_device *device, const char *name, const float *x, float *y,
                         int64_t n);

/* The largest error of a function over the bit patterns first, first + stride, …, at most n of
 * them, if larger than *worst; *at is where. x and y have room for n. */
llrt_status function_errors(llrt_device *device, const function_row *row, uint64_t first,
                            uint64_t stride, int64_t n, float *x, float *y, double *worst,
                            float *at);

#endif
