/* What a target gives to emission: a table of functions that make its instructions. Private to
 * jit/emit and the *_intrinsics.c of the backends. */
#ifndef LLRT_JIT_EMIT_TARGET_OPS_H
#define LLRT_JIT_EMIT_TARGET_OPS_H

#include "jit/plan/facts/dot_shared.h"
#include "jit/plan/types/dot_instruction.h"

#include <llvm-c/Core.h>

typedef struct emitter emitter;

/* Products of a warpgroup that are begun together: n instructions of one kind. Number i adds to
 * n_acc words of acc, from word to[i] on, the product of A's matrix and B's. */
#define EMIT_MAX_PRODUCTS 32
typedef struct emit_group_product {
  const dot_instruction *row;
  const dot_matrix *matrix; /* of A and of B: how each lies in shared memory */
  int n;                    /* instructions, 1 .. EMIT_MAX_PRODUCTS */
  int n_acc;                /* words of sums that an instruction takes of a lane */
  int n_a;                  /* words of A that it takes of a lane; 0: A is in shared memory */
  int columns;              /* of an instruction: the row's, or fewer */
  LLVMValueRef *acc;
  int to[EMIT_MAX_PRODUCTS];
  LLVMValueRef *a[EMIT_MAX_PRODUCTS];            /* n_a > 0: the words of A */
  LLVMValueRef descriptor[2][EMIT_MAX_PRODUCTS]; /* i64: of A (n_a = 0) and of B */
  bool last;                                     /* a commit group ends with these */
  bool from_zero; /* all have the same sums, which the first one overwrites */
} emit_group_product;

/* What a target's instructions are for emission. Every operation has a compile test for every
 * target. A pointer that its comment says may be NULL is NULL where the target has no such
 * instruction; plans for that target do not ask for it, or emission goes another way. A word has 32
 * bits (i32), a condition is an i1. */
typedef struct emit_target_ops {
  /* ---- all targets ---- */

  /* Makes the entry function, puts the builder into its body, sets e->args (i64 each), e->block
   * (i64) and, on a GPU, e->lane and e->warp (i32). */
  void (*begin)(emitter *e);
  /* Returns from the function. */
  void (*end)(emitter *e);
  /* Makes shared memory of so many bytes for the block; a pointer to its first byte. */
  LLVMValueRef (*shared)(emitter *e, int bytes);
  /* `address` (i64, a kernel argument or made of one) as a pointer to global memory. */
  LLVMValueRef (*global)(emitter *e, LLVMValueRef address);
  /* Whether the thread is the one of its warp that all of its lanes, who come here together, agree
   * upon (i1): what it does is known to be one thread's. GPU only. */
  LLVMValueRef (*elected)(emitter *e);
  /* A barrier: what any thread wrote to shared memory before it, every thread sees behind it.
   * Threads are those of the block, or of the cluster where the kernel has clusters; own: those of
   * the block even so. */
  void (*barrier)(emitter *e, bool own);
  /* The same value (a word, an i64; on the host a vector of lanes or a number), as one of which the
   * code generator knows nothing. */
  LLVMValueRef (*opaque)(emitter *e, LLVMValueRef value);
  /* Whether f32 <-> f16 are instructions, the payload of NaN left aside. */
  bool (*has_half)(const emitter *e);
  /* Whether the code generator joins a product, its rounding to f16 and an addition of +0, which
   * loses the sign of a zero (AMD: v_fma_mixlo). */
  bool mixes_halves;

  /* ---- host only ---- */

  /* Whether one instruction loads and stores vectors of elements of `bits` bits under a mask. */
  bool (*has_masks)(const emitter *e, int bits);
  /* In every lane of 32 bits: acc + a * b of the low halves + a * b of the high halves. NULL (the
   * result) where no instruction does that. */
  LLVMValueRef (*multiply_halves)(emitter *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef acc);
  /* In every lane number[code mod 16], where one or two instructions find it; else NULL. The table
   * is odd: number[i + 8] = -number[i]. */
  LLVMValueRef (*look_up)(emitter *e, const float number[16], LLVMValueRef code);

  /* ---- GPU only: between blocks, through global memory. Pointers are of `global`. ---- */

  /* Adds 1 to an i32 in one piece; what it was before. Orders no other access. */
  LLVMValueRef (*ticket)(emitter *e, LLVMValueRef pointer);
  /* Loads an i64 in one piece while other blocks may store it; `otherwise` where the condition does
   * not hold. Orders no other access. */
  LLVMValueRef (*peek)(emitter *e, LLVMValueRef pointer, LLVMValueRef condition,
                       LLVMValueRef otherwise);
  /* Stores an i64 in one piece. Orders no other access. */
  void (*poke)(emitter *e, LLVMValueRef pointer, LLVMValueRef cell);
  /* For the whole device: this thread's accesses before it, and what it has seen of others', come
   * before its accesses behind it. NULL: the target has no kernels that wait for blocks. */
  void (*fence)(emitter *e);
  /* i1, the same in all lanes of a warp: whether the condition holds in each that is active. */
  LLVMValueRef (*all_lanes)(emitter *e, LLVMValueRef condition);

  /* ---- GPU only: words and lanes ---- */

  /* The word that lane number `lane` (i32) passes; all lanes of the warp take part. */
  LLVMValueRef (*shuffle)(emitter *e, LLVMValueRef word, LLVMValueRef lane);
  /* A word whose byte i is byte number[i], 0 .. 7, of the eight bytes of low and high; `selector`
   * is an i32 of the form that the next function gives, constant or not (emit_permute). */
  LLVMValueRef (*permute)(emitter *e, LLVMValueRef low, LLVMValueRef high, LLVMValueRef selector);
  /* The selector for these four numbers of bytes. */
  uint32_t (*selector)(const int number[4]);
  /* A selector is four nibbles, the lowest for byte 0; the bits above them do not count. */
  bool nibble_selectors;
  /* A select of words that another unit makes than the one of ordinary selects, so that both work
   * at the same time: a product with 1 that only some lanes make. NULL: there is none. */
  LLVMValueRef (*select_by_product)(emitter *e, LLVMValueRef condition, LLVMValueRef yes,
                                    LLVMValueRef no);
  /* (x & mask) ^ bits, words, by one instruction. NULL: it takes two. */
  LLVMValueRef (*mask_xor)(emitter *e, LLVMValueRef x, uint32_t mask, uint32_t bits);
  /* Two codes (i32) of type `from` to f32, and two f32 to codes of type `to`, where one instruction
   * takes both: false, and nothing is emitted, where none does for that type. A NaN is written as
   * number_format.nan. NULL: for no type. */
  bool (*decode_pair)(emitter *e, llrt_dtype from, const LLVMValueRef code[2], LLVMValueRef x[2]);
  bool (*encode_pair)(emitter *e, llrt_dtype to, const LLVMValueRef x[2], LLVMValueRef code[2]);
  /* a * b + c of words of two f16 or two bf16, rounded once, subnormal numbers kept; c NULL: a * b.
   * NULL: there is none. */
  LLVMValueRef (*multiply_pair)(emitter *e, llrt_dtype type, LLVMValueRef a, LLVMValueRef b,
                                LLVMValueRef c);
  /* The larger or less of words of two f16 or two bf16, each half by itself; NaN where one is.
   * NULL: plan_target.half_extremes is not set. */
  LLVMValueRef (*extreme_pair)(emitter *e, llrt_dtype type, bool least, LLVMValueRef a,
                               LLVMValueRef b);
  /* Each half of a word of two f16 or bf16 between -limit and limit (a word), of NaN limit; and the
   * sizes of a word's halves, none of which is NaN. NULL (both): there are none. */
  LLVMValueRef (*limit_pair)(emitter *e, llrt_dtype type, LLVMValueRef x, LLVMValueRef limit);
  LLVMValueRef (*size_pair)(emitter *e, llrt_dtype type, LLVMValueRef x);
  /* The address space of a thread's own memory, for what is done rarely; 0: it has none. */
  unsigned own_space;
  /* 2^x and 1 / x of f32 by a table, within two units of the last place; numbers that are not
   * normal count as 0, and are made 0. NULL (as the next one): the target's are not used. */
  LLVMValueRef (*table_exp2)(emitter *e, LLVMValueRef x);
  LLVMValueRef (*table_rcp)(emitter *e, LLVMValueRef x);
  /* The same of 1 / sqrt x. */
  LLVMValueRef (*table_rsqrt)(emitter *e, LLVMValueRef x);
  /* 1 / x of f64 by a table, its first 20 bits. */
  LLVMValueRef (*table_rcp_wide)(emitter *e, LLVMValueRef x);
  /* x factor + offset, rounded once, no less than 0 and no more than 1; of NaN 0. */
  LLVMValueRef (*unit_share)(emitter *e, LLVMValueRef x, float factor, float offset);
  /* Brings the lanes of a warp together that a branch separated. NULL: lanes are never apart. */
  void (*meet_warp)(emitter *e);
  /* i32: how many blocks the launch has. NULL: as `product`. */
  LLVMValueRef (*blocks)(emitter *e);

  /* ---- GPU only: memory ---- */

  /* Loads `type`, an integer or a vector of integers, from global memory that the kernel does not
   * write, where the condition holds; else `otherwise`. It takes no branch, so that several loads
   * are under way at once. The result is NULL for a type that needs a branch; the pointer is NULL
   * where every type does. */
  LLVMValueRef (*load_if)(emitter *e, LLVMTypeRef type, LLVMValueRef pointer,
                          LLVMValueRef condition, LLVMValueRef otherwise);
  /* Asks the second-level cache for global memory, a multiple of 16 bytes from such an address on;
   * one thread does. NULL: the target has no such instruction. */
  void (*ask_ahead)(emitter *e, LLVMValueRef pointer, int bytes);
  /* Moves 2^count matrices (plan_matrix_kind in jit/plan/kernel/plan_step.h), 0 <= count <= 2, one
   * word of each lane for each. row: pointer to that row of shared memory whose address this lane
   * gives. NULL: the target has no such instructions. */
  void (*matrix_load)(emitter *e, LLVMValueRef row, int count, bool transposed,
                      LLVMValueRef *words);
  void (*matrix_store)(emitter *e, LLVMValueRef row, int count, bool transposed,
                       LLVMValueRef *words);
  /* The address (i32) in the cluster's shared memory of what `pointer` is in block number `rank`
   * (i32) of the cluster. NULL: the target has no clusters. */
  LLVMValueRef (*cluster_address)(emitter *e, LLVMValueRef pointer, LLVMValueRef rank);
  /* Stores words of 32 bits `offset` bytes behind it, which tell the barrier (such an address) of
   * their bytes. */
  void (*cluster_push)(emitter *e, LLVMValueRef stored, LLVMValueRef address, int offset,
                       LLVMValueRef barrier);
  /* The thread goes on, and awaits that all of the cluster have come to where they went on; makes
   * barriers known to those. */
  void (*cluster_arrive)(emitter *e);
  void (*cluster_await)(emitter *e);
  void (*cluster_publish)(emitter *e);
  /* phase_passed where other blocks of the cluster have stored. */
  LLVMValueRef (*all_pushed)(emitter *e, LLVMValueRef pointer);
  /* Loads `type` from `offset` bytes behind such an address. NULL: the target has no clusters. */
  LLVMValueRef (*cluster_load)(emitter *e, LLVMTypeRef type, LLVMValueRef address, int offset);
  /* Begins to copy 4, 8 or 16 bytes from global to shared memory. present: where it does not hold,
   * zeros are written; NULL: it holds. own: lanes where it does not hold copy nothing, without a
   * branch; NULL: all copy. NULL (as the next two): the target has no such copies. */
  void (*copy)(emitter *e, LLVMValueRef to, LLVMValueRef from, int bytes, LLVMValueRef present,
               LLVMValueRef own);
  /* Ends a commit group: the thread's copies since the one before. */
  void (*end_copies)(emitter *e);
  /* Waits until all of the thread's commit groups but the last `groups` have arrived. */
  void (*await_copies)(emitter *e, int groups);

  /* ---- GPU only: products ---- */

  /* acc += a x b by one matrix instruction of a warp; words of each operand as plan_dot_tiling has
   * them. NULL: no row of jit/plan/types/dot_instruction.c is of the target. */
  void (*product)(emitter *e, const dot_instruction *row, const LLVMValueRef *a,
                  const LLVMValueRef *b, LLVMValueRef *acc);
  /* Begins products of a warpgroup. NULL (as the next three): the target has no warpgroups. */
  void (*group_product)(emitter *e, const emit_group_product *product);
  /* Waits until all commit groups of products but the last `groups` are done; words: their sums, n
   * of them, which nothing may use before. */
  void (*await_products)(emitter *e, int groups, LLVMValueRef *words, int n);
  /* Makes what this thread wrote to shared memory visible to products behind the next barrier. */
  void (*proxy_fence)(emitter *e);
  /* Gives each thread of the warpgroup `count` registers from here on; more: that is not fewer than
   * it has. */
  void (*set_registers)(emitter *e, int count, bool more);

  /* ---- GPU only: barriers of 8 bytes in shared memory, which count arrivals by phases, and boxes
   * that arrive at them. All NULL where the target has none. ---- */

  /* Makes a barrier whose phases each take so many arrivals. */
  void (*make_barrier)(emitter *e, LLVMValueRef pointer, int arrivals);
  /* The thread arrives; who waits for the phase sees what it did before. */
  void (*arrive)(emitter *e, LLVMValueRef pointer);
  /* The same at the barrier that block number `rank` (i32) of the cluster has at this place. */
  void (*arrive_far)(emitter *e, LLVMValueRef pointer, LLVMValueRef rank);
  /* The thread arrives once all copies that it began before have arrived; who waits sees those. */
  void (*arrive_copied)(emitter *e, LLVMValueRef pointer);
  /* Whether the phase of parity `parity` (i32, 0 or 1) has passed (i1). If it has, what arrived in
   * it is seen behind this. */
  LLVMValueRef (*phase_passed)(emitter *e, LLVMValueRef pointer, LLVMValueRef parity);
  /* The thread arrives, and the phase waits for so many bytes (i32) of boxes, too. */
  void (*expect_boxes)(emitter *e, LLVMValueRef barrier, LLVMValueRef bytes);
  /* Asks for a box's tensor map ahead of its copies. By one thread. */
  void (*fetch_map)(emitter *e, LLVMValueRef box);
  /* Begins to copy a box to shared memory, which arrives at `barrier`. box: the tensor map; from:
   * the box's first position (i32) along each of the tensor's `rank` dimensions. To the same place
   * of all blocks of the cluster of which `blocks` (i16) has the bit, whose barriers it tells;
   * NULL: to the block's own. By one thread. */
  void (*copy_box)(emitter *e, LLVMValueRef to, LLVMValueRef box, const LLVMValueRef *from,
                   int rank, LLVMValueRef barrier, LLVMValueRef blocks);
  /* Begins to store a box from shared memory, in the thread's open group. By one thread. */
  void (*send_box)(emitter *e, LLVMValueRef from, LLVMValueRef box, const LLVMValueRef *to,
                   int rank);
  /* Ends that group; awaits that of all groups shared memory has been read. */
  void (*end_sends)(emitter *e);
  void (*await_sent)(emitter *e);
} emit_target_ops;

#endif
