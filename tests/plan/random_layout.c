#include "random_layout.h"

#include "layout/f2.h"

#include <stdlib.h>

uint64_t test_random(uint64_t *seed) {
  *seed ^= *seed >> 12;
  *seed ^= *seed << 25;
  *seed ^= *seed >> 27;
  return *seed * 0x2545F4914F6CDD1Dull;
}

void test_random_storage(uint64_t *seed, int bits0, int bits1, bool permutation,
                         llrt_storage *storage) {
  int n = bits0 + bits1;
  llrt_layout layout = llrt_layout_empty();
  llrt_layout_add_out(&layout, "dim0", bits0);
  llrt_layout_add_out(&layout, "dim1", bits1);
  llrt_layout_add_in(&layout, "offset", n);
  f2_basis basis;
  f2_basis_init(&basis);
  for (int i = 0; i < n;) {
    uint64_t x =
        permutation ? 1ull << test_random(seed) % (unsigned)n : test_random(seed) & bits_mask(n);
    if (f2_basis_insert(&basis, x)) layout.column[i++] = x;
  }
  if (llrt_storage_from_layout(&layout, storage) != LLRT_OK) abort();
}
