/* Numbers that were tuned, one table for each kind of target (tuning.c): what planners choose by
 * where a model says too little. docs/tuning.md has them with their values; whoever changes one
 * changes the source of it, too. A new GPU gets a table of its own as soon as one of them is
 * measured on it. */
#ifndef LLRT_JIT_PLAN_TYPES_TUNING_H
#define LLRT_JIT_PLAN_TYPES_TUNING_H

#include <stdbool.h>
#include <stdint.h>

/* X(type, name, unit, what it trades, source). Numbers of a whole device are of one with
 * PLAN_MEASURED_UNITS; those that planners take in proportion to another's say "in proportion". The
 * source is the command that measured the number and the page with the figures, or the commit that
 * brought the number and "unmeasured": test_tuning counts these, and their count may only fall. */
#define PLAN_TUNING(X) \
  X(int64_t, tiled_elements, "elements", \
    "from here on tiles, below it element by element: a launch is " \
    "all latency then", \
    "unmeasured, from 3f7638a") \
  X(int64_t, streaming_bytes, "bytes of the destination", \
    "from here on the host's stores bypass the " \
    "caches", \
    "`llrt-bench convert --device host --sizes 64`: docs/history/host-strips.md") \
  X(int64_t, collected_row_bytes, "bytes of a row", \
    "from here on the host collects rows with gaps between them into whole lines: of 128 bytes, " \
    "half of which are lines, it takes 1.1 to 1.4 times as long as storing through the caches, " \
    "of " \
    "256 three quarters", \
    "`llrt-bench convert --device host --sizes 64 --processor-time`: " \
    "docs/history/host-conversions.md") \
  X(int, thin_bits, "log2 positions", \
    "of an axis of unknown extent in a narrow tile: shorter axes waste " \
    "less, longer runs are wider", \
    "unmeasured, from 1e7e240") \
  X(int, masked_registers, "registers of a tile", \
    "up to so many a mask that leaves nothing to move costs " \
    "less than a second kernel", \
    "unmeasured, from 675c4d1") \
  X(double, flat_waste, "positions walked for each there is", \
    "from here on whole vectors element by " \
    "element instead of tiles", \
    "unmeasured, from 5254ac4") \
  X(int64_t, staged_panels, "panels, in proportion", \
    "from so many on panels in shared memory instead of " \
    "tiles with torn rows", \
    "`llrt-bench convert --shapes odd --sizes 64`: docs/history/panels.md") \
  X(int64_t, staged_bytes, "bytes of a panel", \
    "panels are grown to this, so that several blocks share a multiprocessor; tiles are as fast " \
    "as " \
    "smaller ones", \
    "`llrt-bench convert --shapes odd --sizes 64`: docs/history/panels.md") \
  X(int64_t, staged_loaded_bytes, "bytes of a panel", \
    "of the source at least: barriers take much of a smaller one's time", \
    "`llrt-bench convert --shapes odd --sizes 64`: docs/history/panels.md") \
  X(int64_t, staged_stored_bytes, "bytes of a panel", "the same of the destination", \
    "`llrt-bench convert --shapes odd --sizes 64`: docs/history/panels.md") \
  X(int64_t, staged_large_bytes, "bytes of a panel", \
    "from here on 16 warps a block instead of 8: few blocks have room, so they need more threads", \
    "`llrt-bench convert --shapes odd --sizes 64`: docs/history/panels.md") \
  X(double, staged_wavefronts, "wavefronts of shared memory for 32 bytes", \
    "at most: with 1.45 panels were faster than tiles, with 1.6 and more slower", \
    "`llrt-bench convert --shapes odd --sizes 64`: docs/history/panels.md") \
  X(double, staged_byte_wavefronts, "wavefronts of shared memory for 32 bytes", \
    "the same of bytes that are stored to panels of whole rows", \
    "`llrt-bench convert --shapes odd --sizes 64`: docs/history/panels.md") \
  X(int, staged_stored_bits, "bits of an element", \
    "the widest that are stored to panels of whole rows: of 32 bits tiles were faster", \
    "`llrt-bench convert --shapes odd --sizes 64`: docs/history/panels.md") \
  X(double, staged_gaps, "bytes of a panel for each that is used", \
    "at most: gaps of the source are staged, and nobody uses them", \
    "`llrt-bench convert --shapes odd --sizes 64`: docs/history/panels.md") \
  X(int64_t, band_bytes, "contiguous bytes of a row of the source", \
    "that the blocks of a band read between them, twice as many of 8-bit elements: these were " \
    "0.5 % " \
    "faster by it, of 4 bits 0.4 % slower, others as fast", \
    "`llrt-bench convert --sizes 512,1024`: docs/history/order-of-blocks.md") \
  X(double, stored_waste, "positions of tiles for each of a panel's", \
    "from here on 32-bit elements are " \
    "stored to panels", \
    "`llrt-bench convert --shapes odd --sizes 64`: docs/history/panels.md") \
  X(int, panel_neighbour_bytes, "bytes", \
    "of a position's neighbours in a gathered panel: wider leaves no " \
    "room for long axes, narrower leaves most of a sector to others", \
    "unmeasured, from 55cc041") \
  X(int, panel_thread_bits, "log2 elements", \
    "of a thread in a turn over a gathered panel: more are under " \
    "way, fewer fit registers", \
    "unmeasured, from 55cc041") \
  X(int, unit_panels, "panels of a multiprocessor", \
    "from so many on gathered panels fill the device", "unmeasured, from 55cc041") \
  X(int, whole_swap_pairs, "pairs of words", \
    "that swap a bit with a lane: one of so many sends both words whole, a shuffle more for a " \
    "permute less; with a third of them whole both pipes would be equally full, which is slower", \
    "`llrt-bench tile`: docs/history/exchange-inside-a-block.md") \
  X(int64_t, reduce_blocks, "blocks", \
    "that share a walk: more read at once, but all are to be resident " \
    "together", \
    "`llrt-bench reduce --device cuda:0 --repeat 7`: docs/history/reduce-shared-walks.md") \
  X(int64_t, reduce_least_blocks, "blocks", \
    "as good: more than wanted leave some multiprocessors five where " \
    "others have four", \
    "`llrt-bench reduce --device cuda:0 --repeat 7`: docs/history/reduce-shared-walks.md") \
  X(int64_t, reduce_enough_blocks, "blocks", \
    "of different results, from which on no walk is shared", \
    "`llrt-bench reduce --device cuda:0 --repeat 7`: docs/history/reduce-shared-walks.md") \
  X(int64_t, reduce_whole_blocks, "blocks", "up to so many a block works on few results", \
    "unmeasured, from 8b66c66") \
  X(int64_t, reduce_split_elements, "elements", \
    "below it one stage is faster than two: a launch takes as " \
    "long as reading them", \
    "unmeasured, from 29ea93b") \
  X(int, reduce_finish_warp_bits, "log2 warps", "of the second stage that take different results", \
    "unmeasured, from 8b66c66") \
  X(int, reduce_flight_bits, "log2 accesses", "of a thread under way in a turn", \
    "unmeasured, from 29ea93b") \
  X(int, reduce_thread_bits, "log2 elements", "that a thread holds at most", \
    "unmeasured, from 29ea93b") \
  X(int, reduce_warp_bits, "log2 warps", "of a block", \
    "`llrt-bench reduce --device cuda:0 --repeat 7`: docs/history/reduce-shared-walks.md") \
  X(int, reduce_split_warp_bits, "log2 warps", \
    "of a block that shares a walk: all are to be resident " \
    "together", \
    "`llrt-bench reduce --device cuda:0 --repeat 7`: docs/history/reduce-shared-walks.md") \
  X(int64_t, reduce_stretch_blocks, "blocks", \
    "that share a walk down columns of rows that are not aligned: a multiprocessor has registers " \
    "for two of them", \
    "`llrt-bench reduce --shapes odd --sizes 512`: docs/history/reduce-shared-walks.md") \
  X(int, reduce_stretch_warp_bits, "log2 warps", \
    "of such a block: all multiprocessors have as many warps", \
    "`llrt-bench reduce --shapes odd --sizes 512`: docs/history/reduce-shared-walks.md") \
  X(int, reduce_row_bits, "log2 rows of a turn", \
    "on the host, where kept positions lie beside each other: eight rows at once are read in " \
    "0.6 of the time of one after the other", \
    "`benchmarks/peers/host_columns.py`: docs/history/host-columns.md") \
  X(int, reduce_carried_bytes, "bytes", \
    "of a row of sums that a block of the host carries from turn to turn: half of a first-level " \
    "cache", \
    "`benchmarks/peers/host_columns.py`: docs/history/host-columns.md") \
  X(int64_t, scan_walking_blocks, "blocks", \
    "that walk a line each, up to which lines are shared by blocks " \
    "that look back", \
    "unmeasured, from bd02ac3") \
  X(int, scan_least_turns, "turns", \
    "of a line from which on looking back costs less than walking", "unmeasured, from bd02ac3") \
  X(int, scan_resident, "blocks of a multiprocessor", \
    "for which registers and shared memory leave room", "unmeasured, from 92c649e") \
  X(int, scan_least_units, "multiprocessors", \
    "for which a launch has blocks at least; those that find no " \
    "ticket end at once", \
    "unmeasured, from 92c649e") \
  X(int, scan_run_bytes, "bytes", \
    "of a run across the axis: longer leaves fewer blocks, each of which walks " \
    "the whole axis", \
    "unmeasured, from 8845d5e") \
  X(int, scan_turn_lane_bits, "log2 elements", "of a lane where each block takes one turn", \
    "unmeasured, from bd02ac3") \
  X(int, scan_thread_bits, "log2 elements", "of a thread in a turn", "unmeasured, from 8845d5e") \
  X(int, scan_turn_thread_bytes, "bytes", \
    "of a thread where each block takes one turn: what it holds is " \
    "what is under way", \
    "unmeasured, from bd02ac3") \
  X(int, scan_warp_bits, "log2 warps", "of a block", "unmeasured, from 8845d5e") \
  X(int, rows_row_bits, "log2 elements", \
    "of a thread of a row that lies in a block, before more warps take part in it: more hide " \
    "less " \
    "behind each other, fewer have more barriers and joins for each element", \
    "`llrt-bench compute --numbers`: docs/history/expression-rows.md") \
  X(int, rows_flat_bits, "log2 elements", \
    "of a thread of an expression without rows, one more where a single tensor has all axes: " \
    "more " \
    "are under way, and more of a tile lies beyond the ends of short axes", \
    "`llrt-bench compute --numbers`: docs/history/expression-rows.md") \
  X(int, rows_thread_bits, "log2 elements", "of a thread of rows of which several lie in a block", \
    "`llrt-bench compute --numbers`: docs/history/expression-rows.md") \
  X(int, rows_warp_bits, "log2 warps", "of a block of rows that are shorter than so many hold", \
    "`llrt-bench compute --numbers`: docs/history/expression-rows.md") \
  X(int, rows_flat_warp_bits, "log2 warps", "of a block of an expression without rows", \
    "`llrt-bench compute --numbers`: docs/history/expression-rows.md") \
  X(int, rows_walk_bits, "log2 elements", \
    "of a thread in a turn of a row that is walked: what is under way", \
    "`llrt-bench compute --numbers`: docs/history/expression-rows.md") \
  X(int, rows_walk_warp_bits, "log2 warps", "of a block that walks a row", \
    "`llrt-bench compute --numbers`: docs/history/expression-rows.md") \
  X(int, rows_walk_slots, "turns in shared memory", \
    "of a row that one walk reads, this one and those that are copied there ahead of it; less " \
    "than " \
    "3: turns are loaded to registers, one ahead", \
    "`llrt-bench compute --numbers`: docs/history/expression-rows.md") \
  X(int, rows_walk_blocks, "blocks of a multiprocessor", \
    "that walk rows of which most has room in their parts of its shared memory, one block where " \
    "it " \
    "has not: the first turns of a row stay there; 0: any, and rows stay whole or not at all", \
    "`llrt-bench compute --numbers`: docs/history/expression-rows.md") \
  X(int64_t, rows_kept_bytes, "bytes of shared memory", \
    "in which a block keeps what several walks of a row want, at most", \
    "`llrt-bench compute --numbers`: docs/history/expression-rows.md") \
  X(int, rows_cluster_warp_bits, "log2 warps", \
    "of a block of a cluster that shares a row, as far as it may have so many blocks; 0: blocks " \
    "walk " \
    "long rows", \
    "`llrt-bench compute --numbers`: docs/history/expression-rows.md") \
  X(int, rows_unit_threads, "threads of a multiprocessor", \
    "for which rows in registers leave registers, of 32 elements each, as many more of fewer " \
    "elements, but for rows in clusters: without that ptxas takes so many that few " \
    "rows are under way; 0: any", \
    "`llrt-bench compute --numbers`: docs/history/expression-rows.md") \
  X(int, rows_flat_unit_threads, "threads of a multiprocessor", \
    "the same of expressions without rows", \
    "`llrt-bench compute --numbers`: docs/history/expression-rows.md") \
  X(int, rows_looped_numbers, "numbers of a thread", \
    "from so many on those that are not moderate (jit/emit/value/emit_moderate.c) are made in a " \
    "loop, which is less code and takes more registers; 0: never; NVIDIA's make them in a " \
    "thread's " \
    "own memory", \
    "`llrt-bench compute --numbers`: docs/history/expression-rows.md") \
  X(int, rows_rolled_saved, "instructions", \
    "that a loop over a thread's elements has to leave out of the code of a row that lies in a " \
    "block (jit/plan/rolled/rolled.c): compilers take about 50 us for each, the loop moves " \
    "registers or words in shared memory; 0: there are none", \
    "`llrt-bench compute --numbers`: docs/history/compile-time.md") \
  X(int, rows_rolled_more, "instructions for every 16 bytes of memory", \
    "that such a loop may take more, unless that is less than a quarter: rows wait for memory as " \
    "long as there are not many", \
    "`llrt-bench compute --numbers`: docs/history/compile-time.md") \
  X(int, rows_turn_weights, "bytes of weights", \
    "of a row that such a loop's turns load, each those of the next one, at most: more do not " \
    "stay in the first-level cache beside the rows of a multiprocessor's blocks; 0: weights are " \
    "loaded in front of loops", \
    "`llrt-bench compute --numbers`: docs/history/compile-time.md") \
  X(int64_t, dot_blocks, "blocks", "wanted on the host, a few for every core", \
    "unmeasured, from d9515dc") \
  X(int, dot_unit_warp_bits, "log2 warps of a multiprocessor", \
    "wanted: more hide latency, fewer share K less", "unmeasured, from d9515dc") \
  X(int, dot_least_turns, "turns", \
    "of a share of K at least: a result's way through the workspace costs " \
    "about as much", \
    "unmeasured, from abd3122") \
  X(int, dot_least_copied, "positions of M, N and K", \
    "from which on copies of operands for warpgroups cost " \
    "less than they gain", \
    "unmeasured, from 1f1e472") \
  X(int, dot_row_warp_bits, "log2 warps", \
    "of a block that multiplies one row along K, where rows of B are no whole 16 bytes, half of " \
    "them along K; 0: by tiles", \
    "`llrt-bench dot --shapes odd --numbers`: docs/history/odd-pitches.md") \
  X(int, dot_row_word_bits, "log2 words", \
    "of a row of B that a thread of such a block has in a turn: more are under way, and more of " \
    "the last turn lies beyond K", \
    "`llrt-bench dot --shapes odd --numbers`: docs/history/odd-pitches.md") \
  X(int, dot_row_bits, "log2 rows of B", "of a thread of such a block: more read A less often", \
    "`llrt-bench dot --shapes odd --numbers`: docs/history/odd-pitches.md") \
  X(int, packed_dealt_turns, "turns", "of a block at least where turns are dealt", \
    "unmeasured, from ba96306")

typedef struct plan_tuning {
  const char *targets; /* that it is for, in words */
#define PLAN_TUNING_FIELD(type, name, unit, trades, source) type name;
  PLAN_TUNING(PLAN_TUNING_FIELD)
#undef PLAN_TUNING_FIELD
} plan_tuning;

/* The numbers by their place in the list, 0 to plan_tuning_count - 1. */
int plan_tuning_count(void);
const char *plan_tuning_name(int number);
/* Whether the number is a logarithm to base 2 of what it stands for. */
bool plan_tuning_is_log(int number);
double plan_tuning_get(const plan_tuning *tuning, int number);
void plan_tuning_set(plan_tuning *tuning, int number, double value);

/* NVIDIA: measured on an H200, sm_80 and sm_89 by its numbers. AMD: by the same, unmeasured. */
extern const plan_tuning plan_tuning_nvidia, plan_tuning_amd, plan_tuning_host;

#endif
