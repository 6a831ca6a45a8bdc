/* Runs a fuzz target on every file of a folder, the target's corpus unless another is given: the
 * corpus as an ordinary test. */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>

#define INPUT_MAX 65536

static void replay(const char *folder, const char *name) {
  static uint8_t data[INPUT_MAX];
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "rb");
  FUZZ_CHECK(file);
  size_t size = fread(data, 1, sizeof data, file);
  fclose(file);
  fprintf(stderr, "%s\n", name);
  /* A copy of exactly this size, so that the address sanitizer sees a read past it. */
  uint8_t *exact = malloc(size + !size);
  FUZZ_CHECK(exact);
  for (size_t i = 0; i < size; i++) exact[i] = data[i];
  LLVMFuzzerTestOneInput(exact, size);
  free(exact);
}

int main(int argc, char **argv) {
  int files = 0;
  const char *path = argc > 1 ? argv[1] : LLRT_FUZZ_CORPUS;
  DIR *folder = opendir(path);
  FUZZ_CHECK(folder);
  for (struct dirent *entry; (entry = readdir(folder));)
    if (entry->d_name[0] != '.') {
      replay(path, entry->d_name);
      files++;
    }
  closedir(folder);
  printf("%d files replayed\n", files);
  return files == 0;
}
