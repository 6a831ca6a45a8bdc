/* Runs a fuzz target on inputs made from a seed (LLRT_TEST_SEED, 1 unless said), until there were as many or
 * as many seconds have passed as the arguments say: COUNT [SECONDS [FIRST]]. An input that ends the program is
 * named, so that it can run again: 1 60 NUMBER. */
#include "tests/fuzz/fuzz.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#define INPUT_BYTES 160

static uint64_t seed, number; /* of the input under way */

static void fill(uint8_t *input) {
  uint64_t state = seed * 0x9e3779b97f4a7c15 + number * 0xbf58476d1ce4e5b9;
  for (int i = 0; i < INPUT_BYTES; i++) {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    input[i] = (uint8_t)(z >> 56);
  }
}

/* Of the sanitizers' runtimes, where they are linked. */
__attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)(void));

static void name_input(void) {
  char line[96];
  int n = snprintf(line, sizeof line, "finding: input %llu of LLRT_TEST_SEED=%llu\n",
                   (unsigned long long)number, (unsigned long long)seed);
  if (write(STDERR_FILENO, line, (size_t)n) != n) _exit(1);
}

static void name_and_end(int signal_number) {
  name_input();
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

/* Names the input before the program dies, whoever ends it. */
static void watch_for_death(void) {
  static const int deadly[] = {SIGABRT, SIGFPE, SIGILL, SIGTERM};
  for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++) signal(deadly[i], name_and_end);
  if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(name_input);
  else {
    signal(SIGSEGV, name_and_end);
    signal(SIGBUS, name_and_end);
  }
}

int main(int argc, char **argv) {
  const char *text = getenv("LLRT_TEST_SEED");
  uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
  time_t end = time(NULL) + (argc > 2 ? atoi(argv[2]) : 3600);
  uint64_t used = 0, findings = 0;
  uint64_t first = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
  seed = text && *text ? strtoull(text, NULL, 0) : 1;
  watch_for_death();
  for (number = first; number - first < count && time(NULL) < end; number++) {
    uint8_t *input = malloc(INPUT_BYTES);
    FUZZ_CHECK(input);
    fill(input);
    int result = LLVMFuzzerTestOneInput(input, INPUT_BYTES);
    used += result >= 0;
    findings += result > 0;
    if (result > 0) name_input();
    free(input);
  }
  printf("LLRT_TEST_SEED=%llu: %llu inputs, %llu of them run, %llu findings\n", (unsigned long long)seed,
         (unsigned long long)(number - first), (unsigned long long)used, (unsigned long long)findings);
  return used == 0 || findings > 0;
}
