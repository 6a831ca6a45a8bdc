/* What a target gives to emission. Private to jit/emit and the *_intrinsics.c of the backends. */
#ifndef LLRT_JIT_EMIT_TARGET_OPS_H
#define LLRT_JIT_EMIT_TARGET_OPS_H

#include "jit/plan/dot_tiling.h"

#include <llvm-c/Core.h>

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

/* Each operation has a compile test for every target. One that is NULL where "NULL" is said is not there on that target, and
 * no plan for it asks; words have 32 bits. */
typedef struct emit_target_ops {
  /* ---- all targets ---- */

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

  /* ---- host only ---- */

  /* Whether vectors of elements of so many bits are loaded and stored under a mask by one instruction. */
  bool (*has_masks)(const emitter *e, int bits);
  /* acc + a * b of both halves in lanes of 32 bits, by an instruction that is made for those, else NULL. */
  LLVMValueRef (*multiply_halves)(emitter *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef acc);
  /* number[code mod 16] in every lane, where one or two instructions find it; else NULL. number[i + 8] = -number[i]. */
  LLVMValueRef (*look_up)(emitter *e, const float number[16], LLVMValueRef code);

  /* ---- GPU only: between blocks, through global memory; pointers as `global` gives them ---- */

  /* One number more in an i32: what it was. No other access is ordered by it. */
  LLVMValueRef (*ticket)(emitter *e, LLVMValueRef pointer);
  /* Loads (where the condition holds) and stores an i64 that blocks exchange while they run, whole; nor do these
   * order any other. */
  LLVMValueRef (*peek)(emitter *e, LLVMValueRef pointer, LLVMValueRef condition, LLVMValueRef otherwise);
  void (*poke)(emitter *e, LLVMValueRef pointer, LLVMValueRef cell);
  /* What this thread has done, or knows of, before comes before what it does behind this, for the whole device. NULL: never. */
  void (*fence)(emitter *e);
  /* i1, the same in a warp: whether the condition holds in all of its lanes that run. */
  LLVMValueRef (*all_lanes)(emitter *e, LLVMValueRef condition);

  /* ---- GPU only: words and lanes ---- */

  /* `word` of lane `lane` (both i32), all lanes taking part. */
  LLVMValueRef (*shuffle)(emitter *e, LLVMValueRef word, LLVMValueRef lane);
  /* Byte i of the result is byte number[i] of the eight bytes low, high, where selector = selector(number),
   * or an i32 that is one at run time (emit_permute). */
  LLVMValueRef (*permute)(emitter *e, LLVMValueRef low, LLVMValueRef high, LLVMValueRef selector);
  uint32_t (*selector)(const int number[4]);
  bool nibble_selectors; /* a selector is four nibbles, the lowest for byte 0; what is above them does not count */
  /* A select of words (i32) by another unit than that of selects, so that both work side by side. NULL: there is none. */
  LLVMValueRef (*select_beside)(emitter *e, LLVMValueRef condition, LLVMValueRef yes, LLVMValueRef no);
  /* (x & mask) ^ bits of words as one instruction. NULL: it takes two. */
  LLVMValueRef (*mask_xor)(emitter *e, LLVMValueRef x, uint32_t mask, uint32_t bits);
  /* Two codes (i32) to f32 and back, where the target has instructions for two at once: false, and nothing
   * emitted, where it has none. NULL: never. NaN is written as number_format.nan. */
  bool (*decode_pair)(emitter *e, llrt_dtype from, const LLVMValueRef code[2], LLVMValueRef x[2]);
  bool (*encode_pair)(emitter *e, llrt_dtype to, const LLVMValueRef x[2], LLVMValueRef code[2]);
  /* Words of two f16 or bf16: a * b + c, rounded once, subnormal numbers kept. c NULL: a * b. NULL: never. */
  LLVMValueRef (*multiply_pair)(emitter *e, llrt_dtype type, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c);
  /* Lanes of a warp that masks parted come together, as product wants them. NULL: they need not. */
  void (*meet_warp)(emitter *e);
  /* How many blocks the launch has; i32. NULL: as product. */
  LLVMValueRef (*blocks)(emitter *e);

  /* ---- GPU only: memory ---- */

  /* `type`, an integer or a vector of such, from global memory where `condition` (i1) holds, else `otherwise`,
   * without a branch, so that several are under way at once: NULL where a load of that type has to have
   * one. The memory is not written by the kernel. NULL: never. */
  LLVMValueRef (*load_if)(emitter *e, LLVMTypeRef type, LLVMValueRef pointer, LLVMValueRef condition,
                          LLVMValueRef otherwise);
  /* 2^count matrices (plan_matrix_kind in jit/plan/plan.h), one word of a lane each. row: pointer to the row
   * of shared memory that this lane gives the address of. NULL where targets have none. */
  void (*matrix_load)(emitter *e, LLVMValueRef row, int count, bool transposed, LLVMValueRef *words);
  void (*matrix_store)(emitter *e, LLVMValueRef row, int count, bool transposed, LLVMValueRef *words);
  /* The address (i32) of where `pointer` is in the shared memory of the cluster's block number `rank` (i32), and
   * a load of `type` from so many bytes behind such an address. NULL where targets have no clusters. */
  LLVMValueRef (*cluster_address)(emitter *e, LLVMValueRef pointer, LLVMValueRef rank);
  LLVMValueRef (*cluster_load)(emitter *e, LLVMTypeRef type, LLVMValueRef address, int offset);
  /* `bytes` (4, 8 or 16) from global to shared memory, later; present (i1; NULL: yes): else zeros; own (i1; NULL: all
   * are): the lanes that copy, without a branch. end_copies: what was begun before is a group. await_copies: all groups
   * but the last `groups` have arrived. NULL where targets have none. */
  void (*copy)(emitter *e, LLVMValueRef to, LLVMValueRef from, int bytes, LLVMValueRef present, LLVMValueRef own);
  void (*end_copies)(emitter *e);
  void (*await_copies)(emitter *e, int groups);

  /* ---- GPU only: products ---- */

  /* One matrix instruction of all lanes: acc += a x b, words of each operand as plan_dot_tiling has them. NULL where
   * targets have none (and their rows of jit/plan/dot_instruction.c are of other targets). */
  void (*product)(emitter *e, const dot_instruction *row, const LLVMValueRef *a, const LLVMValueRef *b,
                  LLVMValueRef *acc);
  /* Products of a warpgroup, begun: some of a group. await_products: all groups but the last `groups` are done, of whose
   * sums these are `n` words. NULL: as product. */
  void (*group_product)(emitter *e, const emit_group_product *product);
  void (*await_products)(emitter *e, int groups, LLVMValueRef *words, int n);
  /* Products see what this thread has written once others know. NULL: as product. */
  void (*proxy_fence)(emitter *e);
  /* Threads of the warpgroup have so many registers from here on, more or fewer than before. NULL: as product. */
  void (*set_registers)(emitter *e, int count, bool more);

  /* ---- GPU only: barriers of 8 bytes of shared memory, and boxes that tell them. NULL: as product ---- */

  /* Made for so many arrivals a phase. */
  void (*make_barrier)(emitter *e, LLVMValueRef pointer, int arrivals);
  /* An arrival of a thread, which releases what it did; one that happens when all that the thread began to copy before is
   * there, for those who wait then. */
  void (*arrive)(emitter *e, LLVMValueRef pointer);
  void (*arrive_copied)(emitter *e, LLVMValueRef pointer);
  /* Whether the phase of a parity (i32) has passed (i1), which acquires. */
  LLVMValueRef (*phase_passed)(emitter *e, LLVMValueRef pointer, LLVMValueRef parity);
  /* An arrival that makes the phase wait for so many bytes of boxes, too; copies one to shared memory, from these
   * positions (i32) of its tensor on, which tells `barrier`. By one thread. */
  void (*expect_boxes)(emitter *e, LLVMValueRef barrier, int bytes);
  void (*copy_box)(emitter *e, LLVMValueRef to, LLVMValueRef box, const LLVMValueRef *from, int rank,
                   LLVMValueRef barrier);
} emit_target_ops;

/* backends/<vendor>/<vendor>_intrinsics.c */
extern const emit_target_ops emit_ops_host, emit_ops_nvptx, emit_ops_amdgpu;

#endif
