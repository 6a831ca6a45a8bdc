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
#define TILE_MACS_DENSE 2073.79
/* Products of a clock of 16-bit elements, swapped. */
#define TILE_MACS_SWAPPED 2458
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
#define TILE_TILE_DENSE 1567.81
/* Clocks of a tile of 128 x 128 beside its turns, swapped. */
#define TILE_TILE_SWAPPED 166.618
/* Bytes of a clock that shared memory gives to copies and to products' operands. */
#define TILE_SHARED 152.662
/* Clocks of a turn more where blocks of a cluster fetch together. */
#define TILE_BESIDE 82.8528
/* Clocks of a turn more where one of two teams multiplies. */
#define TILE_TEAM 13.2277
/* Of a tile's clocks in rounds, where teams take tiles by turns. */
#define TILE_TEAMS 0.220219
/* Clocks in which a warpgroup's sums of a turn join those of all, for 128 x 128 results of a block,
 * packed. */
#define TILE_JOIN_OF_PACKED 171.695
/* Clocks in which a warpgroup's sums of a turn join those of all, for 128 x 128 results of a block,
 * dense. */
#define TILE_JOIN_OF_DENSE 171.695
/* Clocks in which a warpgroup's sums of a turn join those of all, for 128 x 128 results of a block,
 * bytes. */
#define TILE_JOIN_OF_BYTES 13.6619
/* Bytes of a clock that a multiprocessor fetches through the second-level cache, packed. */
#define TILE_FETCH_OF_PACKED 73.8432
/* Bytes of a clock that a multiprocessor fetches through the second-level cache, dense. */
#define TILE_FETCH_OF_DENSE 83.837
/* Bytes of a clock that a multiprocessor fetches through the second-level cache, bytes. */
#define TILE_FETCH_OF_BYTES 83.837
/* Bytes of a clock that all multiprocessors fetch through it together, packed. */
#define TILE_CACHE_OF_PACKED 5698.56
/* Bytes of a clock that all multiprocessors fetch through it together, dense. */
#define TILE_CACHE_OF_DENSE 8782.85
/* Bytes of a clock that all multiprocessors fetch through it together, bytes. */
#define TILE_CACHE_OF_BYTES 7594.59
/* Clocks from a copy's beginning to its end, packed. */
#define TILE_LATENCY_OF_PACKED 1363.22
/* Clocks from a copy's beginning to its end, dense. */
#define TILE_LATENCY_OF_DENSE 1070.71
/* Clocks from a copy's beginning to its end, bytes. */
#define TILE_LATENCY_OF_BYTES 1070.71
/* Clocks of a turn beside products and copies, packed. */
#define TILE_TURN_OF_PACKED 107.661
/* Clocks of a turn beside products and copies, dense. */
#define TILE_TURN_OF_DENSE 10.7907
/* Clocks of a turn beside products and copies, bytes. */
#define TILE_TURN_OF_BYTES 21.8827
/* Of a tile's clocks, where the next one begins meanwhile, packed. */
#define TILE_ROUNDS_OF_PACKED 0.44522
/* Of a tile's clocks, where the next one begins meanwhile, dense. */
#define TILE_ROUNDS_OF_DENSE 0.415218
/* Of a tile's clocks, where the next one begins meanwhile, bytes. */
#define TILE_ROUNDS_OF_BYTES 0.261946
/* Of a tile's clocks, once a run, there, packed. */
#define TILE_LAST_OF_PACKED 0
/* Of a tile's clocks, once a run, there, dense. */
#define TILE_LAST_OF_DENSE 0.0742394
/* Of a tile's clocks, once a run, there, bytes. */
#define TILE_LAST_OF_BYTES 2.96439e-15
/* Clocks of sums that a cluster's blocks join, for each doubling of these, packed. */
#define TILE_CLUSTER_OF_PACKED 1175.42
/* Clocks of sums that a cluster's blocks join, for each doubling of these, dense. */
#define TILE_CLUSTER_OF_DENSE 594.484
/* Clocks of sums that a cluster's blocks join, for each doubling of these, bytes. */
#define TILE_CLUSTER_OF_BYTES 721.874
/* Clocks of a run: fills and drains, packed. */
#define TILE_START_OF_PACKED 1692.23
/* Clocks of a run: fills and drains, dense. */
#define TILE_START_OF_DENSE 3767.56
/* Clocks of a run: fills and drains, bytes. */
#define TILE_START_OF_BYTES 4499.42
/* Clocks of dealt turns of tiles of 128 x 128: blocks out of step, sums through memory, packed. */
#define TILE_DEAL_OF_PACKED 14214.7
/* Clocks of dealt turns of tiles of 128 x 128: blocks out of step, sums through memory, dense. */
#define TILE_DEAL_OF_DENSE 64022.4
/* Clocks of dealt turns of tiles of 128 x 128: blocks out of step, sums through memory, bytes. */
#define TILE_DEAL_OF_BYTES 64022.4
/* Clocks of a second stage, packed. */
#define TILE_SECOND_OF_PACKED 4645.3
/* Clocks of a second stage, dense. */
#define TILE_SECOND_OF_DENSE 891.412
/* Clocks of a second stage, bytes. */
#define TILE_SECOND_OF_BYTES 1472.23
/* Clocks there, for each share, packed. */
#define TILE_SHARE_OF_PACKED 290.286
/* Clocks there, for each share, dense. */
#define TILE_SHARE_OF_DENSE 545.207
/* Clocks there, for each share, bytes. */
#define TILE_SHARE_OF_BYTES 416.257
/* Clocks of a share's result there, of the whole device, packed. */
#define TILE_PARTIAL_OF_PACKED 0.00960052
/* Clocks of a share's result there, of the whole device, dense. */
#define TILE_PARTIAL_OF_DENSE 0.013906
/* Clocks of a share's result there, of the whole device, bytes. */
#define TILE_PARTIAL_OF_BYTES 0.0110292
/* Bytes of a clock from memory, of the whole device, packed. */
#define TILE_MEMORY_OF_PACKED 1899.16
/* Bytes of a clock from memory, of the whole device, dense. */
#define TILE_MEMORY_OF_DENSE 1857.69
/* Bytes of a clock from memory, of the whole device, bytes. */
#define TILE_MEMORY_OF_BYTES 1855.11
/* Of what is shorter of memory's time and tiles', times its share of the longer, that does not
 * hide, packed. */
#define TILE_HIDDEN_OF_PACKED 0.294166
/* Of what is shorter of memory's time and tiles', times its share of the longer, that does not
 * hide, dense. */
#define TILE_HIDDEN_OF_DENSE 0.289442
/* Of what is shorter of memory's time and tiles', times its share of the longer, that does not
 * hide, bytes. */
#define TILE_HIDDEN_OF_BYTES 0.374052
/* Multiprocessors that clusters of 2 fill, packed. */
#define TILE_CLUSTERS2_OF_PACKED 132.4
/* Multiprocessors that clusters of 2 fill, dense. */
#define TILE_CLUSTERS2_OF_DENSE 101.857
/* Multiprocessors that clusters of 2 fill, bytes. */
#define TILE_CLUSTERS2_OF_BYTES 95.8893
/* Of 4, packed. */
#define TILE_CLUSTERS4_OF_PACKED 121.628
/* Of 4, dense. */
#define TILE_CLUSTERS4_OF_DENSE 89.6644
/* Of 4, bytes. */
#define TILE_CLUSTERS4_OF_BYTES 97.1561
/* Of 8, packed. */
#define TILE_CLUSTERS8_OF_PACKED 121.296
/* Of 8, dense. */
#define TILE_CLUSTERS8_OF_DENSE 79.7609
/* Of 8, bytes. */
#define TILE_CLUSTERS8_OF_BYTES 98.6525

#endif
