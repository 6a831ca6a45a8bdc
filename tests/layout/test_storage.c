/* Storages: binding, offsets, canonical form, text. */
#include "layout/storage_rule.h"
#include "tests/layout/layout_text.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static llrt_storage storage_of(const char *text, int rank) {
  llrt_storage storage;
  cr_assert(llrt_storage_parse(text, rank, NULL, &storage) == LLRT_OK, "%s: %s", text,
            llrt_last_error());
  return storage;
}

static const char *storage_text(const llrt_storage *storage) {
  static char buffers[4][8192];
  static int next;
  char *buffer = buffers[next++ % 4];
  cr_assert(llrt_storage_print(storage, buffer, sizeof buffers[0], NULL) == LLRT_OK, "%s",
            llrt_last_error());
  return buffer;
}

/* ---- offsets ---- */

/* All offsets of a storage bound to a shape, in row-major order of the coordinates. */
static void list_offsets(const llrt_storage *storage, int rank, const int64_t *shape,
                         const int64_t *strides, char *text, size_t size) {
  llrt_storage_binding binding;
  llrt_status status = llrt_storage_bind(storage, rank, shape, strides, &binding);
  cr_assert(status == LLRT_OK, "%s", llrt_last_error());
  int64_t coords[LLRT_MAX_RANK] = {0}, count = 1;
  for (int i = 0; i < rank; i++) count *= shape[i];
  size_t used = (size_t)snprintf(text, size, "%lld:", (long long)binding.span);
  for (int64_t n = 0; n < count; n++) {
    int64_t offset = llrt_storage_offset(storage, &binding, coords);
    cr_assert(offset >= 0 && offset < binding.span);
    used += (size_t)snprintf(text + used, size - used, " %lld", (long long)offset);
    for (int axis = rank - 1; axis >= 0 && ++coords[axis] == shape[axis]; axis--) coords[axis] = 0;
  }
}

Test(storage, offsets) {
  static const struct {
    const char *storage;
    int rank;
    int64_t shape[3];
    const char *span_and_offsets;
  } rows[] = {
      {"row_major", 0, {0}, "1: 0"},
      {"row_major", 1, {3}, "3: 0 1 2"},
      {"row_major", 2, {2, 3}, "6: 0 1 2 3 4 5"},
      {"col_major", 2, {2, 3}, "6: 0 2 4 1 3 5"},
      {"row_major", 3, {2, 1, 2}, "4: 0 1 2 3"},
      {"row_major", 2, {2, 0}, "0:"},
      {"strided([5,1])", 2, {2, 3}, "8: 0 1 2 5 6 7"},
      {"strided([1,4])", 2, {2, 3}, "10: 0 4 8 1 5 9"},
      {"strided([0,1])", 2, {2, 3}, "3: 0 1 2 0 1 2"},
      /* a layout is its image, extents fixed */
      {"{offset: [[0,1],[1,0]]} -> [dim0:2, dim1:2]", 2, {2, 2}, "4: 0 1 2 3"},
      {"{register: [[0,1]], lane: [[1,0]]} -> [dim0:2, dim1:2]", 2, {2, 2}, "4: 0 1 2 3"},
      {"{register: [[1,0]], lane: [[0,1]]} -> [dim1:2, dim0:2]", 2, {2, 2}, "4: 0 1 2 3"},
      /* swizzled, and with a copy: the first one counts */
      {"{offset: [[0,1],[1,1]]} -> [dim0:2, dim1:2]", 2, {2, 2}, "4: 0 1 3 2"},
      {"{offset: [[0],[1]]} -> [dim0:2]", 1, {2}, "4: 0 2"},
      /* tiles of 2 x 2 in row-major order, and in column-major order */
      {"storage(rank=2, digits=[dim1: rest, dim0: rest], tile={offset: [[0,1],[1,0]]} -> [dim0:2, "
       "dim1:2])",
       2,
       {2, 6},
       "12: 0 1 4 5 8 9 2 3 6 7 10 11"},
      {"storage(rank=2, digits=[dim0: rest, dim1: rest], tile={offset: [[0,1],[1,0]]} -> [dim0:2, "
       "dim1:2])",
       2,
       {4, 4},
       "16: 0 1 8 9 2 3 10 11 4 5 12 13 6 7 14 15"},
      /* digits that are no powers of two: 3 x 2 blocks of 2 columns */
      {"storage(rank=2, digits=[dim1: 2, dim0: 3, dim1: rest])",
       2,
       {3, 4},
       "12: 0 1 6 7 2 3 8 9 4 5 10 11"},
      /* a pitch is a pad; what is packed outside counts it */
      {"storage(rank=2, digits=[dim1: rest @ 1, dim0: rest @ 4])", 2, {2, 3}, "7: 0 1 2 4 5 6"},
      {"storage(rank=3, digits=[dim2: rest, dim1: rest @ 4, dim0: rest])",
       3,
       {2, 2, 3},
       "15: 0 1 2 4 5 6 8 9 10 12 13 14"},
      /* a given stride inside others */
      {"storage(rank=2, digits=[dim0: rest @ 8, dim1: 2 @ 2])", 2, {2, 2}, "11: 0 2 8 10"},
      {"storage(rank=2, digits=[dim0: 2 @ 4, dim1: 2 @ 3, dim0: rest])",
       2,
       {4, 2},
       "16: 0 3 4 7 8 11 12 15"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char text[512];
    llrt_storage storage = storage_of(rows[i].storage, rows[i].rank);
    list_offsets(&storage, rows[i].rank, rows[i].shape, NULL, text, sizeof text);
    cr_expect_str_eq(text, rows[i].span_and_offsets, "%s: %s", rows[i].storage, text);
  }
}

Test(storage, runtime_strides) {
  llrt_storage storage = storage_of("strided", 2);
  char text[256];
  list_offsets(&storage, 2, (int64_t[]){2, 3}, (int64_t[]){10, 2}, text, sizeof text);
  cr_expect_str_eq(text, "15: 0 2 4 10 12 14");
  /* a stride is of one position: a digit's is that times the positions below it */
  storage = storage_of("storage(rank=1, digits=[dim0: 2 @ 1, dim0: rest @ runtime])", 1);
  list_offsets(&storage, 1, (int64_t[]){6}, (int64_t[]){8}, text, sizeof text);
  cr_expect_str_eq(text, "34: 0 1 16 17 32 33");
}

/* Swizzled and low-rank tiles: the offset is the first that holds the coordinate. */
Test(storage, random_tiles) {
  random_source source = random_start("storage/random_tiles");
  int checked = 0;
  while (checked < 50) {
    int bits = random_below(&source, 9);
    llrt_layout layout = random_layout(&source, bits + random_below(&source, 3), bits);
    strcpy(layout.out[0].name, "dim0");
    strcpy(layout.out[1].name, "dim1");
    llrt_storage storage;
    llrt_storage_binding binding;
    if (llrt_storage_from_layout(&layout, &storage) != LLRT_OK) {
      cr_assert(!llrt_layout_is_surjective(&layout));
      continue;
    }
    int64_t shape[2] = {1ll << layout.out[0].bits, 1ll << layout.out[1].bits};
    cr_assert(llrt_storage_bind(&storage, 2, shape, NULL, &binding) == LLRT_OK);
    cr_assert_eq(binding.span, 1ll << llrt_layout_in_bits(&layout));
    for (int64_t p = 0; p < shape[0] * shape[1]; p++) {
      int64_t coords[2] = {p % shape[0], p / shape[0]};
      int64_t offset = llrt_storage_offset(&storage, &binding, coords);
      cr_assert_eq(llrt_layout_apply_flat(&layout, (uint64_t)offset), (uint64_t)p);
    }
    checked++;
  }
}

/* ---- refusals ---- */

Test(storage, bind_refuses) {
  static const struct {
    const char *storage;
    int rank;
    int64_t shape[2];
    const char *message;
  } rows[] = {
      {"row_major", 1, {4}, "the tensor has rank 1, its storage 2"},
      {"row_major", 2, {4, -1}, "shape[1] is -1, not 0 or more"},
      {"row_major", 2, {1ll << 40, 1ll << 40}, "the tensor spans more than 2^62 elements"},
      {"storage(rank=2, digits=[dim1: 4, dim0: rest])",
       2,
       {4, 8},
       "axis 1 has 8 positions, its storage 4"},
      {"storage(rank=2, digits=[dim1: 4, dim0: rest, dim1: rest])",
       2,
       {4, 6},
       "axis 1 has 6 positions, no multiple of the storage's 4"},
      {"storage(rank=2, digits=[dim0: rest])", 2, {4, 2}, "axis 1 has 2 positions, its storage 1"},
      {"{offset: [[0,1]]} -> [dim0:1, dim1:2]", 2, {1, 4}, "axis 1 has 4 positions, its storage 2"},
      {"{offset: [[0,1]]} -> [dim0:1, dim1:2]", 2, {0, 2}, "axis 0 has 0 positions, its storage 1"},
      {"strided", 2, {2, 2}, "the storage takes its strides from the tensor, which has none"},
  };
  llrt_storage_binding out;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    llrt_storage storage = storage_of(rows[i].storage, 2);
    out.span = 7;
    expect_error(llrt_storage_bind(&storage, rows[i].rank, rows[i].shape, NULL, &out),
                 LLRT_INVALID_ARGUMENT, rows[i].message, rows[i].storage);
    cr_expect_eq(out.span, 0, "zeroed: %s", rows[i].storage);
  }
  llrt_storage storage = storage_of("strided", 2);
  int64_t shape[2] = {2, 2};
  expect_error(llrt_storage_bind(&storage, 2, shape, (int64_t[]){1, -1}, &out),
               LLRT_INVALID_ARGUMENT, "the stride of axis 1 is negative", "stride");
  expect_error(llrt_storage_bind(&storage, 2, NULL, shape, &out), LLRT_INVALID_ARGUMENT,
               "shape: NULL", "shape");
  cr_expect(llrt_storage_bind(NULL, 2, shape, NULL, &out) == LLRT_INVALID_ARGUMENT);
  cr_expect(llrt_storage_bind(&storage, 2, shape, shape, NULL) == LLRT_INVALID_ARGUMENT);
}

Test(storage, makers_refuse) {
  llrt_storage out;
  expect_error(llrt_storage_row_major(9, &out), LLRT_INVALID_ARGUMENT, "rank 9 is not in 0..8",
               "rank");
  cr_expect(llrt_storage_col_major(-1, &out) == LLRT_INVALID_ARGUMENT);
  cr_expect(llrt_storage_row_major(2, NULL) == LLRT_INVALID_ARGUMENT);
  expect_error(llrt_storage_strided(2, (int64_t[]){1, -4}, &out), LLRT_INVALID_ARGUMENT,
               "the stride of axis 1 is negative", "stride");
  llrt_layout thin = layout_of("{offset: [[1]]} -> [dim0:4]");
  expect_error(llrt_storage_from_layout(&thin, &out), LLRT_INVALID_ARGUMENT,
               "a storage needs a surjective layout: rank 1 of 2 out bits", "surjective");
  llrt_layout other = layout_of("{offset: [[1]]} -> [x:2]");
  expect_error(llrt_storage_from_layout(&other, &out), LLRT_INVALID_ARGUMENT,
               "there is no out-dim dim0", "names");
  cr_expect(llrt_storage_from_layout(NULL, &out) == LLRT_INVALID_ARGUMENT);
}

Test(storage, validate_refuses) {
  llrt_storage good = storage_of("storage(rank=2, digits=[dim1: 4, dim0: rest], "
                                 "tile={offset: [[0,1]]} -> [dim0:1, dim1:2])",
                                 2),
               bad;
  cr_expect(llrt_storage_validate(&good) == LLRT_OK);
  cr_expect(llrt_storage_validate(NULL) == LLRT_INVALID_ARGUMENT);
#define EXPECT_BAD(change, message) \
  bad = good, change; \
  expect_error(llrt_storage_validate(&bad), LLRT_INVALID_ARGUMENT, message, #change); \
  cr_expect(!llrt_storage_equal(&bad, &bad))
  EXPECT_BAD(bad.rank = 9, "rank 9 is not in 0..8");
  EXPECT_BAD(bad.n_digits = 17, "17 digits are not in 0..16");
  EXPECT_BAD(bad.digit[0].axis = 2, "digit 0 is of axis 2, the rank is 2");
  EXPECT_BAD(bad.digit[0].extent = -4,
             "digit 0 has extent -4, not 1 or more (LLRT_EXTENT_REST: not of a replica)");
  EXPECT_BAD(bad.digit[1].stride = -1,
             "digit 1 has stride -1, not 0 or more or LLRT_STRIDE_PACKED");
  EXPECT_BAD((bad.digit[0].extent = LLRT_EXTENT_REST, bad.digit[1].axis = 1),
             "digit 1 follows the rest of axis 1");
  EXPECT_BAD(bad.tile.column[0] = 0, "the tile is not surjective");
  EXPECT_BAD(bad.tile.in[0] = ((llrt_dim){"lane", 1}), "a tile has one in-dim, offset");
  EXPECT_BAD(bad.rank = 3, "the tile has 2 out-dims, the storage rank 3");
  EXPECT_BAD(bad.tile.out[0] = ((llrt_dim){"x", 0}), "out-dim 0 of the tile is x, not dim0");
  EXPECT_BAD(bad.tile.n_in = 77, "layout tile: there are too many in-dims");
#undef EXPECT_BAD
}

/* ---- canonical form ---- */

static bool same_hash(const llrt_storage *a, const llrt_storage *b) {
  llrt_hash x = llrt_storage_hash(a), y = llrt_storage_hash(b);
  return x.low == y.low && x.high == y.high;
}

Test(storage, equal_rules) {
  static const struct {
    const char *a, *b;
    bool equal;
  } rows[] = {
      {"row_major", "storage(digits=[dim1: rest, dim0: rest])", true},
      {"row_major", "storage(digits=[dim1: rest @ 1, dim0: rest])", true},
      {"row_major", "storage(digits=[dim0: 1, dim1: 1 @ packed, dim1: rest, dim0: rest])", true},
      {"row_major", "col_major", false},
      {"row_major", "strided", false},
      {"row_major", "storage(rank=1, digits=[dim0: rest])", false},
      {"storage(digits=[dim1: 4, dim0: rest])", "storage(digits=[dim1: 4 @ 1, dim0: rest @ 4])",
       true},
      {"storage(digits=[dim1: 4, dim0: rest])", "storage(digits=[dim1: 4 @ 1, dim0: rest @ 5])",
       false},
      /* fixed digits of 2^n positions continue the tile */
      {"{offset: [[0,1],[0,2],[1,0]]} -> [dim0:2, dim1:4]", "storage(digits=[dim1: 4, dim0: 2])",
       true},
      {"{offset: [[0,1],[0,2],[1,0]]} -> [dim0:2, dim1:4]",
       "storage(digits=[dim1: 2, dim0: 2], tile={offset: [[0,1]]} -> [dim0:1, dim1:2])", true},
      {"{offset: [[0,1],[0,2],[1,0]]} -> [dim0:2, dim1:4]",
       "{a: [[0,1],[0,2]], b: [[1,0]]} -> [dim0:2, dim1:4]", true},
      {"{offset: [[0,1],[0,2],[1,0]]} -> [dim0:2, dim1:4]",
       "{offset: [[0,2],[0,1],[1,0]]} -> [dim0:2, dim1:4]", false},
      {"{offset: []} -> [dim0:1, dim1:1]", "storage(digits=[])", true},
      {"transposed(row_major)", "col_major", true},
      {"transposed(transposed(strided))", "strided", true},
      {"transposed(strided([7,1]))", "strided([1,7])", true},
      {"transposed({offset: [[0,1],[0,2],[1,0]]} -> [dim0:2, dim1:4])",
       "{offset: [[1,0],[2,0],[0,1]]} -> [dim0:4, dim1:2]", true},
      {"transposed(scale_8x4)",
       "storage(digits=[dim0: rest, dim1: rest], tile={offset: [[1,0],[2,0],[0,1],[0,2],[0,4]]} -> "
       "[dim0:4, dim1:8], pad=0)",
       true},
      /* the unit digit's stride pads what is packed outside it */
      {"storage(digits=[dim1: 1 @ 8, dim0: rest])", "storage(digits=[dim0: rest])", false},
      {"storage(digits=[dim1: 1 @ 8, dim0: rest @ 8])", "storage(digits=[dim0: rest @ 8])", true},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    llrt_storage a = storage_of(rows[i].a, 2), b = storage_of(rows[i].b, 2);
    cr_expect_eq(llrt_storage_equal(&a, &b), rows[i].equal, "%s and %s", rows[i].a, rows[i].b);
    cr_expect_eq(llrt_storage_equal(&b, &a), rows[i].equal, "%s and %s", rows[i].b, rows[i].a);
    cr_expect_eq(same_hash(&a, &b), rows[i].equal, "%s and %s", rows[i].a, rows[i].b);
  }
  cr_expect(!llrt_storage_equal(NULL, NULL));
}

/* A random rule of rank 2 with a random tile, and a shape it takes. */
static llrt_storage random_storage(random_source *source, int64_t *shape) {
  llrt_storage storage = {.rank = 2};
  shape[0] = shape[1] = 1;
  if (random_below(source, 2)) {
    llrt_layout layout;
    int bits = random_below(source, 4);
    do {
      layout = random_layout(source, bits + random_below(source, 2), bits);
      strcpy(layout.out[0].name, "dim0");
      strcpy(layout.out[1].name, "dim1");
    } while (llrt_storage_from_layout(&layout, &storage) != LLRT_OK);
    for (int axis = 0; axis < 2; axis++) shape[axis] <<= storage.tile.out[axis].bits;
  }
  bool ended[2] = {false, false};
  for (int n = random_below(source, 5); n > 0; n--) {
    int axis = random_below(source, 2);
    int64_t positions = 1 + random_below(source, 4);
    if (ended[axis]) continue;
    ended[axis] = random_below(source, 3) == 0;
    storage.digit[storage.n_digits++] = (llrt_digit){
        .extent = ended[axis] ? LLRT_EXTENT_REST : positions,
        .stride = random_below(source, 3) ? LLRT_STRIDE_PACKED : random_below(source, 20),
        .axis = axis,
        .reversed = random_below(source, 4) == 0};
    shape[axis] *= positions;
  }
  return storage;
}

/* The canonical form places every element where the rule does, is its own canonical form, and
 * prints to something that parses back, as the rule itself does. */
Test(storage, canonical_form_and_text_keep_the_rule) {
  random_source source = random_start("storage/canonical");
  static char before[1 << 16], after[1 << 16];
  for (int trial = 0; trial < 1000; trial++) {
    int64_t shape[2];
    llrt_storage storage = random_storage(&source, shape), canonical, again;
    cr_assert(storage_canonicalise(&storage, &canonical) == LLRT_OK, "%s", llrt_last_error());
    cr_assert(storage_canonicalise(&canonical, &again) == LLRT_OK);
    cr_assert(llrt_storage_equal(&storage, &canonical) && same_hash(&storage, &canonical),
              "%s: %s, then %s", storage_text(&storage), storage_text(&canonical),
              storage_text(&again));
    cr_assert_str_eq(storage_text(&canonical), storage_text(&again), "%s", storage_text(&storage));
    list_offsets(&storage, 2, shape, NULL, before, sizeof before);
    list_offsets(&canonical, 2, shape, NULL, after, sizeof after);
    cr_assert_str_eq(before, after, "%s and %s", storage_text(&storage), storage_text(&canonical));
    cr_assert(storage_representative(&storage, &again) == LLRT_OK);
    cr_assert(llrt_storage_equal(&storage, &again), "%s and %s", storage_text(&storage),
              storage_text(&again));
    list_offsets(&again, 2, shape, NULL, after, sizeof after);
    cr_assert_str_eq(before, after, "%s and %s", storage_text(&storage), storage_text(&again));
    llrt_storage back = storage_of(storage_text(&storage), 2);
    cr_assert(llrt_storage_equal(&storage, &back), "%s", storage_text(&storage));
    list_offsets(&back, 2, shape, NULL, after, sizeof after);
    cr_assert_str_eq(before, after, "%s", storage_text(&storage));
  }
}

/* What stands for all rules that are equal: few digits, PACKED wherever memory has no gap. */
Test(storage, representatives) {
  static const struct {
    const char *rule, *representative;
  } rows[] = {
      {"storage(digits=[dim1: rest @ 1, dim0: rest])", "row_major"},
      {"storage(digits=[dim0: 1, dim1: 1 @ packed, dim1: rest, dim0: rest])", "row_major"},
      {"storage(digits=[dim1: 6 @ 1, dim0: 4 @ 6])", "storage(digits=[dim1: 6, dim0: 4])"},
      {"storage(digits=[dim1: 2, dim1: 3, dim0: 4])", "storage(digits=[dim1: 6, dim0: 4])"},
      {"storage(digits=[dim1: 3 @ 2, dim0: 4 @ 6], tile={offset: [[0,1]]} -> [dim0:1, dim1:2])",
       "storage(digits=[dim1: 6, dim0: 4])"},
      {"storage(digits=[dim0: 5 @ 8, dim1: rest], tile={offset: [[1,0],[0,2],[0,1]]} -> [dim0:2, "
       "dim1:4])",
       "storage(digits=[dim0: 5, dim1: rest], tile={offset: [[1,0],[0,2],[0,1]]} -> [dim0:2, "
       "dim1:4])"},
      {"storage(digits=[dim1: 90, dim0: 2 @ 720, dim0: 8 @ 90, dim0: rest @ 1440])",
       "storage(digits=[dim1: 90, dim0: 2 @ 720, dim0: 8 @ 90, dim0: rest])"},
      {"storage(digits=[dim1: 64, dim0: 1 @ 67, dim1: rest])",
       "storage(digits=[dim1: rest @ 67], tile={offset: [[0,1],[0,2],[0,4],[0,8],[0,16],[0,32]]} "
       "-> [dim0:1, dim1:64])"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    llrt_storage rule = storage_of(rows[i].rule, 2),
                 expected = storage_of(rows[i].representative, 2), made;
    char text[512];
    cr_assert_eq(storage_representative(&rule, &made), LLRT_OK, "%s", llrt_last_error());
    strcpy(text, storage_text(&made));
    cr_expect_str_eq(text, storage_text(&expected), "%s", rows[i].rule);
  }
}

/* ---- text ---- */

Test(storage, prints_the_shortest_form) {
  static const struct {
    const char *text, *printed;
  } rows[] = {
      {"row_major", "row_major"},
      {"col_major", "col_major"},
      {"strided([ 7, 1 ])", "strided([7,1])"},
      {"strided", "strided"},
      {"storage(digits=[dim1: rest, dim0: rest @ packed])", "row_major"},
      {"storage(digits=[dim0: rest, dim1: rest], rank=2)", "col_major"},
      {"storage(digits=[dim1: rest @ 1, dim0: rest @ 7])", "strided([7,1])"},
      {"{lane: [[1]]} -> [dim0:2]", "{offset: [[1]]} -> [dim0:2]"},
      {"storage(digits=[dim1: 3, dim0: rest @ runtime, dim1: rest])",
       "storage(rank=2, digits=[dim1: 3, dim0: rest @ runtime, dim1: rest])"},
      {"storage(tile={a: [[0,1]]} -> [dim0:1, dim1:2], digits=[dim1: rest @ 2])",
       "storage(rank=2, digits=[dim1: rest @ 2], tile={offset: [[0,1]]} -> [dim0:1, dim1:2])"},
      {"storage(digits=[dim1: rest, dim0: rest reversed])",
       "storage(rank=2, digits=[dim1: rest, dim0: rest reversed])"},
      {"storage(digits=[dim1: 4 reversed @ 3, dim0: rest reversed @ runtime])",
       "storage(rank=2, digits=[dim1: 4 reversed @ 3, dim0: rest reversed @ runtime])"},
      {"storage(rank=1, digits=[dim0: 8 reversed @ 1 on lane])",
       "storage(rank=1, digits=[dim0: 8 reversed @ 1 on lane])"},
      {"storage(digits=[])", "storage(rank=2, digits=[])"},
      {"storage(rank=0, digits=[])", "row_major"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    llrt_storage storage = storage_of(rows[i].text, 2);
    cr_expect_str_eq(storage_text(&storage), rows[i].printed, "%s", rows[i].text);
    llrt_storage back = storage_of(rows[i].printed, storage.rank);
    cr_expect(llrt_storage_equal(&storage, &back), "%s", rows[i].text);
  }
  llrt_storage storage = storage_of("row_major", 2);
  size_t length;
  char buffer[4];
  cr_assert(llrt_storage_print(&storage, buffer, sizeof buffer, &length) == LLRT_OK);
  cr_expect_str_eq(buffer, "row");
  cr_expect_eq(length, 9);
  cr_expect(llrt_storage_print(NULL, buffer, sizeof buffer, &length) == LLRT_INVALID_ARGUMENT);
}

Test(storage, families_are_images) {
  int64_t shape[2] = {2, 4};
  llrt_storage storage;
  cr_assert(llrt_storage_parse("blocked(size_per_thread=[1,2], threads_per_warp=[2,2], "
                               "warps_per_cta=[1,1], order=[1,0])",
                               2, shape, &storage) == LLRT_OK);
  cr_expect_str_eq(storage_text(&storage), "{offset: [[0,1],[0,2],[1,0]]} -> [dim0:2, dim1:4]");
}

Test(storage, malformed_text) {
  static const struct {
    const char *text, *message;
  } rows[] = {
      {"", "column 1: expected a layout"},
      {"foo", "column 1: unknown storage or layout 'foo'"},
      {"row_major x", "column 11: expected the end"},
      {"strided([1,2,3])", "column 9: 3 strides for rank 2"},
      {"strided(1)", "column 9: expected '['"},
      {"transposed(row_major", "column 21: expected ')'"},
      {"transposed(strided([1]))", "column 20: 1 strides for rank 2"},
      {"transposed(S[(8):(1)])", "column 1: a storage of rank 1 has no two axes"},
      {"strided([1,-2])", "column 12: expected a number"},
      {"strided([1,2]", "column 14: expected ')'"},
      {"{a: [[1]]} -> [x:2]", "column 1: there is no out-dim dim0"},
      {"{a: [[1]]} -> [dim0:4]",
       "column 1: a storage needs a surjective layout: rank 1 of 2 out bits"},
      {"storage", "column 8: expected '('"},
      {"storage()", "column 9: expected rank, digits, tile, swizzle, offset or pad"},
      {"storage(rank=9)", "column 14: the rank is at most 8"},
      {"storage(rank=2, rank=2)", "column 17: this is given twice"},
      {"storage(digits=[dim9: rest])", "column 17: 'dim9' is no axis: dim0..dim7"},
      {"storage(digits=[dim1: 0])", "column 23: a digit has 1 position or more"},
      {"storage(digits=[dim1: many])", "column 23: expected a number"},
      {"storage(digits=[dim1: 4 @ wide])", "column 27: expected a number"},
      {"storage(digits=[dim1: 4 back])", "column 25: expected ']'"},
      {"storage(digits=[dim1 4])", "column 22: expected ':'"},
      {"storage(digits=[dim1: 4)", "column 24: expected ']'"},
      {"storage(digits=[dim2: rest])", "column 1: digit 0 is of axis 2, the rank is 2"},
      {"storage(digits=[dim1: rest, dim1: rest])", "column 1: digit 1 follows the rest of axis 1"},
      {"storage(tile={a: [[1]]} -> [x:2])", "column 14: there is no out-dim dim0"},
      {"storage(tile={a: [[1]]} -> [dim0:2])",
       "column 1: the tile has 1 out-dims, the storage rank 2"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    llrt_storage out = {.rank = 7};
    expect_error(llrt_storage_parse(rows[i].text, 2, NULL, &out), LLRT_INVALID_ARGUMENT,
                 rows[i].message, rows[i].text);
    cr_expect_eq(out.rank, 0, "zeroed: %s", rows[i].text);
  }
  llrt_storage out;
  cr_expect(llrt_storage_parse(NULL, 2, NULL, &out) == LLRT_INVALID_ARGUMENT);
  cr_expect(llrt_storage_parse("row_major", -1, NULL, &out) == LLRT_INVALID_ARGUMENT);
  cr_expect(llrt_storage_parse("row_major", 2, NULL, NULL) == LLRT_INVALID_ARGUMENT);
}
