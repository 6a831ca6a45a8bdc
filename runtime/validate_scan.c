#include "runtime/validate.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/types/combine.h"
#include "jit/plan/types/number.h"

static llrt_status check_types(const op_description *desc) {
  const llrt_op_combine *combine = &desc->combine;
  llrt_dtype from = desc->tensors[0].dtype, to = desc->tensors[1].dtype, type = combine->accumulate;
  const char *name = combine_name((int)combine->op);
  LLRT_REQUIRE(combine->op >= LLRT_COMBINE_SUM && combine->op <= LLRT_COMBINE_ALL,
               "there is no combiner %d", (int)combine->op);
  if (combine->op > LLRT_COMBINE_MAX)
    return llrt_error(LLRT_UNSUPPORTED, "there is no scan by %s", name);
  if (!combine_exists((int)combine->op, from))
    return llrt_error(LLRT_UNSUPPORTED, "there is no %s of %s", name, llrt_dtype_name(from));
  if (type && !combine_accumulates((int)combine->op, from, type))
    return llrt_error(LLRT_UNSUPPORTED, "%s of %s cannot be accumulated in %s", name,
                      llrt_dtype_name(from), llrt_dtype_name(type));
  if (!type) type = combine_accumulator((int)combine->op, from);
  bool fits = type == to || number_cast_exists(type, to) || number_extends(type, to);
  if (fits && llrt_dtype_bits(to) >= 8) return LLRT_OK;
  return llrt_error(LLRT_UNSUPPORTED, "a scan (%s) of %s in %s cannot be written as %s", name,
                    llrt_dtype_name(from), llrt_dtype_name(type), llrt_dtype_name(to));
}

llrt_status llrt_validate_scan(const op_description *desc) {
  LLRT_REQUIRE(desc->n_tensors == 2, "a scan has two tensors, not %d", desc->n_tensors);
  LLRT_REQUIRE(desc->n_maps == 0 && !desc->in_place,
               "a scan has no maps and does not work in place");
  LLRT_REQUIRE(bits_count(desc->combine.axes) == 1 &&
                   desc->combine.axes >> desc->tensors[0].rank == 0,
               "combine.axes is 0x%x, the source has rank %d: the bit of one of its axes",
               desc->combine.axes, desc->tensors[0].rank);
  for (int i = 0; i < desc->n_tensors; i++) {
    bool device = false;
    for (int axis = 0; axis < desc->tensors[i].rank; axis++)
      device |= desc->tensors[i].extent_ptr[axis] != NULL;
    if (desc->tensors[i].n_indices || device)
      return llrt_error(LLRT_UNSUPPORTED,
                        "a scan takes no tensors with indices or with extents in device memory");
  }
  return check_types(desc);
}
