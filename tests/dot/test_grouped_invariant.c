/* llrt_dot_params.batch_invariant of grouped products: a row of D has the bits that it has where it
 * is the only row of all, whatever rows its expert and the others have; and what is promised does
 * something: without it there are products whose rows have other bits. */
#include "tests/dot/rounded_code.h"
#include "tests/open_device.h"

#include <llrt/dot_pack.h>

#include <stdlib.h>
#include <string.h>

enum { EXPERTS = 3, POOL = 320, GROUP = 32 };

typedef struct product {
  llrt_dtype a, b, d;
  int64_t n, k;
  bool packed; /* B e2m1 with scales of e8m0 for GROUP positions each */
} product;

static const product dense = {LLRT_BF16, LLRT_BF16, LLRT_F32, 48, 320, false};
static const product narrow = {LLRT_E4M3, LLRT_E4M3, LLRT_F32, 32, 256, false};
static const product packed = {LLRT_BF16, LLRT_E2M1, LLRT_F32, 128, 1024, true};

/* Rows of each expert. */
static const int spreads[][EXPERTS] = {{5, 0, 1},   {0, 17, 0},  {64, 3, 70},
                                       {0, 300, 9}, {130, 0, 0}, {33, 33, 33}};
#define SPREADS ((int)(sizeof spreads / sizeof *spreads))

typedef struct bench {
  const product *p;
  llrt_device *device;
  bool invariant;
  llrt_dot_packing packing;
  llrt_storage turned;
  llrt_tensor b, scale;
  unsigned char *rows;  /* A's, the same for each expert */
  unsigned char *alone; /* [EXPERTS][POOL] rows of D, of those that are known */
  bool known[EXPERTS][POOL];
  size_t a_row, d_row; /* bytes */
} bench;

static unsigned char *make_image(llrt_dtype dtype, size_t bytes, uint64_t seed) {
  const int bits = llrt_dtype_bits(dtype);
  unsigned char *image = calloc(1, bytes + 8);
  cr_assert(image);
  for (size_t i = 0; i < bytes * 8 / (size_t)bits; i++) {
    uint64_t code = rounded_code(dtype, i * 7 + seed);
    if (bits == 4) image[i / 2] |= (unsigned char)(code << i % 2 * 4);
    else memcpy(image + i * (size_t)bits / 8, &code, (size_t)bits / 8);
  }
  return image;
}

static void *send(const bench *b, const void *bytes, size_t n) {
  void *memory;
  cr_assert_eq(llrt_memory_allocate(b->device, n + 16, &memory), LLRT_OK);
  cr_assert_eq(llrt_memory_copy(b->device, memory, bytes, n, LLRT_COPY_TO_DEVICE, NULL), LLRT_OK);
  cr_assert_eq(llrt_stream_synchronize(b->device, NULL), LLRT_OK);
  return memory;
}

/* Any bits are weights, wherever the storage puts them. */
static llrt_tensor make_weights(const bench *b, llrt_dtype dtype, int64_t k,
                                const llrt_storage *storage, uint64_t seed) {
  llrt_tensor x = {.dtype = dtype,
                   .rank = 3,
                   .shape = {EXPERTS, k, b->p->n},
                   .storage = storage,
                   .device = b->device};
  size_t bytes;
  cr_assert_eq(llrt_tensor_bytes(&x, &bytes), LLRT_OK, "%s", llrt_last_error());
  unsigned char *image = make_image(dtype, bytes, seed);
  x.data = send(b, image, bytes);
  free(image);
  return x;
}

static void make(const product *p, llrt_device *device, bool invariant, bench *b) {
  *b = (bench){.p = p, .device = device, .invariant = invariant};
  llrt_device_info info = {0};
  const llrt_dot_pack_params packs = {
      .dtype = p->b, .scale = LLRT_E8M0, .group = {GROUP}, .other = p->a, .n_batch = 1};
  cr_assert_eq(llrt_device_get_info(device, &info), LLRT_OK);
  cr_assert_eq(llrt_storage_parse("storage(rank=3, digits=[dim1: rest, dim2: rest, dim0: rest])", 3,
                                  NULL, &b->turned),
               LLRT_OK);
  if (p->packed)
    cr_assert_eq(llrt_dot_pack(&packs, info.target, LLRT_DOT_B, &b->packing), LLRT_OK, "%s",
                 llrt_last_error());
  b->b = make_weights(b, p->b, p->k, p->packed ? &b->packing.storages[0] : &b->turned, 1);
  if (p->packed) b->scale = make_weights(b, LLRT_E8M0, p->k / GROUP, &b->packing.storages[1], 2);
  b->a_row = (size_t)(p->k * llrt_dtype_bits(p->a) / 8);
  b->d_row = (size_t)(p->n * llrt_dtype_bits(p->d) / 8);
  b->rows = make_image(p->a, POOL * b->a_row, 3);
  b->alone = calloc(EXPERTS * POOL, b->d_row);
  cr_assert(b->alone);
}

static void end(bench *b) {
  llrt_memory_free(b->device, b->b.data);
  if (b->scale.data) llrt_memory_free(b->device, b->scale.data);
  free(b->rows);
  free(b->alone);
}

/* D of so many rows of each expert, from row `first` of the pool on; to be freed. */
static unsigned char *multiply(bench *b, const int count[EXPERTS], int first) {
  int32_t ends[EXPERTS], all = 0;
  for (int e = 0; e < EXPERTS; e++) ends[e] = all += count[e];
  unsigned char *rows = malloc((size_t)all * b->a_row), *d = malloc((size_t)all * b->d_row);
  cr_assert(rows && d);
  for (int e = 0, at = 0; e < EXPERTS; at = ends[e++])
    memcpy(rows + (size_t)at * b->a_row, b->rows + (size_t)first * b->a_row,
           (size_t)count[e] * b->a_row);
  llrt_tensor a = {.dtype = b->p->a, .rank = 2, .shape = {all, b->p->k}, .device = b->device};
  llrt_tensor out = {.dtype = b->p->d, .rank = 2, .shape = {all, b->p->n}, .device = b->device};
  llrt_tensor where = {.dtype = LLRT_I32, .rank = 1, .shape = {EXPERTS}, .device = b->device};
  llrt_dot_params params = {.size = sizeof params, .batch_invariant = b->invariant, .ends = &where};
  if (b->p->packed) {
    params.b = (llrt_dot_scaling){.scale = &b->scale, .group = {GROUP, 1}};
    memcpy(params.b.word_bits, b->packing.word_bits, sizeof params.b.word_bits);
  }
  a.data = send(b, rows, (size_t)all * b->a_row);
  out.data = send(b, d, (size_t)all * b->d_row);
  where.data = send(b, ends, sizeof ends);
  cr_assert_eq(llrt_dot_into(&a, &b->b, &out, &params, NULL), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(
      llrt_memory_copy(b->device, d, out.data, (size_t)all * b->d_row, LLRT_COPY_FROM_DEVICE, NULL),
      LLRT_OK);
  cr_assert_eq(llrt_stream_synchronize(b->device, NULL), LLRT_OK, "%s", llrt_last_error());
  llrt_memory_free(b->device, a.data);
  llrt_memory_free(b->device, out.data);
  llrt_memory_free(b->device, where.data);
  free(rows);
  return d;
}

/* What a row has where there is no other. */
static const unsigned char *row_alone(bench *b, int expert, int row) {
  unsigned char *at = b->alone + (size_t)(expert * POOL + row) * b->d_row;
  if (!b->known[expert][row]) {
    int one[EXPERTS] = {0};
    one[expert] = 1;
    unsigned char *d = multiply(b, one, row);
    memcpy(at, d, b->d_row);
    free(d);
  }
  b->known[expert][row] = true;
  return at;
}

/* How many of a spread's rows, the first and every `step`th of each expert, have other bits than
 * alone. */
static int count_differences(bench *b, const int count[EXPERTS], int step) {
  int different = 0;
  const unsigned char *d = multiply(b, count, 0), *at = d;
  for (int e = 0; e < EXPERTS; at += (size_t)count[e++] * b->d_row)
    for (int row = 0; row < count[e]; row += step)
      different += memcmp(at + (size_t)row * b->d_row, row_alone(b, e, row), b->d_row) != 0;
  free((void *)d);
  return different;
}

static int differences(const char *name, const product *p, bool invariant, int step) {
  bench *b = malloc(sizeof *b);
  cr_assert(b);
  opened_device opened = open_device(name);
  int different = 0;
  make(p, opened.device, invariant, b);
  for (int s = 0; s < SPREADS; s++) different += count_differences(b, spreads[s], step);
  end(b);
  close_device(&opened);
  free(b);
  return different;
}

Test(grouped_invariant, host, .timeout = 60) {
  cr_expect_eq(differences("host", &dense, true, 7), 0);
}
Test(grouped_invariant, sm_90a_dense, .timeout = 60) {
  cr_expect_eq(differences("cuda-emu:sm_90a", &dense, true, 41), 0);
}
Test(grouped_invariant, sm_90a_e4m3, .timeout = 60) {
  cr_expect_eq(differences("cuda-emu:sm_90a", &narrow, true, 61), 0);
}
Test(grouped_invariant, sm_90a_packed, .timeout = 60) {
  cr_expect_eq(differences("cuda-emu:sm_90a", &packed, true, 97), 0);
}
Test(grouped_invariant, gfx942, .timeout = 60) {
  cr_expect_eq(differences("hip-emu:gfx942", &dense, true, 61), 0);
}

/* Tiles of few rows have warps that share K. */
Test(grouped_invariant, is_a_promise, .timeout = 60) {
  cr_expect_gt(differences("cuda-emu:sm_90a", &packed, false, 149), 0);
}
