/* fork() before the first launch, between launches, and while another thread launches: parent and
 * child, and the child's child, go on with the contexts that nobody was in a call of. Whoever hangs
 * is ended by an alarm. */
#include "guest.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS = 120 };

static void in_child(const guest_session *s, int first_layout, int depth);

static void fork_and_wait(const guest_session *s, int first_layout, int depth) {
  pid_t child = fork();
  GUEST_REQUIRE(child >= 0, "no fork");
  if (child == 0) {
    alarm(SECONDS);
    in_child(s, first_layout, depth);
    _Exit(0);
  }
  int state;
  GUEST_REQUIRE(waitpid(child, &state, 0) == child, "no child");
  GUEST_REQUIRE(WIFEXITED(state) && WEXITSTATUS(state) == 0, "a child ended with %#x", state);
}

/* A kernel that the parent has, one that it has not, and children of its own. */
static void in_child(const guest_session *s, int first_layout, int depth) {
  guest_convert(s, 0, GUEST_MANY_ROWS);
  guest_convert(s, first_layout + 1, GUEST_MANY_ROWS);
  if (depth > 0) fork_and_wait(s, first_layout + 10, depth - 1);
  guest_convert(s, 0, GUEST_MANY_ROWS);
}

typedef struct launcher {
  guest_session session;
  atomic_bool launches, ends;
} launcher;

/* It allocates nothing itself: the address sanitizer's allocator does not survive a fork while
 * another thread is inside it. */
static void *keep_launching(void *data) {
  launcher *mine = data;
  unsigned *memory = guest_memory(GUEST_MANY_ROWS);
  atomic_store(&mine->launches, true);
  while (!atomic_load(&mine->ends)) guest_convert_in(&mine->session, 0, GUEST_MANY_ROWS, memory);
  free(memory);
  return NULL;
}

/* Each child ends its session as a program would at its end. */
static void fork_beside_a_launcher(const guest_library *lib, const char *jit,
                                   const guest_session *s) {
  launcher other = {.session = guest_begin(lib, jit, 0)};
  pthread_t thread;
  guest_convert(&other.session, 0, GUEST_MANY_ROWS);
  GUEST_REQUIRE(pthread_create(&thread, NULL, keep_launching, &other) == 0, "no thread");
  while (!atomic_load(&other.launches)) usleep(1000);
  for (int i = 0; i < 20; i++) {
    pid_t child = fork();
    GUEST_REQUIRE(child >= 0, "no fork");
    if (child == 0) {
      alarm(SECONDS);
      guest_session mine = *s;
      for (int n = 0; n < 3; n++) guest_convert(&mine, 0, GUEST_MANY_ROWS);
      guest_end(&mine);
      exit(0);
    }
    int state;
    GUEST_REQUIRE(waitpid(child, &state, 0) == child, "no child");
    GUEST_REQUIRE(WIFEXITED(state) && WEXITSTATUS(state) == 0, "a child ended with %#x", state);
  }
  atomic_store(&other.ends, true);
  pthread_join(thread, NULL);
  guest_end(&other.session);
}

int main(int argc, char *argv[]) {
  GUEST_REQUIRE(argc == 3, "usage: forks LIBRARY JIT");
  alarm(2 * SECONDS);
  guest_library lib = guest_open(argv[1]);
  guest_session s = guest_begin(&lib, argv[2], 0);
  fork_and_wait(&s, 100, 0);
  for (int i = 0; i < 3; i++) {
    guest_convert(&s, 0, GUEST_MANY_ROWS);
    fork_and_wait(&s, 20 * i, 1);
  }
  fork_beside_a_launcher(&lib, argv[2], &s);
  guest_convert(&s, 1, GUEST_MANY_ROWS);
  guest_end(&s);
  guest_close(&lib, argv[1]);
  return 0;
}
