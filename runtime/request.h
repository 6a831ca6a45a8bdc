/* What is asked about an operation on a target, without a device: checked, in canonical form. */
#ifndef LLRT_RUNTIME_REQUEST_H
#define LLRT_RUNTIME_REQUEST_H

#include "jit/plan/types/target.h"
#include "runtime/storage_set.h"

typedef struct op_request {
  plan_target target; /* with its reference's facts */
  storage_set set;
  op_description desc; /* its storages are the set's */
} op_request;

/* Checks a caller's description and finds the target by its name, "host" included. Errors: as
 * llrt_op_prepare; INVALID_ARGUMENT where there is no such target. */
llrt_status llrt_request_take(const char *target, const llrt_op_desc *given, op_request *asked);

#endif
