/* See cycles.h. Pipes overlap, because several blocks share a multiprocessor; latencies are
 * therefore counted at barriers only, and of the pipes that are not the longest a small part. */
#include "jit/plan/cost/cycles.h"

#include <string.h>

static double largest(double a, double b) { return a > b ? a : b; }

void plan_cycles_of(const plan_target *target, const plan_cost *cost, int warps, plan_cycles *out) {
  const plan_clocks *clocks = &target->clocks;
  memset(out, 0, sizeof *out);
  if (target->simd_lanes) return;
  double arithmetic =
      (double)warps * (cost->selects + cost->permutes + cost->logic + cost->addresses);
  double shuffles = (double)warps * cost->shuffles;
  int wavefronts = cost->shared_store_wavefronts + cost->shared_load_wavefronts;
  out->memory = shuffles * clocks->shuffle + wavefronts * clocks->wavefront;
  out->arithmetic = (arithmetic - (double)warps * cost->multiplied_selects) * clocks->arithmetic;
  out->issue = (arithmetic + shuffles + cost->shared_accesses) * clocks->issue;
  out->barriers = cost->barriers * clocks->barrier;
  double longest = largest(largest(out->memory, out->arithmetic), out->issue);
  double all = out->memory + out->arithmetic + out->issue;
  out->total = longest + clocks->interference * (all - longest) + out->barriers;
}
