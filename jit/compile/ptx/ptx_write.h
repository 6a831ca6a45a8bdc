/* PTX of a module, instruction by instruction, without LLVM's code generator: ptxas selects,
 * schedules and allocates whatever the text is, and of a program over rows writing takes a
 * twentieth of the time that generating takes. */
#ifndef LLRT_JIT_COMPILE_PTX_WRITE_H
#define LLRT_JIT_COMPILE_PTX_WRITE_H

#include "base/text.h"

#include <llvm-c/Types.h>

/* Adds the module's text to *out. `version`: of the PTX ISA, times 10. Returns NULL; or, where the
 * module has something that is not known here, what that is, and *out is to be thrown away.
 * Ownership: what is returned is constant. Thread: one at a time per LLVMContext. */
const char *ptx_write(LLVMModuleRef module, const char *target, int version, llrt_text *out);

#endif
