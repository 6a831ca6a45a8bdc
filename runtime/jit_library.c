#include "runtime/jit_library.h"

#include "base/float_mode.h"
#include "base/memory.h"
#include "base/status.h"

#include <llrt/llrt.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_OF(x) #x
#define FILE_NAME(major, minor) "libllrt-jit.so." TEXT_OF(major) "." TEXT_OF(minor)

/* With the SOVERSION: installations without headers have this name alone. */
static const char file_name[] = FILE_NAME(LLRT_VERSION_MAJOR, LLRT_VERSION_MINOR);

llrt_status llrt_jit_library_init(const char *path, jit_library *jit) {
  *jit = (jit_library){0};
  if (path) {
    jit->path = memory_text(path);
    if (!jit->path) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a path");
  }
  pthread_mutex_init(&jit->mutex, NULL);
  return LLRT_OK;
}

void llrt_jit_library_fini(jit_library *jit) {
  llrt_library_close(&jit->library);
  pthread_mutex_destroy(&jit->mutex);
  free(jit->path);
}

/* The path of file_name in the folder of the library (or program) that this file is linked into. */
static bool path_beside(char *path, size_t size) {
  Dl_info info;
  if (!dladdr(file_name, &info) || !info.dli_fname) return false;
  const char *slash = strrchr(info.dli_fname, '/');
  int folder = slash ? (int)(slash - info.dli_fname) + 1 : 0;
  int length = snprintf(path, size, "%.*s%s", folder, info.dli_fname, file_name);
  return length > 0 && (size_t)length < size;
}

static llrt_status open_library(jit_library *jit) {
  char beside[4096];
  const char *names[2];
  int count = 0;
  if (jit->path) {
    names[count++] = jit->path;
  } else {
    if (path_beside(beside, sizeof beside)) names[count++] = beside;
    names[count++] = file_name;
  }
  return llrt_library_open("compiler library", names, count, &jit->library);
}

/* The compiler library's functions, of which both libraries have to be of one version. */
static llrt_status get_interface(const llrt_library *library,
                                 const llrt_jit_interface **interface) {
  void *address = llrt_library_find(library, LLRT_JIT_ENTRY);
  if (!address) {
    return llrt_error(LLRT_UNAVAILABLE, "the compiler library has no %s", LLRT_JIT_ENTRY);
  }
  const llrt_jit_interface *(*entry)(void);
  memcpy(&entry, &address, sizeof entry); /* POSIX: one representation for both pointers */
  const llrt_jit_interface *found = entry();
  if (strcmp(found->version, LLRT_JIT_VERSION) != 0) {
    return llrt_error(LLRT_UNAVAILABLE, "the compiler library is \"%s\", this library needs \"%s\"",
                      found->version, LLRT_JIT_VERSION);
  }
  *interface = found;
  return LLRT_OK;
}

/* LLVM's constructors compute. */
static llrt_status open_quietly(jit_library *jit) {
  llrt_float_mode callers = llrt_float_mode_enter();
  llrt_status status = open_library(jit);
  llrt_float_mode_leave(callers);
  return status;
}

static llrt_status get_locked(jit_library *jit) {
  if (jit->interface) return LLRT_OK;
  if (!jit->library.handle) LLRT_TRY(open_quietly(jit));
  llrt_status status = get_interface(&jit->library, &jit->interface);
  if (status != LLRT_OK) llrt_library_close(&jit->library);
  return status;
}

llrt_status llrt_jit_library_get(jit_library *jit, const llrt_jit_interface **interface) {
  pthread_mutex_lock(&jit->mutex);
  llrt_status status = get_locked(jit);
  *interface = jit->interface;
  pthread_mutex_unlock(&jit->mutex);
  return status;
}
