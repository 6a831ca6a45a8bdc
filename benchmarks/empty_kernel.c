#include "empty_kernel.h"

enum { PARAMETERS = 4, THREADS = 128 };

static const char ptx[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry empty(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d)\n"
    "{\n  ret;\n}\n";

ptx_kernel *empty_kernel_create(const char *device_name) {
  return ptx_kernel_create(device_name, ptx, "empty");
}

void empty_kernel_launch(const ptx_kernel *kernel, void *stream) {
  unsigned long long values[PARAMETERS] = {0};
  void *parameters[PARAMETERS];
  for (int i = 0; i < PARAMETERS; i++) parameters[i] = &values[i];
  ptx_kernel_launch(kernel, 1, THREADS, parameters, stream);
}
