/* jit/compile on small modules written by hand: every target, every kind of failure, many in a row.
 */
#include "base/status.h"
#include "jit/compile/compile.h"
#include "jit/compile/link.h"
#include "jit/compile/lld.h"
#include "jit/compile/machine.h"
#include "readback.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <dlfcn.h>
#include <elf.h>
#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- modules ---- */

static const char nvptx_copy[] =
    "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
    "define void @llrt_kernel(ptr addrspace(1) %in, ptr addrspace(1) %out) {\n"
    "  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
    "  %p = getelementptr i32, ptr addrspace(1) %in, i32 %i\n"
    "  %q = getelementptr i32, ptr addrspace(1) %out, i32 %i\n"
    "  %v = load i32, ptr addrspace(1) %p\n"
    "  store i32 %v, ptr addrspace(1) %q\n"
    "  ret void\n"
    "}\n"
    "!nvvm.annotations = !{!0}\n"
    "!0 = !{ptr @llrt_kernel, !\"kernel\", i32 1}\n";

/* Reverses 256 words through LDS; %s is what stands around the barrier. */
static const char amdgpu_reverse[] =
    "@shared = internal addrspace(3) global [256 x i32] poison\n"
    "declare i32 @llvm.amdgcn.workitem.id.x()\n"
    "declare void @llvm.amdgcn.s.barrier()\n"
    "define amdgpu_kernel void @llrt_kernel(ptr addrspace(1) %%in, ptr addrspace(1) %%out) #0 {\n"
    "  %%i = call i32 @llvm.amdgcn.workitem.id.x()\n"
    "  %%p = getelementptr i32, ptr addrspace(1) %%in, i32 %%i\n"
    "  %%v = load i32, ptr addrspace(1) %%p\n"
    "  %%s = getelementptr i32, ptr addrspace(3) @shared, i32 %%i\n"
    "  store i32 %%v, ptr addrspace(3) %%s\n"
    "  %s\n"
    "  call void @llvm.amdgcn.s.barrier()\n"
    "  %s\n"
    "  %%j = xor i32 %%i, 255\n"
    "  %%t = getelementptr i32, ptr addrspace(3) @shared, i32 %%j\n"
    "  %%w = load i32, ptr addrspace(3) %%t\n"
    "  %%q = getelementptr i32, ptr addrspace(1) %%out, i32 %%i\n"
    "  store i32 %%w, ptr addrspace(1) %%q\n"
    "  ret void\n"
    "}\n"
    "attributes #0 = { \"amdgpu-flat-work-group-size\"=\"256,256\" }\n";

static const char release_fence[] = "fence syncscope(\"workgroup\") release";
static const char acquire_fence[] = "fence syncscope(\"workgroup\") acquire";

/* A wide move, and a call into the C library that the loader has to resolve. */
static const char host_copy[] = "declare ptr @memcpy(ptr, ptr, i64)\n"
                                "define void @llrt_kernel(ptr %args, i64 %begin, i64 %end) {\n"
                                "  %in = load ptr, ptr %args\n"
                                "  %slot = getelementptr ptr, ptr %args, i64 1\n"
                                "  %out = load ptr, ptr %slot\n"
                                "  %v = load <16 x i32>, ptr %in, align 4\n"
                                "  store <16 x i32> %v, ptr %out, align 4\n"
                                "  %p = getelementptr i32, ptr %in, i64 16\n"
                                "  %q = getelementptr i32, ptr %out, i64 16\n"
                                "  %bytes = mul i64 %end, 4\n"
                                "  %r = call ptr @memcpy(ptr %q, ptr %p, i64 %bytes)\n"
                                "  ret void\n"
                                "}\n";

static LLVMModuleRef parse(LLVMContextRef context, const char *text) {
  LLVMMemoryBufferRef buffer =
      LLVMCreateMemoryBufferWithMemoryRangeCopy(text, strlen(text), "test");
  LLVMModuleRef module = NULL;
  char *error = NULL;
  cr_assert(!LLVMParseIRInContext(context, buffer, &module, &error), "%s", error);
  return module;
}

static plan_target target_named(const char *name) {
  plan_target target;
  cr_assert_eq(plan_target_find(name, &target), LLRT_OK, "%s", llrt_last_error());
  return target;
}

static llrt_status compile_text(const char *text, const char *target_name, llrt_emit emit,
                                llrt_jit_result *result) {
  plan_target target = target_named(target_name);
  LLVMContextRef context = LLVMContextCreate();
  LLVMModuleRef module = parse(context, text);
  llrt_status status = jit_compile_module(module, &target, emit, result);
  LLVMDisposeModule(module);
  LLVMContextDispose(context);
  return status;
}

static llrt_jit_result must_compile(const char *text, const char *target, llrt_emit emit) {
  llrt_jit_result result;
  llrt_status status = compile_text(text, target, emit, &result);
  cr_assert_eq(status, LLRT_OK, "%s: %s", target, result.message);
  cr_assert_eq(((char *)result.data)[result.size], 0);
  return result;
}

static llrt_jit_result compile_reverse(const char *target, const char *before, const char *after) {
  char text[2048];
  snprintf(text, sizeof text, amdgpu_reverse, before, after);
  return must_compile(text, target, LLRT_EMIT_OBJECT);
}

static const char *host_target(void) {
#if defined(__aarch64__)
  return "aarch64";
#else
  return "x86-64-v2";
#endif
}

/* ---- what comes out ---- */

Test(compile, ptx) {
  static const char *const names[] = {"sm_80", "sm_89", "sm_90a"};
  for (int i = 0; i < 3; i++) {
    llrt_jit_result result = must_compile(nvptx_copy, names[i], LLRT_EMIT_OBJECT);
    char line[32], log[1024];
    snprintf(line, sizeof line, ".target %s", names[i]);
    cr_assert(strstr(result.data, line), "%s", (char *)result.data);
    cr_assert(strstr(result.data, ".entry llrt_kernel"));
    int code = readback_ptxas(result.data, names[i], log, sizeof log);
    if (code < 0) fprintf(stderr, "note: no ptxas, %s not assembled\n", names[i]);
    cr_assert_leq(code, 0, "%s: %s", names[i], log);
    free(result.data);
  }
}

Test(compile, hsaco) {
  static const struct {
    const char *name, *target;
    unsigned machine;
  } rows[] = {{"gfx90a", "amdgcn-amd-amdhsa--gfx90a", 0x3f},
              {"gfx942", "amdgcn-amd-amdhsa--gfx942", 0x4c}};
  for (int i = 0; i < 2; i++) {
    llrt_jit_result result = compile_reverse(rows[i].name, release_fence, acquire_fence);
    readback_hsaco hsaco;
    char message[256];
    cr_assert(readback_open_hsaco(result.data, result.size, &hsaco, message, sizeof message), "%s",
              message);
    cr_assert_eq(hsaco.machine, rows[i].machine);
    cr_assert_eq(hsaco.abi_version, 3, "code object v5");
    cr_assert_str_eq(hsaco.target, rows[i].target);
    cr_assert_eq(hsaco.group_bytes, 1024);
    cr_assert_eq(hsaco.descriptor_group_bytes, 1024);
    cr_assert_eq(hsaco.kernarg_bytes, 16, "%d", (int)hsaco.kernarg_bytes);
    cr_assert_eq(hsaco.descriptor_kernarg_bytes, 16);
    cr_assert_eq(hsaco.private_bytes, 0);
    cr_assert_eq(hsaco.wavefront, 64);
    cr_assert_gt(hsaco.code_bytes, 0);
    free(result.data);
  }
}

static readback_barriers barriers_of(const llrt_jit_result *result, const char *cpu) {
  readback_hsaco hsaco;
  readback_barriers barriers;
  char message[256] = "";
  cr_assert(readback_open_hsaco(result->data, result->size, &hsaco, message, sizeof message));
  cr_assert(readback_check_barriers(hsaco.code, hsaco.code_bytes, cpu, &barriers, message,
                                    sizeof message),
            "%s", message);
  return barriers;
}

/* The check itself: a bare barrier leaves the LDS write outstanding, fences drain it. */
Test(compile, barriers) {
  static const char *const names[] = {"gfx90a", "gfx942"};
  for (int i = 0; i < 2; i++) {
    llrt_jit_result bare = compile_reverse(names[i], "", "");
    readback_barriers barriers = barriers_of(&bare, names[i]);
    cr_assert_eq(barriers.barriers, 1);
    cr_assert_eq(barriers.lds_pending, 1);
    cr_assert(strstr(barriers.first_pending, "ds_write"), "%s", barriers.first_pending);
    free(bare.data);

    llrt_jit_result fenced = compile_reverse(names[i], release_fence, acquire_fence);
    barriers = barriers_of(&fenced, names[i]);
    cr_assert_eq(barriers.barriers, 1);
    cr_assert_eq(barriers.lds_pending, 0, "%s", barriers.first_pending);
    cr_assert_eq(barriers.vector_pending, 0, "%s", barriers.first_pending);
    free(fenced.data);
  }
}

Test(compile, host_object_runs) {
  llrt_jit_result result = must_compile(host_copy, host_target(), LLRT_EMIT_OBJECT);
  int descriptor = memfd_create("kernel", 0);
  cr_assert_eq(write(descriptor, result.data, result.size), (ssize_t)result.size);
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  cr_assert(library, "%s", dlerror());
  void (*kernel)(void *const *, int64_t, int64_t);
  *(void **)&kernel = dlsym(library, "llrt_kernel");
  cr_assert(kernel);

  int32_t in[32], out[32] = {0};
  for (int i = 0; i < 32; i++) in[i] = 3 * i + 1;
  void *args[] = {in, out};
  kernel(args, 0, 16);
  cr_assert_arr_eq(in, out, sizeof in);
  dlclose(library);
  close(descriptor);
  free(result.data);
}

#if defined(__x86_64__)
Test(compile, x86_levels_use_their_registers) {
  static const struct {
    const char *target, *reg, *not_reg;
  } rows[] = {{"x86-64-v2", "%xmm0", "%ymm0"},
              {"x86-64-v3", "%ymm0", "%zmm0"},
              {"x86-64-v4", "%zmm0", "%ymm1"},
              {"x86-64-v4-vbmi", "%zmm0", "%ymm1"}};
  for (int i = 0; i < 4; i++) {
    llrt_jit_result result = must_compile(host_copy, rows[i].target, LLRT_EMIT_ASM);
    cr_assert(strstr(result.data, rows[i].reg), "%s", (char *)result.data);
    cr_assert_not(strstr(result.data, rows[i].not_reg), "%s", (char *)result.data);
    free(result.data);
  }
}
#endif

/* The other processor's code, where this build of LLVM has it. */
Test(compile, foreign_host) {
  const char *name = strcmp(host_target(), "aarch64") == 0 ? "x86-64-v3" : "aarch64";
  llrt_jit_result result;
  llrt_status status = compile_text(host_copy, name, LLRT_EMIT_OBJECT, &result);
  if (status == LLRT_UNSUPPORTED) {
    cr_assert(strstr(result.message, name), "%s", result.message);
    return;
  }
  cr_assert_eq(status, LLRT_OK, "%s", result.message);
  const Elf64_Ehdr *header = result.data;
  cr_assert_eq(header->e_machine, strcmp(name, "aarch64") == 0 ? EM_AARCH64 : EM_X86_64);
  cr_assert_eq(header->e_type, ET_DYN);
  free(result.data);
}

Test(compile, text_forms) {
  llrt_jit_result ir = must_compile(nvptx_copy, "sm_80", LLRT_EMIT_IR);
  cr_assert(strstr(ir.data, "target triple = \"nvptx64-nvidia-cuda\""));
  cr_assert(strstr(ir.data, "@llrt_kernel"));
  free(ir.data);

  char text[2048];
  snprintf(text, sizeof text, amdgpu_reverse, release_fence, acquire_fence);
  llrt_jit_result assembly = must_compile(text, "gfx942", LLRT_EMIT_ASM);
  cr_assert(strstr(assembly.data, "s_barrier"));
  cr_assert(strstr(assembly.data, ".amdhsa_kernel llrt_kernel"));
  free(assembly.data);
}

/* ---- what cannot be compiled ---- */

/* LLVM's own way with errors is to print them. */
TestSuite(compile_errors, .init = cr_redirect_stderr);

static void must_fail(const char *text, const char *target, const char *words) {
  llrt_jit_result result;
  llrt_status status = compile_text(text, target, LLRT_EMIT_OBJECT, &result);
  cr_assert_eq(status, LLRT_COMPILE, "%s: status %d", words, status);
  cr_assert_null(result.data);
  cr_assert_eq(result.size, 0);
  cr_assert(strstr(result.message, words), "\"%s\" lacks \"%s\"", result.message, words);
}

Test(compile_errors, malformed_module) {
  plan_target target = target_named("sm_80");
  LLVMContextRef context = LLVMContextCreate();
  LLVMModuleRef module = LLVMModuleCreateWithNameInContext("broken", context);
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(context), NULL, 0, false);
  LLVMAppendBasicBlockInContext(context, LLVMAddFunction(module, "llrt_kernel", type), "entry");
  llrt_jit_result result;
  cr_assert_eq(jit_compile_module(module, &target, LLRT_EMIT_OBJECT, &result), LLRT_COMPILE);
  cr_assert(strstr(result.message, "terminator"), "%s", result.message);
  cr_assert_stderr_eq_str("");
  cr_assert_null(result.data);
  LLVMDisposeModule(module);
  LLVMContextDispose(context);
}

Test(compile_errors, inline_assembly) {
  static const char text[] = "define void @llrt_kernel() {\n"
                             "  call void asm sideeffect \"no_such_instruction\", \"\"()\n"
                             "  ret void\n"
                             "}\n";
  must_fail(text, host_target(), "no_such_instruction");
  must_fail(text, "gfx90a", "");
  cr_assert_stderr_eq_str("");
}

Test(compile_errors, too_much_shared_memory) {
  must_fail("@shared = internal addrspace(3) global [99999 x i32] poison\n"
            "define amdgpu_kernel void @llrt_kernel(i32 %i) {\n"
            "  %s = getelementptr i32, ptr addrspace(3) @shared, i32 %i\n"
            "  store volatile i32 1, ptr addrspace(3) %s\n"
            "  ret void\n"
            "}\n",
            "gfx90a", "local memory");
  cr_assert_stderr_eq_str("");
}

Test(compile_errors, undefined_symbol) {
  must_fail("@missing = external addrspace(1) global i32\n"
            "define amdgpu_kernel void @llrt_kernel() {\n"
            "  store i32 1, ptr addrspace(1) @missing\n"
            "  ret void\n"
            "}\n",
            "gfx942", "missing");
  cr_assert_stderr_eq_str("");
}

Test(compile_errors, unknown_target) {
  plan_target target = target_named("sm_80");
  strcpy(target.name, "sm_1");
  LLVMContextRef context = LLVMContextCreate();
  LLVMModuleRef module = parse(context, nvptx_copy);
  llrt_jit_result result;
  cr_assert_eq(jit_compile_module(module, &target, LLRT_EMIT_OBJECT, &result), LLRT_UNSUPPORTED);
  cr_assert(strstr(result.message, "sm_1"), "%s", result.message);
  LLVMDisposeModule(module);
  LLVMContextDispose(context);
}

Test(compile_errors, object_that_is_none) {
  plan_target target = target_named("gfx90a");
  char *linked;
  size_t size;
  cr_assert_eq(jit_link_object(&target, "no object", 9, &linked, &size), LLRT_COMPILE);
  cr_assert_null(linked);
  cr_assert(strstr(llrt_last_error(), "gfx90a"), "%s", llrt_last_error());
}

/* ---- many ---- */

Test(compile_many, in_a_row) {
  llrt_jit_result first = compile_reverse("gfx90a", release_fence, acquire_fence);
  for (int i = 0; i < 100; i++) {
    llrt_jit_result again = compile_reverse("gfx90a", release_fence, acquire_fence);
    cr_assert_eq(again.size, first.size);
    cr_assert_arr_eq(again.data, first.data, first.size);
    free(again.data);
    free(must_compile(host_copy, host_target(), LLRT_EMIT_OBJECT).data);
  }
  free(first.data);
}

/* LLVM's and lld's habit of installing crash handlers must not reach the program that we live in.
 */
Test(compile_many, leaves_signals_alone) {
  struct sigaction before[32], after;
  stack_t stack_before, stack_after;
  for (int i = 1; i < 32; i++) sigaction(i, NULL, &before[i]);
  sigaltstack(NULL, &stack_before);
  free(compile_reverse("gfx90a", release_fence, acquire_fence).data);
  free(must_compile(host_copy, host_target(), LLRT_EMIT_OBJECT).data);
  free(must_compile(nvptx_copy, "sm_80", LLRT_EMIT_OBJECT).data);
  for (int i = 1; i < 32; i++) {
    sigaction(i, NULL, &after);
    cr_assert_eq(after.sa_handler, before[i].sa_handler, "signal %d", i);
  }
  sigaltstack(NULL, &stack_after);
  cr_assert_eq(stack_after.ss_sp, stack_before.ss_sp);
}

static void *compile_some(void *failures) {
  for (int i = 0; i < 15; i++) {
    llrt_jit_result result;
    char text[2048];
    snprintf(text, sizeof text, amdgpu_reverse, release_fence, acquire_fence);
    *(int *)failures += compile_text(text, "gfx942", LLRT_EMIT_OBJECT, &result) != LLRT_OK;
    free(result.data);
    *(int *)failures += compile_text(nvptx_copy, "sm_90a", LLRT_EMIT_OBJECT, &result) != LLRT_OK;
    free(result.data);
  }
  return NULL;
}

Test(compile_many, by_threads) {
  pthread_t thread[4];
  int failures[4] = {0};
  for (int i = 0; i < 4; i++) pthread_create(&thread[i], NULL, compile_some, &failures[i]);
  for (int i = 0; i < 4; i++) {
    pthread_join(thread[i], NULL);
    cr_assert_eq(failures[i], 0);
  }
}

/* The program is the fallback for the function; both say the same. */
Test(compile_many, spawned_linker) {
  static const char *const arguments[] = {"ld.lld", "--version", NULL};
  char function[256] = "", program[256] = "";
  bool again;
  cr_assert_eq(jit_lld_run(arguments, 2, function, sizeof function, &again), 0);
  cr_assert(again);
  cr_assert(strstr(function, "LLD 19"), "%s", function);
  if (jit_lld_spawn(arguments, program, sizeof program) < 0) {
    cr_assert(strstr(program, "ld.lld-19"), "%s", program);
    return;
  }
  cr_assert(strstr(program, "LLD 19"), "%s", program);
}
