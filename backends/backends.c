/* The backends of this library, in the order in which "the best device" is looked for. */
#include "backends/backend.h"

const llrt_backend *const llrt_backends[] = {
    &llrt_backend_cuda,
    &llrt_backend_hip,
    &llrt_backend_host,
};

const int llrt_backend_count = sizeof llrt_backends / sizeof llrt_backends[0];
