/* Kernels of an expression (docs/expressions.md): what the files of this room hand to each other.
 * Private to jit/plan.
 *
 *   rows_tile.c    digits -> the work tile, who holds which of its bits
 *   rows_sizes.c   how wide accesses are, how many warps a row has, how it is walked
 *   rows_access.c  values from tensors and into them
 *   rows_pads.c    what lies beyond a shape in a padded output
 *   rows_slots.c   slots that an index chooses, side by side in memory
 *   rows_words.c   bits of an output's words that are permuted
 *   rows_reduce.c  joins along axes, in the block
 *   rows_walk.c    joins along rows that are walked
 *   rows_halves.c  extremes of 16-bit floats, two in a word
 *   rows_one_hot.c sums of which one position counts
 *   rows_keep.c    what of walked rows stays in shared memory from walk to walk
 *   rows_ring.c    rows of a single walk, whose turns are copied to shared memory ahead
 *   rows_online.c  a walked row's maximum and sum of exponentials in one walk
 *   rows_flip.c    values backwards along an axis that each thread has
 *   rows_scan.c    scans along axes, in the block or from turn to turn
 *   rows_nodes.c   a program's nodes as steps
 *   rows_ahead.c   rows of later blocks, asked for early
 *   rows_apart.c   outputs that are stored before rows are joined
 *   rows_registers.c  blocks that a multiprocessor has registers for
 *   rows_kernel.c  the kernel
 *   rows_few.c     appends of few positions
 *   rows_parts.c   one for each part of the program */
#ifndef LLRT_JIT_PLAN_ROWS_ROWS_H
#define LLRT_JIT_PLAN_ROWS_ROWS_H

#include "base/bits.h"
#include "jit/plan/block/block.h"
#include "jit/plan/draft/draft.h"
#include "jit/plan/facts/vector_list.h"

#define ROWS_NONE (-1)

/* A kernel in the making. Tile bits lie in this order: those of axes along which nothing is joined,
 * then from the largest group of joined axes to the smallest what each has beyond the next; inside
 * each of these warps, lanes, registers. */
typedef struct rows {
  draft d;
  const expr_program *program;
  bool resident;   /* a row lies in one block's registers; else blocks walk it */
  bool clusters;   /* resident: blocks of a cluster share a row, if it is too long for one */
  bool few;        /* rows_few's kernel */
  bool may_keep;   /* walked: what several walks want may stay in shared memory */
  int walk_blocks; /* walked: blocks of a multiprocessor that share its memory and registers; 0: as
                      many as there is room for */
  int walk_warps;  /* walked once: warps of a multiprocessor; 0: walk_blocks tells */
  bool wants_halves; /* refused, but for two kernels of which each stores one half of bytes */
  uint8_t half;      /* which elements of bytes are stored that no thread has whole: kernel's */
  int n_groups;      /* sets of axes that something is joined along, each in the next */
  uint8_t group[LLRT_MAX_RANK];
  uint64_t of_axis[LLRT_MAX_RANK]; /* tile bits of an axis's digits */
  plan_order along[LLRT_MAX_RANK]; /* the same, lowest positions first */
  vector_list held[3];             /* tile bits of registers, lanes, warps */
  int elements;                    /* of a thread, but for those beyond the end of its rows */
  int value[PROGRAM_MAX_NODES];    /* by node; ROWS_NONE: not made, or of a turn that is over */
  int loaded[PROGRAM_MAX_NODES];   /* of tensors, likewise: the elements as they were in memory */
  int kept[PROGRAM_MAX_NODES];     /* of what walks share: the ring of its turns */
  bool cut[PROGRAM_MAX_NODES];     /* stays in place of the tensors that it is made of */
  bool is_kept[PROGRAM_MAX_NODES]; /* a walk has filled it */
  int ring, ring_buffer;           /* node whose turns are copied ahead, or ROWS_NONE */
  bool filled;                     /* rows_fill_ends has done so */
  int carried[PROGRAM_MAX_NODES];  /* of scans in the open walk: what stands before the turn */
  int first[PROGRAM_MAX_NODES];    /* likewise, before the first turn */
  bool narrow[PROGRAM_MAX_NODES];  /* program_find_narrow */
} rows;

/* plan_make for LLRT_OP_COMPUTE. */
llrt_status plan_rows_make(const op_description *desc, const plan_target *target,
                           const plan_options *options, plan *out);

/* How a kernel is made: few: for few rows (rows_few);
 * half: which elements it stores of bytes that no thread has whole (plan_kernel.stored_half). */
typedef struct rows_way {
  bool few;
  uint8_t half;
} rows_way;

/* rows_kernel.c: the kernel of a description whose outputs are made together. *halves: refused, but
 * two kernels with the halves 1 and 2, one behind the other, can do it. */
llrt_status rows_make_kernel(const op_description *desc, const plan_target *target,
                             const plan_options *options, rows_way way, plan_kernel *kernel,
                             bool *halves);

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

/* rows_kernel.c: whether a node is a tensor that is loaded, not another one's elements in another
 * order; whether it differs from row to row: it has all axes but those that are joined, or more. */
bool rows_is_loaded(const rows *r, int node);
bool rows_is_of_rows(const rows *r, int node);
/* rows_kernel.c: how many tensors differ from row to row, and are loaded before anything waits;
 * node (room for each node, or NULL): their nodes. */
int rows_loaded_first(const rows *r, int *node);
/* rows_ahead.c: behind a row's joins, asks for the row of a later block where that pays. */
llrt_status rows_ask_ahead(rows *r);
/* rows_kernel.c: whether blocks may form clusters. */
bool rows_may_cluster(const rows *r);
/* rows_kernel.c: how many are the same for several rows. */
int rows_count_weights(const rows *r);
/* rows_registers.c: blocks that a multiprocessor has registers for; 0: ptxas decides. Walks that
 * overhang rows have a number of their own (backends). */
int rows_blocks_of_unit(rows *r);
/* Reserves shared memory for what waits for turns, in a kernel that is finished otherwise, and has
 * more blocks of a multiprocessor where that leaves registers. */
void rows_reserve_waiting(rows *r);
/* rows_apart.c: whether the output is stored before rows are joined. */
bool rows_is_apart(const rows *r, int tensor);

/* rows_access.c: the layout in which threads load a tensor. */
llrt_status rows_tensor_value(rows *r, int tensor, plan_value *value);
/* rows_access.c: whether some block, or turn, lies inside all bounds. */
bool rows_may_be_inside(const rows *r);
/* rows_access.c: loads the tensor of a node, if it is not loaded; its elements in the type that
 * they compute in; a value into a tensor. */
llrt_status rows_fetch(rows *r, int node);
llrt_status rows_load(rows *r, int node, int *value);
/* rows_access.c: a value in another type, in which the program goes on with it. */
llrt_status rows_cast(rows *r, llrt_dtype from, llrt_dtype to, int *value);
llrt_status rows_store(rows *r, int tensor, int value);

/* Loads the elements of the tensor of a node into loaded[node], which is laid out so. */
llrt_status rows_load_elements(rows *r, int node, const plan_value *laid_out);

/* rows_pads.c: whether the tensor is stored beyond the shape; its pads' value in place of what lies
 * there, in the type that `value` is computed in. */
bool rows_has_pads(const rows *r, int tensor);
llrt_status rows_fill_pads(rows *r, int tensor, int *value);

/* log2 elements of a 32-bit word of the tensor. */
static inline int rows_word_bits(const plan_kernel *kernel, int tensor) {
  return bits_max(5 - bits_log2(kernel->tensor_bits[tensor]), 0);
}

/* rows_words.c: lays the value out so that each thread has whole words of the output's memory. */
llrt_status rows_lay_out_words(rows *r, int tensor, int *value);
/* Permutes the bits of the words of what is stored. */
llrt_status rows_permute_words(rows *r, int tensor, int *value);

/* rows_keep.c: bits of an element of all of a row that several walks want; how many they are. */
int rows_shared_bits(const rows *r, int *tensors);
/* rows_keep.c: turns of a walked row; 0: only a run knows. */
int64_t rows_turns(const rows *r);
/* Bytes of rings of a block, if so many share a multiprocessor. */
int64_t rows_room(const rows *r, int blocks);
/* rows_keep.c: finds which values of 16 bits stay in place of the tensors that they are made of. */
void rows_find_cuts(rows *r);
/* Whether there would be one if rows were walked. */
bool rows_has_cut(const rows *r);
/* Whether the node's value is such, and has a ring; its value. */
bool rows_is_cut(const rows *r, int node);
llrt_status rows_make_cut(rows *r, int node, int *value);
/* rows_keep.c: gives rings to what several walks want, where a whole row has room. */
llrt_status rows_begin_keeping(rows *r);
/* In a walk, behind its loads: stores what has a ring that nothing is in yet. */
llrt_status rows_keep_loaded(rows *r);
/* The turn's elements of the tensor of a node, from its ring. */
llrt_status rows_load_kept(rows *r, int node, const plan_value *laid_out);
/* Whether the node's ring has a row's first turns alone. */
bool rows_keeps_part(const rows *r, int node);
/* log2 elements of an access to a ring. */
int rows_kept_vector(const rows *r, const plan_value *value);

/* The layout of a turn's elements in shared memory, where each thread reads what is its own. */
llrt_status rows_ring_layout(const rows *r, const plan_value *value, llrt_layout *out);
/* rows_access.c: the steps that begin to copy a turn's elements of a tensor, which are laid out as
 * value number `value`, to a buffer; *may: there are such. */
llrt_status rows_copy_elements(rows *r, int node, int value, int buffer, bool *may);

/* rows_ring.c: gives a ring to the only tensor of rows that one walk reads, where a device copies
 * to shared memory by itself. */
llrt_status rows_begin_ring(rows *r);
/* Before the walk: copies of the first turns. */
llrt_status rows_fill_ring(rows *r);
/* In it: the turn's elements as value loaded[ring], and the copies of a later turn. */
llrt_status rows_load_ring(rows *r, const plan_value *laid_out);

/* rows_slots.c: log2 positions along *axis whose slots, which the output's index chooses, fill a
 * sector of memory where they follow each other; 0: none. */
int rows_slots(const rows *r, int tensor, int *axis);
/* Whether the value is stored by accesses of several slots where these follow each other. */
bool rows_stores_slots(const rows *r, int tensor, int value);
llrt_status rows_store_slots(rows *r, int tensor, int value);
/* rows_access.c: stores a value of the tensor's elements as blocks at the edge do. */
llrt_status rows_store_at_edge(rows *r, int tensor, int value);

/* rows_few.c: whether there is a variant for few positions of an axis, and its range. */
bool rows_few(const op_description *desc, const plan_target *target, plan_range *range);

/* rows_reduce.c: whether the kernel's tile may overhang the axis. */
bool rows_overhang(const rows *r, int axis);
/* Or pads that an output's storage has along it, though no bound says so: of an axis that outputs
 * alone have. */
bool rows_reach_beyond(const rows *r, int axis);
/* rows_reduce.c: node number `node`, a reduction of value `in`, in the block. */
llrt_status rows_reduce(rows *r, int node, int in, int *out);
/* rows_halves.c: whether node number `node` is an extreme, in the block, of 16-bit floats as they
 * are loaded, or of their sizes; its value. */
bool rows_joins_halves(rows *r, int node);
llrt_status rows_reduce_halves(rows *r, int node, int *out);
/* rows_walk.c: the same, of a value that is made in each turn of a walk. */
llrt_status rows_walk_reduce(rows *r, int node, int *out);

/* Shared with rows_pads.c: the number with this code of `type` in place of what lies beyond the end
 * of the axis's shape. */
llrt_status rows_replace_beyond(rows *r, int axis, llrt_dtype type, int64_t code, int *value);

/* Shared with rows_online.c and rows_scan.c. The neutral element of the node's combiner in place of
 * what lies beyond the ends of its axes. */
bool rows_has_ends(const rows *r, const program_node *node); /* whether there may be any */
llrt_status rows_leave_out(rows *r, const program_node *node, int *value);
/* The same elements under another number, as a value of its own tile (reduced: 0), or of the
 * kernel's again. */
llrt_status rows_renamed(rows *r, int value, uint64_t reduced, int *number);
/* A join as it is made: its values are taken for whole ones, whose tile is what is not reduced. */
typedef struct rows_joining {
  const program_node *node;
  reduce_value value;
  int kept;      /* log2 elements that are left */
  uint64_t left; /* the kernel's tile bits of those */
} rows_joining;
/* Shared with rows_walk.c: leaves out of value `in` what lies beyond ends, and begins its join; a
 * sum over the count of what it is of. */
llrt_status rows_begin_join(rows *r, const program_node *node, int in, rows_joining *j);
llrt_status rows_divide_mean(rows *r, const program_node *node, int *value);
/* rows_reduce.c: how many joins of the program's wait for each other, one behind the other. */
int rows_depth(const rows *r);
/* The axes of a reduction that are group g's, but for those of the group inside it. */
static inline uint8_t rows_part_of(const rows *r, const program_node *node, int g) {
  uint8_t inside = g > 0 ? r->group[g - 1] : 0;
  return node->reduced & r->group[g] & (uint8_t)~inside;
}
/* Whether the reduction is the largest size (abs) of f32: no code of one is below 0, and what lies
 * beyond a row's end counts as 0. */
bool rows_joins_sizes(const rows *r, const program_node *node);
/* reduce_block to `kept` tile bits. sizes: no key's code is below 0, NaN is the largest; so once
 * threads have joined their own, keys may be joined as integers. */
llrt_status rows_join_block(rows *r, bool sizes, reduce_value *value, int kept);
/* Joins what the reduction takes along its axes but for those of `done`. */
llrt_status rows_join_groups(rows *r, const program_node *node, uint8_t done, int *value);
/* A joined value as one of the kernel's tile, laid out as all that varies along bits `left`. */
llrt_status rows_end_join(rows *r, const reduce_value *value, uint64_t left, int *out);
/* The layout that elements of a turn have once each thread has joined its own; *fold: log2 of it.
 */
llrt_status rows_folded_layout(rows *r, const program_node *node, plan_value *out, int *fold);

/* rows_online.c: of node `max`, a maximum m of x along walked rows, the node that is the sum of
 * exp(x - m), if one walk can make both (GPUs); else ROWS_NONE. */
int rows_online_sum(const rows *r, int max);
/* Where that x is a tensor, and the only one that turns load, loads give -infinity beyond the rows'
 * ends, and nothing has to be left out: its power is 0. */
void rows_fill_ends(rows *r);
/* Makes the values of both. */
llrt_status rows_walk_online(rows *r, int max, int sum);

/* rows_walk.c: the reduction in whose walk that of the node is made; its own number: in its own. */
int rows_leader(const rows *r, int node);
/* A reduction that a walk makes: of the elements of a turn 2^fold are left, joined with what was
 * carried they are `next`. */
typedef struct rows_walked {
  int number, fold;
  reduce_value first, carried, next;
  rows_joining join;
} rows_walked;
#define ROWS_MOST_TOGETHER 3
/* Reductions that are made in another one's walk: before the walk what they need, in it their turn,
 * behind it what becomes of them. */
typedef struct rows_together {
  rows_walked of[ROWS_MOST_TOGETHER];
  int n;
} rows_together;
llrt_status rows_begin_together(rows *r, int leader, rows_together *t);
llrt_status rows_turn_together(rows *r, rows_together *t);
/* lead: the leader's value, of which 2^kept elements are left when it is joined. */
llrt_status rows_end_together(rows *r, reduce_value *lead, int kept, rows_together *t);

/* rows_one_hot.c: steps of a sum of which one position counts, in a branch of the warps that have
 * it; the others have 0 of its value. */
typedef struct rows_one_hot {
  int branch; /* ROWS_NONE: the sum is no such one, and there is no branch */
  int value[PROGRAM_MAX_NODES], loaded[PROGRAM_MAX_NODES]; /* before it */
} rows_one_hot;
llrt_status rows_open_one_hot(rows *r, const program_node *sum, rows_one_hot *o);
/* joined: what the branch has made last. */
llrt_status rows_close_one_hot(rows *r, const rows_one_hot *o, const reduce_value *joined);
/* Whether node number `node` is such a sum of resident rows; its value. */
bool rows_joins_one_hot(const rows *r, int node);
llrt_status rows_reduce_one_hot(rows *r, int node, int *out);

/* rows_scan.c: node number `node`, a scan of value `in`, in the block; in a walk its turn. */
llrt_status rows_scan(rows *r, int node, int in, int *out);
/* Before a walk is opened in which the node's value is made: what stands before the first position
 * of each scan that this takes, unless it is there already. */
llrt_status rows_begin_scans(rows *r, int node);
/* At the end of the walk; whether it had scans. */
bool rows_end_scans(rows *r);
/* The combiner of a reduction or scan, and the type in which it joins. */
int rows_combiner(int op);
llrt_dtype rows_joined_type(const program_node *node);

/* rows_nodes.c: makes the node's value, if it is not there. */
llrt_status rows_make_node(rows *r, int node);
/* Loads the tensors that the node's value wants yet: one load behind the other, before anything
 * waits for what they bring. */
llrt_status rows_fetch_for(rows *r, int node);
/* Of the walk that step number `walk` opens: the steps that its body has yet, loads, run a turn
 * early, if they are few enough. GPUs alone. */
void rows_load_early(rows *r, int walk);
/* Closes that walk, of whose turns warps may leave the last one out if nothing makes them meet. */
void rows_close_walk(rows *r, int walk);
/* rows_flip.c: a node, made or a tensor's, of which `node` is the value backwards along an axis
 * that each thread has whole, resident; *bits: the axis's tile bits. Else ROWS_NONE. */
int rows_flip_of(const rows *r, int node, uint64_t *bits);
/* The value of that node in the other's order. */
llrt_status rows_flip(rows *r, int node, int of, uint64_t bits, int *value);
/* Makes what turns need of the node that no turn changes. */
llrt_status rows_prepare(rows *r, int node);
/* Whether the node's value differs from turn to turn. */
bool rows_walks(const rows *r, int node);

bool rows_have_scans(const expr_program *program);

#endif
