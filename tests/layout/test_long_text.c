/* Texts of any length and nesting: refused or read in a time that grows with the length only. */

#include <llrt/storage.h>

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define REPEATS 200000
#define LIMIT_S 5 /* each takes milliseconds; sanitizers on a busy machine have to fit */

/* first, then `part` over and over, then last. */
static const struct {
  const char *first, *part, *last;
} texts[] = {
    {"", "(", ""},
    {"", "((1),", ""},
    {"", "[", ""},
    {"", "{", ""},
    {"", "1", ""},
    {"", "a", ""},
    {"", " ", "row_major"},
    {"", "invert(", ""},
    {"", "compose({} -> [], ", ""},
    {"", "slice(dim=0, parent=", ""},
    {"", "dot(operand=0, k_width=2, parent=", ""},
    {"", "tiled([2,2], ", ""},
    {"", "storage(tile=", ""},
    {"", "swizzle(", ""},
    {"", "Swizzle<1,4,3> o ", "1"},
    {"{} -> []", " * {} -> []", ""},
    {"identity1d(2, a, b)", " * identity1d(2, a, b)", ""},
    {"{a: [", "[1],", "[1]]} -> [x:2]"},
    {"{a: [[", "1,", "1]]} -> [x:2]"},
    {"{a: []", ", a: []", "} -> []"},
    {"{} -> [x:1", ", x:1", "]"},
    {"S[(", "1,", "1)]"},
    {"S[1]", " + R[1:1@warpid]", ""},
    {"S[1]", " + 0@laneid", ""},
    {"S[1]", " + 9223372036854775807", ""},
    {"storage(digits=[", "dim0: 1, ", "dim0: rest])"},
    {"storage(offset=[", "1, ", "1])"},
    {"strided([", "1,", "1])"},
    {"select_bases({a: [[1]]} -> [x:2], a, [", "0,", "0])"},
    {"blocked(order=[", "0,", "1])"},
};

static char *repeated(const char *first, const char *part, const char *last) {
  size_t length = strlen(part);
  char *text = malloc(strlen(first) + REPEATS * length + strlen(last) + 1), *at = text;
  cr_assert_not_null(text);
  at = stpcpy(at, first);
  for (int i = 0; i < REPEATS; i++, at += length) memcpy(at, part, length);
  strcpy(at, last);
  return text;
}

Test(long_text, is_read_or_refused) {
  static const int64_t shape[] = {16, 16};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    char *text = repeated(texts[i].first, texts[i].part, texts[i].last);
    llrt_layout layout;
    llrt_storage storage;
    clock_t start = clock();
    if (llrt_layout_parse(text, 2, shape, &layout) == LLRT_OK)
      cr_expect(llrt_layout_is_valid(&layout), "%s%s…", texts[i].first, texts[i].part);
    if (llrt_storage_parse(text, 2, shape, &storage) == LLRT_OK)
      cr_expect(llrt_storage_validate(&storage) == LLRT_OK, "%s%s…", texts[i].first, texts[i].part);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    cr_expect_lt(seconds, LIMIT_S, "%s%s…: %.1f s", texts[i].first, texts[i].part, seconds);
    free(text);
  }
}
