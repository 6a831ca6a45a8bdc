/* Where the lanes of a warp that a branch parted may come together (grid->apart).
 *
 * By the PTX ISA wherever they synchronise. ptxas (12.8 and 13.0) takes lanes to be together where
 * all their ways have met, and leaves a synchronisation there out; but of a load that only some
 * lanes make, the last instruction before a jump to where other ways come in too, it makes a branch
 * of those lanes, behind which nothing brings them together. It was seen where the ways met at a
 * place to which others lead past the branch. So lanes that such a branch parted have to
 * synchronise before they come there: where none comes but by the branch, which dominates that
 * place. */
#include "emulators/ptx/ptx_run.h"

enum { TAKEN = 1, PASSED = 2, WAYS_BITS = 2 };

void ptx_note_way(const ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  int branch = (int)(op - run->kernel->op);
  uint32_t ways = (mask ? TAKEN : 0) | (warp->active & ~mask ? PASSED : 0);
  if (warp->active == warp->alive) {
    warp->parted_by = -1;
    warp->partings++;
  }
  if (run->flow.closed[branch]) return;
  uint32_t *noted = &warp->ways[branch];
  if (*noted >> WAYS_BITS == warp->partings) ways |= *noted & (TAKEN | PASSED);
  *noted = warp->partings << WAYS_BITS | ways;
  if (ways == (TAKEN | PASSED) && warp->parted_by < 0) warp->parted_by = branch;
}

bool ptx_may_meet(ptx_run *run, const ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  if (!run->grid->apart || mask == warp->alive || mask != warp->active || warp->parted_by < 0)
    return true;
  if (ptx_flow_dominates(&run->flow, warp->parted_by, (int)(op - run->kernel->op))) return true;
  return ptx_fault(run, warp, op, __builtin_ctz(mask), EMU_BARRIER,
                   "lanes that line %d parted synchronise where other ways come in, too",
                   run->kernel->op[warp->parted_by].line);
}
