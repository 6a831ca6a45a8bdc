/* Everything that is not arithmetic, and finding a row in the three tables. */
#include "gfx9_ops.h"

#include <string.h>

#define BRANCH(name, condition) \
  {name, "", .step = gfx9_branch, .modifiers = GFX9_RAW, .parameter = condition, COUNT(branches)}
#define SAVE_EXEC(name, operation) \
  {name, "DS", .step = gfx9_save_exec, .parameter = operation, COUNT(arithmetic)}
#define NOP(name) {name, "", .step = gfx9_nop, .modifiers = GFX9_RAW}

#define LOAD(name, bytes) \
  {"global_load_" name, "wvo", .step = gfx9_global_load, .modifiers = GFX9_OFFSET | GFX9_CACHE, .parameter = bytes}
#define STORE(name, bytes) \
  {"global_store_" name, "vWo", .step = gfx9_global_store, .modifiers = GFX9_OFFSET | GFX9_CACHE, .parameter = bytes}
#define SCALAR_LOAD(name, bytes) \
  {"s_load_" name, "wSs", .step = gfx9_scalar_load, .modifiers = GFX9_CACHE, .parameter = bytes}

#define READ(name, bytes) \
  {"ds_read_" name, "ws", .step = gfx9_lds_read, .modifiers = GFX9_OFFSET, .parameter = bytes}
#define READ2(name, bytes) \
  {"ds_read2" name, "ws", .step = gfx9_lds_read, .modifiers = GFX9_OFFSET2, .parameter = bytes | GFX9_TWO}
#define WRITE(name, bytes) \
  {"ds_write_" name, "sW", .step = gfx9_lds_write, .modifiers = GFX9_OFFSET, .parameter = bytes}
#define WRITE2(name, bytes) \
  {"ds_write2" name, "sWW", .step = gfx9_lds_write, .modifiers = GFX9_OFFSET2, .parameter = bytes | GFX9_TWO}
#define LOW GFX9_D16
#define HIGH GFX9_D16 | GFX9_HIGH

static const gfx9_info rows[] = {
    NOP("s_nop"),
    NOP("s_sleep"),
    NOP("s_setprio"),
    {"s_endpgm", "", .step = gfx9_end, .modifiers = GFX9_RAW},
    {"s_barrier", "", .step = gfx9_barrier, .modifiers = GFX9_RAW, COUNT(barriers)},
    {"s_waitcnt", "", .step = gfx9_wait, .modifiers = GFX9_RAW},
    {"s_getpc_b64", "D", .step = gfx9_program_counter, COUNT(moves)},
    BRANCH("s_branch", 0),
    BRANCH("s_cbranch_scc0", 4),
    BRANCH("s_cbranch_scc1", 5),
    BRANCH("s_cbranch_vccz", 6),
    BRANCH("s_cbranch_vccnz", 7),
    BRANCH("s_cbranch_execz", 8),
    BRANCH("s_cbranch_execnz", 9),
    SAVE_EXEC("s_and_saveexec_b64", '&'),
    SAVE_EXEC("s_or_saveexec_b64", '|'),
    SAVE_EXEC("s_xor_saveexec_b64", '^'),
    SAVE_EXEC("s_andn2_saveexec_b64", '~'),
    {"v_readfirstlane_b32", "ds", .step = gfx9_read_lane, COUNT(moves)},
    {"v_readlane_b32", "dss", .step = gfx9_read_lane, COUNT(moves)},
    {"v_writelane_b32", "dss", .step = gfx9_write_lane, COUNT(moves)},
    NOP("v_nop"),

    LOAD("ubyte", 1),
    LOAD("sbyte", 1 | GFX9_SIGNED),
    LOAD("ushort", 2),
    LOAD("sshort", 2 | GFX9_SIGNED),
    LOAD("ubyte_d16", 1 | LOW),
    LOAD("ubyte_d16_hi", 1 | HIGH),
    LOAD("sbyte_d16", 1 | GFX9_SIGNED | LOW),
    LOAD("sbyte_d16_hi", 1 | GFX9_SIGNED | HIGH),
    LOAD("short_d16", 2 | LOW),
    LOAD("short_d16_hi", 2 | HIGH),
    LOAD("dword", 4),
    LOAD("dwordx2", 8),
    LOAD("dwordx3", 12),
    LOAD("dwordx4", 16),
    STORE("byte", 1),
    STORE("byte_d16_hi", 1 | HIGH),
    STORE("short", 2),
    STORE("short_d16_hi", 2 | HIGH),
    STORE("dword", 4),
    STORE("dwordx2", 8),
    STORE("dwordx3", 12),
    STORE("dwordx4", 16),
    SCALAR_LOAD("dword", 4),
    SCALAR_LOAD("dwordx2", 8),
    SCALAR_LOAD("dwordx4", 16),
    SCALAR_LOAD("dwordx8", 32),
    SCALAR_LOAD("dwordx16", 64),

    READ("u8", 1),
    READ("i8", 1 | GFX9_SIGNED),
    READ("u16", 2),
    READ("i16", 2 | GFX9_SIGNED),
    READ("u8_d16", 1 | LOW),
    READ("u8_d16_hi", 1 | HIGH),
    READ("u16_d16", 2 | LOW),
    READ("u16_d16_hi", 2 | HIGH),
    READ("b32", 4),
    READ("b64", 8),
    READ("b128", 16),
    READ2("_b32", 4),
    READ2("_b64", 8),
    READ2("st64_b32", 4 | GFX9_ST64),
    READ2("st64_b64", 8 | GFX9_ST64),
    WRITE("b8", 1),
    WRITE("b8_d16_hi", 1 | HIGH),
    WRITE("b16", 2),
    WRITE("b16_d16_hi", 2 | HIGH),
    WRITE("b32", 4),
    WRITE("b64", 8),
    WRITE("b128", 16),
    WRITE2("_b32", 4),
    WRITE2("_b64", 8),
    WRITE2("st64_b32", 4 | GFX9_ST64),
    WRITE2("st64_b64", 8 | GFX9_ST64),
    {"ds_bpermute_b32", "dss", .step = gfx9_lds_permute, .modifiers = GFX9_OFFSET, COUNT(shuffles)},
    {"ds_permute_b32", "dss", .step = gfx9_lds_permute, .modifiers = GFX9_OFFSET, .parameter = '>', COUNT(shuffles)},
};

const gfx9_table gfx9_step_table = {rows, sizeof rows / sizeof *rows};

static const gfx9_table *const tables[] = {&gfx9_vector_table, &gfx9_scalar_table, &gfx9_step_table};

const gfx9_info *gfx9_find(const char *name, size_t length) {
  for (int t = 0; t < 3; t++) {
    for (int i = 0; i < tables[t]->n; i++) {
      const char *known = tables[t]->row[i].name;
      if (strncmp(known, name, length) == 0 && known[length] == 0) return &tables[t]->row[i];
    }
  }
  return NULL;
}

int gfx9_instruction_count(void) {
  return gfx9_vector_table.n + gfx9_scalar_table.n + gfx9_step_table.n;
}

const char *gfx9_instruction_name(int index) {
  for (int t = 0; t < 3; t++) {
    if (index < tables[t]->n) return tables[t]->row[index].name;
    index -= tables[t]->n;
  }
  return NULL;
}
