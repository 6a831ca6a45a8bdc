/* Planted faults: each must be found, with its place. */
#include "emulators/tests/ptx_fixture.h"

#include <criterion/criterion.h>
#include <string.h>

#define UNUSED EMU_NOWHERE

/* %r6: 16 bytes of the thread's own. */
#define PLACE "mov.u32 %r5, tile; mad.lo.s32 %r6, %r9, 16, %r5;"

static const struct {
  const char *name, *body;
  int threads;
  emu_fault_kind kind;
  int lane; /* EMU_NOWHERE: any */
  const char *instruction;
} faults[] = {
    /* ranges and alignment */
    {"global load past the end",
     "add.s64 %d4, %d30, 24; setp.eq.u32 %p4, %r8, 31;"
     "@%p4 ld.global.u64 %d0, [%d4]; mov.u64 %d0, 0;",
     32, EMU_OUT_OF_RANGE, 31, "ld.global.u64"},
    {"global load that overhangs", "ld.global.u32 %r4, [%d30+22]; mov.u64 %d0, 0;", 32,
     EMU_MISALIGNED, 0, "ld.global.u32"},
    {"vector across the end", "ld.global.v2.u64 {%d4, %d5}, [%d30]; mov.u64 %d0, 0;", 32,
     EMU_MISALIGNED, UNUSED, "ld.global.v2"},
    {"global store before the beginning", "st.global.u8 [%d31+-1], %r8; mov.u64 %d0, 0;", 32,
     EMU_OUT_OF_RANGE, 0, "st.global.u8"},
    {"a host address", "mov.u64 %d4, 4096; ld.global.u32 %r4, [%d4]; mov.u64 %d0, 0;", 32,
     EMU_OUT_OF_RANGE, 0, "ld.global"},
    {"shared load past the end",
     "mov.u32 %r4, tile; ld.shared.u32 %r4, [%r4+4096]; mov.u64 %d0, 0;", 32, EMU_OUT_OF_RANGE, 0,
     "ld.shared"},
    {"shared store misaligned", "mov.u32 %r4, tile; st.shared.u32 [%r4+2], %r8; mov.u64 %d0, 0;",
     32, EMU_MISALIGNED, 0, "st.shared"},
    {"parameter past the last", "ld.param.u64 %d0, [map+128];", 32, EMU_OUT_OF_RANGE, UNUSED,
     "ld.param"},
    /* undefined values */
    {"a register never written, stored", "mov.u64 %d0, %d12;", 32, EMU_UNDEFINED, 0, "st.global"},
    {"one bit undefined", "mov.u32 %r4, %r40; and.b32 %r4, %r4, 1; cvt.u64.u32 %d0, %r4;", 32,
     EMU_UNDEFINED, 0, "st.global"},
    {"shared memory never written", "ld.shared.u64 %d0, [tile];", 32, EMU_UNDEFINED, 0,
     "st.global"},
    {"half of a word never written",
     PLACE "st.shared.u16 [%r6], %h1; ld.shared.u32 %r4, [%r6];"
           "cvt.u64.u32 %d0, %r4;",
     32, EMU_UNDEFINED, 0, "st.global"},
    {"an address", "ld.global.u32 %r4, [%d12]; mov.u64 %d0, 0;", 32, EMU_UNDEFINED, 0, "ld.global"},
    {"a branch", "setp.eq.u32 %p4, %r40, 3; @%p4 bra X; X: mov.u64 %d0, 0;", 32, EMU_UNDEFINED, 0,
     "@%p4 bra"},
    {"a guard", "setp.eq.u32 %p4, %r40, 3; @%p4 mov.u64 %d0, 0;", 32, EMU_UNDEFINED, 0, "@%p4 mov"},
    {"an untaken load's result", "setp.ne.u32 %p4, %r8, 9; @%p4 ld.global.u64 %d0, [%d30];", 32,
     EMU_UNDEFINED, 9, "st.global"},
    {"a shuffle's lane index", "shfl.sync.idx.b32 %r4, %r8, %r40, 31, -1; mov.u64 %d0, 0;", 32,
     EMU_UNDEFINED, 0, "shfl"},
    {"a shuffle from a lane that did not load",
     "setp.ne.u32 %p4, %r8, 3; @%p4 mov.u32 %r4, 1;"
     "shfl.sync.idx.b32 %r4, %r4, 3, 31, -1; cvt.u64.u32 %d0, %r4;",
     32, EMU_UNDEFINED, 0, "st.global"},
    {"a reduction of a lane that did not load",
     "setp.ne.u32 %p4, %r8, 3; @%p4 mov.u32 %r4, 1;"
     "redux.sync.or.b32 %r4, %r4, -1; cvt.u64.u32 %d0, %r4;",
     32, EMU_UNDEFINED, 0, "st.global"},
    {"a shuffle from a lane that left",
     "setp.eq.u32 %p4, %r8, 3; mov.u64 %d0, 0; @%p4 ret;"
     "shfl.sync.idx.b32 %r4, %r8, 3, 31, 0xfffffff7;",
     32, EMU_UNDEFINED, 0, "shfl"},
    /* races and barriers */
    {"read by another warp without a barrier",
     "mov.u32 %r5, tile; mad.lo.s32 %r4, %r9, 4, %r5;"
     "st.shared.u32 [%r4], %r9; xor.b32 %r6, %r9, 32; mad.lo.s32 %r4, %r6, 4, %r5;"
     "ld.shared.u32 %r7, [%r4]; mov.u64 %d0, 0;",
     64, EMU_RACE, UNUSED, "shared"},
    {"overwritten before all have read",
     "mov.u32 %r5, tile; mad.lo.s32 %r4, %r9, 4, %r5;"
     "st.shared.u32 [%r4], %r9; bar.sync 0; xor.b32 %r6, %r9, 32; mad.lo.s32 %r6, %r6, 4, %r5;"
     "ld.shared.u32 %r7, [%r6]; st.shared.u32 [%r4], %r7; mov.u64 %d0, 0;",
     64, EMU_RACE, UNUSED, "ld.shared"},
    {"two warps write one byte",
     "setp.eq.u32 %p4, %r8, 0; @%p4 st.shared.u8 [tile+5], %r9; mov.u64 %d0, 0;", 64, EMU_RACE, 0,
     "st.shared"},
    {"two lanes write one byte, the same", "st.shared.u8 [tile+5], 7; mov.u64 %d0, 0;", 32,
     EMU_RACE, 1, "st.shared"},
    {"two lanes write one byte, one after the other",
     "setp.eq.u32 %p4, %r8, 3; @%p4 st.shared.u8 [tile+5], 7;"
     "setp.eq.u32 %p5, %r8, 4; @%p5 st.shared.u8 [tile+5], 7; mov.u64 %d0, 0;",
     32, EMU_RACE, 4, "@%p5 st.shared"},
    {"read by another lane before they meet",
     PLACE "st.shared.u32 [%r6], %r8; xor.b32 %r6, %r6, 16;"
           "ld.shared.u32 %r4, [%r6]; mov.u64 %d0, 0;",
     32, EMU_RACE, 0, "ld.shared"},
    {"overwritten by another lane before they meet",
     PLACE "st.shared.u32 [%r6], %r8; ld.shared.u32 %r4, [%r6];"
           "bar.warp.sync -1; ld.shared.u32 %r4, [%r6]; xor.b32 %r6, %r6, 16; st.shared.u32 [%r6], "
           "%r8; mov.u64 %d0, 0;",
     32, EMU_RACE, 0, "st.shared"},
    {"a word that nobody writes is waited for",
     "X: ld.relaxed.gpu.global.u64 %d4, [%d30]; setp.eq.u64 %p4, %d4, 77;"
     "@!%p4 bra X; mov.u64 %d0, 0;",
     32, EMU_BARRIER, UNUSED, "ld.relaxed"},
    {"a barrier in one branch",
     "mov.u64 %d0, 0; setp.lt.u32 %p4, %r8, 16; @%p4 bra X; bar.sync 0; X:", 32, EMU_BARRIER,
     UNUSED, "bar.sync"},
    {"a warp that never comes",
     "mov.u64 %d0, 0; setp.lt.u32 %p4, %r9, 32;"
     "@%p4 st.global.u64 [%d31], %d0; @%p4 ret; bar.sync 0;",
     64, EMU_BARRIER, UNUSED, "bar.sync"},
    {"a shuffle in one branch",
     "mov.u64 %d0, 0; setp.lt.u32 %p4, %r8, 16; @%p4 bra X;"
     "shfl.sync.idx.b32 %r4, %r8, 3, 31, -1; X:",
     32, EMU_UNDEFINED, UNUSED, "shfl"},
    {"a reduction in one branch",
     "mov.u64 %d0, 0; setp.lt.u32 %p4, %r8, 16; @%p4 bra X;"
     "redux.sync.add.s32 %r4, %r8, -1; bra Y; X: bar.sync 0; Y:",
     32, EMU_BARRIER, UNUSED, "bar.sync"},
    {"trap", "mov.u64 %d0, 0; trap;", 32, EMU_LIMIT, 0, "trap"},
    /* what is unknown */
    {"opcode", "frobnicate.u32 %r0, %r1;", 32, EMU_UNKNOWN, UNUSED, ""},
    {"modifier", "add.sat.u32 %r0, %r1, %r2;", 32, EMU_UNKNOWN, UNUSED, ""},
    {"type", "add.b32 %r0, %r1, %r2;", 32, EMU_UNKNOWN, UNUSED, ""},
    {"register", "add.u32 %r0, %r1, %x2;", 32, EMU_UNKNOWN, UNUSED, ""},
    {"register past its range", "add.u32 %r0, %r1, %r64;", 32, EMU_UNKNOWN, UNUSED, ""},
    {"register out of its scope", "{ .reg .b32 %q; mov.u32 %q, 1; } mov.u32 %r0, %q;", 32,
     EMU_UNKNOWN, UNUSED, ""},
    {"one operand too few", "add.u32 %r0, %r1;", 32, EMU_UNKNOWN, UNUSED, ""},
    {"one operand too many", "add.u32 %r0, %r1, %r2, %r3;", 32, EMU_UNKNOWN, UNUSED, ""},
    {"label", "bra NOWHERE;", 32, EMU_UNKNOWN, UNUSED, ""},
    {"label twice", "X: X: mov.u32 %r0, 1;", 32, EMU_UNKNOWN, UNUSED, ""},
    {"directive", ".const .b8 x[4];", 32, EMU_UNKNOWN, UNUSED, ""},
    {"width of a register", "add.u32 %d0, %r1, %r2;", 32, EMU_UNKNOWN, UNUSED, ""},
    {"vector of the wrong size", "ld.shared.v2.u32 {%r4, %r5, %r6, %r7}, [tile];", 32, EMU_UNKNOWN,
     UNUSED, ""},
};

Test(ptx_faults, planted) {
  static ptx_result result;
  for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
    ptx_program program = {.body = faults[i].body, .threads = faults[i].threads};
    char text[512];
    ptx_program_run(&program, NULL, &result);
    emu_fault_print(&result.fault, text, sizeof text);
    cr_expect(!result.done, "%s: not found", faults[i].name);
    cr_expect(result.fault.kind == faults[i].kind, "%s: %s", faults[i].name, text);
    cr_expect(strstr(result.fault.instruction, faults[i].instruction), "%s: %s", faults[i].name,
              text);
    cr_expect(result.fault.line > 0, "%s: no line", faults[i].name);
    if (faults[i].lane != EMU_NOWHERE) {
      cr_expect(result.fault.lane == faults[i].lane, "%s: %s", faults[i].name, text);
    }
  }
}

/* Undefined bits that never matter are no fault: compilers let them move. */
static const char *const harmless[] = {
    "and.b32 %r4, %r40, 0; cvt.u64.u32 %d0, %r4;",
    "or.b32 %r4, %r40, -1; cvt.u64.u32 %d0, %r4;",
    "mov.b64 %d4, {%r1, %r40}; and.b64 %d0, %d4, 0xffffffff;",
    "prmt.b32 %r4, %r1, %r40, 0x3210; cvt.u64.u32 %d0, %r4;",
    "shl.b32 %r4, %r40, 8; and.b32 %r4, %r4, 255; cvt.u64.u32 %d0, %r4;",
    "shr.u32 %r4, %r40, 8; shr.u32 %r4, %r4, 24; cvt.u64.u32 %d0, %r4;",
    "and.b32 %r4, %r40, 0xff00; mul.lo.u32 %r4, %r4, 256; and.b32 %r4, %r4, 0xffff; "
    "cvt.u64.u32 %d0, %r4;",
    "and.b32 %r4, %r40, 0xff00; add.u32 %r4, %r4, %r1; and.b32 %r4, %r4, 255; cvt.u64.u32 "
    "%d0, %r4;",
    "bfe.u32 %r4, %r40, 4, 4; bfe.u32 %r4, %r4, 4, 4; cvt.u64.u32 %d0, %r4;",
    "setp.eq.u32 %p4, %r8, %r8; selp.b64 %d0, %d1, %d12, %p4;",
    PLACE "st.shared.u32 [%r6], %r40; st.shared.u32 [%r6], %r1; ld.shared.u32 %r4, [%r6]; "
          "cvt.u64.u32 %d0, %r4;",
    PLACE "st.shared.v2.u32 [%r6], {%r40, %r1}; ld.shared.u32 %r4, [%r6+4]; cvt.u64.u32 %d0, %r4;",
    PLACE
    "st.shared.u32 [%r6], %r8; bar.warp.sync -1; xor.b32 %r6, %r6, 16; ld.shared.u32 %r4, [%r6];"
    "bar.warp.sync -1; st.shared.u32 [%r6], %r8; cvt.u64.u32 %d0, %r4;",
    "setp.eq.u32 %p4, %r8, %r8; @!%p4 ld.global.u64 %d4, [%d12]; mov.u64 %d0, 0;",
    "or.b32 %r4, %r40, 1; setp.ne.u32 %p4, %r4, 0; selp.b64 %d0, 1, 0, %p4;",
};

Test(ptx_faults, harmless) {
  static ptx_result result;
  for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++) {
    ptx_program_run(&(ptx_program){.body = harmless[i]}, NULL, &result);
    cr_expect(result.done, "%s: %s", harmless[i], result.fault.message);
  }
}

/* What is launched while the grid before it ends touches no global memory before it has waited. */
Test(ptx_faults, programmatic_launches) {
  static ptx_result result;
  const char *wait = "griddepcontrol.wait; griddepcontrol.launch_dependents;";
  ptx_program program = {
      .body = "mov.u64 %d0, %d1;", .threads = 64, .first = wait, .programmatic = true};
  ptx_program_run(&program, NULL, &result);
  cr_expect(result.done, "%s", result.fault.message);
  cr_expect_eq(result.out[33], 1);
  program.first = "setp.lt.u32 %p4, %r9, 33; @%p4 griddepcontrol.wait;";
  ptx_program_run(&program, NULL, &result);
  cr_expect(!result.done);
  cr_expect_eq(result.fault.kind, EMU_RACE, "%s", result.fault.message);
  cr_expect_eq(result.fault.lane, 1);
  cr_expect(strstr(result.fault.instruction, "ld.global"), "%s", result.fault.instruction);
  program.programmatic = false;
  ptx_program_run(&program, NULL, &result);
  cr_expect(result.done, "%s", result.fault.message);
}

/* What begins when the grid in front has let it may touch what that does not, and has waited for it
 * when it ends. */
Test(ptx_faults, beside_the_grid_in_front) {
  static ptx_result result;
  static const struct {
    const char *body;
    int front_wrote; /* of the input, of which thread 33 reads bytes 792 to 815 */
    const char *fault;
  } cases[] = {{"mov.u64 %d0, %d1; griddepcontrol.wait;", 0, NULL},
               {"mov.u64 %d0, %d1;", 0, "ends without griddepcontrol.wait"},
               {"setp.lt.u32 %p4, %r9, 33; mov.u64 %d0, %d1; @%p4 griddepcontrol.wait;", 0,
                "ends without griddepcontrol.wait"},
               {"mov.u64 %d0, %d1; griddepcontrol.wait;", 8, "what the grid in front touches"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ptx_program program = {.body = cases[i].body,
                           .threads = 64,
                           .programmatic = true,
                           .beside = true,
                           .front_wrote = cases[i].front_wrote};
    ptx_program_run(&program, NULL, &result);
    cr_expect_eq(result.done, !cases[i].fault, "%zu: %s", i, result.fault.message);
    if (cases[i].fault)
      cr_expect(strstr(result.fault.message, cases[i].fault), "%zu: %s", i, result.fault.message);
    cr_expect_eq(result.touches_output, result.done || i == 1 || i == 2, "%zu", i);
    program.first = "griddepcontrol.wait;";
    ptx_program_run(&program, NULL, &result);
    cr_expect(result.done, "%zu: %s", i, result.fault.message);
  }
}

Test(ptx_faults, text) {
  emu_fault fault;
  char text[256];
  emu_fault_set(&fault, EMU_RACE, "of %d", 2);
  fault.block = 7, fault.lane = 3, fault.plan_step = 4;
  strcpy(fault.instruction, "ld.shared.u32 %r1, [%r2]");
  emu_fault_print(&fault, text, sizeof text);
  cr_expect_str_eq(text, "race: of 2, block 7, lane 3, plan step 4: ld.shared.u32 %r1, [%r2]");
}
