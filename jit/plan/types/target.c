/* The table of targets. A GPU of a known family is a row here and one in jit/compile/machine.c
 * (docs/extending.md). */
#include "jit/plan/types/target.h"

#include "base/status.h"

#include <stdio.h>
#include <string.h>

/* Shared memory: CUDA C programming guide, "maximum amount of shared memory per thread block";
 * CDNA3 ISA, "LDS". GPU tiles: runs of 256 bytes and 512 threads a block moved 16384 x 16384
 * transposes at 0.98 of a copy on an H200, runs of 128 bytes and 256 threads at 0.94; tiles of less
 * than 8 KiB, or one vector a thread, leave too few bytes in flight, and irregular maps want 64
 * bytes a thread once a block has 256 threads (docs/history/convert-tiles.md). */
#define GPU(isa_, lanes, warps) \
  .isa = isa_, .lane_bits = lanes, .word_bits = 32, .access_bytes = 16, .warp_bits = warps, \
  .register_bits = 5, .thread_bytes = 64, .tile_bytes = 8192, .run_bytes = 256, .banks = 32, \
  .bank_bytes = 4, .sector_bytes = 32, .max_shuffle_rounds = 8, .simd_lanes = false, \
  .enough_align_bytes = 16, .half_casts = true

/* NVIDIA, CUDA C++ Programming Guide, throughput of native instructions at compute capability 8.0
 * to 9.0: a multiprocessor finishes 32 lanes of warp shuffles, 64 of 32-bit integer logic, selects
 * and byte permutes in a clock, issues four instructions, and shared memory moves 128 bytes.
 * Barrier and interference are fitted to the in-block conversions measured on an H200
 * (docs/history/exchange-inside-a-block.md): several blocks are resident, so a barrier's latency of
 * some 80 clocks shows by an eighth. */
#define NVIDIA_CLOCKS \
  .clocks = {.shuffle = 1, \
             .wavefront = 1, \
             .arithmetic = 0.5, \
             .issue = 0.25, \
             .barrier = 10, \
             .interference = 0.03}

/* far_row_bytes: transposes of 512 MiB and more ran at 0.92 to 0.93 of a copy on an H200 where rows
 * of the source lie 128 or 256 KiB apart, at 0.96 in bands; at 0.99 and 0.96 where they lie 130 KiB
 * apart, 0.98 and 0.96 at 64 KiB or less (docs/history/order-of-blocks.md). */

/* large_bytes: transposes of 1 GiB of elements of 4 and 8 bits ran at 0.904 and 0.939 of a copy on
 * an H200, and back at 0.873 and 0.903, with runs of 256 bytes on one side of a tile and 64 or 128
 * on the other; with 256 on both at 0.959, 0.969, 0.952 and 0.945. Of 8 bits that is faster from
 * 128 MiB on, of 4 bits as fast at 256 MiB; at 64 MiB both lose by it
 * (docs/history/convert-tiles.md). */

/* AMD, CDNA 2 and 3 instruction set guides: four SIMDs of 16 lanes, so a wave of 64 takes one clock
 * of a compute unit; LDS moves 128 bytes in a clock, and ds_bpermute goes through it. */
#define AMD_CLOCKS \
  .clocks = {.shuffle = 2, \
             .wavefront = 1, \
             .arithmetic = 1, \
             .issue = 0.25, \
             .barrier = 10, \
             .interference = 0.03}

#define NVIDIA(capability_) \
  GPU(PLAN_ISA_NVPTX, 5, 4), NVIDIA_CLOCKS, .tuning = &plan_tuning_nvidia, \
      .capability = capability_, .access_align_bytes = 16, .fold_lanes = true, \
      .selects_by_products = true, .matrix_load = true, .async_copies = true, \
      .packed_weights = true, .short_sums = true, .half_extremes = true, .comment = "//"

/* What compute capability 9.0 brought and later ones kept (PTX ISA, "Target ISA Notes" of each
 * instruction). Clusters: eight blocks are what every such device has (CUDA C++ Programming Guide).
 */
#define NVIDIA_90 \
  NVIDIA(90), .panel_bytes = 80 << 10, .far_row_bytes = 128 << 10, \
      .large_bytes = {512 << 20, 128 << 20}, .matrix_store = true, .cluster_bits = 3, \
      .bf16_arithmetic = true

/* Global memory takes any address (CDNA3 ISA, "Memory alignment"; amdhsa sets unaligned mode). */
#define AMD \
  GPU(PLAN_ISA_AMDGPU, 6, 3), AMD_CLOCKS, .tuning = &plan_tuning_amd, .access_align_bytes = 1, \
      .load_quads = true, .comment = ";"

/* A host tile is what fits the register file; runs are cache lines. Strips of 512 bytes of the
 * source by 128 of the destination are read ahead as a whole, row by row of the source
 * (docs/history/host-strips.md). */
#define HOST(bytes) \
  HOST_FACTS, .tuning = &plan_tuning_host, .isa = PLAN_ISA_HOST, .vector_bytes = bytes, \
      .access_bytes = bytes, .access_align_bytes = 1, .register_bits = 5, .tile_bytes = 256, \
      .run_bytes = 64, .strip_bytes = {512, 128}, .banks = 1, .bank_bytes = bytes, \
      .sector_bytes = 64, .max_shuffle_rounds = 16, .simd_lanes = true, .enough_align_bytes = 64

/* What is planned for without a device: the targets' reference facts. Units are those of the device
 * that numbers were measured on, whatever the target: no other has been measured. L2: the vendors'
 * data sheets of A100, RTX 4090, H200, MI250X (of a die) and MI300X (of a die). On the host there
 * is no memory of a block, and "shared" is what a block may use of a thread's stack. */
#define FACTS(capability_, units_, shared_kib, l2_mib, early) \
  .facts = {.capability = capability_, \
            .units = units_, \
            .shared_bytes = (shared_kib) << 10, \
            .l2_bytes = (int64_t)(l2_mib) << 20, \
            .early_launches = early}
#define HOST_FACTS FACTS(0, 0, 96, 0, false)
#define UNITS PLAN_MEASURED_UNITS

/* F16C came after x86-64-v2; there LLVM would call a library. */
#define F16C .half_casts = true
#define X86(bytes, letter) HOST(bytes), .register_letter = letter, .comment = "#"

/* Of targets that one device runs, the later row is the better one. */
static const plan_target targets[] = {
    {.name = "sm_80", NVIDIA(80), FACTS(80, UNITS, 163, 40, false)},
    {.name = "sm_89", NVIDIA(89), FACTS(89, UNITS, 99, 72, false), .fp8_arithmetic = true},
    {.name = "sm_90", NVIDIA_90, FACTS(90, UNITS, 227, 50, true), .fp8_arithmetic = true},
    {.name = "sm_90a",
     NVIDIA_90,
     FACTS(90, UNITS, 227, 50, true),
     .fp8_arithmetic = true,
     .warpgroups = true},
    {.name = "gfx90a",
     AMD,
     FACTS(0, UNITS, 64, 8, false),
     .flushes_halves = true}, /* CDNA2 ISA, "MFMA": denormals of 16 bits are flushed */
    {.name = "gfx942", AMD, FACTS(0, UNITS, 64, 4, false)},
    {.name = "x86-64-v2", X86(16, 'x'), .pair_lanes = 4},
    {.name = "x86-64-v3",
     X86(32, 'x'),
     F16C,
     .pick_lanes = 8,
     .pair_lanes = 8,
     .masked_bits = 32}, /* vpmaskmov */
    {.name = "x86-64-v4", X86(64, 'v'), F16C, .pick_lanes = 16, .pair_lanes = 16, .masked_bits = 8},
    {.name = "x86-64-v4-vbmi",
     X86(64, 'v'),
     F16C,
     .pick_lanes = 16,
     .pair_lanes = 16,
     .pair_sums = true, /* VNNI */
     .masked_bits = 8},
    {.name = "aarch64", HOST(16), .register_letter = 'w', .half_casts = true, .comment = "//"},
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
  char names[256] = "";
  for (size_t i = 0, at = 0; i < sizeof targets / sizeof *targets; i++)
    at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", i ? ", " : "", targets[i].name);
  return llrt_error(LLRT_INVALID_ARGUMENT, "unknown target '%s': targets are %s", name, names);
}

const plan_target *plan_target_at(int number) {
  return number >= 0 && (size_t)number < sizeof targets / sizeof *targets ? &targets[number] : NULL;
}

bool plan_target_runs_on(const plan_target *target, int capability) {
  if (target->isa != PLAN_ISA_NVPTX) return false;
  return target->warpgroups ? capability == target->capability : capability >= target->capability;
}

int64_t plan_for_units(const plan_target *target, int64_t measured) {
  int64_t scaled = measured * target->facts.units / PLAN_MEASURED_UNITS;
  return scaled > 0 ? scaled : 1;
}
