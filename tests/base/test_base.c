/* The error slot, the text buffer, hashes, files, dtypes: what every layer stands on. */
#include "base/escape.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/status.h"
#include "base/text.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <llrt/tensor.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- errors ---- */

/* Numbers are part of the ABI. */
Test(base, status_numbers) {
  static const struct {
    int number;
    const char *name;
  } rows[] = {
      {0, "OK"},           {10, "INVALID_ARGUMENT"}, {11, "OUT_OF_CLASS"},  {12, "NOT_PREPARED"},
      {20, "UNSUPPORTED"}, {30, "UNAVAILABLE"},      {31, "OUT_OF_MEMORY"}, {32, "IO"},
      {33, "CORRUPT"},     {40, "DEVICE"},           {41, "COMPILE"},       {90, "INTERNAL"},
      {1, "UNKNOWN"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    cr_expect_str_eq(llrt_status_name((llrt_status)rows[i].number), rows[i].name);
}

Test(base, error_slot) {
  cr_expect_str_eq(llrt_last_error(), "");
  cr_expect_eq(llrt_last_vendor_code(), 0);
  cr_expect(llrt_error_vendor(LLRT_DEVICE, 700, "launch %d", 3) == LLRT_DEVICE);
  cr_expect_str_eq(llrt_last_error(), "launch 3");
  cr_expect_eq(llrt_last_vendor_code(), 700);
  cr_expect(llrt_error_prefix(LLRT_IO, "file %s", "x") == LLRT_IO);
  cr_expect_str_eq(llrt_last_error(), "file x: launch 3");
  cr_expect_eq(llrt_last_vendor_code(), 700);
  cr_expect(llrt_error(LLRT_IO, "again: %s", llrt_last_error()) == LLRT_IO);
  cr_expect_str_eq(llrt_last_error(), "again: file x: launch 3");
  cr_expect_eq(llrt_last_vendor_code(), 0);
}

Test(base, long_errors_are_cut) {
  static char text[5000];
  memset(text, 'x', sizeof text - 1);
  llrt_error(LLRT_IO, "%s", text);
  size_t length = strlen(llrt_last_error());
  cr_expect(length >= 500 && length < sizeof text - 1);
  llrt_error_prefix(LLRT_IO, "%s", "here");
  cr_expect_eq(strlen(llrt_last_error()), length);
  cr_expect_eq(strncmp(llrt_last_error(), "here: xxx", 9), 0);
  llrt_error_prefix(LLRT_IO, "%s", text);
  cr_expect_eq(strlen(llrt_last_error()), length);
}

static llrt_status llrt_inner(void) {
  LLRT_ENTRY();
  return llrt_error(LLRT_IO, "broken");
}

static llrt_status llrt_outer(void) {
  LLRT_ENTRY();
  LLRT_TRY(llrt_error_prefix(llrt_inner(), "a %s", "part"));
  return LLRT_OK;
}

Test(base, errors_name_the_outermost_function) {
  cr_expect(llrt_outer() == LLRT_IO);
  cr_expect_str_eq(llrt_last_error(), "llrt_outer: a part: broken");
  cr_expect_str_eq(llrt_error_text(), "a part: broken");
  cr_expect(llrt_inner() == LLRT_IO);
  cr_expect_str_eq(llrt_last_error(), "llrt_inner: broken");
  llrt_error(LLRT_IO, "alone");
  cr_expect_str_eq(llrt_last_error(), "alone");
}

Test(base, errors_show_what_can_be_shown) {
  static const struct {
    const char *text, *shown;
  } rows[] = {
      {"tab\there", "tab\\x09here"},
      {"line\nbreak\x1b[31m\x7f", "line\\x0abreak\\x1b[31m\\x7f"},
      {"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x99\x82",
       "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x99\x82"},
      {"\xff\xfe", "\\xff\\xfe"},
      {"cut \xe2\x82", "cut \\xe2\\x82"},                      /* at the text's end */
      {"\xc0\xaf \xe0\x80\xaf", "\\xc0\\xaf \\xe0\\x80\\xaf"}, /* overlong */
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},                     /* half of a surrogate pair */
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},            /* beyond U+10FFFF */
      {"\xc2\x9b"
       "31m",
       "\\xc2\\x9b"
       "31m"}, /* C1 */
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    llrt_error(LLRT_IO, "%s", rows[i].text);
    cr_expect_str_eq(llrt_last_error(), rows[i].shown);
  }
  char small[6];
  cr_expect_eq(llrt_escape("ab\xff"
                           "c",
                           small, sizeof small),
               2); /* no part of an escape */
  cr_expect_str_eq(small, "ab");
}

static void *other_thread(void *was_empty) {
  *(bool *)was_empty = llrt_last_error()[0] == 0;
  llrt_error(LLRT_IO, "of the other thread");
  return NULL;
}

Test(base, error_slots_are_of_threads) {
  pthread_t thread;
  bool was_empty = false;
  llrt_error(LLRT_IO, "of this thread");
  cr_assert_eq(pthread_create(&thread, NULL, other_thread, &was_empty), 0);
  pthread_join(thread, NULL);
  cr_expect(was_empty);
  cr_expect_str_eq(llrt_last_error(), "of this thread");
}

static llrt_status single_exit(bool fail, int *left) {
  llrt_status status = LLRT_OK;
  LLRT_GOTO(fail ? llrt_error(LLRT_INTERNAL, "wanted") : LLRT_OK);
  *left = 1;
done:
  *left += 10;
  return status;
}

Test(base, goto_leaves_through_done) {
  int left = 0;
  cr_expect(single_exit(false, &left) == LLRT_OK);
  cr_expect_eq(left, 11);
  left = 0;
  cr_expect(single_exit(true, &left) == LLRT_INTERNAL);
  cr_expect_eq(left, 10);
}

/* ---- text ---- */

Test(base, text_grows) {
  llrt_text text;
  llrt_text_init(&text);
  for (int i = 0; i < 1000; i++) llrt_text_add(&text, "%04d ", i);
  llrt_text_add_bytes(&text, "end\0", 4);
  llrt_text_add_bytes(&text, NULL, 0);
  cr_assert(llrt_text_status(&text) == LLRT_OK);
  cr_expect_eq(text.length, 5004);
  cr_expect_eq(strncmp(text.data + 4995, "0999 end", 8), 0);
  cr_expect_eq(text.data[text.length], 0);
  llrt_text_fini(&text);
  cr_expect(text.data == NULL && text.length == 0);
}

Test(base, text_remembers_a_failed_allocation) {
  llrt_text text;
  llrt_text_init(&text);
  llrt_text_add(&text, "abcdef");
  cr_expect(llrt_text_status(&text) == LLRT_OK);
  text.failed = true;
  cr_expect(llrt_text_status(&text) == LLRT_OUT_OF_MEMORY);
  llrt_text_add(&text, "more");
  cr_expect_eq(text.length, 6, "what follows a failed allocation is dropped");
  llrt_text_fini(&text);
}

/* ---- hashes ---- */

Test(base, hashing_is_of_the_sequence) {
  llrt_hasher a, b;
  llrt_hasher_init(&a);
  llrt_hasher_init(&b);
  cr_expect(llrt_hash_equal(llrt_hasher_finish(&a), llrt_hash_bytes("", 0)));
  llrt_hasher_add_u64(&a, 0x0807060504030201ull);
  llrt_hasher_add_bytes(&b, "\1\2\3\4\5\6\7", 7);
  cr_expect(!llrt_hash_equal(llrt_hasher_finish(&a), llrt_hasher_finish(&b)));
  llrt_hasher_add_bytes(&b, "\10", 1);
  cr_expect(llrt_hash_equal(llrt_hasher_finish(&a), llrt_hasher_finish(&b)), "little-endian");
  cr_expect(llrt_hash_equal(llrt_hasher_finish(&b), llrt_hash_bytes("\1\2\3\4\5\6\7\10", 8)));
}

/* XXH3's published value for the empty input; saved kernels are named by such hashes. */
Test(base, hash_is_xxh3) {
  llrt_hash hash = llrt_hash_bytes("", 0);
  cr_expect_eq(hash.low, 0x6001c324468d497full);
  cr_expect_eq(hash.high, 0x99aa06d3014798d8ull);
}

/* ---- files ---- */

static char folder[] = "/tmp/llrt-test-XXXXXX";
static char path[4096];

static void make_folder(void) {
  cr_assert(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/file", folder);
}

static void remove_folder(void) {
  unlink(path);
  cr_expect_eq(rmdir(folder), 0, "a temporary file was left");
}

Test(base, files, .init = make_folder, .fini = remove_folder) {
  char *data;
  size_t size;
  cr_assert(llrt_file_write(path, "one\0two", 7) == LLRT_OK, "%s", llrt_last_error());
  cr_assert(llrt_file_read(path, &data, &size) == LLRT_OK);
  cr_expect(size == 7 && memcmp(data, "one\0two", 8) == 0, "with a zero behind");
  free(data);
  cr_assert(llrt_file_write(path, "", 0) == LLRT_OK);
  cr_assert(llrt_file_read(path, &data, &size) == LLRT_OK);
  cr_expect(size == 0 && data[0] == 0);
  free(data);
}

Test(base, large_file, .init = make_folder, .fini = remove_folder) {
  enum { SIZE = 3 << 20 };
  char *written = malloc(SIZE), *data;
  size_t size;
  for (int i = 0; i < SIZE; i++) written[i] = (char)(i * 31 >> 3);
  cr_assert(llrt_file_write(path, written, SIZE) == LLRT_OK);
  cr_assert(llrt_file_read(path, &data, &size) == LLRT_OK);
  cr_expect(size == SIZE && memcmp(written, data, SIZE) == 0);
  free(data);
  free(written);
}

Test(base, file_errors, .init = make_folder, .fini = remove_folder) {
  char *data = path, missing[5000], expected[5100];
  size_t size = 1;
  snprintf(missing, sizeof missing, "%s/no/file", folder);
  cr_expect(llrt_file_read(missing, &data, &size) == LLRT_IO);
  cr_expect(data == NULL && size == 0);
  cr_expect_eq(llrt_last_vendor_code(), ENOENT);
  snprintf(expected, sizeof expected, "cannot open %s: No such file or directory", missing);
  cr_expect_str_eq(llrt_last_error(), expected);
  cr_expect(llrt_file_write(missing, "x", 1) == LLRT_IO);
  cr_expect(llrt_file_read(folder, &data, &size) == LLRT_IO);
  cr_expect_eq(llrt_last_vendor_code(), EISDIR);
  cr_expect(llrt_file_write(folder, "x", 1) == LLRT_IO);
}

/* A device is written to, not replaced by a file. */
Test(base, special_files_stay, .init = make_folder, .fini = remove_folder) {
  struct stat info;
  cr_assert_eq(mkfifo(path, 0600), 0);
  int keep_open = open(path, O_RDWR);
  cr_assert(llrt_file_write(path, "abc", 3) == LLRT_OK, "%s", llrt_last_error());
  char read_back[4] = "";
  cr_expect_eq(read(keep_open, read_back, 3), 3);
  cr_expect_str_eq(read_back, "abc");
  cr_expect(stat(path, &info) == 0 && S_ISFIFO(info.st_mode));
  close(keep_open);
}

/* ---- dtypes ---- */

Test(base, dtypes) {
  llrt_dtype dtype;
  for (int i = LLRT_DTYPE_NONE + 1; i < LLRT_DTYPE_COUNT; i++) {
    cr_assert(llrt_dtype_parse(llrt_dtype_name((llrt_dtype)i), &dtype) == LLRT_OK);
    cr_expect_eq(dtype, (llrt_dtype)i);
    cr_expect_gt(llrt_dtype_bits(dtype), 0);
  }
  cr_expect_eq(llrt_dtype_bits(LLRT_E2M1), 4);
  cr_expect_eq(llrt_dtype_bits(LLRT_B128), 128);
  cr_expect_str_eq(llrt_dtype_name(LLRT_DTYPE_NONE), "none");
  cr_expect_str_eq(llrt_dtype_name((llrt_dtype)-1), "none");
  cr_expect_eq(llrt_dtype_bits(LLRT_DTYPE_COUNT), 0);
  cr_expect(llrt_dtype_parse("f17", &dtype) == LLRT_INVALID_ARGUMENT);
  cr_expect_eq(dtype, LLRT_DTYPE_NONE);
  cr_expect_str_eq(llrt_last_error(), "llrt_dtype_parse: unknown dtype 'f17'");
  cr_expect(llrt_dtype_parse("none", &dtype) == LLRT_INVALID_ARGUMENT);
  cr_expect(llrt_dtype_parse(NULL, &dtype) == LLRT_INVALID_ARGUMENT);
  cr_expect(llrt_dtype_parse("f32", NULL) == LLRT_INVALID_ARGUMENT);
}
