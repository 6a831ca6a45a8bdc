/* See thread_registers.h. */
#include "jit/plan/facts/thread_registers.h"

#include "base/bits.h"
#include "jit/plan/facts/box.h"
#include "jit/plan/facts/tile_padding.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/types/dot_instruction.h"

/* All numbers are 32-bit registers. A multiprocessor of compute capability 8.0 to 9.0 has
 * UNIT_REGISTERS; a thread is given a multiple of REGISTER_STEP, at most MOST_REGISTERS (255 is the
 * architecture's limit). CUDA C Programming Guide, "Compute Capabilities". */
#define UNIT_REGISTERS 65536
#define REGISTER_STEP 8
#define MOST_REGISTERS 248

/* What a producer's thread keeps: addresses of its copies, and whether rows are there (of 48 pieces
 * of 8 bytes ptxas spills 35 registers where there are 40, none where there are 104); of experts'
 * rows beside boxes, an address of each of eight rows; addresses and two parts of 64 elements that
 * boxes brought, which it casts (PLAN_LANDED); 24, the least that setmaxnreg takes, where it only
 * issues boxes. */
#define COPYING_PRODUCER 104
#define COPYING_FEW 40 /* of at most FEW_PIECES in a turn */
#define FEW_PIECES 8
#define COPYING_BESIDE_FRESH 40 /* where others hold sums of a turn beside those of all */
#define EXPERTS_PRODUCER 64
#define CASTING_PRODUCER 72
#define BOX_PRODUCER 24

/* What ptxas gives a thread beside a wgmma's operands: 158 registers for the 132 of
 * m64n256k16. In blocks of 2^MANY_WARP_BITS warps or more it makes do with less: 112 for the 100 of
 * m64n64k32 and 64 sums. */
#define BESIDE_WGMMA 26
#define BESIDE_WGMMA_OF_MANY 12
#define MANY_WARP_BITS 4

static bool has_fresh_sums(const plan_kernel *kernel) {
  bool fresh = false;
  for (int i = 0; i < kernel->n_steps; i++) fresh |= kernel->step[i].fresh_sums;
  return fresh;
}

/* Pieces that a producer's thread copies in a turn, each with an address of its own. */
static int copied_pieces(const plan_kernel *kernel) {
  const int parts = bits_ceil_div(1 << kernel->warp_bits, kernel->producers);
  int pieces = 0;
  for (int i = 0; i < kernel->n_steps; i++) {
    const plan_step *step = &kernel->step[i];
    if (step->kind != PLAN_COPY || step->box) continue;
    const int bits = plan_value_bits(&kernel->value[step->in], PLAN_REGISTER) - step->vector;
    pieces += 1 << bits_max(bits, 0);
  }
  return pieces * parts;
}

void plan_registers_of(const plan_kernel *kernel, plan_registers *out) {
  int own = 1 << (kernel->lane_bits + kernel->warp_bits - kernel->cluster_bits + kernel->team_bits);
  int producers = kernel->producers << kernel->lane_bits, blocks = bits_max(kernel->resident, 1);
  int begin =
      bits_min(UNIT_REGISTERS / blocks / (own + producers) & -REGISTER_STEP, MOST_REGISTERS);
  *out = (plan_registers){begin, begin, begin};
  if (!producers) return;
  int wanted = plan_landed_step(kernel) >= 0         ? CASTING_PRODUCER
               : plan_only_boxes(kernel)             ? BOX_PRODUCER
               : plan_waits_fence(kernel)            ? EXPERTS_PRODUCER
               : has_fresh_sums(kernel)              ? COPYING_BESIDE_FRESH
               : copied_pieces(kernel) <= FEW_PIECES ? COPYING_FEW
                                                     : COPYING_PRODUCER;
  out->producers = bits_min(wanted, begin);
  out->others =
      bits_min((begin * (own + producers) - out->producers * producers) / own & -REGISTER_STEP,
               MOST_REGISTERS);
}

bool plan_registers_hold(const plan_kernel *kernel, const plan_value *sums,
                         const dot_instruction *row, int fresh, bool padded) {
  plan_registers has;
  dot_operand first, made;
  plan_registers_of(kernel, &has);
  dot_instruction_operand(row, DOT_A, &first);
  dot_instruction_operand(row, DOT_ACC, &made);
  int words = 1 << (plan_value_bits(sums, PLAN_REGISTER) - sums->word);
  if (row->layout[DOT_A])
    words += bits_max((llrt_dtype_bits((llrt_dtype)row->a) << first.registers) / 32, 1);
  words += fresh << (made.registers - sums->word);
  plan_padding padding;
  plan_padding_find(kernel, &padding);
  if (padding.n > 0 && !padded)
    words = (int)((words * padding.own + (1 << padding.n) - 1) >> padding.n);
  return words + (kernel->warp_bits < MANY_WARP_BITS ? BESIDE_WGMMA : BESIDE_WGMMA_OF_MANY) <=
         has.others;
}
