/* See gfx9_trial.h. The assembler is reached through a module that holds nothing but assembly. */
#include "gfx9_trial.h"

#include "jit/compile/compile.h"

#include <llvm-c/Core.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char frame[] = ".text\n"
                            ".globl llrt_kernel\n"
                            ".p2align 8\n"
                            ".type llrt_kernel,@function\n"
                            "llrt_kernel:\n"
                            "%s\n"
                            ".Lend:\n"
                            ".size llrt_kernel, .Lend-llrt_kernel\n"
                            ".rodata\n"
                            ".p2align 6\n"
                            ".amdhsa_kernel llrt_kernel\n"
                            ".amdhsa_group_segment_fixed_size %u\n"
                            ".amdhsa_private_segment_fixed_size 64\n"
                            ".amdhsa_kernarg_size 16\n"
                            ".amdhsa_user_sgpr_kernarg_segment_ptr 1\n"
                            ".amdhsa_next_free_vgpr 64\n"
                            ".amdhsa_next_free_sgpr 64\n"
                            ".amdhsa_accum_offset 32\n"
                            ".amdhsa_float_denorm_mode_32 3\n"
                            ".end_amdhsa_kernel\n";

static const char body_frame[] = "s_load_dwordx4 s[4:7], s[0:1], 0x0\n"
                                 "v_lshlrev_b32 v1, 4, v0\n"
                                 "s_waitcnt lgkmcnt(0)\n"
                                 "global_load_dwordx4 v[4:7], v1, s[4:5]\n"
                                 "v_mov_b32 v8, 0\n"
                                 "v_mov_b32 v9, 0\n"
                                 "v_mov_b32 v10, 0\n"
                                 "v_mov_b32 v11, 0\n"
                                 "s_waitcnt vmcnt(0)\n"
                                 "%s\n"
                                 "s_waitcnt vmcnt(0) lgkmcnt(0)\n"
                                 "global_store_dwordx4 v1, v[8:11], s[6:7]\n"
                                 "s_endpgm\n";

static bool assemble(const char *cpu, const char *text, uint32_t lds_bytes, llrt_jit_result *object,
                     emu_fault *fault) {
  plan_target target;
  size_t size = strlen(text) + sizeof frame + 32;
  char *whole = malloc(size);
  if (!whole || plan_target_find(cpu, &target) != LLRT_OK) {
    free(whole);
    return emu_fault_set(fault, EMU_LIMIT, "no target %s", cpu);
  }
  snprintf(whole, size, frame, text, lds_bytes);
  LLVMContextRef context = LLVMContextCreate();
  LLVMModuleRef module = LLVMModuleCreateWithNameInContext("trial", context);
  LLVMSetModuleInlineAsm2(module, whole, strlen(whole));
  llrt_status status = jit_compile_module(module, &target, LLRT_EMIT_OBJECT, object);
  LLVMDisposeModule(module);
  LLVMContextDispose(context);
  free(whole);
  return status == LLRT_OK || emu_fault_set(fault, EMU_LIMIT, "%s", object->message);
}

static bool run_object(const char *cpu, const llrt_jit_result *object, uint32_t threads,
                       emu_memory *memory, const uint64_t args[2], emu_counters *counters,
                       emu_fault *fault) {
  gfx9_module *module;
  emu_counters unused;
  if (!gfx9_module_create(object->data, object->size, cpu, "llrt_kernel", memory, &module, fault)) {
    return false;
  }
  gfx9_launch launch = {.blocks = 1, .threads = threads, .kernargs = args};
  bool ok = gfx9_run(module, &launch, counters ? counters : &unused, fault);
  gfx9_module_destroy(module);
  return ok;
}

bool trial_run(const char *cpu, const char *body, trial_data *data, emu_fault *fault) {
  llrt_jit_result object;
  emu_memory memory = {0};
  char text[4096];
  snprintf(text, sizeof text, body_frame, body);
  if (!assemble(cpu, text, 1024, &object, fault)) return false;
  uint64_t args[2] = {emu_memory_allocate(&memory, sizeof data->in),
                      emu_memory_allocate(&memory, sizeof data->out)};
  emu_memory_write(&memory, args[0], data->in, sizeof data->in);
  bool ok = run_object(cpu, &object, TRIAL_LANES, &memory, args, NULL, fault);
  emu_memory_read(&memory, data->out, args[1], sizeof data->out);
  emu_memory_fini(&memory);
  free(object.data);
  return ok;
}

bool trial_run_kernel(const trial_kernel *kernel, emu_counters *counters, emu_fault *fault) {
  llrt_jit_result object;
  emu_memory memory = {0};
  if (!assemble(kernel->cpu, kernel->text, kernel->lds_bytes, &object, fault)) return false;
  uint64_t args[2] = {emu_memory_allocate(&memory, kernel->bytes),
                      emu_memory_allocate(&memory, kernel->bytes)};
  emu_memory_set(&memory, args[0], 0, kernel->bytes);
  if (kernel->in) emu_memory_write(&memory, args[0], kernel->in, kernel->bytes);
  bool ok = run_object(kernel->cpu, &object, kernel->threads, &memory, args, counters, fault);
  if (kernel->out) emu_memory_read(&memory, kernel->out, args[1], kernel->bytes);
  emu_memory_fini(&memory);
  free(object.data);
  return ok;
}
