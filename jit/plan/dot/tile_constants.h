/* Constants of the model of tiles: written by benchmarks/fit_tiles.py, not by hand. */
#ifndef LLRT_JIT_PLAN_DOT_TILE_CONSTANTS_H
#define LLRT_JIT_PLAN_DOT_TILE_CONSTANTS_H

/* Products of a clock of 16-bit elements, warps. */
#define TILE_MACS_WARPS 648.425
/* Products of a clock of 16-bit elements, groups. */
#define TILE_MACS_GROUPS 1037.16
/* Products of a clock of 16-bit elements, produced. */
#define TILE_MACS_PRODUCED 2146.53
/* Products of a clock of 16-bit elements, dense. */
#define TILE_MACS_DENSE 1982.2
/* Products of a clock of 16-bit elements, swapped. */
#define TILE_MACS_SWAPPED 2048
/* Warps' instructions for 8 decoded weights, warps. */
#define TILE_DECODE_WARPS 23.4821
/* Warps' instructions for 8 decoded weights, groups. */
#define TILE_DECODE_GROUPS 28.1918
/* Warps' instructions for 8 decoded weights, produced. */
#define TILE_DECODE_PRODUCED 34.7074
/* Warps' instructions for 8 decoded weights, dense. */
#define TILE_DECODE_DENSE 0
/* Warps' instructions for 8 decoded weights, swapped. */
#define TILE_DECODE_SWAPPED 0
/* Clocks of a tile of 128 x 128 beside its turns, warps. */
#define TILE_TILE_WARPS 1768.78
/* Clocks of a tile of 128 x 128 beside its turns, groups. */
#define TILE_TILE_GROUPS 2522.46
/* Clocks of a tile of 128 x 128 beside its turns, produced. */
#define TILE_TILE_PRODUCED 3253.1
/* Clocks of a tile of 128 x 128 beside its turns, dense. */
#define TILE_TILE_DENSE 2646.74
/* Clocks of a tile of 128 x 128 beside its turns, swapped. */
#define TILE_TILE_SWAPPED 1.33189e-06
/* Clocks in which a warpgroup's sums of a turn join those of all, for 128 x 128 results of a block.
 */
#define TILE_JOIN 171.695
/* Bytes of a clock that shared memory gives to copies and to products' operands. */
#define TILE_SHARED 132
/* Clocks of a turn more where blocks of a cluster fetch together. */
#define TILE_BESIDE 82.8528
/* Bytes of a clock that a multiprocessor fetches through the second-level cache, packed. */
#define TILE_FETCH_OF_PACKED 73.8432
/* Bytes of a clock that a multiprocessor fetches through the second-level cache, dense. */
#define TILE_FETCH_OF_DENSE 83.837
/* Bytes of a clock that all multiprocessors fetch through it together, packed. */
#define TILE_CACHE_OF_PACKED 5698.56
/* Bytes of a clock that all multiprocessors fetch through it together, dense. */
#define TILE_CACHE_OF_DENSE 8195.43
/* Clocks from a copy's beginning to its end, packed. */
#define TILE_LATENCY_OF_PACKED 1363.22
/* Clocks from a copy's beginning to its end, dense. */
#define TILE_LATENCY_OF_DENSE 1297.79
/* Clocks of a turn beside products and copies, packed. */
#define TILE_TURN_OF_PACKED 107.661
/* Clocks of a turn beside products and copies, dense. */
#define TILE_TURN_OF_DENSE 9.45864e-12
/* Of a tile's clocks, where the next one begins meanwhile, packed. */
#define TILE_ROUNDS_OF_PACKED 0.44522
/* Of a tile's clocks, where the next one begins meanwhile, dense. */
#define TILE_ROUNDS_OF_DENSE 4.03101e-14
/* Clocks of sums that a cluster's blocks join, for each doubling of these, packed. */
#define TILE_CLUSTER_OF_PACKED 1175.42
/* Clocks of sums that a cluster's blocks join, for each doubling of these, dense. */
#define TILE_CLUSTER_OF_DENSE 735.878
/* Clocks of a run: fills and drains, packed. */
#define TILE_START_OF_PACKED 1692.23
/* Clocks of a run: fills and drains, dense. */
#define TILE_START_OF_DENSE 2582.07
/* Clocks of dealt turns of tiles of 128 x 128: blocks out of step, sums through memory, packed. */
#define TILE_DEAL_OF_PACKED 14214.7
/* Clocks of dealt turns of tiles of 128 x 128: blocks out of step, sums through memory, dense. */
#define TILE_DEAL_OF_DENSE 64022.4
/* Clocks of a second stage, packed. */
#define TILE_SECOND_OF_PACKED 4645.3
/* Clocks of a second stage, dense. */
#define TILE_SECOND_OF_DENSE 2089.73
/* Clocks there, for each share, packed. */
#define TILE_SHARE_OF_PACKED 290.286
/* Clocks there, for each share, dense. */
#define TILE_SHARE_OF_DENSE 520.677
/* Clocks of a share's result there, of the whole device, packed. */
#define TILE_PARTIAL_OF_PACKED 0.00960052
/* Clocks of a share's result there, of the whole device, dense. */
#define TILE_PARTIAL_OF_DENSE 0.0120423
/* Bytes of a clock from memory, of the whole device, packed. */
#define TILE_MEMORY_OF_PACKED 1899.16
/* Bytes of a clock from memory, of the whole device, dense. */
#define TILE_MEMORY_OF_DENSE 2089.76
/* Of what is shorter of memory's time and tiles', times its share of the longer, that does not
 * hide, packed. */
#define TILE_HIDDEN_OF_PACKED 0.294166
/* Of what is shorter of memory's time and tiles', times its share of the longer, that does not
 * hide, dense. */
#define TILE_HIDDEN_OF_DENSE 0.341807
/* Multiprocessors that clusters of 2 fill, packed. */
#define TILE_CLUSTERS2_OF_PACKED 132.4
/* Multiprocessors that clusters of 2 fill, dense. */
#define TILE_CLUSTERS2_OF_DENSE 106.257
/* Of 4, packed. */
#define TILE_CLUSTERS4_OF_PACKED 121.628
/* Of 4, dense. */
#define TILE_CLUSTERS4_OF_DENSE 106.194
/* Of 8, packed. */
#define TILE_CLUSTERS8_OF_PACKED 121.296
/* Of 8, dense. */
#define TILE_CLUSTERS8_OF_DENSE 84.8888

#endif
