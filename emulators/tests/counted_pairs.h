/* The conversions whose memory traffic is counted: by both emulators beside the planner's
 * prediction, and by ncu on a GPU. Rows {source, destination} of storages of a matrix. */
#ifndef LLRT_TESTS_COUNTED_PAIRS_H
#define LLRT_TESTS_COUNTED_PAIRS_H

#define COUNTED_MMA "nvmma(version=[2,0], warps_per_cta=[4,1], instr_shape=[16,8])"
#define COUNTED_BLOCKED \
  "blocked(size_per_thread=[1,8], threads_per_warp=[4,8], warps_per_cta=[4,1], order=[1,0])"
#define COUNTED_COLUMNS \
  "blocked(size_per_thread=[4,1], threads_per_warp=[8,4], warps_per_cta=[1,4], order=[0,1])"
#define COUNTED_DOT_A "dot(operand=0, k_width=2, parent=" COUNTED_MMA ")"
#define COUNTED_DOT_B "dot(operand=1, k_width=2, parent=" COUNTED_MMA ")"

#define COUNTED_PAIRS \
  {"row_major", "col_major"}, {"col_major", "row_major"}, {"row_major", COUNTED_MMA}, \
      {COUNTED_MMA, "row_major"}, {COUNTED_MMA, "col_major"}, {COUNTED_BLOCKED, COUNTED_COLUMNS}, \
      {COUNTED_BLOCKED, COUNTED_MMA}, {COUNTED_COLUMNS, COUNTED_BLOCKED}, \
      {"row_major", COUNTED_DOT_A}, {COUNTED_DOT_A, "row_major"}, {"row_major", COUNTED_DOT_B}, \
      {COUNTED_DOT_B, "col_major"}

#endif
