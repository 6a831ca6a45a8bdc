/* Faults planted in small kernels: each must be reported as what it is, and its corrected twin
 * not. */
#include "gfx9_trial.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define ARGUMENTS \
  "s_load_dwordx4 s[4:7], s[0:1], 0x0\n" \
  "v_lshlrev_b32 v1, 2, v0\n" \
  "s_waitcnt lgkmcnt(0)\n"
#define STORE_V2 \
  "global_store_dword v1, v2, s[6:7]\n" \
  "s_endpgm\n"
#define END "s_endpgm\n"
/* Thread t writes word t of LDS and reads word t ^ 64, which the other wave wrote. */
#define EXCHANGE(wait, barrier) \
  ARGUMENTS \
  "v_xor_b32 v3, 0x100, v1\n" \
  "ds_write_b32 v1, v0\n" wait barrier "ds_read_b32 v2, v3\n" \
  "s_waitcnt lgkmcnt(0)\n" STORE_V2
#define WAIT "s_waitcnt lgkmcnt(0)\n"
#define BARRIER "s_barrier\n"

/* Two waves, 512 bytes of each buffer and of LDS unless the text says otherwise. */
static const struct planted {
  const char *name, *text;
  emu_fault_kind kind;
  const char *mentions; /* in the report */
} planted[] = {
    {"copy", ARGUMENTS "global_load_dword v2, v1, s[4:5]\ns_waitcnt vmcnt(0)\n" STORE_V2, EMU_OK,
     ""},
    {"load not waited for", ARGUMENTS "global_load_dword v2, v1, s[4:5]\n" STORE_V2, EMU_NOT_WAITED,
     "global_store_dword"},
    {"wait leaves one under way",
     ARGUMENTS "global_load_dword v2, v1, s[4:5]\ns_waitcnt vmcnt(1)\n" STORE_V2, EMU_NOT_WAITED,
     ""},
    {"wait leaves only the younger one under way",
     ARGUMENTS "global_load_dword v2, v1, s[4:5]\nglobal_load_dword v3, v1, s[4:5]\n"
               "s_waitcnt vmcnt(1)\n" STORE_V2,
     EMU_OK, ""},
    {"overwritten while loading",
     ARGUMENTS "global_load_dword v2, v1, s[4:5]\nv_mov_b32 v2, 0\n" END, EMU_NOT_WAITED,
     "v_mov_b32"},
    {"scalar load not waited for",
     "s_load_dwordx4 s[4:7], s[0:1], 0x0\nv_mov_b32 v2, 0\nglobal_store_dword v0, v2, s[6:7]\n" END,
     EMU_NOT_WAITED, ""},
    {"scalar loads come in any order",
     "s_load_dwordx2 s[4:5], s[0:1], 0x0\ns_load_dwordx2 s[6:7], s[0:1], 0x8\n"
     "s_waitcnt lgkmcnt(1)\n"
     "s_add_u32 s4, s4, 4\n" END,
     EMU_NOT_WAITED, "s_add_u32"},
    {"LDS read not waited for", ARGUMENTS "ds_write_b32 v1, v0\nds_read_b32 v2, v1\n" STORE_V2,
     EMU_NOT_WAITED, ""},
    {"shuffle not waited for", ARGUMENTS "ds_bpermute_b32 v2, v1, v0\n" STORE_V2, EMU_NOT_WAITED,
     ""},
    {"exchange", EXCHANGE(WAIT, BARRIER), EMU_OK, ""},
    {"no barrier", EXCHANGE(WAIT, ""), EMU_UNDEFINED, ""},
    {"barrier without the wait", EXCHANGE("", BARRIER), EMU_NOT_WAITED, "s_barrier"},
    {"no barrier before the next write",
     ARGUMENTS "v_xor_b32 v3, 0x100, v1\nds_write_b32 v1, v0\n" WAIT BARRIER
               "ds_read_b32 v2, v3\n" WAIT "ds_write_b32 v1, v2\n" END,
     EMU_RACE, "ds_read_b32"},
    {"two waves write one word", "v_mov_b32 v1, 0\ns_mov_b64 exec, 1\nds_write_b32 v1, v0\n" END,
     EMU_RACE, "wave 0"},
    {"two lanes write one word", "v_mov_b32 v1, 0\nds_write_b32 v1, v1\n" END, EMU_RACE, "lane 1,"},
    {"two waves read one word they did not write", "v_mov_b32 v1, 0\nds_read_b32 v2, v1\n" END,
     EMU_OK, ""},
    {"store out of range",
     ARGUMENTS "v_mov_b32 v2, 0\nglobal_store_dword v1, v2, s[6:7] offset:4\n" END,
     EMU_OUT_OF_RANGE, "lane 63"},
    {"load before the range", ARGUMENTS "global_load_dword v2, v1, s[4:5] offset:-4\n" END,
     EMU_OUT_OF_RANGE, "lane 0"},
    {"inactive lanes touch nothing",
     ARGUMENTS "s_mov_b64 exec, 1\nv_mov_b32 v2, 0\nv_mov_b32 v1, 0x1fc\n" STORE_V2, EMU_OK, ""},
    {"LDS out of range", "v_mov_b32 v1, 0x200\nds_write_b32 v1, v0\n" END, EMU_OUT_OF_RANGE, "LDS"},
    {"LDS misaligned", "v_mov_b32 v1, 4\nds_read_b64 v[2:3], v1\n" END, EMU_MISALIGNED, "8 bytes"},
    {"scalar load misaligned", ARGUMENTS "s_add_u32 s4, s4, 2\ns_load_dword s8, s[4:5], 0x0\n" END,
     EMU_MISALIGNED, "s_load_dword"},
    {"stores a register never set", ARGUMENTS "global_store_dword v1, v5, s[6:7]\n" END,
     EMU_UNDEFINED, "stored value"},
    {"stores what memory never held",
     ARGUMENTS "global_load_dword v2, v1, s[6:7]\ns_waitcnt vmcnt(0)\n" STORE_V2, EMU_UNDEFINED,
     ""},
    {"undefined address", ARGUMENTS "v_mov_b32 v2, 0\nglobal_store_dword v5, v2, s[6:7]\n" END,
     EMU_UNDEFINED, "address"},
    {"undefined LDS address", "ds_read_b32 v2, v5\n" END, EMU_UNDEFINED, "LDS address"},
    {"undefined branch", "s_cmp_eq_u32 s20, 0\ns_cbranch_scc1 0\n" END, EMU_UNDEFINED, "scc"},
    {"undefined branch by lanes", "v_cmp_eq_u32 vcc, 0, v5\ns_cbranch_vccnz 0\n" END, EMU_UNDEFINED,
     "vcc"},
    {"undefined exec", "v_cmp_eq_u32 vcc, 0, v5\ns_and_saveexec_b64 s[8:9], vcc\n" END,
     EMU_UNDEFINED, "exec"},
    {"undefined bits masked away", ARGUMENTS "v_and_b32 v2, 0, v5\n" STORE_V2, EMU_OK, ""},
    {"undefined bits kept", ARGUMENTS "v_and_b32 v2, 1, v5\n" STORE_V2, EMU_UNDEFINED, ""},
    {"undefined bytes not selected",
     ARGUMENTS "v_mov_b32 v3, 0x0c0c0400\n"
               "v_perm_b32 v2, v0, v0, v3\n" STORE_V2,
     EMU_OK, ""},
    {"undefined byte selected",
     ARGUMENTS "v_mov_b32 v3, 0x0c0c0400\nv_perm_b32 v2, v5, v0, v3\n" STORE_V2, EMU_UNDEFINED, ""},
    {"undefined upper half, which 16 bits do not read",
     ARGUMENTS "v_min3_i16 v2, v0, v0, v0\nv_min_i16 v2, v2, v0\n" STORE_V2, EMU_OK, ""},
    {"undefined upper half, kept", ARGUMENTS "v_min3_i16 v2, v0, v0, v0\n" STORE_V2, EMU_UNDEFINED,
     ""},
    {"undefined upper half, a number's",
     ARGUMENTS "v_fma_f16 v2, v0, v0, v0\nv_fma_f16 v3, v2, v2, v2\nv_add_f16 v3, v3, v2\n"
               "v_cvt_f32_f16 v2, v3\n" STORE_V2,
     EMU_OK, ""},
    {"undefined upper half, compared",
     ARGUMENTS "v_min3_i16 v2, v0, v0, v0\nv_cmp_lt_i16 vcc, v2, v0\n"
               "v_cndmask_b32 v2, v0, v1, vcc\n" STORE_V2,
     EMU_OK, ""},
    {"undefined lower half of 16 bits", ARGUMENTS "v_min_i16 v2, v5, v0\n" STORE_V2, EMU_UNDEFINED,
     ""},
    {"lanes left out by exec stay unset",
     ARGUMENTS "s_mov_b64 exec, 1\nv_mov_b32 v2, 0\ns_mov_b64 exec, -1\n" STORE_V2, EMU_UNDEFINED,
     "lane 1,"},
    {"half of exec restored",
     ARGUMENTS "v_cmp_gt_u32 vcc, 32, v0\ns_and_saveexec_b64 s[8:9], vcc\nv_mov_b32 v2, 0\n"
               "s_mov_b32 exec_lo, s8\ns_mov_b32 exec_hi, s9\n" STORE_V2,
     EMU_UNDEFINED, "stored value"},
    {"flat results need both waits",
     ARGUMENTS "v_mov_b32 v5, s5\nv_add_co_u32 v4, vcc, s4, v1\nv_addc_co_u32 v5, vcc, 0, v5, vcc\n"
               "flat_load_dword v2, v[4:5]\ns_waitcnt vmcnt(0)\n" STORE_V2,
     EMU_NOT_WAITED, "global_store"},
    {"swizzle not waited for", ARGUMENTS "ds_swizzle_b32 v2, v0 offset:swizzle(SWAP,1)\n" STORE_V2,
     EMU_NOT_WAITED, ""},
    {"LDS atomic not waited for",
     ARGUMENTS "ds_write_b32 v1, v0\nds_add_rtn_u32 v2, v1, v0\n" STORE_V2, EMU_NOT_WAITED, ""},
    {"LDS atomic under way at a barrier",
     ARGUMENTS "ds_write_b32 v1, v0\nds_add_u32 v1, v0\n" BARRIER END, EMU_NOT_WAITED, "s_barrier"},
    {"waves' atomics do not race",
     ARGUMENTS "v_mov_b32 v3, 0\nds_write_b32 v1, v3\n" WAIT BARRIER
               "ds_add_u32 v3, v0\n" WAIT BARRIER "ds_read_b32 v2, v3\n" WAIT STORE_V2,
     EMU_OK, ""},
    {"atomic on memory never set", ARGUMENTS "global_atomic_add v1, v0, s[6:7]\n" END,
     EMU_UNDEFINED, "an atomic's operand"},
    {"undefined matrix", "v_mov_b32 v2, 0\nv_mfma_f32_4x4x1f32 a[0:3], v2, v5, 0\n" END,
     EMU_UNDEFINED, "operand 2 of a matrix product"},
    {"broadcast in a matrix product",
     "v_mov_b32 v2, 0\nv_mfma_f32_4x4x1f32 a[0:3], v2, v2, 0 cbsz:1\n" END, EMU_UNKNOWN, "cbsz"},
    {"accumulator register never set, through LDS",
     ARGUMENTS "ds_write_b32 v1, a3\n" WAIT "ds_read_b32 v2, v1\n" WAIT STORE_V2, EMU_UNDEFINED,
     ""},
    {"scratch out of range", "v_mov_b32 v2, 61\nscratch_store_dword v2, v0, off\n" END,
     EMU_OUT_OF_RANGE, "scratch"},
    {"scratch never written",
     ARGUMENTS "v_mov_b32 v3, 0\nscratch_load_dword v2, v3, off\ns_waitcnt vmcnt(0)\n" STORE_V2,
     EMU_UNDEFINED, "stored value"},
    {"undefined lane to pull from", "ds_bpermute_b32 v2, v5, v0\n" END, EMU_UNDEFINED,
     "LDS address"},
    {"undefined lane to read", "v_readlane_b32 s8, v0, s20\n" END, EMU_UNDEFINED, "lane's number"},
    {"one wave leaves before the barrier",
     "v_cmp_gt_u32 vcc, 64, v0\ns_cbranch_vccz .Lout\ns_barrier\n.Lout:\n" END, EMU_BARRIER, ""},
    {"unknown instruction", "v_sin_f32 v2, v0\n" END, EMU_UNKNOWN, "v_sin_f32"},
    {"unknown modifier", "v_mov_b32 v2, 0\nv_mul_f32_e64 v2, v2, v2 mul:2\n" END, EMU_UNKNOWN,
     "mul:2"},
    {"endless loop is not reached", "s_branch .Lend2\n.Lend2:\n" END, EMU_OK, ""},
};

static void check(const struct planted *row, const char *cpu) {
  trial_kernel kernel = {
      .cpu = cpu, .text = row->text, .threads = 128, .lds_bytes = 512, .bytes = 512};
  emu_fault fault;
  char report[512];
  bool ok = trial_run_kernel(&kernel, NULL, &fault);
  emu_fault_print(&fault, report, sizeof report);
  cr_expect(fault.kind == row->kind && ok == (row->kind == EMU_OK), "%s on %s: %s", row->name, cpu,
            report);
  cr_expect(strstr(report, row->mentions), "%s on %s: no '%s' in: %s", row->name, cpu,
            row->mentions, report);
}

Test(gfx9_faults, planted) {
  for (size_t i = 0; i < sizeof planted / sizeof *planted; i++) {
    check(&planted[i], "gfx90a");
    check(&planted[i], "gfx942");
  }
}

/* A lane moved to the wrong neighbour arrives as another value. */
Test(gfx9_faults, wrong_lane) {
  static const char right[] = "v_xor_b32 v12, 1, v0\nv_lshlrev_b32 v12, 2, v12\n"
                              "ds_bpermute_b32 v8, v12, v4\n";
  static const char wrong[] = "v_xor_b32 v12, 2, v0\nv_lshlrev_b32 v12, 2, v12\n"
                              "ds_bpermute_b32 v8, v12, v4\n";
  trial_data data;
  emu_fault fault;
  int bad[2] = {0, 0};
  for (int i = 0; i < TRIAL_LANES; i++) data.in[i][0] = (uint32_t)i * 3;
  for (int k = 0; k < 2; k++) {
    cr_assert(trial_run("gfx90a", k ? wrong : right, &data, &fault), "%s", fault.message);
    for (int i = 0; i < TRIAL_LANES; i++) bad[k] += data.out[i][0] != data.in[i ^ 1][0];
  }
  cr_expect(bad[0] == 0);
  cr_expect(bad[1] == TRIAL_LANES);
}

/* Images that are none. */
Test(gfx9_faults, images) {
  emu_memory memory = {0};
  emu_fault fault;
  gfx9_module *module;
  uint8_t bytes[256] = "\177ELF";
  cr_expect(!gfx9_module_create("text", 4, "gfx90a", "llrt_kernel", &memory, &module, &fault));
  cr_expect(
      !gfx9_module_create(bytes, sizeof bytes, "gfx90a", "llrt_kernel", &memory, &module, &fault));
  cr_expect(module == NULL);
  emu_memory_fini(&memory);
}
