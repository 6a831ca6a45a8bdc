#include "expression/program_narrow.h"

#include "expression/operators.h"
#include "expression/program_range.h"

#include <string.h>

enum { DEPTH = 8 }; /* of products */

static bool is_narrow_type(llrt_dtype type) {
  switch (type) {
  case LLRT_F16:
  case LLRT_BF16:
  case LLRT_E4M3:
  case LLRT_E5M2:
  case LLRT_E4M3FNUZ:
  case LLRT_E5M2FNUZ:
  case LLRT_E2M1: return true;
  default: return false;
  }
}

/* A sum of exp(x - m), m the maximum of x along the same axes. */
static bool holds_one(const expr_program *program, int at) {
  const program_node *sum = &program->node[at], *power = &program->node[sum->arg[0]];
  if (sum->op != EXPR_SUM || power->op != EXPR_EXP) return false;
  const program_node *less = &program->node[power->arg[0]];
  const program_node *most = &program->node[less->arg[1]];
  return less->op == EXPR_SUBTRACT && most->op == EXPR_MAX && most->arg[0] == less->arg[0] &&
         most->reduced == sum->reduced;
}

/* Whether an error of argument k is one of the node's value alone, or is rounded away by it. */
static bool is_narrow_use(const expr_program *program, const program_node *node, int k,
                          bool narrow) {
  switch (node->op) {
  case EXPR_CAST:
    if (is_narrow_type((llrt_dtype)(node->through ? node->through : node->type))) return true;
    return narrow && !node->through && node->type == LLRT_F32;
  case EXPR_MULTIPLY:
  case EXPR_NEGATE:
  case EXPR_ABS:
  case EXPR_MAXIMUM:
  case EXPR_MINIMUM:
  case EXPR_MAX:
  case EXPR_MIN: return narrow;
  case EXPR_WHERE: return narrow && k > 0;
  case EXPR_DIVIDE: return narrow && (k == 0 || holds_one(program, node->arg[1]));
  case EXPR_SUM:
    if (holds_one(program, (int)(node - program->node))) return true;
    return narrow && program_makes_positive(program, node->arg[0]);
  case EXPR_MEAN: return narrow && program_makes_positive(program, node->arg[0]);
  default: return false;
  }
}

/* Nodes come behind their arguments. */
void program_find_narrow(const expr_program *program, bool narrow[PROGRAM_MAX_NODES]) {
  bool used[PROGRAM_MAX_NODES] = {false};
  for (int i = 0; i < program->n_nodes; i++) narrow[i] = program->node[i].type == LLRT_F32;
  for (int t = 0; t < program->n_tensors; t++) {
    const program_tensor *tensor = &program->tensor[t];
    if (!tensor->output) continue;
    used[tensor->node] = true;
    narrow[tensor->node] &= is_narrow_type((llrt_dtype)tensor->store);
  }
  for (int i = program->n_nodes - 1; i >= 0; i--) {
    const program_node *node = &program->node[i];
    narrow[i] &= used[i];
    for (int k = 0; k < node->n_args; k++) {
      used[node->arg[k]] = true;
      narrow[node->arg[k]] &= is_narrow_use(program, node, k, narrow[i]);
    }
  }
}

static bool errs(const expr_program *program, const bool narrow[PROGRAM_MAX_NODES], int at,
                 int depth) {
  const program_node *node = &program->node[at];
  if (!narrow[at] || depth == 0) return false;
  switch (node->op) {
  case EXPR_EXP:
  case EXPR_EXP2:
  case EXPR_SIGMOID:
  case EXPR_SILU:
  case EXPR_GELU: return true;
  case EXPR_MULTIPLY:
    return errs(program, narrow, node->arg[0], depth - 1) ||
           errs(program, narrow, node->arg[1], depth - 1);
  default: return false;
  }
}

bool program_divides_narrow(const expr_program *program, const bool narrow[PROGRAM_MAX_NODES],
                            int at) {
  const program_node *node = &program->node[at];
  return narrow[at] && node->op == EXPR_DIVIDE && errs(program, narrow, node->arg[0], DEPTH) &&
         holds_one(program, node->arg[1]);
}
