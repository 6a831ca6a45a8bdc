/* The log: who is told what, by the program's function and by LLRT_LOG. */
#include "convert_fixture.h"

#include <llrt/reduce.h>

#include <fenv.h>
#include <unistd.h>

#define MOST 64

typedef struct told {
  int n;
  llrt_log_level level[MOST];
  char message[MOST][1024];
} told;

static void note(void *user, llrt_log_level level, const char *message) {
  told *all = user;
  if (all->n == MOST) return;
  all->level[all->n] = level;
  snprintf(all->message[all->n++], sizeof all->message[0], "%s", message);
}

static void make(fixture *at, told *all, llrt_log_level level) {
  llrt_context_params params = fixture_params;
  memset(all, 0, sizeof *all);
  params.log = note;
  params.log_user = all;
  params.log_level = level;
  fixture_make(at, &params);
}

static void convert(const fixture *at) {
  cr_assert_eq(llrt_convert_into(&at->source, &at->destination, NULL, NULL), LLRT_OK, "%s",
               llrt_last_error());
}

/* How many messages begin so. */
static int count(const told *all, const char *beginning) {
  int n = 0;
  for (int i = 0; i < all->n; i++) n += strncmp(all->message[i], beginning, strlen(beginning)) == 0;
  return n;
}

/* The value of a message's field, or NULL. */
static const char *field(const char *message, const char *key) {
  static char value[512];
  char before[64];
  snprintf(before, sizeof before, " %s=", key);
  const char *at = strstr(message, before);
  if (!at) return NULL;
  snprintf(value, sizeof value, "%s", at + strlen(before));
  value[strcspn(value, " ")] = 0;
  return value;
}

static void expect_field(const char *message, const char *key, const char *expected) {
  const char *value = field(message, key);
  cr_assert(value, "no %s in: %s", key, message);
  cr_expect(strcmp(value, expected) == 0, "%s is %s, expected %s: %s", key, value, expected,
            message);
}

Test(log, levels) {
  static const struct {
    llrt_log_level level;
    int contexts, compiles, launches;
  } rows[] = {{LLRT_LOG_DEFAULT, 1, 1, 0}, {LLRT_LOG_OFF, 0, 0, 0},  {LLRT_LOG_ERROR, 0, 0, 0},
              {LLRT_LOG_WARNING, 0, 0, 0}, {LLRT_LOG_INFO, 1, 1, 0}, {LLRT_LOG_VERBOSE, 1, 1, 2}};
  static fixture at;
  static told all;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    make(&at, &all, rows[i].level);
    convert(&at);
    convert(&at);
    cr_expect_eq(count(&all, "context "), rows[i].contexts, "row %zu", i);
    cr_expect_eq(count(&all, "device "), rows[i].contexts, "row %zu", i);
    cr_expect_eq(count(&all, "compile "), rows[i].compiles, "row %zu", i);
    cr_expect_eq(count(&all, "launch "), rows[i].launches, "row %zu", i);
    fixture_end(&at);
  }
}

Test(log, level_set_later) {
  static fixture at;
  static told all;
  make(&at, &all, LLRT_LOG_OFF);
  convert(&at);
  cr_expect_eq(all.n, 0);
  cr_expect_eq(llrt_context_set_log_level(at.context, LLRT_LOG_VERBOSE), LLRT_OK);
  convert(&at);
  cr_expect_eq(all.n, 1);
  cr_expect_eq(all.level[0], LLRT_LOG_VERBOSE);
  cr_expect_eq(llrt_context_set_log_level(at.context, (llrt_log_level)6), LLRT_INVALID_ARGUMENT);
  cr_expect_str_eq(llrt_last_error(), "llrt_context_set_log_level: there is no log level 6");
  cr_expect_eq(llrt_context_set_log_level(at.context, LLRT_LOG_OFF), LLRT_OK);
  convert(&at);
  cr_expect_eq(all.n, 1);
  fixture_end(&at);
}

Test(log, a_launch) {
  static fixture at;
  static told all;
  make(&at, &all, LLRT_LOG_VERBOSE);
  convert(&at);
  convert(&at);
  const char *first = all.message[all.n - 2], *second = all.message[all.n - 1];
  expect_field(first, "op", "convert");
  expect_field(first, "device", "host");
  expect_field(first, "cache", "miss");
  expect_field(second, "cache", "hit");
  cr_expect(strstr(second, " source=f32[24x40]:row_major@"), "%s", second);
  cr_expect(strstr(second, " destination=f32[24x40]:col_major@"), "%s", second);
  expect_field(second, "bytes", "7680");
  expect_field(second, "launches", "1");
  expect_field(second, "captured", "0");
  cr_expect(atof(field(second, "predicted_us")) > 0, "%s", second);
  cr_expect(atof(field(second, "measured_us")) > 0, "%s", second);
  char kernel[512];
  snprintf(kernel, sizeof kernel, "%s", field(first, "kernel"));
  expect_field(second, "kernel", kernel);
  cr_expect_eq(strlen(kernel), 8);
  fixture_end(&at);
}

/* The kernel that was saved goes by the same name where it is loaded. */
Test(log, a_prepared_launch) {
  static fixture at;
  static told all;
  llrt_op *op, *loaded;
  char kernel[512];
  size_t size;
  make(&at, &all, LLRT_LOG_VERBOSE);
  op_description desc = fixture_desc(&at);
  cr_assert_eq(described_prepare(at.host, &desc, &op), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_op_run(op, NULL, desc.tensors, 2, NULL), LLRT_OK, "%s", llrt_last_error());
  expect_field(all.message[all.n - 1], "cache", "prepared");
  snprintf(kernel, sizeof kernel, "%s", field(all.message[all.n - 1], "kernel"));
  cr_assert_eq(llrt_op_save(op, NULL, &size), LLRT_OK);
  void *bytes = malloc(size);
  cr_assert_eq(llrt_op_save(op, bytes, &size), LLRT_OK);
  cr_assert_eq(llrt_op_load(at.host, bytes, size, &loaded), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_op_run(loaded, NULL, desc.tensors, 2, NULL), LLRT_OK, "%s", llrt_last_error());
  expect_field(all.message[all.n - 1], "kernel", kernel);
  cr_expect(atof(field(all.message[all.n - 1], "predicted_us")) > 0,
            "what is predicted is saved, too: %s", all.message[all.n - 1]);
  free(bytes);
  llrt_op_destroy(&op);
  llrt_op_destroy(&loaded);
  fixture_end(&at);
}

Test(log, a_reduce_with_values) {
  static fixture at;
  static told all;
  static int64_t place[COLUMNS];
  static float most[COLUMNS];
  make(&at, &all, LLRT_LOG_VERBOSE);
  llrt_tensor places = {
      .data = place, .dtype = LLRT_I64, .rank = 1, .shape = {COLUMNS}, .device = at.host};
  llrt_tensor values = {
      .data = most, .dtype = LLRT_F32, .rank = 1, .shape = {COLUMNS}, .device = at.host};
  const llrt_reduce_params params = {.op = LLRT_COMBINE_ARGMAX, .axes = 1, .values = &values};
  cr_assert_eq(llrt_reduce_into(&at.source, &places, &params, NULL), LLRT_OK, "%s",
               llrt_last_error());
  const char *last = all.message[all.n - 1];
  expect_field(last, "op", "reduce");
  expect_field(last, "combine", "argmax");
  expect_field(last, "axes", "0x1");
  cr_expect(strstr(last, " values=f32["), "%s", last);
  fixture_end(&at);
}

Test(log, a_compile) {
  static fixture at;
  static told all;
  make(&at, &all, LLRT_LOG_INFO);
  convert(&at);
  const char *last = all.message[all.n - 1];
  expect_field(last, "device", "host");
  expect_field(last, "behind", "0");
  cr_expect(atof(field(last, "ms")) > 0, "%s", last);
  cr_expect(strstr(last, "what=\"convert source f32 row_major address by 64"), "%s", last);
  cr_expect(strstr(last, "; destination f32 col_major"), "%s", last);
  fixture_end(&at);
}

Test(log, a_failure) {
  static fixture at;
  static told all;
  make(&at, &all, LLRT_LOG_ERROR);
  at.destination.shape[0] = ROWS + 1;
  cr_expect_eq(llrt_convert_into(&at.source, &at.destination, NULL, NULL), LLRT_INVALID_ARGUMENT);
  cr_assert_eq(all.n, 1);
  cr_expect_eq(all.level[0], LLRT_LOG_ERROR);
  expect_field(all.message[0], "status", "INVALID_ARGUMENT");
  cr_expect(strstr(all.message[0], "message=\"llrt_convert_into: the destination's shape[0]"), "%s",
            all.message[0]);
  fixture_end(&at);
}

/* Numbers are printed although the caller lets inexact results trap. */
Test(log, in_any_floating_point_mode) {
  static fixture at;
  static told all;
  make(&at, &all, LLRT_LOG_VERBOSE);
  convert(&at);
  feenableexcept(FE_INEXACT | FE_DIVBYZERO | FE_INVALID);
  convert(&at);
  fedisableexcept(FE_ALL_EXCEPT);
  cr_expect_eq(count(&all, "launch "), 2);
  fixture_end(&at);
}

/* ---- LLRT_LOG ---- */

/* What the file has, which is removed. */
static char *take(const char *path) {
  static char text[1 << 16];
  FILE *file = fopen(path, "r");
  cr_assert_not_null(file, "%s", path);
  text[fread(text, 1, sizeof text - 1, file)] = 0;
  fclose(file);
  unlink(path);
  return text;
}

static void set_variable(const char *format, char *path, size_t size) {
  char value[256];
  snprintf(path, size, "/tmp/llrt-test-log-%ld", (long)getpid());
  snprintf(value, sizeof value, format, "/tmp/llrt-test-log-%p");
  setenv("LLRT_LOG", value, 1);
  unlink(path);
}

Test(log, of_the_person_who_runs_the_program) {
  static fixture at;
  static told all;
  char path[128], line[64];
  set_variable("VERBOSE:%s", path, sizeof path);
  make(&at, &all, LLRT_LOG_ERROR);
  convert(&at);
  fixture_end(&at);
  cr_expect_eq(all.n, 0); /* the program's function has its own level */
  char *text = take(path);
  static const char *const words[] = {"info context", "info device", "info compile",
                                      "verbose launch"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    snprintf(line, sizeof line, "llrt %ld %s ", (long)getpid(), words[i]);
    cr_expect(strstr(text, line), "no \"%s\" in:\n%s", line, text);
  }
  cr_expect_eq(text[strlen(text) - 1], '\n');
}

Test(log, off_writes_nothing) {
  static fixture at;
  static told all;
  char path[128];
  set_variable("off:%s", path, sizeof path);
  make(&at, &all, LLRT_LOG_VERBOSE);
  convert(&at);
  fixture_end(&at);
  cr_expect_eq(access(path, F_OK), -1);
  cr_expect_eq(count(&all, "launch "), 1);
}

/* What stderr gets while a context is created under this value. */
static char *on_stderr(const char *value) {
  char path[64];
  llrt_context *context;
  snprintf(path, sizeof path, "/tmp/llrt-test-stderr-%ld", (long)getpid());
  setenv("LLRT_LOG", value, 1);
  fflush(stderr);
  int before = dup(STDERR_FILENO);
  cr_assert_not_null(freopen(path, "w", stderr));
  llrt_status status = llrt_context_create(NULL, &context);
  llrt_context_destroy(&context);
  fflush(stderr);
  dup2(before, STDERR_FILENO);
  close(before);
  cr_assert_eq(status, LLRT_OK);
  return take(path);
}

Test(log, what_stderr_gets) {
  static const struct {
    const char *value, *part; /* NULL: nothing at all */
  } rows[] = {{"", NULL},
              {"off", NULL},
              {"error", NULL},
              {"Warn", NULL},
              {"info", " info context llrt="},
              {"info:stderr", " info context llrt="},
              {"loud", " error LLRT_LOG is LEVEL or LEVEL:FILE"},
              {"info:/nonexistent/file",
               " error LLRT_LOG: cannot append to '/nonexistent/file': No such file or directory"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const char *text = on_stderr(rows[i].value);
    if (!rows[i].part) cr_expect_str_eq(text, "", "row %zu", i);
    else cr_expect(strstr(text, rows[i].part), "row %zu: %s", i, text);
  }
}
