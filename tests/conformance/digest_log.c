#include "digest_log.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char observer_name[] = "libllrt-jit-observer.so";

static bool find(void *library, const char *name, void *function) {
  void *address = dlsym(library, name);
  if (!address) printf("%s\n", dlerror());
  memcpy(function, &address, sizeof address); /* POSIX: one representation for both pointers */
  return address != NULL;
}

/* The library stands beside the program. */
static bool find_observer(char *path, size_t size) {
  ssize_t length = readlink("/proc/self/exe", path, size - sizeof observer_name);
  char *slash = length > 0 ? memrchr(path, '/', (size_t)length) : NULL;
  if (!slash) return false;
  memcpy(slash + 1, observer_name, sizeof observer_name);
  return true;
}

/* It stays open: contexts that come and go find it loaded. */
static bool open_observer(digest_log *log) {
  llrt_digest_llvm_fn *llvm;
  if (!find_observer(log->library, sizeof log->library)) return false;
  void *library = dlopen(log->library, RTLD_NOW | RTLD_LOCAL);
  if (!library) printf("LLRT_TEST_DIGEST wants %s: %s\n", log->library, dlerror());
  if (!library || !find(library, LLRT_DIGEST_TAKE, &log->take) ||
      !find(library, LLRT_DIGEST_LLVM, &llvm))
    return false;
  log->llvm = llvm();
  return true;
}

bool digest_log_open(digest_log *log) {
  const char *path = getenv("LLRT_TEST_DIGEST");
  if (!path || !*path) return true;
  if (!open_observer(log)) return false;
  log->records = fopen(path, "w");
  if (!log->records) printf("%s cannot be written\n", path);
  return log->records != NULL;
}

void digest_log_add(const digest_log *log, const char *suite, const char *target,
                    const char *title) {
  digest_sums sums;
  log->take(&sums);
  fprintf(log->records, "%s\t%s\t%s\t%" PRIx64 "\t%" PRIx64 "\t%" PRIx64 "\t%s\n", suite, target,
          log->llvm, sums.plan, sums.ir, sums.object, title);
}

bool digest_log_close(digest_log *log) {
  if (!log->records) return true;
  bool written = !ferror(log->records);
  written &= fclose(log->records) == 0;
  if (!written) printf("digests could not be written\n");
  return written;
}
