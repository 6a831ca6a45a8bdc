#include "jit/plan/cost/predict.h"

#include "jit/plan/cost/cycles.h"

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

double plan_predict_clocks(const plan_kernel *kernel) {
  const plan_cost *cost = &kernel->cost;
  if (kernel->flat || cost->tile_bytes <= 0) return flat_clocks(kernel);
  plan_cycles cycles;
  plan_cycles_of(&kernel->target, cost, 1 << kernel->warp_bits, &cycles);
  double sectors = (double)cost->load_sectors + cost->store_sectors + cost->index_sectors;
  double memory = sectors * kernel->target.sector_bytes / BYTES_PER_CLOCK;
  double host =
      kernel->target.simd_lanes ? cost->shuffles + cost->selects + cost->permutes + cost->logic : 0;
  double inside = cycles.total + host;
  return (memory > inside ? memory : inside) / cost->tile_bytes;
}
