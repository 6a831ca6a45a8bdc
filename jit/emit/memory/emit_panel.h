/* Private to emit_panel*.c, which says what this is about. */
#ifndef LLRT_JIT_EMIT_PANEL_H
#define LLRT_JIT_EMIT_PANEL_H

#include "jit/emit/place/place.h"

/* Where a block's panel begins in memory, and in shared memory. */
typedef struct panel_range {
  LLVMValueRef begin, end;  /* i64: addresses */
  LLVMValueRef first, last; /* of its whole vectors */
  LLVMValueRef shared;      /* pointer to what `first` is in shared memory */
} panel_range;

/* Sets e->panel, too. */
void panel_range_of(emitter *e, panel_range *out);
LLVMValueRef panel_byte(const emitter *e, LLVMValueRef pointer, LLVMValueRef byte);

/* A vector of positions that follow each other. */
typedef struct panel_vector {
  LLVMValueRef there;                     /* i1: whether it is the panel's */
  LLVMValueRef position[PLAN_MAX_DIGITS]; /* i32: of its first element, in the panel; NULL: of
                                             digits that do not move */
  LLVMValueRef pointer;                   /* to its first element in shared memory */
} panel_vector;

/* That of the registers from `index` on. Needs: e->panel. */
void panel_vector_of(emitter *e, const plan_value *value, uint64_t index, panel_vector *out);
/* Pointer to its element j in shared memory; i1: whether that is inside the bounds of a tensor,
 * NULL: it is. */
LLVMValueRef panel_element(emitter *e, const panel_vector *vector, int j);
LLVMValueRef panel_inside(emitter *e, const panel_vector *vector, int tensor, int j);

#endif
