/* See index_rows.h. What is drawn at random are elements and values. */
#include "index_rows.h"

#include <stdio.h>
#include <string.h>

#define SOURCE 1
#define DESTINATION 2
#define BOTH 3
#define BAD 5 /* values in 16 that are out of range */

typedef struct index_row {
  const char *name;
  llrt_dtype dtype;
  int rank;
  int64_t shape[LLRT_MAX_RANK];
  const char *text[2]; /* source, destination */
  uint32_t said, counted;
  int32_t count[LLRT_MAX_RANK];
  int indexed; /* the side that has the indices */
  int n_indices;
  llrt_index index[3];
} index_row;

#define INDEX(at, by, wide, way) \
  {.axis = at, .axes = by, .extent = wide, .out_of_range = LLRT_RANGE_##way, .dtype = LLRT_I64}
#define COUNTED(by, axes, ...) .said = by, .counted = axes, .count = {__VA_ARGS__}
#define POINTERS(at, by, fold, way) \
  {.axis = at, \
   .axes = by, \
   .folded = fold, \
   .kind = LLRT_INDEX_POINTER, \
   .out_of_range = LLRT_RANGE_##way, \
   .dtype = LLRT_I64}

#define SUMS "{offset: [[16],[64],[32],[512],[10],[1],[4],[256],[2],[128]]} -> [dim0:1024]"
/* Six of its bits lie above a tile. */
#define SUMS_16 \
  "{offset: " \
  "[[16384],[8],[1],[32768],[4100],[2],[256],[512],[4],[16],[96],[32],[128],[1024],[2048],[8192]]" \
  "} -> [dim0:65536]"

static const index_row rows[] = {
    /* counts along bits of a tile, whose digit has no upper part */
    {"sums of bits", LLRT_U32, 1, {1024}, {"row_major", SUMS}, COUNTED(BOTH, 1, 700)},
    {"sums of bits of the source", LLRT_U32, 1, {1024}, {SUMS, "row_major"}, COUNTED(BOTH, 1, 700)},
    {"more bits than a tile takes",
     LLRT_U16,
     1,
     {65536},
     {"row_major", SUMS_16},
     COUNTED(SOURCE, 1, 40001)},
    {"more bits than a tile takes, of the source",
     LLRT_U8,
     1,
     {65536},
     {SUMS_16, "row_major"},
     COUNTED(DESTINATION, 1, 31)},
    {"an axis that is bits of the tile",
     LLRT_U16,
     2,
     {32, 8},
     {"col_major", "cdna4_scale"},
     COUNTED(BOTH, 2, 0, 1)},
    {"one position, 31 pads in a tile, said of the source",
     LLRT_U16,
     2,
     {1, 87},
     {"(1,(29,3)):(261,(3,87))", "aiter_scale_n32k8(pad=0)"},
     COUNTED(SOURCE, 1, 1)},
    {"a tile that does not divide",
     LLRT_B128,
     2,
     {16, 128},
     {"marlin_scales_single", "scale_128x4(k_align=4)"},
     COUNTED(BOTH, 3, 16, 96)},
    {"blocked tiles that overhang",
     LLRT_U16,
     3,
     {5, 11, 1},
     {"onednn_ba16a64b2a", "col_major"},
     COUNTED(BOTH, 3, 5, 11)},
    {"sums of bits between axes",
     LLRT_B64,
     4,
     {16, 1, 32, 8},
     {"{offset: "
      "[[0,1,0,0],[0,0,1,0],[0,2,0,0],[0,8,0,0],[0,16,0,0],[0,0,2,0],[0,0,0,1],[0,4,4,0],[0,2,0,8],"
      "[0,4,0,0],"
      "[0,0,0,4],[0,0,0,2]]} -> [dim1:1, dim2:32, dim3:8, dim0:16]",
      "storage(digits=[dim2:3, dim3:4, dim2:rest, dim1:rest, dim3:5, dim3:rest], tile={offset: "
      "[[1,0,0,0],[0,1,0,0],[0,0,0,1],"
      "[4,0,0,0],[0,0,1,0],[2,0,0,0],[0,0,2,0],[8,0,0,0],[0,2,0,0]]} -> [dim0:16, dim1:4, dim2:4, "
      "dim3:2], pad=keep)"},
     COUNTED(SOURCE, 9, 8, 0, 0, 3)},
    {"a tile with pads of its own",
     LLRT_U8,
     3,
     {2, 1, 16},
     {"storage(digits=[dim2:2, dim2:2, dim2:rest, dim1:rest, dim0:2, dim0:rest], tile={offset: "
      "[[0,0,2],[0,1,0],[0,0,1]]} -> "
      "[dim0:1, dim1:2, dim2:4], pad=0)",
      "storage(digits=[dim0:4, dim0:rest @ 1027, dim1:rest @ 4110], tile={offset: "
      "[[0,0,12],[1,0,0],[0,0,16],[0,0,1],[0,0,8],[0,1,0],"
      "[0,0,6]]} -> [dim0:2, dim1:2, dim2:32], pad=9)"},
     COUNTED(DESTINATION, 5, 1, 0, 13)},
    {"nothing of an axis of one position",
     LLRT_U16,
     2,
     {1, 87},
     {"row_major", "aiter_scale_n32k8(pad=3)"},
     COUNTED(SOURCE, 1, 0)},
    /* pads of rows whose values are out of range */
    {"zero, pads of another value",
     LLRT_U8,
     2,
     {24, 5},
     {"row_major", "storage(digits=[dim1:4, dim1:rest, dim0:rest], pad=119)"},
     .n_indices = 1,
     .index = {INDEX(0, 1, 16, ZERO)}},
    {"zero, pads of another value, counted",
     LLRT_U32,
     2,
     {40, 33},
     {"row_major", "storage(digits=[dim1:8, dim0:4, dim0:rest, dim1:rest], pad=77)"},
     COUNTED(BOTH, 3, 29, 21),
     .n_indices = 1,
     .index = {INDEX(0, 1, 37, ZERO)}},
    {"zero, pointers, pads of another value",
     LLRT_U16,
     3,
     {13, 7, 19},
     {"row_major", "storage(digits=[dim2:16, dim2:rest, dim1:4, dim1:rest, dim0:rest], pad=5)"},
     .n_indices = 1,
     .index = {POINTERS(0, 1, 0, ZERO)}},
    {"skipped rows keep their pads",
     LLRT_U16,
     2,
     {9, 5},
     {"col_major", "storage(digits=[dim1:4, dim1:rest, dim0:2, dim0:rest], pad=119)"},
     .n_indices = 1,
     .index = {INDEX(0, 1, 4, SKIP)}},
    {"scale factors, zero",
     LLRT_U8,
     2,
     {70, 33},
     {"row_major", "scale_128x4(pad=127)"},
     .n_indices = 1,
     .index = {INDEX(0, 1, 64, ZERO)}},
    {"an index along every axis",
     LLRT_I64,
     2,
     {37, 7},
     {"Swizzle<2,1,2> o (23,11):(55,5)", "aiter_scale_n32k8(pad=127)"},
     .n_indices = 2,
     .index = {INDEX(1, 0, 11, ZERO), INDEX(0, 1, 23, ZERO)}},
    /* swizzles of what values choose, along axes that have no digits */
    {"upward swizzle, indices along axes of one position",
     LLRT_BOOL,
     4,
     {1, 1, 4, 32},
     {"storage(digits=[dim2:4, dim0:4, dim1:8, dim3:rest], swizzle=[0,2,5,up])",
      "strided([128,128,32,1])"},
     .n_indices = 2,
     .index = {INDEX(0, 15, 4, ZERO), INDEX(1, 15, 8, ZERO)}},
    {"swizzle, an index along an axis of one position",
     LLRT_B64,
     2,
     {1, 64},
     {"storage(digits=[dim1:4, dim0:8, dim1:rest], swizzle=[0,2,2])", "col_major"},
     .n_indices = 1,
     .index = {INDEX(0, 3, 8, ZERO)}},
    {"swizzle of a destination, an index along an axis of one position",
     LLRT_U16,
     2,
     {1, 64},
     {"row_major", "storage(digits=[dim1:8, dim1:8, dim0:rest], swizzle=[0,2,6])"},
     .indexed = 1,
     .n_indices = 1,
     .index = {INDEX(0, 2, 70, SKIP)}},
    /* values are counted once, though digits overhang */
    {"a digit that does not divide",
     LLRT_U8,
     1,
     {127},
     {"storage(digits=[dim0:9, dim0:rest], pad=0)", "row_major"},
     .indexed = 1,
     .n_indices = 1,
     .index = {INDEX(0, 1, 130, REPORT)}},
    {"digits that do not divide, two indices",
     LLRT_U32,
     2,
     {33, 31},
     {"storage(digits=[dim1:rest, dim0:3, dim0:rest], pad=0)",
      "storage(digits=[dim1:5, dim0:11, dim1:rest, dim0:rest], pad=0)"},
     .n_indices = 2,
     .index = {INDEX(0, 1, 20, REPORT), INDEX(1, 3, 40, REPORT)}},
    {"pointers, digits that do not divide",
     LLRT_U64,
     2,
     {100, 36},
     {"storage(digits=[dim0:2, dim1:rest, dim0:rest])",
      "storage(digits=[dim0:3, dim1:16, dim1:rest, dim0:rest], pad=0)"},
     COUNTED(SOURCE, 1, 51),
     .n_indices = 2,
     .index = {INDEX(0, 3, 8, REPORT), POINTERS(1, 2, 0, REPORT)}},
    {"no element, nothing counted",
     LLRT_F32,
     3,
     {16, 8, 4},
     {"row_major", "col_major"},
     COUNTED(DESTINATION, 3, 3, 0),
     .n_indices = 1,
     .index = {INDEX(0, 1, 5, REPORT)}},
    {"indices and counts",
     LLRT_U8,
     5,
     {7, 7, 3, 16, 2},
     {"scale_8x4", "storage(digits=[dim4:rest, dim3:5, dim3:2, dim2:rest, dim1:7, dim0:2, dim0:4], "
                   "tile={offset: [[0,0,0,1,3],"
                   "[0,0,0,1,0],[0,0,0,1,7],[0,0,0,1,1]]} -> [dim0:1, dim1:1, dim2:1, dim3:2, "
                   "dim4:8], pad=keep)"},
     COUNTED(BOTH, 18, 0, 6, 0, 0, 2),
     .n_indices = 1,
     .index = {INDEX(2, 4, 3, CLAMP)}},
};
#define N_ROWS ((int)(sizeof rows / sizeof *rows))

int index_rows_count(void) { return N_ROWS; }

/* A pointer list chooses among three copies of the storage. */
#define COPIES 3

static bool make_side(index_case *made, const index_row *row, int s, uint64_t *seed) {
  index_side *side = &made->side[s];
  for (int i = 0; i < row->n_indices && s == row->indexed; i++) {
    if (row->index[i].kind == LLRT_INDEX_POINTER) side->layers = COPIES;
    index_case_add_index(made, side, row->index[i], i);
  }
  return index_case_parse(made, side, row->text[s]) &&
         index_case_finish_side(made, side, BAD, seed);
}

bool index_row_make(index_case *made, int number, uint64_t *seed) {
  const index_row *row = &rows[number];
  made->rank = row->rank;
  made->dtype = row->dtype;
  made->said = row->said;
  made->counted = row->counted;
  memcpy(made->shape, row->shape, sizeof row->shape);
  memcpy(made->count, row->count, sizeof row->count);
  snprintf(made->title, sizeof made->title, "%s", row->name);
  return make_side(made, row, 0, seed) && make_side(made, row, 1, seed);
}
