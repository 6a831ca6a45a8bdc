/* Expressions as text and data: what prints as what, what is refused and where. */
#include <llrt/llrt.h>

#include <criterion/criterion.h>
#include <dirent.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

static void print_of(const char *text, char *out, size_t size) {
  llrt_expr *expr;
  cr_assert_eq(llrt_expr_parse(text, &expr), LLRT_OK, "%s: %s", text, llrt_last_error());
  cr_assert_eq(llrt_expr_print(expr, out, size, NULL), LLRT_OK);
  llrt_expr_destroy(&expr);
  cr_assert_null(expr);
}

/* Canonical texts, and how else they may be written. */
Test(expression, canonical) {
  static const struct {
    const char *text, *canonical;
  } cases[] = {
      {"(x[t n])->(y[t n]){y=x}", "(x[t n]) -> (y[t n]) { y = x }"},
      {"# all\n(x[t n]) # in\n -> (y[t n]) {\n m = max(x, axis=n)\n y = x-m # out\n}\n",
       "(x[t n]) -> (y[t n]) { m = max(x, n); y = x - m }"},
      {"(x[a], y[a]) -> (z[a]) { z = (x + y) * (x - (y - 1)) }",
       "(x[a], y[a]) -> (z[a]) { z = (x + y) * (x - (y - 1)) }"},
      {"(x[a]) -> (z[a]) { z = ((x + 1) + 2) + 3 }", "(x[a]) -> (z[a]) { z = x + 1 + 2 + 3 }"},
      {"(x[a]) -> (z[a]) { z = -(-x) * -2.50 }", "(x[a]) -> (z[a]) { z = --x * -2.5 }"},
      {"(x[a]) -> (z[a]) { z = x * 1e-10 + .1 }", "(x[a]) -> (z[a]) { z = x * 1e-10 + 0.1 }"},
      {"(x[a], s: f32) -> (z[a]: e4m3) { z = x / s }",
       "(x[a], s: f32) -> (z[a]: e4m3) { z = x / s }"},
      {"(x[m (g j:32)]) -> (q[m (g j:32)]) { q = x / sum(x, (j)) }",
       "(x[m (g j:32)]) -> (q[m (g j)]) { q = x / sum(x, j) }"},
      {"(x[... ~n 1]) -> (y[... n]: f32) { y = where(x < 0 , 0, x) }",
       "(x[... ~n 1]) -> (y[... n]: f32) { y = where(x < 0, 0, x) }"},
      {"(x[a p:2]) -> (z[a p]) { z = x[p=1] + flip(x, p) * (p == 0) }",
       "(x[a p:2]) -> (z[a p]) { z = x[p=1] + flip(x, p) * (p == 0) }"},
      {"(x[a]) -> (s[a]: e8m0, z[a]: u32) { s = e8m0(abs(x), round=up); z = bitcast(x, u32) >> 3 & "
       "0xFF }",
       "(x[a]) -> (s[a]: e8m0, z[a]: u32) { s = e8m0(abs(x), round=up); z = bitcast(x, u32) >> 3 & "
       "255 }"},
      {"(x[a b]) -> (z) { z = sum(x, (a, b)) }", NULL},
      {"(x[a b]) -> (z[]) { z = sum(x, (a, b)) }", "(x[a b]) -> (z[]) { z = sum(x, (a, b)) }"},
      {"(x[a]) -> (z[a]) { z = 2 - 1 - (3 - x) }", "(x[a]) -> (z[a]) { z = 2 - 1 - (3 - x) }"},
      {"(x[a]) -> (y[a], z[a]) { y = x * 2; z = x * 2 + y }",
       "(x[a]) -> (y[a], z[a]) { y = x * 2; z = x * 2 + y }"},
      {"(x[a b]) -> (z[a b]) { z = cumsum(x, axis=b, reverse=True, exclusive=True) }",
       "(x[a b]) -> (z[a b]) { z = cumsum(x, b, exclusive=True, reverse=True) }"},
      {"(x[a]) -> (z[a]) { z = cummin(x, a, exclusive=False) }",
       "(x[a]) -> (z[a]) { z = cummin(x, a) }"},
      {"(x[a]) -> (z[a]) { z = maximum(x, -inf) }", "(x[a]) -> (z[a]) { z = maximum(x, -inf) }"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char once[512], twice[512];
    if (!cases[i].canonical) continue;
    print_of(cases[i].text, once, sizeof once);
    cr_assert_str_eq(once, cases[i].canonical);
    print_of(once, twice, sizeof twice);
    cr_assert_str_eq(twice, once);
  }
}

Test(expression, refused) {
  static const struct {
    const char *text;
    llrt_status status;
    const char *message;
  } cases[] = {
      {"", LLRT_INVALID_ARGUMENT, "1:1: ( is missing"},
      {"(x[n]) -> (y[n]) {\n y = max(x, k) }", LLRT_INVALID_ARGUMENT, "2:13: k is no axis"},
      {"(x[n], w[k]) -> (y[n]) {\n y = x * sum(w, n) }", LLRT_INVALID_ARGUMENT,
       "2:10: n is no axis of what sum joins"},
      {"(x[n]) -> (y[n]) { y = max(x, 0) }", LLRT_INVALID_ARGUMENT,
       "1:31: 0 is no axis: maximum(x, 0)"},
      {"(x[t n]) -> (y[t]) { y = x }", LLRT_INVALID_ARGUMENT,
       "1:22: y has no axis n: reduce that first"},
      {"(x[n]) -> (y[n]) { z = x }", LLRT_INVALID_ARGUMENT, "y is never assigned"},
      {"(x[n]) -> (y[n]) { y = x; y = x }", LLRT_INVALID_ARGUMENT, "1:27: y has a meaning already"},
      {"(x[n]) -> (y[n]) { x = 1; y = x }", LLRT_INVALID_ARGUMENT, "1:20: x has a meaning already"},
      {"(x[n]) -> (y[n]) { y = q }", LLRT_INVALID_ARGUMENT, "1:24: q is not known here"},
      {"(x[n]) -> (y[n]) { y = tan(x) }", LLRT_INVALID_ARGUMENT, "1:24: there is no function tan"},
      {"(x[n t]) -> (y[n t]) { y = cumsum(x, (n, t)) }", LLRT_INVALID_ARGUMENT,
       "1:28: cumsum along more than one axis"},
      {"(x[n]) -> (y[n]) { y = cumsum(x, n, exclusive=2) }", LLRT_INVALID_ARGUMENT,
       "1:47: exclusive is True or False"},
      {"(x[n]) -> (y[n]) { y = cummax(x, n, reverse=True, reverse=True) }", LLRT_INVALID_ARGUMENT,
       "1:51: exclusive=True or reverse=True"},
      {"(x[n]) -> (y[n]) { y = cumsum(x, k) }", LLRT_INVALID_ARGUMENT, "1:34: k is no axis"},
      {"(x[n n]) -> (y[n]) { y = x }", LLRT_INVALID_ARGUMENT, "1:6: n stands twice"},
      {"(x[n:4], z[n:5]) -> (y[n]) { y = x }", LLRT_INVALID_ARGUMENT, "n has extent 4 already"},
      {"(x[n]) -> (y[n]) { y = flip(x, n) }", LLRT_INVALID_ARGUMENT, "n has no extent of 1 to 64"},
      {"(x[n:2]) -> (y[n]) { y = x[n=2] }", LLRT_INVALID_ARGUMENT, "n has positions 0 to 1"},
      {"(x[n], s: bf16) -> (y[n]) { y = x }", LLRT_INVALID_ARGUMENT, "1:11: numbers of a run"},
      {"(x[n]) -> (y[n]) { y = x < 1 < 2 }", LLRT_INVALID_ARGUMENT, "comparisons do not chain"},
      {"(x[n]) -> (y[n]) { y = x ? 1 }", LLRT_INVALID_ARGUMENT, "1:26: a character"},
      {"(x[n]) -> (y[n]) { y = x \xC3\x97 2 }", LLRT_INVALID_ARGUMENT,
       "1:26: a character that no expression has: \xC3\x97"},
      {"(x[n]) -> (y[n]) { y = \xC3 }", LLRT_INVALID_ARGUMENT,
       "1:24: a byte that begins no character: 0xc3"},
      {"(x[n]) -> (y[n]) { y = \xFF\xFE }", LLRT_INVALID_ARGUMENT,
       "1:24: a byte that begins no character: 0xff"},
      {"(x[n]) -> (y[n]) { y = x", LLRT_INVALID_ARGUMENT, "; is missing at the text's end"},
      {"(x[n]) -> (y[n]) { y = x } y", LLRT_INVALID_ARGUMENT, "1:28:"},
      {"(x[n]) -> (y[n]) { y = argmax(x + n, n) + e8m0(x, round=sideways) }", LLRT_INVALID_ARGUMENT,
       "sideways is no rounding"},
      {"(n[n]) -> (y[n]) { y = n }", LLRT_INVALID_ARGUMENT, "n is a tensor and an axis"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    llrt_expr *expr = (llrt_expr *)&expr;
    llrt_status status = llrt_expr_parse(cases[i].text, &expr);
    cr_assert_eq(status, cases[i].status, "%s", cases[i].text);
    cr_assert_null(expr);
    cr_assert(strstr(llrt_last_error(), cases[i].message), "%s: %s", cases[i].text,
              llrt_last_error());
  }
}

static llrt_hash hash_of(const char *text) {
  llrt_expr *expr;
  cr_assert_eq(llrt_expr_parse(text, &expr), LLRT_OK, "%s", llrt_last_error());
  llrt_hash hash = llrt_expr_hash(expr);
  llrt_expr_destroy(&expr);
  return hash;
}

Test(expression, hash_without_names) {
  static const char *const same[] = {"(x[t n]) -> (y[t n]) { m = max(x, n); y = x - m }",
                                     "(a[b c]) -> (d[b c]) { d = a - max(a, c) }"};
  static const char *const other[] = {"(x[t n]) -> (y[t n]) { m = max(x, t); y = x - m }",
                                      "(x[t n]) -> (y[t n]) { m = max(x, n); y = m - x }",
                                      "(x[t n]) -> (y[t n]: f32) { m = max(x, n); y = x - m }",
                                      "(x[t n]) -> (y[n t]) { m = max(x, n); y = x - m }",
                                      "(x[t n:5]) -> (y[t n]) { m = max(x, n); y = x - m }"};
  llrt_hash first = hash_of(same[0]), second = hash_of(same[1]);
  cr_assert(first.low == second.low && first.high == second.high);
  for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
    llrt_hash hash = hash_of(other[i]);
    cr_assert(hash.low != first.low, "%s", other[i]);
  }
}

Test(expression, too_much) {
  char text[8192];
  int length = snprintf(text, sizeof text, "(x[n]) -> (y[n]) { y = x");
  llrt_expr *expr;
  for (int i = 0; i < LLRT_EXPR_MAX_NODES; i++)
    length += snprintf(text + length, sizeof text - (size_t)length, " + x");
  snprintf(text + length, sizeof text - (size_t)length, " }");
  cr_assert_eq(llrt_expr_parse(text, &expr), LLRT_UNSUPPORTED);
  cr_assert(strstr(llrt_last_error(), "more than 128 nodes"));
  length = snprintf(text, sizeof text, "(x[n]) -> (y[n]) { y = ");
  for (int i = 0; i < 4000; i++) text[length++] = '(';
  text[length] = 0;
  cr_assert_eq(llrt_expr_parse(text, &expr), LLRT_UNSUPPORTED);
}

Test(expression, arguments) {
  llrt_expr *expr;
  char small[4];
  size_t length;
  cr_assert_eq(llrt_expr_parse(NULL, &expr), LLRT_INVALID_ARGUMENT);
  cr_assert_eq(llrt_expr_parse("(x[n]) -> (y[n]) { y = x }", NULL), LLRT_INVALID_ARGUMENT);
  cr_assert_eq(llrt_expr_print(NULL, NULL, 0, &length), LLRT_INVALID_ARGUMENT);
  cr_assert_eq(llrt_expr_hash(NULL).low, 0);
  llrt_expr_destroy(NULL);
  cr_assert_eq(llrt_expr_parse("(x[n]) -> (y[n]) { y = x }", &expr), LLRT_OK);
  cr_assert_eq(llrt_expr_print(expr, small, sizeof small, &length), LLRT_OK);
  cr_assert_str_eq(small, "(x[");
  cr_assert_eq(length, strlen("(x[n]) -> (y[n]) { y = x }"));
  llrt_expr_destroy(&expr);
}

/* A caller's locale may have a decimal comma. */
Test(expression, locale) {
  char text[200];
  setlocale(LC_ALL, "de_DE.UTF-8");
  print_of("(x[n]) -> (y[n]) { y = x * 0.5 }", text, sizeof text);
  cr_assert_str_eq(text, "(x[n]) -> (y[n]) { y = x * 0.5 }");
}

/* Every text of the catalogue. */
Test(expression, catalogue) {
  DIR *folder = opendir(LLRT_TEST_SOURCE_DIR "/examples/expressions");
  int n = 0;
  cr_assert_not_null(folder);
  for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
    char path[600], text[4000], once[4000], twice[4000];
    if (!strstr(entry->d_name, ".llrt")) continue;
    snprintf(path, sizeof path, "%s/examples/expressions/%s", LLRT_TEST_SOURCE_DIR, entry->d_name);
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    print_of(text, once, sizeof once);
    print_of(once, twice, sizeof twice);
    cr_assert_str_eq(once, twice);
    n++;
  }
  closedir(folder);
  cr_assert_geq(n, 15);
}
