/* Which registers may differ between the lanes of a warp: what comes of the thread's number, of its
 * own memory, of shuffles, matrices and atomics, whatever else it comes of. Ways that lanes took
 * are not looked at. */
#include "emulators/ptx/ptx_run.h"

#include <stdlib.h>
#include <string.h>

static bool makes_own(const ptx_op *op) {
  uint8_t class = op->form->class;
  return class == PTX_MATRIX || class == PTX_ATOMIC || ptx_may_be_local(op) ||
         strncmp(op->form->syntax, "shfl", 4) == 0;
}

static bool any_varies(const ptx_op *op, int operand, const bool *varies) {
  const ptx_operand *of = &op->operand[operand];
  for (int k = 0; k < of->count; k++)
    if (varies[op->reg[of->first + k]]) return true;
  return false;
}

/* The letter of each operand; one behind `?` may be absent, at the end. */
static int letters(const ptx_op *op, char letter[PTX_MAX_OPERANDS]) {
  int n = 0;
  for (const char *at = op->form->operands; *at && n < op->n_operands; at++)
    if (*at != '?') letter[n++] = *at;
  return n;
}

static bool is_result(char letter) { return letter == 'd' || letter == 'v' || letter == 'q'; }

/* Marks the results of one instruction; whether that was new. */
static bool mark(const ptx_op *op, bool *varies) {
  char letter[PTX_MAX_OPERANDS];
  int n = letters(op, letter);
  bool own = makes_own(op) || (op->guard >= 0 && varies[op->guard]), changed = false;
  for (int i = 0; i < n; i++) own |= !is_result(letter[i]) && any_varies(op, i, varies);
  for (int i = 0; i < n && own; i++) {
    if (!is_result(letter[i])) continue;
    for (int k = 0; k < op->operand[i].count; k++) {
      bool *result = &varies[op->reg[op->operand[i].first + k]];
      changed |= !*result;
      *result = true;
    }
  }
  return changed;
}

bool *ptx_varying(const ptx_kernel *kernel) {
  static const ptx_special own[] = {PTX_TID_X,       PTX_LANEID,      PTX_WARPID,
                                    PTX_LANEMASK_EQ, PTX_LANEMASK_LT, PTX_LANEMASK_LE,
                                    PTX_LANEMASK_GT, PTX_LANEMASK_GE, PTX_GLOBALTIMER};
  bool *varies = calloc((size_t)kernel->n_registers + 1, sizeof *varies);
  if (!varies) return NULL;
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    if (kernel->special[own[i]] >= 0) varies[kernel->special[own[i]]] = true;
  for (bool changed = true; changed;) {
    changed = false;
    for (int pc = 0; pc < kernel->n_ops; pc++) changed |= mark(&kernel->op[pc], varies);
  }
  return varies;
}
