/* What lanes do together: shuffles, votes, divergence, barriers, atomics; and the counters. */
#include "emulators/tests/ptx_fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>

static ptx_result result;

static void run(const char *body, int threads) {
  ptx_program_run(&(ptx_program){.body = body, .threads = threads}, NULL, &result);
  cr_expect(result.done, "%s: %s", body, result.fault.message);
}

/* ---- shuffles: every mode against the ISA's pseudo-code written another way ---- */

/* Lane l of a segment of `width` lanes (a power of two) reads l + delta if that is in its
 * segment. */
static void expect_segments(const char *name, int width, int (*from)(int position, int by), int by,
                            int row) {
  for (int lane = 0; lane < 32; lane++) {
    int position = lane % width, source = from(position, by);
    bool inside = source >= 0 && source < width;
    uint64_t expected = (uint64_t)(inside ? lane - position + source : lane) * 3 + 1;
    expected |= (uint64_t)inside << 32;
    cr_expect(result.out[lane] == expected, "%s, row %d, width %d, by %d, lane %d: 0x%llx", name,
              row, width, by, lane, (unsigned long long)result.out[lane]);
  }
}

static int up(int position, int by) { return position - by; }
static int down(int position, int by) { return position + by; }
static int butterfly(int position, int by) { return position ^ by; }
static int index_of(int position, int by) { return (void)position, by; }

Test(ptx_warp, shuffles) {
  static const struct {
    const char *name;
    int (*from)(int position, int by);
    int clamp; /* low bits of c: 0 for up, 31 for the others */
  } modes[] = {{"up", up, 0}, {"down", down, 31}, {"bfly", butterfly, 31}, {"idx", index_of, 31}};
  char body[512];
  for (int mode = 0; mode < 4; mode++) {
    for (int width = 1; width <= 32; width *= 2) {
      for (int by = 0; by < width; by++) {
        snprintf(body, sizeof body,
                 "mad.lo.s32 %%r4, %%r8, 3, 1;"
                 "shfl.sync.%s.b32 %%r5|%%p4, %%r4, %d, %d, -1;"
                 "selp.b32 %%r6, 1, 0, %%p4; mov.b64 %%d0, {%%r5, %%r6};",
                 modes[mode].name, by, (32 - width) << 8 | modes[mode].clamp);
        run(body, 32);
        expect_segments(modes[mode].name, width, modes[mode].from, by, mode);
      }
    }
  }
}

Test(ptx_warp, shuffle_by_each_lanes_own_index) {
  run("mad.lo.s32 %r4, %r8, 5, 3; and.b32 %r5, %r4, 31; shfl.sync.idx.b32 %r0, %r8, %r5, 31, -1;"
      "cvt.u64.u32 %d0, %r0;",
      32);
  for (uint64_t lane = 0; lane < 32; lane++) cr_expect(result.out[lane] == (lane * 5 + 3) % 32);
  cr_expect(result.counters.shuffles == 1);
}

/* Lane l brings 5 - 3 l; the first halves of numbers that each operation makes of all lanes. */
Test(ptx_warp, reductions) {
  static const struct {
    const char *operation;
    uint32_t all;
  } rows[] = {
      {"add.s32", (uint32_t)(32 * 5 - 3 * 496)},
      {"add.u32", (uint32_t)(32 * 5 - 3 * 496)},
      {"min.s32", (uint32_t)-88},
      {"max.s32", 5},
      {"min.u32", 2},
      {"max.u32", (uint32_t)-1},
      {"and.b32", 0},
      {"or.b32", UINT32_MAX},
  };
  char body[256];
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    snprintf(
        body, sizeof body,
        "mad.lo.s32 %%r4, %%r8, -3, 5; redux.sync.%s %%r5, %%r4, -1; mov.b64 %%d0, {%%r5, %%r4};",
        rows[i].operation);
    run(body, 32);
    for (int lane = 0; lane < 32; lane++)
      cr_expect((uint32_t)result.out[lane] == rows[i].all, "%s: 0x%x", rows[i].operation,
                (uint32_t)result.out[lane]);
  }
  run("redux.sync.xor.b32 %r5, %r8, -1; redux.sync.add.u32 %r6, 3, -1; mov.b64 %d0, {%r5, %r6};",
      32);
  cr_expect(result.out[9] == (uint64_t)96 << 32 && result.counters.shuffles == 2);
}

Test(ptx_warp, votes) {
  run("setp.lt.u32 %p4, %r8, 5; vote.sync.ballot.b32 %r4, %p4, -1; vote.sync.all.pred %p5, %p4, -1;"
      "vote.sync.any.pred %p6, %p4, -1; vote.sync.uni.pred %p7, %p4, -1; activemask.b32 %r5;"
      "selp.b32 %r6, 256, 0, %p5; selp.b32 %r7, 512, 0, %p6; selp.b32 %r10, 1024, 0, %p7;"
      "or.b32 %r4, %r4, %r6; or.b32 %r4, %r4, %r7; or.b32 %r4, %r4, %r10; mov.b64 %d0, {%r4, %r5};",
      32);
  cr_expect(result.out[3] == (0xffffffff00000000 | 0x1f | 512));
}

Test(ptx_warp, lane_masks) {
  run("mov.u32 %r4, %lanemask_lt; mov.u32 %r5, %lanemask_ge; mov.b64 %d0, {%r4, %r5};", 32);
  for (int lane = 0; lane < 32; lane++) {
    uint64_t below = (1ull << lane) - 1;
    cr_expect(result.out[lane] == (below | (~below & 0xffffffff) << 32));
  }
  run("mov.u32 %r4, %lanemask_le; mov.u32 %r5, %lanemask_gt; xor.b32 %r4, %r4, %lanemask_eq;"
      "mov.b64 %d0, {%r4, %r5};",
      32);
  cr_expect(result.out[4] == 0xffffffe00000000f);
}

/* ---- divergence ---- */

Test(ptx_warp, branches_apart_and_together) {
  run("setp.lt.u32 %p4, %r8, 7; @%p4 bra LOW; mov.u64 %d0, 100; bra.uni BOTH; LOW: mov.u64 "
      "%d0, 200;"
      "BOTH: activemask.b32 %r4; cvt.u64.u32 %d4, %r4; add.s64 %d0, %d0, %d4;",
      32);
  for (int lane = 0; lane < 32; lane++) {
    cr_expect(result.out[lane] == 0xffffffff + (lane < 7 ? 200ull : 100ull), "lane %d", lane);
  }
}

Test(ptx_warp, a_loop_of_each_lanes_own_length) {
  run("mov.u64 %d0, 0; mov.u32 %r4, 0; LOOP: add.s64 %d0, %d0, 3; add.s32 %r4, %r4, 1;"
      "setp.le.u32 %p4, %r4, %r8; @%p4 bra LOOP; activemask.b32 %r5; setp.ne.s32 %p5, %r5, -1;"
      "@%p5 trap;",
      32);
  for (uint64_t lane = 0; lane < 32; lane++) cr_expect(result.out[lane] == 3 * (lane + 1));
}

Test(ptx_warp, lanes_that_leave_early) {
  run("mov.u64 %d0, 9; setp.ge.u32 %p4, %r8, 16; @%p4 st.global.u64 [%d31], %d0; @%p4 ret;"
      "mov.u64 %d0, 8;",
      32);
  for (int lane = 0; lane < 32; lane++) cr_expect(result.out[lane] == (lane < 16 ? 8u : 9u));
}

Test(ptx_warp, guards) {
  run("mov.u64 %d0, 1; setp.eq.u32 %p4, %r8, 3; @%p4 mov.u64 %d0, 2; @!%p4 add.s64 %d0, %d0, 10;",
      32);
  for (int lane = 0; lane < 32; lane++) cr_expect(result.out[lane] == (lane == 3 ? 2u : 11u));
}

/* ---- warps ---- */

Test(ptx_warp, a_barrier_between_warps) {
  run("shl.b32 %r4, %r9, 2; mov.u32 %r5, tile; add.s32 %r6, %r5, %r4; st.shared.u32 [%r6], %r9;"
      "bar.sync 0; xor.b32 %r4, %r4, 508; add.s32 %r6, %r5, %r4; ld.shared.u32 %r0, [%r6];"
      "cvt.u64.u32 %d0, %r0;",
      128);
  for (uint64_t i = 0; i < 128; i++) cr_expect(result.out[i] == (i ^ 127));
  cr_expect(result.counters.barriers == 4);
}

Test(ptx_warp, a_warp_that_is_not_full) {
  run("cvt.u64.u32 %d0, %r9; bar.sync 0;", 40);
  for (uint64_t i = 0; i < 40; i++) cr_expect(result.out[i] == i);
}

Test(ptx_warp, bytes_of_one_word_by_two_warps_are_no_race) {
  run("shr.u32 %r4, %r9, 5; mov.u32 %r5, tile; mad.lo.s32 %r5, %r8, 4, %r5; add.s32 %r5, %r5, %r4;"
      "st.shared.u8 [%r5], %r9; mov.u64 %d0, 0;",
      64);
}

/* ---- counters ---- */

/* The prologue loads three words of 8 bytes, 24 apart: 32 lanes span 24 sectors, each once a
 * load. */
enum { PROLOGUE_LOADS = 3, PROLOGUE_SECTORS = 3 * 24 };

Test(ptx_counters, sectors) {
  run("mov.u64 %d0, 0;", 32);
  cr_expect(result.counters.global_loads == PROLOGUE_LOADS);
  cr_expect(result.counters.global_load_sectors == PROLOGUE_SECTORS);
  cr_expect(result.counters.global_stores == 1);
  cr_expect(result.counters.global_store_sectors == 8);
  cr_expect(result.counters.global_store_bytes == 256);
}

static int load_wavefronts(const char *address, const char *load) {
  char body[512];
  snprintf(body, sizeof body,
           "mov.u64 %%d0, 0; mov.u32 %%r5, tile; %s; add.s32 %%r6, %%r5, %%r4; %s;", address, load);
  run(body, 32);
  cr_expect(result.counters.shared_loads == 1);
  return (int)result.counters.shared_load_wavefronts;
}

Test(ptx_counters, wavefronts) {
  static const struct {
    const char *address, *load; /* byte address of each lane in %r4 */
    int wavefronts, conflicts;
  } rows[] = {
      {"shl.b32 %r4, %r8, 2", "ld.shared.u32 %r7, [%r6]", 1, 0},
      {"mov.u32 %r4, 0", "ld.shared.u32 %r7, [%r6]", 1, 0},           /* a broadcast */
      {"shl.b32 %r4, %r8, 3", "ld.shared.u32 %r7, [%r6]", 2, 1},      /* every second bank */
      {"shl.b32 %r4, %r8, 7", "ld.shared.u32 %r7, [%r6]", 32, 31},    /* one bank */
      {"mul.lo.s32 %r4, %r8, 124", "ld.shared.u32 %r7, [%r6]", 1, 0}, /* a diagonal */
      {"shl.b32 %r4, %r8, 0", "ld.shared.u8 %r7, [%r6]", 1, 0},       /* 8 words */
      {"shl.b32 %r4, %r8, 3", "ld.shared.v2.u32 {%r7, %r10}, [%r6]", 2, 0},
      {"shl.b32 %r4, %r8, 4", "ld.shared.v4.u32 {%r7, %r10, %r11, %r12}, [%r6]", 4, 0},
      {"shl.b32 %r4, %r8, 5", "ld.shared.v4.u32 {%r7, %r10, %r11, %r12}, [%r6]", 8, 4},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    int n = load_wavefronts(rows[i].address, rows[i].load);
    cr_expect(n == rows[i].wavefronts, "%s: %d", rows[i].address, n);
    cr_expect((int)result.counters.shared_load_conflicts == rows[i].conflicts, "%s",
              rows[i].address);
  }
}
