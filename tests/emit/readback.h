/* Reads compiled kernels back, with LLVM's object reader and disassembler and NVIDIA's assembler,
 * for tests that must not take the compiler's word for what it made. */
#ifndef LLRT_TESTS_EMIT_READBACK_H
#define LLRT_TESTS_EMIT_READBACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define READBACK_DESCRIPTOR_BYTES 64

/* What an HSACO says of its kernel `llrt_kernel`: the ELF header, the symbols, the 64-byte kernel
 * descriptor, and the msgpack metadata in its note. */
typedef struct readback_hsaco {
  unsigned machine;                              /* EF_AMDGPU_MACH_*: 0x3f gfx90a, 0x4c gfx942 */
  unsigned abi_version;                          /* 3 is code object v5 */
  uint8_t descriptor[READBACK_DESCRIPTOR_BYTES]; /* of llrt_kernel.kd */
  uint32_t descriptor_group_bytes, descriptor_kernarg_bytes;
  int64_t kernarg_bytes, group_bytes, private_bytes, wavefront; /* metadata; -1 where it has none */
  char target[64];     /* metadata: "amdgcn-amd-amdhsa--gfx90a" */
  const uint8_t *code; /* of llrt_kernel, inside the bytes given */
  size_t code_bytes;
} readback_hsaco;

/* False, with the reason in message, when the bytes are not an HSACO with that kernel. */
bool readback_open_hsaco(const void *bytes, size_t size, readback_hsaco *out, char *message,
                         size_t message_size);

/* Memory operations that may still be under way when a wave reaches an s_barrier, over all paths.
 */
typedef struct readback_barriers {
  int barriers;           /* s_barrier instructions */
  int lds_pending;        /* of these, reached with LDS reads or writes outstanding */
  int vector_pending;     /* ... with global, flat, buffer or scratch operations outstanding */
  char first_pending[96]; /* "s_barrier at 0x40 after ds_write_b32 ..." */
} readback_barriers;

/* Disassembles a kernel for cpu ("gfx90a", "gfx942") and follows every branch to a fixed point.
 * False when something cannot be decoded. */
bool readback_check_barriers(const uint8_t *code, size_t size, const char *cpu,
                             readback_barriers *out, char *message, size_t message_size);

/* Assembles PTX text for arch ("sm_90a"). Returns ptxas's exit code with its words in log; -1 when
 * no ptxas is installed: LLRT_PTXAS, then PATH, then /usr/local/cuda/bin. */
int readback_ptxas(const char *ptx, const char *arch, char *log, size_t log_size);

#endif
