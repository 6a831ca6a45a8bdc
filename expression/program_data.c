/* A program as plain data: its hash, and whether one from a file is whole. */
#include "base/hash.h"
#include "expression/operators.h"
#include "expression/program.h"

bool program_scans(int op) { return expr_row_of(op)->family == EXPR_SCAN; }

llrt_hash program_hash(const expr_program *program) {
  llrt_hasher hasher;
  llrt_hasher_init(&hasher);
  const uint64_t head[] = {(uint64_t)program->rank << 32 | (uint64_t)program->leading,
                           (uint64_t)program->n_tensors << 32 | (uint64_t)program->n_nodes,
                           (uint64_t)program->n_scalars << 32 | program->reduced};
  llrt_hasher_add_u64s(&hasher, head, 3);
  llrt_hasher_add_bytes(&hasher, program->scalar, sizeof program->scalar);
  for (int t = 0; t < program->n_tensors; t++) {
    const program_tensor *tensor = &program->tensor[t];
    llrt_hasher_add_u64(&hasher, (uint64_t)tensor->axes << 32 | (uint64_t)tensor->output << 24 |
                                     (uint64_t)tensor->node << 8 | tensor->store);
    if (tensor->words) llrt_hasher_add_bytes(&hasher, program->words[tensor->words - 1], 32);
  }
  for (int i = 0; i < program->n_nodes; i++) {
    const program_node *node = &program->node[i];
    const uint64_t words[] = {(uint64_t)node->op << 56 | (uint64_t)node->type << 48 |
                                  (uint64_t)node->from << 40 | (uint64_t)node->n_args << 32 |
                                  (uint64_t)node->arg[0] << 24 | (uint64_t)node->arg[1] << 16 |
                                  (uint64_t)node->arg[2] << 8 | node->slot,
                              (uint64_t)node->through << 24 | (uint64_t)node->rounding << 16 |
                                  (uint64_t)node->reduced << 8 | node->axes,
                              node->bits};
    llrt_hasher_add_u64s(&hasher, words, 3);
  }
  return llrt_hasher_finish(&hasher);
}

/* Whether values have the type, not only tensors' elements or literals. */
static bool is_computed_in(uint8_t type) {
  return type != LLRT_DTYPE_NONE && program_compute_type((llrt_dtype)type) == type;
}

static bool node_is_valid(const expr_program *program, int number) {
  const program_node *node = &program->node[number];
  bool valid = node->op > 0 && node->op < EXPR_OPERATORS && node->n_args <= 3;
  valid =
      valid && (is_computed_in(node->type) || node->op == EXPR_NUMBER || node->op == EXPR_INTEGER);
  for (int i = 0; valid && i < node->n_args; i++) valid = node->arg[i] < number;
  valid = valid && (node->axes | node->reduced) >> program->rank == 0;
  if (valid && node->op == EXPR_TENSOR) valid = node->slot < program->n_tensors;
  if (valid && node->op == EXPR_SCALAR) valid = node->slot < program->n_scalars;
  if (valid && node->op == EXPR_POSITION) valid = node->slot < program->rank;
  return valid && node->from < LLRT_DTYPE_COUNT && node->through < LLRT_DTYPE_COUNT;
}

bool program_is_valid(const expr_program *program) {
  bool valid = program->rank >= 0 && program->rank <= LLRT_MAX_RANK && program->n_tensors >= 2 &&
               program->n_tensors <= PROGRAM_MAX_TENSORS && program->n_nodes > 0 &&
               program->n_nodes <= PROGRAM_MAX_NODES && program->n_scalars >= 0 &&
               program->n_scalars <= LLRT_EXPR_MAX_SCALARS &&
               program->reduced >> program->rank == 0 && program->tensor[1].output;
  for (int i = 0; valid && i < program->n_nodes; i++) valid = node_is_valid(program, i);
  for (int t = 0; valid && t < program->n_tensors; t++) {
    const program_tensor *tensor = &program->tensor[t];
    valid = tensor->axes >> program->rank == 0 && tensor->words <= PROGRAM_MAX_WORDS &&
            (!tensor->output ||
             (tensor->node < program->n_nodes && is_computed_in(program->node[tensor->node].type) &&
              program_compute_type((llrt_dtype)tensor->store)));
  }
  return valid;
}
