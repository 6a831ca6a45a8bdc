/* Bytes as a file of the disk cache, as they are and with a right checksum. What is read lies
 * inside of them, and is written as a file that means the same. From 128 on the first byte says
 * that the rest is the file; otherwise it chooses a kernel (kernel_base.h), and records of ten
 * bytes (place, value) replace words of the file around that. */
#include "tests/fuzz/kernel_base.h"

#include "base/hash.h"
#include "runtime/disk_entry.h"

#include <llrt/llrt.h>

#include <string.h>

#define SUM_BYTES 16

static bool lies_inside(const void *part, size_t part_size, const unsigned char *image,
                        size_t size) {
  uintptr_t at = (uintptr_t)part, begin = (uintptr_t)image;
  return at >= begin && at - begin <= size && part_size <= size - (at - begin);
}

static void check(const unsigned char *image, size_t size) {
  disk_entry entry;
  llrt_text again;
  char name[DISK_ENTRY_NAME_BYTES];
  llrt_hash key;
  llrt_kernel_info info = {0};
  const char *why = llrt_disk_entry_read(image, size, &entry);
  if (why) {
    FUZZ_CHECK(why[0]);
    return;
  }
  FUZZ_CHECK(lies_inside(entry.text, entry.text_bytes, image, size));
  FUZZ_CHECK(lies_inside(entry.kernel, entry.kernel_bytes, image, size));
  FUZZ_CHECK(strnlen(entry.version, sizeof entry.version) < sizeof entry.version);
  FUZZ_CHECK(strnlen(entry.target, sizeof entry.target) < sizeof entry.target);
  FUZZ_CHECK(strnlen(entry.build, sizeof entry.build) < sizeof entry.build);
  llrt_disk_entry_name(entry.key, name);
  FUZZ_CHECK(llrt_disk_entry_key(name, &key) && llrt_hash_equal(key, entry.key));
  llrt_text_init(&again);
  FUZZ_CHECK(llrt_disk_entry_write(&entry, &again) == LLRT_OK);
  FUZZ_CHECK(again.length == size);
  /* Fixed texts end in a zero, whatever stood in their last byte and behind the first zero. */
  disk_entry second;
  FUZZ_CHECK(!llrt_disk_entry_read(again.data, again.length, &second));
  FUZZ_CHECK(second.text_bytes == entry.text_bytes && second.kernel_bytes == entry.kernel_bytes);
  FUZZ_CHECK(memcmp(second.kernel, entry.kernel, entry.kernel_bytes) == 0);
  llrt_text_fini(&again);
  llrt_kernel_inspect(entry.kernel, entry.kernel_bytes, NULL, &info);
}

static void put_word(unsigned char *at, uint64_t value) {
  for (int i = 0; i < 8; i++) at[i] = (unsigned char)(value >> 8 * i);
}

static void seal(unsigned char *image, size_t size) {
  if (size < SUM_BYTES) return;
  llrt_hash sum = llrt_hash_bytes(image, size - SUM_BYTES);
  put_word(image + size - SUM_BYTES, sum.low);
  put_word(image + size - 8, sum.high);
}

/* A whole file around a kernel, in which the input's records replace words of the head. */
static void check_made(const uint8_t *data, size_t input) {
  static const char text[] = "convert source f32 row_major; destination f32 col_major";
  disk_entry entry = {.key = {.low = 1, .high = 2},
                      .build = "0123456789abcdef0123456789abcdef",
                      .version = "0.2.0",
                      .target = KERNEL_BASE_TARGET,
                      .text = text,
                      .text_bytes = sizeof text - 1};
  llrt_text file;
  unsigned char *kernel = kernel_of_input(data, 1, true, &entry.kernel_bytes);
  entry.kernel = kernel;
  llrt_text_init(&file);
  FUZZ_CHECK(llrt_disk_entry_write(&entry, &file) == LLRT_OK);
  size_t size = file.length;
  unsigned char *image = malloc(size);
  FUZZ_CHECK(image);
  memcpy(image, file.data, size);
  llrt_text_fini(&file);
  free(kernel);
  const uint8_t *from = data + 1;
  for (size_t left = input - 1; left >= 10; left -= 10, from += 10) {
    size_t word = ((size_t)from[0] | (size_t)from[1] << 8) % (size / 8);
    memcpy(image + 8 * word, from + 2, 8);
  }
  check(image, size);
  seal(image, size);
  check(image, size);
  free(image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t input) {
  if (input == 0) return -1;
  if (data[0] < 128) {
    check_made(data, input);
    return 0;
  }
  unsigned char *image = malloc(input);
  FUZZ_CHECK(image);
  memcpy(image, data + 1, input - 1);
  check(image, input - 1);
  seal(image, input - 1);
  check(image, input - 1);
  free(image);
  return 0;
}
