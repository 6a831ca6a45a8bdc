/* Any bytes as a .npy file. */
#include "tests/fuzz/fuzz_array.h"

#include "tools/common/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_read_back(npy_read, npy_write, data, size);
  return 0;
}
