/* Loads, stores, LDS and lane exchanges. A lane's input lies at s[4:5] + v1; 1 KiB of LDS. */
#include "gfx9_cases.h"

#define VM "\ns_waitcnt vmcnt(0)\n"
#define LGKM "\ns_waitcnt lgkmcnt(0)\n"
/* The lane's four words in LDS at v1, and beside it what the others wrote. */
#define TO_LDS "ds_write_b128 v1, v[4:7]" LGKM
#define SIGN8(x) ((x) & 0x80 ? ((x) & 0xff) | 0xffffff00 : (x) & 0xff)
#define SIGN16(x) ((x) & 0x8000 ? ((x) & 0xffff) | 0xffff0000 : (x) & 0xffff)

/* The description of a buffer, the whole input or output, in s[8:11]. */
#define DESCRIBE(high, low) \
  "s_mov_b32 s8, " low "\ns_and_b32 s9, " high ", 0xffff\ns_movk_i32 s10, 0x400\n" \
  "s_mov_b32 s11, 0x20000\n"

#define MEMORY_CASES(X) \
  X(load_narrow, \
    "global_load_ubyte v8, v1, s[4:5] offset:3\n" \
    "global_load_sbyte v9, v1, s[4:5] offset:2\n" \
    "global_load_ushort v10, v1, s[4:5] offset:6\n" \
    "global_load_sshort v11, v1, s[4:5] offset:4", \
    out[0] = a >> 24, out[1] = SIGN8(a >> 16), out[2] = b >> 16, out[3] = SIGN16(b)) \
  X(load_d16, \
    "v_mov_b32 v8, v4\nv_mov_b32 v9, v4\nv_mov_b32 v10, v4\nv_mov_b32 v11, v4\n" \
    "global_load_ubyte_d16 v8, v1, s[4:5] offset:8\n" \
    "global_load_ubyte_d16_hi v9, v1, s[4:5] offset:8\n" \
    "global_load_short_d16 v10, v1, s[4:5] offset:8\n" \
    "global_load_short_d16_hi v11, v1, s[4:5] offset:8", \
    out[0] = (a & 0xffff0000) | (c & 0xff), out[1] = (a & 0xffff) | (c & 0xff) << 16, \
    out[2] = (a & 0xffff0000) | (c & 0xffff), out[3] = (a & 0xffff) | c << 16) \
  X(load_sbyte_d16, \
    "v_mov_b32 v8, v4\nv_mov_b32 v9, v4\n" \
    "global_load_sbyte_d16 v8, v1, s[4:5] offset:8\n" \
    "global_load_sbyte_d16_hi v9, v1, s[4:5] offset:8", \
    out[0] = (a & 0xffff0000) | (SIGN8(c) & 0xffff), out[1] = (a & 0xffff) | SIGN8(c) << 16) \
  X(load_wide, \
    "global_load_dwordx2 v[8:9], v1, s[4:5] offset:8\n" \
    "global_load_dword v10, v1, s[4:5] offset:4", \
    out[0] = c, out[1] = d, out[2] = b) \
  X(load_x3, "global_load_dwordx3 v[8:10], v1, s[4:5] offset:4", out[0] = b, out[1] = c, \
    out[2] = d) \
  X(load_x4_pair, \
    "v_mov_b32 v13, s5\nv_add_co_u32 v12, vcc, s4, v1\n" \
    "v_addc_co_u32 v13, vcc, 0, v13, vcc\n" \
    "s_nop 0\nglobal_load_dwordx4 v[8:11], v[12:13], off" VM, \
    out[0] = a, out[1] = b, out[2] = c, out[3] = d) \
  X(load_acc, "global_load_dword a1, v1, s[4:5] offset:4" VM "v_accvgpr_read_b32 v8, a1", \
    out[0] = b) \
  X(store_narrow, \
    "global_store_dwordx4 v1, v[4:7], s[6:7]\n" \
    "global_store_byte v1, v5, s[6:7] offset:1\n" \
    "global_store_short v1, v6, s[6:7] offset:6\n" \
    "global_store_byte_d16_hi v1, v4, s[6:7] offset:8\n" \
    "global_store_short_d16_hi v1, v4, s[6:7] offset:14" VM \
    "global_load_dwordx4 v[8:11], v1, s[6:7]", \
    out[0] = (a & 0xffff00ff) | (b & 0xff) << 8, out[1] = (b & 0xffff) | c << 16, \
    out[2] = (c & 0xffffff00) | (a >> 16 & 0xff), out[3] = (d & 0xffff) | (a & 0xffff0000)) \
  X(store_wide, \
    "global_store_dwordx2 v1, v[4:5], s[6:7] offset:8\n" \
    "global_store_dwordx2 v1, v[6:7], s[6:7]" VM "global_store_dword v1, v4, s[6:7] offset:4" VM \
    "global_load_dwordx4 v[8:11], v1, s[6:7]", \
    out[0] = c, out[1] = a, out[2] = a, out[3] = b) \
  X(store_x3, \
    "global_store_dword v1, v4, s[6:7]\n" \
    "global_store_dwordx3 v1, v[4:6], s[6:7] offset:4" VM \
    "global_load_dwordx4 v[8:11], v1, s[6:7]", \
    out[0] = a, out[1] = a, out[2] = b, out[3] = c) \
  X(scalar_loads, \
    "s_load_dword s8, s[4:5], 0x4\ns_load_dwordx2 s[10:11], s[4:5], 0x8\n" \
    "s_movk_i32 s9, 0x10\n" \
    "s_load_dwordx4 s[12:15], s[4:5], s9" LGKM \
    "v_mov_b32 v8, s8\nv_mov_b32 v9, s11\nv_mov_b32 v10, s12\n" \
    "v_mov_b32 v11, s15", \
    out[0] = in[0][1], out[1] = in[0][3], out[2] = in[1][0], out[3] = in[1][3]) \
  X(scalar_loads_moved, \
    "s_movk_i32 s9, 0x10\ns_load_dwordx2 s[10:11], s[4:5], s9 offset:0x8\n" \
    "s_load_dword s8, s[4:5], s9 offset:0x0" LGKM \
    "v_mov_b32 v8, s8\nv_mov_b32 v9, s10\nv_mov_b32 v10, s11\n" \
    "v_mov_b32 v11, s10", \
    out[0] = in[1][0], out[1] = in[1][2], out[2] = in[1][3], out[3] = in[1][2]) \
  X(scalar_loads_wide, \
    "s_load_dwordx8 s[8:15], s[4:5], 0x20\n" \
    "s_load_dwordx16 s[16:31], s[4:5], 0x40" LGKM \
    "v_mov_b32 v8, s8\nv_mov_b32 v9, s15\nv_mov_b32 v10, s16\n" \
    "v_mov_b32 v11, s31", \
    out[0] = in[2][0], out[1] = in[3][3], out[2] = in[4][0], out[3] = in[7][3]) \
  X(lds_narrow_reads, \
    TO_LDS "ds_read_u8 v8, v1 offset:3\nds_read_i8 v9, v1 offset:2\n" \
           "ds_read_u16 v10, v1 offset:6\n" \
           "ds_read_i16 v11, v1 offset:4", \
    out[0] = a >> 24, out[1] = SIGN8(a >> 16), out[2] = b >> 16, out[3] = SIGN16(b)) \
  X(lds_d16_reads, \
    TO_LDS "v_mov_b32 v8, v4\nv_mov_b32 v9, v4\nv_mov_b32 v10, v4\n" \
           "v_mov_b32 v11, v4\n" \
           "ds_read_u8_d16 v8, v1 offset:8\nds_read_u8_d16_hi v9, v1 offset:8\n" \
           "ds_read_u16_d16 v10, v1 offset:8\nds_read_u16_d16_hi v11, v1 offset:8", \
    out[0] = (a & 0xffff0000) | (c & 0xff), out[1] = (a & 0xffff) | (c & 0xff) << 16, \
    out[2] = (a & 0xffff0000) | (c & 0xffff), out[3] = (a & 0xffff) | c << 16) \
  X(lds_reads, TO_LDS "ds_read_b32 v8, v1 offset:4\nds_read_b64 v[10:11], v1 offset:8", \
    out[0] = b, out[2] = c, out[3] = d) \
  X(lds_wraps, \
    "v_add_u32 v12, 0xffffd800, v1\nds_write_b128 v12, v[4:7] offset:10240" LGKM \
    "v_add_u32 v12, -4, v1\nds_read2_b32 v[8:9], v12 offset0:1 offset1:4\n" \
    "v_add_u32 v13, -8, v1\nds_read_b64 v[10:11], v13 offset:16", \
    out[0] = a, out[1] = d, out[2] = c, out[3] = d) \
  X(lds_atomic_wraps, \
    TO_LDS "v_add_u32 v12, 0xffffc000, v1\nds_add_rtn_u32 v8, v12, v5 offset:16384" LGKM \
           "ds_read_b32 v9, v1", \
    out[0] = a, out[1] = a + b) \
  X(lds_read_128, TO_LDS "v_xor_b32 v12, 0x230, v1\nds_read_b128 v[8:11], v12", \
    out[0] = in[lane ^ 35][0], out[1] = in[lane ^ 35][1], out[2] = in[lane ^ 35][2], \
    out[3] = in[lane ^ 35][3]) \
  X(lds_read2, \
    TO_LDS "ds_read2_b32 v[8:9], v1 offset0:3 offset1:1\n" \
           "ds_read2_b32 v[10:11], v1 offset1:2", \
    out[0] = d, out[1] = b, out[2] = a, out[3] = c) \
  X(lds_read2_64, TO_LDS "ds_read2_b64 v[8:11], v1 offset0:1", out[0] = c, out[1] = d, out[2] = a, \
    out[3] = b) \
  X(lds_read2_st64, \
    TO_LDS "v_and_b32 v12, 15, v0\nv_lshlrev_b32 v12, 4, v12\n" \
           "ds_read2st64_b32 v[8:9], v12 offset0:1 offset1:3", \
    out[0] = in[16 + lane % 16][0], out[1] = in[48 + lane % 16][0]) \
  X(lds_read2_st64_64, \
    TO_LDS "v_and_b32 v12, 15, v0\nv_lshlrev_b32 v12, 4, v12\n" \
           "ds_read2st64_b64 v[8:11], v12 offset1:1", \
    out[0] = in[lane % 16][0], out[1] = in[lane % 16][1], out[2] = in[32 + lane % 16][0], \
    out[3] = in[32 + lane % 16][1]) \
  X(lds_narrow_writes, \
    TO_LDS "ds_write_b8 v1, v5 offset:1\nds_write_b16 v1, v6 offset:6\n" \
           "ds_write_b8_d16_hi v1, v4 offset:8\n" \
           "ds_write_b16_d16_hi v1, v4 offset:14" LGKM "ds_read_b128 v[8:11], v1", \
    out[0] = (a & 0xffff00ff) | (b & 0xff) << 8, out[1] = (b & 0xffff) | c << 16, \
    out[2] = (c & 0xffffff00) | (a >> 16 & 0xff), out[3] = (d & 0xffff) | (a & 0xffff0000)) \
  X(lds_writes, \
    "ds_write_b32 v1, v7\nds_write_b64 v1, v[4:5] offset:8\n" \
    "ds_write_b32 v1, v6 offset:4" LGKM "ds_read_b128 v[8:11], v1", \
    out[0] = d, out[1] = c, out[2] = a, out[3] = b) \
  X(lds_write2, \
    "ds_write2_b32 v1, v4, v5 offset0:2 offset1:1\n" \
    "ds_write2_b32 v1, v6, v7 offset1:3" LGKM "ds_read_b128 v[8:11], v1", \
    out[0] = c, out[1] = b, out[2] = a, out[3] = d) \
  X(lds_write2_64, "ds_write2_b64 v1, v[4:5], v[6:7] offset0:1" LGKM "ds_read_b128 v[8:11], v1", \
    out[0] = c, out[1] = d, out[2] = a, out[3] = b) \
  X(lds_write2_st64, \
    "v_lshlrev_b32 v12, 2, v0\nds_write2st64_b32 v12, v4, v5 offset1:2" LGKM \
    "ds_read_b32 v8, v12\nds_read_b32 v9, v12 offset:512", \
    out[0] = a, out[1] = b) \
  X(lds_write2_st64_64, \
    "v_lshlrev_b32 v12, 3, v0\nds_write2st64_b64 v12, v[4:5], v[6:7] offset1:1" LGKM \
    "ds_read_b64 v[8:9], v12\nds_read_b64 v[10:11], v12 offset:512", \
    out[0] = a, out[1] = b, out[2] = c, out[3] = d) \
  X(lds_acc, \
    "v_accvgpr_write_b32 a2, v6\ns_nop 4\nds_write_b32 v1, a2" LGKM "ds_read_b32 a3, v1" LGKM \
    "v_accvgpr_read_b32 v8, a3", \
    out[0] = c) \
  X(lds_own_address, TO_LDS "v_mov_b32 v8, v1\nds_read2_b32 v[8:9], v8 offset1:3", out[0] = a, \
    out[1] = d) \
  X(bpermute, "ds_bpermute_b32 v8, v5, v4\nds_bpermute_b32 v9, v5, v4 offset:12", \
    out[0] = in[b / 4 % 64][0], out[1] = in[(b % 256 + 12) / 4 % 64][0]) \
  X(bpermute_inactive, \
    "v_xor_b32 v12, 0x80, v1\nv_lshlrev_b32 v12, 2, v0\n" \
    "v_xor_b32 v12, 0x80, v12\ns_mov_b32 exec_lo, 0xffff\n" \
    "ds_bpermute_b32 v8, v12, v4\ns_mov_b64 exec, -1", \
    out[0] = lane < 16          ? in[lane ^ 32][0] \
             : lane < 32        ? 0 \
             : (lane ^ 32) < 16 ? in[lane ^ 32][0] \
                                : 0) \
  X(permute, "v_sub_u32 v12, 70, v0\nv_lshlrev_b32 v12, 2, v12\nds_permute_b32 v8, v12, v4", \
    out[0] = in[(70 - lane) % 64][0]) \
  X(caches, "s_dcache_inv\ns_dcache_wb\nv_mov_b32 v8, v4", out[0] = a) \
  X(buffers_scalar, \
    DESCRIBE("s5", "s4") "s_buffer_load_dword s16, s[8:11], 0x4\n" \
                         "s_buffer_load_dwordx2 s[18:19], s[8:11], 0x8\ns_movk_i32 s17, 0x10\n" \
                         "s_buffer_load_dwordx4 s[20:23], s[8:11], s17\n" \
                         "s_buffer_load_dwordx8 s[24:31], s[8:11], 0x20\n" \
                         "s_buffer_load_dwordx16 s[32:47], s[8:11], 0x40" LGKM \
                         "s_add_u32 s16, s16, s23\nv_mov_b32 v8, s16\nv_mov_b32 v9, " \
                         "s19\nv_mov_b32 v10, s31\n" \
                         "v_mov_b32 v11, s47", \
    out[0] = in[0][1] + in[1][3], out[1] = in[0][3], out[2] = in[3][3], out[3] = in[7][3]) \
  X(buffer_length, \
    "v_mov_b32 v8, v4\n" DESCRIBE("s5", "s4") "s_mov_b32 s10, 0x108\n" \
                                              "buffer_load_dwordx2 v[8:9], v1, s[8:11], 0 offen", \
    out[0] = lane * 16 + 8 <= 0x108 ? a : 0, out[1] = lane * 16 + 8 <= 0x108 ? b : 0) \
  X(lds_d16_signed, \
    TO_LDS "v_mov_b32 v8, v4\nv_mov_b32 v9, v4\nds_read_i8_d16 v8, v1 offset:8\n" \
           "ds_read_i8_d16_hi v9, v1 offset:8", \
    out[0] = (a & 0xffff0000) | (SIGN8(c) & 0xffff), out[1] = (a & 0xffff) | SIGN8(c) << 16) \
  X(lds_96, \
    "ds_write_b32 v1, v7 offset:12\nds_write_b96 v1, v[4:6]" LGKM "ds_read_b96 v[8:10], v1\n" \
    "ds_read_b32 v11, v1 offset:12", \
    out[0] = a, out[1] = b, out[2] = c, out[3] = d) \
  X(swizzle, \
    "ds_swizzle_b32 v8, v4 offset:swizzle(QUAD_PERM,3,0,2,1)\n" \
    "ds_swizzle_b32 v9, v4 offset:swizzle(SWAP,4)\n" \
    "ds_swizzle_b32 v10, v4 offset:swizzle(BROADCAST,8,3)\n" \
    "ds_swizzle_b32 v11, v4 offset:swizzle(BITMASK_PERM,\"01pip\")", \
    static const int quad[] = {3, 0, 2, 1}; \
    out[0] = in[(lane & ~3) + quad[lane % 4]][0], out[1] = in[lane ^ 4][0], \
    out[2] = in[(lane & ~7) + 3][0], out[3] = in[(lane & 32) | 8 | (lane & 5) | (~lane & 2)][0]) \
  X(waits_in_order, \
    "global_load_dword v8, v1, s[4:5]\n" \
    "global_load_dword v9, v1, s[4:5] offset:4\n" \
    "s_waitcnt vmcnt(1)\nv_add_u32 v10, v8, v8\ns_waitcnt vmcnt(0)\n" \
    "v_add_u32 v11, v9, v9\ns_barrier", \
    out[0] = a, out[1] = b, out[2] = 2 * a, out[3] = 2 * b)

/* The same loads and stores in the other spaces, whose lane-own 16 bytes hold a, b, c, d: each a
 * text of where that is. Two at a time beside each other show offsets too. */
#define CACHES_90A(X) \
  X(caches_90a, "buffer_wbinvl1\nbuffer_wbinvl1_vol\nbuffer_wbl2\nbuffer_invl2\nv_mov_b32 v8, v4", \
    out[0] = a)
#define CACHES_942(X) X(caches_942, "buffer_inv sc1\nbuffer_wbl2 sc1\nv_mov_b32 v8, v4", out[0] = a)

#define FLAT_BASE(low, high) \
  "v_mov_b32 v13, " high "\nv_add_co_u32 v12, vcc, " low ", v1\n" \
  "v_addc_co_u32 v13, vcc, 0, v13, vcc\ns_nop 0\n"
#define WAIT_ALL "\ns_waitcnt vmcnt(0) lgkmcnt(0)\n"
#define KEEP_A "v_mov_b32 v8, v4\nv_mov_b32 v9, v4\nv_mov_b32 v10, v4\nv_mov_b32 v11, v4\n"

/* AT(n): what stands behind the data, n bytes on. */
#define FLAT_AT(n) "v[12:13] offset:" #n "\n"
#define BUFFER_AT(n) "v1, s[8:11], 0 offen offset:" #n "\n"
#define SCRATCH_AT(n) "v14, off offset:" #n "\n"
#define LOAD_CASES(X, space, prepare, AT) \
  X(space##_load_narrow, \
    prepare #space "_load_ubyte v8, " AT(3) #space "_load_sbyte v9, " AT(2) #space \
    "_load_ushort v10, " AT(6) #space "_load_sshort v11, " AT(4), \
    out[0] = a >> 24, out[1] = SIGN8(a >> 16), out[2] = b >> 16, out[3] = SIGN16(b)) \
  X(space##_load_d16, \
    prepare KEEP_A #space "_load_ubyte_d16 v8, " AT(8) #space \
    "_load_ubyte_d16_hi v9, " AT(8) #space "_load_short_d16 v10, " AT(8) #space \
    "_load_short_d16_hi v11, " AT(8), \
    out[0] = (a & 0xffff0000) | (c & 0xff), out[1] = (a & 0xffff) | (c & 0xff) << 16, \
    out[2] = (a & 0xffff0000) | (c & 0xffff), out[3] = (a & 0xffff) | c << 16) \
  X(space##_load_sbyte_d16, \
    prepare KEEP_A #space "_load_sbyte_d16 v8, " AT(8) #space "_load_sbyte_d16_hi v9, " AT(8), \
    out[0] = (a & 0xffff0000) | (SIGN8(c) & 0xffff), out[1] = (a & 0xffff) | SIGN8(c) << 16, \
    out[2] = out[3] = a) \
  X(space##_load_wide, \
    prepare #space "_load_dwordx2 v[8:9], " AT(8) #space "_load_dword v10, " AT(4), out[0] = c, \
    out[1] = d, out[2] = b) \
  X(space##_load_x3, prepare #space "_load_dwordx3 v[8:10], " AT(4), out[0] = b, out[1] = c, \
    out[2] = d) \
  X(space##_load_x4, prepare #space "_load_dwordx4 v[8:11], " AT(0), out[0] = a, out[1] = b, \
    out[2] = c, out[3] = d)

/* The data's place differs, so STORE(name, data, n) is a whole line; READ_BACK shows the 16
 * bytes. */
/* clang-format off */
#define STORE_CASES(X, space, prepare, STORE, READ_BACK) \
  X(space##_store_narrow, prepare STORE("dwordx4", "v[4:7]", 0) STORE("byte", "v5", \
      1) STORE("short", "v6", 6) \
    STORE("byte_d16_hi", "v4", 8) STORE("short_d16_hi", "v4", 14) WAIT_ALL READ_BACK, \
    out[0] = (a & 0xffff00ff) | (b & 0xff) << 8, out[1] = (b & 0xffff) | c << 16, \
    out[2] = (c & 0xffffff00) | (a >> 16 & 0xff), out[3] = (d & 0xffff) | (a & 0xffff0000)) \
  X(space##_store_wide, prepare STORE("dwordx2", "v[4:5]", 8) STORE("dwordx2", "v[6:7]", \
      0) STORE("dword", "v4", 4) \
    WAIT_ALL READ_BACK, out[0] = c, out[1] = a, out[2] = a, out[3] = b) \
  X(space##_store_x3, prepare STORE("dword", "v4", 0) STORE("dwordx3", "v[4:6]", \
      4) WAIT_ALL READ_BACK, \
    out[0] = a, out[1] = a, out[2] = b, out[3] = c)
/* clang-format on */
#define FLAT_STORE(name, data, n) "flat_store_" name " v[12:13], " data " offset:" #n "\n"
#define BUFFER_STORE(name, data, n) \
  "buffer_store_" name " " data ", v1, s[8:11], 0 offen offset:" #n "\n"
#define SCRATCH_STORE(name, data, n) "scratch_store_" name " v14, " data ", off offset:" #n "\n"

#define SPACE_CASES(X) \
  LOAD_CASES(X, flat, FLAT_BASE("s4", "s5"), FLAT_AT) \
  LOAD_CASES(X, buffer, DESCRIBE("s5", "s4"), BUFFER_AT) \
  LOAD_CASES(X, scratch, "v_mov_b32 v14, 0\n" SCRATCH_STORE("dwordx4", "v[4:7]", 0), SCRATCH_AT) \
  STORE_CASES(X, flat, FLAT_BASE("s6", "s7"), FLAT_STORE, "flat_load_dwordx4 v[8:11], v[12:13]") \
  STORE_CASES(X, buffer, DESCRIBE("s7", "s6"), BUFFER_STORE, \
              "buffer_load_dwordx4 v[8:11], v1, s[8:11], 0 offen") \
  STORE_CASES(X, scratch, "v_mov_b32 v14, 0\n", SCRATCH_STORE, \
              "scratch_load_dwordx4 v[8:11], v14, off") \
  X(scratch_places, \
    "v_mov_b32 v12, 16\ns_mov_b32 s8, 32\n" \
    "scratch_store_dword v12, v4, off offset:4\n" \
    "scratch_store_dword off, v5, s8" WAIT_ALL "scratch_load_dword v8, off, s8 offset:-12\n" \
    "scratch_load_dword v9, v12, off offset:16", \
    out[0] = a, out[1] = b) \
  X(scratch_buffer, \
    "s_mov_b32 s11, 0x800000\nv_mov_b32 v12, 8\n" \
    "buffer_store_dword v4, off, s[8:11], 0 offset:12\n" \
    "buffer_store_dword v5, v12, s[8:11], 0 offen" WAIT_ALL \
    "buffer_load_dword v8, v12, s[8:11], 0 offen offset:4\nscratch_load_dword v9, v12, off", \
    out[0] = a, out[1] = b) \
  X(scratch_buffer_wraps, \
    "s_mov_b32 s11, 0x800000\nv_mov_b32 v12, -8\ns_movk_i32 s12, 0x400\n" \
    "buffer_store_dword v4, v12, s[8:11], 0 offen offset:12\n" \
    "buffer_store_dword v5, v12, s[8:11], s12 offen offset:12" WAIT_ALL \
    "buffer_load_dword v8, off, s[8:11], 0 offset:4\nbuffer_load_dword v9, off, s[8:11], 0 " \
    "offset:20", \
    out[0] = a, out[1] = b) \
  X(global_extends, \
    "v_mov_b32 v12, 0xfffff800\ns_sub_u32 s8, s4, 0xfffff000\ns_subb_u32 s9, s5, 0\n" \
    "v_add_u32 v12, v12, v1\nglobal_load_dword v8, v12, s[8:9] offset:-2048\nglobal_load_dword " \
    "v9, v12, s[8:9] offset:-2044", \
    out[0] = a, out[1] = b)

MEMORY_CASES(CASE_FUNCTION)
SPACE_CASES(CASE_FUNCTION)
CACHES_90A(CASE_FUNCTION)
CACHES_942(CASE_FUNCTION)

static const gfx9_case cases[] = {MEMORY_CASES(CASE_ROW) SPACE_CASES(CASE_ROW)
                                      CACHES_90A(CASE_ROW_90A) CACHES_942(CASE_ROW_942)};
const gfx9_cases gfx9_memory_cases = {cases, sizeof cases / sizeof *cases};
