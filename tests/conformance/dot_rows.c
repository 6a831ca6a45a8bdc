/* The chosen products of conformance_dot.c. */
#include "rows.h"

#define TYPES(a_, b_) .type = {[LLRT_DOT_A] = LLRT_##a_, [LLRT_DOT_B] = LLRT_##b_}
#define TYPES_AND(a_, b_, ...) \
  .type = {[LLRT_DOT_A] = LLRT_##a_, [LLRT_DOT_B] = LLRT_##b_, __VA_ARGS__}
#define SHAPE(m_, n_, k_) .m = m_, .n = n_, .k = k_
#define MIXED \
  "tiled([16,16], {offset: [[1,0],[0,1],[2,0],[0,2],[4,0],[0,4],[8,8],[0,8]]} -> [dim0:16, " \
  "dim1:16], order=[1,0])"
#define LIES(a_, d_, b_) .storage = {[LLRT_DOT_A] = a_, [LLRT_DOT_D] = d_, [LLRT_DOT_B] = b_}
#define MXFP4(a_) TYPES_AND(a_, E2M1, [LLRT_DOT_SCALE_B] = LLRT_E8M0), .group = {{0}, {32, 1}}
#define MXFP8(a_) TYPES_AND(a_, E4M3, [LLRT_DOT_SCALE_B] = LLRT_E8M0), .group = {{0}, {32, 1}}
#define EVERY_TENSOR \
  TYPES_AND( \
      I8, U4, [LLRT_DOT_C] = LLRT_F32, [LLRT_DOT_BIAS] = LLRT_F32, [LLRT_DOT_SCALE_A] = LLRT_F16, \
      [LLRT_DOT_ZERO_A] = LLRT_I8, [LLRT_DOT_GLOBAL_A] = LLRT_F32, [LLRT_DOT_SCALE_B] = LLRT_F16, \
      [LLRT_DOT_ZERO_B] = LLRT_U4, [LLRT_DOT_GLOBAL_B] = LLRT_F32, [LLRT_DOT_ADD] = LLRT_BF16, \
      [LLRT_DOT_SCALE_D] = LLRT_F32)
#define NVFP4(a_) \
  TYPES_AND(a_, E2M1, [LLRT_DOT_SCALE_B] = LLRT_E4M3, [LLRT_DOT_GLOBAL_B] = LLRT_F32), \
      .group = {{0}, {16, 1}}
#define INT4(a_) \
  TYPES_AND(a_, U4, [LLRT_DOT_SCALE_B] = LLRT_##a_, [LLRT_DOT_ZERO_B] = LLRT_U8), \
      .group = {{0}, {128, 1}}
#define GROUPED_BF16(b_) \
  TYPES_AND(BF16, b_, [LLRT_DOT_SCALE_B] = LLRT_BF16), .group = {{0}, {64, 1}}
#define GROUPED(a_, b_) TYPES_AND(a_, b_, [LLRT_DOT_SCALE_B] = LLRT_F16), .group = {{0}, {128, 1}}
#define INT8(a_) \
  TYPES_AND(a_, U8, [LLRT_DOT_SCALE_B] = LLRT_##a_, [LLRT_DOT_ZERO_B] = LLRT_U8), \
      .group = {{0}, {128, 1}}
#define SCALES_LIE(b_) .storage[LLRT_DOT_SCALE_B] = b_
#define HOPPER_VALUE "transposed(hopper_value_w4)"
#define PADDED(word_) \
  "storage(digits=[dim1:rest,dim0:rest],tile={offset:[" word_ \
  ",[2,0],[4,0],[0,1],[0,2],[0,4]]}->[dim0:16,dim1:16],pad=0)"
#define CROSSED \
  "storage(digits=[dim0:rest,dim1:rest],tile={offset:[[0,1],[0,2],[0,4],[1,0],[2,0],[4,4],[8,0]]}" \
  "->[dim0:16,dim1:8],pad=0)"
#define FRAGMENTS \
  "tiled([32,32], nvmma(version=[2,0], warps_per_cta=[2,2], instr_shape=[16,8]), order=[1,0])"
#define SUMMED \
  "{offset: [[0,0,1],[0,0,2],[0,1,0],[1,0,1]]} ->[dim0:2,dim1:2,dim2:4]" /* a batch bit and one of \
                                                                            the columns */
#define BLOCKS(n_, m_) "storage(digits=[dim1:" n_ ",dim0:" m_ ",dim1:rest,dim0:rest])"
#define SWIZZLED "swizzle(per_element=3, swizzle_len=3, atom_len=3) o S[(64,64):(64@m,1@m)]"

const dot_problem dot_rows[] = {
    /* dense, every type with itself; extents that are no powers of two, skinny ones, none */
    {SHAPE(37, 45, 61), TYPES(F32, F32)},
    {SHAPE(37, 45, 61), TYPES(F64, F64)},
    {SHAPE(37, 45, 61), TYPES(F16, F16)},
    {SHAPE(37, 45, 61), TYPES(BF16, BF16)},
    {SHAPE(37, 45, 61), TYPES(E4M3, E4M3)},
    {SHAPE(37, 45, 61), TYPES(E5M2, E4M3)},
    {SHAPE(37, 45, 61), TYPES(I8, I8)},
    {SHAPE(37, 45, 61), TYPES(U8, I8)},
    {SHAPE(37, 45, 61), TYPES(I16, I16)},
    {SHAPE(37, 45, 61), TYPES(I32, I32)},
    {SHAPE(37, 45, 61), TYPES(I64, I32)},
    {SHAPE(37, 44, 62), TYPES(I4, U4)},
    {SHAPE(36, 44, 62), TYPES(E2M1, E2M1)},
    {SHAPE(37, 45, 61), TYPES(F32, F32), .tf32 = true},
    {SHAPE(64, 64, 64), TYPES(F32, F32), .tf32 = true, .data = DOT_EXACT},
    {SHAPE(1, 300, 257), TYPES(BF16, BF16)},
    {SHAPE(300, 1, 257), TYPES(F16, F32)},
    {SHAPE(1, 1, 3000), TYPES(F32, F32)},
    {SHAPE(1, 1, 1), TYPES(F16, BF16)},
    {SHAPE(5, 3, 4096), TYPES(BF16, BF16)},
    {SHAPE(5, 0, 16), TYPES(BF16, BF16)},
    {SHAPE(5, 9, 0), TYPES(BF16, BF16)},
    {SHAPE(5, 9, 0), TYPES_AND(BF16, BF16, [LLRT_DOT_C] = LLRT_F32, [LLRT_DOT_BIAS] = LLRT_BF16),
     .beta = 2},
    {SHAPE(128, 256, 192), TYPES(BF16, BF16), .data = DOT_EXACT},
    {SHAPE(130, 250, 100), TYPES(F16, F16), LIES("", "", "col_major")},
    {SHAPE(30, 130, 70), TYPES(I4, E2M1),
     .tf32 = true}, /* a lane's room, of two narrow operands in tf32 */
    /* products of warpgroups: types, rows along either axis, edges, many turns, batches, what
       stands on sums */
    {SHAPE(130, 264, 200), TYPES(BF16, BF16), LIES("", "", "col_major")},
    {SHAPE(136, 272, 72), TYPES(F16, F16), LIES("col_major", "", "")},
    {SHAPE(250, 200, 136), TYPES_AND(BF16, BF16, [LLRT_DOT_D] = LLRT_F32),
     LIES("", "col_major", "")},
    {SHAPE(136, 130, 64), TYPES(F16, F16), LIES("col_major", "", "col_major")},
    {SHAPE(100, 260, 100), TYPES(F32, F32), LIES("", "", "col_major"), .tf32 = true},
    {SHAPE(260, 260, 144), TYPES(E4M3, E4M3), LIES("", "", "col_major")},
    {SHAPE(100, 260, 272), TYPES(E5M2, E4M3), LIES("", "", "col_major"), .fast = true},
    {SHAPE(100, 260, 272), TYPES(I8, I8), LIES("", "", "col_major")},
    {SHAPE(100, 130, 144), TYPES(U8, I8), LIES("", "", "col_major")},
    {SHAPE(140, 264, 520),
     TYPES_AND(BF16, BF16, [LLRT_DOT_C] = LLRT_BF16, [LLRT_DOT_BIAS] = LLRT_F32), .alpha = 0.5,
     .beta = -2, .n_maps = 1, .map = {LLRT_MAP_GELU}},
    {SHAPE(72, 264, 64), TYPES(BF16, BF16), LIES("", "", "col_major"), .n_batch = 1, .batch = {3},
     .shared = {false, true}},
    {SHAPE(140, 408, 136), TYPES(BF16, BF16),
     LIES("", "", "col_major")}, /* tiles of 96 and 192 columns */
    {SHAPE(100, 392, 144), TYPES(E4M3, E4M3), LIES("", "", "col_major")},
    {SHAPE(3, 200, 136), TYPES(BF16, BF16), LIES("", "", "col_major")}, /* few rows or columns */
    {SHAPE(200, 5, 136), TYPES(F16, F16), LIES("", "", "col_major")},
    {SHAPE(13, 130, 272), TYPES(E4M3, E4M3), LIES("", "", "col_major")},
    {SHAPE(30, 136, 72), TYPES(F16, F16), LIES("col_major", "", "")},
    {SHAPE(2184, 264, 8), TYPES(F16, F16),
     LIES("", "", "col_major")}, /* blocks in two bands, one of them shorter */
    /* operands copied for warpgroups */
    {SHAPE(257, 259, 261), TYPES(BF16, BF16), LIES("", "", "col_major")},
    {SHAPE(256, 264, 272), TYPES(E4M3, E4M3)},
    {SHAPE(260, 256, 264), TYPES(F16, E4M3), LIES("", "", "col_major")},
    {SHAPE(256, 256, 258), TYPES(F16, F16), LIES("col_major", "", ""), .n_batch = 1, .batch = {2},
     .shared = {false, true}},
    /* storages */
    {SHAPE(64, 96, 128), TYPES(BF16, BF16), LIES("col_major", "col_major", "")},
    {SHAPE(64, 96, 128), TYPES(BF16, BF16), LIES(FRAGMENTS, "", FRAGMENTS)},
    {SHAPE(64, 64, 64), TYPES(F16, F16), LIES(SWIZZLED, SWIZZLED, SWIZZLED)},
    {SHAPE(64, 64, 64), TYPES(E4M3, F16), LIES("", FRAGMENTS, SWIZZLED)},
    {SHAPE(40, 50, 60), TYPES(F32, BF16),
     LIES("strided([61,1])", "strided([1,43])", "strided([1,64])")},
    {SHAPE(40, 50, 60), TYPES(F16, F16),
     LIES("S[(40,60):(128@m,2@m)]", "S[(40,50):(55@m,1@m)] + R[2:4096@m]", "")},
    {SHAPE(48, 64, 64), TYPES(BF16, E2M1), LIES("", "", "col_major")},
    /* scales */
    {SHAPE(16, 64, 256), TYPES_AND(BF16, E2M1, [LLRT_DOT_SCALE_B] = LLRT_E8M0),
     .group = {{0}, {32, 1}}},
    {SHAPE(5, 40, 96), TYPES_AND(F16, E2M1, [LLRT_DOT_SCALE_B] = LLRT_E8M0),
     .group = {{0}, {32, 1}}},
    {SHAPE(5, 40, 96), TYPES_AND(F16, E2M1, [LLRT_DOT_SCALE_B] = LLRT_E8M0),
     .group = {{0}, {32, 1}}, .range = {{0}, {120, 130}}},
    {SHAPE(33, 40, 100), TYPES_AND(E4M3, E2M1, [LLRT_DOT_SCALE_B] = LLRT_E8M0),
     .group = {{0}, {32, 1}}},
    {SHAPE(33, 40, 100), TYPES_AND(BF16, E2M1, [LLRT_DOT_SCALE_B] = LLRT_E8M0),
     .group = {{0}, {32, 1}}, .data = DOT_SPECIAL},
    {SHAPE(33, 40, 128),
     TYPES_AND(E4M3, E4M3, [LLRT_DOT_SCALE_A] = LLRT_E8M0, [LLRT_DOT_SCALE_B] = LLRT_E8M0),
     .group = {{1, 32}, {32, 1}}},
    {SHAPE(20, 48, 128),
     TYPES_AND(F16, E2M1, [LLRT_DOT_SCALE_B] = LLRT_E4M3, [LLRT_DOT_GLOBAL_B] = LLRT_F32),
     .group = {{0}, {16, 1}}},
    {SHAPE(20, 48, 128),
     TYPES_AND(E2M1, E2M1, [LLRT_DOT_SCALE_A] = LLRT_E4M3, [LLRT_DOT_GLOBAL_A] = LLRT_F32,
               [LLRT_DOT_SCALE_B] = LLRT_E4M3, [LLRT_DOT_GLOBAL_B] = LLRT_F32),
     .group = {{1, 16}, {16, 1}}},
    {SHAPE(20, 48, 256),
     TYPES_AND(F16, U4, [LLRT_DOT_SCALE_B] = LLRT_F16, [LLRT_DOT_ZERO_B] = LLRT_U4),
     .group = {{0}, {128, 1}}},
    {SHAPE(20, 48, 256), TYPES_AND(BF16, I4, [LLRT_DOT_SCALE_B] = LLRT_BF16),
     .group = {{0}, {64, 1}}},
    {SHAPE(20, 48, 256),
     TYPES_AND(BF16, U4, [LLRT_DOT_SCALE_B] = LLRT_BF16, [LLRT_DOT_ZERO_B] = LLRT_BF16),
     .group = {{0}, {128, 1}}},
    {SHAPE(20, 48, 90), TYPES_AND(F16, I8, [LLRT_DOT_SCALE_B] = LLRT_F16), .group = {{0}, {32, 1}}},
    {SHAPE(20, 48, 96),
     TYPES_AND(I8, I8, [LLRT_DOT_SCALE_A] = LLRT_F32, [LLRT_DOT_SCALE_B] = LLRT_F32,
               [LLRT_DOT_D] = LLRT_BF16),
     .group = {{1, -1}, {-1, 1}}},
    {SHAPE(20, 48, 96),
     TYPES_AND(E4M3, E4M3, [LLRT_DOT_SCALE_A] = LLRT_F32, [LLRT_DOT_SCALE_B] = LLRT_F32,
               [LLRT_DOT_D] = LLRT_BF16),
     .group = {{-1, -1}, {-1, -1}}},
    {SHAPE(20, 48, 256),
     TYPES_AND(E4M3, E4M3, [LLRT_DOT_SCALE_A] = LLRT_F32, [LLRT_DOT_SCALE_B] = LLRT_F32),
     .group = {{1, 128}, {128, 32}}},
    /* packed: rows of several kernels, N and K that fill no tile; what the general ones do */
    {SHAPE(1, 45, 320), MXFP4(BF16), .packed = true},
    {SHAPE(5, 48, 256), TYPES_AND(F16, I4, [LLRT_DOT_SCALE_B] = LLRT_F16), .group = {{0}, {128, 1}},
     .packed = true},
    {SHAPE(16, 80, 512), MXFP4(F16), .range = {{0}, {120, 127}}, .packed = true, .data = DOT_EXACT},
    {SHAPE(33, 72, 288), MXFP4(BF16), .packed = true, .data = DOT_SPECIAL},
    {SHAPE(100, 45, 320),
     TYPES_AND(BF16, U4, [LLRT_DOT_SCALE_B] = LLRT_BF16, [LLRT_DOT_BIAS] = LLRT_F32),
     .group = {{0}, {64, 1}}, .n_maps = 1, .map = {LLRT_MAP_SILU}, .packed = true},
    {SHAPE(150, 136, 288), MXFP4(BF16), .range = {{0}, {120, 127}}, .packed = true},
    {SHAPE(260, 136, 288), MXFP4(F16), .range = {{0}, {120, 127}}, .packed = true,
     .data = DOT_EXACT},
    {SHAPE(416, 272, 288), MXFP4(BF16), .range = {{0}, {120, 127}},
     .packed = true}, /* blocks of 208 rows */
    {SHAPE(2, 128, 64), TYPES_AND(BF16, U8, [LLRT_DOT_D] = LLRT_F16),
     LIES("strided([76,1])", "", "scale_8x4")}, /* a ring has another order */
    {SHAPE(1, 41, 64), TYPES_AND(F16, E2M1, [LLRT_DOT_SCALE_B] = LLRT_E8M0),
     .group = {{0}, {16, 1}}, .range = {{0}, {105, 127}}, .packed = true}, /* subnormals of f16 */
    {SHAPE(96, 32, 128), TYPES(F16, F16),
     .storage[LLRT_DOT_D] = "transposed(hopper_scale)"}, /* kernels of many tiles, D apart */
    {SHAPE(410, 136, 352),
     TYPES_AND(F16, U4, [LLRT_DOT_SCALE_B] = LLRT_F16, [LLRT_DOT_ZERO_B] = LLRT_U4,
               [LLRT_DOT_BIAS] = LLRT_F32),
     .group = {{0}, {128, 1}}, .n_batch = 1, .batch = {2}, .packed = true},
    {SHAPE(257, 48, 8192), MXFP4(BF16), .range = {{0}, {120, 127}},
     .packed = true}, /* of many units' blocks, which are dealt its turns */
    {SHAPE(16, 48, 256),
     TYPES_AND(F16, U4, [LLRT_DOT_SCALE_B] = LLRT_F16, [LLRT_DOT_ZERO_B] = LLRT_U4),
     .group = {{0}, {128, 1}}, .packed = true},
    {SHAPE(70, 136, 272),
     TYPES_AND(BF16, U4, [LLRT_DOT_SCALE_B] = LLRT_BF16, [LLRT_DOT_ZERO_B] = LLRT_U8),
     .group = {{0}, {64, 1}}, .packed = true},
    {SHAPE(140, 136, 288),
     TYPES_AND(F16, I4, [LLRT_DOT_SCALE_B] = LLRT_F16, [LLRT_DOT_ZERO_B] = LLRT_I4),
     .group = {{0}, {32, 1}}, .packed = true},
    {SHAPE(1, 48, 320), NVFP4(BF16), .packed = true, .data = DOT_SPECIAL},
    {SHAPE(17, 45, 256), NVFP4(F16), .packed = true},
    {SHAPE(70, 136, 272), NVFP4(F16), .packed = true, .data = DOT_SPECIAL},
    {SHAPE(140, 136, 288), NVFP4(BF16), .packed = true},
    {SHAPE(3, 48, 320), TYPES_AND(BF16, I8, [LLRT_DOT_SCALE_B] = LLRT_BF16),
     .group = {{0}, {64, 1}}, .packed = true},
    {SHAPE(70, 136, 272),
     TYPES_AND(F16, U8, [LLRT_DOT_SCALE_B] = LLRT_F16, [LLRT_DOT_ZERO_B] = LLRT_U8),
     .group = {{0}, {128, 1}}, .packed = true},
    {SHAPE(40, 45, 256), TYPES_AND(BF16, I8, [LLRT_DOT_SCALE_B] = LLRT_F32),
     .group = {{0}, {-1, 1}}, .packed = true},
    {SHAPE(5, 48, 256), TYPES_AND(F16, E4M3, [LLRT_DOT_SCALE_B] = LLRT_F32),
     .group = {{0}, {-1, 1}}, .packed = true, .data = DOT_SPECIAL},
    {SHAPE(20, 48, 320), TYPES_AND(BF16, E4M3, [LLRT_DOT_SCALE_B] = LLRT_E8M0),
     .group = {{0}, {32, 1}}, .packed = true, .data = DOT_SPECIAL},
    {SHAPE(140, 136, 288), TYPES_AND(BF16, E5M2, [LLRT_DOT_SCALE_B] = LLRT_E8M0),
     .group = {{0}, {32, 1}}, .packed = true, .data = DOT_SPECIAL},
    {SHAPE(36, 48, 256), TYPES_AND(F16, E4M3, [LLRT_DOT_SCALE_B] = LLRT_E8M0),
     .group = {{0}, {32, 1}}, .range = {{0}, {120, 127}}, .packed = true, .data = DOT_SPECIAL},
    {SHAPE(9, 48, 256), TYPES_AND(F16, E5M2, [LLRT_DOT_SCALE_B] = LLRT_F16),
     .group = {{0}, {128, 1}}, .packed = true, .data = DOT_SPECIAL},
    {SHAPE(9, 48, 256), MXFP4(BF16), .n_batch = 1, .batch = {3}, .shared = {false, true},
     .packed = true},
    {SHAPE(5, 45, 288), MXFP4(BF16), .n_batch = 1, .batch = {3}, .packed = true},
    {SHAPE(34, 48, 256),
     TYPES_AND(F16, U4, [LLRT_DOT_SCALE_B] = LLRT_F16, [LLRT_DOT_ZERO_B] = LLRT_U4),
     .group = {{0}, {128, 1}}, .n_batch = 2, .batch = {2, 3}, .packed = true},
    {SHAPE(100, 136, 288), NVFP4(BF16), .n_batch = 1, .batch = {3}, .shared = {true, false},
     .packed = true},
    {SHAPE(260, 48, 256), MXFP4(E4M3), .n_batch = 1, .batch = {2}, .packed = true},
    {SHAPE(7, 48, 256), MXFP4(F16), .packed = true},
    {SHAPE(3, 48, 512), MXFP4(E4M3), .range = {{0}, {120, 127}}, .packed = true},
    {SHAPE(50, 48, 256), MXFP4(E5M2), .packed = true, .data = DOT_SPECIAL},
    {SHAPE(50, 48, 1312), MXFP4(E4M3),
     .packed = true}, /* more turns than slots, here and in the next two */
    {SHAPE(257, 48, 1312), MXFP4(BF16), .packed = true},
    {SHAPE(257, 48, 1312), MXFP4(E4M3), .packed = true},
    {SHAPE(150, 136, 608), MXFP4(E4M3), .range = {{0}, {120, 127}}, .packed = true},
    {SHAPE(260, 136, 352), MXFP4(E5M2), .packed = true, .data = DOT_SPECIAL},
    /* words where each lane multiplies by itself, and in f64 */
    {SHAPE(20, 45, 200), TYPES_AND(F32, E2M1, [LLRT_DOT_SCALE_B] = LLRT_E8M0),
     .group = {{0}, {32, 1}}, .packed = true},
    {SHAPE(9, 40, 80), TYPES_AND(F64, U4, [LLRT_DOT_SCALE_B] = LLRT_F16), .group = {{0}, {32, 16}},
     .packed = true},
    /* columns in groups of two tiles, of which the last has one */
    {SHAPE(1, 43, 647),
     TYPES_AND(BF16, U4, [LLRT_DOT_SCALE_B] = LLRT_E4M3, [LLRT_DOT_SCALE_D] = LLRT_F32),
     .group = {{0}, {16, 1}, {1, 32}}, .n_maps = 1, .map = {LLRT_MAP_SCALE}, .packed = true},
    {SHAPE(20, 43, 256),
     TYPES_AND(BF16, E2M1, [LLRT_DOT_SCALE_B] = LLRT_E8M0, [LLRT_DOT_SCALE_D] = LLRT_F32),
     .group = {{0}, {32, 1}, {1, 32}}, .n_maps = 1, .map = {LLRT_MAP_SCALE}, .packed = true},
    /* the same, weights as bytes; scales beyond e5m2's, which alpha makes up for */
    {SHAPE(1, 72, 1312), MXFP4(E5M2), .range = {{0}, {114, 140}}, .packed = true,
     .data = DOT_SPECIAL},
    {SHAPE(20, 72, 288),
     TYPES_AND(E4M3, E2M1, [LLRT_DOT_SCALE_B] = LLRT_E8M0, [LLRT_DOT_BIAS] = LLRT_F32),
     .group = {{0}, {32, 1}}, .range = {{0}, {90, 100}}, .alpha = 0.5, .n_maps = 1,
     .map = {LLRT_MAP_RELU}, .packed = true},
    {SHAPE(50, 45, 320), MXFP4(E4M3), .range = {{0}, {135, 150}}, .packed = true},
    {SHAPE(270, 136, 352), MXFP4(E5M2), .range = {{0}, {120, 127}}, .packed = true},
    {SHAPE(10, 40, 64), MXFP4(BF16),
     LIES("",
          "storage(digits=[dim1:rest,dim0:rest],tile={offset:[[1,0],[0,1],[2,0],[4,0],[0,2],[8,0],["
          "0,4]]}->[dim0:16,dim1:8],pad=5)",
          ""),
     .packed = true}, /* D's pads */
    {SHAPE(216, 112, 16),
     TYPES_AND(E4M3, I8, [LLRT_DOT_SCALE_B] = LLRT_F16, [LLRT_DOT_ZERO_B] = LLRT_I8),
     LIES("strided([20,1])", "", ""), .group = {{0}, {128, 1}}, .packed = true},
    {SHAPE(270, 136, 288), MXFP4(E4M3), .range = {{0}, {120, 127}}, .packed = true, .fast = true},
    {SHAPE(9, 48, 256), MXFP4(E4M3), .range = {{0}, {120, 127}}, .n_batch = 1, .batch = {3},
     .shared = {false, true}, .packed = true},
    /* weights in other engines' orders */
    {SHAPE(7, 128, 256), INT4(F16), LIES("", "", "marlin_w4"), SCALES_LIE("marlin_scales")},
    {SHAPE(20, 192, 272), INT4(F16), LIES("", "", "marlin_w4"), SCALES_LIE("marlin_scales"),
     .data = DOT_EXACT},
    {SHAPE(70, 64, 128), INT4(BF16), LIES("", "", "marlin_w4"), SCALES_LIE("")},
    {SHAPE(1, 128, 272), GROUPED(F16, U4), LIES("", "", "marlin_w4"), SCALES_LIE("marlin_scales")},
    {SHAPE(11, 64, 1040), GROUPED(F16, I4), LIES("", "", "marlin_w4"), SCALES_LIE("marlin_scales")},
    {SHAPE(20, 192, 320), GROUPED_BF16(U4), LIES("", "", "marlin_w4"), SCALES_LIE("")},
    {SHAPE(50, 128, 512), GROUPED(F16, U4), LIES("", "", "marlin_w4"), SCALES_LIE("marlin_scales")},
    {SHAPE(150, 320, 400), GROUPED(F16, U4), LIES("", "", "marlin_w4"),
     SCALES_LIE("marlin_scales")},
    {SHAPE(260, 192, 272), GROUPED_BF16(I4), LIES("", "", "marlin_w4"), SCALES_LIE("col_major"),
     .data = DOT_EXACT},
    {SHAPE(12, 128, 320), GROUPED(E4M3, U4), LIES("", "", "marlin_w4"),
     SCALES_LIE("marlin_scales")},
    {SHAPE(6, 256, 448), GROUPED(F16, U4), LIES("", "", "transposed(machete_w4)"), SCALES_LIE("")},
    {SHAPE(90, 128, 192), GROUPED(F16, U4), LIES("", "", "transposed(machete_w4)"),
     SCALES_LIE("col_major")},
    {SHAPE(16, 256, 320), GROUPED(F16, U4), LIES("", "", "transposed(machete_w4_1wg)"),
     SCALES_LIE("")},
    {SHAPE(9, 100, 40), GROUPED_BF16(U4), LIES("", "", PADDED("[8,0],[0,8],[1,0]")),
     SCALES_LIE("")},
    {SHAPE(9, 40, 40), MXFP4(BF16), LIES("", "", PADDED("[1,0],[0,8],[8,0]")), SCALES_LIE("")},
    {SHAPE(17, 64, 528),
     TYPES_AND(F16, U4, [LLRT_DOT_SCALE_B] = LLRT_F16, [LLRT_DOT_ZERO_B] = LLRT_U4),
     .group = {{0}, {64, 1}}, LIES("", "", "marlin_w4"), SCALES_LIE("marlin_scales")},
    {SHAPE(100, 256, 128),
     TYPES_AND(BF16, U4, [LLRT_DOT_SCALE_B] = LLRT_BF16, [LLRT_DOT_ZERO_B] = LLRT_U4),
     .group = {{0}, {32, 1}}, LIES("", "", "transposed(machete_w4)"), SCALES_LIE("")},
    {SHAPE(9, 128, 256), INT8(F16), LIES("", "", "marlin_w8"), SCALES_LIE("marlin_scales")},
    {SHAPE(9, 128, 192), INT4(F16), LIES("", "", "transposed(machete_w4)"), SCALES_LIE("")},
    {SHAPE(40, 256, 64), INT4(BF16), LIES("", "", "transposed(machete_w4_1wg)"), SCALES_LIE("")},
    {SHAPE(9, 128, 192), INT8(BF16), LIES("", "", "transposed(machete_w8)"), SCALES_LIE("")},
    {SHAPE(33, 48, 128), MXFP4(BF16), LIES("", "", "transposed(cutlass_atom_e2m1)"),
     SCALES_LIE("transposed(scale_128x4)")},
    {SHAPE(20, 32, 96), INT4(F16), LIES("", "", "transposed(cutlass_atom_int4)"), SCALES_LIE("")},
    {SHAPE(20, 64, 256), TYPES(E4M3, E4M3),
     LIES("", "", "transposed(aiter_16x16(element_bits=8))")},
    {SHAPE(20, 48, 128), TYPES_AND(I8, I8, [LLRT_DOT_SCALE_B] = LLRT_F32), .group = {{0}, {-1, 1}},
     LIES("", "", "transposed(aiter_16x16(element_bits=8))")},
    {SHAPE(20, 48, 96), TYPES(BF16, BF16),
     LIES("", "", "transposed(aiter_16x16(element_bits=16))")},
    {SHAPE(9, 256, 256), MXFP4(BF16), LIES("", "", HOPPER_VALUE),
     SCALES_LIE("transposed(hopper_scale)"), .twiddled = true},
    {SHAPE(40, 256, 128), MXFP4(BF16), LIES("", "", HOPPER_VALUE),
     SCALES_LIE("transposed(scale_128x4)")},
    {SHAPE(9, 130, 320), MXFP4(BF16), SCALES_LIE("transposed(scale_128x4)")},
    {SHAPE(9, 72, 320), MXFP4(F16), LIES("", "", "col_major"),
     SCALES_LIE("transposed(hopper_scale)")},
    {SHAPE(20, 128, 256), MXFP8(BF16), SCALES_LIE("transposed(scale_128x4)")},
    {SHAPE(20, 128, 256), NVFP4(F16), LIES("", "", "marlin_w4"), SCALES_LIE("marlin_nvfp4_scales")},
    {SHAPE(20, 64, 128), NVFP4(BF16), LIES("", "", "col_major"),
     SCALES_LIE("transposed(scale_128x4)")},
    {SHAPE(20, 64, 128), TYPES(BF16, U4), LIES("", "", "gptq_w4")},
    {SHAPE(20, 64, 128), TYPES(F16, U4), LIES("", "", "awq_w4")},
    /* edges */
    {SHAPE(33, 40, 64), TYPES_AND(F16, F16, [LLRT_DOT_C] = LLRT_F16), .alpha = 0.5, .beta = -2},
    {SHAPE(33, 40, 64), TYPES_AND(F16, F16, [LLRT_DOT_C] = LLRT_F16), .in_place = true},
    {SHAPE(33, 40, 64), TYPES_AND(BF16, BF16, [LLRT_DOT_BIAS] = LLRT_F32), .n_maps = 1,
     .map = {LLRT_MAP_RELU}},
    {SHAPE(33, 40, 64), TYPES_AND(BF16, BF16, [LLRT_DOT_BIAS] = LLRT_BF16), .n_maps = 1,
     .map = {LLRT_MAP_GELU}},
    {SHAPE(33, 40, 64), TYPES_AND(F32, BF16, [LLRT_DOT_ADD] = LLRT_F32), .n_maps = 2,
     .map = {LLRT_MAP_SILU, LLRT_MAP_ADD}},
    {SHAPE(33, 40, 64),
     TYPES_AND(F16, F16, [LLRT_DOT_D] = LLRT_E4M3, [LLRT_DOT_SCALE_D] = LLRT_F32), .n_maps = 1,
     .map = {LLRT_MAP_SCALE}, .group = {{0}, {0}, {1, -1}}},
    {SHAPE(32, 40, 64), TYPES_AND(F16, F16, [LLRT_DOT_D] = LLRT_I8, [LLRT_DOT_SCALE_D] = LLRT_F16),
     .n_maps = 2, .map = {LLRT_MAP_SCALE, LLRT_MAP_RELU}, .group = {{0}, {0}, {32, 8}}},
    {SHAPE(17, 19, 23), TYPES_AND(F64, F32, [LLRT_DOT_C] = LLRT_F64, [LLRT_DOT_BIAS] = LLRT_F32),
     .n_maps = 1, .map = {LLRT_MAP_GELU}},
    /* what a column has one of, beside results whose places in D mix rows and columns */
    {SHAPE(128, 16, 64), TYPES_AND(BF16, BF16, [LLRT_DOT_BIAS] = LLRT_F32),
     LIES("col_major", MIXED, "")},
    {SHAPE(48, 48, 64), TYPES_AND(F32, F32, [LLRT_DOT_BIAS] = LLRT_F32), LIES("", MIXED, "")},
    /* wide accesses of an operand whose places mix K and columns behind what lanes take of a run */
    {SHAPE(86, 16, 8), TYPES(F16, F16), LIES("", "", CROSSED)},
    {SHAPE(86, 16, 8), TYPES(BF16, BF16), LIES("", "", CROSSED)},
    {SHAPE(86, 16, 8), TYPES(F32, F32), LIES("", "", CROSSED)},
    /* 4-bit elements whose rows along K cannot be copied: no two of a byte stay together */
    {SHAPE(96, 13, 8), TYPES(F16, I4), LIES("col_major", "", "")},
    {SHAPE(59, 32, 96), TYPES(E2M1, BF16), LIES("col_major", "", "")},
    {SHAPE(16, 64, 33), TYPES(E2M1, BF16)}, /* every other row begins inside a byte */
    {SHAPE(37, 193, 32), TYPES(F16, I4)},
    /* batch axes */
    {SHAPE(20, 24, 40), TYPES(BF16, BF16), .n_batch = 1, .batch = {5}},
    {SHAPE(20, 24, 40), TYPES(F16, F16), .n_batch = 2, .batch = {3, 4}, .shared = {false, true}},
    {SHAPE(20, 24, 64), TYPES_AND(F16, E2M1, [LLRT_DOT_SCALE_B] = LLRT_E8M0),
     .group = {{0}, {32, 1}}, .n_batch = 1, .batch = {3}, .shared = {true, false}},
    /* places that a batch axis moves within what an access takes: of operands, results and addends
     */
    {SHAPE(1, 4, 2), TYPES(F32, F32), LIES("", "", SUMMED), .n_batch = 1, .batch = {2}},
    {SHAPE(2, 4, 1), TYPES(F32, F32), LIES("", SUMMED, ""), .n_batch = 1, .batch = {2}},
    {SHAPE(2, 4, 1), TYPES_AND(F16, F16, [LLRT_DOT_C] = LLRT_F32), .storage[LLRT_DOT_C] = SUMMED,
     .n_batch = 1, .batch = {2}},
    {SHAPE(64, 64, 64), TYPES(E2M1, F32),
     LIES("storage(digits=[dim2:rest,dim1:rest,dim0:rest],tile=" SUMMED ",pad=0)", "", ""),
     .n_batch = 1, .batch = {2}}, /* within a byte */
    /* every tensor that a dot can have */
    {SHAPE(33, 40, 128), EVERY_TENSOR, .n_maps = 2, .map = {LLRT_MAP_ADD, LLRT_MAP_SCALE},
     .group = {{1, 32}, {64, 1}, {1, 8}}, .alpha = 0.5, .beta = 2},
    {SHAPE(1, 65, 96), EVERY_TENSOR, .n_maps = 2, .map = {LLRT_MAP_SCALE, LLRT_MAP_ADD},
     .group = {{1, 32}, {32, 1}, {1, -1}}, .n_batch = 1, .batch = {3}},
    {SHAPE(130, 96, 256), EVERY_TENSOR, LIES("scale_8x4", "col_major", "col_major"), .n_maps = 2,
     .map = {LLRT_MAP_ADD, LLRT_MAP_SCALE}, .group = {{1, 32}, {128, 32}, {1, 8}}, .n_batch = 1,
     .batch = {2}, .shared = {true, false}},
    /* eight, all in tiles: strides of nine digits, a few for each of their extents */
    {SHAPE(33, 65, 129),
     TYPES_AND(E4M3, U4, [LLRT_DOT_SCALE_A] = LLRT_E8M0, [LLRT_DOT_SCALE_B] = LLRT_F16,
               [LLRT_DOT_ZERO_B] = LLRT_U4, [LLRT_DOT_C] = LLRT_BF16, [LLRT_DOT_ADD] = LLRT_BF16),
     .group = {{1, 32}, {32, 1}}, .n_maps = 1, .map = {LLRT_MAP_ADD}, .n_batch = 2, .batch = {2, 3},
     .storage =
         {"scale_8x4", "scale_8x4", "transposed(scale_8x4)", "scale_8x4",
          [LLRT_DOT_SCALE_A] = "scale_128x4", [LLRT_DOT_SCALE_B] = "transposed(scale_128x4)",
          [LLRT_DOT_ZERO_B] = "transposed(scale_128x4)", [LLRT_DOT_ADD] = "transposed(scale_8x4)"}},
    /* operands and results that have no common refinement, but words, scales and addends stay where
       they lie */
    {SHAPE(9, 64, 96), MXFP4(BF16), LIES(BLOCKS("24", "3"), "", ""), .packed = true},
    {SHAPE(40, 96, 96), TYPES_AND(BF16, E4M3, [LLRT_DOT_C] = LLRT_F32),
     .storage = {BLOCKS("24", "10"), BLOCKS("12", "20"), BLOCKS("16", "16"), "scale_8x4"}},
    {SHAPE(40, 33, 80), TYPES(BF16, I4),
     LIES(BLOCKS("20", "10"), "", "")}, /* B's rows begin inside bytes: it is not copied */
    {SHAPE(40, 13, 4096), TYPES(F16, F16),
     LIES("", "storage(digits=[dim1:10,dim0:20,dim1:rest,dim0:rest],pad=0)",
          "scale_8x4")}, /* D alone, by shares */
    {SHAPE(8, 32, 80), TYPES(F64, F64),
     LIES("storage(digits=[dim1:40,dim0:rest,dim1:rest])", "",
          "")}, /* turns that end inside a digit */
    /* pads: of A beyond the extent that B's rule gives K; of D where there is one row; of a lone
       row of M */
    {SHAPE(256, 7, 7), TYPES(BF16, U8), LIES("hopper_value_w4", "", "S[(7,7):(1,9)]")},
    {SHAPE(1, 6, 8), TYPES(F32, F32),
     LIES("", "storage(digits=[dim1:rest,dim0:2,dim0:rest],pad=7)", "")},
    {SHAPE(5, 256, 65), TYPES_AND(F16, F16, [LLRT_DOT_D] = LLRT_F32),
     LIES("", "blackwell_mx4(pad=7)", "")},
    {SHAPE(5, 256, 0), TYPES_AND(F16, F16, [LLRT_DOT_D] = LLRT_F32),
     LIES("", "blackwell_mx4(pad=7)", "")},
    {SHAPE(1, 6, 8), TYPES(F32, F32),
     LIES("", "storage(digits=[dim2:rest,dim1:4,dim0:4,dim1:rest,dim0:rest],pad=7)", ""),
     .n_batch = 1, .batch = {3}},
    {SHAPE(1, 64, 256),
     TYPES_AND(
         F32, I8, [LLRT_DOT_D] = LLRT_I32, [LLRT_DOT_SCALE_B] = LLRT_E4M3, [LLRT_DOT_C] = LLRT_F32),
     LIES("",
          "storage(digits=[dim2:rest @ 4,dim1:1,dim1:2,dim0:2 @ 528,dim1:rest,dim0:rest],pad=7)",
          ""),
     .group = {{0}, {16, 128}}, .n_batch = 1, .batch = {2}, .shared = {true, false}, .alpha = 2},
    {SHAPE(1, 1, 512), TYPES_AND(BF16, I8, [LLRT_DOT_D] = LLRT_F16, [LLRT_DOT_SCALE_B] = LLRT_F16),
     LIES("col_major",
          "storage(digits=[dim0:rest,dim2:rest,dim1:5,dim1:rest],tile={offset:[[0,0,4],[2,0,0],[1,"
          "0,0],[0,0,1],[0,0,2]]}->[dim0:4,dim1:1,dim2:8],offset=[2],pad=23530)",
          ""),
     .group = {{0}, {32, 1}}, .n_batch = 1, .batch = {2}, .packed = true, .fast = true},
    /* scales whose group is all of K, or more: on the sums */
    {SHAPE(4, 40, 8), TYPES_AND(F32, I8, [LLRT_DOT_SCALE_B] = LLRT_BF16), .group = {{0}, {64, 1}}},
    {SHAPE(9, 40, 1),
     TYPES_AND(E4M3, U8, [LLRT_DOT_SCALE_A] = LLRT_F16, [LLRT_DOT_SCALE_B] = LLRT_F16,
               [LLRT_DOT_ZERO_B] = LLRT_I8),
     .group = {{1, 1}, {1, 1}}},
    {SHAPE(20, 48, 50),
     TYPES_AND(I8, I4, [LLRT_DOT_SCALE_A] = LLRT_BF16, [LLRT_DOT_SCALE_B] = LLRT_E4M3,
               [LLRT_DOT_D] = LLRT_F32),
     .group = {{1, 32}, {64, 1}}},
    {SHAPE(17, 48, 64), TYPES_AND(F16, E2M1, [LLRT_DOT_SCALE_B] = LLRT_E8M0),
     .group = {{0}, {64, 1}}, .packed = true},
    {SHAPE(5, 24, 33),
     TYPES_AND(F32, F16, [LLRT_DOT_SCALE_A] = LLRT_F16, [LLRT_DOT_SCALE_B] = LLRT_BF16),
     .group = {{4, 64}, {128, 16}}}, /* of wide elements */
    {SHAPE(4, 7, 16), TYPES_AND(BF16, U4, [LLRT_DOT_D] = LLRT_F32, [LLRT_DOT_SCALE_B] = LLRT_F32),
     .group = {{0}, {64, 128}}, SCALES_LIE("blackwell_mx4(pad=keep)")}, /* many turns of pads */
    {SHAPE(64, 31, 1), TYPES_AND(U4, E4M3, [LLRT_DOT_SCALE_B] = LLRT_F16),
     .storage[LLRT_DOT_A] = "storage(digits=[dim1:1,dim0:64],pad=0)", .group = {{0}, {64, 1}},
     SCALES_LIE("storage(digits=[dim0:4,dim0:2,dim0:3,dim1:rest],pad=0)")}, /* pads along K before
                                                                               columns */
    {SHAPE(2, 64, 128), TYPES(I32, I4),
     LIES("", "",
          "storage(digits=[dim3:2,dim2:32,dim3:2,dim1:rest,dim2:rest,dim0:rest],tile={offset:[[0,0,"
          "1,0],[0,1,0,0],[0,0,0,8],[0,0,0,4],[1,0,0,0],[0,0,2,0],[0,0,0,2],[0,0,0,1]]}->[dim0:2,"
          "dim1:2,dim2:4,dim3:16],swizzle=[0,2,2])"),
     .n_batch = 2, .batch = {2, 4}}, /* halves of bytes that columns exchange */
    /* operands that are copied, D's rule alone says what extents are: without positions along K; by
       shares of K */
    {SHAPE(5, 8, 0), TYPES(BF16, I8),
     LIES("storage(digits=[dim1:3,dim1:rest,dim0:rest],pad=0)", "",
          "storage(digits=[dim0:2,dim0:rest,dim1:rest],pad=keep)")},
    {SHAPE(31, 1, 116), TYPES_AND(E5M2, E4M3, [LLRT_DOT_C] = LLRT_F16),
     .storage = {"storage(digits=[dim0:5,dim0:rest,dim1:rest],tile={offset:[[1,0],[2,0],[4,0],[0,1]"
                 "]}->[dim0:8,dim1:2],pad=0)",
                 "S[(31,1):(1,31)]", "", "storage(digits=[dim0:31,dim0:rest,dim1:rest])"}},
    {SHAPE(16, 32, 32), NVFP4(F16),
     LIES("storage(digits=[dim1:rest,dim0:rest],tile={offset:[[0,1],[0,4],[0,2],[0,8]]}->[dim0:1,"
          "dim1:16])",
          "", ""),
     .packed = true}, /* runs of A in another order */
    {SHAPE(8, 4, 8), TYPES_AND(F32, F32, [LLRT_DOT_SCALE_A] = LLRT_F32),
     .group = {{4, -1}}}, /* scales of rows in groups, rows in lanes */
    /* many digits: with one of shares, of operands that are copied therefore */
    {SHAPE(9, 256, 256), MXFP4(BF16),
     .storage = {[LLRT_DOT_B] = HOPPER_VALUE, [LLRT_DOT_SCALE_B] = "transposed(hopper_scale)"},
     .twiddled = true, .n_batch = 1, .batch = {2}},
    {SHAPE(40, 256, 256), MXFP4(BF16),
     .storage = {[LLRT_DOT_B] = HOPPER_VALUE, [LLRT_DOT_SCALE_B] = "transposed(scale_128x4)"},
     .n_batch = 2, .batch = {2, 2}},
    /* sums in wider types */
    {SHAPE(20, 24, 40), TYPES(F32, F32), .accumulate = LLRT_F64},
    {SHAPE(20, 24, 40), TYPES(I8, I8), .accumulate = LLRT_I64},
    {SHAPE(20, 24, 256), TYPES(E4M3, E5M2), .fast = true},
    /* no more positions than a group has, of scales whose general kernels would share K; integers
       that would sum in i64 */
    {SHAPE(57, 2, 32),
     TYPES_AND(F32, U8, [LLRT_DOT_SCALE_B] = LLRT_E4M3, [LLRT_DOT_ZERO_B] = LLRT_U8),
     .group = {{0}, {128, 1}}},
    {SHAPE(1, 64, 128), TYPES_AND(F32, U4, [LLRT_DOT_SCALE_B] = LLRT_F16),
     .group = {{0}, {128, 1}}},
    {SHAPE(1, 144, 64),
     TYPES_AND(
         I8,
         U8, [LLRT_DOT_SCALE_B] = LLRT_E4M3, [LLRT_DOT_ZERO_B] = LLRT_I8, [LLRT_DOT_D] = LLRT_BF16),
     .group = {{0}, {65, 1}}},
    {SHAPE(9, 44, 64), TYPES_AND(I32, I8, [LLRT_DOT_SCALE_B] = LLRT_F16, [LLRT_DOT_D] = LLRT_F32),
     .group = {{0}, {-1, 1}}},
    {SHAPE(20, 24, 40), TYPES_AND(I8, I8, [LLRT_DOT_SCALE_B] = LLRT_BF16, [LLRT_DOT_D] = LLRT_F32),
     .group = {{0}, {64, 1}}, .accumulate = LLRT_F64},
    {SHAPE(1, 1, 1), TYPES_AND(F32, E4M3, [LLRT_DOT_SCALE_B] = LLRT_E8M0),
     LIES("transposed(hopper_scale)", "", ""), .group = {{0}, {64, 1}}, .packed = true},
    /* nothing along K: of scales in groups there are none, of those for all of K one; by kernels of
       several stages */
    {SHAPE(260, 48, 0), MXFP4(E4M3), .packed = true},
    {SHAPE(40, 24, 0),
     TYPES_AND(BF16, U4, [LLRT_DOT_SCALE_B] = LLRT_BF16, [LLRT_DOT_ZERO_B] = LLRT_U8,
               [LLRT_DOT_BIAS] = LLRT_F32),
     LIES(BLOCKS("20", "10"), "blackwell_mx4(pad=7)", ""), .group = {{0}, {128, 1}}},
    {SHAPE(37, 45, 0),
     TYPES_AND(
         I32,
         I8, [LLRT_DOT_SCALE_A] = LLRT_F32, [LLRT_DOT_SCALE_B] = LLRT_F16, [LLRT_DOT_D] = LLRT_F32),
     .group = {{1, -1}, {-1, 1}}},
    {SHAPE(20, 24, 40), TYPES_AND(I8, I8, [LLRT_DOT_SCALE_B] = LLRT_BF16, [LLRT_DOT_D] = LLRT_F32),
     .group = {{0}, {64, 1}}, .accumulate = LLRT_F32}, /* in i32 */
    /* a digit of rows, columns or K that is no power of two ends inside of tiles, or inside of the
       turns of a walk: boxes have no such ends */
    {SHAPE(33, 1, 16),
     TYPES_AND(E5M2, E4M3, [LLRT_DOT_SCALE_B] = LLRT_F16, [LLRT_DOT_ADD] = LLRT_F16),
     .storage[LLRT_DOT_ADD] = "storage(digits=[dim0:5,dim0:rest],pad=keep)",
     .group = {{0}, {-1, 1}}, .n_maps = 1, .map = {LLRT_MAP_ADD}, .packed = true,
     .data = DOT_SPECIAL},
    {SHAPE(128, 128, 192), TYPES(F16, F16),
     LIES("storage(digits=[dim1:48,dim1:rest @ 48,dim0:rest @ 192])", "", "")},
    {SHAPE(128, 128, 224), TYPES(BF16, BF16),
     LIES("storage(digits=[dim1:56,dim1:rest @ 56,dim0:rest @ 224])", "", "col_major")},
    {SHAPE(128, 128, 144), TYPES(F16, F16),
     LIES("storage(digits=[dim1:72,dim1:rest @ 72,dim0:rest @ 144])", "", "col_major")},
    {SHAPE(192, 128, 64), TYPES(F16, F16),
     LIES("storage(digits=[dim1:rest,dim0:96 @ 64,dim0:rest @ 6144])", "", "")},
    {SHAPE(400, 128, 64), TYPES(BF16, BF16),
     LIES("", "storage(digits=[dim0:200,dim1:rest,dim0:rest])", "")},
    {SHAPE(64, 400, 64), TYPES(F16, F16),
     LIES("", "", "storage(digits=[dim1:200,dim1:rest @ 200,dim0:rest @ 400])")},
};

const int dot_rows_count = sizeof dot_rows / sizeof *dot_rows;
