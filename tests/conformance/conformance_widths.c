/* Elements of 4 and of 128 bits. Two elements of 4 bits share a byte, though they be of two rows;
 * one that has none beside it leaves the other half of its byte as it is. */
#include "conformance.h"

#define MMA "nvmma(version=[2,0], warps_per_cta=[4,1], instr_shape=[16,8])"
#define BLOCKED \
  "blocked(size_per_thread=[1,8], threads_per_warp=[4,8], warps_per_cta=[4,1], order=[1,0])"

#define WIDE_TILE \
  "storage(digits=[dim1: rest, dim0: rest], tile={offset: " \
  "[[0,1],[0,2],[1,0],[0,4],[2,0],[0,8],[4,0]]} -> " \
  "[dim0:8, dim1:16], pad=0)"

#define TILE_OF_16 ", tile={offset: [[4,0],[2,0],[1,0],[8,0]]} -> [dim0:16, dim1:1])"

static const text_row table[] = {
    {1, {1000}, "row_major", "row_major"},
    {1, {2}, "row_major", "row_major"},
    {2, {2, 6}, "row_major", "col_major"},
    {2, {64, 128}, "row_major", "col_major"},
    {2, {130, 66}, "row_major", "col_major"},
    {2, {4, 70000}, "row_major", "col_major"},
    {2, {70000, 4}, "col_major", "row_major"},
    {2, {33, 64}, "strided([66,1])", "row_major"},
    {2, {34, 65}, "strided([66,1])", "strided([1,38])"},
    {3, {6, 5, 10}, "row_major", "col_major"},
    {4, {2, 24, 10, 14}, "row_major", "channels_last"},
    {2, {64, 128}, "strided([0,1])", "row_major"},
    {2, {128, 64}, "row_major", MMA},
    {2, {128, 64}, MMA, "col_major"},
    {2, {64, 128}, "row_major", BLOCKED},
    {2, {128, 128}, BLOCKED, MMA},
    {2, {128, 64}, "row_major", "dot(operand=0, k_width=8, parent=" MMA ")"},
    {1, {64}, "row_major", "slice(dim=0, parent=" BLOCKED ")"},
    /* Weights as engines keep them; shapes that are no powers of two where the rule allows. */
    {2, {128, 256}, "row_major", "gptq_w4"},
    {2, {24, 50}, "gptq_w4", "row_major"},
    {2, {128, 256}, "row_major", "awq_w4"},
    {2, {50, 24}, "awq_w4", "row_major"},
    {2, {128, 256}, "awq_w4", "marlin_w4"},
    {2, {128, 256}, "gptq_w4", "marlin_w4"},
    {2, {128, 256}, "row_major", "marlin_w4"},
    {2, {80, 192}, "row_major", "marlin_w4"},
    {2, {80, 192}, "marlin_w4", "row_major"},
    {2, {256, 192}, "row_major", "machete_w4"},
    {2, {256, 192}, "machete_w4", "row_major"},
    {2, {384, 64}, "col_major", "machete_w4_1wg"},
    {2, {48, 80}, "row_major", "cutlass_atom_e2m1"},
    {2, {48, 80}, "cutlass_atom_e2m1", "row_major"},
    {2, {48, 80}, "row_major", "cutlass_atom_int4"},
    {2, {48, 80}, "cutlass_atom_int4", "col_major"},
    {2, {192, 40}, "row_major", "ft_columns_w4"},
    {2, {192, 40}, "row_major", "ft_w4"},
    {2, {192, 40}, "ft_w4", "row_major"},
    {1, {96}, "row_major", "ft_rows_w4"},
    {1, {96}, "ft_registers_w4", "row_major"},
    {1, {96}, "row_major", "turbomind_w4"},
    {1, {96}, "gguf_q4_0", "row_major"},
    {2, {48, 66}, "row_major", "shuffle_matrix_a_16"},
    {2, {64, 66}, "shuffle_matrix_a_32", "row_major"},
    {2, {32, 192}, "row_major", "flashinfer_sm90_w4"},
    {2, {32, 192}, "flashinfer_sm90_w4", "row_major"},
    {2, {50, 384}, "row_major", "block_major_k"},
    /* The first element of a byte in its high half. */
    {1, {1000}, "row_major", "bitsandbytes_w4"},
    {1, {4096}, "bitsandbytes_w4", "row_major"},
    {2, {50, 66}, "torchao_w4", "row_major"},
    {2, {64, 128}, "row_major", "torchao_w4"},
    {2, {128, 256}, "torchao_w4", "marlin_w4"},
    {2, {48, 80}, "cutlass_atom_int4", "torchao_w4"},
    {2, {128, 130}, "torchao_w4", "col_major"},
    /* No lane that completes sectors of the source has a bit of the other's word by itself. */
    {3,
     {8, 16, 8},
     "{offset: "
     "[[6,11,3],[2,5,6],[0,15,7],[0,5,7],[3,14,2],[1,13,2],[2,4,6],[1,7,0],[7,3,3],[1,8,6]]} -> "
     "[dim0:8, dim1:16, dim2:8]",
     "{offset: "
     "[[5,12,0],[4,14,7],[6,6,7],[3,13,7],[3,10,1],[5,15,2],[7,1,5],[5,8,6],[6,9,7],[2,10,2]]} -> "
     "[dim0:8, dim1:16, dim2:8]"},
    /* Tiles wider than the extents: what steps over a row of the other side has a reach that meets
       that of the row. */
    {2, {6, 4}, WIDE_TILE, "row_major"},
    {2, {7, 7}, "strided([8,1])", WIDE_TILE},
    {2, {4, 6}, WIDE_TILE, "strided([1,4])"},
    /* Sources that do not have two elements of a byte next to each other. */
    {2, {24, 7}, "row_major", "col_major"},
    {2, {44, 1}, "strided([4,1])", "col_major"},
    {2,
     {8, 64},
     "strided([66,1])",
     "storage(digits=[dim1: 3 reversed, dim0: 2, dim1: rest, dim0: rest], "
     "tile={offset: [[1,0],[2,0]]} -> [dim0:4, dim1:1], pad=0)"},
    /* Sources whose rows begin in either half of a byte, in tiles, with edges and with what lies
       before and behind. */
    {2, {511, 130}, "col_major", "row_major"},
    {2, {333, 96}, "strided([1,335])", "row_major"},
    {2, {1025, 66}, "storage(digits=[dim0: rest, dim1: rest], offset=[3])", "row_major"},
    {2, {127, 64}, "col_major", WIDE_TILE},
    {3, {63, 10, 34}, "col_major", "row_major"},
    /* Destinations whose bytes have elements of two rows, of one alone, or some that are pads. */
    {2, {5, 7}, "row_major", "row_major"},
    {2, {64, 65}, "row_major", "row_major"},
    {2, {65, 64}, "row_major", "col_major"},
    {2, {131, 77}, "col_major", "row_major"},
    {2, {300, 301}, "col_major", "row_major"},
    {3, {7, 5, 9}, "row_major", "col_major"},
    {4, {3, 5, 7, 11}, "row_major", "channels_last"},
    {1, {7}, "row_major", "row_major"},
    {1, {1}, "row_major", "row_major"},
    {0, {0}, "row_major", "row_major"},
    {2, {9, 12}, "row_major", "strided([13,1])"},
    {2, {9, 13}, "row_major", "strided([14,1])"},
    {2, {9, 13}, "col_major", "strided([3,28])"},
    {2, {33, 65}, "row_major", "storage(digits=[dim1: rest, dim0: rest], offset=[3])"},
    {2, {15, 31}, "row_major", WIDE_TILE},
    {2,
     {15, 31},
     "col_major",
     "storage(digits=[dim1: rest, dim0: rest], tile={offset: [[0,1],[1,0],[0,2],[2,0]]} -> "
     "[dim0:4, dim1:4], pad=keep)"},
    {2, {10, 7}, "row_major", "storage(digits=[dim1: 3, dim0: 5, dim1: rest, dim0: rest], pad=9)"},
    {2,
     {10, 7},
     "col_major",
     "storage(digits=[dim1: 3 reversed, dim0: 5, dim1: rest, dim0: rest], pad=keep)"},
    {2,
     {12, 5},
     "row_major",
     "storage(digits=[dim0: 2 reversed, dim1: rest, dim0: rest], offset=[1])"},
    {1,
     {42},
     "row_major",
     "storage(digits=[dim0: rest], tile={offset: [[1]]} -> [dim0:2], swizzle=[0,2,4,up], pad=15)"},
    {1,
     {16},
     "row_major",
     "storage(digits=[dim0: rest], tile={offset: [[1]]} -> [dim0:2], swizzle=[0,2,4,up], pad=15)"},
    {1, {64}, "row_major", "storage(digits=[dim0: rest], swizzle=[0,2,4,up], offset=[8])"},
    {2, {6, 9}, "row_major", "storage(digits=[replica: 3, dim1: rest, dim0: rest])"},
    {2, {51, 66}, "col_major", "torchao_w4"},
    {1, {1001}, "row_major", "storage(digits=[dim0: 2 reversed, dim0: rest], pad=keep)"},
    {2, {32, 31}, "row_major", "gptq_w4"},
    /* The same in tiles: a byte of two rows, or of two tiles, is stored by the one whose element is
       its second. */
    {2, {1031, 66}, "row_major", "col_major"},
    {2, {515, 131}, "row_major", "col_major"},
    {2, {129, 1025}, "strided([1027,1])", "row_major"},
    {2, {70, 1023}, "storage(digits=[dim1: rest reversed, dim0: rest])", "row_major"},
    {2,
     {37, 301},
     "storage(digits=[dim0: rest, dim1: rest], offset=[3])",
     "storage(digits=[dim1: rest, dim0: rest], offset=[2])"},
    {3, {3, 517, 70}, "row_major", "storage(digits=[dim1: rest, dim2: rest, dim0: rest])"},
    {3, {5, 33, 131}, "col_major", "row_major"},
    {2, {77, 130}, "row_major", "storage(digits=[dim0: rest, replica: 3, dim1: rest])"},
    {2, {400, 33}, "row_major", "storage(digits=[dim0: 301, dim1: rest, dim0: rest], pad=9)"},
    {2, {400, 33}, "col_major", "storage(digits=[dim0: 301, dim1: rest, dim0: rest], pad=keep)"},
    {2, {131, 96}, "torchao_w4", "col_major"},
    {2, {602, 45}, "row_major", "storage(digits=[dim0: 301, dim1: rest, dim0: rest])"},
    {2, {8, 4097}, "col_major", "row_major"},
    /* Nothing at all. */
    {2, {132, 0}, "row_major", "row_major"},
    {2, {132, 0}, "col_major", "row_major"},
    {3, {5, 0, 3}, "col_major", "row_major"},
    {3,
     {6, 10, 0},
     "col_major",
     "storage(digits=[dim1: rest, replica: 3, dim0: rest, dim2: rest])"},
    /* Sources with a digit of stride 1 beside a tile, whose places are sums with carries: no digit
       tells the halves of a byte apart. */
    {2,
     {16, 2},
     "storage(digits=[dim1: 2 reversed @ 1, dim1: rest @ 1024]" TILE_OF_16,
     "row_major"},
    {2, {16, 2}, "storage(digits=[dim1: 2 @ 1, dim1: rest @ 1024]" TILE_OF_16, "row_major"},
    {2,
     {64, 6},
     "storage(digits=[dim1: 2 reversed @ 1, dim1: rest @ 64, dim0: rest @ 16]" TILE_OF_16,
     "col_major"},
    {2,
     {64, 5},
     "storage(digits=[dim1: rest reversed @ 1, dim0: rest @ 16]" TILE_OF_16,
     "row_major"},
};
#define N_TABLE ((int)(sizeof table / sizeof table[0]))
#define N_RANDOM 24 /* of either width */

static const llrt_dtype packed[] = {LLRT_E2M1, LLRT_U4, LLRT_I4, LLRT_B4};

int width_cases_count(void) { return N_TABLE + 2 * N_RANDOM + N_TABLE; }

/* Random maps of two elements or more, bases off their alignment by whole bytes. */
static bool random_case(int kind, llrt_dtype dtype, uint64_t *seed, conformance_case *made) {
  made->dtype = dtype;
  made->source.shift = random_below(seed, 3) == 0 ? 2 * random_below(seed, 8) : 0;
  made->destination.shift = random_below(seed, 3) == 0 ? 2 * random_below(seed, 8) : 0;
  return random_layouts_make(kind % 3, 1, seed, made);
}

bool width_cases_make(int index, uint64_t *seed, conformance_case *made) {
  if (index < N_TABLE) return case_from_text(&table[index], packed[index % 4], made);
  index -= N_TABLE;
  if (index < N_RANDOM) return random_case(index, packed[index % 4], seed, made);
  index -= N_RANDOM;
  if (index < N_RANDOM) return random_case(index, LLRT_B128, seed, made);
  bool done = case_from_text(&table[index - N_RANDOM], LLRT_B128, made);
  made->destination.storage.pad_value = 0; /* what pads of 128 bits may be */
  return done;
}
