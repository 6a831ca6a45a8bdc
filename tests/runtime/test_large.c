/* Tensors that the host stores past the caches: regions of tiles, edges that part registers, and
 * rows that are collected, by every instruction set that this machine runs. Both tensors end where
 * a page ends that may be touched, so an access beyond is seen. */
#include <llrt/llrt.h>

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BYTES (5 << 20)
#define POISON 0xA5

typedef struct large {
  llrt_context *context;
  llrt_device *device;
  llrt_storage storage[2];
  llrt_storage_binding binding[2];
  unsigned char *memory[2], *data[2]; /* data ends where the memory does */
  size_t mapped;
} large;

static unsigned char *map_guarded(size_t size) {
  unsigned char *memory =
      mmap(NULL, size + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  cr_assert_neq(memory, MAP_FAILED);
  cr_assert_eq(mprotect(memory + size, 4096, PROT_NONE), 0);
  return memory;
}

static bool large_open(large *at, const char *target) {
  const llrt_context_params params = {.jit_library = LLRT_TEST_JIT_LIBRARY};
  const llrt_device_params device = {.target = target};
  *at = (large){.mapped = 2 * BYTES};
  cr_assert_eq(llrt_context_create(&params, &at->context), LLRT_OK);
  if (llrt_device_open(at->context, "host", &device, &at->device) != LLRT_OK) {
    llrt_context_destroy(&at->context);
    return false;
  }
  for (int t = 0; t < 2; t++) at->memory[t] = map_guarded(at->mapped);
  for (size_t i = 0; i < at->mapped; i++) at->memory[0][i] = (unsigned char)(i * 2654435761u >> 13);
  return true;
}

static void large_close(large *at) {
  for (int t = 0; t < 2; t++) munmap(at->memory[t], at->mapped + 4096);
  llrt_device_close(&at->device);
  llrt_context_destroy(&at->context);
}

static const unsigned char *element(const large *at, int t, int64_t r, int64_t c, size_t width) {
  const int64_t coordinate[] = {r, c};
  return at->data[t] +
         (size_t)llrt_storage_offset(&at->storage[t], &at->binding[t], coordinate) * width;
}

/* Bytes of the destination that are no element's and are written; elements are overwritten. */
static size_t count_touched(large *at, const int64_t *shape, size_t width, bool gaps) {
  size_t before = (size_t)(at->data[1] - at->memory[1]), touched = 0,
         span = (size_t)at->binding[1].span * width;
  for (int64_t r = 0; r < shape[0] && gaps; r++)
    for (int64_t c = 0; c < shape[1]; c++)
      memset((void *)(uintptr_t)element(at, 1, r, c, width), POISON, width);
  for (size_t i = 0; i < at->mapped; i++)
    if (i < before || i >= before + span || gaps) touched += at->memory[1][i] != POISON;
  return touched;
}

static void check(large *at, llrt_dtype dtype, const int64_t *shape, bool gaps, const char *what) {
  llrt_tensor tensor[2];
  size_t bytes[2], width = (size_t)llrt_dtype_bits(dtype) / 8;
  for (int t = 0; t < 2; t++) {
    cr_assert_eq(llrt_storage_bind(&at->storage[t], 2, shape, NULL, &at->binding[t]), LLRT_OK);
    bytes[t] = ((size_t)at->binding[t].span * width + 63) / 64 *
               64; /* so that stores may pass the caches */
    cr_assert_leq(bytes[t], at->mapped);
    at->data[t] = at->memory[t] + at->mapped - bytes[t];
    tensor[t] = (llrt_tensor){.data = at->data[t],
                              .dtype = dtype,
                              .rank = 2,
                              .shape = {shape[0], shape[1]},
                              .storage = &at->storage[t],
                              .device = at->device};
  }
  memset(at->memory[1], POISON, at->mapped);
  cr_assert_eq(llrt_convert_into(&tensor[0], &tensor[1], NULL, NULL), LLRT_OK, "%s",
               llrt_last_error());
  for (int64_t r = 0; r < shape[0]; r += 1 + (r > 100 && r < shape[0] - 200) * 6)
    for (int64_t c = 0; c < shape[1]; c++)
      if (memcmp(element(at, 0, r, c, width), element(at, 1, r, c, width), width) != 0)
        cr_assert(false, "%s, %zu bytes: element %lld, %lld", what, width, (long long)r,
                  (long long)c);
  size_t touched = count_touched(at, shape, width, gaps && width == 4);
  cr_assert_eq(touched, 0, "%s, %zu bytes: %zu bytes outside are written", what, width, touched);
}

/* Rows and columns are multiples of `rows` and `columns`; 0: odd. Gaps: the destination has some.
 */
static const struct {
  const char *text[2];
  int rows, columns;
  bool gaps;
} pairs[] = {
    {{"row_major", "col_major"}, 0, 0, false},
    {{"col_major", "row_major"}, 0, 0, false},
    {{"row_major", "storage(digits=[dim1: 48, dim0: rest, dim1: rest], pad=keep)"}, 0, 0, false},
    {{"storage(digits=[dim1: 16, dim0: rest, dim1: rest], pad=keep)", "col_major"}, 0, 0, false},
    {{"col_major", "storage(digits=[dim1: 48, dim0: 1024, dim1: rest])"}, 1024, 48, false},
    {{"row_major", "storage(digits=[dim1: 12, dim0: 1024, dim1: rest])"}, 1024, 12, false},
    {{"row_major", "storage(digits=[dim1: 512, dim0: 1024 @ 520, dim1: rest], offset=[8])"},
     1024,
     512,
     true},
};

static void check_target(const char *target) {
  static const llrt_dtype widths[] = {LLRT_B8, LLRT_B16, LLRT_B32, LLRT_B64};
  large at;
  if (!large_open(&at, target)) return;
  for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++)
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
      int64_t rows = pairs[p].rows ? pairs[p].rows : 1031 + 64 * (int64_t)p;
      int64_t columns = BYTES * 8 / llrt_dtype_bits(widths[w]) / rows;
      const int64_t shape[] = {
          rows, pairs[p].columns ? columns / pairs[p].columns * pairs[p].columns : columns | 1};
      for (int t = 0; t < 2; t++)
        cr_assert_eq(llrt_storage_parse(pairs[p].text[t], 2, shape, &at.storage[t]), LLRT_OK, "%s",
                     llrt_last_error());
      check(&at, widths[w], shape, pairs[p].gaps, pairs[p].text[1]);
    }
  large_close(&at);
}

Test(large, x86_64_v4_vbmi) { check_target("x86-64-v4-vbmi"); }
Test(large, x86_64_v4) { check_target("x86-64-v4"); }
Test(large, x86_64_v3) { check_target("x86-64-v3"); }
Test(large, x86_64_v2) { check_target("x86-64-v2"); }
Test(large, aarch64) { check_target("aarch64"); }
