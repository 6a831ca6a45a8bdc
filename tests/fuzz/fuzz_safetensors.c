/* Any bytes as a .safetensors file, of which the tensor "w" is read. */
#include "tests/fuzz/fuzz_array.h"

#include "tools/common/safetensors.h"

static bool read_w(FILE *file, array *out, array_error *error) {
  return safetensors_read(file, "w", out, error);
}

static bool write_w(FILE *file, const array *from, array_error *error) {
  return safetensors_write(file, "w", from, error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_read_back(read_w, write_w, data, size);
  return 0;
}
