/* Matrix products: every shape and type against a product in plain loops, on random integers small
 * enough to be exact in any order. Where the elements lie is written here per shape, from the
 * register's side, as AMD's matrix instruction calculator lists it. */
#include "gfx9_numbers.h"
#include "gfx9_trial.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { F32, F16, BF16, I8, F64, FP8, BF8 };

typedef struct product {
  const char *name, *cpu;
  int m, k, blocks, a, b; /* n = m */
} product;

/* The two devices' names of the same thing. */
#define BOTH_NAMES(first, second, ...) \
  {first, "gfx90a", __VA_ARGS__}, { second, "gfx942", __VA_ARGS__ }
#define OF_FP8(shape, m, k) \
  {"f32_" shape "_fp8_fp8", "gfx942", m, k, 1, FP8, FP8}, \
      {"f32_" shape "_fp8_bf8", "gfx942", m, k, 1, FP8, BF8}, \
      {"f32_" shape "_bf8_fp8", "gfx942", m, k, 1, BF8, FP8}, { \
    "f32_" shape "_bf8_bf8", "gfx942", m, k, 1, BF8, BF8 \
  }

static const product products[] = {
    BOTH_NAMES("f32_32x32x1f32", "f32_32x32x1_2b_f32", 32, 1, 2, F32, F32),
    BOTH_NAMES("f32_16x16x1f32", "f32_16x16x1_4b_f32", 16, 1, 4, F32, F32),
    BOTH_NAMES("f32_4x4x1f32", "f32_4x4x1_16b_f32", 4, 1, 16, F32, F32),
    BOTH_NAMES("f32_32x32x2f32", "f32_32x32x2_f32", 32, 2, 1, F32, F32),
    BOTH_NAMES("f32_16x16x4f32", "f32_16x16x4_f32", 16, 4, 1, F32, F32),
    BOTH_NAMES("f32_32x32x4f16", "f32_32x32x4_2b_f16", 32, 4, 2, F16, F16),
    BOTH_NAMES("f32_16x16x4f16", "f32_16x16x4_4b_f16", 16, 4, 4, F16, F16),
    BOTH_NAMES("f32_4x4x4f16", "f32_4x4x4_16b_f16", 4, 4, 16, F16, F16),
    BOTH_NAMES("f32_32x32x8f16", "f32_32x32x8_f16", 32, 8, 1, F16, F16),
    BOTH_NAMES("f32_16x16x16f16", "f32_16x16x16_f16", 16, 16, 1, F16, F16),
    BOTH_NAMES("f32_32x32x4bf16_1k", "f32_32x32x4_2b_bf16", 32, 4, 2, BF16, BF16),
    BOTH_NAMES("f32_16x16x4bf16_1k", "f32_16x16x4_4b_bf16", 16, 4, 4, BF16, BF16),
    BOTH_NAMES("f32_4x4x4bf16_1k", "f32_4x4x4_16b_bf16", 4, 4, 16, BF16, BF16),
    BOTH_NAMES("f32_32x32x8bf16_1k", "f32_32x32x8_bf16", 32, 8, 1, BF16, BF16),
    BOTH_NAMES("f32_16x16x16bf16_1k", "f32_16x16x16_bf16", 16, 16, 1, BF16, BF16),
    {"f32_32x32x2bf16", "gfx90a", 32, 2, 2, BF16, BF16},
    {"f32_16x16x2bf16", "gfx90a", 16, 2, 4, BF16, BF16},
    {"f32_4x4x2bf16", "gfx90a", 4, 2, 16, BF16, BF16},
    {"f32_32x32x4bf16", "gfx90a", 32, 4, 1, BF16, BF16},
    {"f32_16x16x8bf16", "gfx90a", 16, 8, 1, BF16, BF16},
    BOTH_NAMES("i32_32x32x4i8", "i32_32x32x4_2b_i8", 32, 4, 2, I8, I8),
    BOTH_NAMES("i32_16x16x4i8", "i32_16x16x4_4b_i8", 16, 4, 4, I8, I8),
    BOTH_NAMES("i32_4x4x4i8", "i32_4x4x4_16b_i8", 4, 4, 16, I8, I8),
    {"i32_32x32x8i8", "gfx90a", 32, 8, 1, I8, I8},
    {"i32_16x16x16i8", "gfx90a", 16, 16, 1, I8, I8},
    {"i32_32x32x16_i8", "gfx942", 32, 16, 1, I8, I8},
    {"i32_16x16x32_i8", "gfx942", 16, 32, 1, I8, I8},
    BOTH_NAMES("f64_16x16x4f64", "f64_16x16x4_f64", 16, 4, 1, F64, F64),
    BOTH_NAMES("f64_4x4x4f64", "f64_4x4x4_4b_f64", 4, 4, 4, F64, F64),
    OF_FP8("16x16x32", 16, 32),
    OF_FP8("32x32x16", 32, 16),
};

static int bits_of_type(int type) {
  static const int bits[] = {32, 16, 16, 8, 64, 8, 8};
  return bits[type];
}

static uint64_t encoded(int type, double x) {
  switch (type) {
  case F32: return of_single((float)x);
  case F16: return of_half(x);
  case BF16: return TOP(of_single((float)x));
  case I8: return (uint8_t)(int)x;
  case F64: return of_wide(x);
  case FP8: return x == 0 ? 0 : nearest_of(x, 4, 3, 8, 0x7f) | (x < 0 ? 0x80 : 0);
  default: return x == 0 ? 0 : nearest_of(x, 5, 2, 16, 0x7f) | (x < 0 ? 0x80 : 0);
  }
}

/* Which element of A (its row) or of B (its column), at which k, in which block, element e of a
 * lane is. */
static void source_place(const product *p, int lane, int e, int *row, int *k, int *block) {
  int held = p->m * p->k * p->blocks / 64;
  *row = lane % p->m;
  *block = lane / p->m % p->blocks;
  *k = lane / (p->m * p->blocks) * held + e;
}

/* Which element of D element e of a lane is. */
static void result_place(const product *p, int lane, int e, int *row, int *column, int *block) {
  *column = lane % p->m;
  *block = 0;
  if (p->a == F64) {
    *row = p->m == 16 ? 4 * e + lane / 16 : lane / 16;
    if (p->m == 4) *block = lane / 4 % 4;
  } else if (p->m == 32) {
    *row = 8 * (e / 4 % 4) + 4 * (lane / 32) + e % 4;
    *block = e / 16;
  } else if (p->m == 16) {
    *row = 4 * (lane / 16) + e % 4;
    *block = e / 4;
  } else {
    *row = e;
    *block = lane / 4;
  }
}

static uint32_t next_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*state >> 40);
}

typedef struct matrices {
  /* block, row or column, k; of c: row, column */
  double a[16][32][32], b[16][32][32], c[16][32][32];
} matrices;

/* Words that lanes have of A and B, 2 at most, and of C and D. */
typedef struct registers {
  uint32_t a[64][2], b[64][2], c[64][32];
} registers;

static void put(uint32_t *words, int bits, int e, uint64_t value) {
  for (int bit = 0; bit < bits; bit++) {
    int at = e * bits + bit;
    words[at / 32] = (words[at / 32] & ~(1u << at % 32)) | (uint32_t)(value >> bit & 1) << at % 32;
  }
}

static void fill(const product *p, matrices *all, registers *r, uint64_t seed) {
  int held = p->m * p->k * p->blocks / 64, results = p->m * p->m * p->blocks / 64;
  int wide = p->a == F64 ? 64 : 32;
  for (int lane = 0; lane < 64; lane++) {
    for (int e = 0; e < held; e++) {
      int row, k, block;
      source_place(p, lane, e, &row, &k, &block);
      double x = (int)(next_random(&seed) % 9) - 4, y = (int)(next_random(&seed) % 9) - 4;
      all->a[block][row][k] = x;
      all->b[block][row][k] = y;
      put(r->a[lane], bits_of_type(p->a), e, encoded(p->a, x));
      put(r->b[lane], bits_of_type(p->b), e, encoded(p->b, y));
    }
    for (int e = 0; e < results; e++) {
      int row, column, block, z = (int)(next_random(&seed) % 2001) - 1000;
      result_place(p, lane, e, &row, &column, &block);
      all->c[block][row][column] = z;
      put(r->c[lane], wide, e, p->a == I8 ? (uint32_t)z : encoded(p->a == F64 ? F64 : F32, z));
    }
  }
}

/* Loads A, B and C, lane by lane, multiplies, stores D: 36 words in and 32 out for a lane. */
static void write_text(const product *p, int words, int results, char *text, size_t size) {
  const char *a = words == 1 ? "v2" : "v[2:3]", *b = words == 1 ? "v4" : "v[4:5]";
  char c[16];
  snprintf(c, sizeof c, "a[0:%d]", results - 1);
  size_t n = (size_t)snprintf(text, size,
                              "s_load_dwordx4 s[4:7], s[0:1], 0x0\nv_mul_u32_u24 v1, 0x90, v0\n"
                              "s_waitcnt lgkmcnt(0)\nglobal_load_dwordx2 v[2:3], v1, s[4:5]\n"
                              "global_load_dwordx2 v[4:5], v1, s[4:5] offset:8\n");
  for (int w = 0; w < results; w++) {
    n += (size_t)snprintf(text + n, size - n, "global_load_dword a%d, v1, s[4:5] offset:%d\n", w,
                          16 + 4 * w);
  }
  n += (size_t)snprintf(text + n, size - n,
                        "s_waitcnt vmcnt(0)\nv_mfma_%s %s, %s, %s, %s\n"
                        "s_nop 15\ns_nop 15\n",
                        p->name, c, a, b, c);
  for (int w = 0; w < results; w++) {
    n += (size_t)snprintf(text + n, size - n, "global_store_dword v1, a%d, s[6:7] offset:%d\n", w,
                          16 + 4 * w);
  }
  snprintf(text + n, size - n, "s_endpgm\n");
}

static void check(const product *p) {
  static matrices all;
  static registers r;
  static uint32_t in[64][36], out[64][36];
  static char text[8192];
  int wide = p->a == F64 ? 2 : 1, results = p->m * p->m * p->blocks / 64;
  int words = p->m * p->k * p->blocks / 64 * bits_of_type(p->a) / 32;
  emu_fault fault;
  char report[512];
  fill(p, &all, &r, (uint64_t)p->m * 1000 + (uint64_t)p->k);
  for (int lane = 0; lane < 64; lane++) {
    memcpy(&in[lane][0], r.a[lane], 8);
    memcpy(&in[lane][2], r.b[lane], 8);
    memcpy(&in[lane][4], r.c[lane], sizeof r.c[lane]);
  }
  write_text(p, words, results * wide, text, sizeof text);
  trial_kernel kernel = {
      .cpu = p->cpu, .text = text, .threads = 64, .bytes = sizeof in, .in = in, .out = out};
  bool ok = trial_run_kernel(&kernel, NULL, &fault);
  emu_fault_print(&fault, report, sizeof report);
  cr_assert(ok, "%s on %s: %s", p->name, p->cpu, report);
  for (int lane = 0; lane < 64; lane++) {
    for (int e = 0; e < results; e++) {
      int row, column, block;
      uint32_t want[2] = {0};
      result_place(p, lane, e, &row, &column, &block);
      double sum = all.c[block][row][column];
      for (int k = 0; k < p->k; k++) sum += all.a[block][row][k] * all.b[block][column][k];
      put(want, 32 * wide, 0,
          p->a == I8 ? (uint32_t)(int)sum : encoded(p->a == F64 ? F64 : F32, sum));
      cr_assert(memcmp(&out[lane][4 + e * wide], want, 4 * (size_t)wide) == 0,
                "%s on %s, lane %d, %d: %x, not %x", p->name, p->cpu, lane, e,
                out[lane][4 + e * wide], want[0]);
    }
  }
}

Test(gfx9_matrix, products) {
  for (size_t i = 0; i < sizeof products / sizeof *products; i++) check(&products[i]);
}

Test(gfx9_matrix, every_product_is_listed) {
  for (int i = 0; i < gfx9_instruction_count(); i++) {
    const char *name = gfx9_instruction_name(i);
    bool found = strncmp(name, "v_mfma_", 7) != 0;
    for (size_t k = 0; k < sizeof products / sizeof *products && !found; k++) {
      found = strcmp(name + 7, products[k].name) == 0;
    }
    cr_expect(found, "%s is not listed", name);
  }
}
