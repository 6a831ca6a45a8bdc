/* Loads, stores and atomics: ranges, alignment, undefined bits, races, traffic. */
#include "emulators/ptx/ptx_run.h"

#include <string.h>

/* ---- places ---- */

static uint8_t *locate_shared(ptx_run *run, const ptx_warp *warp, const ptx_op *op, int lane,
                              uint64_t offset, int bytes, bool write, bool traced,
                              uint8_t **undefined) {
  emu_shared *shared = &run->shared;
  if (warp->arrived && !warp->relaxed) {
    ptx_fault(run, warp, op, lane, EMU_UNKNOWN,
              "shared memory between the cluster's barrier.arrive and its wait");
    return NULL;
  }
  if (!emu_shared_holds(shared, offset, (uint32_t)bytes)) {
    ptx_fault_at(run, warp, op, lane, offset, EMU_OUT_OF_RANGE,
                 "%d bytes of shared memory, of which the block has %u", bytes, shared->bytes);
    return NULL;
  }
  *undefined = shared->undefined + offset;
  if (!traced) return shared->data + offset;
  int other;
  emu_thread by = {warp->index, lane};
  int64_t race = write ? emu_shared_write(shared, (uint32_t)offset, (uint32_t)bytes, by, &other)
                       : emu_shared_read(shared, (uint32_t)offset, (uint32_t)bytes, by, &other);
  if (race >= 0) {
    ptx_fault_at(run, warp, op, lane, (uint64_t)race, EMU_RACE,
                 other == EMU_MANY_WARPS ? "a %s of shared memory that several other warps touched"
                 : other == EMU_OTHER_BLOCK ? "a %s of shared memory that another block read"
                 : other == EMU_OTHER_LANE
                     ? "a %s of shared memory that another lane of the warp touched"
                 : other >= run->n_warps ? "a %s of shared memory to which a copy goes"
                                         : "a %s of shared memory that warp %d touched",
                 write ? "write" : "read", other);
    return NULL;
  }
  return shared->data + offset;
}

/* Nobody else has it. */
static uint8_t *locate_local(ptx_run *run, const ptx_warp *warp, const ptx_op *op, int lane,
                             uint64_t offset, int bytes, uint8_t **undefined) {
  uint64_t own = run->kernel->local_bytes;
  if (offset > own || (uint64_t)bytes > own - offset) {
    ptx_fault_at(run, warp, op, lane, offset, EMU_OUT_OF_RANGE,
                 "%d bytes of a thread's own memory, of which it has %u", bytes, (unsigned)own);
    return NULL;
  }
  *undefined = warp->local_undefined + (uint64_t)lane * own + offset;
  return warp->local + (uint64_t)lane * own + offset;
}

uint8_t *ptx_locate(ptx_run *run, const ptx_warp *warp, const ptx_op *op, int lane, int space,
                    uint64_t address, int bytes, bool write, uint8_t **undefined) {
  bool traced = !(space & PTX_UNTRACED);
  space &= ~PTX_UNTRACED;
  /* "Truncated if the register width exceeds the state space address width" (PTX ISA, "Addresses as
   * operands"). */
  if (space == PTX_SHARED || space == PTX_CLUSTER) address = (uint32_t)address;
  if (address & (uint64_t)(bytes - 1)) {
    ptx_fault_at(run, warp, op, lane, address, EMU_MISALIGNED, "%d bytes", bytes);
    return NULL;
  }
  if (space == PTX_LOCAL || (space == PTX_GENERIC && address & PTX_LOCAL_WINDOW))
    return locate_local(run, warp, op, lane, address & ~PTX_LOCAL_WINDOW, bytes, undefined);
  if (space == PTX_CLUSTER && address >> PTX_CLUSTER_SHIFT)
    return ptx_locate_cluster(run, warp, op, lane, address, bytes, write, undefined);
  if (space == PTX_SHARED || space == PTX_CLUSTER ||
      (space == PTX_GENERIC && address >= PTX_SHARED_WINDOW)) {
    return locate_shared(run, warp, op, lane, address & ~PTX_SHARED_WINDOW, bytes, write, traced,
                         undefined);
  }
  if (!ptx_may_touch(run, warp, op, lane, address, bytes, write)) return NULL;
  if (!run->last || !emu_range_holds(run->last, address, (size_t)bytes)) {
    const ptx_system *system = run->grid->system;
    run->last = emu_memory_find(run->grid->memory, address, (size_t)bytes);
    if (!run->last && system) run->last = system->find(system->user, address, (size_t)bytes);
  }
  if (!run->last) {
    ptx_fault_at(run, warp, op, lane, address, EMU_OUT_OF_RANGE, "%d bytes of global memory",
                 bytes);
    return NULL;
  }
  *undefined = emu_range_undefined(run->last, address);
  return emu_range_data(run->last, address);
}

bool ptx_addresses(ptx_run *run, ptx_warp *warp, const ptx_op *op, int n, uint32_t mask,
                   uint64_t *address) {
  int reg = ptx_reg(op, n, 0);
  const uint64_t *base = warp->value[reg];
  uint64_t offset = (uint64_t)op->operand[n].value;
  if (warp->state[reg] && !ptx_require_defined(run, warp, op, n, mask, "the address")) return false;
  for (int i = 0; i < PTX_LANES; i++) address[i] = base[i] + offset;
  return true;
}

/* ---- traffic ---- */

int ptx_wavefronts(const uint64_t *address, uint32_t mask, int bytes, int *least) {
  int lanes = bytes <= 4 ? 32 : 128 / bytes, total = 0;
  *least = 0;
  for (int first = 0; first < PTX_LANES; first += lanes) {
    int n = emu_count_phase(address, mask, first, first + lanes - 1, bytes);
    total += n;
    *least += n > 0;
  }
  return total;
}

static void count_global(ptx_run *run, const uint64_t *address, uint32_t mask, int bytes,
                         bool write) {
  emu_counters *counters = &run->counters;
  uint64_t sectors = (uint64_t)emu_count_sectors(address, mask, bytes);
  uint64_t moved = (uint64_t)(__builtin_popcount(mask) * bytes);
  if (write) {
    counters->global_stores++;
    counters->global_store_sectors += sectors;
    counters->global_store_bytes += moved;
  } else {
    counters->global_loads++;
    counters->global_load_sectors += sectors;
    counters->global_load_bytes += moved;
  }
}

static void count_shared(ptx_run *run, const uint64_t *address, uint32_t mask, int bytes,
                         bool write) {
  emu_counters *counters = &run->counters;
  int least, wavefronts = ptx_wavefronts(address, mask, bytes, &least);
  if (write) {
    counters->shared_stores++;
    counters->shared_store_wavefronts += (uint64_t)wavefronts;
    counters->shared_store_conflicts += (uint64_t)(wavefronts - least);
  } else {
    counters->shared_loads++;
    counters->shared_load_wavefronts += (uint64_t)wavefronts;
    counters->shared_load_conflicts += (uint64_t)(wavefronts - least);
  }
}

/* Generic accesses count by where the first lane's address lies; those of a thread's own memory do
 * not. */
static void count(ptx_run *run, const uint64_t *address, uint32_t mask, int bytes, int space,
                  bool write) {
  if (address[__builtin_ctz(mask)] & PTX_LOCAL_WINDOW) return;
  bool shared = space == PTX_SHARED || space == PTX_CLUSTER ||
                (space == PTX_GENERIC && address[__builtin_ctz(mask)] >= PTX_SHARED_WINDOW);
  (shared ? count_shared : count_global)(run, address, mask, bytes, write);
}

/* ---- ld and st ---- */

/* The alternatives of the tables below. */
#define SPACE "?global|shared|shared::cta|shared::cluster|local"
#define CACHE \
  "?ca|cg|cs|lu|cv|wb|wt ?L1::no_allocate|L1::evict_first|L1::evict_last|L1::evict_normal"
enum { CHOICE_ORDER = 0, CHOICE_SCOPE = 1, CHOICE_SPACE = 2, CHOICE_VECTOR = 6 };
enum { LOAD_RELAXED = 3 }; /* of ?weak|volatile|relaxed|acquire */
enum { SCOPE_SYSTEM = 4 }; /* of ?cta|cluster|gpu|sys */

static int space_of(const ptx_op *op, int choice) {
  static const int spaces[] = {PTX_GENERIC, PTX_GLOBAL,  PTX_SHARED,
                               PTX_SHARED,  PTX_CLUSTER, PTX_LOCAL};
  return spaces[op->choice[choice]];
}

bool ptx_may_be_local(const ptx_op *op) {
  bool loads = strncmp(op->form->syntax, "ld ?", 4) == 0;
  int space = loads ? space_of(op, CHOICE_SPACE) : PTX_GLOBAL;
  return space == PTX_LOCAL || space == PTX_GENERIC;
}

static int vector_of(const ptx_op *op) { return op->choice[CHOICE_VECTOR] * 2; }

/* A lane's part k of an access, sign- or zero-extended by the caller. */
static uint64_t part_of(const uint8_t *bytes, int k, int size) {
  uint64_t value = 0;
  memcpy(&value, bytes + k * size, (size_t)size);
  return value;
}

/* Registers may be wider than what is loaded: signed types then extend their sign. */
static uint64_t extended(const ptx_op *op, uint64_t value) {
  if (op->type[0]->kind != 's' || op->bits == 64 || !op->operand[0].bits) return value;
  int by = 64 - op->bits, unused = 64 - op->operand[0].bits;
  return (uint64_t)((int64_t)(value << by) >> by) << unused >> unused;
}

/* The same value so often in a row is waited to change. Clusters run one after the other: one that
 * has not begun has to; or, where the load is of the system, another device, which runs meanwhile.
 */
#define MAX_POLLS (1 << 16)
static bool note_poll(ptx_run *run, ptx_warp *warp, const ptx_op *op, int lane, uint64_t address,
                      uint64_t value) {
  bool same = warp->polling == op && warp->polled == address && warp->polled_value == value;
  warp->polling = op;
  warp->polled = address;
  warp->polled_value = value;
  warp->polls = same ? warp->polls + 1 : 0;
  if (run->grid->system && op->choice[CHOICE_SCOPE] == SCOPE_SYSTEM) {
    if (same) run->grid->system->rest(run->grid->system->user, warp->polls);
    if (same) run->last = NULL; /* others may have freed it */
    ptx_set_time(run, warp);
    return true;
  }
  if (warp->polls < MAX_POLLS) return true;
  return ptx_fault_at(run, warp, op, lane, address, EMU_BARRIER,
                      "waits for a block that has not begun");
}

static bool run_load(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  int parts = op->operand[0].count, size = op->bits / 8, space = space_of(op, CHOICE_SPACE);
  ptx_lanes address, value[4], undefined[4];
  uint64_t dirty = 0;
  if (parts != (vector_of(op) ? vector_of(op) : 1)) {
    return ptx_fault(run, warp, op, EMU_NOWHERE, EMU_UNKNOWN, "%d registers", parts);
  }
  if (!ptx_addresses(run, warp, op, 1, mask, address)) return false;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    uint8_t *shadow;
    const uint8_t *bytes =
        ptx_locate(run, warp, op, lane, space, address[lane], size * parts, false, &shadow);
    if (!bytes) return false;
    for (int k = 0; k < parts; k++) {
      value[k][lane] = extended(op, part_of(bytes, k, size));
      undefined[k][lane] = extended(op, part_of(shadow, k, size));
      dirty |= undefined[k][lane];
    }
  }
  count(run, address, mask, size * parts, space, false);
  int first = __builtin_ctz(mask);
  if (op->choice[CHOICE_ORDER] >= LOAD_RELAXED && space == PTX_GLOBAL &&
      !note_poll(run, warp, op, first, address[first], value[0][first]))
    return false;
  for (int k = 0; k < parts; k++) {
    ptx_write(warp, ptx_reg(op, 0, k), mask, value[k], dirty ? undefined[k] : NULL);
  }
  return true;
}

/* Undefined bits may lie in shared memory, never in global memory. */
static bool run_store(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  int parts = op->operand[1].count, size = op->bits / 8, space = space_of(op, CHOICE_SPACE);
  ptx_lanes address;
  if (parts != (vector_of(op) ? vector_of(op) : 1)) {
    return ptx_fault(run, warp, op, EMU_NOWHERE, EMU_UNKNOWN, "%d registers", parts);
  }
  if (!ptx_addresses(run, warp, op, 0, mask, address)) return false;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    uint8_t *shadow;
    uint8_t *bytes =
        ptx_locate(run, warp, op, lane, space, address[lane], size * parts, true, &shadow);
    if (!bytes) return false;
    bool global = (bytes < run->shared.data || bytes >= run->shared.data + run->shared.bytes) &&
                  !(address[lane] & PTX_LOCAL_WINDOW);
    for (int k = 0; k < parts; k++) {
      int reg = ptx_reg(op, 1, k);
      uint64_t bits = warp->state[reg] ? ptx_undefined(warp, reg)[lane] & op->mask : 0;
      if (bits && global) {
        return ptx_fault_at(run, warp, op, lane, address[lane], EMU_UNDEFINED,
                            "bits 0x%llx of what is stored are undefined",
                            (unsigned long long)bits);
      }
      memcpy(bytes + k * size, &warp->value[reg][lane], (size_t)size);
      memcpy(shadow + k * size, &bits, (size_t)size);
    }
  }
  count(run, address, mask, size * parts, space, true);
  return true;
}

static bool run_load_param(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  int parts = op->operand[0].count, size = op->bits / 8;
  int64_t offset = op->operand[1].value;
  ptx_lanes value;
  if (offset < 0 || offset + size * parts > run->kernel->param_bytes ||
      warp->value[ptx_reg(op, 1, 0)][0]) {
    return ptx_fault(run, warp, op, EMU_NOWHERE, EMU_OUT_OF_RANGE, "parameter byte %lld",
                     (long long)offset);
  }
  for (int k = 0; k < parts; k++) {
    uint64_t part = extended(op, part_of(run->param + offset, k, size));
    for (int i = 0; i < PTX_LANES; i++) value[i] = part;
    ptx_write(warp, ptx_reg(op, 0, k), mask, value, NULL);
  }
  return true;
}

/* ---- atom and red ---- */

static int64_t number(const ptx_op *op, uint64_t x) {
  return (int64_t)(x << (64 - op->bits)) >> (64 - op->bits);
}

typedef enum atomic_kind {
  ATOMIC_ADD = 1,
  ATOMIC_MIN,
  ATOMIC_MAX,
  ATOMIC_AND,
  ATOMIC_OR,
  ATOMIC_XOR,
  ATOMIC_EXCHANGE,
  ATOMIC_CAS,
  ATOMIC_INC,
  ATOMIC_DEC
} atomic_kind;

static uint64_t combined(const ptx_op *op, atomic_kind kind, uint64_t old, uint64_t b, uint64_t c) {
  bool is_signed = op->type[0]->kind == 's';
  bool less = is_signed ? number(op, b) < number(op, old) : b < old;
  switch (kind) {
  case ATOMIC_ADD: return old + b;
  case ATOMIC_MIN: return less ? b : old;
  case ATOMIC_MAX: return less ? old : b;
  case ATOMIC_AND: return old & b;
  case ATOMIC_OR: return old | b;
  case ATOMIC_XOR: return old ^ b;
  case ATOMIC_EXCHANGE: return b;
  case ATOMIC_CAS: return old == b ? c : old;
  case ATOMIC_INC: return old >= b ? 0 : old + 1;
  default: return old == 0 || old > b ? b : old - 1;
  }
}

/* Lane after lane. Atomics of two warps on one word are no race, so shared ones leave no trace
 * there. */
static bool run_atomic(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask,
                       atomic_kind kind) {
  bool returns = op->form->operands[0] == 'd';
  int at = returns ? 1 : 0, size = op->bits / 8, space = space_of(op, CHOICE_SPACE);
  ptx_lanes address, old = {0};
  if (!ptx_addresses(run, warp, op, at, mask, address)) return false;
  for (int n = at + 1; n < op->n_operands; n++) {
    if (!ptx_require_defined(run, warp, op, n, mask, "an atomic's operand")) return false;
  }
  const uint64_t *b = warp->value[ptx_reg(op, at + 1, 0)];
  const uint64_t *c = op->n_operands > at + 2 ? warp->value[ptx_reg(op, at + 2, 0)] : b;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    uint8_t *shadow, *bytes = ptx_locate(run, warp, op, lane, space | PTX_UNTRACED, address[lane],
                                         size, true, &shadow);
    if (!bytes) return false;
    if (part_of(shadow, 0, size)) {
      return ptx_fault_at(run, warp, op, lane, address[lane], EMU_UNDEFINED,
                          "the word is undefined");
    }
    old[lane] = part_of(bytes, 0, size);
    uint64_t made = combined(op, kind, old[lane], b[lane] & op->mask, c[lane]);
    memcpy(bytes, &made, (size_t)size);
  }
  if (returns) ptx_write(warp, ptx_reg(op, 0, 0), mask, old, NULL);
  return true;
}

/* The tables' alternatives, by the first of them. */
enum { CHOICE_ATOMIC = 3 };
#define ATOMICS(name, first) \
  static bool name(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) { \
    return run_atomic(run, warp, op, mask, (atomic_kind)(first + op->choice[CHOICE_ATOMIC] - 1)); \
  }
ATOMICS(run_atomic_number, ATOMIC_ADD)
ATOMICS(run_atomic_bits, ATOMIC_AND)
ATOMICS(run_atomic_cyclic, ATOMIC_INC)
static bool run_cas(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  return run_atomic(run, warp, op, mask, ATOMIC_CAS);
}

#define ORDER "?relaxed|acquire|release|acq_rel ?cta|cluster|gpu|sys " SPACE
#define ATOMIC(syntax, operands, execute) {syntax, operands, execute, NULL, NULL, PTX_ATOMIC, 0}
#define ROW(syntax, operands, execute) {syntax, operands, execute, NULL, NULL, PTX_MEMORY, 0}

const ptx_form ptx_memory_forms[] = {
    ROW("ld param ?v2|v4 %M", "vm", run_load_param),
    ROW("ld ?weak|volatile|relaxed|acquire ?cta|cluster|gpu|sys " SPACE " ?nc " CACHE " ?v2|v4 %M",
        "vm", run_load),
    ROW("st ?weak|volatile|relaxed|release ?cta|cluster|gpu|sys " SPACE " ?nc " CACHE " ?v2|v4 %M",
        "mw", run_store),
    ATOMIC("atom " ORDER " add|min|max %N", "dms", run_atomic_number),
    ATOMIC("atom " ORDER " and|or|xor|exch %O", "dms", run_atomic_bits),
    ATOMIC("atom " ORDER " inc|dec %U", "dms", run_atomic_cyclic),
    ATOMIC("atom " ORDER " cas %O", "dmss", run_cas),
    ATOMIC("red " ORDER " add|min|max %N", "ms", run_atomic_number),
    ATOMIC("red " ORDER " and|or|xor %O", "ms", run_atomic_bits),
    ATOMIC("red " ORDER " inc|dec %U", "ms", run_atomic_cyclic),
    {0}};
