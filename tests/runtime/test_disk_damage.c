/* Kernels on disk that are damaged, or that others may write: never trusted, reported, replaced;
 * and what looks after a folder with such files. */
#include "runtime/disk_entry.h"

#include "tests/runtime/cache_folder.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *dir;

static void setup(void) { dir = cache_folder_begin(); }
static void teardown(void) { cache_folder_end(); }
TestSuite(disk_damage, .init = setup, .fini = teardown, .timeout = 3600);

typedef struct damage {
  const char *name;
  void (*apply)(const char *name, unsigned seed);
} damage;

static void rewrite(const char *name, void (*change)(char *bytes, size_t *size, unsigned seed),
                    unsigned seed) {
  size_t size;
  char *bytes = cache_file_read(dir, name, &size);
  change(bytes, &size, seed);
  cache_file_write(dir, name, bytes, size);
  free(bytes);
}

static void cut(char *bytes, size_t *size, unsigned seed) { (void)bytes, *size = seed % *size; }
static void flip(char *bytes, size_t *size, unsigned seed) {
  bytes[seed % *size] ^= (char)(1 << seed / 7 % 8);
}
static void blank(char *bytes, size_t *size, unsigned seed) {
  size_t from = seed % *size;
  memset(bytes + from, 0, *size - from); /* blocks that never reached the disk */
}
static void newer(char *bytes, size_t *size, unsigned seed) { (void)size, (void)seed, bytes[8]++; }
static void foreign(char *bytes, size_t *size, unsigned seed) {
  for (size_t i = 0; i < *size; i++) bytes[i] = (char)(seed = seed * 1103515245u + 12345u);
}

static void be_cut(const char *name, unsigned seed) { rewrite(name, cut, seed); }
static void be_flipped(const char *name, unsigned seed) { rewrite(name, flip, seed); }
static void be_blank(const char *name, unsigned seed) { rewrite(name, blank, seed); }
static void be_newer(const char *name, unsigned seed) { rewrite(name, newer, seed); }
static void be_foreign(const char *name, unsigned seed) { rewrite(name, foreign, seed); }

/* Another kernel's file, whole. */
static void be_swapped(const char *name, unsigned seed) {
  char names[16][64];
  int n = cache_files(dir, names, 16), other = (int)(seed % (unsigned)n);
  if (strcmp(names[other], name) == 0) other = (other + 1) % n;
  size_t size;
  char *bytes = cache_file_read(dir, names[other], &size);
  cache_file_write(dir, name, bytes, size);
  free(bytes);
}

/* The same with the name's own key and a right checksum over it: the description betrays it. */
static void be_forged(const char *name, unsigned seed) {
  be_swapped(name, seed);
  size_t size;
  llrt_hash key;
  char *bytes = cache_file_read(dir, name, &size);
  cr_assert(llrt_disk_entry_key(name, &key));
  memcpy(bytes + 16, &key, sizeof key);
  llrt_hash sum = llrt_hash_bytes(bytes, size - sizeof sum);
  memcpy(bytes + size - sizeof sum, &sum, sizeof sum);
  cache_file_write(dir, name, bytes, size);
  free(bytes);
}

static void be_writable(const char *name, unsigned seed) {
  (void)seed;
  chmod(cache_file_path(dir, name), 0666);
}
static void be_unreadable(const char *name, unsigned seed) {
  (void)seed;
  chmod(cache_file_path(dir, name), 0); /* root reads it all the same */
}
static void be_a_link(const char *name, unsigned seed) {
  char target[8300];
  (void)seed;
  snprintf(target, sizeof target, "%s.elsewhere", cache_file_path(dir, name));
  rename(cache_file_path(dir, name), target);
  cr_assert_eq(symlink(target, cache_file_path(dir, name)), 0);
}
static void be_a_pipe(const char *name, unsigned seed) {
  (void)seed;
  unlink(cache_file_path(dir, name));
  cr_assert_eq(mkfifo(cache_file_path(dir, name), 0600), 0);
}

static const damage damages[] = {
    {"truncated", be_cut}, {"a bit flipped", be_flipped}, {"half written", be_blank},
    {"newer", be_newer},   {"foreign", be_foreign},       {"swapped", be_swapped},
    {"forged", be_forged}, {"writable", be_writable},     {"unreadable", be_unreadable},
    {"a link", be_a_link}, {"a pipe", be_a_pipe}};
#define N_DAMAGES ((int)(sizeof damages / sizeof *damages))

enum { KERNELS = 4 };

/* Of each file its undamaged bytes, by place in the folder's order. */
static struct {
  char name[64];
  char *bytes;
  size_t size;
} sound[KERNELS];

static void restore_all(void) {
  for (int k = 0; k < KERNELS; k++) {
    unlink(cache_file_path(dir, sound[k].name));
    cache_file_write(dir, sound[k].name, sound[k].bytes, sound[k].size);
    chmod(cache_file_path(dir, sound[k].name), 0644);
  }
}

static void fill_folder(void) {
  char names[KERNELS][64];
  for (uint32_t k = 0; k < KERNELS; k++) cache_convert_once(dir, "host", k, true);
  cr_assert_eq(cache_files(dir, names, KERNELS), KERNELS);
  for (int k = 0; k < KERNELS; k++) {
    snprintf(sound[k].name, sizeof sound[k].name, "%.63s", names[k]);
    sound[k].bytes = cache_file_read(dir, names[k], &sound[k].size);
  }
}

/* Without a compiler, so that a damaged kernel is missing and nothing else is: right or refused,
 * never wrong. Many rounds of these cost little. */
Test(disk_damage, damaged_files_are_never_trusted) {
  fill_folder();
  int rounds = cache_rounds(400, 10000), missing = 0;
  for (int round = 0; round < rounds; round++) {
    unsigned seed = (unsigned)round * 2654435761u;
    const damage *what = &damages[round % N_DAMAGES];
    int victim = (int)(seed >> 8) % KERNELS;
    cache_context at;
    if (victim < 0) victim += KERNELS;
    restore_all();
    what->apply(sound[victim].name, seed >> 4);
    cache_context_begin(&at, "host", dir, false, NULL);
    int right = 0;
    for (uint32_t k = 0; k < KERNELS; k++) right += cache_converts(&at, k);
    bool readable = what->apply == be_unreadable && geteuid() == 0;
    cr_assert_eq(right, readable ? KERNELS : KERNELS - 1, "%s, round %d", what->name, round);
    cr_assert_eq(at.warnings > 0, !readable, "%s, round %d", what->name, round);
    missing += KERNELS - right;
    cache_context_end(&at);
  }
  fprintf(stderr, "%d damaged files: 0 wrong results, %d not used\n", rounds, missing);
  for (int k = 0; k < KERNELS; k++) free(sound[k].bytes);
}

/* With one: reported, compiled, replaced. */
Test(disk_damage, damaged_files_are_replaced) {
  fill_folder();
  for (int d = 0; d < N_DAMAGES; d++) {
    restore_all();
    for (int k = 0; k < KERNELS; k++) damages[d].apply(sound[k].name, (unsigned)(d * 71 + k * 13));
    if (damages[d].apply == be_unreadable && geteuid() == 0) continue;
    cache_context at;
    cache_context_begin(&at, "host", dir, true, NULL);
    for (uint32_t k = 0; k < KERNELS; k++) cr_expect(cache_converts(&at, k));
    uint64_t compiled = cache_compiles(&at);
    cr_expect(compiled > 0 && compiled <= KERNELS, "%s: %llu", damages[d].name,
              (unsigned long long)compiled);
    cr_expect(strstr(at.warning, "why="), "%s: %s", damages[d].name, at.warning);
    cache_context_end(&at);
    cache_context_begin(&at, "host", dir, false, NULL);
    for (uint32_t k = 0; k < KERNELS; k++) cr_expect(cache_converts(&at, k), "%s", damages[d].name);
    cr_expect_eq(at.warnings, 0, "%s: %s", damages[d].name, at.warning);
    cache_context_end(&at);
  }
  for (int k = 0; k < KERNELS; k++) free(sound[k].bytes);
}

/* ---- looking after it ---- */

static int stop_at_first(void *user, const llrt_cache_entry *entry) {
  (void)entry;
  return ++*(int *)user;
}

Test(disk_damage, visit_clear_export_import) {
  fill_folder();
  char pack[4200], other[4200], name[8][64];
  snprintf(pack, sizeof pack, "%s/all.pack", dir);
  snprintf(other, sizeof other, "%s/other", dir);
  int states[3] = {0}, seen = 0;
  uint64_t count;
  cr_expect_eq(llrt_cache_visit(dir, &seen, stop_at_first), LLRT_OK);
  cr_expect_eq(seen, 1);
  cr_expect_eq(llrt_cache_visit(dir, states, cache_count_state), LLRT_OK);
  int all = states[0]; /* with plans that were compared and not taken */
  memset(states, 0, sizeof states);
  be_flipped(sound[1].name, 99);
  cr_expect_eq(llrt_cache_visit(dir, states, cache_count_state), LLRT_OK);
  cr_expect(all >= KERNELS && states[0] == all - 1);
  cr_expect_eq(states[2], 1);
  cr_expect_eq(llrt_cache_export(dir, pack, &count), LLRT_OK, "%s", llrt_last_error());
  cr_expect_eq(count, (uint64_t)all - 1);
  cr_expect_eq(llrt_cache_clear(dir, 1, &count), LLRT_OK);
  cr_expect_eq(count, 1);
  cr_expect_eq(llrt_cache_import(other, pack, &count), LLRT_OK, "%s", llrt_last_error());
  cr_expect_eq(count, (uint64_t)all - 1);
  cr_expect_eq(cache_files(other, name, 8), KERNELS - 1);
  size_t size;
  char *bytes = cache_file_read(dir, "all.pack", &size);
  for (size_t at = 8; at < size; at += 997) { /* a damaged pack brings no damaged kernel */
    bytes[at] ^= 1;
    cache_file_write(dir, "all.pack", bytes, size);
    llrt_status status = llrt_cache_import(other, pack, &count);
    cr_assert(status == LLRT_CORRUPT, "byte %zu: %s", at, llrt_status_name(status));
    bytes[at] ^= 1;
  }
  free(bytes);
  memset(states, 0, sizeof states);
  cr_expect_eq(llrt_cache_visit(other, states, cache_count_state), LLRT_OK);
  cr_expect_eq(states[2], 0);
  cr_expect_eq(llrt_cache_clear(other, 0, &count), LLRT_OK);
  cr_expect_eq(cache_files(other, name, 8), 0);
  cr_expect_eq(llrt_cache_visit("/nonexistent", states, cache_count_state), LLRT_IO);
  cr_expect_eq(llrt_cache_visit(dir, NULL, NULL), LLRT_INVALID_ARGUMENT);
  cr_expect_eq(llrt_cache_export(NULL, pack, NULL), LLRT_INVALID_ARGUMENT);
  cr_expect_eq(llrt_cache_import(dir, NULL, NULL), LLRT_INVALID_ARGUMENT);
  for (int k = 0; k < KERNELS; k++) free(sound[k].bytes);
}
