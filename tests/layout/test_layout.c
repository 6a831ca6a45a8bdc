/* Building layouts, asking them, evaluating them. */
#include "base/bits.h"
#include "tests/layout/layout_text.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* ---- building ---- */

Test(layout, builds_a_basis_at_a_time) {
  llrt_layout layout = llrt_layout_empty();
  cr_assert(llrt_layout_add_in(&layout, "register", 2) == LLRT_OK);
  cr_assert(llrt_layout_add_out(&layout, "dim0", 4) == LLRT_OK);
  cr_assert(llrt_layout_add_out(&layout, "dim1", 2) == LLRT_OK);
  cr_assert(llrt_layout_set_basis(&layout, "register", 0, (uint64_t[]){0, 1}) == LLRT_OK);
  cr_assert(llrt_layout_set_basis(&layout, "register", 1, (uint64_t[]){8, 3}) == LLRT_OK);
  cr_assert(llrt_layout_add_in(&layout, "lane", 1) == LLRT_OK);
  expect_layout(&layout, "{register: [[0,1],[8,3]], lane: [[0,0]]} -> [dim0:16, dim1:4]", "built");
}

Test(layout, one_dimensional) {
  static const struct {
    int64_t size, stride;
    const char *text;
  } rows[] = {
      {1, 1, "{i: []} -> [o:1]"},
      {4, 1, "{i: [[1],[2]]} -> [o:4]"},
      {4, 4, "{i: [[4],[8]]} -> [o:16]"},
      {1, 4, "{i: []} -> [o:4]"},
  };
  llrt_layout out;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    cr_assert(llrt_layout_strided1d(rows[i].size, rows[i].stride, "i", "o", &out) == LLRT_OK);
    expect_layout(&out, rows[i].text, "strided1d");
  }
  cr_assert(llrt_layout_zeros1d(4, "i", "o", 2, &out) == LLRT_OK);
  expect_layout(&out, "{i: [[0],[0]]} -> [o:2]", "zeros1d");
}

Test(layout, refuses_bad_dims) {
  llrt_layout layout = layout_of("{a: [[1,0]]} -> [x:2, y:4]"), before = layout;
  expect_error(llrt_layout_add_in(&layout, "a", 1), LLRT_INVALID_ARGUMENT,
               "in-dim a is there already", "twice");
  expect_error(llrt_layout_add_out(&layout, "y", 0), LLRT_INVALID_ARGUMENT,
               "out-dim y is there already", "twice");
  expect_error(llrt_layout_add_in(&layout, NULL, 1), LLRT_INVALID_ARGUMENT, "a dim's name is NULL",
               "NULL");
  static const char *const bad[] = {"", "1a", "a-b", "sixteen_letters_"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    cr_expect(llrt_layout_add_in(&layout, bad[i], 1) == LLRT_INVALID_ARGUMENT, "'%s'", bad[i]);
  cr_expect(llrt_layout_add_in(&layout, "fifteen_letters", 0) == LLRT_OK);
  layout = before;
  expect_error(llrt_layout_add_in(&layout, "b", -1), LLRT_INVALID_ARGUMENT, "dim b has -1 bits",
               "-1");
  expect_error(llrt_layout_add_in(&layout, "b", 65), LLRT_UNSUPPORTED,
               "dim b has 65 bits, more than 64", "65");
  expect_error(llrt_layout_add_in(&layout, "b", 64), LLRT_UNSUPPORTED, "65 in bits, more than 64",
               "sum");
  cr_expect(llrt_layout_add_in(NULL, "b", 1) == LLRT_INVALID_ARGUMENT);
  cr_expect(llrt_layout_equal(&layout, &before), "unchanged after errors");
}

Test(layout, refuses_more_dims_than_fit) {
  llrt_layout layout = llrt_layout_empty();
  char name[LLRT_NAME_BYTES];
  for (int i = 0; i < LLRT_MAX_IN_DIMS; i++) {
    snprintf(name, sizeof name, "i%d", i);
    cr_assert(llrt_layout_add_in(&layout, name, 1) == LLRT_OK);
  }
  for (int i = 0; i < LLRT_MAX_OUT_DIMS; i++) {
    snprintf(name, sizeof name, "o%d", i);
    cr_assert(llrt_layout_add_out(&layout, name, 4) == LLRT_OK);
  }
  expect_error(llrt_layout_add_in(&layout, "more", 0), LLRT_UNSUPPORTED, "more than 8 in-dims",
               "in");
  expect_error(llrt_layout_add_out(&layout, "more", 0), LLRT_UNSUPPORTED, "more than 16 out-dims",
               "out");
}

Test(layout, refuses_bad_bases) {
  llrt_layout layout = layout_of("{a: [[1,0]]} -> [x:2, y:4]"), before = layout;
  expect_error(llrt_layout_set_basis(&layout, "b", 0, (uint64_t[]){0, 0}), LLRT_INVALID_ARGUMENT,
               "there is no in-dim b", "name");
  expect_error(llrt_layout_set_basis(&layout, "a", 1, (uint64_t[]){0, 0}), LLRT_INVALID_ARGUMENT,
               "in-dim a has no bit 1", "bit");
  expect_error(llrt_layout_set_basis(&layout, "a", -1, (uint64_t[]){0, 0}), LLRT_INVALID_ARGUMENT,
               "in-dim a has no bit -1", "bit");
  expect_error(llrt_layout_set_basis(&layout, "a", 0, (uint64_t[]){1, 4}), LLRT_INVALID_ARGUMENT,
               "coordinate 4 is outside y of 2 bits", "coordinate");
  expect_error(llrt_layout_set_basis(&layout, "a", 0, NULL), LLRT_INVALID_ARGUMENT, "coords: NULL",
               "NULL");
  cr_expect(llrt_layout_equal(&layout, &before), "unchanged after errors");
  llrt_layout out = layout;
  expect_error(llrt_layout_strided1d(3, 1, "i", "o", &out), LLRT_INVALID_ARGUMENT,
               "size 3 and stride 1 must be powers of two", "size");
  cr_expect_eq(out.n_in, 0, "zeroed");
  cr_expect(llrt_layout_strided1d(-4, 1, "i", "o", &out) == LLRT_INVALID_ARGUMENT);
  cr_expect(llrt_layout_strided1d(3, 1, "i", "o", &out) == LLRT_INVALID_ARGUMENT);
  cr_expect(llrt_layout_strided1d(1ll << 40, 1ll << 40, "i", "o", &out) == LLRT_UNSUPPORTED);
  cr_expect(llrt_layout_strided1d(2, 1, "i", "o", NULL) == LLRT_INVALID_ARGUMENT);
  cr_expect(llrt_layout_zeros1d(2, "i", "o", 3, &out) == LLRT_INVALID_ARGUMENT);
}

Test(layout, knows_malformed_ones) {
  llrt_layout good = layout_of("{a: [[1,0]], b: []} -> [x:2, y:4]"), bad;
  cr_expect(llrt_layout_is_valid(&good));
  cr_expect(!llrt_layout_is_valid(NULL));
  bad = good, bad.n_in = 9;
  cr_expect(!llrt_layout_is_valid(&bad));
  bad = good, bad.n_out = 17;
  cr_expect(!llrt_layout_is_valid(&bad));
  bad = good, bad.in[1].bits = 64;
  cr_expect(!llrt_layout_is_valid(&bad));
  bad = good, bad.out[1].bits = 200;
  cr_expect(!llrt_layout_is_valid(&bad));
  bad = good, bad.column[0] = 8;
  cr_expect(!llrt_layout_is_valid(&bad), "a bit past the out-dims");
  bad = good, bad.in[1] = bad.in[0], bad.in[1].bits = 0;
  cr_expect(!llrt_layout_is_valid(&bad), "a name twice");
  bad = good, bad.in[0].name[5] = 'x';
  cr_expect(!llrt_layout_is_valid(&bad), "bytes after the name");
  bad = good, memset(bad.in[0].name, 'x', LLRT_NAME_BYTES);
  cr_expect(!llrt_layout_is_valid(&bad), "no terminating zero");
  cr_expect(!llrt_layout_equal(&bad, &bad));
  cr_expect_eq(llrt_layout_num_consecutive(&bad), 1);
}

/* ---- questions ---- */

Test(layout, tables) {
  static const struct {
    const char *text;
    int rank;
    bool surjective, injective;
    int64_t consecutive;
    uint64_t free_masks[3];
  } rows[] = {
      {"{} -> []", 0, true, true, 1, {0}},
      {"{a: []} -> [x:1]", 0, true, true, 1, {0}},
      {"{a: [[0],[0]]} -> [x:1]", 0, true, false, 1, {3}},
      {"{a: [[0],[0]]} -> [x:2]", 0, false, false, 1, {3}},
      {"{a: [[1],[2]]} -> [x:4]", 2, true, true, 4, {0}},
      {"{a: [[1],[2]]} -> [x:8]", 2, false, true, 4, {0}},
      {"{a: [[1],[2]], b: [[3]]} -> [x:4]", 2, true, false, 1, {0, 1}},
      {"{a: [[1],[2],[4]], b: [[4]]} -> [x:8]", 3, true, false, 4, {0, 1}},
      {"{a: [[1,0],[2,1]], b: [[0,1]], c: [[1,1],[2,0]]} -> [x:4, y:2]",
       3,
       true,
       false,
       1,
       {0, 0, 3}},
      {"{a: [[0,1],[0,2]]} -> [x:1, y:4]", 2, true, true, 1, {0}},
      {"{a: [[1,0],[2,0]], b: [[0,1],[0,3]]} -> [x:4, y:4]", 4, true, true, 4, {0, 0}},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    llrt_layout layout = layout_of(rows[i].text);
    uint64_t masks[LLRT_MAX_IN_DIMS] = {0};
    cr_expect_eq(llrt_layout_rank(&layout), rows[i].rank, "%s", rows[i].text);
    cr_expect_eq(llrt_layout_is_surjective(&layout), rows[i].surjective, "%s", rows[i].text);
    cr_expect_eq(llrt_layout_is_injective(&layout), rows[i].injective, "%s", rows[i].text);
    cr_expect_eq(llrt_layout_num_consecutive(&layout), rows[i].consecutive, "%s", rows[i].text);
    cr_assert(llrt_layout_free_variable_masks(&layout, masks) == LLRT_OK);
    cr_expect(memcmp(masks, rows[i].free_masks, sizeof rows[i].free_masks) == 0, "%s",
              rows[i].text);
  }
}

Test(layout, places_of_dims) {
  llrt_layout layout = layout_of("{a: [[1,0]], b: [[0,1],[0,2]]} -> [x:4, y:8]");
  cr_expect_eq(llrt_layout_in_bits(&layout), 3);
  cr_expect_eq(llrt_layout_out_bits(&layout), 5);
  cr_expect_eq(llrt_layout_in_index(&layout, "b"), 1);
  cr_expect_eq(llrt_layout_in_index(&layout, "x"), -1);
  cr_expect_eq(llrt_layout_in_index(&layout, NULL), -1);
  cr_expect_eq(llrt_layout_out_index(&layout, "y"), 1);
  cr_expect_eq(llrt_layout_in_shift(&layout, 1), 1);
  cr_expect_eq(llrt_layout_out_shift(&layout, 1), 2);
  cr_expect_eq(llrt_layout_in_bits(NULL), 0);
  cr_expect_eq(llrt_layout_out_index(NULL, "x"), -1);
  cr_expect(llrt_layout_free_variable_masks(&layout, NULL) == LLRT_INVALID_ARGUMENT);
}

/* Equality and hash see names, order, sizes and columns, and nothing else. */
Test(layout, equality_and_hash) {
  static const char *const rows[] = {
      "{a: [[1],[2]]} -> [x:4]",        "{a: [[2],[1]]} -> [x:4]",
      "{a: [[1],[2]]} -> [x:8]",        "{b: [[1],[2]]} -> [x:4]",
      "{a: [[1],[2]]} -> [y:4]",        "{a: [[1]], b: [[2]]} -> [x:4]",
      "{a: [[1],[2]], b: []} -> [x:4]", "{a: [[1,0],[2,0]]} -> [x:4, y:1]",
      "{b: [[2]], a: [[1]]} -> [x:4]",  "{} -> []"};
  enum { ROWS = sizeof rows / sizeof rows[0] };
  for (int i = 0; i < ROWS; i++) {
    for (int k = 0; k < ROWS; k++) {
      llrt_layout a = layout_of(rows[i]), b = layout_of(rows[k]);
      a.column[LLRT_MAX_BITS - 1] = (uint64_t)k; /* past the in bits */
      llrt_hash x = llrt_layout_hash(&a), y = llrt_layout_hash(&b);
      cr_expect_eq(llrt_layout_equal(&a, &b), i == k, "%s and %s", rows[i], rows[k]);
      cr_expect_eq(x.low == y.low && x.high == y.high, i == k, "%s and %s", rows[i], rows[k]);
    }
  }
}

/* The hash names kernels on disk: it may change only with a version of that format. */
Test(layout, hash_is_stable) {
  llrt_layout layout = layout_of("{a: [[1],[2]]} -> [x:4]");
  llrt_hash hash = llrt_layout_hash(&layout);
  cr_expect(hash.low == 0xb797bf50dee9e7c8ull && hash.high == 0xf105029bdbbbcb4cull, "%#llx, %#llx",
            (unsigned long long)hash.low, (unsigned long long)hash.high);
}

/* Every answer against counting, for all points of layouts up to 16 bits. */
static void check_by_counting(const llrt_layout *layout) {
  static uint8_t seen[1 << 16];
  int in_bits = llrt_layout_in_bits(layout), out_bits = llrt_layout_out_bits(layout);
  memset(seen, 0, (size_t)1 << out_bits);
  int image = 0;
  for (uint64_t x = 0; x < 1ull << in_bits; x++) {
    uint64_t y = llrt_layout_apply_flat(layout, x), columns = 0;
    for (int i = 0; i < in_bits; i++)
      if (x >> i & 1) columns ^= layout->column[i];
    cr_assert_eq(y, columns);
    image += !seen[y];
    seen[y] = 1;
  }
  cr_assert_eq(image, 1 << llrt_layout_rank(layout), "%s", text_of(layout));
  cr_assert_eq(llrt_layout_is_surjective(layout), image == 1 << out_bits);
  cr_assert_eq(llrt_layout_is_injective(layout), image == 1 << in_bits);
}

/* Bit i is free when its column is a sum of earlier ones. */
static uint64_t free_by_counting(const llrt_layout *layout) {
  static uint8_t reached[1 << 16];
  memset(reached, 0, sizeof reached);
  uint64_t dependent = 0;
  reached[0] = 1;
  for (int i = 0; i < llrt_layout_in_bits(layout); i++) {
    if (reached[layout->column[i]]) dependent |= 1ull << i;
    for (uint64_t x = 0; x < 1ull << i; x++)
      reached[llrt_layout_apply_flat(layout, x | 1ull << i)] = 1;
  }
  return dependent;
}

Test(layout, counting) {
  random_source source = random_start("layout/counting");
  for (int trial = 0; trial < 150; trial++) {
    int limit = trial < 140 ? 9 : 17;
    llrt_layout layout =
        random_layout(&source, random_below(&source, limit), random_below(&source, limit));
    check_by_counting(&layout);
    uint64_t masks[LLRT_MAX_IN_DIMS], flat = 0;
    cr_assert(llrt_layout_free_variable_masks(&layout, masks) == LLRT_OK);
    for (int i = 0; i < layout.n_in; i++)
      if (layout.in[i].bits) flat |= masks[i] << llrt_layout_in_shift(&layout, i);
    cr_assert_eq(flat, free_by_counting(&layout), "%s", text_of(&layout));
  }
}

/* ---- evaluation ---- */

Test(layout, applies_coordinates) {
  llrt_layout layout = layout_of("{a: [[4,2],[2,1],[1,0]], b: [[1,2],[2,1]]} -> [x:8, y:4]");
  uint64_t out[2];
  cr_assert(llrt_layout_apply(&layout, (uint64_t[]){5, 2}, out) == LLRT_OK);
  cr_expect(out[0] == (4 ^ 1 ^ 2) && out[1] == (2 ^ 0 ^ 1));
  cr_expect_eq(llrt_layout_apply_flat(&layout, 5 | 2 << 3), out[0] | out[1] << 3);
  cr_expect_eq(llrt_layout_apply_flat(&layout, ~31ull), 0, "bits past the in bits are ignored");
  expect_error(llrt_layout_apply(&layout, (uint64_t[]){8, 0}, out), LLRT_INVALID_ARGUMENT,
               "coordinate 8 is outside a of 3 bits", "outside");
  cr_expect(out[0] == 0 && out[1] == 0, "cleared");
  cr_expect(llrt_layout_apply(&layout, NULL, out) == LLRT_INVALID_ARGUMENT);
  cr_expect(llrt_layout_apply(&layout, out, NULL) == LLRT_INVALID_ARGUMENT);
  cr_expect(llrt_layout_apply(NULL, out, out) == LLRT_INVALID_ARGUMENT);
}

Test(layout, full_width) {
  llrt_layout layout = llrt_layout_empty();
  cr_assert(llrt_layout_add_in(&layout, "a", 64) == LLRT_OK);
  cr_assert(llrt_layout_add_out(&layout, "x", 64) == LLRT_OK);
  for (int i = 0; i < 64; i++) layout.column[i] = 1ull << i;
  uint64_t in = 0xfedcba9876543210ull, out;
  cr_assert(llrt_layout_apply(&layout, &in, &out) == LLRT_OK);
  cr_expect_eq(out, in);
  cr_expect_eq(llrt_layout_rank(&layout), 64);
  cr_expect_eq(llrt_layout_num_consecutive(&layout), 1ll << 62, "as far as the result holds");
  llrt_layout inverse;
  cr_assert(llrt_layout_right_inverse(&layout, &inverse) == LLRT_OK);
  cr_expect_eq(llrt_layout_apply_flat(&inverse, in), in);
}
