/* Which lanes shared memory serves together. */
#include "jit/plan/facts/shared_lanes.h"

#include "layout/traffic.h"

#include <string.h>

uint64_t plan_phase_lane(const plan_target *target, int bytes, bool load, int bit) {
  bool quads = target->load_quads && load && bytes == 16 && bit == 2;
  return quads ? 4 | 16 : 1ull << bit;
}

/* AMD's LDS serves 16-byte reads eight lanes at a time, but not in order: quads of lanes 0 and 5, 1
 * and 4, 2 and 7, 3 and 6 of each half of the wave go together (AMD, "Understanding AMD GPU LDS and
 * Bank Conflicts", Composable Kernel documentation). Brings the addresses into that order; writes
 * and narrower reads are served in order. */
void plan_order_lanes(const plan_target *target, int bytes, bool load, int64_t *address) {
  static const int quads[] = {0, 5, 1, 4, 2, 7, 3, 6};
  int64_t ordered[TRAFFIC_MAX_LANES];
  if (!target->load_quads || !load || bytes != 16) return;
  for (int lane = 0; lane < 64; lane++)
    ordered[lane] = address[(lane & 32) | quads[lane / 4 % 8] * 4 | (lane & 3)];
  memcpy(address, ordered, sizeof ordered);
}
