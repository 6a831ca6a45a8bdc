/* Locations: the number of the plan's step + 1 as the line of each instruction, so that PTX's .loc
 * lines and code objects' line tables lead a finding back to the plan. Only where the environment
 * has LLRT_EMIT_LOCATIONS, as tests on the emulator do: assembled, the lines would double a small
 * kernel. */
#include "jit/emit/core/builder.h"

#include <llvm-c/DebugInfo.h>

#include <stdlib.h>
#include <string.h>

/* llvm::DICompileUnit::DebugDirectivesOnly: lines and nothing else. LLVM-C's enum ends before it.
 */
#define DIRECTIVES_ONLY ((LLVMDWARFEmissionKind)3)

void emit_begin_locations(emitter *e) {
  static const char file_name[] = "plan", producer[] = "llrt", flag[] = "Debug Info Version";
  if (!getenv("LLRT_EMIT_LOCATIONS")) return;
  LLVMDIBuilderRef builder = LLVMCreateDIBuilder(e->module);
  LLVMMetadataRef file = LLVMDIBuilderCreateFile(builder, file_name, strlen(file_name), ".", 1);
  LLVMDIBuilderCreateCompileUnit(builder, LLVMDWARFSourceLanguageC, file, producer,
                                 strlen(producer), true, "", 0, 0, "", 0, DIRECTIVES_ONLY, 0, false,
                                 false, "", 0, "", 0);
  LLVMMetadataRef type = LLVMDIBuilderCreateSubroutineType(builder, file, NULL, 0, LLVMDIFlagZero);
  e->scope =
      LLVMDIBuilderCreateFunction(builder, file, PLAN_ENTRY_NAME, strlen(PLAN_ENTRY_NAME), "", 0,
                                  file, 1, type, false, true, 1, LLVMDIFlagZero, true);
  LLVMSetSubprogram(e->function, e->scope);
  LLVMDIBuilderFinalize(builder);
  LLVMDisposeDIBuilder(builder);
  LLVMAddModuleFlag(e->module, LLVMModuleFlagBehaviorWarning, flag, strlen(flag),
                    LLVMValueAsMetadata(emit_i32(e, (int64_t)LLVMDebugMetadataVersion())));
}

void emit_location(emitter *e, int at) {
  if (!e->scope) return;
  LLVMSetCurrentDebugLocation2(e->builder, LLVMDIBuilderCreateDebugLocation(
                                               e->context, (unsigned)at + 1, 0, e->scope, NULL));
}
