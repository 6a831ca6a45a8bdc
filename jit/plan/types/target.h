/* What a planner knows of a target: numbers, no code. Two targets with equal numbers get equal
 * plans. What a device of the target may change of it is `facts`, and nothing else. */
#ifndef LLRT_JIT_PLAN_TYPES_TARGET_H
#define LLRT_JIT_PLAN_TYPES_TARGET_H

#include "jit/plan/types/device_facts.h"
#include "jit/plan/types/tuning.h"

#include <llrt/status.h>

#include <stdbool.h>
#include <stdint.h>

/* Sets of instructions: X(NAME, name), where emit_ops_<name> is what the backend that has it gives
 * to emission. */
#define PLAN_ISAS(X) X(HOST, host) X(NVPTX, nvptx) X(AMDGPU, amdgpu)

#define PLAN_ISA_OF(NAME, name) PLAN_ISA_##NAME,
typedef enum plan_isa { PLAN_ISAS(PLAN_ISA_OF) } plan_isa;
#undef PLAN_ISA_OF

/* Clocks of a multiprocessor (compute unit) that one instruction of one warp, or one wavefront of
 * shared memory, keeps its pipe busy; what a barrier adds for a block. Zero on the host. */
typedef struct plan_clocks {
  double shuffle, wavefront; /* of the shared-memory pipe */
  double arithmetic;         /* selects, byte permutes, addresses */
  double issue;              /* of any instruction */
  double barrier;
  double interference; /* what of a pipe's clocks shows although another one takes longer */
} plan_clocks;

#define PLAN_MAX_CLUSTER_BITS 3
#define PLAN_MOST_THREADS 1024 /* of a block, on every GPU */

typedef struct plan_target {
  char name[32]; /* the instruction set: "sm_90a", "gfx90a", "x86-64-v3"; part of every cache key */
  plan_isa isa;
  int capability; /* NVIDIA: 10 * major + minor of the least compute capability that runs it; else 0
                   */
  int lane_bits;  /* GPU: log2 lanes of a warp. Host: 0; a kernel sets its own, see below */
  int vector_bytes; /* host: one SIMD register; GPU: 0 */
  int word_bits;    /* GPU: 32, narrower elements share a register. Host: 0, one element a word */
  int access_bytes; /* widest global or shared access of one lane (GPU), of one register (host) */
  int access_align_bytes; /* an access of n bytes to global memory wants min(n, this) alignment */
  int warp_bits;          /* log2 warps of a block, at most; 0 on the host */
  int register_bits;      /* log2 words of the largest value a lane should hold */
  int thread_bytes;   /* GPU: what a thread should have in flight; half where the tile is small */
  int tile_bytes;     /* work tile to aim for per block */
  int run_bytes;      /* contiguous bytes wanted on both sides of a tile */
  int strip_bytes[2]; /* host: contiguous bytes of the source and of the destination that one block
                          moves, in a loop over tiles; 0: a block is one tile */
  int banks, bank_bytes; /* of shared memory */
  int sector_bytes;      /* granule of global memory traffic */
  int panel_bytes;   /* most bytes of a panel that a block of a convert keeps in shared memory; 0:
                        none (jit/plan/convert/staged.c) */
  int far_row_bytes; /* rows of large tensors that lie multiples of this apart are not to be read
                        all at a time; 0: any */
  int64_t large_bytes[2]; /* of elements of 4 and of 8 bits: tensors from which on tiles want whole
                             runs on both sides; 0: none do */
  int max_shuffle_rounds; /* host: lane exchanges up to this many rounds; GPUs count clocks */
  plan_clocks clocks;
  int cluster_bits; /* log2 blocks of a cluster, at most; 0: blocks do not read each other's memory
                     */
  bool matrix_load, matrix_store; /* ldmatrix, stmatrix */
  bool warpgroups; /* wgmma, and setmaxnreg: code that runs on its own compute capability alone */
  bool fp8_arithmetic;      /* instructions convert e4m3 and e5m2 */
  bool bf16_arithmetic;     /* mul.bf16x2 */
  bool half_extremes;       /* one instruction joins two f16 or bf16 of a word: max.bf16x2 */
  bool async_copies;        /* from global to shared memory without registers: cp.async */
  bool selects_by_products; /* some selects of a shuffle's rounds are made by another unit than
                          arithmetic's */
  bool fold_lanes;     /* one instruction joins integers of 32 bits across all lanes: redux.sync */
  bool flushes_halves; /* matrix instructions take subnormal f16 for 0 */
  int masked_bits; /* host: elements of so many bits or more are loaded and stored under a mask by
                      one instruction; 0: none */
  bool simd_lanes; /* lanes are those of one thread's SIMD registers, else threads: an access to
                      global memory then is contiguous over lanes, not over a lane's registers, a
                      block has one warp, and its shared memory is the thread's */
  int enough_align_bytes; /* more alignment of a tensor's address or strides than this changes no
                             plan */
  bool packed_weights;    /* its instructions read words in the order of llrt_dot_pack */
  bool short_sums;        /* instructions that multiply 8-bit floats keep few bits of their sums */
  bool load_quads; /* shared memory serves loads of 16 bytes by quads of lanes, not in their order
                      (jit/plan/facts/shared_lanes.c) */
  bool half_casts; /* f32 <-> f16 are instructions */
  /* Host: lanes of 32 bits of a register whose numbers one instruction picks by codes in another
   * (0: none), of one whose pairs of 16 bits an instruction multiplies and adds (0: none), and
   * whether that one adds to sums, too. */
  int pick_lanes, pair_lanes;
  bool pair_sums;
  char register_letter; /* host: what stands for a SIMD register in an assembly constraint */
  char comment[4];      /* what begins a comment in its assembly */
  const plan_tuning *tuning;
  device_facts facts; /* of the device that is planned for; of a target by name, its reference's */
} plan_target;

/* Multiprocessors of the device on which numbers of whole devices were measured, an H200. */
#define PLAN_MEASURED_UNITS 132

/* A number of blocks, or of what grows with them, that was measured on such a device, for one of
 * the target's facts: in proportion to its units, at least 1. */
int64_t plan_for_units(const plan_target *target, int64_t measured);

/* Finds a target by name: sm_80, sm_89, sm_90, sm_90a, gfx90a, gfx942, x86-64-v2|v3|v4|v4-vbmi,
 * aarch64.
 * ("host" is resolved by backends/host.) Its facts are the reference's. Errors: INVALID_ARGUMENT
 * listing the names. */
llrt_status plan_target_find(const char *name, plan_target *target);

/* Row `number` of the table, NULL past the last one. Of rows that one device runs the later one is
 * the better. */
const plan_target *plan_target_at(int number);

/* Whether a device of compute capability `capability` (10 * major + minor) runs a target's PTX: its
 * own capability and all later ones, but architecture-specific code ("a") on its own alone (PTX
 * ISA, .target). */
bool plan_target_runs_on(const plan_target *target, int capability);

#endif
