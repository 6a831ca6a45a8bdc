/* Random numbers from a seed, also for programs that are no tests: splitmix64. */
#include "tests/layout/layout_text.h"

uint64_t random_bits(random_source *source) {
  uint64_t z = source->state += 0x9e3779b97f4a7c15ull;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}

int random_below(random_source *source, int limit) {
  return (int)(random_bits(source) % (uint64_t)limit);
}
