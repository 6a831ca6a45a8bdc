/* What computes a PLAN_DOT: the matrix instructions of targets, as data. Adding one is a row here and its
 * emission (jit/emit/emit_dot.c, the backends' `product`).
 *
 * An instruction makes acc(m, n) += sum over k of a(m, k) * b(k, n). Where its operands' elements lie is a
 * layout (register, lane, warp) -> coordinates, written as the coordinate bits that its register bits, then its lane
 * bits, then the bits of a warp in its group have, low bit first: "k0 m3 k3 | k1 k2 m0 m1 m2". A coordinate is one
 * number: m's bits lowest, then n's, then k's, which an operand has two of. A warpgroup's second operand is always in
 * shared memory, its first one may be (jit/plan/dot_shared.h). */
#ifndef LLRT_JIT_PLAN_DOT_INSTRUCTION_H
#define LLRT_JIT_PLAN_DOT_INSTRUCTION_H

#include "jit/plan/target.h"

#include <llrt/layout.h>
#include <llrt/tensor.h>

typedef enum dot_family {
  DOT_FMA = 0, /* a lane by itself: one product of each of its registers; any target. k > 0: the host, a lane's word has so
                  many elements along k */
  DOT_MMA,     /* NVIDIA: mma.sync of a warp */
  DOT_MFMA,    /* AMD: a matrix instruction of a wave */
  DOT_WGMMA    /* NVIDIA: wgmma.mma_async of a warpgroup, four warps; under way until it is waited for */
} dot_family;

enum { DOT_A = 0, DOT_B = 1, DOT_ACC = 2 };

typedef struct dot_instruction {
  const char *name;    /* as people write it */
  const char *targets; /* names of plan_target's, apart by spaces; NULL: every target */
  const char *code;    /* what emission makes it of: MMA, WGMMA: opcode; MFMA: intrinsic */
  const char *layout[3]; /* NULL: always in shared memory */
  double clocks;       /* of a multiprocessor (compute unit) for one of a warp, at full rate; the host: of a core */
  uint8_t family;      /* dot_family */
  uint8_t a, b, acc;   /* llrt_dtype: what bits of the operands mean. Of integers a code's low bits decide */
  uint8_t m, n, k;     /* log2 */
  bool tf32;           /* of f32 elements it takes the upper 19 bits */
  bool ptx_84;         /* MMA, WGMMA: PTX knows it from 8.4 on, else as long as the target */
} dot_instruction;

#define DOT_MAX_COLUMNS 16 /* of an operand: register bits, lane bits and warp bits */

/* An operand's layout, resolved. */
typedef struct dot_operand {
  int registers, lanes, warps; /* bits */
  uint32_t column[DOT_MAX_COLUMNS]; /* coordinates: registers first, then lanes */
} dot_operand;

int dot_instruction_count(void);
/* NULL past the last. */
const dot_instruction *dot_instruction_at(int number);
/* Whether a target has it. */
bool dot_instruction_is_of(const dot_instruction *row, const plan_target *target);
/* operand: DOT_A, DOT_B, DOT_ACC; of one in shared memory nothing. */
void dot_instruction_operand(const dot_instruction *row, int operand, dot_operand *out);

#endif
