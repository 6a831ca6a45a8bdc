/* What a block works on beside its one position of the grid: turns that it walks, totals that blocks hand on, turns that are
 * dealt out, a panel of a tensor in shared memory. */
#ifndef LLRT_JIT_PLAN_PLAN_BLOCK_H
#define LLRT_JIT_PLAN_PLAN_BLOCK_H

#include "jit/plan/plan_space.h"

/* What blocks walk (launch.walk). A turn's number splits like a block's: its bits of in-dim grid lie above the
 * block's own, upper parts are those of digits that no place of the grid has. A block takes `share` turns from
 * share * (upper part of digit `split`) on, as far as `turns` go. */
typedef struct plan_turns {
  int32_t n_places; /* 0: the kernel walks nothing */
  plan_place place[LLRT_MAX_RANK * 2];
  uint8_t grid_bits; /* of in-dim grid, that the block has */
  int8_t split;      /* digit, or -1: one block takes all turns */
  bool down;         /* turn t is position turns - 1 - t */
  plan_number turns, share;
} plan_turns;

/* Blocks that take one turn each and look back at the totals of those before them, in the order of tickets, so that
 * no block waits for one that has not begun. A total of level l is of 2^(bits l) turns, the last of which has it; of
 * the highest level it is of everything up to that turn. Lagging: a block does not wait for the last of these, but
 * joins the totals of the level below once more as many turns back. So a prefix is joined in one tree, whoever was
 * first. Cells are 64 bits: 32 of the value above a 1; elements of 64 bits have two.
 *
 * Queued: a launch has at most launch.most_blocks blocks. Each draws tickets until all of the grid's positions are
 * taken, and the body of its walk, which is bare, works on one after the other; PLAN_AHEAD by one turn is the next,
 * drawn when the block's turn before began. A barrier stands before the first such step in the body, and one behind
 * it. */
#define PLAN_LOOKBACK_LEVELS 3 /* at most */
typedef struct plan_lookback {
  bool used;
  bool lags;
  bool queued;
  int32_t place; /* of a block's ticket in shared memory, bytes */
  uint8_t bits, levels;
  plan_number counter, cells; /* addresses: of tickets given; by level, block, element */
  plan_number blocks, lines;  /* all of them; those of one turn */
} plan_lookback;

/* Rounds whose last turns are dealt out, so that all blocks of the launch end together. Of n blocks each takes whole positions, its number and
 * every n-th behind it, as long as twice n positions are left or more; the turns of those that are left, position after
 * position, are dealt in n runs that follow each other, as equal as they can be. A block goes through its run piece by piece, each of
 * one position, from the last one down: so what others behind it wait for comes first, and what it waits for last. What a
 * piece is waits for pieces of lower blocks alone. A block's number is its ticket, drawn from a counter as it begins: blocks
 * with lower numbers have begun then, in whatever order a device begins them and however few it has room for, and what is
 * waited for comes without waiting. Flags (8 bytes of each block) and, behind those of launch.dealt blocks, the counter are
 * zero before and behind a launch; cells, a word for each that a thread has of value `in` of PLAN_SETTLE, behind it. */
typedef struct plan_deal {
  bool used;
  int32_t place; /* of the block's ticket in shared memory, bytes */
  plan_number flags, cells; /* addresses */
} plan_deal;

/* Part of a tensor that a block keeps in shared memory. In place: what the conversion maps onto itself, from the
 * address of its first position on: so many positions of the flat index, which lie in so many elements of
 * memory. 0: none. Gathered: what index 0 chooses from for the block's other coordinates: for every value v that it
 * may have the 2^width neighbours w that the tile's source columns give, at v << width | w. */
typedef struct plan_panel {
  int64_t positions, elements;
  int64_t total; /* in place: elements of the tensor, behind which a panel ends early; 0: none does */
  uint8_t unit; /* in place: log2 bytes of the accesses that stage it: its address and size, and where it ends, are multiples */
  bool gathered;
  uint8_t width;
  int64_t most; /* gathered: values that shared memory has room for */
  bool apart;     /* of a convert that is not in place: the panel's elements, as far as the tensor goes, wherever they begin, as
                     far off 2^unit bytes as they lie in memory */
  int64_t room;   /* apart: elements from the panel's first position to its last, whatever bounds say */
  uint8_t tensor; /* apart: of the source, staged and loaded from; or of the destination, stored to and copied to memory at the end,
                     all of whose elements are stored */
  uint8_t ended;  /* apart: 1 + number of the bound behind which the panel ends: it has so many elements of the tensor as are left
                     of its axis, times `pitch`; 0: all of its own */
  int64_t pitch;
  uint8_t places; /* apart: the fastest places, which select the panel's positions */
  uint8_t vector; /* apart: log2 positions that follow each other which are loaded and stored together */
  plan_number end; /* apart: behind the tensor's last byte */
} plan_panel;

/* Where tensor 0 lies, for loads that overhang its rows: no vector that is not all inside is loaded whole. */
typedef struct plan_memory {
  bool used, guards; /* guards: a load that is not masked overhangs */
  uint8_t vector;    /* log2 bytes of its accesses */
  plan_number begin, end; /* addresses of its first byte (0: it is aligned, so all is behind it) and behind
                             its last */
} plan_memory;

#endif
