/* Shared-memory matrices of wgmma: the canonical layouts with their worked examples, and descriptors. */
#include "tests/layout/layout_text.h"

#include <llrt/matrix.h>
#include <llrt/tirx.h>

#include <criterion/criterion.h>
#include <string.h>

/* The documented examples: the layout in elements as CuTe writes it, the swizzle being of bytes. Offsets
 * as the descriptor counts them, in 16 bytes; 0 where they do not count. */
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
    cr_expect_eq(descriptor, 0x240 | leading << 16 | (uint64_t)row->stride << 32 |
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
    int64_t unit = 128 / matrix.element_bits, wide = (widths[i % 4] ? widths[i % 4] / 16 : 1) * unit;
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
              again.leading_bytes == found.leading_bytes && again.stride_bytes == found.stride_bytes);
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

Test(matrix, refusals) {
  llrt_storage storage;
  llrt_matrix matrix;
  uint64_t descriptor;
  cr_assert(llrt_storage_row_major(2, &storage) == LLRT_OK);
  expect_error(llrt_matrix_match(&storage, 16, 64, 16, &matrix), LLRT_UNSUPPORTED,
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
