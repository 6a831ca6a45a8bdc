/* llrt_compute: what an expression says, in one kernel, from tensors in any storage into tensors in
 * any storage. */
#ifndef LLRT_COMPUTE_H
#define LLRT_COMPUTE_H

#include <llrt/expression.h>
#include <llrt/op.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a name of the signature stands for: a tensor, or with tensor NULL a number of the run:
 * `number` for those of f32 and f64, `integer` for those of i32 and i64, whose `number` is 0 or the
 * same: what was meant for the other is refused. */
typedef struct llrt_arg {
  const char *name;
  const llrt_tensor *tensor;
  double number;
  int64_t integer;
  int64_t reserved[2]; /* 0 */
} llrt_arg;

/* What an output's elements become behind their cast: WORD_BITS alone (map.h), of elements of less
 * than 32 bits, as llrt_dot_pack gives it, in storages of whole words; pads are 0. */
typedef struct llrt_output_map {
  const char *name; /* of the output */
  llrt_map map;
} llrt_output_map;

/* NULL and all-zero: the presets. */
typedef struct llrt_compute_params {
  size_t size;
  uint64_t flags;              /* 0 */
  const llrt_output_map *maps; /* n_maps of them, borrowed for the call */
  int64_t n_maps;              /* 0 to 2, each output once */
} llrt_compute_params;

/* Computes expr's outputs from its inputs. args: each name of the signature once, in any order.
 *
 * inputs   f64 f32 f16 bf16, 8-bit floats, e8m0, e2m1, integers of 4 to 64 bits, bool; in any
 *          storage; of copies the first is read, of pads nothing. Where an index has a value out
 *          of range (llrt_index), elements are read as bits of 0 (of e8m0 2^-127) or
 *          clamped: so also with SKIP and REPORT
 * outputs  those types, in any storage without copies; pads get the storage's value, but along axes
 *          that are counted or joined in rows too long for a block: UNSUPPORTED; with indices of
 *          SKIP or REPORT, which leave out that output's elements alone
 * Extents of one axis agree; one that nothing joins may be counted in device memory (extent_ptr of
 * any of its tensors; 4 bytes). Indices and counts stand on axes that the expression takes as they
 * are. Every element of an output is written once. Outputs lie in memory of their own, be it
 * columns of a buffer whose other columns are other tensors (where both tensors have indices, or
 * one has pointers, that is the caller's to see), but for one that is exactly an input: the same
 * address, storage and width, and all axes, of an input without indices of which nothing is flipped
 * or taken at a position; of 4-bit elements of whose bytes no thread has both (rows of an odd
 * length) UNSUPPORTED.
 *
 * docs/expressions.md says what is computed in which type, and how it is rounded. The tree in which
 * a reduction joins is decided by the row's extents and storages, the types and the device: never
 * by how many rows there are, by alignment, cache or timing. Thread: any. Errors: INVALID_ARGUMENT
 * (names, extents, overlap; with line and column what a node has wrong), UNSUPPORTED, NOT_PREPARED,
 * UNAVAILABLE, COMPILE, DEVICE; nothing is written then. */
LLRT_API llrt_status llrt_compute_into(const llrt_expr *expr, const llrt_arg *args, int n,
                                       const llrt_compute_params *params, void *stream);

/* Describes that call, without promises (all of *desc's are zero, to be filled): for
 * llrt_op_promise_coarse, llrt_op_prepare and llrt_op_compile; desc->tensors, desc->n_tensors and
 * desc->scalars are what llrt_op_run takes (llrt_run_params.scalars). Its tensors have all axes of
 * the signature, of those that they lack one position, of which a promise says nothing; what is
 * promised of an axis of one tensor holds for all that have it. To run on other tensors,
 * describe those: it plans nothing. Tensors need no memory and, but for run, no device. A fixed
 * extent that the signature splits an axis by is part of the description, and so is the inner one
 * where an outer axis is fixed. Ownership: llrt_op_desc_destroy; nothing of the arguments is kept
 * but memory. Thread: any. Errors: as llrt_compute_into, OUT_OF_MEMORY. */
LLRT_API llrt_status llrt_compute_describe(const llrt_expr *expr, const llrt_arg *args, int n,
                                           const llrt_compute_params *params, llrt_op_desc **desc);

/* What an output would be where nobody has made it: a row-major tensor without memory, of the
 * extents that the inputs among `args` give and the signature's type, else the first input's; its
 * device is theirs. Errors: INVALID_ARGUMENT where `name` is no output, an extent is not known, or
 * the expression has no input tensor. */
LLRT_API llrt_status llrt_compute_result(const llrt_expr *expr, const llrt_arg *args, int n,
                                         const char *name, llrt_tensor *result);

/* The signature's names: tensors that are read, numbers, then tensors that are written; NULL past
 * the last. *output (may be NULL): whether it is written. Borrowed from expr. */
LLRT_API const char *llrt_expr_name(const llrt_expr *expr, int number, bool *output);

#ifdef __cplusplus
}
#endif
#endif
