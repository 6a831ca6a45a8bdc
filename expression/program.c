/* Expression -> program: the operation's axes, tensors whose elements are taken elsewhere, outputs.
 */
#include "expression/program_maker.h"

#include "base/bits.h"
#include "base/status.h"

#include <string.h>

/* ---- leaves ---- */

static bool same_moved(const moved *a, const moved *b) {
  return a->flipped == b->flipped && a->taken == b->taken &&
         memcmp(a->at, b->at, sizeof a->at) == 0;
}

/* The operation's tensor of an input with elements taken so. */
static llrt_status find_tensor(program_maker *m, int source, int tensor, const moved *where,
                               int *number) {
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
    return program_refuse(m, source, LLRT_UNSUPPORTED,
                          "more than 16 tensors, flipped ones counted");
  *number = out->n_tensors++;
  program_tensor *added = &out->tensor[*number];
  *added = (program_tensor){.tensor = (uint8_t)tensor,
                            .axes = program_tensor_axes(m, tensor, where->taken),
                            .flipped = where->flipped,
                            .taken = where->taken};
  memcpy(added->at, where->at, sizeof added->at);
  return LLRT_OK;
}

static llrt_status tensor_node(program_maker *m, int source, const moved *where, int *number) {
  const expr_node *from = &m->expr->node[source];
  llrt_dtype type = m->types[from->slot];
  int tensor = 0;
  moved own = {.flipped = where->flipped & from->axes, .taken = where->taken & from->axes};
  for (int a = 0; a < EXPR_MAX_AXES; a++)
    if (own.taken >> a & 1) own.at[a] = where->at[a];
  if (!program_compute_type(type))
    return program_refuse(m, source, LLRT_UNSUPPORTED,
                          "the tensor's elements are of a type that has no numbers");
  LLRT_TRY(find_tensor(m, source, from->slot, &own, &tensor));
  program_node node = {.op = EXPR_TENSOR,
                       .type = (uint8_t)program_compute_type(type),
                       .from = (uint8_t)type,
                       .slot = (uint8_t)tensor,
                       .axes = m->out->tensor[tensor].axes};
  return program_append(m, source, node, number);
}

/* A position, or what a flipped or taken one is. */
static llrt_status position_node(program_maker *m, int source, const moved *where, int *number) {
  const expr_node *from = &m->expr->node[source];
  int axis = from->slot;
  program_node node = {.op = EXPR_POSITION,
                       .type = LLRT_I32,
                       .from = LLRT_I32,
                       .slot = (uint8_t)(m->out->leading + axis),
                       .axes = program_axes(m, 1u << axis)};
  if (where->taken >> axis & 1) {
    node = (program_node){.op = EXPR_NUMBER, .type = LLRT_I32, .from = LLRT_I32};
    node.bits = (uint64_t)where->at[axis];
    return program_append(m, source, node, number);
  }
  LLRT_TRY(program_append(m, source, node, number));
  if (!(where->flipped >> axis & 1)) return LLRT_OK;
  int position = *number, last;
  program_node end = {.op = EXPR_NUMBER, .type = LLRT_I32, .from = LLRT_I32};
  end.bits = (uint64_t)(m->expr->axis[axis].extent - 1);
  LLRT_TRY(program_append(m, source, end, &last));
  program_node back = {.op = EXPR_SUBTRACT,
                       .type = LLRT_I32,
                       .from = LLRT_I32,
                       .n_args = 2,
                       .arg = {(uint8_t)last, (uint8_t)position},
                       .axes = node.axes};
  return program_append(m, source, back, number);
}

static llrt_status leaf_node(program_maker *m, int source, const moved *where, int *number) {
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
  return program_append(m, source, node, number);
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

static llrt_status make_node(program_maker *m, int source, const moved *outer, int *number);

static llrt_status make_move(program_maker *m, int source, const moved *where, int *number) {
  const expr_node *node = &m->expr->node[source];
  moved inner = with_move(where, node);
  if (inner.taken >> node->slot & 1 && inner.at[node->slot] < 0)
    inner.at[node->slot] = (int8_t)(m->expr->axis[node->slot].extent + inner.at[node->slot]);
  return make_node(m, node->arg[0], &inner, number);
}

/* Of what is taken backwards a scan goes backwards, too. */
static llrt_status place_scan(program_maker *m, int source, const moved *where,
                              program_node *node) {
  const expr_node *from = &m->expr->node[source];
  if (where->taken & from->reduced)
    return program_refuse(m, source, LLRT_UNSUPPORTED, "one position of a scan is taken");
  node->reduced = program_axes(m, from->reduced);
  m->out->reduced |= node->reduced;
  node->rounding = from->rounding;
  if (where->flipped & from->reduced) node->rounding ^= EXPR_REVERSE;
  return LLRT_OK;
}

static llrt_status make_inner(program_maker *m, int source, const moved *where, int *number) {
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
  if (from->op == EXPR_NEGATE && program_all_weak(m, value, 1))
    return program_negate_literal(m, source, value[0], number);
  if (row->family == EXPR_REDUCE) {
    node.reduced = program_axes(m, from->reduced);
    m->out->reduced |= node.reduced;
    node.axes &= (uint8_t)~node.reduced;
  }
  if (row->family == EXPR_SCAN) LLRT_TRY(place_scan(m, source, where, &node));
  if (row->typing == EXPR_TYPED_TRUTH) LLRT_TRY(program_as_truth(m, source, &value[0]));
  if (row->typing == EXPR_TYPED_CAST) return program_cast_node(m, source, value[0], &node, number);
  return program_typed_node(m, source, value, node, number);
}

static llrt_status make_node(program_maker *m, int source, const moved *outer, int *number) {
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
static llrt_status store_type(program_maker *m, int source, llrt_dtype to, int *value) {
  llrt_dtype computes = program_compute_type(to);
  LLRT_TRY(program_settle(m, source, program_literal_type(m, *value, to), value));
  llrt_dtype type = (llrt_dtype)m->out->node[*value].type;
  if (!computes)
    return program_refuse(m, source, LLRT_UNSUPPORTED,
                          "the output's elements are of a type that has no numbers");
  if (to == LLRT_BOOL) return program_as_truth(m, source, value);
  if (type == LLRT_BOOL) LLRT_TRY(program_convert(m, source, LLRT_I32, value));
  if (to == LLRT_I64 || to == LLRT_U64) return program_convert(m, source, LLRT_I64, value);
  if (to == LLRT_U32 && type == LLRT_I64)
    return program_refuse(m, source, LLRT_UNSUPPORTED,
                          "this version stores no 64-bit integers as u32");
  if (m->out->node[*value].type == LLRT_I64)
    return program_convert(m, source, program_type_before(to), value);
  if (to == LLRT_E8M0) {
    LLRT_TRY(program_convert(m, source, LLRT_F32, value));
    if (m->out->node[*value].through == LLRT_E8M0) return LLRT_OK;
    program_node power = {.op = EXPR_CAST,
                          .type = LLRT_F32,
                          .from = LLRT_F32,
                          .n_args = 1,
                          .arg = {(uint8_t)*value},
                          .through = LLRT_E8M0,
                          .axes = m->out->node[*value].axes};
    return program_append(m, source, power, value);
  }
  return LLRT_OK;
}

static llrt_status make_output(program_maker *m, int tensor) {
  static const moved nowhere = {0};
  expr_program *out = m->out;
  const expr_tensor *from = &m->expr->tensor[tensor];
  int node;
  llrt_dtype to = m->types[tensor];
  LLRT_TRY(make_node(m, from->node, &nowhere, &node));
  LLRT_TRY(store_type(m, from->node, to, &node));
  if (out->node[node].axes & ~program_tensor_axes(m, tensor, 0))
    return program_refuse(m, from->node, LLRT_INVALID_ARGUMENT,
                          "the output lacks an axis along which its value varies");
  if (out->n_tensors == PROGRAM_MAX_TENSORS)
    return program_refuse(m, from->node, LLRT_UNSUPPORTED,
                          "more than 16 tensors, flipped ones counted");
  out->tensor[out->n_tensors++] = (program_tensor){.tensor = (uint8_t)tensor,
                                                   .axes = program_tensor_axes(m, tensor, 0),
                                                   .output = true,
                                                   .node = (uint8_t)node,
                                                   .store = (uint8_t)to};
  return LLRT_OK;
}

/* Axes that some value varies along, or is joined along. */
static uint8_t mentioned_axes(const expr_program *out) {
  uint8_t axes = 0;
  for (int i = 0; i < out->n_nodes; i++) axes |= out->node[i].axes | out->node[i].reduced;
  return axes;
}

/* How long an axis is some tensor has to tell: where it is none of those that values use, an input
 * that has the axis becomes one of the operation's, of which nothing is read. */
static llrt_status add_measures(program_maker *m) {
  expr_program *out = m->out;
  uint8_t missing = mentioned_axes(out);
  for (int t = 0; t < out->n_tensors; t++) missing &= (uint8_t)~out->tensor[t].axes;
  for (int t = 0; t < m->expr->n_inputs && missing; t++) {
    uint8_t axes = program_tensor_axes(m, t, 0);
    if (!(axes & missing) || !program_compute_type(m->types[t])) continue;
    if (out->n_tensors == PROGRAM_MAX_TENSORS)
      return llrt_error(LLRT_UNSUPPORTED, "1:1: more than 16 tensors, flipped ones counted");
    out->tensor[out->n_tensors++] =
        (program_tensor){.tensor = (uint8_t)t, .axes = axes, .store = (uint8_t)m->types[t]};
    missing &= (uint8_t)~axes;
  }
  if (!missing) return LLRT_OK;
  return llrt_error(
      LLRT_UNSUPPORTED,
      "1:1: how long an axis is is told by tensors alone whose elements have no numbers");
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
  program_maker m = {.expr = expr, .types = types, .ranks = ranks, .out = out};
  memset(out, 0, sizeof *out);
  LLRT_TRY(count_axes(expr, ranks, out));
  out->n_scalars = expr->n_scalars;
  for (int i = 0; i < expr->n_scalars; i++) out->scalar[i] = expr->scalar[i].dtype;
  for (int t = expr->n_inputs; t < expr->n_tensors; t++)
    LLRT_REQUIRE(!expr->tensor[t].dtype || types[t] == (llrt_dtype)expr->tensor[t].dtype,
                 "%s is %s, in the expression %s", expr->tensor[t].name, llrt_dtype_name(types[t]),
                 llrt_dtype_name((llrt_dtype)expr->tensor[t].dtype));
  for (int t = expr->n_inputs; t < expr->n_tensors; t++) LLRT_TRY(make_output(&m, t));
  LLRT_TRY(add_measures(&m));
  return order_tensors(out);
}
