/* See tile_op.h. */
#include "jit/probe/tile_op.h"

#include "base/status.h"
#include "runtime/context.h"
#include "runtime/prepared.h"

#include <stdlib.h>

static llrt_dtype dtype_of(int bits) {
  return bits == 8 ? LLRT_B8 : bits == 16 ? LLRT_B16 : bits == 32 ? LLRT_B32 : LLRT_B64;
}

/* The operation without its kernel: row-major vectors, aligned for the widest access. A third
 * tensor goes as scales would, one for each element. */
static llrt_status make_op(llrt_device *device, const llrt_dtype *types, int n_tensors,
                           llrt_op **op) {
  llrt_storage storage;
  op_description desc = {.kind = LLRT_OP_CONVERT, .n_tensors = n_tensors};
  storage_set set;
  LLRT_TRY(llrt_storage_row_major(1, &storage));
  for (int t = 0; t < n_tensors; t++) {
    desc.tensors[t] = (llrt_tensor){.dtype = types[t], .rank = 1, .storage = &storage};
    desc.promises[t].address.multiple = 16;
  }
  if (n_tensors > 2) desc.maps[desc.n_maps++].kind = LLRT_MAP_SCALE;
  LLRT_TRY(llrt_storage_set_init(desc.tensors, n_tensors, 0, &set));
  return llrt_op_make(device, &desc, &set, op);
}

/* Compiles and loads a planned kernel as an operation on such tensors. */
static llrt_status build(llrt_device *device, const llrt_dtype *types, const plan_kernel *planned,
                         llrt_op **op) {
  llrt_op *made = NULL;
  llrt_status status = make_op(device, types, planned->n_tensors, &made);
  if (status == LLRT_OK) status = llrt_op_build_kernels(made, planned, 1);
  if (status == LLRT_OK) *op = made;
  else if (made) llrt_op_release(made);
  return status;
}

llrt_status llrt_tile_op_make(llrt_device *device, const plan_tile *tile,
                              const plan_options *options, plan_kernel *kernel, llrt_op **op) {
  const llrt_dtype elements = dtype_of(tile->element_bits),
                   types[] = {elements, elements, LLRT_I32};
  *op = NULL;
  plan_kernel *planned = kernel ? kernel : malloc(sizeof *planned);
  if (!planned) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a plan");
  llrt_status status = plan_tile_make(tile, &device->target, options, planned);
  if (status == LLRT_OK) status = build(device, types, planned, op);
  if (!kernel) free(planned);
  return status;
}

llrt_status llrt_dot_tile_op_make(llrt_device *device, const plan_dot_tile *tile,
                                  const plan_options *options, plan_kernel *kernel, llrt_op **op) {
  const llrt_dtype types[] = {tile->a, tile->d, tile->b};
  *op = NULL;
  plan_kernel *planned = kernel ? kernel : malloc(sizeof *planned);
  if (!planned) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a plan");
  llrt_status status = plan_dot_tile_make(tile, &device->target, options, planned);
  if (status == LLRT_OK) status = build(device, types, planned, op);
  if (!kernel) free(planned);
  return status;
}
