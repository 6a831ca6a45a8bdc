/* mbarriers and bulk copies: what arrives, and what is found if an arrival, a wait or a fence is
 * missing. */
#include "emulators/tests/ptx_fixture.h"

#include <criterion/criterion.h>

/* Two barriers at `tile`, made by thread 0 for `count` arrivals. %r5: tile; %d4: the input, %r6:
 * this thread's 8 bytes of 512 at tile + 128; %p4: thread 0. */
#define MAKE(count) \
  "mov.u32 %r5, tile; shl.b32 %r6, %r8, 3; add.s32 %r6, %r6, %r5; ld.param.u64 %d4, [in];" \
  "setp.eq.u32 %p4, %r9, 0;" \
  "@%p4 mbarrier.init.shared.b64 [%r5], " count \
  "; @%p4 mbarrier.init.shared::cta.b64 [%r5+8], 32;" \
  "@%p4 fence.mbarrier_init.release.cluster;"
#define SYNC "bar.sync 0;"
#define EXPECT(bytes) "@%p4 mbarrier.arrive.expect_tx.shared.b64 _, [%r5], " bytes ";"
#define COPY \
  "add.s32 %r7, %r5, 128;" \
  "@%p4 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r7], [%d4], 256, " \
  "[%r5];"
#define WAIT(name, at, parity) \
  name ": mbarrier.try_wait.parity.shared.b64 %p5, [%r5+" at "], " parity "; @%p5 bra " name \
       "_DONE; bra " name "; " name "_DONE:"
#define READ "ld.shared.u64 %d0, [%r6+128];"

/* Each thread copies its 8 bytes; and arrives with that. */
#define ASYNC \
  "mul.lo.u32 %r10, %r9, 8; cvt.u64.u32 %d5, %r10; add.s64 %d5, %d5, %d4; mad.lo.s32 %r10, %r9, " \
  "8, %r5;" \
  "add.s32 %r10, %r10, 128; cp.async.ca.shared.global [%r10], [%d5], 8;"
#define ARRIVE "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r5];"

static const struct {
  const char *name, *body;
  int threads;
  emu_fault_kind kind;
} rows[] = {
    {"a copy", MAKE("1") SYNC EXPECT("256") COPY WAIT("A", "0", "0") READ, 64, EMU_OK},
    {"expect_tx apart",
     MAKE("1") SYNC "@%p4 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r5], 256;"
                    "@%p4 mbarrier.arrive.shared.b64 _, [%r5];" COPY WAIT("A", "0", "0") READ,
     64, EMU_OK},
    {"a place used again",
     MAKE("1") SYNC EXPECT("256")
         COPY WAIT("A", "0", "0") "ld.shared.u64 %d5, [%r6+128];"
                                  "mbarrier.arrive.release.cta.shared::cta.b64 _, [%r5+8];" WAIT(
                                      "B", "8", "0") EXPECT("256") COPY WAIT("C", "0", "1") READ,
     32, EMU_OK},
    {"a count",
     MAKE("1") SYNC EXPECT("256") COPY WAIT("A", "0", "0") READ
     "@%p4 mbarrier.arrive.shared::cta.b64 _, [%r5+8], 32;" WAIT("B", "8", "0"),
     64, EMU_OK},
    {"some warps' barrier",
     MAKE("1") SYNC "setp.ge.u32 %p6, %r9, 64; @%p6 bra REST; mad.lo.s32 %r10, %r9, 8, %r5; "
                    "st.shared.u64 [%r10+1024], %d4;"
                    "bar.sync 1, 64; xor.b32 %r11, %r9, 32; mad.lo.s32 %r10, %r11, 8, %r5; "
                    "ld.shared.u64 %d5, [%r10+1024];"
                    "REST:" EXPECT("256") COPY WAIT("A", "0", "0") READ,
     96, EMU_OK},
    {"one lane elected",
     MAKE("1") SYNC "elect.sync %r7|%p7, -1; @%p7 add.s32 %r7, %r7, 1;" EXPECT("256")
         COPY WAIT("A", "0", "0") READ,
     64, EMU_OK},
    {"copies of threads", MAKE("64") SYNC ASYNC ARRIVE WAIT("A", "0", "0") READ, 64, EMU_OK},
    {"copies of threads beside a bulk copy",
     MAKE("33") SYNC EXPECT("256") COPY "setp.lt.u32 %p6, %r9, 32; @%p6 bra Y;" ASYNC ARRIVE
                                        "Y:" WAIT("A", "0", "0") READ,
     64, EMU_OK},
    {"an arrival without copies",
     MAKE("64") SYNC "setp.ge.u32 %p6, %r9, 32; @%p6 bra Y;" ASYNC
                     "Y:" ARRIVE WAIT("A", "0", "0") "and.b32 %r10, %r9, 31; mad.lo.s32 %r10, "
                                                     "%r10, 8, %r5; ld.shared.u64 %d0, [%r10+128];",
     64, EMU_OK},
    /* planted */
    {"copies of threads, and no wait", MAKE("64") SYNC ASYNC ARRIVE READ, 64, EMU_UNDEFINED},
    {"copies of threads that nobody told of", MAKE("64") SYNC ARRIVE ASYNC WAIT("A", "0", "0") READ,
     64, EMU_RACE},
    {"copies of threads, one arrival too many",
     MAKE("63") SYNC ASYNC ARRIVE WAIT("A", "0", "0") READ, 64, EMU_BARRIER},
    {"copies of threads to a place that others read",
     MAKE("32") "st.shared.u64 [%r6+128], %d4;" SYNC
                "setp.ge.u32 %p6, %r9, 32; xor.b32 %r10, %r9, 32;"
                "mad.lo.s32 %r10, %r10, 8, %r5; @%p6 ld.shared.u64 %d0, [%r10+128]; @%p6 bra "
                "Z;" ASYNC ARRIVE WAIT("A", "0", "0") READ "Z:",
     64, EMU_RACE},
    {"no wait", MAKE("1") SYNC EXPECT("256") COPY READ, 32, EMU_RACE},
    {"no wait of another warp",
     MAKE("1") SYNC EXPECT("256") COPY
     "setp.ge.u32 %p6, %r9, 32; @%p6 bra X;" WAIT("A", "0", "0") "X:" READ,
     64, EMU_RACE},
    {"the wrong phase", MAKE("1") SYNC EXPECT("256") COPY WAIT("A", "0", "1") READ, 32, EMU_RACE},
    {"never enough bytes", MAKE("1") SYNC EXPECT("512") COPY WAIT("A", "0", "0") READ, 32,
     EMU_BARRIER},
    {"too few arrivals", MAKE("2") SYNC EXPECT("256") COPY WAIT("A", "0", "0") READ, 32,
     EMU_BARRIER},
    {"too many arrivals",
     MAKE("1") SYNC "@%p4 mbarrier.arrive.shared.b64 _, [%r5+8], 33; mov.u64 %d0, 0;", 32,
     EMU_BARRIER},
    {"some warps' barrier without one",
     MAKE("1") SYNC
     "mad.lo.s32 %r10, %r9, 8, %r5; st.shared.u64 [%r10+1024], %d4; setp.ge.u32 %p6, %r9, 64;"
     "@%p6 bra REST; bar.sync 1, 64; REST: xor.b32 %r11, %r9, 64; mad.lo.s32 %r10, %r11, 8, %r5;"
     "ld.shared.u64 %d0, [%r10+1024];",
     96, EMU_RACE},
    {"nobody told of the making", MAKE("1") EXPECT("256") COPY WAIT("A", "0", "0") READ, 64,
     EMU_RACE},
    {"no barrier made", "mov.u32 %r5, tile; mbarrier.arrive.shared.b64 _, [%r5]; mov.u64 %d0, 0;",
     32, EMU_UNDEFINED},
    {"a place used again, and others wait for the phase before",
     MAKE("1") SYNC EXPECT("256") COPY WAIT("A", "0", "0") "ld.shared.u64 %d5, [%r6+128];" EXPECT(
         "256") COPY WAIT("C", "0", "1") READ,
     64, EMU_BARRIER},
    {"a place given back before it is read",
     MAKE("1") SYNC EXPECT("256")
         COPY WAIT("A", "0", "0") "setp.ge.u32 %p6, %r9, 32;"
                                  "@%p6 mbarrier.arrive.shared.b64 _, [%r5+8]; @%p6 ld.shared.u64 "
                                  "%d0, [%r6+128]; @%p6 bra END;" WAIT("B", "8", "0") EXPECT("256")
                                      COPY WAIT("C", "0", "1") READ "END:",
     64, EMU_RACE},
    {"a copy over another", MAKE("1") SYNC EXPECT("512") COPY COPY WAIT("A", "0", "0") READ, 32,
     EMU_RACE},
    {"misaligned", MAKE("1") SYNC EXPECT("256") "add.s32 %r5, %r5, 8;" COPY "mov.u64 %d0, 0;", 32,
     EMU_MISALIGNED},
    {"not 16 bytes",
     MAKE("1") SYNC "@%p4 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                    "[%r5+128], [%d4], 24, [%r5];"
                    "mov.u64 %d0, 0;",
     32, EMU_MISALIGNED},
    {"past the input",
     MAKE("1") SYNC "@%p4 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                    "[%r5+128], [%d4+1024], 2048, [%r5];"
                    "mov.u64 %d0, 0;",
     32, EMU_OUT_OF_RANGE},
    {"ends with a copy under way", MAKE("1") SYNC EXPECT("256") COPY "mov.u64 %d0, 0;", 32,
     EMU_NOT_WAITED},
    {"a register count that is none", "setmaxnreg.inc.sync.aligned.u32 100; mov.u64 %d0, 0;", 128,
     EMU_OUT_OF_RANGE},
};

Test(ptx_mbarrier, copies) {
  static ptx_result result;
  static uint64_t in[128][3];
  for (uint64_t i = 0; i < 384; i++) in[i / 3][i % 3] = 1000 + i;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    ptx_program program = {.body = rows[i].body, .threads = rows[i].threads};
    ptx_program_run(&program, (const uint64_t(*)[3])in, &result);
    cr_expect(result.fault.kind == rows[i].kind, "%s: %s (%s)", rows[i].name, result.fault.message,
              result.fault.instruction);
    for (uint64_t lane = 0; result.done && lane < 32; lane++) {
      cr_expect(result.out[lane] == 1000 + lane, "%s, lane %d", rows[i].name, (int)lane);
    }
  }
}
