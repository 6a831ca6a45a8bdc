/* NCCL or RCCL, found at run time as drivers are. */
#ifndef LLRT_BACKENDS_NCCL_LIBRARY_H
#define LLRT_BACKENDS_NCCL_LIBRARY_H

#include "backends/backend.h"
#include "backends/nccl/nccl_symbols.h"
#include "base/library.h"

typedef struct nccl_library {
  llrt_library library;
  int version; /* as NCCL_OLDEST_VERSION */
#define NCCL_FIELD(required, type, name, arguments) type(*name) arguments;
  NCCL_SYMBOLS(NCCL_FIELD)
#undef NCCL_FIELD
} nccl_library;

/* The library for devices of this kind: a copy that the process has loaded already (torch's), else
 * the one that the loader finds by its soname; path: that file instead. Errors: UNAVAILABLE where
 * there is none, or it lacks a function; UNSUPPORTED where it is too old, and without a path on the
 * host. */
llrt_status nccl_library_open(const llrt_device *device, const char *path, nccl_library *library);
void nccl_library_close(nccl_library *library);

/* OK for success; else DEVICE with the library's words and its code. */
llrt_status nccl_check(const nccl_library *library, nccl_result result, const char *function);

#endif
