/* Storages beyond digits and a tile: pads, swizzles, offsets, replicas; sizes; whether bytes are
 * the same. */
#include "tests/layout/layout_text.h"

#include <llrt/storage.h>

#include <criterion/criterion.h>
#include <string.h>

static llrt_storage storage_of(const char *text, int rank) {
  llrt_storage storage;
  cr_assert(llrt_storage_parse(text, rank, NULL, &storage) == LLRT_OK, "%s: %s", text,
            llrt_last_error());
  return storage;
}

Test(storage_more, pads) {
  static const struct {
    const char *text;
    int64_t shape[2], padded[2], span;
  } rows[] = {
      {"row_major", {3, 5}, {3, 5}, 15},
      {"scale_128x4", {1, 1}, {128, 4}, 512},
      {"scale_128x4", {129, 9}, {256, 12}, 3072},
      {"scale_128x4(k_align=8)", {128, 9}, {128, 16}, 2048},
      {"aiter_scale", {32, 8}, {256, 8}, 2048},
      {"scale_128x4", {0, 4}, {0, 4}, 0},
      {"storage(digits=[dim1: 48, dim0: 3], pad=7)", {2, 1}, {3, 48}, 144},
      {"storage(digits=[dim1: rest, dim0: rest], swizzle=[1,2,3])", {3, 3}, {3, 3}, 16},
      {"storage(digits=[dim1: rest, dim0: rest], offset=[10])", {2, 2}, {2, 2}, 14},
      {"storage(digits=[dim1: rest, replica: 3 @ 8, dim0: rest])", {2, 4}, {2, 4}, 44},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    llrt_storage storage = storage_of(rows[i].text, 2);
    llrt_storage_binding binding;
    cr_assert(llrt_storage_bind(&storage, 2, rows[i].shape, NULL, &binding) == LLRT_OK, "%s: %s",
              rows[i].text, llrt_last_error());
    cr_expect_eq(binding.span, rows[i].span, "%s: %lld", rows[i].text, (long long)binding.span);
    cr_expect(memcmp(binding.padded, rows[i].padded, sizeof rows[i].padded) == 0, "%s",
              rows[i].text);
    int64_t bytes;
    cr_assert(llrt_storage_bytes(&binding, 4, &bytes) == LLRT_OK);
    cr_expect_eq(bytes, (rows[i].span + 1) / 2);
  }
  llrt_storage storage = storage_of("storage(digits=[dim1: 48, dim0: 3], pad=7)", 2);
  llrt_storage_binding binding;
  expect_error(llrt_storage_bind(&storage, 2, (int64_t[]){2, 49}, NULL, &binding),
               LLRT_INVALID_ARGUMENT, "axis 1 has 49 positions, its storage 48", "49");
}

/* A digit that counts down: places, bounds and the way they are told to others. */
Test(storage_more, reversed) {
  llrt_storage storage =
      storage_of("storage(digits=[dim1: 2 reversed, dim1: rest, dim0: 3 reversed @ 16, "
                 "dim0: rest], offset=[5])",
                 2);
  const int64_t shape[2] = {6, 8};
  llrt_storage_binding binding;
  cr_assert(llrt_storage_bind(&storage, 2, shape, NULL, &binding) == LLRT_OK, "%s",
            llrt_last_error());
  cr_expect_eq(binding.span, 5 + 7 + 2 * 16 + 48 + 1, "%lld", (long long)binding.span);
  for (int64_t i = 0; i < 6; i++)
    for (int64_t j = 0; j < 8; j++) {
      int64_t wanted = 5 + (1 - j % 2) + j / 2 * 2 + (2 - i % 3) * 16 + i / 3 * 48;
      cr_expect_eq(llrt_storage_offset(&storage, &binding, (int64_t[]){i, j}), wanted);
      cr_expect(wanted < binding.span);
    }
}

Test(storage_more, equal_rules) {
  static const struct {
    const char *a, *b;
    bool equal;
  } rows[] = {
      {"storage(digits=[dim1: 3, dim1: 5, dim0: rest])", "storage(digits=[dim1: 15, dim0: rest])",
       true},
      {"storage(digits=[dim0: 4 @ 8, dim1: 8 @ 1])", "storage(digits=[dim1: 8 @ 1, dim0: 4 @ 8])",
       true},
      {"storage(digits=[dim1: 2 @ 4, dim1: 2 @ 1, dim0: 2 @ 2])",
       "{offset: [[0,2],[1,0],[0,1]]} -> [dim0:2, dim1:4]", true},
      {"storage(digits=[dim1: 12 @ 1])",
       "storage(digits=[dim1: 3], tile={offset: [[0,1],[0,2]]} -> [dim0:1, dim1:4])", true},
      {"strided([5,1])", "storage(digits=[dim0: rest @ 5, dim1: rest @ 1])", true},
      {"storage(digits=[dim1: 4 reversed, dim1: 3 reversed])",
       "storage(digits=[dim1: 12 reversed])", true},
      {"storage(digits=[dim1: 4 reversed, dim1: 3])", "storage(digits=[dim1: 12])", false},
      {"storage(digits=[dim1: 12 reversed])", "storage(digits=[dim1: 12])", false},
      {"storage(digits=[dim1: 1 reversed, dim0: rest])", "storage(digits=[dim1: 1, dim0: rest])",
       true},
      /* which copy is the first, and so is read */
      {"storage(digits=[dim1: rest, replica: 2 reversed @ 8])",
       "storage(digits=[dim1: rest, replica: 2 @ 8])", false},
      {"storage(digits=[dim1: rest, dim0: rest reversed])", "row_major", false},
      /* a swizzle that the tile holds is part of it */
      {"Swizzle<1,0,1> o (2,2):(2,1)", "{offset: [[0,1],[1,1]]} -> [dim0:2, dim1:2]", true},
      {"storage(digits=[dim1: 2, dim0: 2, dim1: rest], swizzle=[0,1,1])",
       "storage(digits=[dim1: rest], tile={offset: [[0,1],[1,1]]} -> [dim0:2, dim1:2])", true},
      {"storage(digits=[dim1: rest, dim0: rest], swizzle=[0,1,1])", "row_major", false},
      {"storage(digits=[dim1: rest, dim0: rest], swizzle=[3,0,4])", "row_major", true},
      /* pads count only where there can be some */
      {"storage(digits=[dim1: rest, dim0: rest], pad=0)", "row_major", true},
      {"scale_128x4", "scale_128x4(pad=0)", true},
      {"scale_128x4", "scale_128x4(pad=1)", false},
      {"scale_128x4", "scale_128x4(pad=keep)", false},
      {"storage(digits=[dim1: rest, dim0: rest], offset=[4])", "row_major", false},
      {"storage(digits=[dim1: 2 @ 1 on b, dim0: 2 @ 1 on a])",
       "storage(digits=[dim0: 2 @ 1 on a, dim1: 2 @ 1 on b])", true},
      {"storage(digits=[dim1: 2 @ 1 on b])", "storage(digits=[dim1: 2 @ 1 on a])", false},
      {"storage(digits=[dim1: 2, replica: 2])",
       "storage(tile={offset: [[0,1],[0,0]]} -> "
       "[dim0:1, dim1:2], digits=[])",
       true},
      {"tma_128b",
       "storage(digits=[dim0: rest, dim1: rest], "
       "tile={offset: [[0,1],[0,2],[0,4],[0,8],[0,16],[0,32],[0,64],[1,16],[2,32],[4,64]]}"
       " -> [dim0:8, dim1:128])",
       true},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    llrt_storage a = storage_of(rows[i].a, 2), b = storage_of(rows[i].b, 2);
    llrt_hash x = llrt_storage_hash(&a), y = llrt_storage_hash(&b);
    cr_expect_eq(llrt_storage_equal(&a, &b), rows[i].equal, "%s and %s", rows[i].a, rows[i].b);
    cr_expect_eq(x.low == y.low && x.high == y.high, rows[i].equal, "%s and %s", rows[i].a,
                 rows[i].b);
  }
}

Test(storage_more, same_bytes) {
  static const struct {
    const char *a, *b;
    int64_t shape[2];
    bool same;
  } rows[] = {
      {"row_major", "strided([5,1])", {3, 5}, true},
      {"row_major", "strided([5,1])", {3, 4}, false},
      {"row_major", "col_major", {1, 7}, true},
      {"row_major", "col_major", {2, 2}, false},
      {"scale_8x4", "row_major", {8, 4}, true},
      {"scale_8x4", "row_major", {7, 4}, true},
      {"scale_8x4", "row_major", {7, 3}, false},
      {"col32", "row_major", {9, 32}, true},
      {"storage(digits=[dim1: rest, dim0: rest], swizzle=[0,1,4])", "row_major", {2, 8}, true},
      {"storage(digits=[dim1: rest, dim0: rest], swizzle=[0,1,4])", "row_major", {4, 8}, false},
      {"storage(digits=[dim1: rest, replica: 2 @ 0, dim0: rest])", "row_major", {2, 8}, true},
      {"storage(digits=[dim1: rest, dim0: rest, replica: 2])", "row_major", {2, 8}, false},
      {"row_major", "col_major", {0, 3}, true},
      {"storage(digits=[dim1: rest, dim0: rest reversed])", "row_major", {1, 8}, true},
      {"storage(digits=[dim1: rest, dim0: rest reversed])", "row_major", {2, 8}, false},
      {"storage(digits=[dim1: 4 reversed @ 1, dim1: 2 @ 4, dim0: rest], pad=0)",
       "storage(digits=[dim1: 2 reversed @ 1, dim0: rest @ 8], offset=[2])",
       {3, 2},
       true},
      {"storage(digits=[dim1: 4 reversed @ 1, dim1: 2 @ 4, dim0: rest], pad=0)",
       "storage(digits=[dim1: 2 reversed @ 1, dim0: rest @ 8])",
       {3, 2},
       false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    llrt_storage a = storage_of(rows[i].a, 2), b = storage_of(rows[i].b, 2);
    bool same;
    cr_assert(llrt_storage_same_bytes(&a, &b, 2, rows[i].shape, NULL, NULL, &same) == LLRT_OK, "%s",
              llrt_last_error());
    cr_expect_eq(same, rows[i].same, "%s and %s", rows[i].a, rows[i].b);
  }
}

Test(storage_more, validate_refuses) {
  llrt_storage good = storage_of("storage(digits=[dim1: 4 @ 1 on lane, replica: 2 @ 4])", 2), bad;
  cr_assert(llrt_storage_validate(&good) == LLRT_OK);
#define EXPECT_BAD(change, message) \
  bad = good, change; \
  expect_error(llrt_storage_validate(&bad), LLRT_INVALID_ARGUMENT, message, #change)
  EXPECT_BAD(bad.digit[0].target = 2, "digit 0 is on target 2 of 1");
  EXPECT_BAD(bad.digit[0].stride = LLRT_STRIDE_PACKED,
             "digit 0 is not in memory: its stride must be a number");
  EXPECT_BAD(bad.digit[1].extent = LLRT_EXTENT_REST,
             "digit 1 has extent 0, not 1 or more (LLRT_EXTENT_REST: not of a replica)");
  EXPECT_BAD(bad.digit[1].stride = LLRT_STRIDE_RUNTIME,
             "digit 1 is a replica, no axis of the tensor has its stride");
  EXPECT_BAD(bad.n_targets = 9, "9 targets are not in 0..8");
  EXPECT_BAD(strcpy(bad.target[0], "m"), "target 1 has no proper name");
  EXPECT_BAD((bad.n_targets = 2, strcpy(bad.target[1], "lane")), "there are two targets lane");
  EXPECT_BAD(bad.offset[1] = -1, "offset -1 is not in 0..2^62");
  EXPECT_BAD(bad.swizzle = ((llrt_swizzle){0, 3, 2, 0}),
             "a swizzle of 3 bits takes them from 2 higher, where they overlap");
  EXPECT_BAD(bad.swizzle = ((llrt_swizzle){60, 2, 2, 0}), "the swizzle reaches past bit 62");
  EXPECT_BAD(bad.pad = 3, "there is no pad rule 3");
  EXPECT_BAD(bad.pad_value = 1, "a pad value without the rule that writes it");
#undef EXPECT_BAD
}
