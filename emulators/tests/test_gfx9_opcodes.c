/* Every instruction of the gfx9 emulator: values, on edge-biased random inputs, and that none is
 * left out. */
#include "gfx9_cases.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define TRIALS 3

static uint32_t next_random(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  return (uint32_t)((z ^ z >> 27) >> 16);
}

/* A third edges, a third small, a third anything. */
static uint32_t next_input(uint64_t *state) {
  static const uint32_t edges[] = {
      0, 1, 0xffffffff, 0x80000000, 0x7fffffff, 31, 32, 63, 0xffff, 0xff00ff,
      /* 1, 1.5 and NaN, infinities, denormals of 32 bits, then of
       * 16 */
      0x3f800000, 0x3fc00000, 0xbf800000, 0x7fc00001, 0x7f800001, 0xff800000, 0x807fffff,
      0x3c003e00, 0xbc007e01, 0x7c01fc00, 0x03ff8001, 0x7bff7bff, 0x477fefff, 0x43f80000};
  uint32_t any = next_random(state);
  switch (next_random(state) % 3) {
  case 0: return edges[any % (sizeof edges / sizeof *edges)];
  case 1: return any % 64;
  default: return any;
  }
}

/* Where b equals a and where it does not, comparisons need both. */
static void fill(trial_data *data, uint64_t seed) {
  for (int i = 0; i < TRIAL_LANES; i++) {
    for (int k = 0; k < 4; k++) data->in[i][k] = next_input(&seed);
    if (next_random(&seed) % 8 == 0) data->in[i][1] = data->in[i][0];
    if (next_random(&seed) % 8 == 0) memcpy(&data->in[i][2], &data->in[i][0], 8);
  }
}

static void check_case(const gfx9_case *row, const char *cpu, uint64_t seed) {
  trial_data data;
  emu_fault fault;
  char report[512];
  fill(&data, seed);
  bool ok = trial_run(cpu, row->body, &data, &fault);
  emu_fault_print(&fault, report, sizeof report);
  cr_expect(ok, "%s on %s: %s", row->name, cpu, report);
  for (int i = 0; ok && i < TRIAL_LANES; i++) {
    uint32_t want[4] = {0};
    row->expect((const uint32_t(*)[4])data.in, i, want);
    ok = memcmp(want, data.out[i], sizeof want) == 0;
    cr_expect(ok, "%s on %s, lane %d of (%x, %x, %x, %x): %x %x %x %x, not %x %x %x %x", row->name,
              cpu, i, data.in[i][0], data.in[i][1], data.in[i][2], data.in[i][3], data.out[i][0],
              data.out[i][1], data.out[i][2], data.out[i][3], want[0], want[1], want[2], want[3]);
  }
}

static void check_all(const gfx9_cases *cases) {
  static const char *const cpus[] = {"gfx90a", "gfx942"};
  for (int i = 0; i < cases->n; i++) {
    for (int cpu = 0; cpu < 2; cpu++) {
      const gfx9_case *row = &cases->row[i];
      if (row->only && strcmp(row->only, cpus[cpu]) != 0) continue;
      for (uint64_t t = 0; t < TRIALS; t++) check_case(row, cpus[cpu], (uint64_t)i * 1000 + t);
    }
  }
}

Test(gfx9_opcodes, vector) { check_all(&gfx9_vector_cases); }
Test(gfx9_opcodes, integer) { check_all(&gfx9_integer_cases); }
Test(gfx9_opcodes, floating) { check_all(&gfx9_float_cases); }
Test(gfx9_opcodes, atomic) { check_all(&gfx9_atomic_cases); }
Test(gfx9_opcodes, scalar) { check_all(&gfx9_scalar_cases); }
Test(gfx9_opcodes, memory) { check_all(&gfx9_memory_cases); }

/* Whether a case's text has the instruction, with any suffix of its encoding. */
static bool has_instruction(const gfx9_cases *cases, const char *name) {
  size_t length = strlen(name);
  for (int i = 0; i < cases->n; i++) {
    const char *at = cases->row[i].body;
    for (; (at = strstr(at, name)) != NULL; at += length) {
      bool starts = at == cases->row[i].body || at[-1] == '\n';
      bool ends = strchr(" \n", at[length]) || strncmp(at + length, "_e64", 4) == 0 ||
                  strncmp(at + length, "_sdwa", 5) == 0;
      if (starts && ends) return true;
    }
  }
  return false;
}

/* s_endpgm is at the end of every trial; test_gfx9_matrix.c has a list of its own. */
Test(gfx9_opcodes, every_instruction_has_a_case) {
  static const gfx9_cases *const all[] = {&gfx9_vector_cases, &gfx9_integer_cases,
                                          &gfx9_float_cases,  &gfx9_scalar_cases,
                                          &gfx9_memory_cases, &gfx9_atomic_cases};
  for (int i = 0; i < gfx9_instruction_count(); i++) {
    const char *name = gfx9_instruction_name(i);
    bool found = strcmp(name, "s_endpgm") == 0 || strncmp(name, "v_mfma", 6) == 0;
    for (int k = 0; k < 6 && !found; k++) found = has_instruction(all[k], name);
    cr_expect(found, "%s has no case", name);
  }
}
