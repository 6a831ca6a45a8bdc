/* Outputs that wait for no join: values beside keys with a norm, a sum that goes on to a norm. They
 * are stored before rows are joined, so that registers are free for what is, and memory has
 * something to do. What may lie where they do is loaded by then: the rows (rows_loaded_first). */
#include "jit/plan/rows/rows.h"

/* Of a node, whether a tensor is part of it, and whether something is joined. */
typedef struct made_of {
  bool loads, joins;
} made_of;

static void find_made_of(const expr_program *program, made_of *of) {
  for (int i = 0; i < program->n_nodes; i++) {
    const program_node *node = &program->node[i];
    of[i] = (made_of){.loads = node->op == EXPR_TENSOR, .joins = node->reduced != 0};
    for (int k = 0; k < node->n_args; k++) {
      of[i].loads |= of[node->arg[k]].loads;
      of[i].joins |= of[node->arg[k]].joins;
    }
  }
}

bool rows_is_apart(const rows *r, int tensor) {
  const expr_program *program = r->program;
  made_of of[PROGRAM_MAX_NODES];
  find_made_of(program, of);
  const made_of *own = &of[program->tensor[tensor].node];
  return r->resident && program->reduced && own->loads && !own->joins;
}
