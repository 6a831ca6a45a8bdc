/* Axes of a call that follow each other in the memory of every tensor, and of which no node speaks,
 * become one: of y = gelu(x) a matrix is so many elements, and of a quantiser by groups of 32 so
 * many groups, whatever its rows' length, and odd rows cost what even ones do. The outer axis keeps
 * one position. */
#include "runtime/compute_axes.h"

#include "layout/storage_rule.h"

/* Whether a node joins or scans along one of the axes, or asks for its position. */
static bool speaks_of(const expr_program *program, uint32_t axes) {
  for (int i = 0; i < program->n_nodes; i++) {
    const program_node *node = &program->node[i];
    if (node->reduced & axes) return true;
    if (node->op == EXPR_POSITION && axes >> node->slot & 1) return true;
  }
  return false;
}

/* Whether positions of a tensor are the caller's alone: nothing is chosen, counted or turned
 * around. */
static bool is_plain(const program_tensor *own, const llrt_tensor *tensor) {
  const llrt_storage *storage = tensor->storage;
  if (own->flipped || own->taken || tensor->n_indices > 0 || storage_has_tile(storage) ||
      storage_has_swizzle(storage))
    return false;
  for (int a = 0; a < tensor->rank; a++)
    if (tensor->extent_ptr[a]) return false;
  return true;
}

/* The axis's only digit, if it counts all of its positions upwards, wherever strides put them; -1:
 * there is none. */
static int digit_of(const llrt_storage *storage, int axis) {
  int found = -1, n = 0;
  for (int i = 0; i < storage->n_digits; i++) {
    const llrt_digit *digit = &storage->digit[i];
    bool open = digit->stride == LLRT_STRIDE_PACKED || digit->stride == LLRT_STRIDE_RUNTIME;
    if (digit->axis != axis) continue;
    n++;
    if (digit->extent == LLRT_EXTENT_REST && !digit->reversed && open) found = i;
  }
  return n == 1 ? found : -1;
}

/* Whether axis `outer` of the tensor goes on where `inner` ends. */
static bool goes_on(const llrt_tensor *tensor, int inner, int outer) {
  const llrt_storage *storage = tensor->storage;
  int i = digit_of(storage, inner), o = digit_of(storage, outer);
  int64_t end;
  if (i < 0 || o != i + 1 || storage->digit[i].stride != storage->digit[o].stride) return false;
  if (storage->digit[i].stride == LLRT_STRIDE_PACKED) return true;
  return !__builtin_mul_overflow(tensor->strides[inner], tensor->shape[inner], &end) &&
         tensor->strides[outer] == end;
}

static bool may_merge(const op_description *desc, int inner, int outer) {
  const expr_program *program = &desc->program;
  uint32_t both = 1u << inner | 1u << outer;
  for (int t = 0; t < desc->n_tensors; t++) {
    uint32_t own = program->tensor[t].axes & both;
    if (own && (own != both || !goes_on(&desc->tensors[t], inner, outer))) return false;
  }
  return !speaks_of(program, both);
}

void compute_merge_axes(op_description *desc) {
  const expr_program *program = &desc->program;
  for (int t = 0; t < desc->n_tensors; t++)
    if (!is_plain(&program->tensor[t], &desc->tensors[t])) return;
  for (int inner = 1; inner < program->rank; inner++) {
    int outer = inner - 1;
    if (!may_merge(desc, inner, outer)) continue;
    desc->merged |= 1u << outer;
    for (int t = 0; t < desc->n_tensors; t++) {
      llrt_tensor *tensor = &desc->tensors[t];
      if (!(program->tensor[t].axes >> inner & 1)) continue;
      tensor->shape[inner] *= tensor->shape[outer];
      tensor->shape[outer] = 1;
    }
  }
}
