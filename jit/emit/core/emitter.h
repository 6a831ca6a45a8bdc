/* The state of one emission. Private to jit/emit and the *_intrinsics.c of the backends.
 *
 * Uniform and varying. Block index, grid decode, loop counters, strides and extents are *uniform*:
 * scalars everywhere. What differs between lanes is *varying*: on a GPU a scalar of the thread, on
 * the host an LLVM vector with one element a lane, where the lane's own number is a constant. */
#ifndef LLRT_JIT_EMIT_EMITTER_H
#define LLRT_JIT_EMIT_EMITTER_H

#include "jit/emit/core/target_ops.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/types/number.h"

#define EMIT_MAX_REGISTERS (1 << PLAN_VALUE_BITS)
#define EMIT_MAX_LANES 128 /* of a host vector */

/* The machine words of a value, by register index above the bits inside a word. GPU: i32, or i64
 * for elements of 64 bits. Host: vectors with an element of each lane, scalars where all lanes hold
 * the same one. NULL: not made yet. */
typedef LLVMValueRef emit_words[EMIT_MAX_REGISTERS];

/* How many machine words a value has in each thread. */
static inline int emit_word_count(const plan_value *value) {
  return 1 << (plan_value_bits(value, PLAN_REGISTER) - value->word);
}

/* ---- addresses ---- */

/* A value of an index. */
typedef struct emit_index_value {
  LLVMValueRef value; /* i64 */
  LLVMValueRef valid; /* i1: it is in range; NULL: it always is */
} emit_index_value;

/* What all indices of a tensor together do to an access at one tile coordinate. */
typedef struct emit_index_terms {
  LLVMValueRef columns; /* i64: XORed into the offset, elements */
  LLVMValueRef sum;     /* i64: added to the offset, elements */
  LLVMValueRef value;   /* i64: of the tensor's last index */
  LLVMValueRef base;    /* i64: address that a pointer list gives; NULL: the tensor's own */
  LLVMValueRef valid;   /* i1: memory may be touched; NULL: always */
  LLVMValueRef kept;    /* i1: the element is written; NULL: always */
} emit_index_terms;

/* One set of index values, and where the tile lies with them: remembered, because neighbouring
 * elements mostly share it. */
typedef struct emit_spot {
  uint64_t key; /* those bits of the tile coordinate that choose values of indices */
  emit_index_terms terms;
  LLVMValueRef base;   /* pointer to offset 0 of the tensor */
  LLVMValueRef common; /* pointer to this thread's element of tile coordinate 0 */
} emit_spot;

#define EMIT_MAX_SPOTS 32 /* remembered at a time */

/* Values of indices that every turn of a walk wants, read before it. */
#define EMIT_MAX_KEPT 32
typedef struct emit_kept {
  int part; /* of a producer's work (emit_roles.c): its parts want values of their own */
  int n;
  struct {
    int index, part;
    uint64_t key; /* as emit_spot.key */
    emit_index_value read;
  } value[EMIT_MAX_KEPT];
} emit_kept;

/* Neighbouring values of an index, loaded by one access. */
#define EMIT_GROUP_VALUES 4
typedef struct emit_index_group {
  int index;    /* number in kernel->index */
  uint64_t key; /* as emit_spot.key, bits that number values inside the group clear */
  LLVMValueRef value[EMIT_GROUP_VALUES]; /* i64 */
} emit_index_group;

/* Where a step's elements lie: the map from tile bits to addresses, and what the thread adds. */
typedef struct emit_place {
  const plan_value *value;
  int bits;             /* of an element in memory */
  int tensor;           /* number; -1: a shared buffer */
  bool staged;          /* the tensor's panel in shared memory stands for the tensor */
  plan_address_map map; /* tile bits -> address, elements */
  LLVMValueRef base;    /* pointer to offset 0; of pointer lists each spot has its own */
  uint64_t moving;      /* address bits that lane, warp, iteration, grid and indices may set; in
                           elements of a tensor, bytes of a buffer */
  LLVMValueRef sum;     /* buffer: what lane and warp add, bytes; tensor: NULL */
  bool nibbles;         /* 4-bit elements, loaded one by one: offsets must be added before they are
                           halved, since two odd ones make one byte more */
  bool indexed;         /* the tensor has indices */
  bool following;       /* the step's accesses are of positions whose values follow each other */
  uint64_t selecting;   /* indexed: bits of `space`'s digits that choose values of indices */
  int n_spots;          /* without indices at most one */
  emit_spot spot[EMIT_MAX_SPOTS];
  int n_groups;
  emit_index_group group[EMIT_MAX_SPOTS];
} emit_place;

/* ---- state of single steps ---- */

/* PLAN_MAP that reads its scales from a tensor: the scales that were read so far. */
typedef struct emit_scales {
  emitter *e;
  const plan_step *step;
  const plan_map *map;
  uint64_t masked_bits; /* of the space, that masks look at */
  emit_place place;
  LLVMValueRef known[EMIT_MAX_REGISTERS * 4]; /* by register index; NULL: not read yet */
  plan_value value;                           /* the mapped value, over the kernel's whole tile */
} emit_scales;

/* PLAN_PREFETCH (host): accesses still to be emitted, a few beside each word that the steps behind
 * it load, shuffle and store. */
typedef struct emit_ahead {
  const plan_step *step;
  emit_place place;
  LLVMValueRef grid, upper[PLAN_MAX_DIGITS]; /* of the block behind this one */
  uint64_t inside; /* register bits that stay on one line of memory: one access asks for all */
  uint64_t next;   /* register index that is asked for next */
  int total;       /* accesses in all */
  int asked;       /* of these, emitted */
  int words;       /* words of the steps behind */
  int seen;        /* of these, emitted */
} emit_ahead;

/* PLAN_COLLECT (host): rows of the destination that stores leave in memory of the stack. */
typedef struct emit_collection {
  LLVMValueRef buffer; /* pointer to that memory; NULL: nothing is collected */
  LLVMValueRef first;  /* i64: offset in the tensor that its beginning stands for, elements */
} emit_collection;

/* The walk around the steps that are emitted. */
typedef struct emit_walked {
  LLVMValueRef grid;       /* i64: grid bits of the block, those that turns number clear */
  LLVMValueRef turn;       /* i64: of begin .. end - 1 */
  LLVMValueRef begin, end; /* i64: the block's turns */
  LLVMValueRef whole; /* i1: all that the warp has lies inside of all bounds in the turn that lies
                         farthest, and so in each; NULL: it is not asked */
} emit_walked;

/* A PLAN_LOOP around a walk whose order is turned (plan_step.turned): each turn of the walk goes
 * through all iterations, and what the walk carries lies in memory, iteration by iteration. */
typedef struct emit_turned {
  const plan_step *loop;
  const plan_step *present;     /* looped IF_PRESENT around all steps of the loop; NULL: none */
  LLVMValueRef keys, positions; /* pointers to what is carried; positions: of pairs, else NULL */
  LLVMValueRef end; /* i64: behind the last iteration with something to do; NULL: all have */
} emit_turned;

/* Rounds: the loop of a persistent block over positions of the grid (emit_open_rounds). */
typedef struct emit_rounds {
  LLVMValueRef first, lane, warp; /* the emitter's fields of these names outside the loop */
  LLVMValueRef block;  /* phi, i64: the position; where turns are dealt, pieces that are left */
  LLVMValueRef turns;  /* phi, i32: turns of the positions before this one */
  LLVMValueRef number; /* phi, i32, of a team: how many positions it has had; else NULL */
  LLVMBasicBlockRef head, done;
  bool late; /* where the position is is asked behind its walk (emit_ask_position) */
} emit_rounds;

/* Turns that are dealt out (plan_deal): what emit_deal.c found for this block, all i64. */
typedef struct emit_deal {
  LLVMValueRef block;    /* the block's number, which is its ticket */
  LLVMValueRef share;    /* turns of a run ... */
  LLVMValueRef longer;   /* ... and how many blocks, the first ones, have one more */
  LLVMValueRef position; /* the first turn of the piece's position, of the dealt ones */
  LLVMValueRef from, to; /* the piece's turns of its position: [from, to) */
  LLVMValueRef left;     /* pieces that the block still has, this one among them */
  LLVMValueRef rest;     /* pieces that it has behind this one */
} emit_deal;

/* Grouped products whose positions have their experts' numbers: among which positions those of the
 * experts from front to back, one entry of the table, are. All i64. */
typedef struct emit_expert_entry {
  bool used; /* else those of all experts, among all positions */
  LLVMValueRef low, high, front, back;
} emit_expert_entry;

/* Grouped products (plan_experts). */
typedef struct emit_experts {
  LLVMValueRef tiles; /* i64: of all experts; NULL: the grid does not count them together */
  LLVMValueRef table; /* GPU: pointer to its entries in shared memory */
  LLVMValueRef first; /* i64: the first position of the block's expert */
  emit_expert_entry entry;
} emit_experts;

struct emitter {
  const plan_kernel *kernel;
  const emit_target_ops *ops;
  LLVMContextRef context;
  LLVMModuleRef module;
  LLVMBuilderRef builder;
  LLVMValueRef function;
  LLVMMetadataRef scope; /* of locations; NULL: there are none */
  LLVMTypeRef i1, i8, i32, i64;

  /* ---- what the launch gives, and whose code this is ---- */
  LLVMValueRef args[PLAN_MAX_ARGS];   /* i64, by kernel argument */
  LLVMValueRef boxes[PLAN_MAX_BOXES]; /* pointers to tensor maps, by number of launch.box */
  LLVMValueRef rests[PLAN_MAX_BOXES]; /* the same of boxes' rests, where they have such */
  LLVMValueRef block;                 /* i64: number of the block, or its position in rounds */
  LLVMValueRef lane;                  /* i32; NULL on the host */
  LLVMValueRef
      warp; /* i32: of the cluster where there is one, else of the block; NULL on the host */
  LLVMValueRef block_warp; /* i32: of the block, producers' warps behind all others; GPU */
  LLVMValueRef rank;       /* i32: the block's share of `warp` in a cluster; NULL: no cluster */
  LLVMValueRef grid;       /* i64: grid bits of the block */
  LLVMValueRef upper[PLAN_MAX_DIGITS]; /* i64: upper part, by digit that has one */
  LLVMValueRef first[PLAN_MAX_GRID];   /* flat: i64, position of the block's first element, by
                                          place */
  LLVMValueRef panel; /* i64. Panel in place: its offset in tensor 0, elements. Staged panel: bytes
                         in front of it in shared memory */

  /* ---- loops and branches around what is emitted ---- */
  LLVMValueRef iteration;     /* i64: of the innermost loop and all around it; NULL outside loops */
  LLVMBasicBlockRef in_front; /* the end of this block comes before a loop of turns; NULL: there is
                                 none (emit_rolled.c) */
  LLVMValueRef outer;         /* i64: of the loops around the innermost; NULL: there are none */
  uint32_t ignored_bounds;    /* bit i: this step's masks leave bound i out */
  bool interior;              /* only blocks inside every bound come here, ... */
  uint32_t interior_but;      /* ... but for these (bit i: bound i) */
  emit_index_value index[PLAN_MAX_INDICES]; /* of uniform indices, by number */
  emit_kept kept;
  LLVMValueRef extent[LLRT_MAX_RANK]; /* i64: by axis, from device memory; NULL: it is not there */
  const emit_walked *walked;          /* NULL outside walks */
  const emit_turned *turned;          /* NULL outside the walk of a turned loop */
  emit_words early, late;    /* plan_step.late_sums: the turn's own first sums, those of the second
                                part of the turn before */
  LLVMValueRef turns_before; /* i32, rounds: turns of the block's earlier positions; else NULL */
  LLVMValueRef team;         /* i32, behind PLAN_ROLES: number of the warp's team; NULL: one team */
  emit_experts experts;
  emit_rounds rounds; /* of those warps that are no producers */
  emit_deal deal;
  LLVMValueRef ticket;     /* pointer to the block's ticket in shared memory; NULL: it draws none */
  LLVMValueRef next_block; /* queue, i64: the block's next position; NULL: not asked for yet in
                              this turn */
  LLVMValueRef drawn;      /* queue, i32: the one behind that, in the thread that draws */

  /* ---- shared memory ---- */
  LLVMValueRef shared_start;             /* pointer to its bytes */
  LLVMValueRef shared[PLAN_MAX_BUFFERS]; /* pointers to bytes: each buffer's first slot */
  LLVMValueRef barriers;                 /* with producers: pointer to the slots' barriers */
  bool roles;   /* producers have parted: a barrier of the block is one of all other warps */
  bool proxies; /* products read shared memory past threads' own accesses: barriers order those as
                   well */

  /* ---- accesses ---- */
  const emit_place *both; /* place of an access that is emitted twice, masked and unmasked, and
                             shares its address; else NULL */
  emit_ahead ahead;
  emit_collection collected;
  LLVMValueRef streams; /* i1: stores bypass the caches; NULL: those that may always do */
  bool cached;          /* what is emitted runs where `streams` is false */
  bool whole_warps;     /* some step of the kernel wants all lanes of a warp at once */
  bool parted;          /* a branch of this step may have separated the lanes of a warp */
  LLVMValueRef scratch; /* host: memory of one register; NULL: not needed yet */

  /* ---- values ---- */
  emit_words *value;            /* as many as the kernel has values, and so many are `prepared` */
  struct emit_rolling *rolling; /* steps that are made by turns (emit_rolled.c); NULL: none */
  const struct rolled_run *straight; /* turns that follow each other (emit_rolled.c); NULL: none */
  int together; /* loads without a branch since the last one with one (guarded_load) */
  int taking; /* > 0: elements of bf16 are taken out of words once more, in a way of this number */
  const plan_step *lazy[PLAN_MAX_VALUES]; /* by value: the step that makes its words when they are
                                             asked for; NULL: they are there */
  uint8_t halves[PLAN_MAX_VALUES]; /* by value of f32: llrt_dtype of the 16-bit floats whose words
                                      stand for its own (emit_halves.c); 0: its own */
  emit_words *prepared;            /* by mapped value: its scales as words of pairs */
  emit_scales scales;              /* of the last step that read some */

  /* Recursion: a step owns a body of steps, a word is made of words. Set by emit.c, which knows all
   * of them; called by emit_steps and emit_word. */
  void (*make_steps)(emitter *e, int first, int n);
  void (*make_word)(emitter *e, int value, int w);
};

/* Emits steps first .. first + n - 1 of the plan; a step emits those of its body itself. */
static inline void emit_steps(emitter *e, int first, int n) { e->make_steps(e, first, n); }

/* Word number w of value number `value`; a lazy one is made on its first use. */
static inline LLVMValueRef emit_word(emitter *e, int value, int w) {
  if (e->lazy[value] && !e->value[value][w]) e->make_word(e, value, w);
  return e->value[value][w];
}

#endif
