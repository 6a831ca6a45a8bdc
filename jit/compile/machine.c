/* One row per target; LLVM's target machines are made from it. */
#include "jit/compile/machine.h"

#include "base/status.h"

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct machine_row {
  const char *name; /* plan_target.name */
  const char *triple, *cpu, *features;
} machine_row;

/* PTX versions are the lowest that know the target (sm_89: its conversions of 8-bit floats), so
 * that the oldest drivers take the text; modules with instructions that came later say so
 * (EMIT_PTX_81, EMIT_PTX_84). x86-64-v4 as a processor prefers 256-bit vectors; plans count on
 * whole 512-bit registers. VBMI, which the level leaves out, moves the bytes of two registers
 * anywhere by one instruction; without it that takes up to a dozen. VNNI, which came with it or
 * soon after, adds products of 16 bits to sums by one. */
static const machine_row rows[] = {
    {"sm_80", "nvptx64-nvidia-cuda", "sm_80", "+ptx70"},
    {"sm_89", "nvptx64-nvidia-cuda", "sm_89", "+ptx81"},
    {"sm_90", "nvptx64-nvidia-cuda", "sm_90", "+ptx78"},
    {"sm_90a", "nvptx64-nvidia-cuda", "sm_90a", "+ptx80"},
    {"gfx90a", "amdgcn-amd-amdhsa", "gfx90a", ""},
    {"gfx942", "amdgcn-amd-amdhsa", "gfx942", ""},
    {"x86-64-v2", "x86_64-unknown-linux-gnu", "x86-64-v2", ""},
    {"x86-64-v3", "x86_64-unknown-linux-gnu", "x86-64-v3", ""},
    {"x86-64-v4", "x86_64-unknown-linux-gnu", "x86-64-v4", "-prefer-256-bit"},
    {"x86-64-v4-vbmi", "x86_64-unknown-linux-gnu", "x86-64-v4",
     "-prefer-256-bit,+avx512vbmi,+avx512vnni"},
    {"aarch64", "aarch64-unknown-linux-gnu", "generic", "+neon"},
};

static const machine_row *find_row(const char *name) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    if (strcmp(rows[i].name, name) == 0) return &rows[i];
  return NULL;
}

/* All that are linked in: lld's driver registers every target anyway, and a build that links a few
 * provides empty functions for the others. */
static void register_targets(void) {
  LLVMInitializeAllTargetInfos();
  LLVMInitializeAllTargets();
  LLVMInitializeAllTargetMCs();
  LLVMInitializeAllAsmPrinters();
  LLVMInitializeAllAsmParsers();
}

/* Registers LLVM's targets, once in the process. Thread: any. */
static void register_once(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, register_targets);
}

llrt_status jit_machine_create(const plan_target *target, jit_machine_wishes wishes,
                               LLVMTargetMachineRef *machine) {
  *machine = NULL;
  register_once();
  const machine_row *row = find_row(target->name);
  if (!row) return llrt_error(LLRT_UNSUPPORTED, "no code generation for target %s", target->name);

  LLVMTargetRef llvm_target;
  char features[32];
  snprintf(features, sizeof features, "+ptx%d", wishes.ptx);
  char *message = NULL;
  if (LLVMGetTargetFromTriple(row->triple, &llvm_target, &message)) {
    llrt_error(LLRT_UNSUPPORTED, "this LLVM cannot compile for %s: %s", target->name, message);
    LLVMDisposeMessage(message);
    return LLRT_UNSUPPORTED;
  }
  *machine = LLVMCreateTargetMachine(llvm_target, row->triple, row->cpu,
                                     wishes.ptx ? features : row->features,
                                     wishes.fast ? LLVMCodeGenLevelNone : LLVMCodeGenLevelDefault,
                                     LLVMRelocPIC, LLVMCodeModelDefault);
  if (!*machine) return llrt_error(LLRT_UNSUPPORTED, "LLVM refuses target %s", target->name);
  return LLRT_OK;
}

int jit_machine_ptx(const plan_target *target, jit_machine_wishes wishes) {
  const machine_row *row = find_row(target->name);
  if (wishes.ptx || !row) return wishes.ptx;
  return atoi(row->features + strlen("+ptx"));
}

void jit_machine_adopt_module(LLVMTargetMachineRef machine, LLVMModuleRef module) {
  char *triple = LLVMGetTargetMachineTriple(machine);
  LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);
  LLVMSetTarget(module, triple);
  LLVMSetModuleDataLayout(module, layout);
  LLVMDisposeTargetData(layout);
  LLVMDisposeMessage(triple);
}
