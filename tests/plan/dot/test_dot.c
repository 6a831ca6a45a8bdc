/* Dots of a tile: every instruction and way of sharing by the interpreter on every target, compiled
 * on the host and on emulated devices, against products in plain loops. Elements are small
 * integers, so every order of summing is exact. */
#include "jit/probe/tile_op.h"

#include "base/bits.h"
#include "jit/plan/types/dot_instruction.h"
#include "tests/plan/flat_run.h"
#include "tests/number_reference.h"
#include "tests/open_device.h"

#include <llrt/llrt.h>

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TILES = 2, MAX_ELEMENTS = TILES << 14 };

static const char *const targets[] = {"sm_80",  "sm_89",     "sm_90a",    "gfx90a",
                                      "gfx942", "x86-64-v2", "x86-64-v3", "x86-64-v4"};
static const int extents[] = {0, 3, 4, 5, 6, 7};
#define EXTENTS (int)(sizeof extents / sizeof *extents)

typedef struct types {
  llrt_dtype a, b, d, product_a, product_b, sum;
  bool tf32;
} types;

static const types all_types[] = {
    {LLRT_F32, LLRT_F32, LLRT_F32, LLRT_F32, LLRT_F32, LLRT_F32, false},
    {LLRT_BF16, LLRT_BF16, LLRT_F32, LLRT_BF16, LLRT_BF16, LLRT_F32, false},
    {LLRT_F16, LLRT_F16, LLRT_F16, LLRT_F16, LLRT_F16, LLRT_F32, false},
    {LLRT_F64, LLRT_F64, LLRT_F64, LLRT_F64, LLRT_F64, LLRT_F64, false},
    {LLRT_F32, LLRT_F32, LLRT_F32, LLRT_F32, LLRT_F32, LLRT_F32, true},
    {LLRT_I8, LLRT_I8, LLRT_I32, LLRT_I8, LLRT_I8, LLRT_I32, false},
    {LLRT_U8, LLRT_I8, LLRT_I32, LLRT_U8, LLRT_I8, LLRT_I32, false},
    {LLRT_U8, LLRT_U8, LLRT_I32, LLRT_U8, LLRT_U8, LLRT_I32, false},
    {LLRT_E4M3, LLRT_E4M3, LLRT_F32, LLRT_E4M3, LLRT_E4M3, LLRT_F32, false},
    {LLRT_E4M3, LLRT_E5M2, LLRT_BF16, LLRT_E4M3, LLRT_E5M2, LLRT_F32, false},
    {LLRT_E5M2, LLRT_E5M2, LLRT_F32, LLRT_E5M2, LLRT_E5M2, LLRT_F32, false},
    {LLRT_E4M3FNUZ, LLRT_E4M3FNUZ, LLRT_F32, LLRT_E4M3FNUZ, LLRT_E4M3FNUZ, LLRT_F32, false},
    {LLRT_E5M2FNUZ, LLRT_E5M2FNUZ, LLRT_F32, LLRT_E5M2FNUZ, LLRT_E5M2FNUZ, LLRT_F32, false},
    {LLRT_E4M3FNUZ, LLRT_E5M2FNUZ, LLRT_F32, LLRT_E4M3FNUZ, LLRT_E5M2FNUZ, LLRT_F32, false},
    {LLRT_I8, LLRT_F16, LLRT_F16, LLRT_F16, LLRT_F16, LLRT_F32, false},
    {LLRT_I16, LLRT_I8, LLRT_I32, LLRT_I32, LLRT_I32, LLRT_I32, false},
    {LLRT_E5M2, LLRT_F32, LLRT_F32, LLRT_F32, LLRT_F32, LLRT_F32, false},
    {LLRT_I32, LLRT_I8, LLRT_I64, LLRT_I64, LLRT_I64, LLRT_I64, false},
};
#define TYPES (int)(sizeof all_types / sizeof *all_types)

static plan_kernel kernel;
static uint64_t seed = 7;
static unsigned char bytes[3][MAX_ELEMENTS * 8]; /* A, D, B */
static int values[3][MAX_ELEMENTS];

static bool is_integer(llrt_dtype type) { return type >= LLRT_I64 && type <= LLRT_U4; }

static int small(llrt_dtype type) {
  seed = seed * 6364136223846793005 + 1442695040888963407;
  int x = (int)((seed >> 33) % 5) - 2;
  return type == LLRT_U8 ? abs(x) : x;
}

static void put(llrt_dtype type, unsigned char *at, int64_t i, int x) {
  int size = llrt_dtype_bits(type) / 8;
  double wide = x;
  float narrow = (float)x;
  int64_t integer = x;
  uint64_t code;
  if (type == LLRT_F64) memcpy(&code, &wide, 8);
  else if (type == LLRT_F32) {
    code = 0;
    memcpy(&code, &narrow, 4);
  } else if (is_integer(type)) code = (uint64_t)integer;
  else code = reference_encode(type, x);
  if (size > 0) memcpy(at + i * size, &code, (size_t)size);
  else at[i / 2] = (unsigned char)(i % 2 ? (at[i / 2] & 15) | code << 4 : code & 15);
}

static double get(llrt_dtype type, const unsigned char *at, int64_t i) {
  int size = llrt_dtype_bits(type) / 8;
  uint64_t code = 0;
  double wide;
  memcpy(&code, at + i * size, (size_t)size);
  if (type == LLRT_I64) return (double)(int64_t)code;
  if (type == LLRT_I32) return (double)(int32_t)code;
  memcpy(&wide, &code, 8);
  return type == LLRT_F64 ? wide : reference_decode(type, code);
}

/* Elements of a tensor for all tiles. */
static int64_t fill(const plan_dot_tile *tile) {
  int64_t size = (int64_t)1 << plan_dot_tile_bits(tile);
  cr_assert_leq(TILES * size, MAX_ELEMENTS);
  for (int64_t i = 0; i < TILES * size; i++) {
    values[0][i] = small(tile->a);
    values[2][i] = small(tile->b);
    put(tile->a, bytes[0], i, values[0][i]);
    put(tile->b, bytes[2], i, values[2][i]);
  }
  return TILES * size;
}

static bool same(const plan_dot_tile *tile, const char *what) {
  int64_t size = (int64_t)1 << plan_dot_tile_bits(tile), m = 1 << tile->m, n = 1 << tile->n,
          k = 1 << tile->k;
  for (int64_t t = 0; t < TILES; t++)
    for (int64_t i = 0; i < m * n; i++) {
      int64_t sum = 0;
      for (int64_t z = 0; z < k; z++)
        sum += values[0][t * size + i / n * k + z] * values[2][t * size + z * n + i % n];
      double got = get(tile->d, bytes[1], t * size + i);
      if (got == (double)sum) continue;
      fprintf(stderr, "%s: tile %lld element (%lld, %lld): %g, not %lld\n", what, (long long)t,
              (long long)(i / n), (long long)(i % n), got, (long long)sum);
      return false;
    }
  return true;
}

static plan_dot_tile tile_of(const types *t, int m, int n, int k, int warps) {
  return (plan_dot_tile){.m = m,
                         .n = n,
                         .k = k,
                         .warps = warps,
                         .a = t->a,
                         .b = t->b,
                         .d = t->d,
                         .sum = t->sum,
                         .product_a = t->product_a,
                         .product_b = t->product_b,
                         .tf32 = t->tf32};
}

static void describe(const plan_dot_tile *tile, const char *target, char *what, size_t size) {
  snprintf(what, size, "%s: %dx%dx%d, %d warps, %s x %s%s, way %d", target, 1 << tile->m,
           1 << tile->n, 1 << tile->k, 1 << tile->warps, llrt_dtype_name(tile->a),
           llrt_dtype_name(tile->b), tile->tf32 ? " (tf32)" : "", tile->choice);
}

static void check(const plan_dot_tile *tile, llrt_device *device, const llrt_op *op,
                  const char *what) {
  const flat_array arrays[] = {{tile->a, bytes[0]}, {tile->d, bytes[1]}, {tile->b, bytes[2]}};
  int64_t elements = fill(tile);
  if (op) flat_run(device, op, arrays, 3, elements, what);
  else flat_interpret(&kernel, arrays, 3, elements, what);
  cr_assert(same(tile, what), "%s", what);
}

/* Every way of sharing that there is, for a shape that all of the target's instructions divide. */
Test(dot, every_way, .timeout = 300) {
  bool used[256] = {false};
  int ran = 0;
  for (size_t t = 0; t < sizeof targets / sizeof *targets; t++)
    for (int w = 0; w < TYPES; w++)
      for (int choice = 1; choice < 9; choice++) {
        char what[200];
        plan_target target;
        plan_dot_tile tile = tile_of(&all_types[w], 5, 5, 5, 1 + choice % 2);
        cr_assert_eq(plan_target_find(targets[t], &target), LLRT_OK);
        tile.choice = choice;
        describe(&tile, targets[t], what, sizeof what);
        llrt_status status = plan_dot_tile_make(&tile, &target, NULL, &kernel);
        if (status == LLRT_UNSUPPORTED) continue;
        cr_assert_eq(status, LLRT_OK, "%s: %s", what, llrt_last_error());
        check(&tile, NULL, NULL, what);
        for (int i = 0; i < kernel.n_steps; i++)
          if (kernel.step[i].kind == PLAN_DOT) used[kernel.step[i].instruction] = true;
        ran++;
      }
  printf("%d plans ran\n", ran);
  for (int i = 0; i < dot_instruction_count(); i++)
    cr_assert(used[i] || dot_instruction_at(i)->family == DOT_WGMMA ||
                  (dot_instruction_at(i)->family == DOT_FMA && dot_instruction_at(i)->k > 0),
              "%s: not used", dot_instruction_at(i)->name);
}

/* ---- warpgroups ---- */

/* A tile that takes the instruction twice along k, and by two warpgroups where it is small;
 * operands of 16 bits in rows along either axis. */
static plan_dot_tile group_tile(const dot_instruction *row, int form) {
  const bool half = llrt_dtype_bits((llrt_dtype)row->a) == 16;
  plan_dot_tile tile = {.m = 6 + (form & 1 && row->n <= 6),
                        .n = row->n,
                        .k = row->k + 1,
                        .warps = 2 + (form & 1),
                        .a = (llrt_dtype)row->a,
                        .b = (llrt_dtype)row->b,
                        .d = (llrt_dtype)row->acc,
                        .product_a = (llrt_dtype)row->a,
                        .product_b = (llrt_dtype)row->b,
                        .sum = (llrt_dtype)row->acc,
                        .tf32 = row->tf32,
                        .group = 1 + (form & 1)};
  if (form & 1 && row->n > 6) tile.warps = 2;
  for (int i = 0; i < 2; i++)
    tile.across[i] = half && form >> (1 + i) & 1 && (i == 0 || row->n >= 4);
  return tile;
}

static void describe_group(const dot_instruction *row, int form, char *what, size_t size) {
  snprintf(what, size, "%s, form %d", row->name, form);
}

/* Every instruction, A from registers and from shared memory. */
Test(dot, every_group, .timeout = 300) {
  plan_target target;
  int ran = 0;
  cr_assert_eq(plan_target_find("sm_90a", &target), LLRT_OK);
  for (int i = 0; i < dot_instruction_count(); i++) {
    const dot_instruction *row = dot_instruction_at(i);
    bool forms = row->n == 4 || row->n == 6; /* all of them */
    for (int form = 0; form < (forms ? 8 : 2) && row->family == DOT_WGMMA; form++) {
      char what[200];
      plan_dot_tile tile = group_tile(row, form);
      describe_group(row, form, what, sizeof what);
      if (form > 1 && !tile.across[0] && !tile.across[1]) continue;
      llrt_status status = plan_dot_tile_make(&tile, &target, NULL, &kernel);
      cr_assert_eq(status, LLRT_OK, "%s: %s", what, llrt_last_error());
      bool used = false;
      for (int s = 0; s < kernel.n_steps; s++)
        used |= kernel.step[s].kind == PLAN_DOT && kernel.step[s].instruction == i;
      cr_assert(used, "%s: not used", what);
      check(&tile, NULL, NULL, what);
      ran++;
    }
  }
  printf("%d plans ran\n", ran);
  cr_assert_geq(ran, 2 * 66);
}

/* The planner's own choice, over the shapes of the paper's table 4, a sample of types and warps at
 * each. */
Test(dot, every_shape, .timeout = 300) {
  int ran = 0, refused = 0, at = 0;
  for (int i = 0; i < EXTENTS * EXTENTS * EXTENTS; i++) {
    int m = extents[i % EXTENTS], n = extents[i / EXTENTS % EXTENTS],
        k = extents[i / EXTENTS / EXTENTS];
    if (m + n + k > 16) continue;
    for (int j = 0; j < 2; j++, at++) {
      char what[200];
      plan_target target;
      plan_dot_tile tile = tile_of(&all_types[at * 5 % TYPES], m, n, k, at / 3 % 4);
      const char *name = targets[at % (int)(sizeof targets / sizeof *targets)];
      cr_assert_eq(plan_target_find(name, &target), LLRT_OK);
      describe(&tile, name, what, sizeof what);
      llrt_status status = plan_dot_tile_make(&tile, &target, NULL, &kernel);
      refused += status == LLRT_UNSUPPORTED;
      if (status == LLRT_UNSUPPORTED) continue;
      cr_assert_eq(status, LLRT_OK, "%s: %s", what, llrt_last_error());
      check(&tile, NULL, NULL, what);
      ran++;
    }
  }
  printf("%d plans ran, %d refused\n", ran, refused);
  cr_assert_gt(ran, 340);
}

/* Whether a loop loads from memory. */
static bool loads_in_loop(void) {
  int loop = 0;
  while (loop < kernel.n_steps && kernel.step[loop].kind != PLAN_LOOP) loop++;
  for (int i = loop; i < kernel.n_steps; i++)
    if (kernel.step[i].kind == PLAN_LOAD) return true;
  return false;
}

/* Operands that a thread cannot hold: in shared memory whole, or where they do not fit it, a part
 * of k at a time. */
Test(dot, large_operands, .timeout = 300) {
  static const struct {
    const char *target;
    int m, n, k, warps;
    bool parts;
  } rows[] = {
      {"sm_90a", 7, 6, 6, 2, false},
      {"sm_90a", 6, 7, 7, 3, false},
      {"sm_80", 6, 7, 7, 3, true},
      {"gfx90a", 6, 6, 7, 1, true},
  };
  static const types wide = {LLRT_I64, LLRT_F64, LLRT_F64, LLRT_F64, LLRT_F64, LLRT_F64, false};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char what[200];
    plan_target target;
    plan_dot_tile tile = tile_of(&wide, rows[i].m, rows[i].n, rows[i].k, rows[i].warps);
    cr_assert_eq(plan_target_find(rows[i].target, &target), LLRT_OK);
    describe(&tile, rows[i].target, what, sizeof what);
    cr_assert_eq(plan_dot_tile_make(&tile, &target, NULL, &kernel), LLRT_OK, "%s: %s", what,
                 llrt_last_error());
    cr_assert_eq(loads_in_loop(), rows[i].parts, "%s", what);
    check(&tile, NULL, NULL, what);
  }
}

/* ---- compiled ---- */

static void compile_tile(llrt_device *device, const plan_dot_tile *tile, const char *what) {
  llrt_op *op;
  llrt_status status = llrt_dot_tile_op_make(device, tile, NULL, &kernel, &op);
  if (status == LLRT_UNSUPPORTED && !tile->group) return;
  cr_assert_eq(status, LLRT_OK, "%s: %s", what, llrt_last_error());
  check(tile, device, op, what);
  llrt_op_destroy(&op);
}

static void compile(llrt_device *device, const char *name, const types *t, int m, int n, int k,
                    int warps, int choice) {
  char what[200];
  plan_dot_tile tile = tile_of(t, m, n, k, warps);
  tile.choice = choice;
  describe(&tile, name, what, sizeof what);
  compile_tile(device, &tile, what);
}

/* Every type, and form of its operands, at one width each. */
static void compile_groups(llrt_device *device) {
  for (int i = 0, at = 0; i < dot_instruction_count(); i++) {
    const dot_instruction *row = dot_instruction_at(i);
    char what[200];
    if (row->family != DOT_WGMMA ||
        (row->n != 3 + at % 5 && llrt_dtype_bits((llrt_dtype)row->a) != 16))
      continue;
    int form = at++ % 8;
    plan_dot_tile tile = group_tile(row, form);
    describe_group(row, form, what, sizeof what);
    compile_tile(device, &tile, what);
  }
}

static void compile_all(const char *name) {
  opened_device at = open_device(name);
  for (int w = 0; w < TYPES; w++)
    for (int choice = 1; choice <= 3 && !host_leaves_out(name, w); choice += 2)
      compile(at.device, name, &all_types[w], 5, 5, 5, 1, choice);
  if (strstr(name, "sm_90a")) compile_groups(at.device);
  for (int i = 0; i < 24; i++) {
    int m = extents[i % 5], n = extents[i * 3 % 5], k = extents[i * 7 % 11 % 5];
    if (m + n + k <= 14 && !host_leaves_out(name, i))
      compile(at.device, name, &all_types[i * 3 % TYPES], m, n, k, i % 4, 0);
  }
  close_device(&at);
}

/* Lanes along either dim, and loops of both kinds; operands of 4 bits. */
static void compile_host(const char *name) {
  static const types narrow[] = {
      {LLRT_I4, LLRT_F16, LLRT_F32, LLRT_F16, LLRT_F16, LLRT_F32, false},
      {LLRT_F32, LLRT_E2M1, LLRT_F32, LLRT_F32, LLRT_F32, LLRT_F32, false}};
  static const int shapes[][3] = {{5, 7, 4}, {7, 3, 5}, {7, 7, 0}, {0, 7, 7},
                                  {7, 0, 7}, {0, 0, 7}, {6, 6, 3}};
  opened_device at = open_device(name);
  for (int i = 0; i < 7; i++) {
    if (host_leaves_out(name, i)) continue;
    for (int w = i % 3; w < TYPES; w += 3)
      compile(at.device, name, &all_types[w], shapes[i][0], shapes[i][1], shapes[i][2], 0, 0);
    for (int w = 0; w < 2; w++)
      compile(at.device, name, &narrow[w], shapes[i][0], shapes[i][1], shapes[i][2], 0, 0);
  }
  close_device(&at);
}

static void on_host(const char *name) {
  compile_all(name);
  compile_host(name);
}

Test(dot, host, .timeout = 300) { on_host_levels(on_host); }
Test(dot, sm_80, .timeout = 300) { compile_all("cuda-emu:sm_80"); }
Test(dot, sm_89, .timeout = 300) { compile_all("cuda-emu:sm_89"); }
Test(dot, sm_90a, .timeout = 300) { compile_all("cuda-emu:sm_90a"); }
Test(dot, gfx90a, .timeout = 300) { compile_all("hip-emu:gfx90a"); }
Test(dot, gfx942, .timeout = 300) { compile_all("hip-emu:gfx942"); }
