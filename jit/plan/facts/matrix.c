/* Matrices of ldmatrix and stmatrix (PTX ISA): which part of a layout one instruction moves.
 *
 * With words of 2^w elements the inside of a row is, by offset bit,
 *     rows         the word's w registers, then lane bits 0 and 1;    lane bits 2-4 number the rows
 *     transposed   w - 1 registers (16 bits), then lane bits 2-4;     the word's last register and
 * lane bits 0 and 1 number the rows This is left division of the layout by the instruction's tile
 * (paper section 5.3). */
#include "jit/plan/facts/matrix.h"

#include "base/bits.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/thread_basis.h"
#include "jit/plan/facts/value.h"

#include <assert.h>
#include <string.h>

int plan_matrix_registers(int word, plan_matrix_kind kind) {
  return kind == PLAN_MATRIX_TRANSPOSED ? word - 1 : word;
}

void thread_basis_matrix(const thread_basis *f, int element_bits, plan_matrix_kind kind,
                         uint64_t taken, plan_matrix *out) {
  const uint64_t *lanes = f->lanes;
  bool transposed = kind == PLAN_MATRIX_TRANSPOSED;
  int word = 5 - bits_log2(element_bits), inside = plan_matrix_registers(word, kind), rows = 0;
  assert(f->n_lanes == PLAN_MATRIX_LANES && f->word == word && inside >= 0);
  memset(out, 0, sizeof *out);
  for (int i = 0; i < inside; i++) out->inside[out->row++] = f->registers[i];
  for (int i = transposed ? 2 : 0; i < (transposed ? 5 : 2); i++)
    out->inside[out->row++] = lanes[i];
  if (transposed) out->lane[rows++] = f->registers[word - 1];
  for (int i = transposed ? 0 : 2; i < (transposed ? 2 : 5); i++) out->lane[rows++] = lanes[i];
  for (int i = word; i < f->n_registers && out->count < 2; i++) {
    if (taken >> i & 1) continue;
    out->lane[rows + out->count] = f->registers[i];
    out->position[out->count++] = i;
  }
}

void plan_matrix_of(const plan_kernel *kernel, const plan_step *step, const plan_value *value,
                    plan_matrix *out) {
  plan_repetitions repetitions;
  thread_basis f;
  uint64_t taken = 0;
  plan_repetitions_of(kernel, step->buffer, value, &repetitions);
  for (int i = 0; i < plan_value_bits(value, PLAN_REGISTER); i++)
    if (repetitions.of_register[i]) taken |= 1ull << i;
  thread_basis_of_value(value, &f);
  thread_basis_matrix(&f, value->bits, (plan_matrix_kind)step->matrix, taken, out);
}

void plan_matrix_addresses(const plan_value *value, const plan_matrix *matrix, plan_value *out) {
  *out = *value;
  memcpy(&out->layout.column[plan_value_bits(value, PLAN_REGISTER)], matrix->lane,
         sizeof matrix->lane);
}
