/* llrt_convert: the same logical tensor in another storage. */
#ifndef LLRT_CONVERT_H
#define LLRT_CONVERT_H

#include <llrt/op.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NULL and all-zero mean the plain move of bits. */
typedef struct llrt_convert_params {
  size_t size;
  llrt_dtype dtype;         /* llrt_convert: the result's type; NONE: the source's */
  int32_t n_maps;           /* 0..LLRT_MAX_MAPS */
  const llrt_map *maps;     /* in the order in which they act on every element */
  const llrt_tensor *scale; /* of a SCALE map; else NULL */
} llrt_convert_params;

/* destination(x) = source(x), with the maps applied, for every logical coordinate x, in one pass
 * over memory.
 * Every copy that the destination's storage has of an element is written, its pads as its pad rule
 * says; offsets outside are left alone. Of copies in the source the first is read, of pads nothing.
 * A kernel is compiled at the first call of a class (storages, dtype, whether addresses and strides
 * are multiples of whole vectors) and found in the context's cache afterwards: docs/one-line.md;
 * llrt_context_params.compile.
 *   source, destination   same device, rank and shape; differing dtypes mean a cast (llrt/map.h).
 *                         Caller's memory, not overlapping, or both at the same address: then the
 *                         conversion works *in place*, part by part, where elements only move
 *                         inside parts that fit in a block's shared memory; every shape, with its
 *                         strides, is a kernel of its own. UNSUPPORTED with the reason where that
 *                         cannot be.
 *   stream                the work is queued there; on the host NULL, and the call returns when
 *                         done.
 * Thread: any. Errors: INVALID_ARGUMENT, UNSUPPORTED, NOT_PREPARED (a compile would be needed, and
 * the stream is capturing or the context's policy is never to), UNAVAILABLE, COMPILE, DEVICE;
 * nothing is written then. */
LLRT_API llrt_status llrt_convert_into(const llrt_tensor *source, const llrt_tensor *destination,
                                       const llrt_convert_params *params, void *stream);

/* The same into memory from the context's allocator. `storage` (borrowed: it must outlive *result)
 * may be NULL for row_major. Ownership: llrt_tensor_free(result, stream). On error *result is zero.
 */
LLRT_API llrt_status llrt_convert(const llrt_tensor *source, const llrt_storage *storage,
                                  const llrt_convert_params *params, void *stream,
                                  llrt_tensor *result);

/* Gives back what llrt_convert allocated and zeroes *tensor; an all-zero tensor is accepted. */
LLRT_API llrt_status llrt_tensor_free(llrt_tensor *tensor, void *stream);

#ifdef __cplusplus
}
#endif
#endif
