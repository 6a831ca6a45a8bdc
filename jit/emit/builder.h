/* The state of one emission and the operations a target supplies. Private to jit/emit and the
 * *_intrinsics.c of the backends.
 *
 * Uniform and varying. Block index, grid decode, loop counters, strides and extents are *uniform*: scalars
 * everywhere. What differs between lanes is *varying*: on a GPU a scalar of the thread, on the host an
 * LLVM vector with one element a lane, where the lane's own number is a constant. */
#ifndef LLRT_JIT_EMIT_BUILDER_H
#define LLRT_JIT_EMIT_BUILDER_H

#include "jit/plan/dot_tiling.h"
#include "jit/plan/access.h"
#include "jit/plan/number.h"

#include <llvm-c/Core.h>

#define EMIT_MAX_REGISTERS (1 << PLAN_VALUE_BITS)
#define EMIT_MAX_LANES 128 /* of a host vector */

typedef struct emitter emitter;

/* Instructions of a warpgroup that are begun together: each adds to n_acc words of acc, from word `to` on, n_a words of
 * a or, where n_a is 0, the matrix that descriptor a says, times the one that descriptor b says. */
#define EMIT_MAX_PRODUCTS 32
typedef struct emit_group_product {
  const dot_instruction *row;
  const dot_matrix *matrix; /* of a and of b */
  int n, n_acc, n_a;
  int columns; /* of an instruction: the row's, or fewer */
  LLVMValueRef *acc;
  int to[EMIT_MAX_PRODUCTS];
  LLVMValueRef *a[EMIT_MAX_PRODUCTS];
  LLVMValueRef descriptor[2][EMIT_MAX_PRODUCTS]; /* i64 */
  bool last; /* of the group */
  bool from_zero; /* the first one's sums are of its own products alone; all have the same sums */
} emit_group_product;

/* What a backend gives to emission. Each operation has a compile test for every target. */
typedef struct emit_target_ops {
  /* Makes the entry function, positions the builder in its body, sets e->args (i64 each), e->block (i64)
   * and, on a GPU, e->lane and e->warp (i32). */
  void (*begin)(emitter *e);
  /* Ends the function. */
  void (*end)(emitter *e);
  /* A buffer of the block, as a pointer to its bytes. */
  LLVMValueRef (*shared)(emitter *e, int bytes);
  /* The kernel argument as a pointer to global memory. */
  LLVMValueRef (*global)(emitter *e, LLVMValueRef address);
  /* Shared writes of all threads of the block, or of the cluster where the kernel has them, before it are seen by
   * all after it. */
  void (*barrier)(emitter *e, bool own); /* own: of the block, though it is one of a cluster's */

  /* The same value (a word, on the host a vector of lanes or a number), from which the code generator
   * cannot look back. */
  LLVMValueRef (*opaque)(emitter *e, LLVMValueRef value);

  /* Whether f32 <-> f16 are instructions; NaN's payload does not count. */
  bool (*has_half)(const emitter *e);

  /* ---- GPU only: between blocks, through global memory; pointers as `global` gives them ---- */

  /* One number more in an i32: what it was. No other access is ordered by it. */
  LLVMValueRef (*ticket)(emitter *e, LLVMValueRef pointer);
  /* Loads (where the condition holds) and stores an i64 that blocks exchange while they run, whole; nor do these
   * order any other. */
  LLVMValueRef (*peek)(emitter *e, LLVMValueRef pointer, LLVMValueRef condition, LLVMValueRef otherwise);
  void (*poke)(emitter *e, LLVMValueRef pointer, LLVMValueRef cell);
  /* What this thread has done, or knows of, before comes before what it does behind this, for the whole device. NULL: never. */
  void (*fence)(emitter *e);
  /* Ends a loop in which lanes wait: where a lane's condition alone would part it from its warp, whether it holds
   * in all of them. */
  LLVMValueRef (*all_lanes)(emitter *e, LLVMValueRef condition);

  /* ---- host only ---- */

  /* Whether vectors of elements of so many bits are loaded and stored under a mask by one instruction. */
  bool (*has_masks)(const emitter *e, int bits);
  /* acc + a * b of both halves in lanes of 32 bits, by an instruction that is made for those, else NULL. */
  LLVMValueRef (*multiply_halves)(emitter *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef acc);
  /* number[code mod 16] in every lane, where one or two instructions find it; else NULL. number[i + 8] = -number[i]. */
  LLVMValueRef (*look_up)(emitter *e, const float number[16], LLVMValueRef code);

  /* ---- GPU only; 32-bit words ---- */

  /* `word` of lane `lane` (both i32), all lanes taking part. */
  LLVMValueRef (*shuffle)(emitter *e, LLVMValueRef word, LLVMValueRef lane);
  /* Byte i of the result is byte number[i] of the eight bytes low, high, where selector = selector(number),
   * or an i32 that is one at run time (emit_permute). */
  LLVMValueRef (*permute)(emitter *e, LLVMValueRef low, LLVMValueRef high, LLVMValueRef selector);
  uint32_t (*selector)(const int number[4]);
  bool nibble_selectors; /* a selector is four nibbles, the lowest for byte 0; what is above them does not count */
  /* 2^count matrices (plan_matrix_kind in jit/plan/plan.h), one word of a lane each. row: pointer to the row
   * of shared memory that this lane gives the address of. NULL where targets have none. */
  void (*matrix_load)(emitter *e, LLVMValueRef row, int count, bool transposed, LLVMValueRef *words);
  void (*matrix_store)(emitter *e, LLVMValueRef row, int count, bool transposed, LLVMValueRef *words);
  /* `type`, an integer or a vector of such, from global memory where `condition` (i1) holds, else `otherwise`,
   * without a branch, so that several are under way at once: NULL where a load of that type has to have
   * one. The memory is not written by the kernel. NULL: never. */
  LLVMValueRef (*load_if)(emitter *e, LLVMTypeRef type, LLVMValueRef pointer, LLVMValueRef condition,
                          LLVMValueRef otherwise);
  /* The address (i32) of where `pointer` is in the shared memory of the cluster's block number `rank` (i32), and
   * a load of `type` from so many bytes behind such an address. NULL where targets have no clusters. */
  LLVMValueRef (*cluster_address)(emitter *e, LLVMValueRef pointer, LLVMValueRef rank);
  LLVMValueRef (*cluster_load)(emitter *e, LLVMTypeRef type, LLVMValueRef address, int offset);
  /* Two codes (i32) to f32 and back, where the target has instructions for two at once: false, and nothing
   * emitted, where it has none. NULL: never. NaN is written as number_format.nan. */
  bool (*decode_pair)(emitter *e, llrt_dtype from, const LLVMValueRef code[2], LLVMValueRef x[2]);
  bool (*encode_pair)(emitter *e, llrt_dtype to, const LLVMValueRef x[2], LLVMValueRef code[2]);
  /* `bytes` (4, 8 or 16) from global to shared memory, later; present (i1; NULL: yes): else zeros; own (i1; NULL: all
   * are): the lanes that copy, without a branch. end_copies: what was begun before is a group. await_copies: all groups but the last `groups` have arrived. NULL where targets have
   * none. */
  void (*copy)(emitter *e, LLVMValueRef to, LLVMValueRef from, int bytes, LLVMValueRef present, LLVMValueRef own);
  void (*end_copies)(emitter *e);
  void (*await_copies)(emitter *e, int groups);
  /* One matrix instruction of all lanes: acc += a x b, words of each operand as plan_dot_tiling has them. NULL where
   * targets have none (and their rows of jit/plan/dot_instruction.c are of other targets). */
  void (*product)(emitter *e, const dot_instruction *row, const LLVMValueRef *a, const LLVMValueRef *b,
                  LLVMValueRef *acc);
  /* Products of a warpgroup, begun: some of a group. await_products: all groups but the last `groups` are done, of whose
   * sums these are `n` words. NULL: as product. */
  void (*group_product)(emitter *e, const emit_group_product *product);
  void (*await_products)(emitter *e, int groups, LLVMValueRef *words, int n);
  /* How many blocks the launch has; i32. NULL: as product. */
  LLVMValueRef (*blocks)(emitter *e);
  /* Barriers of 8 bytes of shared memory: made for so many arrivals a phase; an arrival of a thread, which releases what
   * it did; whether the phase of a parity (i32) has passed (i1), which acquires. proxy_fence: products see what this thread
   * has written once others know. set_registers: threads of the warpgroup have so many from here on, more or fewer than
   * before. NULL: as product. */
  void (*make_barrier)(emitter *e, LLVMValueRef pointer, int arrivals);
  /* An arrival that makes the phase wait for so many bytes of boxes, too; copies one to shared memory, from these
   * positions (i32) of its tensor on, which tells `barrier`. By one thread. */
  void (*expect_boxes)(emitter *e, LLVMValueRef barrier, int bytes);
  void (*copy_box)(emitter *e, LLVMValueRef to, LLVMValueRef box, const LLVMValueRef *from, int rank,
                   LLVMValueRef barrier);
  void (*arrive)(emitter *e, LLVMValueRef pointer);
  /* An arrival that happens when all that the thread began to copy before is there, for those who wait then. */
  void (*arrive_copied)(emitter *e, LLVMValueRef pointer);
  LLVMValueRef (*phase_passed)(emitter *e, LLVMValueRef pointer, LLVMValueRef parity);
  void (*proxy_fence)(emitter *e);
  void (*set_registers)(emitter *e, int count, bool more);
  /* Lanes of a warp that masks parted come together, as product wants them. NULL: they need not. */
  void (*meet_warp)(emitter *e);
  /* Words of two f16 or bf16: a * b + c, rounded once, subnormal numbers kept. c NULL: a * b. NULL: never. */
  LLVMValueRef (*multiply_pair)(emitter *e, llrt_dtype type, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c);
  /* A select of words (i32) by another unit than that of selects, so that both work side by side. NULL: there is none. */
  LLVMValueRef (*select_beside)(emitter *e, LLVMValueRef condition, LLVMValueRef yes, LLVMValueRef no);
  /* (x & mask) ^ bits of words as one instruction. NULL: it takes two. */
  LLVMValueRef (*mask_xor)(emitter *e, LLVMValueRef x, uint32_t mask, uint32_t bits);
} emit_target_ops;

/* backends/<vendor>/<vendor>_intrinsics.c */
extern const emit_target_ops emit_ops_host, emit_ops_nvptx, emit_ops_amdgpu;

/* The machine words of a value, by register index above the in-word bits. GPU: i32, or i64 where
 * elements have 64 bits. Host: vectors of elements, one a lane (a scalar where lanes hold copies). */
typedef LLVMValueRef emit_words[EMIT_MAX_REGISTERS];

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
  LLVMValueRef number;           /* the block's, as it has it */
  LLVMValueRef block, blocks;    /* the block's number in the launch, and how many there are */
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

/* ---- small helpers: builder.c ---- */
LLVMValueRef emit_i32(const emitter *e, int64_t x);
LLVMValueRef emit_i64(const emitter *e, int64_t x);
LLVMTypeRef emit_int_type(const emitter *e, int bits);
/* x in every lane of an integer type, vector or scalar. */
LLVMValueRef emit_splat(LLVMTypeRef type, uint64_t x);
/* A number of the plan: a constant or an argument, i64. */
LLVMValueRef emit_number(const emitter *e, const plan_number *number);
LLVMBasicBlockRef emit_new_block(const emitter *e, const char *name);
/* Calls an LLVM intrinsic that is overloaded on `types`. */
LLVMValueRef emit_intrinsic(const emitter *e, const char *name, LLVMTypeRef *types, int n_types,
                            LLVMValueRef *args, int n_args);
/* XOR over set bits i < n of x of columns[i]: shifts and masks for runs of bits that move by one
 * distance, in the type of x, each lane of a vector by itself. Zero bits of x past n are the caller's
 * business. */
LLVMValueRef emit_linear(const emitter *e, LLVMValueRef x, const uint64_t *columns, int n);
/* The parity of x & mask, an i1. */
LLVMValueRef emit_functional(const emitter *e, LLVMValueRef x, uint64_t mask);
bool emit_is_host(const emitter *e);
/* arithmetic.c, integers of one type; signed comparisons. */
LLVMValueRef emit_add(const emitter *e, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef emit_subtract(const emitter *e, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef emit_choose(const emitter *e, LLVMValueRef c, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef emit_less(const emitter *e, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef emit_smaller(const emitter *e, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef emit_larger(const emitter *e, LLVMValueRef a, LLVMValueRef b);
/* A 32-bit word rotated to the left, of which `mask` alone is wanted: a shift where nothing of that comes around. */
LLVMValueRef emit_rotated(emitter *e, LLVMValueRef word, int left, uint32_t mask);
/* b where the mask is 1, else a; words, or lanes of 32 bits. */
LLVMValueRef emit_merged(const emitter *e, LLVMValueRef a, LLVMValueRef b, uint32_t mask);
/* `pointer` plus so many bytes (i32, signed). */
LLVMValueRef emit_move_pointer(const emitter *e, LLVMValueRef pointer, LLVMValueRef bytes);
/* Byte i is byte number[i] of low, high; GPU only. */
LLVMValueRef emit_permute(emitter *e, LLVMValueRef low, LLVMValueRef high, const int number[4]);
/* a and b, i1; a condition that is NULL always holds. */
LLVMValueRef emit_and(const emitter *e, LLVMValueRef a, LLVMValueRef b);
/* Opens a block that runs only where `condition` holds; its continuation, for close, or NULL where the
 * condition always holds. of_warps: where the condition is the same in all lanes of a warp, which stay together. */
LLVMBasicBlockRef emit_open_guard(emitter *e, LLVMValueRef condition);
LLVMBasicBlockRef emit_open_guard_of_warps(emitter *e, LLVMValueRef condition);
void emit_close_guard(emitter *e, LLVMBasicBlockRef next);
/* The lanes of a warp that guards of this step may have parted come together: behind every step, and inside of one
 * before it shuffles. It has to stand right behind the guards, before any other branch: where other ways come in,
 * ptxas 13.0 takes lanes to be together, and sees to it only if something of the guards' own way follows them. */
void emit_bring_together(emitter *e);

/* ---- location.c: which step of the plan an instruction came from ---- */

/* Makes locations part of the function, if LLRT_EMIT_LOCATIONS asks: .loc lines in PTX. */
void emit_begin_locations(emitter *e);
/* What is emitted from here on belongs to step `at`: line at + 1. Without begin, nothing. */
void emit_location(emitter *e, int at);

/* ---- gpu_function.c: target operations that GPUs share ---- */
/* begin with the vendor's calling convention and intrinsics of thread and block index. */
void emit_gpu_begin(emitter *e, unsigned convention, const char *thread_index,
                    const char *block_index);
void emit_gpu_end(emitter *e);
LLVMValueRef emit_gpu_shared(emitter *e, int bytes);
LLVMValueRef emit_gpu_global(emitter *e, LLVMValueRef address);
/* opaque with the constraint of a register of 32 and of 64 bits. */
LLVMValueRef emit_gpu_opaque(emitter *e, LLVMValueRef value, const char *narrow, const char *wide);

/* ---- decode_block.c, position.c, place.c, mask.c: block decode, coordinates, addresses, masks (and place.h) ---- */

/* Sets e->grid and e->upper from e->block. Not for flat kernels. */
void emit_decode_block(emitter *e);
/* A flat kernel's: sets e->first. */
void emit_flat_first(emitter *e);
/* The block's turns [*begin, *end) of the kernel's walk, i64; what a turn changes of e->grid and e->upper. */
void emit_block_turns(emitter *e, LLVMValueRef *begin, LLVMValueRef *end);
void emit_decode_turn(emitter *e, LLVMValueRef turn);

void emit_place_tensor(emitter *e, const plan_value *value, int tensor, emit_place *place);
void emit_place_buffer(emitter *e, const plan_value *value, int buffer, emit_place *place);
/* The number of this turn of the block, whose rounds before count, too; i32. Where its slot of a buffer begins. */
LLVMValueRef emit_turn_number(const emitter *e);
LLVMValueRef emit_slot_pointer(emitter *e, int buffer);

/* The position of digit i at tile coordinate `tile` XOR what the thread adds; i64. */
LLVMValueRef emit_position(emitter *e, const plan_value *value, int i, uint64_t tile);
/* What `tile` adds to that position at tile coordinate 0; -1 where the bits that it moves are moved by the
 * thread, too. */
int64_t emit_position_known(emitter *e, const plan_value *value, int i, uint64_t tile);
/* And an axis's coordinate. */
LLVMValueRef emit_coordinate(emitter *e, const plan_value *value, int axis, uint64_t tile);

/* What the place's indices add at `tile`; NULL: it has none. Asked for first outside of any guard of an
 * access, so that what it emits is there for all that follow. */
const emit_index_terms *emit_place_terms(emitter *e, emit_place *place, uint64_t tile);
/* Where the block's panel lies in tensor 0: its offset, and a pointer to it. */
LLVMValueRef emit_panel(emitter *e, int tensor, LLVMValueRef *pointer);
/* Where what index 0 chooses from begins, for the block's other coordinates: value 0's. */
LLVMValueRef emit_values_pointer(emitter *e);

/* Pointer to the element at tile coordinate `tile` XOR what the thread adds; of 4 bits, to its byte. */
LLVMValueRef emit_pointer(emitter *e, emit_place *place, uint64_t tile);

/* The same element's offset, i64: for elements that have no pointer of their own (4 bits). */
LLVMValueRef emit_offset(emitter *e, emit_place *place, uint64_t tile);

/* i1: whether that element is inside every bound of its tensor (flat: and inside the count); NULL:
 * always. */
LLVMValueRef emit_inside(emitter *e, const emit_place *place, uint64_t tile);

/* i1: whether this block is inside every bound, and its vectors of memory inside tensor 0. */
LLVMValueRef emit_interior(emitter *e, uint32_t apart);

/* What a bound looks at: the coordinate of its axis, or its digit's position; i64. */
LLVMValueRef emit_bounded(emitter *e, const plan_value *value, const plan_bound *bound, uint64_t tile);

/* i1: whether that is below the bound's limit. */
LLVMValueRef emit_is_bounded(emitter *e, const plan_value *value, const plan_bound *bound, uint64_t tile);

/* The limit of a bound. */
LLVMValueRef emit_bound_limit(emitter *e, const plan_bound *bound);

/* i1: whether this thread holds the first of the copies of `value`; NULL: there are no copies. */
LLVMValueRef emit_is_first_copy(emitter *e, const plan_value *value);
/* The same among the block's own warps: copies in other blocks of the cluster do not count. */
LLVMValueRef emit_is_first_in_block(emitter *e, const plan_value *value);
/* Both conditions of the latter: among warps, where all lanes of a warp agree; among the lanes of a warp. */
LLVMValueRef emit_is_first_warp(emitter *e, const plan_value *value);
LLVMValueRef emit_is_first_lane(emitter *e, const plan_value *value);
/* The block of the cluster in whose memory the elements lie that the thread has, i32, but for what registers add
 * (`known`). */
LLVMValueRef emit_block_of(emitter *e, const plan_value *value, const plan_blocks *blocks, uint64_t known);
/* A buffer's place at `tile` XOR what the thread adds: bytes (i32), and so many known bytes behind them. */
LLVMValueRef emit_buffer_offset(emitter *e, const emit_place *place, uint64_t tile, int64_t *behind);
LLVMValueRef emit_buffer_pointer(emitter *e, const emit_place *place, uint64_t tile);

/* ---- emit_cast.c: number formats ---- */

/* Codes (i32, i64 for 64-bit types; scalars or vectors; zero above their bits) as numbers of type f32, or
 * f64 where `wide`, and the nearest code of a number. */
LLVMValueRef emit_decode(emitter *e, llrt_dtype from, bool wide, LLVMValueRef code);
LLVMValueRef emit_encode(emitter *e, llrt_dtype to, bool wide, LLVMValueRef x);
/* Two at once, as f32. */
void emit_decode_pair(emitter *e, llrt_dtype from, const LLVMValueRef code[2], LLVMValueRef x[2]);
void emit_encode_pair(emitter *e, llrt_dtype to, const LLVMValueRef x[2], LLVMValueRef code[2]);

/* emit_activation.c: MULTIPLY, RELU, GELU and SILU of numbers of f32 or f64, scalars or vectors of lanes; the type
 * of such numbers where their codes have type `like`. */
LLVMValueRef emit_activation(emitter *e, const plan_map *map, LLVMValueRef x);
LLVMTypeRef emit_number_type(const emitter *e, llrt_dtype type, LLVMTypeRef like);

/* emit_shuffle.c, GPU: `word` (i32 or i64) of lane `lane`, all lanes taking part. */
LLVMValueRef emit_shuffle_word(emitter *e, LLVMValueRef word, LLVMValueRef lane);

/* ---- emit_combine.c: combiners (jit/plan/combine.h) on words of the accumulator's type ---- */

/* a joined with b (scalars or vectors of lanes); the neutral element in every lane of `like`. */
LLVMValueRef emit_combine(emitter *e, int op, llrt_dtype type, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef emit_combine_identity(int op, llrt_dtype type, LLVMTypeRef like);
/* Arg combiners: the winner of two pairs; index: any integer type. ordered: every index of a is lower than
 * b's, which saves comparing them. */
typedef struct emit_pair {
  LLVMValueRef key, index;
} emit_pair;
emit_pair emit_combine_pair(emitter *e, int op, llrt_dtype type, emit_pair a, emit_pair b);
emit_pair emit_combine_ordered_pair(emitter *e, int op, llrt_dtype type, emit_pair a, emit_pair b);
/* ANY, ALL: 1 (i32) where the element of code `code` is not zero, else 0. */
LLVMValueRef emit_combine_truth(emitter *e, llrt_dtype element, LLVMValueRef code);

/* emit_access_nibble.c: the element of `bits` at tile coordinate `tile` of a tensor, as an integer (of 4 bits: i8); masked: 0
 * where it is outside. */
LLVMValueRef emit_load_element(emitter *e, emit_place *place, uint64_t tile, int bits, bool masked);

/* emit_scale.c: what elements of a value are multiplied with, as f32 or f64; read now, where they were not before. ahead:
 * behind the load `at`, what a SCALE of the following steps up to `end` would read behind a barrier only; GPU. */
emit_scales *emit_scales_begin(emitter *e, const plan_step *step);
LLVMValueRef emit_scale_of(emit_scales *scales, int index);
void emit_scales_ahead(emitter *e, int at, int end);

/* emit_unpack.c, emit_scale_pairs.c: a cast of elements of 4 and 8 bits, and a SCALE by value, by whole words: whether the
 * step is such, and its words, or where it is lazy how they come to be. */
bool emit_unpacks(const emitter *e, const plan_step *step, const plan_map *map);
bool emit_scales_pairs(const emitter *e, const plan_step *step, const plan_map *map);
void emit_map_words(emitter *e, const plan_step *step);
/* Whether a product of two codes of a 16-bit float `to`, rounded once, is the SCALE by scales of type `scale`, of elements
 * that `to` holds exactly: it holds all scales, too. */
bool emit_scales_by_halves(const emitter *e, llrt_dtype scale, llrt_dtype to);
/* emit_unpack_bytes.c: the same of a SCALE of e2m1 to e5m2; word w of its result. */
bool emit_scales_bytes(const emitter *e, const plan_step *step, const plan_map *map);
LLVMValueRef emit_scaled_bytes(emitter *e, const plan_step *step, const plan_map *map, int w);
/* emit_map.c: a word of a GPU whose bits go as a network has them. */
struct bit_network;
LLVMValueRef emit_permuted_word(emitter *e, const struct bit_network *net, LLVMValueRef x);
/* Word w of a value, made now if it was not yet. */
LLVMValueRef emit_word(emitter *e, int value, int w);

/* emit_look_up.c: whether words of 4-bit elements become `to` of 8 or 16 bits by tables in registers; one word's. */
bool emit_looks_up(const emitter *e, llrt_dtype from, llrt_dtype to, const plan_value *in);
void emit_look_up(emitter *e, llrt_dtype from, llrt_dtype to, LLVMValueRef word, LLVMValueRef *made);

/* emit_shuffle.c: a word (32 or 64 bits) of another lane (i32); GPU. */
LLVMValueRef emit_shuffle_word(emitter *e, LLVMValueRef word, LLVMValueRef lane);

/* ---- emit_index.c ---- */

/* Loads the extents and values that hold for the whole block. Needs: the decoded block. */
void emit_begin_indices(emitter *e);
/* i1: whether the block has something to do. */
LLVMValueRef emit_present(emitter *e);
void emit_index_terms_at(emitter *e, emit_place *place, uint64_t tile, emit_index_terms *terms);
void emit_report_step(emitter *e, const plan_step *step);

/* ---- emit_parted.c: pieces of a host's register that bounds part ---- */

/* Conditions on the piece of 2^lane_bits lanes from `tile` on, lane bit b of which adds lanes[b]: of all of it (i1), and
 * of each lane (a vector of i1). NULL: it holds. */
typedef struct emit_parted {
  LLVMValueRef whole, mask;
} emit_parted;
void emit_part(emitter *e, const emit_place *place, uint64_t tile, const uint64_t *lanes, int lane_bits,
               emit_parted *out);
/* A mask of so many lanes, all of which have one condition. */
LLVMValueRef emit_all_lanes(emitter *e, LLVMValueRef condition, unsigned lanes);
/* A vector whose lanes outside of the mask are those of `otherwise`; stores those inside. */
LLVMValueRef emit_parted_load(emitter *e, LLVMTypeRef type, LLVMValueRef pointer, LLVMValueRef mask,
                              LLVMValueRef otherwise);
void emit_parted_store(emitter *e, LLVMValueRef value, LLVMValueRef pointer, LLVMValueRef mask);

/* ---- emit_region.c: iterations of the host's regions ---- */

/* i1: whether all that the value has in this iteration is surely inside every bound; is not all beyond one of the
 * destination's (NULL: always). */
LLVMValueRef emit_iteration_interior(emitter *e, const plan_value *value);
LLVMValueRef emit_iteration_present(emitter *e, const plan_value *value);
/* PLAN_PREFETCH at `at`, in a body that ends before `end`; and those of its accesses that are due with the next word. */
void emit_prefetch_step(emitter *e, int at, int end);
void emit_ahead_some(emitter *e);

/* emit_stream.c: whether this launch's stores bypass the caches; what stores, once for either way where that is not
 * known; a store to a multiple of so many bytes that bypasses them where that is the way. */
void emit_begin_streams(emitter *e);
void emit_either_way(emitter *e, void (*body)(emitter *e, void *data), void *data);
void emit_set_nontemporal(const emitter *e, LLVMValueRef store, int bytes);

/* emit_collect.c: the step with its body; what a pointer to the tensor is among what it collects (itself outside). */
void emit_collect(emitter *e, int at);
LLVMValueRef emit_collected(emitter *e, LLVMValueRef pointer);

/* Machine words of a value. */
static inline int emit_word_count(const plan_value *value) {
  return 1 << (plan_value_bits(value, PLAN_REGISTER) - value->word);
}

/* emit.c: n steps from `first`; one that owns a body takes its steps with it. */
void emit_steps(emitter *e, int first, int n);
/* emit_walk.c: a walk; steps as in a later turn of it, where the block has that. */
void emit_walk(emitter *e, int at);
void emit_later_turn(emitter *e, int at);
/* What a loop carries: value out is in, coming from block `before`; then what the body made as `last`. */
void emit_carry_value(emitter *e, int in, int out, LLVMBasicBlockRef before);
void emit_close_value(emitter *e, int out, int last, LLVMBasicBlockRef latch);

/* ---- steps: one file each ---- */
void emit_load_step(emitter *e, const plan_step *step);          /* emit_access.c */
void emit_store_step(emitter *e, const plan_step *step);
void emit_shared_store_step(emitter *e, const plan_step *step);
void emit_shared_load_step(emitter *e, const plan_step *step);
/* The matrices that word w of a lazy shared load is of. */
void emit_matrix_word(emitter *e, const plan_step *step, int w);
void emit_overhang_step(emitter *e, const plan_step *step);      /* emit_overhang.c: LOAD, STORE */
/* i1: plan_block_within (emit_within.c); NULL: always. */
LLVMValueRef emit_block_within(emitter *e);
void emit_stage_step(emitter *e);                                /* emit_stage.c */
LLVMValueRef emit_thread_index(const emitter *e);
void emit_stage_apart(emitter *e);                               /* emit_panel.c: STAGE, and LOAD of the source's panels apart */
void emit_load_apart(emitter *e, const plan_step *step);
void emit_load_vectors(emitter *e, const plan_step *step);       /* emit_panel_store.c: of the destination's */
void emit_store_apart(emitter *e, const plan_step *step);
void emit_copy_apart(emitter *e);
void emit_registers_step(emitter *e, const plan_step *step);     /* registers.c */
void emit_shuffle_step(emitter *e, const plan_step *step);       /* emit_shuffle.c */
void emit_map_step(emitter *e, const plan_step *step);           /* emit_map.c */
void emit_scan_step(emitter *e, const plan_step *step);          /* emit_scan.c */
void emit_prefix_step(emitter *e, const plan_step *step);
void emit_pick_step(emitter *e, const plan_step *step);
void emit_gather_step(emitter *e, const plan_step *step);        /* emit_gather.c */
void emit_dot_step(emitter *e, const plan_step *step);           /* emit_dot.c */
/* emit_box.c: a step's copies; how many bytes those of a PLAN_PRODUCE, number `at`, bring. */
void emit_box_copy(emitter *e, const plan_step *step, LLVMValueRef barrier);
int emit_box_bytes(const emitter *e, int at);
void emit_roles_step(emitter *e, int at);                        /* emit_roles.c */
/* emit_rounds.c: what is emitted between them is done for every position that the block takes; in there e->block,
 * what follows from it, and e->turns_before are the position's. */
void emit_open_rounds(emitter *e, emit_rounds *rounds);
void emit_close_rounds(emitter *e, const emit_rounds *rounds);
/* emit_deal.c: how many turns the block is dealt; the piece that comes when so many are left, whose position is e->block's. */
LLVMValueRef emit_dealt_turns(emitter *e);
void emit_deal_piece(emitter *e, LLVMValueRef left);
void emit_settle_step(emitter *e, int at);
void emit_filled_step(emitter *e);
void emit_release_step(emitter *e, const plan_step *step);
void emit_multiplied_step(emitter *e, const plan_step *step);
void emit_publish_step(emitter *e, const plan_step *step);       /* emit_lookback.c */
void emit_peek_step(emitter *e, const plan_step *step);
void emit_await_step(emitter *e, const plan_step *step);
/* emit_queue.c: e->block by a ticket; the walk of a block that draws more, and PLAN_AHEAD in it. */
void emit_ticket(emitter *e);
void emit_queue(emitter *e, int at);
void emit_later_ticket(emitter *e, int at);
void emit_copy_step(emitter *e, const plan_step *step);          /* emit_copy.c */
void emit_fill_step(emitter *e, const plan_step *step);          /* emit_reduce.c */
void emit_join_step(emitter *e, const plan_step *step);
void emit_fold_step(emitter *e, const plan_step *step);
void emit_fold_lanes_step(emitter *e, const plan_step *step);
void emit_spread_step(emitter *e, const plan_step *step);
void emit_position_step(emitter *e, const plan_step *step);

#endif
