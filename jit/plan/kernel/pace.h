/* How long a product takes that goes by tiles: one model for dense and packed operands, by which
 * the variants of a plan, and shares of K, are compared for a shape. Planning fills in a kernel's
 * pace (jit/plan/dot/tile_pace.h), whose constants are fitted to measurements by
 * benchmarks/fit_tiles.py.
 *
 * Blocks go in rounds: as many run at once as multiprocessors have room for, the last ones alone. A
 * round takes the tile's turns, each as long as what is slowest of it: products and decoding (of
 * all blocks that a multiprocessor has at once), what is fetched through the second-level cache, by
 * it and by all together, what it has from memory, of which few multiprocessors get less than many,
 * the latency of a ring's slots. Memory is read meanwhile, in each round what its blocks want; what
 * is shorter of both hides but for a part.
 *
 * Plain integers, which callers' threads compute. Times are clocks at PACE_MHZ. */
#ifndef LLRT_JIT_PLAN_KERNEL_PACE_H
#define LLRT_JIT_PLAN_KERNEL_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define PACE_MHZ 1650  /* about what an H100 keeps under load */
#define PACE_UNITS 132 /* multiprocessors of the device that was measured */
#define PACE_PART 256  /* parts of a clock, a unit of some fields */
#define PACE_FINE (PACE_PART * PACE_PART * PACE_PART) /* the same */

/* Who multiplies, and how operands come there. */
typedef enum tile_kind {
  TILE_WARPS,    /* packed weights: each warp by its own instructions, decodes and copies */
  TILE_GROUPS,   /* packed weights: warpgroups, which decode and copy */
  TILE_PRODUCED, /* packed weights: warpgroups, which decode; other warps copy */
  TILE_DENSE,    /* warpgroups, whose operands are both in shared memory */
  TILE_SWAPPED,  /* the same, the instruction's rows are columns of D */
  TILE_NARROW,   /* as TILE_PRODUCED, of 64 columns: each warpgroup multiplies all of them */
  TILE_FEW,      /* as TILE_WARPS, of 8 rows */
  TILE_KINDS
} tile_kind;

typedef struct tile_facts {
  tile_kind kind;
  int positions[3]; /* of M, N and K that a block takes in a turn */
  int cluster;      /* blocks that share a tile along K, at least 1 */
  int resident;     /* blocks of a multiprocessor at once, at least 1 */
  int slots;        /* turns of a ring */
  int groups;       /* warpgroups that multiply; of warps 0; narrow: two share K */
  double bits[3];   /* of an element of A, of B with its scales, of D */
  bool bytes;       /* what is multiplied has 8 bits, else 16 */
  bool short_sums;  /* sums of a turn join those of all turns */
  bool rounds;      /* blocks that stay take one tile after the other */
  bool dealt;       /* the last turns are dealt to all blocks */
  bool shares;      /* of K, which a second stage adds */
  int beside;       /* blocks of a cluster, at least 1, that have tiles beside each other along the
                       instruction's rows, and fetch the other operand together */
  int across;       /* the same along the other dim, who fetch the instruction's rows together */
  int teams;        /* of warpgroups, at least 1, which take a block's tiles by turns */
  bool torn;        /* rows may begin inside sectors of memory, by what is promised of them */
  bool experts;     /* rows, or positions of K, belong to experts */
} tile_facts;

/* All zero: nothing is known. */
typedef struct plan_pace {
  int64_t units;     /* > 0: of PACE_UNITS multiprocessors, those that run such blocks at once:
                        clusters do not fill all of them */
  int64_t resident;  /* blocks of one at once */
  int64_t busy;      /* of a turn: products and decoding */
  int64_t fetch;     /* of a turn: columns of B come from the second-level cache */
  int64_t rows;      /* of A in a tile */
  int64_t columns;   /* of B in a tile */
  int64_t fetch_row; /* of a turn, for each of these that there is: PACE_PART to the clock */
  int64_t cache;     /* what blocks fetch together: PACE_PART^2 of this times all that they fetch */
  int64_t once[2];   /* of what is fetched of A, of B: parts that count there; others come with a
                        neighbour's */
  int64_t own;       /* what memory brings to one multiprocessor: PACE_PART of this times what it
                        fetches, blocks that fetch the same each a part */
  int64_t least;     /* of a turn at least: a copy's way, of which slots are under way at once */
  int64_t more;      /* of a turn beside these */
  int64_t tile;      /* of a tile beside its turns */
  int64_t begin;     /* of a block that comes where one has ended */
  int64_t start;     /* of a run: fills, drains, what stands behind */
  int64_t share;     /* of a second stage, for each share */
  int64_t partial;   /* of a share's result: PACE_PART^2 to the clock, of the whole device */
  int64_t memory[3]; /* of an element of A, of B, of D: PACE_FINE to the clock, of the device */
  int64_t hidden;    /* of what is shorter: PACE_PART parts of it, times its share of the longer */
  int64_t invariant; /* 1: typical rows count in place of a call's (plan_launch_cost) */
  int64_t pitch[2];  /* of rows of A, of B: 1 + the axis (M, N, K) whose extent it is; 0: each row
                        begins a line of memory, or is not looked at */
  int64_t line[2];   /* elements of a line */
  int64_t torn[2];   /* how many times as long rows that begin inside lines are fetched, PACE_PART
                        times: by a multiprocessor, by all together */
  int64_t absent;    /* of a turn, for each row of A in a tile that is not there, where rows begin
                        inside lines: it is filled with zeros */
  int64_t copied[2]; /* of an element of A, of B that a stage in front copies: PACE_FINE to the
                        clock, of the device */
  int64_t parts;     /* 1: turns go along experts' positions, of which each expert has its part */
  int64_t filled;    /* 1: rows of A that a tile lacks are copied as zeros, and take as long */
} plan_pace;

#define PACE_FIELDS ((int)(sizeof(plan_pace) / sizeof(int64_t)))

/* A shape, as tiles count it. */
typedef struct pace_shape {
  int64_t blocks, turns;     /* of the grid without shares; of a tile */
  int64_t rows, elements[3]; /* of A; of A, B, D */
  int64_t products;
  int64_t tiles[2]; /* along M and N, of one matrix: so many blocks have the same of B, of A */
  bool torn[2];     /* rows of A, of B begin inside lines of memory */
  bool experts;     /* blocks are experts' tiles: memory's time is that of all of them together */
} pace_shape;

/* Clocks of a run whose tiles are walked by `shares` blocks each (1: by one); dealt: turns are
 * dealt to all of `units` multiprocessors. */
int64_t pace_clocks(const plan_pace *pace, const pace_shape *shape, int64_t shares, bool dealt,
                    int units);

/* The least that any tile could take: memory's time, or that of the products. */
int64_t pace_least(const plan_pace *pace, const pace_shape *shape, int units);

/* The number of shares, of at least `least` turns, that takes the fewest clocks. */
int64_t pace_shares(const plan_pace *pace, const pace_shape *shape, int64_t least, int units);

#endif
