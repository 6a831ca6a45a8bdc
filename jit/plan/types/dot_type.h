/* The types of a dot: include/llrt/dot.h as data. What values an operand's elements have, what both
 * are computed in, and whether an instruction's type holds them.
 *
 *   value of an element = number_cast(F32 -> `rounded`, (element - zero) * scale)
 *
 * with the difference and the product each rounded to f32; `rounded` NONE: the element itself. */
#ifndef LLRT_JIT_PLAN_TYPES_DOT_TYPE_H
#define LLRT_JIT_PLAN_TYPES_DOT_TYPE_H

#include "jit/plan/types/description.h"

/* What a dot computes in: operands are exactly numbers of this type (but for TF32 where it was
 * asked for). */
typedef enum dot_compute {
  DOT_F16 = 1,
  DOT_BF16,
  DOT_TF32, /* numbers are f32 in registers */
  DOT_F32,
  DOT_F64,
  DOT_I32, /* of at most 9 bits each */
  DOT_I64
} dot_compute;

/* A set of numbers: multiples of 2^low, magnitudes below 2^high, at most `digits` significant bits.
 */
typedef struct dot_values {
  bool integer, is_signed;
  int16_t digits, low, high;
} dot_values;

/* What an operand's elements are, and what stands on them. */
typedef struct dot_operand_type {
  llrt_dtype element;
  llrt_dtype scale, zero; /* NONE: there is none */
  bool on_sums;           /* the scale does not vary along K */
  uint8_t range[2];       /* promised: the lowest and highest byte of e8m0 scales; 0, 0: nothing */
} dot_operand_type;

typedef struct dot_operand_rule {
  llrt_dtype rounded; /* the type that values are rounded to; NONE: they are the elements */
  dot_values values;
} dot_operand_rule;

typedef struct dot_rule {
  dot_compute compute;
  llrt_dtype sums;   /* F32, F64, I32, I64 */
  llrt_dtype result; /* D's type where nobody asks for another */
  dot_operand_rule a, b;
} dot_rule;

/* The type of the registers that hold numbers of a compute type: F32 for TF32. */
llrt_dtype dot_compute_dtype(dot_compute compute);

/* Whether a tensor's elements can be an operand. */
bool dot_operand_exists(llrt_dtype element);

/* Whether scales and zero points may stand on an operand's elements, or why not. */
typedef enum dot_scaling_fit {
  DOT_SCALING_FITS = 0,
  DOT_SCALING_TYPE = 1, /* no type of scales */
  DOT_SCALING_WIDE = 2, /* elements of more than 8 bits, whose scales differ along K */
  DOT_SCALING_ZERO = 3  /* no type of zero points, or of elements that have some */
} dot_scaling_fit;
dot_scaling_fit dot_scaling_check(const dot_operand_type *operand);

/* Whether a type holds all values of an operand even before those with scales are rounded. */
bool dot_dtype_holds_exactly(llrt_dtype dtype, const dot_operand_type *operand);

/* *rule: that of a pair of operands, both of which exist (dot_operand_exists). accumulate: the type
 * of sums that the caller asks for: NONE, F32, F64, I32 or I64. False where the pair cannot be
 * summed in it. */
bool dot_rule_find(const dot_operand_type *a, const dot_operand_type *b, llrt_dtype accumulate,
                   bool tf32, dot_rule *rule);

/* The type to which sums are cast before scales, alpha, C, bias or maps act on them: F32 or F64. */
llrt_dtype dot_acting_type(llrt_dtype sums);

/* Whether sums on which nothing acts can be written as elements of a type. */
bool dot_can_be(llrt_dtype sums, llrt_dtype type);

/* The error, UNSUPPORTED, of shapes of so many positions along K whose scales have to stand on the
 * sums, where no kernel has them there. */
llrt_status dot_refuse_short(int64_t positions);

/* Whether the type of an instruction's operand holds all of these values. */
bool dot_dtype_holds(llrt_dtype dtype, const dot_values *values);

/* ---- descriptions ---- */

/* The number of the tensor that has a role; -1: none has. */
int dot_tensor(const op_dot *dot, llrt_dot_role role);
/* The role of tensor number `tensor` among those of `roles` (bit r: role r is there). */
llrt_dot_role dot_role(uint32_t roles, int tensor);

/* Of a grouped product (llrt_dot_params.ends): the axis of experts, and the one whose positions
 * belong to them, M where D lacks that of experts, else K; -1: it is none. */
#define DOT_EXPERT_AXIS 0
int dot_grouped_axis(const op_dot *dot);
/* Of a grouped product: whether it has each position's expert, sorted, in place of experts' ends.
 */
bool dot_is_sorted(const op_dot *dot);
#define DOT_GROUPED_RANK 4 /* experts, M, N, K */
#define DOT_GROUPED_M 1
#define DOT_GROUPED_K 3

/* What stands on operand LLRT_DOT_A or LLRT_DOT_B of a description. */
dot_operand_type dot_operand_of(const op_description *desc, llrt_dot_role operand);

/* The rule of a checked description. */
dot_rule dot_rule_of(const op_description *desc);

#endif
