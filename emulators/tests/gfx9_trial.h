/* Small gfx9 kernels in assembly, assembled by LLVM and run by the emulator, for its tests. */
#ifndef LLRT_TESTS_GFX9_TRIAL_H
#define LLRT_TESTS_GFX9_TRIAL_H

#include "emulators/gfx9/gfx9.h"

#define TRIAL_LANES 64

/* Memory in words; a lane's input and output are four words each. */
typedef struct trial_data {
  uint32_t in[TRIAL_LANES][4], out[TRIAL_LANES][4];
} trial_data;

/* Runs `body` on one wave between a prologue, which loads a lane's input to v[4:7], puts its number
 * times 16 into v1, and clears v[8:11], and an epilogue, which stores v[8:11] as its output. v0 is
 * the lane, s[4:5] and s[6:7] the addresses of input and output; s8 and up, v12 and up, and a0-a31
 * are free. */
bool trial_run(const char *cpu, const char *body, trial_data *data, emu_fault *fault);

/* Runs a whole kernel, text that ends in s_endpgm, with s[0:1] the arguments' address, on one block
 * of `threads`. It has two arguments: the addresses of `bytes` defined bytes (zeros) and of as many
 * undefined ones. With `in` the first are these instead; `out` gets the second. counters may be
 * NULL. */
typedef struct trial_kernel {
  const char *cpu, *text;
  uint32_t threads, lds_bytes, bytes;
  const void *in;
  void *out;
} trial_kernel;
bool trial_run_kernel(const trial_kernel *kernel, emu_counters *counters, emu_fault *fault);

#endif
