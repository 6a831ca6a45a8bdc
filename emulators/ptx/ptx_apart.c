/* Which lanes of a warp run.
 *
 * Joined: the lanes with the least pc run; the others wait, and join when the running ones come to
 * their pc. Code that the compiler lays out in the order of its dominators joins where it must. In
 * a loop whose last block comes first, lanes wait at a barrier, or where lanes of a warp exchange,
 * for those that are further down.
 *
 * Apart (grid->apart): the PTX ISA promises no more than that lanes which a branch parted are
 * together behind a synchronisation of the warp: bar.warp.sync, or another .sync instruction that
 * names its members. So lanes of one pc that came there on several ways run one group after the
 * other; a barrier of the block is each lane's own. Of two groups that which jumps runs first, to
 * its next synchronisation. */
#include "emulators/ptx/ptx_run.h"

/* ---- joined ---- */

/* Parks the running lanes at their pc, then runs those with the least. */
static void run_least(ptx_warp *warp) {
  int least = INT32_MAX;
  for (int i = 0; i < PTX_LANES; i++) {
    if (warp->active >> i & 1) warp->lane_pc[i] = warp->pc;
    if (warp->alive >> i & 1 && warp->lane_pc[i] < least) least = warp->lane_pc[i];
  }
  warp->pc = least;
  warp->active = 0;
  warp->limit = INT32_MAX;
  for (int i = 0; i < PTX_LANES; i++) {
    if (!(warp->alive >> i & 1)) continue;
    if (warp->lane_pc[i] == least) {
      warp->active |= 1u << i;
    } else if (warp->lane_pc[i] < warp->limit) {
      warp->limit = warp->lane_pc[i];
    }
  }
}

/* Leaves the running lanes before the instruction that they have come to, and runs the next lanes
 * further down; false where there are none. */
static bool run_below(ptx_warp *warp) {
  int here = warp->pc - 1, next = INT32_MAX;
  for (int i = 0; i < PTX_LANES; i++) {
    if (warp->active >> i & 1) warp->lane_pc[i] = here;
    else if (warp->alive >> i & 1 && warp->lane_pc[i] > here && warp->lane_pc[i] < next)
      next = warp->lane_pc[i];
  }
  if (next == INT32_MAX) return false;
  warp->pc = next;
  warp->active = 0;
  warp->limit = INT32_MAX;
  for (int i = 0; i < PTX_LANES; i++) {
    if (!(warp->alive >> i & 1)) continue;
    if (warp->lane_pc[i] == next) warp->active |= 1u << i;
    else if (warp->lane_pc[i] > next && warp->lane_pc[i] < warp->limit)
      warp->limit = warp->lane_pc[i];
  }
  return true;
}

static void join_or_part(ptx_warp *warp, uint32_t mask, int target) {
  if (mask == warp->active) {
    warp->pc = target;
  } else {
    for (int i = 0; i < PTX_LANES; i++) {
      if (warp->active >> i & 1) warp->lane_pc[i] = mask >> i & 1 ? target : warp->pc;
    }
    warp->active = 0;
  }
  /* Going back, or apart, can put other lanes first. */
  if (warp->active != warp->alive) run_least(warp);
}

/* ---- apart ---- */

static void put_together(ptx_warp *warp, uint32_t lanes) {
  for (int i = 0; i < PTX_LANES; i++)
    if (lanes >> i & 1) warp->together[i] = lanes;
}

static void park(ptx_warp *warp, uint32_t lanes, int pc) {
  for (int i = 0; i < PTX_LANES; i++)
    if (lanes >> i & 1) warp->lane_pc[i] = pc;
}

/* The next group in turn of those that neither wait nor run; false: there is none. */
static bool run_group(ptx_warp *warp) {
  uint32_t ready = warp->alive & ~(warp->waiting | warp->came | warp->active);
  uint32_t behind = warp->active ? ~(((warp->active & -warp->active) << 1) - 1) : PTX_FULL;
  if (!ready) return false;
  int lane = __builtin_ctz(ready & behind ? ready & behind : ready);
  warp->active = warp->together[lane] & warp->alive;
  warp->pc = warp->lane_pc[lane];
  return true;
}

static uint32_t parked_at(const ptx_warp *warp, uint32_t lanes, int pc) {
  uint32_t here = 0;
  for (int i = 0; i < PTX_LANES; i++)
    if (lanes >> i & 1 && warp->lane_pc[i] == pc) here |= 1u << i;
  return here;
}

/* Parks the running lanes, or with the others that wait here runs them again. */
static bool gather_group(ptx_warp *warp, uint32_t missing) {
  int here = warp->pc - 1;
  uint32_t others = parked_at(warp, warp->waiting & warp->alive, here);
  if ((missing & ~others) == 0) {
    warp->waiting &= ~others;
    warp->active |= others;
    put_together(warp, warp->active);
    warp->pc = here;
    return true;
  }
  uint32_t mine = warp->active;
  park(warp, mine, here);
  warp->waiting |= mine;
  if (run_group(warp)) return true;
  warp->waiting &= ~mine;
  return false;
}

/* ---- either ---- */

void ptx_part(ptx_run *run, ptx_warp *warp, uint32_t mask, int target) {
  if (!run->grid->apart) {
    join_or_part(warp, mask, target);
    return;
  }
  uint32_t stay = warp->active & ~mask;
  park(warp, stay, warp->pc);
  put_together(warp, stay);
  put_together(warp, mask);
  warp->active = mask;
  warp->pc = target;
}

bool ptx_run_others(ptx_run *run, ptx_warp *warp) {
  if (!run->grid->apart) {
    run_least(warp);
    return true;
  }
  if (run_group(warp)) return true;
  warp->waiting &= warp->alive;
  if (!warp->waiting) return false;
  warp->waiting &=
      ~warp->together[__builtin_ctz(warp->waiting)]; /* those that it waited for may have ended */
  return run_group(warp);
}

void ptx_take_turns(ptx_run *run, ptx_warp *warp) {
  if (!run->grid->apart || !warp->active) return;
  park(warp, warp->active, warp->pc);
  run_group(warp);
}

bool ptx_come_together(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t members,
                       uint32_t mask) {
  uint32_t missing = members & warp->alive & ~mask;
  if (mask != warp->active || !missing) return false;
  bool others = run->grid->apart ? gather_group(warp, missing) : run_below(warp);
  run->by_class[op->form->class] -= others;
  return others;
}

bool ptx_come_each(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t *mask) {
  if (*mask != warp->active || *mask == warp->alive) return false;
  bool others = false;
  if (!run->grid->apart) {
    others = run_below(warp);
  } else if (!warp->came || warp->came_pc == warp->pc) {
    uint32_t mine = warp->active, came = warp->came | mine;
    park(warp, mine, warp->pc);
    warp->came_pc = warp->pc;
    warp->came = came;
    others = came != warp->alive && run_group(warp);
    if (!others) warp->came = 0;
    if (came == warp->alive) *mask = came;
  }
  run->by_class[op->form->class] -= others;
  return others;
}

bool ptx_whole_warp(ptx_run *run, const ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  if (mask == PTX_FULL) return true;
  return ptx_fault(run, warp, op, __builtin_ctz(~mask), EMU_BARRIER,
                   "reached by a part of a warp: lanes 0x%08x", mask);
}
