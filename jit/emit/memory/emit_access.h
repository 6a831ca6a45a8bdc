/* Private to emit_access*.c, the first of which says what this is about. */
#ifndef LLRT_JIT_EMIT_EMIT_ACCESS_H
#define LLRT_JIT_EMIT_EMIT_ACCESS_H

#include "jit/emit/core/builder.h"
#include "jit/emit/memory/emit_memory.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/matrix.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"

#include "base/bits.h"

#define MAX_WAITING 32

/* One access of a step, resolved. */
typedef struct access {
  const plan_step *step;
  const plan_value *value;
  LLVMValueRef *words; /* of the value */
  emit_place place;
  emit_place read; /* STORE: of the tensor that was read, where its indices leave elements out */
  int registers, word; /* log2 registers, log2 elements in a word */
  int vector;          /* log2 elements of a piece */
  int position[8];     /* register bit that moves the address by 2^j, GPU */
  uint64_t inner;      /* register bits inside a piece */
  plan_matrix matrix;  /* where the step moves matrices; `place` is that of their rows' addresses */
  plan_value addresses; /* of matrices' rows; of a tensor: over the kernel's whole tile */
  LLVMValueRef pointer[MAX_WAITING],
      stored[MAX_WAITING]; /* pieces whose addresses are made, to be stored together */
  int waiting;
  bool load;
  bool cluster;                                   /* of the memory of other blocks */
  plan_blocks blocks;                             /* cluster: of the buffer */
  LLVMValueRef block[1 << PLAN_MAX_CLUSTER_BITS]; /* cluster: its address, by what registers add to
                                                     the block */
} access;

/* What register number `index` adds to tile coordinates. */
static inline uint64_t access_register_tile(const access *a, uint64_t index) {
  return f2_apply(plan_value_columns(a->value, PLAN_REGISTER), index);
}

static inline LLVMTypeRef access_word_type(const emitter *e, const access *a) {
  if (emit_is_host(e)) return emit_int_type(e, bits_max(a->value->bits << a->value->word, 8));
  return a->value->bits == 64 ? e->i64 : e->i32;
}

/* ---- emit_access_piece.c ---- */

void access_set_alignment(const emitter *e, LLVMValueRef instruction, int bytes);
int access_piece_bytes(const access *a);
/* i1: whether the piece at `tile` is loaded or stored; NULL: it is. */
LLVMValueRef access_condition(emitter *e, access *a, uint64_t tile);
/* Loads `type` from tile coordinate `tile`, where the step's mask and the tensor's indices allow
 * it. */
LLVMValueRef access_load_piece(emitter *e, access *a, uint64_t tile, LLVMTypeRef type);
void access_store_piece(emitter *e, access *a, uint64_t tile, LLVMValueRef stored);
/* Where a piece is stored: of a tensor at its place among what is collected. */
LLVMValueRef access_store_pointer(emitter *e, access *a, uint64_t tile);
/* What waits is stored, past the caches or through them. */
void access_store_waiting(emitter *e, access *a);
/* Pieces that bounds part; host. */
LLVMValueRef access_load_parted(emitter *e, access *a, uint64_t tile, LLVMTypeRef type,
                                const emit_parted *parts);
void access_store_parted(emitter *e, access *a, uint64_t tile, LLVMValueRef stored,
                         const emit_parted *parts);
/* Whether the step's part of a value has register `index`. */
bool access_takes_part(const emitter *e, const access *a, uint64_t index);
/* Lanes that hold no copies; the lanes below are consecutive bits from 0. */
int access_lane_bits(const plan_value *value);
LLVMTypeRef access_lanes_type(const emitter *e, const access *a, int lane_bits);

/* ---- emit_access_gpu.c, emit_access_host.c: all pieces of the value ---- */

void access_move_gpu(emitter *e, access *a);
/* One instruction: the words of its matrices from register `first` on. */
void access_move_matrices(emitter *e, access *a, uint64_t first);
void access_move_host(emitter *e, access *a);

/* ---- emit_access_nibble.c ---- */

/* Whether the first element of a byte of the tensor is in its high half. */
bool access_is_high_first(const emitter *e, const access *a);
/* The halves of every byte of the value's words, exchanged. */
void access_swap_halves(emitter *e, const access *a, LLVMValueRef *from, LLVMValueRef *to);
/* Whether the access is one element of 4 bits. */
bool access_is_single_nibble(const access *a);
void access_load_nibbles(emitter *e, access *a);
/* Whether the step stores bytes of 4-bit elements of which it may keep a half; one of them: of the
 * elements at `tile` and `next`, first and second. */
bool access_parts_bytes(const access *a);
void access_store_byte(emitter *e, access *a, uint64_t tile, uint64_t next, LLVMValueRef byte);
/* Stores single elements that lie in the halves of bytes that the kernel is to store
 * (plan_kernel.stored_half). */
void access_store_nibbles(emitter *e, access *a);

#endif
