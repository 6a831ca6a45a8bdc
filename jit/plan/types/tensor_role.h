/* What an operation's tensors are called: in texts by their role, in messages as the caller knows
 * them. */
#ifndef LLRT_JIT_PLAN_TYPES_TENSOR_ROLE_H
#define LLRT_JIT_PLAN_TYPES_TENSOR_ROLE_H

#include <stdint.h>

/* Roles (op_dot.roles) of tensors that have none: a compute's, which are numbered. */
#define LLRT_ROLES_NUMBERED (1u << 31)

/* Tensor number `tensor` by its role. roles 0: "source", "destination", "scale"; a dot's: "operand
 * A", ...; LLRT_ROLES_NUMBERED: "tensor 3". */
const char *op_tensor_role(uint32_t roles, int tensor);

/* The same for messages, which say "the %s": by the names of LLRT_ENTRY_NAMES where the call has
 * such; numbered ones as the entry of the caller's array, "argument tensors[3]". */
const char *op_tensor_called(uint32_t roles, int tensor);

#endif
