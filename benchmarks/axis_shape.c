#include "axis_shape.h"

#include <inttypes.h>

enum { NOMINAL_BITS = 28 };

void axis_shape_at(const axis_shape *of, int element_bytes, int64_t bytes, int64_t shape[2]) {
  int bits = 0;
  if (of->odd[0] > 0) {
    shape[0] = of->odd[0] * (bytes / element_bytes) >> NOMINAL_BITS;
    shape[1] = of->odd[1];
    return;
  }
  while ((int64_t)element_bytes << (bits + 1) <= bytes) bits++;
  int rows = of->rows;
  if (of->columns == 0) rows = bits;
  else if (rows > 0) rows += (bits - NOMINAL_BITS) / 2;
  if (rows < 0) rows = 0;
  if (rows > bits) rows = bits;
  shape[0] = (int64_t)1 << rows;
  shape[1] = (int64_t)1 << (bits - rows);
}

void axis_name(const char *op, llrt_dtype dtype, const int64_t shape[2], int axis, char *name,
               size_t size) {
  snprintf(name, size, "%s %s %" PRId64 "x%" PRId64 " axis %d", op, llrt_dtype_name(dtype),
           shape[0], shape[1], axis);
}
