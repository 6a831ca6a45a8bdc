/* What nodes of expressions do: one row each. */
#ifndef LLRT_EXPRESSION_OPERATORS_H
#define LLRT_EXPRESSION_OPERATORS_H

#include <stdint.h>

/* What kind of node an operator makes, and what its arguments are. */
typedef enum expr_family {
  EXPR_LEAF = 1, /* a tensor's elements, a number */
  EXPR_SIGN,     /* one argument, written before it */
  EXPR_BINARY,   /* two, with a sign between them */
  EXPR_CALL,     /* arguments in parentheses */
  EXPR_REDUCE,   /* a call that joins along axes */
  EXPR_MOVE,     /* a call, or brackets, that say where along an axis elements are taken */
  EXPR_SCAN      /* a call that joins what stands before along one axis */
} expr_family;

/* Of which types a node's arguments are, and which it has. */
typedef enum expr_typing {
  EXPR_TYPED_LEAF = 1, /* by itself */
  EXPR_TYPED_NUMBERS,  /* one common type of numbers, and that */
  EXPR_TYPED_REALS,    /* a type of reals, integers becoming f32, and that */
  EXPR_TYPED_INTEGERS, /* one common type of integers, and that; truth stays truth */
  EXPR_TYPED_COMPARED, /* one common type, and truth */
  EXPR_TYPED_CHOICE,   /* truth, then one common type, and that */
  EXPR_TYPED_CAST,     /* anything; `type` of the node */
  EXPR_TYPED_COUNT,    /* numbers, and i32 or i64 */
  EXPR_TYPED_TRUTH,    /* anything, as truth, and truth */
  EXPR_TYPED_SAME      /* anything, and that */
} expr_typing;

/* X(NAME, text, arguments, family, typing, precedence of what is written with signs) */
/* clang-format off */
#define EXPR_OPERATOR_LIST(X)                                \
  X(TENSOR, "", 0, LEAF, LEAF, 0)                            \
  X(SCALAR, "", 0, LEAF, LEAF, 0)                            \
  X(NUMBER, "", 0, LEAF, LEAF, 0)                            \
  X(INTEGER, "", 0, LEAF, LEAF, 0)                           \
  X(POSITION, "", 0, LEAF, LEAF, 0)                          \
  X(NEGATE, "-", 1, SIGN, NUMBERS, 8)                        \
  X(INVERT, "~", 1, SIGN, INTEGERS, 8)                       \
  X(MULTIPLY, "*", 2, BINARY, NUMBERS, 7)                    \
  X(FLOOR_DIVIDE, "//", 2, BINARY, NUMBERS, 7)               \
  X(DIVIDE, "/", 2, BINARY, REALS, 7)                        \
  X(MODULO, "%", 2, BINARY, NUMBERS, 7)                      \
  X(ADD, "+", 2, BINARY, NUMBERS, 6)                         \
  X(SUBTRACT, "-", 2, BINARY, NUMBERS, 6)                    \
  X(SHIFT_LEFT, "<<", 2, BINARY, INTEGERS, 5)                \
  X(SHIFT_RIGHT, ">>", 2, BINARY, INTEGERS, 5)               \
  X(AND, "&", 2, BINARY, INTEGERS, 4)                        \
  X(XOR, "^", 2, BINARY, INTEGERS, 3)                        \
  X(OR, "|", 2, BINARY, INTEGERS, 2)                         \
  X(EQUAL, "==", 2, BINARY, COMPARED, 1)                     \
  X(UNEQUAL, "!=", 2, BINARY, COMPARED, 1)                   \
  X(LESS_EQUAL, "<=", 2, BINARY, COMPARED, 1)                \
  X(LESS, "<", 2, BINARY, COMPARED, 1)                       \
  X(GREATER_EQUAL, ">=", 2, BINARY, COMPARED, 1)             \
  X(GREATER, ">", 2, BINARY, COMPARED, 1)                    \
  X(MAXIMUM, "maximum", 2, CALL, NUMBERS, 0)                 \
  X(MINIMUM, "minimum", 2, CALL, NUMBERS, 0)                 \
  X(WHERE, "where", 3, CALL, CHOICE, 0)                      \
  X(FMA, "fma", 3, CALL, REALS, 0)                           \
  X(ABS, "abs", 1, CALL, NUMBERS, 0)                         \
  X(SQRT, "sqrt", 1, CALL, REALS, 0)                         \
  X(RSQRT, "rsqrt", 1, CALL, REALS, 0)                       \
  X(RCP, "rcp", 1, CALL, REALS, 0)                           \
  X(FLOOR, "floor", 1, CALL, REALS, 0)                       \
  X(CEIL, "ceil", 1, CALL, REALS, 0)                         \
  X(ROUND, "round", 1, CALL, REALS, 0)                       \
  X(EXP, "exp", 1, CALL, REALS, 0)                           \
  X(EXP2, "exp2", 1, CALL, REALS, 0)                         \
  X(LOG, "log", 1, CALL, REALS, 0)                           \
  X(LOG2, "log2", 1, CALL, REALS, 0)                         \
  X(SIN, "sin", 1, CALL, REALS, 0)                           \
  X(COS, "cos", 1, CALL, REALS, 0)                           \
  X(TANH, "tanh", 1, CALL, REALS, 0)                         \
  X(ERF, "erf", 1, CALL, REALS, 0)                           \
  X(SIGMOID, "sigmoid", 1, CALL, REALS, 0)                   \
  X(SILU, "silu", 1, CALL, REALS, 0)                         \
  X(GELU, "gelu", 1, CALL, REALS, 0)                         \
  X(CAST, "", 1, CALL, CAST, 0)                              \
  X(BITCAST, "bitcast", 1, CALL, CAST, 0)                    \
  X(SUM, "sum", 1, REDUCE, NUMBERS, 0)                       \
  X(PROD, "prod", 1, REDUCE, NUMBERS, 0)                     \
  X(MEAN, "mean", 1, REDUCE, REALS, 0)                       \
  X(MAX, "max", 1, REDUCE, NUMBERS, 0)                       \
  X(MIN, "min", 1, REDUCE, NUMBERS, 0)                       \
  X(ANY, "any", 1, REDUCE, TRUTH, 0)                         \
  X(ALL, "all", 1, REDUCE, TRUTH, 0)                         \
  X(ARGMAX, "argmax", 1, REDUCE, COUNT, 0)                   \
  X(ARGMIN, "argmin", 1, REDUCE, COUNT, 0)                   \
  X(FLIP, "flip", 1, MOVE, SAME, 0)                          \
  X(AT, "", 1, MOVE, SAME, 0)                               \
  X(CUMSUM, "cumsum", 1, SCAN, NUMBERS, 0)                   \
  X(CUMPROD, "cumprod", 1, SCAN, NUMBERS, 0)                 \
  X(CUMMAX, "cummax", 1, SCAN, NUMBERS, 0)                   \
  X(CUMMIN, "cummin", 1, SCAN, NUMBERS, 0)
/* clang-format on */

typedef enum expr_operator {
  EXPR_NONE = 0,
#define EXPR_OPERATOR_ENUM(name, text, arguments, family, typing, precedence) EXPR_##name,
  EXPR_OPERATOR_LIST(EXPR_OPERATOR_ENUM)
#undef EXPR_OPERATOR_ENUM
      EXPR_OPERATORS
} expr_operator;

typedef struct expr_operator_row {
  const char *text;
  uint8_t arguments, family, typing, precedence;
} expr_operator_row;

/* The row of an operator that there is. */
const expr_operator_row *expr_row_of(int op);

#endif
