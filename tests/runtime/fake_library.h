/* Finding the fake vendor libraries and their records. */
#ifndef LLRT_TESTS_FAKE_LIBRARY_H
#define LLRT_TESTS_FAKE_LIBRARY_H

#include "tests/fake_drivers/fake_driver.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <string.h>

#define FAKE_CUDA LLRT_TEST_FAKE_DRIVERS "/libfake_cuda.so"
#define FAKE_CUDA_INCOMPLETE LLRT_TEST_FAKE_DRIVERS "/libfake_cuda_incomplete.so"
#define FAKE_HIP LLRT_TEST_FAKE_DRIVERS "/libfake_hip.so"
#define FAKE_HIP_INCOMPLETE LLRT_TEST_FAKE_DRIVERS "/libfake_hip_incomplete.so"

static inline fake_record *fake_open(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  cr_assert(library, "%s", dlerror());
  void *address = dlsym(library, FAKE_DRIVER_ENTRY);
  fake_record *(*entry)(void);
  memcpy(&entry, &address, sizeof entry);
  return entry();
}

static inline void expect_message(const char *part) {
  cr_expect(strstr(llrt_last_error(), part), "\"%s\" lacks \"%s\"", llrt_last_error(), part);
}

#endif
