/* What emission tells compilation about a module beside its code. */
#ifndef LLRT_JIT_EMIT_MODULE_FLAGS_H
#define LLRT_JIT_EMIT_MODULE_FLAGS_H

/* Names of metadata nodes: a module that has one needs PTX ISA 8.1, or 8.4, even where its target's
 * default is older. */
#define EMIT_PTX_81 "llrt_ptx_81"
#define EMIT_PTX_84 "llrt_ptx_84"

/* The name of another: its code is a program over rows, long and without walks, of which ptxas
 * makes the same from PTX that was generated the fast way. */
#define EMIT_ROWS "llrt_rows"

#endif
