/* Padded shared memory against its formula. */
#include <llrt/storage_padded.h>
#include <llrt/tirx.h>

#include "tests/layout/layout_text.h"

#include <criterion/criterion.h>
#include <string.h>

static void check(const llrt_padded_params *params, const int64_t *shape) {
  llrt_storage storage;
  llrt_storage_binding binding;
  cr_assert(llrt_storage_padded_shared(params, shape, &storage) == LLRT_OK, "%s",
            llrt_last_error());
  cr_assert(llrt_storage_bind(&storage, 2, shape, NULL, &binding) == LLRT_OK, "%s",
            llrt_last_error());
  int fast = params->order[0], slow = params->order[1];
  int64_t last = 0;
  for (int64_t i = 0; i < shape[0]; i++)
    for (int64_t j = 0; j < shape[1]; j++) {
      int64_t coords[] = {i, j}, p = coords[slow] * shape[fast] + coords[fast], place = p;
      for (int k = 0; k < params->n_intervals; k++)
        place += p / params->interval[k] * params->padding[k];
      cr_assert_eq(llrt_storage_offset(&storage, &binding, coords), place);
      if (place > last) last = place;
    }
  cr_assert_eq(binding.span, last + 1);
}

Test(padded, by_formula) {
  random_source source = random_start("padded/by_formula");
  for (int trial = 0; trial < 500; trial++) {
    int64_t shape[] = {1 << random_below(&source, 7), 1 << random_below(&source, 7)};
    int first = random_below(&source, 2);
    llrt_padded_params params = {
        .rank = 2, .order = {first, 1 - first}, .n_intervals = random_below(&source, 4)};
    for (int k = 0, bit = 0; k < params.n_intervals; k++) {
      bit += 1 + random_below(&source, 4);
      params.interval[k] = 1ll << bit;
      params.padding[k] = 1ll << random_below(&source, 5);
    }
    check(&params, shape);
  }
}

Test(padded, text) {
  const int64_t shape[] = {32, 64};
  llrt_padded_params params = {
      .rank = 2, .n_intervals = 1, .interval = {64}, .padding = {8}, .order = {1, 0}};
  llrt_storage made, parsed;
  cr_assert(llrt_storage_padded_shared(&params, shape, &made) == LLRT_OK);
  static const char *const texts[] = {"padded_shared(interval_padding=[[64,8]], order=[1,0])",
                                      "padded_shared(interval_padding=[[64,8]])",
                                      "storage(rank=2, digits=[dim1:64@1, dim0:32@72])"};
  for (int i = 0; i < 3; i++) {
    cr_assert(llrt_storage_parse(texts[i], 2, shape, &parsed) == LLRT_OK, "%s: %s", texts[i],
              llrt_last_error());
    cr_expect(llrt_storage_equal(&made, &parsed), "%s", texts[i]);
  }
}

Test(padded, refuses) {
  static const struct {
    const char *text, *message;
  } rows[] = {
      {"padded_shared(order=[1,0])", "column 1: padded_shared needs interval_padding"},
      {"padded_shared(interval_padding=[[64]])", "column 33: expected [interval, padding]"},
      {"padded_shared(interval_padding=[[60,8]])",
       "column 1: interval 60, padding 8: powers of two up to 2^40 and 2^16"},
      {"padded_shared(interval_padding=[[64,8],[32,4]])", "column 1: intervals do not ascend"},
      {"padded_shared(interval_padding=[], order=[1,1])",
       "column 1: order does not list every axis once"},
      {"padded_shared(interval_padding=[], order=[0])", "column 42: order has 1 entries, not 2"},
      {"padded_shared(pad=1)",
       "column 15: expected interval_padding, order, linear, ctas_per_cga, cta_split or cta_order"},
      {"padded_shared(interval_padding=[], cta_split=[1,2])",
       "column 1: ctas_per_cga, cta_split and cta_order go together"},
      {"padded_shared(interval_padding=[], order=[1,0], linear={offset: [[1]]} -> [dim0:2])",
       "column 1: linear says the order and the blocks"},
      {"padded_shared(interval_padding=[], linear={lane: [[0,1]]} -> [dim0:1, dim1:2])",
       "column 1: in-dim lane of the map is neither offset nor block"},
      {"padded_shared(interval_padding=[], linear={offset: [[0,1],[1,0]]} -> [dim0:2, dim1:2])",
       "column 1: axis 0 has 32 positions, its storage 2"},
      {"padded_shared(order=[1,0], order=[1,0])", "column 28: this is given twice"},
  };
  const int64_t shape[] = {32, 64};
  llrt_storage out;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    expect_error(llrt_storage_parse(rows[i].text, 2, shape, &out), LLRT_INVALID_ARGUMENT,
                 rows[i].message, rows[i].text);
  cr_expect(llrt_storage_padded_shared(NULL, shape, &out) == LLRT_INVALID_ARGUMENT);
  cr_expect(llrt_storage_parse("padded_shared(interval_padding=[[64,8]])", 0, NULL, &out) ==
            LLRT_INVALID_ARGUMENT);
}

/* A map that permutes bits, with copies and blocks: the padded place of its own offset. */
Test(padded, by_map) {
  random_source source = random_start("padded/by_map");
  int replicated = 0;
  for (int trial = 0; trial < 500; trial++) {
    int bits = 2 + random_below(&source, 7), blocks = random_below(&source, 3);
    uint64_t unit[16] = {0};
    for (int i = 0; i < bits + blocks; i++) unit[i] = 1ull << i;
    for (int i = bits + blocks - 1; i > 0; i--) {
      int k = random_below(&source, i + 1);
      uint64_t other = unit[i];
      unit[i] = unit[k], unit[k] = other;
    }
    int copies = random_below(&source, 2), rows = random_below(&source, bits + 1);
    llrt_layout map = llrt_layout_empty();
    cr_assert(llrt_layout_add_in(&map, "offset", bits + copies) == LLRT_OK);
    cr_assert(llrt_layout_add_in(&map, "block", blocks) == LLRT_OK);
    cr_assert(llrt_layout_add_out(&map, "dim1", bits + blocks - rows) == LLRT_OK);
    cr_assert(llrt_layout_add_out(&map, "dim0", rows) == LLRT_OK);
    for (int i = 0; i < bits; i++) map.column[i] = unit[i];
    if (copies) map.column[bits] = 0;
    for (int i = 0; i < blocks; i++) map.column[bits + copies + i] = unit[bits + i];
    llrt_padded_params params = {
        .rank = 2, .n_intervals = 2, .interval = {4, 32}, .padding = {2, 1}, .linear = &map};
    llrt_storage storage;
    llrt_status status = llrt_storage_padded_shared(&params, NULL, &storage);
    cr_assert(status == LLRT_OK, "%s", llrt_last_error());
    replicated += copies;
    const int64_t shape[2] = {1ll << rows, 1ll << (bits + blocks - rows)};
    for (uint64_t offset = 0; offset < 1ull << (bits + copies); offset++)
      for (uint64_t block = 0; block < 1ull << blocks; block++) {
        uint64_t at[2] = {offset, block}, x[2];
        int64_t p = (int64_t)offset, place = p + p / 4 * 2 + p / 32;
        llrt_places places;
        bool found = false;
        cr_assert(llrt_layout_apply(&map, at, x) == LLRT_OK);
        cr_assert(llrt_storage_places(&storage, 2, shape, (int64_t[]){(int64_t)x[1], (int64_t)x[0]},
                                      0, &places) == LLRT_OK,
                  "%s", llrt_last_error());
        cr_assert_eq(places.copies, 1 << copies);
        for (int c = 0; c < places.n; c++)
          found |= places.at[c][places.n_axes - 1] == place &&
                   (blocks == 0 || places.at[c][0] == (int64_t)block);
        cr_assert(found, "%s", text_of(&map));
      }
  }
  cr_assert(replicated > 100);
}

/* In a cluster each block pads its own part; blocks that hold no other part hold copies. */
Test(padded, cluster) {
  const int64_t shape[2] = {16, 32};
  llrt_storage storage;
  cr_assert(llrt_storage_parse("padded_shared(interval_padding=[[16,4]], order=[1,0], "
                               "ctas_per_cga=[2,2], cta_split=[1,2], cta_order=[0,1])",
                               2, shape, &storage) == LLRT_OK,
            "%s", llrt_last_error());
  for (int64_t i = 0; i < 16; i++)
    for (int64_t j = 0; j < 32; j++) {
      llrt_places places;
      int64_t p = i * 16 + j % 16;
      cr_assert(llrt_storage_places(&storage, 2, shape, (int64_t[]){i, j}, 0, &places) == LLRT_OK);
      cr_assert_eq(places.n, 2);
      for (int c = 0; c < 2; c++) {
        cr_expect_eq(places.at[c][0], j / 16 * 2 + c, "block %lld", (long long)places.at[c][0]);
        cr_expect_eq(places.at[c][1], p + p / 16 * 4);
      }
    }
  llrt_storage out;
  expect_error(llrt_storage_parse("padded_shared(interval_padding=[[2,1]], linear={offset: "
                                  "[[0,1],[1,1]]} -> [dim0:2, dim1:2])",
                                  0, NULL, &out),
               LLRT_UNSUPPORTED, "column 1: padded_shared: basis 1 of offset is no bit of its own",
               "a swizzle");
}

/* Operations stand where a storage wants a layout, too. */
Test(padded, operations_are_storages) {
  llrt_storage a, b;
  cr_assert(llrt_storage_parse("identity1d(4, offset, dim1) * identity1d(2, offset, dim0)", 0, NULL,
                               &a) == LLRT_OK,
            "%s", llrt_last_error());
  cr_assert(llrt_storage_parse("{offset: [[0,1],[0,2],[1,0]]} -> [dim0:2, dim1:4]", 0, NULL, &b) ==
            LLRT_OK);
  cr_expect(llrt_storage_equal(&a, &b));
}
