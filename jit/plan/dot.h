/* Planning of dots: what its files hand to each other. Private to jit/plan.
 *
 *   dot_instruction.c, dot_layout.c, dot_tiling.c   instructions; who holds what; what a step is made of
 *   dot_memory.c     how tensors are read and written: as their memory likes it
 *   dot_operand.c    elements of A and B on their way into the instruction
 *   dot_ring.c       the same through a ring in shared memory that copies fill turns ahead
 *   dot_box.c        boxes that the device copies there by itself
 *   dot_group.c      products of warpgroups, whose operands stay in shared memory
 *   dot_blocked.c    the same through blocks in the host's scratch memory
 *   dot_epilogue.c   sums on their way into D
 *   dot_kernel.c     a kernel
 *   dot_convert.c    copies of tensors in the workspace
 *   dot_packed_kernel.h   packed weights: their storages, and kernels that read them as they lie
 *   plan_dot.c       stages and variants
 *   dot_short.c      shapes of which scales have one position along K */
#ifndef LLRT_JIT_PLAN_DOT_H
#define LLRT_JIT_PLAN_DOT_H

#include "jit/plan/dot_layout.h"
#include "jit/plan/dot_type.h"
#include "jit/plan/draft.h"

/* dot_short.c: plan_make for LLRT_OP_DOT. */
llrt_status plan_dot_all(const llrt_op_desc *desc, const plan_target *target, const plan_options *options, plan *out);
/* The same by kernels for any weights, whose scales stand where the description says; shares: of which blocks may share K. */
llrt_status plan_dot_make(const llrt_op_desc *desc, const plan_target *target, const plan_options *options, bool shares, plan *out);

/* What a kernel does. */
typedef struct dot_job {
  llrt_op_desc desc; /* of the kernel: axes batch.., M, N, K (finish: splits, batch.., M, N) */
  dot_rule rule;     /* of the operation */
  int tensor[LLRT_DOT_ROLES]; /* of the kernel's; -1: none. Finish: A is partial sums */
  bool words[2];     /* A's, B's words are permuted in memory */
  bool scaled_sums[2]; /* the scales of A and of B stand on the sums */
  int shift;         /* operands are multiplied with 2^-shift in all: so are sums */
  bool partial;      /* D is sums of a share of K, as they are */
  bool finish;       /* adds the shares' sums */
} dot_job;

/* One kernel that does everything that a description asks for. */
void dot_begin_job(const llrt_op_desc *desc, const plan_target *target, dot_job *job);

/* dot_convert.c: the description with what its storages say of extents as promises; scratch: any kernel. */
llrt_status dot_promise_extents(const llrt_op_desc *desc, const plan_target *target, const plan_options *options,
                                plan_kernel *scratch, llrt_op_desc *out);
/* The axes along which tensor t has one position for all. */
uint32_t dot_lacking(const llrt_op_desc *desc, int t);
/* Tensor t of a job lies in the workspace, row-major. */
void dot_in_workspace(dot_job *job, int t, llrt_dtype dtype, const llrt_storage *rows);
/* A stage of the operation's axes and first n tensors; tensor t of it lies in a region, with one position along `ones`. */
void dot_view_axes(const llrt_op_desc *desc, plan_kernel *kernel, int n);
void dot_view_region(plan_kernel *kernel, int t, int region, uint32_t ones);
/* The stage that makes a copy of tensor t (the operation's), of a type, row-major in a region, rows by whole numbers of 2^pieces
 * elements; back: the tensor of the copy. */
llrt_status dot_convert_stage(const llrt_op_desc *desc, int t, llrt_dtype type, int region, int pieces, bool back,
                              const plan_target *target, const plan_options *options, plan_kernel *kernel);

/* Of a ring: copies of three turns are under way while one is multiplied. */
#define DOT_SLOTS 4

/* How a kernel is to be laid out: log2 extents of the tile by DOT_DIM, warps of a block. */
typedef struct dot_shape {
  int bits[3], warps;
  bool group; /* by instructions of warpgroups */
  bool three[2]; /* along M, N: the tile has three quarters of its positions */
  bool swapped; /* their first operand is B: few rows are columns then */
  bool rounds; /* blocks take several tiles, where all copies are boxes and shared memory has room for results beside */
  bool blocked; /* host: through blocks in scratch memory (dot_blocked.c), where the tile has lanes for it */
} dot_shape;

/* What multiplies: the types to which operands are cast. A pair may have several: those of the elements themselves,
 * of the compute type, of what every target has. */
typedef struct dot_types {
  llrt_dtype a, b, sum;
  bool tf32;
  bool short_sums; /* sums of this instruction keep few bits: they join others after each turn */
} dot_types;

/* An operand's ring: who copies what, and the steps from its slot to the instruction's layout. */
typedef struct dot_ring {
  int copied; /* value */
  plan_step copy, masked;
  int n_loads;
  plan_step load[6]; /* the last one makes what the instruction takes, but for a cast */
} dot_ring;

/* A kernel in the making. */
typedef struct dot_draft {
  draft d;
  const dot_job *job;
  dot_types types;
  dot_layouts how;
  uint64_t bits[3]; /* of the draft's bits, those in the tile, by DOT_DIM */
  bool swapped;       /* groups: the instruction's first operand is B */
  bool boxes;         /* rings are filled by boxes */
  bool rings, groups; /* groups: products read the rings themselves */
  dot_ring ring[2];
  int n_iterated;        /* bits of the draft that loops around the step number, an inner loop's first */
  uint64_t iterated[24];
  bool inside;           /* what is appended runs inside all bounds of the tensors that it reads */
} dot_draft;

/* dot_memory.c: how threads hold the tile's part of a tensor, as its memory likes it. mask: the draft's bits that it
 * has. vector: log2 elements of an access; align: log2 elements that divide their addresses. */
typedef struct dot_access {
  plan_value value;
  int vector, align;
} dot_access;
llrt_status dot_memory_value(const dot_draft *x, int tensor, uint64_t mask, dot_access *out);
/* Where bit `bit` of the draft moves the tensor's address: a number that grows with the distance. */
int dot_memory_order(const dot_draft *x, int tensor, int bit);
/* Has each warp access what it has of `own`, a value of the same bits, where its lanes' accesses then still are pieces of 64
 * bytes: elements change places inside warps alone, which so need not wait for each other. */
void dot_keep_warps(const plan_kernel *kernel, const plan_value *own, dot_access *access);
/* The widest access of a value as it is. */
void dot_value_access(const dot_draft *x, int tensor, const plan_value *value, dot_access *out);
/* A load or store, masked where blocks overhang. */
llrt_status dot_load(dot_draft *x, int tensor, const dot_access *access, int *value);
llrt_status dot_store(dot_draft *x, int tensor, const dot_access *access, int value);
/* Tile bits of the kernel that are these of the draft's. */
uint64_t dot_tile_bits(const dot_draft *x, uint64_t mask);

/* A map of every element of *value. */
llrt_status dot_map(dot_draft *x, plan_map map, int tensor, int *value);
llrt_status dot_cast(dot_draft *x, llrt_dtype from, llrt_dtype to, int *value);

/* The load of an access unmasked and masked, neither appended. The first is masked, too, where that is how lone elements
 * of 4 bits are taken. */
void dot_access_steps(const dot_draft *x, plan_step step, const dot_access *access, plan_step *whole, plan_step *masked);

/* dot_operand.c: a turn's elements of A (0) or B (1), loaded; then as the instruction takes them. */
llrt_status dot_load_operand(dot_draft *x, int operand, int *value);
llrt_status dot_prepare_operand(dot_draft *x, int operand, int *value);

/* The same of a loaded value that is not brought anywhere: its elements as the instruction's type. */
llrt_status dot_decode_operand(dot_draft *x, int operand, int *value);

/* The cast that is left of an operand where the instruction wants it. */
llrt_status dot_widen_operand(dot_draft *x, int operand, int *value);
/* Where an operand's elements have to be for the instruction, as they are in memory. */
plan_value dot_wanted_value(const dot_draft *x, int operand);

/* Steps of both operands' copies, so many. */
llrt_status dot_copy_operands(dot_draft *x, int *n);
/* dot_ring.c: decides whether both operands go through rings (x->rings). */
llrt_status dot_plan_rings(dot_draft *x);
/* The copies of turns before the walk; what a turn begins with; an operand of this turn. */
llrt_status dot_open_rings(dot_draft *x);
llrt_status dot_turn_rings(dot_draft *x);
llrt_status dot_ring_operand(dot_draft *x, int operand, int *value);

/* dot_box.c: the box that the copies to an operand's ring take; *found: there is one. transposed: rows go along M or N. most: log2
 * elements of a box's row at most. */
llrt_status dot_plan_box(dot_draft *x, int operand, bool transposed, const plan_step *copy, int most, bool *found);

/* dot_group.c: lays out both operands' rings for products of warpgroups. UNSUPPORTED where they do not take types or
 * storages. */
llrt_status dot_plan_groups(dot_draft *x, const dot_space *space, const dot_types *types);
/* Has blocks that follow each other share what they read; read: by operand, what a tile reads of it, in any unit. */
void dot_plan_bands(dot_draft *x, const int64_t read[2]);
/* Before the walk; a turn's copies, which producers make, and the wait for them; begins the turn's products. */
llrt_status dot_open_groups(dot_draft *x);
llrt_status dot_fill_groups(dot_draft *x);
llrt_status dot_group_products(dot_draft *x, int with, int *out);

/* dot_epilogue.c: from sums to D. Whether anything stands on the sums. */
llrt_status dot_epilogue(dot_draft *x, int sums);
bool dot_acts(const dot_draft *x);

/* dot_blocked.c: whether the tile has as many positions along M or N as the kernel has lanes; then the steps of the
 * whole kernel. */
bool dot_can_block(const dot_draft *x);
void dot_shape_block(const dot_draft *x, dot_shape *shape); /* before there is a tile, few rows as memory likes them */
void dot_order_blocks(dot_draft *x); /* so that neighbours share the narrow operand */
llrt_status dot_blocked_steps(dot_draft *x);

/* Whether there are matrix instructions for the job, of which tiles are to be made. */
bool dot_has_matrices(const dot_job *job, const plan_target *target);

/* The type of an operand that is tried first. */
llrt_dtype dot_multiplied_type(const dot_job *job, const plan_target *target, int operand);

/* Whether sums of a turn are kept apart from those of all turns (dot_types.short_sums). */
bool dot_sums_short(const dot_job *job, const plan_target *target);

/* dot_kernel.c: the draft's bit that is position 2^p of an axis; 0: there is none. */
uint64_t dot_axis_bit(const dot_draft *x, int axis, int p);
/* Storages and groups of scales have tiles of K, of which the last may have turns that lie behind all of K, many where scales
 * lie in large tiles: they are left out where turns follow each other along K. Needs: the kernel's space. */
void dot_count_turns(dot_draft *x);

/* Plans one. *divided: the storages have no common refinement, and there is none. UNSUPPORTED for a shape
 * of warpgroups that do not multiply what there is. */
llrt_status dot_plan_kernel(const dot_job *job, const dot_shape *shape, bool split, const plan_target *target,
                            const plan_options *options, plan_kernel *kernel, bool *divided);

#endif
