/* Runs a fuzz target on inputs made from a seed (LLRT_TEST_SEED, 1 unless said), until there were as many or
 * as many seconds have passed as the arguments say: COUNT [SECONDS [FIRST]]. Seed and number are printed
 * before an input runs, so one that ends the program can run again: 1 60 NUMBER. */
#include "tests/fuzz/fuzz.h"

#include <time.h>

#define INPUT_BYTES 64

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

int main(int argc, char **argv) {
  const char *text = getenv("LLRT_TEST_SEED");
  uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
  time_t end = time(NULL) + (argc > 2 ? atoi(argv[2]) : 3600);
  uint64_t used = 0;
  uint64_t first = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
  seed = text && *text ? strtoull(text, NULL, 0) : 1;
  printf("LLRT_TEST_SEED=%llu\n", (unsigned long long)seed);
  setvbuf(stdout, NULL, _IOLBF, 0);
  for (number = first; number - first < count && time(NULL) < end; number++) {
    uint8_t *input = malloc(INPUT_BYTES);
    FUZZ_CHECK(input);
    fill(input);
    fprintf(stderr, "input %llu\n", (unsigned long long)number);
    used += LLVMFuzzerTestOneInput(input, INPUT_BYTES) == 0;
    free(input);
  }
  printf("%llu inputs, %llu of them run\n", (unsigned long long)(number - first),
         (unsigned long long)used);
  return used == 0;
}
