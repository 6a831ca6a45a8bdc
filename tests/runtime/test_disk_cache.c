/* Kernels on disk: found by processes without a compiler, never trusted when damaged, shared. */
#include "runtime/disk_entry.h"

#include "tests/runtime/cache_folder.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *dir;

static void setup(void) { dir = cache_folder_begin(); }
static void teardown(void) { cache_folder_end(); }
TestSuite(disk_cache, .init = setup, .fini = teardown, .timeout = 3600);

static const char *const devices[] = {"host", "cuda-emu:sm_80", "cuda-emu:sm_90a",
                                      "hip-emu:gfx942"};

Test(disk_cache, a_hit_needs_no_compiler) {
  for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
    cr_expect_eq(cache_convert_once(dir, devices[d], 7, true), 1, "%s", devices[d]);
    cr_expect_eq(cache_convert_once(dir, devices[d], 7, false), 0, "%s", devices[d]);
    cr_expect_eq(cache_convert_once(dir, devices[d], 7, true), 0, "%s", devices[d]);
  }
}

/* ---- other operations ---- */

static float in[64 * 48], out[64 * 64];

static llrt_tensor matrix(const cache_context *at, float *data, int64_t rows, int64_t columns) {
  return (llrt_tensor){
      .data = data, .dtype = LLRT_F32, .rank = 2, .shape = {rows, columns}, .device = at->device};
}

static llrt_status sum_rows(cache_context *at) {
  llrt_tensor source = matrix(at, in, 64, 48);
  llrt_tensor result = {
      .data = out, .dtype = LLRT_F32, .rank = 1, .shape = {64}, .device = at->device};
  const llrt_reduce_params params = {.op = LLRT_COMBINE_SUM, .axes = 2};
  return llrt_reduce_into(&source, &result, &params, NULL);
}

static llrt_status add_up(cache_context *at) {
  llrt_tensor source = matrix(at, in, 64, 48), result = matrix(at, out, 64, 48);
  const llrt_scan_params params = {.op = LLRT_COMBINE_SUM, .axis = 1};
  return llrt_scan_into(&source, &result, &params, NULL);
}

static llrt_status multiply(cache_context *at) {
  llrt_tensor a = matrix(at, in, 32, 48), b = matrix(at, in + 48, 48, 16),
              d = matrix(at, out, 32, 16);
  return llrt_dot_into(&a, &b, &d, NULL, NULL);
}

static llrt_status transpose_in_place(cache_context *at) {
  llrt_storage columns;
  memcpy(out, in, sizeof in);
  llrt_tensor source = matrix(at, out, 64, 48), destination = source;
  if (llrt_storage_col_major(2, &columns) != LLRT_OK) return LLRT_INTERNAL;
  destination.storage = &columns;
  return llrt_convert_into(&source, &destination, NULL, NULL);
}

static llrt_status prepare_and_run(cache_context *at) {
  llrt_storage columns;
  llrt_tensor tensors[2] = {matrix(at, in, 64, 48), matrix(at, out, 64, 48)};
  llrt_tensor_promise promises[2];
  llrt_op *op;
  if (llrt_storage_col_major(2, &columns) != LLRT_OK) return LLRT_INTERNAL;
  tensors[1].storage = &columns;
  llrt_op_desc desc = {
      .kind = LLRT_OP_CONVERT, .n_tensors = 2, .tensors = tensors, .promises = promises};
  llrt_status status = llrt_op_promise_coarse(&desc);
  if (status == LLRT_OK) status = llrt_op_prepare(at->device, &desc, &op);
  if (status == LLRT_OK) status = llrt_op_run(op, NULL, tensors, 2, NULL);
  if (status == LLRT_OK) llrt_op_destroy(&op);
  return status;
}

static const struct {
  const char *name;
  llrt_status (*run)(cache_context *at);
} operations[] = {{"sum", sum_rows},
                  {"scan", add_up},
                  {"dot", multiply},
                  {"in place", transpose_in_place},
                  {"prepared", prepare_and_run}};

/* With a compiler, then without one: the same bytes. */
Test(disk_cache, every_operation) {
  static float first[64 * 64];
  for (int i = 0; i < 64 * 48; i++) in[i] = (float)(i % 37) - 11;
  for (size_t o = 0; o < sizeof operations / sizeof *operations; o++) {
    for (int pass = 0; pass < 2; pass++) {
      cache_context at;
      memset(out, 0, sizeof out);
      cache_context_begin(&at, "host", dir, pass == 0, NULL);
      cr_expect_eq(operations[o].run(&at), LLRT_OK, "%s: %s", operations[o].name,
                   llrt_last_error());
      cr_expect((cache_compiles(&at) == 0) == (pass == 1), "%s, pass %d", operations[o].name, pass);
      cache_context_end(&at);
      if (pass == 0) memcpy(first, out, sizeof out);
      else cr_expect_arr_eq(first, out, sizeof out, "%s", operations[o].name);
    }
  }
}

Test(disk_cache, never_compiling_finds_what_the_disk_has) {
  cache_convert_once(dir, "host", 1, true);
  cache_context at;
  bool right;
  for (int policy = LLRT_COMPILE_NEVER; policy <= LLRT_COMPILE_FORBIDDEN; policy++) {
    cache_context_begin(&at, "host", dir, false, NULL);
    cr_assert_eq(llrt_context_set_compile(at.context, (llrt_compile_policy)policy), LLRT_OK);
    cr_expect_eq(cache_convert(&at, 1, &right), LLRT_OK, "%s", llrt_last_error());
    cr_expect(right);
    cr_expect_eq(cache_convert(&at, 2, &right),
                 policy == LLRT_COMPILE_NEVER ? LLRT_NOT_PREPARED : LLRT_UNAVAILABLE);
    cache_context_end(&at);
  }
}

/* Devices of compute capability 8.0 and 8.6 with one folder, each twice. */
Test(disk_cache, two_capabilities_of_one_target) {
  static const char *const minors[] = {"6", "0", "6", "0"};
  for (int i = 0; i < 4; i++) {
    setenv("LLRT_EMU_MINOR", minors[i], 1);
    cr_expect_eq(cache_convert_once(dir, "cuda-emu:sm_80", 3, i < 2), i < 2, "8.%s", minors[i]);
  }
}

/* ---- folders ---- */

/* A device whose compiler writes no files. */
#define WITHOUT_FILES "cuda-emu:sm_80"

static void expect_off(const char *path, const char *why) {
  cache_context at;
  cache_context_begin(&at, "host", path, true, NULL);
  for (uint32_t k = 0; k < 2; k++) cr_expect(cache_converts(&at, k), "%s", why);
  cr_expect_eq(at.warnings, 1, "%s: %d warnings, %s", why, at.warnings, at.warning);
  cr_expect(strstr(at.warning, why), "\"%s\" lacks \"%s\"", at.warning, why);
  cache_context_end(&at);
}

Test(disk_cache, folders_that_are_not_to_be_trusted) {
  char path[4200], below[4300];
  snprintf(path, sizeof path, "%s/open", dir);
  snprintf(below, sizeof below, "%s/kernels", path);
  cr_assert_eq(mkdir(path, 0700), 0);
  cr_assert_eq(chmod(path, 0777), 0);
  expect_off(path, "can be written by others");
  expect_off(below, "can be written by others");
  cr_assert_eq(chmod(path, 0770), 0);
  expect_off(path, "can be written by others");
  cr_assert_eq(chmod(path, 0700), 0);

  snprintf(below, sizeof below, "%s/link", dir);
  cr_assert_eq(symlink(path, below), 0);
  expect_off(below, "symbolic link");
  snprintf(below, sizeof below, "%s/link/kernels", dir);
  expect_off(below, "symbolic link");
  snprintf(below, sizeof below, "%s/open/../open", dir);
  expect_off(below, "goes up");
  snprintf(below, sizeof below, "%s/file", dir);
  cache_file_write(dir, "file", "x", 1);
  expect_off(below, "no folder");
  if (geteuid() == 0) {
    cr_assert_eq(chown(path, 12345, 12345), 0);
    expect_off(path, "belongs to another user");
  }
}

Test(disk_cache, a_folder_is_made) {
  char path[4200];
  struct stat info;
  cache_context at;
  snprintf(path, sizeof path, "%s/a/b/c", dir);
  umask(0);
  cache_context_begin(&at, "host", path, true, NULL);
  cr_expect(cache_converts(&at, 1));
  cr_expect_eq(at.warnings, 0, "%s", at.warning);
  cache_context_end(&at);
  cr_assert_eq(stat(path, &info), 0);
  cr_expect_eq(info.st_mode & 0777, 0700);
  char name[1][64];
  cr_assert_eq(cache_files(path, name, 1), 1);
  dir = path;
  cr_assert_eq(stat(cache_file_path(dir, name[0]), &info), 0);
  cr_expect_eq(info.st_mode & 0777, 0644);
}

/* No file may become longer than 512 bytes: nothing is kept, the signal is not raised. */
Test(disk_cache, a_full_disk) {
  struct rlimit before, little;
  cache_context at;
  char name[1][64];
  getrlimit(RLIMIT_FSIZE, &before);
  little = before;
  little.rlim_cur = 512;
  cache_context_begin(&at, WITHOUT_FILES, dir, true, NULL);
  cr_assert_eq(setrlimit(RLIMIT_FSIZE, &little), 0);
  for (uint32_t k = 0; k < 3; k++) cr_expect(cache_converts(&at, k));
  cr_assert_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
  cr_expect_eq(at.warnings, 1, "%d: %s", at.warnings, at.warning);
  cr_expect_eq(cache_files(dir, name, 1), 0);
  cache_context_end(&at);
}

/* ---- file systems of the test's own ---- */

/* Puts an empty tmpfs of `kib` KiB over the folder, which nobody else sees; it ends with this
 * process. Skips where that is not allowed. */
static void mount_over_folder(int kib) {
  char options[64];
  snprintf(options, sizeof options, "size=%dk,mode=0700", kib);
  if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 ||
      mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
      mount("tmpfs", dir, "tmpfs", MS_NOSUID | MS_NODEV, options) != 0)
    cr_skip_test("no file systems can be mounted here");
}

static void unmount_folder(void) { cr_expect_eq(umount2(dir, MNT_DETACH), 0); }

/* What fits is kept, whole; the rest is compiled each time; and when there is room again the next
 * context keeps what it compiles. */
Test(disk_cache, a_full_file_system) {
  enum { MANY = 24 };
  int states[3] = {0};
  uint64_t removed;
  char name[MANY][64];
  mount_over_folder(64);
  for (int pass = 0; pass < 2; pass++) {
    cache_context at;
    cache_context_begin(&at, "host", dir, true, NULL);
    for (uint32_t k = 0; k < MANY; k++) cr_expect(cache_converts(&at, k), "kernel %u", k);
    cr_expect_eq(at.warnings, 1, "%d: %s", at.warnings, at.warning);
    cr_expect(strstr(at.warning, "No space left"), "%s", at.warning);
    uint64_t compiled = cache_compiles(&at);
    cr_expect(pass == 0 ? compiled == MANY : compiled > 0 && compiled < MANY, "%llu compiled",
              (unsigned long long)compiled);
    cache_context_end(&at);
  }
  cr_expect_eq(llrt_cache_visit(dir, states, cache_count_state), LLRT_OK);
  cr_expect(states[0] > 0 && states[2] == 0, "%d sound, %d damaged", states[0], states[2]);
  cr_expect_eq(llrt_cache_clear(dir, 0, &removed), LLRT_OK, "%s", llrt_last_error());
  cr_expect_eq(cache_convert_once(dir, "host", MANY, true), 1);
  cr_expect_eq(cache_files(dir, name, MANY), 1);
  unmount_folder();
}

/* What is there is read, nothing is written, and that is told once. */
Test(disk_cache, a_read_only_file_system) {
  char below[4300];
  cache_context at;
  mount_over_folder(4096);
  cache_convert_once(dir, "host", 1, true);
  cr_assert_eq(mount("none", dir, NULL, MS_REMOUNT | MS_RDONLY | MS_BIND, NULL), 0);
  cache_context_begin(&at, "host", dir, true, NULL);
  cr_expect(cache_converts(&at, 1));
  cr_expect_eq(cache_compiles(&at), 0);
  for (uint32_t k = 2; k < 5; k++) cr_expect(cache_converts(&at, k));
  cr_expect_eq(cache_compiles(&at), 3);
  cr_expect_eq(at.warnings, 1, "%d: %s", at.warnings, at.warning);
  cr_expect(strstr(at.warning, "Read-only"), "%s", at.warning);
  cache_context_end(&at);
  snprintf(below, sizeof below, "%s/own", dir);
  expect_off(below, "Read-only");
  unmount_folder();
}

/* Folders of images are read and never written. */
Test(disk_cache, folders_to_read) {
  cache_convert_once(dir, "host", 5, true);
  char own[4200], name[4][64];
  snprintf(own, sizeof own, "%s/own", dir);
  const char *const images[] = {"/nonexistent/llrt", dir};
  const llrt_cache_params with = {.dir = own, .read_dirs = images, .n_read_dirs = 2};
  cache_context at;
  cache_context_begin(&at, "host", NULL, true, &with);
  cr_expect_eq(at.warnings, 1, "the folder that is not there: %s", at.warning);
  cr_expect(cache_converts(&at, 5));
  cr_expect_eq(cache_compiles(&at), 0);
  cr_expect(cache_converts(&at, 6));
  cr_expect_eq(cache_compiles(&at), 1);
  cache_context_end(&at);
  cr_expect_eq(cache_files(dir, name, 4), 1);
  cr_expect_eq(cache_files(own, name, 4), 1);
}

Test(disk_cache, bad_params) {
  llrt_context *context;
  const char *const none[] = {NULL};
  const llrt_cache_params wrong[] = {{.n_read_dirs = -1}, {.n_read_dirs = LLRT_MAX_READ_DIRS + 1},
                                     {.n_read_dirs = 1},  {.n_read_dirs = 1, .read_dirs = none},
                                     {.reserved = 1},     {.size = 5}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    llrt_context_params params = {.size = sizeof params, .cache = &wrong[i]};
    cr_expect_eq(llrt_context_create(&params, &context), LLRT_INVALID_ARGUMENT, "%zu", i);
    cr_expect_null(context);
  }
}

Test(disk_cache, the_environment_says_where) {
  cache_context at;
  char name[4][64];
  setenv("LLRT_CACHE_DIR", dir, 1);
  cache_context_begin(&at, "host", NULL, true, NULL);
  cr_expect(cache_converts(&at, 1));
  cache_context_end(&at);
  cr_expect_eq(cache_files(dir, name, 4), 1);
  cache_context_begin(&at, "host", "", true, NULL); /* the program's word counts more */
  cr_expect(cache_converts(&at, 2));
  cache_context_end(&at);
  cr_expect_eq(cache_files(dir, name, 4), 1);

  char path[64];
  cr_expect_eq(llrt_cache_default_dir(path, 4), LLRT_INVALID_ARGUMENT);
  setenv("LLRT_CACHE_DIR", "/x", 1);
  cr_expect_eq(llrt_cache_default_dir(path, sizeof path), LLRT_OK);
  cr_expect_str_eq(path, "/x");
  unsetenv("LLRT_CACHE_DIR");
  setenv("XDG_CACHE_HOME", "/y", 1);
  cr_expect_eq(llrt_cache_default_dir(path, sizeof path), LLRT_OK);
  cr_expect_str_eq(path, "/y/llrt");
  setenv("XDG_CACHE_HOME", "relative", 1);
  setenv("HOME", "/z", 1);
  cr_expect_eq(llrt_cache_default_dir(path, sizeof path), LLRT_OK);
  cr_expect_str_eq(path, "/z/.cache/llrt");
  unsetenv("HOME");
  cr_expect_eq(llrt_cache_default_dir(path, sizeof path), LLRT_OK);
  cr_expect_str_eq(path, "");
}

/* Those not used for longest go; a file that is looked for counts as used. */
Test(disk_cache, old_files_go) {
  char names[64][64];
  cache_convert_once(dir, "host", 0, true);
  cr_assert_eq(cache_files(dir, names, 1), 1);
  size_t one;
  free(cache_file_read(dir, names[0], &one));
  const llrt_cache_params with = {.disk_bytes = 6 * one};
  const struct timespec long_ago[2] = {{1000, 0}, {1000, 0}};
  cache_context at;
  for (uint32_t k = 1; k < 12; k++) {
    cr_assert_eq(utimensat(AT_FDCWD, cache_file_path(dir, names[0]), long_ago, 0), 0);
    cache_context_begin(&at, "host", dir, true, &with);
    cr_expect(cache_converts(&at, 0)); /* used again each time */
    cr_expect_eq(cache_compiles(&at), 0, "the one in use is gone at %u", k);
    cr_expect(cache_converts(&at, k));
    cache_context_end(&at);
    cr_expect(cache_files(dir, names + 1, 63) <= 7, "%d", cache_files(dir, names + 1, 63));
  }
}
