/* Expression -> program: types, the operation's axes, tensors whose elements are taken elsewhere.
 */
#include "expression/program.h"

#include "base/bits.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

/* Types of literals, which take the other operand's. */
#define WEAK_INTEGER 254
#define WEAK_REAL 255

/* Where elements along some named axes are taken: what flip(x, p) and x[p=0] leave for the leaves.
 */
typedef struct moved {
  uint16_t flipped, taken;
  int8_t at[EXPR_MAX_AXES];
} moved;

/* A node of the expression under one `moved`, already made. */
typedef struct known {
  uint8_t source, node;
  moved where;
} known;

typedef struct maker {
  const llrt_expr *expr;
  const llrt_dtype *types;
  const int32_t *ranks;
  expr_program *out;
  int n_made;
  known made[PROGRAM_MAX_NODES * 2];
} maker;

llrt_dtype program_compute_type(llrt_dtype element) {
  switch (element) {
  case LLRT_F64: return LLRT_F64;
  case LLRT_F32:
  case LLRT_F16:
  case LLRT_BF16:
  case LLRT_E4M3:
  case LLRT_E5M2:
  case LLRT_E4M3FNUZ:
  case LLRT_E5M2FNUZ:
  case LLRT_E8M0:
  case LLRT_E2M1: return LLRT_F32;
  case LLRT_I64:
  case LLRT_U64:
  case LLRT_U32: return LLRT_I64;
  case LLRT_I32:
  case LLRT_I16:
  case LLRT_I8:
  case LLRT_I4:
  case LLRT_U16:
  case LLRT_U8:
  case LLRT_U4: return LLRT_I32;
  case LLRT_BOOL: return LLRT_BOOL;
  default: return LLRT_DTYPE_NONE;
  }
}

static bool is_real(int type) { return type == LLRT_F32 || type == LLRT_F64; }

static llrt_status refuse(const maker *m, int source, llrt_status status, const char *why) {
  const expr_node *node = &m->expr->node[source];
  return llrt_error(status, "%d:%d: %s", node->line, node->column, why);
}

/* ---- appending ---- */

static uint8_t axes_of(const maker *m, uint32_t named) {
  uint32_t leading = named >> EXPR_LEADING & 1 ? (uint32_t)bits_mask(m->out->leading) : 0;
  return (uint8_t)((named & bits_mask(m->expr->n_axes)) << m->out->leading | leading);
}

/* Of a tensor: "..." holds as many axes as it has, the last. */
static uint8_t axes_of_tensor(const maker *m, int tensor, uint32_t without) {
  const expr_tensor *own = &m->expr->tensor[tensor];
  uint8_t axes = axes_of(m, own->axes & ~without);
  int lacking = m->out->leading - (m->ranks[tensor] - own->n_dims);
  return own->leading ? (uint8_t)(axes & ~bits_mask(lacking)) : axes;
}

static llrt_status append(maker *m, int source, program_node node, int *number) {
  if (m->out->n_nodes == PROGRAM_MAX_NODES)
    return refuse(m, source, LLRT_UNSUPPORTED,
                  "more operations than a kernel has, casts between types counted");
  *number = m->out->n_nodes;
  m->out->node[m->out->n_nodes++] = node;
  return LLRT_OK;
}

/* A literal in the type that it is to have. */
static llrt_status settle(maker *m, int source, llrt_dtype type, int *number) {
  program_node *node = &m->out->node[*number];
  if (node->type != WEAK_INTEGER && node->type != WEAK_REAL) return LLRT_OK;
  double real;
  int64_t integer = (int64_t)node->bits;
  program_node settled = *node;
  memcpy(&real, &node->bits, sizeof real);
  if (node->type == WEAK_INTEGER) real = (double)integer;
  settled.op = EXPR_NUMBER;
  settled.type = settled.from = (uint8_t)type;
  if (type == LLRT_F64) memcpy(&settled.bits, &real, sizeof real);
  if (type == LLRT_F32) {
    float narrow = (float)real;
    uint32_t code;
    memcpy(&code, &narrow, sizeof code);
    settled.bits = code;
  }
  if (type == LLRT_I32 && integer != (int32_t)integer)
    return refuse(m, source, LLRT_INVALID_ARGUMENT,
                  "an integer beyond 32 bits beside a value of type i32");
  if (type == LLRT_I32) settled.bits = (uint32_t)integer;
  if (type == LLRT_BOOL) settled.bits = integer != 0;
  return append(m, source, settled, number);
}

/* The value as `type`. */
static llrt_status convert(maker *m, int source, llrt_dtype type, int *number) {
  LLRT_TRY(settle(m, source, type, number));
  const program_node *node = &m->out->node[*number];
  if (node->type == type) return LLRT_OK;
  program_node cast = {.op = EXPR_CAST,
                       .type = (uint8_t)type,
                       .from = node->type,
                       .n_args = 1,
                       .arg = {(uint8_t)*number},
                       .axes = node->axes};
  if (type == LLRT_I64 && is_real(node->type))
    return refuse(m, source, LLRT_UNSUPPORTED,
                  "this version casts no f32 or f64 to a 64-bit integer");
  return append(m, source, cast, number);
}

/* The type of a value that is used by itself. */
static llrt_dtype own_type(const maker *m, int number) {
  const program_node *node = &m->out->node[number];
  if (node->type == WEAK_REAL) return LLRT_F32;
  if (node->type != WEAK_INTEGER) return (llrt_dtype)node->type;
  int64_t integer = (int64_t)node->bits;
  return integer == (int32_t)integer ? LLRT_I32 : LLRT_I64;
}

/* ---- types ---- */

static int rank_of(int type) {
  switch (type) {
  case LLRT_BOOL: return 1;
  case LLRT_I32: return 2;
  case LLRT_I64: return 3;
  case LLRT_F32: return 4;
  case LLRT_F64: return 5;
  default: return 0;
  }
}

/* The type that values [0, n) meet in; literals follow the others, reals among integers make f32.
 */
static llrt_dtype common_type(const maker *m, const int *value, int n) {
  int best = LLRT_DTYPE_NONE;
  bool real = false;
  for (int i = 0; i < n; i++) {
    int type = m->out->node[value[i]].type;
    real |= type == WEAK_REAL;
    if (type == WEAK_REAL || type == WEAK_INTEGER) continue;
    if (rank_of(type) > rank_of(best)) best = type;
  }
  for (int i = 0; i < n && best == LLRT_DTYPE_NONE; i++) {
    llrt_dtype own = own_type(m, value[i]);
    if (rank_of(own) > rank_of(best)) best = own;
  }
  return real && !is_real(best) ? LLRT_F32 : (llrt_dtype)best;
}

static llrt_status convert_all(maker *m, int source, llrt_dtype type, int *value, int n) {
  for (int i = 0; i < n; i++) LLRT_TRY(convert(m, source, type, &value[i]));
  return LLRT_OK;
}

static bool narrow_type(llrt_dtype type) {
  return type == LLRT_F16 || type == LLRT_BF16 || type == LLRT_E4M3 || type == LLRT_E5M2 ||
         type == LLRT_E4M3FNUZ || type == LLRT_E5M2FNUZ || type == LLRT_E2M1 || type == LLRT_I16 ||
         type == LLRT_I8 || type == LLRT_I4 || type == LLRT_U16 || type == LLRT_U8 ||
         type == LLRT_U4;
}

/* bf16(x): the nearest of that type, and on in the type that it computes in. */
static llrt_status cast_node(maker *m, int source, int value, program_node *node, int *number) {
  const expr_node *from = &m->expr->node[source];
  llrt_dtype to = (llrt_dtype)from->type, computes = program_compute_type(to);
  LLRT_TRY(settle(m, source, own_type(m, value), &value));
  node->from = m->out->node[value].type;
  if (from->op == EXPR_BITCAST) {
    bool same =
        (node->from == LLRT_F32 && to == LLRT_I32) || (node->from == LLRT_I32 && to == LLRT_F32) ||
        (node->from == LLRT_F64 && to == LLRT_I64) || (node->from == LLRT_I64 && to == LLRT_F64);
    if (!same)
      return refuse(m, source, LLRT_UNSUPPORTED,
                    "bitcast is between f32 and i32, or between f64 and i64");
    node->type = (uint8_t)to;
    node->arg[0] = (uint8_t)value;
    return append(m, source, *node, number);
  }
  if (computes == LLRT_DTYPE_NONE || to == LLRT_U32 || to == LLRT_U64)
    return refuse(m, source, LLRT_UNSUPPORTED, "there is no cast of a value to this type");
  if (to == LLRT_E8M0) {
    LLRT_TRY(convert(m, source, LLRT_F32, &value));
    node->from = node->type = LLRT_F32;
    node->through = LLRT_E8M0;
    node->rounding = from->rounding;
    node->arg[0] = (uint8_t)value;
    return append(m, source, *node, number);
  }
  if (to == LLRT_BOOL && node->from != LLRT_BOOL) {
    int both[2] = {value, 0};
    program_node zero = {.op = EXPR_INTEGER, .type = WEAK_INTEGER};
    LLRT_TRY(append(m, source, zero, &both[1]));
    LLRT_TRY(convert(m, source, (llrt_dtype)node->from, &both[1]));
    *node = (program_node){.op = EXPR_UNEQUAL,
                           .type = LLRT_BOOL,
                           .from = node->from,
                           .n_args = 2,
                           .arg = {(uint8_t)both[0], (uint8_t)both[1]},
                           .axes = node->axes};
    return append(m, source, *node, number);
  }
  if (!narrow_type(to)) {
    *number = value;
    return convert(m, source, computes, number);
  }
  if (node->from == LLRT_BOOL) LLRT_TRY(convert(m, source, LLRT_I32, &value));
  if (m->out->node[value].type == LLRT_I64) LLRT_TRY(convert(m, source, LLRT_I32, &value));
  node->from = m->out->node[value].type;
  node->type = (uint8_t)computes;
  node->through = (uint8_t)to;
  node->arg[0] = (uint8_t)value;
  return append(m, source, *node, number);
}

/* Literals are joined by themselves, so that 1 / 3 beside an f64 is one of that. */
static bool all_weak(const maker *m, const int *value, int n) {
  bool weak = n > 0;
  for (int i = 0; i < n; i++)
    weak &= m->out->node[value[i]].type == WEAK_INTEGER || m->out->node[value[i]].type == WEAK_REAL;
  return weak;
}

/* -1 of a literal is one. */
static llrt_status negate_literal(maker *m, int source, int value, int *number) {
  program_node node = m->out->node[value];
  double real;
  memcpy(&real, &node.bits, sizeof real);
  real = -real;
  if (node.type == WEAK_REAL) memcpy(&node.bits, &real, sizeof real);
  else node.bits = 0 - node.bits;
  return append(m, source, node, number);
}

/* Functions that this version has, in f32 or in both. */
static llrt_status check_function(const maker *m, int source, llrt_dtype type) {
  const expr_node *node = &m->expr->node[source];
  const char *name = expr_row_of(node->op)->text;
  bool none = node->op == EXPR_SIN || node->op == EXPR_COS;
  if (none)
    return llrt_error(LLRT_UNSUPPORTED, "%d:%d: %s: this version has no such function", node->line,
                      node->column, name);
  if (node->op < EXPR_EXP || node->op > EXPR_GELU || type == LLRT_F32) return LLRT_OK;
  return llrt_error(LLRT_UNSUPPORTED, "%d:%d: %s of f64: this version has it in f32", node->line,
                    node->column, name);
}

static llrt_status typed_node(maker *m, int source, int *value, program_node node, int *number) {
  const expr_node *from = &m->expr->node[source];
  const expr_operator_row *row = expr_row_of(from->op);
  int first = row->typing == EXPR_TYPED_CHOICE;
  llrt_dtype type = common_type(m, value + first, node.n_args - first);
  switch ((expr_typing)row->typing) {
  case EXPR_TYPED_NUMBERS:
    if (type == LLRT_BOOL) type = LLRT_I32;
    break;
  case EXPR_TYPED_REALS:
    if (!is_real(type)) type = LLRT_F32;
    LLRT_TRY(check_function(m, source, type));
    break;
  case EXPR_TYPED_INTEGERS:
    if (is_real(type))
      return refuse(m, source, LLRT_INVALID_ARGUMENT,
                    "an operation on bits, of a real: bitcast makes an integer of it");
    bool arithmetic = from->op == EXPR_SHIFT_LEFT || from->op == EXPR_SHIFT_RIGHT;
    if (type == LLRT_BOOL && arithmetic) type = LLRT_I32;
    break;
  case EXPR_TYPED_COUNT:
    if (type == LLRT_BOOL) type = LLRT_I32;
    break;
  case EXPR_TYPED_TRUTH: type = LLRT_BOOL; break;
  default: break;
  }
  if (first) {
    LLRT_TRY(settle(m, source, own_type(m, value[0]), &value[0]));
    if (m->out->node[value[0]].type != LLRT_BOOL)
      return refuse(m, source, LLRT_INVALID_ARGUMENT,
                    "where: the condition is a number: compare it");
  }
  LLRT_TRY(convert_all(m, source, type, value + first, node.n_args - first));
  node.from = node.type = (uint8_t)type;
  if (row->typing == EXPR_TYPED_COMPARED) node.type = LLRT_BOOL;
  if (row->typing == EXPR_TYPED_COUNT) node.type = LLRT_I32;
  for (int i = 0; i < node.n_args; i++) node.arg[i] = (uint8_t)value[i];
  return append(m, source, node, number);
}

/* Truth of anything: whether it is not zero. */
static llrt_status as_truth(maker *m, int source, int *value) {
  program_node zero = {.op = EXPR_INTEGER, .type = WEAK_INTEGER}, unequal;
  int other;
  LLRT_TRY(settle(m, source, own_type(m, *value), value));
  const program_node *node = &m->out->node[*value];
  if (node->type == LLRT_BOOL) return LLRT_OK;
  unequal = (program_node){.op = EXPR_UNEQUAL,
                           .type = LLRT_BOOL,
                           .from = node->type,
                           .n_args = 2,
                           .arg = {(uint8_t)*value},
                           .axes = node->axes};
  LLRT_TRY(append(m, source, zero, &other));
  LLRT_TRY(convert(m, source, (llrt_dtype)unequal.from, &other));
  unequal.arg[1] = (uint8_t)other;
  return append(m, source, unequal, value);
}

/* ---- leaves ---- */

static bool same_moved(const moved *a, const moved *b) {
  return a->flipped == b->flipped && a->taken == b->taken &&
         memcmp(a->at, b->at, sizeof a->at) == 0;
}

/* The operation's tensor of an input with elements taken so. */
static llrt_status find_tensor(maker *m, int source, int tensor, const moved *where, int *number) {
  expr_program *out = m->out;
  for (int t = 0; t < out->n_tensors; t++) {
    const program_tensor *there = &out->tensor[t];
    moved own = {.flipped = there->flipped, .taken = there->taken};
    memcpy(own.at, there->at, sizeof own.at);
    if (there->output || there->tensor != tensor || !same_moved(&own, where)) continue;
    *number = t;
    return LLRT_OK;
  }
  if (out->n_tensors == PROGRAM_MAX_TENSORS)
    return refuse(m, source, LLRT_UNSUPPORTED, "more than 16 tensors, flipped ones counted");
  *number = out->n_tensors++;
  program_tensor *added = &out->tensor[*number];
  *added = (program_tensor){.tensor = (uint8_t)tensor,
                            .axes = axes_of_tensor(m, tensor, where->taken),
                            .flipped = where->flipped,
                            .taken = where->taken};
  memcpy(added->at, where->at, sizeof added->at);
  return LLRT_OK;
}

static llrt_status tensor_node(maker *m, int source, const moved *where, int *number) {
  const expr_node *from = &m->expr->node[source];
  llrt_dtype type = m->types[from->slot];
  int tensor;
  moved own = {.flipped = where->flipped & from->axes, .taken = where->taken & from->axes};
  for (int a = 0; a < EXPR_MAX_AXES; a++)
    if (own.taken >> a & 1) own.at[a] = where->at[a];
  if (!program_compute_type(type))
    return refuse(m, source, LLRT_UNSUPPORTED,
                  "the tensor's elements are of a type that has no numbers");
  LLRT_TRY(find_tensor(m, source, from->slot, &own, &tensor));
  program_node node = {.op = EXPR_TENSOR,
                       .type = (uint8_t)program_compute_type(type),
                       .from = (uint8_t)type,
                       .slot = (uint8_t)tensor,
                       .axes = m->out->tensor[tensor].axes};
  return append(m, source, node, number);
}

/* A position, or what a flipped or taken one is. */
static llrt_status position_node(maker *m, int source, const moved *where, int *number) {
  const expr_node *from = &m->expr->node[source];
  int axis = from->slot;
  program_node node = {.op = EXPR_POSITION,
                       .type = LLRT_I32,
                       .from = LLRT_I32,
                       .slot = (uint8_t)(m->out->leading + axis),
                       .axes = axes_of(m, 1u << axis)};
  if (where->taken >> axis & 1) {
    node = (program_node){.op = EXPR_NUMBER, .type = LLRT_I32, .from = LLRT_I32};
    node.bits = (uint64_t)where->at[axis];
    return append(m, source, node, number);
  }
  LLRT_TRY(append(m, source, node, number));
  if (!(where->flipped >> axis & 1)) return LLRT_OK;
  int position = *number, last;
  program_node end = {.op = EXPR_NUMBER, .type = LLRT_I32, .from = LLRT_I32};
  end.bits = (uint64_t)(m->expr->axis[axis].extent - 1);
  LLRT_TRY(append(m, source, end, &last));
  program_node back = {.op = EXPR_SUBTRACT,
                       .type = LLRT_I32,
                       .from = LLRT_I32,
                       .n_args = 2,
                       .arg = {(uint8_t)last, (uint8_t)position},
                       .axes = node.axes};
  return append(m, source, back, number);
}

static llrt_status leaf_node(maker *m, int source, const moved *where, int *number) {
  const expr_node *from = &m->expr->node[source];
  program_node node = {.op = EXPR_NUMBER};
  switch (from->op) {
  case EXPR_TENSOR: return tensor_node(m, source, where, number);
  case EXPR_POSITION: return position_node(m, source, where, number);
  case EXPR_SCALAR:
    node.op = EXPR_SCALAR;
    node.slot = from->slot;
    node.type = node.from = m->expr->scalar[from->slot].dtype;
    break;
  case EXPR_INTEGER:
    node.type = WEAK_INTEGER;
    node.bits = (uint64_t)from->integer;
    break;
  default:
    node.type = WEAK_REAL;
    memcpy(&node.bits, &from->number, sizeof node.bits);
    break;
  }
  return append(m, source, node, number);
}

/* ---- nodes ---- */

/* What is left of `where` for a value that does not vary along some axes. */
static moved narrowed(const moved *where, uint32_t axes) {
  moved own = {.flipped = (uint16_t)(where->flipped & axes),
               .taken = (uint16_t)(where->taken & axes)};
  for (int a = 0; a < EXPR_MAX_AXES; a++)
    if (own.taken >> a & 1) own.at[a] = where->at[a];
  return own;
}

static moved with_move(const moved *where, const expr_node *move) {
  moved inner = *where;
  uint16_t axis = (uint16_t)(1u << move->slot);
  if (move->op == EXPR_FLIP && where->taken & axis)
    inner.at[move->slot] = (int8_t)(-1 - where->at[move->slot]); /* resolved below */
  else if (move->op == EXPR_FLIP) inner.flipped ^= axis;
  else {
    inner.flipped &= (uint16_t)~axis;
    inner.taken |= axis;
    inner.at[move->slot] = (int8_t)move->integer;
  }
  return inner;
}

static llrt_status make_node(maker *m, int source, const moved *outer, int *number);

static llrt_status make_move(maker *m, int source, const moved *where, int *number) {
  const expr_node *node = &m->expr->node[source];
  moved inner = with_move(where, node);
  if (inner.taken >> node->slot & 1 && inner.at[node->slot] < 0)
    inner.at[node->slot] = (int8_t)(m->expr->axis[node->slot].extent + inner.at[node->slot]);
  return make_node(m, node->arg[0], &inner, number);
}

static llrt_status make_inner(maker *m, int source, const moved *where, int *number) {
  const expr_node *from = &m->expr->node[source];
  const expr_operator_row *row = expr_row_of(from->op);
  int value[3] = {0, 0, 0};
  if (row->family == EXPR_LEAF) return leaf_node(m, source, where, number);
  if (row->family == EXPR_MOVE) return make_move(m, source, where, number);
  program_node node = {.op = from->op, .n_args = from->n_args};
  for (int i = 0; i < from->n_args; i++) {
    LLRT_TRY(make_node(m, from->arg[i], where, &value[i]));
    node.axes |= m->out->node[value[i]].axes;
  }
  if (from->op == EXPR_NEGATE && all_weak(m, value, 1))
    return negate_literal(m, source, value[0], number);
  if (row->family == EXPR_REDUCE) {
    node.reduced = axes_of(m, from->reduced);
    m->out->reduced |= node.reduced;
    node.axes &= (uint8_t)~node.reduced;
  }
  if (row->typing == EXPR_TYPED_TRUTH) LLRT_TRY(as_truth(m, source, &value[0]));
  if (row->typing == EXPR_TYPED_CAST) return cast_node(m, source, value[0], &node, number);
  return typed_node(m, source, value, node, number);
}

static llrt_status make_node(maker *m, int source, const moved *outer, int *number) {
  const moved where =
      narrowed(outer, m->expr->node[source].axes |
                          (expr_row_of(m->expr->node[source].op)->family == EXPR_MOVE
                               ? 1u << m->expr->node[source].slot
                               : 0));
  for (int i = 0; i < m->n_made; i++)
    if (m->made[i].source == source && same_moved(&m->made[i].where, &where)) {
      *number = m->made[i].node;
      return LLRT_OK;
    }
  LLRT_TRY(make_inner(m, source, &where, number));
  if (m->n_made < (int)(sizeof m->made / sizeof *m->made))
    m->made[m->n_made++] =
        (known){.source = (uint8_t)source, .node = (uint8_t)*number, .where = where};
  return LLRT_OK;
}

/* ---- outputs ---- */

/* The value as the type that its store casts from: bits of 64-bit integers go as they are. */
static llrt_status store_type(maker *m, int source, llrt_dtype to, int *value) {
  llrt_dtype computes = program_compute_type(to);
  LLRT_TRY(settle(m, source, own_type(m, *value), value));
  llrt_dtype type = (llrt_dtype)m->out->node[*value].type;
  if (!computes)
    return refuse(m, source, LLRT_UNSUPPORTED,
                  "the output's elements are of a type that has no numbers");
  if (to == LLRT_BOOL) return as_truth(m, source, value);
  if (type == LLRT_BOOL) LLRT_TRY(convert(m, source, LLRT_I32, value));
  if (to == LLRT_I64 || to == LLRT_U64) return convert(m, source, LLRT_I64, value);
  if (to == LLRT_U32 && type == LLRT_I64)
    return refuse(m, source, LLRT_UNSUPPORTED, "this version stores no 64-bit integers as u32");
  if (m->out->node[*value].type == LLRT_I64)
    return convert(m, source, is_real(computes) ? LLRT_F32 : LLRT_I32, value);
  if (to == LLRT_E8M0) {
    LLRT_TRY(convert(m, source, LLRT_F32, value));
    if (m->out->node[*value].through == LLRT_E8M0) return LLRT_OK;
    program_node power = {.op = EXPR_CAST,
                          .type = LLRT_F32,
                          .from = LLRT_F32,
                          .n_args = 1,
                          .arg = {(uint8_t)*value},
                          .through = LLRT_E8M0,
                          .axes = m->out->node[*value].axes};
    return append(m, source, power, value);
  }
  return LLRT_OK;
}

static llrt_status make_output(maker *m, int tensor) {
  static const moved nowhere = {0};
  expr_program *out = m->out;
  const expr_tensor *from = &m->expr->tensor[tensor];
  int node;
  llrt_dtype to = m->types[tensor];
  LLRT_TRY(make_node(m, from->node, &nowhere, &node));
  LLRT_TRY(store_type(m, from->node, to, &node));
  if (out->node[node].axes & ~axes_of_tensor(m, tensor, 0))
    return refuse(m, from->node, LLRT_INVALID_ARGUMENT,
                  "the output lacks an axis along which its value varies");
  if (out->n_tensors == PROGRAM_MAX_TENSORS)
    return refuse(m, from->node, LLRT_UNSUPPORTED, "more than 16 tensors, flipped ones counted");
  out->tensor[out->n_tensors++] = (program_tensor){.tensor = (uint8_t)tensor,
                                                   .axes = axes_of_tensor(m, tensor, 0),
                                                   .output = true,
                                                   .node = (uint8_t)node,
                                                   .store = (uint8_t)to};
  return LLRT_OK;
}

/* The operation's tensor 0 is an input. Where no value uses a tensor, it is the first output as it
 * lies, of which nothing is read. */
static llrt_status add_unread(expr_program *out) {
  if (out->n_tensors == PROGRAM_MAX_TENSORS)
    return llrt_error(LLRT_UNSUPPORTED, "1:1: more than 15 outputs, of which none uses a tensor");
  program_tensor *added = &out->tensor[out->n_tensors++];
  *added = out->tensor[0];
  added->output = false;
  added->node = 0;
  return LLRT_OK;
}

static int first_tensor(const expr_program *out, bool output) {
  int t = 0;
  while (t < out->n_tensors && out->tensor[t].output != output) t++;
  return t;
}

/* The first input becomes the operation's tensor 0, the first output its tensor 1; the others
 * follow in their order. */
static llrt_status order_tensors(expr_program *out) {
  program_tensor before[PROGRAM_MAX_TENSORS];
  uint8_t number[PROGRAM_MAX_TENSORS];
  if (first_tensor(out, false) == out->n_tensors) LLRT_TRY(add_unread(out));
  int input = first_tensor(out, false), output = first_tensor(out, true);
  uint8_t next = 2;
  memcpy(before, out->tensor, sizeof before);
  for (int t = 0; t < out->n_tensors; t++) {
    number[t] = t == input ? 0 : t == output ? 1 : next++;
    out->tensor[number[t]] = before[t];
  }
  for (int i = 0; i < out->n_nodes; i++)
    if (out->node[i].op == EXPR_TENSOR) out->node[i].slot = number[out->node[i].slot];
  return LLRT_OK;
}

/* ---- the whole ---- */

static llrt_status count_axes(const llrt_expr *expr, const int32_t *ranks, expr_program *out) {
  for (int t = 0; t < expr->n_tensors; t++) {
    const expr_tensor *tensor = &expr->tensor[t];
    int more = ranks[t] - tensor->n_dims;
    LLRT_REQUIRE(tensor->leading ? more >= 0 : more == 0, "%s has rank %d, in the expression %d%s",
                 tensor->name, ranks[t], tensor->n_dims, tensor->leading ? " or more" : "");
    if (more > out->leading) out->leading = more;
  }
  out->rank = out->leading + expr->n_axes;
  if (out->rank > LLRT_MAX_RANK)
    return llrt_error(LLRT_UNSUPPORTED, "1:1: %d axes, more than %d", out->rank, LLRT_MAX_RANK);
  return LLRT_OK;
}

llrt_status program_make(const llrt_expr *expr, const llrt_dtype *types, const int32_t *ranks,
                         expr_program *out) {
  maker m = {.expr = expr, .types = types, .ranks = ranks, .out = out};
  memset(out, 0, sizeof *out);
  LLRT_TRY(count_axes(expr, ranks, out));
  out->n_scalars = expr->n_scalars;
  for (int i = 0; i < expr->n_scalars; i++) out->scalar[i] = expr->scalar[i].dtype;
  for (int t = expr->n_inputs; t < expr->n_tensors; t++)
    LLRT_REQUIRE(!expr->tensor[t].dtype || types[t] == (llrt_dtype)expr->tensor[t].dtype,
                 "%s is %s, in the expression %s", expr->tensor[t].name, llrt_dtype_name(types[t]),
                 llrt_dtype_name((llrt_dtype)expr->tensor[t].dtype));
  for (int t = expr->n_inputs; t < expr->n_tensors; t++) LLRT_TRY(make_output(&m, t));
  return order_tensors(out);
}
