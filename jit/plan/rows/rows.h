/* Kernels of an expression (docs/expressions.md): what the files of this room hand to each other.
 * Private to jit/plan.
 *
 *   rows_tile.c    digits -> the work tile, who holds which of its bits
 *   rows_access.c  values from tensors and into them
 *   rows_reduce.c  joins along axes: in the block, or walked
 *   rows_nodes.c   a program's nodes as steps
 *   rows_kernel.c  the kernel */
#ifndef LLRT_JIT_PLAN_ROWS_ROWS_H
#define LLRT_JIT_PLAN_ROWS_ROWS_H

#include "jit/plan/draft/draft.h"
#include "jit/plan/facts/vector_list.h"

#define ROWS_NONE (-1)

/* A kernel in the making. Tile bits lie in this order: those of axes along which nothing is joined,
 * then from the largest group of joined axes to the smallest what each has beyond the next; inside
 * each of these warps, lanes, registers. */
typedef struct rows {
  draft d;
  const expr_program *program;
  bool resident; /* a row lies in one block's registers; else blocks walk it */
  int n_groups;  /* sets of axes that something is joined along, each in the next */
  uint8_t group[LLRT_MAX_RANK];
  uint64_t of_axis[LLRT_MAX_RANK]; /* tile bits of an axis's digits */
  vector_list held[3];             /* tile bits of registers, lanes, warps */
  int value[PROGRAM_MAX_NODES];    /* by node; ROWS_NONE: not made, or of a turn that is over */
  int loaded[PROGRAM_MAX_NODES];   /* of tensors, likewise: the elements as they were in memory */
} rows;

/* plan_make for LLRT_OP_COMPUTE. */
llrt_status plan_rows_make(const op_description *desc, const plan_target *target,
                           const plan_options *options, plan *out);

/* Fills the tile from the draft's digits; *fits: a row that is to be resident has room. */
llrt_status rows_tile(rows *r, bool *fits);

/* The tile bits along which something varies that varies along these axes of the operation. */
uint64_t rows_bits_of(const rows *r, uint32_t axes);
/* The layout of values of so many bits that vary along these tile bits. */
llrt_status rows_layout(const rows *r, uint64_t tile_bits, int bits, plan_value *out);
/* Appends a value of that layout, in words of one element. */
llrt_status rows_new_value(rows *r, uint64_t tile_bits, int bits, int *number);
/* Appends op of n operands; *number: varies along tile_bits. */
llrt_status rows_apply(rows *r, plan_step step, uint64_t tile_bits, int *number);
/* Appends a constant, or a kernel argument. */
llrt_status rows_number(rows *r, llrt_dtype type, plan_number code, int *number);

/* rows_access.c: loads the tensor of a node, if it is not loaded; its elements in the type that
 * they compute in; a value into a tensor. */
llrt_status rows_fetch(rows *r, int node);
llrt_status rows_load(rows *r, int node, int *value);
llrt_status rows_store(rows *r, int tensor, int value);

/* rows_reduce.c: node number `node`, a reduction of value `in`, in the block. */
llrt_status rows_reduce(rows *r, int node, int in, int *out);
/* The same, of a value that `make` makes in each turn of a walk. */
llrt_status rows_walk_reduce(rows *r, int node, int *out);

/* rows_nodes.c: makes the node's value, if it is not there. */
llrt_status rows_make_node(rows *r, int node);
/* Loads the tensors that the node's value wants yet: one load behind the other, before anything
 * waits for what they bring. */
llrt_status rows_fetch_for(rows *r, int node);
/* Makes what turns need of the node that no turn changes. */
llrt_status rows_prepare(rows *r, int node);
/* Whether the node's value differs from turn to turn. */
bool rows_walks(const rows *r, int node);

#endif
