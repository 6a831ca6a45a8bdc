/* Kinds of operations: what all of the runtime asks of one stands in its row (op_kinds.c). */
#ifndef LLRT_RUNTIME_OP_KINDS_H
#define LLRT_RUNTIME_OP_KINDS_H

#include "runtime/storage_set.h"

typedef struct op_kind_row {
  const char *name; /* "convert" */
  /* What holds for such a description alone. Errors: INVALID_ARGUMENT, UNSUPPORTED. */
  llrt_status (*validate)(const op_description *desc);
} op_kind_row;

/* NULL: there is no such kind. */
const op_kind_row *llrt_op_kind_row(int kind);
/* The greatest number of a kind; the least is 1. */
int llrt_op_kind_last(void);

#endif
