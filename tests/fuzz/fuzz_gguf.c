/* Any bytes as a .gguf file. What is read lies in it: no tensor passes its end, no two overlap, and
 * keys are parts of the header. */
#include "tests/fuzz/fuzz.h"

#include "tools/model/model.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  model m = {0};
  array_error error = {""};
  FILE *file = size ? fmemopen((void *)(uintptr_t)data, size, "rb") : fopen("/dev/null", "rb");
  FUZZ_CHECK(file);
  bool done = model_read_gguf(file, 0, &m, &error) && model_sort(&m, &error);
  fclose(file);
  FUZZ_CHECK(done || strnlen(error.text, sizeof error.text) > 0);
  uint64_t at = 24;
  for (size_t i = 0; i < m.n_keys && done; i++) {
    FUZZ_CHECK(m.key[i].at == at && m.key[i].bytes > strlen(m.key[i].name) + 12);
    at += m.key[i].bytes;
  }
  for (size_t i = 0; i < m.n_tensors && done; i++) {
    const model_tensor *t = &m.tensor[i];
    FUZZ_CHECK(t->at >= at && t->at <= size && t->bytes <= size - t->at);
    FUZZ_CHECK(model_find(&m, t->name) == t);
    at = t->at + t->bytes;
  }
  model_close(&m);
  return 0;
}
