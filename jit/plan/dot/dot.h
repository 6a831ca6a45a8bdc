/* Planning of dots, D = A x B with what stands beside them: what the files of this room hand to
 * each other. Private to jit/plan.
 *
 *   dot_variants.c   which variants there are
 *   dot_add.c        one variant
 *   dot_groups.c     those of warpgroups, of which a shape takes the one with the best pace
 *   tile_pace.c      their paces (tile_pace.h)
 *   dot_pitch.c      rows that begin inside lines of memory, and copies of them
 *   dot_short.c      variants for shapes whose scales have one position along K
 *   dot_kernel.c     one kernel
 *   dot_layout.c     which thread holds what of the tile
 *   dot_memory.c     how tensors are read and written: as their memory likes it
 *   dot_operand.c    elements of A and B on their way into the instruction
 *   dot_row.c        one row of D, lanes along K
 *   dot_ring.c       the same through a ring in shared memory that copies fill turns ahead
 *   dot_box.c        boxes that the device copies there by itself
 *   dot_warpgroup.c  products of warpgroups, whose operands stay in shared memory
 *   dot_stage.c      operands of those on their way into shared memory (dot_stage.h)
 *   dot_blocked.c    host: both operands through blocks in scratch memory
 *   dot_epilogue.c   sums on their way into D
 *   dot_convert.c    copies of tensors in the workspace
 *   rounds.c         blocks that take several tiles (rounds.h)
 *
 * Beside this room: types/dot_instruction.c has the instructions, facts/dot_tiling.c what a
 * PLAN_DOT step is made of, packed/ the kernels that read packed weights as they lie.
 *
 * Words that all comments here use. Operands are numbered 0 (A) and 1 (B). A tensor is named by its
 * number in the job's description. Extents are log2 unless said otherwise. The *draft's bits* are
 * vectors of the digits' bits (draft.h). Functions return UNSUPPORTED where a kernel cannot be made
 * so; the caller then tries another. */
#ifndef LLRT_JIT_PLAN_DOT_DOT_H
#define LLRT_JIT_PLAN_DOT_DOT_H

#include "jit/plan/dot/dot_layout.h"
#include "jit/plan/draft/draft.h"
#include "jit/plan/types/dot_type.h"

/* ---- dot_variants.c ---- */

/* Plans a dot by kernels that take any weights; scales stand where the description says. shares:
 * whether variants in which blocks share K are allowed. */
llrt_status plan_dot_make(const op_description *desc, const plan_target *target,
                          const plan_options *options, bool shares, plan *out);

/* Whether a kernel of the plan stores one of the two elements of a byte, which dots may not do: two
 * blocks could write the byte. */
bool dot_parts_bytes(const plan *made);

/* ---- dot_short.c ---- */

/* Puts kernels in front of the plan for shapes whose K is no longer than a group of scales, so that
 * scales have one position along K; where none can be made, the plan's variants take such shapes no
 * longer. known: the description, with what its storages say of extents as promises. UNSUPPORTED
 * where that leaves none of the promised shapes. */
llrt_status dot_add_short(const op_description *desc, const op_description *known,
                          const plan_target *target, const plan_options *options, plan *out);

/* ---- what a kernel does ---- */

typedef struct dot_job {
  op_description desc; /* of the kernel. Axes: batch.., M, N, K; finish: splits, batch.., M, N */
  dot_rule rule;       /* types, of the whole operation */
  int tensor[LLRT_DOT_ROLES]; /* by role: number in desc; -1: the job has none. Finish: role A is
                                 the partial sums */
  bool words[2];              /* by operand: bits of its 32-bit words are permuted in memory */
  bool scaled_sums[2];        /* by operand: its scales multiply the sums */
  int shift;                  /* operands are multiplied with 2^-shift in all, and so are sums */
  bool partial;               /* D is the sums of one share of K, unchanged */
  bool finish;                /* adds the sums of the shares; multiplies nothing */
  bool zeroes;                /* finish: and leaves zeros in their places */
} dot_job;

/* The job of one kernel that does all that a description asks for. */
void dot_begin_job(const op_description *desc, const plan_target *target, dot_job *job);

/* ---- dot_convert.c ---- */

/* *out: the description with what its storages say of extents as promises. scratch: room for a
 * kernel, whose contents are lost. */
llrt_status dot_promise_extents(const op_description *desc, const plan_target *target,
                                const plan_options *options, plan_kernel *scratch,
                                op_description *out);

/* The axes (bit a: axis a) along which tensor t has one position for all of the operation's. */
uint32_t dot_lacking(const op_description *desc, int t);

/* Makes tensor t of a job one that lies row-major in the workspace. rows: that storage, of as many
 * axes. */
void dot_in_workspace(dot_job *job, int t, llrt_dtype dtype, const llrt_storage *rows);

/* The stage that copies tensor t of the operation to workspace region number `region`: row-major,
 * as elements of a type, each row a whole number of 2^pieces elements. */
llrt_status dot_convert_stage(const op_description *desc, int t, llrt_dtype type, int region,
                              int pieces, const plan_target *target, const plan_options *options,
                              plan_kernel *kernel);

/* The stage that makes tensor t of the operation from such a copy. half: 0: all of it; 1, 2: the
 * first or the second of two stages for 4-bit elements whose bytes no thread has whole. */
llrt_status dot_convert_back(const op_description *desc, int t, llrt_dtype type, int region,
                             int half, const plan_target *target, const plan_options *options,
                             plan_kernel *kernel);

/* ---- a kernel in the making ---- */

/* Slots of a ring: copies of three turns are under way while one is multiplied. */
#define DOT_SLOTS 4

/* How a kernel is to be laid out. */
typedef struct dot_shape {
  int bits[3];     /* by DOT_DIM: extent of the tile */
  int warps;       /* of a block */
  bool warpgroups; /* by instructions of warpgroups */
  int own[2];      /* along M, N: > 0: the tile has so many of its positions: columns of an
                      instruction, or three quarters that are whole instructions */
  bool swapped;    /* warpgroups: the instruction's first operand is B, so that few rows of
                      D are its columns */
  int cluster;     /* warpgroups: log2 blocks of a cluster, each of which has a part of
                      every turn's positions of K; its tile's are of all of them */
  bool beside;     /* cluster: its blocks have a part each of the dim that the instruction's rows
                      are, and fetch the other operand together */
  int across;      /* beside: of `cluster`, log2 of so many blocks have parts of the other dim
                      instead, and those of the same rows fetch these rows together */
  bool lines;      /* warpgroups: threads copy, whole lines of memory at once (plan_step.lines) */
  bool all_memory; /* warpgroups: rings take all of shared memory, if results need none of it */
  int teams;       /* warpgroups, rounds: log2 teams of `warps` each (plan_kernel.team_bits) */
  int resident;    /* warpgroups: > 1: so many blocks are to fit a multiprocessor, of short rings */
  bool rounds;     /* blocks take several tiles, if all copies are boxes and shared memory
                      has room for results beside the rings */
  bool halves;     /* rounds: rings have half of the memory, so that two blocks stay on a
                      multiprocessor, if all else has room there, too */
  bool deal;       /* rounds, the last of which are dealt to all blocks turn by turn (plan_deal) */
  bool row;        /* GPUs: one row of D, whose lanes and warps lie along K */
  bool blocked;    /* host: through blocks in scratch memory, if the tile has lanes for it */
} dot_shape;

/* What is multiplied: the types to which operands are cast, and that of sums. A pair of operands
 * may have several such triples: the elements' own types, the type that the rule computes in, what
 * every target has. */
typedef struct dot_types {
  llrt_dtype a, b, sum;
  bool tf32;       /* f32 elements may lose their lowest 13 bits */
  bool short_sums; /* the instruction keeps few bits of its sums: those of a turn begin from 0 and
                      join those of all turns */
} dot_types;

/* An operand's ring. */
typedef struct dot_ring {
  int copied;             /* number of the value that says who copies what */
  plan_step copy, masked; /* the copy, not masked and masked */
  int n_loads;
  plan_step load[6]; /* from a slot to what the instruction takes, but for a cast */
} dot_ring;

typedef struct dot_draft {
  draft d;
  const dot_job *job;
  dot_types types;
  dot_layouts how;
  uint64_t bits[3];      /* by DOT_DIM: the draft's bits that are in the tile */
  uint64_t cluster;      /* of these: those that blocks of a cluster number (dot_shape.cluster) */
  bool beside;           /* dot_shape.beside */
  bool swapped;          /* warpgroups: the instruction's first operand is B */
  bool all_memory;       /* dot_shape.all_memory */
  bool halves;           /* dot_shape.halves */
  bool lines;            /* dot_shape.lines */
  bool boxes;            /* rings are filled by boxes */
  int mixed;             /* 1, 2: only that of A, of B is; 0: not so */
  bool rings;            /* both operands go through rings */
  bool warpgroups;       /* products read the rings themselves */
  bool row;              /* dot_shape.row */
  dot_ring ring[2];      /* by operand */
  int n_iterated;        /* bits of the tile that loops around the step number, the innermost loop's
                            first */
  uint64_t iterated[24]; /* those, as the draft's bits */
  bool inside;           /* what is appended runs where all that it reads is inside every bound */
} dot_draft;

/* The tensor of an operand. */
static inline int dot_operand_tensor(const dot_draft *x, int operand) {
  return x->job->tensor[operand ? LLRT_DOT_B : LLRT_DOT_A];
}
/* Its dim beside K. */
static inline int dot_operand_dim(int operand) { return operand ? DOT_DIM_N : DOT_DIM_M; }

/* ---- dot_memory.c ---- */

/* How threads hold the tile's part of a tensor, so that its memory likes it. */
typedef struct dot_access {
  plan_value value;
  int vector; /* log2 elements of an access */
  int align;  /* log2 elements that divide the accesses' addresses */
} dot_access;

/* mask: the draft's bits that the part has. */
llrt_status dot_memory_value(const dot_draft *x, int tensor, uint64_t mask, dot_access *out);
/* A number that grows with the distance by which bit `bit` of the draft moves the tensor's address.
 */
int dot_memory_order(const dot_draft *x, int tensor, int bit);
/* Changes *access so that each warp accesses what it has of `own`, a value of the same bits, if its
 * lanes' accesses are still pieces of 64 bytes then: elements then change places inside warps
 * alone, which need not wait for each other. */
void dot_keep_warps(const plan_kernel *kernel, const plan_value *own, dot_access *access);
/* The widest access of a value whose layout is given. */
void dot_value_access(const dot_draft *x, int tensor, const plan_value *value, dot_access *out);
/* Appends a load or a store, masked where blocks go beyond bounds. *value: number of the loaded
 * value. */
llrt_status dot_load(dot_draft *x, int tensor, const dot_access *access, int *value);
llrt_status dot_store(dot_draft *x, int tensor, const dot_access *access, int value);
/* The kernel's tile bits that are bits `mask` of the draft. */
uint64_t dot_tile_bits(const dot_draft *x, uint64_t mask);
/* Appends a map of value number *value, which becomes the result's. tensor: that of its scales. */
llrt_status dot_map(dot_draft *x, plan_map map, int tensor, int *value);
llrt_status dot_cast(dot_draft *x, llrt_dtype from, llrt_dtype to, int *value);
/* *whole, *masked: `step` (a load or a copy) by these accesses, neither appended. *whole is masked,
 * too, where single 4-bit elements are accessed, since that is how those are taken. */
void dot_access_steps(const dot_draft *x, plan_step step, const dot_access *access,
                      plan_step *whole, plan_step *masked);

/* ---- dot_operand.c: steps of one turn; *value is the number of the operand's value ---- */

/* Appends the load of an operand's elements. */
llrt_status dot_load_operand(dot_draft *x, int operand, int *value);
/* Appends all from there to what the instruction takes. */
llrt_status dot_prepare_operand(dot_draft *x, int operand, int *value);
/* Of these, decoding and casts alone: elements stay where they are. */
llrt_status dot_decode_operand(dot_draft *x, int operand, int *value);
/* Of these, the cast that is made where the instruction wants the operand; none: nothing. */
llrt_status dot_widen_operand(dot_draft *x, int operand, int *value);
/* Where the instruction wants an operand, with elements as they are in memory. */
plan_value dot_wanted_value(const dot_draft *x, int operand);
/* Appends the copies of both operands to their rings' slots. *n: how many steps. */
llrt_status dot_copy_operands(dot_draft *x, int *n);

/* ---- dot_ring.c ---- */

/* Decides whether both operands go through rings (x->rings), and plans those. */
llrt_status dot_plan_rings(dot_draft *x);
/* Appends the copies of the first turns, in front of the walk. */
llrt_status dot_open_rings(dot_draft *x);
/* Appends what a turn begins with: the wait for its copies, the copies of a later turn. */
llrt_status dot_turn_rings(dot_draft *x);
/* Appends an operand's way from its slot to the instruction. */
llrt_status dot_ring_operand(dot_draft *x, int operand, int *value);

/* ---- dot_box.c ---- */

/* Appends to the launch's boxes the one by which the copies to an operand's ring can be made;
 * *found: whether there is one. transposed: its rows go along M or N, else along K. most: log2
 * elements of a row at most. */
llrt_status dot_plan_box(dot_draft *x, int operand, bool transposed, const plan_step *copy,
                         int most, bool *found);
/* The same of D, whose rows lie along N. */
llrt_status dot_plan_result_box(dot_draft *x, int tensor, int most, bool *found);

/* ---- dot_warpgroup.c ---- */

/* Lays out both operands' rings for products of warpgroups. UNSUPPORTED where these do not take the
 * types or storages. */
llrt_status dot_plan_warpgroups(dot_draft *x, const dot_space *space, const dot_types *types);
/* Orders blocks in bands, so that those that run at a time share what they read. read: by operand,
 * what a tile reads of it, in any unit. */
void dot_plan_bands(dot_draft *x, const int64_t read[2]);
/* Appends what stands in front of the walk. */
llrt_status dot_open_warpgroups(dot_draft *x);
/* Appends a turn's copies, which producers make, and the wait for them. */
llrt_status dot_fill_warpgroups(dot_draft *x);
/* Begins a turn's products. with: number of the value of sums that they join; *out: theirs. */
llrt_status dot_warpgroup_products(dot_draft *x, int with, int *out);

/* ---- dot_row.c ---- */

/* log2 elements of a word of 32 bits of both operands; -1: they have none. */
int dot_row_word(const dot_job *job);
/* Orders the tile's bits along K as the joins of its sums want them. */
void dot_order_row(dot_draft *x);
/* Lays the operands and sums out. UNSUPPORTED where memory's rows do not go along K. */
llrt_status dot_plan_row(dot_draft *x, const dot_space *space);
/* Appends a turn's loads and products, which join value number `carried`. */
llrt_status dot_row_products(dot_draft *x, int carried);

/* ---- dot_epilogue.c ---- */

/* Appends all from value number `sums` to D: scales, bias, activation, cast, store. */
llrt_status dot_epilogue(dot_draft *x, int sums);
/* Whether anything but a cast stands between sums and D. */
bool dot_acts(const dot_job *job);

/* ---- dot_blocked.c ---- */

/* Whether the tile has as many positions along M or N as the kernel has lanes. */
bool dot_can_block(const dot_draft *x);
/* Adapts the shape's extents to the tensors, before there is a tile. */
void dot_shape_block(const dot_draft *x, dot_shape *shape);
/* Orders blocks so that neighbours read the same part of the operand that all lanes share. */
void dot_order_blocks(dot_draft *x);
/* Appends all steps of the kernel. */
llrt_status dot_blocked_steps(dot_draft *x);

/* ---- dot_kernel.c ---- */

/* Whether the target has matrix instructions for the job, so that tiles are to be made of them. */
bool dot_has_matrices(const dot_job *job, const plan_target *target);
/* The type to which an operand is cast, of the types that are tried first. */
llrt_dtype dot_multiplied_type(const dot_job *job, const plan_target *target, int operand);
/* Whether dot_types.short_sums would be set. */
bool dot_sums_short(const dot_job *job, const plan_target *target);
/* The draft's bit that is position 2^p of an axis; 0: there is none. */
uint64_t dot_axis_bit(const dot_draft *x, int axis, int p);
/* Leaves out turns that lie behind all of K. Storages and groups of scales come in tiles of K, of
 * which the last may be mostly empty; that can be done where turns follow each other along K.
 * Needs: the kernel's space. */
void dot_count_turns(dot_draft *x);
/* Plans one kernel. split: several blocks share K. *divided: the storages have no common
 * refinement, and no kernel was made. UNSUPPORTED for a shape of warpgroups that cannot multiply
 * these operands. */
llrt_status dot_plan_kernel(const dot_job *job, const dot_shape *shape, bool split,
                            const plan_target *target, const plan_options *options,
                            plan_kernel *kernel, bool *divided);

#endif
