/* What computes a PLAN_DOT: the matrix instructions of all targets, as data. Adding one is a row in
 * dot_instruction.c and its emission (jit/emit/value/emit_dot.c, the backends' `product`).
 *
 * An instruction makes acc(m, n) += sum over k of a(m, k) * b(k, n). Where the elements of an
 * operand lie is a layout (register, lane, warp) -> coordinate. It is written as the coordinate
 * bits of the register bits, then of the lane bits, then of the bits of a warp's number in its
 * warpgroup, low bit first: "k0 m3 k3 | k1 k2 m0 m1 m2". A coordinate is one number, with the bits
 * of m lowest, then those of n, then those of k; an operand has two of the three. The second
 * operand of a warpgroup's instruction is always in shared memory, the first one may be
 * (jit/plan/facts/dot_shared.h). */
#ifndef LLRT_JIT_PLAN_TYPES_DOT_INSTRUCTION_H
#define LLRT_JIT_PLAN_TYPES_DOT_INSTRUCTION_H

#include "jit/plan/types/target.h"

#include <llrt/layout.h>
#include <llrt/tensor.h>

typedef enum dot_family {
  /* A lane by itself, one product of each of its registers; any target. k > 0, host: a lane's word
   * has 2^k elements along K. */
  DOT_FMA = 0,
  DOT_MMA,  /* NVIDIA: mma.sync of a warp */
  DOT_MFMA, /* AMD: a matrix instruction of a wave */
  /* NVIDIA: wgmma.mma_async of a warpgroup, which is four warps; under way until it is waited for.
   */
  DOT_WGMMA
} dot_family;

enum { DOT_A = 0, DOT_B = 1, DOT_ACC = 2 };

typedef struct dot_instruction {
  const char *name;    /* as explanations and errors show it */
  const char *targets; /* host, AMD: names of the targets that have it, with spaces between; NULL:
                          every target */
  int capability; /* NVIDIA: the least compute capability that has it, 10 * major + minor; else 0 */
  const char *code;      /* MMA, WGMMA: the opcode; MFMA: LLVM's intrinsic */
  const char *layout[3]; /* by DOT_A, DOT_B, DOT_ACC; NULL: always in shared memory */
  double clocks;     /* for one of a warp at full rate, of a multiprocessor or compute unit; host:
                        of a core */
  uint8_t family;    /* dot_family */
  uint8_t a, b, acc; /* llrt_dtype of the operands' elements; of integers the low bits count */
  uint8_t m, n, k;   /* log2 extents */
  bool tf32;         /* takes the upper 19 bits of f32 elements */
  bool ptx_84;       /* MMA, WGMMA: PTX has it since 8.4; else since it has the target */
} dot_instruction;

#define DOT_MAX_COLUMNS 16 /* of an operand: register bits, lane bits and warp bits */

/* An operand's layout, resolved from dot_instruction.layout. */
typedef struct dot_operand {
  int registers, lanes, warps;      /* how many bits of each number elements */
  uint32_t column[DOT_MAX_COLUMNS]; /* by register bit, then lane bit, then warp bit: the coordinate
                                       that it moves */
} dot_operand;

/* Rows of the table. */
int dot_instruction_count(void);
/* Row `number`, from 0; NULL past the last. */
const dot_instruction *dot_instruction_at(int number);
/* Whether a target has the instruction. */
bool dot_instruction_is_of(const dot_instruction *row, const plan_target *target);
/* The layout of operand DOT_A, DOT_B or DOT_ACC; all zero for one in shared memory. */
void dot_instruction_operand(const dot_instruction *row, int operand, dot_operand *out);

#endif
