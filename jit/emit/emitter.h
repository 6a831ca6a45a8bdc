/* The state of one emission. Private to jit/emit and the *_intrinsics.c of the backends.
 *
 * Uniform and varying. Block index, grid decode, loop counters, strides and extents are *uniform*: scalars
 * everywhere. What differs between lanes is *varying*: on a GPU a scalar of the thread, on the host an
 * LLVM vector with one element a lane, where the lane's own number is a constant. */
#ifndef LLRT_JIT_EMIT_EMITTER_H
#define LLRT_JIT_EMIT_EMITTER_H

#include "jit/emit/target_ops.h"
#include "jit/plan/access.h"
#include "jit/plan/number.h"

#define EMIT_MAX_REGISTERS (1 << PLAN_VALUE_BITS)
#define EMIT_MAX_LANES 128 /* of a host vector */

/* The machine words of a value, by register index above the in-word bits. GPU: i32, or i64 where
 * elements have 64 bits. Host: vectors of elements, one a lane (a scalar where lanes hold copies). */
typedef LLVMValueRef emit_words[EMIT_MAX_REGISTERS];

/* Machine words of a value. */
static inline int emit_word_count(const plan_value *value) {
  return 1 << (plan_value_bits(value, PLAN_REGISTER) - value->word);
}

/* A value of an index, i64; valid: whether it is in range, an i1, NULL where it always is. */
typedef struct emit_index_value {
  LLVMValueRef value, valid;
} emit_index_value;

/* What a tensor's indices add at one tile coordinate. */
typedef struct emit_index_terms {
  LLVMValueRef columns, sum; /* i64: what joins the XOR and the sum of the offset */
  LLVMValueRef value;        /* i64: of the tensor's last index */
  LLVMValueRef base;         /* a pointer list's address; NULL: the tensor's own */
  LLVMValueRef valid;        /* i1: memory may be touched; NULL: always */
  LLVMValueRef kept;         /* i1: the element is written; NULL: always */
} emit_index_terms;

/* The tile coordinates at which one set of index values holds. */
typedef struct emit_spot {
  uint64_t key; /* the coordinate's bits that select a value */
  emit_index_terms terms;
  LLVMValueRef base;   /* pointer to offset 0 */
  LLVMValueRef common; /* pointer to this thread's element of tile coordinate 0, with these values */
} emit_spot;

#define EMIT_MAX_SPOTS 32 /* remembered at a time */

/* Neighbouring values of an index, loaded together. */
#define EMIT_GROUP_VALUES 4
typedef struct emit_index_group {
  int index;
  uint64_t key; /* the tile coordinate's selecting bits, those inside the group clear */
  LLVMValueRef value[EMIT_GROUP_VALUES]; /* i64 */
} emit_index_group;

/* Where a step's elements lie: the address map of a tensor or buffer and what the thread adds. */
typedef struct emit_place {
  const plan_value *value;
  int bits;             /* of an element there */
  int tensor;           /* or -1: shared buffer */
  bool staged;          /* the tensor's panel in shared memory */
  plan_address_map map; /* of tile bits */
  LLVMValueRef base;    /* pointer to offset 0, but for pointer lists */
  uint64_t moving;      /* address bits that lane, warp, iteration, grid and indices can set; buffer: in bytes */
  LLVMValueRef sum;     /* buffer: what lane and warp add, bytes */
  bool nibbles;         /* elements of 4 bits are loaded one by one: two offsets of odd elements do not add up as bytes */
  bool indexed;         /* the tensor has indices */
  uint64_t selecting;   /* indexed: the bits of digits that select a value */
  int n_spots;
  emit_spot spot[EMIT_MAX_SPOTS]; /* without indices one */
  int n_groups;
  emit_index_group group[EMIT_MAX_SPOTS];
} emit_place;

/* The scales of a PLAN_MAP that reads them from a tensor. */
typedef struct emit_scales {
  emitter *e;
  const plan_step *step;
  const plan_map *map;
  emit_place place;
  LLVMValueRef known[EMIT_MAX_REGISTERS * 4]; /* by register; NULL: not read yet */
  plan_value value;                           /* over the kernel's whole tile */
} emit_scales;

/* PLAN_PREFETCH under way: `total` accesses, of which some are emitted with each of `words` words that the steps
 * behind it load, shuffle and store. */
typedef struct emit_ahead {
  const plan_step *step;
  emit_place place;
  LLVMValueRef grid, upper[PLAN_MAX_DIGITS]; /* of the block after this one */
  uint64_t inside, next;                     /* registers on the line of others; the next register */
  int total, asked, words, seen;
} emit_ahead;

/* PLAN_COLLECT: memory of the stretch, and where it begins in the tensor. */
typedef struct emit_collection {
  LLVMValueRef buffer, first; /* NULL: nothing is collected */
} emit_collection;

/* A turn of a walk as bodies see it. */
typedef struct emit_walked {
  LLVMValueRef grid;             /* i64: grid bits without a turn's */
  LLVMValueRef turn, begin, end; /* i64 */
} emit_walked;

/* Rounds of a block through the grid's positions, as emit_open_rounds begins them. */
typedef struct emit_rounds {
  LLVMValueRef first, lane, warp; /* the emitter's outside */
  LLVMValueRef block, turns;      /* phis; dealt: `block` is the turns that are left */
  LLVMBasicBlockRef head, done;
} emit_rounds;

/* Turns that are dealt out, as emit_deal.c finds them for the block, and its piece (emit_deal_piece). All i64. */
typedef struct emit_deal {
  LLVMValueRef block, blocks;    /* the block's number, its ticket, and how many there are */
  LLVMValueRef own, run;         /* turns of whole positions, and of the run behind them */
  LLVMValueRef first, dealt;     /* the first position whose turns are dealt; all that are */
  LLVMValueRef begin;            /* of the run */
  LLVMValueRef position;         /* the first turn of the piece's position, counted like `begin` */
  LLVMValueRef from, to;         /* the piece's turns of its position */
  LLVMValueRef left, rest;       /* turns of the block that are left with the piece, and behind it */
} emit_deal;

struct emitter {
  const plan_kernel *kernel;
  const emit_target_ops *ops;
  LLVMContextRef context;
  LLVMModuleRef module;
  LLVMBuilderRef builder;
  LLVMValueRef function;
  LLVMMetadataRef scope; /* of locations; NULL: none */
  LLVMTypeRef i1, i8, i32, i64;

  LLVMValueRef args[PLAN_MAX_ARGS]; /* i64 */
  LLVMValueRef boxes[PLAN_MAX_BOXES]; /* pointers to what the launch gives for launch.box */
  LLVMValueRef block;               /* i64 */
  LLVMValueRef lane, warp;          /* i32; NULL on the host */
  LLVMValueRef block_warp, rank;    /* i32, GPU: the warp's number in its block, producers' behind the others'; what the
                                       block's number in its cluster adds to `warp`, NULL without one */

  LLVMValueRef grid;                     /* i64: grid bits of this block */
  LLVMValueRef upper[PLAN_MAX_DIGITS];   /* i64: upper part of each REST digit */
  LLVMValueRef first[PLAN_MAX_GRID];     /* i64, flat: positions of the block's first element, by place */
  LLVMValueRef panel;                    /* i64: offset of the staged panel in tensor 0; apart: bytes in front of it in shared memory */
  LLVMValueRef iteration, outer;         /* i64; NULL outside loops; outer: of the loops around the innermost */
  uint32_t apart; /* bounds that the step does not look at */
  bool interior; /* what is emitted runs only where the block is inside every bound */
  emit_index_value index[PLAN_MAX_INDICES]; /* of uniform indices */
  LLVMValueRef extent[LLRT_MAX_RANK];       /* i64: of device memory; NULL where it is not there */
  LLVMValueRef shared_start;             /* pointer to bytes */
  LLVMValueRef barriers;                 /* pointer to those of slots, with roles */
  bool roles;                            /* barriers are of all but the producers */
  LLVMValueRef shared[PLAN_MAX_BUFFERS]; /* pointers to bytes: of the first slot */
  const emit_walked *walked;             /* NULL outside walks */
  LLVMValueRef turns_before;             /* i32, in rounds: turns of the block's positions before; else NULL */
  emit_rounds rounds;                    /* of the block's own warps, with roles */
  emit_deal deal;
  LLVMValueRef ticket;            /* pointer to where a block's ticket is; NULL: it draws none */
  LLVMValueRef next_block, drawn; /* i64, i32: of a block that queues, found by a turn's first PLAN_AHEAD (NULL: not
                                     yet): the next, and the one after that as the first thread has it */
  const emit_place *both; /* of an access that is emitted both with masks and without; else NULL */
  emit_ahead ahead;
  emit_collection collected;
  LLVMValueRef streams; /* i1: stores bypass the caches; NULL: they do */
  bool cached;          /* what is emitted runs where they do not */
  bool whole_warps;     /* some step wants all lanes of a warp at once */
  bool parted;          /* a branch of this step may have parted the lanes of a warp */
  bool proxies;         /* products read shared memory past threads' own accesses: barriers order those, too */
  LLVMValueRef scratch; /* host: memory of one register; NULL: not needed yet */
  emit_words value[PLAN_MAX_VALUES];
  const plan_step *lazy[PLAN_MAX_VALUES];  /* the step that makes the value's words; NULL: they are there */
  emit_words prepared[PLAN_MAX_VALUES];    /* by the value that is made: scales as words of pairs */
  emit_scales scales; /* of the last step that has some */
};

#endif
