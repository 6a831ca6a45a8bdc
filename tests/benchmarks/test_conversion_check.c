/* The benchmarks' comparison finds what it is there for: results made by hand, right and spoilt. */
#include "benchmarks/conversion.h"

#include <criterion/criterion.h>
#include <string.h>

enum { POISON = 0xee, MAX_BYTES = 1024 };

typedef struct fixture {
  conversion c;
  unsigned char source[MAX_BYTES], destination[MAX_BYTES];
} fixture;

static fixture make(const char *to, int width, int64_t rows, int64_t columns) {
  fixture f = {.c = {.dtype = conversion_dtype(width), .rank = 2, .shape = {rows, columns}}};
  cr_assert_eq(llrt_storage_row_major(2, &f.c.from), LLRT_OK);
  cr_assert_eq(llrt_storage_parse(to, 2, f.c.shape, &f.c.to), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(conversion_measure(&f.c), LLRT_OK);
  cr_assert(f.c.from_bytes <= MAX_BYTES && f.c.to_bytes <= MAX_BYTES);
  for (int i = 0; i < MAX_BYTES; i++) f.source[i] = (unsigned char)(17 * i + 5);
  memset(f.destination, POISON, sizeof f.destination);
  return f;
}

static bool passes(const fixture *f) {
  char why[256];
  return conversion_check(&f->c, f->source, f->destination, POISON, why, sizeof why);
}

/* Every byte of the destination changed in turn must be found. */
static void assert_every_byte_counts(fixture *f) {
  cr_assert(passes(f));
  for (int64_t i = 0; i < f->c.to_bytes; i++) {
    f->destination[i] ^= 1;
    cr_assert_not(passes(f), "byte %lld", (long long)i);
    f->destination[i] ^= 1;
  }
}

Test(conversion_check, transpose) {
  fixture f = make("col_major", 16, 5, 7);
  for (int r = 0; r < 5; r++)
    for (int c = 0; c < 7; c++)
      memcpy(f.destination + 2 * (c * 5 + r), f.source + 2 * (r * 7 + c), 2);
  assert_every_byte_counts(&f);
}

Test(conversion_check, four_bits) {
  fixture f = make("col_major", 4, 6, 2);
  memset(f.destination, 0, 6);
  for (int r = 0; r < 6; r++)
    for (int c = 0; c < 2; c++) {
      int from = r * 2 + c, to = c * 6 + r;
      int value = f.source[from / 2] >> 4 * (from % 2) & 15;
      f.destination[to / 2] |= (unsigned char)(value << 4 * (to % 2));
    }
  assert_every_byte_counts(&f);
}

/* Gaps between rows are no part of the tensor: whatever is written there is wrong. */
Test(conversion_check, gaps) {
  fixture f = make("strided([9,1])", 8, 4, 6);
  for (int r = 0; r < 4; r++) memcpy(f.destination + 9 * r, f.source + 6 * r, 6);
  assert_every_byte_counts(&f);
}

/* COL32 of 3 x 20: columns padded to 32 with zeros. */
Test(conversion_check, pads) {
  fixture f = make("col32", 8, 3, 20);
  cr_assert_eq(f.c.to_bytes, 96);
  cr_assert_eq(f.c.moved_bytes, 60 + 96);
  memset(f.destination, 0, 96);
  for (int r = 0; r < 3; r++) memcpy(f.destination + 32 * r, f.source + 20 * r, 20);
  assert_every_byte_counts(&f);
}

/* A tile whose place has a XOR of two axes: chunk c of row r at r * 128 + (c ^ r) * 16. */
Test(conversion_check, swizzle) {
  fixture f = make("tma_128b", 8, 8, 128);
  for (int r = 0; r < 8; r++)
    for (int b = 0; b < 128; b++)
      f.destination[r * 128 + ((b / 16) ^ r) * 16 + b % 16] = f.source[r * 128 + b];
  cr_assert(passes(&f));
  f.destination[700] ^= 1;
  cr_assert_not(passes(&f));
}
