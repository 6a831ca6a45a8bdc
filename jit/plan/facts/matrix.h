/* What a shared step that moves matrices moves at once. */
#ifndef LLRT_JIT_PLAN_FACTS_MATRIX_H
#define LLRT_JIT_PLAN_FACTS_MATRIX_H

#include "jit/plan/facts/thread_basis.h"
#include "jit/plan/kernel/plan.h"

/* What a shared step that moves matrices moves at once. */
#define PLAN_MATRIX_LANES 5
#define PLAN_MATRIX_ROW_BYTES 16
typedef struct plan_matrix {
  int row;                /* log2 elements of a row */
  uint64_t inside[8];     /* tile vector that moves an element by 2^j inside its row */
  int count, position[2]; /* log2 matrices of an instruction, the register bits that number them */
  uint64_t lane[PLAN_MATRIX_LANES]; /* what bit i of a lane adds to the row that it gives the
                                       address of: rows first, then matrices; 0 above */
} plan_matrix;
void plan_matrix_of(const plan_kernel *kernel, const plan_step *step, const plan_value *value,
                    plan_matrix *out);
/* The value as addresses see it: with the lanes that give those of rows. */
void plan_matrix_addresses(const plan_value *value, const plan_matrix *matrix, plan_value *out);

/* How many registers of a word a side has inside a row. */
int plan_matrix_registers(int word, plan_matrix_kind kind);
/* The matrices of a side that moves them; `taken`: registers that cannot number any. */
void thread_basis_matrix(const thread_basis *f, int element_bits, plan_matrix_kind kind,
                         uint64_t taken, plan_matrix *out);

#endif
