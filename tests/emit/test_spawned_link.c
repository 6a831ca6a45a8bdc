/* When lld says that it cannot run again in this process, later links go to the program. This
 * file's jit_lld_run stands in for the library's, and breaks at its first call. */
#include "jit/compile/compile.h"
#include "jit/compile/lld.h"
#include "readback.h"

#include <criterion/criterion.h>
#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int calls;

int jit_lld_run(const char *const *arguments, int n, char *message, size_t message_size,
                bool *again) {
  (void)arguments;
  (void)n;
  calls++;
  snprintf(message, message_size, "lld crashed");
  *again = false;
  return 1;
}

static llrt_status compile_empty_kernel(llrt_jit_result *result) {
  static const char text[] = "define amdgpu_kernel void @llrt_kernel() {\n  ret void\n}\n";
  plan_target target;
  cr_assert_eq(plan_target_find("gfx90a", &target), LLRT_OK);
  LLVMContextRef context = LLVMContextCreate();
  LLVMMemoryBufferRef buffer =
      LLVMCreateMemoryBufferWithMemoryRangeCopy(text, strlen(text), "test");
  LLVMModuleRef module = NULL;
  char *error = NULL;
  cr_assert(!LLVMParseIRInContext(context, buffer, &module, &error), "%s", error);
  llrt_status status = jit_compile_module(module, &target, LLRT_EMIT_OBJECT, result);
  LLVMDisposeModule(module);
  LLVMContextDispose(context);
  return status;
}

Test(spawned_link, takes_over) {
  llrt_jit_result result;
  cr_assert_eq(compile_empty_kernel(&result), LLRT_COMPILE);
  cr_assert(strstr(result.message, "lld crashed"), "%s", result.message);

  for (int i = 0; i < 3; i++) {
    llrt_status status = compile_empty_kernel(&result);
    cr_assert_eq(calls, 1);
    if (status != LLRT_OK) { /* no such program on this machine */
      cr_assert(strstr(result.message, "ld.lld-19"), "%s", result.message);
      return;
    }
    readback_hsaco hsaco;
    char message[256];
    cr_assert(readback_open_hsaco(result.data, result.size, &hsaco, message, sizeof message), "%s",
              message);
    cr_assert_str_eq(hsaco.target, "amdgcn-amd-amdhsa--gfx90a");
    free(result.data);
  }
}
