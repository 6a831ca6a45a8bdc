#include "weights.h"

#include <stdio.h>

typedef struct choice {
  int weight;
  const char *text;
} choice;

#define DRAW_CHOICE(name, weight, text) {weight, text},
#define DRAW_TABLE(list, title) \
  static const choice choices_##list[] = {DRAW_##list##_LIST(DRAW_CHOICE)};
DRAW_LISTS(DRAW_TABLE)
#undef DRAW_TABLE
#undef DRAW_CHOICE

static const struct {
  const char *title;
  const choice *choices;
  int n;
} lists[] = {
#define DRAW_ROW(list, title) {title, choices_##list, list##_COUNT},
    DRAW_LISTS(DRAW_ROW)
#undef DRAW_ROW
};

uint64_t draw_next(uint64_t *seed) {
  uint64_t z = *seed += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

int64_t draw_below(uint64_t *seed, int64_t n) {
  return (int64_t)((draw_next(seed) >> 1) % (uint64_t)n);
}

static int sum_of(draw_list list) {
  int sum = 0;
  for (int i = 0; i < lists[list].n; i++) sum += lists[list].choices[i].weight;
  return sum;
}

int draw_pick(uint64_t *seed, draw_list list) {
  int64_t at = draw_below(seed, sum_of(list));
  int i = 0;
  while (at >= lists[list].choices[i].weight) at -= lists[list].choices[i++].weight;
  return i;
}

const char *draw_choice_text(draw_list list, int i) { return lists[list].choices[i].text; }

size_t draw_print_weights(char *text, size_t size) {
  size_t n = 0;
#define SAY(...) \
  n += (size_t)snprintf(n < size ? text + n : NULL, n < size ? size - n : 0, __VA_ARGS__)
  for (int l = 0; l < LIST_COUNT; l++) {
    SAY("\n| %s | in %d |\n|---|---|\n", lists[l].title, sum_of((draw_list)l));
    for (int i = 0; i < lists[l].n; i++)
      SAY("| %s | %d |\n", lists[l].choices[i].text, lists[l].choices[i].weight);
  }
#undef SAY
  return n;
}
