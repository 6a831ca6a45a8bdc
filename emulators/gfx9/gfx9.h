/* A functional emulator of gfx90a and gfx942 code objects: load one, launch it, and read what it
 * found wrong and what it counted. docs/emulators.md says how it works. */
#ifndef LLRT_EMULATORS_GFX9_H
#define LLRT_EMULATORS_GFX9_H

#include "emulators/common/emu_counters.h"
#include "emulators/common/emu_fault.h"
#include "emulators/common/emu_memory.h"

typedef struct gfx9_module gfx9_module;

#define GFX9_MAX_ARGS 256

/* One explicit argument of a kernel, from the metadata: where it lies among the kernel's
 * arguments. */
typedef struct gfx9_arg {
  uint32_t offset, bytes;
} gfx9_arg;

/* What a launch needs to know of a kernel. */
typedef struct gfx9_kernel {
  char name[64];
  uint32_t kernarg_bytes, lds_bytes;
  int n_args; /* -1: the metadata does not describe this kernel */
  gfx9_arg arg[GFX9_MAX_ARGS];
} gfx9_kernel;

/* Reads a code object for `cpu` ("gfx90a", "gfx942") and decodes its kernel `name`. `size` 0: a
 * code object knows its own size. Instructions, modifiers and kernel features that are not known
 * are faults here, not first when they run. `memory` must outlive the module, whose image lies in
 * it. */
bool gfx9_module_create(const void *image, size_t size, const char *cpu, const char *name,
                        emu_memory *memory, gfx9_module **out, emu_fault *fault);
void gfx9_module_destroy(gfx9_module *module);
const gfx9_kernel *gfx9_module_kernel(const gfx9_module *module);

/* What lies outside of a device: other devices' memory that its kernels reach, and who runs
 * meanwhile. */
typedef struct gfx9_system {
  void *user;
  emu_range *(*find)(void *user, uint64_t address, size_t bytes); /* NULL: nobody's */
  void (*rest)(void *user, int polls); /* lets others run; polls: how often it did before */
} gfx9_system;

typedef struct gfx9_launch {
  const gfx9_system *system; /* NULL: there is no other device */
  uint32_t blocks, threads;  /* one dimension */
  const void *kernargs;      /* kernel.kernarg_bytes of them */
} gfx9_launch;

/* Runs the grid. Counters are set, whether or not it ended well. */
bool gfx9_run(const gfx9_module *module, const gfx9_launch *launch, emu_counters *counters,
              emu_fault *fault);

/* The number of instructions that the emulator knows, and their names ("v_add_u32"), for tests that
 * each has a case. */
int gfx9_instruction_count(void);
const char *gfx9_instruction_name(int index);

#endif
