/* Outputs in storages that have an index's positions side by side, and its values in every order:
 * what follows in memory may be stored together, all else one by one. */
#include "tests/expression/compute_trial.h"

#include <criterion/criterion.h>
#include <string.h>

static const char *const devices[] = {"host", "cuda-emu:sm_90a", "cuda-emu:sm_80",
                                      "hip-emu:gfx942"};
enum { DEVICES = sizeof devices / sizeof *devices, PAGE = 16 };

/* ---- slots of `positions` for n tokens ---- */

/* In pages from the last one down, each in order from its first slot on. */
static void in_pages(int64_t *value, int64_t n, int64_t positions) {
  for (int64_t i = 0; i < n; i++) value[i] = (positions / PAGE - 1 - i / PAGE) * PAGE + i % PAGE;
}

/* The same, but the first token has a page's sixth slot. */
static void from_inside(int64_t *value, int64_t n, int64_t positions) {
  for (int64_t i = 0; i < n; i++)
    value[i] = (positions / PAGE - 1 - (i + 5) / PAGE) * PAGE + (i + 5) % PAGE;
}

/* From a multiple of 4 on that is none of 8 and 16. */
static void from_a_quarter(int64_t *value, int64_t n, int64_t positions) {
  (void)positions;
  for (int64_t i = 0; i < n; i++) value[i] = i + 4;
}

static void downward(int64_t *value, int64_t n, int64_t positions) {
  (void)positions;
  for (int64_t i = 0; i < n; i++) value[i] = n - 1 - i;
}

/* The first and the last of each page are where they would be, and two between are exchanged. */
static void exchanged(int64_t *value, int64_t n, int64_t positions) {
  in_pages(value, n, positions);
  for (int64_t i = 6; i + 1 < n; i += PAGE) {
    int64_t kept = value[i];
    value[i] = value[i + 1];
    value[i + 1] = kept;
  }
}

/* Some tokens, in the middle of a page and at the end, are none. */
static void padded(int64_t *value, int64_t n, int64_t positions) {
  in_pages(value, n, positions);
  for (int64_t i = 0; i < n; i++)
    if (i == 7 || i > n - 3) value[i] = -1;
}

static void nowhere(int64_t *value, int64_t n, int64_t positions) {
  for (int64_t i = 0; i < n; i++) value[i] = i % 2 ? -1 : positions + i;
}

/* In order up to the last position, and on behind it. */
static void beyond(int64_t *value, int64_t n, int64_t positions) {
  for (int64_t i = 0; i < n; i++) value[i] = positions - n / 2 - n / 2 % PAGE + i;
}

/* In order, but the last of each page is in the next one. */
static void torn(int64_t *value, int64_t n, int64_t positions) {
  (void)positions;
  for (int64_t i = 0; i < n; i++)
    value[i] = 2 * PAGE * (i / PAGE) + i % PAGE + i % PAGE / 15 * PAGE;
}

/* Neighbours lie in pages of their own, as the last tokens of sequences do. */
static void apart(int64_t *value, int64_t n, int64_t positions) {
  int64_t pages = positions / PAGE;
  for (int64_t i = 0; i < n; i++) value[i] = i % pages * PAGE + i / pages;
}

/* A page in order, then a page's worth of tokens in pages of their own, and so on. */
static void partly_apart(int64_t *value, int64_t n, int64_t positions) {
  int64_t pages = positions / PAGE, half = pages / 2;
  for (int64_t i = 0; i < n; i++) {
    int64_t page = i / PAGE, single = page / 2 * PAGE + i % PAGE;
    value[i] =
        page % 2 ? (half + single % half) * PAGE + single / half : page / 2 * PAGE + i % PAGE;
  }
}

static const struct {
  const char *name;
  void (*fill)(int64_t *value, int64_t n, int64_t positions);
} orders[] = {{"in pages", in_pages},
              {"from inside a page", from_inside},
              {"from a quarter", from_a_quarter},
              {"downward", downward},
              {"exchanged", exchanged},
              {"padded", padded},
              {"nowhere", nowhere},
              {"beyond the last", beyond},
              {"torn", torn},
              {"apart", apart},
              {"partly apart", partly_apart},
              {"drawn", NULL}};
enum { ORDERS = sizeof orders / sizeof *orders };

/* ---- what is stored ---- */

#define SLOTS_FIRST "storage(rank=3, digits=[dim0:16, dim2:32, dim1:2, dim0:rest])"
#define SLOTS_OF_16 "storage(rank=3, digits=[dim2:16, dim0:16, dim2:2, dim1:2, dim0:rest])"
#define SLOTS_OF_4 "storage(rank=3, digits=[dim0:4, dim2:32, dim1:2, dim0:rest])"
#define SLOTS_OF_THREE "storage(rank=3, digits=[dim0:16, dim2:24, dim1:3, dim0:rest])"
#define SLOTS_OF_MANY "storage(rank=3, digits=[dim0:16, dim2:16, dim1:2, dim0:rest])"
/* More tokens than the kernel for few of them takes (jit/plan/rows/rows_few.c). */
enum { MANY = 528 };
#define EIGHT_SLOTS_WIDE "storage(rank=3, digits=[dim0:8, dim2:64, dim1:4, dim0:rest])"

static const struct {
  const char *text;
  int64_t tokens, heads, width;
  llrt_dtype type; /* of the output with an index */
  const char *storage;
  int counted; /* as trial's */
  int out_of_range;
} cases[] = {
    {"(x[t h d]) -> (y[t h d]) { y = x * 0.5 }", 64, 2, 32, LLRT_E4M3, SLOTS_FIRST, 0,
     LLRT_RANGE_SKIP},
    {"(x[t h d]) -> (y[t h d]) { y = x * 0.5 }", 45, 2, 32, LLRT_E4M3, SLOTS_FIRST, 0,
     LLRT_RANGE_SKIP},
    {"(x[t h d]) -> (y[t h d]) { y = x - max(x, d) }", 37, 2, 32, LLRT_E4M3, SLOTS_FIRST, 0,
     LLRT_RANGE_SKIP},
    {"(x[t h d]) -> (y[t h d]) { y = x - max(x, d) }", 64, 2, 32, LLRT_BF16, SLOTS_FIRST, 0,
     LLRT_RANGE_SKIP},
    {"(x[t h d]) -> (y[t h d]) { y = x - max(x, d) }", 40, 2, 32, LLRT_F32, SLOTS_FIRST, 0,
     LLRT_RANGE_SKIP},
    {"(x[t h d]) -> (y[t h d]) { y = x / sum(x * x, d) }", 50, 2, 32, LLRT_E4M3, SLOTS_OF_16, 0,
     LLRT_RANGE_SKIP},
    {"(x[t h d]) -> (y[t h d]) { y = x * 2 }", 33, 2, 32, LLRT_E4M3, SLOTS_OF_4, 0,
     LLRT_RANGE_SKIP},
    {"(x[t h d]) -> (y[t h d]) { y = x - mean(x, d) }", 48, 4, 64, LLRT_E4M3, EIGHT_SLOTS_WIDE, 0,
     LLRT_RANGE_SKIP},
    {"(x[t h d]) -> (y[t h d]) { y = x - mean(x, d) }", 48, 2, 32, LLRT_E4M3, SLOTS_FIRST, 1,
     LLRT_RANGE_SKIP},
    {"(x[t h d]) -> (y[t h d]) { y = x + d }", 5, 2, 32, LLRT_E4M3, SLOTS_FIRST, 0,
     LLRT_RANGE_SKIP},
    {"(x[t h d]) -> (y[t h d]) { y = x - max(x, d) }", 39, 3, 24, LLRT_E4M3, SLOTS_OF_THREE, 0,
     LLRT_RANGE_SKIP},
    {"(x[t h d]) -> (y[t h d]) { y = x * 3 }", 50, 2, 32, LLRT_E4M3, SLOTS_FIRST, 0,
     LLRT_RANGE_REPORT},
    {"(x[t h d]) -> (y[t h d], z[t h]) { z = sum(x, d); y = x + 1 }", 33, 2, 32, LLRT_E4M3,
     SLOTS_FIRST, 0, LLRT_RANGE_SKIP},
    {"(x[t h d]) -> (y[t h d]) { y = x - max(x, d) }", MANY + 5, 2, 16, LLRT_E4M3, SLOTS_OF_MANY, 0,
     LLRT_RANGE_SKIP},
    {"(x[t h d]) -> (y[t h d]) { y = x * 0.5 }", MANY + 7, 2, 16, LLRT_E4M3, SLOTS_OF_MANY, 0,
     LLRT_RANGE_SKIP},
    {"(x[t h d]) -> (y[t h d]) { y = x / sum(x * x, d) }", MANY + 1, 2, 32, LLRT_E4M3, SLOTS_OF_16,
     0, LLRT_RANGE_SKIP},
    {"(x[t h d], w[t h d]) -> (z[t h d], y[t h d]) { z = x / sum(x * x, d); y = w }", 40, 2, 32,
     LLRT_E4M3, SLOTS_FIRST, 0, LLRT_RANGE_SKIP},
};
enum { CASES = sizeof cases / sizeof *cases };

static const char *run(int number, int order, const char *device, int offset) {
  trial t = {.text = cases[number].text,
             .seed = 900 + (uint64_t)number,
             .device = trial_device(device),
             .extent = {cases[number].tokens, cases[number].heads, cases[number].width},
             .counted = cases[number].counted,
             .count = (int)cases[number].tokens - 9,
             .offset = offset,
             .fill = orders[order].fill};
  int output = strstr(t.text, "w[") ? 3 : 1;
  t.tensor[0] = (trial_tensor){.type = LLRT_BF16};
  t.tensor[output] = (trial_tensor){.type = cases[number].type,
                                    .storage = cases[number].storage,
                                    .index = {.positions = (cases[number].tokens / 80 + 1) * 160,
                                              .axis = 0,
                                              .out_of_range = cases[number].out_of_range}};
  return trial_run(&t);
}

Test(compute_slots, every_order) {
  for (int i = 0; i < CASES; i++)
    for (int k = 0; k < ORDERS; k++)
      for (int d = 0; d < DEVICES; d++) {
        const char *wrong = run(i, k, devices[d], 0);
        cr_expect_null(wrong, "%d, slots %s on %s: %s", i, orders[k].name, devices[d], wrong);
      }
}

/* Memory that is not aligned to what slots that follow each other fill. */
Test(compute_slots, anywhere_in_memory) {
  for (int i = 0; i < CASES; i++)
    for (int offset = 1; offset <= 4; offset += 3) {
      const char *wrong = run(i, 0, "cuda-emu:sm_90a", offset);
      cr_expect_null(wrong, "%d, %d elements off: %s", i, offset, wrong);
    }
}
