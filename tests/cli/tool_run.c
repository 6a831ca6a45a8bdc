#include "tool_run.h"

#include "tools/common/array_file.h"

#include <criterion/criterion.h>

#include <dirent.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[256], before[4096];

void tool_folder_enter(void) {
  const char *parent = getenv("TMPDIR");
  cr_assert_not_null(getcwd(before, sizeof before));
  snprintf(folder, sizeof folder, "%s/llrt-cli-XXXXXX", parent ? parent : "/tmp");
  cr_assert_not_null(mkdtemp(folder));
  cr_assert_eq(chdir(folder), 0);
  cr_assert_eq(mkdir("work", 0777), 0);
  cr_assert_eq(chdir("work"), 0);
  setenv("LLRT_CACHE_DIR", "", 0); /* each run compiles what it needs */
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *walk) {
  (void)info, (void)kind, (void)walk;
  return remove(path);
}

void tool_folder_leave(void) {
  cr_assert_eq(chdir(before), 0);
  nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

int tool_folder_count(void) {
  int count = 0;
  DIR *directory = opendir(".");
  cr_assert_not_null(directory);
  while (readdir(directory)) count++;
  closedir(directory);
  return count;
}

char *tool_read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  cr_assert_not_null(file, "%s", path);
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  char *data = calloc(*size + 1, 1);
  cr_assert_eq(fread(data, 1, *size, file), *size);
  fclose(file);
  return data;
}

void tool_write_file(const char *path, const void *data, size_t size) {
  FILE *file = fopen(path, "wb");
  cr_assert_not_null(file, "%s", path);
  cr_assert_eq(fwrite(data, 1, size, file), size);
  cr_assert_eq(fclose(file), 0);
}

tool_result tool_run(const char *line) {
  static char command[16384];
  tool_result result;
  size_t err_size;
  int length =
      snprintf(command, sizeof command, "</dev/null >../out 2>../err %s %s", LLRT_TEST_TOOL, line);
  cr_assert_lt((size_t)length, sizeof command);
  int status = system(command);
  cr_assert(WIFEXITED(status), "llrt %s: ended by a signal", line);
  result.code = WEXITSTATUS(status);
  result.out = tool_read_file("../out", &result.out_size);
  result.err = tool_read_file("../err", &err_size);
  return result;
}

void tool_result_fini(tool_result *result) {
  free(result->out);
  free(result->err);
}

void tool_expect_failure(const char *line, int code, const char *why) {
  int files = tool_folder_count();
  tool_result r = tool_run(line);
  cr_expect_eq(r.code, code, "llrt %s: exit code %d, %s", line, r.code, r.err);
  cr_expect(strstr(r.err, why), "llrt %s: says %s", line, r.err);
  cr_expect_eq(r.out_size, 0, "llrt %s: prints %s", line, r.out);
  const char *end = strchr(r.err, '\n');
  cr_expect(end && end[1] == '\0', "llrt %s: not one line: %s", line, r.err);
  cr_expect_eq(tool_folder_count(), files, "llrt %s: leaves files behind", line);
  tool_result_fini(&r);
}

void tool_expect_failures(const tool_failure *rows, size_t n) {
  for (size_t i = 0; i < n; i++) tool_expect_failure(rows[i].line, rows[i].code, rows[i].why);
}

tool_result tool_expect_success(const char *line) {
  tool_result r = tool_run(line);
  cr_assert_eq(r.code, 0, "llrt %s: exit code %d, %s", line, r.code, r.err);
  return r;
}

void tool_run_quietly(const char *line) {
  tool_result r = tool_expect_success(line);
  cr_expect_eq(r.out_size, 0, "llrt %s prints %s", line, r.out);
  tool_result_fini(&r);
}

array tool_array_read(const char *path) {
  array out;
  array_error error;
  cr_assert(array_read(path, &out, &error), "%s", error.text);
  return out;
}

array tool_array(const char *line, const char *path) {
  tool_run_quietly(line);
  return tool_array_read(path);
}
