/* An expression as data. Private to expression, jit, runtime, benchmarks and tests.
 *
 * Nodes stand behind their arguments. An axis is a name of the signature; "..." counts as one more
 * axis (EXPR_LEADING), whatever it holds. */
#ifndef LLRT_EXPRESSION_EXPRESSION_H
#define LLRT_EXPRESSION_EXPRESSION_H

#include "expression/operators.h"

#include <llrt/expression.h>
#include <llrt/tensor.h>

#define EXPR_NAME_BYTES 32
#define EXPR_MAX_AXES LLRT_MAX_RANK
#define EXPR_MAX_STATEMENTS 64
#define EXPR_KEPT 8                /* described calls that an expression keeps */
#define EXPR_LEADING EXPR_MAX_AXES /* the bit of "..." in a set of axes */

/* How e8m0(x) rounds; other casts round to nearest. */
typedef enum expr_rounding { EXPR_NEAREST = 0, EXPR_UP = 1, EXPR_DOWN = 2 } expr_rounding;

/* Bits of a scan's `rounding`. */
#define EXPR_EXCLUSIVE 1
#define EXPR_REVERSE 2

typedef struct expr_node {
  uint8_t op; /* expr_operator */
  uint8_t n_args, arg[3];
  uint8_t slot;     /* TENSOR, SCALAR: its number; POSITION, FLIP, AT: the axis */
  uint8_t type;     /* CAST, BITCAST: llrt_dtype */
  uint8_t rounding; /* CAST to e8m0: expr_rounding; a scan: EXPR_EXCLUSIVE, EXPR_REVERSE */
  uint16_t reduced; /* a reduction or scan: bit a: along axis a */
  uint16_t axes;    /* bit a: the value varies along axis a */
  uint16_t line, column;
  int64_t integer; /* INTEGER; AT: the position */
  double number;   /* NUMBER */
} expr_node;

/* One axis of a tensor: named axes, the slowest first; none: "1", one position. */
typedef struct expr_dim {
  uint8_t n, axis[EXPR_MAX_AXES];
  uint8_t reversed; /* bit i: axis[i] counts down */
} expr_dim;

typedef struct expr_tensor {
  char name[EXPR_NAME_BYTES];
  char called[EXPR_NAME_BYTES + 8]; /* "tensor NAME": what messages call it */
  bool output, leading;             /* leading: "..." stands first */
  uint8_t dtype;                    /* llrt_dtype that is asked for; NONE: any */
  uint8_t n_dims;
  uint8_t node; /* outputs: what is stored */
  uint16_t axes;
  expr_dim dim[LLRT_MAX_RANK];
} expr_tensor;

typedef struct expr_axis {
  char name[EXPR_NAME_BYTES];
  int64_t extent; /* 0: the tensors say */
} expr_axis;

typedef struct expr_scalar {
  char name[EXPR_NAME_BYTES];
  uint8_t dtype; /* F32, F64, I32 or I64 */
} expr_scalar;

typedef struct expr_statement {
  char name[EXPR_NAME_BYTES];
  uint8_t node;
} expr_statement;

/* A call that was described, as the runtime keeps it (runtime/compute_kept.h). */
typedef struct expr_kept {
  void (*release)(struct expr_kept *kept);
} expr_kept;

struct llrt_expr {
  int32_t n_axes, n_tensors, n_inputs, n_scalars, n_nodes, n_statements;
  expr_axis axis[EXPR_MAX_AXES];
  expr_tensor tensor[LLRT_EXPR_MAX_TENSORS]; /* inputs, then outputs */
  expr_scalar scalar[LLRT_EXPR_MAX_SCALARS];
  expr_node node[LLRT_EXPR_MAX_NODES];
  expr_statement statement[EXPR_MAX_STATEMENTS];
  /* The signature's parameters: tensor i as i, scalar i as -1 - i. */
  int32_t n_params;
  int8_t param[LLRT_EXPR_MAX_TENSORS + LLRT_EXPR_MAX_SCALARS];
  _Atomic(expr_kept *) *kept; /* EXPR_KEPT places, of the same allocation; NULL: free */
};

#endif
