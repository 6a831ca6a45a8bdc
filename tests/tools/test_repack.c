/* Runs that are interrupted, and files that change under them. The recipe needs no compiler: it
 * keeps all tensors, or shuffles bytes on the host. */
#include "tools/model/repack.h"

#include <criterion/criterion.h>
#include <llrt/llrt.h>

#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LAYERS 24
#define KEEP "{\"recipe\": 1, \"name\": \"keep\", \"rows\": [], \"rest\": \"keep\"}"
#define TURN \
  "{\"recipe\": 1, \"name\": \"turn\", \"rows\": [{\"each\": \"{P}\", \"in\": {\"w\": " \
  "\"{each}.w: u8[n, k]\"}, \"out\": {\"w\": \"{each}.t: u8[k, n] = u8[n k] in col_major\"}}], " \
  "\"rest\": \"keep\"}"

/* Each matrix's largest number less its elements. */
#define COMPUTE \
  "{\"recipe\": 1, \"name\": \"less\", \"rows\": [{\"each\": \"{P}\", \"in\": {\"x\": " \
  "\"{each}.w: u8[n, k]\"}, \"largest\": {\"a\": \"x\"}, \"compute\": \"y = a - x\", \"out\": " \
  "{\"y\": \"{each}.t: u8[k, n] = u8[n k] in col_major\"}}], \"rest\": \"keep\"}"

static char folder[256], before[4096];
static const char *device_name = "host";

static void enter(void) {
  cr_assert_not_null(getcwd(before, sizeof before));
  strcpy(folder, "/tmp/llrt-repack-XXXXXX");
  cr_assert_not_null(mkdtemp(folder));
  cr_assert_eq(chdir(folder), 0);
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *walk) {
  (void)info, (void)kind, (void)walk;
  return remove(path);
}

static void leave(void) {
  cr_assert_eq(chdir(before), 0);
  nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* A .safetensors file of LAYERS matrices of 48 x 64 bytes, and as many scalars. */
static void write_model(const char *path) {
  output o = {.format = MODEL_SAFETENSORS};
  array_error error;
  char name[32];
  cr_assert_eq(output_add_file(&o, path), 0);
  for (int i = 0; i < 2 * LAYERS; i++) {
    output_tensor t = {.name = name,
                       .type = file_type_safetensors("U8"),
                       .rank = i % 2 ? 0 : 2,
                       .shape = {48, 64}};
    snprintf(name, sizeof name, "layer.%d.%s", i / 2, i % 2 ? "s" : "w");
    cr_assert(output_add_tensor(&o, &t, &error), "%s", error.text);
  }
  cr_assert(output_place(&o, &error), "%s", error.text);
  char *header = output_header(&o, 0);
  FILE *file = fopen(path, "wb");
  cr_assert(header && file);
  fwrite(header, 1, o.file[0].header, file);
  for (uint64_t i = o.file[0].header; i < o.file[0].size; i++)
    fputc((int)(i * 2654435761u >> 16), file);
  cr_assert_eq(fclose(file), 0);
  free(header);
  output_fini(&o);
}

/* ---- runs ---- */

typedef struct watcher {
  size_t at; /* tensors after which it acts */
  void (*act)(void);
} watcher;

static void watch(void *user, const repack_progress *now) {
  const watcher *w = user;
  if (w->act && now->tensors == w->at) w->act();
}

/* model.safetensors -> out. */
static bool run(const char *recipe, const char *out, bool verifies, watcher *told,
                repack_result *result, array_error *error) {
  model from;
  repack work;
  llrt_context *context = NULL;
  llrt_device *device = NULL;
  const char *path = "model.safetensors";
  *result = (repack_result){0};
  if (!model_open(&path, 1, &from, error)) return false;
  repack_request request = {
      .from = &from, .n_models = 1, .tp = 1, .out = out, .version = "test", .checks = verifies};
  cr_assert_eq(llrt_context_create(NULL, &context), LLRT_OK);
  cr_assert_eq(llrt_device_open(context, device_name, NULL, &device), LLRT_OK);
  llrt_recipe *loaded;
  cr_assert_eq(llrt_recipe_load(recipe, strlen(recipe), &loaded), LLRT_OK, "%s", llrt_last_error());
  request.recipe = loaded;
  request.device = device;
  bool done = repack_bind(&request, &work, error);
  const repack_run_params params = {
      .device = device, .memory = 20000, .verifies = verifies, .user = told, .progress = watch};
  done = done && repack_run(&work, out, &params, result, error);
  repack_fini(&work);
  llrt_recipe_destroy(&loaded);
  llrt_device_close(&device);
  llrt_context_destroy(&context);
  model_close(&from);
  return done;
}

static char *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  cr_assert_not_null(file, "%s", path);
  char *data = malloc(1 << 20);
  *size = fread(data, 1, 1 << 20, file);
  fclose(file);
  return data;
}

static bool same_files(const char *a, const char *b) {
  size_t x, y;
  char *p = read_file(a, &x), *q = read_file(b, &y);
  bool same = x == y && memcmp(p, q, x) == 0;
  free(p);
  free(q);
  return same;
}

static bool exists(const char *path) { return access(path, F_OK) == 0; }

/* ---- interrupted ---- */

/* Lines of the journal in the folder of the run; 0: there is none. */
static int journal_lines(void) {
  FILE *journal = fopen("out.safetensors.partial/llrt-journal", "rb");
  int lines = 0;
  if (!journal) return 0;
  for (int c; (c = fgetc(journal)) != EOF;) lines += c == '\n';
  fclose(journal);
  return lines;
}

/* Lets what is written settle, and ends the process as a crash does: after 150 ms, or up to a
 * second where a slow disk has not let the journal have a tensor behind its first line. */
static void die_later(void) {
  usleep(150000);
  for (int i = 0; i < 17 && journal_lines() < 2; i++) usleep(50000);
  raise(SIGKILL);
}

static void die(void) { raise(SIGKILL); }

/* Killed ten times at random tensors, the run goes on each time where it was, and ends in the file
 * that a run makes that nobody interrupts. Until then there is no file of the name. */
static void survive_kills(const char *recipe) {
  unsigned seed = 20261127;
  array_error error;
  repack_result result;
  watcher idle = {0};
  write_model("model.safetensors");
  cr_assert(run(recipe, "whole.safetensors", false, &idle, &result, &error), "%s", error.text);
  cr_assert_eq(result.done.tensors, 2 * LAYERS);
  for (int kill = 0; kill < 10; kill++) {
    seed = seed * 1664525u + 1013904223u;
    watcher w = {1 + (seed >> 16) % 5, kill % 3 == 2 ? die : die_later};
    pid_t child = fork();
    if (child == 0) {
      run(recipe, "out.safetensors", false, &w, &result, &error);
      _exit(1);
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "run %d ended by itself", kill);
    cr_assert_not(exists("out.safetensors"));
    cr_assert(exists("out.safetensors.partial/llrt-journal"));
  }
  cr_assert(run(recipe, "out.safetensors", true, &idle, &result, &error), "%s", error.text);
  cr_expect(result.resumed && result.resumed_tensors >= 7, "%zu", result.resumed_tensors);
  cr_expect_eq(result.resumed_tensors + result.done.tensors, 2 * LAYERS);
  cr_expect(same_files("whole.safetensors", "out.safetensors"));
  cr_expect_not(exists("out.safetensors.partial"));
}

Test(repack, kills, .init = enter, .fini = leave) { survive_kills(TURN); }
Test(repack, kills_while_computing, .init = enter, .fini = leave) { survive_kills(COMPUTE); }

/* On devices, through pinned memory, what the host makes. */
static void expect_like_host(const char *name) {
  array_error error;
  repack_result result;
  watcher idle = {0};
  device_name = name;
  cr_expect(run(TURN, "d.safetensors", false, &idle, &result, &error), "%s", error.text);
  cr_expect(same_files("turned.safetensors", "d.safetensors"), "%s", name);
  unlink("d.safetensors");
  cr_expect(run(TURN, "d.safetensors", true, &idle, &result, &error), "%s", error.text);
  unlink("d.safetensors");
  cr_expect(run(COMPUTE, "d.safetensors", false, &idle, &result, &error), "%s", error.text);
  cr_expect(same_files("less.safetensors", "d.safetensors"), "%s", name);
  unlink("d.safetensors");
}

Test(repack, devices, .init = enter, .fini = leave) {
  array_error error;
  repack_result result;
  watcher idle = {0};
  write_model("model.safetensors");
  cr_assert(run(TURN, "turned.safetensors", false, &idle, &result, &error), "%s", error.text);
  cr_assert(run(COMPUTE, "less.safetensors", false, &idle, &result, &error), "%s", error.text);
  expect_like_host("cuda-emu:sm_90a");
  expect_like_host("hip-emu:gfx942");
}

/* A journal whose last line was cut off, or whose middle was damaged, counts as far as it is whole.
 */
Test(repack, torn_journal, .init = enter, .fini = leave) {
  array_error error;
  repack_result result;
  watcher w = {10, die_later}, idle = {0};
  write_model("model.safetensors");
  for (int damage = 0; damage < 2; damage++) {
    int status;
    pid_t child = fork();
    if (child == 0) {
      run(KEEP, "out.safetensors", false, &w, &result, &error);
      _exit(1);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    const char *path = "out.safetensors.partial/llrt-journal";
    struct stat about;
    cr_assert_eq(stat(path, &about), 0);
    if (damage == 0) {
      cr_assert_eq(truncate(path, about.st_size - 3), 0);
    } else {
      FILE *journal = fopen(path, "r+b");
      fseek(journal, about.st_size / 2, SEEK_SET);
      fputs("zz", journal);
      fclose(journal);
    }
    cr_assert(run(KEEP, "out.safetensors", true, &idle, &result, &error), "%s", error.text);
    cr_expect(result.resumed && result.resumed_tensors < 10, "%zu", result.resumed_tensors);
    cr_expect_eq(result.resumed_tensors + result.done.tensors, 2 * LAYERS);
    unlink("out.safetensors");
  }
}

/* Another recipe, or another model, does not go on where this one was. */
Test(repack, another_run, .init = enter, .fini = leave) {
  array_error error;
  repack_result result;
  watcher w = {10, die_later}, idle = {0};
  int status;
  write_model("model.safetensors");
  pid_t child = fork();
  if (child == 0) {
    run(KEEP, "out.safetensors", false, &w, &result, &error);
    _exit(1);
  }
  cr_assert_eq(waitpid(child, &status, 0), child);
  cr_expect_not(run(TURN, "out.safetensors", false, &idle, &result, &error));
  cr_expect(strstr(error.text, "of another run"), "%s", error.text);
  write_model("model.safetensors");
  cr_expect_not(run(KEEP, "out.safetensors", false, &idle, &result, &error));
  cr_expect(strstr(error.text, "of another run"), "%s", error.text);
  cr_expect_not(exists("out.safetensors"));
}

/* ---- files that change ---- */

static void touch_input(void) {
  FILE *file = fopen("model.safetensors", "r+b");
  usleep(20000); /* clocks of file systems tick in milliseconds */
  fseek(file, -1, SEEK_END);
  fputc('x', file);
  fclose(file);
}

static void cut_input(void) { cr_assert_eq(truncate("model.safetensors", 20000), 0); }

static void take_name(void) {
  FILE *file = fopen("out.safetensors", "wb");
  fputs("mine", file);
  fclose(file);
}

Test(repack, changes, .init = enter, .fini = leave) {
  static const struct {
    void (*act)(void);
    const char *why;
  } rows[] = {{touch_input, "it was changed while it was read"},
              {cut_input, "cut short while it was read"},
              {take_name, "out.safetensors exists"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    array_error error = {""};
    repack_result result;
    watcher w = {3, rows[i].act}, idle = {0};
    write_model("model.safetensors");
    cr_expect_not(run(KEEP, "out.safetensors", false, &w, &result, &error), "row %zu", i);
    cr_expect(strstr(error.text, rows[i].why), "row %zu: %s", i, error.text);
    cr_expect_eq(exists("out.safetensors"), rows[i].act == take_name);
    cr_expect(exists("out.safetensors.partial"), "what was done is kept");
    if (rows[i].act == take_name) {
      size_t size;
      char *mine = read_file("out.safetensors", &size);
      cr_expect(size == 4 && memcmp(mine, "mine", 4) == 0);
      free(mine);
      unlink("out.safetensors");
      cr_expect(run(KEEP, "out.safetensors", true, &idle, &result, &error), "%s", error.text);
      cr_expect_eq(result.resumed_tensors, 2 * LAYERS);
    }
    nftw("out.safetensors.partial", remove_entry, 16, FTW_DEPTH | FTW_PHYS);
  }
}

/* ---- no room ---- */

/* A disk that is full, as a limit of the process: files may not grow beyond `bytes`. */
static void limit_files(rlim_t bytes) {
  struct rlimit limit;
  cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
  limit.rlim_cur = bytes;
  cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
  signal(SIGXFSZ, SIG_IGN);
}

/* One clear error, no output under its name; with room the same command makes it whole. */
Test(repack, disk_full, .init = enter, .fini = leave) {
  array_error error = {""};
  repack_result result;
  watcher idle = {0};
  write_model("model.safetensors");
  for (rlim_t bytes = 4096; bytes <= 65536; bytes *= 4) {
    limit_files(bytes);
    cr_expect_not(run(TURN, "out.safetensors", false, &idle, &result, &error), "%lu",
                  (unsigned long)bytes);
    cr_expect(strstr(error.text, "File too large"), "%s", error.text);
    cr_expect_null(strchr(error.text, '\n'), "%s", error.text);
    cr_expect_not(exists("out.safetensors"));
  }
  limit_files(RLIM_INFINITY);
  cr_expect(run(TURN, "out.safetensors", true, &idle, &result, &error), "%s", error.text);
  cr_expect_eq(result.resumed_tensors + result.done.tensors, 2 * LAYERS);
}

/* ---- memory ---- */

Test(repack, too_little_memory, .init = enter, .fini = leave) {
  model from;
  repack work;
  array_error error;
  repack_result result;
  const char *path = "model.safetensors";
  write_model(path);
  cr_assert(model_open(&path, 1, &from, &error), "%s", error.text);
  repack_request request = {
      .from = &from, .n_models = 1, .tp = 1, .out = "o.safetensors", .version = "test"};
  llrt_recipe *recipe;
  cr_assert_eq(llrt_recipe_load(TURN, strlen(TURN), &recipe), LLRT_OK);
  request.recipe = recipe;
  cr_assert(repack_bind(&request, &work, &error), "%s", error.text);
  cr_expect_eq(work.largest, 2 * 48 * 64);
  const repack_run_params params = {.memory = work.largest - 1};
  cr_expect_not(repack_run(&work, "o.safetensors", &params, &result, &error));
  cr_expect(strstr(error.text, "takes 6144 bytes of memory at once, 6143 are allowed"), "%s",
            error.text);
  cr_expect_not(exists("o.safetensors.partial"));
  repack_fini(&work);
  llrt_recipe_destroy(&recipe);
  model_close(&from);
}
