/* Any bytes as a .safetensors file of a whole model, and as a model's index. What is read lies in
 * the file without holes; shards are plain names of files. */
#include "tests/fuzz/fuzz.h"

#include "tools/model/model.h"

#include <string.h>

static FILE *open_bytes(const uint8_t *data, size_t size) {
  FILE *file = size ? fmemopen((void *)(uintptr_t)data, size, "rb") : fopen("/dev/null", "rb");
  FUZZ_CHECK(file);
  return file;
}

static void read_index(const uint8_t *data, size_t size) {
  model_index index;
  array_error error = {""};
  const char *name;
  json_t *shard;
  FILE *file = open_bytes(data, size);
  bool done = model_index_read(file, &index, &error);
  fclose(file);
  FUZZ_CHECK(done || (strnlen(error.text, sizeof error.text) > 0 && !index.map));
  json_object_foreach(index.map, name, shard) {
    const char *text = json_string_value(shard);
    FUZZ_CHECK(text && *text && *text != '.' && !strchr(text, '/'));
  }
  model_index_fini(&index);
}

static void read_tensors(const uint8_t *data, size_t size) {
  model m = {0};
  array_error error = {""};
  FILE *file = open_bytes(data, size);
  bool done = model_read_safetensors(file, 0, &m, &error) && model_sort(&m, &error);
  fclose(file);
  FUZZ_CHECK(done || strnlen(error.text, sizeof error.text) > 0);
  uint64_t at = 0;
  for (size_t i = 0; i < m.n_tensors && done; i++) {
    const model_tensor *t = &m.tensor[i];
    FUZZ_CHECK((i == 0 || t->at == at) && t->at <= size && t->bytes <= size - t->at);
    FUZZ_CHECK(model_find(&m, t->name) == t);
    at = t->at + t->bytes;
  }
  FUZZ_CHECK(!done || m.n_tensors == 0 || at == size);
  model_close(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  read_index(data, size);
  read_tensors(data, size);
  return 0;
}
