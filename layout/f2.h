/* Linear algebra over F2 in machine words: a vector is a uint64_t, a matrix an array of columns.
 *
 * Everything rests on one structure, a basis in reduced echelon form that grows a vector at a time.
 * Offering a matrix's columns from left to right accepts exactly the pivot columns of its reduced
 * row echelon form with leftmost pivots, so solving with free variables zero is elimination on
 * columns and needs no rows wider than 64 bits. */
#ifndef LLRT_LAYOUT_F2_H
#define LLRT_LAYOUT_F2_H

#include "base/bits.h"

#include <stddef.h>

/* A subspace of F2^64 and a linear map from it to F2^64, given by labels of the vectors inserted.
 * By default the label of the i-th accepted vector is 1 << i, so that labels are coordinates.
 * The form is reduced: a pivot's bit is set in its own row only, so the rows that take part in a
 * vector are read off its bits at once. */
typedef struct f2_basis {
  int rank;
  uint64_t pivots;    /* bit p: row[p] is there, and has bit p */
  uint64_t touched;   /* covers the bits of all rows */
  uint64_t row[64];   /* other entries are unset */
  uint64_t label[64]; /* the map's value at row[p] */
} f2_basis;

static inline void f2_basis_init(f2_basis *basis) {
  basis->rank = 0;
  basis->pivots = basis->touched = 0;
}

/* The one vector of v + span that has no pivot bit; linear in v, zero exactly for v in the span.
 * *label, where not NULL, is XORed with the map's value at what was taken away.
 * Cost: one step a pivot bit of v. */
static inline uint64_t f2_basis_reduce(const f2_basis *basis, uint64_t v, uint64_t *label) {
  for (uint64_t hit = v & basis->pivots; hit; hit &= hit - 1) {
    int p = bits_lowest(hit);
    v ^= basis->row[p];
    if (label) *label ^= basis->label[p];
  }
  return v;
}

static inline bool f2_basis_contains(const f2_basis *basis, uint64_t v) {
  return f2_basis_reduce(basis, v, NULL) == 0;
}

/* Clears bit p in the rows there are, by adding v, which has it. */
static inline void f2_basis_clear(f2_basis *basis, int p, uint64_t v, uint64_t label) {
  for (uint64_t left = basis->pivots; left; left &= left - 1) {
    int q = bits_lowest(left);
    uint64_t take = -(basis->row[q] >> p & 1);
    basis->row[q] ^= v & take;
    basis->label[q] ^= label & take;
  }
}

/* Adds v with a label of its own. Returns whether v was independent; if not, nothing changes. */
static inline bool f2_basis_insert_as(f2_basis *basis, uint64_t v, uint64_t label) {
  v = f2_basis_reduce(basis, v, &label);
  if (v == 0) return false;
  int p = bits_highest(v);
  if (basis->touched >> p & 1) f2_basis_clear(basis, p, v, label);
  basis->row[p] = v;
  basis->label[p] = label;
  basis->pivots |= 1ull << p;
  basis->touched |= v;
  basis->rank++;
  return true;
}

/* The greatest vector of the span, as a number: every pivot's bit is set, and no other choice sets
 * more. */
static inline uint64_t f2_basis_greatest(const f2_basis *basis) {
  uint64_t sum = 0;
  for (uint64_t left = basis->pivots; left; left &= left - 1) sum ^= basis->row[bits_lowest(left)];
  return sum;
}

/* Adds v, labelled as the next coordinate. Returns whether it was independent. */
static inline bool f2_basis_insert(f2_basis *basis, uint64_t v) {
  return basis->rank < 64 && f2_basis_insert_as(basis, v, 1ull << basis->rank);
}

/* *coordinates = the labels of the inserted vectors that sum to v, XORed: bit i tells whether the
 * i-th accepted vector takes part. Returns false, and 0, for v outside the span. */
static inline bool f2_basis_coordinates(const f2_basis *basis, uint64_t v, uint64_t *coordinates) {
  uint64_t label = 0;
  bool inside = f2_basis_reduce(basis, v, &label) == 0;
  *coordinates = inside ? label : 0;
  return inside;
}

/* The matrix times x: XOR of the columns of x's set bits. */
static inline uint64_t f2_apply(const uint64_t *columns, uint64_t x) {
  uint64_t sum = 0;
  for (; x; x &= x - 1) sum ^= columns[bits_lowest(x)];
  return sum;
}

/* Bit i: column i does not depend on columns 0..i-1. The rank is the number of bits. n <= 64. */
uint64_t f2_pivots(const uint64_t *columns, int n);

/* x with A x[j] = b[j] for j < m, entries of non-pivot columns zero; false when some b[j] is
 * outside A's image, x then being unset. n, m <= 64. */
bool f2_solve(const uint64_t *a, int n, const uint64_t *b, int m, uint64_t *x);

#endif
