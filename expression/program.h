/* A program: an expression bound to types and ranks, with the axes of an operation instead of
 * names. Plain data: what is planned, keyed, saved.
 *
 * Nodes stand behind their arguments, and have types in which they compute: F32, F64, I32, I64, or
 * BOOL, whose codes are 0 and 1 in 32 bits. Arguments have the node's `from`, but for the condition
 * of WHERE, which is BOOL. Tensors are numbered as the operation's: an input, the first output, the
 * others; an input of which elements are taken elsewhere (flip) is several of them. */
#ifndef LLRT_EXPRESSION_PROGRAM_H
#define LLRT_EXPRESSION_PROGRAM_H

#include "expression/expression.h"

#define PROGRAM_MAX_TENSORS LLRT_EXPR_MAX_TENSORS
#define PROGRAM_MAX_NODES 160

typedef struct program_node {
  uint8_t op;         /* expr_operator; CAST: a conversion, rounded once */
  uint8_t type, from; /* llrt_dtype: of the value, of the arguments */
  uint8_t n_args, arg[3];
  uint8_t slot;     /* TENSOR: the operation's tensor; SCALAR: its number; POSITION: the axis */
  uint8_t through;  /* CAST: the type that values are rounded to on the way; NONE: `type` alone */
  uint8_t rounding; /* through E8M0: expr_rounding; of a scan: EXPR_EXCLUSIVE, EXPR_REVERSE */
  uint8_t reduced;  /* a reduction or scan: bit a: along axis a of the operation */
  uint8_t axes;     /* bit a: the value varies along axis a */
  uint64_t bits;    /* NUMBER: the constant's code in `type` */
} program_node;

/* A tensor of the operation: which of the expression's, and how its axes are taken. */
typedef struct program_tensor {
  uint8_t tensor; /* of the expression */
  uint8_t axes;   /* bit a: it varies along axis a of the operation */
  bool output;
  uint8_t node;     /* outputs: what is stored */
  uint8_t store;    /* outputs: the type that the value is cast to, llrt_dtype; of tensor 0 where
                       no node uses it, its own */
  uint16_t flipped; /* bit a: along named axis a backwards */
  uint16_t taken;   /* bit a: along named axis a only position at[a] */
  int8_t at[EXPR_MAX_AXES];
  uint8_t words; /* outputs: 1 + the row of program.words by which bits of their words are permuted;
                    0: none */
} program_tensor;

/* Outputs of which bits of 32-bit words are permuted. */
#define PROGRAM_MAX_WORDS 2

typedef struct llrt_program {
  int32_t rank, leading; /* axes of the operation; how many of them "..." holds, the first */
  int32_t n_tensors, n_nodes, n_scalars;
  uint8_t reduced;                       /* axes along which something is joined */
  uint8_t scalar[LLRT_EXPR_MAX_SCALARS]; /* llrt_dtype */
  uint8_t words[PROGRAM_MAX_WORDS][32];  /* bit i is bit words[..][i] of the word of elements */
  program_tensor tensor[PROGRAM_MAX_TENSORS];
  program_node node[PROGRAM_MAX_NODES];
} expr_program;

/* Named axis a of the expression is axis leading + a of the operation.
 *
 * types, ranks: by tensor of the expression; of outputs, too. Errors: INVALID_ARGUMENT and
 * UNSUPPORTED, at line and column where a node is wrong. */
llrt_status program_make(const llrt_expr *expr, const llrt_dtype *types, const int32_t *ranks,
                         expr_program *out);

/* The type in which elements of a tensor's type compute; NONE: they do not. */
llrt_dtype program_compute_type(llrt_dtype element);

/* Whether the operator joins what stands before along an axis, which its value keeps. */
bool program_scans(int op);

/* A hash of everything in it. */
llrt_hash program_hash(const expr_program *program);
/* Whether arguments stand before nodes, types are those that compute, and axes and tensors are
 * there: for programs from saved bytes. */
bool program_is_valid(const expr_program *program);

#endif
