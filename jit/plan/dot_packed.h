/* Dots with packed weights (docs/dot-packed.md): operand B in the storage that llrt_dot_pack names. Private to
 * jit/plan. */
#ifndef LLRT_JIT_PLAN_DOT_PACKED_H
#define LLRT_JIT_PLAN_DOT_PACKED_H

#include "jit/plan/plan.h"

#include <llrt/storage.h>

/* A tile of packed weights: positions along K and N, log2. */
#define DOT_PACKED_K 8
#define DOT_PACKED_N 4

/* The storages of operand B, axes K and N, for elements of 4 bits: one tile is what a warp reads at once, each lane
 * whole vectors of what its matrix instructions multiply. Of scales of so many bits, of
 * 2^group positions along K each: UNSUPPORTED where there are none. */
llrt_status dot_packed_values(llrt_storage *out);
llrt_status dot_packed_scales(int group, int bits, llrt_storage *out);

/* Where bit i of a word of packed elements comes from in the word that elements form (llrt_map WORD_BITS), and the
 * other way round. other: f16, or bf16, in which they are multiplied. */
void dot_packed_words(llrt_dtype element, llrt_dtype other, uint8_t packed[32], uint8_t formed[32]);

/* plan_make for LLRT_OP_DOT where B is packed; *made says so, else nothing was planned. */
llrt_status plan_dot_packed_make(const llrt_op_desc *desc, const plan_target *target, const plan_options *options,
                                 plan *out, bool *made);

#endif
