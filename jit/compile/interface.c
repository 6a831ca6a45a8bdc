/* What libllrt-jit.so exports: plan in, kernel bytes out. */
#include "base/float_mode.h"
#include "base/status.h"
#include "jit/compile/compile.h"
#include "jit/emit/emit.h"

#include <llvm-c/Core.h>
#include <llvm/Config/llvm-config.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A context of its own for every call: nothing is shared between threads and nothing stays. */
static llrt_status interface_compile(const plan_kernel *kernel, llrt_emit emit,
                                     llrt_jit_result *result) {
  memset(result, 0, sizeof *result);
  if (emit != LLRT_EMIT_IR && emit != LLRT_EMIT_ASM && emit != LLRT_EMIT_OBJECT) {
    snprintf(result->message, sizeof result->message, "emit %d is none of IR, ASM, OBJECT", emit);
    return LLRT_INVALID_ARGUMENT;
  }
  llrt_float_mode callers =
      llrt_float_mode_enter(); /* LLVM folds constants, and exceptions must not trap */
  LLVMContextRef context = LLVMContextCreate();
  LLVMModuleRef module = NULL;
  llrt_status status =
      jit_emit_kernel(kernel, context, &module, result->message, sizeof result->message);
  if (status == LLRT_OK) status = jit_compile_module(module, &kernel->target, emit, result);
  if (module) LLVMDisposeModule(module);
  LLVMContextDispose(context);
  llrt_float_mode_leave(callers);
  return status;
}

static void interface_release(llrt_jit_result *result) {
  free(result->data);
  memset(result, 0, sizeof *result);
}

static const llrt_jit_interface interface = {
    .version = LLRT_JIT_VERSION,
    .llvm_version = LLVM_VERSION_STRING,
    .compile = interface_compile,
    .release = interface_release,
};

const llrt_jit_interface *llrt_jit_get_interface(void) { return &interface; }
