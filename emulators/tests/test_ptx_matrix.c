/* Matrix fragments and products against plain matrix arithmetic, and atomics. */
#include "emulators/tests/ptx_fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static ptx_result result;
static uint64_t seed = 1;

static int small(int limit) {
  seed = seed * 6364136223846793005 + 1442695040888963407;
  return (int)((seed >> 33) % (uint64_t)(2 * limit + 1)) - limit;
}

/* ---- mma ---- */

typedef uint64_t encode(int x);

static uint64_t as_f32(int x) {
  float value = (float)x;
  uint32_t bits;
  memcpy(&bits, &value, 4);
  return bits;
}
static uint64_t as_bf16(int x) { return as_f32(x) >> 16; }
static uint64_t as_f16(int x) { /* |x| <= 3 */
  static const uint16_t table[] = {0, 0x3c00, 0x4000, 0x4200};
  return table[x < 0 ? -x : x] | (x < 0 ? 0x8000u : 0);
}
static uint64_t as_e4m3(int x) {
  static const uint8_t table[] = {0, 0x38, 0x40, 0x44};
  return table[x < 0 ? -x : x] | (x < 0 ? 0x80u : 0);
}
static uint64_t as_e5m2(int x) { return as_f16(x) >> 8; }
static uint64_t as_s8(int x) { return (uint8_t)x; }
static uint64_t as_u8(int x) { return (uint8_t)(x < 0 ? -x : x); }
static uint64_t as_s32(int x) { return (uint32_t)x; }
static uint64_t as_f64(int x) {
  double value = x;
  uint64_t bits;
  memcpy(&bits, &value, 8);
  return bits;
}

static const struct {
  const char *shape, *types; /* d.a.b.c */
  int m, k, bits;
  encode *a, *b, *d;
} products[] = {
    {"m16n8k8", "f32.f16.f16.f32", 16, 8, 16, as_f16, as_f16, as_f32},
    {"m16n8k16", "f32.f16.f16.f32", 16, 16, 16, as_f16, as_f16, as_f32},
    {"m16n8k8", "f32.bf16.bf16.f32", 16, 8, 16, as_bf16, as_bf16, as_f32},
    {"m16n8k16", "f32.bf16.bf16.f32", 16, 16, 16, as_bf16, as_bf16, as_f32},
    {"m16n8k4", "f32.tf32.tf32.f32", 16, 4, 32, as_f32, as_f32, as_f32},
    {"m16n8k8", "f32.tf32.tf32.f32", 16, 8, 32, as_f32, as_f32, as_f32},
    {"m16n8k16", "s32.s8.s8.s32", 16, 16, 8, as_s8, as_s8, as_s32},
    {"m16n8k32", "s32.s8.s8.s32", 16, 32, 8, as_s8, as_s8, as_s32},
    {"m16n8k32", "s32.u8.s8.s32", 16, 32, 8, as_u8, as_s8, as_s32},
    {"m16n8k32", "f32.e4m3.e4m3.f32", 16, 32, 8, as_e4m3, as_e4m3, as_f32},
    {"m16n8k32", "f32.e5m2.e4m3.f32", 16, 32, 8, as_e5m2, as_e4m3, as_f32},
    {"m8n8k4", "f64.f64.f64.f64", 8, 4, 64, as_f64, as_f64, as_f64},
};
#define N_PRODUCTS ((int)(sizeof products / sizeof products[0]))

static int x[16][32], y[32][8], z[16][8];

static void make_matrices(int index) {
  int m = products[index].m, k = products[index].k;
  bool positive = products[index].a == as_u8;
  for (int i = 0; i < m; i++) {
    for (int j = 0; j < k; j++) x[i][j] = positive ? small(3) & 3 : small(3);
  }
  for (int i = 0; i < k; i++) {
    for (int j = 0; j < 8; j++) y[i][j] = small(3);
  }
  for (int i = 0; i < m; i++) {
    for (int j = 0; j < 8; j++) {
      z[i][j] = (i + j) % 5;
      for (int s = 0; s < k; s++) z[i][j] += x[i][s] * y[s][j];
    }
  }
}

/* Element number `i` of a lane's part of A, in the words of the ISA's fragment pictures: two groups
 * of rows take turns every (32 / bits) elements, then the columns go on. */
static void place_a(int index, int lane, int i, int *row, int *column) {
  int along = products[index].bits < 32 ? 32 / products[index].bits : 1, chunk = i / along;
  bool two = products[index].m == 16;
  *row = lane / 4 + (two && chunk % 2 ? 8 : 0);
  *column = lane % 4 * along + i % along + (two ? chunk / 2 : chunk) * 4 * along;
}

/* Operands A in a and b, B in c, by 32-bit registers. */
static void fill_lane(int index, int lane, uint64_t *in) {
  uint32_t word[6] = {0};
  int bits = products[index].bits, along = bits < 32 ? 32 / bits : 1;
  int n_a = products[index].m * products[index].k / 32, n_b = products[index].k / 4;
  if (bits == 64) {
    in[0] = as_f64(x[lane / 4][lane % 4]);
    in[2] = as_f64(y[lane % 4][lane / 4]);
    return;
  }
  for (int i = 0; i < n_a; i++) {
    int row, column;
    place_a(index, lane, i, &row, &column);
    word[i / along] |= (uint32_t)products[index].a(x[row][column]) << (i % along * (bits % 32));
  }
  for (int i = 0; i < n_b; i++) {
    int row = lane % 4 * along + i % along + i / along * 4 * along;
    word[4 + i / along] |= (uint32_t)products[index].b(y[row][lane / 4])
                           << (i % along * (bits % 32));
  }
  memcpy(in, word, sizeof word);
}

/* Two of the four results of each lane: half 0 or 1. */
static void run_product(int index, int half) {
  static uint64_t in[32][3];
  char body[1024];
  int bits = products[index].bits, n_a = products[index].m * products[index].k * bits / 1024;
  int n_b = products[index].k * bits / 128;
  memset(in, 0, sizeof in);
  for (int lane = 0; lane < 32; lane++) fill_lane(index, lane, in[lane]);
  const char *a = n_a == 4 ? "{%r20,%r21,%r22,%r23}" : "{%r20,%r21}",
             *b = n_b == 2 ? "{%r24,%r25}" : "{%r24}";
  if (bits == 64) {
    snprintf(body, sizeof body,
             "and.b32 %%r4, %%r8, 3; shl.b32 %%r4, %%r4, 1; shr.u32 %%r5, %%r8, 2; add.s32 "
             "%%r4, %%r4, "
             "%%r5; rem.u32 %%r5, %%r4, 5; cvt.rn.f64.u32 %%d4, %%r5; add.u32 %%r4, %%r4, 1;"
             "rem.u32 %%r5, %%r4, 5; cvt.rn.f64.u32 %%d5, %%r5;"
             "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 "
             "{%%d6,%%d7},{%%d1},{%%d3},{%%d4,%%d5};"
             "mov.b64 %%d0, %%d%d;",
             6 + half);
  } else {
    bool floats = products[index].d == as_f32;
    int used = snprintf(body, sizeof body,
                        "mov.b64 {%%r20,%%r21}, %%d1; mov.b64 {%%r22,%%r23}, %%d2; mov.b64 "
                        "{%%r24,%%r25}, %%d3; and.b32 %%r4, %%r8, 3; shl.b32 %%r4, %%r4, 1; "
                        "shr.u32 "
                        "%%r5, %%r8, 2; add.s32 %%r4, %%r4, %%r5;");
    for (int r = 0; r < 4; r++) { /* c = (row + column) mod 5 */
      used +=
          snprintf(body + used, sizeof body - (size_t)used,
                   "add.s32 %%r5, %%r4, %d; rem.u32 %%r%d, %%r5, 5;", r % 2 + 8 * (r / 2), 10 + r);
      if (floats) {
        used += snprintf(body + used, sizeof body - (size_t)used, "cvt.rn.f32.u32 %%r%d, %%r%d;",
                         10 + r, 10 + r);
      }
    }
    snprintf(body + used, sizeof body - (size_t)used,
             "mma.sync.aligned.%s.row.col.%s "
             "{%%r30,%%r31,%%r32,%%r33},%s,%s,{%%r10,%%r11,%%r12,%%r13};"
             "mov.b64 %%d0, {%%r%d,%%r%d};",
             products[index].shape, products[index].types, a, b, 30 + 2 * half, 31 + 2 * half);
  }
  ptx_program_run(&(ptx_program){.body = body}, (const uint64_t(*)[3])in, &result);
  cr_assert(result.done, "%s.%s: %s", products[index].shape, products[index].types,
            result.fault.message);
}

Test(ptx_matrix, products) {
  for (int index = 0; index < N_PRODUCTS; index++) {
    make_matrices(index);
    for (int half = 0; half < 2; half++) {
      run_product(index, half);
      for (int lane = 0; lane < 32; lane++) {
        int row = lane / 4 + (products[index].bits == 64 ? 0 : 8 * half), column = lane % 4 * 2;
        encode *d = products[index].d;
        uint64_t expected = products[index].bits == 64
                                ? d(z[row][column + half])
                                : d(z[row][column]) | d(z[row][column + 1]) << 32;
        cr_expect(result.out[lane] == expected, "%s.%s lane %d half %d: 0x%llx, not 0x%llx",
                  products[index].shape, products[index].types, lane, half,
                  (unsigned long long)result.out[lane], (unsigned long long)expected);
      }
    }
  }
}

/* f16 accumulators: 1 times the identity-like A, so that D is B's columns. */
/* What a target does not have is refused in a text for it. */
Test(ptx_matrix, targets) {
  static const struct {
    const char *code;
    int first; /* of the targets below that have it */
  } rows[] = {
      {"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%f1, %f2, %f3, %f4}, {%r1, %r1, %r1, "
       "%r1}, {%r1, %r1}, "
       "{%f1, %f2, %f3, %f4};",
       1},
      {"griddepcontrol.wait;", 2},
      {"wgmma.mma_async.sync.aligned.m64n8k32.s32.u8.u8 {%r10, %r11, %r12, %r13}, %d1, %d1, %p1;",
       3},
      {"mov.u32 %r1, %r1;", 0},
  };
  static const char *const targets[] = {"sm_80", "sm_89", "sm_90", "sm_90a"};
  for (int i = 0; i < 16; i++) {
    ptx_program_run(&(ptx_program){.body = rows[i / 4].code, .target = targets[i % 4]}, NULL,
                    &result);
    bool refused = !result.done && strstr(result.fault.message, "another .target") != NULL;
    cr_expect(refused == (i % 4 < rows[i / 4].first), "%s for %s: %s", rows[i / 4].code,
              targets[i % 4], result.fault.message);
  }
}

/* What came later than its target is refused in a text of the target's version. */
Test(ptx_matrix, versions) {
  static const struct {
    const char *code;
    bool late;
  } rows[] = {
      {"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%f1, %f2, %f3, %f4}, {%r1, %r1, %r1, "
       "%r1}, {%r1, %r1}, "
       "{%f1, %f2, %f3, %f4};",
       true},
      {"mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%r10, %r11, %r12, %r13}, {%r1, %r1, %r1, "
       "%r1}, {%r1, %r1}, "
       "{%r1, %r1, %r1, %r1};",
       false},
      {"wgmma.mma_async.sync.aligned.m64n8k32.s32.u8.s8 {%r10, %r11, %r12, %r13}, %d1, %d1, %p1;",
       true},
      {"wgmma.mma_async.sync.aligned.m64n8k32.s32.u8.u8 {%r10, %r11, %r12, %r13}, %d1, %d1, %p1;",
       false},
  };
  static const char *const versions[] = {"8.0", "8.3", "8.4", "9.0"};
  for (int i = 0; i < 16; i++) {
    char body[512];
    snprintf(body, sizeof body, "%s", rows[i / 4].code);
    ptx_program_run(&(ptx_program){.body = body, .version = versions[i % 4]}, NULL, &result);
    bool refused = !result.done && strstr(result.fault.message, "a later .version") != NULL;
    cr_expect(refused == (rows[i / 4].late && i % 4 < 2), "%s of %s: %s", body, versions[i % 4],
              result.fault.message);
  }
}

Test(ptx_matrix, half_accumulators) {
  ptx_program_run(
      &(ptx_program){
          .body = "mov.u32 %r20, 0x3c003c00; mov.u32 %r24, 0x40004000; mov.u32 %r10, 0x3c003c00;"
                  "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 "
                  "{%r30,%r31},{%r20,%r20},{%r24},{%r10,%r10};"
                  "mov.b64 %d0, {%r30,%r31};"},
      NULL, &result);
  cr_assert(result.done, "%s", result.fault.message);
  for (int lane = 0; lane < 32; lane++) cr_expect(result.out[lane] == 0x4c404c404c404c40); /* 17 */
}

/* ---- ldmatrix and stmatrix ---- */

/* Shared half-words hold their own index; row i of matrix m is at 16 (8 m + i). */
#define FILL \
  "mov.u32 %r5, tile; shl.b32 %r6, %r8, 4; add.s32 %r6, %r6, %r5; shl.b32 %r10, %r8, 3;" \
  "shl.b32 %r11, %r10, 16; or.b32 %r10, %r10, %r11; add.u32 %r10, %r10, 0x10000;" \
  "add.u32 %r11, %r10, 0x20002; add.u32 %r12, %r10, 0x40004; add.u32 %r13, %r10, 0x60006;" \
  "st.shared.v4.u32 [%r6], {%r10, %r11, %r12, %r13}; bar.warp.sync -1;"

static uint64_t element(int lane, int matrix, int e, bool transposed) {
  int a = lane / 4, b = lane % 4 * 2 + e;
  return (uint64_t)(64 * matrix + (transposed ? 8 * b + a : 8 * a + b));
}

static uint64_t fragment(int lane, int matrix, bool transposed) {
  return element(lane, matrix, 0, transposed) | element(lane, matrix, 1, transposed) << 16;
}

Test(ptx_matrix, ldmatrix) {
  static const char *const modes[] = {"", ".trans"};
  char body[1024];
  for (int transposed = 0; transposed < 2; transposed++) {
    for (int half = 0; half < 2; half++) {
      snprintf(body, sizeof body,
               "%s ldmatrix.sync.aligned.m8n8.x4%s.shared.b16 "
               "{%%r20,%%r21,%%r22,%%r23}, [%%r6]; mov.b64 %%d0, {%%r%d,%%r%d};",
               FILL, modes[transposed], 20 + 2 * half, 21 + 2 * half);
      ptx_program_run(&(ptx_program){.body = body}, NULL, &result);
      cr_assert(result.done, "%s", result.fault.message);
      cr_expect(result.counters.shared_load_wavefronts == 4);
      for (int lane = 0; lane < 32; lane++) {
        cr_expect(result.out[lane] == (fragment(lane, 2 * half, transposed) |
                                       fragment(lane, 2 * half + 1, transposed) << 32),
                  "lane %d: %llx", lane, (unsigned long long)result.out[lane]);
      }
    }
  }
  ptx_program_run(&(ptx_program){.body =
                                     FILL "ldmatrix.sync.aligned.m8n8.x1.shared::cta.b16 {%r20},"
                                          "[%r6]; cvt.u64.u32 %d0, %r20;"},
                  NULL, &result);
  for (int lane = 0; lane < 32; lane++) cr_expect(result.out[lane] == fragment(lane, 0, false));
  ptx_program_run(&(ptx_program){.body = FILL "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 "
                                              "{%r20,%r21}, [%r6]; mov.b64 %d0, {%r20,%r21};"},
                  NULL, &result);
  for (int lane = 0; lane < 32; lane++) {
    cr_expect(result.out[lane] == (fragment(lane, 0, true) | fragment(lane, 1, true) << 32));
  }
}

/* What stmatrix writes, ldmatrix reads; and a transposed store is the transposed matrix. */
Test(ptx_matrix, stmatrix) {
  ptx_program_run(
      &(ptx_program){
          .body =
              FILL "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r20,%r21}, [%r6];"
                   "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%r6+1024], {%r20,%r21};"
                   "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r22,%r23}, [%r6+1024]; mov.b64 %d0, "
                   "{%r22,%r23};"},
      NULL, &result);
  cr_assert(result.done, "%s", result.fault.message);
  for (int lane = 0; lane < 32; lane++) {
    cr_expect(result.out[lane] == (fragment(lane, 0, true) | fragment(lane, 1, true) << 32));
  }
}

Test(ptx_matrix, faults) {
  static const struct {
    const char *body;
    emu_fault_kind kind;
  } rows[] = {
      {"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r20}, [tile]; cvt.u64.u32 %d0, %r20;",
       EMU_UNDEFINED},
      {"mov.u32 %r5, tile; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r20}, [%r5+8]; mov.u64 "
       "%d0, 0;",
       EMU_MISALIGNED},
      {"mov.u64 %d0, 0; ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r20}, [tile];", EMU_UNKNOWN},
      {"mov.u64 %d0, 0; setp.eq.u32 %p4, %r8, 1; @%p4 bra X;"
       "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r20}, [tile]; X:",
       EMU_BARRIER},
      {"mov.u64 %d0, 0; mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r30,%r31,%r32,%r33},"
       "{%r20,%r21},{%r1},{%r2,%r2,%r2,%r2};",
       EMU_UNDEFINED},
      {"mov.u64 %d0, 0; mma.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%r30,%r31,%r32,%r33},"
       "{%r1,%r1,%r1,%r1},{%r1,%r1},{%r2,%r2,%r2,%r2};",
       EMU_UNKNOWN},
      {"mov.u64 %d0, 0; mma.sync.aligned.m16n8k8.row.col.f32.f16.bf16.f32 {%r30,%r31,%r32,%r33},"
       "{%r1,%r1},{%r1},{%r2,%r2,%r2,%r2};",
       EMU_UNKNOWN},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    ptx_program_run(&(ptx_program){.body = rows[i].body}, NULL, &result);
    cr_expect(!result.done && result.fault.kind == rows[i].kind, "%s: %s", rows[i].body,
              result.fault.message);
  }
}

/* ---- atomics: 64 threads on one word, after one thread set it ---- */

Test(ptx_atomics, rows) {
  static const struct {
    const char *operation;
    uint64_t start, expected; /* operand: thread + 1 = 1 .. 64 */
  } rows[] = {
      {"red.shared.add.u32 [tile], %r10;", 5, 5 + 64 * 65 / 2},
      {"atom.shared.add.s32 %r11, [tile], %r10;", 5, 5 + 64 * 65 / 2},
      {"atom.shared.min.u32 %r11, [tile], %r10;", 9, 1},
      {"red.shared.max.s32 [tile], %r10;", 0x80000000, 64},
      {"red.shared.max.u32 [tile], %r10;", 0x80000000, 0x80000000},
      {"red.shared.and.b32 [tile], %r10;", 0xff, 0},
      {"red.shared.or.b32 [tile], %r10;", 0x100, 0x17f},
      {"red.shared.xor.b32 [tile], %r10;", 0, 64},
      {"atom.shared.exch.b32 %r11, [tile], 7;", 0, 7},
      {"atom.shared.cas.b32 %r11, [tile], %r10, 99;", 3, 99},
      {"atom.shared.inc.u32 %r11, [tile], 9;", 0, 4},
      {"atom.shared.dec.u32 %r11, [tile], 9;", 0, 6},
      {"red.relaxed.cta.shared.add.u32 [tile], 2;", 0, 128},
  };
  char body[512];
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    snprintf(body, sizeof body,
             "add.u32 %%r10, %%r9, 1; setp.eq.u32 %%p4, %%r9, 0; @%%p4 st.shared.u32 [tile], "
             "0x%llx;"
             "bar.sync 0; %s bar.sync 0; ld.shared.u32 %%r4, [tile]; cvt.u64.u32 %%d0, %%r4;",
             (unsigned long long)rows[i].start, rows[i].operation);
    ptx_program_run(&(ptx_program){.body = body, .threads = 64}, NULL, &result);
    cr_expect(result.done && result.out[63] == rows[i].expected, "%s: 0x%llx %s", rows[i].operation,
              (unsigned long long)result.out[63], result.fault.message);
  }
}

Test(ptx_atomics, global_memory_and_old_values) {
  ptx_program_run(&(ptx_program){.body = "ld.param.u64 %d4, [in]; atom.global.add.u64 %d0, "
                                         "[%d4+8], 2;"},
                  NULL, &result);
  cr_assert(result.done, "%s", result.fault.message);
  for (uint64_t lane = 0; lane < 32; lane++) cr_expect(result.out[lane] == 2 * lane);
}
