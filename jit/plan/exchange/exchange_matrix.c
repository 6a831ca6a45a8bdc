/* Matrices of ldmatrix and stmatrix (PTX ISA): which part of a layout one instruction moves, and
 * how two layouts meet in rows of 16 bytes.
 *
 * With words of 2^w elements the inside of a row is, by offset bit,
 *
 *   rows         the word's w registers, then lane bits 0 and 1; lane bits 2-4 number the rows
 *   transposed   w - 1 registers (16 bits), then lane bits 2-4; the word's last register and lane
 *                bits 0 and 1 number the rows
 *
 * This is left division of the layout by the instruction's tile (paper section 5.3). */
#include "jit/plan/exchange/exchange_route.h"

#include "base/bits.h"
#include "jit/plan/facts/thread_basis.h"
#include "jit/plan/facts/matrix.h"
#include "layout/f2.h"

#include <assert.h>
#include <string.h>

/* ---- rows that both sides of a buffer have ---- */

static bool holds_copies(const thread_basis *f) {
  for (int i = 0; i < f->n_lanes; i++)
    if (f->lanes[i] >> f->tile_bits) return true;
  return false;
}

static void span_registers(const thread_basis *f, f2_basis *span) {
  f2_basis_init(span);
  for (int i = 0; i < f->n_registers; i++) f2_basis_insert(span, f->registers[i]);
}

/* n registers of both sides for the beginning of a row, those of the loading side's word first. */
static bool choose_common(const thread_basis *from, const thread_basis *to, int n,
                          swizzle_rows *rows) {
  const thread_basis *const side[] = {to, from};
  f2_basis chosen, span;
  f2_basis_init(&chosen);
  for (int s = 0; s < 2; s++) {
    span_registers(side[!s], &span);
    for (int i = 0; i < side[s]->n_registers && rows->n < n; i++) {
      uint64_t x = side[s]->registers[i];
      if (f2_basis_contains(&span, x) && f2_basis_insert(&chosen, x)) rows->at[rows->n++] = x;
    }
  }
  return rows->n == n;
}

/* A basis of the tile: the row's vectors with their bit, all others without. */
static void label_rows(const swizzle_rows *rows, const thread_basis *lead, f2_basis *basis) {
  f2_basis_init(basis);
  for (int j = 0; j < rows->n; j++) f2_basis_insert_as(basis, rows->at[j], 1ull << j);
  for (int i = 0; i < lead->n_registers; i++) f2_basis_insert_as(basis, lead->registers[i], 0);
  for (int i = 0; i < lead->n_lanes; i++) f2_basis_insert_as(basis, lead->lanes[i], 0);
  for (int i = 0; i < lead->n_warps; i++)
    if (lead->warps[i]) f2_basis_insert_as(basis, lead->warps[i], 0);
}

/* Whether the lanes of a side that moves matrices are where the rows have them. */
static bool lanes_fit(const thread_basis *f, const swizzle_rows *rows, plan_matrix_kind kind) {
  int first = kind == PLAN_MATRIX_TRANSPOSED ? 2 : 0, inside = plan_matrix_registers(f->word, kind);
  if (kind == PLAN_MATRIX_NONE) return true;
  for (int j = inside; j < rows->n; j++)
    if (rows->at[j] != f->lanes[first + j - inside]) return false;
  return true;
}

/* The side with registers that begin with what it has of a row; the others freed of that. Its word
 * must be there. */
static bool fit_side(const thread_basis *f, const swizzle_rows *rows, plan_matrix_kind kind,
                     const f2_basis *labelled, thread_basis *out) {
  f2_basis span, chosen;
  uint64_t own = 0;
  int n = 0;
  if (!lanes_fit(f, rows, kind)) return false;
  *out = *f;
  span_registers(f, &span);
  f2_basis_init(&chosen);
  for (int j = 0; j < rows->n; j++) {
    if (f2_basis_contains(&span, rows->at[j])) {
      f2_basis_insert(&chosen, rows->at[j]);
      own |= 1ull << j;
      out->registers[n++] = rows->at[j];
    } else if (j < plan_matrix_registers(f->word, kind)) {
      return false;
    }
  }
  for (int i = 0; i < f->n_registers; i++) {
    uint64_t x = f->registers[i], part = 0;
    f2_basis_coordinates(labelled, x, &part);
    for (int j = 0; j < rows->n; j++)
      if (part & own & 1ull << j) x ^= rows->at[j];
    if (x && f2_basis_insert(&chosen, x)) out->registers[n++] = x;
  }
  assert(n == f->n_registers);
  return true;
}

bool thread_basis_fit_rows(const thread_basis *from, const thread_basis *to, int element_bits,
                           swizzle_rows *rows, thread_basis fitted[2]) {
  const thread_basis *const side[] = {from, to};
  int word = 5 - bits_log2(element_bits);
  rows->lead = rows->matrix[1] >= rows->matrix[0];
  plan_matrix_kind kind = (plan_matrix_kind)rows->matrix[rows->lead];
  const thread_basis *lead = side[rows->lead];
  rows->n = 0;
  for (int s = 0; s < 2; s++) {
    if (side[s]->n_lanes != PLAN_MATRIX_LANES || side[s]->word != word) return false;
    if (rows->matrix[s] && holds_copies(side[s])) return false;
  }
  int inside = plan_matrix_registers(word, kind);
  if (inside < 0 || !choose_common(from, to, inside, rows)) return false;
  bool transposed = kind == PLAN_MATRIX_TRANSPOSED;
  for (int i = transposed ? 2 : 0; i < (transposed ? 5 : 2); i++)
    rows->at[rows->n++] = lead->lanes[i];
  f2_basis labelled;
  label_rows(rows, lead, &labelled);
  if (!fit_side(lead, rows, kind, &labelled, &fitted[rows->lead])) return false;
  label_rows(rows, &fitted[rows->lead], &labelled);
  return fit_side(side[!rows->lead], rows, (plan_matrix_kind)rows->matrix[!rows->lead], &labelled,
                  &fitted[!rows->lead]);
}
