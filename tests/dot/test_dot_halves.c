/* Products whose results have 4 bits, two in a byte, on every device: wherever they lie one thread
 * writes both halves of a byte, and what the storage does not name stays as it was. */
#include "dot_problem.h"
#include "dot_reference.h"

#include "tests/open_device.h"

#include <stdlib.h>

/* A product of one of these pairs of types ... */
static const struct {
  llrt_dtype a, b;
  bool acts; /* a bias, an activation */
} pairs[] = {{LLRT_F32, LLRT_F32, false},
             {LLRT_BF16, LLRT_I4, true},
             {LLRT_I8, LLRT_I8, false},
             {LLRT_I16, LLRT_I8, false},
             {LLRT_F64, LLRT_F16, true}};

/* ... whose result lies so. */
static const struct {
  const char *d;
  int64_t m, n, k;
} rows[] = {
    {"", 4, 6, 8},
    {"", 1, 40, 33},
    {"", 37, 44, 62},
    {"", 5, 7, 9},
    {"", 33, 45, 70},
    {"", 3, 1, 20},
    {"", 70, 130, 20},
    {"col_major", 6, 4, 8},
    {"col_major", 40, 1, 33},
    {"col_major", 44, 37, 62},
    {"col_major", 7, 5, 9},
    {"strided([48,1])", 37, 44, 62},
    {"strided([47,1])", 5, 44, 20},
    {"strided([1,38])", 37, 44, 62},
    {"strided([1,41])", 37, 44, 20},
    {"strided([2,200])", 37, 44, 20},
    {"strided([100,3])", 9, 20, 20},
    {"strided([52,1])", 33, 45, 20},
    {"S[(8,16):(20@m,1@m)] + R[2:200@m]", 8, 16, 40},
    {"tiled([16,16], {offset: [[1,0],[0,1],[2,0],[0,2],[4,0],[0,4],[8,8],[0,8]]} -> [dim0:16, "
     "dim1:16], order=[0,1])",
     32, 32, 24},
    {"tiled([4,32], identity1d(4, offset, dim0) * identity1d(32, offset, dim1), order=[0,1])", 8,
     64, 24},
    {"tiled([4,8], identity1d(4, offset, dim0) * identity1d(8, offset, dim1), order=[0,1])", 8, 24,
     24},
    {"marlin_w4", 32, 128, 40},
};

static const llrt_dtype results[] = {LLRT_I4, LLRT_U4, LLRT_E2M1};

static dot_problem problem_of(int row, int pair, llrt_dtype result) {
  dot_problem p = {.m = rows[row].m, .n = rows[row].n, .k = rows[row].k, .data = DOT_EXACT};
  p.type[LLRT_DOT_A] = pairs[pair].a;
  p.type[LLRT_DOT_B] = pairs[pair].b;
  p.type[LLRT_DOT_D] = result;
  if (pairs[pair].acts) {
    p.type[LLRT_DOT_BIAS] = LLRT_F32;
    p.n_maps = 1;
    p.map[0] = LLRT_MAP_RELU;
  }
  snprintf(p.storage[LLRT_DOT_D], DOT_STORAGE_TEXT, "%s", rows[row].d);
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

/* UNSUPPORTED, or a right result. */
static llrt_status check(llrt_device *device, const dot_problem *problem, const char *where) {
  static dot_bench bench;
  char title[DOT_TITLE_BYTES], why[400];
  dot_problem_title(problem, title, sizeof title);
  cr_assert(dot_bench_make(problem, 1, &bench), "%s: %s", title, llrt_last_error());
  llrt_tensor sent[LLRT_DOT_ROLES] = {{0}};
  for (int r = 0; r < LLRT_DOT_ROLES; r++)
    if (bench.part[r].image) sent[r] = send(device, &bench.part[r]);
  if (bench.params.bias) bench.params.bias = &sent[LLRT_DOT_BIAS];
  llrt_status status =
      llrt_dot_into(&sent[LLRT_DOT_A], &sent[LLRT_DOT_B], &sent[LLRT_DOT_D], &bench.params, NULL);
  const dot_part *d = &bench.part[LLRT_DOT_D];
  uint8_t *found = malloc(d->bytes + 1);
  cr_expect(status == LLRT_OK || status == LLRT_UNSUPPORTED, "%s: %s: %s", where, title,
            llrt_last_error());
  if (status == LLRT_OK) {
    cr_assert_eq(llrt_memory_copy(device, found, sent[LLRT_DOT_D].data, d->bytes,
                                  LLRT_COPY_FROM_DEVICE, NULL),
                 LLRT_OK);
    cr_expect(dot_reference_check(&bench, found, why, sizeof why), "%s: %s: %s", where, title, why);
  }
  free(found);
  for (int r = 0; r < LLRT_DOT_ROLES; r++)
    if (sent[r].data) llrt_memory_free(device, sent[r].data);
  dot_bench_free(&bench);
  return status;
}

/* part 0: all of them; else every third, from a case on. None is refused. */
static void check_all(const char *name, int part) {
  opened_device opened = open_device(name);
  int refused = 0;
  for (int i = 0; i < (int)(sizeof rows / sizeof *rows); i++)
    for (int r = 0; r < 3; r++) {
      if (part > 0 && (i + r) % 3 != part - 1) continue;
      const dot_problem problem = problem_of(i, (i + r) % 5, results[r]);
      refused += check(opened.device, &problem, name) == LLRT_UNSUPPORTED;
    }
  cr_expect_eq(refused, 0, "%s refuses %d", name, refused);
  close_device(&opened);
}

Test(dot_halves, host, .timeout = 300) { check_all("host", 0); }
Test(dot_halves, sm_80, .timeout = 300) { check_all("cuda-emu:sm_80", 1); }
Test(dot_halves, sm_90a, .timeout = 300) { check_all("cuda-emu:sm_90a", 2); }
Test(dot_halves, gfx942, .timeout = 300) { check_all("hip-emu:gfx942", 3); }
