/* The shared memory of one block: bytes, their undefined bits (as in emu_memory.h), and who touched
 * each byte last, for races.
 *
 * Time is counted in epochs: a barrier of the whole block ends one. Two accesses to one byte in
 * one epoch by different warps, of which one at least is a write, are a race. (Bytes, not words:
 * two warps may store different bytes of one word.) */
#ifndef LLRT_TESTS_EMU_SHARED_H
#define LLRT_TESTS_EMU_SHARED_H

#include "tests/emulators/common/emu_order.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EMU_MANY_WARPS 255  /* a byte that several warps read in this epoch */
#define EMU_OTHER_BLOCK 254 /* a byte that another block of the cluster read since its last barrier */

/* A byte's last access: epoch << 8 | warp. Epochs begin at 1, so 0 is "never". */
typedef uint32_t emu_touch;

typedef struct emu_shared {
  uint32_t bytes;
  uint32_t epoch;
  uint8_t *data, *undefined;
  uint32_t cluster_epoch;    /* the first after the last barrier of the cluster */
  emu_touch *written, *read; /* by byte */
  uint32_t *far;             /* epoch of the last read by another block */
  emu_order *order;          /* or NULL: finer than epochs, and asked instead of them */
} emu_shared;

/* bytes may be 0. false: no memory. */
bool emu_shared_init(emu_shared *shared, uint32_t bytes);
void emu_shared_fini(emu_shared *shared);

/* What a new block finds: everything undefined, nobody was here. */
void emu_shared_reset(emu_shared *shared);

/* A barrier of all warps of the block; of all blocks of its cluster. */
void emu_shared_barrier(emu_shared *shared);
void emu_shared_cluster_barrier(emu_shared *shared);

static inline bool emu_shared_holds(const emu_shared *shared, uint64_t offset, uint32_t bytes) {
  return bytes <= shared->bytes && offset <= shared->bytes - bytes;
}

/* Notes that `warp` (< 254) reads or writes [offset, offset + bytes), which emu_shared_holds.
 * Returns -1, or the offset of the first byte that races, with *other the other warp
 * (EMU_MANY_WARPS: several). */
int64_t emu_shared_read(emu_shared *shared, uint32_t offset, uint32_t bytes, int warp, int *other);
int64_t emu_shared_write(emu_shared *shared, uint32_t offset, uint32_t bytes, int warp, int *other);
/* Another block of the cluster reads: a race with every write since the cluster's last barrier, and with every
 * write up to its next. */
int64_t emu_shared_read_far(emu_shared *shared, uint32_t offset, uint32_t bytes);

#endif
