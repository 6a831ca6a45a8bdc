/* Functions of expressions beside the C library's in double. */
#ifndef LLRT_TESTS_FUNCTION_ERRORS_H
#define LLRT_TESTS_FUNCTION_ERRORS_H

#include <llrt/llrt.h>

typedef struct function_row {
  const char *name;
  double (*exact)(double);
  double most;   /* units of the last place of f32 */
  bool by_table; /* GPUs of NVIDIA make it by tables of their own, in other bits than others */
  bool narrow;   /* they make it by shorter ways where it is rounded to 16 bits alone */
} function_row;

/* The functions; NULL past the last. */
const function_row *function_row_of(int number);

/* y[i] = name(x[i]) on the device, i < n. */
llrt_status function_run(llrt_device *device, const char *name, const float *x, float *y,
                         int64_t n);

/* What a value of that type may be off by, in units of its last place: of f32 what the row says; of
 * bf16 and f16, into which a narrow function is rounded, half a unit and what expression.h allows
 * the function. */
double function_most(const function_row *row, llrt_dtype type);

/* The largest error that a function was found to have, in units of the last place of what it is
 * rounded to, and where. */
typedef struct function_worst {
  double ulp;
  float at;
} function_worst;

/* A function at bit patterns of f32 that the kernel makes by itself, `room` at a time. */
typedef struct function_sweep {
  llrt_device *device;
  const function_row *row;
  llrt_dtype type;
  llrt_expr *expr;
  int64_t room;
  void *memory; /* the device's */
  float *y;
  double *error; /* of a block (function_smooth.h) */
} function_sweep;

/* Of values in f32 (LLRT_F32), or rounded to LLRT_BF16 or LLRT_F16. Ownership: function_sweep_end,
 * after a failure, too. */
llrt_status function_sweep_begin(function_sweep *s, llrt_device *device, const function_row *row,
                                 llrt_dtype type, int64_t room);
void function_sweep_end(function_sweep *s);

/* Looks at the patterns first, first + stride, … below 2^32, at most `room` of them. *worst becomes
 * the error that is largest, if it was less. */
llrt_status function_sweep_piece(function_sweep *s, uint64_t first, uint64_t stride,
                                 function_worst *worst);

#endif
