/* See thread_registers.h. */
#include "jit/plan/thread_registers.h"

#include "base/bits.h"
#include "jit/plan/dot_box.h"
#include "jit/plan/access.h"

#define REGISTERS 65536 /* of a multiprocessor, compute capabilities 8.0 to 9.0 (CUDA C Programming Guide) */
#define GRAIN 8
#define MOST 248      /* of a thread, in whole grains: 255 is the limit */
#define PRODUCERS 40  /* addresses of copies */
#define CASTING 72    /* those, and what boxes brought, 64 elements of each of two parts (PLAN_LANDED) */
#define OF_BOXES 24   /* the same where all are boxes; the least there is */
#define BESIDE 26     /* that ptxas wants beside a wgmma's operands: it asks for 158 where m64n256k16 has 132 */
#define FEW_BESIDE 12 /* that it makes do with where blocks have 16 such warps: 112 for the 100 of m64n64k32 beside 64 sums */
#define FEW_FROM 4    /* log2 warps */

void plan_registers_of(const plan_kernel *kernel, plan_registers *out) {
  int own = 1 << (kernel->lane_bits + kernel->warp_bits - kernel->cluster_bits);
  int producers = kernel->producers << kernel->lane_bits, blocks = bits_max(kernel->resident, 1);
  int begin = bits_min(REGISTERS / blocks / (own + producers) & -GRAIN, MOST);
  *out = (plan_registers){begin, begin, begin};
  if (!producers) return;
  int wanted = dot_landed_step(kernel) >= 0 ? CASTING : dot_only_boxes(kernel) ? OF_BOXES : PRODUCERS;
  out->producers = bits_min(wanted, begin);
  out->others = bits_min((begin * (own + producers) - out->producers * producers) / own & -GRAIN, MOST);
}

bool plan_registers_hold(const plan_kernel *kernel, const plan_value *sums, const dot_instruction *row, bool beside) {
  plan_registers has;
  dot_operand first, made;
  plan_registers_of(kernel, &has);
  dot_instruction_operand(row, DOT_A, &first);
  dot_instruction_operand(row, DOT_ACC, &made);
  int words = 1 << (plan_value_bits(sums, PLAN_REGISTER) - sums->word);
  if (row->layout[DOT_A]) words += bits_max((llrt_dtype_bits((llrt_dtype)row->a) << first.registers) / 32, 1);
  if (beside) words += 1 << (made.registers - sums->word);
  return words + (kernel->warp_bits < FEW_FROM ? BESIDE : FEW_BESIDE) <= has.others;
}
