/* Tensors whose rows lie behind each other in one buffer (trial.beside). */
#ifndef LLRT_TESTS_EXPRESSION_TRIAL_BESIDE_H
#define LLRT_TESTS_EXPRESSION_TRIAL_BESIDE_H

#include "tests/expression/trial_side.h"

typedef struct trial_rows {
  bool has[LLRT_EXPR_MAX_TENSORS];
  int64_t row[LLRT_EXPR_MAX_TENSORS];    /* bytes of a tensor's row */
  int64_t column[LLRT_EXPR_MAX_TENSORS]; /* where in the buffer's rows it is */
  int64_t rows, pitch;
  unsigned char *host; /* the buffer, with guards */
  void *device;
  int shift;
} trial_rows;
extern trial_rows trial_beside;

/* Which tensors lie so, and where. */
void trial_find_beside(const trial *t, const reference *r);
/* Brings the inputs to the buffer, which then is the tensors' memory. NULL: done; else what failed.
 */
const char *trial_put_beside(const trial *t, const reference *r, trial_side *sides);
/* The outputs' rows, each as if nothing lay between. NULL: inputs, and what lies between, are as
 * before. */
const char *trial_get_beside(const trial *t, const reference *r, trial_side *sides);
void trial_free_beside(const trial *t);

#endif
