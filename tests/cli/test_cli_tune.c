/* llrt tune: its table, what is kept, and what is refused. Which candidate wins is the machine's to
 * say. */
#include "tool_run.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Choices go to a folder of the test's own. */
static void begin(void) {
  char folder[4096];
  tool_folder_enter();
  cr_assert_not_null(getcwd(folder, sizeof folder - 8));
  strcat(folder, "/kept");
  cr_assert_eq(mkdir(folder, 0700), 0);
  cr_assert_eq(setenv("LLRT_CACHE_DIR", folder, 1), 0);
}

TestSuite(cli_tune, .init = begin, .fini = tool_folder_leave, .timeout = 300);

#define TRANSPOSE \
  "tune convert --from row_major --to col_major --shape 64x96 --dtype f32 --device host"

static int count(const char *text, const char *what) {
  int n = 0;
  for (const char *at = text; (at = strstr(at, what)); at += strlen(what)) n++;
  return n;
}

/* A line for each candidate, how many and how long, and what runs from now on. */
static void expect_measured(const char *line) {
  tool_result r = tool_expect_success(line);
  cr_expect_eq(count(r.out, "\nplanned  "), 1, "%s", r.out);
  cr_expect_eq(count(r.out, "\ntimed  "), 2, "%s", r.out);
  cr_expect_eq(count(r.out, "\nchosen  "), 1, "%s", r.out);
  cr_expect_eq(count(r.out, "\n2 candidates in "), 1, "%s", r.out);
  cr_expect(strstr(r.out, "tuned on "), "%s", r.out);
  tool_result_fini(&r);
}

Test(cli_tune, a_choice_is_kept_until_it_is_measured_again) {
  expect_measured(TRANSPOSE " --most 2");
  tool_result r = tool_expect_success(TRANSPOSE " --most 2");
  cr_expect_eq(count(r.out, "\nkept  "), 1, "%s", r.out);
  cr_expect_eq(count(r.out, "candidates in"), 0, "%s", r.out);
  cr_expect(strstr(r.out, "tuned on "), "%s", r.out);
  tool_result_fini(&r);
  r = tool_expect_success("cache list");
  cr_expect(strstr(r.out, "tuned on "), "%s", r.out);
  tool_result_fini(&r);
  expect_measured(TRANSPOSE " --most 2 --again");
}

/* No time, no memory: why, and code 1. */
Test(cli_tune, what_cannot_be_measured_is_told) {
  tool_result r = tool_run(TRANSPOSE " --seconds 0.001 --again");
  cr_expect(r.code == 1 || strstr(r.out, "candidates in"), "%s", r.out);
  tool_result_fini(&r);
  r = tool_run("tune convert --from row_major --to col_major --shape 100000000x51200 --dtype f32 "
               "--device host");
  cr_expect_eq(r.code, 1);
  cr_expect(strstr(r.out, "no host memory"), "%s", r.out);
  cr_expect(strstr(r.out, "planned: variant "), "%s", r.out);
  cr_expect(strstr(r.err, "as it was planned"), "%s", r.err);
  tool_result_fini(&r);
}

Test(cli_tune, wrong_lines_are_refused) {
  static const tool_failure rows[] = {
      {TRANSPOSE " --most 0", 2, "--most 0: not a number of at least 1"},
      {TRANSPOSE " --most x", 2, "--most x: not a number of at least 1"},
      {TRANSPOSE " --seconds 0", 2, "--seconds 0: not a number of at least 0.001"},
      {"tune convert --from row_major --shape 64x96 --dtype f32 --device host", 2,
       "--to is missing"},
      {"tune convert --from row_major --to col_major --shape 64x96 --dtype f32 --device nowhere", 1,
       "nowhere"},
  };
  tool_expect_failures(rows, sizeof rows / sizeof *rows);
}
