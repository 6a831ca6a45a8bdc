/* What e8m0 scales may be promised to lie in: their least and greatest byte, by two reductions. */
#include "base/status.h"
#include "runtime/context.h"
#include "runtime/validate.h"

#include <llrt/dot.h>
#include <llrt/reduce.h>

#define NAN_BYTE 255
/* Of either byte in memory: both calls are of one class. */
#define APART 256

static llrt_status reduce_to(const llrt_tensor *bytes, llrt_combiner op, void *to, void *stream) {
  llrt_storage rows;
  LLRT_TRY(llrt_storage_row_major(0, &rows));
  const llrt_reduce_params params = {.op = op};
  const llrt_tensor made = {
      .data = to, .dtype = LLRT_U8, .storage = &rows, .device = bytes->device};
  return llrt_reduce_into(bytes, &made, &params, stream);
}

static llrt_status fetch_range(const llrt_tensor *bytes, void *scratch, void *stream,
                               uint8_t range[2]) {
  static const llrt_combiner ops[2] = {LLRT_COMBINE_MIN, LLRT_COMBINE_MAX};
  for (int i = 0; i < 2; i++) {
    void *to = (char *)scratch + i * APART;
    LLRT_TRY(reduce_to(bytes, ops[i], to, stream));
    LLRT_TRY(llrt_memory_copy(bytes->device, &range[i], to, 1, LLRT_COPY_FROM_DEVICE, stream));
  }
  return llrt_stream_synchronize(bytes->device, stream);
}

llrt_status llrt_dot_scale_range(const llrt_tensor *scales, void *stream, uint8_t *low,
                                 uint8_t *high) {
  LLRT_ENTRY();
  LLRT_REQUIRE(low && high, "low or high is NULL");
  *low = *high = 0;
  LLRT_REQUIRE(scales, "scales is NULL");
  LLRT_REQUIRE(scales->dtype == LLRT_E8M0 || scales->dtype == LLRT_U8,
               "scales of type %s, not e8m0", llrt_dtype_name(scales->dtype));
  LLRT_TRY(llrt_validate_tensors(scales, 1, 0, stream));
  llrt_tensor bytes = *scales;
  uint8_t range[2];
  void *scratch;
  bytes.dtype = LLRT_U8;
  for (int a = 0; a < bytes.rank; a++)
    if (bytes.shape[a] == 0) return LLRT_OK;
  LLRT_TRY(llrt_context_allocate(bytes.device, 2 * APART, stream, &scratch));
  llrt_status status = fetch_range(&bytes, scratch, stream, range);
  llrt_status released = llrt_context_release(bytes.device, scratch, stream);
  LLRT_TRY(status);
  LLRT_TRY(released);
  if (range[1] == NAN_BYTE) return LLRT_OK;
  *low = range[0];
  *high = range[1];
  return LLRT_OK;
}
