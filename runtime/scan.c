/* llrt_scan: what it adds to a description and a call (op_call.c). */
#include "base/params.h"
#include "base/status.h"
#include "runtime/prepared.h"
#include "runtime/result.h"

#include <llrt/scan.h>

#include <string.h>

static llrt_status take_params(const llrt_tensor *source, const llrt_scan_params *params,
                               llrt_scan_params *out) {
  LLRT_TRY(LLRT_PARAMS_READ(llrt_scan_params, params, out));
  LLRT_REQUIRE(source->rank > 0 && source->rank <= LLRT_MAX_RANK,
               "the source has rank %d, not 1 to %d", source->rank, LLRT_MAX_RANK);
  if (!out->op) out->op = LLRT_COMBINE_SUM;
  LLRT_REQUIRE(out->axis >= 0 && out->axis < source->rank,
               "params: axis is %d, the source has rank %d", out->axis, source->rank);
  return LLRT_OK;
}

llrt_status llrt_scan_into(const llrt_tensor *source, const llrt_tensor *destination,
                           const llrt_scan_params *params, void *stream) {
  LLRT_ENTRY();
  LLRT_REQUIRE(source, "source is NULL");
  LLRT_REQUIRE(destination, "destination is NULL");
  llrt_scan_params own;
  LLRT_TRY(take_params(source, params, &own));
  op_description desc;
  op_description_begin(&desc, LLRT_OP_SCAN, 2);
  desc.tensors[0] = *source;
  desc.tensors[1] = *destination;
  desc.combine = (llrt_op_combine){.op = own.op,
                                   .accumulate = own.accumulate,
                                   .axes = 1u << own.axis,
                                   .exclusive = own.exclusive != 0,
                                   .reverse = own.reverse != 0};
  LLRT_TRY(llrt_validate_tensors(desc.tensors, desc.n_tensors, 0, stream));
  LLRT_TRY(llrt_validate_desc(&desc));
  return llrt_op_call(&desc, NULL, stream);
}

llrt_status llrt_scan(const llrt_tensor *source, const llrt_storage *storage,
                      const llrt_scan_params *params, void *stream, llrt_tensor *result) {
  LLRT_ENTRY();
  LLRT_REQUIRE(result, "result is NULL");
  memset(result, 0, sizeof *result);
  LLRT_REQUIRE(source, "source is NULL");
  llrt_scan_params own;
  llrt_tensor made;
  LLRT_TRY(take_params(source, params, &own));
  llrt_dtype dtype = own.dtype;
  LLRT_TRY(llrt_result_dtype((int)own.op, own.accumulate, source->dtype, &dtype));
  LLRT_TRY(llrt_validate_tensors(source, 1, 0, stream));
  LLRT_TRY(llrt_result_make(source, storage, dtype, stream, &made));
  return llrt_result_settle(llrt_scan_into(source, &made, &own, stream), &made, stream, result);
}
