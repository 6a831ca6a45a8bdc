/* llrt_dot_pack and llrt_dot on weights of 4 bits: where their pairs lie. */
#include "convert_fixture.h"
#include "tests/number_reference.h"
#include "tests/open_device.h"

static llrt_tensor matrix(llrt_dtype dtype, int64_t rows, int64_t columns) {
  return (llrt_tensor){.dtype = dtype, .rank = 2, .shape = {rows, columns}};
}

/* Elements of 4 bits whose pairs lie far apart along K, by registers of every width. */
Test(dot_nibbles, packed_nibbles) {
  enum { M = 5, WIDE = 64 };
  static _Alignas(64) float a[M * WIDE], d[2][M * WIDE];
  static _Alignas(64) uint8_t b[2][WIDE * WIDE / 2];
  static const char *const targets[] = {NULL, "x86-64-v2", "x86-64-v3", "x86-64-v4"};
  static fixture at;
  fixture_make(&at, &fixture_params);
  for (int i = 0; i < M * WIDE; i++) a[i] = (float)(i % 7 - 3);
  for (int i = 0; i < WIDE * WIDE / 2; i++) b[0][i] = (uint8_t)(i * 37 + i / 5);
  for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
    llrt_device *device;
    llrt_status status =
        llrt_device_open(at.context, "host", &(llrt_device_params){.target = targets[t]}, &device);
    if (status == LLRT_UNSUPPORTED && targets[t]) continue; /* another processor */
    cr_assert_eq(status, LLRT_OK, "%s", llrt_last_error());
    llrt_storage marlin;
    cr_assert_eq(llrt_storage_parse("marlin_w4", 2, NULL, &marlin), LLRT_OK);
    llrt_tensor ta = matrix(LLRT_F32, M, WIDE), tb = matrix(LLRT_U4, WIDE, WIDE),
                td = matrix(LLRT_F32, M, WIDE);
    ta.device = tb.device = td.device = device;
    ta.data = a, tb.data = b[0];
    llrt_tensor packed = tb;
    packed.data = b[1], packed.storage = &marlin;
    cr_assert_eq(llrt_convert_into(&tb, &packed, NULL, NULL), LLRT_OK, "%s", llrt_last_error());
    for (int i = 0; i < 2; i++) {
      td.data = d[i];
      cr_assert_eq(llrt_dot_into(&ta, i ? &packed : &tb, &td, NULL, NULL), LLRT_OK, "%s",
                   llrt_last_error());
    }
    cr_expect_eq(memcmp(d[0], d[1], sizeof d[0]), 0, "%s", targets[t] ? targets[t] : "host");
    llrt_device_close(&device);
  }
  fixture_end(&at);
}

static int nibble_at(const uint8_t *data, int64_t at) { return data[at / 2] >> at % 2 * 4 & 15; }

/* Undoes a map of words. */
static void unmap_words(const llrt_map *map, uint32_t *words, size_t n) {
  uint8_t inverse[32];
  for (int i = 0; i < 32; i++) inverse[map->perm[i]] = (uint8_t)i;
  for (size_t w = 0; w < n; w++) words[w] = reference_permute(inverse, words[w]);
}

/* Weights of 4 bits are packed from a checkpoint's rows as they are, of an odd number of columns,
 * too. */
Test(dot_nibbles, nibbles_of_odd_rows_are_packed) {
  enum { BYTES = 1 << 15 };
  static _Alignas(64) uint8_t rows[BYTES];
  static _Alignas(64) uint32_t words[BYTES / 4];
  static const llrt_dtype types[] = {LLRT_E2M1, LLRT_U4, LLRT_I4};
  static const int64_t shapes[][2] = {{32, 31}, {33, 31}, {64, 129}};
  static fixture at;
  fixture_make(&at, &fixture_params);
  for (int i = 0; i < BYTES; i++) rows[i] = (uint8_t)(i * 37 + i / 5);
  for (size_t c = 0; c < 9; c++) {
    const int64_t *shape = shapes[c % 3];
    llrt_dot_packing packing = {0};
    llrt_storage_binding binding;
    const llrt_dot_pack_params what = {.dtype = types[c / 3]};
    cr_assert_eq(llrt_dot_pack(&what, "sm_90a", LLRT_DOT_B, &packing), LLRT_OK, "%s",
                 llrt_last_error());
    const llrt_storage *storage = &packing.storages[0];
    cr_assert_eq(llrt_storage_bind(storage, 2, shape, NULL, &binding), LLRT_OK, "%s",
                 llrt_last_error());
    cr_assert_leq(binding.span, 2 * BYTES);
    llrt_tensor from = matrix(types[c / 3], shape[0], shape[1]), to = from;
    from.device = to.device = at.host;
    from.data = rows, to.data = words, to.storage = storage;
    llrt_convert_params params = {
        .dtype = types[c / 3], .n_maps = packing.n_maps, .maps = &packing.map};
    cr_assert_eq(llrt_convert_into(&from, &to, &params, NULL), LLRT_OK, "case %zu: %s", c,
                 llrt_last_error());
    if (packing.n_maps) unmap_words(&packing.map, words, (size_t)binding.span / 8);
    for (int64_t i = 0; i < shape[0] * shape[1]; i++) {
      int64_t place =
          llrt_storage_offset(storage, &binding, (int64_t[]){i / shape[1], i % shape[1]});
      cr_assert_eq(nibble_at((const uint8_t *)words, place), nibble_at(rows, i),
                   "case %zu, element %lld", c, (long long)i);
    }
  }
  fixture_end(&at);
}

static void *upload(llrt_device *device, const void *from, size_t bytes) {
  void *to;
  cr_assert_eq(llrt_memory_allocate(device, bytes, &to), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_memory_copy(device, to, from, bytes, LLRT_COPY_TO_DEVICE, NULL), LLRT_OK);
  return to;
}

/* Elements of 4 bits that are loaded one by one, at sums of products: D's digit of 3 counts A's
 * rows, too. */
Test(dot_nibbles, halves_of_bytes_at_threes) {
  enum { M = 32, ROOM = 36 };
  static const double e2m1[8] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  opened_device at = open_device("hip-emu:gfx942");
  uint8_t a[M / 2];
  int8_t one = 1;
  double d[ROOM] = {0};
  for (int i = 0; i < M / 2; i++) a[i] = (uint8_t)(2 * i % 7 + 1 + 16 * ((2 * i + 1) % 7 + 1));
  llrt_storage storage[3];
  llrt_storage_binding binding;
  static const char *const texts[3] = {
      "storage(rank=2, digits=[dim1: rest, dim0: rest @ 1])", "storage(rank=2, digits=[])",
      "storage(digits=[dim0:3 reversed, dim1: rest, dim0: rest], pad=keep)"};
  for (int i = 0; i < 3; i++)
    cr_assert_eq(llrt_storage_parse(texts[i], 2, NULL, &storage[i]), LLRT_OK, "%s",
                 llrt_last_error());
  llrt_tensor ta = matrix(LLRT_E2M1, M, 1), tb = matrix(LLRT_I8, 1, 1), td = matrix(LLRT_F64, M, 1);
  cr_assert_eq(llrt_storage_bind(&storage[2], 2, td.shape, NULL, &binding), LLRT_OK);
  ta.device = tb.device = td.device = at.device;
  ta.storage = &storage[0], tb.storage = &storage[1], td.storage = &storage[2];
  ta.data = upload(at.device, a, sizeof a);
  tb.data = upload(at.device, &one, 1);
  td.data = upload(at.device, d, sizeof d);
  cr_assert_eq(llrt_dot_into(&ta, &tb, &td, NULL, NULL), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_memory_copy(at.device, d, td.data, sizeof d, LLRT_COPY_FROM_DEVICE, NULL),
               LLRT_OK);
  for (int64_t i = 0; i < M; i++)
    cr_expect_eq(d[llrt_storage_offset(&storage[2], &binding, (int64_t[]){i, 0})], e2m1[i % 7 + 1],
                 "row %lld", (long long)i);
  llrt_memory_free(at.device, ta.data);
  llrt_memory_free(at.device, tb.data);
  llrt_memory_free(at.device, td.data);
  llrt_device_close(&at.device);
  llrt_context_destroy(&at.context);
}
