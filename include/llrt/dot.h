/* llrt_dot: products of matrices whose elements are of any two types.
 *
 *   D[.., m, n] = maps(alpha * global_a * global_b * sum over k of a(.., m, k) * b(.., k, n)
 *                      + beta * C[.., m, n] + bias[n])
 *   a(.., m, k) = (A[.., m, k] - zero_a) * scale_a, b likewise, with the zero point and the scale
 *   of the group
 *
 * The rule for every pair of types. Where each number is rounded:
 *
 * 1. Values of an operand are its elements, exactly, unless a scale or a zero point stands on them:
 *      - a zero point, and a scale that does not vary along K: the difference, exactly; a float
 *        zero point's is rounded to its type
 *      - a scale of e8m0: rounded to bf16 (exact but at the ends of the exponent's range)
 *      - a scale of e4m3 or another 8-bit float: rounded to bf16 (exact for 4-bit elements)
 *      - a scale of f16, bf16 or f32: rounded to the scale's type
 *    The difference and the product are rounded to f32 first, which only very unequal terms notice.
 *    Elements have at most 8 bits there. A scale that does not vary along K (LLRT_GROUP_ALL, or one
 *    position because K is no longer than its group) stands on the sums instead, with any type, and
 *    elements stay as they are. An operation that is run on many shapes does so on those that are
 *    so short, as a call does.
 * 2. The *compute type* is the narrowest of f16, bf16, tf32, f32 and f64 that holds all values of
 *    both operands exactly, each of their type's; f64 where there is none (then 64-bit integers are
 *    rounded to it). So
 *      f64 with anything f64; f32 with f32, f16, bf16, 8-bit floats, i16, i8, u8, i4, u4, e2m1: f32
 *      f16 with f16, e4m3, e5m2, e2m1, i8, u8, i4, u4: f16
 *      bf16 with bf16, e4m3, e5m2, e2m1, i8, u8, i4, u4: bf16
 *      f16 with bf16, or with an operand scaled by e8m0: tf32, which holds both
 *      8-bit floats and e2m1 among each other and with i8, u8, i4, u4: f16
 *      i16 with 8-bit floats, f16, bf16: f32; i32, i64 with any float: f64
 *    Kernels may use any instruction whose types hold the same values exactly: 8-bit floats
 *    multiply 8-bit floats, a promised range of scales that fits f16 makes mxfp4 with f16 run in
 *    f16, one of at most 27 powers of two packed mxfp4 with e4m3 or e5m2 in 8 bits (values are e5m2
 *    then, but for one power of two, which acts with alpha). With params.tf32 pairs that compute in
 *    f32 compute in tf32: each operand keeps 10 bits behind the point, an error below 2^-10 of it.
 * 3. Integers among each other (zero points included) compute in integers: of at most 9 bits, sign
 *    included, in i32, else in i64, modulo 2^32 and 2^64; in f64 instead of i64 where a scale
 *    stands on the sums.
 * 4. Products are exact. Sums are in f32 (f64 where that is the compute type), in an order that
 *    shape, types, storages and device decide, never timing: the same bits in every run. A tensor
 *    core may cut bits below 2^-23 of its sum. Sums of 8-bit float instructions keep 13 bits of up
 *    to 128 products, then join in f32; with params.fast_accumulate of all of K. Beside a product
 *    that is 2^13 times as large as others these are lost.
 *    With params.batch_invariant that order does not depend on M or batch axes: a row of D has the
 *    bits that it has alone, or among any other rows, of operands of the same types, storages,
 *    strides and alignment. N, K, types and device choose the tile, and no number of blocks that
 *    follows from M shares K.
 * 5. Scales of sums, alpha, C, bias and maps act in f32 (f64), each rounded, then the result is
 *    cast once (map.h). A sum in i32 becomes f32 first, unless D is an integer and nothing acts on
 *    it. A sum in i64 becomes f64, where the same holds, unless D is i64, which is for sums of
 *    integers on which nothing acts.
 * NaN: an operand's NaN and infinities act as IEEE 754 says. A scale that is NaN (e8m0: 0xFF) makes
 * every element of its group NaN, zeros included: every result that they take part in. An infinite
 * scale makes NaN of its group's zeros, those behind the end of K among them. */
#ifndef LLRT_DOT_H
#define LLRT_DOT_H

#include <llrt/op.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What stands on an operand's elements. All-zero: nothing. */
typedef struct llrt_dot_scaling {
  const llrt_tensor
      *scale; /* f32, f16, bf16, an 8-bit float or e8m0, with ceil(extent / group) positions along
                 the operand's axes (batch axes may be left out: all share it); NULL: 1 */
  const llrt_tensor *zero; /* zero points of the same shape, for integer elements of at most 8 bits:
                              an integer of at most 8 bits, f16 or bf16; NULL: 0 */
  const llrt_tensor *global; /* one f32 (rank 0, or one position); NULL: 1 */
  int64_t group[2];          /* positions that share a scale along the operand's last two axes;
                                LLRT_GROUP_ALL; 0: as the shapes say: one position is all, else
                                extent / positions, where that divides */
  uint8_t
      word_bits[32]; /* of packed elements: bit i of each 32-bit word that elements form is bit
                        word_bits[i] of the word in memory (llrt_dot_pack); all 0: as they are */
  uint8_t range_low,
      range_high; /* a promise that e8m0 scales lie in these bytes; 0, 0: nothing is promised */
  int64_t reserved[2]; /* 0 */
} llrt_dot_scaling;

/* NULL and all-zero: D = A B. */
typedef struct llrt_dot_params {
  size_t size;
  const double *alpha; /* NULL: 1. Taken at the call: of kernels only whether it is another number
                          than 1 is known */
  const double *beta; /* NULL: 0, and C is not looked at; so with 0. Taken at the call like alpha */
  const llrt_tensor *c;    /* f64, f32, f16, bf16, of D's shape; NULL: none. May be D itself */
  const llrt_tensor *bias; /* the same types, [N]; NULL: none */
  llrt_dot_scaling a, b;
  llrt_dtype accumulate; /* NONE: the rule's. F64: compute in f64, too, of integers as well. I64:
                            compute in i64 */
  llrt_dtype dtype; /* llrt_dot: the result's type; NONE: the wider of the operands' floating types
                       of 16 bits or more (f32 for f16 with bf16 and where there is none); the
                       compute type where an integer asks for more; of integers what sums are in */
  bool tf32;        /* f32 may be rounded to tf32 */
  bool fast_accumulate;     /* 8-bit floats: see 4. above */
  int32_t n_maps;           /* 0..LLRT_MAX_MAPS */
  const llrt_map *maps;     /* ADD, RELU, GELU, SILU, SCALE (groups along D's axes), in the order in
                               which they act */
  const llrt_tensor *add;   /* of an ADD map: f64, f32, f16, bf16, of D's shape; else NULL */
  const llrt_tensor *scale; /* of a SCALE map; else NULL */
  const llrt_tensor *ends;  /* a grouped product: see below; NULL: none */
  bool batch_invariant;     /* rows of D do not depend on how many there are: see 4. above */
  const llrt_tensor *experts; /* a grouped product, in place of ends: see below; NULL: none */
} llrt_dot_params;

/* Grouped products: llrt_dot_params.ends, i32 [E] or [E + 1], row-major, in memory of the device,
 * says where the positions of each of E experts end, of rows that are sorted by expert. Expert e
 * has positions ends[e - 1] to ends[e] - 1, the first one from 0 on; of [E + 1] values the first
 * counts as 0. Two forms, told apart by ranks:
 *
 *   rows   a [T, K], b [E, K, N], d [T, N]: rows of a expert e's are multiplied by b[e]. What
 *          stands on rows has no axis E (scales of A, C, ADD, SCALE), what stands on columns may
 *          have it ([N] or [E, N] of a bias; [K / group, N] or [E, K / group, N] of B's scales).
 *          Rows of d from the last end on are not written.
 *   sums   a [M, T], b [T, N], d [E, M, N]: d[e] = sum over expert e's t of a[m, t] b[t, n], the
 *          gradient of b in the form above; of an expert without positions it is 0.
 *
 * In place of ends llrt_dot_params.experts, i32 [T], row-major, may say which expert each position
 * belongs to, sorted: equal ones are behind each other, lower ones in front. The device looks for
 * where each expert's end, in the same launch. Positions with E and more are nobody's; values below
 * 0 count as 0. In the form of sums E is d's, so that llrt_dot, which makes d, refuses it.
 *
 * The values are read when the operation runs, in one launch without a wait of the host's, so that
 * a graph that was captured once is right for every distribution of rows. Values below 0 count as
 * 0, those past T as T; where ends or experts decrease, no memory outside the tensors is touched,
 * but which rows are written is not said.
 *
 * In the form of rows a and d may have an index on their axis T (llrt_index, axes = {T}): rows are
 * then gathered as they are loaded, a[index[t]], and scattered as they are stored, d[index[t]], so
 * that routing costs no pass. Two rows that are sent to one race: the caller sees that there are
 * none. A SCALE map of [T, 1] weighs rows. b may have a pointer list on its axis E. */

/* D's type, rank, shape and device where nothing is asked: a row-major tensor without memory.
 * params->dtype is taken. Thread: any. Errors: INVALID_ARGUMENT for ranks that cannot be; what else
 * is wrong is said by llrt_dot_describe. */
LLRT_API llrt_status llrt_dot_result(const llrt_tensor *a, const llrt_tensor *b,
                                     const llrt_dot_params *params, llrt_tensor *d);

/* Describes D = A B with its tensors, without promises (all of *desc's are zero, to be filled): for
 * llrt_op_promise_coarse, llrt_op_prepare and llrt_op_compile; desc->tensors, desc->n_tensors are
 * what llrt_op_run takes. Tensors need no memory and, but for run, no device. Ownership:
 * llrt_op_desc_destroy; nothing of the arguments is kept but memory, indices and extent_ptr.
 *   a   [.., M, K]   f64 f32 f16 bf16 e4m3 e5m2 e4m3fnuz e5m2fnuz e2m1 i64 i32 i16 i8 u8 i4 u4
 *   b   [.., K, N]   the same; a transposed matrix is a storage
 *   d   [.., M, N]   any type that the sum can be cast to
 * Batch axes are numbered from the right; one with a single position, or left out, stands for all
 * of D's. A, B and D may each have one list of pointers (llrt_index of kind POINTER) whose axes are
 * batch axes: batches in memory of their own, in one launch; where the pointer is NULL A and B are
 * 0, and D is not written. Any extent may be 0: D = maps(beta C + bias) for K = 0. alpha = 0 makes
 * 0 of the product whatever A and B hold. Thread: any. Errors: INVALID_ARGUMENT naming the argument
 * (alpha or beta NaN, groups without scales, too); UNSUPPORTED for types that do not go together
 * and for more than LLRT_MAX_RANK - 3 batch axes; OUT_OF_MEMORY. */
LLRT_API llrt_status llrt_dot_describe(const llrt_tensor *a, const llrt_tensor *b,
                                       const llrt_tensor *d, const llrt_dot_params *params,
                                       llrt_op_desc **desc);

/* The same and runs it: memory that is written overlaps none that is read, but C may be D (same
 * address, type and storage). Where K is shared by blocks, workspace is taken as llrt_allocator
 * (device.h) says. Thread: any. Errors: as llrt_dot_describe; UNSUPPORTED for what the device
 * cannot do; NOT_PREPARED, UNAVAILABLE, COMPILE, DEVICE; nothing is written then. */
LLRT_API llrt_status llrt_dot_into(const llrt_tensor *a, const llrt_tensor *b, const llrt_tensor *d,
                                   const llrt_dot_params *params, void *stream);

/* The same into memory from the context's allocator. `storage` (borrowed: it must outlive *result)
 * may be NULL for row_major; it has D's axes. Ownership: llrt_tensor_free(result, stream). On error
 * *result is zero. */
LLRT_API llrt_status llrt_dot(const llrt_tensor *a, const llrt_tensor *b,
                              const llrt_storage *storage, const llrt_dot_params *params,
                              void *stream, llrt_tensor *result);

/* The range that may be promised of e8m0 scales (llrt_dot_scaling.range_low, range_high), for
 * weights that are loaded once: *low the least of their bytes, *high the greatest. Where one is NaN
 * (255), and where there are none, both are 0, which promises nothing.
 *   scales   e8m0, or u8, of rank 1 or more, in any storage; of copies and pads nothing counts
 *   stream   queued behind what is there, and waited for
 * Scratch memory is allocated by the context's allocator for the time of the call. Thread: any.
 * Errors: as llrt_reduce_into; *low and *high are 0 then. */
LLRT_API llrt_status llrt_dot_scale_range(const llrt_tensor *scales, void *stream, uint8_t *low,
                                          uint8_t *high);

#ifdef __cplusplus
}
#endif
#endif
