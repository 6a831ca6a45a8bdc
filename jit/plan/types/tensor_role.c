#include "jit/plan/types/tensor_role.h"

#include "base/status.h"
#include "jit/plan/types/dot_type.h"

#include <llrt/op.h>

const char *op_tensor_role(uint32_t roles, int tensor) {
  static const char *const of_dot[LLRT_DOT_ROLES + 1] = {
      "operand A",         "result D",     "operand B",         "addend C",      "bias",
      "scale of A",        "zero of A",    "global scale of A", "scale of B",    "zero of B",
      "global scale of B", "added tensor", "scale of D",        "experts' ends", "tensor too many"};
  static const char *const numbered[LLRT_MAX_TENSORS] = {
      "tensor 0",  "tensor 1",  "tensor 2",  "tensor 3", "tensor 4",  "tensor 5",
      "tensor 6",  "tensor 7",  "tensor 8",  "tensor 9", "tensor 10", "tensor 11",
      "tensor 12", "tensor 13", "tensor 14", "tensor 15"};
  if (roles == LLRT_ROLES_NUMBERED) return numbered[tensor];
  if (!roles) return tensor == 0 ? "source" : tensor == 1 ? "destination" : "scale";
  return of_dot[dot_role(roles, tensor)];
}

const char *op_tensor_called(uint32_t roles, int tensor) {
  static const char *const numbered[LLRT_MAX_TENSORS] = {
      "argument tensors[0]",  "argument tensors[1]",  "argument tensors[2]",
      "argument tensors[3]",  "argument tensors[4]",  "argument tensors[5]",
      "argument tensors[6]",  "argument tensors[7]",  "argument tensors[8]",
      "argument tensors[9]",  "argument tensors[10]", "argument tensors[11]",
      "argument tensors[12]", "argument tensors[13]", "argument tensors[14]",
      "argument tensors[15]"};
  if (llrt_entry_names && llrt_entry_names[tensor]) return llrt_entry_names[tensor];
  return roles == LLRT_ROLES_NUMBERED ? numbered[tensor] : op_tensor_role(roles, tensor);
}
