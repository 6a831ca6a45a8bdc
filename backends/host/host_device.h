/* The host backend's own pieces: memory is host memory, everything is synchronous. */
#ifndef LLRT_BACKENDS_HOST_DEVICE_H
#define LLRT_BACKENDS_HOST_DEVICE_H

#include "backends/backend.h"
#include "backends/host/host_arena.h"

typedef struct host_device {
  llrt_device base;
  const llrt_parallel *parallel;
  host_arena arena; /* of kernels' code */
} host_device;

/* Whether this processor runs code for the target of that name. */
bool llrt_host_runs(const char *target);

/* Code is an ELF shared object; entry is a backend_host_entry. */
llrt_status llrt_host_load(llrt_device *base, const backend_code *code, backend_module **module);
void llrt_host_unload(llrt_device *base, backend_module *module);
llrt_status llrt_host_launch(llrt_device *base, const backend_module *module,
                             const backend_launch *launch, void *stream);

/* host_sharing.c */
extern const backend_sharing llrt_host_sharing;

/* host_meet.c */
llrt_status llrt_host_meet_load(llrt_device *base, backend_module **module);
llrt_status llrt_host_meet(llrt_device *base, const backend_module *module,
                           const backend_meet *meet, void *stream);

#endif
