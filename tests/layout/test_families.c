/* Families by parameters and as text, at shapes above and below the tile, and what they refuse. The
 * rules themselves are checked against recorded results in test_recorded.c. */
#include "tests/layout/layout_text.h"

#include "base/bits.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static llrt_layout parsed(const char *text, int rank, const int64_t *shape) {
  llrt_layout layout;
  cr_assert(llrt_layout_parse(text, rank, shape, &layout) == LLRT_OK, "%s: %s", text,
            llrt_last_error());
  return layout;
}

static void expect_same(llrt_status status, const llrt_layout *made, const char *text, int rank,
                        const int64_t *shape) {
  cr_assert(status == LLRT_OK, "%s: %s", text, llrt_last_error());
  llrt_layout expected = parsed(text, rank, shape);
  cr_expect(llrt_layout_equal(made, &expected), "%s\n  is       %s\n  expected %s", text,
            text_of(made), text_of(&expected));
}

/* ---- parameters and text are the same ---- */

static const llrt_cluster_params cluster = {{2, 2}, {2, 1}, {1, 0}};

Test(families, registers_by_parameters) {
  const int64_t shape[] = {128, 64};
  llrt_layout out;
  llrt_blocked_params blocked = {0, 2, {1, 8}, {4, 8}, {4, 1}, {1, 0}, cluster};
  expect_same(llrt_layout_blocked(&blocked, shape, &out), &out,
              "blocked(size_per_thread=[1,8], threads_per_warp=[4,8], warps_per_cta=[4,1], "
              "order=[1,0], ctas_per_cga=[2,2], cta_split=[2,1], cta_order=[1,0])",
              2, shape);
  llrt_nvmma_params wgmma = {
      .rank = 2, .version = 3, .warps_per_cta = {4, 1}, .instr_shape = {16, 64, 16}};
  expect_same(llrt_layout_nvmma(&wgmma, shape, &out), &out,
              "nvmma(version=[3,0], warps_per_cta=[4,1], instr_shape=[16,64,16])", 2, shape);
  llrt_amd_mma_params mfma = {.rank = 2,
                              .version = 3,
                              .warps_per_cta = {2, 2},
                              .tiles_per_warp = {2, 1},
                              .instr_shape = {16, 16, 4},
                              .transposed = true,
                              .element_bits = 64};
  expect_same(llrt_layout_mfma(&mfma, shape, &out), &out,
              "mfma(version=3, instr_shape=[16,16,4], transposed=true, warps_per_cta=[2,2], "
              "tiles_per_warp=[2,1], element_bits=64)",
              2, shape);
  llrt_amd_mma_params wmma = {.rank = 2, .version = 2, .warps_per_cta = {2, 2}};
  expect_same(llrt_layout_wmma(&wmma, shape, &out), &out, "wmma(version=2, warps_per_cta=[2,2])", 2,
              shape);
  llrt_dot_operand_params dot = {.operand = 1, .k_width = 8, .parent = {.wmma = &wmma}};
  expect_same(llrt_layout_dot(&dot, 2, shape, &out), &out,
              "dot(operand=1, k_width=8, parent=wmma(version=2, warps_per_cta=[2,2]))", 2, shape);
  llrt_slice_params slice = {.dim = 1, .parent = {.dot = &dot}};
  expect_same(llrt_layout_slice(&slice, 1, shape, &out), &out,
              "slice(dim=1, parent=dot(operand=1, k_width=8, parent=wmma(version=2, "
              "warps_per_cta=[2,2])))",
              1, shape);
}

Test(families, memories_by_parameters) {
  const int64_t shape[] = {128, 64};
  llrt_layout out;
  llrt_swizzle_params swizzle = {0, 2, 8, 2, 4, {1, 0}, cluster};
  expect_same(llrt_layout_swizzled_shared(&swizzle, shape, &out), &out,
              "swizzled_shared(vec=8, per_phase=2, max_phase=4, order=[1,0], ctas_per_cga=[2,2], "
              "cta_split=[2,1], cta_order=[1,0])",
              2, shape);
  expect_same(llrt_layout_rotating_shared(&swizzle, shape, &out), &out,
              "rotating_shared(vec=8, per_phase=2, max_phase=4, order=[1,0], ctas_per_cga=[2,2], "
              "cta_split=[2,1], cta_order=[1,0])",
              2, shape);
  llrt_nvmma_shared_params nvmma = {
      .rank = 2, .swizzle_bytes = 64, .element_bits = 16, .transposed = true};
  expect_same(llrt_layout_nvmma_shared(&nvmma, shape, &out), &out,
              "nvmma_shared(swizzle_bytes=64, element_bits=16, transposed=true)", 2, shape);
  llrt_tensor_memory_params memory = {.block_m = 64, .block_n = 32, .col_stride = 2};
  expect_same(llrt_layout_tensor_memory(&memory, shape, &out), &out,
              "tensor_memory(block_m=64, block_n=32, col_stride=2)", 2, shape);
  expect_same(llrt_layout_tensor_memory_scales(true, &cluster, shape, &out), &out,
              "tensor_memory_scales(order=k_then_mn, ctas_per_cga=[2,2], cta_split=[2,1], "
              "cta_order=[1,0])",
              2, shape);
}

/* ---- every family at every shape ---- */

static const char *const families[] = {
    "blocked(size_per_thread=[1,8], threads_per_warp=[4,8], warps_per_cta=[4,1], order=[1,0])",
    "nvmma(version=[2,0], warps_per_cta=[2,4], instr_shape=[16,8])",
    "nvmma(version=[3,0], warps_per_cta=[4,2], instr_shape=[16,64,16])",
    "mfma(version=1, instr_shape=[32,32,8], warps_per_cta=[2,2])",
    "mfma(version=4, instr_shape=[16,16,32], transposed=true, warps_per_cta=[4,2], "
    "tiles_per_warp=[2,2])",
    "mfma(version=3, instr_shape=[16,16,4], warps_per_cta=[1,4], element_bits=64)",
    "mfma(version=3, instr_shape=[4,64,4], warps_per_cta=[2,1])",
    "wmma(version=1, warps_per_cta=[2,2])",
    "wmma(version=3, instr_shape=[32,16,128], transposed=true, warps_per_cta=[1,8])",
    "dot(operand=0, k_width=2, parent=nvmma(version=[2,0], warps_per_cta=[2,2], "
    "instr_shape=[16,8]))",
    "dot(operand=1, k_width=4, parent=mfma(version=2, instr_shape=[64,4,4], transposed=true, "
    "warps_per_cta=[2,2]))",
    "dot(operand=0, k_width=16, parent=mfma(version=4, instr_shape=[64,4,4], warps_per_cta=[1,2]))",
    "dot(operand=0, k_width=8, parent=wmma(version=2, instr_shape=[32,16,32], warps_per_cta=[2,2], "
    "tiles_per_warp=[2,2]))",
    "dot(operand=1, parent=blocked(size_per_thread=[4,4], threads_per_warp=[4,8], "
    "warps_per_cta=[2,2], order=[1,0]))",
    "swizzled_shared(vec=8, per_phase=1, max_phase=8, order=[1,0])",
    "swizzled_shared(vec=4, per_phase=2, max_phase=4, order=[0,1])",
    "rotating_shared(vec=4, per_phase=1, max_phase=4, order=[1,0])",
    "nvmma_shared(swizzle_bytes=0, element_bits=8)",
    "nvmma_shared(swizzle_bytes=32, element_bits=4)",
    "nvmma_shared(swizzle_bytes=64, element_bits=16, transposed=true)",
    "nvmma_shared(swizzle_bytes=128, element_bits=32)",
    "nvmma_shared(swizzle_bytes=128, element_bits=8, fp4_padded=true)",
    "tensor_memory(block_m=128, block_n=64)",
    "tensor_memory(block_m=64, block_n=16, col_stride=2)",
    "tensor_memory(block_m=64, block_n=32, two_ctas=true, fp4_padded=true)",
    "tensor_memory_scales(order=mn_then_k)",
    "tensor_memory_scales(order=k_then_mn)",
};

/* Every element has a place, from 1 x 1 to four times the largest tile. */
Test(families, hold_every_element_of_every_shape) {
  for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
    for (int m = 0; m <= 9; m++)
      for (int n = 0; n <= 9; n++) {
        int64_t shape[] = {1 << m, 1 << n};
        if (strstr(families[i], "two_ctas") && n == 0) continue; /* needs two columns */
        llrt_layout layout = parsed(families[i], 2, shape);
        cr_expect(llrt_layout_is_surjective(&layout), "%s at 2^%d x 2^%d", families[i], m, n);
        cr_expect(layout.out[0].bits == m && layout.out[1].bits == n);
      }
}

/* A split over the blocks of a cluster divides the tensor evenly, whatever the family. */
Test(families, blocks_divide_the_tensor) {
  const int64_t shape[] = {256, 256};
  for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
    char text[512];
    if (strncmp(families[i], "dot", 3) == 0) continue; /* its parent takes these */
    snprintf(text, sizeof text, "%.*s, ctas_per_cga=[2,4], cta_split=[2,2], cta_order=[1,0])",
             (int)strlen(families[i]) - 1, families[i]);
    llrt_layout layout = parsed(text, 2, shape);
    int index = llrt_layout_in_index(&layout, "block");
    cr_assert_geq(index, 0);
    cr_expect(llrt_layout_is_surjective(&layout), "%s", text);
    uint64_t *block = layout.column + llrt_layout_in_shift(&layout, index);
    cr_expect_eq(layout.in[index].bits, 3);
    cr_expect_eq(block[0], 1ull << 15, "%s: the fastest axis first", text);
    cr_expect_eq(block[1], 0, "the rest of it are copies");
    cr_expect_eq(block[2], 1ull << 7, "%s", text);
  }
}

/* ---- rules by their formulas ---- */

/* Offset o of a swizzled layout is row o / columns, and column (o % columns) xor the phase's
 * vectors. */
static void check_swizzle(int64_t vec, int64_t per_phase, int64_t max_phase, bool rotating) {
  int64_t shape[] = {64, 64};
  llrt_swizzle_params params = {
      .rank = 2, .vec = vec, .per_phase = per_phase, .max_phase = max_phase, .order = {1, 0}};
  llrt_layout layout;
  cr_assert((rotating ? llrt_layout_rotating_shared
                      : llrt_layout_swizzled_shared)(&params, shape, &layout) == LLRT_OK);
  for (int64_t offset = 0; offset < 4096; offset++) {
    int64_t row = offset / 64, phase = row / per_phase % max_phase;
    if (rotating) phase ^= row / per_phase / max_phase % max_phase;
    int64_t column = offset % 64 ^ phase * vec % 64;
    cr_assert_eq(llrt_layout_apply_flat(&layout, (uint64_t)offset), (uint64_t)(row | column << 6));
  }
}

Test(families, swizzles_by_formula) {
  for (int64_t vec = 1; vec <= 16; vec *= 2)
    for (int64_t per_phase = 1; per_phase <= 8; per_phase *= 2)
      for (int64_t max_phase = 1; max_phase <= 8; max_phase *= 2)
        for (int rotating = 0; rotating < 2; rotating++)
          check_swizzle(vec, per_phase, max_phase, rotating);
}

/* The swizzle modes of the tensor memory accelerator: 16-byte units are XORed by bits 7 and up
 * of the byte address, one to three of them. */
Test(families, nvmma_shared_by_formula) {
  for (int element = 8; element <= 64; element *= 2)
    for (int swizzle = 32; swizzle <= 128; swizzle *= 2) {
      int64_t columns = 8 * swizzle / element, shape[] = {64, columns};
      llrt_nvmma_shared_params params = {
          .rank = 2, .swizzle_bytes = swizzle, .element_bits = element};
      llrt_layout layout;
      cr_assert(llrt_layout_nvmma_shared(&params, shape, &layout) == LLRT_OK);
      for (int64_t offset = 0; offset < 64 * columns; offset++) {
        int64_t byte = offset * element / 8;
        int64_t plain = byte ^ ((byte >> 7 & (swizzle / 16 - 1)) << 4);
        int64_t element_at = plain * 8 / element;
        uint64_t at = llrt_layout_apply_flat(&layout, (uint64_t)offset);
        cr_assert_eq(at, (uint64_t)(element_at / columns | element_at % columns << 6));
      }
    }
}

Test(families, refuse) {
  static const struct {
    const char *text, *message;
  } rows[] = {
      {"mfma(version=5, instr_shape=[32,32,8], warps_per_cta=[1,1])",
       "column 1: mfma version 5: there are 1 to 4"},
      {"mfma(version=3, instr_shape=[4,4,4], warps_per_cta=[1,1])",
       "column 1: an instruction of 4 x 4 does not fill 64 lanes"},
      {"mfma(version=3, instr_shape=[32,32,8], warps_per_cta=[1,1], element_bits=16)",
       "column 1: element_bits 16 of mfma is neither 32 nor 64"},
      {"wmma(version=1, instr_shape=[32,16,16], warps_per_cta=[1,1])",
       "column 1: wmma of 32 x 16: it is 16 x 16, or 32 x 16 from version 2 on"},
      {"swizzled_shared(vec=3, per_phase=1, max_phase=1, order=[1,0])",
       "column 1: vec 3 is no power of two up to 2^32"},
      {"nvmma_shared(swizzle_bytes=16, element_bits=16)",
       "column 1: swizzle_bytes 16 is none of 0, 32, 64, 128"},
      {"nvmma_shared(swizzle_bytes=128, element_bits=12)",
       "column 1: element_bits 12 is none of 4, 8, 16, 32, 64, 128"},
      {"nvmma_shared(swizzle_bytes=128, element_bits=16, fp4_padded=true)",
       "column 1: fp4_padded needs element_bits 8 and a swizzle"},
      {"nvmma_shared(swizzle_bytes=128, element_bits=16, transposed=yes)",
       "column 61: expected false or true"},
      {"tensor_memory(block_m=32, block_n=64)", "column 1: block_m 32 is neither 64 nor 128"},
      {"tensor_memory_scales(order=[0,1])", "column 28: expected mn_then_k or k_then_mn"},
      {"slice(dim=0, parent=swizzled_shared(vec=1, per_phase=1, max_phase=1, order=[2,1,0]))",
       "column 1: slice: its parent holds no registers"},
  };
  const int64_t shape[] = {64, 64};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    llrt_layout out;
    cr_expect(llrt_layout_parse(rows[i].text, 2, shape, &out) != LLRT_OK);
    cr_expect(strcmp(said(), rows[i].message) == 0, "%s\n  says     %s\n  expected %s",
              rows[i].text, said(), rows[i].message);
  }
  llrt_layout out;
  llrt_dot_operand_params none = {.operand = 0, .k_width = 2};
  cr_expect(llrt_layout_dot(&none, 2, shape, &out) == LLRT_INVALID_ARGUMENT);
  cr_expect(llrt_layout_dot(NULL, 2, shape, &out) == LLRT_INVALID_ARGUMENT);
  cr_expect(llrt_layout_mfma(NULL, shape, &out) == LLRT_INVALID_ARGUMENT);
  cr_expect(llrt_layout_nvmma_shared(&(llrt_nvmma_shared_params){.rank = 9}, shape, &out) ==
            LLRT_INVALID_ARGUMENT);
  llrt_slice_params endless = {.dim = 0};
  endless.parent.slice = &endless;
  cr_expect(llrt_layout_slice(&endless, 1, shape, &out) == LLRT_INVALID_ARGUMENT);
}
