/* Emulated devices, for tests: "cuda-emu:sm_90a" is the cuda backend over libllrt-emu-cuda.so, on
 * its device that llrt compiles for sm_90a. Only in builds with LLRT_BUILD_TESTING. */
#ifndef LLRT_RUNTIME_EMULATOR_H
#define LLRT_RUNTIME_EMULATOR_H

#include <llrt/device.h>

#include <stdbool.h>

bool llrt_emulator_is_name(const char *name);

/* llrt_device_open for such a name; params->driver_library, if set, replaces the library beside
 * libllrt.so and on the loader's path. Errors: UNAVAILABLE where the library is not there; else as
 * llrt_device_open. */
llrt_status llrt_emulator_open(llrt_context *context, const char *name,
                               const llrt_device_params *params, llrt_device **device);

#endif
