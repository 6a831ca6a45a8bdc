/* libllrt-jit.so, opened at the first compile. */
#ifndef LLRT_RUNTIME_JIT_LIBRARY_H
#define LLRT_RUNTIME_JIT_LIBRARY_H

#include "base/library.h"
#include "jit/jit.h"

#include <pthread.h>

typedef struct jit_library {
  pthread_mutex_t mutex;
  char *path; /* the caller's choice; NULL: beside this library, then the loader's search path */
  llrt_library library;
  const llrt_jit_interface *interface; /* NULL until the first get that succeeds */
} jit_library;

llrt_status llrt_jit_library_init(const char *path, jit_library *jit);
void llrt_jit_library_fini(jit_library *jit);

/* Opens the library at the first call. Errors: UNAVAILABLE, listing the paths tried, or when it is
 * of another version; a later call tries again. */
llrt_status llrt_jit_library_get(jit_library *jit, const llrt_jit_interface **interface);

#endif
