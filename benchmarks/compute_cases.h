/* The expressions that llrt-bench compute measures, and the matrices that it measures them on. */
#ifndef LLRT_BENCHMARKS_COMPUTE_CASES_H
#define LLRT_BENCHMARKS_COMPUTE_CASES_H

#include "compute_places.h"

#include <stdbool.h>
#include <stddef.h>

/* Two axes of the text have no extent of their own: of a matrix of so many rows and columns the
 * first has rows / unit[0] positions, the second columns / unit[1]. The first is the slowest axis
 * of each tensor that has it, and what is computed at one of its positions depends on no other. */
typedef struct compute_form {
  const char *name, *text;
  int unit[2];
  const char *f32; /* names of tensors, a letter each, that are f32 whatever the others are */
  const compute_place
      *place; /* outputs in caches or storages; the last has tensor NULL. NULL: there are none */
  const char *positions; /* as f32: tensors of i32, each element one of the matrix's columns; NULL:
                            none */
} compute_form;

/* dtype: of tensors whose type the text leaves open. */
typedef struct compute_shape {
  llrt_dtype dtype;
  int64_t rows, columns;
  bool appends;      /* for forms that have places of slots, and for no others */
  const char *forms; /* for these, names between blanks, alone; NULL: for all */
} compute_shape;

extern const compute_form compute_forms[];
extern const int compute_forms_count;
extern const compute_shape compute_shapes[];
extern const int compute_shapes_count;

/* The shape with no more rows than a matrix of `bytes` bytes has (0: as many as there are), at
 * least one unit. False where the units do not divide it, or it is for other forms. */
bool compute_shape_within(const compute_form *form, const compute_shape *shape, int64_t bytes,
                          compute_shape *out);

/* "softmax bf16 8192x4096" */
void compute_case_name(const compute_form *form, const compute_shape *shape, char *name,
                       size_t size);

#endif
