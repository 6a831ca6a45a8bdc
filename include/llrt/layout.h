/* llrt_layout: a linear map over F2 between labelled bit spaces (Linear Layouts, arXiv
 * 2505.23819, section 4). A plain value: copy it with =, no destroy.
 *
 * In-dims and out-dims are ordered minor to major. An in-dim of n bits is a coordinate of 2^n
 * positions; the image of its bit i is a *basis vector*, kept as one 64-bit column in which the
 * out-dims' bits are laid end to end, the first out-dim lowest. The map of a point is the XOR of
 * the columns of its set bits.
 *
 * General rules for this header: functions are pure; results go to `out`, which is zeroed on
 * entry and may be the same object as an input; no function allocates. Thread: any. Errors: NULL
 * or a malformed layout is INVALID_ARGUMENT; more than the limits below is UNSUPPORTED. */
#ifndef LLRT_LAYOUT_H
#define LLRT_LAYOUT_H

#include <llrt/status.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LLRT_MAX_IN_DIMS 8
#define LLRT_MAX_OUT_DIMS 16
#define LLRT_MAX_BITS 64   /* in bits, and out bits, of one layout */
#define LLRT_NAME_BYTES 16 /* a dim's name with its terminating zero: [A-Za-z_][A-Za-z0-9_]* */

typedef struct llrt_dim {
  char name[LLRT_NAME_BYTES]; /* zero-filled after the name */
  uint8_t bits;               /* log2 of the dim's size; 0 is a dim of size 1 */
} llrt_dim;

typedef struct llrt_layout {
  uint8_t n_in, n_out;
  llrt_dim in[LLRT_MAX_IN_DIMS];
  llrt_dim out[LLRT_MAX_OUT_DIMS];
  uint64_t column[LLRT_MAX_BITS]; /* all in-dims' bits, first in-dim first, low bit first */
} llrt_layout;

typedef struct llrt_hash {
  uint64_t low, high;
} llrt_hash;

/* ---- building ---- */

/* The unit of llrt_layout_product: no dims. */
LLRT_API llrt_layout llrt_layout_empty(void);

/* Appends an in-dim of `bits` zero columns, or an out-dim of `bits` bits. Errors: a name taken or
 * malformed, a limit passed; `layout` is then unchanged. */
LLRT_API llrt_status llrt_layout_add_in(llrt_layout *layout, const char *name, int bits);
LLRT_API llrt_status llrt_layout_add_out(llrt_layout *layout, const char *name, int bits);

/* Sets the basis vector of bit `bit` of in-dim `in` to `coords`, one coordinate per out-dim, in the
 * layout's order. Errors: a coordinate outside its out-dim; `layout` is then unchanged. */
LLRT_API llrt_status llrt_layout_set_basis(llrt_layout *layout, const char *in, int bit,
                                           const uint64_t *coords);

/* x -> stride * x from in-dim `in` of `size` positions (a power of two) to out-dim `out` of size
 * * stride positions; stride is a power of two, 1 for the identity. Size 1 has no basis vector:
 * its one position maps to 0. Size 0 gives the empty layout, in zeros1d too. */
LLRT_API llrt_status llrt_layout_strided1d(int64_t size, int64_t stride, const char *in,
                                           const char *out_name, llrt_layout *out);

/* Every position of `in` (size positions) maps to 0 of `out_name` (out_size positions). */
LLRT_API llrt_status llrt_layout_zeros1d(int64_t size, const char *in, const char *out_name,
                                         int64_t out_size, llrt_layout *out);

/* ---- questions ---- */

/* Errors: none; NULL or malformed gives false. Malformed: counts or bit sums past the limits, a bad
 * or repeated name, a column with bits past the out-dims. */
LLRT_API bool llrt_layout_is_valid(const llrt_layout *layout);

/* Total in bits, total out bits; the index of a dim in the layout's order, or -1; the first bit of
 * dim `index` (of one behind the last: all bits). Of NULL 0, -1 and 0. */
LLRT_API int llrt_layout_in_bits(const llrt_layout *layout);
LLRT_API int llrt_layout_out_bits(const llrt_layout *layout);
LLRT_API int llrt_layout_in_index(const llrt_layout *layout, const char *name);
LLRT_API int llrt_layout_out_index(const llrt_layout *layout, const char *name);
LLRT_API int llrt_layout_in_shift(const llrt_layout *layout, int index);
LLRT_API int llrt_layout_out_shift(const llrt_layout *layout, int index);

/* The rank of the matrix, 0 of NULL. Surjective: rank = out bits. Injective: rank = in bits; both
 * false for NULL and malformed. */
LLRT_API int llrt_layout_rank(const llrt_layout *layout);
LLRT_API bool llrt_layout_is_surjective(const llrt_layout *layout);
LLRT_API bool llrt_layout_is_injective(const llrt_layout *layout);

/* Per in-dim, the mask of bits whose column depends on columns of earlier bits (in order of
 * in-dims, low bit first): positions that differ only there hold copies. masks has n_in entries. */
LLRT_API llrt_status llrt_layout_free_variable_masks(const llrt_layout *layout, uint64_t *masks);

/* The largest V such that the first in-dim's positions 0..V-1 lie consecutively in the first
 * out-dim and no other basis vector touches those bits; at most 2^62. 1 when there is no such dim,
 * and for NULL and malformed. */
LLRT_API int64_t llrt_layout_num_consecutive(const llrt_layout *layout);

/* Same dims in the same order with the same columns. False for NULL and malformed. */
LLRT_API bool llrt_layout_equal(const llrt_layout *a, const llrt_layout *b);

/* A 128-bit hash of what llrt_layout_equal compares (XXH3); stable between processes and
 * machines. */
LLRT_API llrt_hash llrt_layout_hash(const llrt_layout *layout);

/* ---- evaluation ---- */

/* XOR of the columns of the set bits of `input`, the in-dims' coordinates laid end to end. Bits
 * past the in bits are ignored. The flat forms are what inner loops use. Precondition: a valid
 * layout, not NULL. */
LLRT_API uint64_t llrt_layout_apply_flat(const llrt_layout *layout, uint64_t input);

/* The same with one coordinate per dim: in_coords[n_in] -> out_coords[n_out]. Errors: a coordinate
 * outside its dim. */
LLRT_API llrt_status llrt_layout_apply(const llrt_layout *layout, const uint64_t *in_coords,
                                       uint64_t *out_coords);

#define LLRT_MAX_RANK 8 /* axes of a tensor */

/* ---- text ---- */

/* Parses any expression of the layout language that denotes an F2 layout. shape (rank entries,
 * powers of two) is what families are applied to; NULL when the text needs none. Errors:
 * INVALID_ARGUMENT with the column of the offending character in the message. */
LLRT_API llrt_status llrt_layout_parse(const char *text, int rank, const int64_t *shape,
                                       llrt_layout *out);

/* Writes the literal form, which parses back to an equal layout:
 *   {register: [[0,1],[8,0]], lane: [[0,2]]} -> [dim0:16, dim1:4]
 * into buffer[size], always zero-terminated when size > 0; *length gets the full length without the
 * zero, as snprintf counts. buffer may be NULL with size 0. */
LLRT_API llrt_status llrt_layout_print(const llrt_layout *layout, char *buffer, size_t size,
                                       size_t *length);

#ifdef __cplusplus
}
#endif

#include <llrt/layout_algebra.h>
#include <llrt/layout_families.h>
#include <llrt/layout_questions.h>

#endif
