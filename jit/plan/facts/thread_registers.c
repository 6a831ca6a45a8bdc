/* See thread_registers.h. */
#include "jit/plan/facts/thread_registers.h"

#include "base/bits.h"
#include "jit/plan/facts/box.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/types/dot_instruction.h"

/* Registers, 32 bits each. A multiprocessor's at compute capabilities 8.0 to 9.0 (CUDA C
 * Programming Guide); a thread's go in grains of 8, up to 248 (255 is the limit). */
#define REGISTERS 65536
#define GRAIN 8
#define MOST 248
/* What a producer's thread keeps: addresses of copies; these and two parts of 64 elements that
 * boxes brought, which it casts (PLAN_LANDED); where it only issues boxes, 24, the least that
 * setmaxnreg takes. */
#define PRODUCERS 40
#define CASTING 72
#define OF_BOXES 24
/* What ptxas wants beside a wgmma's operands: it asks for 158 where m64n256k16 has 132. Where a
 * block has 2^FEW_FROM such warps or more it makes do with less: 112 for the 100 of m64n64k32
 * beside 64 sums. */
#define BESIDE 26
#define FEW_BESIDE 12
#define FEW_FROM 4

void plan_registers_of(const plan_kernel *kernel, plan_registers *out) {
  int own = 1 << (kernel->lane_bits + kernel->warp_bits - kernel->cluster_bits);
  int producers = kernel->producers << kernel->lane_bits, blocks = bits_max(kernel->resident, 1);
  int begin = bits_min(REGISTERS / blocks / (own + producers) & -GRAIN, MOST);
  *out = (plan_registers){begin, begin, begin};
  if (!producers) return;
  int wanted = plan_landed_step(kernel) >= 0 ? CASTING
               : plan_only_boxes(kernel)     ? OF_BOXES
                                             : PRODUCERS;
  out->producers = bits_min(wanted, begin);
  out->others =
      bits_min((begin * (own + producers) - out->producers * producers) / own & -GRAIN, MOST);
}

bool plan_registers_hold(const plan_kernel *kernel, const plan_value *sums,
                         const dot_instruction *row, bool fresh) {
  plan_registers has;
  dot_operand first, made;
  plan_registers_of(kernel, &has);
  dot_instruction_operand(row, DOT_A, &first);
  dot_instruction_operand(row, DOT_ACC, &made);
  int words = 1 << (plan_value_bits(sums, PLAN_REGISTER) - sums->word);
  if (row->layout[DOT_A])
    words += bits_max((llrt_dtype_bits((llrt_dtype)row->a) << first.registers) / 32, 1);
  if (fresh) words += 1 << (made.registers - sums->word);
  return words + (kernel->warp_bits < FEW_FROM ? BESIDE : FEW_BESIDE) <= has.others;
}
