/* See dnnl.h. */
#include "dnnl.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

void dnnl_open(dnnl *out) {
  const char *name = getenv("DNNL_LIBRARY");
  *out = (dnnl){.library = dlopen(name ? name : "libdnnl.so.3", RTLD_NOW | RTLD_LOCAL)};
  void *address = out->library ? dlsym(out->library, "dnnl_sgemm") : NULL;
  if (address) memcpy(&out->sgemm, &address, sizeof address); /* POSIX: both pointers look alike */
}

void dnnl_close(dnnl *library) {
  if (library->library) dlclose(library->library);
  *library = (dnnl){0};
}
