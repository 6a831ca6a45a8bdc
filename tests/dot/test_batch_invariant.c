/* llrt_dot_params.batch_invariant: rows of D have the bits that they have alone, whatever rows are
 * beside them; dense and packed, on the host and on emulated devices. */
#include "jit/plan/kernel/plan.h"
#include "jit/plan/plan_choice.h"
#include "jit/plan/plan_make.h"
#include "runtime/described.h"
#include "tests/dot/rounded_code.h"
#include "tests/open_device.h"

#include <stdlib.h>

enum { A, B, SCALE, D, TENSORS, MOST_ROWS = 300 };

typedef struct product {
  llrt_dtype a, b, d;
  int64_t n, k;
  bool packed; /* B e2m1 with scales of e8m0 for 32 positions each */
  bool rows;   /* A's rows follow each other along M, B's along N */
} product;

static const product products[] = {
    {LLRT_BF16, LLRT_BF16, LLRT_F32, 48, 640, false, false},
    {LLRT_BF16, LLRT_E2M1, LLRT_F32, 128, 256, true, false},
    {LLRT_E4M3, LLRT_E4M3, LLRT_F32, 32, 512, false, false},
    {LLRT_F32, LLRT_F32, LLRT_F32, 40, 136, false, true},
    {LLRT_F16, LLRT_F16, LLRT_F16, 24, 200, false, true},
};
#define PRODUCTS ((int)(sizeof products / sizeof *products))

typedef struct bench {
  const product *p;
  llrt_device *device;
  llrt_storage columns;
  llrt_dot_packing packing;
  llrt_tensor tensor[TENSORS]; /* of MOST_ROWS rows */
  unsigned char *image, *alone;
  size_t row; /* bytes of D */
  bool invariant;
} bench;

static void copy_back(const bench *b, void *to, const void *from, size_t bytes) {
  cr_assert_eq(llrt_memory_copy(b->device, to, from, bytes, LLRT_COPY_FROM_DEVICE, NULL), LLRT_OK);
  cr_assert_eq(llrt_stream_synchronize(b->device, NULL), LLRT_OK, "%s", llrt_last_error());
}

static void make_tensor(bench *b, int t, llrt_dtype dtype, int64_t rows, int64_t columns,
                        const llrt_storage *storage) {
  llrt_tensor *x = &b->tensor[t];
  size_t bytes;
  *x = (llrt_tensor){
      .dtype = dtype, .rank = 2, .shape = {rows, columns}, .storage = storage, .device = b->device};
  cr_assert_eq(llrt_tensor_bytes(x, &bytes), LLRT_OK, "%s", llrt_last_error());
  const int bits = llrt_dtype_bits(dtype);
  unsigned char *image = calloc(1, bytes + 8);
  cr_assert(image);
  for (size_t i = 0; i < bytes * 8 / (size_t)bits; i++) {
    uint64_t code = rounded_code(dtype, i * TENSORS + (size_t)t);
    if (bits == 4) image[i / 2] |= (unsigned char)(code << i % 2 * 4);
    else memcpy(image + i * (size_t)bits / 8, &code, (size_t)bits / 8);
  }
  cr_assert_eq(llrt_memory_allocate(b->device, bytes, &x->data), LLRT_OK);
  cr_assert_eq(llrt_memory_copy(b->device, x->data, image, bytes, LLRT_COPY_TO_DEVICE, NULL),
               LLRT_OK);
  cr_assert_eq(llrt_stream_synchronize(b->device, NULL), LLRT_OK);
  free(image);
}

static void make(const product *p, llrt_device *device, bool invariant, bench *b) {
  *b = (bench){.p = p, .device = device, .invariant = invariant};
  llrt_device_info info = {0};
  const llrt_dot_pack_params packs = {
      .dtype = p->b, .scale = LLRT_E8M0, .group = {32, 1}, .other = p->a};
  cr_assert_eq(llrt_device_get_info(device, &info), LLRT_OK);
  cr_assert_eq(llrt_storage_col_major(2, &b->columns), LLRT_OK);
  if (p->packed)
    cr_assert_eq(llrt_dot_pack(&packs, info.target, LLRT_DOT_B, &b->packing), LLRT_OK, "%s",
                 llrt_last_error());
  make_tensor(b, A, p->a, MOST_ROWS, p->k, NULL);
  make_tensor(b, B, p->b, p->k, p->n,
              p->packed ? &b->packing.storages[0]
              : p->rows ? NULL
                        : &b->columns);
  if (p->packed) make_tensor(b, SCALE, LLRT_E8M0, p->k / 32, p->n, &b->packing.storages[1]);
  make_tensor(b, D, p->d, MOST_ROWS, p->n, NULL);
  b->row = (size_t)(p->n * llrt_dtype_bits(p->d) / 8);
  b->image = malloc(MOST_ROWS * b->row);
  b->alone = malloc(MOST_ROWS * b->row);
  cr_assert(b->image && b->alone);
}

static void end(bench *b) {
  for (int t = 0; t < TENSORS; t++)
    if (b->tensor[t].data) llrt_memory_free(b->device, b->tensor[t].data);
  free(b->image);
  free(b->alone);
}

/* Rows `first` to first + m - 1 of D, to the same place of `to`. */
static void multiply(bench *b, int64_t first, int64_t m, unsigned char *to) {
  llrt_tensor a = b->tensor[A], d = b->tensor[D];
  llrt_dot_params params = {.size = sizeof params, .batch_invariant = b->invariant};
  a.shape[0] = d.shape[0] = m;
  a.data = (char *)a.data + first * b->p->k * llrt_dtype_bits(b->p->a) / 8;
  d.data = (char *)d.data + (size_t)first * b->row;
  if (b->p->packed) {
    params.b = (llrt_dot_scaling){.scale = &b->tensor[SCALE], .group = {32, 1}};
    memcpy(params.b.word_bits, b->packing.word_bits, sizeof params.b.word_bits);
  }
  cr_assert_eq(llrt_memory_set(b->device, d.data, 0xee, (size_t)m * b->row, NULL), LLRT_OK);
  cr_assert_eq(llrt_dot_into(&a, &b->tensor[B], &d, &params, NULL), LLRT_OK, "%s",
               llrt_last_error());
  copy_back(b, to + (size_t)first * b->row, d.data, (size_t)m * b->row);
}

/* How many products of the first m rows, or of m rows from another one on, differ from their rows
 * alone; every `step`th m and row is looked at. */
static int count_differences(bench *b, int64_t step) {
  int different = 0;
  for (int64_t row = 0; row < MOST_ROWS; row += step) multiply(b, row, 1, b->alone);
  for (int64_t m = 1; m <= MOST_ROWS; m = m == MOST_ROWS ? m + 1 : m + step) {
    if (m > MOST_ROWS) m = MOST_ROWS;
    const int64_t first = (MOST_ROWS - m) / 2;
    multiply(b, first, m, b->image);
    bool same = true;
    for (int64_t row = 0; row < MOST_ROWS; row += step)
      if (row >= first && row < first + m)
        same &=
            memcmp(b->image + (size_t)row * b->row, b->alone + (size_t)row * b->row, b->row) == 0;
    different += !same;
  }
  return different;
}

static void check(const char *name, int64_t step, int number) {
  bench *b = malloc(sizeof *b);
  cr_assert(b);
  opened_device opened = open_device(name);
  for (int i = 0; i < PRODUCTS; i++) {
    if (number >= 0 ? i != number : products[i].packed) continue; /* the host packs nothing */
    make(&products[i], opened.device, true, b);
    cr_expect_eq(count_differences(b, step), 0, "%s, product %d", name, i);
    end(b);
  }
  close_device(&opened);
  free(b);
}

Test(batch_invariant, host, .timeout = 60) { check("host", 1, -1); }
Test(batch_invariant, sm_80_dense, .timeout = 60) { check("cuda-emu:sm_80", 43, 0); }
Test(batch_invariant, sm_90a_dense, .timeout = 60) { check("cuda-emu:sm_90a", 37, 0); }
Test(batch_invariant, sm_90a_packed, .timeout = 60) { check("cuda-emu:sm_90a", 73, 1); }
Test(batch_invariant, sm_90a_e4m3, .timeout = 60) { check("cuda-emu:sm_90a", 61, 2); }
Test(batch_invariant, gfx942_dense, .timeout = 60) { check("hip-emu:gfx942", 73, 0); }

/* Without the promise some rows have other bits. */
Test(batch_invariant, is_a_promise, .timeout = 60) {
  bench *b = malloc(sizeof *b);
  int different = 0;
  cr_assert(b);
  opened_device opened = open_device("cuda-emu:sm_90a");
  for (int i = 0; i < 2; i++) {
    make(&products[i], opened.device, false, b);
    different += count_differences(b, 149);
    end(b);
  }
  cr_expect_gt(different, 0);
  close_device(&opened);
  free(b);
}

/* The plan and the tile that it runs are one for all numbers of rows on a device of 132
 * multiprocessors, and differ by N and K. */
Test(batch_invariant, one_tile) {
  static const int64_t rows[] = {1, 2, 8, 16, 17, 64, 300, 4096, 100000};
  static const struct {
    int64_t n, k;
  } shapes[] = {{576, 7168}, {8192, 8192}, {2880, 2880}, {36864, 7168}};
  static plan made;
  static described_dot call;
  static char memory[16] __attribute__((aligned(256)));
  plan_target target;
  llrt_storage columns;
  int other_tiles = 0, variants = 0;
  tile_facts tile[4];
  cr_assert_eq(plan_target_find("sm_90a", &target), LLRT_OK);
  cr_assert_eq(llrt_storage_col_major(2, &columns), LLRT_OK);
  for (int s = 0; s < 4; s++)
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
      const int64_t m = rows[r], n = shapes[s].n, k = shapes[s].k;
      const llrt_tensor a = {.dtype = LLRT_BF16, .rank = 2, .shape = {m, k}, .data = memory},
                        b = {.dtype = LLRT_BF16,
                             .rank = 2,
                             .shape = {k, n},
                             .storage = &columns,
                             .data = memory},
                        d = {.dtype = LLRT_BF16, .rank = 2, .shape = {m, n}, .data = memory};
      const llrt_dot_params params = {.size = sizeof params, .batch_invariant = true};
      const llrt_tensor shape = {.rank = 3, .shape = {m, n, k}};
      cr_assert_eq(described_dot_make(&a, &b, &d, &params, &call), LLRT_OK, "%s",
                   llrt_last_error());
      cr_assert_eq(described_promise(&call.desc), LLRT_OK);
      cr_assert_eq(plan_make(&call.desc, &target, NULL, &made), LLRT_OK, "%s", llrt_last_error());
      const int picked = plan_pick(&made, &shape, 132);
      cr_assert_geq(picked, 0);
      cr_expect_eq(made.variant[picked].launch.walk.blocks, 0, "blocks share K");
      if (r == 0) tile[s] = made.variant[picked].tile;
      if (r == 0 && s == 0) variants = made.n_variants;
      cr_expect_eq(made.n_variants, variants);
      cr_expect_eq(memcmp(&tile[s], &made.variant[picked].tile, sizeof *tile), 0,
                   "%d rows of %d x %d", (int)m, (int)n, (int)k);
    }
  for (int s = 1; s < 4; s++) other_tiles += memcmp(&tile[0], &tile[s], sizeof *tile) != 0;
  cr_expect_gt(other_tiles, 0);
}
