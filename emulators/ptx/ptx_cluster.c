/* Clusters: addresses of other blocks' shared memory, and barriers of all blocks (PTX ISA, "mapa",
 * "barrier.cluster"). An address of shared memory in another block is the block's rank + 1 above
 * bit PTX_CLUSTER_SHIFT; without that it is the reader's own. */
#include "emulators/ptx/ptx_run.h"

#include <string.h>

/* ---- other blocks' memory ---- */

static bool run_mapa(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  ptx_lanes value;
  if (!ptx_require_defined(run, warp, op, 1, mask, "the address")) return false;
  if (!ptx_require_defined(run, warp, op, 2, mask, "the rank")) return false;
  const uint64_t *address = warp->value[ptx_reg(op, 1, 0)], *rank = warp->value[ptx_reg(op, 2, 0)];
  for (int i = 0; i < PTX_LANES; i++) {
    if (mask >> i & 1 && rank[i] >= (uint64_t)run->cluster->size) {
      return ptx_fault(run, warp, op, i, EMU_OUT_OF_RANGE, "block %llu of a cluster of %d",
                       (unsigned long long)rank[i], run->cluster->size);
    }
    if (mask >> i & 1 && address[i] >> PTX_CLUSTER_SHIFT) {
      return ptx_fault_at(run, warp, op, i, address[i], EMU_UNKNOWN, "an address of another block");
    }
    value[i] = address[i] | (rank[i] + 1) << PTX_CLUSTER_SHIFT;
  }
  ptx_write(warp, ptx_reg(op, 0, 0), mask, value, NULL);
  return true;
}

uint8_t *ptx_locate_cluster(ptx_run *run, const ptx_warp *warp, const ptx_op *op, int lane,
                            uint64_t address, int bytes, bool write, uint8_t **undefined) {
  uint64_t offset = address & (((uint64_t)1 << PTX_CLUSTER_SHIFT) - 1);
  uint64_t rank = (address >> PTX_CLUSTER_SHIFT) - 1;
  if (rank >= (uint64_t)run->cluster->size) {
    ptx_fault_at(run, warp, op, lane, address, EMU_OUT_OF_RANGE, "no block of the cluster");
    return NULL;
  }
  ptx_run *other = run->cluster->run[rank];
  emu_shared *shared = &other->shared;
  if (!emu_shared_holds(shared, offset, (uint32_t)bytes)) {
    ptx_fault_at(run, warp, op, lane, offset, EMU_OUT_OF_RANGE,
                 "%d bytes of shared memory, of which block %d of the cluster has %u", bytes,
                 (int)rank, shared->bytes);
    return NULL;
  }
  if (write) {
    ptx_fault(run, warp, op, lane, EMU_UNKNOWN, "a write to another block's shared memory");
    return NULL;
  }
  if (run->cluster->phase == 0 || ptx_block_ended(other)) {
    ptx_fault_at(run, warp, op, lane, offset, EMU_BARRIER, "block %d of the cluster %s", (int)rank,
                 run->cluster->phase == 0 ? "may not have begun" : "has ended");
    return NULL;
  }
  int64_t race = emu_shared_read_far(shared, (uint32_t)offset, (uint32_t)bytes);
  if (race >= 0) {
    ptx_fault_at(run, warp, op, lane, (uint64_t)race, EMU_RACE,
                 "a read of shared memory that block %d of the cluster wrote", (int)rank);
    return NULL;
  }
  *undefined = shared->undefined + offset;
  return shared->data + offset;
}

/* ---- stores that tell a barrier of their bytes ---- */

/* A lane's words on their way to the block that `address` names, as a copy is. */
static bool push(ptx_run *run, ptx_warp *warp, const ptx_op *op, int lane, uint64_t address,
                 uint64_t barrier) {
  const uint64_t inside = ((uint64_t)1 << PTX_CLUSTER_SHIFT) - 1;
  const uint64_t rank = address >> PTX_CLUSTER_SHIFT;
  const int parts = op->operand[1].count, size = op->bits / 8;
  const uint32_t bytes = (uint32_t)(parts * size);
  if (rank == 0 || rank != barrier >> PTX_CLUSTER_SHIFT)
    return ptx_fault_at(run, warp, op, lane, address, EMU_UNKNOWN,
                        "the barrier is not of the block that is stored to");
  if (address % bytes)
    return ptx_fault_at(run, warp, op, lane, address, EMU_MISALIGNED, "%u bytes", bytes);
  if (rank > (uint64_t)run->cluster->size ||
      !emu_shared_holds(&run->cluster->run[rank - 1]->shared, address & inside, bytes))
    return ptx_fault_at(run, warp, op, lane, address, EMU_OUT_OF_RANGE, "%u bytes of block %d",
                        bytes, (int)rank - 1);
  uint8_t *data = ptx_begin_bulk_far(run, warp, op, lane, (int)rank - 1, barrier & inside,
                                     (uint32_t)(address & inside), bytes);
  if (!data) return false;
  for (int k = 0; k < parts; k++) {
    const int reg = ptx_reg(op, 1, k);
    const uint64_t bits = warp->state[reg] ? ptx_undefined(warp, reg)[lane] & op->mask : 0;
    memcpy(data + k * size, &warp->value[reg][lane], (size_t)size);
    memcpy(data + bytes + k * size, &bits, (size_t)size);
  }
  return true;
}

static bool run_push(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  ptx_lanes to, barrier;
  if (!run->mbarriers)
    return ptx_fault(run, warp, op, EMU_NOWHERE, EMU_UNDEFINED, "no mbarrier was made here");
  if (!ptx_addresses(run, warp, op, 0, mask, to) ||
      !ptx_addresses(run, warp, op, 2, mask, barrier) ||
      op->operand[1].count != (op->choice[0] ? 2 * op->choice[0] : 1))
    return false;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    const int lane = __builtin_ctz(rest);
    if (!push(run, warp, op, lane, to[lane], barrier[lane])) return false;
  }
  return true;
}

/* ---- barriers ---- */

static bool check_whole(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  if (mask == warp->alive) return true;
  return ptx_fault(run, warp, op, EMU_NOWHERE, EMU_BARRIER,
                   "lanes 0x%08x of the warp's 0x%08x come to this barrier", mask, warp->alive);
}

static bool run_arrive(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  if (!check_whole(run, warp, op, mask)) return false;
  if (warp->arrived) {
    return ptx_fault(run, warp, op, EMU_NOWHERE, EMU_BARRIER, "arrives twice without a wait");
  }
  warp->arrived = true;
  warp->relaxed = false;
  warp->arrived_phase = run->cluster->phase;
  return true;
}

/* Others learn of barriers that were made and fenced, of nothing else. */
static bool run_arrive_relaxed(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  if (!run_arrive(run, warp, op, mask)) return false;
  warp->relaxed = true;
  return true;
}

static bool run_wait(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  if (!check_whole(run, warp, op, mask)) return false;
  if (!warp->arrived) {
    return ptx_fault(run, warp, op, EMU_NOWHERE, EMU_BARRIER, "waits without having arrived");
  }
  if (warp->arrived_phase == run->cluster->phase) warp->at_cluster_barrier = true;
  else warp->arrived = false;
  return true;
}

bool ptx_cluster_release(ptx_cluster *cluster) {
  bool any = false, relaxed = false;
  for (int r = 0; r < cluster->size; r++) {
    for (int w = 0; w < cluster->run[r]->n_warps; w++) {
      const ptx_warp *warp = &cluster->run[r]->warp[w];
      if (warp->alive && !(warp->arrived && warp->arrived_phase == cluster->phase)) return false;
      any |= warp->alive != 0;
      relaxed |= warp->alive && warp->relaxed;
    }
  }
  if (!any) return false;
  cluster->phase++;
  if (!ptx_mbarriers_meet(cluster, relaxed))
    ptx_fault(cluster->run[0], NULL, NULL, EMU_NOWHERE, EMU_LIMIT,
              "no memory for what blocks know");
  for (int r = 0; r < cluster->size; r++) {
    if (!relaxed) emu_shared_cluster_barrier(&cluster->run[r]->shared);
    for (int w = 0; w < cluster->run[r]->n_warps; w++) {
      ptx_warp *warp = &cluster->run[r]->warp[w];
      if (warp->at_cluster_barrier) warp->arrived = false;
      warp->at_cluster_barrier = false;
    }
  }
  return true;
}

#define ROW(syntax, operands, execute, class) {syntax, operands, execute, NULL, NULL, class, 0}

const ptx_form ptx_cluster_forms[] = {
    ROW("mapa shared::cluster %U", "dss", run_mapa, PTX_MOVE),
    ROW("st async weak shared::cluster mbarrier::complete_tx::bytes ?v2|v4 %O", "mwm", run_push,
        PTX_MEMORY),
    ROW("barrier cluster arrive ?release ?aligned", "", run_arrive, PTX_BARRIER),
    ROW("barrier cluster arrive relaxed ?aligned", "", run_arrive_relaxed, PTX_BARRIER),
    ROW("barrier cluster wait ?acquire ?aligned", "", run_wait, PTX_BARRIER),
    {0}};
