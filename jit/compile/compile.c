/* Verify, optimise, generate code, link. LLVM reports through the context's diagnostic handler, so
 * that it neither prints nor ends the process over a module that it cannot compile. */
#include "jit/compile/compile.h"

#include "base/memory.h"
#include "base/status.h"
#include "jit/compile/joins.h"
#include "jit/compile/link.h"
#include "jit/compile/machine.h"
#include "jit/compile/ptx/ptx_write.h"
#include "jit/compile/signed_truth.h"
#include "jit/emit/core/module_flags.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Our IR is straight-line code made by one builder: what pays is inlining the helpers, cleaning up
 * addresses and hoisting them out of loops. For a transpose this takes 1.5 ms on NVPTX where
 * default<O2> takes 5.7, and the PTX is as long; code generation, 4.5 ms, is then most of a
 * compile. */
#define PIPELINE \
  "always-inline,globaldce," \
  "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg," \
  "loop-mssa(licm),gvn,instcombine<no-verify-fixpoint>,simplifycfg)"

/* The host's vectors leave less to find: no helpers, nothing on the stack that would fit registers,
 * no loads twice. The code is as long as by the other passes (1 in 200 more), which take twice as
 * long. */
#define HOST_PIPELINE \
  "function(early-cse,instcombine<no-verify-fixpoint>,loop-mssa(licm),early-cse)"

/* Programs over rows for GPUs of NVIDIA: what GVN finds beyond the other passes, ptxas finds, too
 * (the same machine code of the whole catalogue of expressions), and a long program is most of its
 * time. */
#define ROWS_PIPELINE \
  "always-inline,globaldce," \
  "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg," \
  "loop-mssa(licm),early-cse,instcombine<no-verify-fixpoint>,simplifycfg)"

/* The attributor finds the hidden kernel arguments unused; without it they cost 256 bytes a launch.
 */
static const char *pipeline_of(plan_isa isa, bool fast) {
  if (isa == PLAN_ISA_HOST) return HOST_PIPELINE;
  if (fast) return ROWS_PIPELINE;
  return isa == PLAN_ISA_AMDGPU ? PIPELINE ",amdgpu-attributor" : PIPELINE;
}

/* The first error of a compile; later ones are mostly its echo. */
typedef struct diagnostics {
  bool failed;
  char message[sizeof((llrt_jit_result *)0)->message];
} diagnostics;

static void note_diagnostic(LLVMDiagnosticInfoRef info, void *data) {
  diagnostics *report = data;
  if (LLVMGetDiagInfoSeverity(info) != LLVMDSError || report->failed) return;
  char *description = LLVMGetDiagInfoDescription(info);
  snprintf(report->message, sizeof report->message, "%s", description);
  report->failed = true;
  LLVMDisposeMessage(description);
}

static llrt_status diagnostics_status(const diagnostics *report) {
  if (!report->failed) return LLRT_OK;
  return llrt_error(LLRT_COMPILE, "LLVM: %s", report->message);
}

static llrt_status verify(LLVMModuleRef module) {
  char *message = NULL;
  llrt_status status = LLRT_OK;
  if (LLVMVerifyModule(module, LLVMReturnStatusAction, &message))
    status = llrt_error(LLRT_COMPILE, "malformed module: %s", message);
  LLVMDisposeMessage(message);
  return status;
}

static llrt_status optimise(LLVMModuleRef module, LLVMTargetMachineRef machine,
                            const char *pipeline) {
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  LLVMErrorRef error = LLVMRunPasses(module, pipeline, machine, options);
  LLVMDisposePassBuilderOptions(options);
  if (!error) return LLRT_OK;
  char *message = LLVMGetErrorMessage(error);
  llrt_error(LLRT_COMPILE, "LLVM passes: %s", message);
  LLVMDisposeErrorMessage(message);
  return LLRT_COMPILE;
}

static llrt_status set_result(llrt_jit_result *result, const void *data, size_t size) {
  char *copy = memory_new(size + 1);
  if (!copy) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for %zu bytes of kernel code", size);
  memcpy(copy, data, size);
  copy[size] = 0;
  result->data = copy;
  result->size = size;
  return LLRT_OK;
}

static llrt_status emit_ir(LLVMModuleRef module, llrt_jit_result *result) {
  char *text = LLVMPrintModuleToString(module);
  llrt_status status = set_result(result, text, strlen(text));
  LLVMDisposeMessage(text);
  return status;
}

static llrt_status emit_code(LLVMModuleRef module, LLVMTargetMachineRef machine,
                             LLVMCodeGenFileType type, const diagnostics *report,
                             LLVMMemoryBufferRef *code) {
  char *message = NULL;
  if (LLVMTargetMachineEmitToMemoryBuffer(machine, module, type, &message, code)) {
    *code = NULL;
    llrt_error(LLRT_COMPILE, "LLVM code generation: %s", message);
    LLVMDisposeMessage(message);
    return LLRT_COMPILE;
  }
  return diagnostics_status(report);
}

/* PTX without the code generator. *unknown: whether the module has something that only the code
 * generator knows; there is no result then. */
static llrt_status write_ptx(LLVMModuleRef module, const plan_target *target, int version,
                             llrt_jit_result *result, bool *unknown) {
  llrt_text text;
  llrt_text_init(&text);
  *unknown = ptx_write(module, target->name, version, &text) != NULL;
  llrt_status status = *unknown ? LLRT_OK : set_result(result, text.data, text.length);
  llrt_text_fini(&text);
  return status;
}

/* PTX is text, whichever form is asked for; the others are objects that want linking. */
static llrt_status emit_machine_code(LLVMModuleRef module, LLVMTargetMachineRef machine,
                                     const plan_target *target, llrt_emit emit,
                                     const diagnostics *report, llrt_jit_result *result) {
  bool text = emit == LLRT_EMIT_ASM || target->isa == PLAN_ISA_NVPTX;
  LLVMMemoryBufferRef code = NULL;
  llrt_status status =
      emit_code(module, machine, text ? LLVMAssemblyFile : LLVMObjectFile, report, &code);
  if (status == LLRT_OK && text)
    status = set_result(result, LLVMGetBufferStart(code), LLVMGetBufferSize(code));
  else if (status == LLRT_OK)
    status = jit_link_object(target, LLVMGetBufferStart(code), LLVMGetBufferSize(code),
                             (char **)&result->data, &result->size);
  if (code) LLVMDisposeMemoryBuffer(code);
  return status;
}

/* Code object version 5, whatever this LLVM's default. */
static void set_code_object_version(LLVMModuleRef module) {
  static const char key[] = "amdhsa_code_object_version";
  if (LLVMGetModuleFlag(module, key, sizeof key - 1)) return;
  LLVMTypeRef i32 = LLVMInt32TypeInContext(LLVMGetModuleContext(module));
  LLVMAddModuleFlag(module, LLVMModuleFlagBehaviorError, key, sizeof key - 1,
                    LLVMValueAsMetadata(LLVMConstInt(i32, 500, false)));
}

static llrt_status compile(LLVMModuleRef module, LLVMTargetMachineRef machine,
                           jit_machine_wishes wishes, const plan_target *target, llrt_emit emit,
                           const diagnostics *report, llrt_jit_result *result) {
  jit_machine_adopt_module(machine, module);
  if (target->isa == PLAN_ISA_AMDGPU) set_code_object_version(module);
  LLRT_TRY(verify(module));
  LLRT_TRY(optimise(module, machine, pipeline_of(target->isa, wishes.fast)));
  LLRT_TRY(diagnostics_status(report));
  if (target->isa == PLAN_ISA_NVPTX) {
    jit_keep_joins(module);
    jit_choose_signed_truth(module);
  }
  if (emit == LLRT_EMIT_IR) return emit_ir(module, result);
  bool unknown = true;
  if (wishes.fast)
    LLRT_TRY(write_ptx(module, target, jit_machine_ptx(target, wishes), result, &unknown));
  if (!unknown) return LLRT_OK;
  return emit_machine_code(module, machine, target, emit, report, result);
}

/* A flag of module_flags.h. */
static bool has_flag(LLVMModuleRef module, const char *name) {
  return LLVMGetNamedMetadata(module, name, strlen(name)) != NULL;
}

llrt_status jit_compile_module(LLVMModuleRef module, const plan_target *target, llrt_emit emit,
                               llrt_jit_result *result) {
  memset(result, 0, sizeof *result);
  diagnostics report = {0};
  LLVMTargetMachineRef machine;
  const jit_machine_wishes wishes = {.ptx = has_flag(module, EMIT_PTX_84)   ? 84
                                            : has_flag(module, EMIT_PTX_81) ? 81
                                                                            : 0,
                                     .fast = target->isa == PLAN_ISA_NVPTX &&
                                             has_flag(module, EMIT_ROWS)};
  llrt_status status = jit_machine_create(target, wishes, &machine);
  if (status == LLRT_OK) {
    LLVMContextRef context = LLVMGetModuleContext(module);
    LLVMContextSetDiagnosticHandler(context, note_diagnostic, &report);
    status = compile(module, machine, wishes, target, emit, &report, result);
    LLVMContextSetDiagnosticHandler(context, NULL, NULL);
    LLVMDisposeTargetMachine(machine);
  }
  if (status != LLRT_OK) snprintf(result->message, sizeof result->message, "%s", llrt_error_text());
  return status;
}
