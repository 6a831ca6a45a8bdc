/* llrt_convert_into, llrt_convert, llrt_tensor_free: what they do, and every way to call them
 * wrongly. */
#include "tests/runtime/convert_fixture.h"

static fixture at;

static void setup(void) { fixture_make(&at, &fixture_params); }
static void teardown(void) { fixture_end(&at); }

TestSuite(convert, .init = setup, .fini = teardown);

static llrt_status convert(void) {
  return llrt_convert_into(&at.source, &at.destination, NULL, NULL);
}

/* The call is refused with this status and a message that has `said`, and nothing is written. */
#define EXPECT_REFUSED(code, said) \
  do { \
    cr_expect_eq(convert(), code, "%s", llrt_last_error()); \
    expect_said(said); \
    cr_expect(fixture_is_untouched(&at)); \
  } while (0)

Test(convert, transposes) {
  cr_assert_eq(convert(), LLRT_OK, "%s", llrt_last_error());
  cr_expect(fixture_is_converted(&at));
  cr_expect_eq(at.output[ELEMENTS], -1);
}

Test(convert, one_compile_a_class) {
  for (int i = 0; i < 3; i++) cr_assert_eq(convert(), LLRT_OK);
  llrt_cache_stats stats = fixture_stats(&at);
  cr_expect_eq(stats.compiles, 1);
  cr_expect_eq(stats.kernels, 1);
  cr_expect_eq(stats.hits, 2);
}

/* Tensors whose stores bypass the host's caches and small ones share a kernel: rows and columns
 * exchanged, and rows that are collected. Both are right, beyond the last whole tile, too. */
Test(convert, small_and_large_tensors_share_a_kernel) {
  static const char *const storages[] = {"col_major",
                                         "storage(digits=[dim1: 48, dim0: 256, dim1: rest])"};
  enum { MOST = 1 << 16, WIDTH = 96 };
  uint8_t *in = malloc((size_t)MOST * WIDTH), *out = malloc((size_t)MOST * WIDTH);
  for (size_t i = 0; i < (size_t)MOST * WIDTH; i++) in[i] = (uint8_t)(i * 2654435761u >> 16);
  for (int s = 0; s < 2; s++) {
    llrt_storage storage;
    uint64_t before = fixture_stats(&at).compiles;
    cr_assert_eq(llrt_storage_parse(storages[s], 2, NULL, &storage), LLRT_OK);
    for (int64_t rows = 1 << 14; rows <= MOST; rows += 3 << 14) {
      llrt_storage_binding binding;
      int64_t columns = s == 0 ? WIDTH : rows * WIDTH / 256;
      at.source = (llrt_tensor){.data = in,
                                .dtype = LLRT_U8,
                                .rank = 2,
                                .shape = {rows * WIDTH / columns, columns},
                                .device = at.host};
      at.destination = at.source;
      at.destination.data = out;
      at.destination.storage = &storage;
      cr_assert_eq(llrt_storage_bind(&storage, 2, at.source.shape, NULL, &binding), LLRT_OK);
      memset(out, 0xA5, (size_t)binding.span);
      cr_assert_eq(convert(), LLRT_OK, "%s", llrt_last_error());
      for (int64_t i = 0; i < rows * WIDTH; i++) {
        int64_t offset =
            llrt_storage_offset(&storage, &binding, (int64_t[]){i / columns, i % columns});
        cr_assert_eq(out[offset], in[i], "%s, %lld x %d, element %lld", storages[s],
                     (long long)rows, WIDTH, (long long)i);
      }
    }
    cr_expect_eq(fixture_stats(&at).compiles - before, 1, "%s", storages[s]);
  }
  free(in);
  free(out);
}

/* 2^10 .. 2^20 rows are one class. */
Test(convert, row_counts_share_kernels) {
  enum { MOST = 1 << 20, WIDTH = 8 };
  uint8_t *in = calloc(MOST, WIDTH), *out = malloc((size_t)MOST * WIDTH);
  at.source = (llrt_tensor){
      .data = in, .dtype = LLRT_U8, .rank = 2, .shape = {0, WIDTH}, .device = at.host};
  at.destination = at.source;
  at.destination.data = out;
  at.destination.storage = &at.col_major;
  for (int rows = 1 << 10; rows <= MOST; rows *= 2) {
    at.source.shape[0] = at.destination.shape[0] = rows;
    cr_assert_eq(convert(), LLRT_OK, "%s", llrt_last_error());
  }
  cr_expect_eq(fixture_stats(&at).compiles, 1);
  free(in);
  free(out);
}

/* 100 row counts, multiples of 8 up to 100,000, with pads where they do not fill 128: classes
 * differ by what divides a pitch (here the row counts divide none), variants by range. */
Test(convert, a_hundred_row_counts) {
  enum { MOST = 100000, WIDTH = 24, PADDED = (MOST + 127) / 128 * 128 };
  uint8_t *in = malloc((size_t)MOST * WIDTH), *out = malloc((size_t)PADDED * WIDTH);
  llrt_storage scales, rows_last;
  cr_assert_eq(llrt_storage_parse("scale_128x4(pad=7)", 2, NULL, &scales), LLRT_OK);
  cr_assert_eq(llrt_storage_col_major(2, &rows_last), LLRT_OK);
  for (size_t i = 0; i < (size_t)MOST * WIDTH; i++) in[i] = (uint8_t)(i * 2654435761u >> 16);
  for (int turn = 0; turn < 2; turn++) {
    const llrt_storage *storage = turn ? &scales : &rows_last;
    uint64_t before = fixture_stats(&at).compiles;
    for (int i = 1; i <= 100; i++) {
      int64_t rows = i == 100 ? MOST : 8 * (1 + (int64_t)i * i * 5 / 4);
      llrt_storage_binding binding;
      at.source = (llrt_tensor){
          .data = in, .dtype = LLRT_U8, .rank = 2, .shape = {rows, WIDTH}, .device = at.host};
      at.destination = at.source;
      at.destination.data = out;
      at.destination.storage = storage;
      cr_assert_eq(llrt_storage_bind(storage, 2, at.source.shape, NULL, &binding), LLRT_OK);
      memset(out, 0xA5, (size_t)binding.span);
      cr_assert_eq(convert(), LLRT_OK, "%s", llrt_last_error());
      for (int64_t r = 0; r < binding.padded[0]; r += r + 1 < rows - 300 ? 37 : 1) {
        for (int64_t c = 0; c < WIDTH; c++) {
          uint8_t wanted = r < rows ? in[r * WIDTH + c] : 7;
          int64_t offset = llrt_storage_offset(storage, &binding, (int64_t[]){r, c});
          cr_assert_eq(out[offset], wanted, "%lld rows, (%lld, %lld)", (long long)rows,
                       (long long)r, (long long)c);
        }
      }
    }
    /* Ten counts below 1024 are compiled in. The others: col_major's pitches are divisible by 8 or
     * by 16, each at most three ranges of extents; 128x4 is one class. */
    cr_expect_leq(fixture_stats(&at).compiles - before, 10 + (turn ? 3 : 6));
  }
  free(in);
  free(out);
}

/* Small extents are compiled in until a pair of storages has 16 such kernels; later ones share the
 * open classes: kernels for columns that start at multiples of 8, 16, 32 and 64 bytes. */
Test(convert, small_row_counts_share_kernels_in_the_end) {
  enum { MOST = 800, WIDTH = 8 };
  uint8_t *in = calloc(MOST, WIDTH), *out = malloc((size_t)MOST * WIDTH);
  at.source = (llrt_tensor){
      .data = in, .dtype = LLRT_U8, .rank = 2, .shape = {0, WIDTH}, .device = at.host};
  at.destination = at.source;
  at.destination.data = out;
  at.destination.storage = &at.col_major;
  for (int i = 0; i < MOST * WIDTH; i++) in[i] = (uint8_t)(i * 7 + i / 256);
  for (int rows = 8; rows <= MOST; rows += 8) {
    at.source.shape[0] = at.destination.shape[0] = rows;
    cr_assert_eq(convert(), LLRT_OK, "%s", llrt_last_error());
    for (int i = 0; i < rows * WIDTH; i++)
      cr_assert_eq(out[i % WIDTH * rows + i / WIDTH], in[i], "%d rows, element %d", rows, i);
  }
  cr_expect_leq(fixture_stats(&at).compiles, 16 + 4);
  free(in);
  free(out);
}

/* Equal rules written differently, and types of one width, need no second kernel. */
Test(convert, equal_descriptions_share_kernels) {
  cr_assert_eq(convert(), LLRT_OK);
  llrt_storage row_major;
  cr_assert_eq(llrt_storage_row_major(2, &row_major), LLRT_OK);
  at.source.storage = &row_major;
  cr_assert_eq(convert(), LLRT_OK);
  at.source.dtype = at.destination.dtype = LLRT_I32;
  cr_assert_eq(convert(), LLRT_OK);
  cr_expect_eq(fixture_stats(&at).compiles, 1);
}

Test(convert, empty_tensors_do_nothing) {
  at.source.shape[1] = at.destination.shape[1] = 0;
  at.source.data = at.destination.data = NULL;
  cr_expect_eq(convert(), LLRT_OK, "%s", llrt_last_error());
  cr_expect_eq(fixture_stats(&at).compiles, 0);
}

Test(convert, null_arguments) {
  cr_expect_eq(llrt_convert_into(NULL, &at.destination, NULL, NULL), LLRT_INVALID_ARGUMENT);
  expect_said("source is NULL");
  cr_expect_eq(llrt_convert_into(&at.source, NULL, NULL, NULL), LLRT_INVALID_ARGUMENT);
  expect_said("destination is NULL");
  int stream;
  cr_expect_eq(llrt_convert_into(&at.source, &at.destination, NULL, &stream),
               LLRT_INVALID_ARGUMENT);
  expect_said("stream");
  at.source.data = NULL;
  EXPECT_REFUSED(LLRT_INVALID_ARGUMENT, "source's data is NULL");
}

Test(convert, devices_that_do_not_fit) {
  at.destination.device = NULL;
  EXPECT_REFUSED(LLRT_INVALID_ARGUMENT, "destination has no device");
  llrt_device_info info = {0};
  llrt_device *second;
  llrt_device_get_info(at.host, &info);
  llrt_device_params params = {.target = info.target};
  cr_assert_eq(llrt_device_open(at.context, "host", &params, &second), LLRT_OK);
  at.destination.device = second;
  EXPECT_REFUSED(LLRT_UNSUPPORTED, "one device");
  llrt_device_close(&second);
  llrt_context *other;
  cr_assert_eq(llrt_context_create(NULL, &other), LLRT_OK);
  cr_assert_eq(llrt_device_open(other, "host", NULL, &second), LLRT_OK);
  at.destination.device = second;
  EXPECT_REFUSED(LLRT_INVALID_ARGUMENT, "two contexts");
  llrt_device_close(&second);
  llrt_context_destroy(&other);
}

Test(convert, dtypes_that_do_not_fit) {
  at.destination.dtype = LLRT_B32;
  EXPECT_REFUSED(LLRT_UNSUPPORTED, "no such cast");
  at.destination.dtype = LLRT_B4;
  EXPECT_REFUSED(LLRT_UNSUPPORTED, "the destination b4: there is no such cast");
  at.destination.dtype = LLRT_DTYPE_COUNT;
  EXPECT_REFUSED(LLRT_INVALID_ARGUMENT, "dtype");
  at.source.dtype = LLRT_DTYPE_NONE;
  EXPECT_REFUSED(LLRT_INVALID_ARGUMENT, "dtype");
}

static int get_nibble(const unsigned char *array, int64_t i) {
  return array[i / 2] >> i % 2 * 4 & 15;
}

/* The other half of the last byte stays as it is. */
Test(convert, nibbles_of_odd_extents) {
  unsigned char packed[4] = {0x21, 0x43, 0x65, 0x87}, out[4] = {0xFF, 0xFF, 0xFF, 0xA0};
  llrt_tensor from = {.data = packed, .dtype = LLRT_U4, .rank = 1, .shape = {7}, .device = at.host},
              to = from;
  to.data = out;
  cr_assert_eq(llrt_convert_into(&from, &to, NULL, NULL), LLRT_OK, "%s", llrt_last_error());
  for (int i = 0; i < 7; i++) cr_expect_eq(get_nibble(out, i), i + 1, "%d", i);
  cr_expect_eq(out[3], 0xA7);
}

/* A swizzle that changes higher bits by a byte's own pairs elements that are 17 places apart before
 * it, of which one may be none's. */
Test(convert, nibbles_that_a_swizzle_parts) {
  static const struct {
    const char *swizzle;
    int64_t positions;
  } rows[] = {{"swizzle=[0,2,4,up]", 64},  {"swizzle=[0,2,4,up]", 42},
              {"swizzle=[0,2,4,up]", 16},  {"swizzle=[0,1,6,up]", 64},
              {"swizzle=[0,1,6,up]", 128}, {"swizzle=[0,2,4,up], offset=[8]", 64}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[160];
    llrt_storage swizzled;
    llrt_storage_binding binding;
    unsigned char packed[64] = {1, 2, 3}, out[128], is_there[256] = {0};
    snprintf(text, sizeof text,
             "storage(digits=[dim0: rest], tile={offset: [[1]]} -> [dim0:2], %s, pad=15)",
             rows[i].swizzle);
    cr_assert_eq(llrt_storage_parse(text, 1, &rows[i].positions, &swizzled), LLRT_OK, "%s",
                 llrt_last_error());
    cr_assert_eq(llrt_storage_bind(&swizzled, 1, &rows[i].positions, NULL, &binding), LLRT_OK);
    for (size_t k = 0; k < sizeof packed; k++) packed[k] = (unsigned char)(k * 59 + 7);
    memset(out, 0xA5, sizeof out);
    llrt_tensor from = {.data = packed,
                        .dtype = LLRT_U4,
                        .rank = 1,
                        .shape = {rows[i].positions},
                        .device = at.host},
                to = from;
    to.data = out;
    to.storage = &swizzled;
    cr_assert_eq(llrt_convert_into(&from, &to, NULL, NULL), LLRT_OK, "row %zu: %s", i,
                 llrt_last_error());
    for (int64_t x = 0; x < rows[i].positions; x++) {
      int64_t place = llrt_storage_offset(&swizzled, &binding, &x);
      cr_expect_eq(get_nibble(out, place), get_nibble(packed, x), "row %zu, element %lld", i,
                   (long long)x);
      is_there[place] = 1;
    }
    for (int k = 0; k < 256; k++)
      cr_expect(is_there[k] || get_nibble(out, k) == (k % 2 ? 0xA : 5), "row %zu, place %d", i, k);
  }
}

Test(convert, shapes_that_do_not_fit) {
  at.destination.shape[0]++;
  EXPECT_REFUSED(LLRT_INVALID_ARGUMENT, "shape[0] is 25, the source's 24");
  at.source.shape[0] = at.destination.shape[0] = -1;
  EXPECT_REFUSED(LLRT_INVALID_ARGUMENT, "shape[0] is -1");
  at.source.shape[0] = at.destination.shape[0] = INT64_MAX;
  EXPECT_REFUSED(LLRT_INVALID_ARGUMENT, "spans more");
  at.source.shape[0] = at.destination.shape[0] = ROWS;
  at.source.rank = at.destination.rank = LLRT_MAX_RANK + 1;
  EXPECT_REFUSED(LLRT_INVALID_ARGUMENT, "rank");
  at.source.rank = at.destination.rank = -1;
  EXPECT_REFUSED(LLRT_INVALID_ARGUMENT, "rank");
  at.source.rank = at.destination.rank = 1;
  EXPECT_REFUSED(LLRT_INVALID_ARGUMENT, "destination has rank 1, its storage rank 2");
  at.source.rank = 2;
  EXPECT_REFUSED(LLRT_INVALID_ARGUMENT, "rank");
}

Test(convert, malformed_storages) {
  llrt_storage good = at.col_major;
  at.col_major.n_digits = LLRT_MAX_DIGITS + 1;
  EXPECT_REFUSED(LLRT_INVALID_ARGUMENT, "destination's storage");
  at.col_major = good;
  at.col_major.tile.n_in = 200;
  EXPECT_REFUSED(LLRT_INVALID_ARGUMENT, "destination's storage");
  at.col_major = good;
  at.col_major.digit[0].axis = 7;
  EXPECT_REFUSED(LLRT_INVALID_ARGUMENT, "destination's storage");
  at.col_major = good;
  at.col_major.digit[0].stride = -4;
  EXPECT_REFUSED(LLRT_INVALID_ARGUMENT, "destination's storage");
  at.col_major = good;
  at.col_major.tile = llrt_layout_empty();
  llrt_layout_add_in(&at.col_major.tile, "offset", 60);
  EXPECT_REFUSED(LLRT_INVALID_ARGUMENT, "destination's storage");
}

Test(convert, a_layout_of_another_shape) {
  int64_t shape[2] = {ROWS + 8, COLUMNS}, padded[2] = {32, 64};
  cr_assert_eq(llrt_storage_parse("{offset: [[1,0],[2,0],[4,0],[8,0],[16,0],[0,1],[0,2],[0,4],"
                                  "[0,8],[0,16],[0,32]]} -> [dim0:32, dim1:64]",
                                  2, padded, &at.col_major),
               LLRT_OK, "%s", llrt_last_error());
  memcpy(at.source.shape, shape, sizeof shape);
  memcpy(at.destination.shape, shape, sizeof shape);
  EXPECT_REFUSED(LLRT_INVALID_ARGUMENT, "destination");
}

/* A storage of lanes is none of memory. */
Test(convert, storages_of_other_targets) {
  cr_assert_eq(llrt_storage_parse("storage(digits=[dim1: rest @ 1, dim0: rest @ 1 on lane])", 2,
                                  NULL, &at.col_major),
               LLRT_OK, "%s", llrt_last_error());
  EXPECT_REFUSED(LLRT_UNSUPPORTED, "axes other than memory");
}

Test(convert, memory_that_does_not_fit) {
  at.destination.data = (char *)at.output + 2;
  EXPECT_REFUSED(LLRT_INVALID_ARGUMENT, "aligned");
  at.destination.data = at.output;
  at.source.data = at.output + 8;
  EXPECT_REFUSED(LLRT_INVALID_ARGUMENT, "overlap");
  at.source.data = at.input;
  at.source.shape[0] = at.destination.shape[0] = INT64_C(1) << 56;
  at.source.dtype = at.destination.dtype = LLRT_I64;
  EXPECT_REFUSED(LLRT_INVALID_ARGUMENT, "past the address space");
}

/* Strides of a destination: INVALID where two elements share an offset, OK where they interleave.
 */
Test(convert, destinations_that_share_offsets) {
  static const struct {
    int64_t shape[2], strides[2];
    llrt_status status;
  } rows[] = {
      {{4, 8}, {8, 1}, LLRT_OK},
      {{4, 8}, {1, 4}, LLRT_OK},
      {{4, 8}, {9, 1}, LLRT_OK},
      {{4, 8}, {7, 1}, LLRT_INVALID_ARGUMENT},
      {{4, 8}, {0, 1}, LLRT_INVALID_ARGUMENT},
      {{4, 8}, {1, 1}, LLRT_INVALID_ARGUMENT},
      {{4, 8}, {8, 0}, LLRT_INVALID_ARGUMENT},
      {{1, 8}, {0, 1}, LLRT_OK},               /* one position needs no stride of its own */
      {{2, 3}, {3, 2}, LLRT_OK},               /* 0 2 4 and 3 5 7 interleave */
      {{3, 4}, {3, 2}, LLRT_INVALID_ARGUMENT}, /* 2*3 = 3*2 */
      {{2, 2}, {-1, 1}, LLRT_INVALID_ARGUMENT},
  };
  cr_assert_eq(llrt_storage_strided(2, NULL, &at.col_major), LLRT_OK);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    memcpy(at.source.shape, rows[i].shape, sizeof rows[i].shape);
    memcpy(at.destination.shape, rows[i].shape, sizeof rows[i].shape);
    memcpy(at.destination.strides, rows[i].strides, sizeof rows[i].strides);
    cr_expect_eq(convert(), rows[i].status, "row %zu: %s", i, llrt_last_error());
  }
}

Test(convert, allocates_by_the_driver) {
  llrt_tensor result;
  cr_assert_eq(llrt_convert(&at.source, &at.col_major, NULL, NULL, &result), LLRT_OK);
  memcpy(at.output, result.data, ELEMENTS * sizeof(float));
  cr_expect(fixture_is_converted(&at));
  cr_expect_eq(result.shape[1], COLUMNS);
  cr_expect_eq(llrt_tensor_free(&result, NULL), LLRT_OK);
  cr_expect_null(result.data);
  cr_expect_eq(llrt_tensor_free(&result, NULL), LLRT_OK);
  cr_expect_eq(llrt_tensor_free(NULL, NULL), LLRT_INVALID_ARGUMENT);
}

Test(convert, bad_input_gives_no_tensor) {
  llrt_tensor result = at.source;
  cr_expect_eq(llrt_convert(NULL, NULL, NULL, NULL, &result), LLRT_INVALID_ARGUMENT);
  cr_expect_null(result.data);
  cr_expect_eq(llrt_convert(&at.source, NULL, NULL, NULL, NULL), LLRT_INVALID_ARGUMENT);
  llrt_storage runtime;
  cr_assert_eq(llrt_storage_strided(2, NULL, &runtime), LLRT_OK);
  cr_expect_eq(llrt_convert(&at.source, &runtime, NULL, NULL, &result), LLRT_INVALID_ARGUMENT);
  expect_said("run-time strides");
  cr_expect_eq(llrt_convert(&at.source, NULL, &(llrt_convert_params){.dtype = 77}, NULL, &result),
               LLRT_INVALID_ARGUMENT);
  expect_said("the result's dtype is 77");
  runtime.n_digits = -1;
  cr_expect_eq(llrt_convert(&at.source, &runtime, NULL, NULL, &result), LLRT_INVALID_ARGUMENT);
  cr_expect_null(result.data);
}

Test(convert, tensor_bytes) {
  size_t bytes = 1;
  cr_expect_eq(llrt_tensor_bytes(&at.destination, &bytes), LLRT_OK);
  cr_expect_eq(bytes, ELEMENTS * sizeof(float));
  at.source.dtype = LLRT_E2M1;
  at.source.shape[0] = at.source.shape[1] = 3;
  cr_expect_eq(llrt_tensor_bytes(&at.source, &bytes), LLRT_OK);
  cr_expect_eq(bytes, 5); /* nine half bytes */
  cr_expect_eq(llrt_tensor_bytes(NULL, &bytes), LLRT_INVALID_ARGUMENT);
  cr_expect_eq(bytes, 0);
  cr_expect_eq(llrt_tensor_bytes(&at.source, NULL), LLRT_INVALID_ARGUMENT);
  at.source.rank = 9;
  cr_expect_eq(llrt_tensor_bytes(&at.source, &bytes), LLRT_INVALID_ARGUMENT);
  at.source.rank = 2;
  at.source.dtype = LLRT_DTYPE_NONE;
  cr_expect_eq(llrt_tensor_bytes(&at.source, &bytes), LLRT_INVALID_ARGUMENT);
}

/* ---- the context's allocator ---- */

typedef struct hooks {
  int allowed, allocated, released;
} hooks;

static void *hook_allocate(void *user, llrt_device *device, size_t bytes, void *stream) {
  (void)device, (void)stream;
  hooks *count = user;
  if (count->allocated == count->allowed) return NULL;
  count->allocated++;
  return aligned_alloc(256, (bytes + 255) / 256 * 256);
}

static void hook_release(void *user, llrt_device *device, void *memory, void *stream) {
  (void)device, (void)stream;
  hooks *count = user;
  count->released++;
  free(memory);
}

Test(convert, allocates_by_the_contexts_hooks) {
  hooks count = {.allowed = 1};
  llrt_context_params params = fixture_params;
  params.allocator =
      (llrt_allocator){.user = &count, .allocate = hook_allocate, .release = hook_release};
  fixture_end(&at);
  fixture_make(&at, &params);
  llrt_tensor result;
  cr_assert_eq(llrt_convert(&at.source, &at.col_major, NULL, NULL, &result), LLRT_OK);
  llrt_tensor second = result;
  cr_expect_eq(llrt_convert(&at.source, NULL, NULL, NULL, &second), LLRT_OUT_OF_MEMORY);
  cr_expect_null(second.data);
  cr_expect_eq(llrt_tensor_free(&result, NULL), LLRT_OK);
  cr_expect_eq(count.released, 1);
  count.allowed = 2; /* a conversion that fails after the allocation gives the memory back */
  llrt_context_params no_compiler = params;
  no_compiler.compile = LLRT_COMPILE_FORBIDDEN;
  fixture_end(&at);
  fixture_make(&at, &no_compiler);
  cr_expect_eq(llrt_convert(&at.source, NULL, NULL, NULL, &result), LLRT_UNAVAILABLE);
  cr_expect_null(result.data);
  cr_expect_eq(count.allocated, 2);
  cr_expect_eq(count.released, 2);
}
