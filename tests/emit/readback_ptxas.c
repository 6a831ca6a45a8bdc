/* PTX through NVIDIA's assembler, where it is installed. */
#include "readback.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static bool find_in_path(const char *name, char *path, size_t size) {
  const char *directories = getenv("PATH");
  for (const char *at = directories ? directories : ""; *at;) {
    size_t length = strcspn(at, ":");
    snprintf(path, size, "%.*s/%s", (int)length, at, name);
    if (access(path, X_OK) == 0) return true;
    at += length + (at[length] == ':');
  }
  return false;
}

static bool find_ptxas(char *path, size_t size) {
  const char *chosen = getenv("LLRT_PTXAS");
  if (chosen) {
    snprintf(path, size, "%s", chosen);
    return true;
  }
  if (find_in_path("ptxas", path, size)) return true;
  snprintf(path, size, "/usr/local/cuda/bin/ptxas");
  return access(path, X_OK) == 0;
}

/* Writes the text beside us, so that ptxas's messages can name a line of it. */
static bool write_input(const char *ptx, char *path, size_t size) {
  snprintf(path, size, "/tmp/llrt-ptx-XXXXXX");
  int descriptor = mkstemp(path);
  if (descriptor < 0) return false;
  size_t length = strlen(ptx);
  bool ok = write(descriptor, ptx, length) == (ssize_t)length;
  close(descriptor);
  return ok;
}

int readback_ptxas(const char *ptx, const char *arch, char *log, size_t log_size) {
  char program[512], input[64], command[768];
  log[0] = 0;
  if (!find_ptxas(program, sizeof program)) return -1;
  if (!write_input(ptx, input, sizeof input)) return 1;
  snprintf(command, sizeof command, "'%s' -arch=%s -o /dev/null %s 2>&1", program, arch, input);
  FILE *pipe = popen(command, "r");
  size_t used = pipe ? fread(log, 1, log_size - 1, pipe) : 0;
  log[used] = 0;
  int state = pipe ? pclose(pipe) : -1;
  unlink(input);
  return WIFEXITED(state) ? WEXITSTATUS(state) : 1;
}
