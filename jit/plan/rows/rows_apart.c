/* Outputs that wait for no join, of rows that nothing else wants: values beside keys with a norm.
 * They are stored before rows are joined, so that registers are free for what is. */
#include "jit/plan/rows/rows.h"

/* Of a node the tensors that it is made of (bit t: tensor t), and whether something is joined. */
typedef struct made_of {
  uint32_t tensors;
  bool joins;
} made_of;

static void find_made_of(const expr_program *program, made_of *of) {
  for (int i = 0; i < program->n_nodes; i++) {
    const program_node *node = &program->node[i];
    of[i] = (made_of){.joins = node->reduced != 0};
    if (node->op == EXPR_TENSOR) of[i].tensors = 1u << node->slot;
    for (int k = 0; k < node->n_args; k++) {
      of[i].tensors |= of[node->arg[k]].tensors;
      of[i].joins |= of[node->arg[k]].joins;
    }
  }
}

bool rows_is_apart(const rows *r, int tensor) {
  const expr_program *program = r->program;
  made_of of[PROGRAM_MAX_NODES];
  uint32_t others = 0;
  find_made_of(program, of);
  for (int t = 0; t < program->n_tensors; t++)
    if (program->tensor[t].output && t != tensor) others |= of[program->tensor[t].node].tensors;
  const made_of *own = &of[program->tensor[tensor].node];
  return r->resident && !r->turns && program->reduced && !own->joins && own->tensors &&
         !(own->tensors & others);
}
