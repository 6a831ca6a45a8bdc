/* A functional emulator of PTX: text in, a grid executed over emulated memory, faults and counters
 * out. Strict: what it does not know is a fault, never a guess. See docs/emulators.md. */
#ifndef LLRT_EMULATORS_PTX_H
#define LLRT_EMULATORS_PTX_H

#include "emulators/common/emu_counters.h"
#include "emulators/common/emu_fault.h"
#include "emulators/common/emu_memory.h"
#include "emulators/ptx/ptx_front.h"

typedef struct ptx_module ptx_module;
typedef struct ptx_kernel ptx_kernel;

/* Parses a module (copied). NULL: fault says what and in which line. Ownership: ptx_module_free. */
ptx_module *ptx_module_parse(const char *text, emu_fault *fault);
void ptx_module_free(ptx_module *module);

/* Whether a device of compute capability `capability` (10 * major + minor) takes the module, by its
 * .target. */
bool ptx_module_runs_on(const ptx_module *module, int capability);

/* The entry of this name, or NULL. Lives as long as the module. */
const ptx_kernel *ptx_module_kernel(const ptx_module *module, const char *name);

/* Bytes of dynamic shared memory that a launch may give: 48 KiB until more is allowed; false where
 * that is more than any device has. */
uint32_t ptx_kernel_shared_limit(const ptx_kernel *kernel);
bool ptx_kernel_allow_shared(ptx_kernel *kernel, uint32_t bytes);

/* Whether grids of the kernel may let those behind them start. */
bool ptx_kernel_lets_start(const ptx_kernel *kernel);

/* Where each of the kernel's parameters lies among them all, and its bytes; *total is the bytes of
 * all. The number of parameters. */
#define PTX_MAX_PARAMS 272
uint32_t ptx_kernel_parameters(const ptx_kernel *kernel, uint32_t *offset, uint32_t *bytes,
                               uint32_t *total);

/* What is around a device: memory of others that it reaches, and a rest while it waits for what
 * they write, in which they run. */
typedef struct ptx_system {
  void *user;
  emu_range *(*find)(void *user, uint64_t address, size_t bytes);
  void (*rest)(void *user, int polls); /* polls: how often it has found the same so far */
} ptx_system;

typedef struct ptx_grid {
  emu_memory *memory;
  const ptx_system *system; /* NULL: the device is alone */
  uint32_t blocks, threads; /* > 0; along x */
  uint32_t cluster;         /* blocks of a cluster, which divide `blocks`; 0: 1 */
  /* Launched while the grid before it ends: what touches global memory has waited, or meets nothing
   * that the grids in `front` have touched, and waits before it ends. */
  bool programmatic;
  bool may_be_beside;     /* `front` is not known: it is taken to meet nothing */
  const ptx_front *front; /* NULL: none in front may be run beside */
  ptx_front **touched;    /* where it is noted what the grid touches; NULL: nowhere */
  /* Lanes that a branch parted stay so until they are synchronised; else they join where they come
   * to the same instruction, as compilers mostly make them. */
  bool apart;
  bool reversed;           /* clusters run from the last one down */
  uint32_t dynamic_shared; /* bytes of .extern .shared */
  void *const *parameters; /* addresses of the kernel's parameters, in order */
} ptx_grid;

/* What the driver library makes a tensor map of two dimensions into: the arguments of the call. */
#define PTX_TENSOR_MAP_BYTES 128
#define PTX_TENSOR_MAP_ALIGNMENT 64
#define PTX_TENSOR_MAP_MAGIC 0x70616d20726f736eull
typedef struct ptx_tensor_map {
  uint64_t magic, address, extent[3], stride[2]; /* strides: bytes, of dimensions 1 and 2 */
  uint16_t box[3];                               /* elements */
  uint8_t rank;
  uint8_t log2_bytes, swizzle; /* of an element; log2 pieces of 16 bytes */
} ptx_tensor_map;

/* Runs the grid, cluster after cluster. counters is overwritten. false: the first fault. */
bool ptx_launch(const ptx_kernel *kernel, const ptx_grid *grid, emu_counters *counters,
                emu_fault *fault);

#endif
