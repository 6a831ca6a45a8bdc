/* Kernels of many layouts in one context: memory and mappings stay within the limit. */
#include "tests/runtime/cache_folder.h"

#include <criterion/criterion.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *dir;

static void setup(void) { dir = cache_folder_begin(); }
static void teardown(void) { cache_folder_end(); }
TestSuite(cache_memory, .init = setup, .fini = teardown, .timeout = 7200);

/* Of this process. */
typedef struct footprint {
  long kib; /* resident */
  int maps;
} footprint;

/* The address sanitizer keeps memory that was freed, and its own beside it. */
#ifdef __SANITIZE_ADDRESS__
enum { RESIDENT_TELLS = 0 };
#else
enum { RESIDENT_TELLS = 1 };
#endif

static footprint measure(void) {
  footprint now = {0, 0};
  char line[512];
  FILE *file = fopen("/proc/self/status", "r");
  while (fgets(line, sizeof line, file)) sscanf(line, "VmRSS: %ld", &now.kib);
  fclose(file);
  file = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, file)) now.maps++;
  fclose(file);
  return now;
}

static llrt_context_stats stats_of(const cache_context *at) {
  llrt_context_stats stats = {0};
  cr_assert_eq(llrt_context_get_stats(at->context, &stats), LLRT_OK);
  return stats;
}

/* Each layout once, and among them one of the last 100 again. */
static void convert_many(cache_context *at, int first, int n, int *wrong) {
  for (int i = first; i < first + n; i++) {
    bool right, again;
    cache_convert(at, (uint32_t)i, &right);
    cache_convert(at, (uint32_t)(i - rand() % 100 < 0 ? 0 : i - rand() % 100), &again);
    *wrong += !right + !again;
  }
}

/* 10,000 layouts with LLRT_TEST_CACHE; the limit is small enough that either way most kernels go
 * again. */
Test(cache_memory, many_layouts) {
  int layouts = cache_rounds(200, 10000), steps = 10, wrong = 0;
  const llrt_cache_params with = {.memory_bytes = layouts > 1000 ? 64u << 20 : 4u << 20};
  footprint first = {0, 0}, most = {0, 0};
  cache_context at;
  srand(1);
  cache_context_begin(&at, "host", "", true, &with);
  at.own_storages = true;
  for (int step = 0; step < steps; step++) {
    convert_many(&at, step * layouts / steps, layouts / steps, &wrong);
    footprint now = measure();
    llrt_context_stats stats = stats_of(&at);
    fprintf(stderr,
            "%6d layouts: %3ld MiB, %d maps, %llu kernels in %llu KiB, %llu of %llu found\n",
            (step + 1) * layouts / steps, now.kib >> 10, now.maps,
            (unsigned long long)stats.kernels, (unsigned long long)stats.bytes >> 10,
            (unsigned long long)stats.hits, (unsigned long long)stats.lookups);
    cr_expect(stats.bytes <= with.memory_bytes, "%llu bytes", (unsigned long long)stats.bytes);
    if (step == steps / 2) first = now;
    if (now.kib > most.kib) most = now;
  }
  cr_expect_eq(wrong, 0);
  cr_expect(stats_of(&at).unloaded > 0);
  cr_expect(!RESIDENT_TELLS || most.kib <= 256 << 10, "%ld KiB", most.kib);
  cr_expect(!RESIDENT_TELLS || most.kib <= first.kib + (16 << 10), "it grows from %ld to %ld KiB",
            first.kib, most.kib);
  cr_expect(most.maps <= first.maps + 64, "from %d to %d mappings", first.maps, most.maps);
  cache_context_end(&at);
}

/* What a context held is the system's again when it ends. */
Test(cache_memory, a_context_that_ends_gives_memory_back) {
  cache_context at;
  int wrong = 0;
  bool right;
  cache_context_begin(&at, "host", "", true, NULL);
  cr_assert_eq(cache_convert(&at, 0, &right), LLRT_OK); /* the compiler is there from now on */
  footprint before = measure();
  convert_many(&at, 1, cache_rounds(60, 2000), &wrong);
  footprint held = measure();
  cache_context_end(&at);
  footprint after = measure();
  cr_expect_eq(wrong, 0);
  fprintf(stderr, "resident before %ld MiB, with kernels %ld, after %ld\n", before.kib >> 10,
          held.kib >> 10, after.kib >> 10);
  cr_expect(!RESIDENT_TELLS || after.kib < before.kib + (24 << 10), "%ld KiB, then %ld", before.kib,
            after.kib);
}

/* Handles are not limited; when they end, their kernels are. */
Test(cache_memory, what_a_handle_holds_stays) {
  const llrt_cache_params with = {.memory_bytes = 1};
  cache_context at;
  bool right;
  cache_context_begin(&at, "host", "", true, &with);
  for (int i = 0; i < 5; i++) {
    cr_expect_eq(cache_convert(&at, (uint32_t)i, &right), LLRT_OK, "%s", llrt_last_error());
    cr_expect(right);
    cr_expect_eq(stats_of(&at).kernels, 0, "a limit of a byte keeps none");
  }
  cr_expect_eq(stats_of(&at).compiles, 5);
  cache_context_end(&at);
}

/* Kernels that went come back from the disk. */
Test(cache_memory, what_went_is_on_the_disk) {
  const llrt_cache_params with = {.memory_bytes = 1};
  cache_context at;
  bool right;
  cache_context_begin(&at, "host", dir, true, &with);
  for (int i = 0; i < 9; i++) {
    cr_expect_eq(cache_convert(&at, (uint32_t)i % 3, &right), LLRT_OK, "%s", llrt_last_error());
    cr_expect(right);
  }
  llrt_context_stats stats = stats_of(&at);
  cr_expect_eq(stats.compiles, 3);
  cr_expect(stats.disk_hits >= 6 && stats.unloaded >= 8, "%llu, %llu",
            (unsigned long long)stats.disk_hits, (unsigned long long)stats.unloaded);
  cache_context_end(&at);
}
