/* Products of no more positions along K than a group of scales has, on every device: the scale
 * stands on the sums then and is not rounded into elements, wherever operands and results lie. */
#include "dot_problem.h"
#include "dot_reference.h"

#include "jit/plan/dot/dot.h"
#include "runtime/described.h"
#include "tests/open_device.h"

#include <stdlib.h>
#include <string.h>

/* Digits of 20 positions along M and N, which do not divide those of DIGITS_OF_8. */
#define DIGITS_OF_20(axis, other) \
  "storage(rank=2, digits=[dim" axis ": 4, dim" axis ": 5, dim" axis ": rest, dim" other \
  ": rest], pad=0)"
#define DIGITS_OF_8 "storage(rank=2, digits=[dim1: 8, dim0: 8, dim1: rest, dim0: rest], pad=0)"

enum { MOST_K = 4 };

/* The type of an operand's elements, its scales and zero points, and positions along K of each. */
typedef struct scaled {
  llrt_dtype element, scale, zero;
  int64_t group;
} scaled;

static const struct {
  const char *a, *b, *scales;
  scaled by[2];
  int64_t batch;     /* 0: none */
  int64_t k[MOST_K]; /* up to the first that is -1 */
} rows[] = {
    /* 4-bit operands without a common refinement with scales, which stay where they lie: the
     * operands' row-major copies have rows of half a byte where K is 1 */
    {"",
     DIGITS_OF_20("1", "0"),
     DIGITS_OF_8,
     {{LLRT_I4, LLRT_E4M3, 0, 128}, {LLRT_E2M1, LLRT_F16, 0, 1}},
     0,
     {1, 3, -1}},
    {DIGITS_OF_20("0", "1"),
     "",
     DIGITS_OF_8,
     {{LLRT_I4, LLRT_F16, LLRT_I4, 1}, {LLRT_E4M3, 0, 0, 0}},
     0,
     {0, 1, 4, -1}},
    {DIGITS_OF_20("0", "1"),
     DIGITS_OF_20("1", "0"),
     DIGITS_OF_8,
     {{LLRT_E2M1, LLRT_F16, 0, 1}, {LLRT_U4, LLRT_BF16, LLRT_U4, 4}},
     0,
     {1, -1}},
    /* as they lie */
    {"", "", "", {{LLRT_I4, LLRT_E4M3, 0, 8}, {LLRT_U4, LLRT_F16, LLRT_U4, 2}}, 3, {2, 8, -1}},
};

static dot_problem problem_of(int row, int64_t k) {
  dot_problem p = {.m = 21, .n = 42, .k = k, .data = DOT_ANY};
  const char *const lies[] = {rows[row].a, rows[row].b};
  static const int roles[] = {LLRT_DOT_A, LLRT_DOT_B};
  for (int i = 0; i < 2; i++) {
    const scaled *by = &rows[row].by[i];
    int scale = i ? LLRT_DOT_SCALE_B : LLRT_DOT_SCALE_A;
    snprintf(p.storage[roles[i]], DOT_STORAGE_TEXT, "%s", lies[i]);
    if (by->scale) snprintf(p.storage[scale], DOT_STORAGE_TEXT, "%s", rows[row].scales);
    p.type[roles[i]] = by->element;
    p.type[scale] = by->scale;
    p.type[scale + 1] = by->zero;
    p.group[i][1 - i] = by->group;
    p.shared[i] = i && rows[row].batch;
  }
  p.type[LLRT_DOT_D] = LLRT_F32;
  p.n_batch = rows[row].batch > 0;
  p.batch[0] = rows[row].batch;
  return p;
}

/* The part's tensor in the device's memory. */
static llrt_tensor send(llrt_device *device, const dot_part *part) {
  llrt_tensor sent = part->tensor;
  sent.device = device;
  cr_assert_eq(llrt_memory_allocate(device, part->bytes + 1, &sent.data), LLRT_OK);
  cr_assert_eq(
      llrt_memory_copy(device, sent.data, part->image, part->bytes, LLRT_COPY_TO_DEVICE, NULL),
      LLRT_OK);
  return sent;
}

/* All of the bench's tensors there, and what stands on operands with them. */
static void send_all(llrt_device *device, dot_bench *bench, llrt_tensor sent[LLRT_DOT_ROLES]) {
  llrt_dot_scaling *scaling[] = {&bench->params.a, &bench->params.b};
  for (int r = 0; r < LLRT_DOT_ROLES; r++)
    if (bench->part[r].image) sent[r] = send(device, &bench->part[r]);
  for (int i = 0; i < 2; i++) {
    int scale = i ? LLRT_DOT_SCALE_B : LLRT_DOT_SCALE_A;
    if (scaling[i]->scale) scaling[i]->scale = &sent[scale];
    if (scaling[i]->zero) scaling[i]->zero = &sent[scale + 1];
  }
}

static void check(llrt_device *device, const dot_problem *problem, const char *where) {
  static dot_bench bench;
  char title[DOT_TITLE_BYTES], why[400];
  llrt_tensor sent[LLRT_DOT_ROLES] = {{0}};
  dot_problem_title(problem, title, sizeof title);
  cr_assert(dot_bench_make(problem, 1, &bench), "%s: %s", title, llrt_last_error());
  send_all(device, &bench, sent);
  const dot_part *d = &bench.part[LLRT_DOT_D];
  uint8_t *found = malloc(d->bytes + 1);
  cr_assert(found);
  cr_expect_eq(
      llrt_dot_into(&sent[LLRT_DOT_A], &sent[LLRT_DOT_B], &sent[LLRT_DOT_D], &bench.params, NULL),
      LLRT_OK, "%s: %s: %s", where, title, llrt_last_error());
  cr_assert_eq(
      llrt_memory_copy(device, found, sent[LLRT_DOT_D].data, d->bytes, LLRT_COPY_FROM_DEVICE, NULL),
      LLRT_OK);
  cr_expect(dot_reference_check(&bench, found, why, sizeof why), "%s: %s: %s", where, title, why);
  free(found);
  for (int r = 0; r < LLRT_DOT_ROLES; r++)
    if (sent[r].data) llrt_memory_free(device, sent[r].data);
  dot_bench_free(&bench);
}

/* part 0: all rows; else every third, from one on. */
static void check_all(const char *name, int part) {
  opened_device opened = open_device(name);
  for (int row = 0; row < (int)(sizeof rows / sizeof *rows); row++)
    for (int i = 0; i < MOST_K && rows[row].k[i] >= 0; i++) {
      if (part > 0 && row % 3 != part - 1) continue;
      const dot_problem problem = problem_of(row, rows[row].k[i]);
      check(opened.device, &problem, name);
    }
  close_device(&opened);
}

Test(dot_short, host, .timeout = 300) { check_all("host", 0); }
Test(dot_short, sm_90a, .timeout = 300) { check_all("cuda-emu:sm_90a", 1); }
Test(dot_short, gfx942, .timeout = 300) { check_all("hip-emu:gfx942", 3); }

/* How many of the plan's variants take a shape of k positions along K. */
static int takers(const plan *made, int64_t k) {
  const int64_t shape[] = {21, 42, k};
  int n = 0;
  for (int v = 0; v < made->n_variants; v++)
    n += made->variant[v].launch.stage == 0 &&
         plan_range_contains(&made->variant[v].launch.range, 3, shape);
  return n;
}

/* Where the kernel cannot be made, here for want of room in the plan, no other takes its shapes. */
Test(dot_short, refused_by_name) {
  enum { GROUP = 2 };
  static dot_bench bench;
  static described_dot call;
  static plan made;
  plan_target target;
  dot_problem problem = {.m = 21, .n = 42, .k = 16};
  problem.type[LLRT_DOT_A] = LLRT_F16;
  problem.type[LLRT_DOT_B] = LLRT_I8;
  problem.type[LLRT_DOT_SCALE_B] = LLRT_F16;
  problem.group[1][0] = GROUP;
  cr_assert(dot_bench_make(&problem, 1, &bench), "%s", llrt_last_error());
  const dot_part *part = bench.part;
  cr_assert_eq(described_dot_make(&part[LLRT_DOT_A].tensor, &part[LLRT_DOT_B].tensor,
                                  &part[LLRT_DOT_D].tensor, &bench.params, &call),
               LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(plan_target_find("x86-64-v3", &target), LLRT_OK);
  cr_assert_eq(plan_dot_make(&call.desc, &target, NULL, true, &made), LLRT_OK);
  for (; made.n_variants < PLAN_MAX_VARIANTS; made.n_variants++)
    made.variant[made.n_variants] = made.variant[made.n_variants - 1];
  for (int64_t k = 0; k <= GROUP + 1; k++) cr_expect_gt(takers(&made, k), 0);
  cr_assert_eq(dot_add_short(&call.desc, &call.desc, &target, NULL, &made), LLRT_OK, "%s",
               llrt_last_error());
  for (int64_t k = 0; k <= GROUP + 1; k++)
    cr_expect_eq(takers(&made, k) > 0, k == 0 || k > GROUP, "%d positions", (int)k);
  call.desc.promises[0].shape[2] = (llrt_promise){.min = 1, .max = GROUP};
  cr_expect_eq(dot_add_short(&call.desc, &call.desc, &target, NULL, &made), LLRT_UNSUPPORTED);
  cr_expect(strstr(llrt_last_error(), "K has 2 positions, no more than a group of scales"), "%s",
            llrt_last_error());
  dot_bench_free(&bench);
}
