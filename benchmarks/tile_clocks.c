/* See tile_clocks.h. */
#include "tile_clocks.h"

#include "base/bits.h"
#include "jit/plan/dot/tile_pace.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NUMBERS = 25, FACTS = 19, LINE = 1024, SECTOR_BITS = 256 };

static bool read_numbers(const char *text, double number[NUMBERS]) {
  for (int i = 0, length; i < NUMBERS; i++, text += length)
    if (sscanf(text, " %lf%n", &number[i], &length) != 1) return false;
  return text[strspn(text, " \n")] == '\0';
}

static tile_facts facts_of(const double *x) {
  return (tile_facts){.kind = (tile_kind)x[0],
                      .positions = {(int)x[1], (int)x[2], (int)x[3]},
                      .cluster = (int)x[4],
                      .resident = (int)x[5],
                      .slots = (int)x[6],
                      .groups = (int)x[7],
                      .bits = {x[8], x[9], x[10]},
                      .bytes = x[11] != 0,
                      .short_sums = x[12] != 0,
                      .rounds = x[13] != 0,
                      .dealt = x[14] != 0,
                      .shares = x[15] != 0,
                      .beside = (int)x[16],
                      .across = (int)x[17],
                      .teams = (int)x[18]};
}

static int64_t clocks_of(const double number[NUMBERS]) {
  tile_facts facts = facts_of(number);
  const double *call = number + FACTS; /* M, N, K, shares, blocks, turns */
  const int64_t m = (int64_t)call[0], n = (int64_t)call[1], k = (int64_t)call[2];
  const int64_t tiles = bits_ceil_div(m, facts.positions[0]) * bits_ceil_div(n, facts.positions[1]);
  const bool dense = facts.kind == TILE_DENSE || facts.kind == TILE_SWAPPED;
  const bool torn = dense && k * (int64_t)facts.bits[0] % SECTOR_BITS > 0;
  facts.torn = torn;
  const pace_shape shape = {
      .torn = {torn, torn},
      .blocks = facts.dealt ? tiles : (int64_t)call[4],
      .turns = (int64_t)call[5],
      .rows = m,
      .tiles = {bits_ceil_div(m, facts.positions[0]), bits_ceil_div(n, facts.positions[1])},
      .elements = {m * k, n * k, m * n}};
  plan_pace pace;
  tile_pace(&facts, &pace);
  tile_pace_torn(&pace);
  if (torn) tile_pace_torn_beside(&facts, &pace);
  if ((facts.kind == TILE_SWAPPED ? facts.beside : facts.across) > 1) tile_pace_absent(&pace);
  return pace_clocks(&pace, &shape, (int64_t)call[3], facts.dealt, PACE_UNITS);
}

int tile_clocks_print(const char *path) {
  char line[LINE];
  double number[NUMBERS];
  int read = 0, status = 0;
  FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
  if (!file) {
    fprintf(stderr, "llrt-bench tiles: --predict %s: the file cannot be read\n", path);
    return 1;
  }
  while (status == 0 && fgets(line, sizeof line, file)) {
    read++;
    if (read_numbers(line, number)) {
      printf("%" PRId64 "\n", clocks_of(number));
      continue;
    }
    fprintf(stderr, "llrt-bench tiles: --predict %s: line %d is not %d numbers\n", path, read,
            NUMBERS);
    status = 1;
  }
  if (file != stdin) fclose(file);
  return status;
}
