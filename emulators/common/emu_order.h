/* Who saw what of a block's shared memory, where more than barriers of the whole block order its
 * accesses: vector clocks.
 *
 * *Agents* are the warps, and behind them one for each mbarrier: the copies that complete on it.
 * Each has a time of its own, and knows of every agent the time up to which what that one did is
 * before whatever it does now. Releases carry that knowledge into a barrier, acquires out of it. An
 * access races with one of another agent whose time it does not know.
 *
 * The *asynchronous proxy* (copies and matrix units) sees an agent's ordinary writes only up to its
 * last proxy fence: the same knowledge again, in `proxy`, which fences bring up to date. */
#ifndef LLRT_EMULATORS_EMU_ORDER_H
#define LLRT_EMULATORS_EMU_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#define EMU_MAX_AGENTS 96

/* What an agent, or a barrier, knows: of each agent a time. */
typedef struct emu_clock {
  uint32_t seen[EMU_MAX_AGENTS], proxy[EMU_MAX_AGENTS];
} emu_clock;

typedef struct emu_write {
  uint32_t time;
  uint8_t agent;
} emu_write;

typedef struct emu_order {
  int warps, agents;
  uint32_t bytes;
  emu_clock *clock;   /* by agent */
  emu_write *written; /* by byte: the last write; time 0: never */
  uint32_t *read;     /* by byte and warp: its last read */
} emu_order;

/* false: no memory. */
bool emu_order_init(emu_order *order, uint32_t bytes, int warps, int agents);
void emu_order_fini(emu_order *order);

/* A new block: nothing that was before can race. */
void emu_order_reset(emu_order *order);

/* A barrier of the warps in `members`, bit w: each knows what all of them know. */
void emu_order_barrier(emu_order *order, uint32_t members);

/* The agent's knowledge joins *into, and its time goes on; it comes to know *from. */
void emu_order_release(emu_order *order, int agent, emu_clock *into);
void emu_order_acquire(emu_order *order, int agent, const emu_clock *from);
/* A proxy fence of a warp. */
void emu_order_fence(emu_order *order, int warp);

/* Notes an access to [offset, offset + bytes). -1, or the first byte that races, with *other the
 * agent. */
int64_t emu_order_read(emu_order *order, uint32_t offset, uint32_t bytes, int warp, int *other);
int64_t emu_order_write(emu_order *order, uint32_t offset, uint32_t bytes, int warp, int *other);
/* The asynchronous proxy reads for a warp; writes as `agent` at its next time, for a warp that must
 * know of all accesses before. *fence: only a proxy fence is missing. */
int64_t emu_order_proxy_read(emu_order *order, uint32_t offset, uint32_t bytes, int warp,
                             int *other, bool *fence);
/* The first byte that was written since an agent knew what `seen` says, whoever knows of it now;
 * -1: none. Writes of an agent itself count from its next release on. */
int64_t emu_order_written_since(const emu_order *order, uint32_t offset, uint32_t bytes,
                                const uint32_t *seen, int *other);
int64_t emu_order_proxy_write(emu_order *order, uint32_t offset, uint32_t bytes, int warp,
                              int agent, int *other);
/* The same for one that is no agent, whose knowledge `seen` is. */
int64_t emu_order_far_write(emu_order *order, uint32_t offset, uint32_t bytes, const uint32_t *seen,
                            int agent, int *other);
/* *into comes to know what *from does. */
void emu_order_join(emu_clock *into, const emu_clock *from);

#endif
