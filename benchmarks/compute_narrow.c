/* See compute_narrow.h. */
#include "compute_narrow.h"

#include <math.h>

#define ERROR 0x1p-15
#define LEAST 0x1p-112

static bool rounds(llrt_dtype type) {
  return llrt_dtype_bits(type) <= 16 &&
         (type == LLRT_F16 || type == LLRT_BF16 || type == LLRT_E4M3 || type == LLRT_E5M2 ||
          type == LLRT_E4M3FNUZ || type == LLRT_E5M2FNUZ || type == LLRT_E2M1);
}

static bool is_not_negative(const expr_node *node) {
  return node->op == EXPR_EXP || node->op == EXPR_EXP2 || node->op == EXPR_SIGMOID ||
         node->op == EXPR_ABS || (node->op == EXPR_MULTIPLY && node->arg[0] == node->arg[1]);
}

/* Whether the sum has exp(0) in it: of exp(x - max(x)) along the same axes. */
static bool has_one(const llrt_expr *expr, const expr_node *sum) {
  const expr_node *power = &expr->node[sum->arg[0]], *less = &expr->node[power->arg[0]];
  if (sum->op != EXPR_SUM || power->op != EXPR_EXP || less->op != EXPR_SUBTRACT) return false;
  const expr_node *most = &expr->node[less->arg[1]];
  return most->op == EXPR_MAX && most->arg[0] == less->arg[0] && most->reduced == sum->reduced;
}

/* Whether argument k's error is one of the node alone; narrow: which may err, too. */
static bool hands_on(const llrt_expr *expr, const expr_node *node, int k, bool narrow) {
  switch (node->op) {
  case EXPR_CAST: return rounds((llrt_dtype)node->type) || (narrow && node->type == LLRT_F32);
  case EXPR_SUM:
  case EXPR_MEAN: return narrow && is_not_negative(&expr->node[node->arg[0]]);
  case EXPR_DIVIDE: return narrow && (k == 0 || has_one(expr, &expr->node[node->arg[1]]));
  case EXPR_WHERE: return narrow && k > 0;
  case EXPR_FLIP:
  case EXPR_AT:
  case EXPR_MULTIPLY:
  case EXPR_NEGATE:
  case EXPR_ABS:
  case EXPR_MAXIMUM:
  case EXPR_MINIMUM:
  case EXPR_MAX:
  case EXPR_MIN: return narrow;
  default: return false;
  }
}

void narrow_find(const reference *r, bool narrow[LLRT_EXPR_MAX_NODES]) {
  const llrt_expr *expr = r->expr;
  bool used[LLRT_EXPR_MAX_NODES] = {false};
  for (int i = 0; i < expr->n_nodes; i++) narrow[i] = true;
  for (int t = expr->n_inputs; t < expr->n_tensors; t++) {
    used[expr->tensor[t].node] = true;
    narrow[expr->tensor[t].node] &= rounds(r->type[t]);
  }
  for (int i = expr->n_nodes - 1; i >= 0; i--) {
    const expr_node *node = &expr->node[i];
    for (int k = 0; k < node->n_args && used[i]; k++) {
      used[node->arg[k]] = true;
      narrow[node->arg[k]] &= hands_on(expr, node, k, narrow[i]);
    }
  }
}

range narrow_range(int op, range x) {
  bool errs =
      op == EXPR_EXP || op == EXPR_EXP2 || op == EXPR_SIGMOID || op == EXPR_SILU || op == EXPR_GELU;
  if (!errs || x.nan || x.any || (isinf(x.low) && x.low == x.high)) return x;
  double low = x.low - fabs(x.low) * ERROR, high = x.high + fabs(x.high) * ERROR;
  /* Small numbers may be any small ones of their sign, 0 that negative ones tend to, too. */
  if (x.low > 0 && x.low < LEAST) low = 0;
  if (x.high > 0 && x.high < LEAST) high = LEAST;
  if (x.high < 0 && x.high > -LEAST) high = -0.0;
  if (x.low <= 0 && signbit(x.low) && x.low > -LEAST) low = -LEAST;
  return (range){low, high, false, false};
}
