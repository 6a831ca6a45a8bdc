/* Target operations of NVPTX (emit_target_ops), a file for each kind. */
#ifndef LLRT_BACKENDS_CUDA_INTRINSICS_H
#define LLRT_BACKENDS_CUDA_INTRINSICS_H

#include "jit/emit/core/emitter.h"
#include "jit/plan/types/dot_instruction.h"

/* ---- cuda_assembly_intrinsics.c ---- */

/* Inline assembly that LLVM may move and drop; that stays in order, as it touches memory; that all
 * lanes of a warp run together, not in each of two branches; and both of these. */
typedef enum nvptx_order {
  NVPTX_PURE,
  NVPTX_ORDERED,
  NVPTX_CONVERGENT,
  NVPTX_TOGETHER
} nvptx_order;
enum { NVPTX_MAX_ARGS = 128 + 6 * EMIT_MAX_PRODUCTS };

/* Calls inline assembly; `result` NULL: it has none. */
LLVMValueRef nvptx_assemble(emitter *e, nvptx_order order, const char *text,
                            const char *constraints, LLVMTypeRef result, LLVMValueRef *args,
                            unsigned n_args);
/* A pointer to shared memory as instructions take it; i32. */
LLVMValueRef nvptx_shared_address(emitter *e, LLVMValueRef pointer);

/* ---- cuda_matrix_intrinsics.c ---- */

/* ldmatrix and stmatrix: 2^count matrices of 8 rows of 16 bytes, a word of each in a lane. row:
 * pointer into shared memory, to the row that the lane gives. */
void nvptx_matrix_load(emitter *e, LLVMValueRef row, int count, bool transposed,
                       LLVMValueRef *words);
void nvptx_matrix_store(emitter *e, LLVMValueRef row, int count, bool transposed,
                        LLVMValueRef *words);
void nvptx_product(emitter *e, const dot_instruction *row, const LLVMValueRef *a,
                   const LLVMValueRef *b, LLVMValueRef *acc);
void nvptx_group_product(emitter *e, const emit_group_product *p);
void nvptx_await_products(emitter *e, int groups, LLVMValueRef *words, int n);

/* ---- cuda_async_intrinsics.c ---- */

LLVMValueRef nvptx_blocks(emitter *e);
LLVMValueRef nvptx_elected(emitter *e);
void nvptx_make_barrier(emitter *e, LLVMValueRef pointer, int arrivals);
void nvptx_arrive(emitter *e, LLVMValueRef pointer);
void nvptx_arrive_far(emitter *e, LLVMValueRef pointer, LLVMValueRef rank);
LLVMValueRef nvptx_phase_passed(emitter *e, LLVMValueRef pointer, LLVMValueRef parity);
void nvptx_proxy_fence(emitter *e);
void nvptx_set_registers(emitter *e, int count, bool more);
void nvptx_copy(emitter *e, LLVMValueRef to, LLVMValueRef from, int bytes, LLVMValueRef present,
                LLVMValueRef own);
void nvptx_arrive_copied(emitter *e, LLVMValueRef pointer);
void nvptx_end_copies(emitter *e);
void nvptx_await_copies(emitter *e, int groups);
void nvptx_expect_boxes(emitter *e, LLVMValueRef barrier, LLVMValueRef bytes);
void nvptx_fetch_map(emitter *e, LLVMValueRef box);
void nvptx_send_box(emitter *e, LLVMValueRef from, LLVMValueRef box, const LLVMValueRef *to,
                    int rank);
void nvptx_end_sends(emitter *e);
void nvptx_ask_ahead(emitter *e, LLVMValueRef pointer, int bytes);
void nvptx_await_sent(emitter *e);
void nvptx_copy_box(emitter *e, LLVMValueRef to, LLVMValueRef box, const LLVMValueRef *from,
                    int rank, LLVMValueRef barrier, LLVMValueRef blocks);
LLVMValueRef nvptx_cluster_address(emitter *e, LLVMValueRef pointer, LLVMValueRef rank);
LLVMValueRef nvptx_cluster_load(emitter *e, LLVMTypeRef type, LLVMValueRef address, int offset);
void nvptx_cluster_push(emitter *e, LLVMValueRef stored, LLVMValueRef address, int offset,
                        LLVMValueRef barrier);
void nvptx_cluster_arrive(emitter *e);
void nvptx_cluster_await(emitter *e);
void nvptx_cluster_publish(emitter *e);
LLVMValueRef nvptx_all_pushed(emitter *e, LLVMValueRef pointer);

#endif
