/* Saved kernels: round trips, other contexts, and bytes that are damaged in every way. */
#include "base/hash.h"
#include "runtime/described.h"
#include "runtime/kernel_bytes.h"

#include "tests/runtime/convert_fixture.h"

static fixture at;
static unsigned char *saved;
static size_t saved_size;

static void setup(void) {
  fixture_make(&at, &fixture_params);
  op_description desc = fixture_desc(&at);
  llrt_op *op;
  cr_assert_eq(described_promise(&desc), LLRT_OK);
  cr_assert_eq(described_prepare(at.host, &desc, &op), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_op_save(op, NULL, &saved_size), LLRT_OK);
  saved = malloc(saved_size);
  size_t size = saved_size - 1;
  cr_expect_eq(llrt_op_save(op, saved, &size), LLRT_INVALID_ARGUMENT);
  cr_expect_eq(size, saved_size);
  cr_assert_eq(llrt_op_save(op, saved, &size), LLRT_OK);
  llrt_op_destroy(&op);
}

static void teardown(void) {
  free(saved);
  fixture_end(&at);
}

TestSuite(kernel_bytes, .init = setup, .fini = teardown);

static llrt_status run(const llrt_op *op) {
  const llrt_tensor tensors[2] = {at.source, at.destination};
  return llrt_op_run(op, NULL, tensors, 2, NULL);
}

/* The bytes convert where no compiler is to be had, and still check the promises. */
Test(kernel_bytes, load_without_a_compiler) {
  llrt_context_params params = {.jit_library = "/nowhere/libllrt-jit.so",
                                .compile = LLRT_COMPILE_FORBIDDEN};
  fixture_end(&at);
  fixture_make(&at, &params);
  llrt_op *op;
  cr_assert_eq(llrt_op_load(at.host, saved, saved_size, &op), LLRT_OK, "%s", llrt_last_error());
  cr_expect_eq(run(op), LLRT_OK, "%s", llrt_last_error());
  cr_expect(fixture_is_converted(&at));
  at.source.data = at.input + 1;
  cr_expect_eq(run(op), LLRT_OUT_OF_CLASS);
  cr_expect_eq(fixture_stats(&at).compiles, 0);
  size_t size = saved_size;
  unsigned char *again = malloc(size);
  cr_expect_eq(llrt_op_save(op, again, &size), LLRT_OK);
  cr_expect_eq(size, saved_size);
  cr_expect_arr_eq(again, saved, saved_size);
  free(again);
  llrt_op_destroy(&op);
}

Test(kernel_bytes, null_arguments) {
  llrt_op *op = (llrt_op *)&at;
  size_t size = 0;
  cr_expect_eq(llrt_op_load(NULL, saved, saved_size, &op), LLRT_INVALID_ARGUMENT);
  cr_expect_null(op);
  cr_expect_eq(llrt_op_load(at.host, NULL, saved_size, &op), LLRT_INVALID_ARGUMENT);
  cr_expect_eq(llrt_op_load(at.host, saved, saved_size, NULL), LLRT_INVALID_ARGUMENT);
  cr_expect_eq(llrt_op_save(NULL, NULL, &size), LLRT_INVALID_ARGUMENT);
  cr_expect_eq(llrt_op_load(at.host, saved, saved_size, &op), LLRT_OK);
  cr_expect_eq(llrt_op_save(op, NULL, NULL), LLRT_INVALID_ARGUMENT);
  llrt_op_destroy(&op);
}

Test(kernel_bytes, another_targets_kernel_is_unsupported) {
  op_description desc = fixture_desc(&at);
  char *bytes;
  size_t size;
  cr_assert_eq(described_compile(at.context, "sm_80", &desc, LLRT_EMIT_KERNEL, &bytes, &size),
               LLRT_OK, "%s", llrt_last_error());
  llrt_op *op;
  cr_expect_eq(llrt_op_load(at.host, bytes, size, &op), LLRT_UNSUPPORTED);
  expect_said("sm_80");
  expect_said("host");
  llrt_buffer_free(&bytes);
}

Test(kernel_bytes, compiled_without_a_device) {
  op_description desc = fixture_desc(&at);
  char *bytes;
  size_t size;
  cr_assert_eq(described_compile(at.context, "host", &desc, LLRT_EMIT_KERNEL, &bytes, &size),
               LLRT_OK, "%s", llrt_last_error());
  llrt_op *op;
  cr_assert_eq(llrt_op_load(at.host, bytes, size, &op), LLRT_OK, "%s", llrt_last_error());
  llrt_buffer_free(&bytes);
  cr_expect_eq(run(op), LLRT_OK, "%s", llrt_last_error());
  cr_expect(fixture_is_converted(&at));
  llrt_op_destroy(&op);
}

/* docs/kernel-format.md describes the format that is written. */
Test(kernel_bytes, the_documented_format) {
  FILE *file = fopen(LLRT_TEST_SOURCE_DIR "/docs/kernel-format.md", "r");
  char line[512];
  int documented = -1;
  cr_assert_not_null(file);
  while (documented < 0 && fgets(line, sizeof line, file))
    sscanf(line, "| format | %d;", &documented);
  fclose(file);
  cr_expect_eq(saved[8], documented, "format %d is written, %d documented", saved[8], documented);
}

Test(kernel_bytes, every_truncation_is_corrupt) {
  for (size_t size = 0; size < saved_size; size++) {
    unsigned char *part = malloc(size ? size : 1); /* so that a read past the end is seen */
    memcpy(part, saved, size);
    llrt_op *op;
    cr_assert_eq(llrt_op_load(at.host, part, size, &op), LLRT_CORRUPT, "%zu bytes", size);
    free(part);
  }
}

Test(kernel_bytes, every_flipped_bit_is_corrupt) {
  for (size_t i = 0; i < saved_size; i++) {
    saved[i] ^= (unsigned char)(1 << i % 8);
    llrt_op *op;
    cr_assert_eq(llrt_op_load(at.host, saved, saved_size, &op), LLRT_CORRUPT, "byte %zu", i);
    saved[i] ^= (unsigned char)(1 << i % 8);
  }
}

/* Puts a right checksum on changed bytes. */
static void seal(unsigned char *bytes, size_t size) {
  llrt_hash sum = llrt_hash_bytes(bytes, size - 16);
  for (int i = 0; i < 8; i++) {
    bytes[size - 16 + (size_t)i] = (unsigned char)(sum.low >> (8 * i));
    bytes[size - 8 + (size_t)i] = (unsigned char)(sum.high >> (8 * i));
  }
}

/* Bytes that are said to be all, and whose checksum is right, but which end in the head or soon
 * behind it. */
Test(kernel_bytes, short_with_a_right_checksum) {
  for (size_t size = 40; size < 200; size++) {
    unsigned char *part = malloc(size); /* so that a read past the end is seen */
    memcpy(part, saved, size);
    for (int i = 0; i < 8; i++) part[16 + i] = (unsigned char)(size >> 8 * i);
    seal(part, size);
    llrt_op *op;
    cr_assert_eq(llrt_op_load(at.host, part, size, &op), LLRT_CORRUPT, "%zu bytes", size);
    free(part);
  }
}

/* ---- what damaged bytes say ---- */

static void expect_corrupt(const void *bytes, size_t size, const char *message) {
  llrt_op *op;
  cr_expect_eq(llrt_op_load(at.host, bytes, size, &op), LLRT_CORRUPT);
  cr_expect_str_eq(llrt_last_error(), message);
}

Test(kernel_bytes, say_what_they_are) {
  char message[256];
  unsigned char *more = malloc(saved_size + 3);
  memcpy(more, saved, saved_size);
  expect_corrupt("\x7f"
                 "ELF\2\1\1\0\0\0\0",
                 12,
                 "llrt_op_load: the bytes are no saved kernel: they begin with "
                 "'\\x7fELF\\x02\\x01\\x01', not 'llrtkern'");
  expect_corrupt(
      "{\"a\"", 4,
      "llrt_op_load: the bytes are no saved kernel: they begin with '{\"a\"', not 'llrtkern'");
  expect_corrupt(saved, 0,
                 "llrt_op_load: the saved kernel is truncated: 0 bytes are no whole head");
  expect_corrupt(saved, 30,
                 "llrt_op_load: the saved kernel is truncated: 30 bytes are no whole head");
  snprintf(message, sizeof message,
           "llrt_op_load: the saved kernel is truncated: 100 of its %zu bytes are there",
           saved_size);
  expect_corrupt(saved, 100, message);
  snprintf(message, sizeof message,
           "llrt_op_load: the saved kernel has %zu bytes, and 3 more follow it", saved_size);
  expect_corrupt(more, saved_size + 3, message);
  more[saved_size - 20] ^= 1;
  expect_corrupt(more, saved_size,
                 "llrt_op_load: the saved kernel is damaged: its checksum is wrong");
  free(more);
}

/* A forged target or version shows nothing that a terminal or a log would take for its own. */
Test(kernel_bytes, forged_texts_are_shown_harmlessly) {
  enum { VERSION_AT = 24, TARGET_AT = 56 };
  llrt_op *op;
  char message[256];
  memset(saved + TARGET_AT, 0xff, 32);
  memcpy(saved + TARGET_AT, "\x1b[2Jsm\n", 7);
  seal(saved, saved_size);
  cr_expect_eq(llrt_op_load(at.host, saved, saved_size, &op), LLRT_UNSUPPORTED);
  expect_said("llrt_op_load: the kernel is for \\x1b[2Jsm\\x0a\\xff\\xff");
  for (const char *c = llrt_last_error(); *c; c++) cr_expect(*c >= 0x20 && *c < 0x7f);
  saved[8]++;
  memcpy(saved + VERSION_AT, "\xc3\xbc\x80", 4);
  seal(saved, saved_size);
  snprintf(message, sizeof message,
           "llrt_op_load: the kernel has format %d (llrt \xc3\xbc\\x80), this llrt reads %d",
           saved[8], saved[8] - 1);
  expect_corrupt(saved, saved_size, message);
}

/* Whether byte i is machine code, which nothing but the checksum guards. */
static bool is_code(const kernel_image *image, size_t i) {
  for (int v = 0; v < image->n_variants; v++) {
    const kernel_variant *variant = &image->variant[v];
    const unsigned char *begin = memmem(saved, saved_size, variant->code, variant->size);
    if (saved + i >= begin && saved + i < begin + variant->size) return true;
  }
  return false;
}

/* Bytes whose checksum holds but whose numbers are wild are refused or read; never read past the
 * end, never an index out of its array (the sanitizers watch). */
Test(kernel_bytes, wild_numbers_with_a_right_checksum) {
  static const unsigned char wild[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
  kernel_image *whole = malloc(sizeof *whole), *image = malloc(sizeof *image);
  cr_assert_eq(llrt_kernel_bytes_read(saved, saved_size, whole), LLRT_OK);
  bool *code = calloc(saved_size, sizeof *code);
  for (size_t i = 0; i < saved_size; i++) code[i] = is_code(whole, i);
  int refused = 0;
  for (size_t i = 0; i + 16 < saved_size; i++) {
    if (code[i]) continue;
    unsigned char kept = saved[i];
    for (size_t w = 0; w < sizeof wild; w++) {
      saved[i] = wild[w];
      seal(saved, saved_size);
      refused += llrt_kernel_bytes_read(saved, saved_size, image) != LLRT_OK;
      llrt_kernel_image_fini(image);
    }
    saved[i] = kept;
  }
  cr_expect_gt(refused, 1000);
  llrt_kernel_image_fini(whole);
  free(whole);
  free(image);
  free(code);
}
