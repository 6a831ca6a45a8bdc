/* docs/tuning.md is the tuning tables: every number with its unit, what it trades, its values and
 * its source. LLRT_DOCS_UPDATE=1 writes the page anew. */
#include "base/text.h"
#include "jit/plan/types/target.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE LLRT_TEST_SOURCE_DIR "/docs/tuning.md"

static const char head[] =
    "# Tuned numbers\n"
    "\n"
    "Where a model says too little, planners choose by numbers that were tuned: "
    "`jit/plan/types/tuning.h` lists them,\n"
    "`tuning.c` has a table for each kind of target, and this page is written from both "
    "(`LLRT_DOCS_UPDATE=1\n"
    "build/tests/test_tuning`). Numbers of a whole device are of one with 132 multiprocessors; "
    "\"in proportion\" are those\n"
    "that planners take in proportion to another's (`plan_for_units`). A source is the command "
    "that "
    "measured a number and the\n"
    "page with its figures, or \"unmeasured\" and the commit that brought it; a test counts the "
    "unmeasured ones, whose number may\n"
    "only fall. NVIDIA's were measured on an H200; AMD's are the same, and no AMD device has "
    "measured them.\n"
    "\n"
    "| number | unit | what it trades | NVIDIA | AMD | host | source |\n"
    "|---|---|---|---|---|---|---|\n";

static void add_value(double value, llrt_text *out) {
  if (value == 0) llrt_text_add(out, " |");
  else llrt_text_add(out, " %.10g |", value);
}

static void write_page(llrt_text *out) {
  llrt_text_add(out, "%s", head);
#define ROW(type, name, unit, trades, source) \
  llrt_text_add(out, "| `%s` | %s | %s |", #name, unit, trades); \
  add_value((double)plan_tuning_nvidia.name, out); \
  add_value((double)plan_tuning_amd.name, out); \
  add_value((double)plan_tuning_host.name, out); \
  llrt_text_add(out, " %s |\n", source);
  PLAN_TUNING(ROW)
#undef ROW
}

Test(tuning, page) {
  llrt_text page;
  llrt_text_init(&page);
  write_page(&page);
  cr_assert_eq(llrt_text_status(&page), LLRT_OK);
  FILE *file = fopen(PAGE, getenv("LLRT_DOCS_UPDATE") ? "w+" : "r");
  cr_assert(file, "%s", PAGE);
  if (getenv("LLRT_DOCS_UPDATE")) fputs(page.data, file);
  rewind(file);
  static char found[1 << 16];
  found[fread(found, 1, sizeof found - 1, file)] = 0;
  fclose(file);
  cr_expect_str_eq(found, page.data, "docs/tuning.md is another than the tables");
  llrt_text_fini(&page);
}

/* Numbers without a measurement: whoever measures one takes one off here. (Four of expressions were
 * in no table before.) */
#define MOST_UNMEASURED 26

/* Every source is a command and an existing page, or a commit; those are counted. */
Test(tuning, sources) {
  int unmeasured = 0;
  static const char *const sources[] = {
#define SOURCE(type, name, unit, trades, source) source,
      PLAN_TUNING(SOURCE)
#undef SOURCE
  };
  for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
    char commit[41], page[64], path[512], rest;
    if (sscanf(sources[i], "unmeasured, from %40[0-9a-f]%c", commit, &rest) == 1) {
      cr_expect_geq(strlen(commit), 7, "%s", sources[i]);
      unmeasured++;
      continue;
    }
    cr_assert_eq(sscanf(sources[i], "`%*[^`]`: %63[a-z0-9/.-]%c", page, &rest), 1, "%s",
                 sources[i]);
    snprintf(path, sizeof path, "%s/%s", LLRT_TEST_SOURCE_DIR, page);
    FILE *file = fopen(path, "r");
    cr_assert(file, "%s is named as a source, and does not exist", page);
    fclose(file);
  }
  fprintf(stderr, "unmeasured numbers: %d of %zu\n", unmeasured, sizeof sources / sizeof *sources);
  cr_expect_leq(unmeasured, MOST_UNMEASURED, "%d numbers are unmeasured", unmeasured);
  cr_expect_geq(unmeasured, MOST_UNMEASURED,
                "only %d numbers are unmeasured: MOST_UNMEASURED is to follow", unmeasured);
}

/* Every target has the table that its kind has, and every number is used by some target. */
Test(tuning, tables) {
  const plan_target *target;
  for (int i = 0; (target = plan_target_at(i)); i++) {
    const plan_tuning *expected = target->isa == PLAN_ISA_NVPTX    ? &plan_tuning_nvidia
                                  : target->isa == PLAN_ISA_AMDGPU ? &plan_tuning_amd
                                                                   : &plan_tuning_host;
    cr_expect_eq(target->tuning, expected, "%s", target->name);
  }
#define USED(type, name, unit, trades, source) \
  cr_expect(plan_tuning_nvidia.name != 0 || plan_tuning_host.name != 0 || \
                plan_tuning_amd.name != 0, \
            "%s", #name);
  PLAN_TUNING(USED)
#undef USED
}
