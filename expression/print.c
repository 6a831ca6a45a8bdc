/* Expression -> canonical text, and its hash. */
#include "base/bits.h"
#include "base/float_mode.h"
#include "base/hash.h"
#include "base/status.h"
#include "base/text.h"
#include "expression/expression.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PRIMARY 9 /* the precedence of names, calls, brackets */

typedef struct printer {
  const llrt_expr *expr;
  llrt_text text;
  int statement; /* names of statements before this one are used */
} printer;

static void print_node(printer *p, int number, int precedence);

/* ---- the signature ---- */

static void print_axes(printer *p, const expr_tensor *tensor, uint32_t *told) {
  llrt_text_add(&p->text, "[%s", tensor->leading ? "..." : "");
  for (int i = 0; i < tensor->n_dims; i++) {
    const expr_dim *dim = &tensor->dim[i];
    llrt_text_add(&p->text, "%s%s", i > 0 || tensor->leading ? " " : "", dim->n > 1 ? "(" : "");
    if (dim->n == 0) llrt_text_add(&p->text, "1");
    for (int j = 0; j < dim->n; j++) {
      const expr_axis *axis = &p->expr->axis[dim->axis[j]];
      llrt_text_add(&p->text, "%s%s%s", j > 0 ? " " : "", dim->reversed >> j & 1 ? "~" : "",
                    axis->name);
      if (axis->extent && !(*told >> dim->axis[j] & 1))
        llrt_text_add(&p->text, ":%lld", (long long)axis->extent);
      *told |= 1u << dim->axis[j];
    }
    if (dim->n > 1) llrt_text_add(&p->text, ")");
  }
  llrt_text_add(&p->text, "]");
  if (tensor->dtype) llrt_text_add(&p->text, ": %s", llrt_dtype_name((llrt_dtype)tensor->dtype));
}

static void print_signature(printer *p) {
  const llrt_expr *expr = p->expr;
  uint32_t told = 0; /* axes whose extent was written */
  llrt_text_add(&p->text, "(");
  for (int i = 0; i < expr->n_params; i++) {
    int number = expr->param[i];
    if (i > 0) llrt_text_add(&p->text, ", ");
    if (number >= 0) {
      llrt_text_add(&p->text, "%s", expr->tensor[number].name);
      print_axes(p, &expr->tensor[number], &told);
    } else {
      const expr_scalar *scalar = &expr->scalar[-1 - number];
      llrt_text_add(&p->text, "%s: %s", scalar->name, llrt_dtype_name((llrt_dtype)scalar->dtype));
    }
  }
  llrt_text_add(&p->text, ") -> (");
  for (int t = expr->n_inputs; t < expr->n_tensors; t++) {
    llrt_text_add(&p->text, "%s%s", t > expr->n_inputs ? ", " : "", expr->tensor[t].name);
    print_axes(p, &expr->tensor[t], &told);
  }
  llrt_text_add(&p->text, ")");
}

/* ---- nodes ---- */

/* The shortest digits that read as the same number, with a point or exponent. */
static void print_number(printer *p, double number) {
  char digits[40];
  if (isnan(number)) llrt_text_add(&p->text, "nan");
  if (isinf(number)) llrt_text_add(&p->text, "inf");
  if (!isfinite(number)) return;
  for (int n = 1; n <= 17; n++) {
    snprintf(digits, sizeof digits, "%.*g", n, number);
    if (strtod(digits, NULL) == number) break;
  }
  llrt_text_add(&p->text, "%s%s", digits, strpbrk(digits, ".e") ? "" : ".0");
}

static void print_leaf(printer *p, const expr_node *node) {
  const llrt_expr *expr = p->expr;
  switch (node->op) {
  case EXPR_TENSOR: llrt_text_add(&p->text, "%s", expr->tensor[node->slot].name); break;
  case EXPR_SCALAR: llrt_text_add(&p->text, "%s", expr->scalar[node->slot].name); break;
  case EXPR_POSITION: llrt_text_add(&p->text, "%s", expr->axis[node->slot].name); break;
  case EXPR_INTEGER: llrt_text_add(&p->text, "%lld", (long long)node->integer); break;
  default: print_number(p, node->number); break;
  }
}

static void print_reduced(printer *p, const expr_node *node) {
  bool list = bits_count(node->reduced) > 1, first = true;
  llrt_text_add(&p->text, ", %s", list ? "(" : "");
  for (int a = 0; a < p->expr->n_axes; a++) {
    if (!(node->reduced >> a & 1)) continue;
    llrt_text_add(&p->text, "%s%s", first ? "" : ", ", p->expr->axis[a].name);
    first = false;
  }
  if (list) llrt_text_add(&p->text, ")");
}

static void print_call(printer *p, const expr_node *node) {
  static const char *const roundings[] = {"", ", round=up", ", round=down"};
  const expr_operator_row *row = expr_row_of(node->op);
  const char *name = node->op == EXPR_CAST ? llrt_dtype_name((llrt_dtype)node->type) : row->text;
  llrt_text_add(&p->text, "%s(", name);
  for (int i = 0; i < node->n_args; i++) {
    if (i > 0) llrt_text_add(&p->text, ", ");
    print_node(p, node->arg[i], 1);
  }
  bool scan = row->family == EXPR_SCAN;
  if (row->family == EXPR_REDUCE || scan) print_reduced(p, node);
  if (scan && node->rounding & EXPR_EXCLUSIVE) llrt_text_add(&p->text, ", exclusive=True");
  if (scan && node->rounding & EXPR_REVERSE) llrt_text_add(&p->text, ", reverse=True");
  if (node->op == EXPR_FLIP) llrt_text_add(&p->text, ", %s", p->expr->axis[node->slot].name);
  if (node->op == EXPR_BITCAST)
    llrt_text_add(&p->text, ", %s", llrt_dtype_name((llrt_dtype)node->type));
  if (node->op == EXPR_CAST) llrt_text_add(&p->text, "%s", roundings[node->rounding]);
  llrt_text_add(&p->text, ")");
}

/* What has the same meaning wherever it stands needs no name: literals and the signature's. */
static const char *name_of(const printer *p, int number) {
  if (expr_row_of(p->expr->node[number].op)->family == EXPR_LEAF) return NULL;
  for (int i = 0; i < p->statement; i++)
    if (p->expr->statement[i].node == number) return p->expr->statement[i].name;
  return NULL;
}

static void print_signs(printer *p, const expr_node *node) {
  const expr_operator_row *row = expr_row_of(node->op);
  bool compares = row->typing == EXPR_TYPED_COMPARED; /* which do not chain */
  if (row->family == EXPR_SIGN) {
    llrt_text_add(&p->text, "%s", row->text);
    print_node(p, node->arg[0], row->precedence);
    return;
  }
  print_node(p, node->arg[0], row->precedence + compares);
  llrt_text_add(&p->text, " %s ", row->text);
  print_node(p, node->arg[1], row->precedence + 1);
}

static void print_node(printer *p, int number, int precedence) {
  const expr_node *node = &p->expr->node[number];
  const expr_operator_row *row = expr_row_of(node->op);
  const char *name = name_of(p, number);
  if (name) {
    llrt_text_add(&p->text, "%s", name);
  } else if (row->family == EXPR_LEAF) {
    print_leaf(p, node);
  } else if (node->op == EXPR_AT) {
    print_node(p, node->arg[0], PRIMARY);
    llrt_text_add(&p->text, "[%s=%lld]", p->expr->axis[node->slot].name, (long long)node->integer);
  } else if (row->family == EXPR_SIGN || row->family == EXPR_BINARY) {
    bool apart = row->precedence < precedence;
    if (apart) llrt_text_add(&p->text, "(");
    print_signs(p, node);
    if (apart) llrt_text_add(&p->text, ")");
  } else {
    print_call(p, node);
  }
}

static void print_body(printer *p) {
  llrt_text_add(&p->text, " {");
  for (int i = 0; i < p->expr->n_statements; i++) {
    p->statement = i;
    llrt_text_add(&p->text, "%s %s = ", i > 0 ? ";" : "", p->expr->statement[i].name);
    print_node(p, p->expr->statement[i].node, 1);
  }
  llrt_text_add(&p->text, " }");
}

llrt_status llrt_expr_print(const llrt_expr *expr, char *buffer, size_t size, size_t *length) {
  LLRT_ENTRY();
  LLRT_REQUIRE(expr, "expr is NULL");
  LLRT_REQUIRE(buffer || size == 0, "buffer is NULL, size %zu", size);
  printer p = {.expr = expr};
  locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (!plain) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a locale");
  locale_t before = uselocale(plain);
  llrt_float_mode callers = llrt_float_mode_enter();
  llrt_text_init(&p.text);
  print_signature(&p);
  print_body(&p);
  llrt_float_mode_leave(callers);
  uselocale(before);
  freelocale(plain);
  llrt_status status = llrt_text_status(&p.text);
  if (status == LLRT_OK && length) *length = p.text.length;
  if (status == LLRT_OK && size > 0) {
    size_t n = p.text.length < size ? p.text.length : size - 1;
    memcpy(buffer, p.text.data, n);
    buffer[n] = 0;
  }
  llrt_text_fini(&p.text);
  return status;
}

/* ---- hash ---- */

static void hash_tensor(llrt_hasher *hasher, const expr_tensor *tensor) {
  llrt_hasher_add_u64(hasher, (uint64_t)tensor->output << 32 | (uint64_t)tensor->leading << 24 |
                                  (uint64_t)tensor->dtype << 16 | (uint64_t)tensor->n_dims << 8 |
                                  tensor->node);
  for (int i = 0; i < tensor->n_dims; i++) {
    const expr_dim *dim = &tensor->dim[i];
    uint64_t axes = 0;
    for (int j = 0; j < dim->n; j++) axes = axes << 4 | dim->axis[j];
    llrt_hasher_add_u64(hasher, axes << 16 | (uint64_t)dim->n << 8 | dim->reversed);
  }
}

static void hash_node(llrt_hasher *hasher, const expr_node *node) {
  uint64_t number;
  memcpy(&number, &node->number, sizeof number);
  const uint64_t words[] = {(uint64_t)node->op << 56 | (uint64_t)node->n_args << 48 |
                                (uint64_t)node->arg[0] << 40 | (uint64_t)node->arg[1] << 32 |
                                (uint64_t)node->arg[2] << 24 | (uint64_t)node->slot << 16 |
                                (uint64_t)node->type << 8 | node->rounding,
                            node->reduced, (uint64_t)node->integer, number};
  llrt_hasher_add_u64s(hasher, words, 4);
}

llrt_hash llrt_expr_hash(const llrt_expr *expr) {
  if (!expr) return (llrt_hash){0, 0};
  llrt_hasher hasher;
  llrt_hasher_init(&hasher);
  llrt_hasher_add_u64(&hasher, (uint64_t)expr->n_axes << 48 | (uint64_t)expr->n_tensors << 32 |
                                   (uint64_t)expr->n_scalars << 16 | (uint64_t)expr->n_nodes);
  for (int a = 0; a < expr->n_axes; a++)
    llrt_hasher_add_u64(&hasher, (uint64_t)expr->axis[a].extent);
  for (int i = 0; i < expr->n_params; i++)
    llrt_hasher_add_u64(&hasher, (uint64_t)(uint8_t)expr->param[i]);
  for (int i = 0; i < expr->n_scalars; i++) llrt_hasher_add_u64(&hasher, expr->scalar[i].dtype);
  for (int t = 0; t < expr->n_tensors; t++) hash_tensor(&hasher, &expr->tensor[t]);
  for (int i = 0; i < expr->n_nodes; i++) hash_node(&hasher, &expr->node[i]);
  return llrt_hasher_finish(&hasher);
}
