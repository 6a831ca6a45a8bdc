/* A plugin that uses llrt is loaded, converts on all cores and is unloaded, again and again: no
 * thread stays behind, with everything destroyed before or not. */
#include "guest.h"

#include <pthread.h>

enum { ROUNDS = 20 };

static void *nothing(void *data) { return data; }

/* A sanitizer starts a thread of its own beside the first one. */
static int count_own_threads(void) {
  pthread_t first;
  GUEST_REQUIRE(pthread_create(&first, NULL, nothing, NULL) == 0, "no thread");
  pthread_join(first, NULL);
  return guest_threads();
}

int main(int argc, char *argv[]) {
  GUEST_REQUIRE(argc == 3, "usage: reload LIBRARY JIT");
  int before = count_own_threads();
  for (int round = 0; round < ROUNDS; round++) {
    guest_library lib = guest_open(argv[1]);
    guest_session s = guest_begin(&lib, argv[2], 0);
    guest_convert(&s, round % 3, GUEST_MANY_ROWS);
    if (round % 4 != 3) { /* else the context is lost with the library, its threads are not */
      guest_end(&s);
      int threads = guest_threads();
      GUEST_REQUIRE(threads == before, "%d threads after the last context, %d before the first",
                    threads, before);
    }
    guest_close(&lib, argv[1]);
    int threads = guest_threads();
    GUEST_REQUIRE(threads == before, "%d threads after unloading, %d before", threads, before);
  }
  return 0;
}
