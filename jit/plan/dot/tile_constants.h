/* Constants of the model of tiles: written by benchmarks/fit_tiles.py, not by hand. */
#ifndef LLRT_JIT_PLAN_DOT_TILE_CONSTANTS_H
#define LLRT_JIT_PLAN_DOT_TILE_CONSTANTS_H

/* Products of a clock of 16-bit elements, warps. */
#define TILE_MACS_WARPS 555.47
/* Products of a clock of 16-bit elements, groups. */
#define TILE_MACS_GROUPS 1089.11
/* Products of a clock of 16-bit elements, produced. */
#define TILE_MACS_PRODUCED 2234.59
/* Products of a clock of 16-bit elements, dense. */
#define TILE_MACS_DENSE 2113.41
/* Products of a clock of 16-bit elements, swapped. */
#define TILE_MACS_SWAPPED 2458
/* Products of a clock of 16-bit elements, narrow. */
#define TILE_MACS_NARROW 2300
/* Products of a clock of 16-bit elements, few. */
#define TILE_MACS_FEW 511.787
/* Warps' instructions for 8 decoded weights, warps. */
#define TILE_DECODE_WARPS 24.798
/* Warps' instructions for 8 decoded weights, groups. */
#define TILE_DECODE_GROUPS 48.342
/* Warps' instructions for 8 decoded weights, produced. */
#define TILE_DECODE_PRODUCED 34.7436
/* Warps' instructions for 8 decoded weights, dense. */
#define TILE_DECODE_DENSE 0
/* Warps' instructions for 8 decoded weights, swapped. */
#define TILE_DECODE_SWAPPED 0
/* Warps' instructions for 8 decoded weights, narrow. */
#define TILE_DECODE_NARROW 43.3494
/* Warps' instructions for 8 decoded weights, few. */
#define TILE_DECODE_FEW 14.9804
/* Clocks of a tile of 128 x 128 beside its turns, warps. */
#define TILE_TILE_WARPS 5618.54
/* Clocks of a tile of 128 x 128 beside its turns, groups. */
#define TILE_TILE_GROUPS 1894.42
/* Clocks of a tile of 128 x 128 beside its turns, produced. */
#define TILE_TILE_PRODUCED 3401.41
/* Clocks of a tile of 128 x 128 beside its turns, narrow. */
#define TILE_TILE_NARROW 3081.73
/* Clocks of a tile of 128 x 128 beside its turns, few. */
#define TILE_TILE_FEW 13164.7
/* Bytes of a clock that shared memory gives to copies and to products' operands. */
#define TILE_SHARED 156.736
/* Clocks of a turn more where blocks of a cluster fetch together. */
#define TILE_BESIDE 82.8528
/* Clocks of a turn more where one of two teams multiplies. */
#define TILE_TEAM 7.32477
/* Of a tile's clocks in rounds, where teams take tiles by turns. */
#define TILE_TEAMS 1.70888e-08
/* Of a turn's products and decoding, one behind the other, where a warpgroup has no other one
 * beside it, narrow. */
#define TILE_ALONE 0.984805
/* Bytes of a clock that a multiprocessor fetches through the second-level cache, narrow. */
#define TILE_FETCH_NARROW 100
/* Bytes of a clock that all multiprocessors fetch through it together, narrow. */
#define TILE_CACHE_NARROW 8781.71
/* Of the clocks in which a cluster's blocks join sums, where they push them: warps and groups. */
#define TILE_PUSH 0.82
/* The same, few, 16 x 16. */
#define TILE_PUSH_FEW 0.431637
/* The same, narrow, 128 x 128. */
#define TILE_PUSH_NARROW 2.76536
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
#define TILE_JOIN_OF_DENSE 222.894
/* Clocks in which a warpgroup's sums of a turn join those of all, for 128 x 128 results of a block,
 * bytes. */
#define TILE_JOIN_OF_BYTES 20.256
/* Clocks in which a warpgroup's sums of a turn join those of all, for 128 x 128 results of a block,
 * torn. */
#define TILE_JOIN_OF_TORN 171.695
/* Clocks in which a warpgroup's sums of a turn join those of all, for 128 x 128 results of a block,
 * experts. */
#define TILE_JOIN_OF_EXPERTS 171.695
/* Bytes of a clock that a multiprocessor fetches through the second-level cache, packed. */
#define TILE_FETCH_OF_PACKED 45.2385
/* Bytes of a clock that a multiprocessor fetches through the second-level cache, dense. */
#define TILE_FETCH_OF_DENSE 100.981
/* Bytes of a clock that a multiprocessor fetches through the second-level cache, bytes. */
#define TILE_FETCH_OF_BYTES 73.0131
/* Bytes of a clock that a multiprocessor fetches through the second-level cache, torn. */
#define TILE_FETCH_OF_TORN 75.9467
/* Bytes of a clock that a multiprocessor fetches through the second-level cache, experts. */
#define TILE_FETCH_OF_EXPERTS 75.9467
/* Clocks of a later block that comes where one has ended, packed. */
#define TILE_BEGIN_OF_PACKED 0
/* Clocks of a later block that comes where one has ended, dense. */
#define TILE_BEGIN_OF_DENSE 23.6674
/* Clocks of a later block that comes where one has ended, bytes. */
#define TILE_BEGIN_OF_BYTES 0.0087102
/* Clocks of a later block that comes where one has ended, torn. */
#define TILE_BEGIN_OF_TORN 1376.33
/* Clocks of a later block that comes where one has ended, experts. */
#define TILE_BEGIN_OF_EXPERTS 1376.33
/* Bytes of a clock that a multiprocessor has from memory, packed. */
#define TILE_COLD_OF_PACKED 1e+06
/* Bytes of a clock that a multiprocessor has from memory, dense. */
#define TILE_COLD_OF_DENSE 43.533
/* Bytes of a clock that a multiprocessor has from memory, bytes. */
#define TILE_COLD_OF_BYTES 168.639
/* Bytes of a clock that a multiprocessor has from memory, torn. */
#define TILE_COLD_OF_TORN 49.7961
/* Bytes of a clock that a multiprocessor has from memory, experts. */
#define TILE_COLD_OF_EXPERTS 49.7961
/* Bytes of a clock that all multiprocessors fetch through it together, packed. */
#define TILE_CACHE_OF_PACKED 5719.64
/* Bytes of a clock that all multiprocessors fetch through it together, dense. */
#define TILE_CACHE_OF_DENSE 8844.49
/* Bytes of a clock that all multiprocessors fetch through it together, bytes. */
#define TILE_CACHE_OF_BYTES 8217.84
/* Bytes of a clock that all multiprocessors fetch through it together, torn. */
#define TILE_CACHE_OF_TORN 10500
/* Bytes of a clock that all multiprocessors fetch through it together, experts. */
#define TILE_CACHE_OF_EXPERTS 10500
/* Clocks from a copy's beginning to its end, packed. */
#define TILE_LATENCY_OF_PACKED 1118.14
/* Clocks from a copy's beginning to its end, dense. */
#define TILE_LATENCY_OF_DENSE 494.359
/* Clocks from a copy's beginning to its end, bytes. */
#define TILE_LATENCY_OF_BYTES 822.326
/* Clocks from a copy's beginning to its end, torn. */
#define TILE_LATENCY_OF_TORN 714.581
/* Clocks from a copy's beginning to its end, experts. */
#define TILE_LATENCY_OF_EXPERTS 714.581
/* Clocks of a turn beside products and copies, packed. */
#define TILE_TURN_OF_PACKED 94.6214
/* Clocks of a turn beside products and copies, dense. */
#define TILE_TURN_OF_DENSE 17.7412
/* Clocks of a turn beside products and copies, bytes. */
#define TILE_TURN_OF_BYTES 61.9844
/* Clocks of a turn beside products and copies, torn. */
#define TILE_TURN_OF_TORN 16.3344
/* Clocks of a turn beside products and copies, experts. */
#define TILE_TURN_OF_EXPERTS 16.3344
/* Of a tile's clocks, where the next one begins meanwhile, packed. */
#define TILE_ROUNDS_OF_PACKED 0.474442
/* Of a tile's clocks, where the next one begins meanwhile, dense. */
#define TILE_ROUNDS_OF_DENSE 0.130388
/* Of a tile's clocks, where the next one begins meanwhile, bytes. */
#define TILE_ROUNDS_OF_BYTES 0.281639
/* Of a tile's clocks, where the next one begins meanwhile, torn. */
#define TILE_ROUNDS_OF_TORN 0.0119985
/* Of a tile's clocks, where the next one begins meanwhile, experts. */
#define TILE_ROUNDS_OF_EXPERTS 0.0119985
/* Of a tile's clocks, once a run, there, packed. */
#define TILE_LAST_OF_PACKED 0
/* Of a tile's clocks, once a run, there, dense. */
#define TILE_LAST_OF_DENSE 9.7864e-15
/* Of a tile's clocks, once a run, there, bytes. */
#define TILE_LAST_OF_BYTES 0.174796
/* Of a tile's clocks, once a run, there, torn. */
#define TILE_LAST_OF_TORN 0.00656915
/* Of a tile's clocks, once a run, there, experts. */
#define TILE_LAST_OF_EXPERTS 0.00656915
/* Clocks of sums that a cluster's blocks join, dense ones of 64 x 64, for each doubling of these,
 * packed. */
#define TILE_CLUSTER_OF_PACKED 1076.36
/* Clocks of sums that a cluster's blocks join, dense ones of 64 x 64, for each doubling of these,
 * dense. */
#define TILE_CLUSTER_OF_DENSE 4373.16
/* Clocks of sums that a cluster's blocks join, dense ones of 64 x 64, for each doubling of these,
 * bytes. */
#define TILE_CLUSTER_OF_BYTES 1912.97
/* Clocks of sums that a cluster's blocks join, dense ones of 64 x 64, for each doubling of these,
 * torn. */
#define TILE_CLUSTER_OF_TORN 666.846
/* Clocks of sums that a cluster's blocks join, dense ones of 64 x 64, for each doubling of these,
 * experts. */
#define TILE_CLUSTER_OF_EXPERTS 666.846
/* Clocks of a run: fills and drains, packed. */
#define TILE_START_OF_PACKED 2176.71
/* Clocks of a run: fills and drains, dense. */
#define TILE_START_OF_DENSE 553.334
/* Clocks of a run: fills and drains, bytes. */
#define TILE_START_OF_BYTES 1139.59
/* Clocks of a run: fills and drains, torn. */
#define TILE_START_OF_TORN 4086.97
/* Clocks of a run: fills and drains, experts. */
#define TILE_START_OF_EXPERTS 4086.97
/* Clocks of dealt turns of tiles of 128 x 128: blocks out of step, sums through memory, packed. */
#define TILE_DEAL_OF_PACKED 13580.3
/* Clocks of dealt turns of tiles of 128 x 128: blocks out of step, sums through memory, dense. */
#define TILE_DEAL_OF_DENSE 41778.1
/* Clocks of dealt turns of tiles of 128 x 128: blocks out of step, sums through memory, bytes. */
#define TILE_DEAL_OF_BYTES 64022.4
/* Clocks of dealt turns of tiles of 128 x 128: blocks out of step, sums through memory, torn. */
#define TILE_DEAL_OF_TORN 64022.4
/* Clocks of dealt turns of tiles of 128 x 128: blocks out of step, sums through memory, experts. */
#define TILE_DEAL_OF_EXPERTS 64022.4
/* Clocks of a second stage, packed. */
#define TILE_SECOND_OF_PACKED 4645.3
/* Clocks of a second stage, dense. */
#define TILE_SECOND_OF_DENSE 2157.12
/* Clocks of a second stage, bytes. */
#define TILE_SECOND_OF_BYTES 1408.89
/* Clocks of a second stage, torn. */
#define TILE_SECOND_OF_TORN 240.178
/* Clocks of a second stage, experts. */
#define TILE_SECOND_OF_EXPERTS 240.178
/* Clocks there, for each share, packed. */
#define TILE_SHARE_OF_PACKED 290.286
/* Clocks there, for each share, dense. */
#define TILE_SHARE_OF_DENSE 963.086
/* Clocks there, for each share, bytes. */
#define TILE_SHARE_OF_BYTES 2021.89
/* Clocks there, for each share, torn. */
#define TILE_SHARE_OF_TORN 476.712
/* Clocks there, for each share, experts. */
#define TILE_SHARE_OF_EXPERTS 476.712
/* Clocks of a share's result there, of the whole device, packed. */
#define TILE_PARTIAL_OF_PACKED 0.00960052
/* Clocks of a share's result there, of the whole device, dense. */
#define TILE_PARTIAL_OF_DENSE 0.0113684
/* Clocks of a share's result there, of the whole device, bytes. */
#define TILE_PARTIAL_OF_BYTES 0.0190034
/* Clocks of a share's result there, of the whole device, torn. */
#define TILE_PARTIAL_OF_TORN 0.00980134
/* Clocks of a share's result there, of the whole device, experts. */
#define TILE_PARTIAL_OF_EXPERTS 0.00980134
/* Bytes of a clock from memory, of the whole device, packed. */
#define TILE_MEMORY_OF_PACKED 2072.41
/* Bytes of a clock from memory, of the whole device, dense. */
#define TILE_MEMORY_OF_DENSE 1747.38
/* Bytes of a clock from memory, of the whole device, bytes. */
#define TILE_MEMORY_OF_BYTES 2164.73
/* Bytes of a clock from memory, of the whole device, torn. */
#define TILE_MEMORY_OF_TORN 2264.28
/* Bytes of a clock from memory, of the whole device, experts. */
#define TILE_MEMORY_OF_EXPERTS 2264.28
/* Of what is shorter of memory's time and tiles', times its share of the longer, that does not
 * hide, packed. */
#define TILE_HIDDEN_OF_PACKED 0.340108
/* Of what is shorter of memory's time and tiles', times its share of the longer, that does not
 * hide, dense. */
#define TILE_HIDDEN_OF_DENSE 0.138
/* Of what is shorter of memory's time and tiles', times its share of the longer, that does not
 * hide, bytes. */
#define TILE_HIDDEN_OF_BYTES 0.0700168
/* Of what is shorter of memory's time and tiles', times its share of the longer, that does not
 * hide, torn. */
#define TILE_HIDDEN_OF_TORN 0.295585
/* Of what is shorter of memory's time and tiles', times its share of the longer, that does not
 * hide, experts. */
#define TILE_HIDDEN_OF_EXPERTS 0.295585
/* Multiprocessors that clusters of 2 fill, packed. */
#define TILE_CLUSTERS2_OF_PACKED 132.4
/* Multiprocessors that clusters of 2 fill, dense. */
#define TILE_CLUSTERS2_OF_DENSE 91.0251
/* Multiprocessors that clusters of 2 fill, bytes. */
#define TILE_CLUSTERS2_OF_BYTES 63.9419
/* Multiprocessors that clusters of 2 fill, torn. */
#define TILE_CLUSTERS2_OF_TORN 132.4
/* Multiprocessors that clusters of 2 fill, experts. */
#define TILE_CLUSTERS2_OF_EXPERTS 132.4
/* Of 4, packed. */
#define TILE_CLUSTERS4_OF_PACKED 121.628
/* Of 4, dense. */
#define TILE_CLUSTERS4_OF_DENSE 67.1148
/* Of 4, bytes. */
#define TILE_CLUSTERS4_OF_BYTES 74.7118
/* Of 4, torn. */
#define TILE_CLUSTERS4_OF_TORN 116.113
/* Of 4, experts. */
#define TILE_CLUSTERS4_OF_EXPERTS 116.113
/* Of 8, packed. */
#define TILE_CLUSTERS8_OF_PACKED 107.002
/* Of 8, dense. */
#define TILE_CLUSTERS8_OF_DENSE 132.4
/* Of 8, bytes. */
#define TILE_CLUSTERS8_OF_BYTES 128.053
/* Of 8, torn. */
#define TILE_CLUSTERS8_OF_TORN 132.4
/* Of 8, experts. */
#define TILE_CLUSTERS8_OF_EXPERTS 132.4
/* Clocks of a tile of 128 x 128 beside its turns, dense. */
#define TILE_TILE_OF_DENSE 4122.01
/* Clocks of a tile of 128 x 128 beside its turns, bytes. */
#define TILE_TILE_OF_BYTES 6776.63
/* Clocks of a tile of 128 x 128 beside its turns, torn. */
#define TILE_TILE_OF_TORN 3970.7
/* Clocks of a tile of 128 x 128 beside its turns, experts. */
#define TILE_TILE_OF_EXPERTS 3970.7
/* The same by swapped operands, dense. */
#define TILE_SWAPPED_OF_DENSE 905.164
/* The same by swapped operands, bytes. */
#define TILE_SWAPPED_OF_BYTES 6062.37
/* The same by swapped operands, torn. */
#define TILE_SWAPPED_OF_TORN 61.6599
/* The same by swapped operands, experts. */
#define TILE_SWAPPED_OF_EXPERTS 61.6599
/* Clocks in which a cluster's blocks meet, who join sums, dense. */
#define TILE_MEET_OF_DENSE 50
/* Clocks in which a cluster's blocks meet, who join sums, bytes. */
#define TILE_MEET_OF_BYTES 61.6319
/* Clocks in which a cluster's blocks meet, who join sums, torn. */
#define TILE_MEET_OF_TORN 0
/* Clocks in which a cluster's blocks meet, who join sums, experts. */
#define TILE_MEET_OF_EXPERTS 0

#endif
