/* See compute_reference.h. */
#include "compute_reference.h"

#include "compute_join.h"
#include "compute_narrow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AXES (EXPR_MAX_AXES + 1)

bool reference_allows(llrt_dtype type, range expected, double got) {
  range cast = range_cast(type, expected, EXPR_NEAREST);
  if (cast.any) return true;
  if (cast.nan || isnan(got)) return cast.nan && isnan(got);
  return got >= cast.low && got <= cast.high;
}

/* ---- types ---- */

static int element_type(llrt_dtype type) {
  switch (type) {
  case LLRT_F64: return DOUBLE;
  case LLRT_I64:
  case LLRT_U64:
  case LLRT_U32: return WIDE_WHOLE;
  case LLRT_BOOL: return TRUTH;
  case LLRT_I32:
  case LLRT_I16:
  case LLRT_I8:
  case LLRT_I4:
  case LLRT_U16:
  case LLRT_U8:
  case LLRT_U4: return WHOLE;
  default: return SINGLE;
  }
}

static int meet(const reference *r, const expr_node *node, int first) {
  int best = LITERAL_INTEGER, real = 0, number = 0;
  for (int i = first; i < node->n_args; i++) {
    int type = r->computes[node->arg[i]];
    real |= type == LITERAL_REAL;
    if (type == LITERAL_INTEGER)
      number |= r->value[node->arg[i]]->low != 0 && r->value[node->arg[i]]->low != 1;
    if (type > best) best = type;
  }
  if (best == LITERAL_INTEGER || (best == TRUTH && number)) best = WHOLE;
  return (best == LITERAL_REAL || real) && best < SINGLE ? SINGLE : best;
}

static int type_of(const reference *r, const expr_node *node) {
  const expr_operator_row *row = expr_row_of(node->op);
  int type;
  switch (node->op) {
  case EXPR_TENSOR: return element_type(r->type[node->slot]);
  case EXPR_SCALAR: return element_type((llrt_dtype)r->expr->scalar[node->slot].dtype);
  case EXPR_NUMBER: return LITERAL_REAL;
  case EXPR_INTEGER: return LITERAL_INTEGER;
  case EXPR_POSITION: return WHOLE;
  default: break;
  }
  switch ((expr_typing)row->typing) {
  case EXPR_TYPED_CAST: return element_type((llrt_dtype)node->type);
  case EXPR_TYPED_COMPARED:
  case EXPR_TYPED_TRUTH: return TRUTH;
  case EXPR_TYPED_COUNT: return WHOLE;
  case EXPR_TYPED_CHOICE: return meet(r, node, 1);
  case EXPR_TYPED_SAME: return r->computes[node->arg[0]];
  default: break;
  }
  if (node->op == EXPR_NEGATE && r->computes[node->arg[0]] < TRUTH)
    return r->computes[node->arg[0]];
  type = meet(r, node, 0);
  if (row->typing == EXPR_TYPED_REALS && type < SINGLE) return SINGLE;
  return row->typing == EXPR_TYPED_NUMBERS && type == TRUTH ? WHOLE : type;
}

/* ---- points ---- */

static int64_t count_of(const reference *r, uint32_t axes) {
  int64_t n = 1;
  for (int a = 0; a < AXES; a++)
    if (axes >> a & 1) n *= r->extent[a];
  return n;
}

/* Leading first, then the named axes as they are numbered. */
static int64_t place_of(const reference *r, uint32_t axes, const int64_t *at) {
  int64_t place = 0;
  for (int i = 0; i < AXES; i++) {
    int a = i == 0 ? EXPR_LEADING : i - 1;
    if (axes >> a & 1) place = place * r->extent[a] + at[a];
  }
  return place;
}

static void point_of(const reference *r, uint32_t axes, int64_t place, int64_t *at) {
  memset(at, 0, AXES * sizeof *at);
  for (int i = AXES - 1; i >= 0; i--) {
    int a = i == 0 ? EXPR_LEADING : i - 1;
    if (!(axes >> a & 1)) continue;
    at[a] = place % r->extent[a];
    place /= r->extent[a];
  }
}

int64_t reference_count(const reference *r, int t) { return count_of(r, r->expr->tensor[t].axes); }

/* Element of a tensor in its own order of axes: backwards where they count down. */
static int64_t element_of(const reference *r, int t, const int64_t *at) {
  const expr_tensor *tensor = &r->expr->tensor[t];
  int64_t place = tensor->leading ? at[EXPR_LEADING] : 0;
  for (int i = 0; i < tensor->n_dims; i++)
    for (int j = 0; j < tensor->dim[i].n; j++) {
      int a = tensor->dim[i].axis[j];
      int64_t own = tensor->dim[i].reversed >> j & 1 ? r->extent[a] - 1 - at[a] : at[a];
      place = place * r->extent[a] + own;
    }
  return place;
}

/* The point at which a tensor has element `place`: element_of backwards. */
static void point_of_element(const reference *r, int t, int64_t place, int64_t *at) {
  const expr_tensor *tensor = &r->expr->tensor[t];
  memset(at, 0, AXES * sizeof *at);
  for (int i = tensor->n_dims - 1; i >= 0; i--)
    for (int j = tensor->dim[i].n - 1; j >= 0; j--) {
      int a = tensor->dim[i].axis[j];
      int64_t own = place % r->extent[a];
      at[a] = tensor->dim[i].reversed >> j & 1 ? r->extent[a] - 1 - own : own;
      place /= r->extent[a];
    }
  if (tensor->leading) at[EXPR_LEADING] = place;
}

/* The nearest f32. GCC 12 at -O3 forgets the float between two conversions of a pair. */
static double nearest_single(double x) {
  volatile float single = (float)x;
  return (double)single;
}

range reference_element(const reference *r, int t, int64_t at) {
  const expr_tensor *tensor = &r->expr->tensor[t];
  int64_t point[AXES];
  point_of_element(r, t, at, point);
  range x = r->value[tensor->node][place_of(r, r->expr->node[tensor->node].axes, point)];
  bool literal = r->computes[tensor->node] == LITERAL_REAL && r->type[t] != LLRT_F64;
  return literal ? range_exactly(nearest_single(x.low)) : x;
}

/* ---- nodes ---- */

static range leaf(const reference *r, const expr_node *node, const int64_t *at) {
  switch (node->op) {
  case EXPR_TENSOR: return range_exactly(r->input[node->slot][element_of(r, node->slot, at)]);
  case EXPR_SCALAR: return range_exactly(r->scalar[node->slot]);
  case EXPR_INTEGER: return range_exactly((double)node->integer);
  case EXPR_POSITION: return range_exactly((double)at[node->slot]);
  default: return range_exactly(node->number);
  }
}

/* An argument in the type of the node that uses it. */
static range argument(const reference *r, const expr_node *node, int i, const int64_t *at,
                      int type) {
  const expr_node *own = &r->expr->node[node->arg[i]];
  range x = r->value[node->arg[i]][place_of(r, own->axes, at)];
  int from = r->computes[node->arg[i]];
  if (type == SINGLE && (from == LITERAL_REAL || from == DOUBLE)) {
    if (from == LITERAL_REAL && !x.nan) return range_exactly(nearest_single(x.low));
    return range_rounded(x, SINGLE, 1);
  }
  if (type == SINGLE && from != SINGLE && !x.any && !x.nan)
    return (range){nearest_single(x.low), nearest_single(x.high), false, false};
  return x;
}

/* Whole numbers have one zero, and may be anything once they have wrapped. */
static range one_zero(range x, int type) {
  bool whole = type == LITERAL_INTEGER || (type >= TRUTH && type <= WIDE_WHOLE);
  bool wrapped = whole && (type == WHOLE ? x.low < -0x1p31 || x.high >= 0x1p31
                                         : x.low < -0x1p53 || x.high > 0x1p53);
  if (wrapped && !(type == WIDE_WHOLE && x.low == -0x1p63 && x.low == x.high))
    return range_anything();
  return whole ? (range){x.low + 0.0, x.high + 0.0, x.nan, x.any} : x;
}

/* The argument of a reduction or scan at a point. */
static range joins_at(const reference *r, const expr_node *node, const int64_t *at) {
  return r->value[node->arg[0]][place_of(r, r->expr->node[node->arg[0]].axes, at)];
}

/* What a reduction makes of a row. */
static range joined(const reference *r, const expr_node *node, const int64_t *outer) {
  int64_t n = count_of(r, node->reduced), at[AXES], inner[AXES];
  joiner j;
  join_begin(&j, node->op, r->computes[node->arg[0]]);
  for (int64_t i = 0; i < n; i++) {
    point_of(r, node->reduced, i, inner);
    for (int a = 0; a < AXES; a++) at[a] = node->reduced >> a & 1 ? inner[a] : outer[a];
    join_add(&j, joins_at(r, node, at));
  }
  return join_value(&j);
}

/* All of a scan's values along the row in which the point is. */
static void scan_row(const reference *r, const expr_node *node, const int64_t *outer, int type,
                     range *out) {
  int axis = 0;
  while (!(node->reduced >> axis & 1)) axis++;
  int64_t n = r->extent[axis], at[AXES];
  bool exclusive = node->rounding & EXPR_EXCLUSIVE, reverse = node->rounding & EXPR_REVERSE;
  joiner j;
  memcpy(at, outer, sizeof at);
  join_begin(&j, node->op, r->computes[node->arg[0]]);
  if (exclusive && node->op == EXPR_CUMSUM) j.so_far = range_exactly(0); /* else -0 */
  for (int64_t i = 0; i < n; i++) {
    at[axis] = reverse ? n - 1 - i : i;
    range *own = &out[place_of(r, node->axes, at)];
    if (exclusive) *own = one_zero(join_value(&j), type);
    join_add(&j, joins_at(r, node, at));
    if (!exclusive) *own = one_zero(join_value(&j), type);
  }
}

static double floor_quotient(double a, double b) { return b == 0 ? 0 : floor(a / b); }
static double floor_rest(double a, double b) { return b == 0 ? a : a - floor(a / b) * b; }

static bool is_exact(range x) { return !x.any && !x.nan && x.low == x.high; }

/* Of numbers with a point: each operation is rounded. */
static range floored(int op, range a, range b, int type) {
  if (!is_exact(a) || !is_exact(b) || a.low == 0 || b.low == 0) return range_anything();
  if (type == DOUBLE) {
    volatile double whole = floor(a.low / b.low), part = whole * b.low;
    return range_exactly(op == EXPR_MODULO ? a.low - part : whole);
  }
  float x = (float)a.low, y = (float)b.low;
  volatile float quotient = x / y, whole = floorf(quotient), part = whole * y, rest = x - part;
  return range_exactly((double)(op == EXPR_MODULO ? rest : whole));
}

/* Of whole numbers, and of truth. */
static range bits_of(int op, range a, range b, int type) {
  if (!is_exact(a) || !is_exact(b)) return type == TRUTH ? range_of_truth(-1) : range_anything();
  int64_t x = (int64_t)a.low, y = (int64_t)b.low;
  int by = (int)(y & (type == WIDE_WHOLE ? 63 : 31));
  switch (op) {
  case EXPR_AND: return range_exactly((double)(x & y));
  case EXPR_OR: return range_exactly((double)(x | y));
  case EXPR_XOR: return range_exactly((double)(x ^ y));
  case EXPR_SHIFT_LEFT: return range_exactly(ldexp((double)x, by));
  default: return range_exactly((double)(x >> by));
  }
}

/* A number's bits as those of another type; anything where they are not known, as of a zero of
 * which the sign is not. */
static range same_bits(range x, int from, llrt_dtype to) {
  float single = (float)x.low;
  int32_t code;
  bool wide = from >= DOUBLE || from == WIDE_WHOLE || to == LLRT_F64 || to == LLRT_I64;
  if (!is_exact(x) || range_around_zero(x) || wide) return range_anything();
  if (to == LLRT_I32) {
    memcpy(&code, &single, sizeof code);
    return range_exactly(code);
  }
  code = (int32_t)x.low;
  memcpy(&single, &code, sizeof single);
  return range_exactly((double)single);
}

/* What a sum or product is, computed in double. */
static range computed(range x, int type) {
  return type < SINGLE ? range_whole(x) : range_rounded(x, type, 1);
}

static range inner(const reference *r, const expr_node *node, const int64_t *at, int type) {
  const expr_operator_row *row = expr_row_of(node->op);
  int of = row->typing == EXPR_TYPED_COMPARED ? meet(r, node, 0) : type;
  int64_t moved[AXES];
  if (row->family == EXPR_MOVE) {
    memcpy(moved, at, sizeof moved);
    moved[node->slot] =
        node->op == EXPR_FLIP ? r->extent[node->slot] - 1 - at[node->slot] : node->integer;
    return r->value[node->arg[0]][place_of(r, r->expr->node[node->arg[0]].axes, moved)];
  }
  if (node->op == EXPR_CAST) {
    bool literal = r->computes[node->arg[0]] == LITERAL_REAL && node->type != LLRT_F64;
    int from = literal || node->type == LLRT_E8M0 ? SINGLE : r->computes[node->arg[0]];
    range x = argument(r, node, 0, at, from);
    if (node->type == LLRT_BOOL) return range_of_truth(range_truth(x));
    return range_cast((llrt_dtype)node->type, x, node->rounding);
  }
  if (node->op == EXPR_BITCAST)
    return same_bits(argument(r, node, 0, at, r->computes[node->arg[0]]), r->computes[node->arg[0]],
                     (llrt_dtype)node->type);
  range a = argument(r, node, 0, at, of), b, c;
  if (node->n_args == 1) return range_function(node->op, a, type);
  b = argument(r, node, 1, at, of);
  if (row->typing == EXPR_TYPED_COMPARED) return range_compared(node->op, a, b);
  switch (node->op) {
  case EXPR_ADD: return computed(range_corners(range_plus, a, b), type);
  case EXPR_SUBTRACT: return computed(range_corners(range_minus, a, b), type);
  case EXPR_MULTIPLY: return computed(range_product(a, b), type);
  case EXPR_DIVIDE: return range_rounded(range_quotient(a, b), type, 1);
  case EXPR_MAXIMUM: return range_corners(range_larger, a, b);
  case EXPR_MINIMUM: return range_corners(range_smaller, a, b);
  case EXPR_FLOOR_DIVIDE:
  case EXPR_MODULO:
    if (type >= SINGLE) return floored(node->op, a, b, type);
    if (!is_exact(a) || !is_exact(b) || range_whole(a).any) return range_anything();
    return range_corners(node->op == EXPR_MODULO ? floor_rest : floor_quotient, a, b);
  case EXPR_XOR:
  case EXPR_SHIFT_LEFT:
  case EXPR_SHIFT_RIGHT: return bits_of(node->op, a, b, type);
  case EXPR_AND:
    if (type != TRUTH) return bits_of(node->op, a, b, type);
    return range_of_truth(range_truth(a) == 0 || range_truth(b) == 0 ? 0
                          : range_truth(a) < 0 || range_truth(b) < 0 ? -1
                                                                     : 1);
  case EXPR_OR:
    if (type != TRUTH) return bits_of(node->op, a, b, type);
    return range_of_truth(range_truth(a) == 1 || range_truth(b) == 1 ? 1
                          : range_truth(a) < 0 || range_truth(b) < 0 ? -1
                                                                     : 0);
  default: break;
  }
  c = argument(r, node, 2, at, of);
  if (node->op == EXPR_WHERE) return range_chosen(argument(r, node, 0, at, TRUTH), b, c);
  bool zeros = range_around_zero(a) || range_around_zero(b) || range_around_zero(c);
  if (is_exact(a) && is_exact(b) && is_exact(c) && !zeros) /* f64's product is not one in double */
    return computed(range_exactly(fma(a.low, b.low, c.low)), type);
  range ab = range_product(a, b);
  if (type == DOUBLE && !ab.any && !ab.nan && isfinite(ab.low) && isfinite(ab.high))
    ab = range_rounded(ab, type, 1);
  return computed(range_corners(range_plus, ab, c), type);
}

/* Node number i, of which the arguments are evaluated; narrow: its value may err (narrow_find). */
static void run_node(reference *r, int i, bool narrow) {
  const expr_node *node = &r->expr->node[i];
  int64_t n = count_of(r, node->axes), at[AXES];
  bool scans = expr_row_of(node->op)->family == EXPR_SCAN;
  for (int64_t k = 0; k < n; k++) {
    point_of(r, node->axes, k, at);
    range *out = &r->value[i][k];
    bool begins = true; /* a row */
    for (int a = 0; a < AXES && scans; a++) begins &= !(node->reduced >> a & 1) || at[a] == 0;
    if (scans && begins) scan_row(r, node, at, r->computes[i], r->value[i]);
    if (scans) continue;
    if (node->n_args == 0) *out = leaf(r, node, at);
    else if (node->reduced) *out = joined(r, node, at);
    else *out = inner(r, node, at, r->computes[i]);
    *out = one_zero(*out, r->computes[i]);
    if (narrow && r->computes[i] == SINGLE) *out = narrow_range(node->op, *out);
  }
}

void reference_run(reference *r) {
  bool narrow[LLRT_EXPR_MAX_NODES];
  narrow_find(r, narrow);
  for (int i = 0; i < r->expr->n_nodes; i++) {
    int64_t n = count_of(r, r->expr->node[i].axes);
    r->computes[i] = type_of(r, &r->expr->node[i]);
    r->value[i] = malloc((size_t)(n ? n : 1) * sizeof *r->value[i]);
    run_node(r, i, narrow[i]);
  }
}

void reference_fini(reference *r) {
  for (int i = 0; i < r->expr->n_nodes; i++) free(r->value[i]);
}
