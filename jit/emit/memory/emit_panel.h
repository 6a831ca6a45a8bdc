/* Staged panels of conversions (plan_panel.staged): a block's part of one tensor in shared memory.
 * What emit_panel.c, of the source, and emit_panel_store.c, of the destination, share; private to
 * them. */
#ifndef LLRT_JIT_EMIT_PANEL_H
#define LLRT_JIT_EMIT_PANEL_H

#include "jit/emit/place/place.h"

/* The block's panel as addresses in memory (i64, bytes), and where it is in shared memory. */
typedef struct panel_range {
  LLVMValueRef begin, end;  /* of the panel: first byte, and behind the last one */
  LLVMValueRef first, last; /* of the aligned vectors inside it: begin <= first, last <= end */
  LLVMValueRef shared;      /* pointer into shared memory, to the byte of address `first` */
} panel_range;

/* Computes the range; sets e->panel to where the panel's first element is in shared memory. */
void panel_range_of(emitter *e, panel_range *out);
/* The pointer `byte` (i64) bytes behind `pointer`. */
LLVMValueRef panel_byte(const emitter *e, LLVMValueRef pointer, LLVMValueRef byte);

/* Neighbouring positions of a panel that a thread moves together. */
typedef struct panel_vector {
  LLVMValueRef there;                     /* i1: whether the panel has it */
  LLVMValueRef position[PLAN_MAX_DIGITS]; /* i32: of its first element, by digit, inside the panel;
                                             NULL: a digit that is the same for all */
  LLVMValueRef pointer;                   /* to its first element in shared memory */
} panel_vector;

/* The vector in the registers of `value` from number `index` on. Needs: e->panel. */
void panel_vector_of(emitter *e, const plan_value *value, uint64_t index, panel_vector *out);
/* Pointer to element j of the vector in shared memory. */
LLVMValueRef panel_element(emitter *e, const panel_vector *vector, int j);
/* i1: whether element j of the vector is inside all bounds of the tensor; NULL: surely. */
LLVMValueRef panel_inside(emitter *e, const panel_vector *vector, int tensor, int j);

#endif
