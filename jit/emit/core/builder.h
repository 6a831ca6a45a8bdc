/* Small things to emit: constants, integers, blocks, what GPUs share. Private to jit/emit and the
 * *_intrinsics.c of the backends. */
#ifndef LLRT_JIT_EMIT_BUILDER_H
#define LLRT_JIT_EMIT_BUILDER_H

#include "jit/emit/core/emitter.h"

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
 * distance, in the type of x, each lane of a vector by itself. Zero bits of x past n are the
 * caller's business. */
LLVMValueRef emit_linear(const emitter *e, LLVMValueRef x, const uint64_t *columns, int n);
/* The parity of x & mask, an i1. */
LLVMValueRef emit_functional(const emitter *e, LLVMValueRef x, uint64_t mask);
bool emit_is_host(const emitter *e);
/* The number of this thread in the block, i64; the host has one. */
LLVMValueRef emit_thread_index(const emitter *e);
/* arithmetic.c, integers of one type; signed comparisons. */
LLVMValueRef emit_add(const emitter *e, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef emit_subtract(const emitter *e, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef emit_choose(const emitter *e, LLVMValueRef c, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef emit_less(const emitter *e, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef emit_smaller(const emitter *e, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef emit_larger(const emitter *e, LLVMValueRef a, LLVMValueRef b);
/* A 32-bit word rotated to the left, of which `mask` alone is wanted: a shift where nothing of that
 * comes around. */
LLVMValueRef emit_rotated(emitter *e, LLVMValueRef word, int left, uint32_t mask);
/* A word of a GPU whose bits go as a network has them. */
struct bit_network;
LLVMValueRef emit_permuted_word(emitter *e, const struct bit_network *net, LLVMValueRef x);
/* numerator / the place's count, i64, by the multiplier that the launch computed (plan_magic). */
LLVMValueRef emit_divide_place(const emitter *e, LLVMValueRef numerator, const plan_place *place);
/* b where the mask is 1, else a; words, or lanes of 32 bits. */
LLVMValueRef emit_merged(const emitter *e, LLVMValueRef a, LLVMValueRef b, uint32_t mask);
/* `pointer` plus so many bytes (i32, signed). */
LLVMValueRef emit_move_pointer(const emitter *e, LLVMValueRef pointer, LLVMValueRef bytes);
/* Byte i is byte number[i] of low, high; GPU only. */
LLVMValueRef emit_permute(emitter *e, LLVMValueRef low, LLVMValueRef high, const int number[4]);
/* a and b, i1; a condition that is NULL always holds. */
LLVMValueRef emit_and(const emitter *e, LLVMValueRef a, LLVMValueRef b);
/* Opens a block that runs only where `condition` holds; its continuation, for close, or NULL where
 * the condition always holds. of_warps: where the condition is the same in all lanes of a warp,
 * which stay together. */
LLVMBasicBlockRef emit_open_guard(emitter *e, LLVMValueRef condition);
LLVMBasicBlockRef emit_open_guard_of_warps(emitter *e, LLVMValueRef condition);
void emit_close_guard(emitter *e, LLVMBasicBlockRef next);
/* The driver's compiler leaves the loop that the branch ends as it is. */
void emit_keep_rolled(const emitter *e, LLVMValueRef branch);
/* The lanes of a warp that guards of this step may have parted come together: behind every step,
 * and inside of one before it shuffles. It has to stand right behind the guards, before any other
 * branch: where other ways come in, ptxas 13.0 takes lanes to be together, and sees to it only if
 * something of the guards' own way follows them. */
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

#endif
