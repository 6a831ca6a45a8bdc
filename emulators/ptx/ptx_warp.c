/* What a warp does as one: shuffles, votes, reductions and elections of its lanes, its registers.
 */
#include "emulators/ptx/ptx_run.h"

/* The lanes named by operand n must be exactly those that come here. */
static bool check_members(ptx_run *run, ptx_warp *warp, const ptx_op *op, int n, uint32_t mask) {
  if (!ptx_require_defined(run, warp, op, n, mask, "the member mask")) return false;
  const uint64_t *members = warp->value[ptx_reg(op, n, 0)];
  for (int i = 0; i < PTX_LANES; i++) {
    if (mask >> i & 1 && ((uint32_t)members[i] & warp->alive) != mask) {
      return ptx_fault(run, warp, op, i, EMU_BARRIER,
                       "lanes 0x%08x execute this for members 0x%08x", mask, (uint32_t)members[i]);
    }
  }
  return true;
}

/* Lanes that come before others of the members wait for them: they meet here. */
static bool waits(ptx_run *run, ptx_warp *warp, const ptx_op *op, int n, uint32_t mask) {
  uint32_t members = (uint32_t)warp->value[ptx_reg(op, n, 0)][__builtin_ctz(mask)];
  return ptx_come_together(run, warp, op, members, mask);
}

/* The lane that lane i reads, and whether it lies inside i's segment (PTX ISA, shfl.sync): c holds
 * a clamp in bits 0-4 and the segments' mask in bits 8-12. Modes: up, down, bfly, idx. */
static int source_lane(int mode, int i, uint32_t b, uint32_t c, bool *inside) {
  int clamp = (int)(c & 31), segments = (int)(c >> 8 & 31), by = (int)(b & 31);
  int most = (i & segments) | (clamp & ~segments), least = i & segments;
  int j = mode == 1 ? i - by : mode == 2 ? i + by : mode == 3 ? i ^ by : least | (by & ~segments);
  *inside = mode == 1 ? j >= most : j <= most;
  return *inside ? j : i;
}

static bool run_shuffle(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  int from = ptx_reg(op, 1, 0), mode = op->choice[0];
  ptx_lanes value = {0}, undefined = {0}, predicate = {0};
  if (!ptx_may_meet(run, warp, op, mask)) return false;
  if (waits(run, warp, op, 4, mask)) return true;
  if (!check_members(run, warp, op, 4, mask)) return false;
  if (!ptx_require_defined(run, warp, op, 2, mask, "the lane") ||
      !ptx_require_defined(run, warp, op, 3, mask, "the clamp")) {
    return false;
  }
  const uint64_t *b = warp->value[ptx_reg(op, 2, 0)], *c = warp->value[ptx_reg(op, 3, 0)];
  const uint64_t *u = warp->state[from] ? ptx_undefined(warp, from) : NULL;
  for (int i = 0; i < PTX_LANES; i++) {
    if (!(mask >> i & 1)) continue;
    bool inside;
    int j = source_lane(mode, i, (uint32_t)b[i], (uint32_t)c[i], &inside);
    if (!(mask >> j & 1)) {
      return ptx_fault(run, warp, op, i, EMU_UNDEFINED, "reads lane %d, which takes no part", j);
    }
    value[i] = warp->value[from][j];
    undefined[i] = u ? u[j] : 0;
    predicate[i] = inside;
  }
  ptx_write(warp, ptx_reg(op, 0, 0), mask, value, u ? undefined : NULL);
  if (op->operand[0].count == 2) ptx_write(warp, ptx_reg(op, 0, 1), mask, predicate, NULL);
  return true;
}

/* vote.all, .any, .uni, .ballot. */
static bool run_vote(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  if (!ptx_may_meet(run, warp, op, mask)) return false;
  if (waits(run, warp, op, 2, mask)) return true;
  if (!check_members(run, warp, op, 2, mask)) return false;
  if (!ptx_require_defined(run, warp, op, 1, mask, "the vote")) return false;
  const uint64_t *votes = warp->value[ptx_reg(op, 1, 0)];
  uint32_t yes = 0;
  for (int i = 0; i < PTX_LANES; i++) yes |= (uint32_t)(votes[i] & 1) << i;
  yes &= mask;
  uint64_t results[] = {0, yes == mask, yes != 0, yes == mask || yes == 0, yes};
  ptx_lanes value;
  for (int i = 0; i < PTX_LANES; i++) value[i] = results[op->choice[0]];
  ptx_write(warp, ptx_reg(op, 0, 0), mask, value, NULL);
  return true;
}

/* a joined with b by redux's operation, of 32 bits. */
static uint32_t joined(int operation, bool is_signed, uint32_t a, uint32_t b) {
  bool less = is_signed ? (int32_t)a < (int32_t)b : a < b;
  switch (operation) {
  case 1: return a + b;
  case 2: return less ? a : b;
  default: return less ? b : a;
  }
}

static uint32_t joined_bits(int operation, uint32_t a, uint32_t b) {
  return operation == 1 ? a & b : operation == 2 ? a | b : a ^ b;
}

/* redux.sync: one undefined bit makes the result undefined. */
static bool reduce_lanes(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask, bool bits) {
  int from = ptx_reg(op, 1, 0);
  const uint64_t *u = warp->state[from] ? ptx_undefined(warp, from) : NULL;
  ptx_lanes value, undefined;
  uint32_t all = 0, any = 0;
  bool first = true;
  if (!ptx_may_meet(run, warp, op, mask)) return false;
  if (waits(run, warp, op, 2, mask)) return true;
  if (!check_members(run, warp, op, 2, mask)) return false;
  for (int i = 0; i < PTX_LANES; i++) {
    if (!(mask >> i & 1)) continue;
    uint32_t own = (uint32_t)warp->value[from][i];
    if (first) all = own;
    else
      all = bits ? joined_bits(op->choice[0], all, own)
                 : joined(op->choice[0], op->choice[1] == 2, all, own);
    any |= u ? (uint32_t)u[i] : 0;
    first = false;
  }
  for (int i = 0; i < PTX_LANES; i++) {
    value[i] = all;
    undefined[i] = any ? UINT32_MAX : 0;
  }
  ptx_write(warp, ptx_reg(op, 0, 0), mask, value, any ? undefined : NULL);
  return true;
}

static bool run_redux(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  return reduce_lanes(run, warp, op, mask, false);
}

static bool run_redux_bits(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  return reduce_lanes(run, warp, op, mask, true);
}

static bool run_activemask(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  ptx_lanes value;
  (void)run;
  for (int i = 0; i < PTX_LANES; i++) value[i] = mask;
  ptx_write(warp, ptx_reg(op, 0, 0), mask, value, NULL);
  return true;
}

static bool run_registers(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  int64_t count = op->operand[0].value;
  if (!ptx_whole_warp(run, warp, op, mask)) return false;
  return (count >= 24 && count <= 256 && count % 8 == 0) ||
         ptx_fault(run, warp, op, EMU_NOWHERE, EMU_OUT_OF_RANGE, "%lld registers",
                   (long long)count);
}

/* One lane of those that come here: the lowest. */
static bool run_elect(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  ptx_lanes lane, chosen;
  if (waits(run, warp, op, 1, mask)) return true;
  for (int i = 0; i < PTX_LANES; i++) {
    lane[i] = (uint64_t)__builtin_ctz(mask);
    chosen[i] = i == __builtin_ctz(mask);
  }
  ptx_write(warp, ptx_reg(op, 0, 0), mask, lane, NULL);
  if (op->operand[0].count == 2) ptx_write(warp, ptx_reg(op, 0, 1), mask, chosen, NULL);
  return true;
}

#define ROW(syntax, operands, execute, class) {syntax, operands, execute, NULL, NULL, class, 0}

const ptx_form ptx_warp_forms[] = {
    ROW("setmaxnreg inc|dec sync aligned u32", "i", run_registers, PTX_BARRIER),
    ROW("elect sync", "qs", run_elect, PTX_ARITHMETIC),
    ROW("shfl sync up|down|bfly|idx b32", "qssss", run_shuffle, PTX_SHUFFLE),
    ROW("redux sync add|min|max u32|s32", "dss", run_redux, PTX_SHUFFLE),
    ROW("redux sync and|or|xor b32", "dss", run_redux_bits, PTX_SHUFFLE),
    ROW("vote sync all|any|uni pred", "dss", run_vote, PTX_ARITHMETIC),
    ROW("vote sync all|any|uni|ballot b32", "dss", run_vote, PTX_ARITHMETIC),
    ROW("activemask b32", "d", run_activemask, PTX_ARITHMETIC),
    {0}};
