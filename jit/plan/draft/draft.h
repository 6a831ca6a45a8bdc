/* A plan in the making: what the passes that all operations share hand to each other. Private to
 * jit/plan and jit/probe.
 *
 *   finish.c    an empty kernel; threads, shared memory and cost of a complete one
 *   roles.c     what the operation makes of axes and tensors
 *   extents.c   storages and promises -> what is known of extents and strides; kernel arguments
 *   refine.c    -> the list of digits
 *   fuse.c      digits that follow each other everywhere -> one
 *   digits.c    -> what they contribute to every address
 *   strides.c   strides and columns of storages
 *   index.c     indices of the tensors -> what the kernel knows of them, and which bits they keep
 *               out of vectors
 *   tile.c      digits -> work tile, orders of its bits on both sides, block representatives
 *   space.c     work tile -> the kernel's coordinates
 *   bounds.c    where digits go beyond the tensors
 *   walk.c      bits of the grid that number turns
 *   overhang.c  rows that are not aligned
 *   assign.c    work tile -> which bits are registers, lanes, warps on either side
 *   map.c       value maps, before and after the exchange
 *   flat.c      kernels without a tile
 *   dense.c     whether a flat kernel's positions are memory's
 *   append.c    steps and values: appended to the kernel, and taken back
 *
 * Words that all comments here use. A *side* is one of the two tensors between which a tile goes: 0
 * the source, 1 the destination. A *vector of the digits' bits* (uint64_t) has bit z for out bit z
 * of `space`, counted before digits with an upper part are cut to what the tile takes of them
 * (draft.first, draft.bits). Axes are sets of bits: bit a is axis a. Unless a comment says
 * otherwise, functions return UNSUPPORTED for what no kernel of this kind can do. */
#ifndef LLRT_JIT_PLAN_DRAFT_DRAFT_H
#define LLRT_JIT_PLAN_DRAFT_DRAFT_H

#include "base/bits.h"
#include "jit/plan/kernel/plan.h"

/* How many low bits of a digit with an upper part a tile may take at most; the second of a reduce,
 * whose tiles may lie along one axis alone. */
#define DRAFT_REST_BITS 10
#define DRAFT_REDUCE_REST_BITS 15
/* The number of the tensor that a map's scales are read from. */
#define SCALE_TENSOR 2

/* What is known of a number of positions along an axis. */
typedef struct draft_extent {
  int64_t known;    /* the number; -1: only a run knows it */
  int64_t multiple; /* a divisor of it, at least 1 */
  int64_t most;     /* an upper bound of it */
} draft_extent;

/* What is known of a digit on one tensor's side beyond plan_digit_side. */
typedef struct draft_side {
  int order; /* number in the storage's list of digits, minor first; -1: the storage's tile */
  int align; /* log2 of a divisor of its stride (STRIDE), or of the column of its bit 0 */
} draft_side;

/* Rows of the destination's memory, without a gap inside, that some tiles of a strip store one
 * after the other within the bounds: PLAN_COLLECT gathers them into whole lines. */
typedef struct draft_collection {
  int32_t elements; /* of a row; 0: nothing is collected */
  int32_t rows;     /* how many */
  int32_t pitch;    /* elements from the beginning of one row to that of the next */
  int32_t reach;    /* elements from the first on among which all lies, bounds or not */
  int align;        /* log2 elements; rows begin and end at multiples */
  int iterations;   /* log2 tiles that store them */
} draft_collection;

/* Host: one body of steps serves tiles inside every bound and tiles at an edge; only loads and
 * stores are there twice, masked and unmasked. */
typedef struct draft_single_body {
  bool used;
  uint8_t whole; /* in a strip: number of the value that has an iteration's tile */
} draft_single_body;

/* What the operation makes of axes and tensors. All zero: nothing. */
typedef struct draft_roles {
  uint32_t reduced;      /* axes along which elements are combined; blocks walk them */
  uint32_t scanned;      /* axes that blocks walk in order: elements depend on those before them */
  uint32_t resident;     /* of the reduced axes: those that a tile has whole; extents are known */
  uint32_t may_be_empty; /* reduced axes that may have no position; they have no turns then */
  uint32_t tiled;        /* of a dot: axes whose tiles are whole instructions, whatever the extents
                            are; a tile has one position of each other axis */
  /* By tensor and axis: how many positions along the axis share an element of the tensor
   * (op_dot.group). NULL: maps say so. */
  const int32_t (*group)[LLRT_MAX_RANK];
  int results;        /* tensors PLAN_DESTINATION .. results - 1 are written, and by each split its
                         own part */
  bool moves;         /* each element goes to its place by itself: a convert */
  bool has_positions; /* results may be positions along axes: of argmin and argmax, of programs */
  bool zeros_count;   /* zeros beyond an axis and in pads may be worked on like elements: they
                         change no result */
  bool keeps_pads;    /* pads of the destination are not written */
  bool moves_halves;  /* threads may load and store single elements of 4 bits */
  bool one_promise;   /* promises of the first tensor hold for all axes, and each tensor's storage
                         says what it knows of the axes that it has whole */
  uint32_t grouped;   /* the axis (bit a: axis a) whose positions belong to experts (plan_experts);
                         its   extent and that of axis 0 are not asked before the kernel runs */
  int ends;           /* grouped: the tensor of the experts' ends */
  bool sorted;        /* grouped: it has each position's expert in place of the ends */
  bool refined_only;  /* where the storages have no common refinement there is no kernel: the
                         operation is done in several stages */
} draft_roles;

typedef struct draft {
  const op_description *desc;
  const plan_options *options; /* NULL: all zero */
  plan_kernel *kernel;
  draft_roles roles;
  /* The storages have no common refinement: the digits are the destination's, and the source's
   * address is computed by division, which flat kernels can do. */
  bool divided;

  /* ---- extents, by axis ---- */
  draft_extent shape[LLRT_MAX_RANK];
  draft_extent written[LLRT_MAX_RANK]; /* positions that are stored of the tensor with most pads */
  bool pads[LLRT_MAX_RANK];            /* `written` may be more than `shape` */
  uint8_t padder[LLRT_MAX_RANK];       /* pads: that tensor; the destination but for expressions */

  /* ---- digits, by their number ---- */
  int64_t count[PLAN_MAX_DIGITS]; /* positions; -1: only a run knows */
  bool top[PLAN_MAX_DIGITS];      /* it is the outermost one of its axis */
  bool fused[PLAN_MAX_DIGITS];    /* it goes on through digits of other axes; its axis names the
                                     first of them */
  bool mixed[LLRT_MAX_RANK]; /* by axis: a digit of it is fused, so it has no coordinate of its own
                              */
  /* Flat kernels of 4-bit elements. */
  bool by_memory;    /* positions follow each other as the destination's elements do in memory,
                        whatever digits count them */
  bool breaks;       /* digits are cut where neighbours in a tile do not follow each other in either
                        tensor's memory: each has one stride on both sides */
  bool divides;      /* by_memory: the digits are the destination's, as where `divided` */
  int pair_axis;     /* the axis along which the two elements of a byte of the destination lie; -1:
                        there is none */
  int64_t pair_step; /* by how many positions along it they differ */
  int address_align[LLRT_MAX_TENSORS]; /* by tensor: log2 elements that divide the address; 0 where
                                          only bytes are promised */
  draft_side side[PLAN_MAX_DIGITS][LLRT_MAX_TENSORS];

  /* ---- vectors of the digits' bits ---- */
  int n_bits;                 /* bits of such a vector */
  int first[PLAN_MAX_DIGITS]; /* by digit: number of its lowest bit */
  int bits[PLAN_MAX_DIGITS];  /* by digit: how many bits it may give the tile */
  uint64_t column[LLRT_MAX_TENSORS][LLRT_MAX_BITS]; /* by tensor and bit: address bits that the bit
                                                       XORs in; 0 for STRIDE digits */
  uint64_t column_bits[LLRT_MAX_TENSORS]; /* bits whose whole effect on the tensor is in `column` */

  /* ---- indices ---- */
  uint64_t selects[LLRT_MAX_TENSORS]; /* bits that choose a value of an index of the tensor */
  uint64_t skips;                     /* of the source's: bits that choose a value by which elements
                                         may be left out; no vector of the destination has one */
  int index_align[LLRT_MAX_TENSORS];  /* log2 of what divides every stride of the indices' values */
  int index_low[LLRT_MAX_TENSORS];    /* the lowest address bit that the values' tile parts move */
  /* Bits along which neighbouring elements of the other side have values of their own. Blocks walk
   * along them first, so that a panel of memory stays in the cache. */
  uint64_t walked;
  uint64_t inside; /* in place: digits (bit i: digit i) that count the positions of one panel */
  uint64_t beside; /* in place: the digit of which a block's panel has several positions, or none */
  bool walks_panel; /* blocks walk panel_axis (panel.c) */
  int panel_axis;   /* the axis that index 0 of the source chooses along */
  uint64_t opaque;  /* bits that move neither tensor's address but through indices */

  /* ---- the work tile ---- */
  int tile_bits;
  bool keeps;  /* rings hold what walks share: other buffers lie behind them */
  bool pushes; /* what blocks of a cluster exchange they store in each other's memory, as far as
                  shared memory has room beside all else */
  bool apart; /* small buffers of steps that no loop makes lie beside each other, so that no barrier
                 has to stand between a load and the next store */
  int strip_bits; /* of these, the last ones of either order: they number the tiles that a block
                     takes one after the other; 0: one tile a block */
  bool strips;    /* strips are asked for */
  bool whole;     /* a tile in two loops is not wanted */
  /* By side: a basis of the tile, those vectors first that follow each other in memory. */
  uint64_t order[2][LLRT_MAX_BITS];
  uint64_t ahead[LLRT_MAX_BITS]; /* strips: a third basis, in which what is read ahead is ordered */
  int run[2];                    /* by side: leading vectors of order[] with address 1, 2, 4, … */
  int vector[2];                 /* by side: log2 elements of an access, at most run[] */
  int thread_bits;               /* GPU: log2 elements of a thread, at least; 0: as accesses want */
  int align[2];                  /* by side: log2 elements that divide the address of every run */
  bool may_overhang[2];          /* by side: accesses may be wider than runs are aligned */
  bool overhang[2];              /* by side: they are */
  bool whole_lines[2];           /* by side: runs are whole sectors of memory */
  draft_collection collection;
  draft_single_body single_body;
  int flat_vector;   /* flat: log2 elements of an access; they follow each other on both sides */
  int word_elements; /* log2 elements of the destination that stay in one thread because a map acts
                        on 32-bit words of them; 0: no map does */
  bool parts_bytes;  /* 4 bits: an index may leave out one element of a byte of the destination */
  int maps_before;   /* how many of the description's maps come in front of the exchange */

  /* ---- blocks ---- */
  int n_grid;
  uint64_t grid[LLRT_MAX_BITS]; /* vectors: with the tile's they span the fixed bits, and number
                                   blocks */
  int n_walked;                 /* the last so many of them number turns of a walk */
  /* By axis, of a dot: > 0: a tile has so many positions, which are no power of two. */
  int64_t tile_positions[LLRT_MAX_RANK];
  int row_bits; /* of a dot, > 0: bits of axis M in a tile, however few rows there are */
  bool splits;  /* several blocks share a walk */
  int summed;   /* of a dot: the axis that is walked */
  int wide_bits[LLRT_MAX_RANK]; /* by axis, of a dot: so many bits of it are in a tile, which may be
                                   more than blocks have; 0: as usual */
  int first_tiled;              /* of a dot: tiles are taken of this axis and those behind it */
  int split;                    /* splits: the digit that numbers the sharing blocks */
} draft;

/* log2 bytes of an element of tensor t; -1 for elements of 4 bits. */
static inline int draft_log2_bytes(const draft *d, int t) {
  return bits_log2(d->kernel->tensor_bits[t]) - 3;
}

static inline const llrt_storage *draft_storage(const draft *d, int tensor) {
  return d->desc->tensors[tensor].storage;
}

/* ---- roles.c ---- */

/* Fills roles from the description. */
void draft_set_roles(draft *d);
/* Of a dot: elements are summed along axis `summed`, tiles are of the axes from `first_tiled` on.
 */
void draft_sum_along(draft *d, int summed, int first_tiled);
/* Whether an axis is in roles.reduced, .scanned, .tiled; false for axis -1. */
bool draft_is_reduced(const draft *d, int axis);
bool draft_is_scanned(const draft *d, int axis);
bool draft_is_tiled(const draft *d, int axis);
/* Whether blocks walk the axis: it is reduced or scanned, or a panel's. */
bool draft_is_walked(const draft *d, int axis);
/* Whether tensor t has one position along the axis for all of the operation's. */
bool draft_is_dropped(const draft *d, int t, int axis);
/* Whether the operation writes tensor t. */
bool draft_is_written(const draft *d, int t);
/* How many positions of an axis share an element of tensor t: 1 but for scales; LLRT_GROUP_ALL. */
int64_t draft_group(const draft *d, int t, int axis);
/* Whether the tensor's storage sees something else than the axis's coordinate: the value of an
 * index. *folded: one position, because a pointer or an index stands for the whole axis. */
bool draft_is_indexed(const draft *d, int tensor, int axis, bool *folded);
/* Whether the tensor's address comes from a list of pointers. */
bool draft_has_pointers(const draft *d, int tensor);

/* ---- experts.c ---- */

/* Fills kernel->experts of a grouped product; needs digits, space and bounds. Errors: UNSUPPORTED
 * where the axis is no single digit of one stride. */
llrt_status draft_experts(draft *d);
/* Whether the tensor's first position of digit i in a block may be any: an expert's. */
bool draft_begins_anywhere(const draft *d, int tensor, int i);
/* Whether digit i is one that the grid does not count: that of experts, where tiles of all are
 * counted together. */
bool draft_is_of_experts(const draft *d, int i);
/* Adds the place of digit i of an axis whose tiles are counted so; *added: it is such a digit. */
llrt_status draft_expert_place(draft *d, int i, plan_place *place, plan_grid_place *grid,
                               bool *added);

/* ---- extents.c ---- */

/* Finds or appends a kernel argument; *number is it. Errors: UNSUPPORTED past PLAN_MAX_ARGS. */
llrt_status draft_arg(draft *d, plan_arg arg, plan_number *number);
/* Fills shape, written, pads, address_align. Errors: INVALID_ARGUMENT where the tensors' fixed
 * extents contradict each other or a promise. */
llrt_status draft_extents(draft *d);
/* Whether the axis's extent is read from device memory; draft.shape then is of its limit. */
bool draft_on_device(const draft *d, int axis);
/* Positions along an axis that the tile and the fixed digits of a tensor's storage hold: its pads
 * go up to a multiple of them. */
int64_t draft_unit(const draft *d, int tensor, int axis);
/* log2 positions of a storage's tile along an axis. */
int draft_tile_bits(const llrt_storage *storage, int axis);
/* Positions of digit i of a tensor's storage; -1: only a run knows. */
int64_t draft_digit_extent(const draft *d, int tensor, int i);
/* The stride of storage digit i, elements; -1: only a run knows. */
int64_t draft_known_stride(const draft *d, int tensor, int i);
/* log2 elements that divide that stride in every run. */
int draft_stride_alignment(const draft *d, int tensor, int i);
/* Whether tensor t may be stored beyond the axis's shape: up to its pads. */
bool draft_stores_pads(const draft *d, int t, int axis);
/* Positions along the axis that are stored of tensor t. */
draft_extent draft_stored(const draft *d, int t, int axis);
/* *number = extent / divisor of an axis's shape, or (stored > 0) of what is stored of that tensor,
 * rounded as `kind` says (PLAN_ARG_CEIL, PLAN_ARG_FLOOR): a constant, or an argument that is
 * appended. */
llrt_status draft_number(draft *d, plan_arg_kind kind, int axis, int stored, int64_t divisor,
                         plan_number *number);

/* ---- refine.c ---- */

/* A digit of a storage along an axis. */
typedef struct draft_segment {
  int64_t start; /* its position 1 is so many positions of the axis */
  int digit; /* of the storage; -1: its tile; -2: none: positions that the tensor does not have */
} draft_segment;
typedef struct draft_segments {
  int n;
  draft_segment at[LLRT_MAX_DIGITS + 3]; /* by start, lowest first */
} draft_segments;
llrt_status draft_list_segments(const draft *d, int tensor, int axis, draft_segments *out);
/* The segment in which a step of `step` positions of the axis falls. */
const draft_segment *draft_segment_at(const draft_segments *segments, int64_t step);

/* Appends a digit of an axis whose position 1 is `step` positions and that has `count` positions
 * (-1: unknown), without contributions to addresses; *number is it. */
llrt_status draft_new_digit(draft *d, int axis, int64_t step, int64_t count, int *number);
/* Makes the axes' digits. Sets d->divided where they are the destination's alone. */
llrt_status draft_refine(draft *d);
/* Decides bits, first and rest of every digit. */
llrt_status draft_digit_bits(draft *d);

/* ---- strides.c ---- */

/* The address columns of bits from .. from + n - 1 of a storage's tile along an axis. */
llrt_status draft_tile_columns(const llrt_storage *storage, int axis, int from, int n,
                               uint64_t *columns);
/* The stride of storage digit s times factor, a constant or an argument; negative where the digit
 * counts down. */
llrt_status draft_stride(draft *d, int tensor, int s, int64_t factor, plan_number *stride);
/* Whether storage digit s tells apart the two 4-bit elements of a byte, the first in the high half.
 */
bool draft_is_high_first(const draft *d, int tensor, int s);
/* Whether digit i's columns on a tensor are 1, 2, 4, ... times the first, as a stride's would be.
 */
bool draft_is_even(const draft *d, int tensor, int i);
/* A vector of the digits' bits, all of which the tile or the grid has, as out bits of `space`. */
uint64_t draft_repack(const draft *d, uint64_t x);

/* ---- fuse.c ---- */

/* Makes one digit of digits that follow each other on every tensor. */
void draft_fuse(draft *d);

/* ---- digits.c ---- */

/* All that stands above: the kernel's digits, their bits, columns and strides. */
llrt_status draft_digits(draft *d);

/* ---- index.c ---- */

/* Fills kernel.index and what the draft knows of indices. Needs: all digits. */
llrt_status draft_indices(draft *d);
/* Whether all tensors have a list of addresses along one axis, and no other index. */
bool draft_lists_alike(const draft *d);
/* In place: whether digit i counts the tensors of such a list. */
bool draft_is_listed(const draft *d, int i);
/* Says of each index whether a block has one value of it. Needs: space. */
void draft_uniform_indices(draft *d);
/* log2 values of the index of tensor t that an access to the index's memory should bring, of those
 * that `moved`, a vector of the digits' bits, chooses from; -1: it chooses none. */
int draft_index_vector(const draft *d, int t, uint64_t moved);
/* Fills d->walked. first: by side, the first vector of its run. */
void draft_walk_indices(draft *d, const uint64_t first[2]);
/* Appends what stands in front of a kernel's own steps: reports of values out of range, for which a
 * loop of 2^iterations turns walks value number `walked`, and the branch around blocks that have
 * nothing to do. *branch: number of its step; -1: there is none. */
llrt_status draft_open_indices(draft *d, int walked, int iterations, int *branch);
/* Ends that branch. */
void draft_close_indices(draft *d, int branch);

/* ---- tile.c ---- */

/* Chooses the work tile: fills tile_bits .. whole_lines, grid. */
llrt_status draft_tile(draft *d);
/* How tensor t's memory can be run along. */
typedef struct draft_runs {
  int n;     /* vectors without a gap: 1, 2, .. 2^(n - 1) */
  int align; /* log2 elements that divide every address but for those vectors */
  uint64_t vector[LLRT_MAX_BITS]; /* j: a vector of the digits' bits that moves the address by
                                     exactly 2^j elements; 0: there is none */
} draft_runs;
void draft_runs_of(draft *d, int t, draft_runs *out);
/* log2 of what divides the tensor's base and all strides, elements. */
int draft_base_align(const draft *d, int t);

/* ---- space.c ---- */

/* Fills kernel.space, columns, digits' bits, places of the grid. Needs: tile. */
llrt_status draft_space(draft *d);
/* Appends the places of what a scan walks, in the order of positions along the axis: whole digits,
 * or (upper) only what lies above their bits. */
llrt_status draft_walk_places(draft *d, bool upper);
/* Appends a place of the block index (flat: of the element index): digit i, counted in steps of
 * `divisor` positions of its axis. */
llrt_status draft_digit_place(draft *d, int i, int64_t divisor);
/* How many such steps there are. */
llrt_status draft_digit_count(draft *d, int i, int64_t divisor, plan_number *count);
/* Makes the only digit of a kernel whose tensors are one tile behind the other: 2^bits positions
 * inside a tile that has 2^size elements of each tensor, tiles as its upper part. */
llrt_status draft_tile_digit(draft *d, int bits, int size);

/* ---- walk.c ---- */

/* The digit that bit `bit` of a vector belongs to. */
int draft_digit_of(const draft *d, int bit);
/* The bits of all digits of reduced axes. */
uint64_t draft_reduced_bits(const draft *d);
/* Appends to the grid the fixed bits that are not in `tile`: first those that number blocks, then
 * those of `walked`, which number turns; in each the lowest first. */
void draft_fill_grid(draft *d, uint64_t tile, uint64_t walked);
/* Says what blocks walk: `axes`, of which a block takes at least `least` turns where several share
 * the walk. Needs: the grid. */
llrt_status draft_walk_turns(draft *d, uint32_t axes, int least);

/* ---- bounds.c ---- */

/* Appends a bound. Errors: UNSUPPORTED past PLAN_MAX_BOUNDS. */
llrt_status draft_bound(draft *d, plan_bound bound);
/* Appends the bounds of all digits. Needs: their final bits. */
llrt_status draft_bounds(draft *d);
/* The first bound on accesses to a tensor that may separate elements which differ by out bits
 * `moved` of `space` alone; NULL: there is none. */
const plan_bound *draft_splits(const draft *d, uint64_t moved, int tensor);
/* The largest v <= vector such that the 2^v elements of an access to a tensor by `value` are on one
 * side of every bound. */
int draft_whole_vector(const draft *d, const plan_value *value, int tensor, int vector);
/* 4 bits: whether a bound or an index may separate two elements of a byte of the destination, which
 * differ by `pair`, a vector of the digits' bits. */
bool draft_parts_bytes(const draft *d, uint64_t pair);
/* GPU: whether a bound whose limit is known separates elements of an access of 2^vector elements.
 */
bool draft_known_parts(const draft *d, const plan_value *value, int tensor, int vector);
/* UNSUPPORTED where a bound would separate elements of a word that a map acts on. */
llrt_status draft_check_words(const draft *d);

/* ---- assign.c ---- */

/* The values between which a tile goes. */
typedef struct draft_values {
  plan_value load, store; /* in front of the exchange and behind it */
  plan_value ahead;       /* strips: how the next strip's memory is asked for */
  plan_value edge;        /* one element of each lane and iteration: blocks at an edge */
  int edge_iterations;    /* log2 iterations of `edge` */
} draft_values;
/* Needs: space. */
llrt_status draft_assign(draft *d, draft_values *values);

/* ---- map.c ---- */

/* Resolves the description's maps into kernel.map. */
llrt_status draft_maps(draft *d);
/* Where the destination has the first element of a byte in its high half: maps of words, which see
 * bytes before halves are swapped, are changed accordingly. Needs: kernel.high_first. */
void draft_swap_words(const draft *d);
/* *unmapped: an element of the source that the maps turn into the element `value` of the
 * destination; maps of words are left aside, since they act on pads too. UNSUPPORTED where the
 * source's type has none. */
llrt_status draft_unmap(const plan_kernel *kernel, uint64_t value, uint64_t *unmapped);
/* log2 elements of `bits` bits in a machine word: in 32 bits on a GPU, in a lane on the host. */
int draft_word_of(const draft *d, int bits);
/* A value of the same layout whose elements have `bits` bits. */
plan_value draft_retyped(const draft *d, const plan_value *value, int bits);
/* Appends to kernel.map; *number is it. Errors: UNSUPPORTED past PLAN_MAX_MAPS. */
llrt_status draft_map(plan_kernel *kernel, plan_map map, uint8_t *number);
/* Appends a map and its step on value number *value, which becomes the result's number. Nothing
 * where map.from and map.to are one type. */
llrt_status draft_retype(draft *d, plan_map map, int *value);
llrt_status draft_cast(draft *d, llrt_dtype from, llrt_dtype to, int *value);
/* Appends a step for each of the maps first .. first + n - 1 of the kernel on value number *value,
 * which becomes the last one's result. masked: steps that read a tensor look at bounds. */
llrt_status draft_map_steps(draft *d, int first, int n, bool masked, int *value);

/* ---- finish.c ---- */

/* Begins *d: an empty kernel for a description on a target. options: NULL for none. */
void draft_begin(draft *d, const op_description *desc, const plan_target *target,
                 const plan_options *options, plan_kernel *kernel);
/* Threads, shared memory and cost of a kernel whose steps are complete. */
void draft_finish(plan_kernel *kernel);

/* ---- append.c ---- */

/* Appends a step. Errors: UNSUPPORTED past PLAN_MAX_STEPS. */
llrt_status draft_step(plan_kernel *kernel, plan_step step);
/* Appends a step that owns a body; *at is its number. */
llrt_status draft_open(plan_kernel *kernel, plan_step step, int *at);
/* Ends the body of step `at`: all steps that were appended since. */
void draft_close(plan_kernel *kernel, int at);
/* Appends a value; *number is it. Errors: UNSUPPORTED past PLAN_MAX_VALUES. */
llrt_status draft_value(plan_kernel *kernel, const plan_value *value, int *number);

/* The lengths of a kernel's lists, to take back what was appended since. */
typedef struct draft_mark {
  int steps, values, buffers;
} draft_mark;
draft_mark draft_mark_of(const plan_kernel *kernel);
void draft_take_back(plan_kernel *kernel, draft_mark to);

/* ---- flat.c: kernels of whole digits, without a tile ---- */

/* Makes the digits and the places of the element index: digits that are not walked in the order of
 * tensor t's memory; digits that are walked by position along their axis. */
llrt_status draft_flat_digits(draft *d, int t);
/* The value of a tile of 2^tile_bits elements: one element (of 4 bits: two) in each lane and
 * register. *iterations: log2 turns of the loop over it. */
llrt_status draft_flat_value(const draft *d, int tile_bits, plan_value *value, int *iterations);
/* A number that grows with the distance by which digit i moves tensor t's address: the lowest
 * address bit that it moves; STRIDE digits come behind all columns. */
int draft_memory_order(const draft *d, int i, int t);
/* log2 elements that a thread must move together: those of the destination that share a byte, or a
 * word that a map acts on; or those of a vector. */
int draft_flat_pair(const draft *d);
/* log2 numbers of the element index that a block takes. */
int draft_flat_tile(const draft *d);
/* Sets d->flat_vector. Needs: places. */
void draft_flat_vector(draft *d);
/* The same where vectors need to follow each other on tensor t alone, along the first places. */
void draft_place_vector(draft *d, int t);

/* ---- dense.c ---- */

/* Whether number n of the element index is element n of the destination's memory. */
bool draft_is_dense(const draft *d);
/* Whether all digits, in the order of the destination's memory, count elements that follow each
 * other without a gap, the first of them at the beginning of a byte, and all are stored. Needs:
 * digits. */
bool draft_is_sequence(const draft *d);
/* Fills kernel.sequence. Needs: space. */
llrt_status draft_sequence(draft *d);

/* ---- overhang.c ---- */

/* Whether rows of 4-bit elements of a tensor, which begin in either half of a byte, may be loaded
 * by the words that they touch; stored, by bytes, of which the first has an element of the row
 * before. */
bool draft_can_straddle(const draft *d, int tensor);
/* Whether accesses to a tensor may overhang in this kernel at all. */
bool draft_can_overhang(const draft *d, int tensor);
/* Whether row groups of the value have lanes enough for a store of 2^vector elements an access to
 * write both ends of a row. */
bool draft_group_fits(const draft *d, int tensor, const plan_value *value, int vector);
/* Whether a load of the value that overhangs rows can touch nothing but its elements
 * (plan_step.exact). */
bool draft_can_be_exact(const draft *d, int tensor, const plan_value *value, int vector);
/* Whether a masked load of the value may be loose (plan_step.loose). */
bool draft_may_be_loose(const draft *d, const plan_step *step, const plan_value *value);
/* Whether an overhanging load should take the words that its accesses touch (plan_step.by_words).
 */
bool draft_by_words(const draft *d, const plan_step *step, const plan_value *value);
/* Fills kernel.memory where a step of the finished kernel needs it. */
llrt_status draft_memory(draft *d);

#endif
