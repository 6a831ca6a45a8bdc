/* Named storages against the verified bit strings of data/engine_layouts.txt. */
#include "tests/layout/layout_text.h"

#include <llrt/storage_named.h>

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static llrt_storage storage_of(const char *text, int rank, const int64_t *shape) {
  llrt_storage storage;
  cr_assert(llrt_storage_parse(text, rank, shape, &storage) == LLRT_OK, "%s: %s", text,
            llrt_last_error());
  return storage;
}

/* One verified entry: where its line in the file begins, the storage, and the axes' letters there.
 */
typedef struct verified {
  const char *line, *text, *letters;
  int64_t shape[4];
} verified;

static const verified rows[] = {
    {"row-major", "row_major", "rc", {16, 32}},
    {"col-major", "col_major", "rc", {16, 32}},
    {"NHWC (C8", "nhwc", ".chw", {1, 8, 4, 4}},
    {"NHWC (C8", "channels_last", ".chw", {1, 8, 4, 4}},
    {"PyTorch channels_last", "channels_last", ".chw", {1, 8, 4, 4}},
    {"NCHW32", "trt_chw32", ".chw", {1, 64, 4, 4}},
    {"NCHW4", "trt_chw4", ".chw", {1, 16, 4, 4}},
    {"cublasLt COL32 (", "col32", "rc", {64, 64}},
    {"cublasLt COL4_4R2_8C", "col4_4r2_8c", "rc", {64, 64}},
    {"cublasLt COL32_2R_4R4", "col32_2r_4r4", "rc", {64, 64}},
    {"SF 128x4", "scale_128x4", "mk", {256, 16}},
    {"SF 8x4", "scale_8x4", "mk", {32, 16}},
    {"AITER shuffle_scale", "cdna4_scale", "mk", {64, 16}},
    {"AITER gfx1250 n32k4", "aiter_scale_n32k4", "mk", {64, 16}},
    {"triton HopperMXScale", "hopper_scale", "mk", {256, 8}},
    {"FlashInfer SM90 mixed scale", "flashinfer_sm90_scale", "nk", {128, 16}},
    {"DeepGEMM packed UE8M0", "deepgemm_ue8m0", "mk", {32, 16}},
    {"DeepGEMM UTCCP", "deepgemm_utccp", "m", {256}},
    {"Marlin 4-bit", "marlin_w4", "kn", {32, 128}},
    {"Marlin 8-bit", "marlin_w8", "kn", {32, 128}},
    {"vLLM gptq_marlin_repack", "marlin_w4", "kn", {32, 128}},
    {"Marlin scale_perm (", "marlin_scales", ".n", {1, 64}},
    {"Marlin scale_perm_single", "marlin_scales_single", ".n", {1, 32}},
    {"Marlin NVFP4", "marlin_nvfp4_scales", "gn", {4, 64}},
    {"GPTQ qweight", "gptq_w4", "kn", {16, 16}},
    {"AWQ qweight", "awq_w4", "kn", {4, 32}},
    {"EXL3", "exl3_16x16", "rc", {16, 16}},
    {"FT/TRT-LLM permute_B_rows int8", "ft_rows_w8", "k", {16}},
    {"FT/TRT-LLM permute_B_rows int4", "ft_rows_w4", "k", {32}},
    {"FT int4 register", "ft_registers_w4", "e", {8}},
    {"FT int8 register", "ft_registers_w8", "e", {4}},
    {"FT ColumnMajorTileInterleave<64,4>", "ft_columns_w4", "kn", {256, 8}},
    {"FT ColumnMajorTileInterleave<64,2>", "ft_columns_w8", "kn", {256, 8}},
    {"AITER shuffle_weight(16,16) bf16", "aiter_16x16(element_bits=16)", "nk", {32, 64}},
    {"AITER shuffle_weight(16,16) fp8", "aiter_16x16(element_bits=8)", "nk", {32, 64}},
    {"hipBLASLt COL16_4R8", "hipblaslt_col16_4r8", "rc", {64, 32}},
    {"hipBLASLt COL16_4R16", "hipblaslt_col16_4r16", "rc", {128, 32}},
    {"AITER guinterleave", "aiter_guinterleave", "gnk", {2, 32, 128}},
    {"AITER gfx1250 weight", "aiter_gfx1250_weight", "nk", {32, 64}},
    {"AITER mxfp8fp4_a", "aiter_gfx1250_a", "mk", {8, 256}},
    {"shuffle_matrix_a blk16", "shuffle_matrix_a_16", "r.", {32, 1}},
    {"shuffle_matrix_a blk32", "shuffle_matrix_a_32", "r.", {64, 1}},
    {"FlashInfer BlockMajorK", "block_major_k", "mk", {16, 512}},
    {"FlashInfer/TRTLLM SM90 int4", "flashinfer_sm90_w4", "rc", {32, 128}},
    {"FlashInfer SM90 fp4 interleave", "flashinfer_sm90_fp4", "rb", {32, 64}},
    {"triton HopperMXValue mma3", "hopper_value_mma3(pad=0)", "mb", {64, 64}},
    {"triton HopperMXValue mma2", "hopper_value_mma2(pad=0)", "mb", {64, 64}},
    {"triton BlackwellMX4Shuffled", "blackwell_mx4", "nk", {512, 128}},
    {"vLLM K cache", "vllm_paged_k", ".thd", {1, 16, 4, 64}},
    {"vLLM V cache", "vllm_paged_v", ".thd", {1, 16, 4, 64}},
    {"NHD [", "kv_nhd", ".thd", {1, 16, 4, 64}},
    {"HND [", "kv_hnd", ".thd", {1, 16, 4, 64}},
    {"AITER asm V", "aiter_paged_v", ".thd", {1, 16, 4, 64}},
    {"ggml q4_0x4 il4", "ggml_q4_0x4_il4(skip=0)", "r.b", {4, 1, 16}},
    {"ggml q4_0x4 il8", "ggml_q4_0x4_il8(skip=0)", "r.b", {4, 1, 16}},
    {"ggml q4_0x8 il8", "ggml_q4_0x8_il8(skip=0)", "r.b", {8, 1, 16}},
    {"ggml Q4_0 nibble", "gguf_q4_0", "e", {32}},
    {"MXFP4 OCP", "mxfp4", "e", {32}},
    {"wgmma/TMA K-major swizzle 32B", "tma_32b", "rb", {16, 32}},
    {"wgmma/TMA K-major swizzle 64B", "tma_64b", "rb", {16, 64}},
    {"wgmma/TMA K-major swizzle 128B", "tma_128b", "rb", {16, 128}},
    {"TMA 128B_ATOM_32B", "tma_128b_atom_32b", "rb", {16, 128}},
    {"mma.m16n8k16 A", "mma_m16n8k16_a", "mk", {16, 16}},
    {"mma.m16n8k16 B", "mma_m16n8k16_b", "kn", {16, 8}},
    {"mma.m16n8 C", "mma_m16n8_c", "mn", {16, 8}},
    {"mma.m16n8k32", "mma_m16n8k32_a", "mk", {16, 32}},
    {"wgmma m64nN C", "wgmma_m64_c", "mn", {64, 64}},
    {"wgmma RS A", "wgmma_m64k16_a", "mk", {64, 16}},
    {"CUTLASS ex55 atom (no shuffle)", "cutlass_atom_e2m1", "mk", {16, 16}},
    {"CUTLASS ex55 atom (ValueShuffle)", "cutlass_atom_int4", "mk", {16, 16}},
    {"Machete", "machete_w4", "nk", {128, 64}},
    {"oneDNN nChw16c", "onednn_nchw16c", ".chw", {1, 32, 4, 4}},
    {"oneDNN OIhw16i16o", "onednn_oihw16i16o", "oi..", {32, 32, 1, 1}},
    {"oneDNN OIhw4i16o4i", "onednn_oihw4i16o4i", "oi..", {32, 32, 1, 1}},
    {"oneDNN OIhw4i16o4i",
     "onednn(inner_blks=[4,16,4], inner_idxs=[1,0,1])",
     "oi..",
     {32, 32, 1, 1}},
    {"oneDNN BA16a64b2a", "onednn_ba16a64b2a", "kn", {64, 128}},
    {"Ascend FRACTAL_NZ", "fractal_nz", "mn", {32, 64}},
};
enum { N_ROWS = sizeof rows / sizeof rows[0] };

/* The line of the file that begins so; the caller frees it. */
static char *find_line(const char *start) {
  FILE *file = fopen(LLRT_TEST_DATA_DIR "/engine_layouts.txt", "r");
  cr_assert(file);
  char line[512];
  char *found = NULL;
  while (!found && fgets(line, sizeof line, file))
    if (strncmp(line, start, strlen(start)) == 0) found = strdup(line);
  fclose(file);
  cr_assert(found, "no line begins with %s", start);
  return found;
}

/* The bracket of bits in a line, "[k0 …]", cut out; a line has other brackets, too. */
static char *find_bits(char *line) {
  char *at = line;
  while (!(at[0] == '[' && strchr("0123456789", at[2]) && strchr(" ]^", at[3]))) at++;
  strchr(at, ']')[1] = 0;
  return at;
}

/* offset of the element that has 1 << bit on one axis and 0 on the others. */
static int64_t unit_offset(const llrt_storage *storage, const llrt_storage_binding *binding,
                           int axis, int bit) {
  int64_t coords[LLRT_MAX_RANK] = {0};
  coords[axis] = 1ll << bit;
  return llrt_storage_offset(storage, binding, coords);
}

/* "[k0 n3 b4^r2 …]": for each bit of the offset, the logical bits that it is the sum of. */
static void describe(const verified *row, const llrt_storage *storage,
                     const llrt_storage_binding *binding, char *text, size_t size) {
  size_t used = (size_t)snprintf(text, size, "[");
  for (int place = 0; 1ll << place < binding->span; place++) {
    const char *separator = place ? " " : "";
    for (int axis = storage->rank - 1; axis >= 0; axis--)
      for (int bit = 0; 1ll << bit < row->shape[axis]; bit++) {
        if (!(unit_offset(storage, binding, axis, bit) >> place & 1)) continue;
        used += (size_t)snprintf(text + used, size - used, "%s%c%d", separator, row->letters[axis],
                                 bit);
        separator = "^";
      }
  }
  snprintf(text + used, size - used, "]");
}

/* All elements lie where the sum of their bits' places says. */
static void expect_linear(const verified *row, const llrt_storage *storage,
                          const llrt_storage_binding *binding) {
  int64_t coords[LLRT_MAX_RANK] = {0}, n = 1;
  for (int axis = 0; axis < storage->rank; axis++) n *= row->shape[axis];
  for (int64_t i = 0; i < n; i++) {
    int64_t sum = 0;
    for (int axis = 0; axis < storage->rank; axis++)
      for (int bit = 0; coords[axis] >> bit; bit++)
        if (coords[axis] >> bit & 1) sum ^= unit_offset(storage, binding, axis, bit);
    cr_assert_eq(llrt_storage_offset(storage, binding, coords), sum, "%s", row->text);
    for (int axis = storage->rank - 1; axis >= 0 && ++coords[axis] == row->shape[axis]; axis--)
      coords[axis] = 0;
  }
}

Test(named, bit_strings) {
  for (size_t i = 0; i < N_ROWS; i++) {
    const verified *row = &rows[i];
    int rank = (int)strlen(row->letters);
    llrt_storage storage = storage_of(row->text, rank, row->shape);
    if (strstr(row->text, "hopper_value")) /* its atom, without the rows that it pads to */
      storage.digit[storage.n_digits - 2].extent = 1;
    llrt_storage_binding binding;
    cr_assert(llrt_storage_bind(&storage, rank, row->shape, NULL, &binding) == LLRT_OK, "%s: %s",
              row->text, llrt_last_error());
    char text[256], *line = find_line(row->line), *expected = find_bits(line);
    describe(row, &storage, &binding, text, sizeof text);
    cr_expect_str_eq(text, expected, "%s: %s, not %s", row->text, text, expected);
    expect_linear(row, &storage, &binding);
    free(line);
  }
}

/* Every entry of the table makes a storage that prints, parses back to an equal
 * one and hashes alike. */
Test(named, all_entries) {
  for (int i = 0; i < llrt_storage_named_count(); i++) {
    const llrt_named_storage *entry = llrt_storage_named_at(i);
    if (!entry->formula) continue;
    llrt_named_argument arguments[LLRT_NAMED_MAX_PARAMS];
    int n = 0;
    for (int k = 0; k < LLRT_NAMED_MAX_PARAMS && entry->param[k].name; k++)
      if (entry->param[k].preset < 0)
        arguments[n++] = (llrt_named_argument){entry->param[k].name, 16};
    llrt_storage storage, batched, back;
    char text[4096];
    cr_assert(llrt_storage_named(entry->name, 0, NULL, arguments, n, &storage) == LLRT_OK, "%s: %s",
              entry->name, llrt_last_error());
    if (storage.rank < LLRT_MAX_RANK)
      cr_assert(llrt_storage_named(entry->name, storage.rank + 1, NULL, arguments, n, &batched) ==
                LLRT_OK);
    cr_assert(llrt_storage_print(&storage, text, sizeof text, NULL) == LLRT_OK);
    cr_assert(llrt_storage_parse(text, storage.rank, NULL, &back) == LLRT_OK, "%s", text);
    cr_expect(llrt_storage_equal(&storage, &back), "%s", text);
    llrt_hash a = llrt_storage_hash(&storage), b = llrt_storage_hash(&back);
    cr_expect(a.low == b.low && a.high == b.high, "%s", text);
  }
  cr_expect(llrt_storage_named_at(-1) == NULL);
  cr_expect(llrt_storage_named_at(llrt_storage_named_count()) == NULL);
}

/* Divisibility rules, ranks, parameters. */
Test(named, refusals) {
  static const struct {
    const char *text;
    int rank;
    int64_t shape[2];
    const char *message;
  } bound[] = {
      {"marlin_w4", 2, {16, 32}, "axis 1 has 32 positions, no multiple of the storage's 64"},
      {"aiter_16x16(element_bits=8)",
       2,
       {16, 32},
       "axis 1 has 32 positions, no multiple of the storage's 64"},
      {"ft_w4", 2, {64, 4}, "axis 1 has 4 positions, no multiple of the storage's 8"},
      {"mxfp4", 1, {3}, "axis 0 has 3 positions, no multiple of the storage's 2"},
  };
  static const char *const parsed[][2] = {
      {"marlin_w4(pad=0)", "column 11: marlin_w4 has no pads: its extents must divide"},
      {"hopper_scale(warps=4)", "column 14: hopper_scale has no parameter 'warps'"},
      {"aiter_16x16", "column 1: aiter_16x16 needs element_bits=…: bits of an "
                      "element, 8 or 16"},
      {"kv_nhd", "column 1: kv_nhd has axes b t h d, the tensor rank 2"},
      {"scale_128x4(k_align=6)", "column 1: scale_128x4: 6 does not divide by 4"},
      {"col32(ld=1, ld=2)", "column 13: this is given twice"},
  };
  llrt_storage storage;
  llrt_storage_binding binding;
  for (size_t i = 0; i < sizeof bound / sizeof bound[0]; i++) {
    cr_assert(llrt_storage_parse(bound[i].text, bound[i].rank, NULL, &storage) == LLRT_OK, "%s",
              llrt_last_error());
    expect_error(llrt_storage_bind(&storage, bound[i].rank, bound[i].shape, NULL, &binding),
                 LLRT_INVALID_ARGUMENT, bound[i].message, bound[i].text);
  }
  for (size_t i = 0; i < sizeof parsed / sizeof parsed[0]; i++)
    expect_error(llrt_storage_parse(parsed[i][0], 2, NULL, &storage), LLRT_INVALID_ARGUMENT,
                 parsed[i][1], parsed[i][0]);
  cr_assert(llrt_storage_parse("scale_128x4(pad=keep)", 2, NULL, &storage) == LLRT_OK);
  cr_expect_eq(storage.pad, LLRT_PAD_KEEP);
}
