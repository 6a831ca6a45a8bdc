/* Parametrised layouts as values: what a family's parameters say, before a shape is applied.
 *
 * Every family ends in the same way (layout/fit.c): a layout of one block is grown or cut to the
 * part of the shape that a block has, then multiplied by the layout of the blocks. */
#ifndef LLRT_LAYOUT_FAMILIES_H
#define LLRT_LAYOUT_FAMILIES_H

#include <llrt/layout.h>

#define FAMILY_MAX_DEPTH 8 /* of parents */

typedef enum family_kind {
  FAMILY_BLOCKED = 1,     /* Triton's blocked encoding */
  FAMILY_NVMMA,           /* accumulator of mma.sync (version 2) or of wgmma (version 3) */
  FAMILY_MFMA,            /* accumulator of AMD's matrix instructions for 64 lanes */
  FAMILY_WMMA,            /* and for 32 lanes */
  FAMILY_SLICE,           /* parent without one axis */
  FAMILY_DOT,             /* operand of a dot whose result is laid out as parent */
  FAMILY_SWIZZLED_SHARED, /* the rest are memories: offset x block -> dims */
  FAMILY_ROTATING_SHARED,
  FAMILY_NVMMA_SHARED,
  FAMILY_TENSOR_MEMORY, /* row x col x block -> dims */
  FAMILY_TENSOR_MEMORY_SCALES
} family_kind;

typedef struct family_list {
  int n; /* 0: not given */
  int64_t value[LLRT_MAX_RANK];
} family_list;

/* One struct for all kinds: each kind reads the fields that its line names. Flags are 0 or 1. */
typedef struct family {
  family_kind kind;
  family_list size_per_thread, threads_per_warp;  /* blocked */
  family_list order;                              /* blocked, swizzled, rotating */
  family_list warps_per_cta;                      /* blocked, nvmma, mfma, wmma */
  family_list ctas_per_cga, cta_split, cta_order; /* all but slice and dot; optional, together */
  family_list version;                            /* nvmma, mfma, wmma */
  family_list instr_shape;                        /* nvmma, mfma; wmma, where it may be left out */
  family_list tiles_per_warp;                     /* mfma, wmma; optional */
  int64_t element_bits;                           /* nvmma_shared; mfma, where 0 means 32 */
  int64_t transposed;                             /* mfma, wmma, nvmma_shared */
  int64_t dim;                                    /* slice */
  int64_t operand, k_width;                       /* dot; no k_width for blocked */
  const struct family *parent;                    /* slice, dot */
  int64_t vec, per_phase, max_phase;              /* swizzled, rotating */
  int64_t swizzle_bytes;                          /* nvmma_shared */
  int64_t fp4_padded;                             /* nvmma_shared, tensor_memory */
  int64_t block_m, block_n, col_stride, two_ctas; /* tensor_memory; col_stride 0 means 1 */
  int64_t k_then_mn;                              /* tensor_memory_scales */
} family;

/* The family's layout of a shape of powers of two, onto dim0..dim(rank-1). Errors: INVALID_ARGUMENT
 * for parameters that contradict each other or the shape, UNSUPPORTED for a version or parent that
 * there is no rule for. */
llrt_status family_apply(const family *self, int rank, const int64_t *shape, llrt_layout *out);

#endif
