#include "expression/program_range.h"

#include "base/bits.h"
#include "expression/operators.h"

/* Node `at` is x - max(x) or a maximum of more: no more than 0. */
static bool is_below_largest(const expr_program *program, int at) {
  const program_node *node = &program->node[at];
  if (node->op != EXPR_SUBTRACT) return false;
  const program_node *most = &program->node[node->arg[1]];
  return most->op == EXPR_MAX && most->arg[0] == node->arg[0];
}

/* Of a tensor's elements; of narrow integers and floats without infinities alone. */
static int most_of_type(llrt_dtype type) {
  switch (type) {
  case LLRT_BOOL: return 0;
  case LLRT_E4M3: return 9;
  case LLRT_I8:
  case LLRT_U8: return 8;
  case LLRT_I16:
  case LLRT_U16: return 16;
  default: return PROGRAM_ANY_SIZE;
  }
}

/* Of what is no more than 2^of, cast to a type; those that saturate make infinity finite, too. */
static int most_of_cast(llrt_dtype type, int of) {
  enum { F16_TOP = 15 }; /* what rounds to more is infinite */
  if (type == LLRT_F16) return of <= F16_TOP ? of : PROGRAM_ANY_SIZE;
  return bits_min(of, type == LLRT_E5M2 ? 16 : type ? most_of_type(type) : PROGRAM_ANY_SIZE);
}

static int sum_of(int a, int b) {
  return a == PROGRAM_ANY_SIZE || b == PROGRAM_ANY_SIZE ? PROGRAM_ANY_SIZE : a + b;
}

/* Rounded, a value is no more than a power of two that it was no more than before. Depth ends
 * programs whose nodes use each other many times. */
static int most(const expr_program *program, int at, int depth) {
  const program_node *node = &program->node[at];
  int own = PROGRAM_ANY_SIZE, of[3] = {own, own, own};
  if (depth == 0) return own;
  for (int i = 0; i < node->n_args; i++) of[i] = most(program, node->arg[i], depth - 1);
  switch (node->op) {
  case EXPR_SIGMOID:
  case EXPR_TANH:
  case EXPR_ERF:
  case EXPR_SIN:
  case EXPR_COS: return 0;
  case EXPR_EXP: return is_below_largest(program, node->arg[0]) ? 0 : own;
  case EXPR_ABS:
  case EXPR_NEGATE: return of[0]; /* MAX and MIN of nothing are infinite */
  case EXPR_MAXIMUM:
  case EXPR_MINIMUM: return bits_max(of[0], of[1]);
  case EXPR_WHERE: return bits_max(of[1], of[2]);
  case EXPR_ADD:
  case EXPR_SUBTRACT: return sum_of(bits_max(of[0], of[1]), 1);
  case EXPR_MULTIPLY: return sum_of(of[0], of[1]);
  case EXPR_CAST: return most_of_cast((llrt_dtype)node->through, of[0]);
  case EXPR_TENSOR: return most_of_type(node->from);
  default: return own;
  }
}

int program_most(const expr_program *program, int node) {
  enum { DEPTH = 8 };
  return most(program, node, DEPTH);
}

bool program_is_positive(const expr_program *program, int at) {
  const program_node *node = &program->node[at];
  switch (node->op) {
  case EXPR_EXP:
  case EXPR_EXP2:
  case EXPR_SIGMOID:
  case EXPR_ABS: return true;
  case EXPR_MULTIPLY: return node->arg[0] == node->arg[1];
  default: return false;
  }
}
