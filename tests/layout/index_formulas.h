/* Named storages against their index formulas, at shapes that are no powers of two and need pads.
 * The formulas are those of the libraries that define the layouts, written for these tests alone.
 */
#ifndef LLRT_TESTS_INDEX_FORMULAS_H
#define LLRT_TESTS_INDEX_FORMULAS_H

#include <llrt/layout.h>

#define UP(n, multiple) (((n) + (multiple) - 1) / (multiple) * (multiple))

typedef struct index_formula {
  const char *text;
  int rank;
  int64_t shape[6];
  /* The place of the element at x[rank] of a tensor of extents s[rank]; in the formulas the extents
     are capital letters. */
  int64_t (*place)(const int64_t *x, const int64_t *s);
} index_formula;

/* Fails the test unless every element of every row lies where its formula says, and inside the
 * span. */
void expect_index_formulas(const index_formula *rows, size_t n);

#endif
