/* See emu_counters.h. */
#include "emulators/common/emu_counters.h"

#include <string.h>

void emu_counters_add(emu_counters *sum, const emu_counters *of) {
#define ADD(name, meaning) sum->name += of->name;
  EMU_COUNTERS(ADD)
#undef ADD
}

void emu_counters_print(const emu_counters *counters, const char *kernel, FILE *file) {
  fprintf(file, "{\"kernel\": \"%s\"", kernel);
#define PRINT(name, meaning) \
  fprintf(file, ", \"%s\": %llu", #name, (unsigned long long)counters->name);
  EMU_COUNTERS(PRINT)
#undef PRINT
  fprintf(file, "}\n");
}

/* A set of numbers: open addressing, twice as many slots as any access has members. */
#define SLOTS 1024
typedef struct number_set {
  uint64_t slot[SLOTS]; /* number + 1; 0: free */
  uint16_t used[SLOTS / 2];
  int n;
} number_set;

static _Thread_local number_set seen;

static void set_clear(number_set *set) {
  for (int i = 0; i < set->n; i++) set->slot[set->used[i]] = 0;
  set->n = 0;
}

/* Whether x was new. */
static int set_insert(number_set *set, uint64_t x) {
  unsigned at = (unsigned)((x * 0x9e3779b97f4a7c15u) >> 54);
  while (set->slot[at] && set->slot[at] != x + 1) at = (at + 1) % SLOTS;
  if (set->slot[at]) return 0;
  set->slot[at] = x + 1;
  set->used[set->n++] = (uint16_t)at;
  return 1;
}

int emu_count_sectors(const uint64_t *address, uint64_t active, int bytes) {
  uint64_t last = UINT64_MAX;
  set_clear(&seen);
  for (; active; active &= active - 1) {
    uint64_t from = address[__builtin_ctzll(active)];
    for (uint64_t s = from / EMU_SECTOR_BYTES; s <= (from + (uint64_t)bytes - 1) / EMU_SECTOR_BYTES;
         s++) {
      if (s != last) set_insert(&seen, s);
      last = s;
    }
  }
  return seen.n;
}

int emu_count_phase(const uint64_t *address, uint64_t active, int first, int last, int bytes) {
  int of_bank[EMU_BANKS] = {0}, worst = 0;
  set_clear(&seen);
  for (int lane = first; lane <= last; lane++) {
    if (!(active >> lane & 1)) continue;
    uint64_t word = address[lane] / EMU_BANK_BYTES;
    uint64_t end = (address[lane] + (uint64_t)bytes - 1) / EMU_BANK_BYTES;
    for (; word <= end; word++) {
      if (!set_insert(&seen, word)) continue;
      int n = ++of_bank[word % EMU_BANKS];
      if (n > worst) worst = n;
    }
  }
  return worst;
}
