/* A plan: what a kernel does, as data. Planning needs no LLVM; emission needs nothing but this.
 *
 * Coordinates. A kernel sees the tensors as one list of logical *digits* (DESIGN 2): the common
 * refinement of all storages. A digit holds `bits` fixed low bits, an out-dim of `space`, and may have
 * an upper part (rest) of any number of positions. `space` maps (tile, grid) bits linearly onto the
 * digits' fixed bits: tile bits are worked on inside a block, grid bits number blocks. The upper parts
 * are grid places too. An axis's coordinate is the sum of position * step over its digits.
 *
 * Address of tensor t, in elements, as an integer: Z_t(origin[t] + sum), Z_t its swizzle, and the sum
 *     XOR over fixed bits b of COLUMNS digits of column[t][b] * bit b
 *   + sum over STRIDE digits of stride * (upper << bits | fixed bits)
 *   + sum over COLUMNS digits with rest of upper * stride
 *   + sum over the terms of t, each from an axis's coordinate (where no refinement exists)
 * INDEXED digits add nothing themselves: an index of the tensor reads its value at their position, and
 * the value's low bits join the XOR, the rest of it the sum.
 *
 * Bounds. Digits may overhang what a tensor has: an access happens where all bounds of its tensor hold;
 * a load that does not happen gives `fill`. Only masked steps look at bounds.
 *
 * Values. A value is a register tile: layout (register, lane, warp, iteration) -> tile. Zero columns in
 * lane or warp are copies, stored once. The lowest `word` register bits lie inside one machine word.
 * A step is defined by the layouts of its input and output alone. Elements keep their width but in maps:
 * a tensor, a buffer and the values that are loaded from it or stored to it have the same. */
#ifndef LLRT_JIT_PLAN_PLAN_H
#define LLRT_JIT_PLAN_PLAN_H

#include "jit/plan/launch.h"
#include "jit/plan/target.h"

#include <llrt/layout.h>

#define PLAN_MAX_DIGITS LLRT_MAX_OUT_DIMS
#define PLAN_MAX_STEPS 160
#define PLAN_MAX_VALUES 80
#define PLAN_VALUE_BITS 9 /* log2 words of a value in a thread */
#define PLAN_MAX_BUFFERS 8
#define PLAN_MAX_VARIANTS 24 /* kernels of all variants */
#define PLAN_MAX_MAPS (LLRT_MAX_MAPS + 16) /* of a dot's edges; of a convert: a cast beside the description's */
#define PLAN_MAX_BOUNDS 32
#define PLAN_MAX_TERMS 24
#define PLAN_TERM_BITS 32
#define PLAN_MAX_ORDERS 32
#define PLAN_MAX_AHEAD 12 /* steps of a walk */
#define PLAN_MAX_INDICES (2 * LLRT_MAX_INDICES) /* of all tensors of a kernel */

typedef enum plan_contribution { PLAN_COLUMNS = 0, PLAN_STRIDE = 1, PLAN_INDEXED = 2 } plan_contribution;

typedef struct plan_digit_side {
  uint8_t kind;       /* plan_contribution */
  plan_number stride; /* STRIDE: of one position of the digit. COLUMNS with rest: of the upper part */
} plan_digit_side;

typedef struct plan_digit {
  int8_t axis;        /* -1: a copy that only some tensors have */
  uint8_t bits;       /* fixed bits, = space.out[digit].bits */
  bool rest;          /* has an upper part */
  int64_t step;       /* the digit's position 1 is `step` positions of the axis */
  plan_number upper;  /* rest: number of upper positions */
  plan_digit_side side[LLRT_MAX_TENSORS];
} plan_digit;

/* What accesses to some tensors must keep: a coordinate of an axis, or a digit's position, < limit. */
typedef struct plan_bound {
  int8_t axis;        /* or -1: of digit `top` alone */
  int8_t top;         /* the axis's outermost digit */
  uint8_t tensors;    /* bit t: of accesses to tensor t */
  plan_number limit;
  plan_number full;   /* upper positions of `top` below this are inside, whatever is below them */
  bool device;        /* limit is the axis's device extent rounded up to `round`, full follows from it */
  int64_t round, group; /* device: group is the positions of the axis that one upper position covers */
} plan_bound;

/* An extent that the kernel reads from device memory: an int32 at the address, taken into 0 .. limit. */
typedef struct plan_device_extent {
  bool used;
  plan_number address, limit;
} plan_device_extent;

/* A digit of one tensor's storage that the kernel's digits do not refine: the tensor's address gets
 * column or stride * (coordinate of axis / step mod extent). */
typedef struct plan_term {
  int8_t tensor, axis;
  uint8_t bits;       /* > 0: columns of so many bits */
  int64_t step;
  int64_t extent;     /* 0: not reduced */
  plan_number stride;
  uint64_t column[PLAN_TERM_BITS];
} plan_term;

/* One place of the block index (or, with flat decode, of the element index), fastest first. */
typedef struct plan_place {
  int8_t digit;             /* >= 0: upper part of that digit, `count` positions */
  uint8_t bits;             /* digit < 0: all bits of in-dim grid */
  plan_number count, magic, magic_shift; /* digit >= 0; magic only where count is no constant */
} plan_place;

/* One place of an index's value above the tile, minor to major. */
typedef struct plan_index_part {
  int64_t extent;     /* positions; not looked at in the last part, which takes the rest */
  plan_number stride; /* elements */
} plan_index_part;

/* An index: value = data[sum over axes of coordinate * stride], checked, then split as the storage splits
 * that axis's coordinate, or taken as the address of offset 0 (llrt_index). */
typedef struct plan_index {
  uint8_t tensor;
  uint8_t kind, out_of_range; /* llrt_index_kind, llrt_out_of_range */
  bool wide;                  /* values have 64 bits, not 32 */
  bool uniform;               /* one value a block */
  int8_t along;               /* the axis along which values follow each other; -1: not known */
  uint8_t group;              /* log2 values of the widest access that their alignment allows */
  uint8_t axes;               /* bit a: selected by axis a */
  plan_number data, extent, report; /* report: with LLRT_RANGE_REPORT only */
  plan_number stride[LLRT_MAX_RANK]; /* by axis, values */
  plan_number limit[LLRT_MAX_RANK];  /* by axis: its positions; beyond there are no values */
  uint8_t tile_bits;                 /* low bits of the value that the storage's tile takes */
  uint64_t column[LLRT_MAX_BITS];    /* their address columns */
  uint8_t n_parts;
  plan_index_part part[LLRT_MAX_DIGITS];
} plan_index;

/* The in-dims of every value, in this order. */
typedef enum plan_dim {
  PLAN_REGISTER = 0,
  PLAN_LANE = 1,
  PLAN_WARP = 2,
  PLAN_ITERATION = 3
} plan_dim;

typedef struct plan_value {
  llrt_layout layout; /* register, lane, warp, iteration -> tile */
  uint8_t word;       /* log2 elements per machine word */
  uint8_t bits;       /* of an element; 4: two share a byte, the first in its low half */
  uint64_t reduced;   /* bits of the kernel's tile along which elements were combined: the value's tile has the
                         others alone, in their order */
} plan_value;

/* A shared buffer: element offset, repetition and block of the cluster -> tile. A block stores what is its own, and
 * loads from where it lies; a zero column of block is a copy that each block has, and loads of its own. A tile larger than the buffer goes through it in
 * 2^repetition bits parts, each of which is whole registers, or all that some warps have, of every value that
 * is stored or loaded. The highest of the repetition's bits may be those of a loop's iterations, each of which has the
 * buffer to itself. Buffers of a kernel that lie at the same place are parted by barriers. A ring has several slots,
 * one behind the other, of which a turn of the walk stores to and loads from that of its number in the block's share. */
typedef struct plan_buffer {
  llrt_layout layout; /* offset, repetition, block -> tile */
  int32_t bytes; /* of a slot */
  int32_t offset; /* where it lies, bytes */
  uint8_t slots; /* 0: it is no ring */
  uint8_t iterations; /* how many bits of repetition a loop numbers; the others are the steps' */
  uint8_t bits; /* of an element */
} plan_buffer;

/* What a PLAN_MAP step does to each element; as llrt_map (include/llrt/map.h), resolved. */
typedef enum plan_map_kind {
  PLAN_MAP_XOR = 1,  /* element ^= constant */
  PLAN_MAP_CAST,     /* element of type `from` -> the nearest of type `to`; to 64-bit integers: extended */
  PLAN_MAP_SCALE,    /* element of type `from` times the scale at its coordinates, which the step reads
                        from its `tensor`, or by_value: that of value `second`, which is reduced along more (each
                        of its elements meets all that it stands for, in the same thread), in f32 or f64
                        (number_is_wide) -> the nearest of type `to` */
  PLAN_MAP_MULTIPLY, /* element of type f32 or f64 times the constant, a code of that type */
  PLAN_MAP_RELU,     /* element of type f32 or f64: 0 where it is less */
  PLAN_MAP_GELU,     /* times (1 + erf(element / sqrt 2)) / 2, a factor to 2^-20 */
  PLAN_MAP_SILU,     /* times 1 / (1 + exp(-element)), a factor to 2^-20 */
  PLAN_MAP_TRUTH,    /* element of type `from` -> 1 (of type U32) where it is not zero, NaN included, else 0 */
  PLAN_MAP_WORD_BITS /* bit i of every 32-bit word = bit perm[i] of it. Elements of less than 32 bits:
                        the lowest register bits (host: lane bits) number them inside the word */
} plan_map_kind;

typedef struct plan_map {
  uint8_t kind;     /* plan_map_kind */
  uint8_t from, to; /* llrt_dtype of in and out */
  uint8_t scale;    /* SCALE: llrt_dtype of the tensor */
  bool subtracts;   /* SCALE: element - scale instead of the product */
  bool any_nan;     /* CAST, SCALE to f32 or f64: a NaN need not become the one that is written */
  bool words;       /* CAST, SCALE of less than 32 bits, GPU: as WORD_BITS by perm before */
  uint8_t low, high; /* SCALE by value of e8m0: a promise about its bytes; both 0: none */
  int16_t shift;    /* the same, of e2m1 to e5m2: products are divided by 2^shift */
  uint64_t constant;
  uint8_t perm[32];
} plan_map;

/* An order of elements: tile bits of the kernel, the one that counts single positions first. */
typedef struct plan_order {
  uint8_t n, bit[LLRT_MAX_BITS];
} plan_order;

typedef enum plan_step_kind {
  PLAN_LOAD = 1,     /* out = tensor; 2^vector elements an access */
  PLAN_REGISTERS,    /* out = in with registers renamed and bytes permuted: same lane, same warp */
  PLAN_SHUFFLE,      /* out = in moved between lanes of a warp: one round, whole words. With X = in's
                        layout, Y = out's: X(r, l) = Y(r', l') gives r from (r', l') through at most
                        one functional of l'. Lanes that hold copies on one side only change
                        the number of registers. GPU, or one vector of the word changes places with
                        one of the lanes */
  PLAN_SHARED_STORE, /* the step's repetition of buffer = in, 2^vector elements an access */
  PLAN_BARRIER,      /* of the block, or of the cluster where there is one (own: of the block alone, where what is between
                        them is the block's); between shared stores and loads */
  PLAN_SHARED_LOAD,  /* that part of out = buffer */
  PLAN_MAP,          /* out = map of in, element by element: same layout; only a cast changes width */
  PLAN_STORE,        /* tensor = in */
  PLAN_IF_INTERIOR,  /* next `body` steps where this block (in a walk: this turn) is inside every bound, and so
                        are the vectors of memory that it loads (plan_memory.guards), else the `otherwise` steps
                        after them. joins: both make value `out`. looped: where what value `in` has in this
                        iteration is, of the loops around the innermost one if that has 2^iterations turns */
  PLAN_IF_PRESENT,   /* next `body` steps unless the block has nothing to do: it lies beyond a device
                        extent, or a uniform index that leaves elements out (SKIP, REPORT) is out of range.
                        looped: unless all that value `in` has in this iteration lies beyond a bound of the
                        destination */
  PLAN_REPORT,       /* adds to the counter of index `index` for every value out of range, once each, by
                        walking the elements of value `in` */
  PLAN_LOOP,         /* next `body` steps 2^iterations times; in-dim iteration counts, an inner loop's in its lowest
                        bits. The body's values live for one turn; joins: but for out, which is carried as in REPEAT.
                        nested: `in`, and `with`, which is out afterwards, lack the bits that this loop counts */
  PLAN_PREFETCH,     /* asks for tensor's memory where value `in` is laid out, but in the block after this one: one
                        line of 2^vector elements an access. What is asked for need not be there. Emission
                        spreads the accesses over the steps that follow in the body. Host */
  PLAN_COLLECT,      /* next `body` steps, whose stores of the destination together write `rows` times `elements` of its
                        memory without a gap, each `pitch` behind the one before, from where value `in` has its first in
                        this iteration. All lies among the first `reach` from there, what bounds leave out too. They go to
                        the stack, and from there, behind the steps, to memory: whole lines past the caches. Rows begin
                        and end at multiples of 2^vector elements. Host */
  PLAN_REPEAT,       /* next `body` steps `turns` times; out is `in` in the first turn, then what the
                        body's last step made in the turn before. Afterwards that step's out is there */
  PLAN_STAGE,        /* the block's panel of the source into shared memory; of the destination (plan_panel.apart): from there
                        to memory */
  PLAN_SCAN,         /* out(y) = in of all positions up to y along `order`, combined; total(y) = of all. Each bit of
                        the order is a register or a lane of in: in's tile bit is one column, in no other */
  PLAN_PREFIX,      /* out = in combined with `second`, the former first; one may be reduced along more: each
                        of its elements meets all that it stands for, in the same thread */
  PLAN_PICK,         /* out = in, of which every warp keeps part: what out has in warps, in has in registers */
  PLAN_GATHER,       /* out(x) = in(x with the coordinate along an axis, tile bits [axis, axis + axis_bits),
                        replaced by second(x)): value `second` holds integers, of which the low bits count, and
                        is laid out as out. Staged: in's elements are in `buffer`. Else all of them are in the
                        warp that wants them */
  PLAN_AHEAD,        /* next `body` steps as in the turn that comes `turns` turns after this one (before the walk:
                        after the block's first), if the block has one. What PLAN_COPY in it begins is one group,
                        of no copies where there is no such turn. NVIDIA, where target.async_copies. What else it
                        makes is of that turn alone */
  PLAN_COPY,         /* the turn's slot of buffer = tensor, later: the accesses are those of a load of value `in`, which
                        nothing holds, and copies of it begin none; masked: 0 where a bound is not kept */
  PLAN_COPIED,       /* all groups but the last `turns` have arrived, seen by the threads that began them; by
                        others after a barrier */
  PLAN_DOT,          /* out = with + sum of in x second, element by element of the kernel's tile, over the tile bits
                        that out is reduced along and the operands are not. By `instruction`
                        (jit/plan/dot_instruction.h), whose types the operands have and into which they divide
                        (jit/plan/dot_tiling.h). Products are exact, sums in the accumulator's type, in any order;
                        integers modulo its width. An operand that is `shared` is in buffer `from`, of which its
                        value, that nothing holds, says what there is: seen by those who waited at a barrier since it
                        was written. By a warpgroup's instruction all products are one group, under way:
                        out may be with of the next such step, and what they read may not change, until MULTIPLIED.
                        parts, the first operand in registers: each position of the sum outside the instruction is a
                        group, made and begun when the same one of the DOT before is done; behind it all before are.
                        beside, sums of f32: each position of the result outside the instruction is a group,
                        summed from 0; what that makes joins `with`, and is done when the step is.
                        Where a digit that every block has whole has three quarters of the tile's positions, a
                        warpgroup's products leave the last quarter out if it is whole instructions, or the last
                        columns of each (jit/plan/own_bound.h): out is with there, and boxes copy nothing for it */
  PLAN_MULTIPLIED,   /* the products of all groups but the last `turns` are done; of all: out = in, which they make */
  PLAN_ROLES,        /* the block has kernel.producers warps more, which do what PRODUCE says, and nothing else: all else,
                        barriers too, from here on is of the others. NVIDIA, where there are warpgroups' products */
  PLAN_PRODUCE,      /* first in a walk: next `body` steps, copies to the turn's slots, are made by the producers, which
                        run ahead as far as slots are free: at first all, later those of turns that were released */
  PLAN_LANDED,       /* in PRODUCE, behind its copies: boxes of the turn have arrived, for producers, who then make the steps
                        behind it: shared loads, maps, shared stores to a ring's slot of the turn. Boxes begin `turns` turns
                        early, to slots on which producers have worked; other copies when a turn's slots are free */
  PLAN_FILLED,       /* the copies and stores to the turn's slots have arrived, and are seen by products */
  PLAN_RELEASE,      /* the slots of the turn `turns` before this one are free, if the block had it: no products that are
                        under way read them */
  PLAN_SETTLE,       /* dealt (plan_deal): where the block's piece of the position ends before its turns do, `in` goes to the
                        block's cell, and the next `body` steps, all that are left, are not for this piece. Else out = in + what
                        blocks before have left in their cells of the position, the nearest first */
  PLAN_PUBLISH,      /* other blocks may now see `in`, as the block's total of `level` (plan_lookback), where its turn
                        has one */
  PLAN_PEEK,         /* out = a first look at the cells that PLAN_AWAIT reads, for which no one waits */
  PLAN_AWAIT,        /* out = totals of `level` of the blocks before this one that lower levels do not cover, once they
                        are published; element k of the highest tile bits is the k-th of them, the neutral
                        element where there is none. in: what PLAN_PEEK saw, laid out as out */
  PLAN_OPAQUE,       /* out = in, of which compilers know nothing more: measured work stays */

  /* Combining by `combiner` in type `type` (jit/plan/combine.h). Of an arg combiner a value is a pair: keys and
   * positions, which are values of one layout; each step has both. A value whose tile has fewer bits than the
   * kernel's stands for coordinates whose other bits are 0. */
  PLAN_FILL,         /* out = the neutral element, exclusive: what there is before the first; positions: 0 */
  PLAN_JOIN,         /* out = in joined with `with`, element by element */
  PLAN_FOLD,         /* out = in, elements of a thread whose coordinates agree in out's tile bits joined: a
                        tree, lowest of the other bits first. Lanes and warps stay */
  PLAN_FOLD_LANES,   /* the same across the lanes of a warp: all hold the result (host: the first ones) */
  PLAN_SPREAD,       /* out = in, of whose registers every lane keeps part: out's lanes that hold copies of in
                        have columns of registers that out has no more */
  PLAN_POSITION,     /* out = positions (kernel->position) of the elements of a value laid out as out, in this turn;
                        relative: less that of the thread's register 0 */
  PLAN_POSITION_ADD, /* out = in + the position that a relative PLAN_POSITION of value `with` left out */
  PLAN_WALK          /* next `body` steps for each turn of the block's share of kernel->walk, or of each ticket (plan_lookback); out is `in`
                        in the first turn, then what the body's last step made in the turn before, and at
                        the end what it made last (`in` where there was no turn). The first `ahead` steps of the
                        body, loads that nothing of the turn comes before, may run a turn early. bare: nothing is
                        carried */
} plan_step_kind;

/* How a shared step moves elements on NVIDIA (PTX ISA, "ldmatrix", "stmatrix"): each lane its own, or a warp
 * 8 x 8 matrices of 16 bits, of which lane i gives the address of row i. A lane's word of a matrix is two
 * neighbours of row lane / 4, or transposed two of column lane / 4, from row 2 (lane mod 4) on. Narrower
 * elements move as parts of 16 bits, those of 32 bits as two halves, never transposed. */
typedef enum plan_matrix_kind {
  PLAN_MATRIX_NONE = 0,
  PLAN_MATRIX_ROWS,
  PLAN_MATRIX_TRANSPOSED
} plan_matrix_kind;

typedef struct plan_step {
  uint8_t kind;
  uint8_t in, out; /* values */
  uint8_t tensor, buffer, map, index;
  uint8_t vector;     /* log2 elements of one access (matrix: of a row) */
  uint8_t misaligned; /* LOAD, STORE: log2 of an access's size over what surely divides its address */
  bool overhang;      /* LOAD, STORE on a GPU: memory is moved by aligned vectors of an access's size, which rows
                         overhang; registers hold the same. Masked: bounds may part an access's elements, and a
                         load looks where each vector lies in memory */
  bool by_words;      /* LOAD that overhangs, in groups: blocks whose vectors memory has all of take the words that pieces
                         touch, instead of vectors whose parts lanes hand on */
  bool loose;         /* LOAD, masked and overhanging: accesses whose first element is inside are whole, whatever
                         bounds say of the others, which nothing may use where they are outside */
  uint8_t matrix;     /* SHARED_STORE, SHARED_LOAD: plan_matrix_kind */
  bool masked;        /* LOAD, STORE, MAP that reads a tensor: skip accesses outside a bound (flat: or past the count). All elements
                         of one access are on the same side of every bound, unless */
  bool parted;        /* masked, on the host, and STORE on a GPU: bounds may part an access, of which what is inside
                         moves */
  bool staged;        /* LOAD: from the panel in shared memory; GATHER: from the buffer. Between them is a
                         barrier */
  uint8_t streaming;  /* STORE: 0, or log2 bytes that every access is aligned to, to bypass the caches (as COLLECT
                         does), where kernel->streams_from says so */
  int32_t elements, rows, pitch, reach; /* COLLECT */
  uint8_t iterations; /* LOOP: log2. IF_INTERIOR, looped: of the loop around it, which `in` knows nothing of; 0: of all */
  uint8_t repetition; /* SHARED_STORE, SHARED_LOAD */
  int32_t turns;      /* REPEAT: at least 1; AHEAD, COPIED, MULTIPLIED, RELEASE, LANDED */
  uint8_t body, otherwise;
  uint8_t ahead;      /* WALK */
  uint32_t apart;     /* IF_INTERIOR: bit i: does not ask about bound i. LOAD, STORE, masked: does not look at it */
  bool predicated;    /* LOAD, masked: without branches where the target has such loads, so that all are under way */
  uint8_t combiner, type; /* combining steps: llrt_combiner, llrt_dtype (jit/plan/combine.h) */
  uint8_t instruction;    /* DOT: number of the row */
  uint8_t shared, from[2]; /* DOT: bit o: operand o (in, second) is in buffer from[o] */
  bool parts, beside;      /* DOT */
  uint8_t second;         /* PREFIX, GATHER, DOT, MAP by_value: value */
  uint8_t total;          /* SCAN: value, reduced along the order */
  uint8_t order;          /* SCAN */
  uint8_t level;          /* PUBLISH, PEEK, AWAIT */
  bool exclusive;         /* FILL: of a sum +0. SCAN: without y itself, the neutral element where there is no other */
  bool reverse;           /* SCAN: from the last position down; what is combined stays in order */
  bool joins;         /* IF_INTERIOR, LOOP */
  bool nested;        /* LOOP that joins */
  bool looped;        /* IF_INTERIOR, IF_PRESENT */
  bool pairs;         /* combining steps, WALK: index_in, index_with, index_out are the positions' values */
  bool ordered;       /* JOIN, FOLD of pairs: the first operand's positions are all lower */
  bool relative;      /* POSITION */
  bool bare;          /* WALK */
  bool own;           /* BARRIER */
  bool by_value;      /* MAP: SCALE by value `second` */
  bool lazy;          /* MAP of whole words, SHARED_LOAD of matrices, GPU: each word is made where a DOT, or a lazy MAP
                         behind, first uses it: they alone use the value, after which what it is made of has not
                         changed */
  uint8_t box;            /* COPY of producers, masked: whole boxes, 1 + number of launch.box; 0: each thread its accesses, which
                             products may read only where there are no boxes */
  uint8_t axis;       /* GATHER: its lowest tile bit */
  uint8_t axis_bits;  /* GATHER */
  uint8_t with, index_in, index_with, index_out;
} plan_step;

/* What blocks walk (launch.walk). A turn's number splits like a block's: its bits of in-dim grid lie above the
 * block's own, upper parts are those of digits that no place of the grid has. A block takes `share` turns from
 * share * (upper part of digit `split`) on, as far as `turns` go. */
typedef struct plan_turns {
  int32_t n_places; /* 0: the kernel walks nothing */
  plan_place place[LLRT_MAX_RANK * 2];
  uint8_t grid_bits; /* of in-dim grid, that the block has */
  int8_t split;      /* digit, or -1: one block takes all turns */
  bool down;         /* turn t is position turns - 1 - t */
  plan_number turns, share;
} plan_turns;

/* Blocks that take one turn each and look back at the totals of those before them, in the order of tickets, so that
 * no block waits for one that has not begun. A total of level l is of 2^(bits l) turns, the last of which has it; of
 * the highest level it is of everything up to that turn. Lagging: a block does not wait for the last of these, but
 * joins the totals of the level below once more as many turns back. So a prefix is joined in one tree, whoever was
 * first. Cells are 64 bits: 32 of the value above a 1; elements of 64 bits have two.
 *
 * Queued: a launch has at most launch.most_blocks blocks. Each draws tickets until all of the grid's positions are
 * taken, and the body of its walk, which is bare, works on one after the other; PLAN_AHEAD by one turn is the next,
 * drawn when the block's turn before began. A barrier stands before the first such step in the body, and one behind
 * it. */
#define PLAN_LOOKBACK_LEVELS 3 /* at most */
typedef struct plan_lookback {
  bool used;
  bool lags;
  bool queued;
  int32_t place; /* of a block's ticket in shared memory, bytes */
  uint8_t bits, levels;
  plan_number counter, cells; /* addresses: of tickets given; by level, block, element */
  plan_number blocks, lines;  /* all of them; those of one turn */
} plan_lookback;

/* Rounds whose last turns are dealt out, so that all blocks of the launch end together. Of n blocks each takes whole positions, its number and
 * every n-th behind it, as long as twice n positions are left or more; the turns of those that are left, position after
 * position, are dealt in n runs that follow each other, as equal as they can be. A block goes through its run piece by piece, each of
 * one position, from the last one down: so what others behind it wait for comes first, and what it waits for last. What a
 * piece is waits for pieces of lower blocks alone. Flags (8 bytes of each block) are zero before and
 * behind a launch; cells, a word for each that a thread has of value `in` of PLAN_SETTLE, behind it. */
typedef struct plan_deal {
  bool used;
  plan_number flags, cells; /* addresses */
} plan_deal;

/* Part of a tensor that a block keeps in shared memory. In place: what the conversion maps onto itself, from the
 * address of its first position on: so many positions of the flat index, which lie in so many elements of
 * memory. 0: none. Gathered: what index 0 chooses from for the block's other coordinates: for every value v that it
 * may have the 2^width neighbours w that the tile's source columns give, at v << width | w. */
typedef struct plan_panel {
  int64_t positions, elements;
  uint8_t unit; /* in place: log2 bytes of the accesses that stage it: its address and size are multiples */
  bool gathered;
  uint8_t width;
  int64_t most; /* gathered: values that shared memory has room for */
  bool apart;     /* of a convert that is not in place: the panel's elements, as far as the tensor goes, wherever they begin, as
                     far off 2^unit bytes as they lie in memory */
  int64_t room;   /* apart: elements from the panel's first position to its last, whatever bounds say */
  uint8_t tensor; /* apart: of the source, staged and loaded from; or of the destination, stored to and copied to memory at the end,
                     all of whose elements are stored */
  uint8_t ended;  /* apart: 1 + number of the bound behind which the panel ends: it has so many elements of the tensor as are left
                     of its axis, times `pitch`; 0: all of its own */
  int64_t pitch;
  uint8_t places; /* apart: the fastest places, which select the panel's positions */
  uint8_t vector; /* apart: log2 positions that follow each other which are loaded and stored together */
  plan_number end; /* apart: behind the tensor's last byte */
} plan_panel;

/* Where tensor 0 lies, for loads that overhang its rows: no vector that is not all inside is loaded whole. */
typedef struct plan_memory {
  bool used, guards; /* guards: a load that is not masked overhangs */
  uint8_t vector;    /* log2 bytes of its accesses */
  plan_number begin, end; /* addresses of its first byte (0: it is aligned, so all is behind it) and behind
                             its last */
} plan_memory;

typedef struct plan_cost {
  double bytes_per_element;  /* global, read and written */
  int32_t tile_bytes;        /* per block, of the widest tensor */
  int32_t load_sectors, store_sectors;           /* per tile, 32-byte sectors touched by one access each */
  int32_t index_sectors;                         /* the same of values of indices that differ in a block */
  int32_t min_sectors;                           /* tile bytes / sector */
  int32_t shared_store_wavefronts, shared_load_wavefronts; /* per tile */
  int32_t min_wavefronts;                        /* per direction, conflict-free */
  int32_t shared_accesses, barriers;             /* per tile, instructions of all warps */
  int32_t shuffles, selects, permutes, logic;    /* per warp, instructions; logic: shifts and merges */
  int32_t beside;                                /* of the selects: those of another unit than arithmetic's */
  int32_t addresses;                             /* per warp, instructions, of shared accesses */
  int32_t combined;                              /* per warp, joined words of a turn and what follows the walk */
  int32_t mapped;                                /* per lane: words that value maps make */
  int32_t registers;                             /* words of the largest value of a lane */
  int32_t products;                              /* per warp and turn, instructions of PLAN_DOT */
  double product_clocks;                         /* of a multiprocessor, for those of one warp */
} plan_cost;

typedef struct plan_kernel {
  plan_target target;
  int32_t n_tensors;
  uint8_t tensor_bits[LLRT_MAX_TENSORS]; /* of an element; steps that move it keep the width */
  bool high_first[LLRT_MAX_TENSORS]; /* 4 bits: the first element of a byte is in its high half, which loads
                                        and stores swap; offsets count as if it were low */
  bool halves; /* elements of 128 bits: they move as 64-bit elements, of which a digit without an axis tells
                  the two apart; offsets, strides and tensor_bits count those */
  int32_t lane_bits, warp_bits; /* of a block; the host's lane_bits fits the narrowest element */
  int32_t cluster_bits; /* log2 blocks that work on one tile and read each other's shared memory: the highest of
                           warp_bits number them */
  uint8_t producers; /* warps behind the others, a divisor of their number; 0: no roles */
  uint8_t slots;     /* with producers: of every ring */
  int32_t barriers;  /* with producers: where the slots' barriers lie in shared memory, behind all buffers */
  int32_t band; /* > 0: blocks that follow each other take bands of so many positions of the second place (fewer in
                   the last), and in each one all of the first: inside a band the second place is the faster */
  plan_number band_pitch; /* band_from > 0: only where this, elements from row to row of the source, is a multiple of that */
  int64_t band_from;
  int8_t box_axis[PLAN_MAX_BOXES][PLAN_BOX_RANK]; /* along which the dimensions of launch.box go */
  plan_number positions; /* launch.rounds > 0: of the grid. What stands behind ROLES is done for each that a block takes */
  int32_t resident; /* NVIDIA: blocks of one multiprocessor that registers are to leave room for; 0: any */
  bool flat; /* a tile is 2^tile_bits consecutive elements of the flat index, which `place` splits into
                digits (whole digits: upper and fixed bits together, fastest first); of space only the
                out-dims are used */
  plan_number flat_elements; /* positions of the flat index */
  int64_t streams_from;      /* stores bypass the caches where there are so many elements or more; 0: always */
  plan_number elements;      /* streams_from > 0: how many there are */
  plan_panel panel;          /* what one block works on or chooses from */
  plan_memory memory;
  int32_t n_digits, n_bounds, n_terms, n_places, n_values, n_buffers, n_maps, n_steps, n_indices,
      n_orders;
  plan_digit digit[PLAN_MAX_DIGITS];
  plan_bound bound[PLAN_MAX_BOUNDS];
  plan_device_extent extent[LLRT_MAX_RANK]; /* by axis */
  uint32_t position_axes;                   /* bit a: positions count the coordinate of axis a, */
  plan_number position[LLRT_MAX_RANK];      /* times so many */
  plan_term term[PLAN_MAX_TERMS];
  int64_t origin[LLRT_MAX_TENSORS];       /* 0 where ADDRESS has the storage's offset */
  llrt_swizzle swizzle[LLRT_MAX_TENSORS]; /* of the whole sum; all zero: none */
  uint64_t fill; /* one element: what masked loads give outside */
  llrt_layout space;                           /* tile, grid -> d0, d1, … */
  uint64_t column[LLRT_MAX_TENSORS][LLRT_MAX_BITS]; /* by out bit of space, for COLUMNS digits */
  plan_index index[PLAN_MAX_INDICES];
  plan_place place[PLAN_MAX_GRID];
  plan_turns walk;
  plan_lookback lookback;
  plan_deal deal;
  plan_value value[PLAN_MAX_VALUES];
  plan_buffer buffer[PLAN_MAX_BUFFERS];
  plan_map map[PLAN_MAX_MAPS];
  plan_order order[PLAN_MAX_ORDERS];
  plan_step step[PLAN_MAX_STEPS];
  plan_launch launch;
  plan_cost cost;
} plan_kernel;

/* The kernels of all variants. A variant is one kernel, or several *stages*, which follow each other here
 * (launch.stage, launch.later) and run one after the other. run takes the first variant whose range holds; the
 * last has none. */
typedef struct plan {
  int32_t n_variants;
  plan_kernel variant[PLAN_MAX_VARIANTS];
} plan;

/* How a convert may be steered; all-zero is the planner's own choice. Tests force each exchange. */
typedef enum plan_exchange {
  PLAN_EXCHANGE_AUTO = 0,
  PLAN_EXCHANGE_SHARED, /* by accesses of lanes */
  PLAN_EXCHANGE_SHUFFLE,
  PLAN_EXCHANGE_MATRIX  /* shared memory, on one side or both by matrices */
} plan_exchange;

typedef struct plan_options {
  plan_exchange exchange; /* UNSUPPORTED where it cannot be had */
  int tile_bytes, run_bytes; /* 0: the target's */
  bool ignore_copies;        /* a tile's reduction treats copies like elements of their own; for comparison */
  bool single_accesses;      /* shared memory is stored and loaded an element at a time; for comparison */
  bool whole_buffers;        /* no buffer of shared memory in parts so that more blocks have room */
  bool stream;               /* host: as large tensors are moved, however many elements there are */
  bool whole_runs;           /* GPU: tiles along axes are as large as the target's runs on both sides, if a block has room */
  bool panels;               /* NVIDIA: a convert's first variant keeps panels in shared memory, if they suit it at all */
  bool whole_words;          /* GPU: loads bring all of a word of the destination into a thread; no exchange need */
  int rest_bits;             /* most low bits of a digit with an upper part in the tile; 0: the planner's */
} plan_options;

/* Plans desc (validated by runtime/validate.c) for a target. options may be NULL. *out is an
 * llrt-internal allocation of the caller's, overwritten. Errors: UNSUPPORTED with the reason. */
llrt_status plan_make(const llrt_op_desc *desc, const plan_target *target,
                      const plan_options *options, plan *out);

/* Writes what `llrt explain` shows. */
struct llrt_text;
void plan_print(const plan *made, struct llrt_text *text);

/* Checks that a kernel is well formed: what emission and the interpreter rely on. Errors: INTERNAL. */
llrt_status plan_verify(const plan_kernel *kernel);

/* Executes one variant, by its first stage (behind which the others lie), over memory on the calling thread: the
 * oracle for planning. tensors' data are host addresses. Reports (INTERNAL) shared reads of words not written since the last barrier, shared
 * races, and global accesses outside [0, span). */
llrt_status plan_interpret(const plan_kernel *first, const llrt_tensor *tensors,
                           const llrt_storage_binding *bindings, int n_tensors);

#endif
