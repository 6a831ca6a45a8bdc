/* Barriers in shared memory, and copies that complete on them (PTX ISA, "mbarrier",
 * "cp.async.bulk"): a block's own, in clusters, too.
 *
 * A copy's bytes are taken when it is issued, and lie there, undefined, until some warp asks for
 * its barrier: so whoever reads without having asked finds undefined bytes, or a race with the
 * copy. Order is followed by vector clocks (emu_order.h): arrivals release, waits that succeed
 * acquire, and the copies of each barrier are an agent. */
#include "emulators/ptx/ptx_run.h"

#include <stdlib.h>
#include <string.h>

#define MAX_MBARRIERS (EMU_MAX_AGENTS - PTX_MAX_WARPS)
#define MAX_COUNT ((1u << 20) - 1) /* of arrivals and of bytes */

typedef struct mbarrier {
  uint32_t address;
  uint32_t expected, pending; /* arrivals of a phase; of those, what this one waits for */
  uint32_t later;             /* arrivals that come with copies under way */
  int64_t bytes;              /* expected and not yet copied */
  uint32_t phase;             /* that goes on */
  int copies;                 /* under way */
  bool valid;
  emu_clock arriving, done; /* what those who arrived in this phase knew; in all before */
} mbarrier;

typedef struct bulk_copy {
  int barrier;
  uint32_t to, bytes;
  bool counted;  /* in the barrier's bytes */
  uint8_t *data; /* bytes, then their undefined bits */
} bulk_copy;

struct ptx_mbarriers {
  emu_order order;
  mbarrier barrier[MAX_MBARRIERS];
  int n;
  bulk_copy *copy;
  int n_copies, capacity;
  emu_clock published; /* what those knew who fenced the barriers that they had made */
  emu_clock *far; /* by warp, then by barrier (arriving, done), each by block of the cluster: what
                     is known of that block's memory; NULL: nothing of others' */
};

/* ---- a block's ---- */

static bool is_ordered(const ptx_kernel *kernel) {
  for (int i = 0; i < kernel->n_ops; i++) {
    const ptx_form *form = kernel->op[i].form;
    for (const ptx_form *known = ptx_mbarrier_forms; known->syntax; known++) {
      if (known == form) return true;
    }
    for (const ptx_form *known = ptx_tensor_forms; known->syntax; known++) {
      if (known == form) return true;
    }
    for (const ptx_form *known = ptx_wgmma_forms; known->syntax; known++) {
      if (known == form) return true;
    }
  }
  return false;
}

bool ptx_mbarriers_init(ptx_run *run) {
  if (!is_ordered(run->kernel)) return true;
  run->mbarriers = calloc(1, sizeof *run->mbarriers);
  if (!run->mbarriers) return false;
  if (!emu_order_init(&run->mbarriers->order, run->shared.bytes, run->n_warps,
                      run->n_warps + MAX_MBARRIERS)) {
    return false;
  }
  run->shared.order = &run->mbarriers->order;
  return true;
}

static void drop_copies(ptx_mbarriers *all) {
  for (int i = 0; i < all->n_copies; i++) free(all->copy[i].data);
  all->n_copies = 0;
}

void ptx_mbarriers_reset(ptx_run *run) {
  if (!run->mbarriers) return;
  drop_copies(run->mbarriers);
  run->mbarriers->n = 0;
  memset(&run->mbarriers->published, 0, sizeof run->mbarriers->published);
}

void ptx_mbarriers_fini(ptx_run *run) {
  if (!run->mbarriers) return;
  drop_copies(run->mbarriers);
  free(run->mbarriers->copy);
  free(run->mbarriers->far);
  emu_order_fini(&run->mbarriers->order);
  free(run->mbarriers);
  run->mbarriers = NULL;
  run->shared.order = NULL;
}

bool ptx_mbarriers_ended(ptx_run *run) {
  return !run->mbarriers || !run->mbarriers->n_copies ||
         ptx_fault(run, NULL, NULL, EMU_NOWHERE, EMU_NOT_WAITED,
                   "the block ends with copies into its shared memory under way");
}

/* ---- barriers ---- */

static uint32_t offset_of(uint64_t address) { return (uint32_t)(address & ~PTX_SHARED_WINDOW); }

/* The barrier at an address, whose making the warp must know of. NULL: a fault. */
static mbarrier *find(ptx_run *run, ptx_warp *warp, const ptx_op *op, int lane, uint64_t address) {
  ptx_mbarriers *all = run->mbarriers;
  uint32_t at = offset_of(address);
  for (int i = 0; i < all->n; i++) {
    mbarrier *found = &all->barrier[i];
    if (found->address != at || !found->valid) continue;
    const emu_write *made = &all->order.written[at];
    if (made->agent == warp->index ||
        made->time <= all->order.clock[warp->index].seen[made->agent]) {
      return found;
    }
    ptx_fault_at(run, warp, op, lane, address, EMU_RACE,
                 "a barrier that warp %d made, and no barrier of the block since", made->agent);
    return NULL;
  }
  ptx_fault_at(run, warp, op, lane, address, EMU_UNDEFINED, "no mbarrier was made here");
  return NULL;
}

static int agent_of(const ptx_run *run, const mbarrier *barrier) {
  return run->n_warps + (int)(barrier - run->mbarriers->barrier);
}

/* ---- what is known of other blocks of the cluster ---- */

static emu_clock *far_of_warp(const ptx_run *run, int warp) {
  return run->mbarriers->far + (size_t)warp * PTX_MAX_CLUSTER;
}

static emu_clock *far_of_barrier(const ptx_run *run, const mbarrier *barrier, bool done) {
  const ptx_mbarriers *all = run->mbarriers;
  return far_of_warp(run, run->n_warps + 2 * (int)(barrier - all->barrier) + done);
}

static void join_far(emu_clock *into, const emu_clock *from) {
  for (int r = 0; r < PTX_MAX_CLUSTER; r++) emu_order_join(&into[r], &from[r]);
}

bool ptx_mbarriers_meet(ptx_cluster *cluster, bool relaxed) {
  for (int s = 0; s < cluster->size; s++) {
    ptx_mbarriers *all = cluster->run[s]->mbarriers;
    const size_t clocks = (size_t)(cluster->run[s]->n_warps + 2 * MAX_MBARRIERS) * PTX_MAX_CLUSTER;
    if (!all) continue;
    if (!all->far && !(all->far = calloc(clocks, sizeof *all->far))) return false;
  }
  for (int r = 0; r < cluster->size; r++) {
    emu_clock known = {{0}, {0}};
    ptx_mbarriers *all = cluster->run[r]->mbarriers;
    if (!all) continue;
    for (int w = 0; w < cluster->run[r]->n_warps; w++) {
      if (relaxed) emu_order_acquire(&all->order, w, &all->published);
      else emu_order_release(&all->order, w, &known);
    }
    if (relaxed) known = all->published;
    for (int s = 0; s < cluster->size; s++)
      for (int w = 0; w < cluster->run[s]->n_warps && cluster->run[s]->mbarriers; w++)
        emu_order_join(&far_of_warp(cluster->run[s], w)[r], &known);
  }
  return true;
}

/* Ends the phase if nothing is awaited any more. */
static void complete(const ptx_run *run, mbarrier *barrier) {
  if (barrier->pending || barrier->bytes) return;
  barrier->phase++;
  barrier->pending = barrier->expected;
  barrier->done = barrier->arriving;
  if (run->mbarriers->far)
    join_far(far_of_barrier(run, barrier, true), far_of_barrier(run, barrier, false));
}

/* Writes what copies have brought for the barrier. */
static void deliver(ptx_run *run, mbarrier *barrier) {
  ptx_mbarriers *all = run->mbarriers;
  int kept = 0, number = (int)(barrier - all->barrier);
  for (int i = 0; i < all->n_copies; i++) {
    bulk_copy *copy = &all->copy[i];
    if (copy->barrier != number) {
      all->copy[kept++] = *copy;
      continue;
    }
    memcpy(run->shared.data + copy->to, copy->data, copy->bytes);
    memcpy(run->shared.undefined + copy->to, copy->data + copy->bytes, copy->bytes);
    if (copy->counted) barrier->bytes -= copy->bytes;
    free(copy->data);
  }
  all->n_copies = kept;
  if (!barrier->copies) return;
  barrier->copies = 0;
  barrier->pending -= barrier->later;
  barrier->later = 0;
  emu_order_release(&all->order, agent_of(run, barrier), &barrier->arriving);
  complete(run, barrier);
}

static bool run_init(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  ptx_mbarriers *all = run->mbarriers;
  ptx_lanes address;
  uint8_t *shadow;
  if (!ptx_addresses(run, warp, op, 0, mask, address) ||
      !ptx_require_defined(run, warp, op, 1, mask, "the count")) {
    return false;
  }
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    uint32_t at = offset_of(address[lane]), count = (uint32_t)warp->value[ptx_reg(op, 1, 0)][lane];
    if (!ptx_locate(run, warp, op, lane, PTX_SHARED, at, 8, true, &shadow)) return false;
    if (count == 0 || count > MAX_COUNT) {
      return ptx_fault(run, warp, op, lane, EMU_OUT_OF_RANGE, "a count of %u", count);
    }
    int i = 0;
    while (i < all->n && all->barrier[i].address != at) i++;
    if (i == MAX_MBARRIERS) return ptx_fault(run, warp, op, lane, EMU_LIMIT, "too many mbarriers");
    if (i < all->n && all->barrier[i].valid) {
      return ptx_fault(run, warp, op, lane, EMU_UNKNOWN, "an mbarrier is here already");
    }
    if (i == all->n) all->n++;
    all->barrier[i] = (mbarrier){.address = at, .expected = count, .pending = count, .valid = true};
    memset(shadow, 0xff, 8);
  }
  return true;
}

static bool run_invalidate(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  ptx_lanes address;
  if (!ptx_addresses(run, warp, op, 0, mask, address)) return false;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    mbarrier *barrier = find(run, warp, op, __builtin_ctz(rest), address[__builtin_ctz(rest)]);
    if (!barrier) return false;
    barrier->valid = false;
  }
  return true;
}

static bool expect_bytes(ptx_run *run, ptx_warp *warp, const ptx_op *op, int lane,
                         mbarrier *barrier, int n) {
  uint64_t bytes = warp->value[ptx_reg(op, n, 0)][lane];
  if (bytes > MAX_COUNT)
    return ptx_fault(run, warp, op, lane, EMU_OUT_OF_RANGE, "more bytes than 2^20 - 1");
  barrier->bytes += (int64_t)bytes;
  return true;
}

static bool arrive(ptx_run *run, ptx_warp *warp, const ptx_op *op, int lane, mbarrier *barrier,
                   uint32_t count) {
  if (count + barrier->later > barrier->pending) {
    return ptx_fault(run, warp, op, lane, EMU_BARRIER, "more arrivals than the %u of a phase",
                     barrier->expected);
  }
  barrier->pending -= count;
  return true;
}

/* Arrivals of the lanes in mask; bytes: operand that says what each expects first, or -1; count:
 * operand, or -1. */
static bool arrivals(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask, int memory,
                     int bytes, int count) {
  ptx_lanes address;
  if (!ptx_addresses(run, warp, op, memory, mask, address)) return false;
  if (bytes >= 0 && !ptx_require_defined(run, warp, op, bytes, mask, "the bytes")) return false;
  if (count >= 0 && !ptx_require_defined(run, warp, op, count, mask, "the count")) return false;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    mbarrier *barrier = find(run, warp, op, lane, address[lane]);
    if (!barrier || (bytes >= 0 && !expect_bytes(run, warp, op, lane, barrier, bytes)))
      return false;
    uint32_t n = count < 0 ? 1 : (uint32_t)warp->value[ptx_reg(op, count, 0)][lane];
    if (!arrive(run, warp, op, lane, barrier, n)) return false;
    emu_order_release(&run->mbarriers->order, warp->index, &barrier->arriving);
    complete(run, barrier);
  }
  return true;
}

/* States are not followed: waits go by parity. */
static void drop_state(ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  static const ptx_lanes none;
  ptx_lanes all;
  for (int i = 0; i < PTX_LANES; i++) all[i] = UINT64_MAX;
  ptx_write(warp, ptx_reg(op, 0, 0), mask, none, all);
}

static bool run_arrive(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  drop_state(warp, op, mask);
  return arrivals(run, warp, op, mask, 1, -1, op->n_operands > 2 ? 2 : -1);
}
static bool run_arrive_expect(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  drop_state(warp, op, mask);
  return arrivals(run, warp, op, mask, 1, 2, -1);
}

/* The other block that an address of mapa is in, and the barrier there. NULL: a fault. */
static mbarrier *find_far(ptx_run *run, ptx_warp *warp, const ptx_op *op, int lane,
                          uint64_t address, ptx_run **other) {
  const uint32_t at = address & ((1u << PTX_CLUSTER_SHIFT) - 1);
  const uint64_t rank = (address >> PTX_CLUSTER_SHIFT) - 1;
  if (rank >= (uint64_t)run->cluster->size || run->cluster->phase == 0 ||
      ptx_block_ended(run->cluster->run[rank])) {
    ptx_fault_at(run, warp, op, lane, address, EMU_BARRIER,
                 "no block of the cluster that has begun and not ended");
    return NULL;
  }
  *other = run->cluster->run[rank];
  ptx_mbarriers *all = (*other)->mbarriers;
  for (int i = 0; i < all->n; i++) {
    const emu_write *made = &all->order.written[at];
    if (all->barrier[i].address == at && all->barrier[i].valid &&
        made->time <= far_of_warp(run, warp->index)[rank].seen[made->agent])
      return &all->barrier[i];
  }
  ptx_fault_at(run, warp, op, lane, address, EMU_UNDEFINED,
               "no mbarrier that the cluster knows of was made here");
  return NULL;
}

/* At barriers of other blocks of the cluster, to which go what the warp knows of its own block. */
static bool run_arrive_far(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  ptx_lanes address;
  if (!ptx_addresses(run, warp, op, 1, mask, address)) return false;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    const int lane = __builtin_ctz(rest);
    ptx_run *other;
    mbarrier *barrier = find_far(run, warp, op, lane, address[lane], &other);
    if (!barrier || !arrive(run, warp, op, lane, barrier, 1)) return false;
    emu_order_release(&run->mbarriers->order, warp->index,
                      &far_of_barrier(other, barrier, false)[run->rank]);
    complete(other, barrier);
  }
  return true;
}

static bool run_expect(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  ptx_lanes address;
  if (!ptx_addresses(run, warp, op, 0, mask, address) ||
      !ptx_require_defined(run, warp, op, 1, mask, "the bytes")) {
    return false;
  }
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    mbarrier *barrier = find(run, warp, op, lane, address[lane]);
    if (!barrier || !expect_bytes(run, warp, op, lane, barrier, 1)) return false;
  }
  return true;
}

/* The phase of this parity is over? Then what was done before its end is known; else others run
 * first. */
static bool run_test(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  ptx_lanes address, value = {0};
  if (!ptx_addresses(run, warp, op, 1, mask, address) ||
      !ptx_require_defined(run, warp, op, 2, mask, "the parity")) {
    return false;
  }
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    mbarrier *barrier = find(run, warp, op, lane, address[lane]);
    if (!barrier) return false;
    uint64_t parity = warp->value[ptx_reg(op, 2, 0)][lane];
    if (parity > 1)
      return ptx_fault(run, warp, op, lane, EMU_OUT_OF_RANGE, "a parity that is no bit");
    if ((barrier->phase & 1) == parity) deliver(run, barrier);
    value[lane] = (barrier->phase & 1) != parity;
    warp->yielded |= !value[lane];
    if (!value[lane]) continue;
    emu_order_acquire(&run->mbarriers->order, warp->index, &barrier->done);
    if (run->mbarriers->far)
      join_far(far_of_warp(run, warp->index), far_of_barrier(run, barrier, true));
    emu_shared_order_lanes(&run->shared);
  }
  ptx_write(warp, ptx_reg(op, 0, 0), mask, value, NULL);
  return true;
}

/* ---- copies ---- */

static bool check_source(ptx_run *run, ptx_warp *warp, const ptx_op *op, int lane, uint64_t from,
                         uint64_t bytes) {
  run->last = emu_memory_find(run->grid->memory, from, bytes);
  return run->last || ptx_fault_at(run, warp, op, lane, from, EMU_OUT_OF_RANGE,
                                   "%llu bytes of global memory", (unsigned long long)bytes);
}

static bool check_bulk(ptx_run *run, ptx_warp *warp, const ptx_op *op, int lane, uint64_t to,
                       uint64_t from, uint64_t bytes) {
  if (bytes % 16 || to % 16 || from % 16) {
    return ptx_fault_at(run, warp, op, lane, from, EMU_MISALIGNED,
                        "%llu bytes to %llu: all are multiples of 16", (unsigned long long)bytes,
                        (unsigned long long)to);
  }
  if (bytes == 0 || bytes > run->shared.bytes ||
      !emu_shared_holds(&run->shared, offset_of(to), (uint32_t)bytes)) {
    return ptx_fault_at(run, warp, op, lane, to, EMU_OUT_OF_RANGE,
                        "%llu bytes of shared memory, of which the block has %u",
                        (unsigned long long)bytes, run->shared.bytes);
  }
  return check_source(run, warp, op, lane, from, bytes);
}

/* One more under way: where its bytes go, and behind them their undefined bits, all zero. NULL: no
 * memory. */
static uint8_t *add_copy(ptx_mbarriers *all, mbarrier *barrier, uint32_t to, uint32_t bytes,
                         bool counted) {
  if (all->n_copies == all->capacity) {
    int larger = all->capacity ? 2 * all->capacity : 16;
    bulk_copy *grown = realloc(all->copy, (size_t)larger * sizeof *grown);
    if (!grown) return NULL;
    all->copy = grown;
    all->capacity = larger;
  }
  uint8_t *data = calloc(2, (size_t)bytes);
  if (!data) return NULL;
  all->copy[all->n_copies++] = (bulk_copy){(int)(barrier - all->barrier), to, bytes, counted, data};
  barrier->copies++;
  return data;
}

uint8_t *ptx_begin_bulk(ptx_run *run, ptx_warp *warp, const ptx_op *op, int lane, uint64_t address,
                        uint32_t to, uint32_t bytes) {
  ptx_mbarriers *all = run->mbarriers;
  mbarrier *barrier = find(run, warp, op, lane, address);
  int other;
  if (!barrier) return NULL;
  int64_t race =
      emu_order_proxy_write(&all->order, to, bytes, warp->index, agent_of(run, barrier), &other);
  if (race >= 0) {
    ptx_fault_at(run, warp, op, lane, (uint64_t)race, EMU_RACE,
                 other < run->n_warps ? "a copy to shared memory that warp %d touched"
                                      : "a copy to where another goes (agent %d)",
                 other);
    return NULL;
  }
  memset(run->shared.undefined + to, 0xff, bytes);
  uint8_t *data = add_copy(all, barrier, to, bytes, true);
  if (!data) ptx_fault(run, warp, op, lane, EMU_LIMIT, "no memory for a copy");
  return data;
}

uint8_t *ptx_begin_bulk_far(ptx_run *run, ptx_warp *warp, const ptx_op *op, int lane, int rank,
                            uint64_t address, uint32_t to, uint32_t bytes) {
  ptx_run *other;
  mbarrier *barrier = find_far(
      run, warp, op, lane, offset_of(address) | (uint64_t)(rank + 1) << PTX_CLUSTER_SHIFT, &other);
  int toucher;
  if (!barrier) return NULL;
  const uint32_t *seen = far_of_warp(run, warp->index)[rank].seen;
  int64_t race = emu_order_far_write(&other->mbarriers->order, to, bytes, seen,
                                     agent_of(other, barrier), &toucher);
  if (race >= 0) {
    ptx_fault_at(run, warp, op, lane, (uint64_t)race, EMU_RACE,
                 "a copy to shared memory of block %d of the cluster that agent %d touched", rank,
                 toucher);
    return NULL;
  }
  memset(other->shared.undefined + to, 0xff, bytes);
  uint8_t *data = add_copy(other->mbarriers, barrier, to, bytes, true);
  if (!data) ptx_fault(run, warp, op, lane, EMU_LIMIT, "no memory for a copy");
  return data;
}

/* Takes the bytes, and their place. */
static bool start_bulk(ptx_run *run, ptx_warp *warp, const ptx_op *op, int lane, uint64_t barrier,
                       uint32_t to, uint64_t from, uint32_t bytes) {
  uint8_t *data = ptx_begin_bulk(run, warp, op, lane, barrier, to, bytes);
  if (!data) return false;
  memcpy(data, emu_range_data(run->last, from), bytes);
  memcpy(data + bytes, emu_range_undefined(run->last, from), bytes);
  return true;
}

static bool run_bulk(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  ptx_lanes to, from, address;
  if (!ptx_addresses(run, warp, op, 0, mask, to) || !ptx_addresses(run, warp, op, 1, mask, from) ||
      !ptx_addresses(run, warp, op, 3, mask, address) ||
      !ptx_require_defined(run, warp, op, 2, mask, "the size")) {
    return false;
  }
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    uint64_t bytes = warp->value[ptx_reg(op, 2, 0)][lane];
    if (!check_bulk(run, warp, op, lane, to[lane], from[lane], bytes) ||
        !start_bulk(run, warp, op, lane, address[lane], offset_of(to[lane]), from[lane],
                    (uint32_t)bytes)) {
      return false;
    }
    run->counters.global_loads++;
    run->counters.global_load_bytes += bytes;
    run->counters.global_load_sectors += bytes / EMU_SECTOR_BYTES;
  }
  return true;
}

/* A lane's arrival, with the copies that it began before (PTX ISA, "cp.async.mbarrier.arrive"):
 * those are of the barrier from here on. */
static bool arrive_with(ptx_run *run, ptx_warp *warp, const ptx_op *op, int lane,
                        uint64_t address) {
  ptx_mbarriers *all = run->mbarriers;
  mbarrier *barrier = find(run, warp, op, lane, address);
  ptx_async_copy copy;
  bool any = false, found;
  if (!barrier) return false;
  for (;;) {
    if (!ptx_async_take(run, warp, op, lane, &copy, &found)) return false;
    if (!found) break;
    uint8_t *data = add_copy(all, barrier, copy.to, copy.bytes, false);
    if (!data) return ptx_fault(run, warp, op, lane, EMU_LIMIT, "no memory for a copy");
    memcpy(data, copy.data, copy.bytes);
    memcpy(data + copy.bytes, copy.undefined, copy.bytes);
    any = true;
  }
  if (!arrive(run, warp, op, lane, barrier, 1)) return false;
  barrier->pending += any;
  barrier->later += any;
  emu_order_release(&all->order, warp->index, &barrier->arriving);
  complete(run, barrier);
  return true;
}

static bool run_arrive_with(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  ptx_lanes address;
  if (!ptx_addresses(run, warp, op, 0, mask, address)) return false;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    if (!arrive_with(run, warp, op, lane, address[lane])) return false;
  }
  return true;
}

static bool run_prefetch(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  ptx_lanes from;
  if (!ptx_addresses(run, warp, op, 0, mask, from)) return false;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    uint64_t bytes = warp->value[ptx_reg(op, 1, 0)][lane];
    if (bytes == 0 || bytes % 16 || from[lane] % 16)
      return ptx_fault_at(run, warp, op, lane, from[lane], EMU_MISALIGNED,
                          "%llu bytes: address and number are multiples of 16",
                          (unsigned long long)bytes);
    if (!check_source(run, warp, op, lane, from[lane], bytes)) return false;
  }
  return true;
}

/* ---- fences ---- */

static bool run_proxy_fence(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  if (ptx_come_each(run, warp, op, &mask)) return true;
  if (mask != warp->alive) {
    return ptx_fault(run, warp, op, EMU_NOWHERE, EMU_UNKNOWN, "lanes 0x%08x of 0x%08x alone", mask,
                     warp->alive);
  }
  emu_order_fence(&run->mbarriers->order, warp->index);
  return true;
}

static bool run_publish(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  (void)op, (void)mask;
  emu_order_release(&run->mbarriers->order, warp->index, &run->mbarriers->published);
  return true;
}

#define ROW(syntax, operands, execute, class) {syntax, operands, execute, NULL, NULL, class, 0}
#define SPACE "?shared|shared::cta"

const ptx_form ptx_mbarrier_forms[] = {
    ROW("mbarrier init " SPACE " b64", "ms", run_init, PTX_MEMORY),
    ROW("mbarrier inval " SPACE " b64", "m", run_invalidate, PTX_MEMORY),
    ROW("mbarrier arrive ?release ?cta " SPACE " b64", "vm?s", run_arrive, PTX_MEMORY),
    ROW("mbarrier arrive ?release ?cluster shared::cluster b64", "vm", run_arrive_far, PTX_MEMORY),
    ROW("mbarrier arrive expect_tx ?release ?cta " SPACE " b64", "vms", run_arrive_expect,
        PTX_MEMORY),
    ROW("mbarrier expect_tx ?relaxed ?cta " SPACE " b64", "ms", run_expect, PTX_MEMORY),
    ROW("mbarrier try_wait|test_wait parity ?acquire ?cta|cluster " SPACE " b64", "dms?s", run_test,
        PTX_MEMORY),
    ROW("cp async bulk shared::cta|shared::cluster global mbarrier::complete_tx::bytes", "mmsm",
        run_bulk, PTX_MEMORY),
    ROW("cp async mbarrier arrive noinc " SPACE " b64", "m", run_arrive_with, PTX_MEMORY),
    ROW("cp async bulk prefetch L2 global", "ms", run_prefetch, PTX_MEMORY),
    ROW("fence proxy async ?shared::cta", "", run_proxy_fence, PTX_BARRIER),
    ROW("fence mbarrier_init release cluster", "", run_publish, PTX_BARRIER),
    {0}};
