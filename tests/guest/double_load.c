/* Two copies of libllrt.so in one process, as two plugins bring them, at work at once; then one
 * goes, and the other goes on. */
#include "guest.h"

#include <pthread.h>
#include <unistd.h>

typedef struct user {
  guest_session session;
  int first;
} user;

static void *convert_some(void *data) {
  const user *mine = data;
  for (int i = 0; i < 30; i++) guest_convert(&mine->session, mine->first + i % 5, GUEST_MANY_ROWS);
  return NULL;
}

static void copy_file(const char *from, const char *to) {
  FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
  static char bytes[1 << 16];
  GUEST_REQUIRE(in && out, "cannot copy %s to %s", from, to);
  for (size_t n; (n = fread(bytes, 1, sizeof bytes, in)) > 0;)
    GUEST_REQUIRE(fwrite(bytes, 1, n, out) == n, "%s is full", to);
  fclose(in);
  GUEST_REQUIRE(fclose(out) == 0, "%s is full", to);
}

int main(int argc, char *argv[]) {
  GUEST_REQUIRE(argc == 3, "usage: double_load LIBRARY JIT");
  char second[] = "/tmp/llrt-copy-XXXXXX";
  GUEST_REQUIRE(close(mkstemp(second)) == 0, "no temporary file");
  copy_file(argv[1], second);
  guest_library lib[2] = {guest_open(argv[1]), guest_open(second)};
  unlink(second);
  GUEST_REQUIRE(lib[0].llrt_convert_into != lib[1].llrt_convert_into, "there is one library");
  user users[2];
  pthread_t thread[2];
  for (int i = 0; i < 2; i++) {
    users[i] = (user){guest_begin(&lib[i], argv[2], 0), 50 * i};
    GUEST_REQUIRE(pthread_create(&thread[i], NULL, convert_some, &users[i]) == 0, "no thread");
  }
  for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
  guest_end(&users[0].session);
  guest_close(&lib[0], argv[1]);
  guest_convert(&users[1].session, 51, GUEST_MANY_ROWS);
  guest_convert(&users[1].session, 59, GUEST_MANY_ROWS);
  guest_end(&users[1].session);
  GUEST_REQUIRE(dlclose(lib[1].handle) == 0, "%s", dlerror());
  return 0;
}
