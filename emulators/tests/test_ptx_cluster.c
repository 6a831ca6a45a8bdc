/* Clusters in the PTX emulator: blocks that read each other's shared memory, and what each mistake
 * gives. */
#include "emulators/tests/ptx_fixture.h"

#include <criterion/criterion.h>
#include <string.h>

/* r20: rank, r21: address of the thread's word, r22: the same in the block `rank ^ 1`. The output
 * of a block lies behind that of those before it. */
#define PLACES \
  "mov.u32 %r20, %cluster_ctarank; mov.u32 %r21, tile; mad.lo.s32 %r21, %r9, 4, %r21;" \
  "xor.b32 %r23, %r20, 1; mapa.shared::cluster.u32 %r22, %r21, %r23;" \
  "mov.u32 %r24, %ntid.x; mul.lo.s32 %r24, %r24, %r20; mul.wide.u32 %d20, %r24, 8;" \
  "add.s64 %d31, %d31, %d20; mov.u64 %d0, 0;"
#define STORE "mad.lo.s32 %r25, %r20, 100, %r9; st.shared.u32 [%r21], %r25;"
#define BARRIER "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;"
#define LOAD "ld.shared::cluster.u32 %r26, [%r22]; cvt.u64.u32 %d0, %r26;"

/* Each thread of four blocks of 64 has what its neighbour block's thread of that number had. */
static void expect_exchanged(const ptx_result *result) {
  for (uint64_t block = 0; block < 4; block++)
    for (uint64_t t = 0; t < 64; t++)
      cr_expect_eq(result->out[block * 64 + t], (block ^ 1) * 100 + t, "block %d, thread %d",
                   (int)block, (int)t);
}

Test(ptx_cluster, blocks_read_each_other) {
  static const ptx_program program = {
      .body = PLACES STORE BARRIER LOAD BARRIER, .threads = 64, .cluster = 4};
  ptx_result result;
  ptx_program_run(&program, NULL, &result);
  cr_assert(result.done, "%s", result.fault.message);
  expect_exchanged(&result);
  cr_expect_eq(result.counters.blocks, 4);
  cr_expect_eq(result.counters.shared_load_wavefronts, 8);
}

Test(ptx_cluster, turns_with_a_buffer_each) {
  static const ptx_program program = {
      .body = PLACES STORE BARRIER LOAD BARRIER
      "add.s32 %r25, %r26, 1; st.shared.u32 [%r21], %r25;" BARRIER LOAD BARRIER
      "mov.u32 %r27, %cluster_nctarank; cvt.u64.u32 %d21, %r27; mul.lo.s64 %d21, %d21, 1000;"
      "add.s64 %d0, %d0, %d21;",
      .cluster = 2};
  ptx_result result;
  ptx_program_run(&program, NULL, &result);
  cr_assert(result.done, "%s", result.fault.message);
  for (uint64_t i = 0; i < 64; i++) cr_expect_eq(result.out[i], 2000 + i / 32 * 100 + i % 32 + 1);
}

/* The own block's address is one of the cluster as well. */
Test(ptx_cluster, own_memory) {
  static const ptx_program program = {.body = PLACES STORE
                                      "ld.shared::cluster.u32 %r26, [%r21]; cvt.u64.u32 %d0, %r26;",
                                      .cluster = 2};
  ptx_result result;
  ptx_program_run(&program, NULL, &result);
  cr_assert(result.done, "%s", result.fault.message);
  cr_expect_eq(result.out[37], 105);
}

/* Never run, but then clocks say what is ordered inside a block. */
#define WARPGROUPS "bra Z; wgmma.fence.sync.aligned; Z: "

Test(ptx_cluster, beside_warpgroups) {
  static const ptx_program program = {
      .body = WARPGROUPS PLACES STORE BARRIER LOAD BARRIER STORE BARRIER LOAD BARRIER,
      .threads = 64,
      .cluster = 2};
  ptx_result result;
  ptx_program_run(&program, NULL, &result);
  cr_assert(result.done, "%s", result.fault.message);
  for (uint64_t i = 0; i < 128; i++) cr_expect_eq(result.out[i], (i / 64 ^ 1) * 100 + i % 64);
}

/* A block's second warp writes what the other block's first one reads, tells its own first one, and
 * ends. */
Test(ptx_cluster, beside_mbarriers) {
  static const ptx_program program = {
      .body = PLACES
      "mov.u32 %r5, tile; setp.eq.u32 %p4, %r9, 0; @%p4 mbarrier.init.shared::cta.b64 [%r5+1024], "
      "32;"
      "bar.sync 0; setp.lt.u32 %p6, %r9, 32; @%p6 bra FIRST;" STORE
      "mbarrier.arrive.shared::cta.b64 _, [%r5+1024]; bra END;"
      "FIRST: mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r5+1024], 0; @!%p5 bra FIRST;" BARRIER
      "ld.shared::cluster.u32 %r26, [%r22+128]; cvt.u64.u32 %d0, %r26;" BARRIER "END:",
      .threads = 64,
      .cluster = 2};
  ptx_result result;
  ptx_program_run(&program, NULL, &result);
  cr_assert(result.done, "%s", result.fault.message);
  for (uint64_t block = 0; block < 2; block++)
    for (uint64_t t = 0; t < 32; t++)
      cr_expect_eq(result.out[block * 64 + t], (block ^ 1) * 100 + 32 + t);
}

/* A barrier for the words of 64 threads, 4 bytes each, that the other block stores; r28: the other
 * block's, 1024 bytes before. */
#define MAKE(fence) \
  "mov.u32 %r5, tile; mapa.shared::cluster.u32 %r28, %r5, %r23; setp.eq.u32 %p4, %r9, 0;" \
  "@%p4 mbarrier.init.shared::cta.b64 [%r5+1024], 1;" fence \
  "@%p4 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r5+1024], 256;"
#define FENCE "@%p4 fence.mbarrier_init.release.cluster;"
#define RELAXED "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.acquire.aligned;"
#define PUSH \
  "mad.lo.s32 %r25, %r20, 100, %r9;" \
  "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r22], %r25, [%r28+1024];"
#define AWAIT \
  "A: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p5, [%r5+1024], 0; @!%p5 bra A;"
#define OWN "ld.shared.u32 %r26, [%r21]; cvt.u64.u32 %d0, %r26;"

Test(ptx_cluster, words_that_tell_a_barrier) {
  static const ptx_program program = {
      .body = PLACES MAKE(FENCE) RELAXED PUSH AWAIT OWN, .threads = 64, .cluster = 4};
  ptx_result result;
  ptx_program_run(&program, NULL, &result);
  cr_assert(result.done, "%s", result.fault.message);
  expect_exchanged(&result);
}

static const struct {
  const char *what, *body;
  emu_fault_kind kind;
  const char *instruction;
} faults[] = {
    {"no barrier before the first load", PLACES STORE LOAD BARRIER, EMU_BARRIER,
     "ld.shared::cluster"},
    {"a block that has ended",
     PLACES STORE BARRIER "setp.eq.u32 %p4, %r20, 0; @%p4 bra X;" LOAD "X:", EMU_BARRIER,
     "ld.shared::cluster"},
    {"written since the barrier", PLACES STORE BARRIER STORE LOAD BARRIER, EMU_RACE, "shared"},
    {"overwritten before all have read", PLACES STORE BARRIER LOAD STORE BARRIER, EMU_RACE,
     "shared"},
    {"a barrier of the block does not part blocks",
     PLACES STORE BARRIER LOAD "bar.sync 0;" STORE BARRIER, EMU_RACE, "shared"},
    {"written since the barrier, beside warpgroups",
     WARPGROUPS PLACES STORE BARRIER STORE LOAD BARRIER, EMU_RACE, "shared"},
    {"overwritten before all have read, beside warpgroups",
     WARPGROUPS PLACES STORE BARRIER LOAD STORE BARRIER, EMU_RACE, "shared"},
    {"arrives twice", PLACES "barrier.cluster.arrive; barrier.cluster.arrive;", EMU_BARRIER,
     "barrier.cluster.arrive"},
    {"waits alone", PLACES "barrier.cluster.wait;", EMU_BARRIER, "barrier.cluster.wait"},
    {"between arrive and wait", PLACES "barrier.cluster.arrive;" STORE "barrier.cluster.wait;",
     EMU_UNKNOWN, "st.shared"},
    {"a block that the cluster does not have", PLACES "mapa.shared::cluster.u32 %r22, %r21, 2;",
     EMU_OUT_OF_RANGE, "mapa"},
    {"a store to another block", PLACES BARRIER "st.shared::cluster.u32 [%r22], %r9;" BARRIER,
     EMU_UNKNOWN, "st.shared::cluster"},
    {"another block's address as the own",
     PLACES STORE BARRIER "ld.shared.u32 %r26, [%r22];" BARRIER, EMU_OUT_OF_RANGE, "ld.shared"},
    {"past the end", PLACES STORE BARRIER "ld.shared::cluster.u32 %r26, [%r22+8192];" BARRIER,
     EMU_OUT_OF_RANGE, "ld.shared::cluster"},
    {"words for a block that may not have begun", PLACES MAKE(FENCE) PUSH AWAIT OWN, EMU_BARRIER,
     "st.async"},
    {"a barrier that others do not know of", PLACES MAKE("") RELAXED PUSH AWAIT OWN, EMU_UNDEFINED,
     "st.async"},
    {"nobody waits for the words", PLACES MAKE(FENCE) RELAXED PUSH OWN AWAIT, EMU_RACE, ""},
    {"words of half a place", PLACES MAKE(FENCE) RELAXED "add.s32 %r22, %r22, 2;" PUSH AWAIT OWN,
     EMU_MISALIGNED, "st.async"},
    {"a relaxed barrier releases nothing", PLACES STORE RELAXED LOAD BARRIER, EMU_RACE, "shared"},
    {"a block that does not come",
     PLACES
     "setp.eq.u32 %p4, %r20, 0; @%p4 bra X; bar.sync 0; bra X;"
     "X: barrier.cluster.arrive; setp.eq.u32 %p4, %r20, 1; @%p4 bra Y; barrier.cluster.wait; Y:"
     "@%p4 barrier.cluster.arrive;",
     EMU_BARRIER, "barrier.cluster.arrive"},
};

Test(ptx_cluster, faults) {
  for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
    ptx_program program = {.body = faults[i].body, .threads = 64, .cluster = 2};
    ptx_result result;
    ptx_program_run(&program, NULL, &result);
    cr_expect_not(result.done, "%s", faults[i].what);
    cr_expect_eq(result.fault.kind, faults[i].kind, "%s: %s", faults[i].what, result.fault.message);
    cr_expect_not_null(strstr(result.fault.instruction, faults[i].instruction), "%s: %s",
                       faults[i].what, result.fault.instruction);
  }
}
