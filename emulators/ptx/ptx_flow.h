/* Which instructions of a kernel all ways to others go through. */
#ifndef LLRT_EMULATORS_PTX_FLOW_H
#define LLRT_EMULATORS_PTX_FLOW_H

#include "emulators/ptx/ptx_program.h"

/* By instruction, the kernel's end being one more: the nearest that all ways from the first to it
 * go through, and that all ways from it to the end do. The first, and the end, are their own; -1:
 * there is no way. Of a kernel that returns, an exit is no way to the end: lanes that go there meet
 * nobody, and ptxas (13.0) has the others come together as if there were none; compilers write one
 * where nobody can come. closed: of a branch that may part lanes (true of all else): its ways meet,
 * at more than a jump, where none comes that has not gone through it, or through another that may
 * part lanes, whose ways meet there, too; or lanes leave out no more than code that ends with an
 * atomic, behind which ptxas (13.0) brings them together. */
typedef struct ptx_flow {
  int *before, *behind;
  bool *closed;
} ptx_flow;

/* false: no memory; free it all the same. */
bool ptx_flow_make(const ptx_kernel *kernel, ptx_flow *made);
void ptx_flow_free(ptx_flow *gone);
/* Whether all ways from the first instruction to b go through a. */
bool ptx_flow_dominates(const ptx_flow *flow, int a, int b);

/* ptx_varying.c: by register, whether lanes may have different values; NULL: no memory. The
 * caller's. */
bool *ptx_varying(const ptx_kernel *kernel);

/* ptx_control.c */
bool ptx_is_branch(const ptx_op *op);
bool ptx_is_exit(const ptx_op *op);
bool ptx_is_return(const ptx_op *op);

#endif
