/* The table of targets: adding one is adding a row (and its intrinsics, backends/). */
#include "jit/plan/target.h"

#include "base/status.h"

#include <string.h>

/* Shared memory: CUDA C programming guide, "maximum amount of shared memory per thread block"; CDNA3 ISA,
 * "LDS". GPU tiles: runs of 256 bytes and 512 threads a block moved
 * 16384 x 16384 transposes at 0.98 of a copy on an H200, runs of 128 bytes and 256 threads at 0.94; tiles
 * of less than 8 KiB, or one vector a thread, leave too few bytes in flight, and irregular maps want 64
 * bytes a thread once a block has 256 threads (docs/measurements.md). */
#define GPU(isa_, lanes, warps, shared_kib)                                                       \
  .isa = isa_, .lane_bits = lanes, .word_bits = 32, .access_bytes = 16,                           \
  .warp_bits = warps, .register_bits = 5, .thread_bytes = 64, .tile_bytes = 8192,                 \
  .run_bytes = 256, .shared_bytes = (shared_kib) << 10, .banks = 32, .bank_bytes = 4,             \
  .sector_bytes = 32, .max_shuffle_rounds = 8, .lanes_first = false

/* NVIDIA, CUDA C++ Programming Guide, throughput of native instructions at compute capability 8.0 to 9.0:
 * a multiprocessor finishes 32 lanes of warp shuffles, 64 of 32-bit integer logic, selects and byte permutes
 * in a clock, issues four instructions, and shared memory moves 128 bytes. Barrier and interference are fitted
 * to the in-block conversions measured on an H200 (docs/measurements.md): several blocks are resident, so a
 * barrier's latency of some 80 clocks shows by an eighth. */
#define NVIDIA_CLOCKS                                                                               \
  .clocks = {.shuffle = 1, .wavefront = 1, .arithmetic = 0.5, .issue = 0.25, .barrier = 10,         \
             .interference = 0.03}

/* far_row_bytes: transposes of 512 MiB and more ran at 0.92 to 0.93 of a copy on an H200 where rows of the source lie 128 or
 * 256 KiB apart, at 0.96 in bands; at 0.99 and 0.96 where they lie 130 KiB apart, 0.98 and 0.96 at 64 KiB or less
 * (docs/measurements.md). */

/* large_bytes: transposes of 1 GiB of elements of 4 and 8 bits ran at 0.904 and 0.939 of a copy on an H200, and back at 0.873
 * and 0.903, with runs of 256 bytes on one side of a tile and 64 or 128 on the other; with 256 on both at 0.959, 0.969, 0.952
 * and 0.945. Of 8 bits that is faster from 128 MiB on, of 4 bits as fast at 256 MiB; at 64 MiB both lose by it
 * (docs/measurements.md). */

/* AMD, CDNA 2 and 3 instruction set guides: four SIMDs of 16 lanes, so a wave of 64 takes one clock of a
 * compute unit; LDS moves 128 bytes in a clock, and ds_bpermute goes through it. */
#define AMD_CLOCKS \
  .clocks = {.shuffle = 2, .wavefront = 1, .arithmetic = 1, .issue = 0.25, .barrier = 10,           \
             .interference = 0.03}

#define NVIDIA(shared_kib) \
  GPU(PLAN_ISA_NVPTX, 5, 4, shared_kib), NVIDIA_CLOCKS, .access_align_bytes = 16, .fold_lanes = true, .selects_beside = true

/* Global memory takes any address (CDNA3 ISA, "Memory alignment"; amdhsa sets unaligned mode). */
#define AMD(shared_kib) \
  GPU(PLAN_ISA_AMDGPU, 6, 3, shared_kib), AMD_CLOCKS, .access_align_bytes = 1

/* A host tile is what fits the register file; runs are cache lines. Regions of 512 bytes of the source by 128 of the
 * destination are read ahead as a whole, row by row of the source (docs/measurements.md). */
#define HOST(bytes)                                                                             \
  .isa = PLAN_ISA_HOST, .vector_bytes = bytes, .access_bytes = bytes, .access_align_bytes = 1,  \
  .register_bits = 5, .tile_bytes = 256, .run_bytes = 64, .region_bytes = {512, 128},           \
  .shared_bytes = 96 << 10, .banks = 1, .bank_bytes = bytes, .sector_bytes = 64, .max_shuffle_rounds = 16, .lanes_first = true

/* Clusters: eight blocks are what every device of compute capability 9.0 has (CUDA C++ Programming Guide). */
static const plan_target targets[] = {
    {.name = "sm_80", NVIDIA(163), .matrix_load = true, .async_copies = true},
    {.name = "sm_89", NVIDIA(99), .matrix_load = true, .async_copies = true},
    {.name = "sm_90a", NVIDIA(227), .panel_bytes = 80 << 10, .far_row_bytes = 128 << 10, .large_bytes = {512 << 20, 128 << 20}, .matrix_load = true, .matrix_store = true, .async_copies = true,
     .cluster_bits = 3, .early_launches = true},
    {.name = "gfx90a", AMD(64), .flushes_halves = true}, /* CDNA2 ISA, "MFMA": denormals of 16 bits are flushed */
    {.name = "gfx942", AMD(64)},
    {.name = "x86-64-v2", HOST(16)},
    {.name = "x86-64-v3", HOST(32), .masked_bits = 32}, /* vpmaskmov */
    {.name = "x86-64-v4", HOST(64), .masked_bits = 8},
    {.name = "x86-64-v4-vbmi", HOST(64), .masked_bits = 8},
    {.name = "aarch64", HOST(16)},
};

llrt_status plan_target_find(const char *name, plan_target *target) {
  memset(target, 0, sizeof *target);
  LLRT_REQUIRE(name, "target: NULL");
  for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
    if (strcmp(targets[i].name, name) == 0) {
      *target = targets[i];
      return LLRT_OK;
    }
  }
  return llrt_error(LLRT_INVALID_ARGUMENT,
                    "unknown target '%s': targets are sm_80, sm_89, sm_90a, gfx90a, gfx942, "
                    "x86-64-v2, x86-64-v3, x86-64-v4, x86-64-v4-vbmi, aarch64",
                    name);
}
