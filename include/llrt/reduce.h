/* llrt_reduce: elements joined along axes. */
#ifndef LLRT_REDUCE_H
#define LLRT_REDUCE_H

#include <llrt/op.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NULL and all-zero: the sum over all axes. */
typedef struct llrt_reduce_params {
  size_t size;
  llrt_combiner op; /* 0: SUM */
  uint32_t axes;    /* bit a: axis a is reduced; 0: all are */
  llrt_dtype
      accumulate; /* F32, F64, I32, U32, I64 or U64; NONE: f32 for floats (f64 for f64); of sums and
                     products of integers 64 bits, of other combiners 32 (64 for elements of 64) */
  llrt_dtype dtype; /* llrt_reduce: the result's type; NONE: floats their own, of sums and products
                       of integers the accumulator's, of MIN and MAX the element's, positions I64,
                       truth BOOL */
  bool keep_axes; /* llrt_reduce: reduced axes stay in the result, with one position; else they are
                     dropped */
  const llrt_tensor
      *values; /* ARGMIN, ARGMAX: where the values go beside the positions; else NULL */
} llrt_reduce_params;

/* destination(y) = op over all x along the axes of source(x, y), in the accumulator's type, cast to
 * the destination's (as include/llrt/map.h says of casts). combiner.h says what each op does with
 * NaN and ties.
 *
 * The order in which elements are joined is a tree that shape, types, storages and device decide,
 * never timing: the same bits in every run. An axis without positions gives the neutral element
 * (sums 0, products 1, ANY false, ALL true).
 *   source        f64 f32 f16 bf16, 8-bit floats, integers of 8 to 64 bits, bool for ANY and ALL.
 *                 Of copies the first is read, of pads nothing. extent_ptr along a reduced axis:
 *                 positions from there on do not take part (of none the result is the element
 *                 type's neutral one, also a minimum's; positions count `shape`)
 *   destination   the source's rank, with one position along reduced axes, or without them. Every
 *                 copy of an element is written, pads as the storage's pad rule says. Positions I64
 *                 or I32: along one axis the coordinate, along several the number of the element
 *                 among those reduced, row by row (the last axis fastest, in whatever order memory
 *                 has them; I32: of at most 2^31); truth BOOL or U8, else any type that the
 *                 accumulator can be cast to
 *   params->values   as the destination, of any such type
 * Memory that is read and memory that is written do not overlap. Where few results are made of many
 * elements, workspace is taken as llrt_allocator (device.h) says.
 * Thread: any. Errors: INVALID_ARGUMENT (minimum and maximum of nothing, too), UNSUPPORTED (types
 * that do not go together; indices; other extents in device memory), NOT_PREPARED, UNAVAILABLE,
 * COMPILE, DEVICE; nothing is written then. */
LLRT_API llrt_status llrt_reduce_into(const llrt_tensor *source, const llrt_tensor *destination,
                                      const llrt_reduce_params *params, void *stream);

/* The same into memory from the context's allocator. `storage` (borrowed: it must outlive *result)
 * may be NULL for row_major; it has the result's axes. Ownership: llrt_tensor_free(result, stream).
 * On error *result is zero. */
LLRT_API llrt_status llrt_reduce(const llrt_tensor *source, const llrt_storage *storage,
                                 const llrt_reduce_params *params, void *stream,
                                 llrt_tensor *result);

/* The form of a written tensor that llrt_op_desc and llrt_op_run take: with the reduced axes, which
 * have one position. `storage`, the caller's, receives its storage, which *kept borrows. A tensor
 * of rank `rank` is as it is.
 *   rank, axes   of the source; bit a of axes: axis a is reduced
 * Errors: INVALID_ARGUMENT for another rank and for axes that there are not; *kept is zero then. */
LLRT_API llrt_status llrt_reduce_keep_axes(const llrt_tensor *tensor, int rank, uint32_t axes,
                                           llrt_storage *storage, llrt_tensor *kept);

#ifdef __cplusplus
}
#endif
#endif
