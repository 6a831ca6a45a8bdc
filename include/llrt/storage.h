/* llrt_storage: the rule by which a logical tensor of any extents lies in memory. A plain value
 * without a shape; binding it to a shape gives numbers.
 *
 *   place(x) = Z( offset + tile^-1(x mod tile shape) + sum over digits of digit(x) * stride )
 *
 * Axis a's coordinate is split from the bottom: first the bits that the tile takes, then the digits
 * with that axis in the order of the list. Places count elements from tensor.data. A digit may add
 * to another target than memory (a lane, a warp, a column of tensor memory): then an element's
 * place is one number for each target. A digit without an axis is a replica: its positions hold
 * copies. A reversed digit counts down: its position d adds (extent - 1 - d) * stride.
 *
 * Every field from `swizzle` on may be zero and then adds nothing: a rule of digits and a tile
 * only.
 *
 * The general rules of layout.h hold here too. */
#ifndef LLRT_STORAGE_H
#define LLRT_STORAGE_H

#include <llrt/layout.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LLRT_MAX_DIGITS 16
#define LLRT_MAX_TARGETS 8 /* besides memory */

#define LLRT_EXTENT_REST 0           /* what is left of the axis; on its last digit only */
#define LLRT_STRIDE_PACKED INT64_MIN /* just outside the tile and the digits before it */
#define LLRT_STRIDE_RUNTIME \
  INT64_MAX                    /* the tensor's strides[axis] times the axis positions below */
#define LLRT_AXIS_REPLICA (-1) /* a digit of copies */

typedef struct llrt_digit {
  int64_t extent; /* positions; LLRT_EXTENT_REST on an axis's outermost digit */
  int64_t stride; /* elements >= 0, or LLRT_STRIDE_PACKED, or LLRT_STRIDE_RUNTIME */
  int32_t axis;   /* logical axis, 0 <= axis < rank, or LLRT_AXIS_REPLICA */
  int16_t target; /* what the digit adds to: 0 memory (`m`), t > 0 storage.target[t - 1], where the
                     stride is a number */
  bool reversed;  /* counts down */
} llrt_digit;

/* Z(p) = p ^ (p >> atom_len & (2^swizzle_len - 1) << per_element): bits [per_element, per_element +
 * swizzle_len) of a memory place are XORed with those atom_len higher; with `upward`, those
 * atom_len higher are XORed with them. atom_len >= swizzle_len. */
typedef struct llrt_swizzle {
  uint8_t per_element, swizzle_len, atom_len; /* bits; all zero: none */
  uint8_t upward;                             /* 0 or 1 */
} llrt_swizzle;

/* What becomes of the places between a tensor's last position along an axis and the end of the tile
 * and digits there. */
typedef enum llrt_pad {
  LLRT_PAD_NONE = 0, /* there are none: extents must divide evenly */
  LLRT_PAD_KEEP = 1, /* they are left untouched */
  LLRT_PAD_VALUE = 2 /* every one is written as pad_value */
} llrt_pad;

typedef struct llrt_storage {
  int32_t rank;     /* logical axes, 0..LLRT_MAX_RANK */
  int32_t n_digits; /* minor to major: PACKED strides accumulate in this order */
  llrt_digit digit[LLRT_MAX_DIGITS];
  llrt_layout tile; /* offset -> dim0..dim(rank-1), surjective; no in bits where there is no tile.
                       Offset bits that repeat others (free variables) are copies: all are written,
                       the one with those bits zero is read. */
  llrt_swizzle swizzle; /* of the sum in memory; its period divides the tensor's address */
  int32_t pad;          /* llrt_pad */
  uint64_t pad_value;   /* the low bits of an element; 0 unless pad is LLRT_PAD_VALUE */
  int32_t n_targets;    /* besides memory, 0..LLRT_MAX_TARGETS */
  char target[LLRT_MAX_TARGETS][LLRT_NAME_BYTES]; /* distinct names other than m, zero-filled */
  int64_t
      offset[LLRT_MAX_TARGETS + 1]; /* added to every place: [0] in memory, [t] on target t; >= 0 */
  int64_t reserved[4];              /* 0 */
} llrt_storage;

/* The numbers of one rule on one shape. */
typedef struct llrt_storage_binding {
  int64_t extent[LLRT_MAX_DIGITS]; /* positions of each digit */
  int64_t stride[LLRT_MAX_DIGITS]; /* elements; of a reversed digit negative */
  int64_t
      origin[LLRT_MAX_TARGETS + 1]; /* by target: where the element at coordinate 0 lies, before the
                                       swizzle. place = Z(origin + tile + sum of digit * stride) */
  int64_t padded[LLRT_MAX_RANK]; /* positions of each axis with its pads; the shape without any */
  int64_t
      span; /* elements from place 0 to one past the last that the rule can reach, pads and copies
               included (to the end of its group where a swizzle mixes them); 0 for empty shapes */
} llrt_storage_binding;

/* ---- making ---- */

/* dim(rank-1) fastest, and dim0 fastest; PACKED throughout. rank 0 is a scalar. */
LLRT_API llrt_status llrt_storage_row_major(int rank, llrt_storage *out);
LLRT_API llrt_status llrt_storage_col_major(int rank, llrt_storage *out);

/* One digit an axis with the given strides in elements (>= 0), or all RUN-TIME when strides is
 * NULL: then every tensor brings its own in llrt_tensor.strides. */
LLRT_API llrt_status llrt_storage_strided(int rank, const int64_t *strides, llrt_storage *out);

/* A layout as storage. `offset -> dims`: as it is. register x lane x warp x block -> dims: its
 * image, element index = the in-dims flattened minor to major, so that fragment-ordered data is an
 * ordinary storage. Out-dims must be dim0..dimN-1 (any order). The storage's extents are the
 * layout's, fixed. Errors: INVALID_ARGUMENT when the layout is not surjective. */
LLRT_API llrt_status llrt_storage_from_layout(const llrt_layout *layout, llrt_storage *out);

/* Images of `layout` (as llrt_storage_from_layout) side by side in mixed radix: tiles follow each
 * other along order[0] first, order[rank-1] last, PACKED, as many as the shape has. rank is the
 * layout's. */
LLRT_API llrt_status llrt_storage_tiled(const llrt_layout *layout, const int *order,
                                        llrt_storage *out);

/* Checks the rule itself: ranks, digits, tile surjective onto power-of-two extents, REST only last,
 * strides of other targets than memory numbers, a swizzle that is its own inverse. */
LLRT_API llrt_status llrt_storage_validate(const llrt_storage *storage);

/* ---- on a shape ---- */

/* Binds the rule to shape[rank] (positions, >= 0). strides[rank] (elements) are read for RUN-TIME
 * digits only and may be NULL where there are none. With a pad rule, extents are rounded up to what
 * tile and digits hold. Errors: INVALID_ARGUMENT when rank differs, an axis without a REST digit
 * has another extent (with a pad rule: a larger one), an extent does not divide into the digits
 * below it and there is no pad rule, or the span passes 2^62 elements. Cost: no allocation, no
 * hashing. */
LLRT_API llrt_status llrt_storage_bind(const llrt_storage *storage, int rank, const int64_t *shape,
                                       const int64_t *strides, llrt_storage_binding *out);

/* The place in memory, in elements, of the element at coords[rank] (of its first copy).
 * Precondition: binding came from storage and coords lie inside its padded shape. */
LLRT_API int64_t llrt_storage_offset(const llrt_storage *storage,
                                     const llrt_storage_binding *binding, const int64_t *coords);

/* The span in whole bytes, elements having element_bits (1..128) bits each. Errors:
 * INVALID_ARGUMENT when that passes 2^63 - 1. */
LLRT_API llrt_status llrt_storage_bytes(const llrt_storage_binding *binding, int element_bits,
                                        int64_t *bytes);

/* *same = whether a and b put every element of the shape at the same places, all copies included:
 * then converting between them moves nothing. Pads do not count. strides_a and strides_b as in
 * bind; may be NULL. Errors: as bind; UNSUPPORTED when rules that are written too differently meet
 * more than 2^20 elements, or an element has more than 64 copies. */
LLRT_API llrt_status llrt_storage_same_bytes(const llrt_storage *a, const llrt_storage *b, int rank,
                                             const int64_t *shape, const int64_t *strides_a,
                                             const int64_t *strides_b, bool *same);

/* Two rules with the same canonical form place every tensor alike, pads and the order of copies
 * included. False for NULL and for what llrt_storage_validate refuses. */
LLRT_API bool llrt_storage_equal(const llrt_storage *a, const llrt_storage *b);

/* A 128-bit hash of what llrt_storage_equal compares (XXH3); stable between processes and machines.
 */
LLRT_API llrt_hash llrt_storage_hash(const llrt_storage *storage);

/* ---- text ---- */

/* Parses a storage expression (docs/layout-language.md): a name with its parameters, a rule written
 * out, TIRx or CuTe notation, or a layout expression as llrt_layout_parse takes it, which becomes
 * its image. rank and shape as there; a named storage needs rank only. */
LLRT_API llrt_status llrt_storage_parse(const char *text, int rank, const int64_t *shape,
                                        llrt_storage *out);

/* As llrt_layout_print; parses back to an equal storage. */
LLRT_API llrt_status llrt_storage_print(const llrt_storage *storage, char *buffer, size_t size,
                                        size_t *length);

#ifdef __cplusplus
}
#endif
#endif
