/* Nodes, and what is checked of each as it is made. */
#include "expression/parser.h"

#include "base/bits.h"
#include "base/status.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void expr_axes_text(const llrt_expr *expr, uint32_t axes, char *text, int size) {
  int length = 0;
  *text = 0;
  for (int a = 0; a <= EXPR_LEADING && length < size; a++) {
    if (!(axes >> a & 1)) continue;
    length += snprintf(text + length, (size_t)(size - length), "%s%s", length ? ", " : "",
                       a == EXPR_LEADING ? "..." : expr->axis[a].name);
  }
}

static llrt_status add_axes_of_leaf(const llrt_expr *expr, expr_node *node) {
  if (node->op == EXPR_TENSOR) node->axes = expr->tensor[node->slot].axes;
  if (node->op == EXPR_POSITION) node->axes = (uint16_t)(1u << node->slot);
  return LLRT_OK;
}

static llrt_status check_reduction(const llrt_expr *expr, const expr_token *token,
                                   expr_node *node) {
  char names[EXPR_MAX_AXES * EXPR_NAME_BYTES];
  uint32_t lacking = node->reduced & ~(uint32_t)node->axes;
  expr_axes_text(expr, lacking, names, sizeof names);
  if (lacking)
    return expr_error_at(token, "%s is no axis of what %s joins", names,
                         expr_row_of(node->op)->text);
  bool scan = expr_row_of(node->op)->family == EXPR_SCAN;
  bool one = scan || node->op == EXPR_ARGMAX || node->op == EXPR_ARGMIN;
  if (one && bits_count(node->reduced) != 1)
    return expr_error_at(token, "%s along more than one axis", expr_row_of(node->op)->text);
  if (!scan) node->axes &= (uint16_t)~node->reduced;
  return LLRT_OK;
}

static llrt_status check_move(const llrt_expr *expr, const expr_token *token, expr_node *node) {
  const expr_axis *axis = &expr->axis[node->slot];
  if (!(node->axes >> node->slot & 1))
    return expr_error_at(token, "%s is no axis of what is moved along it", axis->name);
  if (axis->extent < 1 || axis->extent > 64)
    return expr_error_at(token, "%s has no extent of 1 to 64 in the signature", axis->name);
  if (node->op == EXPR_AT && (node->integer < 0 || node->integer >= axis->extent))
    return expr_error_at(token, "%s has positions 0 to %lld", axis->name,
                         (long long)axis->extent - 1);
  if (node->op == EXPR_AT) node->axes &= (uint16_t)~(1u << node->slot);
  return LLRT_OK;
}

/* Constants and leaves that are there already. */
static bool same_leaf(const expr_node *a, const expr_node *b) {
  return a->op == b->op && a->slot == b->slot && a->integer == b->integer &&
         memcmp(&a->number, &b->number, sizeof a->number) == 0;
}

llrt_status expr_add_node(expr_parser *p, const expr_token *token, expr_node node, int *number) {
  llrt_expr *expr = p->expr;
  const expr_operator_row *row = expr_row_of(node.op);
  node.line = (uint16_t)bits_min(token->line, UINT16_MAX);
  node.column = (uint16_t)bits_min(token->column, UINT16_MAX);
  LLRT_TRY(add_axes_of_leaf(expr, &node));
  for (int i = 0; i < node.n_args; i++) node.axes |= expr->node[node.arg[i]].axes;
  if (row->family == EXPR_REDUCE || row->family == EXPR_SCAN)
    LLRT_TRY(check_reduction(expr, token, &node));
  if (row->family == EXPR_MOVE) LLRT_TRY(check_move(expr, token, &node));
  for (int i = 0; i < expr->n_nodes && row->family == EXPR_LEAF; i++)
    if (same_leaf(&expr->node[i], &node)) {
      *number = i;
      return LLRT_OK;
    }
  if (expr->n_nodes == LLRT_EXPR_MAX_NODES)
    return llrt_error(LLRT_UNSUPPORTED, "%d:%d: more than %d nodes", token->line, token->column,
                      LLRT_EXPR_MAX_NODES);
  *number = expr->n_nodes;
  expr->node[expr->n_nodes++] = node;
  return LLRT_OK;
}
