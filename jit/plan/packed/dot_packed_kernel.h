/* Planning of dots with packed weights: what the files of this room hand to each other. Private to
 * jit/plan/packed.
 *
 *   dot_packed_variants.c  which kernels for which rows and columns
 *   dot_packed_job.c       whether a dot has packed weights, and by which instruction it is done
 *   dot_packed_kernel.c    one kernel: its tile and steps
 *   dot_packed_value.c     who holds and who copies what
 *   dot_packed_operand.c   an operand's way from memory to the product: loads, copies, rings
 *   dot_packed_runs.c      boxes of what lies in runs of memory
 *   dot_packed_send.c      results that the device stores by boxes
 *
 * The storages themselves are in types/dot_packed.c. *Rows* are those of A, the activations; *W*
 * are the weights, operand B. Functions return UNSUPPORTED for a shape that the operands or the
 * target do not allow; another one is tried then. */
#ifndef LLRT_JIT_PLAN_PACKED_DOT_PACKED_KERNEL_H
#define LLRT_JIT_PLAN_PACKED_DOT_PACKED_KERNEL_H

#include "jit/plan/dot/dot.h"

/* The operation's last axes; batch axes are in front of them (packed_axis). */
enum { PACKED_M, PACKED_N, PACKED_K };

/* How a block is laid out, and for which shapes. */
typedef struct packed_shape {
  int m, n;      /* log2 rows and columns of D in a block's tile */
  int k;         /* log2 positions of K that a warp takes in a turn */
  int warps[3];  /* log2 warps along M, N and K; those along K take neighbouring positions */
  int cluster;   /* log2 blocks of a cluster, which the highest warps along K number */
  int slots;     /* turns that a ring has room for; 0: there is no ring */
  int resident;  /* blocks of a multiprocessor that registers must leave room for; 0: any */
  int producers; /* warps that only copy, behind the others; 0: all warps copy */
  bool
      warpgroups; /* warpgroups multiply, each the four lowest warps along N; A stays in its ring */
  bool rounds;    /* one block for each multiprocessor, which takes one tile after the other */
  bool deal;      /* rounds, the last of which are dealt to all blocks turn by turn (plan_deal) */
  int own;        /* > 0: rows of a block, fewer than the tile's 2^m: whole columns of a warpgroup's
                     instruction */
  int64_t rows;   /* the most rows of D that the shape is for; 0: any number */
  int64_t
      columns; /* the most columns, on a device of PLAN_MEASURED_UNITS multiprocessors; 0: any */
} packed_shape;

/* An operand on its way from memory to the product: through a ring in shared memory that copies
 * fill turns ahead, or by loads.
 *
 * Rows of 8 bits that are multiplied as 16 bits are cast on the way. With a ring, each thread takes
 * what it copied, or a producer what boxes brought, and stores it, cast, where products read rows.
 * Without one, where no two warps multiply the same rows, each warp casts what it loads. */
enum { PACKED_WEIGHTS, PACKED_SCALES, PACKED_ZEROS, PACKED_ROWS, PACKED_OPERANDS };
typedef struct packed_operand {
  int tensor;        /* number; -1: the dot has no such operand */
  bool ring;         /* it goes through a ring */
  plan_value value;  /* as the instruction wants it; all but rows with elements as in memory */
  int number;        /* of that value */
  plan_step copy;    /* ring: the copy, not masked */
  int n_cast;        /* ring: steps that cast rows, between the copies' arrival and the barrier */
  plan_step cast[3]; /* those: load, map, store */
  int held;          /* ring: number of the value that says what the buffer of `load` holds */
  plan_step load;    /* from the ring, or from memory */
  plan_step widen;   /* ring: a map behind `load`; kind 0: none */
} packed_operand;

/* A kernel in the making. */
typedef struct packed {
  dot_draft x;
  dot_job job;
  llrt_storage words; /* of W: where it lies, bits inside words in llrt_dot_pack's order */
  int columns;        /* log2 columns among which each access to W has its elements */
  llrt_storage cast;  /* of rows that a stage before has cast */
  int scale_bits;     /* log2 positions of K that share a scale */
  bool bytes;         /* weights are packed for instructions of 8 bits */
  bool short_sums; /* the instruction keeps few bits of its sums: those of a turn begin from 0 and
                      join those of all turns */
  llrt_dtype compute; /* type of the weight operand in the instruction: f16, bf16, or e5m2 where
                         rows of 8 bits are multiplied as they are */
  llrt_dtype rows;    /* type of the rows' operand in it: `compute`, or the tensor's own type */
  int shift;          /* log2 by which scales are divided when weights are decoded; alpha is
                         multiplied by as much */
  int instruction;    /* number of the row in jit/plan/types/dot_instruction.c */
  packed_shape shape;
  bool runs;      /* boxes bring all operands: W, its scales and zero points by runs of memory */
  int first_n;    /* the lowest tile bit of N; bits of M are below it */
  int first_k;    /* the lowest tile bit of the positions of K that a warp takes in a turn */
  int first_warp; /* the lowest tile bit that warps along K number */
  packed_operand operand[PACKED_OPERANDS];
} packed;

/* The operation's axis that PACKED_M, PACKED_N or PACKED_K is. */
static inline int packed_axis(const dot_job *job, int dim) {
  return job->desc.tensors[0].rank - 3 + dim;
}

/* ---- dot_packed_job.c ---- */

/* Fills in what follows from p->job for all shapes. False where other kernels have to do the dot,
 * for the reason *why. */
bool packed_begin(packed *p, const plan_target *target, const char **why);
/* The row of the table of instructions that multiplies tiles of 2^rows rows, by warps or
 * (warpgroups) by warpgroups; -1: the target has none. */
int packed_instruction(const packed *p, const plan_target *target, bool warpgroups, int rows);

/* ---- dot_packed_value.c: values of the kernel whose tile is made ---- */

llrt_status packed_weights_value(const packed *p, plan_value *out);
/* Of scales or zero points. */
llrt_status packed_group_value(const packed *p, int operand, plan_value *out);
llrt_status packed_rows_value(const packed *p, plan_value *out);
llrt_status packed_sums_value(const packed *p, plan_value *out);
/* *value: how threads, or boxes of rows, copy an operand, by whole accesses of memory of 2^access
 * elements at most; *buffer: to where, as the loads from there like it. lines: rows of 8 bits lie
 * in swizzled lines, as boxes bring them. */
llrt_status packed_copied(const packed *p, int operand, int access, bool lines, plan_value *value,
                          plan_buffer *buffer);
/* *buffer: `slots` slots of rows of 16-bit elements as products read them, which are copied as
 * `value` says. */
llrt_status packed_rows_buffer(const packed *p, const plan_value *value, int slots,
                               plan_buffer *buffer);

/* *buffer: results of 16 bits as boxes store them from there. */
llrt_status packed_results_buffer(const packed *p, const plan_value *value, plan_buffer *buffer);

/* ---- dot_packed_send.c ---- */

/* Appends the steps by which the device stores sums, value number `sums`, to D, while the block
 * multiplies the next tile's operands. *sent: they were; nothing is appended where D does not lie
 * so, or shared memory has no room beside the rings. */
llrt_status packed_send_results(packed *p, int sums, bool *sent);

/* ---- dot_packed_runs.c ---- */

/* Has boxes of runs bring W, its scales or zero points, which are copied as `copied` says, to
 * *buffer, which then lies as memory does. */
llrt_status packed_plan_runs(packed *p, int operand, const plan_value *copied, plan_buffer *buffer,
                             plan_step *copy);

/* ---- dot_packed_operand.c ---- */

/* Fills p->operand, and appends the values and buffers that it names. Errors: UNSUPPORTED where
 * rings do not fit, or where rows or producers need a ring that an operand cannot have. */
llrt_status packed_plan_operands(packed *p);
/* log2 elements of the tensor that one access takes of a value. */
int packed_access_vector(const packed *p, const plan_value *value, int tensor);
/* Appends the load of an operand without a ring: where the turn is inside all bounds but those of
 * rows, not masked; else masked. */
llrt_status packed_load_steps(packed *p, const packed_operand *operand);
/* Appends step `behind` and the copies that it owns: boxes, to which bounds are nothing; what
 * threads copy, masked or not as above; what producers cast. Nothing where no operand has a ring.
 */
llrt_status packed_copy_steps(packed *p, plan_step behind);
/* Whether producers, who bring rows by boxes, cast them. */
bool packed_producers_cast(const packed *p);

/* ---- dot_packed_kernel.c ---- */

/* A kernel of p->shape. */
llrt_status packed_plan_kernel(packed *p, const plan_target *target, const plan_options *options,
                               plan_kernel *kernel);

/* log2 positions of K of a lane's vector of 4-bit elements together with its neighbours'. */
#define PACKED_VECTOR_K 6
/* log2 positions of A in a line of shared memory: 128 bytes of 16-bit elements. */
#define PACKED_LINE 6

/* Whether rows are of a narrower type than the one in which they are multiplied. */
bool packed_casts_rows(const packed *p);
/* log2 positions of a row in a line of shared memory, as threads or boxes copy it. */
int packed_line(const packed *p);

#endif
