/* Described calls that an expression keeps, for the next call of the same tensors: such a call
 * parses, checks and describes nothing again. Private to runtime. */
#ifndef LLRT_RUNTIME_COMPUTE_KEPT_H
#define LLRT_RUNTIME_COMPUTE_KEPT_H

#include "jit/plan/types/description.h"

#include <llrt/compute.h>

/* What one tensor of a description borrows. */
typedef struct compute_side {
  llrt_storage storage;
  llrt_index index[LLRT_MAX_INDICES];
} compute_side;

struct compute_given;

/* A description together with what its tensors borrow: used where it lies, by one thread. */
typedef struct compute_call {
  llrt_op_desc shown; /* what llrt_compute_describe gives: the first, for llrt_op_desc_destroy */
  expr_kept kept;     /* of a call that is kept */
  op_description desc;
  llrt_hash set_key; /* of its tensors' storages; 0: not known yet (llrt_op_call) */
  uint64_t scalars[LLRT_EXPR_MAX_SCALARS];
  const char *called[LLRT_MAX_TENSORS]; /* by messages, for LLRT_ENTRY_NAMES; the expression's */
  struct compute_given *given;          /* of a call that is kept: what it was made of */
  compute_side side[];                  /* by tensor of the operation */
} compute_call;

/* With sides for as many tensors as a description of the expression may have; contents undefined.
 * NULL without memory. Ownership: compute_call_free. */
compute_call *compute_call_new(const llrt_expr *expr);
void compute_call_free(compute_call *call);

/* The kept call of these arguments, with their addresses and numbers, or NULL. It is the caller's
 * until compute_call_keep or compute_call_free. Thread: any. */
compute_call *compute_call_find(const llrt_expr *expr, const llrt_arg *args, int n);

/* Gives it to the expression, in the place of another one; found from then on by calls whose
 * tensors differ from `args` in their addresses alone (data), and scalars in their numbers.
 * Precondition: it describes a call of `args`, all of which is checked but for addresses. */
void compute_call_keep(const llrt_expr *expr, const llrt_arg *args, int n, compute_call *call);

/* The code of a number of the signature. Errors: INVALID_ARGUMENT for an i32 that is none. */
llrt_status compute_scalar_code(const expr_scalar *scalar, const llrt_arg *arg, uint64_t *code);

#endif
