/* Storages that are more than digits of powers of two: offsets, replicas, mixed radix, pads,
 * swizzles. */
#include "conformance.h"

static const text_row table[] = {
    /* offsets and replicas */
    {2, {33, 65}, "storage(digits=[dim1: rest, dim0: rest], offset=[3])", "col_major"},
    {2, {128, 72}, "row_major", "storage(digits=[dim1: rest, dim0: rest], offset=[7])"},
    {2, {64, 128}, "row_major", "storage(digits=[dim1: rest, replica: 2, dim0: rest])"},
    {2, {33, 50}, "row_major", "storage(digits=[replica: 3, dim0: rest, dim1: rest, replica: 2])"},
    {2, {20, 64}, "storage(digits=[dim1: rest, replica: 3, dim0: rest])", "row_major"},
    /* digits above ones that are no powers of two */
    {2,
     {5760, 16},
     "storage(digits=[dim1: rest, dim0: 2880, dim0: 2])",
     "storage(digits=[dim1: 16, dim0: 2 @ 16, dim0: 2880 @ 32])"},
    {2, {96, 70}, "row_major", "storage(digits=[dim0: 48, dim1: rest, dim0: rest])"},
    {2, {90, 144}, "storage(digits=[dim1: 48, dim0: rest, dim1: rest])", "col_major"},
    {4, {2, 96, 7, 9}, "row_major", "onednn(inner_blks=[48], inner_idxs=[1], order=[0,1,2,3])"},
    {2,
     {2880, 3},
     "storage(digits=[dim0: 45, dim0: 64, dim1: rest])",
     "storage(digits=[dim0: 64, dim0: 45, dim1: rest])"},
    {2,
     {2880, 4},
     "storage(digits=[dim0: 45, dim0: 64 @ 48, dim1: rest])",
     "storage(digits=[dim0: 64, dim1: rest, dim0: 45])"},
    {2, {64, 128}, "row_major", "padded_shared(interval_padding=[[64,8]], order=[1,0])"},
    {2, {64, 128}, "padded_shared(interval_padding=[[32,4],[128,8]], order=[1,0])", "col_major"},
    /* the same with tiles in which bits of both axes move an address bit */
    {2,
     {576, 4},
     "storage(digits=[dim0: 48, dim1: rest, dim0: rest], tile={offset: [[1,0],[1,1]]} -> [dim0:2, "
     "dim1:2])",
     "storage(digits=[dim0: 64, dim1: rest, dim0: rest])"},
    {2,
     {88, 2},
     "storage(digits=[dim0: 48, dim1: rest, dim0: rest], tile={offset: [[0,2],[1,0],[1,1],[1,4]]} "
     "-> "
     "[dim0:2, dim1:8], pad=keep)",
     "hopper_scale"},
    {2, {0, 70}, "row_major", "storage(digits=[dim0: 48, dim1: rest, dim0: rest], pad=3)"},
    /* pads, written and kept; of the source, of both */
    {2, {131, 90}, "row_major", "scale_128x4"},
    {2, {300, 90}, "scale_128x4", "row_major"},
    {2, {131, 30}, "scale_128x4(pad=2)", "scale_8x4(pad=1)"},
    {2, {60, 9}, "scale_8x4", "scale_128x4(pad=77)"},
    {2, {140, 60}, "col_major", "scale_128x4(pad=keep)"},
    {2, {192, 330}, "strided([98304,1])", "col_major"}, /* rows that lie far apart */
    {2, {161, 90}, "row_major", "aiter_scale"},
    {3,
     {14, 22, 32},
     "strided([773,35,1])", /* whole rows are pads, and begin anywhere */
     "storage(digits=[dim2: rest, dim1: rest, dim0: rest], tile={offset: "
     "[[0,1,0],[0,2,0],[0,4,0]]} -> "
     "[dim0:1, dim1:8, dim2:1], pad=9)"},
    {2, {20, 11}, "row_major", "storage(digits=[dim1: 16, dim0: 32], pad=9)"},
    {2, {20, 11}, "storage(digits=[dim1: 16, dim0: 32], pad=keep)", "col_major"},
    {2, {170, 100}, "row_major", "storage(digits=[dim1: 48, dim0: rest, dim1: rest], pad=1)"},
    {2,
     {17, 300},
     "storage(digits=[dim1: 48, dim0: rest, dim1: rest], pad=0)",
     "storage(digits=[dim1: 32, dim0: 4, dim1: rest, dim0: rest], pad=5)"},
    {4, {2, 13, 10, 14}, "row_major", "trt_chw16"},
    {4, {2, 13, 10, 14}, "trt_hwc8", "trt_chw32"},
    /* digits that count down: known now, or by the run alone; on both sides; under a swizzle */
    {3, {2, 45, 33}, "row_major", "w31"},
    {3, {2, 45, 64}, "w31", "row_major"},
    {2, {5760, 5}, "row_major", "w31_rows(half=2880)"},
    {2, {96, 70}, "w31_rows(half=48)", "col_major"},
    {2, {33, 50}, "storage(digits=[dim1: rest reversed, dim0: rest])", "row_major"},
    {2,
     {64, 128},
     "row_major",
     "storage(digits=[dim1: 4 reversed, dim1: rest, dim0: rest reversed])"},
    {2,
     {30, 44},
     "storage(digits=[dim1: rest, dim0: rest reversed], offset=[5])",
     "storage(digits=[dim0: rest reversed, dim1: rest])"},
    {2, {64, 64}, "row_major", "storage(digits=[dim1: 64, dim0: 64 reversed], swizzle=[3,3,6])"},
    {2,
     {2880, 4},
     "storage(digits=[dim0: 45, dim0: 64 reversed @ 48, dim1: rest])",
     "storage(digits=[dim0: 64, dim1: rest, dim0: 45 reversed])"},
    {2,
     {50, 11},
     "row_major",
     "storage(digits=[dim1: 16 reversed, dim0: 32 reversed, dim0: rest], pad=9)"},
    {2, {64, 40}, "row_major", "storage(digits=[dim1: rest, dim0: rest], swizzle=[0,2,5,up])"},
    /* swizzles of sums that carry */
    {2, {33, 40}, "row_major", "storage(digits=[dim1: rest, dim0: rest], swizzle=[0,2,5])"},
    {2, {70, 64}, "storage(digits=[dim1: rest, dim0: rest], swizzle=[3,3,3])", "col_major"},
    {2,
     {64, 64},
     "col_major",
     "storage(digits=[dim1: rest, dim0: rest @ 72], offset=[8], swizzle=[3,2,4])"},
    {2, {64, 64}, "row_major", "storage(digits=[dim1: 64, dim0: 64], swizzle=[3,3,6])"},
    /* copies in a tile under a swizzle: the first one is read, wherever it comes to lie */
    {3,
     {32, 2, 2},
     "storage(rank=3, digits=[], tile={offset: "
     "[[2,0,0],[4,0,0],[1,0,0],[10,0,0],[3,0,0],[4,0,0],[0,1,0],"
     "[19,0,1],[19,0,0]]} -> [dim0:32, dim1:2, dim2:2], swizzle=[1,2,5,up])",
     "row_major"},
    /* an axis whose lower digit goes on through other axes, and whose upper one is bounded */
    {3,
     {44, 53, 7},
     "storage(rank=3, digits=[dim0: 2, dim2: rest, dim1: rest, dim0: rest])",
     "storage(rank=3, digits=[dim0: 2 @ 1, dim2: rest @ 2, dim1: rest @ 14, dim0: rest @ 800])"},
    {3,
     {44, 53, 7},
     "storage(rank=3, digits=[dim0: 2, dim2: rest, dim1: rest, dim0: rest])",
     "storage(rank=3, digits=[dim0: 2 @ 7, dim2: rest @ 14, dim1: rest @ 98, dim0: rest @ 5200])"},
};
#define N_TABLE ((int)(sizeof table / sizeof table[0]))

/* What one width finds, and aligned bases alone. */
static const struct {
  llrt_dtype dtype;
  text_row text;
} aligned[] = {
    /* one position of a digit that counts down is left, which begins 42 elements behind the base */
    {LLRT_F32,
     {1,
      {6},
      "row_major",
      "storage(digits=[dim0: 6, dim0: 8 reversed, replica: 2, dim0: rest], pad=keep)"}},
    {LLRT_F32,
     {2,
      {20, 6},
      "storage(digits=[dim1: 6, dim1: 8 reversed, dim1: rest, dim0: rest], pad=keep)",
      "row_major"}},
    /* positions beyond a bound lie below the first */
    {LLRT_F32,
     {2,
      {126, 16},
      "storage(digits=[dim1: 3, dim0: rest reversed, dim1: rest reversed], pad=keep)",
      "row_major"}},
    /* lanes beyond a bound hand on what their neighbours want */
    {LLRT_U8,
     {2,
      {68, 132},
      "strided([134,1])",
      "storage(digits=[dim0: 3 reversed, dim0: 3 reversed, dim1: rest, replica: 4, dim0: rest], "
      "tile={offset: [[1,0],[0,1]]} -> [dim0:2, dim1:2], pad=9)"}},
    /* rows along each of whose elements the axis moves by 2 and more, and which end inside a group
       of lanes */
    {LLRT_F32, {1, {18}, "row_major", "storage(digits=[dim0: 2 @ 9, dim0: 9 @ 1])"}},
    {LLRT_F32, {1, {134}, "row_major", "storage(digits=[dim0: 2 @ 67, dim0: 67 @ 1])"}},
    {LLRT_BF16, {1, {38}, "row_major", "storage(digits=[dim0: 2 @ 19, dim0: 19 @ 1])"}},
    {LLRT_U8, {1, {188}, "row_major", "storage(digits=[dim0: 4 @ 47, dim0: 47 @ 1])"}},
    {LLRT_U8,
     {2, {5, 94}, "row_major", "storage(digits=[dim1: 2 @ 47, dim1: 47 @ 1, dim0: rest @ 94])"}},
};
#define N_ALIGNED ((int)(sizeof aligned / sizeof aligned[0]))

static const llrt_dtype widths[] = {LLRT_U8, LLRT_BF16, LLRT_F32, LLRT_I64};

int general_cases_count(void) { return 2 * N_TABLE + N_ALIGNED; }

/* Two widths a row; two in three bases are off their alignment. Then the aligned rows. */
bool general_cases_make(int index, conformance_case *made) {
  if (index >= 2 * N_TABLE)
    return case_from_text(&aligned[index - 2 * N_TABLE].text, aligned[index - 2 * N_TABLE].dtype,
                          made);
  made->source.shift = index % 3 * 2;
  made->destination.shift = (index + 1) % 3 * 2;
  return case_from_text(&table[index / 2], widths[(index / 2 + 2 * (index % 2)) % 4], made);
}
