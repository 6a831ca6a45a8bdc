/* What an emulator measures in one launch, and the counting of sectors and wavefronts, which is the
 * emulators' own: layout/traffic.c, which the planner uses, is what it checks. */
#ifndef LLRT_EMULATORS_EMU_COUNTERS_H
#define LLRT_EMULATORS_EMU_COUNTERS_H

#include <stdint.h>
#include <stdio.h>

#define EMU_MAX_LANES 64
#define EMU_SECTOR_BYTES 32 /* of global memory */
#define EMU_BANKS 32        /* of shared memory, */
#define EMU_BANK_BYTES 4    /* each this wide */

/* X(name, what it counts). All are sums over the warps of a launch; an instruction counts once a
 * warp. */
#define EMU_COUNTERS(X) \
  X(blocks, "blocks that ran") \
  X(instructions, "all instructions") \
  X(arithmetic, "integer, logic, comparison, select") \
  X(conversions, "changes of type or width") \
  X(moves, "register moves") \
  X(permutes, "byte permutes") \
  X(shuffles, "lane shuffles") \
  X(branches, "branches") \
  X(barriers, "barriers") \
  X(matrix, "matrix products and their operand loads") \
  X(global_loads, "requests: load instructions with a lane active") \
  X(global_stores, "requests") \
  X(global_load_sectors, "32-byte sectors, distinct within one request") \
  X(global_store_sectors, "") \
  X(global_load_bytes, "bytes of the active lanes") \
  X(global_store_bytes, "") \
  X(shared_loads, "requests") \
  X(shared_stores, "requests") \
  X(shared_load_wavefronts, "passes over the banks") \
  X(shared_store_wavefronts, "") \
  X(shared_load_conflicts, "wavefronts beyond those that the width alone needs") \
  X(shared_store_conflicts, "") \
  X(atomics, "")

typedef struct emu_counters {
#define EMU_COUNTER_FIELD(name, meaning) uint64_t name;
  EMU_COUNTERS(EMU_COUNTER_FIELD)
#undef EMU_COUNTER_FIELD
} emu_counters;

void emu_counters_add(emu_counters *sum, const emu_counters *of);

/* One JSON object on one line: {"kernel": name, "blocks": 1, ...}. */
void emu_counters_print(const emu_counters *counters, const char *kernel, FILE *file);

/* Distinct sectors that the lanes in `active` touch with `bytes` (<= 128) bytes at
 * address[lane]. */
int emu_count_sectors(const uint64_t *address, uint64_t active, int bytes);

/* Wavefronts of one shared access where lanes first to last (of those in `active`) are served
 * together: the largest number of distinct words that one bank must give. 0 with no lane active. */
int emu_count_phase(const uint64_t *address, uint64_t active, int first, int last, int bytes);

#endif
