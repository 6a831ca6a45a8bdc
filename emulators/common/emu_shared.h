/* The shared memory of one block: bytes, their undefined bits (as in emu_memory.h), and who touched
 * each byte last, for races.
 *
 * Time is counted in epochs: a barrier of the whole block ends one. Two accesses to one byte in
 * one epoch by different warps, of which one at least is a write, are a race. (Bytes, not words:
 * two warps may store different bytes of one word.)
 *
 * Lanes of one warp race the same way inside a *moment*, which ends wherever lanes are ordered: at
 * any barrier, and at what else the machine orders them by. That both write the same value does not
 * excuse them. */
#ifndef LLRT_EMULATORS_EMU_SHARED_H
#define LLRT_EMULATORS_EMU_SHARED_H

#include "emulators/common/emu_order.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EMU_MANY_WARPS 255 /* a byte that several warps read in this epoch */
#define EMU_OTHER_BLOCK \
  254 /* a byte that another block of the cluster read since its last barrier */
#define EMU_OTHER_LANE 253 /* a byte that another lane of the warp touched in this moment */

/* A byte's last access: epoch << 8 | warp. Epochs begin at 1, so 0 is "never". */
typedef uint32_t emu_touch;

/* Who accesses: of 253 warps at most, of 64 lanes. */
typedef struct emu_thread {
  int warp, lane;
} emu_thread;

typedef struct emu_shared {
  uint32_t bytes;
  uint32_t epoch;
  uint8_t *data, *undefined;
  uint32_t cluster_epoch;    /* the first after the last barrier of the cluster */
  emu_touch *written, *read; /* by byte */
  uint32_t *far;             /* epoch of the last read by another block */
  uint32_t moment;
  uint32_t *written_by,
      *read_by;     /* by byte: the last access's moment << 7 | many lanes << 6 | lane */
  emu_order *order; /* or NULL: finer than epochs, and asked instead of them */
} emu_shared;

/* bytes may be 0. false: no memory. */
bool emu_shared_init(emu_shared *shared, uint32_t bytes);
void emu_shared_fini(emu_shared *shared);

/* What a new block finds: everything undefined, nobody was here. */
void emu_shared_reset(emu_shared *shared);

/* A barrier of all warps of the block; of all blocks of its cluster. */
void emu_shared_barrier(emu_shared *shared);
void emu_shared_cluster_barrier(emu_shared *shared);

/* From here on lanes of every warp are ordered behind what they did before. */
void emu_shared_order_lanes(emu_shared *shared);

static inline bool emu_shared_holds(const emu_shared *shared, uint64_t offset, uint32_t bytes) {
  return bytes <= shared->bytes && offset <= shared->bytes - bytes;
}

/* Notes that a thread reads or writes [offset, offset + bytes), which emu_shared_holds.
 * Returns -1, or the offset of the first byte that races, with *other the other warp
 * (EMU_MANY_WARPS: several). */
int64_t emu_shared_read(emu_shared *shared, uint32_t offset, uint32_t bytes, emu_thread by,
                        int *other);
int64_t emu_shared_write(emu_shared *shared, uint32_t offset, uint32_t bytes, emu_thread by,
                         int *other);
/* Another block of the cluster reads: a race with every write since the cluster's last barrier, and
 * with every write up to its next. */
int64_t emu_shared_read_far(emu_shared *shared, uint32_t offset, uint32_t bytes);

#endif
