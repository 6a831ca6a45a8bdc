/* llrt_scan: running sums, products, minima and maxima along an axis. */
#ifndef LLRT_SCAN_H
#define LLRT_SCAN_H

#include <llrt/op.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NULL and all-zero: the inclusive running sum along axis 0. */
typedef struct llrt_scan_params {
  size_t size;
  llrt_combiner op;      /* SUM, PROD, MIN or MAX; 0: SUM */
  int32_t axis;          /* 0 <= axis < rank */
  int32_t exclusive;     /* 1: without the position itself: the first is 0, 1, or the element type's
                            extreme number */
  int32_t reverse;       /* 1: from the last position down */
  llrt_dtype accumulate; /* F32, F64, I32, U32, I64 or U64; NONE: f32 for floats (f64 for f64); of
                            sums and products of integers 64 bits, of minima and maxima 32 (64 for
                            elements of 64) */
  llrt_dtype dtype; /* llrt_scan: the result's type; NONE: floats their own, of sums and products of
                       integers the accumulator's, of minima and maxima the element's */
} llrt_scan_params;

/* destination(x) = op over all positions up to x along the axis (reverse: from x on) of source, in
 * the accumulator's type, each result cast to the destination's (as include/llrt/map.h says of
 * casts). combiner.h says what each op does with NaN.
 *
 * The order in which elements are joined is decided by shape, types, storages and device, never by
 * timing: the same bits in every run. A float sum of n positions is within n * 2^-24 (f64: n *
 * 2^-53) of the sum of their magnitudes, before it is cast.
 *   source        f64 f32 f16 bf16, 8-bit floats, integers of 8 to 64 bits. Of copies the first is
 *                 read, of pads nothing
 *   destination   the source's shape, memory that does not overlap it; any type that the
 *                 accumulator can be cast to. Every copy of an element is written, pads as the
 *                 storage's pad rule says
 * Workspace, where it is needed, is allocated by the context's allocator for the time of the call.
 * Thread: any. Errors: INVALID_ARGUMENT, UNSUPPORTED (types that do not go together; indices and
 * extents in device memory), NOT_PREPARED, UNAVAILABLE, COMPILE, DEVICE; nothing is written
 * then. */
LLRT_API llrt_status llrt_scan_into(const llrt_tensor *source, const llrt_tensor *destination,
                                    const llrt_scan_params *params, void *stream);

/* The same into memory from the context's allocator. `storage` (borrowed: it must outlive *result)
 * may be NULL for row_major. Ownership: llrt_tensor_free(result, stream). On error *result is zero.
 */
LLRT_API llrt_status llrt_scan(const llrt_tensor *source, const llrt_storage *storage,
                               const llrt_scan_params *params, void *stream, llrt_tensor *result);

#ifdef __cplusplus
}
#endif
#endif
