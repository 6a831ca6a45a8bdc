/* Descriptions of what was asked: prepared, or compiled for a target. */
#include "functions.h"

#include <stdlib.h>

/* On the host addresses are promised as far as allocators of Python's libraries go, not as far as
 * these tensors' do: numpy's are multiples of 16 bytes, and the next tensor need not lie better. */
enum { HOST_ALIGNMENT = 16 };

void weaken_promises(llrt_tensor_promise *promises, int n) {
  for (int i = 0; i < n; i++)
    if (promises[i].address.multiple > HOST_ALIGNMENT)
      promises[i].address.multiple = HOST_ALIGNMENT;
}

void set_maps(llrt_convert_params *params, const llrt_map *maps, int n) {
  params->maps = maps;
  params->n_maps = n;
}

void set_dot_maps(llrt_dot_params *params, const llrt_map *maps, int n) {
  params->maps = maps;
  params->n_maps = n;
}

typedef struct described {
  llrt_op_desc own, *desc;
  llrt_tensor_promise promises[16];
} described;

static llrt_status describe(const request *what, described *out) {
  memset(out, 0, sizeof *out);
  out->desc = &out->own;
  if (what->kind == LLRT_OP_DOT) {
    llrt_status status = llrt_dot_describe(&what->tensors[0], &what->tensors[1], &what->tensors[2],
                                           what->dot, &out->desc);
    if (status) return status;
  } else {
    out->own = (llrt_op_desc){.size = sizeof out->own,
                              .kind = what->kind,
                              .n_tensors = what->n,
                              .tensors = what->tensors,
                              .promises = out->promises,
                              .maps = what->maps,
                              .n_maps = what->n_maps,
                              .in_place = what->in_place,
                              .combine = what->combine};
  }
  llrt_status status = llrt_op_promise_coarse(out->desc);
  if (!status) weaken_promises(out->desc->promises, out->desc->n_tensors);
  return status;
}

static void end(described *made) {
  if (made->desc != &made->own) llrt_op_desc_destroy(&made->desc);
}

llrt_status request_prepare(const request *what, llrt_device *device, llrt_op **op) {
  described made;
  llrt_status status = describe(what, &made);
  if (!status) status = llrt_op_prepare(device, made.desc, op);
  end(&made);
  return status;
}

llrt_status request_compile(const request *what, llrt_context *context, const char *target,
                            llrt_emit emit, char **bytes, size_t *size) {
  described made;
  llrt_status status = describe(what, &made);
  if (!status) status = llrt_op_compile(context, target, made.desc, emit, bytes, size);
  end(&made);
  return status;
}
