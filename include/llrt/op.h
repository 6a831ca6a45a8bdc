/* Operations: describe, prepare once, run many times; save and load.
 *
 * prepare plans, compiles and loads; run only launches. An operation serves every set of tensors
 * that keeps its promises. */
#ifndef LLRT_OP_H
#define LLRT_OP_H

#include <llrt/combiner.h>
#include <llrt/map.h>
#include <llrt/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LLRT_MAX_TENSORS 16 /* of an operation, in this version: no struct's size depends on it */

typedef struct llrt_op llrt_op;

typedef enum llrt_op_kind {
  LLRT_OP_CONVERT =
      1, /* tensors: source, destination; same logical shape. With a SCALE map, scales */
  LLRT_OP_REDUCE =
      2, /* tensors: source, destination, whose reduced axes have one position; of ARGMIN and ARGMAX
            the destination is positions, and the values may follow as a third tensor */
  LLRT_OP_SCAN = 3,    /* tensors: source, destination; same logical shape */
  LLRT_OP_COMPUTE = 5, /* tensors: as llrt_compute_describe makes them (compute.h) */
  LLRT_OP_DOT = 4 /* tensors: those of llrt_op_dot.roles, as llrt_dot_describe makes them (dot.h) */
} llrt_op_kind;

/* What holds for a run-time number. All-zero: nothing is known. multiple: it is a multiple of this
 * (0 counts as 1). min <= number <= max; max 0 means no upper bound. min = max compiles the value
 * in. */
typedef struct llrt_promise {
  int64_t multiple, min, max;
} llrt_promise;

/* What holds for one of the tensor's indices: then several values are loaded at a time. */
typedef struct llrt_index_promise {
  int32_t
      along; /* 1 + the axis along which values lie one after the other (stride 1); 0: not known */
  int32_t multiple; /* bytes, a power of two that divides data and all other strides; 0: a value */
} llrt_index_promise;

/* Of a tensor without elements address and stride hold whatever they are. */
typedef struct llrt_tensor_promise {
  llrt_promise address;               /* bytes; only multiple is used */
  llrt_promise shape[LLRT_MAX_RANK];  /* positions */
  llrt_promise stride[LLRT_MAX_RANK]; /* elements; every bound stride of a digit of that axis that
                                         the rule does not fix: RUN-TIME, or PACKED outside a REST
                                         digit. Only multiple is used */
  llrt_index_promise index[LLRT_MAX_RANK]; /* of the tensor's indices, in their order */
  int64_t reserved[4];                     /* 0 */
} llrt_tensor_promise;

/* What joins elements, and along which axes (include/llrt/reduce.h, include/llrt/scan.h). */
typedef struct llrt_op_combine {
  llrt_combiner op;
  llrt_dtype accumulate;   /* NONE: the default for the op and the source's type */
  uint32_t axes;           /* bit a: axis a */
  bool exclusive, reverse; /* SCAN */
  int64_t reserved[2];     /* 0 */
} llrt_op_combine;

/* The tensors of a dot. Their numbers are part of saved kernels. */
typedef enum llrt_dot_role {
  LLRT_DOT_A = 0,
  LLRT_DOT_D = 1, /* the one that is written */
  LLRT_DOT_B = 2,
  LLRT_DOT_C = 3,
  LLRT_DOT_BIAS = 4,
  LLRT_DOT_SCALE_A = 5,
  LLRT_DOT_ZERO_A = 6,
  LLRT_DOT_GLOBAL_A = 7,
  LLRT_DOT_SCALE_B = 8,
  LLRT_DOT_ZERO_B = 9,
  LLRT_DOT_GLOBAL_B = 10,
  LLRT_DOT_ADD = 11,     /* of an ADD map */
  LLRT_DOT_SCALE_D = 12, /* of a SCALE map */
  LLRT_DOT_ENDS = 13,    /* of a grouped product: where each expert's positions end; of the axis
                            that is cut, in place of that of experts: each position's expert */
  LLRT_DOT_ROLES = 14
} llrt_dot_role;

/* What a dot computes, and which element of a tensor belongs to a coordinate. The axes of the
 * operation are batch.., M, N, K, and all tensors have as many; tensor t has ceil(extent /
 * group[t][a]) positions along axis a (group 0 counts as 1), one where the group is LLRT_GROUP_ALL:
 * such an axis it does not have. With ENDS the product is grouped: its only batch axis are experts,
 * which B has and A and D lack (their axis M is cut), or D has and A and B lack (K is). */
typedef struct llrt_op_dot {
  uint32_t roles; /* bit r: there is a tensor of llrt_dot_role r; they stand in this order. A, D, B
                     always */
  llrt_dtype accumulate;                 /* NONE: the rule's (dot.h) */
  const int32_t (*group)[LLRT_MAX_RANK]; /* of each tensor; NULL: all 0 */
  double alpha, beta; /* of a run that brings none; read where they act: has_alpha, has_beta */
  uint8_t
      scale_range[2][2]; /* of A, of B: {least, most} of e8m0 scales; both 0: nothing is promised */
  uint8_t word_bits[2][32]; /* of A, of B: bit i of the words that elements form is bit word_bits[i]
                               of those in memory; all 0: as they are */
  bool tf32, fast_accumulate;
  bool has_alpha, has_beta; /* products, C are multiplied by a number that each run may bring */
  int64_t batch_invariant;  /* 1: the order of sums does not depend on M or batch axes; else 0 */
  int64_t reserved[5];      /* 0 */
} llrt_op_dot;

/* The description. For prepare, explain and compile the tensors' dtype, rank and storage count;
 * data, shape and strides are not looked at: what holds for them is said by promises. Of an index
 * its data, extent, strides and report are not looked at, of extent_ptr only whether it is NULL;
 * with a pointer list the tensor's address promise is for the addresses in it. The arrays are the
 * caller's, borrowed for the call. */
typedef struct llrt_op_desc {
  size_t size;
  llrt_op_kind kind;
  int32_t n_tensors;
  const llrt_tensor *tensors;    /* n_tensors of them */
  llrt_tensor_promise *promises; /* one for each tensor; NULL: nothing is promised.
                                    llrt_op_promise_coarse alone writes them */
  const llrt_map *maps;          /* n_maps of them, in the order in which they act */
  int32_t n_maps;                /* 0..LLRT_MAX_MAPS */
  int32_t in_place; /* 1: the tensors begin at one address, or (a convert's, on a GPU) have one list
                       of addresses, and the destination overwrites the source */
  llrt_op_combine combine;            /* REDUCE, SCAN; else zero */
  llrt_op_dot dot;                    /* DOT; else zero */
  const uint64_t *scalars;            /* COMPUTE: codes of the numbers that were given; else NULL */
  const struct llrt_program *program; /* COMPUTE: what llrt_compute_describe made; else NULL */
} llrt_op_desc;

/* Frees a description that the library made (llrt_dot_describe) and clears *desc; NULL is accepted.
 */
LLRT_API void llrt_op_desc_destroy(llrt_op_desc **desc);

/* Writes desc->promises, the promises that exactly these tensors keep, coarsely: extents
 * below 1024 (in place: all) as they are, larger ones "fits 31 bits" or nothing; strides and
 * addresses the largest power of two up to 16 bytes on a GPU, 64 on the host and where a tensor has
 * no device. desc->tensors are complete here: shape, strides and, where it is known, data count.
 * Promises that are there are overwritten. (One-line calls promise less by themselves, but use an
 * operation that was prepared with these.) Errors: INVALID_ARGUMENT, UNSUPPORTED, as
 * llrt_op_prepare has them; nothing is promised then. */
LLRT_API llrt_status llrt_op_promise_coarse(const llrt_op_desc *desc);

/* Plans, compiles and loads every variant that the promises reach. Cost: milliseconds, microseconds
 * for an operation that the context has prepared before; kernels that it has are not compiled
 * again, and two threads that ask for one compile it once. One-line calls on the context use what
 * is prepared where their tensors keep its promises. Ownership: llrt_op_destroy. Thread: any.
 * Errors: INVALID_ARGUMENT, UNSUPPORTED (the message names the tensor and the reason), UNAVAILABLE
 * (no compiler), COMPILE, DEVICE. */
LLRT_API llrt_status llrt_op_prepare(llrt_device *device, const llrt_op_desc *desc, llrt_op **op);

/* Clears *op; NULL is accepted. Precondition: its launches are done. What was captured may still be
 * replayed: it keeps its kernels until the device is closed. */
LLRT_API void llrt_op_destroy(llrt_op **op);

#define LLRT_WORKSPACE_ALIGNMENT 16

/* Bytes of workspace that suffice for a run on these tensors, or on tensors none of whose extents
 * is larger; 0 for most operations. Workspace is the operation's between launches of one run only,
 * so all operations of a stream may share one of the largest size. Errors: as llrt_op_run; *bytes
 * is 0 then. */
LLRT_API llrt_status llrt_op_workspace(const llrt_op *op, const llrt_tensor *tensors, int n,
                                       size_t *bytes);

typedef struct llrt_run_params {
  size_t size;
  void *workspace; /* device memory, aligned to LLRT_WORKSPACE_ALIGNMENT bytes, zeroed once by the
                      caller; every run that has finished leaves it zero. Not used by two runs at
                      once */
  size_t workspace_bytes;
  const double *alpha, *beta; /* of a dot that was described with an alpha, a beta: instead of
                                 those; NULL: those. With beta 0 C counts as 0, whatever it holds */
  const uint64_t *scalars;    /* of a compute whose expression has numbers: llrt_op_desc.scalars */
  int32_t own_workspace;      /* 1: the run brings its workspace by itself, as one-line calls do:
                                 kept by the context for each stream and zeroed once, or, while the
                                 stream captures, an allocation of the graph's. workspace is NULL */
  int32_t reserved;
} llrt_run_params;

/* Launches on the caller's stream and returns: allocates nothing but a workspace of its own that it
 * was asked for, never synchronises (on the host it runs to completion), is legal inside stream
 * capture. params may be NULL where no workspace is needed. INVALID_ARGUMENT where there is less
 * than the run needs, which is never more than llrt_op_workspace says, and for an alpha or beta
 * that is NaN or that the operation was described without. OUT_OF_MEMORY with own_workspace alone.
 * Thread: any number of threads at once on one op. Errors: OUT_OF_CLASS when a tensor breaks a
 * promise, INVALID_ARGUMENT for tensors that do not fit the description or overlap (columns of one
 * buffer do not, whose rows are one pitch apart, or multiples of it), UNSUPPORTED for a convert's
 * that begin at one address where it was not described in_place; nothing is launched then. */
LLRT_API llrt_status llrt_op_run(const llrt_op *op, void *stream, const llrt_tensor *tensors, int n,
                                 const llrt_run_params *params);

/* Writes the operation's kernels into buffer[*size], the caller's, and the bytes used into *size.
 * With buffer NULL, only the size. docs/kernel-format.md describes the bytes. Errors:
 * INVALID_ARGUMENT when *size is too small (*size is then what is needed), OUT_OF_MEMORY. */
LLRT_API llrt_status llrt_op_save(const llrt_op *op, void *buffer, size_t *size);

/* Loads saved bytes, which are not used afterwards; needs neither plan nor compiler. Ownership:
 * llrt_op_destroy. Errors: CORRUPT (checksum, version), UNSUPPORTED (made for another target; both
 * are named), OUT_OF_MEMORY, DEVICE. */
LLRT_API llrt_status llrt_op_load(llrt_device *device, const void *buffer, size_t size,
                                  llrt_op **op);

/* What saved bytes are for. Texts end in a zero. */
typedef struct llrt_kernel_info {
  size_t size;      /* set by the caller, or 0 */
  int64_t format;   /* docs/kernel-format.md; of another than this library's the fields below `fits`
                       and `version` stay 0 */
  char version[32]; /* of the llrt that wrote them */
  char target[32];
  int32_t fits; /* 1: llrt_op_load takes them; without a device: of a format that this library reads
                 */
  llrt_op_kind kind;
  int32_t n_tensors;
  int32_t n_kernels, n_compiled; /* of all variants; those with code */
  int32_t capability; /* of the devices for which code is linked, 10 * major + minor; 0: nothing is
                         linked. Others of the target link the code when they load it */
  int32_t shared_bytes; /* of a block, the most that a compiled kernel takes */
  int32_t reserved;
  char why[160]; /* not fits: in a line; else empty */
} llrt_kernel_info;

/* What the bytes of llrt_op_save are for, and whether they run on the device; with device NULL the
 * first alone. Loads nothing. Thread: any. Errors: CORRUPT (damaged, truncated, something else),
 * INVALID_ARGUMENT, OUT_OF_MEMORY; the info is zero then. */
LLRT_API llrt_status llrt_kernel_inspect(const void *buffer, size_t size, const llrt_device *device,
                                         llrt_kernel_info *info);

/* ---- without a device ---- */

typedef enum llrt_emit {
  LLRT_EMIT_PLAN = 0,   /* text: the plans and their predicted cost (llrt explain) */
  LLRT_EMIT_IR = 1,     /* text: LLVM IR after optimisation */
  LLRT_EMIT_ASM = 2,    /* text: PTX, AMDGPU or host assembly */
  LLRT_EMIT_OBJECT = 3, /* PTX text, HSACO or host ELF shared object */
  LLRT_EMIT_KERNEL = 4, /* what llrt_op_save writes and llrt_op_load reads */
  LLRT_EMIT_WHY = 5 /* text: every variant that was tried, what refused it, what it would have cost
                       (llrt explain --why); also where no variant is left */
} llrt_emit;

/* Plans and, where `emit` asks for it, compiles desc for a target: "sm_80", "sm_89", "sm_90",
 * "sm_90a", "gfx90a", "gfx942", "host" (this machine), "x86-64-v2|3|4", "aarch64". Several variants
 * follow each other (text forms, with a heading comment); OBJECT gives the first. PLAN needs no
 * compiler. The bytes end in a zero that *size does not count. Ownership: *bytes by
 * llrt_buffer_free. Errors: as llrt_op_prepare. */
LLRT_API llrt_status llrt_op_compile(llrt_context *context, const char *target,
                                     const llrt_op_desc *desc, llrt_emit emit, char **bytes,
                                     size_t *size);

/* The hash of all that decides the kernels of an operation on a target, named as for
 * llrt_op_compile: kind, types (widths where elements only move), storages and promises in
 * canonical form, maps, what is joined or multiplied, and the target with the facts of its
 * reference device. Descriptions that say the same in other words have one hash; no two that have
 * different kernels do. Of memory, strides, shapes, alpha and beta, which a run brings, nothing is
 * in it. The same in every process of one version of the library; another version may have others.
 * Thread: any. Errors: as llrt_op_prepare for a description that is none; INVALID_ARGUMENT for an
 * unknown target. */
LLRT_API llrt_status llrt_op_desc_hash(const llrt_op_desc *desc, const char *target,
                                       llrt_hash *hash);

/* The description in a line of text, for messages and logs: operation, tensors with their storages
 * in canonical form, promises, indices, maps. buffer, size and length as llrt_layout_print. Thread:
 * any. Errors: INVALID_ARGUMENT for a description that is none, or where size is too small (*length
 * is then what is needed, without the zero), OUT_OF_MEMORY. */
LLRT_API llrt_status llrt_op_desc_print(const llrt_op_desc *desc, char *buffer, size_t size,
                                        size_t *length);

/* Frees what llrt_op_compile gave and clears *bytes; NULL is accepted. */
LLRT_API void llrt_buffer_free(char **bytes);

/* Counters of a context's kernel cache; for tests and `llrt` diagnostics. */
typedef struct llrt_cache_stats {
  size_t size;       /* set by the caller, or 0 */
  uint64_t kernels;  /* held now */
  uint64_t compiles; /* done since the context was made */
  uint64_t hits;     /* lookups that found a kernel */
} llrt_cache_stats;

/* The counters now; other threads may be changing them. Errors: INVALID_ARGUMENT for NULL alone. */
LLRT_API llrt_status llrt_context_get_cache_stats(llrt_context *context, llrt_cache_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
