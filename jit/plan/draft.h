/* A plan in the making: what the passes of convert planning hand to each other. Private to jit/plan.
 *
 *   extents.c   storages and promises -> what is known of extents and strides; kernel arguments
 *   refine.c    -> the list of digits
 *   fuse.c      digits that follow each other everywhere -> one
 *   digits.c    -> their contributions to every address
 *   index.c     indices of the tensors -> what the kernel knows of them, what they keep from vectors
 *   tile.c      digits -> work tile, orders of its bits on both sides, block representatives
 *   bounds.c    where digits overhang the tensors
 *   overhang.c  rows that are not aligned
 *   assign.c    work tile -> which bits are registers, lanes, warps on either side
 *   region.c    the loop over a region's tiles
 *   halves.c    a large tile in two loops
 *   edge.c      accesses that look at bounds
 *   collect.c   stores of rows that are no powers of two, as one stretch of memory
 *   exchange.c  one assignment -> the other, as steps (by one of the routes of exchange_route.c)
 *   scan.c      scans along bits of the tile; scan_tile.c, scan_kernel.c, scan_lookback.c of whole tensors
 *   map.c       value maps, before and after the exchange
 *   panel.c     gathers out of shared memory
 *   flat.c, in_place.c   the kernels without a tile
 *   dense.c     whether a flat kernel's positions are memory's
 *   append.c    steps, values: appended to the kernel, and taken back
 *   plan_convert.c runs them; convert_variants.c says for which shapes */
#ifndef LLRT_JIT_PLAN_DRAFT_H
#define LLRT_JIT_PLAN_DRAFT_H

#include "base/bits.h"
#include "jit/plan/access.h"

/* The most low bits of a digit with an upper part that a tile may take; of a reduce, whose tiles may lie along
 * one axis alone. */
#define DRAFT_REST_BITS 10
#define DRAFT_REDUCE_REST_BITS 15

/* What is known of a number of positions along an axis. */
typedef struct draft_extent {
  int64_t known;    /* -1: only a run knows */
  int64_t multiple; /* divides it, >= 1 */
  int64_t most;     /* it is never larger */
} draft_extent;

/* What is known of a digit on one tensor's side beyond plan_digit_side. */
typedef struct draft_side {
  int order;       /* place in the storage, minor to major; sorts digits by memory. -1: the tile */
  int align;       /* log2 of what divides the stride (STRIDE), or the column of bit 0 */
} draft_side;

/* What some tiles store within the bounds, one after the other in a region: rows of memory without a gap. */
typedef struct draft_stretch {
  int32_t elements;    /* of a row; 0: there is none */
  int32_t rows, pitch; /* elements from row to row */
  int32_t reach;       /* of all, with what bounds leave out */
  int align;           /* log2 elements that divide where rows begin and end */
  int iterations;      /* log2 tiles */
} draft_stretch;

/* Tiles inside of every bound and others have their steps in common, but for accesses. */
typedef struct draft_joint {
  bool used;
  uint8_t whole; /* in a region: the value that has an iteration's tile */
} draft_joint;

typedef struct draft {
  const llrt_op_desc *desc;
  const plan_options *options;
  plan_kernel *kernel;
  bool divided; /* the storages have no common refinement: the digits are the destination's, the source's
                   address is computed by division (a flat kernel can) */

  draft_extent shape[LLRT_MAX_RANK];
  draft_extent written[LLRT_MAX_RANK]; /* what the destination stores: the shape, or with its pads */
  bool pads[LLRT_MAX_RANK];            /* written may be more than the shape */
  int64_t count[PLAN_MAX_DIGITS];      /* positions of a digit; -1: only a run knows */
  bool top[PLAN_MAX_DIGITS];           /* the outermost digit of its axis */
  bool fused[PLAN_MAX_DIGITS];         /* goes on through digits of other axes: its axis names only the first */
  bool mixed[LLRT_MAX_RANK];           /* a digit of the axis is fused: coordinates of it say nothing */
  bool by_memory;                      /* flat, 4 bits: positions follow each other as the destination's elements do in memory,
                                          whatever digits count them */
  bool divides;                        /* by_memory: the digits are the destination's, as if there were no common refinement */
  int pair_axis;                       /* flat, 4 bits: the axis along which the destination's elements of a */
  int64_t pair_step;                   /* byte lie this far apart; axis -1: none has both */
  int address_align[LLRT_MAX_TENSORS]; /* log2 elements; 0 where only bytes are promised */
  draft_side side[PLAN_MAX_DIGITS][LLRT_MAX_TENSORS];

  /* Vectors of the digits' bits: bit z of a vector is out bit z of `space` before digits with an upper
   * part are cut to what the tile takes. first[d] is digit d's first bit, bits[d] how many it may give. */
  int n_bits;
  int first[PLAN_MAX_DIGITS], bits[PLAN_MAX_DIGITS];
  uint64_t column[LLRT_MAX_TENSORS][LLRT_MAX_BITS]; /* address bits, 0 for STRIDE digits */
  uint64_t column_bits[LLRT_MAX_TENSORS];           /* which bits have their whole effect in column */

  /* Indices: which bits choose a value of one of the tensor's, and what their values leave of alignment:
   * log2 of what divides every stride of theirs, and the lowest address bit that their tile part moves.
   * skips: bits that choose a value of the source's by which elements may be left out; a vector of the
   * destination holds none of them. */
  uint64_t selects[LLRT_MAX_TENSORS], skips;
  int index_align[LLRT_MAX_TENSORS], index_low[LLRT_MAX_TENSORS];
  uint64_t walked; /* bits of axes along which neighbouring elements of the other side have values of their
                      own: blocks walk along them first, so that a panel of memory stays in the cache */
  uint64_t inside;  /* in place: the digits (bit i: digit i) whose positions are those of one panel (in_place.c) */
  bool walks_panel; /* blocks walk panel_axis, which index 0 of the source chooses along (panel.c) */
  int panel_axis;
  uint64_t opaque; /* bits with an effect on neither tensor but through indices */

  /* The work tile: `order[t]` is a basis of it, contiguous run of tensor t first. */
  int tile_bits;
  int region_bits; /* of these, the last of either order: a block takes what they number one after the other */
  bool regions;    /* asked for */
  bool whole;      /* tiles are not to be halved */
  uint64_t order[2][LLRT_MAX_BITS];
  uint64_t ahead[LLRT_MAX_BITS]; /* regions: another basis, rows of the source as long as the region's first */
  int run[2];    /* leading vectors of order[t] with address 1, 2, 4, … */
  int vector[2]; /* log2 elements of one access; <= run */
  int thread_bits; /* log2 elements of a GPU's thread, at least; 0: what accesses want */
  int align[2];  /* log2 elements that divide the address of every run */
  bool may_overhang[2], overhang[2]; /* accesses may be, and are, wider than the runs are aligned */
  bool whole_lines[2]; /* runs are whole sectors of memory */
  draft_stretch stretch; /* what is collected */
  draft_joint joint;
  int flat_vector; /* log2 elements that a flat kernel's accesses move: they follow each other on both sides */
  int word_elements; /* log2 destination elements that must stay together, because a map acts on 32-bit
                        words of them; 0: none */
  bool parts_bytes;  /* 4 bits: an index may leave out one of the two elements of a byte of the destination */
  int maps_before;   /* how many of kernel->map come before the exchange */
  int n_grid;
  uint64_t grid[LLRT_MAX_BITS]; /* block representatives of fixed bits */
  int n_walked;                 /* the last of them are the turns of a walk */
  int64_t group[LLRT_MAX_RANK]; /* DOT: > 0: tiles along the axis are of so many positions, no power of two */
  int row_bits; /* > 0: of a dot's axis M the tile takes so many bits, however few positions there are */
  bool splits;                  /* blocks share a walk, and digit `split` numbers them */
  int summed, first_tiled;      /* DOT: the axis that is walked; the axes from which on tiles are taken */
  int split;
} draft;

/* log2 bytes of an element of tensor t; -1 where two share a byte. */
static inline int draft_log2_bytes(const draft *d, int t) {
  return bits_log2(d->kernel->tensor_bits[t]) - 3;
}

static inline const llrt_storage *draft_storage(const draft *d, int tensor) {
  return d->desc->tensors[tensor].storage;
}

/* ---- extents.c ---- */

/* Appends (or finds) a kernel argument; its number. Errors: UNSUPPORTED past PLAN_MAX_ARGS. */
llrt_status draft_arg(draft *d, plan_arg arg, plan_number *number);
/* Fills shape, written, pads, address_align. Errors: INVALID_ARGUMENT where the tensors' fixed extents
 * contradict each other or a promise. */
llrt_status draft_extents(draft *d);
/* Whether the axis's extent lies in device memory; what is known of it is then its limit. */
bool draft_on_device(const draft *d, int axis);
/* The positions along an axis that a tensor's tile and fixed digits hold: its pads go to multiples. */
int64_t draft_unit(const draft *d, int tensor, int axis);
/* log2 positions of a tensor's tile along an axis. */
int draft_tile_bits(const llrt_storage *storage, int axis);
/* Positions of storage digit i, or -1 where only a run knows. */
int64_t draft_digit_extent(const draft *d, int tensor, int i);
/* The stride of storage digit i, or -1 where only a run knows; log2 of what surely divides it. */
int64_t draft_known_stride(const draft *d, int tensor, int i);
int draft_stride_alignment(const draft *d, int tensor, int i);
/* The number ceil or floor(extent / divisor) of an axis's shape or written extent: known now or an
 * argument. */
llrt_status draft_number(draft *d, plan_arg_kind kind, int axis, bool written, int64_t divisor,
                         plan_number *number);

/* ---- refine.c ---- */

/* A digit of a storage along an axis: its position 1 is `start` positions of the axis. */
typedef struct draft_segment {
  int64_t start;
  int digit; /* of the storage; -1: the tile, -2: nothing, positions that the tensor does not have */
} draft_segment;
typedef struct draft_segments {
  int n;
  draft_segment at[LLRT_MAX_DIGITS + 3];
} draft_segments;
llrt_status draft_list_segments(const draft *d, int tensor, int axis, draft_segments *out);
/* The one that holds positions from `step` on. */
const draft_segment *draft_segment_at(const draft_segments *segments, int64_t step);

/* Appends a digit of `count` positions (-1: unknown) without contributions. */
llrt_status draft_new_digit(draft *d, int axis, int64_t step, int64_t count, int *number);
/* Makes the axes' digits; sets d->divided where only the destination's are kept. */
llrt_status draft_refine(draft *d);
/* Decides every digit's bits, first and rest. */
llrt_status draft_digit_bits(draft *d);

/* ---- fuse.c ---- */
void draft_fuse(draft *d);

/* ---- digits.c ---- */
llrt_status draft_digits(draft *d);
/* Columns of `n` bits of a tile along an axis, from bit `from`. */
llrt_status draft_tile_columns(const llrt_storage *storage, int axis, int from, int n,
                               uint64_t *columns);
/* The stride of storage digit s times factor, known or an argument; negative where the digit counts down. */
llrt_status draft_stride(draft *d, int tensor, int s, int64_t factor, plan_number *stride);

/* index.c */
/* Whether the tensor's storage does not see the axis's logical coordinate: an index stands between, or the
 * axis only selects. *folded: it has one position there. */
bool draft_is_indexed(const draft *d, int tensor, int axis, bool *folded);
/* Whether the tensor's address comes from a list. */
bool draft_has_pointers(const draft *d, int tensor);
/* Fills kernel.index and what the draft knows of indices. Needs: all digits. */
llrt_status draft_indices(draft *d);
/* Says of each index whether a block has one value of it. Needs: space. */
void draft_uniform_indices(draft *d);
/* log2 values that an access should hold of the index of tensor t that `moved`, a vector of the digits' bits,
 * chooses from: those of one access to its memory. -1: none is chosen. */
int draft_index_vector(const draft *d, int t, uint64_t moved);
/* Fills d->walked from the first vector of each side's run. */
void draft_walk_indices(draft *d, const uint64_t first[2]);
/* The steps before a kernel's own: reports, by walking value number `walked` in 2^iterations turns, and the
 * branch around what follows; *branch is its step, or -1. close ends it. */
llrt_status draft_open_indices(draft *d, int walked, int iterations, int *branch);
void draft_close_indices(draft *d, int branch);

/* tile.c */
llrt_status draft_tile(draft *d);
/* Vectors of digit bits that move tensor t's address by exactly 2^j (0: there is none); how many there are
 * without a gap; log2 elements that divide every address but for these. */
typedef struct draft_runs {
  int n, align;
  uint64_t vector[LLRT_MAX_BITS];
} draft_runs;
void draft_runs_of(draft *d, int t, draft_runs *out);
/* space.c: fills kernel.space, columns, digits' bits, places. */
llrt_status draft_space(draft *d);
/* A vector of the digits' bits as bits of `space`. */
uint64_t draft_repack(const draft *d, uint64_t x);
/* Appends the places of what a scan walks, as positions along the axis follow each other: of whole digits, or with
 * `upper` of what lies above their bits. */
llrt_status draft_walk_places(draft *d, bool upper);
/* Appends a block (or flat index) place: digit i's positions counted in steps of `divisor` of its axis. */
llrt_status draft_digit_place(draft *d, int i, int64_t divisor);
/* The number of those positions. */
llrt_status draft_digit_count(draft *d, int i, int64_t divisor, plan_number *count);
/* The only digit of a kernel whose tensors are one tile after the other: of 2^bits positions inside a tile, which has 2^size
 * elements of each tensor. */
llrt_status draft_tile_digit(draft *d, int bits, int size);

/* bounds.c: the bounds of the kernel's digits; needs their final bits. */
llrt_status draft_bound(draft *d, plan_bound bound);
llrt_status draft_bounds(draft *d);
/* A bound that may part elements which differ by the space bits `moved` alone; NULL: there is none. */
const plan_bound *draft_splits(const draft *d, uint64_t moved, int tensor);
/* The largest v <= vector so that the 2^v elements of an access to a tensor by `value` are on the same
 * side of every bound. */
int draft_whole_vector(const draft *d, const plan_value *value, int tensor, int vector);
/* 4 bits: whether a bound or an index may part elements of a byte of the destination, which differ by the digits' bits `pair`. */
bool draft_parts_bytes(const draft *d, uint64_t pair);
/* Whether a bound whose limit is known parts the elements of a GPU's access of 2^vector elements. */
bool draft_known_parts(const draft *d, const plan_value *value, int tensor, int vector);

/* assign.c: values of both sides and of the masked path; needs space. */
typedef struct draft_values {
  plan_value load, store; /* before and after the exchange */
  plan_value ahead;       /* regions: what is asked for of the next one */
  plan_value edge;        /* one element a lane and iteration */
  int edge_iterations;    /* log2 */
} draft_values;
llrt_status draft_assign(draft *d, draft_values *values);

/* collect.c: tiles of a region whose stores are to be collected, because together they have whole lines of the
 * destination (d->stretch). Needs: space, bounds. */
void draft_find_stretch(draft *d);

/* region.c: opens the loop over a region's tiles, with what collects the stores of those of d->stretch; the steps that
 * were opened, outermost first, which close ends. */
typedef struct draft_region {
  int n, step[3];
} draft_region;
llrt_status draft_open_region(draft *d, const draft_values *values, draft_region *opened);
void draft_close_region(draft *d, const draft_region *opened);
/* Appends what is asked for ahead in an iteration, or in an inner loop of 2^inner turns. In a region only. */
llrt_status draft_prefetch(draft *d, const draft_values *values, int inner);

/* halves.c: a tile of many registers in two loops (host). The values of the first, before and after, and of the
 * second. */
typedef struct draft_halves {
  bool halved;       /* else the tile is moved as a whole */
  int iterations[2]; /* log2, of either loop */
  plan_value load, stored, loaded, store;
  uint64_t place[LLRT_MAX_BITS]; /* what lies between them, as tile vectors by offset */
} draft_halves;
llrt_status draft_halve(draft *d, const draft_values *values, draft_halves *out);
/* Appends both loops. The steps' values are set here. */
llrt_status draft_halves_steps(draft *d, const draft_values *values, const draft_halves *halves,
                               plan_step load, plan_step store);

/* edge.c */
/* A step of the interior becomes one of the edge. */
void draft_mask_step(const draft *d, plan_step *step);
/* Whether the host's edges move registers, not elements. */
bool draft_moves_parts(const draft *d);
/* The interior's steps from `first` to `end` once more, accesses masked and as wide as masks allow: the same values
 * and buffers serve both paths. False where that would be too much code. */
llrt_status draft_masked_steps(draft *d, int first, int end, bool *done);
/* Whether each of the host's tiles overhangs a bound, wherever it lies: rows of 48 of which tiles have 64. */
bool draft_is_always_edge(const draft *d, const plan_value *tile);
/* Whether of a tile of the host's accesses alone are to be there both ways. */
bool draft_joins_ways(const draft *d, const draft_values *values, const draft_halves *halves);
/* Appends a load or store, with d->joint both ways; it stands in a loop of 2^inner turns beside the region's. */
llrt_status draft_access(draft *d, plan_step step, int inner);

/* exchange_route.c: log2 lanes of the 128-bit parts of a SIMD register, in which unpack instructions work; 0 on a GPU. */
int draft_interleave_bits(const draft *d, int bits);
/* The kernel's lengths, to take back what was appended since. */
typedef struct draft_mark {
  int steps, values, buffers;
} draft_mark;
draft_mark draft_mark_of(const plan_kernel *kernel);
void draft_take_back(plan_kernel *kernel, draft_mark to);
/* Appends steps that turn value `in` into the layout of *target; *out gets its number. */
llrt_status draft_exchange(draft *d, int in, const plan_value *target, int *out);

/* scan.c: a scan of a value along bits of the tile. */
typedef struct draft_scan_spec {
  uint8_t combiner, type; /* of the elements, which have 32 or 64 bits; jit/plan/combine.h */
  plan_order order;
  bool exclusive, reverse;
  int carry; /* a value reduced along the order that stands before (reverse: after) everything; -1: none */
} draft_scan_spec;
/* Appends steps that make *out, laid out as value `in`, of it; *total (NULL: not wanted) becomes the
 * combination of all positions, without the carry. Any layout whose columns are independent or zero. Uses shared
 * memory where bits of the order are warps. */
llrt_status draft_scan(draft *d, int in, const draft_scan_spec *spec, int *out, int *total);
/* The layout in which a value is scanned: its own, or where its columns are sums of bits, one of unit vectors. */
void draft_scan_layout(const plan_value *value, const plan_order *order, plan_value *out);
/* Appends what stands before (reverse: after) value `at` combined with that; *out is laid out as the one that is reduced
 * less. */
llrt_status draft_join_before(draft *d, const draft_scan_spec *spec, int before, int at, int *out);
/* Whether a store to shared memory has to wait for what reads there: before it, or in a turn before. */
bool draft_shared_in_use(const plan_kernel *kernel);
/* Whether other blocks of the cluster may still read a block's memory, in which it then neither stores nor ends. */
bool draft_others_read(const plan_kernel *kernel);
/* gather_steps.c: appends steps that make *out of value `in`, each element taken at the coordinate along tile bits
 * [axis, axis + axis_bits) that value `coordinates` (integers of 32 or 64 bits) holds, modulo the extent; laid
 * out as the coordinates. Errors: UNSUPPORTED for a tile that shared memory does not hold, and for shuffles
 * where the options force them and there are none. */
llrt_status draft_gather(draft *d, int in, int coordinates, int axis, int axis_bits, int *out);

/* plan_convert.c: load, maps, exchange and store of a tile (halves: in two loops, where it is halved), in blocks at
 * the edge once more with masks. */
llrt_status draft_tile_steps(draft *d, const draft_values *values, const draft_halves *halves, bool streaming);

/* map.c */

/* Resolves the description's maps into kernel->map. */
llrt_status draft_maps(draft *d);
/* Maps of words see a destination's bytes as they are before their halves are exchanged. Needs: kernel.high_first. */
void draft_swap_words(const draft *d);
/* The source element that the maps of elements turn into `value`. (Words are mapped pads and all.) Errors:
 * UNSUPPORTED where the source's type has none. */
llrt_status draft_unmap(const plan_kernel *kernel, uint64_t value, uint64_t *unmapped);
/* log2 elements of `bits` in a machine word: 32 bits on a GPU, a lane on the host. */
int draft_word_of(const draft *d, int bits);
/* A value of the same layout with elements of other bits. */
plan_value draft_retyped(const draft *d, const plan_value *value, int bits);
/* Appends to the kernel's maps; its number. Errors: UNSUPPORTED past PLAN_MAX_MAPS. */
llrt_status draft_map(plan_kernel *kernel, plan_map map, uint8_t *number);
/* Appends a map to another type and its step; *value becomes the result. None where the types are one. */
llrt_status draft_retype(draft *d, plan_map map, int *value);
llrt_status draft_cast(draft *d, llrt_dtype from, llrt_dtype to, int *value);
/* Appends a step for each of the n maps from `first` on; *value becomes the last one's result. */
llrt_status draft_map_steps(draft *d, int first, int n, bool masked, int *value);
/* Positions of an axis that share an element of tensor t: 1 but for scales; LLRT_GROUP_ALL. */
int64_t draft_group(const draft *d, int t, int axis);
/* Whether a reduce drops the axis; whether tensor t has one position along it therefore. */
bool draft_is_reduced(const draft *d, int axis);
/* Whether blocks walk the axis: a reduce's, or the one of a scan or of a panel. */
bool draft_is_walked(const draft *d, int axis);
bool draft_is_dropped(const draft *d, int t, int axis);
/* Whether words that a map acts on stay whole in every block. Errors: UNSUPPORTED where they do not. */
llrt_status draft_check_words(const draft *d);

/* in_place.c: kernel.panel, from the digits of a flat kernel. Errors: UNSUPPORTED with the reason. */
llrt_status draft_panel(draft *d);

/* An empty kernel of a description for a target. */
void draft_begin(draft *d, const llrt_op_desc *desc, const plan_target *target,
                 const plan_options *options, plan_kernel *kernel);

/* Appending to the kernel. */
llrt_status draft_step(plan_kernel *kernel, plan_step step);
llrt_status draft_value(plan_kernel *kernel, const plan_value *value, int *number);

/* Threads, shared memory and cost of a kernel whose steps are complete. */
void draft_finish(plan_kernel *kernel);

/* flat.c: whole digits without a tile, split into places: of those that are not walked in tensor t's
 * order, of the others as positions along their axis follow each other. */
llrt_status draft_flat_digits(draft *d, int t);
/* The value of one element (of 4 bits: two) a lane and register; iterations: log2 turns of a loop over them. */
llrt_status draft_flat_value(const draft *d, int tile_bits, plan_value *value, int *iterations);
/* A digit's place in the order of tensor t's memory: the lowest address bit that it moves; STRIDE digits after all columns. */
int draft_memory_order(const draft *d, int i, int t);
/* dense.c: the same of places, of which the first is the fastest: whether position n is the destination's element n. */
bool draft_is_dense(const draft *d);
/* Whether all digits in the order of the destination's memory count elements that follow each other without a gap, from a byte's
 * first half on, and all are stored. Needs: digits. */
bool draft_is_sequence(const draft *d);
/* Fills kernel.sequence. Needs: space. */
llrt_status draft_sequence(draft *d);
/* log2 positions of the flat index that a block takes. */
int draft_flat_tile(const draft *d);
/* Sets d->flat_vector. Needs: places. */
void draft_flat_vector(draft *d);
/* The same where vectors are tensor t's alone, of the first places' digits. */
void draft_place_vector(draft *d, int t);
/* The steps and places of the kernel that takes one element after the other. */
llrt_status draft_flat(draft *d);

/* overhang.c */

/* Whether rows of 4-bit elements that begin in either half of a byte may be loaded by the words that they touch, or stored by
 * bytes, of which the first has an element of the row before. */
bool draft_can_straddle(const draft *d, int tensor);
/* Whether accesses to tensor t may overhang in this kernel at all. */
bool draft_can_overhang(const draft *d, int tensor);
/* Whether the lanes of a group are enough for a store of both its ends. */
bool draft_group_fits(const draft *d, int tensor, const plan_value *value, int vector);
/* Whether a masked load of the value may be loose. */
bool draft_may_be_loose(const draft *d, const plan_step *step, const plan_value *value);
/* Whether an overhanging load should take the words that its pieces touch (plan_step.by_words). */
bool draft_by_words(const draft *d, const plan_step *step, const plan_value *value);
/* Fills kernel.memory where steps of the finished kernel need it. */
llrt_status draft_memory(draft *d);

#endif
