#include "base/library.h"

#include "base/status.h"
#include "base/text.h"

#include <dlfcn.h>
#include <string.h>

llrt_status llrt_library_open(const char *what, const char *const *names, int count,
                              llrt_library *library) {
  library->handle = NULL;
  llrt_text tried;
  llrt_text_init(&tried);
  for (int i = 0; i < count && !library->handle; i++) {
    library->handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library->handle) break;
    const char *reason = dlerror();
    llrt_text_add(&tried, "%s%s: %s", i ? "; " : "", names[i],
                  reason ? reason : "cannot be loaded");
  }
  llrt_status status = LLRT_OK;
  if (!library->handle) {
    status =
        llrt_error(LLRT_UNAVAILABLE, "no %s: tried %s", what, tried.data ? tried.data : "nothing");
  }
  llrt_text_fini(&tried);
  return status;
}

void llrt_library_find_loaded(const char *const *names, int count, llrt_library *library) {
  library->handle = NULL;
  for (int i = 0; i < count && !library->handle; i++)
    library->handle = dlopen(names[i], RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

void llrt_library_close(llrt_library *library) {
  if (library->handle) dlclose(library->handle);
  library->handle = NULL;
}

void *llrt_library_find(const llrt_library *library, const char *name) {
  return dlsym(library->handle, name);
}

llrt_status llrt_library_resolve(const llrt_library *library, const char *what,
                                 const llrt_library_symbol *symbols, int count, void *table) {
  for (int i = 0; i < count; i++) {
    void *address = llrt_library_find(library, symbols[i].name);
    if (!address && symbols[i].required) {
      return llrt_error(LLRT_UNAVAILABLE, "the %s has no symbol %s", what, symbols[i].name);
    }
    /* C has no cast between data and function pointers; POSIX gives both one representation. */
    memcpy((char *)table + symbols[i].offset, &address, sizeof address);
  }
  return LLRT_OK;
}
