/* The families of layouts that compilers and hardware use, by their parameters, applied to a
 * shape. docs/layout-language.md has the same families as text.
 *
 * A shape has `rank` extents (powers of two) onto dim0..dim(rank-1). Register families give
 * in-dims register x lane x warp x block: a shape larger than what a block's registers hold is
 * walked by more registers, of a smaller one the elements are held in copies (zero columns).
 * Memory families give offset (or row x col) x block, in elements; what a shape smaller than the
 * hardware's tile leaves free holds copies.
 *
 * Lists have `rank` entries unless said otherwise; every size is a power of two. Errors:
 * INVALID_ARGUMENT for parameters that contradict each other or the shape, UNSUPPORTED for a
 * version or parent without a rule. Source: Triton's encodings of these names, and the
 * instruction sets' documents. */
#ifndef LLRT_LAYOUT_FAMILIES_PUBLIC_H
#define LLRT_LAYOUT_FAMILIES_PUBLIC_H

#include <llrt/layout.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How the blocks of a cluster divide the tensor; all zero is one block. Along axis a,
 * ctas_per_cga[a] blocks hold cta_split[a] different parts, the rest are copies; cta_order lists
 * axes from fastest to slowest. */
typedef struct llrt_cluster_params {
  int64_t ctas_per_cga[LLRT_MAX_RANK], cta_split[LLRT_MAX_RANK];
  int cta_order[LLRT_MAX_RANK];
} llrt_cluster_params;

/* ---- registers ---- */

/* Positions along each axis; order lists axes from fastest to slowest. */
typedef struct llrt_blocked_params {
  size_t size;
  int rank;
  int64_t size_per_thread[LLRT_MAX_RANK], threads_per_warp[LLRT_MAX_RANK];
  int64_t warps_per_cta[LLRT_MAX_RANK];
  int order[LLRT_MAX_RANK];
  llrt_cluster_params cluster;
} llrt_blocked_params;

/* Accumulators of mma.sync (version 2, instr_shape [.., M, N] with rank entries) and wgmma (version
 * 3, rank 2, instr_shape [M, N, K] of one warp). */
typedef struct llrt_nvmma_params {
  size_t size;
  int rank, version;
  int64_t warps_per_cta[LLRT_MAX_RANK], instr_shape[LLRT_MAX_RANK];
  llrt_cluster_params cluster;
} llrt_nvmma_params;

/* Accumulators of AMD's MFMA (64 lanes, versions 1 to 4) and WMMA (32 lanes, versions 1 to 3);
 * rank 2 or 3. instr_shape is [M, N, K] at every rank (wmma: all 0 is 16 x 16 x 16). transposed:
 * of the instruction's result. tiles_per_warp: all 0 is one tile. element_bits: of mfma's
 * result, 64 for f64, else 32 or 0. */
typedef struct llrt_amd_mma_params {
  size_t size;
  int rank, version;
  int64_t warps_per_cta[LLRT_MAX_RANK], tiles_per_warp[LLRT_MAX_RANK];
  int64_t instr_shape[3];
  bool transposed;
  int element_bits;
  llrt_cluster_params cluster;
} llrt_amd_mma_params;

typedef struct llrt_slice_params llrt_slice_params;
typedef struct llrt_dot_operand_params llrt_dot_operand_params;

/* One of these, the others NULL. */
typedef struct llrt_layout_parent {
  const llrt_blocked_params *blocked;
  const llrt_nvmma_params *nvmma;
  const llrt_amd_mma_params *mfma, *wmma;
  const llrt_slice_params *slice;
  const llrt_dot_operand_params *dot;
} llrt_layout_parent;

/* parent, which has one axis more, without axis dim: what a reduction along dim leaves. */
struct llrt_slice_params {
  size_t size;
  int dim;
  llrt_layout_parent parent;
};

/* Operand 0 ([.., M, K]) or 1 ([.., K, N]) of a dot whose result is laid out as parent: blocked,
 * nvmma, mfma or wmma. k_width: consecutive elements along K in a lane; not read for blocked. */
struct llrt_dot_operand_params {
  size_t size;
  int operand;
  int64_t k_width;
  llrt_layout_parent parent;
};

LLRT_API llrt_status llrt_layout_blocked(const llrt_blocked_params *params, const int64_t *shape,
                                         llrt_layout *out);
LLRT_API llrt_status llrt_layout_nvmma(const llrt_nvmma_params *params, const int64_t *shape,
                                       llrt_layout *out);
LLRT_API llrt_status llrt_layout_mfma(const llrt_amd_mma_params *params, const int64_t *shape,
                                      llrt_layout *out);
LLRT_API llrt_status llrt_layout_wmma(const llrt_amd_mma_params *params, const int64_t *shape,
                                      llrt_layout *out);
/* rank: of the shape, one less than the parent's. Parents nest at most 8 deep. */
LLRT_API llrt_status llrt_layout_slice(const llrt_slice_params *params, int rank,
                                       const int64_t *shape, llrt_layout *out);
LLRT_API llrt_status llrt_layout_dot(const llrt_dot_operand_params *params, int rank,
                                     const int64_t *shape, llrt_layout *out);

/* ---- memories ---- */

/* Shared memory whose rows (order[0]) have vectors of `vec` elements XORed by a phase that the
 * second axis (order[1]) gives: (row / per_phase) % max_phase; rotating: XORed with (row /
 * per_phase / max_phase) % max_phase. */
typedef struct llrt_swizzle_params {
  size_t size;
  int rank;
  int64_t vec, per_phase, max_phase;
  int order[LLRT_MAX_RANK];
  llrt_cluster_params cluster;
} llrt_swizzle_params;

/* Shared memory as wgmma, tcgen05 and the tensor memory accelerator read it: swizzle_bytes 0,
 * 32, 64 or 128; element_bits 4 to 128; transposed: dim0 is contiguous, not the last axis;
 * fp4_padded: 8 bytes of every 16 hold pairs of 4-bit elements and the other 8 hold nothing. */
typedef struct llrt_nvmma_shared_params {
  size_t size;
  int rank, swizzle_bytes, element_bits;
  bool transposed, fp4_padded;
  llrt_cluster_params cluster;
} llrt_nvmma_shared_params;

/* Blackwell's tensor memory, row x col x block, rank 2: tiles of block_m (64 or 128) x block_n.
 * col_stride: columns to an element (0 means 1). two_ctas: block_m 64 shared by two blocks. */
typedef struct llrt_tensor_memory_params {
  size_t size;
  int block_m, block_n, col_stride;
  bool two_ctas, fp4_padded;
  llrt_cluster_params cluster;
} llrt_tensor_memory_params;

LLRT_API llrt_status llrt_layout_swizzled_shared(const llrt_swizzle_params *params,
                                                 const int64_t *shape, llrt_layout *out);
LLRT_API llrt_status llrt_layout_rotating_shared(const llrt_swizzle_params *params,
                                                 const int64_t *shape, llrt_layout *out);
LLRT_API llrt_status llrt_layout_nvmma_shared(const llrt_nvmma_shared_params *params,
                                              const int64_t *shape, llrt_layout *out);
LLRT_API llrt_status llrt_layout_tensor_memory(const llrt_tensor_memory_params *params,
                                               const int64_t *shape, llrt_layout *out);
/* Scale factors [MN, K] in tensor memory; k_then_mn: tiles follow each other along K first. cluster
 * may be NULL. */
LLRT_API llrt_status llrt_layout_tensor_memory_scales(bool k_then_mn,
                                                      const llrt_cluster_params *cluster,
                                                      const int64_t *shape, llrt_layout *out);

#ifdef __cplusplus
}
#endif
#endif
