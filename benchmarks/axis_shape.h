/* Matrices for operations along an axis, by the logarithms of their extents at one size. */
#ifndef LLRT_BENCHMARKS_AXIS_SHAPE_H
#define LLRT_BENCHMARKS_AXIS_SHAPE_H

#include "harness.h"

#include <stddef.h>

/* Of 2^28 elements: 2^rows x 2^columns; or odd[0] rows of odd[1] elements, which are no powers. */
typedef struct axis_shape {
  int rows, columns;
  int64_t odd[2];
} axis_shape;

/* The shape for tensors of at most `bytes` bytes of an element: both extents grow and shrink, but
 * one of 1 stays; of odd rows there are more or fewer. */
void axis_shape_at(const axis_shape *of, int element_bytes, int64_t bytes, int64_t shape[2]);

/* "sum bf16 16384x16384 axis 0" */
void axis_name(const char *op, llrt_dtype dtype, const int64_t shape[2], int axis, char *name,
               size_t size);

#endif
