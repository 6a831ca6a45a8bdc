/* Shared-memory matrices of wgmma: the canonical layouts with their worked examples, and
 * descriptors. */
#include "tests/layout/layout_text.h"

#include <llrt/matrix.h>
#include <llrt/tirx.h>

#include <criterion/criterion.h>
#include <string.h>

/* The documented examples: the layout in elements as CuTe writes it, the swizzle being of bytes.
 * Offsets as the descriptor counts them, in 16 bytes; 0 where they do not count. */
static const struct example {
  const char *layout;
  int element_bits, swizzle_bytes;
  bool mn_major;
  int64_t mn, k, leading, stride;
} examples[] = {
    {"((8,2),(4,4)):((4,32),(1,64))", 32, 0, false, 16, 16, 16, 8},
    {"((8,2),(4,4)):((8,64),(1,4))", 32, 32, false, 16, 16, 0, 16},
    {"((8,2),(4,4)):((16,128),(1,4))", 32, 64, false, 16, 16, 0, 32},
    {"((8,2),(4,4)):((32,256),(1,4))", 32, 128, false, 16, 16, 0, 64},
    {"((8,1,2),(8,2)):((1,8,64),(8,128))", 16, 0, true, 16, 16, 16, 8},
    {"((8,2,2),(8,2)):((1,8,128),(16,256))", 16, 32, true, 32, 16, 16, 32},
    {"((8,4,2),(8,2)):((1,8,256),(32,512))", 16, 64, true, 64, 16, 32, 64},
    {"((8,8,2),(8,2)):((1,8,512),(64,1024))", 16, 128, true, 128, 16, 64, 128},
};
enum { N_EXAMPLES = sizeof examples / sizeof examples[0] };

static int log2_of(int x) { return x <= 1 ? 0 : 1 + log2_of(x / 2); }

/* The example with its swizzle, of elements. */
static llrt_storage storage_of(const struct example *example) {
  llrt_storage storage;
  cr_assert(llrt_storage_parse(example->layout, 2, NULL, &storage) == LLRT_OK, "%s",
            llrt_last_error());
  if (example->swizzle_bytes)
    storage.swizzle = (llrt_swizzle){(uint8_t)log2_of(128 / example->element_bits),
                                     (uint8_t)log2_of(example->swizzle_bytes / 16), 3, 0};
  return storage;
}

Test(matrix, documented_examples) {
  for (int i = 0; i < N_EXAMPLES; i++) {
    const struct example *row = &examples[i];
    llrt_storage storage = storage_of(row);
    llrt_matrix matrix;
    cr_assert(llrt_matrix_match(&storage, row->mn, row->k, row->element_bits, &matrix) == LLRT_OK,
              "%s: %s", row->layout, llrt_last_error());
    cr_expect_eq(matrix.swizzle_bytes, row->swizzle_bytes, "%s", row->layout);
    cr_expect_eq(matrix.mn_major, row->mn_major, "%s", row->layout);
    cr_expect_eq(matrix.leading_bytes, 16 * row->leading, "%s", row->layout);
    cr_expect_eq(matrix.stride_bytes, 16 * row->stride, "%s", row->layout);
    uint64_t descriptor;
    cr_assert(llrt_matrix_descriptor(&matrix, 0x2400, &descriptor) == LLRT_OK);
    static const int codes[] = {[0] = 0, [1] = 3, [2] = 2, [4] = 1};
    uint64_t leading = row->leading ? (uint64_t)row->leading : 1;
    cr_expect_eq(descriptor,
                 0x240 | leading << 16 | (uint64_t)row->stride << 32 |
                     (uint64_t)codes[row->swizzle_bytes / 32] << 62,
                 "%s: %llx", row->layout, (unsigned long long)descriptor);
  }
}

/* Every row, at every width: made, matched, as a storage and as a map over F2. */
Test(matrix, made_and_matched) {
  static const int widths[] = {0, 32, 64, 128}, bits[] = {4, 8, 16, 32, 64};
  for (int i = 0; i < 4 * 5 * 2; i++) {
    llrt_matrix matrix = {.element_bits = bits[i / 8],
                          .swizzle_bytes = widths[i % 4],
                          .mn_major = i / 4 % 2},
                found;
    int64_t unit = 128 / matrix.element_bits,
            wide = (widths[i % 4] ? widths[i % 4] / 16 : 1) * unit;
    int64_t mn = matrix.mn_major ? 2 * wide : 32;
    int64_t k = matrix.mn_major ? 16 : widths[i % 4] ? wide : 4 * unit;
    llrt_storage storage;
    llrt_layout layout;
    cr_assert(llrt_matrix_storage(&matrix, mn, k, &storage) == LLRT_OK, "%s", llrt_last_error());
    cr_assert(llrt_matrix_match(&storage, mn, k, matrix.element_bits, &found) == LLRT_OK, "%s",
              llrt_last_error());
    cr_expect(found.swizzle_bytes == matrix.swizzle_bytes && found.mn_major == matrix.mn_major);
    cr_assert(llrt_storage_to_layout(&storage, 2, (int64_t[]){mn, k}, &layout) == LLRT_OK, "%s",
              llrt_last_error());
    llrt_matrix again;
    cr_assert(llrt_matrix_match_layout(&layout, matrix.element_bits, &again) == LLRT_OK, "%s",
              llrt_last_error());
    cr_expect(again.swizzle_bytes == found.swizzle_bytes && again.mn_major == found.mn_major &&
              again.leading_bytes == found.leading_bytes &&
              again.stride_bytes == found.stride_bytes);
  }
}

/* The byte at (r, b) of a K-major tile of 128-byte rows: its 16-byte unit is XORed with the row. */
Test(matrix, agrees_with_the_image_of_a_swizzle) {
  llrt_storage image, made;
  const llrt_matrix matrix = {.element_bits = 8, .swizzle_bytes = 128};
  bool same;
  cr_assert(llrt_storage_parse("tma_128b", 2, NULL, &image) == LLRT_OK);
  cr_assert(llrt_matrix_storage(&matrix, 64, 128, &made) == LLRT_OK);
  cr_assert(llrt_storage_same_bytes(&image, &made, 2, (int64_t[]){64, 128}, NULL, NULL, &same) ==
            LLRT_OK);
  cr_expect(same);
}

/* As CUTLASS tiles a shape with a K-major atom: rows of 8 first, then the next span along k. */
Test(matrix, wider_than_a_span) {
  static const int widths[] = {32, 64, 128}, bits[] = {4, 8, 16, 32, 64};
  for (int i = 0; i < 15; i++) {
    int64_t unit = 128 / bits[i / 3], units = widths[i % 3] / 16, span = units * unit;
    const llrt_matrix matrix = {.element_bits = bits[i / 3], .swizzle_bytes = widths[i % 3]};
    llrt_storage storage;
    llrt_storage_binding binding;
    llrt_matrix found;
    uint64_t descriptor;
    const int64_t shape[2] = {24, 3 * span};
    cr_assert(llrt_matrix_storage(&matrix, shape[0], shape[1], &storage) == LLRT_OK, "%s",
              llrt_last_error());
    cr_assert(llrt_storage_bind(&storage, 2, shape, NULL, &binding) == LLRT_OK);
    cr_expect_eq(binding.span, shape[0] * shape[1]);
    for (int64_t r = 0; r < shape[0]; r++)
      for (int64_t k = 0; k < shape[1]; k++) {
        int64_t line = (k / span * shape[0] + r) * span * bits[i / 3] / 8 / 128; /* of 128 bytes */
        int64_t place = (k / span * shape[0] + r) * span +
                        ((k % span / unit) ^ (line % units)) * unit + k % unit;
        cr_assert_eq(llrt_storage_offset(&storage, &binding, (int64_t[]){r, k}), place,
                     "%d, %d bits", widths[i % 3], bits[i / 3]);
      }
    cr_assert(llrt_matrix_match(&storage, shape[0], shape[1], bits[i / 3], &found) == LLRT_OK, "%s",
              llrt_last_error());
    cr_expect(found.swizzle_bytes == widths[i % 3] && !found.mn_major);
    cr_expect_eq(found.leading_bytes, shape[0] * widths[i % 3]);
    cr_expect_eq(found.stride_bytes, 8 * widths[i % 3]);
    cr_assert(llrt_matrix_descriptor(&found, 0, &descriptor) == LLRT_OK);
    cr_expect_eq(descriptor >> 16 & 0x3fff, 1, "no instruction reads more than one span");
  }
}

Test(matrix, text) {
  static const struct {
    const char *text;
    int64_t mn, k;
    llrt_matrix matrix;
  } rows[] = {
      {"wgmma_shared(major=k, swizzle_bytes=128, element_bits=16)",
       64,
       128,
       {16, 128, false, 0, 0, {0}}},
      {"wgmma_shared(major=mn, swizzle_bytes=0, element_bits=32)",
       16,
       24,
       {32, 0, true, 0, 0, {0}}},
      {"wgmma_shared(element_bits=16, stride_bytes=512, leading_bytes=256, swizzle_bytes=32, "
       "major=mn)",
       32,
       16,
       {16, 32, true, 256, 512, {0}}},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    llrt_storage made, parsed;
    const int64_t shape[2] = {rows[i].mn, rows[i].k};
    cr_assert(llrt_matrix_storage(&rows[i].matrix, rows[i].mn, rows[i].k, &made) == LLRT_OK);
    cr_assert(llrt_storage_parse(rows[i].text, 2, shape, &parsed) == LLRT_OK, "%s",
              llrt_last_error());
    cr_expect(llrt_storage_equal(&made, &parsed), "%s", rows[i].text);
  }
  static const char *const wrong[][2] = {
      {"wgmma_shared(major=n)", "column 20: expected k or mn"},
      {"wgmma_shared(major=k)", "column 1: wgmma_shared needs swizzle_bytes"},
      {"wgmma_shared(major=k, major=k)", "column 23: this is given twice"},
      {"wgmma_shared(swizzle=0)", "column 14: expected major, swizzle_bytes, element_bits, "
                                  "leading_bytes, stride_bytes or extents"},
      {"wgmma_shared(major=k, swizzle_bytes=32, element_bits=16)",
       "column 1: wgmma_shared needs a shape or extents of 2 axes, mn and k"},
      {"wgmma_shared(major=k, swizzle_bytes=32, element_bits=16, extents=[8,24])",
       "column 1: a matrix of 8 x 24 is not made of atoms of 8 x 16"},
  };
  llrt_storage out;
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
    expect_error(llrt_storage_parse(wrong[i][0], 0, NULL, &out), LLRT_INVALID_ARGUMENT, wrong[i][1],
                 wrong[i][0]);
  cr_expect(llrt_storage_parse("wgmma_shared(major=k, swizzle_bytes=32, element_bits=16, "
                               "extents=[8,16])",
                               0, NULL, &out) == LLRT_OK,
            "%s", llrt_last_error());
}

Test(matrix, refusals) {
  llrt_storage storage;
  llrt_matrix matrix;
  uint64_t descriptor;
  cr_assert(llrt_storage_row_major(2, &storage) == LLRT_OK);
  expect_error(
      llrt_matrix_match(&storage, 16, 64, 16, &matrix), LLRT_UNSUPPORTED,
      "no canonical layout: the nearest, K-major with a swizzle of 0 bytes, has element (1,0) "
      "at 8, not 64",
      "row_major");
  expect_error(llrt_matrix_match(&storage, 5, 3, 16, &matrix), LLRT_UNSUPPORTED,
               "5 x 3 elements of 16 bits are not whole atoms of any canonical layout", "5 x 3");
  expect_error(llrt_matrix_match(&storage, 16, 64, 12, &matrix), LLRT_INVALID_ARGUMENT,
               "elements of 12 bits; a matrix has 4, 8, 16, 32 or 64", "bits");
  matrix = (llrt_matrix){.element_bits = 16, .swizzle_bytes = 48};
  expect_error(llrt_matrix_storage(&matrix, 16, 64, &storage), LLRT_INVALID_ARGUMENT,
               "there is no swizzle of 48 bytes", "swizzle");
  matrix = (llrt_matrix){.element_bits = 16, .stride_bytes = 8};
  expect_error(llrt_matrix_descriptor(&matrix, 0, &descriptor), LLRT_INVALID_ARGUMENT,
               "offsets 0 and 8 are not both multiples of 16 bytes", "stride");
  matrix = (llrt_matrix){.element_bits = 16, .stride_bytes = 1 << 18};
  expect_error(llrt_matrix_descriptor(&matrix, 0, &descriptor), LLRT_INVALID_ARGUMENT,
               "an address or offset has more than 18 bits", "large");
  matrix = (llrt_matrix){.element_bits = 16, .swizzle_bytes = 128, .stride_bytes = 1024};
  cr_assert(llrt_matrix_descriptor(&matrix, 0x480, &descriptor) == LLRT_OK);
  cr_expect_eq(descriptor >> 49 & 7, 1, "base offset of a pattern 128 bytes past its boundary");
}
