/* What a block works on beside its one position of the grid: turns that it walks, totals that
 * blocks hand on, turns that are dealt out, a panel of a tensor in shared memory. */
#ifndef LLRT_JIT_PLAN_KERNEL_PLAN_BLOCK_H
#define LLRT_JIT_PLAN_KERNEL_PLAN_BLOCK_H

#include "jit/plan/kernel/plan_space.h"

/* The walk of a kernel's blocks (launch.walk): the loop of each over positions along some axes, one
 * position a turn. A turn's number splits like a block's: into bits of in-dim grid above the
 * block's own, and upper parts of the digits that are no places of the grid. Where several blocks
 * share a walk, a block takes `share` turns from share * (upper part of digit `split`) on, or as
 * many as are left of `turns`. */
typedef struct plan_turns {
  int32_t n_places;                    /* 0: the kernel walks nothing */
  plan_place place[LLRT_MAX_RANK * 2]; /* of a turn's number, fastest first */
  uint8_t grid_bits;                   /* of in-dim grid: those that the block's number has */
  int8_t split;                        /* the digit that numbers sharing blocks; -1: none share */
  bool down;                           /* turn t is position turns - 1 - t */
  plan_number turns;                   /* of all sharing blocks together */
  plan_number share;                   /* of one block */
} plan_turns;

/* Look back: a prefix along an axis, of which each block has one turn. It publishes the total of
 * its turn and reads the totals of blocks before it. A block's number is a ticket that it draws
 * from a counter when it begins, so it waits only for blocks that have begun.
 *
 * A total of level l covers 2^(bits l) turns, and the block of the last of them publishes it; a
 * total of the highest level covers everything up to its turn. Totals are joined in one tree,
 * whoever comes first, so results do not depend on the order of blocks.
 *
 * lags: a block does not wait for the latest total of the highest level but takes the one before
 * it, and joins totals of the level below for as many more turns.
 *
 * A cell, one of each level, block and element, has 64 bits: 32 bits of the value above a 1, which
 * says that the value is there. Elements of 64 bits have two cells.
 *
 * queued: a launch has at most launch.most_blocks blocks, each of which draws tickets until all
 * positions of the grid are taken. The body of its walk, which is bare, works on one position a
 * turn; PLAN_AHEAD by one turn is the position that comes next, whose ticket was drawn when the
 * turn before began. A barrier stands in front of the first such step of the body, and one behind
 * it. */
#define PLAN_LOOKBACK_LEVELS 3 /* at most */
typedef struct plan_lookback {
  bool used;
  bool lags;
  bool queued;
  int32_t place;       /* of a block's ticket in shared memory, bytes */
  uint8_t bits;        /* log2 of how many totals of one level the next level's covers */
  uint8_t levels;      /* 1 .. PLAN_LOOKBACK_LEVELS */
  plan_number counter; /* address of the number of tickets given */
  plan_number cells;   /* address of the cells, by level, block, element */
  plan_number blocks;  /* of the grid */
  plan_number lines;   /* blocks of one turn: independent prefixes beside each other */
} plan_lookback;

/* Rounds whose last turns are dealt out, so that all blocks of a launch end together.
 *
 * Who does what. Of n blocks each takes whole positions of the grid, its own number and every n-th
 * behind it, as long as 2 n positions or more are left. The turns of the positions that are left
 * then, position after position, are cut into n runs of equal length, but that the first ones may
 * have a turn more, one for each block. A block goes through its run by pieces, each of one
 * position, from the last piece to the first: what blocks behind it wait for comes first, and what
 * it waits for comes last. A piece waits for pieces of blocks with lower numbers alone.
 *
 * Why that ends. A block's number is a ticket that it draws from a counter when it begins. So all
 * blocks with lower numbers have begun, in whatever order a device begins blocks and however few it
 * has room for.
 *
 * In the workspace there are a flag of 8 bytes for each block and, behind those of launch.dealt
 * blocks, the counter; all are zero before a launch and after it. Cells, in a workspace region of
 * their own: for each block, as many words as its threads have of value `in` of PLAN_SETTLE. */
#define PLAN_DEAL_BYTES 48 /* of shared memory, for what a block is dealt */
typedef struct plan_deal {
  bool used;
  int32_t place;     /* of PLAN_DEAL_BYTES in shared memory, bytes */
  plan_number flags; /* address */
  plan_number cells; /* address */
} plan_deal;

/* Bits of a vector's positions, at most: 16 bytes of 4-bit elements. */
#define PLAN_PANEL_VECTOR 5

#define PLAN_SKEW_BYTES 16 /* the widest access */

/* A panel: the part of one tensor that a block keeps in shared memory. All zero: none. There are
 * three kinds.
 *
 *   in place  a part of memory that an in-place conversion maps onto itself: `positions` numbers of
 *             the element index, which lie in `elements` elements of memory
 *   gathered  what index 0 of the source chooses from: for every value v of it the 2^width
 *             neighbours w that the tile's source columns reach, at v << width | w
 *   staged    of a convert that is not in place: either a part of the source, copied to shared
 *             memory before the tile, or a part of the destination, copied to memory after it */
typedef struct plan_panel {
  int64_t positions; /* numbers of the element index that the panel has */
  int64_t elements;  /* of memory, from the panel's first one to its last inside the bounds */
  int64_t
      total; /* in place: elements of the tensor, behind which a panel ends early; 0: none does */
  /* log2 bytes of the accesses that copy the panel. In place: its address, size and end are
   * multiples. Staged: it may begin anywhere, and lies as misaligned in shared memory as it does in
   * memory. */
  uint8_t unit;
  bool gathered;
  uint8_t width;  /* gathered: log2 neighbours of a value */
  int64_t most;   /* gathered: values that shared memory has room for */
  bool staged;    /* kind staged; the others have false */
  int64_t room;   /* staged: elements from first position to last, whatever bounds leave out */
  uint8_t tensor; /* staged: 0: the source. 1: the destination, of which each panel stores all */
  uint8_t ended;  /* staged: 1 + number of the bound that cuts the last panel short; 0: none */
  int64_t pitch;  /* staged, ended: elements of memory for each position that the bound leaves */
  uint8_t places; /* staged: how many of the fastest places number the panel's positions */
  uint8_t vector; /* log2 neighbouring positions that are loaded and stored together (in place: that
                     a thread loads one by one and stores together) */
  uint8_t skew;   /* in place, of vectors: behind every 2^skew bytes of the panel PLAN_SKEW_BYTES
                     are left free in shared memory; 0: none are */
  int64_t apart[PLAN_PANEL_VECTOR]; /* in place: elements of the source from position 0 to position
                                       2^i of such a vector; those of several add up */
  plan_number end;                  /* staged: address behind the tensor's last byte */
} plan_panel;

/* Where byte `at` of a panel in place lies in shared memory. */
static inline int64_t plan_panel_place(const plan_panel *panel, int64_t at) {
  return panel->skew ? at + (at >> panel->skew) * PLAN_SKEW_BYTES : at;
}

/* Where tensor 0 lies, for loads by aligned vectors that overhang its rows: a vector is loaded
 * whole only if all of it is inside the tensor. */
typedef struct plan_memory {
  bool used;
  bool guards; /* an unmasked load overhangs: a block whose vectors are not all inside is an edge */
  uint8_t vector;    /* log2 bytes of a vector */
  plan_number begin; /* address of the first byte; constant 0: it is aligned, no need to ask */
  plan_number end;   /* address behind the last byte */
} plan_memory;

#endif
