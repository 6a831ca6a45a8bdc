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
  .isa = isa_, .lane_bits = lanes, .word_bits = 32, .access_bytes = 16, .access_align_bytes = 16, \
  .warp_bits = warps, .register_bits = 5, .thread_bytes = 64, .tile_bytes = 8192,                 \
  .run_bytes = 256, .shared_bytes = (shared_kib) << 10, .banks = 32, .bank_bytes = 4,             \
  .sector_bytes = 32, .max_shuffle_rounds = 1, .lanes_first = false

/* A host tile is what fits the register file; runs are cache lines. */
#define HOST(bytes)                                                                             \
  .isa = PLAN_ISA_HOST, .vector_bytes = bytes, .access_bytes = bytes, .access_align_bytes = 1,  \
  .register_bits = 5, .tile_bytes = 256, .run_bytes = 64, .shared_bytes = 64 << 10, .banks = 1, \
  .bank_bytes = bytes, .sector_bytes = 64, .max_shuffle_rounds = 16, .lanes_first = true

static const plan_target targets[] = {
    {.name = "sm_80", GPU(PLAN_ISA_NVPTX, 5, 4, 163)},
    {.name = "sm_89", GPU(PLAN_ISA_NVPTX, 5, 4, 99)},
    {.name = "sm_90a", GPU(PLAN_ISA_NVPTX, 5, 4, 227)},
    {.name = "gfx90a", GPU(PLAN_ISA_AMDGPU, 6, 3, 64)},
    {.name = "gfx942", GPU(PLAN_ISA_AMDGPU, 6, 3, 64)},
    {.name = "x86-64-v2", HOST(16)},
    {.name = "x86-64-v3", HOST(32)},
    {.name = "x86-64-v4", HOST(64)},
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
                    "x86-64-v2, x86-64-v3, x86-64-v4, aarch64",
                    name);
}
