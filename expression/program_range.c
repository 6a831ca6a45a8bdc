#include "expression/program_range.h"

#include "base/bits.h"
#include "expression/operators.h"

#include <math.h>
#include <string.h>

#define F32_INFINITY 0x7F800000u

enum { DEPTH = 8 }; /* ends programs whose nodes use each other many times */

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

/* Rounded, a value is no more than a power of two that it was no more than before. */
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

int program_most(const expr_program *program, int node) { return most(program, node, DEPTH); }

/* A positive constant of f32 that is not infinite. */
static bool is_factor(const expr_program *program, int at, float *factor) {
  const program_node *node = &program->node[at];
  uint32_t code = (uint32_t)node->bits;
  if (node->op != EXPR_NUMBER || node->type != LLRT_F32) return false;
  memcpy(factor, &code, sizeof *factor);
  return code > 0 && code < F32_INFINITY;
}

static int least(const expr_program *program, int at, int depth) {
  const program_node *node = &program->node[at];
  int none = -PROGRAM_ANY_SIZE, of[3] = {none, none, none};
  float factor;
  if (depth == 0 || node->type != LLRT_F32) return none;
  if (is_factor(program, at, &factor)) return ilogbf(factor);
  for (int i = 0; i < node->n_args; i++) of[i] = least(program, node->arg[i], depth - 1);
  switch (node->op) {
  case EXPR_MAXIMUM: return bits_max(of[0], of[1]);
  case EXPR_MINIMUM: return bits_min(of[0], of[1]);
  case EXPR_WHERE: return bits_min(of[1], of[2]);
  case EXPR_MULTIPLY: return of[0] == none || of[1] == none ? none : of[0] + of[1];
  case EXPR_DIVIDE:
    if (of[0] == none || !is_factor(program, node->arg[1], &factor)) return none;
    return of[0] - ilogbf(factor) - 1;
  default: return none;
  }
}

int program_least(const expr_program *program, int node) { return least(program, node, DEPTH); }

static int most_finite(const expr_program *program, int at, int depth) {
  enum { F32_TOP = 128 };
  const program_node *node = &program->node[at];
  int of[3] = {F32_TOP, F32_TOP, F32_TOP};
  float factor;
  if (depth == 0) return F32_TOP;
  if (is_factor(program, at, &factor)) return ilogbf(factor) + 1;
  for (int i = 0; i < node->n_args; i++) of[i] = most_finite(program, node->arg[i], depth - 1);
  switch (node->op) {
  case EXPR_ABS:
  case EXPR_NEGATE: return of[0];
  case EXPR_MAXIMUM:
  case EXPR_MINIMUM: return bits_max(of[0], of[1]);
  case EXPR_WHERE: return bits_max(of[1], of[2]);
  case EXPR_MULTIPLY:
    if (is_factor(program, node->arg[0], &factor) || is_factor(program, node->arg[1], &factor))
      return bits_min(F32_TOP, of[0] + of[1]);
    return F32_TOP;
  case EXPR_DIVIDE:
    if (is_factor(program, node->arg[1], &factor)) return bits_min(F32_TOP, of[0] - ilogbf(factor));
    return F32_TOP;
  default: return F32_TOP;
  }
}

int program_most_finite(const expr_program *program, int node) {
  return most_finite(program, node, DEPTH);
}

static bool is_positive(const expr_program *program, int at, int depth) {
  const program_node *node = &program->node[at];
  bool of[3] = {false, false, false};
  if (depth == 0) return false;
  for (int i = 0; i < node->n_args; i++) of[i] = is_positive(program, node->arg[i], depth - 1);
  switch (node->op) {
  case EXPR_EXP:
  case EXPR_EXP2:
  case EXPR_SIGMOID:
  case EXPR_ABS: return true;
  case EXPR_NUMBER: return node->type == LLRT_F32 && (uint32_t)node->bits <= F32_INFINITY;
  case EXPR_MULTIPLY: return node->arg[0] == node->arg[1] || (of[0] && of[1]);
  case EXPR_DIVIDE: return of[0] && of[1];
  case EXPR_MAX:
  case EXPR_MIN: return of[0];
  case EXPR_MAXIMUM: return of[0] || of[1];
  case EXPR_MINIMUM: return of[0] && of[1];
  default: return false;
  }
}

bool program_is_positive(const expr_program *program, int node) {
  return is_positive(program, node, DEPTH);
}

bool program_makes_positive(const expr_program *program, int node) {
  return is_positive(program, node, 1);
}

/* ---- quotients ---- */

/* A constant of f32 that is not NaN. */
static bool is_number(const expr_program *program, int at, float *x) {
  const program_node *node = &program->node[at];
  uint32_t code = (uint32_t)node->bits;
  if (node->op != EXPR_NUMBER || node->type != LLRT_F32) return false;
  memcpy(x, &code, sizeof *x);
  return !isnan(*x);
}

static int most_over(const expr_program *program, int x, int at, int depth);

/* Of a value times a number, or divided by one: rounding takes half of it at most. */
static int scaled_over(const expr_program *program, int x, int value, int number, bool divided,
                       int depth) {
  float factor;
  if (!is_factor(program, number, &factor)) return PROGRAM_ANY_SIZE;
  int log2 = ilogbf(factor); /* of the largest power of two that is no more */
  return sum_of(most_over(program, x, value, depth), divided ? log2 + 2 : 1 - log2);
}

static int most_over(const expr_program *program, int x, int at, int depth) {
  const program_node *node = &program->node[at];
  if (depth == 0 || node->type != LLRT_F32) return PROGRAM_ANY_SIZE;
  int first = node->arg[0], second = node->arg[1];
  switch (node->op) {
  case EXPR_ABS: return first == x ? 0 : PROGRAM_ANY_SIZE;
  case EXPR_MAX: return most_over(program, x, first, depth - 1);
  case EXPR_MAXIMUM:
    return bits_min(most_over(program, x, first, depth - 1),
                    most_over(program, x, second, depth - 1));
  case EXPR_DIVIDE: return scaled_over(program, x, first, second, true, depth - 1);
  case EXPR_MULTIPLY:
    return bits_min(scaled_over(program, x, first, second, false, depth - 1),
                    scaled_over(program, x, second, first, false, depth - 1));
  case EXPR_CAST: /* which halves at most, and has numbers as large as f32 */
    if (node->from != LLRT_F32 ||
        (node->through && node->through != LLRT_E8M0 && node->through != LLRT_BF16))
      return PROGRAM_ANY_SIZE;
    return sum_of(most_over(program, x, first, depth - 1), 1);
  default: return PROGRAM_ANY_SIZE;
  }
}

int program_most_over(const expr_program *program, int x, int y) {
  return most_over(program, x, y, DEPTH);
}

bool program_is_power(const expr_program *program, int at) {
  const program_node *node = &program->node[at];
  return node->type == LLRT_F32 && ((node->op == EXPR_CAST && node->through == LLRT_E8M0) ||
                                    (node->op == EXPR_TENSOR && node->from == LLRT_E8M0));
}

/* Types of which no number but 0 is below 2^-24. */
static bool is_coarse_type(llrt_dtype type) {
  switch (type) {
  case LLRT_F16:
  case LLRT_E4M3:
  case LLRT_E5M2:
  case LLRT_E4M3FNUZ:
  case LLRT_E5M2FNUZ:
  case LLRT_E2M1:
  case LLRT_I32:
  case LLRT_I16:
  case LLRT_I8:
  case LLRT_I4:
  case LLRT_U16:
  case LLRT_U8:
  case LLRT_U4: return true;
  default: return false;
  }
}

static bool is_coarse(const expr_program *program, int at, int depth);

/* Of one use of value `at`. A limit of some size is met, or is not, by all of them alike. */
static bool is_coarse_use(const expr_program *program, const program_node *use, int at, int depth) {
  int number = (int)(use - program->node);
  float limit;
  switch (use->op) {
  case EXPR_CAST: return is_coarse_type((llrt_dtype)(use->through ? use->through : use->type));
  case EXPR_ROUND: return is_coarse(program, number, depth);
  case EXPR_MAXIMUM:
  case EXPR_MINIMUM:
    if (!is_number(program, use->arg[use->arg[0] == at], &limit)) return false;
    return fabsf(limit) >= 0x1p-20f && is_coarse(program, number, depth);
  default: return false;
  }
}

static bool is_coarse(const expr_program *program, int at, int depth) {
  int uses = 0;
  if (depth == 0) return false;
  for (int i = at + 1; i < program->n_nodes; i++) {
    const program_node *use = &program->node[i];
    bool own = false;
    for (int k = 0; k < use->n_args; k++) own |= use->arg[k] == at;
    if (own && !is_coarse_use(program, use, at, depth - 1)) return false;
    uses += own;
  }
  for (int t = 0; t < program->n_tensors; t++) {
    if (!program->tensor[t].output || program->tensor[t].node != at) continue;
    if (!is_coarse_type((llrt_dtype)program->tensor[t].store)) return false;
    uses++;
  }
  return uses > 0;
}

bool program_is_coarse(const expr_program *program, int node) {
  return program->node[node].type == LLRT_F32 && is_coarse(program, node, DEPTH);
}

static bool is_stored(const expr_program *program, int at) {
  bool stored = false;
  for (int t = 0; t < program->n_tensors; t++)
    stored |= program->tensor[t].output && program->tensor[t].node == at;
  return stored;
}

bool program_is_added(const expr_program *program, int at) {
  const program_node *node = &program->node[at];
  if (node->op != EXPR_EXP || !is_below_largest(program, node->arg[0]) || is_stored(program, at))
    return false;
  uint8_t axes = program->node[program->node[node->arg[0]].arg[1]].reduced;
  for (int i = 0; i < program->n_nodes; i++) {
    const program_node *use = &program->node[i];
    bool sums = (use->op == EXPR_SUM || use->op == EXPR_MEAN) && !(axes & ~use->reduced);
    for (int k = 0; k < use->n_args; k++)
      if (use->arg[k] == at && !sums) return false;
  }
  return true;
}
