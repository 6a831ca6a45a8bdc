#include "layout/f2.h"

/* Inserts the columns, column i labelled 1 << i; returns the mask of those accepted. */
static uint64_t insert_columns(f2_basis *basis, const uint64_t *columns, int n) {
  uint64_t pivots = 0;
  f2_basis_init(basis);
  for (int i = 0; i < n; i++)
    if (f2_basis_insert_as(basis, columns[i], 1ull << i)) pivots |= 1ull << i;
  return pivots;
}

uint64_t f2_pivots(const uint64_t *columns, int n) {
  f2_basis basis;
  return insert_columns(&basis, columns, n);
}

bool f2_solve(const uint64_t *a, int n, const uint64_t *b, int m, uint64_t *x) {
  f2_basis basis;
  insert_columns(&basis, a, n);
  for (int j = 0; j < m; j++)
    if (!f2_basis_coordinates(&basis, b[j], &x[j])) return false;
  return true;
}
