/* Dots with packed weights (docs/dot-packed.md): operand B in the storage that llrt_dot_pack names. Private to
 * jit/plan. */
#ifndef LLRT_JIT_PLAN_DOT_PACKED_H
#define LLRT_JIT_PLAN_DOT_PACKED_H

#include "jit/plan/plan.h"

#include <llrt/storage.h>

/* A tile of packed weights: positions along K and N, log2. */
#define DOT_PACKED_K 8
#define DOT_PACKED_N 4
/* Positions along K that share a scale: these and the powers of two between. */
#define DOT_PACKED_LEAST_GROUP 16
#define DOT_PACKED_MOST_GROUP 128

/* Whether e2m1 times scales that are promised to lie in low .. high are numbers of e5m2, up to a power of two for all of
 * them, and the target multiplies such numbers with `other`: then they are packed for its instructions of 8 bits. */
bool dot_packed_in_bytes(const plan_target *target, llrt_dtype element, llrt_dtype scale, llrt_dtype other, int low, int high);
/* Exponents of scales, from minus this on, that leave 0.5 .. 6 times them normal numbers of e5m2. */
#define DOT_PACKED_REACH 13
/* That power, log2: scales are to be divided by it. */
int dot_packed_shift(int low, int high);

/* The storages of operand B, axes K and N behind so many batch axes, for elements of 4 or 8 bits: one tile is what a warp
 * reads at once, each lane whole vectors of what its matrix instructions multiply, of 16 bits, or (4 bits) of 8 (bytes). Of
 * scales, and of zero points, of 2^group positions along K each: UNSUPPORTED where there are none. */
llrt_status dot_packed_values(int bits, bool bytes, int batch, llrt_storage *out);
llrt_status dot_packed_scales(int group, int batch, llrt_storage *out);
llrt_status dot_packed_zeros(int group, int batch, llrt_storage *out);
/* Whether elements, scales, and zero points for elements of a type are packed. */
bool dot_packed_has_elements(llrt_dtype element);
bool dot_packed_has_scales(llrt_dtype scale);
bool dot_packed_has_zeros(llrt_dtype element, llrt_dtype zero);

/* Where bit i of a word of packed elements comes from in the word that elements form (llrt_map WORD_BITS), and the
 * other way round. other: f16, or bf16, in which they are multiplied; bytes: in 8 bits. */
void dot_packed_words(llrt_dtype element, llrt_dtype other, bool bytes, uint8_t packed[32], uint8_t formed[32]);

/* plan_make for LLRT_OP_DOT where B is packed; *made says so, else nothing was planned. */
llrt_status plan_dot_packed_make(const llrt_op_desc *desc, const plan_target *target, const plan_options *options,
                                 plan *out, bool *made);

#endif
