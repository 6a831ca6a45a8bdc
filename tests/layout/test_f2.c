/* The F2 basis and solver: all small matrices, random large ones. */
#include "layout/f2.h"
#include "tests/layout/layout_text.h"

#include <criterion/criterion.h>

/* Bit v of the result: v is a sum of some of the n columns (3 rows). */
static uint32_t span3(const uint64_t *columns, int n) {
  uint32_t span = 0;
  for (uint64_t x = 0; x < 1ull << n; x++) span |= 1u << f2_apply(columns, x);
  return span;
}

static void unpack3(uint32_t matrix, uint64_t *columns) {
  for (int i = 0; i < 3; i++) columns[i] = matrix >> (3 * i) & 7;
}

/* Every 3 x 3 matrix. */
Test(f2, pivots_are_what_adds_to_the_span) {
  for (uint32_t matrix = 0; matrix < 512; matrix++) {
    uint64_t columns[3], expected = 0;
    unpack3(matrix, columns);
    for (int i = 0; i < 3; i++)
      if (!(span3(columns, i) >> columns[i] & 1)) expected |= 1ull << i;
    cr_expect_eq(f2_pivots(columns, 3), expected, "matrix %u", matrix);
  }
}

/* Every 3 x 3 matrix with every right side: solvable inside the image, free variables zero. */
Test(f2, solve_matches_brute_force) {
  for (uint32_t matrix = 0; matrix < 512; matrix++) {
    uint64_t columns[3];
    unpack3(matrix, columns);
    uint64_t pivots = f2_pivots(columns, 3);
    for (uint64_t b = 0; b < 8; b++) {
      uint64_t x = ~0ull;
      bool solved = f2_solve(columns, 3, &b, 1, &x);
      cr_assert_eq(solved, (span3(columns, 3) >> b & 1) != 0, "matrix %u, side %d", matrix, (int)b);
      if (!solved) continue;
      cr_assert_eq(f2_apply(columns, x), b);
      cr_assert_eq(x & ~pivots, 0);
    }
  }
}

/* Coordinates add up to the vector; reducing is linear and leaves no pivot bit. */
Test(f2, random_bases) {
  random_source source = random_start("f2/random_bases");
  for (int trial = 0; trial < 200; trial++) {
    uint64_t mask = bits_mask(1 + random_below(&source, 64)), accepted[64];
    f2_basis basis;
    f2_basis_init(&basis);
    for (int i = random_below(&source, 70); i > 0; i--) {
      uint64_t v = random_bits(&source) & mask;
      int rank = basis.rank;
      bool inside = f2_basis_contains(&basis, v);
      cr_assert_eq(f2_basis_insert(&basis, v), !inside);
      cr_assert_eq(basis.rank, rank + !inside);
      if (!inside) accepted[rank] = v;
    }
    cr_assert_eq(bits_count(basis.pivots), basis.rank);
    uint64_t u = random_bits(&source), v = random_bits(&source), coordinates;
    uint64_t left = f2_basis_reduce(&basis, u, NULL);
    cr_assert_eq(left & basis.pivots, 0);
    cr_assert_eq(f2_basis_reduce(&basis, u ^ v, NULL), left ^ f2_basis_reduce(&basis, v, NULL));
    cr_assert(f2_basis_coordinates(&basis, u ^ left, &coordinates));
    cr_assert_eq(f2_apply(accepted, coordinates), u ^ left);
    cr_assert_eq(f2_basis_coordinates(&basis, u, &coordinates), left == 0);
    cr_assert(left == 0 || coordinates == 0);
  }
}

Test(f2, edges) {
  f2_basis basis;
  f2_basis_init(&basis);
  cr_expect(!f2_basis_insert(&basis, 0));
  cr_expect(f2_basis_contains(&basis, 0));
  cr_expect(!f2_basis_contains(&basis, 1));
  for (int i = 0; i < 64; i++) cr_expect(f2_basis_insert(&basis, 1ull << i | 1ull << 63));
  cr_expect_eq(basis.rank, 64);
  cr_expect(!f2_basis_insert(&basis, ~0ull));
  cr_expect_eq(f2_pivots(NULL, 0), 0);
  cr_expect(f2_solve(NULL, 0, NULL, 0, NULL));
}

/* A label is any linear map: here the inverse of a matrix. */
Test(f2, labels_make_a_map) {
  uint64_t columns[3] = {6, 3, 7}, image;
  f2_basis basis;
  f2_basis_init(&basis);
  for (int i = 0; i < 3; i++) cr_assert(f2_basis_insert_as(&basis, columns[i], 10u << i));
  cr_assert(f2_basis_coordinates(&basis, 6 ^ 7, &image));
  cr_expect_eq(image, (10u << 0) ^ (10u << 2));
}
