#include "jit/plan/cost/predict.h"

#include "base/bits.h"
#include "jit/plan/cost/cost.h"
#include "jit/plan/cost/cycles.h"
#include "jit/plan/facts/eval.h"
#include "layout/f2.h"

/* Bytes that memory brings a multiprocessor in a clock, as H200s and MI250s do; others have less,
 * so that memory counts for more there. */
#define BYTES_PER_CLOCK 16.0

/* Flat kernels compute an address for every element: measured at 2 to 8 times a tile's time, by the
 * element's size. */
#define FLAT_CLOCKS 1.0 /* for each element of a lane's access */

static double flat_clocks(const plan_kernel *kernel) {
  double bytes = kernel->tensor_bits[0] < 8 ? 0.5 : kernel->tensor_bits[0] / 8;
  return kernel->cost.bytes_per_element / bytes / BYTES_PER_CLOCK + FLAT_CLOCKS / bytes / 4;
}

/* A GPU's memory wants so many contiguous bytes of a tile; pieces of half the size take so much
 * longer: 1.25 for both sides of 8-bit tensors whose rows have 128 bytes
 * (docs/history/one-line-shapes.md). */
#define WHOLE_RUN_BYTES 256
#define HALVED_RUN 0.2

/* Contiguous bytes of a tensor in a block's tile, a power of two: its lowest address bits that tile
 * bits reach. */
static double run_bytes(const plan_kernel *kernel, int tensor) {
  static const int64_t no_upper[PLAN_MAX_DIGITS];
  int64_t position[PLAN_MAX_DIGITS], origin;
  f2_basis reached;
  int run = 0;
  f2_basis_init(&reached);
  plan_tile_position(kernel, 0, 0, no_upper, position);
  origin = plan_offset(kernel, tensor, position, NULL, NULL, PLAN_FAR_STRIDE);
  for (int bit = 0; bit < kernel->space.in[0].bits; bit++) {
    plan_tile_position(kernel, 1ull << bit, 0, no_upper, position);
    int64_t offset = plan_offset(kernel, tensor, position, NULL, NULL, PLAN_FAR_STRIDE) - origin;
    f2_basis_insert(&reached, (uint64_t)offset);
  }
  while (run < kernel->space.in[0].bits && f2_basis_contains(&reached, 1ull << run)) run++;
  return kernel->tensor_bits[tensor] / 8.0 * (double)(1ull << run);
}

/* Sectors of a tensor, by what they take of the memory's time. */
static double sectors_of(const plan_kernel *kernel, int tensor, int sectors) {
  if (kernel->target.simd_lanes || kernel->n_indices > 0 || kernel->launch.walk.n > 0)
    return sectors;
  double run = run_bytes(kernel, tensor);
  return run >= WHOLE_RUN_BYTES ? sectors
                                : sectors * (1 + HALVED_RUN * (WHOLE_RUN_BYTES / run - 1));
}

double plan_predict_clocks(const plan_kernel *kernel) {
  const plan_cost *cost = &kernel->cost;
  if (kernel->flat || cost->tile_bytes <= 0) return flat_clocks(kernel);
  plan_cycles cycles;
  plan_cycles_of(&kernel->target, cost, 1 << kernel->warp_bits, &cycles);
  double sectors = sectors_of(kernel, 0, cost->load_sectors) +
                   sectors_of(kernel, PLAN_DESTINATION, cost->store_sectors) + cost->index_sectors;
  double memory = sectors * kernel->target.sector_bytes / BYTES_PER_CLOCK;
  double host =
      kernel->target.simd_lanes ? cost->shuffles + cost->selects + cost->permutes + cost->logic : 0;
  double inside = cycles.total + host;
  return (memory > inside ? memory : inside) / cost->tile_bytes;
}
