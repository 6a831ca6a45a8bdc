/* Grouped products on every device: each expert's rows against its own product. */
#include "grouped_case.h"
#include "tests/emulated_counts.h"
#include "tests/open_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Counts of rows that end at tiles, within them, that are 1 and that are none. */
static const struct {
  const char *name;
  int experts, count[8], beyond;
} spreads[] = {
    {"even", 4, {16, 16, 16, 16}, 0},    {"none", 3, {0, 0, 0}, 5},
    {"one to all", 4, {0, 0, 70, 0}, 0}, {"of one row", 8, {1, 1, 0, 1, 1, 1, 1, 1}, 1},
    {"many", 2, {270, 39}, 3},           {"mixed", 8, {1, 300, 0, 40, 128, 129, 5, 257}, 2},
    {"odd", 5, {3, 0, 129, 64, 7}, 11},
};
#define SPREADS ((int)(sizeof spreads / sizeof *spreads))
#define MANY 4  /* number: of packed weights alone, which have tiles for as many rows */
#define MIXED 5 /* number: of each so many kinds ... */
#define MIXED_KINDS 9

typedef struct kind {
  llrt_dtype a, b, d, scale;
  int64_t n, k, group;
  bool sums, gather, scatter, pointers, packed, sorted, columns; /* columns: A's storage */
  bool weighed; /* each row of the result by a number of its own */
} kind;

static const kind kinds[] = {
    {LLRT_BF16, LLRT_BF16, LLRT_BF16, .n = 64, .k = 64},
    {LLRT_BF16, LLRT_BF16, LLRT_F32, .n = 33, .k = 21, .gather = true, .scatter = true},
    {LLRT_F32, LLRT_F32, LLRT_F32, .n = 24, .k = 40, .scatter = true, .pointers = true},
    {LLRT_E4M3, LLRT_E4M3, LLRT_BF16, .n = 64, .k = 128, .gather = true},
    {LLRT_BF16, LLRT_E2M1, LLRT_BF16, LLRT_E8M0, 64, 128, 32, .packed = true},
    {LLRT_BF16, LLRT_BF16, LLRT_F32, .n = 40, .k = 24, .sums = true},
    {LLRT_BF16, LLRT_BF16, LLRT_BF16, .n = 128, .k = 136, .gather = true, .scatter = true},
    {LLRT_F16, LLRT_F16, LLRT_F16, .n = 192, .k = 64, .scatter = true, .pointers = true},
    {LLRT_I8, LLRT_I8, LLRT_I32, .n = 16, .k = 33},
    {LLRT_BF16, LLRT_BF16, LLRT_BF16, .n = 64, .k = 64, .gather = true, .scatter = true,
     .sorted = true},
    {LLRT_BF16, LLRT_BF16, LLRT_F32, .n = 40, .k = 24, .sums = true, .sorted = true},
    {LLRT_BF16, LLRT_E2M1, LLRT_BF16, LLRT_E8M0, 64, 128, 32, .packed = true, .sorted = true},
    {LLRT_BF16, LLRT_BF16, LLRT_BF16, .n = 136, .k = 72, .sums = true, .columns = true},
    {LLRT_F16, LLRT_F16, LLRT_F32, .n = 64, .k = 64, .sums = true, .sorted = true, .columns = true},
    {LLRT_BF16, LLRT_E2M1, LLRT_BF16, LLRT_E8M0, 128, 256, 32, .packed = true, .gather = true},
    {LLRT_BF16, LLRT_E2M1, LLRT_BF16, LLRT_E8M0, 128, 192, 32, .packed = true, .gather = true,
     .scatter = true, .weighed = true},
    {LLRT_BF16, LLRT_E2M1, LLRT_F32, LLRT_BF16, 80, 256, 128, .packed = true, .gather = true},
};
#define KINDS ((int)(sizeof kinds / sizeof *kinds))

static grouped_case case_of(const kind *of, int spread) {
  grouped_case c = {.sums = of->sums,
                    .experts = spreads[spread].experts,
                    .beyond = spreads[spread].beyond,
                    .leading = spread % 2,
                    .gather = of->gather,
                    .scatter = of->scatter,
                    .pointers = of->pointers,
                    .sorted = of->sorted};
  dot_problem *p = &c.each;
  p->n = of->n;
  *(of->sums ? &p->m : &p->k) = of->k;
  p->type[LLRT_DOT_A] = of->a;
  p->type[LLRT_DOT_B] = of->b;
  p->type[LLRT_DOT_D] = of->d;
  p->type[LLRT_DOT_SCALE_B] = of->scale;
  p->group[1][0] = of->group;
  p->packed = of->packed;
  if (of->weighed) {
    p->map[p->n_maps++] = LLRT_MAP_SCALE;
    p->type[LLRT_DOT_SCALE_D] = LLRT_F32;
    p->group[2][0] = 1;
    p->group[2][1] = LLRT_GROUP_ALL;
  }
  if (of->columns) snprintf(c.storage[LLRT_DOT_A], DOT_STORAGE_TEXT, "col_major");
  for (int e = 0; e < c.experts; e++) c.count[e] = spreads[spread].count[e];
  return c;
}

/* Every `step`th case, from `first` on. */
static void check_all(const char *name, int first, int step) {
  opened_device opened = open_device(name);
  for (int i = first; i < KINDS * SPREADS; i += step) {
    char why[600] = "", title[2000];
    if (i % SPREADS == MANY && !kinds[i / SPREADS].packed) continue;
    if (i % SPREADS == MIXED && i / SPREADS % MIXED_KINDS != 0) continue;
    grouped_case c = case_of(&kinds[i / SPREADS], i % SPREADS);
    grouped_case_title(&c, title, sizeof title);
    grouped_result result =
        grouped_case_run(&c, (uint64_t)i, opened.device, i % 2, why, sizeof why);
    cr_expect_eq(result, GROUPED_RIGHT, "%s, %s: %s: %s", name, spreads[i % SPREADS].name, title,
                 why);
  }
  close_device(&opened);
}

/* Emulators fault on every access outside of what was allocated. */
static void check_spoilt(const char *name) {
  opened_device opened = open_device(name);
  for (int i = 0; i < KINDS; i++) {
    char why[600] = "";
    grouped_case c = case_of(&kinds[i], SPREADS - 1);
    c.spoilt = true;
    grouped_result result = grouped_case_run(&c, 1, opened.device, i % 2, why, sizeof why);
    cr_expect_eq(result, GROUPED_RIGHT, "%s, kind %d: %s", name, i, why);
  }
  close_device(&opened);
}

/* More experts than a warp's table has entries (emit_expert_ends.c), by ends and by numbers. */
static void check_many(const char *name) {
  opened_device opened = open_device(name);
  for (int sorted = 0; sorted < 2; sorted++) {
    char why[600] = "";
    kind many = kinds[0];
    many.sorted = sorted;
    grouped_case c = case_of(&many, 0);
    c.experts = 270;
    for (int e = 0; e < c.experts; e++) c.count[e] = e % 5 == 0 ? e % 3 : e == 201 ? 70 : 0;
    grouped_result result = grouped_case_run(&c, 2, opened.device, false, why, sizeof why);
    cr_expect_eq(result, GROUPED_RIGHT, "%s: %s: %s", name, sorted ? "numbers" : "ends", why);
  }
  close_device(&opened);
}

Test(grouped, many_experts, .timeout = 300) {
  check_many("host");
  check_many("cuda-emu:sm_90a");
  check_many("hip-emu:gfx942");
}

/* Packed weights whose rows are cast, of more rows an expert than the tiles that cast them have. */
Test(grouped, many_cast_rows, .timeout = 300) {
  static const kind cast = {LLRT_E4M3, LLRT_I4, LLRT_BF16, LLRT_F16, 40, 128, 32, .packed = true};
  opened_device opened = open_device("cuda-emu:sm_90a");
  for (int prepared = 0; prepared < 2; prepared++) {
    char why[600] = "";
    grouped_case c = case_of(&cast, 0);
    c.experts = 2;
    c.count[0] = 129, c.count[1] = 64;
    grouped_result result = grouped_case_run(&c, 3, opened.device, prepared, why, sizeof why);
    cr_expect_eq(result, GROUPED_RIGHT, "%s: %s", prepared ? "prepared" : "one line", why);
  }
  close_device(&opened);
}

/* So many rows are promised that not each of their numbers is asked which kernel it takes. */
Test(grouped, many_promised_rows, .timeout = 300) {
  static const int few[] = {4, 11, 14}; /* numbers of kinds */
  opened_device opened = open_device("cuda-emu:sm_90a");
  for (size_t i = 0; i < sizeof few / sizeof *few; i++)
    for (int rows = 1; rows <= 60; rows = rows * 3 + 2) {
      char why[600] = "";
      grouped_case c = case_of(&kinds[few[i]], 0);
      c.experts = 8;
      for (int e = 0; e < c.experts; e++) c.count[e] = rows;
      c.promised[0] = (int64_t)c.experts * rows;
      c.promised[1] = 20000;
      grouped_result result = grouped_case_run(&c, 3, opened.device, true, why, sizeof why);
      cr_expect_eq(result, GROUPED_RIGHT, "kind %d, %d rows an expert: %s", few[i], rows, why);
    }
  close_device(&opened);
}

/* Tiles of 128 x 160 by two teams, which take positions by turns: of experts with rows for several
 * tiles, a part of one, and none; as they lie, and gathered, scattered and weighed. */
Test(grouped, teams, .timeout = 300) {
  static const kind of_teams[] = {{LLRT_BF16, LLRT_BF16, LLRT_BF16, .n = 160, .k = 128},
                                  {LLRT_F16, LLRT_F16, LLRT_F16, .n = 320, .k = 64, .sorted = true},
                                  {LLRT_BF16, LLRT_BF16, LLRT_BF16, .n = 160, .k = 64,
                                   .gather = true, .scatter = true, .weighed = true}};
  static const int count[] = {270, 1, 0, 128, 45};
  opened_device opened = open_device("cuda-emu:sm_90a");
  for (size_t i = 0; i < sizeof of_teams / sizeof *of_teams; i++) {
    char why[600] = "";
    grouped_case c = case_of(&of_teams[i], 0);
    c.experts = 5;
    memcpy(c.count, count, sizeof count);
    grouped_result result = grouped_case_run(&c, i, opened.device, i % 2, why, sizeof why);
    cr_expect_eq(result, GROUPED_RIGHT, "kind %zu: %s", i, why);
  }
  close_device(&opened);
}

/* Loads and copies from global memory of the last launch of a product of packed weights. */
static long loads_of(int64_t k, bool gather) {
  const kind few = {LLRT_BF16, LLRT_E2M1, LLRT_BF16,      LLRT_E8M0,       128,
                    k,         32,        .packed = true, .gather = gather};
  char why[600] = "";
  emulated_counts counts;
  emulated_counts_begin(&counts);
  opened_device opened = open_device("cuda-emu:sm_90a");
  grouped_case c = case_of(&few, 0);
  for (int e = 0; e < c.experts; e++) c.count[e] = 8;
  cr_expect_eq(grouped_case_run(&c, 1, opened.device, false, why, sizeof why), GROUPED_RIGHT, "%s",
               why);
  close_device(&opened);
  long loads = emulated_count(&counts, "global_loads");
  emulated_counts_end(&counts);
  return loads;
}

/* Which rows are gathered is read before the walk along K, however long that is. */
Test(grouped, reads_rows_once, .timeout = 300) {
  const long few = loads_of(2048, true) - loads_of(2048, false),
             many = loads_of(4096, true) - loads_of(4096, false);
  cr_expect_gt(few, 0);
  cr_expect_eq(few, many, "%ld and %ld loads of what gathers", few, many);
}

Test(grouped, spoilt_ends, .timeout = 300) { check_spoilt("host"); }
Test(grouped, spoilt_ends_sm_90a, .timeout = 300) { check_spoilt("cuda-emu:sm_90a"); }
Test(grouped, spoilt_ends_gfx942, .timeout = 300) { check_spoilt("hip-emu:gfx942"); }

Test(grouped, host, .timeout = 300) { check_all("host", 0, 1); }
/* A fourth of the cases each, the other three parts on sm_90a. */
Test(grouped, sm_80, .timeout = 300) { check_all("cuda-emu:sm_80", 3, 4); }
Test(grouped, sm_89, .timeout = 300) { check_all("cuda-emu:sm_89", 1, 8); }
/* Lanes that a branch parted stay apart until they synchronise. */
Test(grouped, sm_90a, .timeout = 300) {
  setenv("LLRT_EMU_LANES", "apart", 1);
  for (int part = 0; part < 3; part++) check_all("cuda-emu:sm_90a", part, 4);
}
Test(grouped, gfx90a, .timeout = 300) { check_all("hip-emu:gfx90a", 2, 8); }
Test(grouped, gfx942, .timeout = 300) { check_all("hip-emu:gfx942", 3, 4); }
