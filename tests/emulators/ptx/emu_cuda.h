/* What libllrt-emu-cuda.so exports besides the driver's functions, for tests that look. */
#ifndef LLRT_TESTS_EMU_CUDA_H
#define LLRT_TESTS_EMU_CUDA_H

#include "tests/emulators/common/emu_counters.h"

/* The counters of the last launch of this process; *counters is overwritten. */
#define EMU_CUDA_LAST_COUNTERS "llrt_emu_last_counters"
void llrt_emu_last_counters(emu_counters *counters);

#endif
