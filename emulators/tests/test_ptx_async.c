/* cp.async: what arrives, and what is found if the wait is missing. */
#include "emulators/tests/ptx_fixture.h"

#include <criterion/criterion.h>

/* %r6: this thread's 16 bytes of tile; %d4: 16 bytes of the input. */
#define PLACES \
  "mov.u32 %r5, tile; mad.lo.s32 %r6, %r9, 16, %r5; ld.param.u64 %d4, [in]; and.b32 %r4, %r9, 31;" \
  "mul.wide.u32 %d5, %r4, 16; add.s64 %d4, %d4, %d5;"
#define COPY "cp.async.cg.shared.global [%r6], [%d4], 16;"
#define COMMIT "cp.async.commit_group;"
#define READ "ld.shared.u64 %d0, [%r6];"

static const struct {
  const char *body;
  int threads;
  emu_fault_kind kind;
} rows[] = {
    {PLACES COPY COMMIT "cp.async.wait_group 0;" READ, 32, EMU_OK},
    {PLACES COPY "cp.async.wait_all;" READ, 32, EMU_OK},
    {PLACES COPY COMMIT COMMIT "cp.async.wait_group 1;" READ, 32, EMU_OK},
    {PLACES "cp.async.ca.shared.global.L2::128B [%r6], [%d4], 8; cp.async.wait_all;" READ, 32,
     EMU_OK},
    {PLACES COPY "cp.async.wait_all; bar.sync 0; xor.b32 %r6, %r6, 512;" READ, 64, EMU_OK},
    {PLACES "and.b32 %r6, %r6, 0xffffffef; and.b32 %r4, %r8, 1; setp.eq.u32 %p4, %r4, 0; @%p4 " COPY
            "cp.async.wait_all; bar.warp.sync -1;" READ
            "cvt.u64.u32 %d5, %r4; add.s64 %d0, %d0, %d5; add.s64 %d0, %d0, %d5;",
     32, EMU_OK},
    /* planted */
    {PLACES COPY COMMIT READ, 32, EMU_UNDEFINED},
    {PLACES COPY COMMIT "cp.async.wait_group 1;" READ, 32, EMU_UNDEFINED},
    {PLACES COPY "cp.async.wait_group 0;" READ, 32, EMU_UNDEFINED}, /* no commit */
    {PLACES COPY "cp.async.wait_all; xor.b32 %r6, %r6, 512;" READ, 64, EMU_UNDEFINED},
    {PLACES COPY "bar.sync 0; xor.b32 %r6, %r6, 512;" READ "cp.async.wait_all; mov.u64 %d0, 0;", 64,
     EMU_RACE},
    {PLACES "and.b32 %r6, %r6, 0xffffffef;" COPY "mov.u64 %d0, 0;", 32,
     EMU_RACE}, /* the same to one place, twice */
    {PLACES "cp.async.cg.shared.global [%r6+8], [%d4], 16; mov.u64 %d0, 0;", 32, EMU_MISALIGNED},
    {PLACES "cp.async.cg.shared.global [%r6], [%d4+512], 16; mov.u64 %d0, 0;", 32,
     EMU_OUT_OF_RANGE},
    {PLACES "cp.async.cg.shared.global [%r6], [%d4], 8; mov.u64 %d0, 0;", 32, EMU_UNKNOWN},
};

Test(ptx_async, copies) {
  static ptx_result result;
  static uint64_t in[64][3];
  for (uint64_t i = 0; i < 192; i++) in[i / 3][i % 3] = 1000 + i;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    ptx_program program = {.body = rows[i].body, .threads = rows[i].threads};
    ptx_program_run(&program, (const uint64_t(*)[3])in, &result);
    cr_expect(result.fault.kind == rows[i].kind, "row %zu: %s", i, result.fault.message);
    for (uint64_t lane = 0; result.done && lane < 32; lane++) {
      cr_expect(result.out[lane] == 1000 + 2 * lane, "row %zu, lane %d", i, (int)lane);
    }
  }
}

/* Bytes past the source's size become zeros. */
Test(ptx_async, zero_fill) {
  static ptx_result result;
  static uint64_t in[32][3];
  for (int i = 0; i < 96; i++) in[i / 3][i % 3] = UINT64_MAX;
  ptx_program_run(&(ptx_program){.body = PLACES "cp.async.cg.shared.global [%r6], [%d4], 16, 3;"
                                                "cp.async.wait_all;" READ},
                  (const uint64_t(*)[3])in, &result);
  cr_assert(result.done, "%s", result.fault.message);
  for (int lane = 0; lane < 32; lane++) cr_expect(result.out[lane] == 0xffffff);
}
