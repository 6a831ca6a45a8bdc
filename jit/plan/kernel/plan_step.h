/* Values, what they pass through, and the steps of a plan (plan.h says how they go together;
 * docs/steps.md defines every kind). */
#ifndef LLRT_JIT_PLAN_KERNEL_PLAN_STEP_H
#define LLRT_JIT_PLAN_KERNEL_PLAN_STEP_H

#include "jit/plan/kernel/launch.h"

#include <llrt/layout.h>

#define PLAN_VALUE_BITS 9 /* log2 words of a value in a thread */

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
  uint64_t reduced;   /* bits of the kernel's tile along which elements were combined: the value's
                         tile has the others alone, in their order */
} plan_value;

/* A shared buffer: element offset, repetition and block of the cluster -> tile. A block stores what
 * is its own, and loads from where it lies; a zero column of block is a copy that each block has,
 * and loads of its own. A tile larger than the buffer goes through it in 2^repetition bits parts,
 * each of which is whole registers, or all that some warps have, of every value that is stored or
 * loaded. The highest of the repetition's bits may be those of a loop's iterations, each of which
 * has the buffer to itself. Buffers of a kernel that lie at the same place are parted by barriers.
 * A ring has several slots, one behind the other, of which a turn of the walk stores to and loads
 * from that of its number in the block's share.
 * Boxes of runs may bring more of a run than a turn wants: the offset's `window` bits, which move
 * nothing of the tile, are those of the turn's place in the run. */
typedef struct plan_buffer {
  llrt_layout layout; /* offset, repetition, block -> tile */
  int32_t bytes;      /* of a slot */
  int32_t offset;     /* where it lies, bytes */
  uint8_t slots;      /* 0: it is no ring */
  uint8_t iterations; /* how many bits of repetition a loop numbers; the others are the steps' */
  uint8_t bits;       /* of an element */
  uint8_t window;     /* a mask of the lowest offset bits */
  bool pushed; /* blocks of a cluster store in each other's memory, each element once, and load
                  from their own alone. Of 32-bit elements, no ring, used once; nothing else lies
                  there. One buffer of a kernel at most */
} plan_buffer;

/* What a PLAN_MAP step does to each element; as llrt_map (include/llrt/map.h), resolved. */
typedef enum plan_map_kind {
  PLAN_MAP_XOR = 1, /* element ^= constant */
  PLAN_MAP_CAST, /* element of type `from` -> the nearest of type `to`; to 64-bit integers: extended
                  */
  PLAN_MAP_SCALE, /* element of type `from` times the scale at its coordinates, which the step reads
                     from its `tensor`, or by_value: that of value `second`, which is reduced along
                     more (each of its elements meets all that it stands for, in the same thread),
                     in f32 or f64 (number_is_wide) -> the nearest of type `to` */
  PLAN_MAP_MULTIPLY, /* element of type f32 or f64 times the constant, a code of that type */
  PLAN_MAP_RELU,     /* element of type f32 or f64: 0 where it is less */
  PLAN_MAP_GELU,     /* times (1 + erf(element / sqrt 2)) / 2, a factor to 2^-20 */
  PLAN_MAP_SILU,     /* times 1 / (1 + exp(-element)), a factor to 2^-20 */
  PLAN_MAP_TRUTH, /* element of type `from` -> 1 (of type U32) where it is not zero, NaN included,
                     else 0 */
  PLAN_MAP_WORD_BITS /* bit i of every 32-bit word = bit perm[i] of it. Elements of less than 32
                        bits: the lowest register bits (host: lane bits) number them inside the word
                      */
} plan_map_kind;

typedef struct plan_map {
  uint8_t kind;      /* plan_map_kind */
  uint8_t from, to;  /* llrt_dtype of in and out */
  uint8_t scale;     /* SCALE: llrt_dtype of the tensor */
  bool subtracts;    /* SCALE: element - scale instead of the product */
  bool any_nan;      /* CAST, SCALE to f32 or f64: a NaN need not become the one that is written */
  bool fits;         /* CAST of integers: each is one of the result's type */
  bool words;        /* CAST, SCALE of less than 32 bits, GPU: as WORD_BITS by perm before */
  uint8_t low, high; /* SCALE by value of e8m0: a promise about its bytes; both 0: none */
  int16_t shift;     /* the same, of e2m1 to e5m2: products are divided by 2^shift */
  uint64_t constant;
  uint16_t arg; /* MULTIPLY: 1 + the kernel argument that has the factor's code; 0: constant is it.
                   A factor of 0 makes 0 of everything then */
  uint8_t perm[32];
} plan_map;

/* An order of elements: tile bits of the kernel, the one that counts single positions first. */
typedef struct plan_order {
  uint8_t n, bit[LLRT_MAX_BITS];
} plan_order;

typedef enum plan_step_kind {
  PLAN_LOAD = 1,  /* out = tensor; 2^vector elements an access */
  PLAN_REGISTERS, /* out = in with registers renamed and bytes permuted: same lane, same warp */
  PLAN_SHUFFLE,   /* out = in moved between lanes of a warp: one round, whole words. With X = in's
                     layout, Y = out's: X(r, l) = Y(r', l') gives r from (r', l') through at most
                     one functional of l'. Lanes that hold copies on one side only change
                     the number of registers. GPU, or one vector of the word changes places with
                     one of the lanes */
  PLAN_SHARED_STORE, /* the step's repetition of buffer = in, 2^vector elements an access */
  PLAN_BARRIER,      /* of the block, or of the cluster where there is one (own: of the block alone,
                        where what is between them is the block's); between shared stores and
                        loads */
  PLAN_SHARED_LOAD,  /* that part of out = buffer */
  PLAN_MAP,   /* out = map of in, element by element: same layout; only a cast changes width */
  PLAN_STORE, /* tensor = in */
  PLAN_IF_INTERIOR, /* next `body` steps where this block (in a walk: this turn) is inside every
                       bound, and so are the vectors of memory that it loads (plan_memory.guards),
                       else the `otherwise` steps after them. joins: both make value `out`. looped:
                       where what value `in` has in this iteration is, of the loops around the
                       innermost one if that has 2^iterations turns */
  PLAN_IF_PRESENT,  /* next `body` steps unless the block has nothing to do: it lies beyond a device
                       extent, or a uniform index that leaves elements out (SKIP, REPORT) is out of
                       range. looped: unless all that value `in` has in this iteration lies beyond a
                       bound of the destination */
  PLAN_REPORT, /* adds to the counter of index `index` for every value out of range, once each, by
                  walking the elements of value `in` */
  PLAN_LOOP,   /* next `body` steps 2^iterations times; in-dim iteration counts, an inner loop's in
                  its lowest bits. The body's values live for one turn; joins: but for out, which is
                  carried as in REPEAT. nested: `in`, and `with`, which is out afterwards, lack the
                  bits that this loop counts */
  PLAN_PREFETCH, /* asks for tensor's memory where value `in` is laid out, but in the block after
                    this one: one line of 2^vector elements an access. What is asked for need not be
                    there. Emission spreads the accesses over the steps that follow in the body.
                    GPU: for the `reach` elements that the block reads that comes after as many
                    blocks as `turns` multiprocessors hold at once, if there is one */
  PLAN_COLLECT,  /* next `body` steps, whose stores of the destination together write `rows` times
                    `elements` of its memory without a gap, each `pitch` behind the one before, from
                    where value `in` has its first in this iteration. All lies among the first
                    `reach` from there, what bounds leave out too. They go to the stack, and from
                    there, behind the steps, to memory: whole lines past the caches. Rows begin and
                    end at multiples of 2^vector elements. Host */
  PLAN_REPEAT,   /* next `body` steps `turns` times; out is `in` in the first turn, then what the
                    body's last step made in the turn before. Afterwards that step's out is there */
  PLAN_STAGE,    /* the block's panel of the source into shared memory; of the destination
                    (plan_panel.staged): from there to memory */
  PLAN_SCAN,     /* out(y) = in of all positions up to y along `order`, combined; total(y) = of all.
                    Each bit of the order is a register or a lane of in: in's tile bit is one
                    column, in no other */
  PLAN_PREFIX, /* out = in combined with `second`, the former first; one may be reduced along more:
                  each of its elements meets all that it stands for, in the same thread */
  PLAN_PICK, /* out = in, of which every warp keeps part: what out has in warps, in has in registers
              */
  PLAN_GATHER, /* out(x) = in(x with the coordinate along an axis, tile bits [axis, axis +
                  axis_bits), replaced by second(x)): value `second` holds integers, of which the
                  low bits count, and is laid out as out. Staged: in's elements are in `buffer`.
                  Else all of them are in the warp that wants them */
  PLAN_AHEAD,  /* next `body` steps as in the turn that comes `turns` turns after this one (before
                  the walk: after the block's first), if the block has one. What PLAN_COPY in it
                  begins is one group, of no copies where there is no such turn. NVIDIA, where
                  target.async_copies. What else it makes is of that turn alone */
  PLAN_COPY, /* the turn's slot of buffer = tensor, later: the accesses are those of a load of value
                `in`, which nothing holds, and copies of it begin none; masked: 0 where a bound is
                not kept */
  PLAN_COPIED, /* the copies of all commit groups but the last `turns` have arrived. The threads
                  that began them see them; others do behind a barrier */
  PLAN_DOT, /* out = with + sum of in x second over the tile bits that out is reduced along and the
               operands are not; element by element of the kernel's tile. `instruction` multiplies
               (jit/plan/types/dot_instruction.h): the operands have its types and divide into it
               (jit/plan/facts/dot_tiling.h). Products are exact; sums are of the accumulator's
               type, in any order, of integers modulo its width. Its flags stand at plan_step.
               Products of a warpgroup's instruction are under way when the step is done: they are
               one commit group, out may be `with` of the next such step, and what they read may not
               change until MULTIPLIED. Tile padding (jit/plan/facts/tile_padding.h) is left out
               where it is the last columns of each instruction, or a quarter of the tile that is
               whole instructions: out is `with` there, and boxes copy nothing for it */
  PLAN_MULTIPLIED, /* the products of all commit groups but the last `turns` are done; turns 0: all
                      are, and out = in, which they make */
  PLAN_ROLES, /* the block has kernel.producers warps more, which do what PRODUCE says, and nothing
                 else: all else, barriers too, from here on is of the others. NVIDIA, where there
                 are warpgroups' products */
  PLAN_PRODUCE, /* first in a walk: next `body` steps, copies to the turn's slots, are made by the
                   producers, which run ahead as far as slots are free: at first all, later those of
                   turns that were released */
  PLAN_LANDED,  /* in PRODUCE, behind its copies: boxes of the turn have arrived, for producers, who
                   then make the steps behind it: shared loads, maps, shared stores to a ring's slot
                   of the turn. Boxes begin `turns` turns early, to slots on which producers have
                   worked; other copies when a turn's slots are free */
  PLAN_FILLED,  /* the copies and stores to the turn's slots have arrived, and are seen by products
                 */
  PLAN_RELEASE, /* the slots of the turn `turns` before this one are free, if the block had it (of
                   teams: for this position): no products that are under way read them. Behind the
                   walk "this one" is what would follow the last turn */
  PLAN_SETTLE,  /* dealt (plan_deal): where the block's piece of the position ends before its turns
                   do, `in` goes to the block's cell, and the next `body` steps, all that are left,
                   are not for this piece. Else out = in + what blocks before have left in their
                   cells of the position, the nearest first */
  PLAN_PUBLISH, /* other blocks may now see `in`, as the block's total of `level` (plan_lookback),
                   where its turn has one */
  PLAN_PEEK,    /* out = a first look at the cells that PLAN_AWAIT reads, for which no one waits */
  PLAN_AWAIT,   /* out = totals of `level` of the blocks before this one that lower levels do not
                   cover, once they are published; element k of the highest tile bits is the k-th of
                   them, the neutral element where there is none. in: what PLAN_PEEK saw, laid out
                   as out */
  PLAN_OPAQUE,  /* out = in, of which compilers know nothing more: measured work stays */

  /* Combining by `combiner` in type `type` (jit/plan/types/combine.h). Of an arg combiner a value
   * is a pair: keys and positions, which are values of one layout; each step has both. A value
   * whose tile has fewer bits than the kernel's stands for coordinates whose other bits are 0. */
  PLAN_FILL, /* out = the neutral element, exclusive: what there is before the first; positions: 0
              */
  PLAN_JOIN, /* out = in joined with `with`, element by element */
  PLAN_FOLD, /* out = in, elements of a thread whose coordinates agree in out's tile bits joined: a
                tree, lowest of the other bits first. Lanes and warps stay. MIN and MAX of f16 and
                bf16 (GPU, plan_target.half_extremes): two of in a word, of out where in's lowest
                register stays */
  PLAN_FOLD_LANES, /* the same across the lanes of a warp: all hold the result (host: the first
                      ones) */
  PLAN_SPREAD,   /* out = in, of whose registers every lane keeps part: out's lanes that hold copies
                    of in have columns of registers that out has no more */
  PLAN_POSITION, /* out = positions (kernel->position) of the elements of a value laid out as out,
                    in this turn; relative: less that of the thread's register 0 */
  PLAN_POSITION_ADD, /* out = in + the position that a relative PLAN_POSITION of value `with` left
                        out */
  PLAN_WALK, /* next `body` steps for each turn of the block's share of kernel->walk, or of each
               ticket (plan_lookback); out is `in` in the first turn, then what the body's last step
               made in the turn before, and at the end what it made last (`in` where there was no
               turn). The first `ahead` steps of the body, loads that nothing of the turn comes
               before, may run a turn early. bare: nothing is carried */
  /* out = op of in, second and with, the first `operands` of them, element by element, in types
   * `element` and `type` (of out): expr_operator (expression/operators.h). Operands may be reduced
   * along more than out. NUMBER: the code `number`, of a value that is reduced along all. POSITION:
   * the coordinate of axis `axis`. CAST: rounded to `through` on the way */
  PLAN_APPLY,
  PLAN_CARRY, /* in the body of a walk itself: out, which steps before it may use, is `in` in the
                 block's first turn, then `with` of the turn before */
  PLAN_SEND,  /* behind ROLES: a barrier of the block's own; then box `box` of tensor = what buffer
                 has of value `in`, which nothing holds. Positions outside the tensor's extents are
                 left out. The device reads the buffer while the block goes on */
  PLAN_SENT   /* what was sent before has been read; a barrier of the block's own */
} plan_step_kind;

/* Numbers of kinds are less. A new one comes last: digests of plans have the numbers. */
#define PLAN_STEP_KINDS (PLAN_SENT + 1)

/* How a shared step moves elements on NVIDIA (PTX ISA, "ldmatrix", "stmatrix"): each lane its own,
 * or a warp 8 x 8 matrices of 16 bits, of which lane i gives the address of row i. A lane's word of
 * a matrix is two neighbours of row lane / 4, or transposed two of column lane / 4, from row 2
 * (lane mod 4) on. Narrower elements move as parts of 16 bits, those of 32 bits as two halves,
 * never transposed. */
typedef enum plan_matrix_kind {
  PLAN_MATRIX_NONE = 0,
  PLAN_MATRIX_ROWS,
  PLAN_MATRIX_TRANSPOSED
} plan_matrix_kind;

/* What each kind reads stands at it in plan_step_kind; what a field is for, here. A field that no
 * kind in front of the colon has is 0. */
#define PLAN_BOUNDED 66
#define PLAN_BOUNDED_OVER \
  42 /* log2 of how many times a number that no short quotient has above it */
#define PLAN_LEAST 60
#define PLAN_MOST 125
typedef struct plan_step {
  uint8_t kind;                       /* plan_step_kind */
  uint8_t in, out;                    /* values */
  uint8_t tensor, buffer, map, index; /* numbers in the kernel's lists */
  uint8_t vector;                     /* log2 elements of one access; of a matrix: of a row */
  uint8_t
      misaligned; /* LOAD, STORE: log2 of an access's size over what surely divides its address */
  bool overhang;  /* LOAD, STORE on a GPU: memory is moved by aligned vectors of an access's size,
                     which rows overhang; registers hold the same. Masked: bounds may part an
                     access's elements, and a load looks where each vector lies in memory */
  bool by_words;  /* LOAD that overhangs, in row groups: blocks whose vectors memory has all of load
                     the words that an access touches, instead of vectors of which lanes hand parts
                     to each other. Always of 4-bit elements, whose rows begin in either half of a
                     byte: for them memory is looked at by words */
  bool exact; /* LOAD by words, of elements of 16 and 32 bits: nothing else is touched, and of no
                 tensor it need be known where memory ends */
  bool lines; /* COPY by producers' threads, 16 bytes an access: lanes that have a row's pieces take
                 those of a whole line of memory, wherever the row begins in one: the last of a turn
                 and the first of the next. So what the turn before has is there with a turn's */
  bool by_groups; /* STORE that overhangs, masked: of a warp's row groups it is first asked whether
                     all lie inside, or all outside, as in most of a row that ends inside a tile */
  bool front; /* LOAD, masked, of tensor 0, one by one: not the element at a position but at the one
                 whose element lies before its own in the destination's memory (kernel.sequence), if
                 the position is inside the destination's bounds and its own element is the second
                 of a byte; else undefined */
  bool loose; /* LOAD, masked and overhanging: accesses whose first element is inside are whole,
                 whatever bounds say of the others, which nothing may use where they are outside */
  uint8_t matrix; /* SHARED_STORE, SHARED_LOAD: plan_matrix_kind */
  bool masked;    /* LOAD, STORE, MAP that reads a tensor: accesses outside a bound (flat: past the
                     count) are skipped. Unless parted or overhang, all elements of an access are on
                     the same side of every bound */
  bool parted; /* masked, on the host, and STORE on a GPU: bounds may part an access, of which what
                  is inside moves. STORE of one byte of 4-bit elements: bounds and indices may, and
                  the half that is not stored is kept */
  bool staged; /* LOAD: from the panel in shared memory. GATHER: from the buffer. A barrier stands
                  between what wrote there and this step */
  uint8_t streaming;  /* STORE: > 0: it bypasses the caches, as COLLECT does, where
                         kernel.streams_from says so; accesses are aligned to 2^streaming bytes */
  int32_t elements;   /* COLLECT: of a row */
  int32_t rows;       /* COLLECT: how many */
  int32_t pitch;      /* COLLECT: elements from the beginning of one row to that of the next */
  int32_t reach;      /* COLLECT: elements from the first on among which all lies */
  uint8_t iterations; /* LOOP: log2 iterations. IF_INTERIOR, looped: log2 of those innermost
                         iterations that `in` does not tell apart; 0: it tells all apart */
  uint8_t repetition; /* SHARED_STORE, SHARED_LOAD: which part of the buffer's tile, from 0 */
  int32_t turns;      /* REPEAT: how many, at least 1. AHEAD, COPIED, MULTIPLIED, RELEASE, LANDED:
                         turns of the walk between this one and the one meant */
  uint8_t body;       /* steps behind this one that it owns */
  uint8_t otherwise;  /* IF_INTERIOR: steps behind its body, for blocks that are not inside */
  uint8_t in_ring;    /* IF_INTERIOR in a walk: not about bounds; 1 + the buffer that has a slot for
                         each of the first turns, of which this is one */
  uint8_t by_values;  /* IF_INTERIOR: 1 + the number of an index, about whose values it asks, not
                         about bounds: whether those that the block chooses follow each other,
                         2^vector at a time, from multiples of 2^vector on, all in range; vector 0:
                         whether that of the block's second position is the first one's next. GPU */
  bool fills;         /* COPY: kernel.fill where there is nothing, instead of 0 */
  bool holds;        /* IF_INTERIOR on a GPU: not about bounds, but whether position `second` may be
                        one of a warp's threads': `in` has that of a thread's first register, of
                        which others differ in bits of `number`. Where it is not, both ways make
                        the same */
  uint8_t following; /* STORE in the body of such a step: the lowest 2^following positions along
                        the axis of the tensor's index, whose values follow each other, are those
                        of an access; 0: none are */
  uint8_t ahead;     /* WALK: the first so many steps of its body may run a turn early */
  uint32_t ignored_bounds; /* bit i: IF_INTERIOR does not ask about bound i; LOAD, STORE, masked, do
                              not look at it */
  bool predicated;  /* LOAD, masked: without branches where the target has such loads, so that all
                       are under way */
  uint8_t combiner; /* combining steps: llrt_combiner */
  uint8_t type;     /* combining steps, APPLY: llrt_dtype (jit/plan/types/combine.h) */
  uint8_t instruction; /* DOT: number of the row in jit/plan/types/dot_instruction.c */
  uint8_t shared;      /* DOT: bit o: operand o (0: in, 1: second) is read from buffer from[o]. Its
                          value, which no register holds, says what lies there; readers have waited
                          at a barrier since it was written */
  uint8_t from[2];     /* DOT: buffer of operand o, where `shared` has bit o */
  bool parts;          /* DOT of a warpgroup, first operand in registers: each position of the sum
                          outside the instruction is a commit group of its own, which begins when
                          that of the DOT before is done; behind the step all before are done */
  bool fresh_sums;     /* DOT of a warpgroup, sums of f32: each position of the result outside the
                          instruction is a commit group that sums from 0; its sums join `with`, and
                          are done when the step is */
  bool late_sums;      /* fresh_sums of two commit groups: the second one's join `with` in the turn
                          after, behind the walk those of the last one; the slots of the turn before
                          are free between, as the PLAN_RELEASE behind the step says */
  uint8_t second;      /* PREFIX, GATHER, DOT, APPLY, MAP by_value, STORE of 4-bit elements that
                          overhangs: value */
  uint8_t total;       /* SCAN: value, reduced along the order */
  uint8_t order;       /* SCAN: number of kernel.order, along which elements are joined */
  uint8_t level;       /* PUBLISH, PEEK, AWAIT: of totals, 0 to plan_lookback.levels - 1 */
  uint8_t element; /* FILL, exclusive: llrt_dtype of what is scanned, whose neutral element it is */
  bool exclusive;  /* FILL: of a sum +0. SCAN: without y itself, the neutral element where there is
                      no other */
  bool reverse;    /* SCAN: from the last position down; what is combined stays in order. WALK that
                      carries nothing: the turns, in whatever order they are, from the last on */
  bool joins;      /* IF_INTERIOR: both ways make value out. LOOP: out is carried from iteration to
                      iteration */
  bool nested;   /* LOOP that joins: `in`, and `with`, which has the result, lack the bits that this
                    loop counts */
  bool turned;   /* LOOP on the host around a walk: of every turn all iterations come before the
                    next turn */
  bool looped;   /* IF_INTERIOR, IF_PRESENT: asks about what `in` has in this iteration, not about
                    the block */
  bool pairs;    /* combining steps, WALK: index_in, index_with, index_out are the positions' values
                  */
  bool ordered;  /* JOIN, FOLD of pairs: the first operand's positions are all lower */
  bool relative; /* POSITION: less that of the thread's register 0 */
  bool bare;     /* WALK: nothing is carried */
  bool by_warps; /* WALK on a GPU: nothing in its body waits for other warps, and one of which no
                    element lies inside in the last turn does not take it */
  bool own;      /* BARRIER: of the block alone, where it is one of a cluster */
  bool pushed;   /* BARRIER: waits alone, for all elements of the pushed buffer */
  bool by_value; /* MAP: SCALE by value `second` */
  bool lazy;     /* MAP of whole words, SHARED_LOAD of matrices, GPU: each word is made where a DOT,
                    or a lazy MAP behind, first uses it. They alone use the value, and what it is
                    made of does not change before */
  uint8_t box;   /* COPY of producers, masked: whole boxes, 1 + number of launch.box; 0: each thread
                    its accesses, which products may read only where there are no boxes */
  uint8_t axis;  /* GATHER: its lowest tile bit. APPLY of POSITION: the axis */
  uint8_t axis_bits; /* GATHER: how many tile bits the axis has */
  uint8_t with;      /* the value that is joined or added to; kinds say which */
  uint8_t index_in, index_with, index_out; /* pairs: positions that belong to in, with, out */
  uint8_t op;                              /* APPLY: expr_operator */
  uint8_t operands; /* APPLY: how many of in, second, with it takes: 0 to 3 */
  uint8_t through;  /* APPLY of CAST: llrt_dtype that it rounds to on the way; 0: none */
  uint8_t rounding; /* APPLY of CAST through e8m0: expr_rounding */
  bool bounded;     /* APPLY of DIVIDE: whatever tensors hold, no |in| is above 2^PLAN_BOUNDED,
                       or above 2^PLAN_BOUNDED_OVER times `second`, where that is normal */
  bool positive;    /* APPLY of DIVIDE and of CAST through e8m0, likewise: `in` is +0, larger, or
                       NaN */
  bool power;       /* APPLY of DIVIDE: `second` is a number of e8m0, or NaN; of CAST through e8m0:
                       `in` is */
  bool least;       /* APPLY of DIVIDE, likewise: `in` is at least 2^-PLAN_LEAST, or NaN */
  bool moderate;    /* APPLY of DIVIDE and RCP, likewise: what it divides by is at least
                       2^-PLAN_LEAST, or NaN, and below 2^PLAN_MOST where it is finite */
  bool coarse;      /* APPLY of DIVIDE: of quotients below 2^-30 only the sign counts. Of EXP: `in`
                       is not above 0, and only what the power adds to 1 counts */
  bool sizes;       /* FOLD of f16 and bf16: their magnitudes are joined */
  bool narrow;      /* APPLY of EXP, EXP2, SIGMOID, SILU, GELU: may err by PROGRAM_NARROW_ERROR
                       (expression/program_narrow.h). Of DIVIDE: `in` may, and so may the quotient;
                       `second` is 1 or more */
  plan_number number; /* APPLY of NUMBER: its code, in type `type` */
} plan_step;

#endif
