/* docs/steps.md defines every step kind of jit/plan/kernel/plan_step.h once, and no others. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_all(const char *path) {
  char name[1000];
  snprintf(name, sizeof name, "%s/%s", LLRT_TEST_SOURCE_DIR, path);
  FILE *file = fopen(name, "rb");
  cr_assert_not_null(file, "%s", name);
  fseek(file, 0, SEEK_END);
  size_t size = (size_t)ftell(file);
  char *text = malloc(size + 1);
  rewind(file);
  cr_assert_eq(fread(text, 1, size, file), size);
  fclose(file);
  text[size] = 0;
  return text;
}

static int count(const char *text, const char *what) {
  int n = 0;
  for (const char *at = text; (at = strstr(at, what)) != NULL; at += strlen(what)) n++;
  return n;
}

/* The names of the enum, one after the other: each begins a line of it. */
static const char *next_kind(const char *at, char name[40]) {
  size_t n = strspn(at = strstr(at, "\n  PLAN_") + 3, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
  cr_assert_lt(n, 40);
  memcpy(name, at, n);
  name[n] = 0;
  return at + n;
}

Test(steps_page, defines_every_kind) {
  char *header = read_all("jit/plan/kernel/plan_step.h"), *page = read_all("docs/steps.md"),
       name[40], entry[60];
  char *begin = strstr(header, "typedef enum plan_step_kind {"),
       *end = strstr(header, "} plan_step_kind;");
  int kinds = 0;
  cr_assert(begin && end);
  *end = 0;
  for (const char *at = begin; strstr(at, "\n  PLAN_"); kinds++) {
    at = next_kind(at, name);
    snprintf(entry, sizeof entry, "**`%s`**", name);
    cr_expect_eq(count(page, entry), 1, "%s is defined %d times", name, count(page, entry));
  }
  cr_expect_eq(kinds, 47, "%d kinds: is the test right about their number?", kinds);
  cr_expect_eq(count(page, "**`PLAN_"), kinds, "%d definitions of %d kinds",
               count(page, "**`PLAN_"), kinds);
  free(header);
  free(page);
}
