#include "backends/nccl/nccl_library.h"

#include "base/status.h"

static const llrt_library_symbol symbols[] = {
#define NCCL_SYMBOL(required, type, name, arguments) \
  {#name, offsetof(nccl_library, name), required},
    NCCL_SYMBOLS(NCCL_SYMBOL)
#undef NCCL_SYMBOL
};

/* The usual names; those of development packages come last. */
typedef struct nccl_names {
  const char *what;
  const char *const name[2];
} nccl_names;
static const nccl_names nvidia = {"NCCL", {"libnccl.so.2", "libnccl.so"}};
static const nccl_names amd = {"RCCL", {"librccl.so.1", "librccl.so"}};

static llrt_status find(const nccl_names *names, const char *path, llrt_library *library) {
  if (path) return llrt_library_open(names->what, &path, 1, library);
  llrt_library_find_loaded(names->name, 2, library);
  if (library->handle) return LLRT_OK;
  return llrt_library_open(names->what, names->name, 2, library);
}

static llrt_status read_version(nccl_library *library, const char *what) {
  LLRT_TRY(nccl_check(library, library->ncclGetVersion(&library->version), "ncclGetVersion"));
  if (library->version >= NCCL_OLDEST_VERSION) return LLRT_OK;
  return llrt_error(LLRT_UNSUPPORTED, "the %s that was found is of version %d; %d is needed", what,
                    library->version, NCCL_OLDEST_VERSION);
}

llrt_status nccl_library_open(const llrt_device *device, const char *path, nccl_library *library) {
  const nccl_names *names = device->backend == &llrt_backend_hip ? &amd : &nvidia;
  *library = (nccl_library){.version = 0};
  if (device->backend == &llrt_backend_host && !path)
    return llrt_error(LLRT_UNSUPPORTED, "NCCL moves nothing between host devices");
  LLRT_TRY(find(names, path, &library->library));
  llrt_status status = llrt_library_resolve(&library->library, names->what, symbols,
                                            sizeof symbols / sizeof *symbols, library);
  if (status == LLRT_OK) status = read_version(library, names->what);
  if (status != LLRT_OK) nccl_library_close(library);
  return status;
}

void nccl_library_close(nccl_library *library) { llrt_library_close(&library->library); }

llrt_status nccl_check(const nccl_library *library, nccl_result result, const char *function) {
  if (result == NCCL_RESULT_SUCCESS || result == NCCL_RESULT_IN_PROGRESS) return LLRT_OK;
  const char *text = library->ncclGetErrorString(result);
  return llrt_error_vendor(LLRT_DEVICE, result, "%s: %s", function, text ? text : "no description");
}
