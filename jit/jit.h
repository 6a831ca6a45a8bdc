/* The one function between libllrt.so and libllrt-jit.so: a plan in, kernel code out. */
#ifndef LLRT_JIT_JIT_H
#define LLRT_JIT_JIT_H

#include "jit/plan/kernel/plan.h"

#include <llrt/op.h>

/* Both libraries carry it; they must agree to the letter. */
#define LLRT_JIT_VERSION "llrt-jit 0.1.0/1"

typedef struct llrt_jit_result {
  void *data; /* code or text; followed by a zero byte that size does not count */
  size_t size;
  char message[1024]; /* why it failed */
} llrt_jit_result;

typedef struct llrt_jit_interface {
  const char *version; /* LLRT_JIT_VERSION */
  const char *llvm_version;
  /* emit is LLRT_EMIT_IR, _ASM or _OBJECT. Thread: any; no global state is left behind. Errors:
   * COMPILE, OUT_OF_MEMORY, UNSUPPORTED, with result->message. */
  llrt_status (*compile)(const plan_kernel *kernel, llrt_emit emit, llrt_jit_result *result);
  void (*release)(llrt_jit_result *result);
} llrt_jit_interface;

/* The only symbol that libllrt-jit.so exports. */
#define LLRT_JIT_ENTRY "llrt_jit_get_interface"
LLRT_API const llrt_jit_interface *llrt_jit_get_interface(void);

#endif
