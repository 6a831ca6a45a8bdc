/* Constants of the model of tiles: written by benchmarks/fit_tiles.py, not by hand. */
#ifndef LLRT_JIT_PLAN_DOT_TILE_CONSTANTS_H
#define LLRT_JIT_PLAN_DOT_TILE_CONSTANTS_H

/* Products of a clock of 16-bit elements, warps. */
#define TILE_MACS_WARPS 648.425
/* Products of a clock of 16-bit elements, groups. */
#define TILE_MACS_GROUPS 1037.16
/* Products of a clock of 16-bit elements, produced. */
#define TILE_MACS_PRODUCED 2234.59
/* Products of a clock of 16-bit elements, dense. */
#define TILE_MACS_DENSE 2113.41
/* Products of a clock of 16-bit elements, swapped. */
#define TILE_MACS_SWAPPED 2458
/* Warps' instructions for 8 decoded weights, warps. */
#define TILE_DECODE_WARPS 23.4821
/* Warps' instructions for 8 decoded weights, groups. */
#define TILE_DECODE_GROUPS 28.1918
/* Warps' instructions for 8 decoded weights, produced. */
#define TILE_DECODE_PRODUCED 34.7436
/* Warps' instructions for 8 decoded weights, dense. */
#define TILE_DECODE_DENSE 0
/* Warps' instructions for 8 decoded weights, swapped. */
#define TILE_DECODE_SWAPPED 0
/* Clocks of a tile of 128 x 128 beside its turns, warps. */
#define TILE_TILE_WARPS 1768.78
/* Clocks of a tile of 128 x 128 beside its turns, groups. */
#define TILE_TILE_GROUPS 2522.46
/* Clocks of a tile of 128 x 128 beside its turns, produced. */
#define TILE_TILE_PRODUCED 3401.41
/* Clocks of a tile of 128 x 128 beside its turns, dense. */
#define TILE_TILE_DENSE 3970.7
/* Clocks of a tile of 128 x 128 beside its turns, swapped. */
#define TILE_TILE_SWAPPED 61.6599
/* Bytes of a clock that shared memory gives to copies and to products' operands. */
#define TILE_SHARED 156.736
/* Clocks of a turn more where blocks of a cluster fetch together. */
#define TILE_BESIDE 82.8528
/* Clocks of a turn more where one of two teams multiplies. */
#define TILE_TEAM 0.944757
/* Of a tile's clocks in rounds, where teams take tiles by turns. */
#define TILE_TEAMS 0.0170629
/* How many times as long rows that begin inside sectors are fetched by a multiprocessor. */
#define TILE_TORN_OWN 1.35993
/* How many times as long they are fetched by all together. */
#define TILE_TORN_TOGETHER 2.4429
/* Multiprocessors that clusters of more than two fill whose blocks fetch such rows in common. */
#define TILE_TORN_UNITS 120.986
/* Clocks in which a block's box fills a row with zeros that is not there, where blocks fetch it in
 * common. */
#define TILE_TORN_ABSENT 7.71336
/* Clocks of a turn, beside products and copies, of blocks that fetch such rows in common. */
#define TILE_TORN_TURN 21.4164
/* Clocks in which a warpgroup's sums of a turn join those of all, for 128 x 128 results of a block,
 * packed. */
#define TILE_JOIN_OF_PACKED 265.366
/* Clocks in which a warpgroup's sums of a turn join those of all, for 128 x 128 results of a block,
 * dense. */
#define TILE_JOIN_OF_DENSE 171.695
/* Clocks in which a warpgroup's sums of a turn join those of all, for 128 x 128 results of a block,
 * bytes. */
#define TILE_JOIN_OF_BYTES 0.00643548
/* Bytes of a clock that a multiprocessor fetches through the second-level cache, packed. */
#define TILE_FETCH_OF_PACKED 45.2385
/* Bytes of a clock that a multiprocessor fetches through the second-level cache, dense. */
#define TILE_FETCH_OF_DENSE 75.9467
/* Bytes of a clock that a multiprocessor fetches through the second-level cache, bytes. */
#define TILE_FETCH_OF_BYTES 71.7256
/* Clocks of a later block that comes where one has ended, packed. */
#define TILE_BEGIN_OF_PACKED 0
/* Clocks of a later block that comes where one has ended, dense. */
#define TILE_BEGIN_OF_DENSE 1376.33
/* Clocks of a later block that comes where one has ended, bytes. */
#define TILE_BEGIN_OF_BYTES 577.696
/* Bytes of a clock that a multiprocessor has from memory, packed. */
#define TILE_COLD_OF_PACKED 1e+06
/* Bytes of a clock that a multiprocessor has from memory, dense. */
#define TILE_COLD_OF_DENSE 49.7961
/* Bytes of a clock that a multiprocessor has from memory, bytes. */
#define TILE_COLD_OF_BYTES 108.193
/* Bytes of a clock that all multiprocessors fetch through it together, packed. */
#define TILE_CACHE_OF_PACKED 5719.64
/* Bytes of a clock that all multiprocessors fetch through it together, dense. */
#define TILE_CACHE_OF_DENSE 10500
/* Bytes of a clock that all multiprocessors fetch through it together, bytes. */
#define TILE_CACHE_OF_BYTES 7718.07
/* Clocks from a copy's beginning to its end, packed. */
#define TILE_LATENCY_OF_PACKED 1118.14
/* Clocks from a copy's beginning to its end, dense. */
#define TILE_LATENCY_OF_DENSE 714.581
/* Clocks from a copy's beginning to its end, bytes. */
#define TILE_LATENCY_OF_BYTES 884.015
/* Clocks of a turn beside products and copies, packed. */
#define TILE_TURN_OF_PACKED 94.6214
/* Clocks of a turn beside products and copies, dense. */
#define TILE_TURN_OF_DENSE 16.3344
/* Clocks of a turn beside products and copies, bytes. */
#define TILE_TURN_OF_BYTES 61.5888
/* Of a tile's clocks, where the next one begins meanwhile, packed. */
#define TILE_ROUNDS_OF_PACKED 0.474442
/* Of a tile's clocks, where the next one begins meanwhile, dense. */
#define TILE_ROUNDS_OF_DENSE 0.0119985
/* Of a tile's clocks, where the next one begins meanwhile, bytes. */
#define TILE_ROUNDS_OF_BYTES 0.103952
/* Of a tile's clocks, once a run, there, packed. */
#define TILE_LAST_OF_PACKED 0
/* Of a tile's clocks, once a run, there, dense. */
#define TILE_LAST_OF_DENSE 0.00656915
/* Of a tile's clocks, once a run, there, bytes. */
#define TILE_LAST_OF_BYTES 0.00599931
/* Clocks of sums that a cluster's blocks join, for each doubling of these, packed. */
#define TILE_CLUSTER_OF_PACKED 1076.36
/* Clocks of sums that a cluster's blocks join, for each doubling of these, dense. */
#define TILE_CLUSTER_OF_DENSE 666.846
/* Clocks of sums that a cluster's blocks join, for each doubling of these, bytes. */
#define TILE_CLUSTER_OF_BYTES 721.666
/* Clocks of a run: fills and drains, packed. */
#define TILE_START_OF_PACKED 2176.71
/* Clocks of a run: fills and drains, dense. */
#define TILE_START_OF_DENSE 4086.97
/* Clocks of a run: fills and drains, bytes. */
#define TILE_START_OF_BYTES 3392.06
/* Clocks of dealt turns of tiles of 128 x 128: blocks out of step, sums through memory, packed. */
#define TILE_DEAL_OF_PACKED 13580.3
/* Clocks of dealt turns of tiles of 128 x 128: blocks out of step, sums through memory, dense. */
#define TILE_DEAL_OF_DENSE 64022.4
/* Clocks of dealt turns of tiles of 128 x 128: blocks out of step, sums through memory, bytes. */
#define TILE_DEAL_OF_BYTES 64022.4
/* Clocks of a second stage, packed. */
#define TILE_SECOND_OF_PACKED 4645.3
/* Clocks of a second stage, dense. */
#define TILE_SECOND_OF_DENSE 240.178
/* Clocks of a second stage, bytes. */
#define TILE_SECOND_OF_BYTES 1351.57
/* Clocks there, for each share, packed. */
#define TILE_SHARE_OF_PACKED 290.286
/* Clocks there, for each share, dense. */
#define TILE_SHARE_OF_DENSE 476.712
/* Clocks there, for each share, bytes. */
#define TILE_SHARE_OF_BYTES 316.923
/* Clocks of a share's result there, of the whole device, packed. */
#define TILE_PARTIAL_OF_PACKED 0.00960052
/* Clocks of a share's result there, of the whole device, dense. */
#define TILE_PARTIAL_OF_DENSE 0.00980134
/* Clocks of a share's result there, of the whole device, bytes. */
#define TILE_PARTIAL_OF_BYTES 0.00883453
/* Bytes of a clock from memory, of the whole device, packed. */
#define TILE_MEMORY_OF_PACKED 2072.41
/* Bytes of a clock from memory, of the whole device, dense. */
#define TILE_MEMORY_OF_DENSE 2264.28
/* Bytes of a clock from memory, of the whole device, bytes. */
#define TILE_MEMORY_OF_BYTES 2211.69
/* Of what is shorter of memory's time and tiles', times its share of the longer, that does not
 * hide, packed. */
#define TILE_HIDDEN_OF_PACKED 0.340108
/* Of what is shorter of memory's time and tiles', times its share of the longer, that does not
 * hide, dense. */
#define TILE_HIDDEN_OF_DENSE 0.295585
/* Of what is shorter of memory's time and tiles', times its share of the longer, that does not
 * hide, bytes. */
#define TILE_HIDDEN_OF_BYTES 0.333966
/* Multiprocessors that clusters of 2 fill, packed. */
#define TILE_CLUSTERS2_OF_PACKED 132.4
/* Multiprocessors that clusters of 2 fill, dense. */
#define TILE_CLUSTERS2_OF_DENSE 132.4
/* Multiprocessors that clusters of 2 fill, bytes. */
#define TILE_CLUSTERS2_OF_BYTES 132.4
/* Of 4, packed. */
#define TILE_CLUSTERS4_OF_PACKED 121.628
/* Of 4, dense. */
#define TILE_CLUSTERS4_OF_DENSE 116.113
/* Of 4, bytes. */
#define TILE_CLUSTERS4_OF_BYTES 126.944
/* Of 8, packed. */
#define TILE_CLUSTERS8_OF_PACKED 107.002
/* Of 8, dense. */
#define TILE_CLUSTERS8_OF_DENSE 132.4
/* Of 8, bytes. */
#define TILE_CLUSTERS8_OF_BYTES 120.27

#endif
