/* What the emulated device counts of its last launch (LLRT_EMU_STATS, docs/emulators.md). */
#ifndef LLRT_TESTS_EMULATED_COUNTS_H
#define LLRT_TESTS_EMULATED_COUNTS_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct emulated_counts {
  char path[32]; /* of the file to which each launch adds a line */
} emulated_counts;

/* Before the device is opened. */
static inline void emulated_counts_begin(emulated_counts *counts) {
  strcpy(counts->path, "/tmp/llrt_counts_XXXXXX");
  int file = mkstemp(counts->path);
  cr_assert_geq(file, 0);
  close(file);
  setenv("LLRT_EMU_STATS", counts->path, 1);
}

/* The number behind "name" of the last launch; -1: there is none. */
static inline long emulated_count(const emulated_counts *counts, const char *name) {
  char line[4096] = "", key[64];
  FILE *file = fopen(counts->path, "r");
  cr_assert_not_null(file);
  while (fgets(line, sizeof line, file)) {
  }
  fclose(file);
  snprintf(key, sizeof key, "\"%s\": ", name);
  const char *at = strstr(line, key);
  return at ? strtol(at + strlen(key), NULL, 10) : -1;
}

static inline void emulated_counts_end(const emulated_counts *counts) { unlink(counts->path); }

#endif
