/* llrt_gather, llrt_scatter: elements along an axis, as an index tensor names them.
 *
 * Both are a convert with an index between a coordinate and one side's storage (llrt_index in
 * tensor.h): one pass over memory, any storage on either side, casts and maps on the way. A view is
 * the side that the index stands on; the calls below make it and convert, and so may a caller, to
 * prepare, compile or save one.
 *
 * TAKE_ALONG  numpy's take_along_axis and put_along_axis. The index has the rank of the side that
 *             it stands on (the *store*: a gather's source, a scatter's destination). Along every
 *             axis b but `axis` the two extents are equal, or one of them is 1 and stands for all
 *             positions of the other. A shorter index (torch.gather) is refused: give the store by
 *             explicit strides and the shorter shape.
 *
 *               gather:   result[x] = source[x with x[axis] replaced by index[x]]
 *               scatter:  destination[x with x[axis] replaced by index[x]] = source[x]
 *
 * SELECT      numpy's take, torch's index_select. The index has one axis, of any length:
 *                 result[x] = source[x with x[axis] replaced by index[x[axis]]]
 *
 * A value that is negative or not below the store's extent along `axis` is out of range; values are
 * never trusted. Two values that send two elements of a scatter to one place are the caller's
 * error: either wins. */
#ifndef LLRT_GATHER_H
#define LLRT_GATHER_H

#include <llrt/convert.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum llrt_gather_form {
  LLRT_GATHER_TAKE_ALONG = 0,
  LLRT_GATHER_SELECT = 1
} llrt_gather_form;

/* NULL and all-zero: TAKE_ALONG, values out of range leave their elements out, bits move as they
 * are. */
typedef struct llrt_gather_params {
  size_t size;
  int32_t form;         /* llrt_gather_form */
  int32_t out_of_range; /* llrt_out_of_range; a scatter knows SKIP and REPORT alone */
  int32_t *report;      /* REPORT: the counter, in memory that the device reaches; else NULL */
  const llrt_convert_params *convert; /* casts, maps; NULL: none */
} llrt_gather_params;

/* One tensor seen through an index: `tensor` has the logical shape and points into `indices`, so a
 * view is used where it lies, not copied. */
typedef struct llrt_view {
  llrt_tensor tensor;
  llrt_index indices[LLRT_MAX_RANK]; /* as many as a tensor can ever have */
} llrt_view;

/* Makes the view of `store` through `index`: a source or a destination of llrt_convert_into or of
 * an operation, whose other tensor has view->tensor.shape.
 *   store   may have indices on other axes; its shape[axis] is the extent that values are checked
 *           against
 *   index   I32 or I64, on the store's device; a storage of one stride an axis (row_major,
 *           col_major, strided, channels_last), of which its memory alone is borrowed. Where it has
 *           extents in device memory, the view has them
 *   params  form, out_of_range and report count; may be NULL
 * Thread: any. Errors: INVALID_ARGUMENT for shapes that do not fit and for types; UNSUPPORTED for
 * an index in another storage (convert it first) and for more than LLRT_MAX_INDICES of one
 * tensor. */
LLRT_API llrt_status llrt_gather_view(const llrt_tensor *store, const llrt_tensor *index,
                                      int32_t axis, const llrt_gather_params *params,
                                      llrt_view *view);

/* destination = source through the index. The destination has the shape of the result. With SKIP
 * and REPORT it keeps what it holds where values are out of range. Its pads have a value along the
 * axes for all positions of which one stands: of SELECT all but `axis`, of TAKE_ALONG those where
 * the index has extent 1 and the source another. Those whose value leaves elements out stay; all
 * others, which no value stands for, are written. Thread: any. Errors: as llrt_gather_view and
 * llrt_convert_into; nothing is written then. */
LLRT_API llrt_status llrt_gather_into(const llrt_tensor *source, const llrt_tensor *index,
                                      int32_t axis, const llrt_tensor *destination,
                                      const llrt_gather_params *params, void *stream);

/* The same into memory from the context's allocator; `storage` NULL is row_major. Where values are
 * out of range the result is zero with SKIP and REPORT too: nothing is there that could stay.
 * Ownership: llrt_tensor_free(result, stream); `storage` is borrowed and must outlive *result. On
 * error *result is zero. */
LLRT_API llrt_status llrt_gather(const llrt_tensor *source, const llrt_tensor *index, int32_t axis,
                                 const llrt_storage *storage, const llrt_gather_params *params,
                                 void *stream, llrt_tensor *result);

/* Sends the source's elements to where the index says; all other elements of the destination, its
 * pads included, stay. Precondition: values in range are unique. Thread: any. Errors: as
 * llrt_gather_into; also INVALID_ARGUMENT for ZERO and CLAMP. */
LLRT_API llrt_status llrt_scatter_into(const llrt_tensor *source, const llrt_tensor *index,
                                       int32_t axis, const llrt_tensor *destination,
                                       const llrt_gather_params *params, void *stream);

#ifdef __cplusplus
}
#endif
#endif
