/* Everything that is not arithmetic, and finding a row in the three tables. */
#include "gfx9_ops.h"

#include <string.h>

#define BRANCH(name, condition) \
  {name, "", .step = gfx9_branch, .modifiers = GFX9_RAW, .parameter = condition, COUNT(branches)}
#define SAVE_EXEC(name, operation) \
  {name, "DS", .step = gfx9_save_exec, .parameter = operation, COUNT(arithmetic)}
#define NOP(name) {name, "", .step = gfx9_nop, .modifiers = GFX9_RAW}

#define PLACED GFX9_OFFSET | GFX9_CACHE
#define STEP(what, n, where) .step = what, .parameter = n, .space = where
/* The same access in every space of vector memory. */
#define LOAD(name, n) \
  {"global_load_" name, "wvo", STEP(gfx9_load, n, GFX9_GLOBAL), .modifiers = PLACED}, \
      {"flat_load_" name, "wv", STEP(gfx9_load, n, GFX9_FLAT), .modifiers = PLACED}, \
      {"scratch_load_" name, "wvo", STEP(gfx9_load, n, GFX9_SCRATCH), .modifiers = PLACED}, { \
    "buffer_load_" name, "wvBs", STEP(gfx9_load, n, GFX9_BUFFER), .modifiers = PLACED | GFX9_OFFEN \
  }
#define STORE(name, n) \
  {"global_store_" name, "vWo", STEP(gfx9_store, n, GFX9_GLOBAL), .modifiers = PLACED}, \
      {"flat_store_" name, "vW", STEP(gfx9_store, n, GFX9_FLAT), .modifiers = PLACED}, \
      {"scratch_store_" name, "vWo", STEP(gfx9_store, n, GFX9_SCRATCH), .modifiers = PLACED}, { \
    "buffer_store_" name, "WvBs", STEP(gfx9_store, n, GFX9_BUFFER), \
        .modifiers = PLACED | GFX9_OFFEN \
  }
#define SCALAR_LOAD(name, n) \
  {"s_load_" name, "wSs", .step = gfx9_scalar_load, .modifiers = PLACED, .parameter = n}, { \
    "s_buffer_load_" name, "wBs", .step = gfx9_scalar_load, .modifiers = GFX9_CACHE, \
        .parameter = n \
  }

#define READ(name, n) \
  {"ds_read_" name, "ws", STEP(gfx9_load, n, GFX9_LDS), .modifiers = GFX9_OFFSET}
#define READ2(name, n) \
  {"ds_read2" name, "ws", STEP(gfx9_load, (n) | GFX9_TWO, GFX9_LDS), .modifiers = GFX9_OFFSET2}
#define WRITE(name, n) \
  {"ds_write_" name, "sW", STEP(gfx9_store, n, GFX9_LDS), .modifiers = GFX9_OFFSET}
#define WRITE2(name, n) \
  {"ds_write2" name, "sWW", STEP(gfx9_store, (n) | GFX9_TWO, GFX9_LDS), .modifiers = GFX9_OFFSET2}
#define LOW GFX9_D16
#define HIGH GFX9_D16 | GFX9_HIGH

/* Atomics: the letter of the operation in gfx9_atomic.c. */
#define ATOMIC_ROW(name, data, n, operation, space, base, count) \
  {name, "qv" data base, STEP(gfx9_atomic, (n) | (operation) << 16, space), .modifiers = PLACED, \
   COUNT(count)}
#define ATOMIC_OF(name, data, n, operation) \
  ATOMIC_ROW("global_atomic_" name, data, n, operation, GFX9_GLOBAL, "o", atomics), \
      ATOMIC_ROW("flat_atomic_" name, data, n, operation, GFX9_FLAT, "", atomics)
#define ATOMIC(name, data, operation) \
  ATOMIC_OF(name, data, 4, operation), ATOMIC_OF(name "_x2", data, 8, operation)
#define LDS_ATOMIC_OF(name, rtn, data, n, operation) \
  {"ds_" name, "s" data, STEP(gfx9_atomic, (n) | (operation) << 16, GFX9_LDS), \
   .modifiers = GFX9_OFFSET, COUNT(atomics)}, \
  { \
    "ds_" rtn, "ws" data, STEP(gfx9_atomic, (n) | (operation) << 16, GFX9_LDS), \
        .modifiers = GFX9_OFFSET, COUNT(atomics) \
  }
#define LDS_ATOMIC(name, type, data, operation) \
  LDS_ATOMIC_OF(name "_" type "32", name "_rtn_" type "32", data, 4, operation), \
      LDS_ATOMIC_OF(name "_" type "64", name "_rtn_" type "64", data, 8, operation)

#define MATRIX(name) {"v_mfma_" name, "rRRR", .step = gfx9_matrix, COUNT(matrix)}

static const gfx9_info rows[] = {
    NOP("s_nop"),
    {"s_sleep", "", .step = gfx9_sleep, .modifiers = GFX9_RAW},
    {"s_memrealtime", "D", .step = gfx9_real_time},
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
    SAVE_EXEC("s_andn1_saveexec_b64", '&'),
    SAVE_EXEC("s_andn2_saveexec_b64", '&'),
    SAVE_EXEC("s_orn1_saveexec_b64", '|'),
    SAVE_EXEC("s_orn2_saveexec_b64", '|'),
    SAVE_EXEC("s_nand_saveexec_b64", 'A'),
    SAVE_EXEC("s_nor_saveexec_b64", 'O'),
    SAVE_EXEC("s_xnor_saveexec_b64", 'X'),
    SAVE_EXEC("s_andn1_wrexec_b64", '&'),
    SAVE_EXEC("s_andn2_wrexec_b64", '&'),
    {"v_readfirstlane_b32", "ds", .step = gfx9_read_lane, COUNT(moves)},
    {"v_readlane_b32", "dss", .step = gfx9_read_lane, COUNT(moves)},
    {"v_writelane_b32", "dss", .step = gfx9_write_lane, COUNT(moves)},
    {"v_swap_b32", "dx", .step = gfx9_swap, COUNT(moves)},
    NOP("v_nop"),
    /* Caches: memory here has none. */
    NOP("buffer_wbinvl1"),
    NOP("buffer_wbinvl1_vol"),
    NOP("buffer_wbl2"),
    NOP("buffer_invl2"),
    NOP("buffer_inv"),
    NOP("s_dcache_inv"),
    NOP("s_dcache_wb"),

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
    READ("i8_d16", 1 | GFX9_SIGNED | LOW),
    READ("i8_d16_hi", 1 | GFX9_SIGNED | HIGH),
    READ("b96", 12),
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
    WRITE("b96", 12),
    WRITE("b128", 16),
    WRITE2("_b32", 4),
    WRITE2("_b64", 8),
    WRITE2("st64_b32", 4 | GFX9_ST64),
    WRITE2("st64_b64", 8 | GFX9_ST64),
    {"ds_bpermute_b32", "dss", STEP(gfx9_lds_permute, 4, GFX9_LDS), .modifiers = GFX9_OFFSET,
     COUNT(shuffles)},
    {"ds_permute_b32", "dss", STEP(gfx9_lds_permute, '>', GFX9_LDS), .modifiers = GFX9_OFFSET,
     COUNT(shuffles)},
    {"ds_swizzle_b32", "ds", STEP(gfx9_lds_swizzle, 4, GFX9_LDS), .modifiers = GFX9_SWIZZLE,
     COUNT(shuffles)},

    ATOMIC("swap", "W", 's'),
    ATOMIC("cmpswap", "P", 'c'),
    ATOMIC("add", "W", '+'),
    ATOMIC("sub", "W", '-'),
    ATOMIC("smin", "W", 'm'),
    ATOMIC("umin", "W", 'u'),
    ATOMIC("smax", "W", 'M'),
    ATOMIC("umax", "W", 'U'),
    ATOMIC("and", "W", '&'),
    ATOMIC("or", "W", '|'),
    ATOMIC("xor", "W", '^'),
    ATOMIC("inc", "W", 'i'),
    ATOMIC("dec", "W", 'd'),
    ATOMIC_OF("add_f32", "W", 4, 'f'),
    ATOMIC_OF("pk_add_f16", "W", 4, 'h'),
    ATOMIC_OF("pk_add_bf16", "W", 4, 'b'),
    ATOMIC_OF("add_f64", "W", 8, 'f'),
    ATOMIC_OF("min_f64", "W", 8, 'l'),
    ATOMIC_OF("max_f64", "W", 8, 'L'),
    LDS_ATOMIC("add", "u", "W", '+'),
    LDS_ATOMIC("sub", "u", "W", '-'),
    LDS_ATOMIC("inc", "u", "W", 'i'),
    LDS_ATOMIC("dec", "u", "W", 'd'),
    LDS_ATOMIC("min", "i", "W", 'm'),
    LDS_ATOMIC("max", "i", "W", 'M'),
    LDS_ATOMIC("min", "u", "W", 'u'),
    LDS_ATOMIC("max", "u", "W", 'U'),
    LDS_ATOMIC("and", "b", "W", '&'),
    LDS_ATOMIC("or", "b", "W", '|'),
    LDS_ATOMIC("xor", "b", "W", '^'),
    LDS_ATOMIC("cmpst", "b", "WW", 'c'),
    LDS_ATOMIC("add", "f", "W", 'f'),
    LDS_ATOMIC("min", "f", "W", 'l'),
    LDS_ATOMIC("max", "f", "W", 'L'),
    LDS_ATOMIC_OF("pk_add_f16", "pk_add_rtn_f16", "W", 4, 'h'),
    LDS_ATOMIC_OF("pk_add_bf16", "pk_add_rtn_bf16", "W", 4, 'b'),
    {"ds_wrxchg_rtn_b32", "wsW", STEP(gfx9_atomic, 4 | 's' << 16, GFX9_LDS),
     .modifiers = GFX9_OFFSET, COUNT(atomics)},
    {"ds_wrxchg_rtn_b64", "wsW", STEP(gfx9_atomic, 8 | 's' << 16, GFX9_LDS),
     .modifiers = GFX9_OFFSET, COUNT(atomics)},

    /* gfx90a's names, then gfx942's. */
    MATRIX("f32_32x32x1f32"),
    MATRIX("f32_16x16x1f32"),
    MATRIX("f32_4x4x1f32"),
    MATRIX("f32_32x32x2f32"),
    MATRIX("f32_16x16x4f32"),
    MATRIX("f32_32x32x4f16"),
    MATRIX("f32_16x16x4f16"),
    MATRIX("f32_4x4x4f16"),
    MATRIX("f32_32x32x8f16"),
    MATRIX("f32_16x16x16f16"),
    MATRIX("f32_32x32x2bf16"),
    MATRIX("f32_16x16x2bf16"),
    MATRIX("f32_4x4x2bf16"),
    MATRIX("f32_32x32x4bf16"),
    MATRIX("f32_16x16x8bf16"),
    MATRIX("f32_32x32x4bf16_1k"),
    MATRIX("f32_16x16x4bf16_1k"),
    MATRIX("f32_4x4x4bf16_1k"),
    MATRIX("f32_32x32x8bf16_1k"),
    MATRIX("f32_16x16x16bf16_1k"),
    MATRIX("i32_32x32x4i8"),
    MATRIX("i32_16x16x4i8"),
    MATRIX("i32_4x4x4i8"),
    MATRIX("i32_32x32x8i8"),
    MATRIX("i32_16x16x16i8"),
    MATRIX("f64_16x16x4f64"),
    MATRIX("f64_4x4x4f64"),
    MATRIX("f32_32x32x1_2b_f32"),
    MATRIX("f32_16x16x1_4b_f32"),
    MATRIX("f32_4x4x1_16b_f32"),
    MATRIX("f32_32x32x2_f32"),
    MATRIX("f32_16x16x4_f32"),
    MATRIX("f32_32x32x4_2b_f16"),
    MATRIX("f32_16x16x4_4b_f16"),
    MATRIX("f32_4x4x4_16b_f16"),
    MATRIX("f32_32x32x8_f16"),
    MATRIX("f32_16x16x16_f16"),
    MATRIX("f32_32x32x4_2b_bf16"),
    MATRIX("f32_16x16x4_4b_bf16"),
    MATRIX("f32_4x4x4_16b_bf16"),
    MATRIX("f32_32x32x8_bf16"),
    MATRIX("f32_16x16x16_bf16"),
    MATRIX("i32_32x32x4_2b_i8"),
    MATRIX("i32_16x16x4_4b_i8"),
    MATRIX("i32_4x4x4_16b_i8"),
    MATRIX("i32_32x32x16_i8"),
    MATRIX("i32_16x16x32_i8"),
    MATRIX("f64_16x16x4_f64"),
    MATRIX("f64_4x4x4_4b_f64"),
    MATRIX("f32_16x16x32_fp8_fp8"),
    MATRIX("f32_16x16x32_fp8_bf8"),
    MATRIX("f32_16x16x32_bf8_fp8"),
    MATRIX("f32_16x16x32_bf8_bf8"),
    MATRIX("f32_32x32x16_fp8_fp8"),
    MATRIX("f32_32x32x16_fp8_bf8"),
    MATRIX("f32_32x32x16_bf8_fp8"),
    MATRIX("f32_32x32x16_bf8_bf8"),
};

static const gfx9_table step_table = {rows, sizeof rows / sizeof *rows};

static const gfx9_table *const tables[] = {&gfx9_vector_table, &gfx9_scalar_table, &step_table};

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
  return gfx9_vector_table.n + gfx9_scalar_table.n + step_table.n;
}

const char *gfx9_instruction_name(int index) {
  for (int t = 0; t < 3; t++) {
    if (index < tables[t]->n) return tables[t]->row[index].name;
    index -= tables[t]->n;
  }
  return NULL;
}
