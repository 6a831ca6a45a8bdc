/* Products of a warpgroup against plain matrix arithmetic, and what is found if a fence or a wait
 * is missing. */
#include "emulators/tests/ptx_fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static ptx_result result;
static char body[1 << 18];

/* ---- canonical layouts, by the manual's pictures ---- */

/* Byte of element (row, k) of a matrix of 16-bit elements: along k by default, groups of 8 rows
 * `stride` bytes apart. */
static int place(int row, int k, int swizzle, int leading, int stride, bool transposed) {
  int along = 2 * (transposed ? row : k), across = transposed ? k : row,
      width = swizzle ? swizzle : 16;
  int at = along / width * leading + across / 8 * stride + across % 8 * width + along % width;
  int chunks = width / 16;
  return at ^ (at >> 7) % chunks * 16;
}

static int value_a(int row, int k) { return (row * 3 + k * 5) % 4 - 1; }
static int value_b(int n, int k) { return (n * 7 + k * 3) % 5 - 2; }

static uint32_t bf16(int x) {
  float f = (float)x;
  uint32_t bits;
  memcpy(&bits, &f, 4);
  return bits >> 16;
}

/* ---- programs: B (n x 16) is written by thread 0 of each warp's turn, A comes in registers or at
 * tile + 8192 ---- */

typedef struct trial {
  int n, swizzle, leading, stride;
  bool transposed, a_shared;
} trial;

static int append(int used, const char *text) {
  return used + snprintf(body + used, sizeof body - (size_t)used, "%s", text);
}

static int store(int used, int at, uint32_t bits) {
  return used + snprintf(body + used, sizeof body - (size_t)used,
                         "@%%p4 st.shared.u16 [tile+%d], %u;", at, bits);
}

static int fill(int used, const trial *of) {
  used = append(used, "setp.eq.u32 %p4, %r9, 0;");
  for (int i = 0; i < of->n * 16; i++) {
    int n = i / 16, k = i % 16;
    used = store(used, place(n, k, of->swizzle, of->leading, of->stride, of->transposed),
                 bf16(value_b(n, k)));
  }
  for (int i = 0; of->a_shared && i < 64 * 16; i++) {
    used =
        store(used, 8192 + place(i / 16, i % 16, 32, 0, 256, false), bf16(value_a(i / 16, i % 16)));
  }
  return append(used, "fence.proxy.async.shared::cta; bar.sync 0;");
}

/* A in %r20-23: lane 4 g + t of warp w has rows 16 w + g (+ 8), columns 2 t (+ 1, + 8), as value_a
 * says. */
static int make_a(int used) {
  used = append(used, "shr.u32 %r10, %r8, 2; shr.u32 %r11, %r9, 5; mad.lo.s32 %r10, %r11, 16, "
                      "%r10; and.b32 %r12, %r8, 3;"
                      "shl.b32 %r12, %r12, 1;");
  for (int i = 0; i < 8; i++) {
    int r = i / 2, e = i % 2;
    used += snprintf(
        body + used, sizeof body - (size_t)used,
        "add.s32 %%r13, %%r10, %d; mul.lo.s32 %%r13, %%r13, 3; add.s32 %%r14, %%r12, %d;"
        "mad.lo.s32 %%r13, %%r14, 5, %%r13; and.b32 %%r13, %%r13, 3; sub.s32 %%r13, %%r13, 1;"
        "cvt.rn.f32.s32 %%f1, %%r13; mov.b32 %%r13, %%f1; shr.u32 %%r13, %%r13, 16;%s",
        8 * (r % 2), 8 * (r / 2) + e, e ? "shl.b32 %r13, %r13, 16;" : "");
    used += snprintf(body + used, sizeof body - (size_t)used,
                     e ? "or.b32 %%r%d, %%r%d, %%r13;" : "mov.u32 %%r%d, %%r13;", 20 + r, 20 + r);
  }
  return used;
}

static int descriptor(int used, int reg, int at, const trial *of, int swizzle, int leading,
                      int stride) {
  static const int modes[] = {0, 3, 2, 0, 1}; /* by swizzle / 32 */
  (void)of;
  uint64_t bits = (uint64_t)(leading / 16) << 16 | (uint64_t)(stride / 16) << 32 |
                  (uint64_t)modes[swizzle / 32] << 62;
  return used + snprintf(body + used, sizeof body - (size_t)used,
                         "mov.u32 %%r15, tile; add.s32 %%r15, %%r15, %d; shr.u32 %%r15, %%r15, 4; "
                         "cvt.u64.u32 %%d%d, %%r15;"
                         "or.b64 %%d%d, %%d%d, 0x%llx;",
                         at, reg, reg, reg, (unsigned long long)bits);
}

/* Accumulators %f20-...: n / 2 of them. */
static int product(int used, const trial *of, const char *scale) {
  used += snprintf(body + used, sizeof body - (size_t)used,
                   "wgmma.mma_async.sync.aligned.m64n%dk16.f32.bf16.bf16 {", of->n);
  for (int i = 0; i < of->n / 2; i++) {
    used += snprintf(body + used, sizeof body - (size_t)used, "%s%%q%d", i ? ", " : "", i);
  }
  return used + snprintf(body + used, sizeof body - (size_t)used, "}, %s, %%d10, %s, 1, 1, %s%d;",
                         of->a_shared ? "%d11" : "{%r20, %r21, %r22, %r23}", scale,
                         of->a_shared ? "0, " : "", of->transposed);
}

static void run(void) {
  ptx_program_run(&(ptx_program){.body = body, .threads = 128, .shared_bytes = 16384}, NULL,
                  &result);
}

static int begin(const trial *of) {
  int used = append(0, ".reg .f32 %q<128>;");
  used = fill(used, of);
  used = make_a(used);
  used = descriptor(used, 10, 0, of, of->swizzle, of->leading, of->stride);
  return descriptor(used, 11, 8192, of, 32, 0, 256);
}

/* Sum over k of row g of the warp and column 2 t, added twice. */
static int64_t expected(int thread, int column) {
  int row = thread / 32 * 16 + thread % 32 / 4, sum = 0;
  for (int k = 0; k < 16; k++) sum += value_a(row, k) * value_b(column, k);
  return 2 * sum;
}

Test(ptx_wgmma, products) {
  static const trial trials[] = {
      {8, 0, 128, 256, false, false},   {16, 0, 128, 256, false, true},
      {8, 32, 0, 256, false, false},    {24, 64, 0, 512, false, true},
      {16, 128, 0, 1024, false, false}, {64, 128, 0, 1024, false, false},
      {64, 128, 0, 1024, true, false},  {128, 128, 2048, 1024, true, true},
  };
  for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++) {
    const trial *of = &trials[i];
    int used = begin(of), last = of->n / 2 - 4;
    used = append(used, "setp.ne.u32 %p6, 0, 1; setp.eq.u32 %p7, 0, 1; wgmma.fence.sync.aligned;");
    used = product(used, of, "%p7");
    used = product(used, of, "%p6");
    used = append(used, "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;");
    used += snprintf(body + used, sizeof body - (size_t)used,
                     "cvt.rni.s32.f32 %%r30, %%q%d; cvt.s64.s32 %%d0, %%r30;", last);
    run();
    cr_expect(result.done, "trial %zu: %s (%s)", i, result.fault.message, result.fault.instruction);
    for (int t = 0; result.done && t < 128; t++) {
      cr_expect((int64_t)result.out[t] == expected(t, of->n - 8 + t % 4 * 2),
                "trial %zu, thread %d: %lld", i, t, (long long)result.out[t]);
    }
  }
}

/* ---- planted ---- */

#define FENCE "wgmma.fence.sync.aligned;"
#define COMMIT "wgmma.commit_group.sync.aligned;"
#define WAIT "wgmma.wait_group.sync.aligned 0;"
#define USE "mov.b32 %r30, %q0; cvt.u64.u32 %d0, %r30;"

Test(ptx_wgmma, planted) {
  static const struct {
    const char *name, *before, *after;
    emu_fault_kind kind;
    bool proxy_fence;
  } rows[] = {
      {"as it should be", FENCE, COMMIT WAIT USE, EMU_OK, true},
      {"no fence", "", COMMIT WAIT USE, EMU_NOT_WAITED, true},
      {"A written behind the fence", FENCE "xor.b32 %r20, %r20, 0;", COMMIT WAIT USE,
       EMU_NOT_WAITED, true},
      {"no wait", FENCE, COMMIT USE, EMU_UNDEFINED, true},
      {"a wait for all but one", FENCE, COMMIT "wgmma.wait_group.sync.aligned 1;" USE,
       EMU_UNDEFINED, true},
      {"no commit", FENCE, WAIT USE, EMU_UNDEFINED, true},
      {"an accumulator used before the wait", FENCE,
       COMMIT "add.f32 %f2, %q1, %q1;" WAIT "mov.b32 %r30, %f2; cvt.u64.u32 %d0, %r30;",
       EMU_UNDEFINED, true},
      {"A changed before the wait", FENCE, COMMIT "mov.u32 %r21, 0;" WAIT USE, EMU_NOT_WAITED,
       true},
      {"B written over before the wait", FENCE, COMMIT "@%p4 st.shared.u16 [tile], 0;" WAIT USE,
       EMU_RACE, true},
      {"B written over, with a barrier behind, before the wait", FENCE,
       COMMIT "@%p4 st.shared.u16 [tile], 0; bar.sync 0;" WAIT USE, EMU_RACE, true},
      {"no proxy fence", FENCE, COMMIT WAIT USE, EMU_RACE, false},
      {"an accumulator by another name", FENCE,
       COMMIT "mov.f32 %q9, %q0;" WAIT "mov.b32 %r30, %q9; cvt.u64.u32 %d0, %r30;", EMU_OK, true},
      {"part of the warps", "setp.lt.u32 %p5, %r9, 32; mov.u64 %d0, 0; @%p5 bra END;" FENCE,
       COMMIT WAIT "END:", EMU_BARRIER, true},
  };
  const trial of = {8, 32, 0, 256, false, false};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    int used = begin(&of);
    char *fence = strstr(body, "fence.proxy");
    if (!rows[i].proxy_fence) memset(fence, ' ', strlen("fence.proxy.async.shared::cta;"));
    used = append(used, "setp.eq.u32 %p7, 0, 1;");
    used = append(used, rows[i].before);
    used = product(used, &of, "%p7");
    append(used, rows[i].after);
    run();
    cr_expect(result.fault.kind == rows[i].kind, "%s: %s (%s)", rows[i].name, result.fault.message,
              result.fault.instruction);
  }
}

/* Rows of B that nobody wrote: their columns of D are undefined behind the wait, others are not,
 * under other names, too. */
Test(ptx_wgmma, unwritten_rows) {
  static const struct {
    const char *use;
    emu_fault_kind kind;
  } rows[] = {
      {"mov.b32 %r30, %q3; cvt.u64.u32 %d0, %r30;", EMU_OK},
      {"mov.b32 %r30, %q4; cvt.u64.u32 %d0, %r30;", EMU_UNDEFINED},
      {"mov.f32 %q9, %q4; mov.b32 %r30, %q9; cvt.u64.u32 %d0, %r30;", EMU_UNDEFINED},
  };
  const trial written = {8, 32, 0, 256, false, false}, read = {16, 32, 0, 256, false, false};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    int used = begin(&written);
    used = append(used, "setp.eq.u32 %p7, 0, 1; setp.ne.u32 %p6, 0, 1;" FENCE);
    used = product(used, &read, "%p7");
    used = append(used, COMMIT WAIT FENCE);
    used = product(used, &read, "%p6");
    used = append(used, COMMIT WAIT);
    append(used, rows[i].use);
    run();
    cr_expect(result.fault.kind == rows[i].kind, "%s: %s (%s)", rows[i].use, result.fault.message,
              result.fault.instruction);
  }
}
