/* 64 threads, each over 200 layouts in an order of its own, in one context: 200 compiles. 16
 * threads, each over 50 layouts in a context of its own. */
#include "guest.h"

#include <pthread.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SLOW 1
#endif
#endif
#if defined(SLOW) || defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { SHARERS = 64, SHARED = 60, OWNERS = 16, OWN = 10 }; /* a sanitizer takes ten times as long */
#else
enum { SHARERS = 64, SHARED = 200, OWNERS = 16, OWN = 50 };
#endif

static guest_library lib;
static const char *jit;
static guest_session shared;

/* Steps that have no factor in common with the number of layouts visit each. */
static void *convert_shared(void *number) {
  static const int steps[] = {1, 7, 11, 13, 17, 19, 23, 29};
  int id = (int)(size_t)number, layout = id * 31 % SHARED;
  for (int i = 0; i < SHARED; i++) {
    guest_convert(&shared, layout, 8);
    layout = (layout + steps[id % 8]) % SHARED;
  }
  return NULL;
}

static void *convert_own(void *number) {
  guest_session own = guest_begin(&lib, jit, (int)(size_t)number % 3);
  for (int i = 0; i < OWN; i++) guest_convert(&own, i * 13 % 720, i % 5 ? 8 : GUEST_MANY_ROWS / 4);
  guest_end(&own);
  return NULL;
}

static void run(int threads, void *work(void *number)) {
  pthread_t thread[64];
  for (size_t i = 0; i < (size_t)threads; i++)
    GUEST_REQUIRE(pthread_create(&thread[i], NULL, work, (void *)i) == 0, "no thread");
  for (int i = 0; i < threads; i++) pthread_join(thread[i], NULL);
}

int main(int argc, char *argv[]) {
  GUEST_REQUIRE(argc == 3, "usage: many_threads LIBRARY JIT");
  lib = guest_open(argv[1]);
  jit = argv[2];
  shared = guest_begin(&lib, jit, 0);
  run(SHARERS, convert_shared);
  llrt_cache_stats stats = {0};
  GUEST_REQUIRE(lib.llrt_context_get_cache_stats(shared.context, &stats) == LLRT_OK, "%s",
                lib.llrt_last_error());
  GUEST_REQUIRE(stats.compiles == SHARED, "%llu compiles for %d layouts",
                (unsigned long long)stats.compiles, SHARED);
  guest_end(&shared);
  run(OWNERS, convert_own);
  guest_close(&lib, argv[1]);
  return 0;
}
