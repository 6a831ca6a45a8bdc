/* Stands before libcuda.so.1 as llrt's driver library and counts the calls that wait for the device
 * or ask it for memory: the loader finds every other function in the driver itself, on which this
 * library depends. */
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

int cuMemAlloc_v2(unsigned long long *memory, size_t bytes);
int cuMemFree_v2(unsigned long long memory);
int cuCtxSynchronize(void);
int cuStreamSynchronize(void *stream);

static void *driver_function(const char *name) {
  static void *driver;
  if (!driver) driver = dlopen("libcuda.so.1", RTLD_NOW);
  return driver ? dlsym(driver, name) : NULL;
}

enum { ALLOC, FREE, CONTEXT, STREAM, COUNTERS };
static long counts[COUNTERS];
void count_driver_read(long out[COUNTERS]);

/* cuMemAlloc, cuMemFree, cuCtxSynchronize, cuStreamSynchronize, since the library was loaded. */
void count_driver_read(long out[COUNTERS]) { memcpy(out, counts, sizeof counts); }

int cuMemAlloc_v2(unsigned long long *memory, size_t bytes) {
  int (*next)(unsigned long long *, size_t) =
      (int (*)(unsigned long long *, size_t))driver_function("cuMemAlloc_v2");
  counts[ALLOC]++;
  return next(memory, bytes);
}

int cuMemFree_v2(unsigned long long memory) {
  int (*next)(unsigned long long) = (int (*)(unsigned long long))driver_function("cuMemFree_v2");
  counts[FREE]++;
  return next(memory);
}

int cuCtxSynchronize(void) {
  int (*next)(void) = (int (*)(void))driver_function("cuCtxSynchronize");
  counts[CONTEXT]++;
  return next();
}

int cuStreamSynchronize(void *stream) {
  int (*next)(void *) = (int (*)(void *))driver_function("cuStreamSynchronize");
  counts[STREAM]++;
  return next(stream);
}
