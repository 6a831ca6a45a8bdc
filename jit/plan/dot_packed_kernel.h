/* Planning of kernels with packed weights: what its files hand to each other. Private to jit/plan.
 *
 *   dot_packed.c          the storages
 *   dot_packed_job.c      whether a dot is one of them, and by which instruction
 *   dot_packed_value.c    who holds and who copies what
 *   dot_packed_operand.c  an operand's way from memory to the product: loads, copies, rings
 *   plan_dot_packed.c     a kernel's tile and steps
 *   dot_packed_variants.c   which kernels for which rows and columns */
#ifndef LLRT_JIT_PLAN_DOT_PACKED_KERNEL_H
#define LLRT_JIT_PLAN_DOT_PACKED_KERNEL_H

#include "jit/plan/dot.h"
#include "jit/plan/dot_packed.h"

enum { PACKED_M, PACKED_N, PACKED_K }; /* the operation's last axes, behind batch axes (packed_axis) */

/* How a block is laid out, all log2: rows and columns of D, positions of K that a warp takes in a turn; warps along
 * each, those of K beside the positions, of which the highest number the blocks of a cluster. slots: turns that rings
 * have room for. resident: blocks of a multiprocessor. group: the products are warpgroups', whose four warps are the lowest of
 * those along columns; A stays in its ring. producers: warps beside the others, which copy. */
typedef struct packed_shape {
  int m, n, k, warps[3], cluster, slots, resident, producers;
  bool group;
  bool rounds; /* a block for each multiprocessor, which takes one tile after the other */
  bool deal; /* so, and the last turns are dealt to all blocks */
  int own; /* > 0: rows of a block, of the tile's 2^m, that are whole columns of a warpgroup's instruction */
  int64_t rows, columns; /* a variant's: where D has no more than these; 0: however many */
  int clocks;            /* > 0: of a turn; of such variants that may be, the one that is first done */
} packed_shape;

/* An operand on its way: by a ring that copies fill turns before, or loaded. Rows of 8 bits are cast on the way: each
 * thread takes what it copied, or a producer what boxes brought, and stores it as numbers of the compute type where products
 * read rows; or, where no two warps multiply the same rows, each casts what it loads. */
enum { PACKED_WEIGHTS, PACKED_SCALES, PACKED_ZEROS, PACKED_ROWS, PACKED_OPERANDS };
typedef struct packed_operand {
  int tensor; /* -1: there is none */
  bool ring;
  plan_value value;  /* as the instruction wants it; all but rows: elements as in memory */
  int number;        /* of that value */
  plan_step copy;    /* ring: not masked */
  int n_cast;        /* steps between the copies' arrival and the barrier, or of producers: load, map, store */
  plan_step cast[3];
  int held;          /* ring: the value that says what is in the buffer of `load` */
  plan_step load;    /* from the ring, or from memory */
  plan_step widen;   /* ring: a map behind that; no kind: none */
} packed_operand;

typedef struct packed {
  dot_draft x;
  dot_job job;
  llrt_storage words;          /* of W: as it lies, but that words have the order of ours */
  int columns;                 /* log2, of which W's accesses have some each */
  llrt_storage cast;           /* of rows that are cast before */
  int group;                   /* log2 positions of K that share a scale */
  bool bytes;                  /* weights lie as instructions of 8 bits take them */
  bool short_sums;             /* sums of these keep few bits: those of a turn are apart, and join others */
  llrt_dtype compute;          /* as what weights are multiplied: f16, bf16; e5m2 with rows of 8 bits as they are */
  llrt_dtype rows;             /* as what rows are: the same, or their own */
  int shift;                   /* log2 by which scales are divided as weights are decoded; alpha makes up for it */
  int instruction;
  packed_shape shape;
  int first_n, first_warp, first_k; /* tile bits: m's are lowest */
  packed_operand operand[PACKED_OPERANDS];
} packed;

/* The operation's axis that PACKED_M, .. is. */
static inline int packed_axis(const dot_job *job, int dim) { return job->desc.tensors[0].rank - 3 + dim; }

/* dot_packed_job.c: fills job's dependents; false: other kernels do it. */
bool packed_begin(packed *p, const plan_target *target);
/* What multiplies tiles of 2^rows rows: a warp's instruction, or a warpgroup's. -1: the target has none. */
int packed_instruction(const packed *p, const plan_target *target, bool group, int rows);

/* dot_packed_value.c: values of the kernel whose tile is made. */
llrt_status packed_weights_value(const packed *p, plan_value *out);
llrt_status packed_group_value(const packed *p, int operand, plan_value *out); /* of scales or zero points */
llrt_status packed_rows_value(const packed *p, plan_value *out);
llrt_status packed_sums_value(const packed *p, plan_value *out);
/* The value by which threads (rows: or boxes) copy an operand, and the buffer to which: whole accesses of memory, as the
 * loads behind like it. lines: rows of 8 bits in swizzled lines, as boxes bring them. */
llrt_status packed_copied(const packed *p, int operand, bool lines, plan_value *value, plan_buffer *buffer);
/* Slots of rows as products read them, of 16-bit elements that are copied as `value` says. */
llrt_status packed_rows_buffer(const packed *p, const plan_value *value, int slots, plan_buffer *buffer);

/* dot_packed_operand.c: fills p->operand, with the values and buffers that the kernel needs of them. Errors: UNSUPPORTED where
 * rings do not fit, or rows or producers want one that an operand cannot have. */
llrt_status packed_plan_operands(packed *p);
/* log2 elements of the tensor that one access takes of a value. */
int packed_access_vector(const packed *p, const plan_value *value, int tensor);
/* An operand without a ring: a load whose turn is inside all bounds but those of rows, or masked. */
llrt_status packed_load_steps(packed *p, const packed_operand *operand);
/* Behind the step `behind`, which owns them: boxes, which no bound parts; then what threads copy: a turn inside all bounds
 * but those of rows, or masked; then what producers cast. None where no operand has a ring. */
llrt_status packed_copy_steps(packed *p, plan_step behind);
/* Whether rows are cast by producers, who brought them by boxes. */
bool packed_producers_cast(const packed *p);

/* plan_dot_packed.c: a kernel of p->shape. Errors: UNSUPPORTED where operands, or what the target has, do not allow it. */
llrt_status packed_plan_kernel(packed *p, const plan_target *target, const plan_options *options, plan_kernel *kernel);

#define PACKED_VECTOR_K 6 /* log2 positions of a lane's vector of elements of 4 bits, with its neighbours' */
#define PACKED_UNITS 132 /* multiprocessors of a large device */
#define PACKED_LINE 6 /* log2 positions of A in a line of shared memory: 128 bytes of 16-bit elements */

/* Whether rows are of a narrower type than what multiplies them. */
bool packed_casts_rows(const packed *p);
/* log2 positions of rows in a line as threads or boxes copy them. */
int packed_line(const packed *p);

#endif
