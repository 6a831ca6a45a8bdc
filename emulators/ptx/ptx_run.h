/* The state of a launch. Registers are 64-bit lanes whose bits past the register's width are 0;
 * beside each value stand its undefined bits, looked at only where the register's state says so. */
#ifndef LLRT_EMULATORS_PTX_RUN_H
#define LLRT_EMULATORS_PTX_RUN_H

#include "emulators/common/emu_shared.h"
#include "emulators/ptx/ptx_flow.h"

#define PTX_MAX_WARPS 32

typedef uint64_t ptx_lanes[PTX_LANES];
typedef struct ptx_mbarriers ptx_mbarriers;
typedef struct ptx_wgmma ptx_wgmma;

typedef enum ptx_state {
  PTX_DEFINED = 0, /* all bits of all lanes; `undefined` holds rubbish */
  PTX_PARTLY,      /* see `undefined` */
  PTX_NEVER        /* never written: all bits of all lanes are undefined */
} ptx_state;

struct ptx_warp {
  ptx_lanes *value, *undefined; /* by register */
  uint8_t *state;
  uint8_t *local, *local_undefined; /* kernel->local_bytes of each lane; their undefined bits */
  uint64_t *stamp, writes;          /* by register: the number of its last write; of all writes */
  int index;
  int pc;                 /* of the lanes in `active` */
  uint32_t alive, active; /* a diverged warp's other lanes wait at lane_pc */
  int limit;              /* the least pc at which lanes wait; INT32_MAX: none */
  int lane_pc[PTX_LANES];
  uint32_t together[PTX_LANES]; /* grid->apart: the lanes that a lane runs with */
  int parted_by;                /* ptx_meet.c: the branch whose ways met too late; -1: none */
  uint32_t partings,
      *ways; /* how often it was whole at a branch; by instruction: which ways, since which time */
  uint32_t waiting; /* of those: lanes at a synchronisation, at lane_pc */
  uint32_t
      came; /* lanes that have come to the instruction before came_pc, which runs when all have */
  int came_pc;
  bool at_barrier, yielded;
  int barrier, barrier_threads; /* at_barrier: which, and how many threads it wants; 0: all */
  bool relaxed;                 /* arrived at a barrier of the cluster, but released nothing */
  bool arrived,
      at_cluster_barrier; /* barrier.cluster: arrived in arrived_phase; waits for its end */
  int arrived_phase;
  uint32_t waited;       /* griddepcontrol.wait: lanes */
  const ptx_op *polling; /* the last load in an order of global memory, from where, of what, and how
                            often in a row */
  uint64_t polled, polled_value;
  int polls;
  void *async;      /* ptx_async.c: copies under way */
  ptx_wgmma *wgmma; /* ptx_wgmma.c: products under way */
};

#define PTX_MAX_CLUSTER 8
#define PTX_CLUSTER_SHIFT 24

/* Blocks that are resident together. */
typedef struct ptx_cluster {
  ptx_run *run[PTX_MAX_CLUSTER];
  int size;
  int phase; /* barriers of all that have ended */
} ptx_cluster;

struct ptx_run {
  ptx_cluster *cluster;
  int rank;
  const ptx_kernel *kernel;
  const ptx_grid *grid;
  emu_shared shared;
  ptx_mbarriers *mbarriers; /* NULL: the kernel has no use for them */
  emu_range *last;          /* range of the last global access */
  emu_counters counters;
  uint64_t by_class[PTX_CLASSES];
  emu_fault *fault;
  uint32_t block;
  uint64_t steps_left;
  ptx_flow flow; /* grid->apart */
  uint8_t param[4096];
  ptx_warp warp[PTX_MAX_WARPS];
  int n_warps;
};

/* ptx_launch.c: what %globaltimer says, brought up to date: as the block begins, and where a warp
 * waits for what is outside of the device. */
void ptx_set_time(ptx_run *run, ptx_warp *warp);

/* The register behind operand `n` (its member `k`). */
static inline int ptx_reg(const ptx_op *op, int n, int k) {
  return op->reg[op->operand[n].first + k];
}
static inline uint64_t *ptx_value(const ptx_warp *warp, int reg) { return warp->value[reg]; }

/* A register's undefined bits, brought to the state PARTLY. */
uint64_t *ptx_undefined(ptx_warp *warp, int reg);

/* Makes the register's lanes in mask `value` with undefined bits `undefined` (NULL: none). */
void ptx_write(ptx_warp *warp, int reg, uint32_t mask, const uint64_t *value,
               const uint64_t *undefined);

/* Undefined bits of register among the lanes in mask? *lane is the first such lane. */
bool ptx_has_undefined(ptx_warp *warp, int reg, uint32_t mask, int *lane);

/* Faults, with the place; false. lane or address may be EMU_NOWHERE. */
bool ptx_fault(ptx_run *run, const ptx_warp *warp, const ptx_op *op, int lane, emu_fault_kind kind,
               const char *format, ...) __attribute__((format(printf, 6, 7)));
bool ptx_fault_at(ptx_run *run, const ptx_warp *warp, const ptx_op *op, int lane, uint64_t address,
                  emu_fault_kind kind, const char *format, ...)
    __attribute__((format(printf, 7, 8)));

/* Faults if operand n is undefined in a lane of mask; `what` says what it is used as. */
bool ptx_require_defined(ptx_run *run, ptx_warp *warp, const ptx_op *op, int n, uint32_t mask,
                         const char *what);

/* ptx_register.c: op of form->compute and form->spread on registers. */
ptx_execute ptx_compute_op;

/* ptx_apart.c: after a branch that only `mask` of the running lanes take; after some have ended,
 * where others are left (false: all of those wait); where the launch comes back to a warp that
 * waited by polling. */
void ptx_part(ptx_run *run, ptx_warp *warp, uint32_t mask, int target);
bool ptx_run_others(ptx_run *run, ptx_warp *warp);
void ptx_take_turns(ptx_run *run, ptx_warp *warp);
/* At a synchronisation of `members`, which brings them together. true: not now, others run first.
 */
bool ptx_come_together(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t members,
                       uint32_t mask);
/* ptx_meet.c: at a branch that may be taken, before those in mask take it; whether the running
 * lanes of a parted warp may synchronise here, else a fault. */
void ptx_note_way(const ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask);
bool ptx_may_meet(ptx_run *run, const ptx_warp *warp, const ptx_op *op, uint32_t mask);
/* At an instruction of each lane by itself that here is executed once, for all lanes of a warp:
 * *mask is then all of them. true: not now. */
bool ptx_come_each(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t *mask);
/* Whether all 32 lanes are here, else a fault. */
bool ptx_whole_warp(ptx_run *run, const ptx_warp *warp, const ptx_op *op, uint32_t mask);

/* ptx_memory.c: one lane's bytes in shared memory (generic = false: address is an offset), its own
 * or global memory. NULL: a fault was set. *undefined is the shadow beside the bytes. */
uint8_t *ptx_locate(ptx_run *run, const ptx_warp *warp, const ptx_op *op, int lane, int space,
                    uint64_t address, int bytes, bool write, uint8_t **undefined);
enum {
  PTX_GENERIC = 0,
  PTX_GLOBAL = 1,
  PTX_SHARED = 2,
  PTX_CLUSTER = 3,
  PTX_UNTRACED = 4, /* or'ed: no races */
  PTX_LOCAL = 8
};
/* Whether an instruction may load from the thread's own memory. */
bool ptx_may_be_local(const ptx_op *op);
/* Addresses that operand n gives, checked for undefinedness. */
bool ptx_addresses(ptx_run *run, ptx_warp *warp, const ptx_op *op, int n, uint32_t mask,
                   uint64_t *address);
/* Wavefronts of a shared access by the lanes of mask. */
int ptx_wavefronts(const uint64_t *address, uint32_t mask, int bytes, int *least);

/* ptx_control.c: whether a lane may touch global memory, as far as grids in front of its own may
 * still run; notes that it does. false: a fault. */
bool ptx_may_touch(ptx_run *run, const ptx_warp *warp, const ptx_op *op, int lane, uint64_t address,
                   int bytes, bool write);

/* ptx_launch.c: whether all warps of a block have ended. */
bool ptx_block_ended(const ptx_run *run);

/* ptx_cluster.c: bytes of a block of the cluster, by an address of mapa; as ptx_locate. */
uint8_t *ptx_locate_cluster(ptx_run *run, const ptx_warp *warp, const ptx_op *op, int lane,
                            uint64_t address, int bytes, bool write, uint8_t **undefined);
/* Ends a barrier of the cluster for which all warps have arrived; false where some have not. */
bool ptx_cluster_release(ptx_cluster *cluster);

/* ptx_async.c: what a block leaves and finds. */
void ptx_async_reset(ptx_warp *warp);

/* One of a lane's copies under way, the first, which the warp forgets; *found: there was one.
 * false: a race. */
typedef struct ptx_async_copy {
  uint32_t to, bytes; /* offset in shared memory */
  uint8_t data[16], undefined[16];
} ptx_async_copy;
bool ptx_async_take(ptx_run *run, ptx_warp *warp, const ptx_op *op, int lane, ptx_async_copy *out,
                    bool *found);

/* ptx_mbarrier.c: of a launch; what a block finds; whether it has left nothing under way, else a
 * fault. */
bool ptx_mbarriers_init(ptx_run *run);
void ptx_mbarriers_fini(ptx_run *run);
void ptx_mbarriers_reset(ptx_run *run);
bool ptx_mbarriers_ended(ptx_run *run);

/* Begins a copy of a lane to shared memory, of which the barrier at an address is told: where its
 * bytes go, zeros at first, and behind them as many of undefined bits. NULL: a fault. */
uint8_t *ptx_begin_bulk(ptx_run *run, ptx_warp *warp, const ptx_op *op, int lane, uint64_t address,
                        uint32_t to, uint32_t bytes);

/* The same to block `rank` of the cluster, at the same places. */
uint8_t *ptx_begin_bulk_far(ptx_run *run, ptx_warp *warp, const ptx_op *op, int lane, int rank,
                            uint64_t address, uint32_t to, uint32_t bytes);
/* A barrier of the cluster: all warps know what all have done. false: no memory. */
bool ptx_mbarriers_meet(ptx_cluster *cluster, bool relaxed);

/* ptx_wgmma.c: the same of a warp; a register's move. */
void ptx_wgmma_reset(ptx_warp *warp);
bool ptx_wgmma_ended(ptx_run *run);
void ptx_wgmma_move(ptx_warp *warp, int to, int from);

/* ptx_matrix.c: numbers of a type from bits and to them, and element e of a register's lane. */
double ptx_number_of(const ptx_type *type, uint64_t bits);
double ptx_part_of(const ptx_warp *warp, int reg, int lane, const ptx_type *type, int e);
uint64_t ptx_result_bits(const ptx_type *type, double x);

#endif
