/* Constants of the model of tiles: written by benchmarks/fit_tiles.py, not by hand. */
#ifndef LLRT_JIT_PLAN_DOT_TILE_CONSTANTS_H
#define LLRT_JIT_PLAN_DOT_TILE_CONSTANTS_H

/* Products of a clock of 16-bit elements, warps. */
#define TILE_MACS_WARPS 597.964
/* Products of a clock of 16-bit elements, groups. */
#define TILE_MACS_GROUPS 1068.77
/* Products of a clock of 16-bit elements, produced. */
#define TILE_MACS_PRODUCED 2030.17
/* Products of a clock of 16-bit elements, dense. */
#define TILE_MACS_DENSE 2048
/* Products of a clock of 16-bit elements, swapped. */
#define TILE_MACS_SWAPPED 2048
/* Warps' instructions for 8 decoded weights, warps. */
#define TILE_DECODE_WARPS 25.8156
/* Warps' instructions for 8 decoded weights, groups. */
#define TILE_DECODE_GROUPS 29.9437
/* Warps' instructions for 8 decoded weights, produced. */
#define TILE_DECODE_PRODUCED 38.8136
/* Warps' instructions for 8 decoded weights, dense. */
#define TILE_DECODE_DENSE 0
/* Warps' instructions for 8 decoded weights, swapped. */
#define TILE_DECODE_SWAPPED 0
/* Clocks of a tile of 128 x 128 beside its turns, warps. */
#define TILE_TILE_WARPS 3028.58
/* Clocks of a tile of 128 x 128 beside its turns, groups. */
#define TILE_TILE_GROUPS 4912.68
/* Clocks of a tile of 128 x 128 beside its turns, produced. */
#define TILE_TILE_PRODUCED 3674.36
/* Clocks of a tile of 128 x 128 beside its turns, dense. */
#define TILE_TILE_DENSE 4713.18
/* Clocks of a tile of 128 x 128 beside its turns, swapped. */
#define TILE_TILE_SWAPPED 1522.06
/* Clocks in which a warpgroup's sums of a turn join those of all, for 128 x 128 results of a block.
 */
#define TILE_JOIN 171.695
/* Bytes of a clock that a multiprocessor fetches through the second-level cache. */
#define TILE_FETCH 73.8432
/* Bytes of a clock that all multiprocessors fetch through it together. */
#define TILE_CACHE 8101.27
/* Clocks of a turn more where blocks of a cluster fetch together. */
#define TILE_BESIDE 20
/* Clocks from a copy's beginning to its end. */
#define TILE_LATENCY 2270.81
/* Clocks of a turn beside products and copies. */
#define TILE_TURN 57.6575
/* Of a tile's clocks, where the next one begins meanwhile. */
#define TILE_ROUNDS 0.318616
/* Clocks of sums that a cluster's blocks join, for each doubling of these. */
#define TILE_CLUSTER 1334.23
/* Clocks of a run: fills and drains. */
#define TILE_START 996.473
/* Clocks of dealt turns: blocks out of step, sums through memory. */
#define TILE_DEAL 13000
/* Clocks of a second stage. */
#define TILE_SECOND 4645.3
/* Clocks there, for each share. */
#define TILE_SHARE 290.286
/* Clocks of a share's result there, of the whole device. */
#define TILE_PARTIAL 0.00960052
/* Bytes of a clock from memory, of the whole device. */
#define TILE_MEMORY 1549.36
/* Of what is shorter of memory's time and tiles', times its share of the longer, that does not
 * hide. */
#define TILE_HIDDEN 0.340553
/* Multiprocessors that clusters of 2 fill. */
#define TILE_CLUSTERS2 132.4
/* Of 4. */
#define TILE_CLUSTERS4 123.999
/* Of 8. */
#define TILE_CLUSTERS8 120.009

#endif
