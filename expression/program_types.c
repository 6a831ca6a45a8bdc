/* Expression -> program: the types of nodes, and casts between them. */
#include "expression/program_maker.h"

#include "base/bits.h"
#include "base/status.h"

#include <string.h>

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

bool program_is_real(int type) { return type == LLRT_F32 || type == LLRT_F64; }

llrt_status program_refuse(const program_maker *m, int source, llrt_status status,
                           const char *why) {
  const expr_node *node = &m->expr->node[source];
  return llrt_error(status, "%d:%d: %s", node->line, node->column, why);
}

/* ---- appending ---- */

uint8_t program_axes(const program_maker *m, uint32_t named) {
  uint32_t leading = named >> EXPR_LEADING & 1 ? (uint32_t)bits_mask(m->out->leading) : 0;
  return (uint8_t)((named & bits_mask(m->expr->n_axes)) << m->out->leading | leading);
}

/* Of a tensor: "..." holds as many axes as it has, the last. */
uint8_t program_tensor_axes(const program_maker *m, int tensor, uint32_t without) {
  const expr_tensor *own = &m->expr->tensor[tensor];
  uint8_t axes = program_axes(m, own->axes & ~without);
  int lacking = m->out->leading - (m->ranks[tensor] - own->n_dims);
  return own->leading ? (uint8_t)(axes & ~bits_mask(lacking)) : axes;
}

llrt_status program_append(program_maker *m, int source, program_node node, int *number) {
  if (m->out->n_nodes == PROGRAM_MAX_NODES)
    return program_refuse(m, source, LLRT_UNSUPPORTED,
                          "more operations than a kernel has, casts between types counted");
  *number = m->out->n_nodes;
  m->out->node[m->out->n_nodes++] = node;
  return LLRT_OK;
}

/* A literal in the type that it is to have. */
llrt_status program_settle(program_maker *m, int source, llrt_dtype type, int *number) {
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
    return program_refuse(m, source, LLRT_INVALID_ARGUMENT,
                          "an integer beyond 32 bits beside a value of type i32");
  if (type == LLRT_I32) settled.bits = (uint32_t)integer;
  if (type == LLRT_BOOL) settled.bits = integer != 0;
  return program_append(m, source, settled, number);
}

/* The value as `type`. */
llrt_status program_convert(program_maker *m, int source, llrt_dtype type, int *number) {
  LLRT_TRY(program_settle(m, source, type, number));
  const program_node *node = &m->out->node[*number];
  if (node->type == type) return LLRT_OK;
  program_node cast = {.op = EXPR_CAST,
                       .type = (uint8_t)type,
                       .from = node->type,
                       .n_args = 1,
                       .arg = {(uint8_t)*number},
                       .axes = node->axes};
  if (type == LLRT_I64 && program_is_real(node->type))
    return program_refuse(m, source, LLRT_UNSUPPORTED,
                          "this version casts no f32 or f64 to a 64-bit integer");
  return program_append(m, source, cast, number);
}

/* The type of a value that is used by itself. */
llrt_dtype program_own_type(const program_maker *m, int number) {
  const program_node *node = &m->out->node[number];
  if (node->type == WEAK_REAL) return LLRT_F32;
  if (node->type != WEAK_INTEGER) return (llrt_dtype)node->type;
  int64_t integer = (int64_t)node->bits;
  return integer == (int32_t)integer ? LLRT_I32 : LLRT_I64;
}

llrt_dtype program_literal_type(const program_maker *m, int number, llrt_dtype to) {
  bool real = m->out->node[number].type == WEAK_REAL;
  return real && to == LLRT_F64 ? LLRT_F64 : program_own_type(m, number);
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
 * Truth beside a whole literal that is neither 0 nor 1 is a number. */
static llrt_dtype common_type(const program_maker *m, const int *value, int n) {
  int best = LLRT_DTYPE_NONE;
  bool real = false, number = false;
  for (int i = 0; i < n; i++) {
    int type = m->out->node[value[i]].type;
    real |= type == WEAK_REAL;
    number |= type == WEAK_INTEGER && m->out->node[value[i]].bits > 1;
    if (type == WEAK_REAL || type == WEAK_INTEGER) continue;
    if (rank_of(type) > rank_of(best)) best = type;
  }
  for (int i = 0; i < n && best == LLRT_DTYPE_NONE; i++) {
    llrt_dtype own = program_own_type(m, value[i]);
    if (rank_of(own) > rank_of(best)) best = own;
  }
  if (best == LLRT_BOOL && number) best = LLRT_I32;
  return real && !program_is_real(best) ? LLRT_F32 : (llrt_dtype)best;
}

static llrt_status convert_all(program_maker *m, int source, llrt_dtype type, int *value, int n) {
  for (int i = 0; i < n; i++) LLRT_TRY(program_convert(m, source, type, &value[i]));
  return LLRT_OK;
}

static bool narrow_type(llrt_dtype type) {
  return type == LLRT_F16 || type == LLRT_BF16 || type == LLRT_E4M3 || type == LLRT_E5M2 ||
         type == LLRT_E4M3FNUZ || type == LLRT_E5M2FNUZ || type == LLRT_E2M1 || type == LLRT_I16 ||
         type == LLRT_I8 || type == LLRT_I4 || type == LLRT_U16 || type == LLRT_U8 ||
         type == LLRT_U4;
}

/* Narrow types but bf16 end below 2^31: an i32 that has saturated does so again in them, or
 * overflows. An f64 has all integers up to 2^53, which are thus rounded once. */
llrt_dtype program_type_before(llrt_dtype to) {
  if (to == LLRT_BF16 || to == LLRT_F64) return LLRT_F64;
  return program_is_real(program_compute_type(to)) && !narrow_type(to) ? LLRT_F32 : LLRT_I32;
}

/* bf16(x): the nearest of that type, and on in the type that it computes in. */
llrt_status program_cast_node(program_maker *m, int source, int value, program_node *node,
                              int *number) {
  const expr_node *from = &m->expr->node[source];
  llrt_dtype to = (llrt_dtype)from->type, computes = program_compute_type(to);
  LLRT_TRY(program_settle(m, source,
                          from->op == EXPR_CAST ? program_literal_type(m, value, to)
                                                : program_own_type(m, value),
                          &value));
  node->from = m->out->node[value].type;
  if (from->op == EXPR_BITCAST) {
    bool same =
        (node->from == LLRT_F32 && to == LLRT_I32) || (node->from == LLRT_I32 && to == LLRT_F32) ||
        (node->from == LLRT_F64 && to == LLRT_I64) || (node->from == LLRT_I64 && to == LLRT_F64);
    if (!same)
      return program_refuse(m, source, LLRT_UNSUPPORTED,
                            "bitcast is between f32 and i32, or between f64 and i64");
    node->type = (uint8_t)to;
    node->arg[0] = (uint8_t)value;
    return program_append(m, source, *node, number);
  }
  if (computes == LLRT_DTYPE_NONE || to == LLRT_U32 || to == LLRT_U64)
    return program_refuse(m, source, LLRT_UNSUPPORTED, "there is no cast of a value to this type");
  if (to == LLRT_E8M0) {
    LLRT_TRY(program_convert(m, source, LLRT_F32, &value));
    node->from = node->type = LLRT_F32;
    node->through = LLRT_E8M0;
    node->rounding = from->rounding;
    node->arg[0] = (uint8_t)value;
    return program_append(m, source, *node, number);
  }
  if (to == LLRT_BOOL && node->from != LLRT_BOOL) {
    int both[2] = {value, 0};
    program_node zero = {.op = EXPR_INTEGER, .type = WEAK_INTEGER};
    LLRT_TRY(program_append(m, source, zero, &both[1]));
    LLRT_TRY(program_convert(m, source, (llrt_dtype)node->from, &both[1]));
    *node = (program_node){.op = EXPR_UNEQUAL,
                           .type = LLRT_BOOL,
                           .from = node->from,
                           .n_args = 2,
                           .arg = {(uint8_t)both[0], (uint8_t)both[1]},
                           .axes = node->axes};
    return program_append(m, source, *node, number);
  }
  if (!narrow_type(to)) {
    *number = value;
    return program_convert(m, source, computes, number);
  }
  if (node->from == LLRT_BOOL) LLRT_TRY(program_convert(m, source, LLRT_I32, &value));
  if (m->out->node[value].type == LLRT_I64)
    LLRT_TRY(program_convert(m, source, program_type_before(to), &value));
  node->from = m->out->node[value].type;
  node->type = (uint8_t)computes;
  node->through = (uint8_t)to;
  node->arg[0] = (uint8_t)value;
  return program_append(m, source, *node, number);
}

/* Literals are joined by themselves, so that 1 / 3 beside an f64 is one of that. */
bool program_all_weak(const program_maker *m, const int *value, int n) {
  bool weak = n > 0;
  for (int i = 0; i < n; i++)
    weak &= m->out->node[value[i]].type == WEAK_INTEGER || m->out->node[value[i]].type == WEAK_REAL;
  return weak;
}

/* -1 of a literal is one. */
llrt_status program_negate_literal(program_maker *m, int source, int value, int *number) {
  program_node node = m->out->node[value];
  double real;
  memcpy(&real, &node.bits, sizeof real);
  real = -real;
  if (node.type == WEAK_REAL) memcpy(&node.bits, &real, sizeof real);
  else node.bits = 0 - node.bits;
  return program_append(m, source, node, number);
}

/* Functions of f32 alone. */
static llrt_status check_function(const program_maker *m, int source, llrt_dtype type) {
  const expr_node *node = &m->expr->node[source];
  const char *name = expr_row_of(node->op)->text;
  if (node->op < EXPR_EXP || node->op > EXPR_GELU || type == LLRT_F32) return LLRT_OK;
  return llrt_error(LLRT_UNSUPPORTED, "%d:%d: %s of f64: this version has it in f32", node->line,
                    node->column, name);
}

llrt_status program_typed_node(program_maker *m, int source, int *value, program_node node,
                               int *number) {
  const expr_node *from = &m->expr->node[source];
  const expr_operator_row *row = expr_row_of(from->op);
  int first = row->typing == EXPR_TYPED_CHOICE;
  llrt_dtype type = common_type(m, value + first, node.n_args - first);
  switch ((expr_typing)row->typing) {
  case EXPR_TYPED_NUMBERS:
    if (type == LLRT_BOOL) type = LLRT_I32;
    break;
  case EXPR_TYPED_REALS:
    if (!program_is_real(type)) type = LLRT_F32;
    LLRT_TRY(check_function(m, source, type));
    break;
  case EXPR_TYPED_INTEGERS:
    if (program_is_real(type))
      return program_refuse(m, source, LLRT_INVALID_ARGUMENT,
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
    LLRT_TRY(program_settle(m, source, program_own_type(m, value[0]), &value[0]));
    if (m->out->node[value[0]].type != LLRT_BOOL)
      return program_refuse(m, source, LLRT_INVALID_ARGUMENT,
                            "where: the condition is a number: compare it");
  }
  LLRT_TRY(convert_all(m, source, type, value + first, node.n_args - first));
  node.from = node.type = (uint8_t)type;
  if (row->typing == EXPR_TYPED_COMPARED) node.type = LLRT_BOOL;
  if (row->typing == EXPR_TYPED_COUNT) node.type = LLRT_I32;
  for (int i = 0; i < node.n_args; i++) node.arg[i] = (uint8_t)value[i];
  return program_append(m, source, node, number);
}

/* Truth of anything: whether it is not zero. */
llrt_status program_as_truth(program_maker *m, int source, int *value) {
  program_node zero = {.op = EXPR_INTEGER, .type = WEAK_INTEGER}, unequal;
  int other;
  LLRT_TRY(program_settle(m, source, program_own_type(m, *value), value));
  const program_node *node = &m->out->node[*value];
  if (node->type == LLRT_BOOL) return LLRT_OK;
  unequal = (program_node){.op = EXPR_UNEQUAL,
                           .type = LLRT_BOOL,
                           .from = node->type,
                           .n_args = 2,
                           .arg = {(uint8_t)*value},
                           .axes = node->axes};
  LLRT_TRY(program_append(m, source, zero, &other));
  LLRT_TRY(program_convert(m, source, (llrt_dtype)unequal.from, &other));
  unequal.arg[1] = (uint8_t)other;
  return program_append(m, source, unequal, value);
}
