#include "tests/layout/layout_text.h"

#include "base/bits.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

llrt_layout layout_of(const char *text) {
  llrt_layout layout;
  llrt_status status = llrt_layout_parse(text, 0, NULL, &layout);
  cr_assert(status == LLRT_OK, "%s: %s", text, llrt_last_error());
  return layout;
}

const char *text_of(const llrt_layout *layout) {
  static char buffers[4][16384];
  static int next;
  char *buffer = buffers[next++ % 4];
  llrt_status status = llrt_layout_print(layout, buffer, sizeof buffers[0], NULL);
  cr_assert(status == LLRT_OK, "%s", llrt_last_error());
  return buffer;
}

void expect_layout(const llrt_layout *actual, const char *expected, const char *what) {
  cr_expect(strcmp(text_of(actual), expected) == 0, "%s:\n  is       %s\n  expected %s", what,
            text_of(actual), expected);
}

const char *said(void) {
  const char *end = strstr(llrt_last_error(), ": ");
  return end && strncmp(llrt_last_error(), "llrt_", 5) == 0 ? end + 2 : llrt_last_error();
}

void expect_error(llrt_status actual, llrt_status status, const char *message, const char *what) {
  cr_expect(actual == status, "%s: is %s, expected %s", what, llrt_status_name(actual),
            llrt_status_name(status));
  cr_expect(strcmp(said(), message) == 0, "%s:\n  says     %s\n  expected %s", what, said(),
            message);
}

random_source random_start(const char *test) {
  const char *given = getenv("LLRT_TEST_SEED");
  uint64_t seed = given ? strtoull(given, NULL, 0) : 20250523;
  fprintf(stderr, "%s: LLRT_TEST_SEED=%llu\n", test, (unsigned long long)seed);
  return (random_source){seed};
}

static uint64_t random_column(random_source *source, int shape, int i, int out_bits) {
  static const uint64_t space[3] = {0x5a5a5a5a5a5a5a5aull, 0x123456789abcdefull, 0xffff0000ffffull};
  uint64_t any = random_bits(source);
  if (out_bits == 0) return 0;
  switch (shape) {
  case 0: return any & bits_mask(out_bits);
  case 1: return 0;
  case 2: return i < out_bits ? 1ull << i : 0;
  case 3: return any % 5 == 0 ? 0 : 1ull << any % (uint64_t)out_bits;
  default:
    return ((any & 1 ? space[0] : 0) ^ (any & 2 ? space[1] : 0) ^ (any & 4 ? space[2] : 0)) &
           bits_mask(out_bits);
  }
}

llrt_layout random_layout(random_source *source, int in_bits, int out_bits) {
  llrt_layout layout = llrt_layout_empty();
  int a = random_below(source, in_bits + 1), b = random_below(source, in_bits - a + 1);
  int x = random_below(source, out_bits + 1);
  cr_assert(llrt_layout_add_in(&layout, "a", a) == LLRT_OK);
  cr_assert(llrt_layout_add_in(&layout, "b", b) == LLRT_OK);
  cr_assert(llrt_layout_add_in(&layout, "c", in_bits - a - b) == LLRT_OK);
  cr_assert(llrt_layout_add_out(&layout, "x", x) == LLRT_OK);
  cr_assert(llrt_layout_add_out(&layout, "y", out_bits - x) == LLRT_OK);
  int shape = random_below(source, 6);
  for (int i = 0; i < in_bits; i++)
    layout.column[i] = random_column(source, shape == 5 ? 0 : shape, i, out_bits);
  return layout;
}
