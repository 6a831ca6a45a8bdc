/* Lanes that a branch parted and nothing brought together: what may be done with them, and what may
 * not. */
#include "emulators/tests/ptx_fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static ptx_result result;

/* Lanes below 7 take a way of their own; the ways meet at BOTH, where `body` stands. */
#define PARTED(body) \
  "setp.lt.u32 %p4, %r8, 7; @%p4 bra LOW; mov.u64 %d0, 100; bra.uni BOTH; LOW: mov.u64 %d0, 200; " \
  "BOTH: " body
#define OWN_ROW "mov.u32 %r4, tile; mad.lo.s32 %r4, %r8, 16, %r4; "
#define PARTIAL "reached by a part of a warp"

static void run(const char *body, bool apart, int threads) {
  ptx_program_run(&(ptx_program){.body = body, .threads = threads, .apart = apart}, NULL, &result);
}

/* ---- what wants all of a warp, and has it only where ways join by themselves ---- */

static const struct row {
  const char *name, *code, *wrong;
} rows[] = {
    {"stmatrix", OWN_ROW "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r4], {%r8};", PARTIAL},
    {"ldmatrix",
     OWN_ROW
     "st.shared.v2.u64 [%r4], {%d1, %d1}; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [%r4];",
     PARTIAL},
    {"mma",
     "mov.b32 %r5, 0; mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%r10, %r11, %r12, %r13}, "
     "{%r5, %r5}, "
     "{%r5}, {%r5, %r5, %r5, %r5};",
     PARTIAL},
    {"setmaxnreg", "setmaxnreg.dec.sync.aligned.u32 40;", PARTIAL},
    {"a barrier of a cluster", "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;",
     "come to this barrier"},
};
#define N_ROWS ((int)(sizeof rows / sizeof *rows))

static void expect_partial(const struct row *row, const char *between, bool found) {
  char body[1024];
  snprintf(body, sizeof body, "%s%s %s", PARTED(""), between, row->code);
  run(body, true, 32);
  cr_expect(result.done == !found, "%s after '%s': %s", row->name, between, result.fault.message);
  if (!found) return;
  cr_expect(result.fault.kind == EMU_BARRIER && strstr(result.fault.message, row->wrong), "%s: %s",
            row->name, result.fault.message);
  cr_expect(result.fault.line > 0 && result.fault.instruction[0], "%s", row->name);
}

Test(ptx_apart, instructions_of_a_whole_warp) {
  for (int i = 0; i < N_ROWS; i++) {
    char body[1024];
    snprintf(body, sizeof body, "%s%s", PARTED(""), rows[i].code);
    run(body, false, 32);
    cr_expect(result.done, "%s: %s", rows[i].name, result.fault.message);
    expect_partial(&rows[i], "", true);
    expect_partial(&rows[i], "cp.async.commit_group;", true);
    expect_partial(&rows[i], "bar.warp.sync -1;", false);
    expect_partial(&rows[i], "bar.warp.sync -1; bar.sync 0;", false);
    expect_partial(&rows[i], "shfl.sync.idx.b32 %r20, %r8, 0, 31, -1;", false);
    expect_partial(&rows[i], "vote.sync.all.pred %p5, %p4, -1;", false);
  }
}

/* ---- what lanes do alone ---- */

Test(ptx_apart, ways_do_not_join) {
  run(PARTED("activemask.b32 %r4; cvt.u64.u32 %d4, %r4; add.s64 %d0, %d0, %d4;"), true, 32);
  cr_assert(result.done, "%s", result.fault.message);
  for (int lane = 0; lane < 32; lane++)
    cr_expect(result.out[lane] == (lane < 7 ? 0x7fu + 200ull : 0xffffff80u + 100ull), "lane %d",
              lane);
}

Test(ptx_apart, a_loop_of_each_lanes_own_length) {
  run("mov.u64 %d0, 0; mov.u32 %r4, 0; LOOP: add.s64 %d0, %d0, 3; add.s32 %r4, %r4, 1;"
      "setp.le.u32 %p4, %r4, %r8; @%p4 bra LOOP; shfl.sync.idx.b32 %r5, %r4, 31, 31, -1;"
      "cvt.u64.u32 %d4, %r5; mad.lo.s64 %d0, %d4, 1000, %d0;",
      true, 32);
  cr_assert(result.done, "%s", result.fault.message);
  for (uint64_t lane = 0; lane < 32; lane++)
    cr_expect(result.out[lane] == 32 * 1000 + 3 * (lane + 1));
}

/* Of warps that were parted and came together, beside one that was not. */
Test(ptx_apart, barriers_of_the_block) {
  run("mov.u32 %r5, tile; mad.lo.s32 %r4, %r9, 4, %r5; xor.b32 %r6, %r9, 33; mad.lo.s32 %r6, %r6, "
      "4, %r5;"
      "setp.lt.u32 %p4, %r9, 7; @%p4 bra LOW; st.shared.u32 [%r4], %r9; bra.uni BOTH; LOW: "
      "st.shared.u32 [%r4], 99;"
      "BOTH: bar.warp.sync -1; bar.sync 0; ld.shared.u32 %r7, [%r6]; bar.sync 0; st.shared.u32 "
      "[%r4], %r7; bar.sync 0;"
      "ld.shared.u32 %r7, [%r6]; cvt.u64.u32 %d0, %r7;",
      true, 64);
  cr_assert(result.done, "%s", result.fault.message);
  for (uint64_t i = 0; i < 64; i++)
    cr_expect(result.out[i] == (i < 7 ? 99 : i), "%d: %d", (int)i, (int)result.out[i]);
  run(PARTED("bar.sync 0;"), true, 64);
  cr_expect(!result.done && result.fault.kind == EMU_BARRIER &&
            strstr(result.fault.message, "come to this barrier"));
}

/* ---- where lanes that were parted meet ---- */

/* Lanes below 7 take a way of their own, which meets that of the others at OWN; at BOTH comes in
 * one that none takes. */
#define OWN \
  "mov.u32 %r4, 1; setp.eq.u32 %p5, %r4, 1000; @%p5 bra BOTH; setp.lt.u32 %p4, %r8, 7; @%p4 bra " \
  "LOW; bra.uni OWN; LOW: " \
  "add.s32 %r5, %r8, 1; OWN: "

Test(ptx_apart, where_other_ways_come_in) {
  static const char *const meets[] = {"bar.warp.sync -1;",
                                      "shfl.sync.idx.b32 %r20, %r8, 0, 31, -1;",
                                      "vote.sync.all.pred %p6, %p4, -1;"};
  for (int i = 0; i < 6; i++) {
    bool own = i % 2;
    char body[1024];
    snprintf(body, sizeof body, "%s%sBOTH: %s%s", OWN, own ? meets[0] : "", meets[i / 2],
             "mov.u64 %d0, 5;");
    run(body, false, 32);
    cr_expect(result.done, "%s: %s", meets[i / 2], result.fault.message);
    run(body, true, 32);
    cr_expect(result.done == own, "%s: %s", meets[i / 2], result.fault.message);
    if (own) continue;
    cr_expect(result.fault.kind == EMU_BARRIER &&
                  strstr(result.fault.message, "other ways come in"),
              "%s", result.fault.message);
  }
}

/* A loop that some lanes make, whose ways meet those of others at BOTH; on the way of these stands
 * `end`, to which no lane comes. */
#define LOOPED(end) \
  "mov.u32 %r4, 0; setp.lt.u32 %p4, %r8, 6; @%p4 bra BOTH; setp.lt.u32 %p5, %r8, 9; @%p5 bra " \
  "NEXT; setp.gt.u32 %p6, %r8, 99; @%p6 bra GONE; bra.uni BOTH; GONE: " end " NEXT: add.s32 " \
  "%r4, %r4, 1; setp.lt.u32 %p4, %r4, 3; @%p4 bra NEXT; BOTH: bar.warp.sync -1; mov.u64 %d0, 5;"

/* Who ends on the way meets nobody; another place where others come in is one as before. */
Test(ptx_apart, a_way_on_which_lanes_end) {
  static const char *const ends[] = {"exit;", "trap;"};
  for (int i = 0; i < 2; i++) {
    run(i ? LOOPED("trap;") : LOOPED("exit;"), true, 32);
    cr_expect(result.done, "%s: %s", ends[i], result.fault.message);
  }
  run("mov.u32 %r4, 1; setp.eq.u32 %p5, %r4, 1000; @%p5 bra BOTH; setp.eq.u32 %p6, %r4, 1001; "
      "@%p6 bra GONE; setp.lt.u32 %p4, %r8, 7; @%p4 bra LOW; bra.uni BOTH; GONE: exit; "
      "LOW: add.s32 %r5, %r8, 1; BOTH: bar.warp.sync -1; mov.u64 %d0, 5;",
      true, 32);
  cr_expect(!result.done && strstr(result.fault.message, "other ways come in"), "%s",
            result.fault.message);
}

/* Behind an atomic that some lanes leave out ptxas brings them together; in front of a load not. */
Test(ptx_apart, a_way_that_ends_with_an_atomic) {
  static const struct {
    const char *low;
    bool right;
  } ways[] = {{"atom.shared.add.u32 %r5, [tile], 1;", true},
              {"add.s32 %r6, %r8, 1; red.shared.max.u32 [tile], %r6;", true},
              {"ld.shared.u32 %r5, [tile];", false},
              {"red.shared.add.u32 [tile], 1; ld.shared.u32 %r5, [tile];", false},
              {"red.shared.add.u32 [tile], 1; add.s32 %r5, %r8, 1;", false},
              {"st.shared.u32 [tile], 1;", false}};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    char body[512];
    snprintf(
        body, sizeof body, "%s%s%s",
        "mov.u32 %r4, 1; mov.u64 %d0, 5; setp.lt.u32 %p4, %r8, 1; @%p4 st.shared.u32 [tile], 0;"
        "setp.eq.u32 %p5, %r4, 1000; @%p5 bra BOTH; @%p4 bra LOW; bra.uni BOTH; LOW: ",
        ways[i].low, "bra.uni BOTH; BOTH: bar.warp.sync -1;");
    run(body, true, 32);
    cr_expect(result.done == ways[i].right, "%s: %s", ways[i].low, result.fault.message);
    if (!ways[i].right)
      cr_expect(strstr(result.fault.message, "other ways come in"), "%s: %s", ways[i].low,
                result.fault.message);
  }
}

/* The next turn begins where the first one does, too. */
Test(ptx_apart, behind_the_end_of_a_turn) {
  static const char *const meets[] = {"", "bar.warp.sync -1;"};
  for (int i = 0; i < 2; i++) {
    char body[512];
    snprintf(
        body, sizeof body, "%s%s%s",
        "mov.u32 %r4, 0; NEXT: bar.warp.sync -1; add.s32 %r4, %r4, 1; setp.gt.u32 %p5, %r4, 3; "
        "@%p5 bra DONE;"
        "setp.lt.u32 %p4, %r8, 7; @%p4 bra LOW; bra.uni TURN; LOW: add.s32 %r5, %r8, 1; TURN: ",
        meets[i], "bra NEXT; DONE: mov.u64 %d0, 5;");
    run(body, true, 32);
    cr_expect(result.done == (i == 1), "%s", result.fault.message);
  }
}

/* Those that end are waited for no more. */
Test(ptx_apart, lanes_that_end) {
  run("st.global.u64 [%d31], %d1; setp.lt.u32 %p4, %r8, 7; @%p4 bra LOW; bar.warp.sync -1; mov.u64 "
      "%d0, 5; bra END;"
      "LOW: ret; END:",
      true, 32);
  cr_assert(result.done, "%s", result.fault.message);
  for (uint64_t lane = 0; lane < 32; lane++) cr_expect(result.out[lane] == (lane < 7 ? lane : 5));
  run("st.global.u64 [%d31], %d1; setp.lt.u32 %p4, %r8, 7; @%p4 bra LOW; bar.sync 0; mov.u64 %d0, "
      "5; bra END;"
      "LOW: ret; END:",
      true, 32);
  cr_expect(!result.done && result.fault.kind == EMU_BARRIER);
}

/* Two synchronisations at which each half waits for the other. */
Test(ptx_apart, halves_that_wait_for_each_other) {
  run("mov.u64 %d0, 0; setp.lt.u32 %p4, %r8, 7; @%p4 bra LOW; bar.warp.sync -1; bra END; LOW: "
      "bar.warp.sync -1; END:",
      true, 32);
  cr_expect(!result.done && result.fault.kind == EMU_BARRIER);
}

/* One lane brings what the others of its warp poll for. */
Test(ptx_apart, polling_for_lanes_of_the_same_warp) {
  run("mov.u32 %r5, tile; setp.ne.u32 %p4, %r8, 0; @%p4 bra FIRST; mbarrier.init.shared.b64 [%r5], "
      "1; FIRST:"
      "bar.warp.sync -1; bar.sync 0; setp.eq.u32 %p5, %r8, 0; @!%p5 bra WAIT; "
      "mbarrier.arrive.shared.b64 %d4, [%r5]; WAIT:"
      "mbarrier.try_wait.parity.shared.b64 %p6, [%r5], 0; @!%p6 bra WAIT; mov.u64 %d0, 1;",
      true, 32);
  cr_expect(result.done, "%s", result.fault.message);
}
