/* Combiners on plain numbers: which there are, what they compute in, their neutral elements, and
 * the result for two values: the reference for kernels, which get theirs from
 * jit/emit/value/emit_combine.c.
 *
 * An element is first cast to the *accumulator's* type (PLAN_MAP_CAST; to 64-bit integers exactly;
 * ANY and ALL: PLAN_MAP_TRUTH). Codes of accumulators are as in memory: bits of an f32, f64, or an
 * integer. Operands keep their order: a stands before b. */
#ifndef LLRT_JIT_PLAN_TYPES_COMBINE_H
#define LLRT_JIT_PLAN_TYPES_COMBINE_H

#include <llrt/combiner.h>
#include <llrt/tensor.h>

/* Affine maps x -> p x + q modulo 2^16, p in the low half of a U32: a, then b. Associative, but not
 * commutative: no operation has it; tests see with it that operands keep their order. */
#define COMBINE_AFFINE 32

/* "sum", "argmax"; "?" for what is none. */
const char *combine_name(int op);

/* Whether the combiner takes elements of this type: f64 f32 f16 bf16 and the 8-bit floats, integers
 * of 8 to 64 bits, bool for ANY and ALL alone. */
bool combine_exists(int op, llrt_dtype element);

/* ARGMIN, ARGMAX: a value is a pair of key and position. */
bool combine_is_arg(int op);

/* What values are combined in where nobody asks for another type: F64 for f64, F32 for other
 * floats; integers: I64 (U64) for sums and products and for elements of 64 bits, else I32 (U32);
 * truth: U32. */
llrt_dtype combine_accumulator(int op, llrt_dtype element);

/* Whether elements can be combined in a type: F32, F64, I32, U32, I64 or U64 that holds what sets
 * elements apart: floats in floats, integers in integers no narrower than themselves; f64 only in
 * F64. */
bool combine_accumulates(int op, llrt_dtype element, llrt_dtype accumulator);

/* The type of a result: floats their own, the accumulator for sums and products of integers, the
 * element for MIN and MAX, I64 for positions, BOOL for truth. */
llrt_dtype combine_result(int op, llrt_dtype element, llrt_dtype accumulator);

/* The neutral element in any type that a combiner takes or computes in: what stands for elements
 * that are not there. Of a sum of floats it is -0, which leaves +0 and -0 as they are. */
uint64_t combine_identity(int op, llrt_dtype type);
/* What there is before the first element, in `type`: that of the elements' own type, but +0 for
 * sums. */
uint64_t combine_empty(int op, llrt_dtype element, llrt_dtype type);

/* Whether a run of elements may be joined in any grouping, in their order: not sums and products of
 * floats, which are rounded. */
bool combine_regroups(int op, llrt_dtype type);

/* a joined with b, both of the accumulator's type. For arg combiners: the better of both keys. */
uint64_t combine_two(int op, llrt_dtype type, uint64_t a, uint64_t b);

/* The pair that wins: by key, equal keys by the lower index. */
typedef struct combine_pair {
  uint64_t key; /* of the accumulator's type */
  int64_t index;
} combine_pair;
combine_pair combine_two_pairs(int op, llrt_dtype type, combine_pair a, combine_pair b);

/* 1 for what is not zero, else 0. */
uint64_t combine_truth(llrt_dtype element, uint64_t code);

#endif
