/* lld as a child process. */
#include "jit/compile/lld.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Plain ld.lld may be of another version, which refuses our code objects. */
static const char program[] = "ld.lld-19";

extern char **environ;

static int start(const char *const *arguments, int output, pid_t *child) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  int error = posix_spawnp(child, program, &actions, NULL, (char *const *)arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

/* Keeps what fits of the child's words and drains the rest, so that it never blocks. */
static void collect(int pipe_end, char *message, size_t message_size) {
  size_t used = 0;
  char chunk[512];
  for (;;) {
    ssize_t n = read(pipe_end, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    int written = snprintf(message + used, message_size - used, "%.*s", (int)n, chunk);
    used += (size_t)written;
    if (used >= message_size) used = message_size - 1;
  }
}

static int wait_for(pid_t child) {
  int state;
  while (waitpid(child, &state, 0) < 0)
    if (errno != EINTR) return -1;
  return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

int jit_lld_spawn(const char *const *arguments, char *message, size_t message_size) {
  message[0] = 0;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return -1;
  pid_t child;
  int error = start(arguments, ends[1], &child);
  close(ends[1]);
  if (error == 0) collect(ends[0], message, message_size);
  else snprintf(message, message_size, "cannot run %s", program);
  close(ends[0]);
  return error == 0 ? wait_for(child) : -1;
}
