/* What a planner knows of a target: numbers, no code. Two targets with equal numbers get equal plans. */
#ifndef LLRT_JIT_PLAN_TARGET_H
#define LLRT_JIT_PLAN_TARGET_H

#include <llrt/status.h>

#include <stdbool.h>
#include <stdint.h>

typedef enum plan_isa { PLAN_ISA_HOST = 0, PLAN_ISA_NVPTX = 1, PLAN_ISA_AMDGPU = 2 } plan_isa;

/* Clocks of a multiprocessor (compute unit) that one instruction of one warp, or one wavefront of shared
 * memory, keeps its pipe busy; what a barrier adds for a block. Zero on the host. */
typedef struct plan_clocks {
  double shuffle, wavefront; /* of the shared-memory pipe */
  double arithmetic;         /* selects, byte permutes, addresses */
  double issue;              /* of any instruction */
  double barrier;
  double interference;       /* what of a pipe's clocks shows although another one takes longer */
} plan_clocks;

#define PLAN_MAX_CLUSTER_BITS 3
#define PLAN_MOST_THREADS 1024 /* of a block, on every GPU */

typedef struct plan_target {
  char name[32]; /* the instruction set: "sm_90a", "gfx90a", "x86-64-v3"; part of every cache key */
  plan_isa isa;
  int lane_bits;          /* GPU: log2 lanes of a warp. Host: 0; a kernel sets its own, see below */
  int vector_bytes;       /* host: one SIMD register; GPU: 0 */
  int word_bits;          /* GPU: 32, narrower elements share a register. Host: 0, one element a word */
  int access_bytes;       /* widest global or shared access of one lane (GPU), of one register (host) */
  int access_align_bytes; /* an access of n bytes to global memory wants min(n, this) alignment */
  int warp_bits;          /* log2 warps of a block, at most; 0 on the host */
  int register_bits;      /* log2 words of the largest value a lane should hold */
  int thread_bytes;       /* GPU: what a thread should have in flight; half where the tile is small */
  int tile_bytes;         /* work tile to aim for per block */
  int run_bytes;          /* contiguous bytes wanted on both sides of a tile */
  int region_bytes[2];    /* host: contiguous bytes of the source and of the destination that one block moves, in a
                             loop over tiles; 0: a block is one tile */
  int shared_bytes;       /* shared memory of a block, at most (the key's class) */
  int banks, bank_bytes;  /* of shared memory */
  int sector_bytes;       /* granule of global memory traffic */
  int panel_bytes;        /* most bytes of a panel that a block of a convert keeps in shared memory; 0: none (jit/plan/staged.c) */
  int far_row_bytes;      /* rows of large tensors that lie multiples of this apart are not to be read all at a time; 0: any */
  int64_t large_bytes[2]; /* of elements of 4 and of 8 bits: tensors from which on tiles want whole runs on both sides; 0: none do */
  int max_shuffle_rounds; /* host: lane exchanges up to this many rounds; GPUs count clocks */
  plan_clocks clocks;
  int cluster_bits;       /* log2 blocks of a cluster, at most; 0: blocks do not read each other's memory */
  bool matrix_load, matrix_store; /* ldmatrix, stmatrix */
  bool early_launches;    /* a kernel's blocks may start while what is before it on the stream ends: they wait for that */
  bool async_copies;      /* from global to shared memory without registers: cp.async */
  bool selects_beside;    /* some selects of a shuffle's rounds are made by another unit than arithmetic's */
  bool fold_lanes;        /* one instruction joins integers of 32 bits across all lanes: redux.sync */
  bool flushes_halves;    /* matrix instructions take subnormal f16 for 0 */
  int masked_bits;        /* host: elements of so many bits or more are loaded and stored under a mask by one instruction; 0: none */
  bool lanes_first;       /* a global access is contiguous over lanes first (host), registers first (GPU) */
} plan_target;

/* Finds a target by name: sm_80, sm_89, sm_90a, gfx90a, gfx942, x86-64-v2|v3|v4|v4-vbmi, aarch64.
 * ("host" is resolved by backends/host.) Errors: INVALID_ARGUMENT listing the names. */
llrt_status plan_target_find(const char *name, plan_target *target);

#endif
