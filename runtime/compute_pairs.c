/* Two inputs of a call of which one has the element right behind each of the other's, x[p=0] and
 * x[p=1] of pairs that lie in memory one after the other, become one of 32-bit words. A thread then
 * loads whole pieces of memory, of which it takes the halves in registers, where it would load
 * every second element of them twice. bf16 alone: the halves are f32 by a shift and a mask. */
#include "runtime/compute_pairs.h"

#include "layout/storage_rule.h"

#include <stdint.h>
#include <string.h>

enum {
  WORD_BYTES = 4,
  HALF_BYTES = 2,
  HALF_BITS = 16,
  /* Nodes in front of the others: a word, how far its lower half is moved and what is left of it
   * for the upper one, both halves. */
  WORD = 0,
  DISTANCE,
  MASK,
  LOWER,
  UPPER,
  MORE_NODES
};

/* ---- which ---- */

/* A digit's stride, halved, is whole: PACKED ones are multiples of the digit's inside. */
static bool may_be_halved(const llrt_tensor *tensor, int i) {
  const llrt_digit *digit = &tensor->storage->digit[i];
  if (digit->extent != LLRT_EXTENT_REST || digit->reversed || digit->axis < 0 || digit->target != 0)
    return false;
  if (digit->stride == LLRT_STRIDE_PACKED) return i > 0;
  if (digit->stride == LLRT_STRIDE_RUNTIME) return tensor->strides[digit->axis] % 2 == 0;
  return digit->stride % 2 == 0;
}

static bool is_plain(const llrt_tensor *tensor) {
  const llrt_storage *storage = tensor->storage;
  bool plain = tensor->dtype == LLRT_BF16 && tensor->data && tensor->n_indices == 0 &&
               !storage_has_tile(storage) && !storage_has_swizzle(storage) &&
               storage->n_targets == 0 && storage->n_digits > 0;
  for (int a = 0; a < tensor->rank; a++) plain &= !tensor->extent_ptr[a];
  for (int i = 0; plain && i < storage->n_digits; i++) plain = may_be_halved(tensor, i);
  return plain;
}

static bool same_steps(const llrt_tensor *x, const llrt_tensor *y) {
  bool same = x->storage->n_digits == y->storage->n_digits;
  for (int i = 0; same && i < x->storage->n_digits; i++) {
    const llrt_digit *p = &x->storage->digit[i], *q = &y->storage->digit[i];
    same =
        p->axis == q->axis && p->stride == q->stride && x->strides[p->axis] == y->strides[p->axis];
  }
  return same;
}

static char *first_element(const llrt_tensor *tensor) {
  return (char *)tensor->data + tensor->storage->offset[0] * HALF_BYTES;
}

/* Whether words of both are in memory, `low` in their lower halves. */
static bool are_words(const op_description *desc, int low, int high) {
  const program_tensor *x = &desc->program.tensor[low], *y = &desc->program.tensor[high];
  const llrt_tensor *from = &desc->tensors[low], *to = &desc->tensors[high];
  return !x->output && !y->output && x->tensor == y->tensor && x->axes == y->axes && x->taken &&
         x->taken == y->taken && is_plain(from) && is_plain(to) && same_steps(from, to) &&
         first_element(to) - first_element(from) == HALF_BYTES &&
         (uintptr_t)first_element(from) % WORD_BYTES == 0;
}

/* ---- the program ---- */

static program_node word_node(int op, uint8_t axes, int n_args, int x, int y) {
  return (program_node){.op = (uint8_t)op,
                        .type = LLRT_I32,
                        .from = LLRT_I32,
                        .n_args = (uint8_t)n_args,
                        .arg = {(uint8_t)x, (uint8_t)y},
                        .axes = axes};
}

static void add_nodes(expr_program *program, int word) {
  uint8_t axes = program->tensor[word].axes;
  program_node *node = program->node;
  memmove(node + MORE_NODES, node, (size_t)program->n_nodes * sizeof *node);
  program->n_nodes += MORE_NODES;
  for (int i = MORE_NODES; i < program->n_nodes; i++)
    for (int k = 0; k < node[i].n_args; k++) node[i].arg[k] += MORE_NODES;
  for (int t = 0; t < program->n_tensors; t++)
    if (program->tensor[t].output) program->tensor[t].node += MORE_NODES;
  node[WORD] = word_node(EXPR_TENSOR, axes, 0, 0, 0);
  node[WORD].slot = (uint8_t)word;
  node[DISTANCE] = word_node(EXPR_NUMBER, 0, 0, 0, 0);
  node[DISTANCE].bits = HALF_BITS;
  node[MASK] = word_node(EXPR_NUMBER, 0, 0, 0, 0);
  node[MASK].bits = UINT32_MAX << HALF_BITS;
  node[LOWER] = word_node(EXPR_SHIFT_LEFT, axes, 2, WORD, DISTANCE);
  node[UPPER] = word_node(EXPR_AND, axes, 2, WORD, MASK);
}

/* Elements of the two tensors are halves of the word's, which has the first one's number; those
 * behind the second one are counted without it. */
static void take_halves(expr_program *program, int first, int second, int low) {
  for (int i = MORE_NODES; i < program->n_nodes; i++) {
    program_node *node = &program->node[i];
    if (node->op != EXPR_TENSOR) continue;
    if (node->slot == first || node->slot == second) {
      *node = word_node(EXPR_BITCAST, node->axes, 1, node->slot == low ? LOWER : UPPER, 0);
      node->type = LLRT_F32;
    } else if (node->slot > second) {
      node->slot--;
    }
  }
}

/* ---- the tensors ---- */

static void halve(llrt_storage *storage, llrt_tensor *tensor) {
  tensor->data = first_element(tensor);
  tensor->dtype = LLRT_I32;
  tensor->storage = storage;
  storage->offset[0] = 0;
  bool packed = storage->digit[0].stride == 2; /* as PACKED strides begin */
  for (int i = 0; i < storage->n_digits; i++) {
    llrt_digit *digit = &storage->digit[i];
    if (digit->stride == LLRT_STRIDE_RUNTIME) tensor->strides[digit->axis] /= 2;
    else if (digit->stride != LLRT_STRIDE_PACKED) digit->stride /= 2;
  }
  if (packed) storage->digit[0].stride = LLRT_STRIDE_PACKED;
}

static void remove_tensor(compute_call *call, int t) {
  op_description *desc = &call->desc;
  size_t behind = (size_t)(--desc->n_tensors - t);
  desc->program.n_tensors--;
  memmove(&desc->tensors[t], &desc->tensors[t + 1], behind * sizeof *desc->tensors);
  memmove(&desc->promises[t], &desc->promises[t + 1], behind * sizeof *desc->promises);
  memmove(&desc->program.tensor[t], &desc->program.tensor[t + 1],
          behind * sizeof *desc->program.tensor);
  memmove(&call->called[t], &call->called[t + 1], behind * sizeof *call->called);
  compute_set_groups(desc);
}

static void join(compute_call *call, int first, int second, int low) {
  op_description *desc = &call->desc;
  call->side[first].storage = *desc->tensors[low].storage;
  desc->tensors[first] = desc->tensors[low];
  halve(&call->side[first].storage, &desc->tensors[first]);
  desc->program.tensor[first].taken = 0;
  add_nodes(&desc->program, first);
  take_halves(&desc->program, first, second, low);
  remove_tensor(call, second);
}

/* The second ones from the last on: tensors in front of them have the sides of their numbers. What
 * is joined by sums keeps its order whatever the addresses, so that it has the same bits. */
void compute_join_pairs(compute_call *call) {
  op_description *desc = &call->desc;
  if (desc->program.reduced) return;
  for (int second = desc->n_tensors - 1; second > 1; second--)
    for (int first = 0; first < second; first++) {
      bool low = are_words(desc, first, second);
      if (!low && !are_words(desc, second, first)) continue;
      if (desc->program.n_nodes + MORE_NODES > PROGRAM_MAX_NODES) return;
      join(call, first, second, low ? first : second);
      break;
    }
}
