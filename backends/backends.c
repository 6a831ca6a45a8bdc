/* The backends of this library. */
#include "backends/backend.h"

#define BACKEND(name) &llrt_backend_##name,

const llrt_backend *const llrt_backends[] = {LLRT_BACKENDS(BACKEND)};

const int llrt_backend_count = sizeof llrt_backends / sizeof llrt_backends[0];
