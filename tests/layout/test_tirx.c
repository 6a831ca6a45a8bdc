/* Storages with named axes, in TIRx and CuTe notation: the documented case studies, number by
 * number, and random layouts forward and backward. */
#include "tests/layout/layout_text.h"

#include <llrt/tirx.h>

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define TENSOR_CORE "S[(8,2,4,2):(4@laneid,1@warpid,1@laneid,1)] + R[2:4@warpid] + 5@warpid"
#define SWIZZLED "swizzle(per_element=3, swizzle_len=3, atom_len=3) o S[(8,64):(64@m,1@m)]"

static llrt_storage storage_of(const char *text, int rank, const int64_t *shape) {
  llrt_storage storage;
  cr_assert(llrt_storage_parse(text, rank, shape, &storage) == LLRT_OK, "%s: %s", text,
            llrt_last_error());
  return storage;
}

/* "laneid=0 warpid=5 m=0; laneid=0 warpid=9 m=0" */
static void list_places(const llrt_storage *storage, int rank, const int64_t *shape,
                        const int64_t *coords, char *text, size_t size) {
  llrt_places places;
  size_t used = 0;
  cr_assert(llrt_storage_places(storage, rank, shape, coords, 0, &places) == LLRT_OK, "%s",
            llrt_last_error());
  cr_assert_eq(places.n, places.copies);
  for (int i = 0; i < places.n; i++)
    for (int a = 0; a < places.n_axes; a++)
      used += (size_t)snprintf(text + used, size - used, "%s%s=%lld",
                               a   ? " "
                               : i ? "; "
                                   : "",
                               places.axis[a], (long long)places.at[i][a]);
}

Test(tirx, case_studies) {
  static const struct {
    const char *text;
    int rank;
    int64_t shape[3], at[3];
    const char *places;
  } rows[] = {
      {TENSOR_CORE, 2, {8, 16}, {0, 0}, "laneid=0 warpid=5 m=0; laneid=0 warpid=9 m=0"},
      {TENSOR_CORE, 2, {8, 16}, {0, 1}, "laneid=0 warpid=5 m=1; laneid=0 warpid=9 m=1"},
      {TENSOR_CORE, 2, {8, 16}, {0, 2}, "laneid=1 warpid=5 m=0; laneid=1 warpid=9 m=0"},
      {TENSOR_CORE, 2, {8, 16}, {1, 0}, "laneid=4 warpid=5 m=0; laneid=4 warpid=9 m=0"},
      {TENSOR_CORE, 2, {8, 16}, {0, 8}, "laneid=0 warpid=6 m=0; laneid=0 warpid=10 m=0"},
      {TENSOR_CORE, 2, {8, 16}, {7, 15}, "laneid=31 warpid=6 m=1; laneid=31 warpid=10 m=1"},
      /* the same layout takes any shape of 128 elements */
      {TENSOR_CORE, 1, {128}, {127}, "laneid=31 warpid=6 m=1; laneid=31 warpid=10 m=1"},
      {TENSOR_CORE, 3, {4, 8, 4}, {3, 7, 3}, "laneid=31 warpid=6 m=1; laneid=31 warpid=10 m=1"},
      {"S[(3,5):(1@a,1@b)]", 2, {5, 3}, {1, 2}, "a=1 b=0"}, /* no digits of (5,3) say it */
      {"S[(2,128,112):(112@TCol,1@TLane,1@TCol)]", 3, {2, 128, 112}, {0, 0, 0}, "TCol=0 TLane=0"},
      {"S[(2,128,112):(112@TCol,1@TLane,1@TCol)]", 3, {2, 128, 112}, {0, 5, 3}, "TCol=3 TLane=5"},
      {"S[(2,128,112):(112@TCol,1@TLane,1@TCol)]", 3, {2, 128, 112}, {1, 0, 0}, "TCol=112 TLane=0"},
      {"S[(2,128,112):(112@TCol,1@TLane,1@TCol)]",
       3,
       {2, 128, 112},
       {1, 127, 111},
       "TCol=223 TLane=127"},
      {"S[(32,4):(1@TLane,1@TCol)] + R[4:32@TLane]",
       2,
       {32, 4},
       {7, 2},
       "TLane=7 TCol=2; TLane=39 TCol=2; TLane=71 TCol=2; TLane=103 TCol=2"},
      {"S[(32,4):(1@laneid,1)]", 2, {32, 4}, {3, 2}, "laneid=3 m=2"},
      {"S[4,8]", 2, {4, 8}, {1, 2}, "m=10"},
      {"swizzle(per_element=0, swizzle_len=2, atom_len=3) o S[(8,8)]", 2, {8, 8}, {1, 2}, "m=11"},
      /* position 9 = 1 + 8: its lowest two bits change those three higher; 1 + 8 ^ 1 << 3 */
      {"swizzle(per_element=0, swizzle_len=2, atom_len=3, swizzle_inner=false) o S[(8,8)]",
       2,
       {8, 8},
       {1, 1},
       "m=1"},
      {"swizzle(per_element=1, swizzle_len=1, atom_len=2, swizzle_inner=false) o S[(4)]",
       1,
       {4},
       {3},
       "m=11"},
      {"swizzle(per_element=0, swizzle_len=2, atom_len=3, swizzle_inner=true) o S[(8,8)]",
       2,
       {8, 8},
       {1, 2},
       "m=11"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char text[256];
    llrt_storage storage = storage_of(rows[i].text, rows[i].rank, rows[i].shape);
    list_places(&storage, rows[i].rank, rows[i].shape, rows[i].at, text, sizeof text);
    cr_expect_str_eq(text, rows[i].places, "%s: %s", rows[i].text, text);
  }
}

/* 128-byte swizzle of 16-bit elements: down a column, eight distinct banks of four bytes. */
Test(tirx, swizzled_banks) {
  const int64_t shape[2] = {8, 64};
  llrt_storage storage = storage_of(SWIZZLED, 2, shape);
  for (int64_t i = 0; i < 8; i++)
    for (int64_t j = 0; j < 64; j++) {
      llrt_places places;
      cr_assert(llrt_storage_places(&storage, 2, shape, (int64_t[]){i, j}, 0, &places) == LLRT_OK);
      cr_assert_eq(places.at[0][0], 64 * i + 8 * (j / 8 ^ i) + j % 8);
      if (j == 0) cr_assert_eq(places.at[0][0] / 2 % 32, 4 * i);
    }
}

Test(tirx, prints_and_parses) {
  static const char *const rows[][2] = {
      {TENSOR_CORE, "S[(8,2,4,2):(4@laneid,1@warpid,1@laneid,1)] + R[(2):(4@warpid)] + 5@warpid"},
      {SWIZZLED, "swizzle(per_element=3, swizzle_len=3, atom_len=3) o S[(8,64):(64,1)]"},
      {"swizzle(swizzle_inner=false, atom_len=3, per_element=0, swizzle_len=2) o S[(8,8)]",
       "swizzle(per_element=0, swizzle_len=2, atom_len=3, swizzle_inner=false) o S[(8,8):(8,1)]"},
      {"storage(digits=[dim0: rest], swizzle=[0,2,3,up], rank=1)",
       "storage(rank=1, digits=[dim0: rest], swizzle=[0,2,3,up])"},
      {"S[(32,)] + 3 + R[(2,2):(8@w,4@w)] + 4", "S[(32):(1)] + R[(2,2):(8@w,4@w)] + 7"},
      {"S[8:2@x]", "S[(8):(2@x)]"},
      {"((8,2),(4,4)):((8,64),(1,4))",
       "storage(rank=2, digits=[dim0: 8 @ 8, dim0: 2 @ 64, dim1: 4 @ 1, dim1: 4 @ 4])"},
      {"Swizzle<1,4,3> o 32 o 64:1",
       "swizzle(per_element=4, swizzle_len=1, atom_len=3) o S[(64):(1)] + 32"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char text[512];
    llrt_storage storage = storage_of(rows[i][0], 0, NULL);
    cr_assert(llrt_storage_print(&storage, text, sizeof text, NULL) == LLRT_OK);
    cr_expect_str_eq(text, rows[i][1], "%s: %s", rows[i][0], text);
    llrt_storage back = storage_of(text, storage.rank, NULL);
    cr_expect(llrt_storage_equal(&storage, &back), "%s", text);
  }
}

Test(tirx, malformed) {
  static const char *const rows[][2] = {
      {"S[(8,2):(4@laneid)]", "column 9: 1 strides for 2 extents"},
      {"S[(0):(1)]", "column 4: an extent is 1 or more"},
      {"S[(8):(1)] + x", "column 14: expected R or an offset"},
      {"S[(8):(1)", "column 10: expected ']'"},
      {"R[(8):(1)]", "column 1: unknown storage or layout 'R'"},
      {"swizzle(per_element=3, swizzle_len=3) o S[8]",
       "column 39: a swizzle has per_element, swizzle_len and atom_len"},
      {"swizzle(per_element=3, swizzle_len=4, atom_len=3) o S[8]",
       "column 1: a swizzle of 4 bits takes them from 3 higher, where they overlap"},
      {"swizzle(per_element=3, swizzle_len=3, atom_len=3, swizzle_inner=1) o S[8]",
       "column 65: expected true or false"},
      {"((8,2),4):(8,1)", "column 11: the strides do not have the form of the shape"},
      {"(8,(2:1", "column 6: expected ')'"},
      {"Swizzle<1,4> o 8:1", "column 12: expected ','"},
  };
  llrt_storage out;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    expect_error(llrt_storage_parse(rows[i][0], 0, NULL, &out), LLRT_INVALID_ARGUMENT, rows[i][1],
                 rows[i][0]);
  expect_error(llrt_storage_parse(TENSOR_CORE, 2, (int64_t[]){8, 8}, &out), LLRT_INVALID_ARGUMENT,
               "column 1: the layout has 128 elements, the shape 64", "size");
}

/* ---- random layouts: every element's places lead back to it; places of no element to none ---- */

static llrt_storage random_flat(random_source *source, bool powers) {
  llrt_storage storage = {.rank = 1, .n_targets = 2, .target = {"x", "y"}};
  int64_t next[3] = {1, 1, 1};
  int n = 1 + random_below(source, 5);
  for (int i = 0; i < n; i++) {
    int target = random_below(source, 3);
    int64_t extent = powers ? 1 << random_below(source, 3) : 1 + random_below(source, 4);
    bool replica = i > 0 && random_below(source, 4) == 0;
    storage.digit[storage.n_digits++] =
        (llrt_digit){.extent = extent,
                     .stride = next[target],
                     .axis = replica ? LLRT_AXIS_REPLICA : 0,
                     .target = (int16_t)target,
                     .reversed = !powers && random_below(source, 3) == 0};
    next[target] *= extent + (powers ? 0 : random_below(source, 2));
  }
  if (!powers)
    for (int t = 0; t < 3; t++) storage.offset[t] = random_below(source, 4);
  if (random_below(source, 2))
    storage.swizzle = (llrt_swizzle){1, 1, 2, (uint8_t)random_below(source, 2)};
  return storage;
}

static int64_t flat_size(const llrt_storage *storage) {
  int64_t size = 1;
  for (int i = 0; i < storage->n_digits; i++)
    if (storage->digit[i].axis == 0) size *= storage->digit[i].extent;
  return size;
}

Test(tirx, there_and_back) {
  static const char *const axes[3] = {"m", "x", "y"};
  random_source source = random_start("tirx/there_and_back");
  for (int trial = 0; trial < 300; trial++) {
    llrt_storage storage = random_flat(&source, false), grouped;
    int64_t shape[2] = {1, flat_size(&storage)}, hits = 0, occupied = 0, copies = 0;
    if (shape[1] % 2 == 0) shape[0] = 2, shape[1] /= 2;
    bool groups = llrt_tirx_group(&storage, 2, shape, &grouped) == LLRT_OK;
    llrt_places places, again;
    for (int64_t i = 0; i < shape[0] * shape[1]; i++) {
      int64_t coords[2] = {i / shape[1], i % shape[1]}, back[2];
      cr_assert(llrt_storage_places(&storage, 2, shape, coords, 0, &places) == LLRT_OK);
      if (groups) {
        cr_assert(llrt_storage_places(&grouped, 2, shape, coords, 0, &again) == LLRT_OK);
        cr_assert(memcmp(&places, &again, sizeof places) == 0);
      }
      copies = places.copies;
      for (int c = 0; c < places.n; c++) {
        int64_t at[3] = {0, 0, 0};
        bool found;
        for (int a = 0; a < places.n_axes; a++)
          at[strcmp(places.axis[a], "m") == 0 ? 0 : places.axis[a][0] - 'x' + 1] = places.at[c][a];
        cr_assert(llrt_storage_find(&storage, 2, shape, axes, at, 3, &found, back) == LLRT_OK);
        cr_assert(found && back[0] == coords[0] && back[1] == coords[1]);
        hits++;
      }
    }
    cr_assert_eq(hits, copies * shape[0] * shape[1]);
    for (int64_t p = 0; p < 16 * 16 * 16; p += 5) {
      int64_t at[3] = {p & 15, p >> 4 & 15, p >> 8}, back[2];
      bool found;
      cr_assert(llrt_storage_find(&storage, 2, shape, axes, at, 3, &found, back) == LLRT_OK);
      if (!found) continue;
      occupied++;
      bool there = false;
      cr_assert(llrt_storage_places(&storage, 2, shape, back, 0, &places) == LLRT_OK);
      for (int c = 0; c < places.n; c++) {
        bool same = true;
        for (int a = 0; a < places.n_axes; a++)
          same &= places.at[c][a] ==
                  at[strcmp(places.axis[a], "m") == 0 ? 0 : places.axis[a][0] - 'x' + 1];
        there |= same;
      }
      cr_assert(there);
    }
  }
}

/* Where a storage is a map over F2, the map and the storage agree. */
Test(tirx, as_layout) {
  random_source source = random_start("tirx/as_layout");
  int linear = 0;
  for (int trial = 0; trial < 300; trial++) {
    llrt_storage storage = random_flat(&source, true);
    int64_t shape[2] = {1, flat_size(&storage)};
    if (shape[1] % 2 == 0) shape[0] = 2, shape[1] /= 2;
    llrt_layout layout;
    llrt_status status = llrt_storage_to_layout(&storage, 2, shape, &layout);
    /* only an upward swizzle can lead out of the places in use */
    cr_assert(status == LLRT_OK || storage.swizzle.upward, "%s", llrt_last_error());
    if (status != LLRT_OK) continue;
    linear++;
    for (int64_t i = 0; i < shape[0] * shape[1]; i++) {
      int64_t coords[2] = {i / shape[1], i % shape[1]};
      llrt_places places;
      cr_assert(llrt_storage_places(&storage, 2, shape, coords, 0, &places) == LLRT_OK);
      for (int c = 0; c < places.n; c++) {
        uint64_t in[LLRT_MAX_IN_DIMS] = {0}, out[2];
        for (int a = 0; a < places.n_axes; a++)
          in[llrt_layout_in_index(&layout, places.axis[a])] = (uint64_t)places.at[c][a];
        cr_assert(llrt_layout_apply(&layout, in, out) == LLRT_OK, "%s", llrt_last_error());
        cr_assert(out[0] == (uint64_t)coords[0] && out[1] == (uint64_t)coords[1]);
      }
    }
  }
  cr_assert(linear > 200);
}

Test(tirx, why_no_layout) {
  static const char *const rows[][2] = {
      {"S[(8,4):(4@laneid,1@laneid)] + 5@warpid",
       "not linear over F2: an offset is added, on warpid (5)"},
      {"S[(32,3):(1@laneid,1)]", "not linear over F2: axis 0 has 96 positions, no power of two"},
      {"S[(4,4):(3,1)]", "not linear over F2: a stride is no power of two, on m (3)"},
      {"S[(4,4):(2,1)]", "not linear over F2: two digits add to one bit, on m (2)"},
      {"S[(4,4):(8,1)]", "not linear over F2: some places hold nothing, the first is, on m (4)"},
      {"swizzle(per_element=0, swizzle_len=1, atom_len=3, swizzle_inner=false) o S[8]",
       "not linear over F2: the swizzle leads past the last place, on m (8)"},
      {"storage(rank=1, digits=[dim0: 4 reversed @ 1, dim0: 4 @ 4])",
       "not linear over F2: a digit counts down, on m (1)"},
      {"S[(4,4):(4,1)] + R[3:16]", "not linear over F2: an extent is no power of two, on m (3)"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    llrt_layout out;
    llrt_storage storage = storage_of(rows[i][0], 0, NULL);
    int64_t size = flat_size(&storage);
    expect_error(llrt_storage_to_layout(&storage, 1, &size, &out), LLRT_UNSUPPORTED, rows[i][1],
                 rows[i][0]);
  }
}
