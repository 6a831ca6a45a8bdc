/* An expression becoming a program: what program.c, which walks over the expression, and
 * program_types.c, which gives nodes their types, share. Private to them.
 *
 * `source` is the number of the expression's node that a program's node is made for: messages have
 * its line and column. `*number` is that of the node that was made. */
#ifndef LLRT_EXPRESSION_PROGRAM_MAKER_H
#define LLRT_EXPRESSION_PROGRAM_MAKER_H

#include "expression/program.h"

/* Types of literals, which take the other operand's. */
#define WEAK_INTEGER 254
#define WEAK_REAL 255

/* Where elements along some named axes are taken: what flip(x, p) and x[p=0] leave for the leaves.
 */
typedef struct moved {
  uint16_t flipped, taken;
  int8_t at[EXPR_MAX_AXES];
} moved;

/* A node of the expression under one `moved`, already made. */
typedef struct known {
  uint8_t source, node;
  moved where;
} known;

typedef struct program_maker {
  const llrt_expr *expr;
  const llrt_dtype *types;
  const int32_t *ranks;
  expr_program *out;
  int n_made;
  known made[PROGRAM_MAX_NODES * 2];
} program_maker;

llrt_status program_refuse(const program_maker *m, int source, llrt_status status, const char *why);

/* ---- axes ---- */

/* The operation's axes that axes of the expression are (bit a: axis a, bit EXPR_LEADING: "..."). */
uint8_t program_axes(const program_maker *m, uint32_t named);
/* Those of a tensor, but for the named ones in `without`; "..." holds as many axes as the tensor
 * has, the last. */
uint8_t program_tensor_axes(const program_maker *m, int tensor, uint32_t without);

/* ---- nodes and their types: program_types.c ---- */

/* Errors: UNSUPPORTED where a program has no room for the node. */
llrt_status program_append(program_maker *m, int source, program_node node, int *number);
/* Makes a literal, which has no type yet, one of `type`; other nodes stay. */
llrt_status program_settle(program_maker *m, int source, llrt_dtype type, int *number);
/* Makes the value one of `type`, by a cast where it is none. */
llrt_status program_convert(program_maker *m, int source, llrt_dtype type, int *number);
bool program_is_real(int type);
/* What a 64-bit integer becomes before it is cast to elements of type `to`, which is no 64-bit
 * integer. */
llrt_dtype program_type_before(llrt_dtype to);
/* The type of a value that is used by itself: a literal's is f32, i32, or i64 where i32 is too
 * narrow.
 */
llrt_dtype program_own_type(const program_maker *m, int number);
/* What a value is before it is cast to `to` or stored as one: a literal that becomes an f64 is one
 * from the beginning. */
llrt_dtype program_literal_type(const program_maker *m, int number, llrt_dtype to);

/* A cast such as bf16(x): the nearest element of that type, as a number of the type that it
 * computes in. */
llrt_status program_cast_node(program_maker *m, int source, int value, program_node *node,
                              int *number);
/* A node of `node.op` whose arguments, `value`, are made to be of one type. */
llrt_status program_typed_node(program_maker *m, int source, int *value, program_node node,
                               int *number);
/* The value as a bool: whether it is not 0. */
llrt_status program_as_truth(program_maker *m, int source, int *value);

/* Whether n values are all literals: these are joined by themselves, so that 1 / 3 beside an f64 is
 * an f64. */
bool program_all_weak(const program_maker *m, const int *value, int n);
/* The literal with the other sign: -1 is one, too. */
llrt_status program_negate_literal(program_maker *m, int source, int value, int *number);

#endif
